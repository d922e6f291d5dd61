"""Hypothesis tests, and the adjustment of p values for their number."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biaslib._checks import check_choice, check_count
from biaslib.stats._numbers import as_pairs, paired_differences, sum_positive_ranks

SIGN_ALTERNATIVES = ("two-sided", "greater", "less")
# Permuted values this close to the observed one, relative to its size, count as equal to it.
_EQUAL = 1e-12
# Numbers held at once while observations are exchanged (float64: 80 MB).
_EXCHANGED_AT_ONCE = 10_000_000


@dataclass(frozen=True)
class SignedRank:
    """Result of `signed_rank`.

    Attributes
    ----------
    v : float
        Sum of the ranks of the positive differences.
    p_value : float
        Two-sided; 1 if no pair differs.
    n : int
        Number of pairs that differ.
    n_zero : int
        Number of pairs left out because their difference is zero.
    note : str
        "no pair differs", or "".
    """

    v: float
    p_value: float
    n: int
    n_zero: int
    note: str = ""

    def to_frame(self) -> pd.DataFrame:
        """Return the fields as a frame of one row."""
        return pd.DataFrame([asdict(self)])


def holm(p_values: ArrayLike) -> np.ndarray:
    """Adjust p values for multiple tests by Holm's (1979) step-down method.

    Parameters
    ----------
    p_values : array_like, shape (n,)
        NaN stands for a test that was not made; it stays NaN and is not counted.

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
        raise ValueError(f"p_values must be a one-dimensional array, not one of shape {p_values.shape}")
    tested = np.flatnonzero(~np.isnan(p_values))
    if not ((p_values[tested] >= 0) & (p_values[tested] <= 1)).all():
        raise ValueError("p_values must lie between 0 and 1")
    order = tested[np.argsort(p_values[tested], kind="stable")]
    stepped = p_values[order] * np.arange(len(order), 0, -1)
    adjusted = np.full(p_values.shape, np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1)
    return adjusted


def signed_rank(x: ArrayLike, y: ArrayLike) -> SignedRank:
    """Test whether paired values differ, by Wilcoxon's signed-rank test.

    Parameters
    ----------
    x, y : array_like, shape (n,)
        A difference x − y of at most 1e-12 of the larger absolute value counts as zero and is left out.

    Returns
    -------
    SignedRank
        ``v`` is the sum of the positive ranks, as R reports it; the p value is `scipy.stats.wilcoxon`'s.

    Raises
    ------
    ValueError
        If the samples differ in length, are empty or contain NaN.

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


def mcnemar(b: int, c: int) -> float:
    """Test whether two paired yes/no outcomes differ, by McNemar's exact two-sided test.

    Parameters
    ----------
    b, c : int
        Number of pairs in which only the first, and only the second, outcome is yes.

    Returns
    -------
    float
        The p value; 1 if no pair differs.

    Raises
    ------
    ValueError
        If a count is negative or not a whole number.

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


def sign_test(values: ArrayLike, *, alternative: str = "two-sided") -> float:
    """Test exactly whether whole numbers tend to be positive or negative.

    The p value is the probability of a sum at least as far from 0 if the sign of each value were the toss of a fair
    coin. For values of 1 and −1 this is the exact binomial test against one half, and McNemar's. A larger value stands
    for that many copies of one observation, which add no evidence.

    Parameters
    ----------
    values : array_like of whole numbers, shape (n,)
        Zeros are left out.
    alternative : {"two-sided", "greater", "less"}
        ``"greater"`` tests whether the values tend to be positive.

    Returns
    -------
    float
        The p value; NaN if all values are zero.

    Raises
    ------
    ValueError
        If a value is not a whole number, or the alternative is unknown.

    Examples
    --------
    >>> round(sign_test([1, -1, -1, -1, -1, -1, -1, -1, -1]), 7)
    0.0390625
    >>> round(sign_test([1, 1, 1, 1, 1, -3]), 5)
    0.84375
    """
    from scipy import stats

    check_choice(alternative, "alternative", SIGN_ALTERNATIVES)
    given = np.asarray(values, dtype=float)
    if given.ndim != 1 or not (np.isfinite(given) & (given == np.round(given))).all():
        raise ValueError("the values of a sign test must be a one-dimensional array of whole numbers")
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


