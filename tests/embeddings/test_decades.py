import numpy as np
import pytest
from tiny_vectors import random_vectors

from biaslib.embeddings import run_contrasts, similarity_trend, trend, weat
from biaslib.io import SETS, read_contrasts


def decades():
    vectors, sets = random_vectors((6, 6, 4, 4), seed=6)
    later, _ = random_vectors((6, 6, 4, 4), seed=7)
    zero = np.zeros(6)
    middle = {**later, "x0": zero, "y5": zero}
    middle.pop("x1")
    last = {**vectors, "x0": zero, **dict.fromkeys(["y0", "y1", "y2", "y3"], zero)}
    return {1900: middle, 1850: vectors, 1950: last}, dict(zip(SETS, sets, strict=True))


def test_trend_of_common_words():
    by_decade, sets = decades()
    del by_decade[1950]
    frame = trend(by_decade, sets, n_resamples=100)
    assert frame["decade"].tolist() == [1850, 1900] and set(frame["words"]) == {"common"}
    assert frame[["n_x", "n_y"]].values.tolist() == [[4, 5], [4, 5]]
    assert set(frame["missing"]) == {"X: x0 x1; Y: y5"} and set(frame["n_missing"]) == {3}
    x, y = sets["X"][2:], sets["Y"][:5]
    for row in frame.itertuples():
        assert row.effect_size == weat(by_decade[row.decade], x, y, sets["A"], sets["B"]).effect_size


def test_trend_without_enough_common_words():
    by_decade, sets = decades()
    frame = trend(by_decade, sets, n_resamples=10)
    assert frame["effect_size"].isna().all() and len(frame) == 3
    assert frame.loc[0, "reason"] == "Y has 1 word(s) with a vector, fewer than 4"


def test_trend_of_available_words_has_gaps():
    by_decade, sets = decades()
    frame = trend(by_decade, sets, words="available", n_resamples=100)
    assert frame["n_x"].tolist() == [6, 4, 5]
    assert frame["effect_size"].notna().tolist() == [True, True, False]
    assert frame.loc[2, "reason"] == "Y misses 4 of 6 words, over 50%"
    assert frame.loc[1, "missing"] == "X: x0 x1; Y: y5"
    assert frame.loc[0, "effect_size"] == weat(by_decade[1850], *sets.values()).effect_size


def test_trend_of_a_contrast_of_the_study():
    one = read_contrasts().query("contrast == 'american-russian-friend-enemy'")
    rng = np.random.default_rng(0)
    vectors = {word.lower(): rng.normal(size=50) for word in one["word"]}
    frame = trend({1990: vectors}, one, n_resamples=50)
    assert frame.loc[0, ["n_x", "n_lowered", "reason"]].tolist() == [8, 16, ""]
    assert frame.loc[0, "effect_size"] == run_contrasts(vectors, one, n_resamples=50).loc[0, "effect_size"]


def test_trend_refuses():
    by_decade, sets = decades()
    for bad, message in (({}, "at least one decade"), ([1900], "at least one decade")):
        with pytest.raises(ValueError, match=message):
            trend(bad, sets)
    with pytest.raises(ValueError, match="unknown words 'all'; use one of common, available"):
        trend(by_decade, sets, words="all")
    with pytest.raises(ValueError, match="X, Y, A, B"):
        trend(by_decade, {"X": ["a"]})
    with pytest.raises(ValueError, match="min_words"):
        trend(by_decade, sets, min_words=0)


def test_similarity_of_two_words_over_decades():
    decades = {
        1910: {"ant": [3.0, 4.0], "bee": [0.0, 0.0]},
        1900: {"ant": [3.0, 4.0], "bee": [4.0, 3.0], "Ant": [1.0, 0.0]},
        1920: {"bee": [1e-200, 0.0], "ant": [1e200, 0.0]},
        1930: {"cow": [1.0, 1.0]},
    }
    frame = similarity_trend(decades, "ant", "bee")
    assert frame["decade"].tolist() == [1900, 1910, 1920, 1930]
    np.testing.assert_allclose(frame["cosine"], [24 / 25, np.nan, 1.0, np.nan])
    assert frame["reason"].tolist() == ["", "no vector: bee", "", "no vector: ant, bee"]
    assert similarity_trend(decades, "BEE", "Ant")["cosine"][0] == pytest.approx(0.8)
    as_is = similarity_trend(decades, "BEE", "Ant", case="as_is")
    assert as_is["reason"][0] == "no vector: BEE"
    for bad in ({"decades": {}}, {"first": ""}, {"case": "upper"}):
        with pytest.raises(ValueError, match=r"at least one decade|the pair must hold|unknown case"):
            similarity_trend(**({"decades": decades, "first": "ant", "second": "bee"} | bad))
