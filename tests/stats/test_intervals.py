import math

import numpy as np
import pytest
from scipy import stats

from biaslib.stats import bootstrap_interval, bootstrap_sums, wilson


def test_bootstrap_interval_of_a_mean():
    values = np.random.default_rng(1).normal(10, 2, 200)
    low, high = bootstrap_interval(values, np.mean, seed=0)
    half = 1.96 * values.std(ddof=1) / math.sqrt(200)
    assert low == pytest.approx(values.mean() - half, abs=0.05)
    assert high == pytest.approx(values.mean() + half, abs=0.05)
    assert bootstrap_interval(values, np.mean, seed=0) == (low, high)
    assert bootstrap_interval(values, np.mean, seed=1) != (low, high)
    narrow = bootstrap_interval(values, np.mean, seed=0, confidence=0.5)
    assert low < narrow[0] < narrow[1] < high
    assert bootstrap_interval(values, np.mean, seed=0, method="bca") == pytest.approx((low, high), abs=0.1)


def test_bootstrap_interval_of_a_share_near_its_end_is_defined():
    low, high = bootstrap_interval([1.0] * 29 + [0.0], np.mean, seed=0)
    assert 0.8 < low < high <= 1


def test_bootstrap_interval_of_a_plain_function_and_of_pairs():
    def r(x, y):
        return np.corrcoef(x, y)[0, 1]

    x = np.arange(30.0)
    y = x + np.random.default_rng(0).normal(0, 3, 30)
    low, high = bootstrap_interval((x, y), r, seed=0, n_resamples=500, paired=True)
    assert 0.8 < low < r(x, y) < high <= 1
    apart = bootstrap_interval((x, y), r, seed=0, n_resamples=500)
    assert apart[0] < 0 < apart[1]


def test_bootstrap_interval_without_spread():
    assert bootstrap_interval([3.0, 3.0, 3.0], np.mean, seed=0) == (3, 3)
    assert bootstrap_interval(([1.0, 1.0], [2.0, 2.0, 2.0]), lambda x, y: x.mean() - y.mean(), seed=0) == (
        -1,
        -1,
    )
    assert all(math.isnan(end) for end in bootstrap_interval([3.0], np.mean, seed=0))


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([], {}, "non-empty"),
        ([1.0, math.nan], {}, "NaN"),
        ([1.0, math.inf], {}, "infinite"),
        ([[1.0, 2.0]], {}, "one-dimensional"),
        ([1.0, 2.0], {"confidence": 95}, "above 0 and below 1"),
        ([1.0, 2.0], {"n_resamples": 0}, "n_resamples"),
        ([1.0, 2.0], {"method": "basic"}, "use one of percentile, bca"),
        (([1.0, 2.0], [1.0]), {"paired": True}, "the same length"),
    ],
)
def test_bootstrap_interval_refuses(values, options, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_interval(values, np.mean, seed=0, **options)


def test_bootstrap_is_scipy_s():
    values = np.random.default_rng(2).exponential(size=25)
    theirs = stats.bootstrap(
        (values,), np.median, method="percentile", random_state=np.random.default_rng(5)
    ).confidence_interval
    assert bootstrap_interval(values, np.median, seed=5) == tuple(theirs)


def f1(tp, fp, fn):
    return 2 * tp / (2 * tp + fp + fn)


def test_bootstrap_sums_resamples_as_scipy_does():
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 3, (80, 3))
    columns = rows.T.astype(float)

    def of_sample(*sample, axis=-1):
        return f1(*(column.sum(axis) for column in sample))

    theirs = stats.bootstrap(
        tuple(columns), of_sample, paired=True, method="percentile", random_state=rng, n_resamples=20_000
    ).confidence_interval
    found = bootstrap_sums(rows, f1, seed=0, n_resamples=20_000)
    assert found == pytest.approx(tuple(theirs), abs=0.005)
    assert bootstrap_sums(rng.permutation(rows), f1, seed=0, n_resamples=20_000) == found
    narrow = bootstrap_sums(rows, f1, seed=0, confidence=0.5)
    assert found[0] < narrow[0] < f1(*columns.sum(1)) < narrow[1] < found[1]


def test_bootstrap_sums_in_portions_is_the_same(monkeypatch):
    rows = np.arange(20).reshape(10, 2) + 1
    whole = bootstrap_sums(rows, np.divide, seed=0, n_resamples=500)
    monkeypatch.setattr("biaslib.stats.intervals._RESAMPLED_AT_ONCE", 70)
    assert bootstrap_sums(rows, np.divide, seed=0, n_resamples=500) == whole


def test_bootstrap_sums_without_spread_or_value():
    assert bootstrap_sums([(1, 2)] * 5, np.divide, seed=0) == (0.5, 0.5)
    assert all(math.isnan(end) for end in bootstrap_sums([(1, 2)], np.divide, seed=0))
    with np.errstate(all="ignore"):
        never = bootstrap_sums([(0, 1), (0, 2)], lambda a, b: a / a, seed=0)
    assert all(math.isnan(end) for end in never)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (np.empty((0, 2)), {}, "non-empty"),
        ([1.0, 2.0], {}, "two-dimensional"),
        ([(1.0, math.nan)], {}, "NaN"),
        ([(1, 2), (1, 3)], {"confidence": 1}, "above 0 and below 1"),
        ([(1, 2), (1, 3)], {"n_resamples": 0}, "n_resamples"),
    ],
)
def test_bootstrap_sums_refuses(rows, options, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_sums(rows, np.divide, seed=0, **options)


def test_wilson_by_its_formula():
    low, high = wilson(30, 40, confidence=0.9)
    z = stats.norm.ppf(0.95)
    centre, half = (0.75 + z**2 / 80) / (1 + z**2 / 40), z * math.sqrt(0.75 * 0.25 / 40 + z**2 / 6400) / (1 + z**2 / 40)
    assert (low, high) == pytest.approx((centre - half, centre + half))
    assert all(math.isnan(end) for end in wilson(0, 0))


@pytest.mark.parametrize(
    ("count", "n", "options", "message"),
    [
        (3, 2, {}, "count must be a whole number from 0 to 2, not 3"),
        (-1, 2, {}, "count must"),
        (1, 2.0, {}, "n must"),
        (1, 2, {"confidence": 95}, "confidence must"),
    ],
)
def test_wilson_refuses(count, n, options, message):
    with pytest.raises(ValueError, match=message):
        wilson(count, n, **options)
