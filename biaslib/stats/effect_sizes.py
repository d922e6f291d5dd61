"""Effect sizes and their conventional labels."""

import math

import numpy as np
from numpy.typing import ArrayLike

from biaslib._checks import check_number
from biaslib.stats._numbers import as_numbers, as_pairs, paired_differences, sum_positive_ranks

# Upper limits of A (Vargha & Delaney 2000); from the last on an effect is large.
A_LIMITS = {"negligible": 0.56, "small": 0.64, "medium": 0.71}
# Lower limits of |d| (Cohen 1988).
D_LIMITS = {"large": 0.8, "medium": 0.5, "small": 0.2, "negligible": 0.0}


def rank_biserial(x: ArrayLike, y: ArrayLike, *, axis: int | None = None) -> float | np.ndarray:
    """Compute the matched-pairs rank-biserial correlation (Kerby 2014).

    It is (V − V⁻)/(V + V⁻), where V and V⁻ are the sums of the ranks of the positive and the negative differences
    x − y, as in `signed_rank`.

    Parameters
    ----------
    x, y : array_like, shape (n,)
    axis : int, optional
        Axis along which to compute; the input is then not checked, as resampling requires.

    Returns
    -------
    float or numpy.ndarray
        1 if every x is above its y, −1 if below, 0 if no pair differs.

    Raises
    ------
    ValueError
        If the samples differ in length, are empty or contain NaN.

    Examples
    --------
    >>> rank_biserial([3, 1, 2], [1, 2, 2])
    0.3333333333333333
    """
    if axis is None:
        return float(rank_biserial(*as_pairs(x, y), axis=-1))
    v, n = sum_positive_ranks(paired_differences(np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)))
    total = n * (n + 1) / 2
    return np.divide(2 * v - total, total, out=np.zeros_like(v), where=total > 0)


def vargha_delaney_a(x: ArrayLike, y: ArrayLike, *, axis: int | None = None) -> float | np.ndarray:
    """Compute Vargha and Delaney's A: the probability that a value of x is above one of y, ties counting half.

    Parameters
    ----------
    x, y : array_like, shapes (m,) and (n,)
        All m·n pairs are compared.
    axis : int, optional
        Axis along which to compute; the input is then not checked, as resampling requires.

    Returns
    -------
    float or numpy.ndarray
        0.5 if neither tends to be larger.

    Raises
    ------
    ValueError
        If a sample is empty or contains NaN.

    Examples
    --------
    >>> vargha_delaney_a([1, 2, 3], [2, 2])
    0.5
    """
    from scipy import stats

    if axis is None:
        return float(vargha_delaney_a(as_numbers(x, "x"), as_numbers(y, "y"), axis=-1))
    x, y = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
    m, n = x.shape[-1], y.shape[-1]
    # Sorting all values once is enough: O((m + n) log(m + n)) instead of m·n comparisons.
    rank_sum = stats.rankdata(np.concatenate([x, y], axis=-1), axis=-1)[..., :m].sum(axis=-1)
    return (rank_sum - m * (m + 1) / 2) / (m * n)


def vargha_delaney_label(a: float) -> str:
    """Label an effect size A by Vargha and Delaney's (2000) conventions.

    Parameters
    ----------
    a : float
        From 0 to 1; a and 1 − a have the same label.

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
    check_number(a, "A", least=0, most=1)
    # Rounded: 1 − .44 must not fall short of .56.
    size = round(max(a, 1 - a), 12)
    return next((label for label, limit in A_LIMITS.items() if size < limit), "large")


def effect_size_label(d: float) -> str:
    """Label an effect size d by Cohen's (1988) conventions.

    Parameters
    ----------
    d : float

    Returns
    -------
    str
        By |d|: ``"large"`` from .8, ``"medium"`` from .5, ``"small"`` from .2, else ``"negligible"``; "" for NaN.

    Examples
    --------
    >>> [effect_size_label(d) for d in (-1.2, 0.5, 0.19)]
    ['large', 'medium', 'negligible']
    """
    return next((label for label, least in D_LIMITS.items() if abs(d) >= least), "")
