import itertools
import math
import re
import sys
from statistics import StatisticsError

import numpy as np
import pandas as pd
import plain
import pytest
import tiny_models
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslib import scoring, studies
from biaslib.io import documents_of, read_gap
from biaslib.io.gap import GAP_COLUMNS
from biaslib.metrics import chance_f1, compare_conll, compare_gap, conll_scores, gap_scores, resolve_by_likelihood
from biaslib.scoring import load_masked_lm

HEADER = "\t".join(GAP_COLUMNS) + "\n"
ROW = 'x-1\tAnn saw Zoé; 6" of snow lay on her roof.\ther\t31\tAnn\t0\tTRUE\tZoé\t8\tFalse\thttp://x\n'


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def rows(*answers, ids=None):
    """Give predictions: a row an answer, such as "TF" (A and not B) or "--" (no answer)."""
    read = {"T": True, "F": False, "-": None}
    ids = [str(n) for n in range(1, len(answers) + 1)] if ids is None else ids
    return pd.DataFrame(
        {"ID": ids, "A-coref": [read[a[0]] for a in answers], "B-coref": [read[a[1]] for a in answers]}, dtype=object
    )


def gold(pronouns, *answers):
    return rows(*answers).assign(Pronoun=pronouns)


# GAP's files


def test_rows_as_gap_writes_them(tmp_path):
    frame = read_gap(write(tmp_path / "gap.tsv", HEADER + ROW + ROW.replace("x-1", '"x-2').replace("False", "true")))
    assert frame.columns.tolist() == list(GAP_COLUMNS)
    assert frame["ID"].tolist() == ["x-1", '"x-2']
    # Characters, not bytes, of which é has two.
    assert frame["B"].tolist() == ["Zoé", "Zoé"] and frame["Pronoun-offset"].tolist() == [31, 31]
    assert frame["A-coref"].tolist() == [True, True] and frame["B-coref"].tolist() == [False, True]
    assert frame["A-coref"].dtype == bool


def test_a_text_is_not_cut_at_other_line_ends(tmp_path):
    row = ROW.replace("saw", "saw\u2028").replace("\t31", "\t32").replace("\t8", "\t9")
    assert "\u2028" in read_gap(write(tmp_path / "gap.tsv", HEADER + row)).loc[0, "Text"]


def test_long_texts_and_blank_lines_at_the_end_are_read(tmp_path):
    row = ROW.replace("snow", "snow" + "!" * 200_000).replace("\t31", "\t200031")
    (tmp_path / "gap.tsv").write_bytes((HEADER + row).replace("\n", "\r\n").encode() + b"\r\n \n")
    assert read_gap(tmp_path / "gap.tsv")["Text"].str.len().tolist() == [200_040]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER.replace("A-coref", "A-correct") + ROW, "lacks the column.*A-coref"),
        (HEADER + ROW.replace("\thttp://x", ""), "row 2: 10 fields, 11 are due"),
        (HEADER + ROW.replace("TRUE", "yes"), r"A-coref has to be TRUE or FALSE, not as in x-1 \('yes'\)"),
        (HEADER + ROW.replace("TRUE", ""), r"A-coref has to be TRUE or FALSE, not as in x-1 \(''\)"),
        # The offset in bytes.
        (HEADER + ROW.replace("\t31", "\t32"), r"do not point at their strings: x-1 \(Pronoun\)"),
        (HEADER + ROW.replace("\t8", "\t-35"), r"do not point at their strings: x-1 \(B\)"),
        (HEADER + ROW.replace("\t8", "\teight"), r"do not point at their strings: x-1 \(B\)"),
        (HEADER + ROW.replace("\t8", "\tinf"), r"do not point at their strings: x-1 \(B\)"),
        (HEADER + ROW.replace("\t8", "\t8.6"), r"do not point at their strings: x-1 \(B\)"),
        (HEADER + ROW + ROW.replace("x-1", ""), "no ID in row 3"),
        (HEADER.replace("URL", "URL\tA") + ROW, "names a column twice: ID, "),
        ("", "lacks the column.*ID"),
        (HEADER + ROW.replace("\tAnn\t", "\t\t"), r"do not point at their strings: x-1 \(A\)"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, text, message):
    with pytest.raises(ValueError, match=f"gap.tsv.*{message}") as error:
        read_gap(write(tmp_path / "gap.tsv", text))
    assert "\n" not in str(error.value)


