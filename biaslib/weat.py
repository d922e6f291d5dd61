"""How two sets of words differ in their association with two others, in word vectors.

The word embedding association test (WEAT) of Caliskan, Bryson & Narayanan (2017), "Semantics derived
automatically from language corpora contain human-like biases", Science 356(6334), 183–186, with its
permutation test, a bootstrap interval over words, and sets of contrasts by category.
"""

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import chain, combinations, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from biaslib.statistics import holm

ASSOCIATIONS = ("mean_cosine", "centroid")
ALTERNATIVES = ("greater", "less", "two-sided")
TIES = ("greater_equal", "greater")
CASES = ("as_is", "as_is_or_lower")
SETS = ("X", "Y", "A", "B")
TREND_WORDS = ("common", "available")
CONTRASTS = Path(__file__).parent / "data" / "weat_contrasts.yaml"

CONTRAST_COLUMNS = (
    "contrast",
    "name",
    "category",
    "subcategory",
    "set",
    "set_name",
    "word",
    "source",
    "history",
    "citation",
)

# Associations and sums closer than this share of their size are equal: the rest is rounding.
_EQUAL = 1e-12
# Numbers held at once while partitions are summed (float64: 16 MB).
_NUMBERS_AT_ONCE = 2_000_000
# Small enough for a processor's cache, and for its products to be made without starting threads.
_RESAMPLED_AT_ONCE = 16_384
# Partitions of a size that comes up again and again (40 contrasts of 8 + 8 words) are listed once.
_PARTITIONS_KEPT = 200_000
_LABELS = ((0.8, "large"), (0.5, "medium"), (0.2, "small"), (0.0, "negligible"))
_FIELDS = ("name", "category", "subcategory", "x", "y", "a", "b")


