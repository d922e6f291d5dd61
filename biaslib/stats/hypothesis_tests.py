"""Hypothesis tests, and the adjustment of their p values."""

import math
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from biaslib._checks import check_count
from biaslib.stats._numbers import as_pairs, paired_differences, sum_positive_ranks

SIGN_ALTERNATIVES = ("two-sided", "greater", "less")


@dataclass(frozen=True)
class SignedRank:
    """Result of `signed_rank`.

    Attributes
    ----------
    v : float
        Sum of the ranks of the positive differences.
    p_value : float
        Two-sided; 1 where no pair differs.
    n : int
        Pairs that differ.
    n_zero : int
        Pairs left out because their difference is zero.
    note : str
        "no pair differs", or "".
    """

    v: float
    p_value: float
    n: int
    n_zero: int
    note: str = ""

    def to_frame(self):
        """Give the fields as a frame of one row."""
        return pd.DataFrame([asdict(self)])


def holm(p_values):
    """Adjust p values for their number by Holm's (1979) step-down method.

    Parameters
    ----------
    p_values : array_like, shape (n,)
        NaN stands for a test that was not made: it stays NaN and does not count.

    Returns
    -------
    numpy.ndarray, shape (n,)
        In the order given.

    Raises
    ------
    ValueError
        If a value is outside 0 to 1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    p_values = np.asarray(p_values, dtype=float)
    if p_values.ndim != 1:
        raise ValueError(f"p_values have to be one row of numbers, not of shape {p_values.shape}")
    tested = np.flatnonzero(~np.isnan(p_values))
    if not ((p_values[tested] >= 0) & (p_values[tested] <= 1)).all():
        raise ValueError("p_values have to lie between 0 and 1")
    order = tested[np.argsort(p_values[tested], kind="stable")]
    stepped = p_values[order] * np.arange(len(order), 0, -1)
    adjusted = np.full(p_values.shape, np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1)
    return adjusted


def signed_rank(x, y):
    """Test whether paired values differ, by Wilcoxon's signed ranks.

    Parameters
    ----------
    x, y : array_like, shape (n,)
        A difference x − y within 1e-12 of the larger value's size is zero and left out.

    Returns
    -------
    SignedRank
        ``v`` is the sum of the positive ranks, as R reports it; the p value is `scipy.stats.wilcoxon`'s.

    Raises
    ------
    ValueError
        If the samples differ in length, are empty, or hold NaN.

    Examples
    --------
    At n = 60, the size behind UnMASKed's tables, V is 1830 when every difference is positive:

    >>> signed_rank(np.arange(1.0, 61.0), np.zeros(60)).v
    1830.0
    """
    from scipy import stats

    difference = paired_differences(*as_pairs(x, y))
    v, n = sum_positive_ranks(difference)
    n_zero = int(difference.size - n)
    if n == 0:
        return SignedRank(v=0.0, p_value=1.0, n=0, n_zero=n_zero, note="no pair differs")
    p_value = stats.wilcoxon(difference[difference != 0], alternative="two-sided").pvalue
    return SignedRank(v=float(v), p_value=float(p_value), n=int(n), n_zero=n_zero)


def mcnemar(b, c):
    """Test whether two paired yes/no outcomes differ (McNemar, exact binomial, two-sided).

    Parameters
    ----------
    b, c : int
        Pairs where only the first, and only the second, is a yes.

    Returns
    -------
    float
        The p value; 1 when no pair differs.

    Raises
    ------
    ValueError
        If a count is negative or not whole.

    Examples
    --------
    >>> mcnemar(1, 8)
    0.0390625
    """
    from scipy import stats

    for count in (b, c):
        check_count(count, "a count of McNemar's test", least=0)
    if b + c == 0:
        return 1.0
    return float(stats.binomtest(int(min(b, c)), int(b + c), 0.5).pvalue)


def sign_test(values, *, alternative="two-sided"):
    """Test whether whole numbers lean to the positive or the negative side, exactly.

    If the sign of each were the toss of a fair coin, how likely would a sum be that is at least as far from 0? For
    values of 1 and −1 this is the exact binomial test against one half, and McNemar's. A larger value stands for that
    many observations which are one and the same, so that they add no evidence.

    Parameters
    ----------
    values : array_like of whole numbers, shape (n,)
        Zeros are left out.
    alternative : {"two-sided", "greater", "less"}
        ``"greater"``: that they lean to the positive side.

    Returns
    -------
    float
        The p value; NaN if nothing but zeros is left.

    Raises
    ------
    ValueError
        If a value is not whole, or the alternative is unknown.

    Examples
    --------
    >>> round(sign_test([1, -1, -1, -1, -1, -1, -1, -1, -1]), 7)
    0.0390625
    >>> round(sign_test([1, 1, 1, 1, 1, -3]), 5)
    0.84375
    """
    from scipy import stats

    if alternative not in SIGN_ALTERNATIVES:
        raise ValueError(f"alternative {alternative!r} is unknown; known: {', '.join(SIGN_ALTERNATIVES)}")
    given = np.asarray(values, dtype=float)
    if given.ndim != 1 or not (np.isfinite(given) & (given == np.round(given))).all():
        raise ValueError("the values of a sign test have to be one row of whole numbers")
    whole = given[given != 0].astype(int)
    if whole.size == 0:
        return math.nan
    # The distribution of the positive sum: values of one size give a binomial, spread by that size.
    probabilities = np.ones(1)
    for size, count in zip(*np.unique(np.abs(whole), return_counts=True), strict=True):
        spread = np.zeros(size * count + 1)
        spread[::size] = stats.binom.pmf(np.arange(count + 1), count, 0.5)
        probabilities = np.convolve(probabilities, spread)
    positive, sums = whole[whole > 0].sum(), np.arange(probabilities.size)
    if alternative == "two-sided":
        total = sums[-1]
        at_least = np.abs(2 * sums - total) >= abs(2 * positive - total)
    else:
        at_least = sums >= positive if alternative == "greater" else sums <= positive
    return float(min(1.0, probabilities[at_least].sum()))