def test_what_is_neither_file_nor_data_set_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"no data set 'gap-tset'; did you mean 'gap-test'"):
        read_gap("gap-tset")
    (tmp_path / "gap.tsv").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="no table in UTF-8"):
        read_gap(tmp_path / "gap.tsv")


def test_the_sample_is_balanced():
    gap = read_gap("gap_sample")
    gender = np.where(gap["Pronoun"].str.lower().isin(["she", "her", "hers"]), "feminine", "masculine")
    answer = np.select([gap["A-coref"], gap["B-coref"]], ["A", "B"], "neither")
    assert pd.crosstab(gender, answer).values.tolist() == [[10, 10, 10], [10, 10, 10]]
    assert gap["ID"].is_unique and gap["Text"].is_unique and not (gap["A-coref"] & gap["B-coref"]).any()
    assert set(gap["Pronoun"].str.lower()) == {"she", "her", "hers", "he", "him", "his"}


@pytest.mark.parametrize(("part", "n"), [("development", 2000), ("test", 2000), ("validation", 454)])
def test_the_real_files_are_read_whole(real_data, part, n):
    gap = read_gap(f"gap-{part}")
    with open(real_data / "gap" / f"gap-{part}.tsv", encoding="utf-8") as file:
        lines = file.read().rstrip("\n").split("\n")[1:]
    assert len(gap) == len(lines) == n
    flags = [line.split("\t")[6].upper() == "TRUE" for line in lines]
    assert gap["A-coref"].tolist() == flags and 0 < sum(flags) < n


# GAP's scores


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
    with pytest.warns(UserWarning, match="does not have: 9"):
        scores = gap_scores(gold(["she"], "TF"), answers)
    assert scores.table.loc[0, ["tp", "fn"]].tolist() == [1, 0]
    assert scores.duplicates == ("1",) and scores.unknown == ("9",)
    twice = pd.concat([gold(["she"], "TF"), gold(["she"], "FT")])
    with pytest.warns(UserWarning, match="stand more than once in gold, of which the first counts: 1"):
        scores = gap_scores(twice, rows("TF"))
    assert scores.table.loc[0, "f1"] == 100 and scores.duplicates == ("1",)
    with pytest.warns(UserWarning, match="stand more than once in gold, of which the first counts: 1"):
        compare_gap(twice, {"before": rows("TF"), "after": rows("FT")})


def test_flags_may_be_texts_and_false_is_not_true():
    texts = rows("TF", "FT").astype(str)
    texts["B-coref"] = ["FALSE", "true"]
    texts["A-coref"] = ["True", "False"]
    scores = gap_scores(gold(["she", "he"], "TF", "FT"), texts)
    assert scores.table["f1"].tolist() == [100.0] * 3 and scores.bias == 1.0
    with pytest.raises(ValueError, match=r"B-coref has to be TRUE or FALSE, not as in 1 \('no'\)"):
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
        (gold(["they"], "TF"), rows("TF"), r"none of she, .*: 1 \('they'\)"),
        (gold([], *[]), rows("TF"), "gold has no row"),
        (gold(["she"], "TF").drop(columns="Pronoun"), rows("TF"), "lacks the column.*Pronoun"),
        (gold(["she"], "TF"), rows("TF").drop(columns="A-coref"), "lacks the column.*A-coref"),
        (gold(["she"], "--"), rows("TF"), "A-coref has to be TRUE or FALSE"),
    ],
)
def test_gap_scores_refuse(gold, predictions, message):
    with pytest.raises(ValueError, match=message):
        gap_scores(gold, predictions)


def test_a_seed_is_a_whole_number():
    with pytest.raises(ValueError, match="seed has to be a whole number from 0 up, not 'x'"):
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


# Scores of clusters


