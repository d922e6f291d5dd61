"""Hard and soft debiasing: remove a gender direction from word vectors.

Bolukbasi, Chang, Zou, Saligrama & Kalai (2016), "Man is to Computer Programmer as Woman is to Homemaker? Debiasing
Word Embeddings", NeurIPS 29.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from biaslib._checks import as_words, check_choice, check_number
from biaslib.embeddings._cosines import unit_or_zero_rows
from biaslib.embeddings._soft_transform import soft_transform
from biaslib.embeddings._words import check_keyed, vector_of
from biaslib.io.word_lists import check_pairs

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

    from biaslib.embeddings._words import WordVectors

TERMS = ("sum", "mean")
# Rows worked on at once in float64 (of 300 numbers: 120 MB).
_ROWS_AT_ONCE = 50_000
# What is left of a unit vector below this is float32 rounding.
_NOTHING_LEFT = 1e-6


def gender_direction(vectors: WordVectors, pairs: Sequence[tuple[str, str]], *, unit: bool = True) -> np.ndarray:
    """Compute the direction along which the words of each pair differ.

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors or mapping of str to array
    pairs : sequence of (str, str)
        Defining pairs, such as ("she", "he").
    unit : bool
        Whether to scale the vectors to unit length first.

    Returns
    -------
    numpy.ndarray of float64, shape (d,)
        Of unit length: the first principal component of the words, each pair centred on its own mean. It points to the
        first words of the pairs.

    Raises
    ------
    ValueError
        If no pair is usable, or the words of no pair differ.

    Warns
    -----
    UserWarning
        If pairs are left out because a word has no vector, or one of zeros; names them.

    Examples
    --------
    >>> vectors = {"she": [1, 0.2, 0], "he": [-1, 0.1, 0], "woman": [1.1, -0.3, 0.1], "man": [-1, 0.1, 0.1],
    ...            "her": [0.9, 0.1, -0.2], "his": [-1, -0.2, -0.2]}
    >>> pairs = [("she", "he"), ("woman", "man"), ("her", "his")]
    >>> gender_direction(vectors, pairs).round(5).tolist()
    [0.99996, 0.00594, -0.00591]
    """
    direction, _, skipped = _direction(vectors, check_pairs("pairs", pairs), unit)
    if skipped:
        named = ", ".join("/".join(pair) for pair in skipped)
        warnings.warn(f"pairs left out because a word has no vector: {named}", stacklevel=2)
    return direction


def hard_debias(
    vectors: KeyedVectors,
    *,
    pairs: Sequence[tuple[str, str]],
    specific: Sequence[str],
    equalize: Sequence[tuple[str, str]],
) -> KeyedVectors:
    """Neutralise all but the gender-specific words, and equalise pairs (Bolukbasi et al. 2016).

    Vectors are scaled to unit length. Those of all words but the specific ones lose their component along the gender
    direction and are scaled again. Then the words of each pair to equalise become mirror images: they share their mean
    without that component, and have equal and opposite components along the direction.

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors
        Left unchanged.
    pairs : sequence of (str, str)
        Defining pairs, see `gender_direction`.
    specific : sequence of str
        Words that keep their gender, as spelled.
    equalize : sequence of (str, str)
        Each pair is equalised in lower, Title and UPPER case if the vocabulary has both words.

    Returns
    -------
    gensim.models.KeyedVectors
        Unit vectors in the precision of `vectors`; zero vectors stay zero. The attribute ``debiasing`` is a dict:
        ``method``, ``direction``, ``explained`` (share of the pairs' variance along it), ``skipped`` (by list, the
        words and pairs that the vocabulary lacks or that do not differ along the direction), ``n_neutralised``,
        ``n_equalised`` (pairs), ``left_nothing`` (words that had nothing but gender and are now zero),
        ``neutral_bias_before`` and ``neutral_bias_after`` (mean absolute cosine of the neutralised words with the
        direction).

    Raises
    ------
    ValueError
        If no defining pair is usable, or a list does not consist of words or pairs.

    Examples
    --------
    >>> from gensim.models import KeyedVectors
    >>> vectors = KeyedVectors(2)
    >>> vectors.add_vectors(["she", "he", "nurse"], np.array([[1.0, 1.0], [-1.0, 1.0], [0.6, 0.8]]))
    >>> fair = hard_debias(vectors, pairs=[("she", "he")], specific=["she", "he"], equalize=[("she", "he")])
    >>> round(float(vectors["nurse"][0]), 6), round(abs(float(fair["nurse"][0])), 6)
    (0.6, 0.0)
    """
    check_keyed(vectors)
    equalize = check_pairs("equalize", equalize)
    direction, explained, skipped_pairs = _direction(vectors, check_pairs("pairs", pairs), unit=True)
    neutral, skipped_specific = _neutral_words(vectors, specific)
    # Which word of a pair is on which side must be read before both may be neutralised.
    forms, skipped_equalize = _pair_forms(vectors, equalize, direction)

    def neutralise(unit, is_neutral):
        rest = unit - np.outer(np.where(is_neutral, unit @ direction, 0), direction)
        rest[is_neutral & (np.linalg.norm(rest, axis=1) <= _NOTHING_LEFT)] = 0
        return rest

    rows, vanished, biases = _change_rows(vectors, neutral, neutralise, direction, direction)
    for first, second, sign in forms:
        rows[first], rows[second] = _equalised(rows[first], rows[second], direction, sign)
    return _with_rows(
        vectors,
        rows,
        method="hard",
        direction=direction,
        explained=explained,
        skipped={"pairs": skipped_pairs, "specific": skipped_specific, "equalize": skipped_equalize},
        n_neutralised=int(neutral.sum()),
        n_equalised=len(forms),
        left_nothing=vanished,
        **biases,
    )


def soft_debias(
    vectors: KeyedVectors,
    *,
    pairs: Sequence[tuple[str, str]],
    specific: Sequence[str],
    lambda_: float = 0.2,
    terms: str = "sum",
) -> KeyedVectors:
    r"""Transform vectors so that neutral words lose gender while inner products change little.

    With W all vectors (columns, unit length), N those of the words that are not gender-specific and B the gender
    direction, the linear transform T of Bolukbasi et al. (2016) minimises

    .. math:: \|(TW)^\top (TW) - W^\top W\|_F^2 + \lambda \|(TN)^\top (TB)\|_F^2

    and the transformed vectors are scaled to unit length.

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors
        Left unchanged.
    pairs, specific
        As in `hard_debias`.
    lambda_ : float
        Weight of the second term; 0.2 is the paper's.
    terms : {"sum", "mean"}
        ``"sum"`` is the paper's formula. Its first term has as many summands as there are pairs of words, its second
        only as many as there are words: the larger the vocabulary, the less a given λ does. ``"mean"`` divides each
        term by the number of its summands.

    Returns
    -------
    gensim.models.KeyedVectors
        As from `hard_debias`. Its ``debiasing`` has ``method``, ``direction``, ``explained``, ``skipped``,
        ``lambda_``, ``terms``, ``transform`` (T, symmetric), ``n_neutral``, and ``neutral_bias_before`` and
        ``neutral_bias_after``: mean absolute cosine of the neutral words with the direction, and with the transformed
        direction.

    Raises
    ------
    ValueError
        If no defining pair is usable, `lambda_` is negative, or `terms` is unknown.

    Notes
    -----
    Only TᵀT matters, in which both terms are convex quadratics: with the gradient set to zero, it follows from a linear
    system with as many equations as there are dimensions. If that solution is not positive semidefinite (few neutral
    words), T is found by L-BFGS.

    Examples
    --------
    >>> from gensim.models import KeyedVectors
    >>> vectors = KeyedVectors(2)
    >>> vectors.add_vectors(["she", "he", "nurse"], np.array([[1.0, 1.0], [-1.0, 1.0], [0.6, 0.8]]))
    >>> softer = soft_debias(vectors, pairs=[("she", "he")], specific=["she", "he"], lambda_=10)
    >>> bool(0 < softer["nurse"][0] < vectors["nurse"][0])
    True
    """
    check_keyed(vectors)
    check_number(lambda_, "lambda_", least=0)
    check_choice(terms, "terms", TERMS)
    direction, explained, skipped_pairs = _direction(vectors, check_pairs("pairs", pairs), unit=True)
    neutral, skipped_specific = _neutral_words(vectors, specific)
    of_all = sum(unit.T @ unit for unit in (unit_or_zero_rows(vectors.vectors[part]) for part in _parts(len(neutral))))
    gendered = unit_or_zero_rows(vectors.vectors[~neutral])
    # Dividing both terms by the number of word pairs leaves this ratio.
    weight = lambda_ * len(neutral) ** 2 / max(1, neutral.sum()) if terms == "mean" else lambda_
    transform = soft_transform(of_all, of_all - gendered.T @ gendered, direction, float(weight))
    turned = transform @ direction
    turned = turned / (np.linalg.norm(turned) or 1.0)
    rows, _, biases = _change_rows(vectors, neutral, lambda unit, _: unit @ transform, direction, turned)
    return _with_rows(
        vectors,
        rows,
        method="soft",
        direction=direction,
        explained=explained,
        skipped={"pairs": skipped_pairs, "specific": skipped_specific},
        lambda_=lambda_,
        terms=terms,
        transform=transform,
        n_neutral=int(neutral.sum()),
        **biases,
    )


def _direction(vectors, pairs, unit):
    """Return the direction, the share of the pairs' variance along it, and the pairs left out."""
    differences, skipped, size = [], [], 0.0
    for pair in pairs:
        first, second = (vector_of(vectors, word) for word in pair)
        if first is None or second is None:
            skipped.append(tuple(pair))
            continue
        if unit:
            first, second = first / np.linalg.norm(first), second / np.linalg.norm(second)
        size = max(size, np.abs(first).max(), np.abs(second).max())
        # Centred on the pair's mean, its words are plus and minus half of this.
        differences.append(first - second)
    if not differences:
        raise ValueError("no defining pair is usable: in each, a word has no vector")
    _, spread, components = np.linalg.svd(np.array(differences), full_matrices=False)
    if spread[0] <= _NOTHING_LEFT * size:
        raise ValueError("no defining pair is usable: in each, both words have the same vector")
    direction = components[0]
    if np.sum(differences @ direction) < 0:
        direction = -direction
    return direction, float(spread[0] ** 2 / np.sum(spread**2)), skipped


