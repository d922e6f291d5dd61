import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from biaslib.stats import (
    CORRELATIONS,
    adjusted_rand,
    bootstrap_interval,
    bootstrap_sums,
    correlation,
    holm,
    mcnemar,
    rank_biserial,
    sign_test,
    signed_rank,
    vargha_delaney_a,
    vargha_delaney_label,
)
from biaslib.studies import published_table

NUMBERS = st.integers(-20, 20).map(float)


def test_signed_rank_by_hand():
    # Differences 1, −2, 3, 0, 5: ranks 1, 2, 3, 4 without the zero; positive 1 + 3 + 4.
    result = signed_rank([1, 0, 3, 7, 5], [0, 2, 0, 7, 0])
    assert (result.v, result.n, result.n_zero) == (8, 4, 1)
    # Exact: 6 of 16 sign patterns have V ≤ 2 or ≥ 8.
    assert result.p_value == pytest.approx(6 / 16)


def test_signed_rank_reaches_the_published_maximum():
    rng = np.random.default_rng(0)
    result = signed_rank(rng.uniform(1, 2, 60), rng.uniform(0, 1, 60))
    assert result.v == 1830 == published_table("unmasked_table2_gtc")["v"].max()
    assert result.p_value < 1e-9


def test_a_published_p_value():
    # V = 482 at n = 60 has p = .0014: negative ranks sum to 1348.
    values = np.arange(1.0, 61)
    signs = np.full(60, -1.0)
    total = 0
    for i in reversed(range(60)):
        if total + values[i] <= 482:
            signs[i], total = 1, total + values[i]
    result = signed_rank(values * signs, np.zeros(60))
    assert result.v == 482
    assert result.p_value == pytest.approx(0.0014, abs=5e-5)


def test_rounding_is_no_difference():
    result = signed_rank([0.1 + 0.2, 1.0, 1e-30, 2.0], [0.3, 1.0 + 1e-13, 2e-30, 1.0])
    assert (result.n, result.n_zero) == (2, 2)
    # A tiny difference of tiny values is one.
    assert result.v == 2


def test_no_difference_at_all_is_no_evidence():
    result = signed_rank([1.0, 2.0], [1.0, 2.0])
    assert (result.v, result.n, result.n_zero) == (0, 0, 2)
    assert (result.p_value, result.note) == (1, "no pair differs")
    assert list(result.to_frame().columns) == ["v", "p_value", "n", "n_zero", "note"]


def test_v_is_the_sum_of_positive_ranks_not_the_smaller_sum():
    up = np.arange(1.0, 61)
    assert (signed_rank(up, 0 * up).v, signed_rank(-up, 0 * up).v) == (1830, 0)
    mixed = np.array([3.0, -1, 2, 2, 0, -2, 5])
    forth, back = signed_rank(mixed, 0 * mixed), signed_rank(-mixed, 0 * mixed)
    assert (forth.v, back.v, forth.n, forth.n_zero) == (17, 4, 6, 1)
    assert forth.p_value == back.p_value and forth.note == ""


def test_rank_biserial_by_hand():
    # V = 17 and V⁻ = 4 of 21.
    mixed = np.array([3.0, -1, 2, 2, 0, -2, 5])
    assert rank_biserial(mixed, 0 * mixed) == pytest.approx(13 / 21)
    assert rank_biserial([2, 3], [1, 1]) == 1 and rank_biserial([1, 1], [2, 3]) == -1
    assert rank_biserial([1, 2], [1, 2]) == 0


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=9), st.randoms())
def test_rank_biserial_follows_from_v(pairs, random):
    x, y = map(np.array, zip(*pairs, strict=True))
    test = signed_rank(x, y)
    total = test.n * (test.n + 1) / 2
    expected = (test.v - (total - test.v)) / total if total else 0
    assert rank_biserial(x, y) == pytest.approx(expected)
    assert rank_biserial(y, x) == pytest.approx(-expected)
    order = random.sample(range(len(pairs)), len(pairs))
    assert rank_biserial(x[order], y[order]) == pytest.approx(expected)


@pytest.mark.parametrize("statistic", [rank_biserial, vargha_delaney_a])
def test_resampled_at_once_is_resampled_one_by_one(statistic):
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 4, (2, 5, 8)).astype(float)
    rows = [statistic(x[i], y[i]) for i in range(5)]
    assert statistic(x, y, axis=-1).tolist() == pytest.approx(rows)
    assert statistic(x.T, y.T, axis=0).tolist() == pytest.approx(rows)
    low, high = bootstrap_interval((x[0], y[0]), statistic, seed=1, n_resamples=200, paired=True)
    alone = bootstrap_interval((x[0], y[0]), lambda a, b: statistic(a, b), seed=1, n_resamples=200, paired=True)
    assert (low, high) == pytest.approx(alone)


