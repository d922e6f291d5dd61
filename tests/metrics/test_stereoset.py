import math

import numpy as np
import pandas as pd
import pytest
import tiny_models
import torch
from pair_files import frame_of, stereoset, write

from biaslib import metrics, scoring
from biaslib.io import read_stereoset
from biaslib.metrics import score_stereoset, stereoset_score


@pytest.mark.parametrize("family", tiny_models.TOKENIZER_FAMILIES)
def test_candidates_have_the_likelihood_of_their_own_pieces(tiny, family, tmp_path):
    lm = tiny(family)
    items = read_stereoset(write(tmp_path / "dev.json", stereoset()))
    for variant, (masking, value) in metrics.STEREOSET_VARIANTS.items():
        frame = score_stereoset(lm, items, variant=variant)
        assert frame.term.tolist()[:3] == ["nurse", "nurse", "dog"]
        assert frame.reason.tolist() == items.reason.tolist()
        assert (
            frame[["stereotype", "anti_stereotype", "unrelated"]].notna().all(axis=1).tolist()
            == [True] * 6 + [False] * 4
        )
        sentence = items.stereotype[3]
        spans = [[(sentence.index("kindness"), len(sentence))]]
        expected = scoring.masked_span_likelihood(lm, [sentence], spans, variant=masking)
        assert frame.stereotype[3] == pytest.approx(expected[value].item(), rel=1e-5)


def test_pieces_of_a_half_beat_unequal_ones_by_mean_log_probability(tiny):
    """Pieces .2 and .2 against .36 and .08: as .5 and .5 against .9 and .2, which no one distribution has."""
    lm = tiny("bert_cased")
    pieces = lm.tokenizer.convert_tokens_to_ids(["good", "##ly", "kind", "##ness"])
    logits = torch.full((1, lm.vocabulary_size), math.log(0.16 / (lm.vocabulary_size - 4)))
    logits[0, pieces] = torch.tensor([0.2, 0.2, 0.36, 0.08]).log()
    row = {"target": "dog", "context": "It is BLANK.", "stereotype": "It is goodly."}
    row |= {"anti_stereotype": "It is kindness.", "unrelated": "It is old."}
    handle = lm.model.register_forward_hook(
        lambda module, inputs, output: output.__setitem__("logits", logits.expand((*output.logits.shape[:2], -1)))
    )
    try:
        scores = {
            variant: score_stereoset(lm, pd.DataFrame([row]), variant=variant) for variant in ("default", "released")
        }
    finally:
        handle.remove()
    expected = {"default": [math.log(0.2), math.log(0.36 * 0.08) / 2], "released": [0.2, 0.22]}
    for variant, frame in scores.items():
        np.testing.assert_allclose(
            frame[["stereotype", "anti_stereotype"]].iloc[0].astype(float), expected[variant], rtol=1e-5
        )
    assert [stereoset_score(frame).ss for frame in scores.values()] == [100, 0]


def test_items_that_cannot_be_scored_have_a_reason(tiny):
    row = {"target": "dog", "context": "It is BLANK.", "stereotype": "It is ☃.", "anti_stereotype": "It is old."}
    frame = score_stereoset(tiny("bert_cased"), pd.DataFrame([row | {"unrelated": "That is not it."}], index=[7]))
    assert frame.reason.item() == "stereotype: unknown token in the part; unrelated: does not fit the context"
    assert frame[["stereotype", "anti_stereotype", "unrelated"]].isna().all(axis=None)
    assert stereoset_score(frame).left_out == {frame.reason.item(): 1}
    assert stereoset_score(frame).ss is None
    assert len(score_stereoset(tiny("bert_cased"), pd.DataFrame([row | {"unrelated": ""}]).iloc[:0])) == 0
    with pytest.raises(ValueError, match="items must have the column unrelated"):
        score_stereoset(tiny("bert_cased"), pd.DataFrame([row]))
    with pytest.raises(ValueError, match="unknown variant 'mean'; use one of default, released"):
        score_stereoset(tiny("bert_cased"), pd.DataFrame([row]), variant="mean")


