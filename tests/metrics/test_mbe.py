"""The MBE score against its definition pair by pair, its interval and its tests."""

import math

import numpy as np
import pandas as pd
import plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from biaslib import metrics
from biaslib.metrics import (
    _pair_sums,
    mbe_interval,
    mbe_score,
    mcnemar_random,
    meta_evaluation,
    sentence_preferences,
    similarity_curve,
)
from biaslib.stats import mcnemar

GENDER = {"male": "m", "female": "f"}
HAND = [-1.0, -3.0], [-2.0], [[1.0, 0.0], [0.0, 10.0]], [[1.0, 1.0]]


def sides(n_male, n_female, d=16, seed=0, centre=1.0, dtype=np.float64, levels=None):
    """Random sentences; with levels, scores take few values, so that many pairs tie."""
    rng = np.random.default_rng(seed)
    draw = (lambda n: rng.integers(0, levels, n).astype(float)) if levels else rng.normal
    scores = [draw(n) if levels else draw(size=n) for n in (n_male, n_female)]
    return (*scores, *(rng.normal(centre, 1, (n, d)).astype(dtype) for n in (n_male, n_female)))


# By hand


@pytest.mark.parametrize(("weight", "score"), [("cosine", 50.0), ("dot", 100 / 11)])
@pytest.mark.parametrize("min_similarity", [None, -1.0, 0.7])
def test_by_hand(weight, score, min_similarity):
    result = mbe_score(*HAND, weight=weight, min_similarity=min_similarity)
    assert result.score == pytest.approx(score, abs=1e-10)
    assert (result.n_male, result.n_female, result.n_pairs, result.ties) == (2, 1, 2, 0)
    assert result.reason == "" and result.left_out == {} and result.weight == weight


def test_above_fifty_the_male_sentences_are_preferred():
    assert mbe_score([-1.0], [-2.0], [[1.0]], [[1.0]]).score == 100
    assert mbe_score([-2.0], [-1.0], [[1.0]], [[1.0]]).score == 0


@pytest.mark.parametrize("min_similarity", [None, 0.0])
def test_a_tie_is_no_preference_and_is_counted(min_similarity):
    result = mbe_score([-1.0, -1.0], [-1.0, -2.0], [[1.0]] * 2, [[1.0]] * 2, min_similarity=min_similarity)
    assert (result.score, result.ties, result.n_pairs) == (50, 2, 4)


def test_negative_cosines_are_negative_weight():
    result = mbe_score([0.0], [-1.0, 1.0], [[1.0, 0.0]], [[1.0, 0.0], [-0.6, 0.8]])
    assert result.score == pytest.approx(100 * 1 / 0.4)
    for male in ([[1.0, 0.0]], [[1.0, 1.0]]):
        nothing = mbe_score([0.0], [-1.0, 1.0], male, [[1.0, 0.0], [-1.0, 0.0]])
        assert math.isnan(nothing.score) and "do not add up to a positive number" in nothing.reason
    dropped = mbe_score([0.0], [-1.0, 1.0], [[1.0, 0.0]], [[1.0, 0.0], [-0.6, 0.8]], min_similarity=0)
    assert (dropped.score, dropped.n_pairs, dropped.mean_weight) == (100, 1, 1)


def test_what_cannot_be_used_is_left_out_and_counted():
    scores = [-1.0, math.nan, -3.0, -4.0, -math.inf]
    vectors = [[1.0, 0.0], [1.0, 0.0], [math.nan, 1.0], [0.0, 0.0], [1.0, 0.0]]
    result = mbe_score(scores, [-2.0], vectors, [[1.0, 1.0]])
    assert result.left_out == {"male: no score": 2, "male: no vector": 1, "male: zero vector": 1}
    assert (result.score, result.n_male, result.n_left_out) == (100, 1, 4)
    row = result.to_frame().iloc[0]
    assert row.left_out == "male: no score: 2; male: no vector: 1; male: zero vector: 1" and row.n_left_out == 4
    empty = mbe_score([math.nan], [-2.0], [[1.0]], [[1.0]])
    assert math.isnan(empty.score) and empty.reason == "there is no male sentence with a score"
    assert mbe_score([], [], [], []).reason == "there is no male and no female sentence with a score"
    assert mbe_score([], [-1.0], [], [[1.0]], min_similarity=0).n_pairs == 0
    assert mbe_score(*HAND, min_similarity=0.9).reason == "no pair is that similar"