def mentions(*documents):
    """Make a frame of clusters: each document a list of clusters, a cluster's mentions being numbers."""
    found = [
        (f"d{number}", 0, cluster, mention, mention + 1)
        for number, clusters in enumerate(documents)
        for cluster, members in enumerate(clusters)
        for mention in members
    ]
    return pd.DataFrame(found, columns=["document", "part", "cluster", "start", "end"])


KEY, RESPONSE = mentions([[1, 2, 3], [4, 5, 6, 7]]), mentions([[1, 2], [3, 4], [6, 7, 8, 9]])


def test_the_worked_example():
    scores = conll_scores(KEY, RESPONSE)
    assert scores.table["metric"].tolist() == ["MUC", "B3", "CEAFe"]
    assert scores.table["f1"].round(2).tolist() == [40.0, 45.45, 52.0]
    assert scores.table["recall"].round(2).tolist() == [40.0, 41.67, 65.0]
    assert scores.table["precision"].round(2).tolist() == [40.0, 50.0, 43.33]
    assert round(scores.f1, 2) == 45.82 and scores.n == 1 and math.isnan(scores.ci_low)
    assert scores.by_document.round(2).values.tolist() == [["d0", 40.0, 45.45, 52.0, 45.82]]
    assert scores.to_frame()[["measure", "value"]].round(2).values.tolist()[0] == ["CoNLL F1", 45.82]


@st.composite
def clusterings(draw):
    """Draw two clusterings of the same and of other mentions, none alone in its cluster."""
    n = draw(st.integers(2, 12))
    both = []
    for _ in range(2):
        labels = draw(st.lists(st.integers(-1, 4), min_size=n, max_size=n))
        clusters = [[m for m, label in enumerate(labels) if label == cluster] for cluster in range(5)]
        both.append([cluster for cluster in clusters if len(cluster) > 1])
    return both


@settings(deadline=None, max_examples=60)
@given(st.lists(clusterings(), min_size=1, max_size=3).filter(lambda docs: any(key or said for key, said in docs)))
def test_random_clusterings_score_as_scorch_scores_them(documents):
    scorch = pytest.importorskip("scorch.scores")
    pytest.importorskip("corefeval")
    key, response = (mentions(*side) for side in zip(*documents, strict=True))
    scores = conll_scores(key, response, n_resamples=10)
    # Documents share no mention, so that a corpus is one large document.
    together = [
        [{(d, mention) for mention in cluster} for d, doc in enumerate(documents) for cluster in doc[side]]
        for side in (0, 1)
    ]
    for row, score in zip(scores.table.itertuples(), (scorch.muc, scorch.b_cubed, scorch.ceaf_e), strict=True):
        try:
            with np.errstate(divide="ignore"):
                expected = score(*together)
        except StatisticsError:
            # scorch has no harmonic mean of 0 and 0.
            expected = (0, 0, 0)
        assert [row.recall, row.precision, row.f1] == pytest.approx([100 * value for value in expected])
    assert scores.f1 == pytest.approx(scores.table["f1"].mean())


def test_a_corpus_is_scored_as_coreference_eval_does():
    corefeval = pytest.importorskip("corefeval")
    documents = [([[1, 2, 3], [4, 5]], [[1, 2], [4, 5, 6]]), ([[1, 2]], [[1, 3]]), ([[7, 8, 9]], [])]
    scorer = corefeval.Scorer()
    for key, said in documents:
        key, said = ([[(m, m + 1) for m in cluster] for cluster in side] for side in (key, said))
        scorer.update(corefeval.Document(said, key))
    expected, _ = scorer.detailed_score("", "", verbose=False)
    scores = conll_scores(*(mentions(*side) for side in zip(*documents, strict=True)))
    assert scores.f1 == pytest.approx(100 * expected)
    assert scores.f1 != pytest.approx(scores.by_document["CoNLL"].mean())
    assert scores.ci_low <= scores.f1 <= scores.ci_high


