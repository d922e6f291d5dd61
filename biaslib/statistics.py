"""Tests, effect sizes and intervals that go with the scores."""

import math
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

BOOTSTRAP_METHODS = ("percentile", "bca")
CORRELATIONS = ("pearson", "spearman")
# An effect is called so below this A (Vargha & Delaney 2000); from the last on it is large.
A_LIMITS = {"negligible": 0.56, "small": 0.64, "medium": 0.71}
SIGN_ALTERNATIVES = ("two-sided", "greater", "less")

# A difference below this share of the larger value is rounding, not a difference.
_ZERO_DIFFERENCE = 1e-12
# Values resampled at once (float64: 32 MB).
_RESAMPLED_AT_ONCE = 4_000_000


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


@dataclass(frozen=True)
class AdjustedRand:
    """Result of `adjusted_rand`.

    Attributes
    ----------
    statistic : float
        1 for the same partition, about 0 for unrelated ones.
    p_value : float
        One-sided, by permutation.
    n : int
        Things partitioned.
    n_permutations : int
    """

    statistic: float
    p_value: float
    n: int
    n_permutations: int

    def to_frame(self):
        """Give the fields as a frame of one row."""
        return pd.DataFrame([asdict(self)])


@dataclass(frozen=True)
class Correlation:
    """Result of `correlation`.

    Attributes
    ----------
    correlation : float
        Pearson's r or Spearman's ρ, from −1 to 1; NaN where there is none.
    ci_low, ci_high : float
        NaN for fewer than four pairs.
    p_value : float
        Two-sided.
    n : int
        Pairs.
    reason : str
        Why there is no correlation, or "".
    """

    correlation: float
    ci_low: float
    ci_high: float
    p_value: float
    n: int
    reason: str = ""

    def to_frame(self):
        """Give the fields as a frame of one row."""
        return pd.DataFrame([asdict(self)])


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
    samples = tuple(_numbers(sample, "values") for sample in given)
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

    difference = _differences(*_pairs(x, y))
    v, n = _positive_ranks(difference)
    n_zero = int(difference.size - n)
    if n == 0:
        return SignedRank(v=0.0, p_value=1.0, n=0, n_zero=n_zero, note="no pair differs")
    p_value = stats.wilcoxon(difference[difference != 0], alternative="two-sided").pvalue
    return SignedRank(v=float(v), p_value=float(p_value), n=int(n), n_zero=n_zero)


def rank_biserial(x, y, *, axis=None):
    """Compute the matched-pairs rank-biserial correlation (Kerby 2014): how far paired values differ one way.

    (V − V⁻)/(V + V⁻), where V and V⁻ are the sums of the ranks of positive and negative differences x − y, as
    in `signed_rank`.

    Parameters
    ----------
    x, y : array_like, shape (n,)
    axis : int, optional
        Compute along this axis of arrays, unchecked, as resampling needs it.

    Returns
    -------
    float or numpy.ndarray
        1 when every x is above its y, −1 when below, 0 when no pair differs.

    Raises
    ------
    ValueError
        If the samples differ in length, are empty, or hold NaN.

    Examples
    --------
    >>> rank_biserial([3, 1, 2], [1, 2, 2])
    0.3333333333333333
    """
    if axis is None:
        return float(rank_biserial(*_pairs(x, y), axis=-1))
    v, n = _positive_ranks(_differences(np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)))
    total = n * (n + 1) / 2
    return np.divide(2 * v - total, total, out=np.zeros_like(v), where=total > 0)


def correlation(x, y, *, method="pearson", confidence=0.95):
    """Correlate paired values, with an interval by Fisher's transformation.

    Parameters
    ----------
    x, y : array_like, shape (n,)
    method : {"pearson", "spearman"}
        The second correlates ranks; the variance of its interval is Bonett and Wright's (2000), (1 + ρ²/2)/(n − 3).
    confidence : float
        Between 0 and 1.

    Returns
    -------
    Correlation
        With fewer than three pairs, or where all values of a side are equal, NaN and the reason.

    Raises
    ------
    ValueError
        If the method is unknown, the samples differ in length or hold NaN, or `confidence` is out of range.

    Examples
    --------
    >>> result = correlation([1, 2, 3, 4, 5], [2, 1, 4, 3, 5])
    >>> round(result.correlation, 6), round(result.p_value, 4), result.n
    (0.8, 0.1041, 5)
    """
    from scipy import stats

    if method not in CORRELATIONS:
        raise ValueError(f"method {method!r} is unknown; known: {', '.join(CORRELATIONS)}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence has to lie between 0 and 1, not {confidence!r}")
    n = len(x)
    if n < 3 and n == len(y):
        return Correlation(math.nan, math.nan, math.nan, math.nan, n, "fewer than three pairs")
    x, y = _pairs(x, y)
    if (x == x[0]).all() or (y == y[0]).all():
        return Correlation(math.nan, math.nan, math.nan, math.nan, n, "all values of a side are equal")
    found = (stats.pearsonr if method == "pearson" else stats.spearmanr)(x, y)
    r = float(np.clip(found.statistic, -1, 1))
    low, high = _fisher_interval(r, n, 1.0 if method == "pearson" else 1 + r**2 / 2, confidence)
    return Correlation(r, low, high, float(found.pvalue), n)


