"""Words looked up in word vectors, one by one and by set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from biaslib._checks import as_words
from biaslib.io.word_sets import SETS, check_shared, contrast_sets

if TYPE_CHECKING:
    from gensim.models import KeyedVectors
    from numpy.typing import ArrayLike

    WordVectors = KeyedVectors | Mapping[str, ArrayLike]

CASES = ("as_is", "as_is_or_lower")


class FoundSet(NamedTuple):
    """The words of a set that have a vector, their vectors, and the words that do not count or were lowered."""

    words: tuple[str, ...]
    vectors: np.ndarray
    missing: tuple[str, ...]
    duplicates: tuple[str, ...]
    lowered: tuple[str, ...]


def check_words(words: Iterable[str], what: str) -> list[str]:
    """Return words as a list; raise ValueError if there is none, or one is empty or not a string."""
    words = as_words(words, what, ValueError)
    if not words or "" in words:
        raise ValueError(f"{what} must hold at least one word and no empty one")
    return words


def vector_of(vectors: WordVectors, word: str) -> np.ndarray | None:
    """Return a word's vector in float64, or None if it is absent, all zeros or not finite."""
    if word not in vectors:
        return None
    vector = np.asarray(vectors[word], dtype=np.float64)
    return vector if np.isfinite(vector).all() and vector.any() else None


def find_word(vectors: WordVectors, word: str, case: str) -> tuple[str, np.ndarray | None]:
    """Return the spelling under which a word is found, and its vector, or None."""
    for spelling in (word, word.lower()) if case == "as_is_or_lower" else (word,):
        vector = vector_of(vectors, spelling)
        if vector is not None:
            return spelling, vector
    return word, None


def find_words(vectors: WordVectors, words: Iterable[str], case: str) -> FoundSet:
    """Look up the words of one set, each entry of the vocabulary once."""
    entries, missing, duplicates, lowered = {}, {}, [], []
    for word in words:
        entry, vector = find_word(vectors, word, case)
        if word in missing or entry in entries:
            duplicates.append(word)
        elif vector is None:
            missing[word] = None
        else:
            entries[entry] = (word, vector)
            if entry != word:
                lowered.append(word)
    words = tuple(word for word, _ in entries.values())
    found = as_rows([vector for _, vector in entries.values()]) if entries else np.empty((0, 0))
    return FoundSet(words, found, tuple(missing), tuple(duplicates), tuple(lowered))


def find_sets(vectors: WordVectors, sets: Iterable[Iterable[str]], case: str) -> dict[str, FoundSet]:
    """Look up the words of X, Y, A and B."""
    sets = {name: check_words(words, name) for name, words in zip(SETS, sets, strict=True)}
    check_shared(sets, case)
    return {name: find_words(vectors, words, case) for name, words in sets.items()}


def as_rows(vectors: list[np.ndarray]) -> np.ndarray:
    """Stack vectors, which must have the same length."""
    if len({vector.shape for vector in vectors}) > 1 or vectors[0].ndim != 1:
        raise ValueError("all vectors must be one-dimensional and have the same length")
    return np.stack(vectors)


def four_sets(contrast: pd.DataFrame | Mapping[str, Iterable[str]]) -> list[Iterable[str]]:
    """Return the words of X, Y, A and B of a contrast."""
    if isinstance(contrast, pd.DataFrame):
        contrast = contrast_sets(contrast)
    if not isinstance(contrast, Mapping) or set(contrast) != set(SETS):
        raise ValueError(f"a contrast must be a frame from read_contrasts or a mapping of {', '.join(SETS)} to words")
    return [contrast[name] for name in SETS]


def check_keyed(vectors: KeyedVectors) -> None:
    """Raise ValueError if vectors are not gensim's."""
    from gensim.models import KeyedVectors

    if not isinstance(vectors, KeyedVectors):
        raise ValueError(f"vectors must be gensim KeyedVectors, not {type(vectors).__name__}")
