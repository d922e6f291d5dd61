"""Sums of weights over all pairs of male and female sentences."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from biaslib._checks import check_choice
from biaslib.io.gender_words import GENDERS

WEIGHTS = ("cosine", "dot")
# Sentences whose pairs are compared one by one; between blocks, sums are enough.
_BLOCK = 256
# Similarities held at once (float32: 40 MB).
_PAIRS_AT_ONCE = 10_000_000
# Number of multiplications up to which similarities are computed in float64.
_EXACT_BELOW = 2**31
# A float32 similarity this close to the threshold is computed again in float64, whose rounding is below the second.
_NEAR, _EQUAL = 1e-6, 1e-12
_DIMENSIONS_AT_ONCE = 64
# Why a sentence is left out.
_REASONS = ("no score", "no vector", "zero vector")


class Side(NamedTuple):
    """The usable sentences of one gender: scores, vectors, the vectors' norms, and places among those given."""

    scores: np.ndarray
    vectors: np.ndarray
    norms: np.ndarray
    places: np.ndarray


class Pairing(NamedTuple):
    """Both sides, the weight of their pairs, and how many sentences were left out and why."""

    male: Side
    female: Side
    weight: str
    left_out: dict[str, int]


def pair_sides(
    male_scores: ArrayLike, female_scores: ArrayLike, male_vectors: ArrayLike, female_vectors: ArrayLike, weight: str
) -> Pairing:
    """Check what is given, and leave out sentences without a usable score or vector."""
    check_choice(weight, "weight", WEIGHTS)
    left_out: dict[str, int] = {}
    given = zip(GENDERS, (male_scores, female_scores), (male_vectors, female_vectors), strict=True)
    sides = [_side(gender, scores, vectors, left_out) for gender, scores, vectors in given]
    n_dimensions = [side.vectors.shape[1] for side in sides if len(side.vectors)] or [0]
    if len(set(n_dimensions)) > 1:
        male, female = n_dimensions
        raise ValueError(f"male vectors have {male} and female ones {female} dimensions; take those of one model")
    empty = np.zeros((0, n_dimensions[0]))
    return Pairing(*(side if len(side.vectors) else side._replace(vectors=empty) for side in sides), weight, left_out)


def _side(gender, scores, vectors, left_out):
    scores, vectors = np.asarray(scores, dtype=np.float64), np.asarray(vectors)
    vectors = vectors if vectors.dtype == np.float32 else vectors.astype(np.float64)
    if scores.size == vectors.size == 0:
        vectors = vectors.reshape(0, vectors.shape[1] if vectors.ndim == 2 else 0)
    if scores.ndim != 1 or vectors.ndim != 2 or len(scores) != len(vectors):
        raise ValueError(
            f"{gender}_scores must have shape (n,) and {gender}_vectors (n, d), not {scores.shape} and {vectors.shape}"
        )
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    why = np.select([~np.isfinite(scores), ~np.isfinite(norms), norms == 0], _REASONS, "")
    for reason in _REASONS:
        if count := int((why == reason).sum()):
            left_out[f"{gender}: {reason}"] = count
    places = np.flatnonzero(why == "")
    if len(places) < len(scores):
        scores, vectors, norms = scores[places], vectors[places], norms[places]
    return Side(scores, vectors, norms, places)


def per_cent(preferred: np.ndarray, total: np.ndarray, largest: float | np.ndarray) -> np.ndarray:
    """Compute shares; NaN where weights that could add up to `largest` cancel out or are negative in sum."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > _EQUAL * largest, 100 * (preferred / total), np.nan)


def largest_total(*sides: Side, weight: str) -> float:
    """Bound the sum of the weights of all pairs of these sides' sentences."""
    return math.prod(len(side.norms) if weight == "cosine" else float(side.norms.sum()) for side in sides)


def count_below(pairing: Pairing) -> tuple[np.ndarray, np.ndarray]:
    """Count, for each male sentence, the less likely female ones, and those that are not more likely."""
    female = np.sort(pairing.female.scores)
    return tuple(np.searchsorted(female, pairing.male.scores, side=side) for side in ("left", "right"))


def _weighted(pairing, side, rows=slice(None), columns=slice(None)):
    """Return vectors in float64 whose dot product is the weight of a pair."""
    vectors = side.vectors[rows][:, columns].astype(np.float64)
    return vectors / side.norms[rows, None] if pairing.weight == "cosine" else vectors


