import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslib import studies
from biaslib.metrics import chance_f1, compare_gap, gap_scores


def rows(*answers, ids=None):
    """Give predictions: a row an answer, such as "TF" (A and not B) or "--" (no answer)."""
    read = {"T": True, "F": False, "-": None}
    ids = [str(n) for n in range(1, len(answers) + 1)] if ids is None else ids
    return pd.DataFrame(
        {"ID": ids, "A-coref": [read[a[0]] for a in answers], "B-coref": [read[a[1]] for a in answers]}, dtype=object
    )


def gold(pronouns, *answers):
    return rows(*answers).assign(Pronoun=pronouns)


def test_the_counts_of_the_official_scorer():
    answers = rows("TF", "TF", ids=["1", "3"])
    scores = gap_scores(gold(["she", "he", "her"], "TF", "FT", "FF"), answers)
    table = scores.table.set_index("group")
    assert table.loc["all", ["tp", "fp", "fn", "tn"]].tolist() == [1, 1, 2, 2]
    assert table["f1"].round(1).to_dict() == {"all": 40.0, "masculine": 0.0, "feminine": 66.7}
    assert table.loc["feminine", ["precision", "recall", "n"]].tolist() == [50, 100, 2]
    # Two false negatives, though one of its two answers would be false.
    assert table.loc["masculine", ["tp", "fp", "fn", "tn"]].tolist() == [0, 0, 2, 0]
    assert scores.bias is None and math.isnan(scores.bias_low)
    assert scores.missing == ("2",) and scores.duplicates == () and scores.unknown == () and scores.n == 3


def test_a_missing_row_counts_as_two_false_negatives_even_where_gold_is_false():
    scores = gap_scores(gold(["she", "he"], "FF", "TF"), rows("--", "TF"))
    assert scores.table.loc[0, ["tp", "fp", "fn", "tn"]].tolist() == [1, 0, 2, 1]
    assert scores.missing == ("1",)
    # Half an answer counts for its half.
    half = gap_scores(gold(["she", "he"], "FT", "TF"), rows("-T", "TF"))
    assert half.table.loc[0, ["tp", "fp", "fn", "tn"]].tolist() == [2, 0, 1, 1] and half.missing == ("1",)


def test_the_first_of_duplicates_counts_and_unknown_ones_are_named():
    answers = rows("TF", "FT", "FT", ids=["1", "1", "9"])
    with pytest.warns(UserWarning, match="predictions about pronouns that are not in the gold are ignored: 9"):
        scores = gap_scores(gold(["she"], "TF"), answers)
    assert scores.table.loc[0, ["tp", "fn"]].tolist() == [1, 0]
    assert scores.duplicates == ("1",) and scores.unknown == ("9",)
    twice = pd.concat([gold(["she"], "TF"), gold(["she"], "FT")])
    with pytest.warns(UserWarning, match="pronouns occur more than once in the gold, of which the first counts: 1"):
        scores = gap_scores(twice, rows("TF"))
    assert scores.table.loc[0, "f1"] == 100 and scores.duplicates == ("1",)
    with pytest.warns(UserWarning, match="pronouns occur more than once in the gold, of which the first counts: 1"):
        compare_gap(twice, {"before": rows("TF"), "after": rows("FT")})


def test_flags_may_be_texts_and_false_is_not_true():
    texts = rows("TF", "FT").astype(str)
    texts["B-coref"] = ["FALSE", "true"]
    texts["A-coref"] = ["True", "False"]
    scores = gap_scores(gold(["she", "he"], "TF", "FT"), texts)
    assert scores.table["f1"].tolist() == [100.0] * 3 and scores.bias == 1.0
    with pytest.raises(ValueError, match=r"B-coref must be TRUE or FALSE, unlike in 1 \('no'\)"):
        gap_scores(gold(["she"], "TF"), rows("TF").assign(**{"B-coref": "no"}))


