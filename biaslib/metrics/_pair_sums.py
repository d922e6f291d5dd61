"""Sums over all pairs of male and female sentences."""

import math
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from biaslib.io.gender_words import GENDERS

WEIGHTS = ("cosine", "dot")
NO_WEIGHT = "the weights of the pairs add up to no positive number"
# Sentences whose pairs are compared one by one; between blocks sums are enough.
_BLOCK = 256
# Similarities held at once (float32: 40 MB).
_PAIRS_AT_ONCE = 10_000_000
# Multiplications up to which similarities are computed in float64.
_EXACT_BELOW = 2**31
# A float32 similarity this near the threshold is computed again in float64; below the second size it is rounding.
_NEAR, _EQUAL = 1e-6, 1e-12
_DIMENSIONS_AT_ONCE = 64


@dataclass(frozen=True)
class Mbe:
    """Result of `mbe_score`.

    Attributes
    ----------
    score : float
        Per cent of the weight that lies on pairs whose male sentence is preferred; NaN where there is none, see
        `reason`. 50 is no preference, above it the male sentences are preferred.
    n_male, n_female : int
        Sentences compared.
    n_pairs : int
        Pairs compared.
    ties : int
        Pairs of equal likelihood, which count as not preferring the male sentence.
    weight : str
    min_similarity : float
        NaN where there was no threshold.
    mean_weight : float
        Over the pairs compared.
    left_out : dict of str to int
        Sentences without a usable score or vector, by gender and reason.
    reason : str
        Why there is no score; empty where there is one.
    """

    score: float
    n_male: int
    n_female: int
    n_pairs: int
    ties: int
    weight: str
    min_similarity: float
    mean_weight: float
    left_out: dict
    reason: str = ""

    @property
    def n_left_out(self):
        """Count the sentences left out of both genders."""
        return sum(self.left_out.values())

    def to_frame(self):
        """Give the fields as a frame of one row; what was left out becomes text and a count."""
        left_out = "; ".join(f"{what}: {n}" for what, n in self.left_out.items())
        return pd.DataFrame([asdict(self) | {"left_out": left_out, "n_left_out": self.n_left_out}])


class _Side(NamedTuple):
    """The usable sentences of one gender: their scores, vectors, the vectors' norms, and places among those given."""

    scores: np.ndarray
    vectors: np.ndarray
    norms: np.ndarray
    places: np.ndarray


class _Pairing(NamedTuple):
    male: _Side
    female: _Side
    weight: str
    left_out: dict


def pair_sides(male_scores, female_scores, male_vectors, female_vectors, weight):
    if weight not in WEIGHTS:
        raise ValueError(f"weight {weight!r} is unknown; known: {', '.join(WEIGHTS)}")
    left_out: dict = {}
    sides = [
        _side(gender, scores, vectors, left_out)
        for gender, scores, vectors in zip(
            GENDERS, (male_scores, female_scores), (male_vectors, female_vectors), strict=True
        )
    ]
    wide = [side.vectors.shape[1] for side in sides if len(side.vectors)] or [0]
    if len(set(wide)) > 1:
        raise ValueError(f"male and female vectors have {wide[0]} and {wide[1]} dimensions: take one model's")
    sides = [side if len(side.vectors) else side._replace(vectors=np.zeros((0, wide[0]))) for side in sides]
    return _Pairing(*sides, weight, left_out)


def _side(gender, scores, vectors, left_out):
    scores, vectors = np.asarray(scores, dtype=np.float64), np.asarray(vectors)
    vectors = vectors if vectors.dtype == np.float32 else vectors.astype(np.float64)
    if scores.size == vectors.size == 0:
        vectors = vectors.reshape(0, vectors.shape[1] if vectors.ndim == 2 else 0)
    if scores.ndim != 1 or vectors.ndim != 2 or len(scores) != len(vectors):
        raise ValueError(
            f"{gender}_scores need one row of numbers and {gender}_vectors a row for each, "
            f"not shapes {scores.shape} and {vectors.shape}"
        )
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    why = np.select(
        [~np.isfinite(scores), ~np.isfinite(norms), norms == 0], ["no score", "no vector", "zero vector"], ""
    )
    for reason in ("no score", "no vector", "zero vector"):
        if count := int((why == reason).sum()):
            left_out[f"{gender}: {reason}"] = count
    places = np.flatnonzero(why == "")
    if len(places) < len(scores):
        scores, vectors, norms = scores[places], vectors[places], norms[places]
    return _Side(scores, vectors, norms, places)