def test_order_and_numbers_of_clusters_change_nothing():
    pytest.importorskip("corefeval")
    moved = RESPONSE.assign(cluster=9 - RESPONSE["cluster"]).iloc[::-1]
    assert conll_scores(KEY, moved).table.equals(conll_scores(KEY, RESPONSE).table)
    perfect = conll_scores(KEY, KEY)
    assert perfect.f1 == 100 and perfect.table["f1"].tolist() == [100] * 3


def test_clusters_of_one_mention_are_left_out_and_counted():
    pytest.importorskip("corefeval")
    with_singletons = conll_scores(
        pd.concat([KEY, mentions([[], [], [50]])]), pd.concat([RESPONSE, mentions([*[[]] * 3, [60]])])
    )
    assert with_singletons.n_singletons == 2
    assert with_singletons.table.equals(conll_scores(KEY, RESPONSE).table)


def test_documents_without_clusters_count_as_documents():
    pytest.importorskip("corefeval")
    words = [(name, 0, 0, n, "word", "-") for name in ("d0", "d1", "d2") for n in range(3)]
    documents = documents_of(words, [("d0", 0, 1, 0, 1, "word"), ("d0", 0, 1, 1, 2, "word")])
    said = mentions([[0, 1]], [[0, 2]])
    scores = conll_scores(documents, said)
    assert scores.n == 3 and scores.table["recall"].tolist() == [100] * 3
    assert scores.table["precision"].tolist() == [50] * 3
    assert conll_scores(documents, documents).f1 == 100
    for unknown in ([[0, 1]], [[0]]):
        with pytest.raises(ValueError, match="does not have: d3, part 0"):
            conll_scores(documents, mentions([], [], [], unknown))


@pytest.mark.parametrize(
    ("key", "said", "message"),
    [
        (mentions(), mentions([[1]]), "nothing to score"),
        (KEY, mentions([[1, 2], [2, 3]]), "predicted: a mention stands twice in d0, part 0"),
        (KEY.drop(columns="end"), RESPONSE, "lacks the column.*end"),
        (KEY, RESPONSE.assign(cluster=RESPONSE["cluster"].where(RESPONSE["cluster"] > 0)), "predicted: cluster holds"),
        (KEY.assign(part=math.nan), RESPONSE, "gold: part holds missing values"),
        (KEY, RESPONSE.astype({"part": str}), "predicted: part holds texts, give whole numbers"),
    ],
)
def test_conll_scores_refuse(key, said, message):
    pytest.importorskip("corefeval")
    with pytest.raises(ValueError, match=message):
        conll_scores(key, said)


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "corefeval", None)
    with pytest.raises(ModuleNotFoundError, match=r"coreference-eval cannot be imported .*biaslib\[coref\]") as error:
        conll_scores(KEY, RESPONSE)
    assert "\n" not in str(error.value)


def test_conditions_are_compared_document_by_document():
    pytest.importorskip("corefeval")
    key = mentions(*[[[1, 2, 3]]] * 8)
    worse = mentions(*[[[1, 2]]] * 8)
    compared = compare_conll(key, {"key": key, "worse": worse, "same": worse})
    assert compared[["first", "second"]].values.tolist() == [["key", "worse"], ["key", "same"], ["worse", "same"]]
    assert compared["difference"].tolist() == [*[conll_scores(key, worse).f1 - 100] * 2, 0]
    # Only when all or none of 8 documents are exchanged is the difference as large: p is about 2/2⁸.
    assert compared["p_value"].tolist() == pytest.approx([2 / 2**8, 2 / 2**8, 1], abs=0.002)
    assert compared["p_holm"].tolist() == pytest.approx([6 / 2**8, 6 / 2**8, 1], abs=0.006)
    # A condition that predicts nothing for a document is compared on it all the same.
    nothing = compare_conll(key, {"key": key, "half": mentions(*[[[1, 2, 3]]] * 4)})
    assert nothing["n"].item() == 8 and nothing["difference"].item() < 0


# The resolver without training


