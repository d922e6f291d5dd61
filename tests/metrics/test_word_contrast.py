import math
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import plain
import pytest
import tiny_models
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from biaslib import scoring
from biaslib.io import read_templates
from biaslib.metrics import compare_sentences, contrast, filter_contrast, top_contrast, word_contrast, word_sets

OBJECT = ["This is a {name} which is [MASK].", "It is a {name} that is [MASK]."]
HUMAN = ["She is a {name} who is [MASK]."]
COLUMNS = ["name", "word", "p_object", "p_human", "log_ratio", "z", "kept", "token_id", "token", "kind"]


@pytest.fixture
def fake(monkeypatch):
    """Answer each sentence from a table of distributions; sentences not in it are over the limit."""

    def install(distributions, vocabulary):
        size = len(vocabulary)
        calls = []

        def mask_distributions(lm, sentences, *, return_reasons, batch_tokens=None, progress=False):
            assert return_reasons
            calls.append(len(sentences))
            missing = [np.nan] * size
            found = np.array([distributions.get(s, missing) for s in sentences], dtype=np.float32)
            return found, ["" if s in distributions else "too long" for s in sentences]

        def describe_vocabulary(lm):
            return pd.DataFrame(
                {"token_id": range(size), "token": vocabulary, "word": vocabulary, "kind": ["word"] * size}
            )

        monkeypatch.setattr(scoring, "mask_distributions", mask_distributions)
        monkeypatch.setattr(scoring, "describe_vocabulary", describe_vocabulary)
        return SimpleNamespace(lm=None, calls=calls)

    return install


def distributions(name, which, that, she):
    sentences = [t.format(name=name) for t in (*OBJECT, *HUMAN)]
    return dict(zip(sentences, (which, that, she), strict=True))


PIG = distributions("pig", [0.5, 0.25, 0.25, 0.0], [0.25, 0.5, 0.25, 0.0], [0.125, 0.125, 0.25, 0.5])
OWL = distributions("owl", [0.25] * 4, [0.25] * 4, [0.25] * 4)
WORDS = ["ripe", "old", "shy", "kind"]


def test_by_hand(fake):
    session = fake(PIG, WORDS)
    frame = contrast(session.lm, ["pig"], OBJECT, HUMAN, min_z=1, keep_all=True)
    assert list(frame.columns) == COLUMNS
    # The mean of the two object sentences: .375, .375, .25, 0; ratios ln 3, ln 3, 0; "kind" has none.
    assert frame["p_object"].tolist() == [0.375, 0.375, 0.25, 0.0]
    assert frame["log_ratio"][:3].tolist() == pytest.approx([math.log(3), math.log(3), 0.0])
    # Mean 2/3 ln 3, population SD ln 3 · √2/3: z = 1/√2, 1/√2, −√2.
    assert frame["z"][:3].tolist() == pytest.approx([2**-0.5, 2**-0.5, -(2**0.5)])
    assert math.isnan(frame["log_ratio"][3]) and math.isnan(frame["z"][3])
    assert frame["kept"].tolist() == [False, False, True, False]
    assert frame.attrs == {"n_zero": {"pig": 1}, "skipped": {}, "min_z": 0.0}


def test_the_floor_is_one_over_the_vocabulary():
    p = np.array([0.2, 0.2, 0.3, 0.3])
    q = np.array([0.1, 0.26, 0.3, 0.34])
    frame = filter_contrast(p, q, vocabulary_size=4, min_z=0)
    assert frame["kept"].tolist() == [False, True, True, True]
    # Both just at the floor are not below it.
    frame = filter_contrast([0.25, 0.75], [0.25, 0.75], vocabulary_size=4, min_z=0)
    assert frame["kept"].tolist() == [True, True]


def test_min_z_keeps_the_equal():
    frame = filter_contrast([0.4, 0.1], [0.1, 0.4], vocabulary_size=10, min_z=1)
    assert frame["z"].tolist() == pytest.approx([1, -1], abs=0)
    assert frame["kept"].all()


def test_equal_ratios_stand_out_nowhere():
    p = np.linspace(0.01, 0.3, 7)
    frame = filter_contrast(p, p / 3, vocabulary_size=1000, min_z=0.5)
    assert frame["z"].tolist() == [0.0] * 7
    assert not frame["kept"].any()