@dataclass(frozen=True)
class WeatResult:
    """Result of `weat`.

    Attributes
    ----------
    effect_size : float
        d, within ±2 for X and Y of one size; NaN where there is none, see `reason`.
    statistic : float
        S, the difference of the sums of associations.
    p_value : float
        Share of re-partitions at least as extreme.
    n_permutations : int
        Partitions looked at.
    exact : bool
        Whether these were all there are.
    smallest_p : float
        The least p value that sets of these sizes can reach.
    n_x, n_y, n_a, n_b : int
        Words used of each set.
    missing, duplicates, lowered : dict of str to tuple of str
        By set (``"X"``, ``"Y"``, ``"A"``, ``"B"``): the words without a usable vector, those left out
        because their entry is in the set already, and those found in lower case only.
    reason : str
        Why there is no value; empty where there is one.
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
    missing: dict
    duplicates: dict
    lowered: dict
    reason: str = ""

    def to_frame(self):
        """Give the fields as a frame of one row; words by set become text."""
        fields = asdict(self)
        return pd.DataFrame([fields | {name: _text(fields[name]) for name in ("missing", "duplicates", "lowered")}])


class _Found(NamedTuple):
    words: tuple
    vectors: np.ndarray
    missing: tuple
    duplicates: tuple
    lowered: tuple


def weat(
    vectors,
    x,
    y,
    a,
    b,
    *,
    ddof=1,
    association="mean_cosine",
    alternative="greater",
    ties="greater_equal",
    max_exact=200_000,
    n_samples=100_000,
    seed=0,
    max_missing=0.2,
    case="as_is",
):
    r"""Test whether the words of X are nearer to A, and those of Y nearer to B.

    With :math:`s(w) = \operatorname{mean}_{a \in A} \cos(w, a) - \operatorname{mean}_{b \in B} \cos(w, b)`,

    .. math::

        S = \sum_{x \in X} s(x) - \sum_{y \in Y} s(y), \qquad
        d = \frac{\operatorname{mean}_{x \in X} s(x) - \operatorname{mean}_{y \in Y} s(y)}
                 {\operatorname{SD}_{w \in X \cup Y} s(w)}

    The p value is the share of the partitions of X ∪ Y into sets of these sizes whose S is at least the
    observed one.

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors or mapping of str to array
    x, y : sequence of str
        The targets, whose words are permuted.
    a, b : sequence of str
        The attributes.
    ddof : {1, 0}
        Of the standard deviation. 1 reproduces the published values.
    association : {"mean_cosine", "centroid"}
        ``"centroid"`` is the cosine with the mean of the set's raw vectors, in place of the mean cosine.
    alternative : {"greater", "less", "two-sided"}
        ``"two-sided"`` compares the absolute difference of the means of X and Y, which is that of S where
        the sets are of one size. (Where they are not, S of a random partition is not 0 on average.)
    ties : {"greater_equal", "greater"}
        Whether a partition that equals the observed one, up to 1e-12, counts; ``"greater"`` is the paper's
        formula, by which p can be 0.
    max_exact : int
        All partitions are looked at if there are no more than this.
    n_samples : int
        Else this many, drawn at random: p = (b + 1)/(n + 1), never 0.
    seed : int
    max_missing : float
        A set that loses a larger share of its words gives no value.
    case : {"as_is", "as_is_or_lower"}
        Whether a word that is not found as it is written is looked up in lower case too, as vocabularies
        without capitals need it for names.

    Returns
    -------
    WeatResult
        A word without a vector, or with one of zeros or of numbers that are not finite, is missing.

    Raises
    ------
    ValueError
        If a set is empty or not a list of words, X and Y or A and B share a word (it can't be on both
        sides of a difference, and a partition would not change it), or an option is unknown.

    Warns
    -----
    UserWarning
        If X and Y are of one word each: then |d| is √2 (with ``ddof=0``: 2) whatever the vectors. If a
        target is among the attributes: its cosine with itself is 1.

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
    options = _options(
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
    return _test(_find(vectors, (x, y, a, b), case), options)


def associations(vectors, words, a, b, *, association="mean_cosine", case="as_is"):
    """Compute how much nearer each word is to A than to B.

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors or mapping of str to array
    words, a, b : sequence of str
    association, case
        As in `weat`.

    Returns
    -------
    pandas.DataFrame
        ``word association reason``, a row a word in the order given; NaN and the reason for a word without
        a usable vector.

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
    _known("association", association, ASSOCIATIONS)
    _known("case", case, CASES)
    words = _words("words", words)
    attributes = [_look_up(vectors, _words(name, given), case) for name, given in (("A", a), ("B", b))]
    for name, found in zip("AB", attributes, strict=True):
        if not found.words:
            raise ValueError(f"no word of {name} has a vector")
    found = [_entry(vectors, word, case)[1] for word in words]
    usable = np.array([vector is not None for vector in found])
    values = np.full(len(words), np.nan)
    if usable.any():
        targets = _stack([vector for vector in found if vector is not None])
        values[usable] = _associations(targets, *(of_set.vectors for of_set in attributes), association)
    return pd.DataFrame({"word": words, "association": values, "reason": np.where(usable, "", "no vector")})


def effect_size_interval(
    vectors,
    x,
    y,
    a,
    b,
    *,
    ddof=1,
    association="mean_cosine",
    max_missing=0.2,
    case="as_is",
    n_resamples=9999,
    confidence=0.95,
    seed=0,
):
    """Give a bootstrap interval of d over words: how much it hangs on the words chosen.

    Parameters
    ----------
    vectors, x, y, a, b, ddof, association, max_missing, case
        As in `weat`.
    n_resamples : int
        The words of X, Y, A and B are each drawn anew, with replacement, this many times.
    confidence : float
        Between 0 and 1.
    seed : int

    Returns
    -------
    low, high : float
        Percentiles; NaN where `weat` gives no value or X or Y has but one word. A resample whose
        associations are all equal has no d and is left out.

    Raises
    ------
    ValueError
        As in `weat`.

    Examples
    --------
    >>> vectors = {"rose": [3, 1], "iris": [2, 2], "gnat": [1, 3], "wasp": [0, 2], "love": [1, 0], "pain": [0, 1]}
    >>> low, high = effect_size_interval(vectors, ["rose", "iris"], ["gnat", "wasp"], ["love"], ["pain"])
    >>> 0 < low <= high <= 2
    True
    """
    options = _options(ddof=ddof, association=association, max_missing=max_missing, case=case, seed=seed)
    _check_resampling(n_resamples, confidence)
    found = _find(vectors, (x, y, a, b), case)
    _, reason = _scored(found, options)
    return (math.nan, math.nan) if reason else _interval(found, options, n_resamples, confidence)


def effect_size_label(d):
    """Call an effect size by Cohen's conventions.

    Parameters
    ----------
    d : float

    Returns
    -------
    str
        Of |d|: ``"large"`` from .8, ``"medium"`` from .5, ``"small"`` from .2, else ``"negligible"``; empty
        for NaN.

    Examples
    --------
    >>> [effect_size_label(d) for d in (-1.2, 0.5, 0.19)]
    ['large', 'medium', 'negligible']
    """
    return next((label for least, label in _LABELS if abs(d) >= least), "")


def read_contrasts(name_or_path="categorical"):
    """Read contrasts: which sets of words are compared with which.

    Parameters
    ----------
    name_or_path : str or Path
        A group of the embedded file: ``"categorical"`` (40 contrasts by category; our word lists),
        ``"paper"`` (the two that "An Analysis of Categorical Biases in Word Embeddings" prints, word for
        word), ``"caliskan"`` (the ten tests of Caliskan et al. 2017) or ``"novels"`` (two of ours for the
        embedded decades). Or a YAML file of that form, of which all groups are read.

    Returns
    -------
    pandas.DataFrame
        ``contrast name category subcategory set set_name word source history citation``, a row a word, in
        file order; ``set`` is X, Y (the targets), A or B (the attributes); ``history`` marks the contrasts
        that the paper follows through the decades.

    Raises
    ------
    ValueError
        If there is no such group or file, a contrast is incomplete, a word repeats within a set (in
        whatever case), or X and Y, or A and B, share one.

    Examples
    --------
    >>> contrasts = read_contrasts("paper")
    >>> contrasts.groupby("contrast", sort=False)["word"].size().to_dict()
    {'paper-career-family-man-woman': 16, 'paper-communism-socialism-popular-unpopular': 8}
    >>> read_contrasts().query("history")["contrast"].nunique()
    9
    """
    embedded = _read_yaml(CONTRASTS)
    if isinstance(name_or_path, str) and name_or_path in embedded:
        path, groups = CONTRASTS, {name_or_path: embedded[name_or_path]}
    elif Path(name_or_path).is_file():
        path = Path(name_or_path)
        groups = _read_yaml(path)
    else:
        raise ValueError(f"no contrasts {str(name_or_path)!r}: give a YAML file or one of {', '.join(embedded)}")
    rows, seen = [], set()
    for group, content in groups.items():
        for contrast, fields in _contrasts_of(path, group, content).items():
            if contrast in seen:
                raise ValueError(f"{path}: the contrast {contrast!r} is there twice")
            seen.add(contrast)
            rows += _rows_of(path, contrast, fields, content)
    return pd.DataFrame(rows, columns=list(CONTRAST_COLUMNS))


def contrast_sets(contrasts, contrast=None):
    """Take the four sets of one contrast.

    Parameters
    ----------
    contrasts : pandas.DataFrame
        With the columns ``contrast set word``, as `read_contrasts` gives it.
    contrast : str, optional
        Which; may be left out if the frame has only one.

    Returns
    -------
    dict of str to list of str
        Words by ``"X"``, ``"Y"``, ``"A"``, ``"B"``.

    Raises
    ------
    ValueError
        If there is no such contrast, or it lacks a set.

    Examples
    --------
    >>> contrast_sets(read_contrasts("paper"), "paper-communism-socialism-popular-unpopular")["X"]
    ['communism', 'communist']
    """
    _check_columns(contrasts, ("contrast", "set", "word"))
    known = _by_contrast(contrasts, "word")
    if contrast is None and len(known) == 1:
        contrast = next(iter(known))
    if contrast not in known:
        raise ValueError(f"no contrast {contrast!r}; known: {', '.join(map(str, known))}")
    return known[contrast]


def run_contrasts(
    vectors, contrasts, *, case="as_is_or_lower", n_resamples=9999, confidence=0.95, progress=False, **options
):
    """Test every contrast on one set of vectors.

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors or mapping of str to array
    contrasts : pandas.DataFrame
        As `read_contrasts` gives it.
    case : {"as_is_or_lower", "as_is"}
        As in `weat`, but with capitals optional unless said otherwise: contrasts are written with them, for
        any vocabulary.
    n_resamples, confidence
        Of the bootstrap interval, as in `effect_size_interval`.
    progress : bool
    **options
        ``ddof association alternative ties max_exact n_samples seed max_missing``, as in `weat`.

    Returns
    -------
    pandas.DataFrame
        ``contrast category subcategory x y a b effect_size label ci_low ci_high p_value p_holm smallest_p n_x
        n_y n_a n_b n_permutations missing n_missing n_duplicates n_lowered reason``, a row a contrast; x, y, a
        and b are the names of the sets, p_holm is adjusted for all contrasts of the call that have a value.

    Raises
    ------
    ValueError
        If the frame lacks a column or a set, or an option is unknown.

    Examples
    --------
    >>> vectors = {word: np.eye(8)[i % 8] + i / 9 for i, word in enumerate(read_contrasts("paper")["word"].unique())}
    >>> frame = run_contrasts(vectors, read_contrasts("paper"), n_resamples=99)
    >>> frame[["x", "y", "n_x", "n_permutations"]].values.tolist()
    [['career', 'family', 4, 70], ['communism', 'socialism', 2, 6]]
    """
    from tqdm import tqdm

    options = _options(case=case, **options)
    _check_resampling(n_resamples, confidence)
    _check_columns(contrasts, ("contrast", "category", "subcategory", "set", "set_name", "word"))
    words, names = _by_contrast(contrasts, "word"), _by_contrast(contrasts, "set_name")
    described = contrasts.drop_duplicates("contrast")[["contrast", "category", "subcategory"]].to_dict("records")
    rows = []
    for row in tqdm(described, disable=not progress):
        of_contrast = words[row["contrast"]]
        set_names = {name.lower(): of_set[0] for name, of_set in names[row["contrast"]].items()}
        found = _find(vectors, of_contrast.values(), case)
        rows.append(row | set_names | _row(found, options, n_resamples, confidence))
    frame = pd.DataFrame(rows, columns=["contrast", "category", "subcategory", "x", "y", "a", "b", *_MEASURED])
    frame.insert(frame.columns.get_loc("p_value") + 1, "p_holm", holm(frame["p_value"].astype(float)))
    return frame


def trend(
    decades,
    contrast,
    *,
    words="common",
    min_words=4,
    max_missing=0.5,
    case="as_is_or_lower",
    n_resamples=9999,
    confidence=0.95,
    **options,
):
    """Follow a contrast through the decades.

    Parameters
    ----------
    decades : mapping of int to vectors
        As `biaslib.vectors.load_histwords` gives it.
    contrast : pandas.DataFrame or mapping
        One contrast of `read_contrasts`, or words by ``"X"``, ``"Y"``, ``"A"``, ``"B"``.
    words : {"common", "available"}
        The same words throughout, those that every decade has (a change is then one of use, not of words);
        or whatever each decade has.
    min_words : int
        A set with fewer gives no value.
    max_missing : float
        With ``words="available"``: a decade where a set loses a larger share has no value.
    case, n_resamples, confidence, **options
        As in `run_contrasts`.

    Returns
    -------
    pandas.DataFrame
        ``decade words effect_size label ci_low ci_high p_value smallest_p n_x n_y n_a n_b n_permutations missing
        n_missing n_duplicates n_lowered reason``, a row a decade, in order; a decade without a value is NaN,
        with the reason. With the common words, ``missing`` lists those that some decade lacks.

    Raises
    ------
    ValueError
        If there is no decade, the contrast is incomplete, or an option is unknown.

    Examples
    --------
    >>> one = {"ant": [3, 1], "bee": [2, 1], "elk": [1, 3], "cow": [1, 4], "fun": [1, 0], "bad": [0, 1]}
    >>> two = one | {"bee": [1, 3], "cow": [0, 0]}
    >>> sets = {"X": ["ant", "bee"], "Y": ["elk", "cow"], "A": ["fun"], "B": ["bad"]}
    >>> trend({1900: one, 1910: two}, sets, words="available", min_words=1, n_resamples=99)[
    ...     ["decade", "n_x", "n_y", "missing"]]
       decade  n_x  n_y missing
    0    1900    2    2
    1    1910    2    1  Y: cow
    """
    _known("words", words, TREND_WORDS)
    _count("min_words", min_words)
    _check_resampling(n_resamples, confidence)
    options = _options(case=case, max_missing=max_missing, **options)
    found = {d: _find(vectors, _four_sets(contrast), case) for d, vectors in _by_decade(decades).items()}
    if words == "common":
        found = _in_all(found)
        options = options | {"max_missing": 1.0}
    rows = []
    for decade, sets in found.items():
        row = _row(sets, options, n_resamples, confidence, min_words)
        rows.append({"decade": decade, "words": words} | row)
    return pd.DataFrame(rows, columns=["decade", "words", *_MEASURED])


def similarity_trend(decades, first, second, *, case="as_is_or_lower"):
    """Follow the cosine of two words through the decades.

    Parameters
    ----------
    decades : mapping of int to vectors
        As `biaslib.vectors.load_histwords` gives it. Both words are of one decade's space, so that the spaces need
        not be aligned.
    first, second : str
    case : {"as_is_or_lower", "as_is"}
        As in `run_contrasts`.

    Returns
    -------
    pandas.DataFrame
        ``decade first second cosine reason``, a row a decade, in order; NaN and the reason where a word has no vector.

    Raises
    ------
    ValueError
        If there is no decade, a word is no text, or `case` is unknown.

    Examples
    --------
    >>> decades = {1900: {"ant": [3, 4], "bee": [4, 3]}, 1910: {"ant": [3, 4]}}
    >>> similarity_trend(decades, "ant", "bee")[["decade", "cosine", "reason"]]
       decade  cosine              reason
    0    1900    0.96
    1    1910     NaN  no vector: bee
    """
    _known("case", case, CASES)
    words = _words("the pair", [first, second])
    rows = []
    for decade, vectors in _by_decade(decades).items():
        found = [_entry(vectors, word, case)[1] for word in words]
        missing = [word for word, vector in zip(words, found, strict=True) if vector is None]
        cosine = math.nan if missing else float(_dots(*(_unit(_stack([vector])) for vector in found))[0, 0])
        rows.append((decade, first, second, cosine, f"no vector: {', '.join(missing)}" if missing else ""))
    return pd.DataFrame(rows, columns=["decade", "first", "second", "cosine", "reason"])


def vector_of(vectors, word):
    """Take a word's vector.

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors or mapping of str to array
    word : str

    Returns
    -------
    numpy.ndarray of float64 or None
        None if the word is absent, its vector is all zeros, or holds a number that is not finite.

    Examples
    --------
    >>> vector_of({"cow": [1, 2], "pig": [0, 0]}, "cow").tolist(), vector_of({"pig": [0, 0]}, "pig")
    ([1.0, 2.0], None)
    """
    if word not in vectors:
        return None
    vector = np.asarray(vectors[word], dtype=np.float64)
    return vector if np.isfinite(vector).all() and vector.any() else None


def _options(
    *,
    ddof=1,
    association="mean_cosine",
    alternative="greater",
    ties="greater_equal",
    max_exact=200_000,
    n_samples=100_000,
    seed=0,
    max_missing=0.2,
    case="as_is",
):
    given = dict(locals())
    if isinstance(ddof, bool) or ddof not in (0, 1):
        raise ValueError(f"ddof has to be 0 or 1, not {ddof!r}")
    _known("association", association, ASSOCIATIONS)
    _known("alternative", alternative, ALTERNATIVES)
    _known("ties", ties, TIES)
    _known("case", case, CASES)
    _count("max_exact", max_exact, least=0)
    _count("n_samples", n_samples)
    if isinstance(max_missing, bool) or not 0 <= max_missing <= 1:
        raise ValueError(f"max_missing has to lie between 0 and 1, not {max_missing!r}")
    return given


def _find(vectors, sets, case):
    """Look up the words of X, Y, A and B."""
    sets = {name: _words(name, words) for name, words in zip(SETS, sets, strict=True)}
    _check_shared(sets, case)
    return {name: _look_up(vectors, words, case) for name, words in sets.items()}


def _check_shared(sets, case):
    spelled = str.lower if case == "as_is_or_lower" else str
    x, y, a, b = ({spelled(word) for word in sets[name]} for name in SETS)
    for names, shared in (("X and Y", x & y), ("A and B", a & b)):
        if shared:
            raise ValueError(f"{names} share the word(s) {', '.join(sorted(shared))}: take them out of one")
    both = (x | y) & (a | b)
    if both:
        message = f"{', '.join(sorted(both))}: among targets and attributes, where the cosine with itself is 1"
        warnings.warn(message, stacklevel=4)


def _look_up(vectors, words, case):
    entries, missing, duplicates, lowered = {}, {}, [], []
    for word in words:
        entry, vector = _entry(vectors, word, case)
        if (word in missing) if vector is None else (entry in entries):
            duplicates.append(word)
        elif vector is None:
            missing[word] = None
        else:
            entries[entry] = (word, vector)
            if entry != word:
                lowered.append(word)
    words = tuple(word for word, _ in entries.values())
    found = _stack([vector for _, vector in entries.values()]) if entries else np.empty((0, 0))
    return _Found(words, found, tuple(missing), tuple(duplicates), tuple(lowered))


def _entry(vectors, word, case):
    for spelling in (word, word.lower()) if case == "as_is_or_lower" else (word,):
        vector = vector_of(vectors, spelling)
        if vector is not None:
            return spelling, vector
    return word, None


def _stack(rows):
    if len({row.shape for row in rows}) > 1 or rows[0].ndim != 1:
        raise ValueError("the vectors have to be rows of numbers of one length")
    return np.stack(rows)


def _unit(rows):
    # Scaled first, so that squares neither overflow nor vanish.
    rows = rows / np.abs(rows).max(axis=1, keepdims=True)
    return rows / np.sqrt((rows * rows).sum(axis=1, keepdims=True))


def _dots(rows, columns):
    # Not a matrix product: there the last digit of an entry depends on its place, and exchanging two sets
    # would not negate d exactly.
    return np.einsum("id,jd->ij", rows, columns, optimize=False)


def _associations(targets, a, b, association):
    targets = _unit(targets)
    return np.array(_similarities(targets, a, association)) - np.array(_similarities(targets, b, association))


def _similarities(targets, attributes, association):
    if association == "centroid":
        centroid = _centroid(attributes)
        return _dots(targets, _unit(centroid))[:, 0] if centroid.any() else np.full(len(targets), np.nan)
    return [math.fsum(row) / len(row) for row in _dots(targets, _unit(attributes)).tolist()]


def _centroid(rows):
    centroid = rows.mean(axis=0, keepdims=True)
    return np.where(np.abs(centroid) > _EQUAL * np.abs(rows).max(), centroid, 0.0)


def _test(found, options, min_words=1):
    scored, reason = _scored(found, options, min_words)
    if reason:
        nothing = dict.fromkeys(("effect_size", "statistic", "p_value", "smallest_p"), math.nan)
        return WeatResult(**nothing, n_permutations=0, exact=False, **_counts(found), reason=reason)
    s_x, s_y = scored
    if len(s_x) == len(s_y) == 1:
        message = f"X and Y have one word each: |d| is {'√2' if options['ddof'] else '2'} whatever the vectors"
        warnings.warn(message, stacklevel=3)
    return WeatResult(
        effect_size=_effect_size(s_x, s_y, options["ddof"]),
        statistic=math.fsum(s_x) - math.fsum(s_y),
        **_permuted(s_x, s_y, options),
        **_counts(found),
    )


def _scored(found, options, min_words=1):
    """Give the associations of X and of Y, or None and the reason why there are none."""
    reason = _too_few(found, options["max_missing"], min_words)
    if reason:
        return None, reason
    x, y, a, b = (found[name].vectors for name in SETS)
    if len({rows.shape[1] for rows in (x, y, a, b)}) > 1:
        raise ValueError("the vectors have to be rows of numbers of one length")
    s = _associations(np.concatenate([x, y]), a, b, options["association"])
    if np.isnan(s).any():
        return None, "the mean vector of A or B is zero"
    if np.ptp(s) <= _EQUAL:
        return None, "all associations are equal"
    return (s[: len(x)], s[len(x) :]), ""


def _too_few(found, max_missing, min_words):
    reasons = []
    for name, of_set in found.items():
        n, lost = len(of_set.words), len(of_set.missing)
        if lost > max_missing * (n + lost):
            reasons.append(f"{name} misses {lost} of {n + lost} words, over {max_missing:.0%}")
        elif n < min_words:
            reasons.append(f"{name} has {n} word(s) with a vector, fewer than {min_words}")
    return "; ".join(reasons)


def _counts(found):
    by_set = {
        field: {name: getattr(of_set, field) for name, of_set in found.items() if getattr(of_set, field)}
        for field in ("missing", "duplicates", "lowered")
    }
    return {f"n_{name.lower()}": len(of_set.words) for name, of_set in found.items()} | by_set


def _effect_size(s_x, s_y, ddof):
    # Sums that do not depend on order: exchanging X and Y, or A and B, negates d to the last digit.
    pooled = [*s_x, *s_y]
    mean = math.fsum(pooled) / len(pooled)
    variance = math.fsum((value - mean) ** 2 for value in pooled) / (len(pooled) - ddof)
    return float((math.fsum(s_x) / len(s_x) - math.fsum(s_y) / len(s_y)) / math.sqrt(variance))


def _permuted(s_x, s_y, options):
    """Give p value, number of partitions, whether these are all, and the least p value."""
    # Centred associations sum to 0, so the sum over X alone orders the partitions as S does.
    pooled = np.concatenate([s_x, s_y])
    pooled = pooled - math.fsum(pooled) / pooled.size
    drawn = min(len(s_x), len(s_y))
    sign = 1 if len(s_x) == drawn else -1
    sign = -sign if options["alternative"] == "less" else sign
    measure = np.abs if options["alternative"] == "two-sided" else lambda sums: sign * sums
    margin = _EQUAL * np.abs(pooled).sum()
    observed = measure(math.fsum(pooled[: len(s_x)] if len(s_x) == drawn else pooled[len(s_x) :]))
    strict = options["ties"] == "greater"
    least = observed + margin if strict else observed - margin
    n_partitions = math.comb(pooled.size, drawn)
    exact = n_partitions <= options["max_exact"]
    sums = _all_sums(pooled, drawn) if exact else _sampled_sums(pooled, drawn, options["n_samples"], options["seed"])
    extreme = sum(int(np.count_nonzero(measure(part) > least if strict else measure(part) >= least)) for part in sums)
    if not exact:
        n = int(options["n_samples"])
        return {"p_value": (extreme + 1) / (n + 1), "n_permutations": n, "exact": False, "smallest_p": 1 / (n + 1)}
    # Exchanging X and Y whole leaves |S| as it is.
    twins = 2 if options["alternative"] == "two-sided" and len(s_x) == len(s_y) else 1
    smallest = 0.0 if strict else twins / n_partitions
    return {
        "p_value": extreme / n_partitions,
        "n_permutations": n_partitions,
        "exact": True,
        "smallest_p": smallest,
    }


def _all_sums(values, k):
    for subsets in _subsets(values.size, k):
        yield values[subsets].sum(axis=1)


def _subsets(n, k):
    rows = max(1, _NUMBERS_AT_ONCE // k)
    if math.comb(n, k) <= _PARTITIONS_KEPT:
        subsets = _listed(n, k)
        yield from (subsets[start : start + rows] for start in range(0, len(subsets), rows))
        return
    remaining = combinations(range(n), k)
    while (block := np.fromiter(chain.from_iterable(islice(remaining, rows)), dtype=np.intp)).size:
        yield block.reshape(-1, k)


@lru_cache(maxsize=8)
def _listed(n, k):
    flat = np.fromiter(chain.from_iterable(combinations(range(n), k)), dtype=np.uint32, count=k * math.comb(n, k))
    return flat.reshape(-1, k)


def _sampled_sums(values, k, n_samples, seed):
    rng = np.random.default_rng(seed)
    rows = max(1, _NUMBERS_AT_ONCE // values.size)
    for start in range(0, n_samples, rows):
        dealt = np.tile(values, (min(rows, n_samples - start), 1))
        yield rng.permuted(dealt, axis=1, out=dealt)[:, :k].sum(axis=1)


def _interval(found, options, n_resamples, confidence):
    if min(len(found[name].words) for name in "XY") < 2:
        return math.nan, math.nan
    x, y, a, b = (found[name].vectors for name in SETS)
    targets = _unit(np.concatenate([x, y]))
    attributes = [_resampled(targets, of_set, options["association"]) for of_set in (a, b)]
    rng = np.random.default_rng(options["seed"])
    rows = max(1, _RESAMPLED_AT_ONCE // max(len(targets), len(a), len(b)))
    parts = []
    for start in range(0, n_resamples, rows):
        n = min(rows, n_resamples - start)
        w_x, w_y, w_a, w_b = (_weights(rng, len(of_set), n) for of_set in (x, y, a, b))
        s = attributes[0](w_a) - attributes[1](w_b)
        parts.append(_effect_sizes(s[:, : len(x)], s[:, len(x) :], w_x, w_y, options["ddof"]))
    drawn = np.concatenate(parts)
    drawn = drawn[np.isfinite(drawn)]
    if not drawn.size:
        return math.nan, math.nan
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _weights(rng, n, n_resamples):
    """How often each of n words is drawn, a row a resample."""
    drawn = rng.integers(n, size=(n_resamples, n)) + n * np.arange(n_resamples)[:, None]
    return np.bincount(drawn.ravel(), minlength=n * n_resamples).reshape(n_resamples, n).astype(float)


def _resampled(targets, attributes, association):
    """Give the function from weights of the attributes to the targets' similarities, a row a resample."""
    if association == "mean_cosine":
        cosines = targets @ _unit(attributes).T / len(attributes)
        return lambda weights: weights @ cosines.T
    scaled = attributes / np.abs(attributes).max()
    products, gram = targets @ scaled.T, scaled @ scaled.T

    def similarities(weights):
        squared = ((weights @ gram) * weights).sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            return weights @ products.T / np.sqrt(np.maximum(squared, 0))

    return similarities


def _effect_sizes(s_x, s_y, w_x, w_y, ddof):
    n_x, n_y = s_x.shape[1], s_y.shape[1]
    mean_x, mean_y = (w_x * s_x).sum(axis=1) / n_x, (w_y * s_y).sum(axis=1) / n_y
    mean = (n_x * mean_x + n_y * mean_y) / (n_x + n_y)
    squares = (w_x * (s_x - mean[:, None]) ** 2).sum(axis=1) + (w_y * (s_y - mean[:, None]) ** 2).sum(axis=1)
    deviation = np.sqrt(squares / (n_x + n_y - ddof))
    return np.divide(mean_x - mean_y, deviation, out=np.full(len(mean), np.nan), where=deviation > _EQUAL)


_MEASURED = (
    "effect_size",
    "label",
    "ci_low",
    "ci_high",
    "p_value",
    "smallest_p",
    "n_x",
    "n_y",
    "n_a",
    "n_b",
    "n_permutations",
    "missing",
    "n_missing",
    "n_duplicates",
    "n_lowered",
    "reason",
)


def _row(found, options, n_resamples, confidence, min_words=1):
    result = _test(found, options, min_words)
    low, high = (math.nan, math.nan) if result.reason else _interval(found, options, n_resamples, confidence)
    row = {
        "label": effect_size_label(result.effect_size),
        "ci_low": low,
        "ci_high": high,
        "missing": _text(result.missing),
        "n_missing": _number(result.missing),
        "n_duplicates": _number(result.duplicates),
        "n_lowered": _number(result.lowered),
    }
    return row | {name: getattr(result, name) for name in _MEASURED if name not in row}


def _by_decade(decades):
    if not isinstance(decades, Mapping) or not decades:
        raise ValueError("decades has to map at least one decade to its vectors")
    return {decade: decades[decade] for decade in sorted(decades)}


def _in_all(found):
    """Keep, in each decade, the words that all decades have."""
    kept = {}
    for decade, sets in found.items():
        kept[decade] = {name: _kept(of_set, [f[name] for f in found.values()]) for name, of_set in sets.items()}
    return kept


def _kept(of_set, everywhere):
    common = set.intersection(*(set(other.words) for other in everywhere))
    keep = [i for i, word in enumerate(of_set.words) if word in common]
    return of_set._replace(
        words=tuple(of_set.words[i] for i in keep),
        vectors=of_set.vectors[keep],
        missing=tuple(dict.fromkeys(word for other in everywhere for word in other.missing)),
        lowered=tuple(word for word in of_set.lowered if word in common),
    )


def _four_sets(contrast):
    if isinstance(contrast, pd.DataFrame):
        contrast = contrast_sets(contrast)
    if not isinstance(contrast, Mapping) or set(contrast) != set(SETS):
        raise ValueError(f"a contrast has to be a frame of read_contrasts or map {', '.join(SETS)} to words")
    return [contrast[name] for name in SETS]


def _words(name, words):
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise ValueError(f"{name} has to be a list of words, not {words!r}")
    words = list(words)
    if not words:
        raise ValueError(f"{name} has no words")
    for word in words:
        if not isinstance(word, str) or not word:
            raise ValueError(f"{name} has to be a list of words, but has {word!r}")
    return words


def _read_yaml(path):
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not readable YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict) or not content:
        raise ValueError(f"{path} has to map each group to its citation, sets and contrasts")
    return content