# Against the definition


@pytest.mark.parametrize("weight", metrics.WEIGHTS)
@pytest.mark.parametrize("levels", [None, 5])
def test_sums_blocks_and_pairs_agree(weight, levels):
    """The size is 300 × 400 sentences."""
    given = sides(300, 400, levels=levels)
    expected, n_pairs, ties = plain.mbe(*given, weight=weight)
    for min_similarity in (None, -1.0):
        result = mbe_score(*given, weight=weight, min_similarity=min_similarity)
        assert result.score == pytest.approx(expected, abs=1e-6)
        assert (result.n_pairs, result.ties) == (n_pairs, ties) and (ties > 0) == (levels is not None)


@pytest.mark.parametrize("weight", metrics.WEIGHTS)
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("min_similarity", [0.0, 0.55, 0.7])
def test_blocks_leave_out_the_dissimilar(monkeypatch, weight, exact, min_similarity):
    given = sides(120, 150, levels=40, dtype=np.float32)
    if not exact:
        monkeypatch.setattr(_pair_sums, "_EXACT_BELOW", 0)
    monkeypatch.setattr(_pair_sums, "_PAIRS_AT_ONCE", 1000)
    expected = plain.mbe(*given, weight=weight, min_similarity=min_similarity)
    result = mbe_score(*given, weight=weight, min_similarity=min_similarity)
    assert (result.n_pairs, result.ties) == expected[1:] and 0 < result.n_pairs < 120 * 150
    assert result.score == pytest.approx(expected[0], abs=1e-6 if exact else 1e-4)


@pytest.mark.parametrize("exact", [True, False])
def test_rounding_does_not_decide_at_the_threshold(monkeypatch, exact):
    if not exact:
        monkeypatch.setattr(_pair_sums, "_EXACT_BELOW", 0)
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(40, 30)).astype(np.float32)
    scaled = (vectors * rng.uniform(0.1, 9, (40, 1))).astype(np.float32)
    n_equal = sum(
        np.float64(a) @ b / math.sqrt(np.float64(a) @ a * (np.float64(b) @ b)) >= 1 - 1e-12
        for a, b in zip(vectors.astype(float), scaled.astype(float), strict=True)
    )
    result = mbe_score(np.zeros(40), np.ones(40), vectors, scaled, min_similarity=1.0)
    assert result.n_pairs == n_equal
    same = mbe_score(np.zeros(40), np.ones(40), vectors, vectors, min_similarity=1.0)
    assert same.n_pairs == 40


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.integers(-4, 0), st.integers(1, 9), st.integers(-2, 9)), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(-4, 0), st.integers(1, 9), st.integers(-2, 9)), min_size=1, max_size=8),
    st.randoms(use_true_random=False),
    st.floats(1e-3, 1e3),
)
def test_order_length_and_copies_move_nothing(male, female, rng, scale):
    def score(male, female, factor=1.0):
        parts = [(np.array([r[0] for r in rows], float), [[r[1], r[2]] for r in rows]) for rows in (male, female)]
        vectors = [np.array(part[1], float) for part in parts]
        vectors[0][0] *= factor
        return mbe_score(parts[0][0], parts[1][0], *vectors).score

    expected = score(male, female)
    assert score(rng.sample(male, len(male)), rng.sample(female, len(female))) == pytest.approx(expected, nan_ok=True)
    assert score(male, female, scale) == pytest.approx(expected, nan_ok=True)
    assert score(male * 3, female * 2) == pytest.approx(expected, nan_ok=True)
    without_ties = [(score - 0.5, x, y) for score, x, y in female]
    both_ways = score(male, without_ties) + score(without_ties, male)
    assert math.isnan(both_ways) if math.isnan(expected) else both_ways == pytest.approx(100)


