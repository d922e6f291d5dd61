import math
import random

import numpy as np
import pandas as pd
import plain
import pytest
import tiny_models
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pair_files import frame_of, write
from scipy import stats

from biaslib import scoring
from biaslib.io import read_pairs
from biaslib.metrics import changed_sides, compare_scores, score_pairs, stereotype_score


@pytest.fixture
def file(tmp_path):
    return lambda content, name="pairs.csv": write(tmp_path / name, content)


# Scores from scores


NANGIA = frame_of(
    ("stereo", -10, -10),
    ("stereo", -1, -2),
    ("antistereo", -5, -6),
    ("antistereo", -7, -4),
    ("stereo", -3.0001, -3.0004),
    columns=("direction", "score_more", "score_less"),
)


def test_the_variant_of_nangia_and_others():
    score = score_pairs(NANGIA, variant="nangia")
    assert (score.overall, score.stereo, score.antistereo) == (40, 100, 50)
    assert (score.n, score.ties, score.left_out) == (5, 2, {})
    assert score.pairs.preferred.tolist() == ["tie", "sent_more", "sent_more", "sent_less", "tie"]
    assert score.by_direction.ties.tolist() == [2, 0]


def test_the_default_rounds_nothing_and_keeps_ties_in_the_denominators():
    score = score_pairs(NANGIA)
    assert score.overall == pytest.approx(60)
    assert score.stereo == pytest.approx(100 * 2 / 3) and score.antistereo == 50
    assert (score.n, score.ties) == (5, 1)


def test_a_pair_without_a_score_is_in_neither_count():
    frame = NANGIA.assign(score_less=[-10, np.nan, -6, -4, -3.0004])
    score = score_pairs(frame)
    assert score.overall == 50 and score.n == 4 and score.left_out == {"no score": 1}
    assert score.stereo == 50 and score.by_direction.n_left_out.tolist() == [1, 0]
    assert score.pairs.preferred[1] == ""


def test_a_subscore_without_rows_is_none():
    score = score_pairs(NANGIA[NANGIA.direction == "stereo"])
    assert score.antistereo is None and score.stereo == score.overall
    assert math.isnan(score.by_direction.score[1])
    nothing = score_pairs(NANGIA.iloc[:0])
    assert (nothing.overall, nothing.stereo, nothing.antistereo, nothing.n) == (None, None, None, 0)
    assert math.isnan(nothing.p_value) and math.isnan(nothing.ci_low)
    ties = score_pairs(NANGIA.iloc[:1], variant="nangia")
    assert (ties.overall, ties.stereo, ties.antistereo) == (0, None, None) and math.isnan(ties.p_value)


def scored(more, less, **columns):
    return pd.DataFrame({"score_more": np.array(more, float), "score_less": np.array(less, float)} | columns)


def test_the_test_is_the_exact_binomial_without_ties():
    frame = scored([1] * 30 + [-1] * 12 + [0] * 5, [0] * 47, bias_type=["a"] * 20 + ["b"] * 20 + ["c"] * 7)
    score = score_pairs(frame)
    assert score.p_value == pytest.approx(stats.binomtest(30, 42).pvalue)
    assert (score.n_tested, score.ties, score.n) == (42, 5, 47)
    raw = [stats.binomtest(20, 20).pvalue, stats.binomtest(10, 20).pvalue, stats.binomtest(0, 2).pvalue]
    assert score.by_type.p_value.tolist() == pytest.approx(raw)
    assert score.by_type.p_holm.tolist() == pytest.approx([3 * raw[0], 1, 1])
    assert score.by_type.score.tolist() == pytest.approx([100, 50, 0])
    assert score.by_type.n.tolist() == [20, 20, 7]


def test_the_interval_is_that_of_the_bootstrap():
    score = score_pairs(scored([1] * 60 + [-1] * 40, [0] * 100), seed=3)
    assert score.ci_low < 60 < score.ci_high
    # A percentile bootstrap of a share is a binomial's.
    expected = stats.binom.ppf([0.025, 0.975], 100, 0.6)
    assert (score.ci_low, score.ci_high) == pytest.approx(expected, abs=1)
    assert score_pairs(scored([1] * 60 + [-1] * 40, [0] * 100), seed=3).ci_low == score.ci_low