def test_vargha_delaney_label_on_both_sides():
    expected = {0.5: "negligible", 0.55: "negligible", 0.56: "small", 0.63: "small", 0.64: "medium", 0.7: "medium"}
    expected |= {0.71: "large", 1: "large"}
    for a, label in expected.items():
        assert vargha_delaney_label(a) == vargha_delaney_label(1 - a) == label
    assert vargha_delaney_label(math.nan) == ""
    with pytest.raises(ValueError, match="between 0 and 1"):
        vargha_delaney_label(1.2)


# Small samples: with ties scipy's exact p value goes through all their sign patterns.
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=7), st.randoms())
def test_signed_rank_swaps_and_shuffles(pairs, random):
    x, y = map(list, zip(*pairs, strict=True))
    forth, back = signed_rank(x, y), signed_rank(y, x)
    assert forth.v + back.v == forth.n * (forth.n + 1) / 2
    random.shuffle(pairs)
    assert signed_rank(*zip(*pairs, strict=True)).v == forth.v


def test_vargha_delaney_by_hand():
    assert vargha_delaney_a([2, 3], [1, 2]) == (1 + 0.5 + 1 + 1) / 4
    assert vargha_delaney_a([1], [2, 3]) == 0
    assert vargha_delaney_a([5, 5], [5]) == 0.5
    assert vargha_delaney_a([1, 2], [2, 3]) == 0.125
    assert vargha_delaney_a([0.9, 0.8, 0.8], [0.8, 0.1]) == pytest.approx(5 / 6)


@given(st.lists(NUMBERS, min_size=1, max_size=12), st.lists(NUMBERS, min_size=1, max_size=12))
def test_vargha_delaney_is_over_all_pairs(x, y):
    pairs = [(a > b) + 0.5 * (a == b) for a in x for b in y]
    assert vargha_delaney_a(x, y) == pytest.approx(np.mean(pairs), abs=1e-12)
    assert vargha_delaney_a(x, y) + vargha_delaney_a(y, x) == pytest.approx(1)


def test_mcnemar_is_the_exact_binomial():
    assert mcnemar(1, 8) == pytest.approx(2 * (1 + 9) / 2**9)
    assert mcnemar(8, 1) == mcnemar(1, 8)
    assert mcnemar(4, 4) == 1
    assert mcnemar(0, 0) == 1
    assert mcnemar(np.int64(0), 10) == pytest.approx(2 / 2**10)


@pytest.mark.parametrize("counts", [(-1, 2), (1.0, 2), (True, 2), (math.nan, 2)])
def test_mcnemar_refuses(counts):
    with pytest.raises(ValueError, match="whole number from 0"):
        mcnemar(*counts)


@given(st.integers(0, 40), st.integers(0, 40))
def test_sign_test_of_ones_is_the_binomial_test(more, less):
    values = [1] * more + [-1] * less + [0, 0]
    if more + less == 0:
        assert math.isnan(sign_test(values))
        return
    assert sign_test(values) == pytest.approx(mcnemar(more, less), rel=1e-9)
    for alternative in ("greater", "less"):
        expected = stats.binomtest(more, more + less, alternative=alternative).pvalue
        assert sign_test(values, alternative=alternative) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-6, 6).filter(bool), min_size=1, max_size=8))
def test_sign_test_goes_through_all_sign_patterns(values):
    sums = [
        sum(sign * abs(value) for sign, value in zip(signs, values, strict=True))
        for signs in itertools.product((-1, 1), repeat=len(values))
    ]
    assert sign_test(values) == pytest.approx(np.mean([abs(s) >= abs(sum(values)) for s in sums]))
    assert sign_test(values, alternative="greater") == pytest.approx(np.mean([s >= sum(values) for s in sums]))
    assert sign_test(values, alternative="less") == pytest.approx(np.mean([s <= sum(values) for s in sums]))


def test_sign_test_of_many_repeats():
    # Ten times the same ten observations are ten observations.
    assert sign_test([10] * 9 + [-10]) == pytest.approx(sign_test([1] * 9 + [-1]))
    assert sign_test([1] * 60_000 + [-1] * 59_000) == pytest.approx(mcnemar(59_000, 60_000), rel=1e-6)


@pytest.mark.parametrize("values", [[0.5], [[1]], [math.nan]])
def test_sign_test_refuses(values):
    with pytest.raises(ValueError, match="whole numbers"):
        sign_test(values)


def test_sign_test_knows_its_alternatives():
    with pytest.raises(ValueError, match="two-sided, greater, less"):
        sign_test([1], alternative="both")


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.5]).tolist() == [1, 1]
    assert holm([]).tolist() == []


def test_holm_leaves_nan_out_of_the_count():
    adjusted = holm([0.02, math.nan, 0.04])
    assert adjusted[[0, 2]].tolist() == pytest.approx([0.04, 0.04])
    assert math.isnan(adjusted[1])
    assert np.isnan(holm([math.nan])).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10), st.randoms())
def test_holm_follows_the_order_and_never_lowers(p_values, random):
    adjusted = holm(p_values)
    assert (adjusted >= p_values).all() and (adjusted <= 1).all()
    order = list(range(len(p_values)))
    random.shuffle(order)
    assert holm(np.array(p_values)[order]).tolist() == adjusted[order].tolist()