def test_blocks_of_sentences_do_not_show(monkeypatch):
    given = sides(37, 53, levels=6)
    expected = mbe_score(*given).score
    for size in (1, 2, 7, 1000):
        monkeypatch.setattr(_pair_sums, "_BLOCK", size)
        assert mbe_score(*given).score == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    ("given", "options", "says"),
    [
        (HAND, {"weight": "euclid"}, "unknown weight 'euclid'; use one of cosine, dot"),
        (HAND, {"min_similarity": 1.5}, "min_similarity must be a finite number at least -1 and at most 1, not 1.5"),
        (HAND, {"min_similarity": math.nan}, "min_similarity must be a finite number at least -1"),
        (HAND, {"min_similarity": True}, "min_similarity must be a finite number at least -1"),
        (([1.0], [1.0], [[1.0]], [[1.0, 2.0]]), {}, "male vectors have 1 and female ones 2 dimensions"),
        (([1.0, 2.0], [1.0], [[1.0]], [[1.0]]), {}, r"male_vectors \(n, d\), not \(2,\) and \(1, 1\)"),
        (([1.0], [1.0], [[1.0]], [1.0]), {}, r"female_scores must have shape \(n,\)"),
    ],
)
def test_what_is_refused(given, options, says):
    with pytest.raises(ValueError, match=says):
        mbe_score(*given, **options)


# Interval and curve


@pytest.mark.parametrize("min_similarity", [None, 0.4])
def test_interval_is_that_of_a_bootstrap_done_plainly(min_similarity):
    given = sides(40, 30, seed=3)
    low, high = mbe_interval(*given, n_resamples=1500, seed=1, min_similarity=min_similarity)
    assert (low, high) == mbe_interval(*given, n_resamples=1500, seed=1, min_similarity=min_similarity)
    rng = np.random.default_rng(2)
    drawn = []
    for _ in range(1500):
        m, f = rng.integers(0, 40, 40), rng.integers(0, 30, 30)
        parts = given[0][m], given[1][f], given[2][m], given[3][f]
        drawn.append(mbe_score(*parts, min_similarity=min_similarity).score)
    expected = np.quantile(drawn, [0.025, 0.975])
    assert (low, high) == pytest.approx(expected, abs=2.5)
    assert low < mbe_score(*given, min_similarity=min_similarity).score < high
    narrow = mbe_interval(*given, n_resamples=1500, seed=1, confidence=0.5, min_similarity=min_similarity)
    assert low < narrow[0] < narrow[1] < high


def test_interval_where_there_is_none():
    assert all(map(math.isnan, mbe_interval([1.0], [1.0, 2.0], [[1.0]], [[1.0]] * 2)))
    opposite = [1.0, 2.0], [1.0, 2.0], [[1.0], [-1.0]], [[1.0], [1.0]]
    assert all(map(math.isnan, mbe_interval(*opposite, n_resamples=50)))
    assert mbe_interval([1.0] * 2, [0.0] * 2, [[1.0]] * 2, [[1.0]] * 2, n_resamples=50) == (100, 100)
    for options, says in (({"n_resamples": 0}, "n_resamples"), ({"confidence": 95}, "confidence")):
        with pytest.raises(ValueError, match=says):
            mbe_interval(*HAND, **options)


@pytest.mark.parametrize("weight", metrics.WEIGHTS)
def test_curve_is_the_score_at_each_threshold(weight):
    given = sides(50, 60, levels=20)
    thresholds = [0.99, -1.0, 0.5, 0.5]
    frame = similarity_curve(*given, weight=weight, thresholds=thresholds)
    assert frame.min_similarity.tolist()[1:] == [-1.0, 0.5, 0.99]
    expected = [mbe_score(*given, weight=weight, min_similarity=t) for t in (None, -1.0, 0.5, 0.99)]
    np.testing.assert_allclose(frame.score, [result.score for result in expected], atol=1e-9)
    assert frame.n_pairs.tolist() == [result.n_pairs for result in expected]
    assert frame.ties.tolist() == [result.ties for result in expected]
    assert frame.share_of_pairs.iloc[:2].tolist() == [1, 1] and frame.share_of_pairs.is_monotonic_decreasing
    assert frame.reason.iloc[-1] == "no pair is that similar"
    with pytest.raises(ValueError, match="thresholds is empty"):
        similarity_curve(*given, thresholds=[])


