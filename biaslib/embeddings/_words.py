"""Words of sets, looked up in vectors."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from biaslib.io.word_sets import SETS, check_shared, contrast_sets

ASSOCIATIONS = ("mean_cosine", "centroid")
ALTERNATIVES = ("greater", "less", "two-sided")
TIES = ("greater_equal", "greater")
CASES = ("as_is", "as_is_or_lower")


class _Found(NamedTuple):
    words: tuple
    vectors: np.ndarray
    missing: tuple
    duplicates: tuple
    lowered: tuple


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


def check_options(
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
    check_choice("association", association, ASSOCIATIONS)
    check_choice("alternative", alternative, ALTERNATIVES)
    check_choice("ties", ties, TIES)
    check_choice("case", case, CASES)
    check_number_of("max_exact", max_exact, least=0)
    check_number_of("n_samples", n_samples)
    if isinstance(max_missing, bool) or not 0 <= max_missing <= 1:
        raise ValueError(f"max_missing has to lie between 0 and 1, not {max_missing!r}")
    return given


def find_sets(vectors, sets, case):
    """Look up the words of X, Y, A and B."""
    sets = {name: check_words(name, words) for name, words in zip(SETS, sets, strict=True)}
    check_shared(sets, case)
    return {name: look_up(vectors, words, case) for name, words in sets.items()}


def look_up(vectors, words, case):
    entries, missing, duplicates, lowered = {}, {}, [], []
    for word in words:
        entry, vector = find_entry(vectors, word, case)
        if (word in missing) if vector is None else (entry in entries):
            duplicates.append(word)
        elif vector is None:
            missing[word] = None
        else:
            entries[entry] = (word, vector)
            if entry != word:
                lowered.append(word)
    words = tuple(word for word, _ in entries.values())
    found = stack_vectors([vector for _, vector in entries.values()]) if entries else np.empty((0, 0))
    return _Found(words, found, tuple(missing), tuple(duplicates), tuple(lowered))


def find_entry(vectors, word, case):
    for spelling in (word, word.lower()) if case == "as_is_or_lower" else (word,):
        vector = vector_of(vectors, spelling)
        if vector is not None:
            return spelling, vector
    return word, None


def stack_vectors(rows):
    if len({row.shape for row in rows}) > 1 or rows[0].ndim != 1:
        raise ValueError("the vectors have to be rows of numbers of one length")
    return np.stack(rows)


def unit_rows(rows):
    # Scaled first, so that squares neither overflow nor vanish.
    rows = rows / np.abs(rows).max(axis=1, keepdims=True)
    return rows / np.sqrt((rows * rows).sum(axis=1, keepdims=True))


def dot_products(rows, columns):
    # Not a matrix product: there the last digit of an entry depends on its place, and exchanging two sets
    # would not negate d exactly.
    return np.einsum("id,jd->ij", rows, columns, optimize=False)


def four_sets(contrast):
    if isinstance(contrast, pd.DataFrame):
        contrast = contrast_sets(contrast)
    if not isinstance(contrast, Mapping) or set(contrast) != set(SETS):
        raise ValueError(f"a contrast has to be a frame of read_contrasts or map {', '.join(SETS)} to words")
    return [contrast[name] for name in SETS]


def check_words(name, words):
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise ValueError(f"{name} has to be a list of words, not {words!r}")
    words = list(words)
    if not words:
        raise ValueError(f"{name} has no words")
    for word in words:
        if not isinstance(word, str) or not word:
            raise ValueError(f"{name} has to be a list of words, but has {word!r}")
    return words


def check_resampling(n_resamples, confidence):
    check_number_of("n_resamples", n_resamples)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence has to lie between 0 and 1, not {confidence!r}")


def check_choice(what, value, known):
    if value not in known:
        raise ValueError(f"{what} {value!r} is unknown; known: {', '.join(known)}")


def check_number_of(what, value, least=1):
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{what} has to be a whole number from {least} up, not {value!r}")