def gap_rows(*texts):
    """Make GAP rows of texts that mark the pronoun as <she>, the names as [A:…] and [B:…]."""
    made = []
    for number, text in enumerate(texts):
        row, out = {"ID": f"r{number}", "A-coref": False, "B-coref": False, "URL": ""}, ""
        for piece in re.split(r"(\[[AB]:[^\]]*\]|<[^>]*>)", text):
            column = {"[": piece[1:2], "<": "Pronoun"}.get(piece[:1])
            piece = (piece[1:-1] if piece[:1] == "<" else piece[3:-1]) if column else piece
            row |= {column: piece, f"{column}-offset": len(out)} if column else {}
            out += piece
        made.append(row | {"Text": out})
    return pd.DataFrame(made)[list(GAP_COLUMNS)]


TEXTS = [
    ("The [A:dog] saw the [B:old nurse], and <he> was kind.", "The dog saw the old nurse, and {} was kind."),
    ("[A:kindness] in London, [B:city] of <his> horse.", "kindness in London, city of {}'s horse."),
    ("<She> was not [A:doctor] or [B:goodly].", "{} was not doctor or goodly."),
    ("is it a [A:dog \n who] of the [B:old\tnurse] with <him>?", "is it a dog who of the old nurse with {}?"),
    ("it is [A:dog]'s,  it\tis [B:rabbit]; \n <hers>", "it is dog's, it is rabbit; {}'s"),
]


@pytest.mark.parametrize("family", tiny_models.TOKENIZER_FAMILIES)
@pytest.mark.parametrize("variant", scoring.PLL_VARIANTS)
def test_scores_are_plain_means_over_the_names_tokens(tiny, family, variant):
    lm = tiny(family)
    model = plain.double(lm)
    gap = gap_rows(*(marked for marked, _ in TEXTS))
    answers = resolve_by_likelihood(lm, gap, variant=variant)
    assert answers["reason"].eq("").all() and not answers["shortened"].any()
    assert answers["possessive"].tolist() == [False, True, False, False, True]
    for row, (_, frame), names in zip(answers.itertuples(), TEXTS, gap[["A", "B"]].values, strict=True):
        for name, score, n_pieces in zip(names, row[4:6], row[6:8], strict=True):
            name = " ".join(name.split())
            text, start = frame.format(name), frame.index("{")
            encoded = lm.tokenizer(text, return_offsets_mapping=True)
            inside = [k for k, (a, b) in enumerate(encoded["offset_mapping"]) if a < start + len(name) and b > start]
            expected = plain.span(lm, model, encoded["input_ids"], inside, variant, encoded.word_ids())
            assert n_pieces == len(inside) and score == pytest.approx(np.mean(expected), rel=1e-5)
    assert answers.iloc[:, 1].tolist() == (answers["score_a"] > answers["score_b"]).tolist()
    assert answers.iloc[:, 2].tolist() == (answers["score_b"] > answers["score_a"]).tolist()


def test_her_is_what_the_model_takes_it_for(demo):
    gap = gap_rows(
        "[A:Anna] met [B:Clara] and gave <her> a book.",
        "[A:Anna] met [B:Clara], who had lost <her> money.",
        "[A:Anna] asked [B:Clara] about it. <Her> mother was dead.",
    )
    assert resolve_by_likelihood(demo, gap)["possessive"].tolist() == [False, True, True]


def test_her_before_a_word_is_possessive_for_a_model_without_the_pronouns():
    lm = tiny_without_his_and_him()
    gap = gap_rows("[A:dog] saw [B:cat] and <her> horse.", "[A:dog] saw [B:cat] and <her>.")
    assert resolve_by_likelihood(lm, gap)["possessive"].tolist() == [True, False]


def tiny_without_his_and_him():

    model, tokenizer = tiny_models.build("bert_uncased")
    vocabulary = {{"his": "zzx", "him": "zzy"}.get(word, word): i for word, i in tokenizer.get_vocab().items()}
    return load_masked_lm((model, type(tokenizer)(vocab=vocabulary, do_lower_case=True, model_max_length=64)))


def test_equal_scores_are_neither(tiny):
    answers = resolve_by_likelihood(tiny("roberta"), gap_rows("a [A:dog] and a [B:dog] said that <he> is old."))
    assert answers[["A-coref", "B-coref"]].values.tolist() == [[False, False]] and answers["reason"].item() == ""


