"""Associations over decades."""

import math
from collections.abc import Mapping

import pandas as pd

from biaslib.embeddings._words import (
    CASES,
    check_choice,
    check_number_of,
    check_options,
    check_resampling,
    check_words,
    dot_products,
    find_entry,
    find_sets,
    four_sets,
    stack_vectors,
    unit_rows,
)
from biaslib.embeddings.association_tests import MEASURED, result_row

TREND_WORDS = ("common", "available")


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
        As `biaslib.io.load_histwords` gives it.
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
    check_choice("words", words, TREND_WORDS)
    check_number_of("min_words", min_words)
    check_resampling(n_resamples, confidence)
    options = check_options(case=case, max_missing=max_missing, **options)
    found = {d: find_sets(vectors, four_sets(contrast), case) for d, vectors in _by_decade(decades).items()}
    if words == "common":
        found = _in_all(found)
        options = options | {"max_missing": 1.0}
    rows = []
    for decade, sets in found.items():
        row = result_row(sets, options, n_resamples, confidence, min_words)
        rows.append({"decade": decade, "words": words} | row)
    return pd.DataFrame(rows, columns=["decade", "words", *MEASURED])


def similarity_trend(decades, first, second, *, case="as_is_or_lower"):
    """Follow the cosine of two words through the decades.

    Parameters
    ----------
    decades : mapping of int to vectors
        As `biaslib.io.load_histwords` gives it. Both words are of one decade's space, so that the spaces need
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
    check_choice("case", case, CASES)
    words = check_words("the pair", [first, second])
    rows = []
    for decade, vectors in _by_decade(decades).items():
        found = [find_entry(vectors, word, case)[1] for word in words]
        missing = [word for word, vector in zip(words, found, strict=True) if vector is None]
        cosine = (
            math.nan
            if missing
            else float(dot_products(*(unit_rows(stack_vectors([vector])) for vector in found))[0, 0])
        )
        rows.append((decade, first, second, cosine, f"no vector: {', '.join(missing)}" if missing else ""))
    return pd.DataFrame(rows, columns=["decade", "first", "second", "cosine", "reason"])


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
