"""Confidence intervals."""

import math

import numpy as np

from biaslib._checks import check_count
from biaslib.stats._numbers import as_numbers

BOOTSTRAP_METHODS = ("percentile", "bca")
# Values resampled at once (float64: 32 MB).
_RESAMPLED_AT_ONCE = 4_000_000


def bootstrap_interval(
    values,
    statistic,
    *,
    seed,
    n_resamples=9999,
    confidence=0.95,
    method="percentile",
    paired=False,
):
    """Give a bootstrap confidence interval of a statistic.

    Parameters
    ----------
    values : array_like or tuple of array_like
        One sample, or a tuple of samples that `statistic` takes in turn.
    statistic : callable
        Of the sample(s); one that takes ``axis`` (like `numpy.mean`) is computed for all resamples at once.
    seed : int
    n_resamples : int
    confidence : float
        Between 0 and 1.
    method : {"percentile", "bca"}
        The percentile interval stays within what the statistic can be and exists for shares near 0 and 1,
        where the bias-corrected and accelerated one (BCa) is undefined; BCa is the more exact for skewed
        statistics.
    paired : bool
        Resample the samples of a tuple together, observation by observation.

    Returns
    -------
    low, high : float
        Both are the statistic when every sample is constant; NaN when a sample has but one observation,
        which says nothing about spread.

    Raises
    ------
    ValueError
        If a sample is empty, not one row of finite numbers, or an option is out of range.

    Examples
    --------
    >>> low, high = bootstrap_interval([0.0, 1.0, 1.0, 1.0, 0.0, 1.0], np.mean, seed=0)
    >>> 0 <= low < 4 / 6 < high <= 1
    True
    """
    from scipy import stats

    if method not in BOOTSTRAP_METHODS:
        raise ValueError(f"method {method!r} is unknown; known: {', '.join(BOOTSTRAP_METHODS)}")
    _check_bootstrap(seed, n_resamples, confidence)
    given = values if isinstance(values, tuple) else (values,)
    samples = tuple(as_numbers(sample, "values") for sample in given)
    if paired and len({sample.size for sample in samples}) > 1:
        raise ValueError("paired samples have to be of one length")
    if min(sample.size for sample in samples) < 2:
        return math.nan, math.nan
    if all((sample == sample[0]).all() for sample in samples):
        value = float(statistic(*samples))
        return value, value
    interval = stats.bootstrap(
        samples,
        statistic,
        paired=paired,
        n_resamples=n_resamples,
        batch=max(1, _RESAMPLED_AT_ONCE // sum(sample.size for sample in samples)),
        confidence_level=confidence,
        method=method,
        random_state=np.random.default_rng(seed),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def bootstrap_sums(rows, value, *, seed, n_resamples=9999, confidence=0.95):
    """Give the percentile bootstrap interval of a value that follows from sums of counts, such as a share or an F1.

    Observations with the same counts are alike, so how often each kind is drawn follows the multinomial distribution
    (Efron & Tibshirani 1993, "An Introduction to the Bootstrap", §6.2): the work grows with the kinds, not with the
    observations.

    Parameters
    ----------
    rows : array_like, shape (n, k)
        The counts of each observation.
    value : callable
        Of the k sums; it is given arrays, an entry a resample.
    seed : int
    n_resamples : int
    confidence : float
        Between 0 and 1.

    Returns
    -------
    low, high : float
        Both are the value when all observations are alike; NaN when there is but one, or a resample has no value.

    Raises
    ------
    ValueError
        If there is no row, a number is not finite, or an option is out of range.

    Examples
    --------
    The share of 60 in 100:

    >>> rows = [(1, 1)] * 60 + [(0, 1)] * 40
    >>> low, high = bootstrap_sums(rows, lambda part, whole: part / whole, seed=0)
    >>> 0.49 < low < 0.52 and 0.68 < high < 0.71
    True
    """
    _check_bootstrap(seed, n_resamples, confidence)
    rows = np.asarray(rows, dtype=float)
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"rows has to be a table of counts, at least one row, not of shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError("rows holds NaN or an infinite number: leave such observations out")
    if len(rows) < 2:
        return math.nan, math.nan
    kinds, counts = np.unique(rows, axis=0, return_counts=True)
    if len(kinds) == 1:
        alike = float(value(*rows.sum(axis=0)))
        return alike, alike
    rng, values = np.random.default_rng(seed), []
    at_once = max(1, _RESAMPLED_AT_ONCE // len(kinds))
    for start in range(0, n_resamples, at_once):
        drawn = rng.multinomial(len(rows), counts / len(rows), size=min(at_once, n_resamples - start))
        values.append(value(*(drawn @ kinds).T))
    low, high = np.quantile(np.concatenate(values), [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _check_bootstrap(seed, n_resamples, confidence):
    if not 0 < confidence < 1:
        raise ValueError(f"confidence has to lie between 0 and 1, not {confidence!r}")
    check_count(seed, "seed", least=0)
    check_count(n_resamples, "n_resamples")
