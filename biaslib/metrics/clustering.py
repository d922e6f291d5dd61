"""How much the words of names overlap, and which names cluster.

Token match rate: Takeshita, Rzepka & Araki (2022), "Speciesist Language and Nonhuman Animal Bias in
English Masked Language Models", Information Processing & Management 59(5), 103050, Eq. 2.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from biaslib._checks import check_count, listed
from biaslib._frames import groups_of, names_of
from biaslib.metrics.word_contrast import word_sets
from biaslib.stats.clusters import adjusted_rand
from biaslib.stats.hypothesis_tests import permutation_p_value


@dataclass(frozen=True)
class Clusters:
    """Result of `cluster`: names grouped by UPGMA.

    Attributes
    ----------
    linkage : numpy.ndarray, shape (n - 1, 4)
        In `scipy.cluster.hierarchy`'s format; the third column is the height, 1 − mean token match rate.
    names : tuple of str
        In the order of the given rates.
    order : tuple of str
        In the order of the dendrogram's leaves.
    labels : tuple of int
        The cluster of each of `names`, numbered from 1 along `order`.
    """

    linkage: np.ndarray
    names: tuple
    order: tuple
    labels: tuple

    def to_frame(self) -> pd.DataFrame:
        """Return ``name cluster position``; position counts from 1 along the dendrogram."""
        place = {name: i for i, name in enumerate(self.order, start=1)}
        return pd.DataFrame(
            {"name": self.names, "cluster": self.labels, "position": [place[name] for name in self.names]}
        )


def token_match_rate(sets: Mapping[str, Collection]) -> pd.DataFrame:
    r"""Compute the token match rate of each pair of names (Eq. 2).

    .. math:: \mathrm{TMR}(i, j) = \frac{|S_i \cap S_j|}{\min(|S_i|, |S_j|)}

    Parameters
    ----------
    sets : mapping of str to set
        Each name's words, as returned by `biaslib.metrics.word_sets`.

    Returns
    -------
    pandas.DataFrame, shape (n, n)
        Symmetric rates between 0 and 1, with the names as index and columns; 0 against an empty set, itself included.

    Raises
    ------
    ValueError
        If `sets` is empty or not a mapping from names to collections of words.

    Examples
    --------
    >>> token_match_rate({"a": {"x", "y"}, "b": {"y", "z", "w"}}).loc["a", "b"]
    np.float64(0.5)
    """
    if not isinstance(sets, Mapping) or not sets:
        raise ValueError("sets must be a non-empty mapping from names to their words")
    for name, words in sets.items():
        if isinstance(words, str) or not isinstance(words, Collection):
            raise ValueError(f"the words of {name!r} must be a set, not {words!r}")
    members = [set(words) for words in sets.values()]
    rates = np.zeros((len(members), len(members)))
    for i, first in enumerate(members):
        for j, second in enumerate(members[: i + 1]):
            smaller = min(len(first), len(second))
            rates[i, j] = rates[j, i] = len(first & second) / smaller if smaller else 0.0
    return pd.DataFrame(rates, index=list(sets), columns=list(sets))


def cluster(tmr: pd.DataFrame, *, n_clusters: int = 4) -> Clusters:
    """Cluster names by UPGMA on 1 − token match rate.

    Parameters
    ----------
    tmr : pandas.DataFrame, shape (n, n)
        From `token_match_rate`, for at least two names.
    n_clusters : int
        Largest number of clusters into which the tree is cut; there may be fewer if heights are equal, since a cut
        separates all or none of them.

    Returns
    -------
    Clusters

    Raises
    ------
    ValueError
        If the frame is not square and symmetric with rates between 0 and 1, or `n_clusters` is not between 1 and n.

    Examples
    --------
    >>> sets = {"1": set("ab"), "2": set("abc"), "3": set("cde"), "4": set("defg")}
    >>> cluster(token_match_rate(sets), n_clusters=2).linkage[:, 2].round(4).tolist()
    [0.0, 0.3333, 0.9167]
    """
    from scipy.cluster import hierarchy

    rates = _check_rates(tmr)
    names = tuple(tmr.index)
    check_count(n_clusters, "n_clusters", most=len(names))
    # The condensed form: linkage would take the rows of a square matrix for points.
    linkage = hierarchy.linkage(1 - rates[np.triu_indices(len(names), 1)], method="average")
    leaves = hierarchy.leaves_list(linkage)
    raw = hierarchy.fcluster(linkage, n_clusters, criterion="maxclust")
    number = {label: i for i, label in enumerate(pd.unique(raw[leaves]), start=1)}
    return Clusters(
        linkage=linkage,
        names=names,
        order=tuple(names[leaf] for leaf in leaves),
        labels=tuple(number[label] for label in raw),
    )


def group_cohesion(
    tmr: pd.DataFrame, groups: Mapping | pd.Series, *, n_permutations: int = 999, seed: int = 0
) -> pd.DataFrame:
    """Test whether the names of a group share more words with each other than with all other names.

    Parameters
    ----------
    tmr : pandas.DataFrame, shape (n, n)
        From `token_match_rate`.
    groups : mapping or Series
        The group of each name.
    n_permutations : int
        Number of random permutations of the names' groups.
    seed : int

    Returns
    -------
    pandas.DataFrame
        ``group n within outside difference p_value reason``: the mean rate between the group's members, the mean rate
        between its members and the other names, their difference, and its one-sided p value, (b + 1)/(m + 1), where b
        of m permutations have a difference at least as large. A group of one name, or of all, has NaN and a reason.

    Raises
    ------
    ValueError
        If the frame is not square and symmetric, or a name has no group.

    Examples
    --------
    >>> sets = {"cow": {"a", "b"}, "pig": {"a", "b"}, "dog": {"b", "c"}, "cat": {"c", "d"}}
    >>> groups = {"cow": "farm", "pig": "farm", "dog": "companion", "cat": "companion"}
    >>> group_cohesion(token_match_rate(sets), groups, n_permutations=99)[["group", "within", "outside"]]
           group  within  outside
    0  companion     0.5     0.25
    1       farm     1.0     0.25
    """
    rates = _check_rates(tmr).copy()
    check_count(n_permutations, "n_permutations")
    np.fill_diagonal(rates, 0)
    codes, known = pd.factorize(pd.Series(groups_of(tmr.index, groups), dtype=object), sort=True)
    member = np.eye(len(known))[codes]
    observed = _cohesion(rates, member)
    rng = np.random.default_rng(seed)
    permuted = [_cohesion(rates, rng.permutation(member))["difference"] for _ in range(n_permutations)]
    p_value = permutation_p_value(observed["difference"], permuted)
    n = member.sum(axis=0).astype(int)
    reasons = ["one member" if k == 1 else "no name outside" if k == len(codes) else "" for k in n]
    return pd.DataFrame({"group": known, "n": n, **observed, "p_value": p_value, "reason": reasons})


def agreement_by_min_z(
    frame: pd.DataFrame,
    groups: Mapping | pd.Series,
    thresholds: Sequence[float],
    *,
    reference: float,
    signed: bool = False,
    n_clusters: int = 4,
    n_permutations: int = 999,
    seed: int = 0,
) -> pd.DataFrame:
    """Compute how clusters, and their agreement with groups, depend on the threshold of kept words.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `biaslib.metrics.contrast` with ``min_z`` at or below the lowest threshold.
    groups : mapping or Series
        The group of each name.
    thresholds : sequence of float
        Values of ``min_z``.
    reference : float
        The threshold with whose clusters all others are compared.
    signed, n_clusters
        As in `biaslib.metrics.word_sets` and `cluster`.
    n_permutations, seed : int
        As in `biaslib.stats.adjusted_rand`.

    Returns
    -------
    pandas.DataFrame
        ``min_z statistic p_value n n_left_out median_words n_empty n_clusters largest_cluster like_reference``:
        adjusted Rand index of clusters and groups with its one-sided permutation p value, numbers of names clustered
        and skipped, median number of words per name, number of names without words, number of clusters, size of the
        largest (if it holds nearly all names, there is hardly any clustering), and adjusted Rand index with the
        clusters at the reference.

    Raises
    ------
    ValueError
        If a name has no group, or the frame was made at a higher threshold.
    """
    thresholds = sorted({*map(float, thresholds), float(reference)})
    if thresholds[0] < frame.attrs.get("min_z", 0.0):
        raise ValueError(f"the frame has no words below min_z = {frame.attrs['min_z']:g}, so none at {thresholds[0]:g}")
    names = names_of(frame)
    sets = {z: word_sets(frame[frame["z"].abs() >= z], signed=signed, names=names) for z in thresholds}
    found = {z: cluster(token_match_rate(of_z), n_clusters=n_clusters) for z, of_z in sets.items()}
    rows = []
    for z, clusters in found.items():
        own = groups_of(clusters.names, groups)
        agreement = adjusted_rand(
            clusters.labels, [own[name] for name in clusters.names], n_permutations=n_permutations, seed=seed
        )
        same = adjusted_rand(clusters.labels, found[float(reference)].labels, n_permutations=1, seed=seed)
        sizes = [len(words) for words in sets[z].values()]
        largest = pd.Series(clusters.labels).value_counts()
        rows.append(
            {
                "min_z": z,
                "statistic": agreement.statistic,
                "p_value": agreement.p_value,
                "n": agreement.n,
                "n_left_out": len(frame.attrs.get("skipped", {})),
                "median_words": float(np.median(sizes)),
                "n_empty": sizes.count(0),
                "n_clusters": len(largest),
                "largest_cluster": int(largest.max()),
                "like_reference": same.statistic,
            }
        )
    return pd.DataFrame(rows)


def _cohesion(rates, member):
    """Mean rates within and outside each group; rates has a zero diagonal, member (n, groups) is 0 or 1."""
    n = member.sum(axis=0)
    to_group = rates @ member
    total_within = (member * to_group).sum(axis=0)
    total_outside = (member * rates.sum(axis=1, keepdims=True)).sum(axis=0) - total_within
    usable = (n > 1) & (n < len(member))
    within = np.divide(total_within, n * (n - 1), out=np.full(len(n), np.nan), where=n > 1)
    outside = np.divide(total_outside, n * (len(member) - n), out=np.full(len(n), np.nan), where=n < len(member))
    return {"within": within, "outside": outside, "difference": np.where(usable, within - outside, np.nan)}


def _check_rates(tmr):
    if not isinstance(tmr, pd.DataFrame) or list(tmr.index) != list(tmr.columns):
        raise ValueError("tmr must be a square DataFrame with the same names as rows and columns")
    if not tmr.index.is_unique:
        repeated = tmr.index[tmr.index.duplicated()].unique()
        raise ValueError(f"tmr has duplicate names: {listed(repeated)}")
    if len(tmr) < 2:
        raise ValueError(f"tmr must have at least two names, not {len(tmr)}")
    rates = tmr.to_numpy(dtype=float)
    if not ((rates >= 0) & (rates <= 1)).all():
        raise ValueError("tmr must hold rates between 0 and 1, without NaN")
    if not np.allclose(rates, rates.T, rtol=0, atol=1e-9):
        raise ValueError("tmr must be symmetric, as from token_match_rate")
    return rates
