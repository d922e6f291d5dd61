"""Confidence intervals."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from biaslib._checks import check_choice, check_count, check_number
from biaslib.stats._numbers import as_numbers

BOOTSTRAP_METHODS = ("percentile", "bca")
# Values resampled at once (float64: 32 MB).
_RESAMPLED_AT_ONCE = 4_000_000


def bootstrap_interval(
    values: ArrayLike | tuple[ArrayLike, ...],
    statistic: Callable,
    *,
    seed: int,
    n_resamples: int = 9999,
    confidence: float = 0.95,
    method: str = "percentile",
    paired: bool = False,
) -> tuple[float, float]:
    """Compute a bootstrap confidence interval of a statistic.

    Parameters
    ----------
    values : array_like or tuple of array_like
        One sample, or a tuple of samples, passed to `statistic` as separate arguments.
    statistic : callable
        Function of the sample(s); one that takes ``axis`` (like `numpy.mean`) is computed for all resamples at once.
    seed : int
    n_resamples : int
    confidence : float
        Between 0 and 1.
    method : {"percentile", "bca"}
        The percentile interval stays within the range of the statistic and exists for shares near 0 and 1,
        where the bias-corrected and accelerated interval (BCa) is undefined; BCa is more accurate for skewed
        statistics.
    paired : bool
        Whether to resample the samples of a tuple together, observation by observation.

    Returns
    -------
    low, high : float
        Both equal the statistic if every sample is constant; NaN if a sample has only one observation.

    Raises
    ------
    ValueError
        If a sample is empty, not one-dimensional or not finite, or an option is out of range.

    Examples
    --------
    >>> low, high = bootstrap_interval([0.0, 1.0, 1.0, 1.0, 0.0, 1.0], np.mean, seed=0)
    >>> 0 <= low < 4 / 6 < high <= 1
    True
    """
    from scipy import stats

    check_choice(method, "method", BOOTSTRAP_METHODS)
    check_bootstrap(seed, n_resamples, confidence)
    given = values if isinstance(values, tuple) else (values,)
    samples = tuple(as_numbers(sample, "values") for sample in given)
    if paired and len({sample.size for sample in samples}) > 1:
        raise ValueError("paired samples must have the same length")
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


def bootstrap_sums(
    rows: ArrayLike, value: Callable, *, seed: int, n_resamples: int = 9999, confidence: float = 0.95
) -> tuple[float, float]:
    """Compute a percentile bootstrap interval of a function of summed counts, such as a share or an F1.

    Observations with the same counts are interchangeable, so the number of times each kind is drawn is multinomial
    (Efron & Tibshirani 1993, "An Introduction to the Bootstrap", §6.2): the cost grows with the number of kinds, not
    of observations.

    Parameters
    ----------
    rows : array_like, shape (n, k)
        The counts of each observation.
    value : callable
        Function of the k sums, each an array with one entry per resample.
    seed : int
    n_resamples : int
    confidence : float
        Between 0 and 1.

    Returns
    -------
    low, high : float
        Both equal the value if all observations are alike; NaN if there is only one, or a resample has no value.

    Raises
    ------
    ValueError
        If there are no rows, a count is not finite, or an option is out of range.

    Examples
    --------
    The share of 60 in 100:

    >>> rows = [(1, 1)] * 60 + [(0, 1)] * 40
    >>> low, high = bootstrap_sums(rows, lambda part, whole: part / whole, seed=0)
    >>> 0.49 < low < 0.52 and 0.68 < high < 0.71
    True
    """
    check_bootstrap(seed, n_resamples, confidence)
    rows = np.asarray(rows, dtype=float)
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"rows must be a two-dimensional, non-empty array, not one of shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError("rows must not contain NaN or infinite values; leave such observations out")
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
    return percentile_interval(np.concatenate(values), confidence)


def wilson(count: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Compute Wilson's (1927) confidence interval of a share.

    Parameters
    ----------
    count, n : int
        Observations of interest, and all observations.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    low, high : float
        Between 0 and 1; NaN if `n` is 0.

    Raises
    ------
    ValueError
        If a count is not a whole number, `count` is above `n`, or `confidence` is out of range.

    Examples
    --------
    47 of the 50 relative pronouns that the speciesism study found are right:

    >>> low, high = wilson(47, 50)
    >>> round(low, 2), round(high, 2)
    (0.84, 0.98)
    """
    from scipy import stats

    check_count(n, "n", least=0)
    check_count(count, "count", least=0, most=n)
    check_number(confidence, "confidence", above=0, below=1)
    if n == 0:
        return math.nan, math.nan
    interval = stats.binomtest(count, n).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)


def percentile_interval(values: np.ndarray, confidence: float) -> tuple[float, float]:
    """Return the percentiles of resampled values; NaN if there are none or one is NaN."""
    if not len(values):
        return math.nan, math.nan
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def check_bootstrap(seed: int, n_resamples: int, confidence: float) -> None:
    """Raise ValueError if an option of a bootstrap is out of range."""
    check_number(confidence, "confidence", above=0, below=1)
    check_count(seed, "seed", least=0)
    check_count(n_resamples, "n_resamples")
