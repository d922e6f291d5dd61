"""Correlations with their intervals."""

import math
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from biaslib.stats._numbers import as_pairs

CORRELATIONS = ("pearson", "spearman")


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
