import sys

import pandas as pd
import pytest

from biaslib import studies
from biaslib._files import DATA
from biaslib.io import Documents, conll, read_conll, read_gap
from biaslib.training import OFF_THE_SHELF

MODELS = ["bert-base-cased", "bert-large-cased", "spanbert-base-cased", "spanbert-large-cased"]


@pytest.fixture
def everything_of_the_study():
    documents = read_conll("coreference_sample")
    return studies.CoreferenceData(None, documents, documents, frozenset({"GAP", "OntoNotes"}))


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
    data = studies.read_coreference("", "coreference_sample", 9)
    assert data.asked and data.gap is None and not data.of_the_study
    names = read_conll("coreference_sample").words["document"].unique().tolist()
    assert data.learned.words["document"].unique().tolist() == names[:9]
    assert data.held_out.words["document"].unique().tolist() == names[9:]
    assert set(data.fingerprints()) == {"conll"}


@pytest.mark.parametrize("n", [0, 12, 13])
def test_a_split_that_leaves_nothing_is_refused(n):
    with pytest.raises(ValueError, match=f"n_learned is {n}: of 12 documents, 1 to 11"):
        studies.read_coreference("", "coreference_sample", n)


@pytest.mark.parametrize(
    ("lines", "message"),
    [(0, "gap.tsv holds no row"), (1, r"none of she, .*: sample-1 \('Brandt'\)")],
)
def test_rows_that_cannot_be_scored_are_said_at_once(tmp_path, lines, message):
    gap = read_gap().head(lines)
    gap = gap.assign(Pronoun="Brandt", **{"Pronoun-offset": gap["Text"].str.index("Brandt") if lines else 0})
    gap.to_csv(tmp_path / "gap.tsv", sep="\t", index=False)
    with pytest.raises(ValueError, match=message):
        studies.read_coreference(str(tmp_path / "gap.tsv"))


@pytest.mark.parametrize(("n", "what"), [(11, "held out"), (1, "trained on")])
def test_documents_without_a_cluster_of_two_are_said_at_once(monkeypatch, n, what):
    documents = read_conll("coreference_sample")
    name = documents.words["document"].unique()[0 if n == 1 else -1]
    clusters = documents.clusters[documents.clusters["document"] != name]
    clusters = pd.concat([clusters, documents.clusters[documents.clusters["document"] == name].head(1)])
    monkeypatch.setattr(conll, "read_conll", lambda source: Documents(documents.words, clusters))
    with pytest.raises(ValueError, match=f"the documents {what} have no cluster of two mentions: {name}"):
        studies.read_coreference("", "some.conll", n)


def test_a_missing_extra_is_named_only_where_documents_are_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "stanza.models.coref.model", None)
    assert studies.read_coreference("gap_sample").asked and not studies.read_coreference().asked
    with pytest.raises(ModuleNotFoundError, match=r"biaslib\[coref,units\]"):
        studies.read_coreference("gap_sample", "coreference_sample")


def test_documents_named_as_in_ontonotes_are_the_studys(tmp_path):
    text = read_sample().replace("(sample/", "(nw/")
    path = tmp_path / "a.conll"
    path.write_text(text, encoding="utf-8")
    assert studies.read_coreference("", str(path)).of_the_study == {"OntoNotes"}


def read_sample():

    return (DATA / "coreference_sample.conll").read_text(encoding="utf-8")


@pytest.mark.parametrize(("lost", "status"), [(1.8, "seen"), (2.0, "not seen")])
def test_ontonotes_claim_by_the_most_that_is_lost(everything_of_the_study, lost, status):
    table = compared("CoNLL F1", 75.0, [75.0, 75.0, 75.5, 75.0 - lost])
    assert studies.judge_coreference(table, everything_of_the_study)[3][0] == status


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
    assert studies.judge_coreference(table, everything_of_the_study)[4][0] == status