def test_repeated_pairs_count_and_add_no_evidence():
    once = frame_of(*[(f"more {n}", f"less {n}") for n in range(12)]).assign(
        score_more=[1.0] * 9 + [-1.0] * 3, score_less=0
    )
    score, thrice = score_pairs(once), score_pairs(pd.concat([once] * 3))
    assert (thrice.overall, thrice.n, thrice.duplicates, thrice.n_different) == (75, 36, 24, 12)
    assert thrice.p_value == pytest.approx(score.p_value)
    assert (thrice.ci_low, thrice.ci_high) == (score.ci_low, score.ci_high)
    assert thrice.pairs.duplicate.tolist() == [False] * 12 + [True] * 24
    # One pair's repeats weigh in the score, and are one toss in the test: 1 of 2 sums is as far out.
    heavy = score_pairs(pd.concat([once.iloc[[0]]] * 9 + [once.iloc[9:]]))
    assert heavy.overall == 75 and heavy.p_value == pytest.approx(1)


@settings(max_examples=12, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.sampled_from(["stereo", "antistereo"])),
        min_size=1,
        max_size=12,
    ),
    seed=st.integers(0, 99),
)
def test_order_does_not_change_a_score_and_sides_mirror_it(rows, seed):
    frame = pd.DataFrame(rows, columns=["score_more", "score_less", "direction"])
    frame[["sent_more", "sent_less"]] = [[f"more {n % 5}", f"less {n % 5}"] for n in range(len(rows))]
    score = score_pairs(frame)
    shuffled = rows_shuffled(frame, seed)
    for name in ("overall", "stereo", "antistereo", "n", "ties", "duplicates", "n_different", "n_tested"):
        assert getattr(score_pairs(shuffled), name) == getattr(score, name)
    assert score_pairs(shuffled).p_value == pytest.approx(score.p_value, nan_ok=True)
    mirrored = score_pairs(frame.rename(columns={"score_more": "score_less", "score_less": "score_more"}))
    assert score.overall + mirrored.overall + 100 * score.ties / score.n == pytest.approx(100)


def rows_shuffled(frame, seed):
    order = list(range(len(frame)))
    random.Random(seed).shuffle(order)
    return frame.iloc[order]


def test_to_frame_gives_every_score_a_row():
    frame = NANGIA.assign(bias_type=["a", "a", "b", "", "b"])
    table = score_pairs(frame).to_frame()
    assert table[["by", "group"]].values.tolist() == [
        ["all", "all"],
        ["direction", "stereo"],
        ["direction", "antistereo"],
        ["bias_type", "a"],
        ["bias_type", "b"],
    ]
    assert table.columns.tolist() == [
        *("by", "group", "score", "ci_low", "ci_high", "p_value", "p_holm"),
        *("n", "n_different", "n_tested", "ties", "duplicates", "n_left_out"),
    ]
    assert table.n.tolist() == [5, 3, 2, 2, 2]


def test_scores_that_are_none_are_said():
    with pytest.raises(ValueError, match="must have the column score_less, found: score_more"):
        score_pairs(pd.DataFrame({"score_more": [1]}))
    with pytest.raises(ValueError, match="score_more must hold numbers, not 'high'"):
        score_pairs(pd.DataFrame({"score_more": [1, "high"], "score_less": [1, 2]}))
    with pytest.raises(ValueError, match="unknown variant 'crows'; use one of default, nangia"):
        score_pairs(NANGIA, variant="crows")
    with pytest.raises(TypeError, match="not list"):
        score_pairs([1, 2])


# Scores under a model


PAIRS = [
    ("She is a nurse.", "He is a nurse."),
    ("The dog is old.", "The dog is not old."),
    ("Unbelievably, she was kind.", "Unbelievably, he was kind."),
    ("They've done it before.", "We have done it before."),
]


