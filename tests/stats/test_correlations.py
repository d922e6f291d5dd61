import math

import numpy as np
import pytest
from scipy import stats

from biaslib.stats import CORRELATIONS, correlation


@pytest.mark.parametrize("method", CORRELATIONS)
def test_correlation_agrees_with_scipy(method):
    rng = np.random.default_rng(3)
    x = rng.normal(size=40)
    y = x + rng.normal(size=40)
    result = correlation(x, y, method=method)
    reference = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}[method](x, y)
    assert (result.correlation, result.p_value) == pytest.approx((reference.statistic, reference.pvalue))
    assert result.n == 40 and result.reason == ""
    # Fisher's z, by hand; Bonett and Wright's variance for ranks.
    variance = 1 / 37 if method == "pearson" else (1 + reference.statistic**2 / 2) / 37
    half = 1.959964 * math.sqrt(variance)
    expected = [math.tanh(math.atanh(reference.statistic) + side * half) for side in (-1, 1)]
    assert [result.ci_low, result.ci_high] == pytest.approx(expected, abs=1e-6)
    assert correlation(x, -y, method=method).ci_high == pytest.approx(-result.ci_low)
    assert result.to_frame().loc[0, "n"] == 40


def test_correlation_without_a_value_says_why():
    assert correlation([], []).reason == "fewer than three pairs"
    assert correlation([1, 2], [3, 4]).reason == "fewer than three pairs"
    same = correlation([1, 2, 3], [5, 5, 5])
    assert same.reason == "all values of a side are equal" and math.isnan(same.correlation) and same.n == 3
    three = correlation([1, 2, 3], [1, 2, 4])
    assert three.correlation > 0.9 and math.isnan(three.ci_low)
    exact = correlation([1, 2, 3, 4], [2, 4, 6, 8], method="spearman")
    assert (exact.correlation, exact.ci_low, exact.ci_high) == (1, 1, 1)


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        ([1, 2, 3], [1, 2], {}, "same length, not 3 and 2"),
        ([1, 2, math.nan], [1, 2, 3], {}, "NaN"),
        ([1, 2, 3], [1, 2, 3], {"method": "kendall"}, "use one of pearson, spearman"),
        ([1, 2, 3], [1, 2, 3], {"confidence": 95}, "confidence"),
    ],
)
def test_correlation_refuses(x, y, options, message):
    with pytest.raises(ValueError, match=message):
        correlation(x, y, **options)
