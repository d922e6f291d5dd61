import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslib.metrics import agreement_by_min_z, cluster, group_cohesion, token_match_rate

TRAP = {"1": set("ab"), "2": set("abc"), "3": set("cde"), "4": set("defg")}
SETS = st.dictionaries(st.text(min_size=1, max_size=3), st.sets(st.sampled_from("abcdefgh")), min_size=2, max_size=7)


def test_rates_by_hand():
    rates = token_match_rate(TRAP)
    assert rates.loc["1", "2"] == 1  # {a, b} lies within {a, b, c}
    assert rates.loc["2", "3"] == pytest.approx(1 / 3)
    assert rates.loc["3", "4"] == pytest.approx(2 / 3)
    assert rates.loc["1", "4"] == 0
    assert np.diag(rates).tolist() == [1, 1, 1, 1]


def test_an_empty_set_matches_nothing():
    rates = token_match_rate({"a": set(), "b": {"x"}, "c": set()})
    assert rates.to_numpy().tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]


def test_signed_words_match_only_with_their_sign():
    assert token_match_rate({"a": {("x", 1)}, "b": {("x", -1)}}).loc["a", "b"] == 0


@given(SETS)
def test_rates_do_not_depend_on_order_or_duplicates(sets):
    rates = token_match_rate(sets)
    again = token_match_rate({name: sorted(sets[name]) * 2 for name in reversed(sets)})
    pd.testing.assert_frame_equal(again.loc[list(sets), list(sets)], rates)
    assert ((rates >= 0) & (rates <= 1)).all(axis=None)


@pytest.mark.parametrize("sets", [{}, [{"a"}], {"a": "abc"}, {"a": 3}])
def test_rates_refuse(sets):
    with pytest.raises(ValueError, match=r"sets must be a non-empty mapping|must be a set"):
        token_match_rate(sets)


def test_heights_are_of_the_condensed_distances():
    clusters = cluster(token_match_rate(TRAP), n_clusters=2)
    assert clusters.linkage[:, 2].round(4).tolist() == [0.0, 0.3333, 0.9167]
    assert clusters.names == ("1", "2", "3", "4")
    assert [clusters.labels[i] == clusters.labels[j] for i, j in ((0, 1), (2, 3), (1, 2))] == [
        True,
        True,
        False,
    ]


def test_labels_count_along_the_tree():
    clusters = cluster(token_match_rate(TRAP), n_clusters=3)
    frame = clusters.to_frame()
    assert list(frame.columns) == ["name", "cluster", "position"]
    assert sorted(frame["position"]) == [1, 2, 3, 4]
    assert frame.sort_values("position")["cluster"].is_monotonic_increasing
    assert frame["cluster"].min() == 1
    assert frame.sort_values("position")["name"].tolist() == list(clusters.order)


def test_equal_heights_are_not_cut_apart():
    clusters = cluster(token_match_rate({name: {name} for name in "abcd"}), n_clusters=3)
    assert set(clusters.labels) == {1}


@given(SETS)
def test_names_are_kept_whatever_the_sets(sets):
    clusters = cluster(token_match_rate(sets), n_clusters=2)
    assert sorted(clusters.order) == sorted(clusters.names) == sorted(sets)
    assert set(clusters.labels) <= {1, 2}


def frame(values, names="abc"):
    return pd.DataFrame(values, index=list(names), columns=list(names), dtype=float)


GOOD = frame([[1, 0.5, 0.2], [0.5, 1, 0.1], [0.2, 0.1, 1]])


@pytest.mark.parametrize(
    ("tmr", "message"),
    [
        (GOOD.iloc[:1, :1], "at least two names"),
        (GOOD.iloc[:0, :0], "at least two names"),
        (GOOD.iloc[:2], "square DataFrame"),
        (GOOD.to_numpy(), "square DataFrame"),
        (frame([[1, 0.5, 0.2], [0.4, 1, 0.1], [0.2, 0.1, 1]]), "must be symmetric"),
        (GOOD.replace(0.5, np.nan), "without NaN"),
        (GOOD.replace(0.5, 1.5), "between 0 and 1"),
        (frame(GOOD.to_numpy(), "aba"), "duplicate names: a"),
    ],
)
@pytest.mark.parametrize("function", [cluster, lambda tmr: group_cohesion(tmr, dict.fromkeys("abc", "g"))])
def test_bad_rates(function, tmr, message):
    with pytest.raises(ValueError, match=message):
        function(tmr)