@pytest.mark.parametrize("family", tiny_models.TOKENIZER_FAMILIES)
@pytest.mark.parametrize("likelihood", scoring.PLL_VARIANTS)
def test_shared_tokens_give_the_plain_scores(tiny, family, likelihood):
    lm = tiny(family)
    model = plain.double(lm)
    score = stereotype_score(lm, frame_of(*PAIRS), likelihood=likelihood)
    expected = [plain.shared_pll(lm, model, *pair, likelihood) for pair in PAIRS]
    np.testing.assert_allclose(score.pairs[["score_more", "score_less", "n_shared"]].astype(float), expected, rtol=1e-5)
    assert score.overall == 100 * np.mean([more > less for more, less, _ in expected])
    assert (score.metric, score.likelihood, score.variant) == ("pll", likelihood, "default")


@pytest.mark.parametrize("family", tiny_models.TOKENIZER_FAMILIES)
@pytest.mark.parametrize("metric", ["aul", "aula"])
def test_whole_sentences_give_the_plain_scores(tiny, family, metric):
    lm = tiny(family)
    model = plain.double(lm)
    score = stereotype_score(lm, frame_of(*PAIRS), metric=metric)
    expected = [[plain.aul_aula(lm, model, text)[metric == "aula"] for text in pair] for pair in PAIRS]
    np.testing.assert_allclose(score.pairs[["score_more", "score_less"]], expected, rtol=1e-5)
    assert score.overall == 100 * np.mean([more > less for more, less in expected])


@settings(max_examples=6, deadline=None)
@given(order=st.lists(st.integers(0, 3), min_size=1, max_size=7), batch_tokens=st.sampled_from([1, 32, 4096]))
def test_order_repeats_and_batches_change_no_pair(demo, order, batch_tokens):
    reference = stereotype_score(demo, frame_of(*PAIRS)).pairs
    score = stereotype_score(demo, frame_of(*[PAIRS[n] for n in order]), batch_tokens=batch_tokens)
    np.testing.assert_allclose(score.pairs.score_more, reference.score_more[order], rtol=1e-5)
    assert score.pairs.preferred.tolist() == reference.preferred[order].tolist()
    assert score.duplicates == len(order) - len(set(order))


def test_repeated_pairs_are_scored_once(demo):
    stereotype_score(demo, frame_of(*PAIRS), metric="aul")  # which tries the model out at first
    rows = []
    handle = demo.model.register_forward_hook(lambda module, inputs, output: rows.append(len(output.logits)))
    try:
        counts = []
        for metric in ("pll", "aul"):
            for frame in (frame_of(*PAIRS), frame_of(*PAIRS, *PAIRS[::-1], *PAIRS)):
                stereotype_score(demo, frame, metric=metric)
                counts.append(sum(rows))
                rows.clear()
    finally:
        handle.remove()
    assert counts[0] == counts[1] > 0 and counts[2] == counts[3] > 0


def test_pairs_that_a_model_cannot_score_are_left_out_with_their_reason(tiny):
    lm = tiny("bert_cased")
    rows = [*PAIRS, ("dog " * 70, "dog " * 80), ("☃", "he"), ("he", "she"), ("a [MASK]", "a dog"), ("it", " it")]
    score = stereotype_score(lm, frame_of(*rows))
    assert score.n == 4 and score.pairs.reason.tolist()[4:] == [
        "sent_more: too long; sent_less: too long",
        "sent_more: only unknown tokens",
        "no shared token",
        "sent_more: [MASK] in a sentence to be scored whole",
        "the sentences are identical",
    ]
    assert score.left_out["sent_more: too long; sent_less: too long"] == 1 and sum(score.left_out.values()) == 5
    assert score.pairs.preferred.tolist()[4:] == [""] * 5
    whole = stereotype_score(lm, frame_of(*rows), metric="aul")
    assert whole.n == 5 and "no shared token" not in whole.left_out
    assert whole.pairs.reason[4] == score.pairs.reason[4]
    nothing = stereotype_score(lm, frame_of(("", "a")))
    assert nothing.overall is None and nothing.left_out == {"sent_more is empty": 1}


def test_the_same_tokens_are_a_tie(tiny):
    score = stereotype_score(tiny("bert_uncased"), frame_of(("She is kind.", "she is kind."), *PAIRS))
    assert score.ties == 1 and score.pairs.preferred[0] == "tie"