def vargha_delaney_a(x, y, *, axis=None):
    """Compute Vargha and Delaney's A: the chance that a value of x is above one of y, ties as half.

    Parameters
    ----------
    x, y : array_like, shapes (m,) and (n,)
        All m·n pairs are compared.
    axis : int, optional
        Compute along this axis of arrays, unchecked, as resampling needs it.

    Returns
    -------
    float or numpy.ndarray
        0.5 when neither tends to be larger.

    Raises
    ------
    ValueError
        If a sample is empty or holds NaN.

    Examples
    --------
    >>> vargha_delaney_a([1, 2, 3], [2, 2])
    0.5
    """
    from scipy import stats

    if axis is None:
        return float(vargha_delaney_a(_numbers(x, "x"), _numbers(y, "y"), axis=-1))
    x, y = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
    m, n = x.shape[-1], y.shape[-1]
    # Sorting all values once is enough: O((m + n) log(m + n)) instead of m·n comparisons.
    rank_sum = stats.rankdata(np.concatenate([x, y], axis=-1), axis=-1)[..., :m].sum(axis=-1)
    return (rank_sum - m * (m + 1) / 2) / (m * n)


def vargha_delaney_label(a):
    """Say how large an effect A is, in Vargha and Delaney's (2000) words.

    Parameters
    ----------
    a : float
        From 0 to 1; either side of 0.5 counts alike.

    Returns
    -------
    str
        ``"negligible"`` below .56, ``"small"`` below .64, ``"medium"`` below .71, else ``"large"``; "" for NaN.

    Raises
    ------
    ValueError
        If `a` is outside 0 to 1.

    Examples
    --------
    >>> [vargha_delaney_label(a) for a in (0.5, 0.44, 0.36, 0.98)]
    ['negligible', 'small', 'medium', 'large']
    """
    if math.isnan(a):
        return ""
    if not 0 <= a <= 1:
        raise ValueError(f"A has to lie between 0 and 1, not {a!r}")
    # Rounded: 1 − .44 must not fall short of .56.
    size = round(max(a, 1 - a), 12)
    return next((label for label, limit in A_LIMITS.items() if size < limit), "large")


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


def adjusted_rand(labels, groups, *, n_permutations=999, seed=0):
    """Measure how well clusters agree with known groups, and test it by permutation.

    Parameters
    ----------
    labels, groups : sequence, length n
        The cluster and the group of each thing.
    n_permutations : int
        How often the labels are dealt out anew.
    seed : int

    Returns
    -------
    AdjustedRand
        p = (b + 1)/(m + 1), where b of m permutations agree at least as well; one-sided.

    Raises
    ------
    ValueError
        If the sequences differ in length, have fewer than two entries, or hold NaN.

    Examples
    --------
    >>> adjusted_rand([1, 1, 2, 2], ["farm", "farm", "other", "other"], n_permutations=99).statistic
    1.0
    """
    from sklearn.metrics import adjusted_rand_score

    check_count(n_permutations, "n_permutations")
    labels, groups = (_partition(p, what) for p, what in ((labels, "labels"), (groups, "groups")))
    if labels.size != groups.size:
        raise ValueError(f"labels and groups differ in length: {labels.size} and {groups.size}")
    # Permuting leaves the sizes of clusters and groups, so the index grows with the pairs that are
    # together in both: whole numbers, which compare exactly.
    observed = _joint_squares(labels, groups)
    rng = np.random.default_rng(seed)
    at_least = sum(_joint_squares(rng.permutation(labels), groups) >= observed for _ in range(n_permutations))
    return AdjustedRand(
        statistic=float(adjusted_rand_score(groups, labels)),
        p_value=(at_least + 1) / (n_permutations + 1),
        n=labels.size,
        n_permutations=int(n_permutations),
    )


def check_count(value, what, least=1):
    """Refuse what is no whole number from `least` up; `what` names it."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{what} has to be a whole number from {least} up, not {value!r}")


def _fisher_interval(r, n, variance, confidence):
    from scipy import stats

    if n < 4:
        return math.nan, math.nan
    if abs(r) == 1:
        return r, r
    half = stats.norm.ppf((1 + confidence) / 2) * math.sqrt(variance / (n - 3))
    return math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)


def _pairs(x, y):
    x, y = _numbers(x, "x"), _numbers(y, "y")
    if x.size != y.size:
        raise ValueError(f"x and y are pairs but differ in length: {x.size} and {y.size}")
    return x, y


def _differences(x, y):
    """Subtract pairs; what is only rounding becomes 0."""
    difference = x - y
    zero = np.abs(difference) <= _ZERO_DIFFERENCE * np.maximum(np.abs(x), np.abs(y))
    return np.where(zero, 0.0, difference)


def _positive_ranks(difference):
    """Give the sum of the ranks of the positive differences, and how many differ from 0, along the last axis."""
    from scipy import stats

    n = np.count_nonzero(difference, axis=-1)
    # Zeros have the lowest ranks of all: without them every other rank is lower by their number.
    ranks = stats.rankdata(np.abs(difference), axis=-1) - (difference.shape[-1] - n)[..., None]
    return np.where(difference > 0, ranks, 0.0).sum(axis=-1), n


def _joint_squares(labels, groups):
    return int(np.square(np.bincount(labels * (groups.max() + 1) + groups)).sum())


def _partition(values, what):
    codes, _ = pd.factorize(pd.Series(list(values), dtype=object))
    if codes.size < 2:
        raise ValueError(f"{what} has {codes.size} entries: a partition needs two at least")
    if (codes < 0).any():
        raise ValueError(f"{what} holds NaN: leave such entries out")
    return codes


def _check_bootstrap(seed, n_resamples, confidence):
    if not 0 < confidence < 1:
        raise ValueError(f"confidence has to lie between 0 and 1, not {confidence!r}")
    check_count(seed, "seed", least=0)
    check_count(n_resamples, "n_resamples")


def _numbers(values, what):
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"{what} has to be one row of numbers, at least one, not of shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"{what} holds NaN or an infinite number: leave such observations out")
    return values