def _pair_forms(vectors, equalize, direction):
    """Return (row, row, sign) of each pair in each case that the vocabulary has, and the pairs left out."""
    forms, skipped, taken = [], [], set()
    for pair in equalize:
        usable = False
        for cased in (str.lower, str.title, str.upper):
            first, second = (cased(word) for word in pair)
            vectors_of_pair = [vector_of(vectors, word) for word in (first, second)]
            # A word can mirror one other only: of two pairs that share it, the first counts.
            if any(vector is None for vector in vectors_of_pair) or taken & {first, second}:
                continue
            along = [vector @ direction / np.linalg.norm(vector) for vector in vectors_of_pair]
            if abs(along[0] - along[1]) <= _NOTHING_LEFT:
                continue
            usable = True
            taken |= {first, second}
            sign = 1.0 if along[0] > along[1] else -1.0
            forms.append((vectors.key_to_index[first], vectors.key_to_index[second], sign))
        if not usable:
            skipped.append(tuple(pair))
    return forms, skipped


def _equalised(first, second, direction, sign):
    mean = (first.astype(np.float64) + second) / 2
    shared = mean - (mean @ direction) * direction
    height = sign * math.sqrt(max(0.0, 1 - shared @ shared))
    return unit_or_zero_rows(np.array([shared + height * direction, shared - height * direction]))