def test_a_model_without_attention_weights_has_no_aula(demo, monkeypatch):
    def without(lm, sentences, **options):
        return frame.assign(aula=math.nan)

    frame = scoring.all_unmasked_likelihood(demo, list(PAIRS[0]))
    monkeypatch.setattr(scoring, "all_unmasked_likelihood", without)
    score = stereotype_score(demo, frame_of(PAIRS[0]), metric="aula")
    assert score.pairs.reason.item().count("the model shows no attention weights") == 2 and score.n == 0
    assert stereotype_score(demo, frame_of(PAIRS[0]), metric="aul").n == 1


def test_scored_pairs_can_be_scored_again(tiny):
    first = stereotype_score(tiny("bert_cased"), frame_of(*PAIRS))
    again = stereotype_score(tiny("roberta"), first.pairs)
    fresh = stereotype_score(tiny("roberta"), frame_of(*PAIRS))
    pd.testing.assert_frame_equal(again.pairs[fresh.pairs.columns], fresh.pairs)
    assert score_pairs(first.pairs).overall == first.overall


def test_options_are_checked(demo):
    for options, says in [
        ({"metric": "ppl"}, "unknown metric 'ppl'; use one of pll, aul, aula"),
        ({"variant": "crows"}, "unknown variant 'crows'; use one of default, nangia"),
        ({"likelihood": "l2r"}, "original, within_word_l2r"),
        ({"metric": "aul", "likelihood": "within_word_l2r"}, "needs metric 'pll'"),
    ]:
        with pytest.raises(ValueError, match=says):
            stereotype_score(demo, frame_of(*PAIRS), **options)


def test_a_file_can_be_scored_as_it_is(demo, file):
    path = file("sent_more,sent_less,bias_type\nShe is a nurse.,He is a nurse.,gender\n")
    assert stereotype_score(demo, path).by_type.group.tolist() == ["gender"]


# Two conditions


def compared(before, after, **options):
    frame = frame_of(*[(f"more {n}", f"less {n}") for n in range(len(before))]).assign(score_less=0)
    return tuple(score_pairs(frame.assign(score_more=values), **options) for values in (before, after))


def test_two_conditions_by_hand():
    # 1 pair came to prefer the stereotype; 8 ceased to, one of them for a tie; one tie stays out of it.
    before, after = compared([1] * 10 + [-1] * 5 + [0], [1, 1] + [-1] * 7 + [0] + [-1] * 4 + [1, 0])
    change = compare_scores(before, after)
    assert (change.before, change.after) == (62.5, 18.75) and change.difference == -43.75
    assert (change.to_less, change.to_more, change.n) == (8, 1, 16)
    assert change.p_value == pytest.approx(2 * 10 / 2**9)
    assert change.p_lower == pytest.approx(10 / 2**9) and change.p_higher == pytest.approx(1 - 1 / 2**9)
    assert change.ci_low < change.difference < change.ci_high < 0
    back = compare_scores(after, before)
    assert back.difference == 43.75 and back.p_higher == pytest.approx(change.p_lower)
    sides = changed_sides(before, after)
    assert sides.pair_id.tolist() == [*range(2, 10), 14]
    assert sides.preferred_before.tolist() == ["sent_more"] * 8 + ["sent_less"]
    assert sides.preferred_after.tolist() == ["sent_less"] * 7 + ["tie", "sent_more"]
    assert {"sent_more", "direction", "score_more_before", "score_less_after"} <= set(sides.columns)
    assert change.to_frame().loc[0, ["n", "n_left_out", "to_more"]].tolist() == [16, 0, 1]


def test_no_change_has_p_one():
    before, after = compared([1, -1, 0], [1, -1, 0])
    change = compare_scores(before, after)
    assert (change.difference, change.p_value, change.p_lower, change.p_higher) == (0, 1, 1, 1)
    assert len(changed_sides(before, after)) == 0


