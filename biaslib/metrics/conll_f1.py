"""F1 of clusters of mentions, as in CoNLL-2012.

Pradhan, Luo, Recasens, Hovy, Ng & Strube (2014), "Scoring Coreference Partitions of Predicted Mentions: A Reference
Implementation", ACL.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from biaslib._checks import check_columns, listed
from biaslib.io.conll import CLUSTER_COLUMNS, KEYS, Documents
from biaslib.metrics._coreference_differences import check_conditions, difference_row, precision_recall_f1, with_holm
from biaslib.stats.clusters import CONLL_METRICS, coreference_counts
from biaslib.stats.hypothesis_tests import compare_paired_counts
from biaslib.stats.intervals import bootstrap_sums


@dataclass(frozen=True)
class ConllScores:
    """Result of `conll_scores`.

    Attributes
    ----------
    f1, ci_low, ci_high : float
        Mean of the F1 of MUC, B³ and CEAFe, in per cent, with its interval.
    table : pandas.DataFrame
        ``metric precision recall f1 ci_low ci_high``, in per cent.
    n : int
        Number of documents.
    n_singletons : int
        Number of clusters of one mention that were left out of gold and predictions.
    by_document : pandas.DataFrame
        ``document MUC B3 CEAFe CoNLL``: F1 of each document, in per cent. Their mean is not `f1`, which is computed
        over the whole corpus.
    """

    f1: float
    ci_low: float
    ci_high: float
    table: pd.DataFrame
    n: int
    n_singletons: int
    by_document: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """Return all F1 as rows, the mean first: ``measure group value ci_low ci_high n n_left_out precision recall``.

        n_left_out counts clusters of one mention.
        """
        mean = {"metric": "CoNLL", "f1": self.f1, "ci_low": self.ci_low, "ci_high": self.ci_high}
        frame = pd.concat([pd.DataFrame([mean]), self.table], ignore_index=True).rename(columns={"f1": "value"})
        frame = frame.assign(measure=frame["metric"] + " F1", group="all", n=self.n, n_left_out=self.n_singletons)
        return frame[["measure", "group", "value", "ci_low", "ci_high", "n", "n_left_out", "precision", "recall"]]


def conll_scores(
    gold: Documents | pd.DataFrame,
    predicted: Documents | pd.DataFrame,
    *,
    seed: int = 0,
    n_resamples: int = 2000,
    confidence: float = 0.95,
) -> ConllScores:
    """Score clusters of mentions by the CoNLL-2012 measures, over a whole corpus.

    For MUC, B³ and CEAFe, numerators and denominators are added up over all parts of all documents (micro average)
    before precision, recall and F1 are computed, in per cent. The CoNLL F1 is the mean of the three F1 (Pradhan et al.
    2014).

    Parameters
    ----------
    gold, predicted : Documents or pandas.DataFrame
        Mentions, ``document part cluster start end``. A `Documents` also says which documents there are, including
        those without a cluster.
    seed, n_resamples, confidence
        Options of the bootstrap over documents.

    Returns
    -------
    ConllScores

    Raises
    ------
    ValueError
        If a column is missing or has missing values, there is no cluster at all, a mention occurs twice in a part, or
        there are predictions for a document that is not in `gold`.
    ModuleNotFoundError
        If the package coreference-eval is not installed.

    Notes
    -----
    Mentions match if start and end are equal. Clusters of one mention are left out and counted: OntoNotes annotates
    none.

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
    by_metric = dict(zip(CONLL_METRICS.values(), np.split(counts, len(CONLL_METRICS), axis=1), strict=True))
    rows = []
    for metric, part in by_metric.items():
        precision, recall, f1 = map(float, precision_recall_f1(*part.sum(axis=0)))
        low, high = bootstrap_sums(part, lambda *sums: precision_recall_f1(*sums)[2], **options)
        row = {"metric": metric, "precision": precision, "recall": recall, "f1": f1, "ci_low": low, "ci_high": high}
        rows.append(row)
    low, high = bootstrap_sums(counts, _conll_f1, **options)
    own = {metric: precision_recall_f1(*part.T)[2] for metric, part in by_metric.items()}
    return ConllScores(
        f1=float(_conll_f1(*counts.sum(axis=0))),
        ci_low=low,
        ci_high=high,
        table=pd.DataFrame(rows),
        n=len(documents),
        n_singletons=n_singletons,
        by_document=pd.DataFrame({"document": documents} | own | {"CoNLL": _conll_f1(*counts.T)}),
    )


