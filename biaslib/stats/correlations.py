"""Correlations with confidence intervals."""

import math
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biaslib._checks import check_choice, check_number
from biaslib.stats._numbers import as_pairs

CORRELATIONS = ("pearson", "spearman")


@dataclass(frozen=True)
class Correlation:
    """Result of `correlation`.

    Attributes
    ----------
    correlation : float
        Pearson's r or Spearman's ρ, from −1 to 1; NaN if undefined.
    ci_low, ci_high : float
        NaN for fewer than four pairs.
    p_value : float
        Two-sided.
    n : int
        Number of pairs.
    reason : str
        Why the correlation is undefined, or "".
    """

    correlation: float
    ci_low: float
    ci_high: float
    p_value: float
    n: int
    reason: str = ""

    def to_frame(self) -> pd.DataFrame:
        """Return the fields as a frame of one row."""
        return pd.DataFrame([asdict(self)])


def correlation(x: ArrayLike, y: ArrayLike, *, method: str = "pearson", confidence: float = 0.95) -> Correlation:
    """Correlate paired values, with a confidence interval by Fisher's transformation.

    Parameters
    ----------
    x, y : array_like, shape (n,)
    method : {"pearson", "spearman"}
        For Spearman's ρ the variance of the interval is Bonett and Wright's (2000), (1 + ρ²/2)/(n − 3).
    confidence : float
        Between 0 and 1.

    Returns
    -------
    Correlation
        NaN with a reason for fewer than three pairs, or if all values of x or of y are equal.

    Raises
    ------
    ValueError
        If the method is unknown, the samples differ in length or contain NaN, or `confidence` is out of range.

    Examples
    --------
    >>> result = correlation([1, 2, 3, 4, 5], [2, 1, 4, 3, 5])
    >>> round(result.correlation, 6), round(result.p_value, 4), result.n
    (0.8, 0.1041, 5)
    """
    from scipy import stats

    check_choice(method, "method", CORRELATIONS)
    check_number(confidence, "confidence", above=0, below=1)
    n = len(x)
    if n < 3 and n == len(y):
        return Correlation(math.nan, math.nan, math.nan, math.nan, n, "fewer than three pairs")
    x, y = as_pairs(x, y)
    if (x == x[0]).all() or (y == y[0]).all():
        return Correlation(math.nan, math.nan, math.nan, math.nan, n, "all values of a side are equal")
    found = (stats.pearsonr if method == "pearson" else stats.spearmanr)(x, y)
    r = float(np.clip(found.statistic, -1, 1))
    low, high = _fisher_interval(r, n, 1.0 if method == "pearson" else 1 + r**2 / 2, confidence)
    return Correlation(r, low, high, float(found.pvalue), n)


def _fisher_interval(r, n, variance, confidence):
    from scipy import stats

    if n < 4:
        return math.nan, math.nan
    if abs(r) == 1:
        return r, r
    half = stats.norm.ppf((1 + confidence) / 2) * math.sqrt(variance / (n - 3))
    return math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