def test_bias_is_feminine_over_masculine():
    pronouns = ["she", "her", "hers", "he", "him", "his"]
    scores = gap_scores(gold(pronouns, *["TF"] * 6), rows("TF", "FT", "FT", "TF", "TF", "TF"))
    f1 = scores.table.set_index("group")["f1"]
    assert f1["feminine"] == pytest.approx(100 / 3) and f1["masculine"] == 100
    assert scores.bias == pytest.approx(1 / 3)
    only_her = gap_scores(gold(["she"], "TF"), rows("TF"))
    assert only_her.bias is None and only_her.table["n"].tolist() == [1, 0, 1]
    assert only_her.table["f1"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("gold", "predictions", "message"),
    [
        (gold(["they"], "TF"), rows("TF"), r"pronouns other than she, .*: 1 \('they'\)"),
        (gold([], *[]), rows("TF"), "gold has no rows"),
        (gold(["she"], "TF").drop(columns="Pronoun"), rows("TF"), "gold must have the column Pronoun"),
        (gold(["she"], "TF"), rows("TF").drop(columns="A-coref"), "predictions must have the column A-coref"),
        (gold(["she"], "--"), rows("TF"), "A-coref must be TRUE or FALSE"),
    ],
)
def test_gap_scores_refuse(gold, predictions, message):
    with pytest.raises(ValueError, match=message):
        gap_scores(gold, predictions)


def test_a_seed_is_a_whole_number():
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0, not 'x'"):
        gap_scores(gold(["she"], "TF"), rows("TF"), seed="x")


def counted_one_by_one(gold, predictions):
    """Count as the official scorer does, one boolean at a time."""
    said = {}
    for row in predictions.to_dict("records"):
        said.setdefault(row["ID"], row)
    counts = dict.fromkeys(("tp", "fp", "fn", "tn"), 0)
    for row in gold.to_dict("records"):
        for column in ("A-coref", "B-coref"):
            answer = said[row["ID"]][column] if row["ID"] in said else None
            if answer is None or (row[column] and not answer):
                counts["fn"] += 1
            else:
                counts[("t" if answer == row[column] else "f") + ("p" if answer else "n")] += 1
    return list(counts.values())


ANSWERS = st.sampled_from(["TF", "FT", "FF", "TT"])


@pytest.mark.filterwarnings("ignore:.*no row in the predictions")
@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(["she", "Him"]), ANSWERS, ANSWERS), min_size=1, max_size=12), st.data())
def test_the_order_of_rows_changes_nothing(case, data):
    pronouns, truth, answers = zip(*case, strict=True)
    gap, said = gold(list(pronouns), *truth), rows(*answers)
    said = said.iloc[data.draw(st.lists(st.integers(0, len(case) - 1), max_size=15))]
    scores = gap_scores(gap, said, n_resamples=20)
    assert scores.table.loc[0, ["tp", "fp", "fn", "tn"]].tolist() == counted_one_by_one(gap, said)
    moved = gap_scores(gap.iloc[::-1], said, n_resamples=20)
    assert moved.table[["f1", "n", "tp"]].equals(scores.table[["f1", "n", "tp"]]) and moved.bias == scores.bias


def test_intervals_hold_the_value_and_depend_on_the_seed_alone():
    rng = np.random.default_rng(0)
    truth, said = (np.where(rng.random(200) < 0.5, "TF", "FT") for _ in range(2))
    gap, answers = gold(["she", "he"] * 100, *truth), rows(*said)
    scores = gap_scores(gap, answers, n_resamples=500)
    table = scores.table
    assert (table["ci_low"] < table["f1"]).all() and (table["f1"] < table["ci_high"]).all()
    # About 1.96 standard errors of a share of 1/2 among 200.
    assert table.loc[0, "ci_high"] - table.loc[0, "ci_low"] == pytest.approx(2 * 196 * math.sqrt(0.25 / 200), rel=0.2)
    assert scores.bias_low < scores.bias < scores.bias_high
    again = gap_scores(gap, answers, n_resamples=500)
    assert again.table.equals(table) and again.bias_low == scores.bias_low
    other = gap_scores(gap, answers, n_resamples=500, seed=1)
    assert other.table["f1"].equals(table["f1"]) and not other.table.equals(table)


def test_scores_go_into_the_file_of_scores():
    scores = gap_scores(gold(["she", "he"], "TF", "FT"), rows("TF", "--"))
    frame = scores.to_frame().assign(model="demo")
    assert frame["n_left_out"].tolist() == [1, 1, 0, 1] and frame["group"].tolist()[-1] == "feminine / masculine"
    taken = [
        studies.scores_of(part, value="value", group="group", paper="winoqueer", measure=measure)
        for measure, part in frame.groupby("measure", sort=False)
    ]
    assert [len(part) for part in taken] == [3, 1]


