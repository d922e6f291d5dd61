"""Associations over decades."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from biaslib._checks import check_choice, check_count
from biaslib.embeddings._cosines import dot_products, unit_rows
from biaslib.embeddings._options import AssociationTestOptions
from biaslib.embeddings._words import CASES, FoundSet, as_rows, check_words, find_sets, find_word, four_sets
from biaslib.embeddings.association_tests import MEASURES, measure_contrast
from biaslib.stats.intervals import check_bootstrap

if TYPE_CHECKING:
    from biaslib.embeddings._words import WordVectors

TREND_WORDS = ("common", "available")


def trend(
    decades: Mapping[int, WordVectors],
    contrast: pd.DataFrame | Mapping[str, Iterable[str]],
    *,
    words: str = "common",
    min_words: int = 4,
    max_missing: float = 0.5,
    case: str = "as_is_or_lower",
    n_resamples: int = 9999,
    confidence: float = 0.95,
    **options: Any,
) -> pd.DataFrame:
    """Follow a contrast through the decades.

    Parameters
    ----------
    decades : mapping of int to vectors
        As `biaslib.io.load_histwords` returns it.
    contrast : pandas.DataFrame or mapping
        One contrast from `biaslib.io.read_contrasts`, or words by ``"X"``, ``"Y"``, ``"A"``, ``"B"``.
    words : {"common", "available"}
        The same words throughout, those that every decade has (a change is then one of use, not of words); or
        whatever words each decade has.
    min_words : int
        A set with fewer words gives no value.
    max_missing : float
        With ``words="available"``, a decade in which a set loses a larger share has no value.
    case, n_resamples, confidence, **options
        As in `run_contrasts`.

    Returns
    -------
    pandas.DataFrame
        ``decade words effect_size label ci_low ci_high p_value smallest_p n_x n_y n_a n_b n_permutations missing
        n_missing n_duplicates n_lowered reason``, one row per decade, in order; NaN and the reason for a decade
        without a value. With the common words, ``missing`` lists those that some decade lacks.

    Raises
    ------
    TypeError
        If there is no such option.
    ValueError
        If there is no decade, the contrast is incomplete, or an option is unknown or out of range.

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
    check_choice(words, "words", TREND_WORDS)
    check_count(min_words, "min_words")
    options = AssociationTestOptions(case=case, max_missing=max_missing, **options)
    check_bootstrap(options.seed, n_resamples, confidence)
    found = {d: find_sets(vectors, four_sets(contrast), case) for d, vectors in _in_order(decades).items()}
    if words == "common":
        found, options = _common_words(found), replace(options, max_missing=1.0)
    measured = [measure_contrast(sets, options, n_resamples, confidence, min_words) for sets in found.values()]
    frame = pd.DataFrame(measured, index=pd.Index(list(found), name="decade"), columns=list(MEASURES)).reset_index()
    frame.insert(1, "words", words)
    return frame


def similarity_trend(
    decades: Mapping[int, WordVectors], first: str, second: str, *, case: str = "as_is_or_lower"
) -> pd.DataFrame:
    """Follow the cosine of two words through the decades.

    Parameters
    ----------
    decades : mapping of int to vectors
        As `biaslib.io.load_histwords` returns it. Two words are compared within a decade, so that the spaces need
        not be aligned.
    first, second : str
    case : {"as_is_or_lower", "as_is"}
        As in `run_contrasts`.

    Returns
    -------
    pandas.DataFrame
        ``decade first second cosine reason``, one row per decade, in order; NaN and the reason if a word has
        no vector.

    Raises
    ------
    ValueError
        If there is no decade, a word is not a string, or `case` is unknown.

    Examples
    --------
    >>> decades = {1900: {"ant": [3, 4], "bee": [4, 3]}, 1910: {"ant": [3, 4]}}
    >>> similarity_trend(decades, "ant", "bee")[["decade", "cosine", "reason"]]
       decade  cosine              reason
    0    1900    0.96
    1    1910     NaN  no vector: bee
    """
    check_choice(case, "case", CASES)
    words = check_words([first, second], "the pair")
    rows = []
    for decade, vectors in _in_order(decades).items():
        found = [find_word(vectors, word, case)[1] for word in words]
        missing = [word for word, vector in zip(words, found, strict=True) if vector is None]
        reason = f"no vector: {', '.join(missing)}" if missing else ""
        rows.append((decade, first, second, math.nan if missing else _cosine(*found), reason))
    return pd.DataFrame(rows, columns=["decade", "first", "second", "cosine", "reason"])


def _in_order(decades):
    if not isinstance(decades, Mapping) or not decades:
        raise ValueError("decades must map at least one decade to its vectors")
    return {decade: decades[decade] for decade in sorted(decades)}


def _cosine(first, second):
    first, second = (unit_rows(as_rows([vector])) for vector in (first, second))
    return float(dot_products(first, second)[0, 0])


def _common_words(found):
    """Keep, in each decade, the words that all decades have."""
    return {
        decade: {name: _shared_by(one, [other[name] for other in found.values()]) for name, one in sets.items()}
        for decade, sets in found.items()
    }


def _shared_by(one: FoundSet, every: list[FoundSet]) -> FoundSet:
    """Keep the words of a set that it has in every decade; those that some decade lacks are missing."""
    common = set.intersection(*(set(other.words) for other in every))
    keep = [i for i, word in enumerate(one.words) if word in common]
    return one._replace(
        words=tuple(one.words[i] for i in keep),
        vectors=one.vectors[keep],
        missing=tuple(dict.fromkeys(word for other in every for word in other.missing)),
        lowered=tuple(word for word in one.lowered if word in common),
    )