def compare_conll(
    gold: Documents | pd.DataFrame,
    conditions: Mapping[str, Documents | pd.DataFrame],
    *,
    seed: int = 0,
    n_resamples: int = 2000,
    n_permutations: int = 9999,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Test, pair by pair, whether conditions (models, corpora) differ in CoNLL F1.

    Parameters
    ----------
    gold : Documents or pandas.DataFrame
        As for `conll_scores`.
    conditions : mapping of str to Documents or pandas.DataFrame
        The clusters that each condition predicts.
    seed, n_resamples, n_permutations, confidence
        Options of the bootstrap over documents and of the permutation test.

    Returns
    -------
    pandas.DataFrame
        ``first second measure group value_first value_second difference ci_low ci_high p_value p_holm n``. The
        difference is second − first, its interval from documents resampled for both. ``p_value`` is two-sided, by
        approximate randomisation (Noreen 1989): (b + 1)/(m + 1), where F1 differs at least as much in b of m random
        exchanges of the two conditions' clusters, document by document. With n documents it cannot fall below about
        2/2ⁿ.

    Raises
    ------
    ValueError
        As in `conll_scores`, and if there are fewer than two conditions.
    """
    options = {"seed": seed, "n_resamples": n_resamples, "confidence": confidence}
    conditions = check_conditions(conditions)
    everything = _keys_of([gold, *conditions.values()])
    counts = {name: _conll_counts(gold, part, everything)[1] for name, part in conditions.items()}
    rows = []
    for first, second in combinations(counts, 2):
        both = [counts[first], counts[second]]
        row = {"first": first, "second": second, "measure": "CoNLL F1", "group": "all"}
        p_value = compare_paired_counts(*both, _conll_f1, n_permutations=n_permutations, seed=seed)
        rows.append(row | difference_row(both, _conll_f1, options) | {"p_value": p_value})
    return with_holm(pd.DataFrame(rows))


def _conll_f1(*sums):
    """Compute the mean of the three F1 from their numerators and denominators."""
    return sum(precision_recall_f1(*sums[start : start + 4])[2] for start in (0, 4, 8)) / 3


def _keys_of(sources: Iterable[Documents | pd.DataFrame]) -> list[list]:
    """List the parts of documents that occur in any of the sources, in order."""
    frames = [frame for source in sources for frame in _frames_of(source)]
    return pd.concat([frame[KEYS] for frame in frames]).drop_duplicates().values.tolist()


def _frames_of(source):
    return [source.words, source.clusters] if isinstance(source, Documents) else [source]


def _conll_counts(gold, predicted, everything=None):
    """Return the documents' names, their numerators and denominators, shape (n, 12), and the number of singletons."""
    (key, n_key), (response, n_response) = _clusters_of(gold, "gold"), _clusters_of(predicted, "predicted")
    if not key and not response:
        raise ValueError("there is nothing to score: neither gold nor predicted has a cluster of two or more mentions")
    if isinstance(gold, Documents):
        known = set(map(tuple, _keys_of([gold])))
        unknown = [f"{name}, part {part}" for name, part in _keys_of([predicted]) if (name, part) not in known]
        if unknown:
            raise ValueError(f"there are predictions for documents that are not in gold: {listed(unknown, most=5)}")
    counts: dict[str, np.ndarray] = {}
    for name, part in _keys_of([gold, predicted]) if everything is None else everything:
        of_part = coreference_counts(key.get((name, part), []), response.get((name, part), []))
        counts[name] = counts.get(name, 0) + of_part.ravel()
    return list(counts), np.array(list(counts.values())), n_key + n_response


def _clusters_of(source, what):
    """Collect the clusters of each part of a document as lists of spans; leave out and count those of one mention."""
    frame = source.clusters if isinstance(source, Documents) else source
    check_columns(frame, CLUSTER_COLUMNS[:-1], what)
    for column in CLUSTER_COLUMNS[:-1]:
        if frame[column].isna().any():
            raise ValueError(f"{what}: {column} has missing values")
        if column in ("part", "start", "end") and any(isinstance(value, str) for value in frame[column]):
            raise ValueError(f"{what}: {column} must hold whole numbers, not text")
    twice = frame.loc[frame.duplicated([*KEYS, "start", "end"]), KEYS].values.tolist()
    if twice:
        named = [f"{name}, part {part}" for name, part in twice]
        raise ValueError(f"{what}: a mention occurs twice in {listed(named, most=5)}; assign each to one cluster")
    clusters: dict[tuple, list] = {}
    n_singletons = 0
    for (name, part, _), mentions in frame.groupby([*KEYS, "cluster"], sort=False):
        spans = list(zip(mentions["start"].tolist(), mentions["end"].tolist(), strict=True))
        if len(spans) == 1:
            n_singletons += 1
        else:
            clusters.setdefault((name, part), []).append(spans)
    return clusters, n_singletons
