import math
import sys
from statistics import StatisticsError

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslib.io import documents_of
from biaslib.metrics import compare_conll, conll_scores


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
        with pytest.raises(ValueError, match="not in gold: d3, part 0"):
            conll_scores(documents, mentions([], [], [], unknown))


@pytest.mark.parametrize(
    ("key", "said", "message"),
    [
        (mentions(), mentions([[1]]), "nothing to score: neither"),
        (KEY, mentions([[1, 2], [2, 3]]), "predicted: a mention occurs twice in d0, part 0"),
        (KEY.drop(columns="end"), RESPONSE, "gold must have the column end"),
        (
            KEY,
            RESPONSE.assign(cluster=RESPONSE["cluster"].where(RESPONSE["cluster"] > 0)),
            "predicted: cluster has missing values",
        ),
        (KEY.assign(part=math.nan), RESPONSE, "gold: part has missing values"),
        (KEY, RESPONSE.astype({"part": str}), "predicted: part must hold whole numbers, not text"),
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