@pytest.mark.parametrize("n_clusters", [0, 4, True])
def test_bad_number_of_clusters(n_clusters):
    with pytest.raises(ValueError, match="from 1 to 3"):
        cluster(GOOD, n_clusters=n_clusters)


def test_cohesion_by_hand():
    names = "abcde"
    rates = np.full((5, 5), 0.1)
    rates[:2, :2] = 0.9
    rates[2:4, 2:4] = 0.3
    np.fill_diagonal(rates, 1)
    groups = pd.Series({"a": "x", "b": "x", "c": "y", "d": "y", "e": "z"})
    result = group_cohesion(frame(rates, names), groups, n_permutations=499, seed=1).set_index("group")
    assert result.loc["x", ["n", "within", "outside", "difference"]].tolist() == pytest.approx([2, 0.9, 0.1, 0.8])
    assert result.loc["y", "within"] == pytest.approx(0.3)
    # Two of five names: the pair (a, b) comes up in one of ten deals.
    assert result.loc["x", "p_value"] == pytest.approx(0.1, abs=0.04)
    assert result.loc["y", "p_value"] == pytest.approx(0.2, abs=0.06)
    assert result.loc["z", "reason"] == "one member"
    assert np.isnan(result.loc["z", "difference"]) and np.isnan(result.loc["z", "p_value"])


def test_cohesion_of_equal_rates_is_never_significant():
    result = group_cohesion(frame(np.full((3, 3), 0.7)), {"a": "x", "b": "x", "c": "y"}, n_permutations=99)
    assert result.set_index("group").loc["x", "p_value"] == 1


def test_cohesion_of_one_group():
    result = group_cohesion(GOOD, dict.fromkeys("abc", "x"), n_permutations=9)
    assert result["reason"].tolist() == ["no name outside"]
    assert result["p_value"].isna().all() and np.isnan(result.loc[0, "outside"])


def test_cohesion_refuses():
    with pytest.raises(ValueError, match="no group for c"):
        group_cohesion(GOOD, {"a": "x", "b": "x"})
    with pytest.raises(ValueError, match="n_permutations"):
        group_cohesion(GOOD, dict.fromkeys("abc", "x"), n_permutations=0)


def test_cohesion_repeats_with_its_seed():
    groups = {"a": "x", "b": "x", "c": "y"}
    first, second = (group_cohesion(GOOD, groups, n_permutations=50, seed=3) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)


def test_agreement_refuses_a_threshold_below_the_frames():
    frame = pd.DataFrame({"name": ["a", "b"], "word": ["x", "x"], "z": [2.0, 2.5], "log_ratio": 1.0, "kept": True})
    frame.attrs["min_z"] = 1.5
    with pytest.raises(ValueError, match=r"no words below min_z = 1\.5"):
        agreement_by_min_z(frame, {"a": "g", "b": "h"}, [0.5], reference=2.0, n_clusters=2)


def test_agreement_keeps_names_that_lose_all_their_words():
    frame = pd.DataFrame(
        {"name": ["a", "b", "c"], "word": ["x", "x", "y"], "z": [2.0, 3.0, 3.0], "log_ratio": 1.0, "kept": True}
    )
    groups = {"a": "g", "b": "g", "c": "h"}
    curve = agreement_by_min_z(frame, groups, [2.0, 2.5], reference=2.0, n_clusters=2, n_permutations=99)
    assert curve.n.tolist() == [3, 3] and curve.n_empty.tolist() == [0, 1]
    assert curve.like_reference[0] == 1.0 and curve.statistic[0] == 1.0