def test_all_zero_has_no_ratio():
    frame = filter_contrast([0.0, 1.0], [1.0, 0.0], vocabulary_size=2, min_z=0)
    assert frame["log_ratio"].isna().all() and not frame["kept"].any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p_object": [0.1, math.nan]}, "between 0 and 1"),
        ({"p_object": [0.1, -0.1]}, "between 0 and 1"),
        ({"p_object": [0.1, 5.0]}, "between 0 and 1"),
        ({"p_object": [0.1]}, "same length, not 1 and 2"),
        ({"p_object": []}, "one-dimensional, non-empty"),
        ({"p_object": [[0.1, 0.2]]}, "one-dimensional, non-empty"),
        ({"min_z": -1}, "min_z"),
        ({"min_z": math.nan}, "min_z"),
        ({"min_z": True}, "min_z"),
        ({"vocabulary_size": 0}, "vocabulary_size"),
    ],
)
def test_filter_refuses(change, message):
    arguments = {"p_object": [0.1, 0.2], "p_human": [0.2, 0.1], "vocabulary_size": 2, "min_z": 2} | change
    with pytest.raises(ValueError, match=message):
        filter_contrast(arguments.pop("p_object"), arguments.pop("p_human"), **arguments)


@given(npst.arrays(float, (2, 8), elements=st.floats(1e-6, 1)), st.permutations(range(8)))
def test_filter_follows_the_order_and_swaps_sign(p, order):
    frame = filter_contrast(*p, vocabulary_size=50, min_z=1.01)
    moved = filter_contrast(*p[:, order], vocabulary_size=50, min_z=1.01)
    swapped = filter_contrast(*p[::-1], vocabulary_size=50, min_z=1.01)
    assert moved["log_ratio"].tolist() == frame["log_ratio"].iloc[order].tolist()
    assert np.allclose(moved["z"], frame["z"].iloc[order], atol=1e-6)
    assert np.allclose(swapped["z"], -frame["z"], atol=1e-6)


def test_z_over_the_model_pools_the_names(fake):
    session = fake(PIG | OWL, WORDS)
    frame = contrast(session.lm, ["pig", "owl"], OBJECT, HUMAN, z_over="model", keep_all=True)
    ratios = frame["log_ratio"].dropna()
    assert len(ratios) == 7
    expected = (ratios - ratios.mean()) / ratios.std(ddof=0)
    assert np.allclose(frame["z"].dropna(), expected)
    alone = contrast(session.lm, ["pig", "owl"], OBJECT, HUMAN, keep_all=True)
    assert alone.loc[alone["name"] == "owl", "z"].tolist() == [0.0] * 4


def test_portions_give_the_same(fake, monkeypatch):
    session = fake(PIG | OWL, WORDS)
    whole = contrast(session.lm, ["pig", "owl"], OBJECT, HUMAN, min_z=1, keep_all=True)
    assert session.calls == [6]
    monkeypatch.setattr(word_contrast, "_ENTRIES_AT_ONCE", 1)
    pd.testing.assert_frame_equal(contrast(session.lm, ["pig", "owl"], OBJECT, HUMAN, min_z=1, keep_all=True), whole)
    assert session.calls == [6, 3, 3]


def test_a_name_over_the_limit_is_reported(fake):
    session = fake(PIG, WORDS)
    with pytest.warns(UserWarning, match="no contrast for owl"):
        frame = contrast(session.lm, ["owl", "pig"], OBJECT, HUMAN, min_z=1)
    assert frame.attrs["skipped"] == {"owl": "too long: 'This is a owl which is [MASK].'"}
    assert frame["name"].cat.categories.tolist() == ["pig"]
    assert word_sets(frame) == {"pig": {"shy"}}


def test_every_name_over_the_limit(fake):
    session = fake({}, WORDS)
    with pytest.warns(UserWarning, match="no contrast for owl"):
        frame = contrast(session.lm, ["owl"], OBJECT, HUMAN)
    assert list(frame.columns) == COLUMNS and frame.empty
    assert top_contrast(frame).empty and word_sets(frame) == {}


def test_a_name_without_kept_word_has_an_empty_set(fake):
    session = fake(PIG | OWL, WORDS)
    frame = contrast(session.lm, ["owl", "pig"], OBJECT, HUMAN, min_z=1)
    assert word_sets(frame) == {"owl": set(), "pig": {"shy"}}
    assert word_sets(frame, signed=True) == {"owl": set(), "pig": {("shy", 0)}}
    assert word_sets(frame, names=["owl"]) == {"owl": set()}