@pytest.mark.parametrize("p_values", [[1.1], [-0.1], [[0.1]], 0.1])
def test_holm_refuses(p_values):
    with pytest.raises(ValueError, match="p_values"):
        holm(p_values)


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
        ([], {}, "at least one"),
        ([1.0, math.nan], {}, "NaN"),
        ([1.0, math.inf], {}, "infinite"),
        ([[1.0, 2.0]], {}, "one row of numbers"),
        ([1.0, 2.0], {"confidence": 95}, "between 0 and 1"),
        ([1.0, 2.0], {"n_resamples": 0}, "n_resamples"),
        ([1.0, 2.0], {"method": "basic"}, "known: percentile, bca"),
        (([1.0, 2.0], [1.0]), {"paired": True}, "of one length"),
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
        (np.empty((0, 2)), {}, "at least one row"),
        ([1.0, 2.0], {}, "table of counts"),
        ([(1.0, math.nan)], {}, "NaN"),
        ([(1, 2), (1, 3)], {"confidence": 1}, "between 0 and 1"),
        ([(1, 2), (1, 3)], {"n_resamples": 0}, "n_resamples"),
    ],
)
def test_bootstrap_sums_refuses(rows, options, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_sums(rows, np.divide, seed=0, **options)


def test_adjusted_rand_by_hand():
    # Pairs together in both 2, in the clusters 3 + 1 = 4, in the groups 1 + 3 = 4, of 10: expected 1.6.
    result = adjusted_rand([1, 1, 1, 2, 2], ["a", "a", "b", "b", "b"], n_permutations=199)
    assert result.statistic == pytest.approx((2 - 1.6) / (4 - 1.6))
    assert list(result.to_frame().columns) == ["statistic", "p_value", "n", "n_permutations"]


def test_adjusted_rand_counts_equal_as_at_least():
    # One cluster: every permutation agrees as well.
    result = adjusted_rand([1, 1, 1, 1], ["a", "a", "b", "b"], n_permutations=50)
    assert (result.statistic, result.p_value) == (0, 1)


def test_adjusted_rand_of_the_same_partition():
    result = adjusted_rand([1, 1, 2, 2, 3, 3] * 3, list("bbccaa") * 3, n_permutations=199)
    assert result.statistic == 1
    assert result.p_value == 1 / 200


def test_adjusted_rand_p_value_is_the_share_of_deals():
    # Two against two: one deal in three agrees fully.
    result = adjusted_rand([1, 1, 2, 2], ["a", "a", "b", "b"], n_permutations=1999, seed=1)
    assert result.p_value == pytest.approx(1 / 3, abs=0.04)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("xyz")), min_size=2, max_size=15), st.randoms())
def test_adjusted_rand_ignores_order_and_label_names(pairs, random):
    labels, groups = zip(*pairs, strict=True)
    result = adjusted_rand(labels, groups, n_permutations=9)
    random.shuffle(pairs)
    labels, groups = zip(*pairs, strict=True)
    again = adjusted_rand([f"c{9 - label}" for label in labels], groups, n_permutations=9)
    assert again.statistic == pytest.approx(result.statistic)
    assert 0.1 <= result.p_value <= 1


@pytest.mark.parametrize(
    ("labels", "groups", "message"),
    [
        ([1], ["a"], "two at least"),
        ([1, 2], ["a", "b", "c"], "differ in length"),
        ([1, math.nan], ["a", "b"], "labels holds NaN"),
        ([1, 2], ["a", None], "groups holds NaN"),
    ],
)
def test_adjusted_rand_refuses(labels, groups, message):
    with pytest.raises(ValueError, match=message):
        adjusted_rand(labels, groups)


@pytest.mark.parametrize("function", [signed_rank, rank_biserial, vargha_delaney_a])
@pytest.mark.parametrize("bad", [[], [1.0, math.nan], [[1.0]], [math.inf]])
def test_two_samples_refuse(function, bad):
    with pytest.raises(ValueError, match=r"one row of numbers|NaN"):
        function(bad, [1.0, 2.0])
    with pytest.raises(ValueError, match=r"one row of numbers|NaN"):
        function([1.0, 2.0], bad)


@pytest.mark.parametrize("function", [signed_rank, rank_biserial])
def test_pairs_are_needed(function):
    with pytest.raises(ValueError, match="differ in length: 2 and 3"):
        function([1, 2], [1, 2, 3])


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
        ([1, 2, 3], [1, 2], {}, "differ in length: 3 and 2"),
        ([1, 2, math.nan], [1, 2, 3], {}, "NaN"),
        ([1, 2, 3], [1, 2, 3], {"method": "kendall"}, "known: pearson, spearman"),
        ([1, 2, 3], [1, 2, 3], {"confidence": 95}, "confidence"),
    ],
)
def test_correlation_refuses(x, y, options, message):
    with pytest.raises(ValueError, match=message):
        correlation(x, y, **options)