def sum_weights(pairing: Pairing, male_times: np.ndarray, female_times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add up the weights of the pairs whose male sentence is preferred, and of all pairs.

    `male_times` and `female_times`, of shapes (draws, n) and (draws, m), say how often each sentence counts in each
    draw. Sentences are processed in blocks, from the least likely up: a sum of vectors stands for all sentences of
    earlier blocks, so that pairs are compared only within a block.
    """
    male, female = pairing.male, pairing.female
    n_male, n_draws = len(male.scores), len(male_times)
    is_female = np.arange(n_male + len(female.scores)) >= n_male
    # At equal scores male ones come first, so that no female one of that score is before them.
    order = np.lexsort((is_female, np.concatenate([male.scores, female.scores])))
    preferred, other = np.zeros((2, n_draws))
    men_before, women_before = np.zeros((2, n_draws, male.vectors.shape[1]))
    for start in range(0, len(order), _BLOCK):
        block = order[start : start + _BLOCK]
        of_female = is_female[block]
        men, women = block[~of_female], block[of_female] - n_male
        above = np.flatnonzero(~of_female)[:, None] > np.flatnonzero(of_female)
        male_vectors, female_vectors = _weighted(pairing, male, men), _weighted(pairing, female, women)
        male_sum, female_sum = male_times[:, men] @ male_vectors, female_times[:, women] @ female_vectors
        preferred += (male_sum * women_before).sum(1)
        other += (female_sum * men_before).sum(1)
        within = male_vectors @ female_vectors.T
        preferred += ((male_times[:, men] @ (within * above)) * female_times[:, women]).sum(1)
        other += ((male_times[:, men] @ (within * ~above)) * female_times[:, women]).sum(1)
        men_before += male_sum
        women_before += female_sum
    # From the two parts, so that a preference without exception is 100 to the last digit.
    return preferred, preferred + other


def sum_weights_above(
    pairing: Pairing, thresholds: Sequence[float], male_times: np.ndarray, female_times: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Add up weights as `sum_weights` does, of pairs at least as similar as each threshold; count pairs and ties."""
    male, female = pairing.male, pairing.female
    preferred, total = np.zeros((2, len(thresholds), len(male_times)))
    n_pairs, ties = np.zeros((2, len(thresholds)), dtype=np.int64)
    if not len(male.scores) or not len(female.scores):
        return preferred, total, n_pairs, ties
    exact = len(male.scores) * len(female.scores) * male.vectors.shape[1] <= _EXACT_BELOW
    dtype = np.float64 if exact else np.float32
    men, women = (np.argsort(side.scores, kind="stable") for side in (male, female))
    male, female = _in_order(male, men), _in_order(female, women)
    male_times, female_times = male_times[:, men].astype(dtype), female_times[:, women]
    below, below_or_equal = (np.searchsorted(female.scores, male.scores, side=side) for side in ("left", "right"))
    units = [_unit(side, dtype) for side in (male, female)]
    step = max(1, _PAIRS_AT_ONCE // len(female.scores))
    # The same memory for every block: allocating it takes longer than filling it.
    buffers = np.empty((2, min(step, len(male.scores)), len(female.scores)), dtype)
    for start in range(0, len(male.scores), step):
        rows = slice(start, start + step)
        cosines, kept = buffers[:, : len(male.scores[rows])]
        np.matmul(units[0][rows], units[1].T, out=cosines)
        for n, threshold in enumerate(thresholds):
            keep = _similar(cosines, threshold, _in_order(male, rows), female, exact)
            np.multiply(cosines, keep, out=kept)
            if pairing.weight == "dot":
                kept *= male.norms[rows, None].astype(dtype)
                kept *= female.norms.astype(dtype)
            n_pairs[n] += np.count_nonzero(keep)
            total[n] += ((male_times[:, rows] @ kept) * female_times).sum(1)
            for row, (first, last) in enumerate(zip(below[rows], below_or_equal[rows], strict=True)):
                ties[n] += np.count_nonzero(keep[row, first:last])
                kept[row, first:] = 0
            preferred[n] += ((male_times[:, rows] @ kept) * female_times).sum(1)
    return preferred, total, n_pairs, ties


def _in_order(side, order):
    return Side(*(part[order] for part in side))


def _unit(side, dtype):
    return (side.vectors / side.norms[:, None].astype(dtype)).astype(dtype, copy=False)


def _similar(cosines, threshold, male, female, exact):
    """Decide which pairs reach the threshold, close calls in float64."""
    if exact:
        return cosines >= threshold - _EQUAL
    keep = cosines >= threshold + _NEAR
    at_least_near = cosines >= threshold - _NEAR
    if np.count_nonzero(keep) == np.count_nonzero(at_least_near):
        return keep
    rows, columns = np.nonzero(at_least_near ^ keep)
    for start in range(0, len(rows), _BLOCK):
        row, column = rows[start : start + _BLOCK], columns[start : start + _BLOCK]
        one, other = (
            side.vectors[places].astype(np.float64) / side.norms[places, None]
            for side, places in ((male, row), (female, column))
        )
        keep[row, column] = np.einsum("ij,ij->i", one, other) >= threshold - _EQUAL
    return keep


def sentence_shares(pairing: Pairing) -> list[np.ndarray]:
    """Compute each sentence's own score, over its pairs only, for male and for female sentences."""
    male, female = pairing.male, pairing.female
    below, _ = count_below(pairing)
    above = len(male.scores) - np.searchsorted(np.sort(male.scores), female.scores, side="right")
    rising, falling = np.argsort(female.scores, kind="stable"), np.argsort(-male.scores, kind="stable")
    preferred, total = ([np.zeros(len(side.scores)) for side in (male, female)] for _ in range(2))
    for start in range(0, male.vectors.shape[1], _DIMENSIONS_AT_ONCE):
        some = slice(start, start + _DIMENSIONS_AT_ONCE)
        ours, others = (_weighted(pairing, side, columns=some) for side in (male, female))
        preferred[0] += (ours * _running_sums(others[rising])[below]).sum(1)
        preferred[1] += (others * _running_sums(ours[falling])[above]).sum(1)
        total[0] += ours @ others.sum(0)
        total[1] += others @ ours.sum(0)
    largest = [largest_total(other, weight=pairing.weight) for other in (female, male)]
    if pairing.weight == "dot":
        largest = [of_others * side.norms for of_others, side in zip(largest, (male, female), strict=True)]
    return [per_cent(*of_side) for of_side in zip(preferred, total, largest, strict=True)]


def _running_sums(vectors):
    """Return sums of rows: of none, of the first, of the first two, and so on."""
    return np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors, axis=0)])