def _neutral_words(vectors, specific):
    """Mark the rows of all words but the specific ones, and list the specific words without a vector."""
    specific = dict.fromkeys(as_words(specific, "specific", ValueError))
    neutral = np.ones(len(vectors.vectors), dtype=bool)
    neutral[[vectors.key_to_index[word] for word in specific if word in vectors.key_to_index]] = False
    return neutral, [word for word in specific if word not in vectors.key_to_index]


def _change_rows(vectors, neutral, change, direction, turned):
    """Apply `change` to the unit vectors, part by part.

    Return the new unit vectors, the words whose vector has become zero, and the neutral words' mean absolute cosine
    with the direction before and with the turned one after.
    """
    rows = np.empty_like(vectors.vectors, subok=False)
    vanished, before, after = [], [], []
    for part in _parts(len(rows)):
        given = unit_or_zero_rows(vectors.vectors[part])
        changed = unit_or_zero_rows(change(given, neutral[part]))
        rows[part] = changed
        lost = given.any(axis=1) & ~changed.any(axis=1)
        vanished += [vectors.index_to_key[part.start + i] for i in np.flatnonzero(lost)]
        before.append(np.abs(given[neutral[part]] @ direction))
        after.append(np.abs(changed[neutral[part]] @ turned))
    return rows, vanished, {"neutral_bias_before": _mean(before), "neutral_bias_after": _mean(after)}


def _parts(n):
    return [slice(start, min(start + _ROWS_AT_ONCE, n)) for start in range(0, n, _ROWS_AT_ONCE)]


def _mean(parts):
    values = np.concatenate(parts)
    return float(values.mean()) if values.size else math.nan


def _with_rows(vectors, rows, **debiasing):
    """Make KeyedVectors of the same words, in the same order and with the same counts."""
    from gensim.models import KeyedVectors

    made = KeyedVectors(vectors.vector_size, dtype=rows.dtype)
    made.index_to_key, made.key_to_index = list(vectors.index_to_key), dict(vectors.key_to_index)
    made.vectors, made.next_index = rows, len(rows)
    made.expandos = {name: values.copy() for name, values in vectors.expandos.items()}
    made.debiasing = debiasing
    return made
