import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslib.stats import CONLL_METRICS, adjusted_rand, coreference_counts


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
        ([1], ["a"], "at least two entries, not 1"),
        ([1, 2], ["a", "b", "c"], "same length, not 2 and 3"),
        ([1, math.nan], ["a", "b"], "labels must not contain NaN"),
        ([1, 2], ["a", None], "groups must not contain NaN"),
    ],
)
def test_adjusted_rand_refuses(labels, groups, message):
    with pytest.raises(ValueError, match=message):
        adjusted_rand(labels, groups)


def test_coreference_counts_by_hand():
    pytest.importorskip("corefeval")
    # The key {a,b,c},{d,e,f,g}, the response {a,b},{c,d},{f,g,h,i} of Pradhan et al. (2014).
    muc, b_cubed, ceafe = coreference_counts(["abc", "defg"], ["ab", "cd", "fghi"])
    assert muc.tolist() == [2, 5, 2, 5]
    assert b_cubed == pytest.approx([4, 8, 4 / 3 + 1 / 3 + 1 / 4 + 1, 7])
    # The best match pairs abc with ab (4/5) and defg with fghi (4/8).
    assert ceafe == pytest.approx([1.3, 3, 1.3, 2])
    assert list(CONLL_METRICS.values()) == ["MUC", "B3", "CEAFe"]