def permutation_p_value(observed: ArrayLike, permuted: ArrayLike) -> np.ndarray:
    """Compute the one-sided p value of a permutation test from the permuted values of its statistic.

    Parameters
    ----------
    observed : array_like, shape (…)
        The statistic of the data: a number, or an array of several statistics.
    permuted : array_like, shape (m, …)
        The statistic after each random permutation.

    Returns
    -------
    numpy.ndarray, shape (…)
        (b + 1)/(m + 1), where b permuted values are at least as large as the observed one (Phipson & Smyth 2010);
        NaN where the observed statistic is NaN.

    Examples
    --------
    >>> permutation_p_value(2.0, [0.0, 1.0, 2.0]).item()
    0.5
    """
    observed, permuted = np.asarray(observed, dtype=float), np.asarray(permuted, dtype=float)
    at_least = permuted >= observed - _EQUAL * np.maximum(np.abs(observed), 1)
    return np.where(np.isnan(observed), np.nan, (at_least.sum(axis=0) + 1) / (len(permuted) + 1))


def compare_paired_counts(
    first: ArrayLike, second: ArrayLike, value: Callable, *, n_permutations: int = 9999, seed: int = 0
) -> float:
    """Test by approximate randomisation whether a function of summed counts differs between two conditions.

    The two conditions' counts are exchanged at random, observation by observation (Noreen 1989).

    Parameters
    ----------
    first, second : array_like, shape (n, k)
        The counts of the same observations under either condition.
    value : callable
        Function of the k sums, such as an F1, each a number or an array with one entry per permutation.
    n_permutations : int
    seed : int

    Returns
    -------
    float
        Two-sided p value; see `permutation_p_value`.

    Raises
    ------
    ValueError
        If the counts differ in shape, or an option is out of range.

    Examples
    --------
    A share of 5/5 against one of 0/5; only 2 of the 32 exchanges are as extreme:

    >>> def share(hits, n):
    ...     return hits / n
    >>> round(compare_paired_counts([(0, 1)] * 5, [(1, 1)] * 5, share), 2)
    0.06
    """
    check_count(n_permutations, "n_permutations")
    check_count(seed, "seed", least=0)
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if first.ndim != 2 or first.shape != second.shape:
        raise ValueError(f"the counts must be two tables of one shape, not of {first.shape} and {second.shape}")
    rng = np.random.default_rng(seed)
    at_once = max(1, _EXCHANGED_AT_ONCE // max(1, len(first)))
    differences = []
    for start in range(0, n_permutations, at_once):
        exchanged = rng.random((min(at_once, n_permutations - start), len(first))) < 0.5
        moved = exchanged @ (second - first)
        differences.append(value(*(second.sum(axis=0) - moved).T) - value(*(first.sum(axis=0) + moved).T))
    observed = abs(value(*second.sum(axis=0)) - value(*first.sum(axis=0)))
    return float(permutation_p_value(observed, np.abs(np.concatenate(differences))))


def compare_group_counts(
    counts: ArrayLike, in_group: ArrayLike, value: Callable, *, n_permutations: int = 9999, seed: int = 0
) -> float:
    """Test by permutation whether a function of summed counts differs between a group and all other observations.

    Observations with the same counts are interchangeable, so the group's share of each kind is drawn from the
    multivariate hypergeometric distribution.

    Parameters
    ----------
    counts : array_like of int, shape (n, k)
        The counts of each observation.
    in_group : array_like of bool, shape (n,)
        Whether an observation belongs to the group.
    value : callable
        Function of the k sums, such as an F1, each a number or an array with one entry per permutation.
    n_permutations : int
    seed : int

    Returns
    -------
    float
        Two-sided p value (see `permutation_p_value`); NaN if the group is empty or has all observations.

    Raises
    ------
    ValueError
        If an option is out of range.

    Examples
    --------
    A share of 5/5 against one of 0/5; 2 of the 252 groups of five are as extreme:

    >>> counts, in_group = [(1, 1)] * 5 + [(0, 1)] * 5, [True] * 5 + [False] * 5
    >>> round(compare_group_counts(counts, in_group, lambda hits, n: hits / n), 2)
    0.01
    """
    check_count(n_permutations, "n_permutations")
    check_count(seed, "seed", least=0)
    counts, in_group = np.asarray(counts), np.asarray(in_group, dtype=bool)
    if in_group.all() or not in_group.any():
        return math.nan
    kinds, numbers = np.unique(counts, axis=0, return_counts=True)
    rng = np.random.default_rng(seed)
    drawn = rng.multivariate_hypergeometric(numbers, int(in_group.sum()), size=n_permutations) @ kinds
    own, every = counts[in_group].sum(axis=0), counts.sum(axis=0)
    observed = abs(value(*own) - value(*(every - own)))
    return float(permutation_p_value(observed, np.abs(value(*drawn.T) - value(*(every - drawn).T))))
