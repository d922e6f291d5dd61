"""The effect size d of an association test, and its bootstrap interval over words."""

import math

import numpy as np

from biaslib.embeddings._cosines import EQUAL, unit_rows
from biaslib.embeddings._options import AssociationTestOptions
from biaslib.embeddings._words import FoundSet
from biaslib.io.word_sets import SETS
from biaslib.stats.intervals import percentile_interval

# Small enough for a processor's cache, and for its products to be made without starting threads.
_RESAMPLED_AT_ONCE = 16_384


def effect_size(s_x: np.ndarray, s_y: np.ndarray, ddof: int) -> float:
    """Compute d from the associations of X and Y."""
    # Sums that do not depend on order: exchanging X and Y, or A and B, negates d to the last digit.
    pooled = [*s_x, *s_y]
    mean = math.fsum(pooled) / len(pooled)
    variance = math.fsum((value - mean) ** 2 for value in pooled) / (len(pooled) - ddof)
    return float((math.fsum(s_x) / len(s_x) - math.fsum(s_y) / len(s_y)) / math.sqrt(variance))


def effect_size_interval(
    found: dict[str, FoundSet], options: AssociationTestOptions, n_resamples: int, confidence: float
) -> tuple[float, float]:
    """Resample the words of all four sets; NaN if X or Y has one word only, or no resample has a d."""
    if min(len(found[name].words) for name in "XY") < 2:
        return math.nan, math.nan
    x, y, a, b = (found[name].vectors for name in SETS)
    targets = unit_rows(np.concatenate([x, y]))
    toward_a, toward_b = (_resampled_cosines(targets, rows, options.association) for rows in (a, b))
    rng = np.random.default_rng(options.seed)
    n_at_once = max(1, _RESAMPLED_AT_ONCE // max(len(targets), len(a), len(b)))
    parts = []
    for start in range(0, n_resamples, n_at_once):
        n = min(n_at_once, n_resamples - start)
        w_x, w_y, w_a, w_b = (_draw_counts(rng, len(rows), n) for rows in (x, y, a, b))
        s = toward_a(w_a) - toward_b(w_b)
        parts.append(_resampled_effect_sizes(s[:, : len(x)], s[:, len(x) :], w_x, w_y, options.ddof))
    drawn = np.concatenate(parts)
    return percentile_interval(drawn[np.isfinite(drawn)], confidence)


def _draw_counts(rng, n, n_resamples):
    """Count how often each of n words is drawn, one row per resample."""
    drawn = rng.integers(n, size=(n_resamples, n)) + n * np.arange(n_resamples)[:, None]
    return np.bincount(drawn.ravel(), minlength=n * n_resamples).reshape(n_resamples, n).astype(float)


def _resampled_cosines(targets, attributes, association):
    """Return the function from counts of the attributes to the targets' cosines, one row per resample."""
    if association == "mean_cosine":
        cosines = targets @ unit_rows(attributes).T / len(attributes)
        return lambda counts: counts @ cosines.T
    scaled = attributes / np.abs(attributes).max()
    products, gram = targets @ scaled.T, scaled @ scaled.T

    def cosines_with_centroids(counts):
        squared = ((counts @ gram) * counts).sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            return counts @ products.T / np.sqrt(np.maximum(squared, 0))

    return cosines_with_centroids


def _resampled_effect_sizes(s_x, s_y, w_x, w_y, ddof):
    """Compute d of each resample, whose words have the associations s and were drawn w times; NaN without spread."""
    n_x, n_y = s_x.shape[1], s_y.shape[1]
    mean_x, mean_y = (w_x * s_x).sum(axis=1) / n_x, (w_y * s_y).sum(axis=1) / n_y
    mean = (n_x * mean_x + n_y * mean_y) / (n_x + n_y)
    squares = (w_x * (s_x - mean[:, None]) ** 2).sum(axis=1) + (w_y * (s_y - mean[:, None]) ** 2).sum(axis=1)
    deviation = np.sqrt(squares / (n_x + n_y - ddof))
    return np.divide(mean_x - mean_y, deviation, out=np.full(len(mean), np.nan), where=deviation > EQUAL)