def per_cent(preferred, total, largest):
    """Give shares; none where weights that could add up to `largest` cancel out, or more than that."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > _EQUAL * largest, 100 * (preferred / total), np.nan)


def largest_total(*sides, weight):
    """Bound the sum of the weights of all pairs of some sentences."""
    return math.prod(len(side.norms) if weight == "cosine" else float(side.norms.sum()) for side in sides)


def ranks(pairing):
    """Count for each male sentence the female ones below it, and those below or equal."""
    female = np.sort(pairing.female.scores)
    return (np.searchsorted(female, pairing.male.scores, side=side) for side in ("left", "right"))


def result(pairing, preferred, total, n_pairs, ties, threshold):
    n_male, n_female = len(pairing.male.scores), len(pairing.female.scores)
    largest = largest_total(pairing.male, pairing.female, weight=pairing.weight)
    score = float(per_cent(preferred, total, largest))
    lacking = [gender for gender, n in zip(GENDERS, (n_male, n_female), strict=True) if n == 0]
    reason = ""
    if lacking:
        reason = f"there is no {' and no '.join(lacking)} sentence with a score"
    elif n_pairs == 0:
        reason = "no pair is as similar as that"
    elif math.isnan(score):
        reason = NO_WEIGHT
    return Mbe(
        score=score,
        n_male=n_male,
        n_female=n_female,
        n_pairs=int(n_pairs),
        ties=int(ties),
        weight=pairing.weight,
        min_similarity=threshold,
        mean_weight=float(total / n_pairs) if n_pairs else math.nan,
        left_out=pairing.left_out,
        reason=reason,
    )


def above(pairing, thresholds):
    times = [np.ones((1, len(side.scores))) for side in (pairing.male, pairing.female)]
    preferred, total, n_pairs, ties = sum_weights_above(pairing, thresholds, *times)
    return [
        result(pairing, preferred[n, 0], total[n, 0], n_pairs[n], ties[n], threshold)
        for n, threshold in enumerate(thresholds)
    ]


def _weighted(pairing, side, rows=slice(None), columns=slice(None)):
    """Give vectors such that the weight of a pair is a dot product, in float64."""
    vectors = side.vectors[rows][:, columns].astype(np.float64)
    return vectors / side.norms[rows, None] if pairing.weight == "cosine" else vectors


def sum_weights(pairing, male_times, female_times):
    """Add up the weights of pairs, all and those whose male sentence is preferred.

    `male_times` and `female_times`, of shapes (draws, n) and (draws, m), say how often each sentence counts in each
    draw. All sentences are gone through from the least likely up, in blocks: against earlier blocks a sum of vectors
    stands for all the sentences in it, and only within a block pairs are looked at.
    """
    male, female = pairing.male, pairing.female
    n_male, n_draws = len(male.scores), len(male_times)
    is_female = np.arange(n_male + len(female.scores)) >= n_male
    # At equal scores male ones come first, so that no female one of that score is below them.
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


def sum_weights_above(pairing, thresholds, male_times, female_times):
    """Add up weights as `_sums` does, of pairs at least as similar as each threshold, and count pairs and ties."""
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
    # The same memory for every block: getting it anew would take longer than filling it.
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
    return _Side(*(part[order] for part in side))


def _unit(side, dtype):
    return (side.vectors / side.norms[:, None].astype(dtype)).astype(dtype, copy=False)


def _similar(cosines, threshold, male, female, exact):
    """Tell which pairs reach the threshold, deciding close calls in float64."""
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


def sentence_shares(pairing):
    """Give each sentence's own score, over its pairs alone, for male and for female sentences."""
    male, female = pairing.male, pairing.female
    below, _ = ranks(pairing)
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
    """Sum up rows: the n-th is the sum of the first n, from none to all."""
    return np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors, axis=0)])
