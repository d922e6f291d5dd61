"""CoNLL-2012 scores of clusters of mentions."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from biaslib._checks import check_columns
from biaslib.io.conll import CLUSTER_COLUMNS, KEYS, Documents
from biaslib.io.gap import first_few
from biaslib.metrics._coreference_tests import (
    check_conditions,
    compare_sums,
    exchange_conditions,
    precision_recall_f1,
    with_holm,
)
from biaslib.stats.clusters import coreference_scorer
from biaslib.stats.intervals import bootstrap_sums

CONLL_METRICS = {"muc": "MUC", "b_cubed": "B3", "ceafe": "CEAFe"}


@dataclass(frozen=True)
class ConllScores:
    """Result of `conll_scores`.

    Attributes
    ----------
    f1, ci_low, ci_high : float
        Mean of the F1 of MUC, B³ and CEAFe, per cent, with its interval.
    table : pandas.DataFrame
        ``metric precision recall f1 ci_low ci_high``, per cent.
    n : int
        Documents.
    n_singletons : int
        Clusters of one mention that were left out, of gold and predictions.
    by_document : pandas.DataFrame
        ``document MUC B3 CEAFe CoNLL``: each document's own F1, per cent. Their mean is not `f1`, which is of the
        whole corpus.
    """

    f1: float
    ci_low: float
    ci_high: float
    table: pd.DataFrame
    n: int
    n_singletons: int
    by_document: pd.DataFrame

    def to_frame(self):
        """Give all F1 as rows: ``measure group value ci_low ci_high n n_left_out precision recall``, the mean first.

        n_left_out are clusters of one mention.
        """
        mean = {"metric": "CoNLL", "f1": self.f1, "ci_low": self.ci_low, "ci_high": self.ci_high}
        frame = pd.concat([pd.DataFrame([mean]), self.table], ignore_index=True).rename(columns={"f1": "value"})
        frame = frame.assign(measure=frame["metric"] + " F1", group="all", n=self.n, n_left_out=self.n_singletons)
        return frame[["measure", "group", "value", "ci_low", "ci_high", "n", "n_left_out", "precision", "recall"]]


def conll_scores(gold, predicted, *, seed=0, n_resamples=2000, confidence=0.95):
    """Score clusters of mentions by the CoNLL-2012 measures, over a whole corpus.

    MUC, B³ and CEAFe: numerators and denominators are added up over all parts of all documents (micro), then
    precision, recall and F1 follow; the CoNLL F1 is the mean of the three F1 (Pradhan et al. 2014). All are per cent.

    Parameters
    ----------
    gold, predicted : Documents or pandas.DataFrame
        Mentions, ``document part cluster start end``. A `Documents` also tells which documents there are, those
        without a cluster included.
    seed, n_resamples, confidence
        Of the bootstrap over documents.

    Returns
    -------
    ConllScores

    Raises
    ------
    ValueError
        If a column is missing or holds missing values, there is no cluster at all, a mention stands twice in a part,
        or there are predictions for a document that `gold` does not have.
    ModuleNotFoundError
        If the package coreference-eval is not installed.

    Notes
    -----
    Mentions match when start and end are equal. Clusters of one mention are left out and counted: OntoNotes
    annotates none.

    Examples
    --------
    The key {a,b,c},{d,e,f,g} and the response {a,b},{c,d},{f,g,h,i}:

    >>> def mentions(*clusters):
    ...     rows = [("x", 0, c, ord(m), ord(m) + 1) for c, cluster in enumerate(clusters) for m in cluster]
    ...     return pd.DataFrame(rows, columns=["document", "part", "cluster", "start", "end"])
    >>> scores = conll_scores(mentions("abc", "defg"), mentions("ab", "cd", "fghi"))
    >>> round(scores.f1, 2), scores.table["f1"].round(2).tolist()
    (45.82, [40.0, 45.45, 52.0])
    """
    documents, counts, n_singletons = _conll_counts(gold, predicted)
    options = {"seed": seed, "n_resamples": n_resamples, "confidence": confidence}
    rows = []
    for metric, part in zip(CONLL_METRICS.values(), np.split(counts, len(CONLL_METRICS), axis=1), strict=True):
        precision, recall, f1 = map(float, precision_recall_f1(*part.sum(axis=0)))
        low, high = bootstrap_sums(part, lambda *sums: precision_recall_f1(*sums)[2], **options)
        row = {"metric": metric, "precision": precision, "recall": recall, "f1": f1, "ci_low": low, "ci_high": high}
        rows.append(row)
    low, high = bootstrap_sums(counts, _conll_f1, **options)
    parts = zip(CONLL_METRICS.values(), np.split(counts.T, len(CONLL_METRICS)), strict=True)
    own = {metric: precision_recall_f1(*part)[2] for metric, part in parts}
    return ConllScores(
        f1=float(_conll_f1(*counts.sum(axis=0))),
        ci_low=low,
        ci_high=high,
        table=pd.DataFrame(rows),
        n=len(documents),
        n_singletons=n_singletons,
        by_document=pd.DataFrame({"document": documents} | own | {"CoNLL": _conll_f1(*counts.T)}),
    )


def compare_conll(gold, conditions, *, seed=0, n_resamples=2000, n_permutations=9999, confidence=0.95):
    """Test, pair by pair, whether conditions (models, corpora) differ in CoNLL F1.

    Parameters
    ----------
    gold : Documents or pandas.DataFrame
        As for `conll_scores`.
    conditions : mapping of str to Documents or pandas.DataFrame
        The clusters that each predicts.
    seed : int
        Of the bootstrap over documents and of the permutations.
    n_resamples, n_permutations : int
    confidence : float

    Returns
    -------
    pandas.DataFrame
        ``first second measure group value_first value_second difference ci_low ci_high p_value p_holm n``; the
        difference is second − first, its interval from documents resampled for both, and ``p_value`` is two-sided, by
        approximate randomisation (Noreen 1989): (b + 1)/(m + 1), where in b of m random exchanges of the two
        conditions' clusters, document by document, F1 differ at least as much. With n documents it cannot go below
        about 2/2ⁿ.

    Raises
    ------
    ValueError
        As `conll_scores` does, and if there are fewer than two conditions.
    """
    options = {"seed": seed, "n_resamples": n_resamples, "confidence": confidence}
    conditions = check_conditions(conditions)
    everything = _keys_of([gold, *conditions.values()])
    counts = {name: _conll_counts(gold, part, everything)[1] for name, part in conditions.items()}
    rows = []
    for first, second in combinations(counts, 2):
        both = [counts[first], counts[second]]
        row = {"first": first, "second": second, "measure": "CoNLL F1", "group": "all"}
        p_value = exchange_conditions(*both, _conll_f1, n_permutations, seed)
        rows.append(row | compare_sums(both, _conll_f1, options) | {"p_value": p_value})
    return with_holm(pd.DataFrame(rows))


def _conll_f1(*sums):
    """Give the mean of the three F1 from their numerators and denominators."""
    return sum(precision_recall_f1(*sums[start : start + 4])[2] for start in (0, 4, 8)) / 3


def _keys_of(sources):
    """List the parts of documents that there are anywhere, in order."""
    frames = [frame for source in sources for frame in _frames_of(source)]
    return pd.concat([frame[KEYS] for frame in frames]).drop_duplicates().values.tolist()


def _frames_of(source):
    return [source.words, source.clusters] if isinstance(source, Documents) else [source]


def _conll_counts(gold, predicted, everything=None):
    """Count, by document, numerators and denominators of the three measures: names, shape (n, 12), singletons."""
    scorer, document = coreference_scorer()
    (key, n_key), (response, n_response) = _clusters_of(gold, "gold"), _clusters_of(predicted, "predicted")
    if not key and not response:
        raise ValueError("neither gold nor predicted has a cluster of two mentions or more: there is nothing to score")
    if isinstance(gold, Documents):
        known = set(map(tuple, _keys_of([gold])))
        unknown = [f"{name}, part {part}" for name, part in _keys_of([predicted]) if (name, part) not in known]
        if unknown:
            raise ValueError(f"there are predictions for what gold does not have: {first_few(unknown)}")
    counts: dict[str, np.ndarray] = {}
    for name, part in _keys_of([gold, predicted]) if everything is None else everything:
        one = scorer()
        one.update(document(response.get((name, part), []), key.get((name, part), [])))
        of_metric = {metric.metric.__name__: metric.get_counts() for metric in one.all}
        counts[name] = counts.get(name, 0) + np.concatenate([of_metric[metric] for metric in CONLL_METRICS])
    return list(counts), np.array(list(counts.values()), dtype=float), n_key + n_response


def _clusters_of(source, what):
    """Collect the clusters of each part of a document as lists of spans, those of one mention left out and counted."""
    frame = source.clusters if isinstance(source, Documents) else source
    check_columns(frame, CLUSTER_COLUMNS[:-1])
    for column in CLUSTER_COLUMNS[:-1]:
        if frame[column].isna().any():
            raise ValueError(f"{what}: {column} holds missing values")
        if column in ("part", "start", "end") and any(isinstance(value, str) for value in frame[column]):
            raise ValueError(f"{what}: {column} holds texts, give whole numbers")
    twice = frame.loc[frame.duplicated([*KEYS, "start", "end"]), KEYS].values.tolist()
    if twice:
        named = [f"{name}, part {part}" for name, part in twice]
        raise ValueError(f"{what}: a mention stands twice in {first_few(named)}; give each to one cluster")
    clusters: dict[tuple, list] = {}
    n_singletons = 0
    for (name, part, _), mentions in frame.groupby([*KEYS, "cluster"], sort=False):
        spans = list(zip(mentions["start"].tolist(), mentions["end"].tolist(), strict=True))
        if len(spans) == 1:
            n_singletons += 1
        else:
            clusters.setdefault((name, part), []).append(spans)
    return clusters, n_singletons