def _contrasts_of(path, group, content):
    if not isinstance(content, dict) or not {"citation", "sets", "contrasts"} <= set(content):
        raise ValueError(f"{path}: the group {group!r} needs citation, sets and contrasts")
    if not all(isinstance(content[part], dict) and content[part] for part in ("sets", "contrasts")):
        raise ValueError(f"{path}: sets and contrasts of the group {group!r} have to map names to content")
    for name, words in content["sets"].items():
        _check_set(path, name, words)
    return content["contrasts"]


def _check_set(path, name, words):
    if not isinstance(words, list) or not words:
        raise ValueError(f"{path}: the set {name!r} has to be a list of words")
    for word in words:
        if not isinstance(word, str) or not word.strip():
            raise ValueError(f"{path}: the set {name!r} has {word!r}: quote it if it is a word")
    repeated = {word for word in words if sum(word.lower() == other.lower() for other in words) > 1}
    if repeated:
        raise ValueError(f"{path}: the set {name!r} has {', '.join(sorted(repeated))} more than once")


def _rows_of(path, contrast, fields, group):
    lacking = [field for field in _FIELDS if not isinstance(fields, dict) or not isinstance(fields.get(field), str)]
    if lacking:
        raise ValueError(f"{path}: the contrast {contrast!r} lacks {', '.join(lacking)}")
    names = {name: fields[name.lower()] for name in SETS}
    for name in names.values():
        if name not in group["sets"]:
            raise ValueError(f"{path}: the contrast {contrast!r} names the set {name!r}, which is not there")
    try:
        _check_shared({name: group["sets"][of_set] for name, of_set in names.items()}, "as_is_or_lower")
    except ValueError as error:
        raise ValueError(f"{path}: in the contrast {contrast!r}, {error}") from None
    described = [contrast, *(fields[field] for field in ("name", "category", "subcategory"))]
    source = str(group.get("source", path.stem))
    end = [source, bool(fields.get("history", False)), str(fields.get("citation", group["citation"]))]
    return [[*described, name, of_set, word, *end] for name, of_set in names.items() for word in group["sets"][of_set]]


