import sys

import pandas as pd
import pytest

from biaslib import io
from biaslib._files import DATA
from biaslib.io import Documents, read_conll, read_gap
from biaslib.studies import winoqueer_coreference as coreference
from biaslib.training import OFF_THE_SHELF

MODELS = ["bert-base-cased", "bert-large-cased", "spanbert-base-cased", "spanbert-large-cased"]


@pytest.fixture
def everything_of_the_study():
    documents = read_conll("coreference_sample")
    return coreference.CoreferenceData(None, documents, documents, frozenset({"GAP", "OntoNotes"}))


def compared(measure, first, second, models=MODELS, group="all"):
    return pd.DataFrame(
        {
            "model": models,
            "resolver": "trained",
            "first": OFF_THE_SHELF,
            "second": "after news",
            "measure": measure,
            "group": group,
            "value_first": first,
            "value_second": second,
        }
    ).assign(difference=lambda frame: frame["value_second"] - frame["value_first"])


def test_documents_are_split_in_their_order():
    data = coreference.read_coreference("", "coreference_sample", 9)
    assert data.asked and data.gap is None and not data.of_the_study
    names = read_conll("coreference_sample").words["document"].unique().tolist()
    assert data.learned.words["document"].unique().tolist() == names[:9]
    assert data.held_out.words["document"].unique().tolist() == names[9:]
    assert set(data.fingerprints()) == {"conll"}


@pytest.mark.parametrize("n", [0, 12, 13])
def test_a_split_that_leaves_nothing_is_refused(n):
    with pytest.raises(ValueError, match=f"n_learned is {n}; of 12 documents, train on 1 to 11"):
        coreference.read_coreference("", "coreference_sample", n)


@pytest.mark.parametrize(
    ("lines", "message"),
    [(0, "gap.tsv has no rows"), (1, r"other than she, .*: sample-1 \('Brandt'\)")],
)
def test_rows_that_cannot_be_scored_are_said_at_once(tmp_path, lines, message):
    gap = read_gap().head(lines)
    gap = gap.assign(Pronoun="Brandt", **{"Pronoun-offset": gap["Text"].str.index("Brandt") if lines else 0})
    gap.to_csv(tmp_path / "gap.tsv", sep="\t", index=False)
    with pytest.raises(ValueError, match=message):
        coreference.read_coreference(str(tmp_path / "gap.tsv"))


@pytest.mark.parametrize(("n", "what"), [(11, "held out"), (1, "trained on")])
def test_documents_without_a_cluster_of_two_are_said_at_once(monkeypatch, n, what):
    documents = read_conll("coreference_sample")
    name = documents.words["document"].unique()[0 if n == 1 else -1]
    clusters = documents.clusters[documents.clusters["document"] != name]
    clusters = pd.concat([clusters, documents.clusters[documents.clusters["document"] == name].head(1)])
    monkeypatch.setattr(io, "read_conll", lambda source: Documents(documents.words, clusters))
    with pytest.raises(ValueError, match=f"the documents {what} have no cluster of two mentions: {name}"):
        coreference.read_coreference("", "some.conll", n)


def test_a_missing_extra_is_named_only_where_documents_are_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "stanza.models.coref.model", None)
    assert coreference.read_coreference("gap_sample").asked and not coreference.read_coreference().asked
    with pytest.raises(ModuleNotFoundError, match=r"biaslib\[coref,units\]"):
        coreference.read_coreference("gap_sample", "coreference_sample")


def test_documents_named_as_in_ontonotes_are_the_studys(tmp_path):
    text = read_sample().replace("(sample/", "(nw/")
    path = tmp_path / "a.conll"
    path.write_text(text, encoding="utf-8")
    assert coreference.read_coreference("", str(path)).of_the_study == {"OntoNotes"}


def read_sample():
    return (DATA / "coreference_sample.conll").read_text(encoding="utf-8")


@pytest.mark.parametrize(("lost", "status"), [(1.8, "seen"), (2.0, "not seen")])
def test_ontonotes_claim_by_the_most_that_is_lost(everything_of_the_study, lost, status):
    table = compared("CoNLL F1", 75.0, [75.0, 75.0, 75.5, 75.0 - lost])
    assert coreference.verdicts(table, everything_of_the_study)[3][0] == status


@pytest.mark.parametrize(
    ("f1", "bias", "status"),
    [
        ([80.5, 80, 79.2, 80], [0.94, 0.95, 0.94, 0.96], "seen"),
        ([80.5, 80, 78.2, 80], [0.94, 0.95, 0.94, 0.96], "not seen"),
        ([80.5, 80, 79.2, 80], [0.98, 0.95, 1.01, 0.96], "not seen"),
    ],
)
def test_gap_claim_by_f1_and_bias(everything_of_the_study, f1, bias, status):
    table = pd.concat([compared("GAP F1", 80.0, f1), compared("GAP bias", 0.97, bias, group="feminine / masculine")])
    assert coreference.verdicts(table, everything_of_the_study)[4][0] == status


def test_claims_need_all_models_and_the_data_of_the_study(everything_of_the_study):
    table = compared("CoNLL F1", 75.0, 75.0)
    assert coreference.verdicts(table[1:], everything_of_the_study)[3][0] == "not testable here"
    own = coreference.CoreferenceData(None, *[everything_of_the_study.learned] * 2, frozenset())
    assert coreference.verdicts(table, own)[3][0] == "not testable here"


