"""What debiasing takes from word vectors, and what it leaves.

Gonen & Goldberg (2019), "Lipstick on a Pig: Debiasing Methods Cover up Systematic Gender Biases in Word Embeddings But
do not Remove Them", NAACL-HLT, 609–614.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from biaslib._checks import as_words, check_columns, check_count
from biaslib.embeddings._cosines import unit_or_zero_rows
from biaslib.embeddings._words import check_keyed, check_words, vector_of

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

# The mean vectors of two groups are the same if their difference is shorter than this: it is float32 rounding.
_SAME = 1e-6
# A smaller change than this share of an effect is not counted as a reduction.
_SMALLER = 0.01
_NEIGHBOURS_AT_ONCE = 4_000_000
_FOLDS = 5


def remaining_bias(
    before: KeyedVectors,
    after: KeyedVectors,
    *,
    male: Sequence[str],
    female: Sequence[str],
    n: int = 500,
    seed: int = 0,
    exclude: Sequence[str] = (),
    among: int = 50_000,
    k: int = 100,
) -> pd.DataFrame:
    """Measure whether the words that were most male and most female can still be told apart.

    The words are chosen by their cosine, before debiasing, with the difference between the mean unit vectors of `male`
    and `female`. Three measures of Gonen & Goldberg (2019) are then computed before and after.

    Parameters
    ----------
    before, after : gensim.models.KeyedVectors
    male, female : sequence of str
        Words that define the direction, such as ("he",) and ("she",).
    n : int
        Number of words per side.
    seed : int
        Seed of the clusters and the folds.
    exclude : sequence of str
        Words that are gendered by definition; they, `male` and `female` are not chosen.
    among : int
        Words are chosen from the first ones of the vocabulary, in most files the most frequent ones, that consist of
        lower-case letters only.
    k : int
        Number of neighbours.

    Returns
    -------
    pandas.DataFrame
        ``measure before after chance n``, three rows: ``cluster accuracy`` (2-means), ``classifier accuracy`` (support
        vector machine with radial basis functions, 5-fold cross-validation) and ``neighbour correlation`` (Pearson
        correlation between a word's cosine before and the share of its nearest neighbours, among the words chosen
        from, that leaned to male before). ``attrs`` has the words chosen, ``male`` and ``female``, strongest first.

    Raises
    ------
    ValueError
        If `male` or `female` has no word with a vector, or there are too few words to choose from.

    Notes
    -----
    Two clusters of unrelated words are expected to split evenly at best, but the better of the two ways to name them
    is taken: the chance level .5 is a lower bound.
    """
    check_keyed(before)
    check_keyed(after)
    for name, value, least in (("n", n, _FOLDS), ("among", among, 1), ("k", k, 1)):
        check_count(value, name, least)
    direction = _mean_unit(before, male, "male") - _mean_unit(before, female, "female")
    if np.linalg.norm(direction) <= _SAME:
        raise ValueError("male and female have the same mean vector")
    words = _candidates(before, after, {*male, *female, *as_words(exclude, "exclude", ValueError)}, among)
    if len(words) < max(2 * n, k + 1):
        raise ValueError(f"too few words to choose from: {len(words)} for n = {n} per side and {k} neighbours")
    old, new = (unit_or_zero_rows(v.vectors[[v.key_to_index[word] for word in words]]) for v in (before, after))
    bias = old @ (direction / np.linalg.norm(direction))
    order = np.argsort(-bias, kind="stable")
    chosen, sides = np.concatenate([order[:n], order[::-1][:n]]), np.repeat([1, 0], n)
    rows = [
        ("cluster accuracy", *(_cluster_accuracy(v[chosen], sides, seed) for v in (old, new)), 0.5, 2 * n),
        ("classifier accuracy", *(_classifier_accuracy(v[chosen], sides, seed) for v in (old, new)), 0.5, 2 * n),
        ("neighbour correlation", *(_neighbour_correlation(v, chosen, bias, k) for v in (old, new)), 0.0, 2 * n),
    ]
    frame = pd.DataFrame(rows, columns=["measure", "before", "after", "chance", "n"])
    frame.attrs = {"male": [words[i] for i in chosen[:n]], "female": [words[i] for i in chosen[n:]]}
    return frame


def compare_contrasts(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Compare the effect sizes of contrasts before and after debiasing.

    Parameters
    ----------
    before, after : pandas.DataFrame
        ``contrast effect_size``, from `run_contrasts` with the same contrasts.

    Returns
    -------
    pandas.DataFrame
        ``contrast before after reduction smaller halved reversed``. `reduction` is the share of |d| that is gone
        (negative if it grew); `smaller` (by at least 1 %), `halved` and `reversed` (in sign) are None if either effect
        size is missing.

    Raises
    ------
    ValueError
        If a column is missing, or the contrasts differ.

    Examples
    --------
    >>> frames = [pd.DataFrame({"contrast": ["c"], "effect_size": [d]}) for d in (1.5, -0.3)]
    >>> compare_contrasts(*frames).values.tolist()
    [['c', 1.5, -0.3, 0.8, True, True, True]]
    """
    for frame, what in ((before, "before"), (after, "after")):
        check_columns(frame, ("contrast", "effect_size"), what)
    if list(before["contrast"]) != list(after["contrast"]):
        raise ValueError("before and after must have the same contrasts, in the same order")
    old, new = (frame["effect_size"].astype(float).reset_index(drop=True) for frame in (before, after))
    reduction = (1 - new.abs() / old.abs()).where(old != 0)
    changes = {"smaller": reduction >= _SMALLER, "halved": new.abs() <= old.abs() / 2, "reversed": old * new < 0}
    known = old.notna() & new.notna()
    changes = {name: change.astype(object).where(known, None) for name, change in changes.items()}
    columns = {"contrast": before["contrast"].tolist(), "before": old, "after": new, "reduction": reduction}
    return pd.DataFrame(columns | changes)


def _candidates(before, after, excluded, among):
    plain = [word for word in before.index_to_key[:among] if word.isalpha() and word.islower() and word not in excluded]
    return [word for word in plain if all(vector_of(vectors, word) is not None for vectors in (before, after))]


def _mean_unit(vectors, words, what):
    found = [vector_of(vectors, word) for word in check_words(words, what)]
    found = [vector / np.linalg.norm(vector) for vector in found if vector is not None]
    if not found:
        raise ValueError(f"no word of {what} has a vector")
    return np.mean(found, axis=0)


def _cluster_accuracy(rows, sides, seed):
    from sklearn.cluster import KMeans

    right = float((KMeans(2, n_init=10, random_state=seed).fit_predict(rows) == sides).mean())
    return max(right, 1 - right)


def _classifier_accuracy(rows, sides, seed):
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.svm import SVC

    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    return float(cross_val_score(SVC(kernel="rbf"), rows, sides, cv=folds).mean())


def _neighbour_correlation(rows, chosen, bias, k):
    leaned = bias > 0
    shares = []
    step = max(1, _NEIGHBOURS_AT_ONCE // len(rows))
    for start in range(0, len(chosen), step):
        own = chosen[start : start + step]
        cosines = rows[own] @ rows.T
        cosines[np.arange(len(own)), own] = -np.inf
        shares.append(leaned[np.argpartition(-cosines, k - 1, axis=1)[:, :k]].mean(axis=1))
    shares = np.concatenate(shares)
    return float(np.corrcoef(bias[chosen], shares)[0, 1]) if np.ptp(shares) else math.nan