def test_claims_need_all_models_and_the_data_of_the_study(everything_of_the_study):
    table = compared("CoNLL F1", 75.0, 75.0)
    assert studies.judge_coreference(table[1:], everything_of_the_study)[3][0] == "not testable here"
    own = studies.CoreferenceData(None, *[everything_of_the_study.learned] * 2, frozenset())
    assert studies.judge_coreference(table, own)[3][0] == "not testable here"


def test_bias_claims_need_both_berts_and_scores_above_50():
    change = pd.DataFrame(
        {
            "model": [*MODELS[:1] * 2, *MODELS[1:2] * 2],
            "condition": ["after news", "after voices"] * 2,
            "before": 75.0,
            "after": [57.0, 55, 71, 70],
            "p_lower": 0.001,
        }
    ).assign(difference=lambda frame: frame["after"] - frame["before"])
    second = {"bert-base-cased": 0.01, "bert-large-cased": 0.01}
    assert [verdict for verdict, _ in studies.judge_bias(change, second).values()] == ["seen", "seen"]
    later = studies.judge_bias(change, second | {"bert-base-cased": 0.4})
    assert [verdict for verdict, _ in later.values()] == ["seen", "not seen"]
    assert studies.judge_bias(change.assign(before=49.0), second)[2][0] == "not testable here"
    assert studies.judge_bias(change[2:], second)[1][0] == "not testable here"
    assert {v for v, _ in studies.judge_bias(change, second, of_the_study=False).values()} == {"not testable here"}
    assert {v for v, _ in studies.judge_bias(change[:0], {}).values()} == {"not testable here"}


def test_likelihoods_of_an_untrained_head_are_neither_compared_nor_written():
    data = studies.read_coreference("gap_sample")
    conditions = pd.DataFrame(
        {"model": "demo", "condition": [OFF_THE_SHELF, "after a", "after b"], "head": ["new", "kept", "kept"]}
    )
    found = [{"likelihood": data.gap, "trained": data.gap}] * 3
    table = studies.compare_conditions(conditions, data, found)
    pairs = table.groupby("resolver")[["first", "second"]].nunique()
    assert table["resolver"].value_counts().to_dict() == {"likelihood": 4, "trained": 12} and len(pairs) == 2
    scores = pd.concat(
        [
            studies.score_answers(data, f).assign(**row)
            for f, row in zip(found, conditions.to_dict("records"), strict=True)
        ]
    )
    data = studies.CoreferenceData(data.gap, *[read_conll("coreference_sample")] * 2, frozenset())
    groups = set(studies.comparison_scores(scores, data)["group"])
    assert OFF_THE_SHELF not in groups and {f"{OFF_THE_SHELF}, trained", "after a", "after a, feminine"} <= groups
    assert set(studies.figure_rows(scores)["condition"]) == {"after a", "after b"}
    told = ["by likelihood" in line for line in studies.in_short(scores)]
    assert told == [False, True, True]


def test_documents_alone_are_resolved_by_a_resolver_that_is_found_again(tiny, parser, tmp_path):
    pytest.importorskip("stanza")
    data = studies.read_coreference("", "coreference_sample", 3)
    options = {"models_dir": tmp_path, "epochs": 1, "hidden_size": 16}
    found = studies.run_resolvers(tiny("distilbert"), data, **options)
    assert set(found) == {studies.LEARNED, studies.HELD_OUT}
    trained = [(path.name, path.stat().st_mtime_ns) for path in tmp_path.glob("*/resolver.json")]
    again = studies.run_resolvers(tiny("distilbert"), data, **options)
    assert trained == [(path.name, path.stat().st_mtime_ns) for path in tmp_path.glob("*/resolver.json")]
    for name in found:
        pd.testing.assert_frame_equal(found[name], again[name])
    studies.run_resolvers(tiny("distilbert"), data, **options | {"epochs": 2})
    assert len(list(tmp_path.iterdir())) == 2
    scores = studies.score_answers(data, found)
    assert scores["measure"].tolist() == ["CoNLL F1", "MUC F1", "B3 F1", "CEAFe F1"] * 2
    assert scores["n"].tolist() == [3] * 4 + [9] * 4
