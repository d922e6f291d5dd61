import json
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
from scipy import stats

from biaslib import io, metrics, scoring
from biaslib.io import DatasetError, read_pairs, read_stereoset, read_winogender
from biaslib.metrics import (
    changed_sides,
    compare_scores,
    score_pairs,
    score_stereoset,
    stereoset_score,
    stereotype_score,
)

COLUMNS = ["pair_id", "sent_more", "sent_less", "direction", "bias_type", "reason"]


@pytest.fixture
def file(tmp_path):
    """Write a file and tell where."""

    def write(content, name="pairs.csv"):
        path = tmp_path / name
        content = json.dumps(content) if isinstance(content, list | dict) else content
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def frame_of(*rows, columns=("sent_more", "sent_less")):
    return pd.DataFrame(list(rows), columns=list(columns))


# Reading pairs


def test_crows_pairs(file):
    path = file(
        ",sent_more,sent_less,stereo_antistereo,bias_type,annotations\n"
        '0,"It’s old, he said.","It’s new, he said.",stereo,age,"[[\'age\'], []]"\n'
        '7,Pérez was late.,"Bradford was\nlate.",antistereo,nationality,[]\n'
        '9,"He said ""yes"".","He said ""no"".",stereo,age,[]\n'
    )
    frame = read_pairs(path)
    assert frame.columns.tolist() == [*COLUMNS, "annotations"]
    assert frame.pair_id.tolist() == [0, 7, 9]
    assert frame.sent_more.tolist() == ["It’s old, he said.", "Pérez was late.", 'He said "yes".']
    assert frame.sent_less[1] == "Bradford was\nlate."
    assert frame.direction.tolist() == ["stereo", "antistereo", "stereo"]
    assert frame.bias_type.tolist() == ["age", "nationality", "age"]
    assert frame.annotations[0] == "[['age'], []]"
    assert frame.reason.eq("").all()


def test_winoqueer_v0_with_its_misspelt_header_and_leading_spaces(file):
    path = file(
        ",sent_more,sent_less,stereo_antistero,bias_type,anon_writer\n"
        "0,James is strong., Mary is strong., stereo, masc_femm_name,a0\n"
        "1,He is kind.,Ey is kind.,antistereo,masc_trans_pronoun, a0\n"
    )
    frame = read_pairs(path)
    assert frame.drop(columns="reason").values.tolist() == [
        [0, "James is strong.", "Mary is strong.", "stereo", "masc_femm_name", "a0"],
        [1, "He is kind.", "Ey is kind.", "antistereo", "masc_trans_pronoun", "a0"],
    ]


def test_winoqueers_later_format(file):
    path = file("Gender_ID_x,Gender_ID_y,sent_x,sent_y\nGay,Straight,Gay people are x.,Straight people are x.\n")
    frame = read_pairs(path)
    assert frame.columns.tolist() == [*COLUMNS, "Gender_ID_x", "Gender_ID_y"]
    assert frame.iloc[0, 1:6].tolist() == ["Gay people are x.", "Straight people are x.", "stereo", "Gay", ""]
    assert frame.Gender_ID_y.tolist() == ["Straight"]
    pd.testing.assert_frame_equal(read_pairs(frame), frame)


def test_the_translations(file):
    record = {"direction": "antistereo", "bias_type": "gender", "stereotype": " 彼", "anti-stereotype": "彼女"}
    frame = read_pairs(file([{**record, "bias_score": 4}, {**record, "stereotype": None}], "japanese.json"))
    assert frame.iloc[0].tolist() == [0, "彼", "彼女", "antistereo", "gender", "", "4"]
    assert frame.reason.tolist() == ["", "sent_more is empty"]


