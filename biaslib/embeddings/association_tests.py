"""How two sets of words differ in their association with two others, in word vectors.

The word embedding association test (WEAT) of Caliskan, Bryson & Narayanan (2017), "Semantics derived
automatically from language corpora contain human-like biases", Science 356(6334), 183–186, with its
permutation test, a bootstrap interval over words, and sets of contrasts by category.
"""

import math
import warnings
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from biaslib.embeddings._permutations import EQUAL, counts, effect_size, permuted
from biaslib.embeddings._words import (
    ASSOCIATIONS,
    CASES,
    check_choice,
    check_options,
    check_resampling,
    check_words,
    dot_products,
    find_entry,
    find_sets,
    look_up,
    stack_vectors,
    unit_rows,
)
from biaslib.io.word_sets import SETS, by_contrast, check_columns
from biaslib.stats.effect_sizes import effect_size_label
from biaslib.stats.hypothesis_tests import holm

# Small enough for a processor's cache, and for its products to be made without starting threads.
_RESAMPLED_AT_ONCE = 16_384


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
    options = check_options(
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
    check_choice("association", association, ASSOCIATIONS)
    check_choice("case", case, CASES)
    words = check_words("words", words)
    attributes = [look_up(vectors, check_words(name, given), case) for name, given in (("A", a), ("B", b))]
    for name, found in zip("AB", attributes, strict=True):
        if not found.words:
            raise ValueError(f"no word of {name} has a vector")
    found = [find_entry(vectors, word, case)[1] for word in words]
    usable = np.array([vector is not None for vector in found])
    values = np.full(len(words), np.nan)
    if usable.any():
        targets = stack_vectors([vector for vector in found if vector is not None])
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
    options = check_options(ddof=ddof, association=association, max_missing=max_missing, case=case, seed=seed)
    check_resampling(n_resamples, confidence)
    found = find_sets(vectors, (x, y, a, b), case)
    _, reason = _scored(found, options)
    return (math.nan, math.nan) if reason else _interval(found, options, n_resamples, confidence)


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

    options = check_options(case=case, **options)
    check_resampling(n_resamples, confidence)
    check_columns(contrasts, ("contrast", "category", "subcategory", "set", "set_name", "word"))
    words, names = by_contrast(contrasts, "word"), by_contrast(contrasts, "set_name")
    described = contrasts.drop_duplicates("contrast")[["contrast", "category", "subcategory"]].to_dict("records")
    rows = []
    for row in tqdm(described, disable=not progress):
        of_contrast = words[row["contrast"]]
        set_names = {name.lower(): of_set[0] for name, of_set in names[row["contrast"]].items()}
        found = find_sets(vectors, of_contrast.values(), case)
        rows.append(row | set_names | result_row(found, options, n_resamples, confidence))
    frame = pd.DataFrame(rows, columns=["contrast", "category", "subcategory", "x", "y", "a", "b", *MEASURED])
    frame.insert(frame.columns.get_loc("p_value") + 1, "p_holm", holm(frame["p_value"].astype(float)))
    return frame


def _associations(targets, a, b, association):
    targets = unit_rows(targets)
    return np.array(_similarities(targets, a, association)) - np.array(_similarities(targets, b, association))


def _similarities(targets, attributes, association):
    if association == "centroid":
        centroid = _centroid(attributes)
        return dot_products(targets, unit_rows(centroid))[:, 0] if centroid.any() else np.full(len(targets), np.nan)
    return [math.fsum(row) / len(row) for row in dot_products(targets, unit_rows(attributes)).tolist()]


def _centroid(rows):
    centroid = rows.mean(axis=0, keepdims=True)
    return np.where(np.abs(centroid) > EQUAL * np.abs(rows).max(), centroid, 0.0)


def _test(found, options, min_words=1):
    scored, reason = _scored(found, options, min_words)
    if reason:
        nothing = dict.fromkeys(("effect_size", "statistic", "p_value", "smallest_p"), math.nan)
        return WeatResult(**nothing, n_permutations=0, exact=False, **counts(found), reason=reason)
    s_x, s_y = scored
    if len(s_x) == len(s_y) == 1:
        message = f"X and Y have one word each: |d| is {'√2' if options['ddof'] else '2'} whatever the vectors"
        warnings.warn(message, stacklevel=3)
    return WeatResult(
        effect_size=effect_size(s_x, s_y, options["ddof"]),
        statistic=math.fsum(s_x) - math.fsum(s_y),
        **permuted(s_x, s_y, options),
        **counts(found),
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
    if np.ptp(s) <= EQUAL:
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


def _interval(found, options, n_resamples, confidence):
    if min(len(found[name].words) for name in "XY") < 2:
        return math.nan, math.nan
    x, y, a, b = (found[name].vectors for name in SETS)
    targets = unit_rows(np.concatenate([x, y]))
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
        cosines = targets @ unit_rows(attributes).T / len(attributes)
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
    return np.divide(mean_x - mean_y, deviation, out=np.full(len(mean), np.nan), where=deviation > EQUAL)


MEASURED = (
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


def result_row(found, options, n_resamples, confidence, min_words=1):
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
    return row | {name: getattr(result, name) for name in MEASURED if name not in row}


def _text(by_set):
    return "; ".join(f"{name}: {' '.join(words)}" for name, words in by_set.items())


def _number(by_set):
    return sum(map(len, by_set.values()))
