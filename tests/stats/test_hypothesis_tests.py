import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from biaslib.stats import (
    compare_group_counts,
    compare_paired_counts,
    holm,
    mcnemar,
    permutation_p_value,
    sign_test,
    signed_rank,
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


# Small samples: with ties scipy's exact p value goes through all their sign patterns.
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=7), st.randoms())
def test_signed_rank_swaps_and_shuffles(pairs, random):
    x, y = map(list, zip(*pairs, strict=True))
    forth, back = signed_rank(x, y), signed_rank(y, x)
    assert forth.v + back.v == forth.n * (forth.n + 1) / 2
    random.shuffle(pairs)
    assert signed_rank(*zip(*pairs, strict=True)).v == forth.v


def test_mcnemar_is_the_exact_binomial():
    assert mcnemar(1, 8) == pytest.approx(2 * (1 + 9) / 2**9)
    assert mcnemar(8, 1) == mcnemar(1, 8)
    assert mcnemar(4, 4) == 1
    assert mcnemar(0, 0) == 1
    assert mcnemar(np.int64(0), 10) == pytest.approx(2 / 2**10)


@pytest.mark.parametrize("counts", [(-1, 2), (1.0, 2), (True, 2), (math.nan, 2)])
def test_mcnemar_refuses(counts):
    with pytest.raises(ValueError, match="whole number of at least 0"):
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


def test_permutation_p_value_counts_equal_as_at_least():
    permuted = np.array([[0.3, 1.0], [0.1 + 0.2, 3.0], [0.5, 2.0]])
    assert permutation_p_value([0.3, math.nan], permuted)[0] == 1
    assert math.isnan(permutation_p_value([0.3, math.nan], permuted)[1])
    assert permutation_p_value(4, [1, 2, 3]) == 1 / 4


def share(part, whole):
    return part / whole


def test_paired_counts_against_all_exchanges():
    first, second = np.array([(0, 1), (1, 2), (1, 1), (0, 1)]), np.array([(1, 1), (2, 2), (0, 1), (1, 1)])
    change = second - first
    observed = share(*second.sum(0)) - share(*first.sum(0))
    exact = []
    for exchanged in itertools.product((0, 1), repeat=4):
        moved = exchanged @ change
        difference = share(*(second.sum(0) - moved)) - share(*(first.sum(0) + moved))
        exact.append(abs(difference) >= abs(observed) - 1e-9)
    assert compare_paired_counts(first, second, share) == pytest.approx(np.mean(exact), abs=0.02)
    assert compare_paired_counts(first, first, share, n_permutations=50) == 1


def test_paired_counts_in_portions_are_the_same(monkeypatch):
    first, second = np.array([(0, 1)] * 6 + [(1, 1)]), np.array([(1, 1)] * 5 + [(0, 1)] * 2)
    whole = compare_paired_counts(first, second, share, n_permutations=500)
    monkeypatch.setattr("biaslib.stats.hypothesis_tests._EXCHANGED_AT_ONCE", 70)
    assert compare_paired_counts(first, second, share, n_permutations=500) == whole


def test_group_counts_against_all_groups():
    counts = np.array([(1, 1), (1, 2), (0, 1), (2, 2), (0, 2), (1, 1)])
    in_group = np.array([True, True, False, True, False, False])

    def difference(own):
        return abs(share(*counts[own].sum(0)) - share(*counts[~own].sum(0)))

    groups = [np.isin(np.arange(6), some) for some in itertools.combinations(range(6), 3)]
    exact = np.mean([difference(own) >= difference(in_group) - 1e-9 for own in groups])
    assert compare_group_counts(counts, in_group, share) == pytest.approx(exact, abs=0.02)
    assert math.isnan(compare_group_counts(counts, np.ones(6, bool), share))


def test_comparisons_of_counts_refuse():
    with pytest.raises(ValueError, match=r"one shape, not of \(1, 2\) and \(2, 2\)"):
        compare_paired_counts([(0, 1)], [(0, 1), (1, 1)], share)
    for options in ({"n_permutations": 0}, {"seed": -1}):
        with pytest.raises(ValueError, match="whole number of at least"):
            compare_paired_counts([(0, 1)], [(1, 1)], share, **options)
        with pytest.raises(ValueError, match="whole number of at least"):
            compare_group_counts([(0, 1), (1, 1)], [True, False], share, **options)