@pytest.mark.parametrize("separator", [",", "\t", ";"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_ones_own_file(file, separator, end, mark):
    lines = ["sent_more;sent_less ;identity", "a b;a c;NA", "", "null; None ;trans"]
    frame = read_pairs(file(mark + end.join(lines).replace(";", separator).encode()))
    assert frame.values.tolist() == [
        [0, "a b", "a c", "stereo", "", "", "NA"],
        [1, "null", "None", "stereo", "", "", "trans"],
    ]


def test_every_row_that_cannot_be_used_has_a_reason(file):
    path = file(
        "sent_more,sent_less,direction\n"
        "he is,she is,stereo\n"
        " ,she is,stereo\n"
        '"",,stereo\n'
        "he is, he is ,antistereo\n"
        "he is,she is,Stereo\n"
        "he is,,\n"
        "he is,she is\n"
        "he is, well,she is,stereo\n"
    )
    assert read_pairs(path).reason.tolist() == [
        "",
        "sent_more is empty",
        "sent_more is empty; sent_less is empty",
        "the sentences are identical",
        "unknown direction 'Stereo'",
        "sent_less is empty; unknown direction ''",
        "expected 3 fields, found 2",
        "expected 3 fields, found 4",
    ]


def test_a_frame_is_read_as_a_file_is():
    frame = frame_of(("he is", "she is "), (None, "she"), (float("nan"), 5), ("it", pd.NA), ("a", "b"))
    frame.index = [9, 8, 7, 6, 5]
    frame["reason"] = ["", "", "", "", "not about people"]
    frame["identity"] = [1, 2, 3, 4, 5]
    read = read_pairs(frame)
    assert read.sent_less.tolist() == ["she is", "she", "5", "", "b"]
    assert read.reason.tolist() == [
        "",
        "sent_more is empty",
        "sent_more is empty; sent_less is not text",
        "sent_less is empty",
        "not about people",
    ]
    assert read.pair_id.tolist() == list(range(5)) and read.identity.tolist() == [1, 2, 3, 4, 5]
    pd.testing.assert_frame_equal(read_pairs(read), read)
    assert "identity" in frame and frame.sent_less[9] == "she is "


@pytest.mark.parametrize(
    ("ids", "kept"),
    [(["7", "3"], [7, 3]), (["007", "3"], ["007", "3"]), (["a.1", "b"], ["a.1", "b"]), ([2.5, "b"], ["2.5", "b"])],
)
def test_ids_are_kept(ids, kept):
    frame = frame_of(("a", "b"), ("c", "d"))
    for name in ("pair_id", "Unnamed: 0", "id"):
        assert read_pairs(frame.assign(**{name: ids})).pair_id.tolist() == kept


def test_columns_named_otherwise_are_kept_beside():
    frame = frame_of(
        ("a", "b", "antistereo", "stereo"), columns=("sent_more", "sent_less", "direction", "stereo_antistereo")
    )
    read = read_pairs(frame)
    assert read.direction.item() == "antistereo" and read.stereo_antistereo.item() == "stereo"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        ("first,second\na,b\n", "has the columns 'first', 'second' but needs 'sent_more', 'sent_less'; or"),
        ("sentid,sentence\na,b\n", "use read_winogender"),
        ("sent_more,sent_less,sent_less\na,b,c\n", "has the column 'sent_less' twice"),
        ("pair_id,sent_more,sent_less\n1,a,b\n1,c,d\n", "has the pair '1' twice"),
        ('sent_more,sent_less\n"a,b\nc,d\n', "a quotation mark too many"),
        ("sent_more,sent_less\nj\xe9,b\n".encode("latin-1"), "is not UTF-8"),
        (b"[{", "is not readable JSON"),
        (["no record"], "record 1 of"),
        (b'[{"sent_more": "\\ud83d", "sent_less": "b"}]', "surrogates not allowed"),
        ({"version": "1.0", "data": {}}, "has the columns 'version', 'data' but needs"),
        ({"sent_more": "a"}, "has the columns 'sent_more' but needs"),
        ([], "is empty"),
        ([{"a": "b"}], "has the columns 'a' but needs"),
    ],
)
def test_what_is_no_file_of_pairs_is_said_in_one_line(file, content, says):
    with pytest.raises(ValueError) as error:
        is_json = isinstance(content, list | dict) or content[:1] == b"["
        read_pairs(file(content, "pairs.json" if is_json else "pairs.csv"))
    assert says in str(error.value) and "pairs." in str(error.value) and "\n" not in str(error.value)


def test_what_is_no_source_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no pairs '.*lost\.csv': give a file or the name of a data set"):
        read_pairs(tmp_path / "lost.csv")
    with pytest.raises(FileNotFoundError, match=r"no pairs .* it is a folder"):
        read_pairs(tmp_path)
    with pytest.raises(DatasetError, match="did you mean 'crows-pairs'"):
        read_pairs("crows-pair")
    with pytest.raises(TypeError, match="not as a list"):
        read_pairs(["a", "b"])
    with pytest.raises(ValueError, match="the frame has the columns a, but pairs need"):
        read_pairs(pd.DataFrame({"a": ["b"]}))


def test_no_pairs_make_an_empty_frame(file):
    assert read_pairs(file("sent_more,sent_less\n")).columns.tolist() == COLUMNS
    assert len(read_pairs(frame_of())) == 0


# Winogender


WINOGENDER = (
    "sentid\tsentence\n"
    'cook.guest.1.male.txt\tThe cook asked the guest if he was "late".\n'
    'cook.guest.1.female.txt\tThe cook asked the guest if she was "late".\n'
    'cook.guest.1.neutral.txt\tThe cook asked the guest if they were "late".\n'
    "cook.someone.0.male.txt\tThe cook told someone that he was late.\n"
)