def _by_contrast(contrasts, column):
    """Give a column's values by contrast and set."""
    values = {contrast: {name: [] for name in SETS} for contrast in contrasts["contrast"]}
    for contrast, name, value in zip(*(contrasts[c].tolist() for c in ("contrast", "set", column)), strict=True):
        if name not in SETS:
            raise ValueError(f"the contrast {contrast!r} has a set {name!r}; known: {', '.join(SETS)}")
        values[contrast][name].append(value)
    for contrast, sets in values.items():
        lacking = [name for name, of_set in sets.items() if not of_set]
        if lacking:
            raise ValueError(f"the contrast {contrast!r} has no words for {', '.join(lacking)}")
    return values


def _check_columns(frame, columns):
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(f"contrasts has to be a frame of read_contrasts, not {type(frame).__name__}")
    lacking = [column for column in columns if column not in frame]
    if lacking:
        raise ValueError(f"contrasts lacks the column(s) {', '.join(lacking)}")


def _check_resampling(n_resamples, confidence):
    _count("n_resamples", n_resamples)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence has to lie between 0 and 1, not {confidence!r}")


def _known(what, value, known):
    if value not in known:
        raise ValueError(f"{what} {value!r} is unknown; known: {', '.join(known)}")


def _count(what, value, least=1):
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{what} has to be a whole number from {least} up, not {value!r}")


def _text(by_set):
    return "; ".join(f"{name}: {' '.join(words)}" for name, words in by_set.items())


def _number(by_set):
    return sum(map(len, by_set.values()))
