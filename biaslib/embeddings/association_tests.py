"""How two sets of words differ in their association with two others, in word vectors.

The word embedding association test (WEAT) of Caliskan, Bryson & Narayanan (2017), "Semantics derived
automatically from language corpora contain human-like biases", Science 356(6334), 183–186, with its
permutation test, a bootstrap interval over words, and sets of contrasts by category.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from biaslib._checks import check_choice, check_columns
from biaslib.embeddings._cosines import ASSOCIATIONS, EQUAL, difference_of_cosines
from biaslib.embeddings._effect_sizes import effect_size, effect_size_interval
from biaslib.embeddings._options import AssociationTestOptions
from biaslib.embeddings._permutations import permutation_test
from biaslib.embeddings._words import CASES, FoundSet, as_rows, check_words, find_sets, find_word, find_words
from biaslib.io.word_sets import SETS, by_contrast
from biaslib.stats.effect_sizes import effect_size_label
from biaslib.stats.hypothesis_tests import holm
from biaslib.stats.intervals import check_bootstrap

if TYPE_CHECKING:
    from biaslib.embeddings._words import WordVectors

# What `measure_contrast` gives, in the order of the frames of `run_contrasts` and `trend`.
MEASURES = ("effect_size", "label", "ci_low", "ci_high", "p_value", "smallest_p", "n_x", "n_y", "n_a", "n_b")
MEASURES += ("n_permutations", "missing", "n_missing", "n_duplicates", "n_lowered", "reason")


@dataclass(frozen=True)
class WeatResult:
    """Result of `weat`.

    Attributes
    ----------
    effect_size : float
        d, within ±2 if X and Y have the same size; NaN if there is none, see `reason`.
    statistic : float
        S, the difference of the sums of associations.
    p_value : float
        Share of partitions at least as extreme as the observed one.
    n_permutations : int
        Number of partitions looked at.
    exact : bool
        Whether these are all partitions.
    smallest_p : float
        The smallest p value that sets of these sizes can reach.
    n_x, n_y, n_a, n_b : int
        Number of words used in each set.
    missing, duplicates, lowered : dict of str to tuple of str
        By set (``"X"``, ``"Y"``, ``"A"``, ``"B"``): the words without a usable vector, those left out because
        their entry is already in the set, and those found in lower case only.
    reason : str
        Why there is no value; empty if there is one.
    """

    effect_size: float
    statistic: float
    p_value: float
    n_permutations: int
    exact: bool
    smallest_p: float
    n_x: int
    n_y: int
    n_a: int
    n_b: int
    missing: dict[str, tuple[str, ...]]
    duplicates: dict[str, tuple[str, ...]]
    lowered: dict[str, tuple[str, ...]]
    reason: str = ""

    def to_frame(self) -> pd.DataFrame:
        """Return the fields as a frame of one row; words by set become text."""
        by_set = {name: _words_text(getattr(self, name)) for name in ("missing", "duplicates", "lowered")}
        return pd.DataFrame([asdict(self) | by_set])


def weat(
    vectors: WordVectors,
    x: Iterable[str],
    y: Iterable[str],
    a: Iterable[str],
    b: Iterable[str],
    *,
    ddof: int = 1,
    association: str = "mean_cosine",
    alternative: str = "greater",
    ties: str = "greater_equal",
    max_exact: int = 200_000,
    n_samples: int = 100_000,
    seed: int = 0,
    max_missing: float = 0.2,
    case: str = "as_is",
) -> WeatResult:
    r"""Test whether the words of X are closer to A, and those of Y closer to B.

    With :math:`s(w) = \operatorname{mean}_{a \in A} \cos(w, a) - \operatorname{mean}_{b \in B} \cos(w, b)`,

    .. math::

        S = \sum_{x \in X} s(x) - \sum_{y \in Y} s(y), \qquad
        d = \frac{\operatorname{mean}_{x \in X} s(x) - \operatorname{mean}_{y \in Y} s(y)}
                 {\operatorname{SD}_{w \in X \cup Y} s(w)}

    The p value is the share of partitions of X ∪ Y into sets of the same sizes whose S is at least the observed
    one (Caliskan et al. 2017).

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors or mapping of str to array
    x, y : sequence of str
        The targets, whose words are permuted.
    a, b : sequence of str
        The attributes.
    ddof : {1, 0}
        Delta degrees of freedom of the standard deviation. 1 reproduces the published values.
    association : {"mean_cosine", "centroid"}
        ``"centroid"`` takes the cosine with the mean of the set's raw vectors instead of the mean cosine.
    alternative : {"greater", "less", "two-sided"}
        ``"two-sided"`` compares the absolute difference between the means of X and Y, which orders partitions as
        |S| does if the sets have the same size. (If they do not, S of a random partition is not 0 on average.)
    ties : {"greater_equal", "greater"}
        Whether a partition equal to the observed one, up to 1e-12, counts as extreme. ``"greater"`` is the
        paper's formula, by which p can be 0.
    max_exact : int
        If there are at most this many partitions, all are looked at.
    n_samples : int
        Otherwise this many are drawn at random: p = (b + 1)/(n + 1), never 0.
    seed : int
        Seed of the random partitions.
    max_missing : float
        A set that loses a larger share of its words gives no value.
    case : {"as_is", "as_is_or_lower"}
        Whether a word that is not found as written is also looked up in lower case, as vocabularies without
        capitals require for names.

    Returns
    -------
    WeatResult
        A word without a vector, or whose vector is all zeros or not finite, is missing.

    Raises
    ------
    ValueError
        If a set is empty or not a list of words, an option is unknown, or X and Y or A and B share a word (it
        cannot be on both sides of a difference, and no partition would change it).

    Warns
    -----
    UserWarning
        If X and Y have one word each: then |d| is √2 (2 with ``ddof=0``) whatever the vectors. If a target is
        also an attribute: its cosine with itself is 1.

    Examples
    --------
    >>> vectors = {"rose": [3, 1, 0], "iris": [2, 2, 1], "lily": [1, 2, 0], "gnat": [1, 3, 0],
    ...            "wasp": [0, 2, 1], "moth": [2, 1, 2], "love": [1, 0, 0], "joy": [2, 0, 1],
    ...            "pain": [0, 1, 0], "fear": [0, 3, 1]}
    >>> sets = ["rose", "iris", "lily"], ["gnat", "wasp", "moth"], ["love", "joy"], ["pain", "fear"]
    >>> result = weat(vectors, *sets)
    >>> round(result.effect_size, 6), result.p_value, result.n_permutations
    (0.740816, 0.2, 20)
    """
    options = AssociationTestOptions(
        ddof=ddof,
        association=association,
        alternative=alternative,
        ties=ties,
        max_exact=max_exact,
        n_samples=n_samples,
        seed=seed,
        max_missing=max_missing,
        case=case,
    )
    return _test(find_sets(vectors, (x, y, a, b), case), options)


def associations(
    vectors: WordVectors,
    words: Iterable[str],
    a: Iterable[str],
    b: Iterable[str],
    *,
    association: str = "mean_cosine",
    case: str = "as_is",
) -> pd.DataFrame:
    """Compute how much closer each word is to A than to B: s(w) of `weat`.

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors or mapping of str to array
    words, a, b : sequence of str
    association, case
        As in `weat`.

    Returns
    -------
    pandas.DataFrame
        ``word association reason``, one row per word in the order given; NaN and the reason for a word without a
        usable vector.

    Raises
    ------
    ValueError
        If A or B has no word with a vector, or an option is unknown.

    Examples
    --------
    >>> vectors = {"ant": [1, 0], "bee": [0, 1], "fun": [2, 0], "bad": [0, 3]}
    >>> associations(vectors, ["ant", "bee", "elk"], ["fun"], ["bad"])
      word  association     reason
    0  ant          1.0
    1  bee         -1.0
    2  elk          NaN  no vector
    """
    check_choice(association, "association", ASSOCIATIONS)
    check_choice(case, "case", CASES)
    words = check_words(words, "words")
    attributes = {name: find_words(vectors, check_words(given, name), case) for name, given in (("A", a), ("B", b))}
    for name, found in attributes.items():
        if not found.words:
            raise ValueError(f"no word of {name} has a vector")
    found = [find_word(vectors, word, case)[1] for word in words]
    usable = np.array([vector is not None for vector in found])
    values = np.full(len(words), np.nan)
    if usable.any():
        targets = as_rows([vector for vector in found if vector is not None])
        values[usable] = difference_of_cosines(targets, attributes["A"].vectors, attributes["B"].vectors, association)
    return pd.DataFrame({"word": words, "association": values, "reason": np.where(usable, "", "no vector")})


def run_contrasts(
    vectors: WordVectors,
    contrasts: pd.DataFrame,
    *,
    case: str = "as_is_or_lower",
    n_resamples: int = 9999,
    confidence: float = 0.95,
    progress: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """Run `weat` on each contrast, with a bootstrap interval over words and Holm's adjustment.

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors or mapping of str to array
    contrasts : pandas.DataFrame
        ``contrast category subcategory set set_name word``, as `biaslib.io.read_contrasts` returns it.
    case : {"as_is_or_lower", "as_is"}
        As in `weat`. Capitals are optional by default: contrasts are written with them, for any vocabulary.
    n_resamples : int
        How often the words of X, Y, A and B are each drawn anew, with replacement.
    confidence : float
        Between 0 and 1.
    progress : bool
    **options
        ``ddof association alternative ties max_exact n_samples seed max_missing``, as in `weat`.

    Returns
    -------
    pandas.DataFrame
        ``contrast category subcategory x y a b effect_size label ci_low ci_high p_value p_holm smallest_p n_x n_y
        n_a n_b n_permutations missing n_missing n_duplicates n_lowered reason``, one row per contrast. x, y, a and b
        are the names of the sets, ci_low and ci_high percentiles, which show how much d depends on the words chosen
        (NaN if X or Y has one word only; a resample whose associations are all equal has no d and is left out).
        p_holm is adjusted for all contrasts of the call that have a value.

    Raises
    ------
    TypeError
        If `contrasts` is not a frame, or there is no such option.
    ValueError
        If the frame lacks a column or a set, or an option is unknown or out of range.

    Examples
    --------
    >>> from biaslib.io import read_contrasts
    >>> contrasts = read_contrasts("paper")
    >>> vectors = {word: np.eye(8)[i % 8] + i / 9 for i, word in enumerate(contrasts["word"].unique())}
    >>> frame = run_contrasts(vectors, contrasts, n_resamples=99)
    >>> frame[["x", "y", "n_x", "n_permutations"]].values.tolist()
    [['career', 'family', 4, 70], ['communism', 'socialism', 2, 6]]
    """
    from tqdm import tqdm

    options = AssociationTestOptions(case=case, **options)
    check_bootstrap(options.seed, n_resamples, confidence)
    described = ["contrast", "category", "subcategory"]
    hint = "read contrasts with read_contrasts"
    check_columns(contrasts, [*described, "set", "set_name", "word"], "contrasts", hint)
    words, names = by_contrast(contrasts, "word"), by_contrast(contrasts, "set_name")
    rows = []
    for row in tqdm(contrasts.drop_duplicates("contrast")[described].to_dict("records"), disable=not progress):
        set_names = {name.lower(): given[0] for name, given in names[row["contrast"]].items()}
        found = find_sets(vectors, words[row["contrast"]].values(), case)
        rows.append(row | set_names | measure_contrast(found, options, n_resamples, confidence))
    frame = pd.DataFrame(rows, columns=[*described, "x", "y", "a", "b", *MEASURES])
    frame.insert(frame.columns.get_loc("p_value") + 1, "p_holm", holm(frame["p_value"].astype(float)))
    return frame


def measure_contrast(
    found: dict[str, FoundSet],
    options: AssociationTestOptions,
    n_resamples: int,
    confidence: float,
    min_words: int = 1,
) -> dict[str, Any]:
    """Test one contrast whose words have been looked up; return the values of `MEASURES`."""
    result = _test(found, options, min_words)
    low, high = math.nan, math.nan
    if not result.reason:
        low, high = effect_size_interval(found, options, n_resamples, confidence)
    row = {
        "label": effect_size_label(result.effect_size),
        "ci_low": low,
        "ci_high": high,
        "missing": _words_text(result.missing),
        "n_missing": _n_words(result.missing),
        "n_duplicates": _n_words(result.duplicates),
        "n_lowered": _n_words(result.lowered),
    }
    return row | {name: getattr(result, name) for name in MEASURES if name not in row}


def _test(found, options, min_words=1):
    words = {f"n_{name.lower()}": len(one.words) for name, one in found.items()}
    words |= {field: _by_set(found, field) for field in ("missing", "duplicates", "lowered")}
    reason = _too_few_words(found, options.max_missing, min_words)
    s_x, s_y = (None, None) if reason else _target_associations(found, options.association)
    reason = reason or _no_effect_size(s_x, s_y)
    if reason:
        nothing = dict.fromkeys(("effect_size", "statistic", "p_value", "smallest_p"), math.nan)
        return WeatResult(**nothing, n_permutations=0, exact=False, **words, reason=reason)
    if len(s_x) == len(s_y) == 1:
        message = f"X and Y have one word each: |d| is {'√2' if options.ddof else '2'} whatever the vectors"
        warnings.warn(message, stacklevel=3)
    return WeatResult(
        effect_size=effect_size(s_x, s_y, options.ddof),
        statistic=math.fsum(s_x) - math.fsum(s_y),
        **permutation_test(s_x, s_y, options),
        **words,
    )


def _by_set(found, field):
    return {name: getattr(one, field) for name, one in found.items() if getattr(one, field)}


def _too_few_words(found, max_missing, min_words):
    """Say which sets have too few words with a vector, or ""."""
    reasons = []
    for name, one in found.items():
        n, lost = len(one.words), len(one.missing)
        if lost > max_missing * (n + lost):
            reasons.append(f"{name} misses {lost} of {n + lost} words, over {max_missing:.0%}")
        elif n < min_words:
            reasons.append(f"{name} has {n} word(s) with a vector, fewer than {min_words}")
    return "; ".join(reasons)


def _target_associations(found, association):
    """Compute the associations of the words of X and of Y."""
    x, y, a, b = (found[name].vectors for name in SETS)
    if len({rows.shape[1] for rows in (x, y, a, b)}) > 1:
        raise ValueError("all vectors must be one-dimensional and have the same length")
    return np.split(difference_of_cosines(np.concatenate([x, y]), a, b, association), [len(x)])


def _no_effect_size(s_x, s_y):
    """Say why associations have no effect size, or ""."""
    s = np.concatenate([s_x, s_y])
    if np.isnan(s).any():
        return "the mean vector of A or B is zero"
    return "all associations are equal" if np.ptp(s) <= EQUAL else ""


def _words_text(by_set):
    return "; ".join(f"{name}: {' '.join(words)}" for name, words in by_set.items())


def _n_words(by_set):
    return sum(map(len, by_set.values()))