def test_likelihoods_of_an_untrained_head_are_neither_compared_nor_written():
    data = coreference.read_coreference("gap_sample")
    conditions = pd.DataFrame(
        {"model": "demo", "condition": [OFF_THE_SHELF, "after a", "after b"], "head": ["new", "kept", "kept"]}
    )
    answered = pd.concat([data.gap.assign(resolver=resolver) for resolver in ("likelihood", "trained")])
    found = conditions, data, conditions.merge(answered, how="cross"), pd.DataFrame()
    table = coreference.compare_answers(*found)
    pairs = table.groupby("resolver")[["first", "second"]].nunique()
    assert table["resolver"].value_counts().to_dict() == {"likelihood": 4, "trained": 12} and len(pairs) == 2
    scores = coreference.score_answers(*found)
    assert scores.columns.tolist()[:5] == ["model", "condition", "head", "resolver", "measure"]
    assert scores["condition"].unique().tolist() == conditions["condition"].tolist()
    data = coreference.CoreferenceData(data.gap, *[read_conll("coreference_sample")] * 2, frozenset())
    groups = set(coreference.comparison_scores(scores, data)["group"])
    assert OFF_THE_SHELF not in groups and {f"{OFF_THE_SHELF}, trained", "after a", "after a, feminine"} <= groups
    assert set(coreference.figure_rows(scores)["condition"]) == {"after a", "after b"}
    told = ["by likelihood" in line for line in coreference.in_short(scores)]
    assert told == [False, True, True]


def test_a_condition_without_a_predicted_cluster_scores_zero():
    documents = read_conll("coreference_sample")
    data = coreference.CoreferenceData(None, documents, documents, frozenset())
    conditions = pd.DataFrame({"model": "demo", "condition": [OFF_THE_SHELF, "after a"], "head": "kept"})
    own = conditions.head(1).merge(documents.clusters, how="cross")
    found = pd.concat([own.assign(documents=part) for part in (coreference.LEARNED, coreference.HELD_OUT)])
    scores = coreference.score_answers(conditions, data, pd.DataFrame(), found)
    f1 = scores[scores["measure"] == "CoNLL F1"]
    assert f1["value"].tolist() == [100.0, 100.0, 0.0, 0.0]
    assert f1["condition"].tolist() == [OFF_THE_SHELF] * 2 + ["after a"] * 2
    (change,) = coreference.compare_answers(conditions, data, pd.DataFrame(), found)["difference"]
    assert change == -100


def test_answers_without_a_name_or_matched_by_overlap_are_listed():
    answers = pd.DataFrame({"ID": list("abc"), "reason": ["", "too long", None], "inexact": [None, None, "A"]})
    assert coreference.answers_to_check(answers)["ID"].tolist() == ["b", "c"]


def test_the_studys_models_stand_beside_its_tables():
    rows = [("google-bert/bert-base-cased", c, "trained", "CoNLL F1", coreference.HELD_OUT) for c in ("a", "b", "c")]
    scores = pd.DataFrame(rows, columns=["model", "condition", "resolver", "measure", "group"])
    scores = scores.assign(value=[70.0, 71, 72], ci_low=0.0, ci_high=0.0, n=9)
    beside = coreference.beside_published(scores).dropna(subset="value")
    assert beside["table"].unique().tolist() == [3] and beside["study"].unique().tolist() == ["bert-base"]
    values = beside.set_index("column")["value"].to_dict()
    assert values == {"vanilla": 70, "queernews": 71, "queertwitter": 72}


def test_documents_alone_are_resolved_by_a_resolver_that_is_found_again(tiny, parser, tmp_path, monkeypatch):
    pytest.importorskip("stanza")
    data = coreference.read_coreference("", "coreference_sample", 3)
    quick = {"epochs": 1, "hidden_size": 16}
    monkeypatch.setattr(coreference, "RESOLVERS", {"full": quick, "small": quick | {"epochs": 2}})
    answers, clusters = coreference.answer(tiny("distilbert"), data, models_dir=tmp_path)
    assert answers.empty and set(clusters["documents"]) <= {coreference.LEARNED, coreference.HELD_OUT}
    trained = [(path.name, path.stat().st_mtime_ns) for path in tmp_path.glob("*/resolver.json")]
    again = coreference.answer(tiny("distilbert"), data, models_dir=tmp_path)
    assert trained == [(path.name, path.stat().st_mtime_ns) for path in tmp_path.glob("*/resolver.json")]
    pd.testing.assert_frame_equal(clusters, again[1])
    coreference.answer(tiny("distilbert"), data, models_dir=tmp_path, resolver="small")
    assert len(list(tmp_path.iterdir())) == 2
    condition = pd.DataFrame({"model": ["demo"], "condition": OFF_THE_SHELF, "head": "kept"})
    scores = coreference.score_answers(condition, data, answers, condition.merge(clusters, how="cross"))
    assert scores["measure"].tolist() == ["CoNLL F1", "MUC F1", "B3 F1", "CEAFe F1"] * 2
    assert scores["n"].tolist() == [3] * 4 + [9] * 4