def test_a_long_text_is_shortened_to_the_sentences_around(tiny):
    lm = tiny("bert_cased")
    core, other = "It is a [A:dog]. It is a [B:nurse]. <She> is kind. ", "It was old. "
    apart = core.replace("It is a [B", 12 * other + "It is a [B")
    answers = resolve_by_likelihood(lm, gap_rows(12 * other + core + 12 * other, apart + 12 * other))
    assert answers["shortened"].tolist() == [True, pd.NA]
    assert answers["reason"].tolist()[0] == "" and answers["reason"].tolist()[1].startswith("too long: ")
    assert answers["A-coref"].isna().tolist() == [False, True]
    # Of 64 tokens, 16 are the three sentences' ("nurse's" in place of "She"), 2 special; the others have 4, and are
    # taken in turn from before and after.
    shorter = resolve_by_likelihood(lm, gap_rows(6 * other + core + 5 * other))
    assert not shorter["shortened"].item()
    assert answers.loc[0, "score_a"] == pytest.approx(shorter.loc[0, "score_a"], rel=1e-5)


def test_rows_without_a_score_have_a_reason_and_no_answer(tiny):
    gap = gap_rows(
        "The [A:dog] saw [B:cat] and <they> ran.",
        "The [A:dog] [MASK] saw [B:cat] and <she> ran.",
        "The [A:dog] saw [B:☃] and <she> was kind.",
        "The [A:dog] saw [B:cat] and <she> was kind.",
    )
    answers = resolve_by_likelihood(tiny("bert_cased"), gap)
    assert answers["reason"].tolist() == [
        "no pronoun that is known: 'they'",
        "[MASK] in the text",
        "B: unknown token in the part",
        "",
    ]
    assert answers["A-coref"].isna().tolist() == [True, True, True, False]
    scores = gap_scores(gap.iloc[1:], answers.iloc[1:])
    assert scores.missing == ("r1", "r2") and scores.table.loc[0, "fn"] == 4


@pytest.mark.parametrize("family", ["bert_uncased", "xlm_roberta"])
def test_order_and_batches_change_no_score(tiny, family):
    gap = gap_rows(*(marked for marked, _ in TEXTS))
    answers = resolve_by_likelihood(tiny(family), gap)
    moved = resolve_by_likelihood(tiny(family), gap.iloc[::-1], batch_tokens=1).iloc[::-1].reset_index(drop=True)
    columns = ["score_a", "score_b"]
    np.testing.assert_allclose(moved[columns].astype(float), answers[columns].astype(float), rtol=1e-5)
    assert moved.drop(columns=columns).equals(answers.drop(columns=columns))


def test_no_row_is_no_error_and_wrong_arguments_are(tiny):
    lm, gap = tiny("bert_cased"), gap_rows("The [A:dog] saw [B:cat] and <she> ran.")
    assert resolve_by_likelihood(lm, gap.iloc[:0]).empty
    with pytest.raises(ValueError, match=r"unknown variant 'mean': use one of .*original"):
        resolve_by_likelihood(lm, gap, variant="mean")
    with pytest.raises(ValueError, match=r"do not point at their strings: r0 \(A\)"):
        resolve_by_likelihood(lm, gap.assign(**{"A-offset": 3}))
    with pytest.raises(ValueError, match=r"lacks the column.*Text"):
        resolve_by_likelihood(lm, gap.drop(columns="Text"))
    with pytest.raises(ValueError, match=r"no Text in row 1"):
        resolve_by_likelihood(lm, gap.assign(Text=None))
    # What has no answers yet can be resolved.
    assert len(resolve_by_likelihood(lm, gap.drop(columns=["A-coref", "B-coref"]))) == 1


def test_the_real_validation_rows_are_all_resolved(real_data, demo):
    gap = read_gap("gap-validation")
    answers = resolve_by_likelihood(demo, gap)
    assert answers["ID"].tolist() == gap["ID"].tolist() and answers["reason"].eq("").all()
    scores = gap_scores(gap, answers)
    assert scores.n == 454 and scores.missing == () and 35 < scores.table.loc[0, "f1"] < 60
