"""Agreement of clusters."""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from biaslib._checks import check_count


@dataclass(frozen=True)
class AdjustedRand:
    """Result of `adjusted_rand`.

    Attributes
    ----------
    statistic : float
        1 for the same partition, about 0 for unrelated ones.
    p_value : float
        One-sided, by permutation.
    n : int
        Things partitioned.
    n_permutations : int
    """

    statistic: float
    p_value: float
    n: int
    n_permutations: int

    def to_frame(self):
        """Give the fields as a frame of one row."""
        return pd.DataFrame([asdict(self)])


def adjusted_rand(labels, groups, *, n_permutations=999, seed=0):
    """Measure how well clusters agree with known groups, and test it by permutation.

    Parameters
    ----------
    labels, groups : sequence, length n
        The cluster and the group of each thing.
    n_permutations : int
        How often the labels are dealt out anew.
    seed : int

    Returns
    -------
    AdjustedRand
        p = (b + 1)/(m + 1), where b of m permutations agree at least as well; one-sided.

    Raises
    ------
    ValueError
        If the sequences differ in length, have fewer than two entries, or hold NaN.

    Examples
    --------
    >>> adjusted_rand([1, 1, 2, 2], ["farm", "farm", "other", "other"], n_permutations=99).statistic
    1.0
    """
    from sklearn.metrics import adjusted_rand_score

    check_count(n_permutations, "n_permutations")
    labels, groups = (_partition(p, what) for p, what in ((labels, "labels"), (groups, "groups")))
    if labels.size != groups.size:
        raise ValueError(f"labels and groups differ in length: {labels.size} and {groups.size}")
    # Permuting leaves the sizes of clusters and groups, so the index grows with the pairs that are
    # together in both: whole numbers, which compare exactly.
    observed = _joint_squares(labels, groups)
    rng = np.random.default_rng(seed)
    at_least = sum(_joint_squares(rng.permutation(labels), groups) >= observed for _ in range(n_permutations))
    return AdjustedRand(
        statistic=float(adjusted_rand_score(groups, labels)),
        p_value=(at_least + 1) / (n_permutations + 1),
        n=labels.size,
        n_permutations=int(n_permutations),
    )


def _joint_squares(labels, groups):
    return int(np.square(np.bincount(labels * (groups.max() + 1) + groups)).sum())


def _partition(values, what):
    codes, _ = pd.factorize(pd.Series(list(values), dtype=object))
    if codes.size < 2:
        raise ValueError(f"{what} has {codes.size} entries: a partition needs two at least")
    if (codes < 0).any():
        raise ValueError(f"{what} holds NaN: leave such entries out")
    return codes


_COREF_EXTRA = "pip install 'biaslib[coref]' brings it"


def coreference_scorer():
    """Give coreference-eval's ``Scorer`` and ``Document``, or say what brings them."""
    try:
        from corefeval import Document, Scorer
    except ImportError as error:
        raise ModuleNotFoundError(f"coreference-eval cannot be imported ({error}); {_COREF_EXTRA}") from None
    return Scorer, Document