def test_repeated_pairs_add_no_evidence_to_a_comparison():
    frame = frame_of(*[(f"more {n}", f"less {n}") for n in range(6)] * 4).assign(score_less=0)
    before = score_pairs(frame.assign(score_more=[1] * 24))
    after = score_pairs(frame.assign(score_more=[-1, -1, -1, -1, -1, 1] * 4))
    change = compare_scores(before, after)
    assert (change.n, change.n_different, change.to_less) == (24, 6, 5)
    assert change.p_value == pytest.approx(2 / 2**5) and len(changed_sides(before, after)) == 20


def test_pairs_are_matched_by_id_and_what_lacks_a_score_is_counted():
    before, after = compared([1, 1, np.nan, np.nan, -1], [-1, np.nan, 1, np.nan, -1])
    shuffled = score_pairs(after.pairs.iloc[[3, 4, 0, 2, 1]])
    for other in (after, shuffled):
        change = compare_scores(before, other)
        assert (change.n, change.to_less, change.before, change.after) == (2, 1, 50, 0)
        assert change.left_out == {"no score before": 1, "no score after": 1, "no score at all": 1}
        assert changed_sides(before, other).pair_id.tolist() == [0]
    fewer = score_pairs(before.pairs.iloc[:1])
    assert compare_scores(fewer, after).left_out == {"no score before": 2, "no score at all": 2}


def test_scores_that_cannot_be_compared_are_refused(tiny):
    before, after = compared([1, 1], [1, -1])
    others = score_pairs(before.pairs.assign(sent_less=["another", "text"]))
    with pytest.raises(ValueError, match="pair 0 has a different sent_less"):
        compare_scores(before, others)
    with pytest.raises(ValueError, match="no pair in common"):
        changed_sides(before, score_pairs(after.pairs.assign(pair_id=[7, 8])))
    with pytest.raises(ValueError, match="differ in variant: 'default' and 'nangia'"):
        compare_scores(before, score_pairs(after.pairs, variant="nangia"))
    lm, frame = tiny("bert_cased"), frame_of(*PAIRS)
    with pytest.raises(ValueError, match="differ in metric: 'pll' and 'aul'"):
        compare_scores(stereotype_score(lm, frame), stereotype_score(lm, frame, metric="aul"))


# The real files


def test_real_pairs_that_differ_by_insertions(real_data, demo):
    frame = read_pairs("crows-pairs").set_index("pair_id", drop=False).loc[[231, 849, 1101, 1136]]
    score = stereotype_score(demo, frame).pairs
    own = [scoring.pseudo_log_likelihood(demo, frame[name]) for name in ("sent_more", "sent_less")]
    # Words are put between, none is replaced: "not"; "just the" for "the Christian"; "native"; "nice", without "don't".
    assert score.n_shared.tolist() == [20, 10, 19, 13] and score.reason.eq("").all()
    assert own[0].n_tokens.tolist() == [20, 11, 20, 16] and own[1].n_tokens.tolist() == [21, 11, 19, 14]
    # Where all of a sentence is shared, its score is that of the whole sentence.
    assert score.score_more[0] == pytest.approx(own[0].pll.iloc[0], rel=1e-5)
    assert score.score_less[2] == pytest.approx(own[1].pll.iloc[2], rel=1e-5)


def test_forty_real_pairs_have_the_plain_scores(real_data, demo, monkeypatch):
    def log_probability(model, ids, place, token_id):
        with torch.no_grad():
            row = model.cls(model.bert(input_ids=torch.tensor([ids]))[0][0, place])
        return float(row[token_id] - torch.logsumexp(row, 0))

    # One masked token a forward, in float64, but the head at that token alone.
    monkeypatch.setattr(plain, "log_probability", log_probability)
    sample = read_pairs("crows-pairs").sample(40, random_state=1)
    model = plain.double(demo)
    score = stereotype_score(demo, sample)
    expected = np.array([plain.shared_pll(demo, model, *pair) for pair in sample[["sent_more", "sent_less"]].values])
    found = score.pairs[["score_more", "score_less"]].to_numpy()
    np.testing.assert_allclose(found, expected[:, :2], rtol=1e-5)
    assert (np.abs(found - expected[:, :2]) / expected[:, 2:] < 1e-5).all()
    assert score.overall == pytest.approx(100 * np.mean(expected[:, 0] > expected[:, 1]))
    assert score.pairs.pair_id.tolist() == sample.pair_id.tolist()