CANDIDATES = ("term", "bias_type", "stereotype", "anti_stereotype", "unrelated")


def test_stereoset_by_hand():
    frame = frame_of(
        ("nurse", "job", 3, 2, 1),  # stereotype; both meaningful
        ("nurse", "job", 2, 2, 1),  # tie: not; both meaningful
        ("nurse", "job", 1, 3, 1),  # not; one meaningful, one tie with the unrelated: not
        ("poet", "job", 3, 2, 4),  # stereotype; none meaningful
        ("dog", "animal", 2, 3, 1),  # not; both meaningful
        ("dog", "animal", np.nan, 3, 1),
        columns=CANDIDATES,
    )
    score = stereoset_score(frame)
    assert score.ss == pytest.approx((100 / 3 + 100 + 0) / 3)
    assert score.lms == pytest.approx((100 * 5 / 6 + 0 + 100) / 3)
    assert score.icat == pytest.approx(score.lms * min(score.ss, 100 - score.ss) / 50)
    assert (score.n, score.n_terms, score.ties, score.unrelated_ties) == (5, 3, 1, 1)
    assert (score.n_tested, score.duplicates, score.left_out) == (4, 0, {"no score": 1})
    assert score.p_value == pytest.approx(1)
    assert score.by_term.values.tolist() == [
        ["nurse", 3, pytest.approx(100 / 3), pytest.approx(250 / 3), 1],
        ["poet", 1, 100, 0, 0],
        ["dog", 1, 0, 100, 0],
    ]
    assert score.by_type.group.tolist() == ["animal", "job"]
    assert score.by_type.ss.tolist() == pytest.approx([0, 200 / 3])
    assert score.by_type.n_left_out.tolist() == [1, 0]
    table = score.to_frame()
    assert table[["by", "group"]].values.tolist() == [["all", "all"], ["bias_type", "animal"], ["bias_type", "job"]]
    assert table.loc[0, "icat"] == score.icat and table.loc[0, "n_left_out"] == 1


def test_a_model_without_preference_that_knows_language_is_ideal():
    rows = [("dog", "a", 2, 1, 0), ("dog", "a", 1, 2, 0)]
    score = stereoset_score(frame_of(*rows, columns=CANDIDATES))
    assert (score.ss, score.lms, score.icat) == (50, 100, 100)
    # Averaged over terms before it is computed: each term alone would be 0.
    rows = [("dog", "a", 2, 1, 0), ("cat", "a", 1, 2, 0)]
    assert stereoset_score(frame_of(*rows, columns=CANDIDATES)).icat == 100


def test_intervals_of_stereoset_are_over_items():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=CANDIDATES[2:]).assign(term=[f"t{n % 6}" for n in range(60)])
    score = stereoset_score(frame)
    assert score.ss_low < score.ss < score.ss_high and score.lms_low < score.lms < score.lms_high
    draws = [mean_of_terms(frame.sample(60, replace=True, random_state=n)) for n in range(600)]
    assert (score.ss_low, score.ss_high) == pytest.approx(np.percentile(draws, [2.5, 97.5]), abs=3)
    assert score.by_type.empty and len(score.to_frame()) == 1
    # Items that are there twice are the same items.
    named = frame.assign(context=[f"c{n}" for n in range(60)], **{f"{c}_word": "x" for c in CANDIDATES[2:]})
    twice = stereoset_score(pd.concat([named, named]))
    assert (twice.n, twice.duplicates, twice.ss) == (120, 60, pytest.approx(score.ss))
    assert twice.p_value == pytest.approx(score.p_value)
    assert (twice.ss_low, twice.ss_high) == pytest.approx((score.ss_low, score.ss_high))


def mean_of_terms(frame):
    return 100 * (frame.stereotype > frame.anti_stereotype).groupby(frame.term).mean().mean()