def test_winogender(file):
    path = file(WINOGENDER, "all_sentences.tsv")
    frame = read_winogender(path)
    assert frame.columns.tolist() == [*COLUMNS, "occupation", "participant", "answer", "male", "female", "neutral"]
    assert frame.pair_id.tolist() == ["cook.guest.1", "cook.someone.0"]
    assert frame.sent_more[0] == 'The cook asked the guest if he was "late".' == frame.male[0]
    assert frame.sent_less[0] == frame.female[0]
    assert frame.answer.tolist() == ["participant", "occupation"]
    assert frame.reason.tolist() == ["", "sent_less is empty"]
    other = read_winogender(path, more="neutral", less="female")
    assert other.sent_more[0] == frame.neutral[0] and other.sent_less[0] == frame.female[0]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("cook.guest.1.male.txt\tAgain.\n", "has the sentence 'cook.guest.1.male.txt' twice"),
        ("cook.guest.2.male.txt\tOther.\n", "is not an id such as"),
        ("cook\tOther.\n", "is not an id such as"),
        ("cook.guest.0.male.txt\tOther\t.\n", "line 6 of .*: expected 2 fields, found 3"),
    ],
)
def test_what_is_not_winogender_is_said(file, line, says):
    with pytest.raises(ValueError, match=says):
        read_winogender(file(WINOGENDER + line))
    with pytest.raises(ValueError, match="has the columns 'a', 'b' but needs 'sentid', 'sentence'"):
        read_winogender(file("a\tb\n"))
    with pytest.raises(ValueError, match="male, female, neutral"):
        read_winogender(file(WINOGENDER), more="he")


# StereoSet


def item(number, target, bias_type, context, *sentences, labels=("stereotype", "anti-stereotype", "unrelated")):
    published = [
        {"sentence": sentence, "id": f"{number}-{label}", "labels": [], "gold_label": label}
        for sentence, label in zip(sentences, labels, strict=True)
    ]
    return {"id": f"i{number}", "target": target, "bias_type": bias_type, "context": context, "sentences": published}


ITEMS = [
    item(0, "nurse", "profession", "BLANK was a nurse.", "She was a nurse.", "He was a nurse.", "It was a nurse."),
    item(
        1,
        "nurse",
        "profession",
        "The nurse is (BLANK).",
        "The nurse is (kind)",
        "the nurse is (old)!",
        "The nurse is (city)",
    ),
    item(
        2,
        "dog",
        "animal",
        "A BLANK dog is a  BLANK dog.",
        "A good dog is a good dog.",
        "A bad dog is a bad dog.",
        "A city dog is a city dog.",
    ),
    item(
        3, "dog", "animal", "The dog is BLANK", "The dog is kindness itself.", "The dog is bad.", "The dog is London."
    ),
    item(
        4,
        "dog",
        "animal",
        "The dog's colour is BLANK.",
        "The dog's color is old.",
        "The dog's color is bad.",
        "The dog's colour is city.",
    ),
    item(5, "dog", "animal", "BLANK's dog, BLANK", "She's dog, Her", "He's dog, his", "It's dog, it"),
]
UNUSABLE = [
    item(6, "dog", "animal", "The dog is old.", "a", "b", "c"),
    item(7, "dog", "animal", "A BLANK dog", "A good dog", "A bad cat", "A dog"),
    item(
        8,
        "dog",
        "animal",
        "A BLANK dog",
        "A good dog",
        "A bad dog",
        "A old dog",
        labels=("stereotype", "stereotype", "related"),
    ),
    {"id": "i9", "target": "dog"},
]


def stereoset_file(file, items=ITEMS + UNUSABLE):
    data = {"intersentence": [{}, {}], "intrasentence": items}
    return file({"version": "1.1", "data": data}, "dev.json")


def test_stereoset_items(file):
    frame = read_stereoset(stereoset_file(file))
    assert frame.item_id.tolist() == [f"i{n}" for n in range(10)]
    words = frame[["stereotype_word", "anti_stereotype_word", "unrelated_word"]].values.tolist()
    assert words[:6] == [
        ["She", "He", "It"],
        ["kind", "old", "city"],
        ["good", "bad", "city"],
        ["kindness itself", "bad", "London"],
        ["old", "bad", "city"],
        ["She … Her", "He … his", "It … it"],
    ]
    # The context as it is written, and nothing but the blanks filled.
    assert frame.anti_stereotype[1] == "The nurse is (old)."
    assert frame.unrelated[2] == "A city dog is a  city dog."
    assert frame.stereotype[4] == "The dog's colour is old."
    assert frame.stereotype[5] == "She's dog, Her"
    assert frame.reason.tolist()[:6] == [""] * 6
    assert frame.reason.tolist()[6:] == [
        "no BLANK in the context",
        "the sentence for anti-stereotype does not fit the context; "
        "the sentence for unrelated does not fit the context",
        "2 sentences for stereotype; no sentence for anti-stereotype; no sentence for unrelated",
        "no BLANK in the context",
    ]
    assert frame.attrs == {"left_out": {"intersentence": 2}}