# Against chance


def test_random_predictor_over_pairs():
    given = sides(60, 70, levels=9)
    result = mcnemar_random(*given, seed=5)
    n_preferred = int((given[0][:, None] > given[1]).sum())
    assert result.both + result.model_only == n_preferred and result.n == 60 * 70
    assert result.both + result.random_only == pytest.approx(2100, abs=200)
    assert result.p_value == mcnemar(result.model_only, result.random_only)
    assert result == mcnemar_random(*given, seed=5) != mcnemar_random(*given, seed=6)
    assert result.to_frame().loc[0, "unit"] == "pair"


@pytest.mark.parametrize("weight", metrics.WEIGHTS)
def test_each_sentence_has_its_share_and_cell(weight):
    given = sides(30, 20, levels=9)
    given[0][4] = math.nan
    frame = sentence_preferences(*given, weight=weight, seed=2)
    assert frame.gender.tolist() == ["male"] * 30 + ["female"] * 20
    for row in frame.drop(4).itertuples():
        own = [
            part[[row.place]] if side == GENDER[row.gender] else part for part, side in zip(given, "mfmf", strict=True)
        ]
        assert row.share == pytest.approx(mbe_score(*own, weight=weight).score, abs=1e-9)
        assert row.prefers_male == (row.share > 50)
        cells = {(True, True): "both", (True, False): "model_only", (False, True): "random_only"}
        assert row.cell == cells.get((row.prefers_male, row.random_prefers_male), "neither")
    assert math.isnan(frame.share[4]) and frame.cell[4] == ""
    result = mcnemar_random(*given, weight=weight, seed=2, unit="sentence")
    assert frame.cell.value_counts().drop("").to_dict() == {
        name: n for name, n in vars(result).items() if name in ("both", "model_only", "random_only", "neither") and n
    }
    assert (result.n, result.n_left_out) == (49, 1)


def test_chance_without_sentences():
    for unit in metrics.TEST_UNITS:
        result = mcnemar_random([], [1.0], [], [[1.0]], unit=unit)
        assert result.n == 0 and math.isnan(result.p_value)
    with pytest.raises(ValueError, match="unknown unit 'word'; use one of pair, sentence"):
        mcnemar_random(*HAND, unit="word")


# Over models


def test_correlation_over_models():
    a = {"a": 50.0, "b": 52.0, "c": 55.0, "d": 51.0, "e": 60.0, "f": math.nan}
    b = pd.Series({"c": 58.0, "b": 57.0, "a": 54.0, "d": 50.0, "f": 1.0, "g": 2.0})
    frame = meta_evaluation(a, b).set_index("method")
    x, y = [50.0, 52.0, 55.0, 51.0], [54.0, 57.0, 58.0, 50.0]
    assert frame.correlation.tolist() == pytest.approx([stats.pearsonr(x, y)[0], stats.spearmanr(x, y)[0]])
    assert frame.p_value.tolist() == pytest.approx([stats.pearsonr(x, y)[1], stats.spearmanr(x, y)[1]])
    assert frame.n.eq(4).all() and frame.n_left_out.eq(3).all() and frame.reason.eq("").all()


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, "fewer than three pairs"),
        ({}, {"a": 1}, "fewer than three pairs"),
        ({"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 2, "c": 3}, "all values of a side are equal"),
    ],
)
def test_no_correlation_has_a_reason(a, b, reason):
    frame = meta_evaluation(a, b)
    assert frame.correlation.isna().all() and frame.p_value.isna().all() and frame.reason.str.startswith(reason).all()


def test_a_model_named_twice_is_refused():
    with pytest.raises(ValueError, match="model 'a' has several scores; give one per model"):
        meta_evaluation(pd.Series([1, 2], index=["a", "a"]), {"a": 1})
