"""Agreement of clusters: the adjusted Rand index, and the counts behind the CoNLL-2012 coreference scores."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from biaslib._checks import check_count
from biaslib.stats.hypothesis_tests import permutation_p_value

# From the name of coreference-eval's functions to the metrics' own.
CONLL_METRICS = {"muc": "MUC", "b_cubed": "B3", "ceafe": "CEAFe"}


@dataclass(frozen=True)
class AdjustedRand:
    """Result of `adjusted_rand`.

    Attributes
    ----------
    statistic : float
        1 for identical partitions, about 0 for unrelated ones.
    p_value : float
        One-sided permutation p value.
    n : int
        Number of items partitioned.
    n_permutations : int
    """

    statistic: float
    p_value: float
    n: int
    n_permutations: int

    def to_frame(self) -> pd.DataFrame:
        """Return the fields as a frame of one row."""
        return pd.DataFrame([asdict(self)])


def adjusted_rand(labels: Sequence, groups: Sequence, *, n_permutations: int = 999, seed: int = 0) -> AdjustedRand:
    """Measure how well clusters agree with known groups (Hubert & Arabie 1985), with a permutation test.

    Parameters
    ----------
    labels, groups : sequence, length n
        The cluster and the group of each item.
    n_permutations : int
        Number of random permutations of the labels.
    seed : int

    Returns
    -------
    AdjustedRand
        The p value is (b + 1)/(m + 1), where b of m permutations agree at least as well.

    Raises
    ------
    ValueError
        If the sequences differ in length, have fewer than two entries or contain NaN.

    Examples
    --------
    >>> adjusted_rand([1, 1, 2, 2], ["farm", "farm", "other", "other"], n_permutations=99).statistic
    1.0
    """
    from sklearn.metrics import adjusted_rand_score

    check_count(n_permutations, "n_permutations")
    labels, groups = _partition(labels, "labels"), _partition(groups, "groups")
    if labels.size != groups.size:
        raise ValueError(f"labels and groups must have the same length, not {labels.size} and {groups.size}")
    # Permuting keeps the sizes of clusters and groups, so the index grows with the number of pairs that are
    # together in both: whole numbers, which compare exactly.
    rng = np.random.default_rng(seed)
    permuted = [_joint_squares(rng.permutation(labels), groups) for _ in range(n_permutations)]
    return AdjustedRand(
        statistic=float(adjusted_rand_score(groups, labels)),
        p_value=float(permutation_p_value(_joint_squares(labels, groups), permuted)),
        n=labels.size,
        n_permutations=int(n_permutations),
    )


def coreference_counts(gold: Sequence, predicted: Sequence) -> np.ndarray:
    """Count what MUC, B³ and CEAFe divide, for the clusters of one text (Pradhan et al. 2014).

    Counts of several texts are added up before precision and recall are computed.

    Parameters
    ----------
    gold, predicted : sequence of clusters
        Each cluster is a list of mentions, each mention any hashable value, such as ``(start, end)``.

    Returns
    -------
    numpy.ndarray, shape (3, 4)
        One row per metric, in the order of `CONLL_METRICS`: numerator and denominator of precision, then of recall.

    Raises
    ------
    ModuleNotFoundError
        If the package coreference-eval is not installed.

    Examples
    --------
    The key {a,b,c},{d,e,f,g} and the response {a,b},{c,d},{f,g,h,i} have a MUC recall of 2/5 and precision of 2/5:

    >>> coreference_counts(["abc", "defg"], ["ab", "cd", "fghi"])[0].tolist()
    [2.0, 5.0, 2.0, 5.0]
    """
    scorer, document = coreference_scorer()
    scores = scorer()
    scores.update(document(list(predicted), list(gold)))
    counts = {metric.metric.__name__: metric.get_counts() for metric in scores.all}
    return np.array([counts[metric] for metric in CONLL_METRICS], dtype=float)


def coreference_scorer():
    """Return coreference-eval's ``Scorer`` and ``Document``, or say how to install it."""
    try:
        from corefeval import Document, Scorer
    except ImportError as error:
        raise ModuleNotFoundError(
            f"coreference-eval cannot be imported ({error}); install it with pip install 'biaslib[coref]'"
        ) from None
    return Scorer, Document


def _joint_squares(labels, groups):
    return int(np.square(np.bincount(labels * (groups.max() + 1) + groups)).sum())


def _partition(values, what):
    codes, _ = pd.factorize(pd.Series(list(values), dtype=object))
    if codes.size < 2:
        raise ValueError(f"{what} must have at least two entries, not {codes.size}")
    if (codes < 0).any():
        raise ValueError(f"{what} must not contain NaN; leave such entries out")
    return codes