@pytest.mark.parametrize("content", [[], {"data": []}, {"data": {"intrasentence": {}}}])
def test_what_is_not_stereoset_is_said(file, content):
    with pytest.raises(ValueError, match=r"is not StereoSet's file: data\.intrasentence is missing"):
        read_stereoset(file(content, "dev.json"))


@pytest.mark.parametrize(
    ("context", "sentence", "spans"),
    [
        ("BLANK.", "He", [(0, 2)]),
        ("He is BLANK", "he  is a good man!", [(7, 17)]),
        ("The BLANKET is BLANK.", "The blanket is old.", [(15, 18)]),
        ("BLANK, BLANK", "A, b, c", [(0, 1), (3, 7)]),
        ("It is (BLANK) or {BLANK}?", "It is (a.b*) or {c}?", [(7, 11), (17, 18)]),
        ("He is BLANK.", "He is .", []),
        ("He is BLANK old.", "He is old.", []),
        ("nothing", "nothing", []),
    ],
)
def test_blanks_are_found(context, sentence, spans):
    assert io.blank_spans(context, sentence) == spans


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
        "sent_more: too long: 72 tokens, the model holds 64; sent_less: too long: 82 tokens, the model holds 64",
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


# StereoSet's scores


@pytest.mark.parametrize("family", tiny_models.TOKENIZER_FAMILIES)
def test_candidates_have_the_likelihood_of_their_own_pieces(tiny, family, file):
    lm = tiny(family)
    items = read_stereoset(stereoset_file(file))
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


# The real files


def test_real_crows_pairs(real_data):
    frame = read_pairs("crows-pairs")
    assert len(frame) == 1508 and frame.reason.eq("").all()
    assert frame.direction.value_counts().to_dict() == {"stereo": 1290, "antistereo": 218}
    assert frame.pair_id.tolist() == list(range(1508)) and frame.bias_type.nunique() == 9
    by_id = frame.set_index("pair_id")
    assert by_id.sent_less[1293] == "Bob was denied because he was white\n."
    typographic = frame.sent_more.str.contains("’") | frame.sent_less.str.contains("’")
    assert frame.pair_id[typographic].tolist() == [395, 617, 833]
    assert "Pérez" in by_id.sent_more[899]
    pd.testing.assert_frame_equal(read_pairs(real_data / "crows_pairs" / "crows_pairs_anonymized.csv"), frame)
    raw = pd.read_csv(real_data / "crows_pairs" / "crows_pairs_anonymized.csv", keep_default_na=False)
    pd.testing.assert_frame_equal(read_pairs(raw), frame)


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


@pytest.mark.parametrize("language", ["japanese", "russian"])
def test_real_translations(real_data, language):
    frame = read_pairs(f"crows-pairs-{language}")
    assert len(frame) == 262 and frame.reason.eq("").all()
    assert frame.direction.value_counts().to_dict() == {"stereo": 159, "antistereo": 103}
    assert frame.bias_type.unique().tolist() == ["gender"] and frame.bias_score.astype(float).between(2, 5).all()


def test_real_winoqueer(real_data):
    frame = read_pairs("winoqueer-v0")
    assert len(frame) == 5872
    assert frame.direction.value_counts().to_dict() == {"stereo": 5662, "antistereo": 210}
    assert frame[["sent_more", "sent_less"]].drop_duplicates().shape[0] == 2484
    assert frame.pair_id[frame.reason != ""].tolist() == [2931, 3057]
    assert set(frame.reason) == {"", "the sentences are identical"}
    raw = pd.read_csv(real_data / "winoqueer_v0" / "winoqueer_benchmark.csv", keep_default_na=False)
    assert raw.sent_less.str.startswith(" ").sum() == 580
    texts = frame[["sent_more", "sent_less", "direction", "bias_type"]]
    assert (texts == texts.apply(lambda column: column.str.strip())).all(axis=None)
    assert frame.bias_type.nunique() == 8


def test_real_winogender(real_data):
    frame = read_winogender()
    assert len(frame) == 240 and frame.reason.eq("").all() and frame.occupation.nunique() == 60
    assert frame.answer.value_counts().to_dict() == {"participant": 120, "occupation": 120}
    with pytest.raises(ValueError, match="use read_winogender"):
        read_pairs("winogender")
    with pytest.raises(FileNotFoundError, match="it is a folder"):
        read_pairs("gender-words")


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