def test_articles_reach_the_sentences(fake):
    agreed = {s.replace(" a owl", " an owl"): p for s, p in OWL.items()}
    session = fake(agreed, WORDS)
    assert contrast(session.lm, ["owl"], OBJECT, HUMAN, article="agree").attrs["skipped"] == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": ["pig", "pig"]}, "duplicates: pig"),
        ({"names": "pig"}, "list"),
        ({"names": []}, "empty"),
        ({"object_templates": []}, "object_templates is empty"),
        ({"human_templates": "She is a {name}."}, "human_templates must be a list of strings, not one string"),
        ({"object_templates": ["It is [MASK]."]}, "no slot"),
        ({"z_over": "animals"}, "unknown z_over 'animals'; use one of animal, model"),
        ({"article": "the"}, "use one of literal, agree"),
        ({"min_z": -0.1}, "min_z"),
    ],
)
def test_contrast_refuses(fake, change, message):
    session = fake(PIG, WORDS)
    arguments = {"names": ["pig"], "object_templates": OBJECT, "human_templates": HUMAN} | change
    with pytest.raises(ValueError, match=message):
        contrast(session.lm, **arguments)
    assert session.calls == []


def contrast_rows(*rows):
    return pd.DataFrame(rows, columns=["name", "word", "log_ratio", "kept"])


def test_top_contrast():
    frame = contrast_rows(
        ("pig", "b", 2.0, True),
        ("pig", "a", 2.0, True),
        ("pig", "c", 3.0, True),
        ("pig", "dropped", 9.0, False),
        ("pig", "d", -1.0, True),
        ("pig", "e", -4.0, True),
        ("pig", "zero", 0.0, True),
        ("cat", "f", -1.0, True),
    )
    assert top_contrast(frame, k=2).values.tolist() == [
        ["pig", "object", 1, "c", 3.0],
        ["pig", "object", 2, "a", 2.0],
        ["pig", "human", 1, "e", -4.0],
        ["pig", "human", 2, "d", -1.0],
        ["cat", "human", 1, "f", -1.0],
    ]


@given(st.permutations(range(6)))
def test_top_contrast_does_not_depend_on_row_order(order):
    frame = contrast_rows(*[("pig", w, r, True) for w, r in zip("fedcba", [1, 1, 2, -1, -1, 2], strict=True)])
    pd.testing.assert_frame_equal(top_contrast(frame.iloc[order], k=2), top_contrast(frame, k=2))


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "5"])
def test_top_contrast_refuses_k(k):
    with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
        top_contrast(contrast_rows(("pig", "a", 1.0, True)), k=k)


def test_signed_sets_keep_the_direction():
    frame = contrast_rows(("a", "x", 1.0, True), ("b", "x", -1.0, True), ("b", "y", 2.0, False))
    assert word_sets(frame) == {"a": {"x"}, "b": {"x"}}
    assert word_sets(frame, signed=True) == {"a": {("x", 1)}, "b": {("x", -1)}}


@pytest.fixture(scope="module")
def templates():
    return read_templates("speciesism").groupby("condition")["template"].agg(list)


def test_demo_agrees_with_plain_float64(demo, templates):
    frame = contrast(demo, ["pig", "human"], templates["object"], templates["human"], keep_all=True)
    assert len(frame) == 2 * 30_522
    for name in ("pig", "human"):
        mine = frame[frame["name"] == name]
        p = {}
        for condition in ("object", "human"):
            sentences = [t.format(name=name) for t in templates[condition]]
            p[condition] = np.mean(scoring.mask_distributions(demo, sentences).astype(float), axis=0)
        # The same float32 scores, but batched otherwise: hence not to the last digit.
        assert np.allclose(mine["p_object"], p["object"], rtol=1e-4, atol=0)
        assert np.allclose(mine["p_human"], p["human"], rtol=1e-4, atol=0)
        ratio = np.log(p["object"] / p["human"])
        z = (ratio - ratio.mean()) / ratio.std()
        assert np.allclose(mine["z"], z, atol=1e-3)
        clear = np.abs(np.abs(z) - 2) > 1e-3
        floor = 1 / 30_522
        kept = ((p["object"] >= floor) | (p["human"] >= floor)) & (np.abs(z) >= 2)
        assert (mine["kept"].to_numpy() == kept)[clear].mean() > 0.9999


