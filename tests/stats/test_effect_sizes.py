import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslib.stats import (
    bootstrap_interval,
    effect_size_label,
    rank_biserial,
    signed_rank,
    vargha_delaney_a,
    vargha_delaney_label,
)

NUMBERS = st.integers(-20, 20).map(float)


def test_rank_biserial_by_hand():
    # V = 17 and V⁻ = 4 of 21.
    mixed = np.array([3.0, -1, 2, 2, 0, -2, 5])
    assert rank_biserial(mixed, 0 * mixed) == pytest.approx(13 / 21)
    assert rank_biserial([2, 3], [1, 1]) == 1 and rank_biserial([1, 1], [2, 3]) == -1
    assert rank_biserial([1, 2], [1, 2]) == 0


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=9), st.randoms())
def test_rank_biserial_follows_from_v(pairs, random):
    x, y = map(np.array, zip(*pairs, strict=True))
    test = signed_rank(x, y)
    total = test.n * (test.n + 1) / 2
    expected = (test.v - (total - test.v)) / total if total else 0
    assert rank_biserial(x, y) == pytest.approx(expected)
    assert rank_biserial(y, x) == pytest.approx(-expected)
    order = random.sample(range(len(pairs)), len(pairs))
    assert rank_biserial(x[order], y[order]) == pytest.approx(expected)


@pytest.mark.parametrize("statistic", [rank_biserial, vargha_delaney_a])
def test_resampled_at_once_is_resampled_one_by_one(statistic):
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 4, (2, 5, 8)).astype(float)
    rows = [statistic(x[i], y[i]) for i in range(5)]
    assert statistic(x, y, axis=-1).tolist() == pytest.approx(rows)
    assert statistic(x.T, y.T, axis=0).tolist() == pytest.approx(rows)
    low, high = bootstrap_interval((x[0], y[0]), statistic, seed=1, n_resamples=200, paired=True)
    alone = bootstrap_interval((x[0], y[0]), lambda a, b: statistic(a, b), seed=1, n_resamples=200, paired=True)
    assert (low, high) == pytest.approx(alone)


def test_vargha_delaney_label_on_both_sides():
    expected = {0.5: "negligible", 0.55: "negligible", 0.56: "small", 0.63: "small", 0.64: "medium", 0.7: "medium"}
    expected |= {0.71: "large", 1: "large"}
    for a, label in expected.items():
        assert vargha_delaney_label(a) == vargha_delaney_label(1 - a) == label
    assert vargha_delaney_label(math.nan) == ""
    with pytest.raises(ValueError, match="at least 0 and at most 1"):
        vargha_delaney_label(1.2)


def test_vargha_delaney_by_hand():
    assert vargha_delaney_a([2, 3], [1, 2]) == (1 + 0.5 + 1 + 1) / 4
    assert vargha_delaney_a([1], [2, 3]) == 0
    assert vargha_delaney_a([5, 5], [5]) == 0.5
    assert vargha_delaney_a([1, 2], [2, 3]) == 0.125
    assert vargha_delaney_a([0.9, 0.8, 0.8], [0.8, 0.1]) == pytest.approx(5 / 6)


@given(st.lists(NUMBERS, min_size=1, max_size=12), st.lists(NUMBERS, min_size=1, max_size=12))
def test_vargha_delaney_is_over_all_pairs(x, y):
    pairs = [(a > b) + 0.5 * (a == b) for a in x for b in y]
    assert vargha_delaney_a(x, y) == pytest.approx(np.mean(pairs), abs=1e-12)
    assert vargha_delaney_a(x, y) + vargha_delaney_a(y, x) == pytest.approx(1)


@pytest.mark.parametrize("function", [signed_rank, rank_biserial, vargha_delaney_a])
@pytest.mark.parametrize("bad", [[], [1.0, math.nan], [[1.0]], [math.inf]])
def test_two_samples_refuse(function, bad):
    with pytest.raises(ValueError, match=r"one-dimensional, non-empty|NaN"):
        function(bad, [1.0, 2.0])
    with pytest.raises(ValueError, match=r"one-dimensional, non-empty|NaN"):
        function([1.0, 2.0], bad)


@pytest.mark.parametrize("function", [signed_rank, rank_biserial])
def test_pairs_are_needed(function):
    with pytest.raises(ValueError, match="same length, not 2 and 3"):
        function([1, 2], [1, 2, 3])


def test_labels_by_cohen():
    values = [0, 0.1999, 0.2, -0.2, 0.5, -0.79, 0.8, -2, math.nan]
    labels = ["negligible", "negligible", "small", "small", "medium", "medium", "large", "large", ""]
    assert [effect_size_label(d) for d in values] == labels