def test_conditions_are_compared_pronoun_by_pronoun():
    pronouns = ["she", "she", "he", "he", "he"]
    gap = gold(pronouns, *["TF"] * 5)
    before, after = rows("FT", "FT", "TF", "TF", "FF"), rows("TF", "TF", "TF", "FT", "--")
    compared = compare_gap(gap, {"before": before, "after": after}).set_index("group")
    assert compared["only_first"].tolist() == [1, 1, 0, pd.NA] and compared["only_second"].tolist() == [2, 0, 2, pd.NA]
    # Exact binomial: 1 of 3, 1 of 1, 2 of 2.
    assert compared["p_value"].tolist()[:3] == [1.0, 1.0, 0.5]
    first, second = (gap_scores(gap, said) for said in (before, after))
    for group in ("all", "masculine", "feminine"):
        row = compared.loc[group]
        assert row["value_first"] == first.table.set_index("group").loc[group, "f1"]
        assert row["difference"] == row["value_second"] - row["value_first"]
        assert row["ci_low"] <= row["difference"] <= row["ci_high"]
    bias = compared.loc["feminine / masculine"]
    assert math.isnan(bias["value_first"]) and bias["value_second"] == second.bias
    assert bias["p_value"] == pytest.approx(exact_exchange(gap, before, after), abs=0.01)


def gender_gap(gap, said):
    f1 = gap_scores(gap, said, n_resamples=1, n_permutations=1).table.set_index("group")["f1"]
    return f1["feminine"] - f1["masculine"]


def exact_exchange(gap, before, after):
    """Try all exchanges of the two conditions' answers, pronoun by pronoun."""
    observed = abs(gender_gap(gap, after) - gender_gap(gap, before))
    at_least = []
    for swap in itertools.product([False, True], repeat=len(gap)):
        taken = [(before, after)[not s].iloc[[n]] for n, s in enumerate(swap)]
        others = [(before, after)[s].iloc[[n]] for n, s in enumerate(swap)]
        difference = gender_gap(gap, pd.concat(taken)) - gender_gap(gap, pd.concat(others))
        at_least.append(abs(difference) >= observed - 1e-9)
    return sum(at_least) / len(at_least)


def test_a_difference_between_genders_is_tested_by_exchanging_them():
    """Against all ways to call three of the six pronouns feminine."""
    pronouns = ["she", "she", "her", "he", "he", "him"]
    gap, said = gold(pronouns, *["TF"] * 6), rows("TF", "TF", "TT", "FT", "FF", "TF")
    scores = gap_scores(gap, said)
    at_least = []
    for feminine in itertools.combinations(range(6), 3):
        other = gap.assign(Pronoun=["she" if n in feminine else "he" for n in range(6)])
        at_least.append(abs(gender_gap(other, said)) >= abs(gender_gap(gap, said)) - 1e-9)
    assert scores.p_value == pytest.approx(sum(at_least) / len(at_least), abs=0.02)
    assert scores.n_named == 6 and math.isnan(gap_scores(gap.head(3), said.head(3)).p_value)


def test_one_odd_resample_costs_no_interval_but_a_bias_of_few_hits_has_none():
    gap, right = gold(["she"] * 12 + ["he"] * 8, *["TF"] * 20), ["TF"] * 12
    scores = gap_scores(gap, rows(*right, *["TF"] * 4, *["FT"] * 4))
    assert scores.reason == "" and scores.bias_low < scores.bias < scores.bias_high
    few = gap_scores(gap, rows(*right, "TF", *["FT"] * 7))
    assert few.reason.startswith("no interval") and math.isnan(few.bias_low) and few.bias > 1
    none = gap_scores(gap, rows(*right, *["FT"] * 8))
    assert none.bias is None and none.reason == "F1 is 0: masculine"


def test_chance_is_the_mean_over_all_choices():
    gap = gold(["she", "he", "he"], "TF", "FT", "FF")
    f1 = [
        gap_scores(gap, rows(*said), n_resamples=1, n_permutations=1).table.loc[0, ["tp", "fp", "fn"]].tolist()
        for said in itertools.product(["TF", "FT"], repeat=3)
    ]
    tp, fp, fn = np.mean(f1, axis=0)
    assert chance_f1(gap)["all"] == pytest.approx(100 * 2 * tp / (2 * tp + fp + fn))


def test_all_pairs_of_conditions_and_equal_ones():
    gap = gold(["she", "he"], "TF", "FT")
    compared = compare_gap(gap, {name: rows("TF", "TF") for name in "abc"})
    assert compared[["first", "second"]].drop_duplicates().values.tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert compared.loc[compared["measure"] == "GAP F1", "p_value"].eq(1).all()
    assert compared["difference"].dropna().eq(0).all()
    with pytest.raises(ValueError, match="two or more"):
        compare_gap(gap, {"a": rows("TF")})