def test_kept_rows_are_the_kept_of_all(demo, templates):
    arguments = (demo, ["pig", "dog"], templates["object"], templates["human"])
    whole = contrast(*arguments, keep_all=True)
    kept = contrast(*arguments)
    pd.testing.assert_frame_equal(kept, whole[whole["kept"]].reset_index(drop=True))
    assert 0 < len(kept) < len(whole) / 10
    assert kept["word"].tolist() == [demo.tokenizer.convert_ids_to_tokens(int(i)) for i in kept["token_id"]]


def test_the_whole_vocabulary_of_all_names(fake):
    rng = np.random.default_rng(0)
    names = [f"animal{i}" for i in range(46)]
    p = rng.dirichlet(np.full(30_522, 0.3), size=3).astype(np.float32)
    session = fake(
        {k: v for name in names for k, v in distributions(name, *p).items()}, [f"w{i}" for i in range(30_522)]
    )
    frame = contrast(session.lm, names, OBJECT, HUMAN, keep_all=True)
    assert len(frame) == 46 * 30_522 and frame["name"].value_counts().eq(30_522).all()


FIRST, SECOND = "[MASK] is a doctor.", "The nurse said that [MASK] is kind."


@pytest.mark.parametrize("family", [*tiny_models.TOKENIZER_FAMILIES, "demo"])
def test_two_sentences_have_the_plain_probabilities_of_each_word_in_its_place(tiny, demo, family):
    lm = demo if family == "demo" else tiny(family)
    model = plain.double(lm)
    frame = compare_sentences(lm, FIRST, SECOND, 8)
    assert frame["log_ratio"].dropna().is_monotonic_decreasing
    whole = frame[frame["word"].str.isalpha()]
    assert len(whole) >= 2
    for row in whole.itertuples():
        p = [plain.group_probability(lm, model, sentence, [row.word]) for sentence in (FIRST, SECOND)]
        np.testing.assert_allclose([row.p_first, row.p_second], p, rtol=1e-4)
        if not row.reason:
            assert row.log_ratio == pytest.approx(math.log(p[0] / p[1]), abs=1e-4)
    tops = [scoring.top_words(lm, sentence, 8) for sentence in (FIRST, SECOND)]
    for side, top in zip(("first", "second"), tops, strict=True):
        # At the start of a sentence a byte-level entry is a whole word that elsewhere continues one: it has two rows.
        ranked = frame.dropna(subset=f"rank_{side}").sort_values(f"rank_{side}").drop_duplicates(f"rank_{side}").head(8)
        assert ranked[f"token_{side}"].tolist() == top["token"].tolist()
        assert ranked[f"rank_{side}"].tolist() == list(range(1, 9))
        alone = compare_sentences(lm, FIRST, SECOND, 8, by=side)
        assert alone[f"token_{side}"].tolist() == top["token"].tolist()


def test_a_word_that_is_no_entry_in_the_other_place_has_a_reason(demo):
    frame = compare_sentences(demo, "She is [MASK].", "She is un[MASK].", 5)
    missing = frame[frame["reason"] != ""]
    assert len(missing) and missing["log_ratio"].isna().all()
    assert set(missing["reason"]) <= {f"in the {side} sentence: not one token" for side in ("first", "second")}
    one = compare_sentences(demo, "She is [MASK].", " ", 5)
    assert one["p_second"].isna().all() and one["rank_first"].tolist() == [1, 2, 3, 4, 5]
    assert one["reason"].eq("").all()


def test_the_whole_vocabulary_of_two_sentences(tiny):
    lm = tiny("bert_cased")
    frame = compare_sentences(lm, "She is [MASK].", "He is [MASK].", lm.vocabulary_size, by="first")
    assert len(frame) == lm.vocabulary_size and frame["p_first"].sum() == pytest.approx(1, abs=1e-5)


def test_what_two_sentences_refuse(demo):
    for options, line in (
        ({"k": 0}, "k must be a whole number from 1 to 30522, not 0"),
        ({"k": True}, "k must be a whole number from 1 to 30522, not True"),
        ({"k": 30523}, "k must be a whole number from 1 to 30522, not 30523"),
        ({"by": "third"}, "use one of either, first, second"),
        ({"second": "", "by": "second"}, "the second sentence is empty"),
        ({"first": "[MASK] [MASK]"}, "this one has 2"),
        ({"first": "dog " * 600 + "[MASK]"}, "too long"),
    ):
        with pytest.raises(ValueError, match=re.escape(line)):
            compare_sentences(demo, **({"first": "She is [MASK].", "second": "He is [MASK]."} | options))
