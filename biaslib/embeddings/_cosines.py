"""Cosines of words with words and with sets of words."""

import math

import numpy as np

ASSOCIATIONS = ("mean_cosine", "centroid")
# Associations and sums closer than this share of their size are equal: the rest is rounding.
EQUAL = 1e-12


def difference_of_cosines(targets: np.ndarray, a: np.ndarray, b: np.ndarray, association: str) -> np.ndarray:
    """Compute s(w, A, B) for each target; NaN if a centroid is zero."""
    targets = unit_rows(targets)
    return _cosines_with_set(targets, a, association) - _cosines_with_set(targets, b, association)


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Scale rows, none of them zero, to unit length."""
    # Scaled first, so that squares neither overflow nor vanish.
    rows = rows / np.abs(rows).max(axis=1, keepdims=True)
    return rows / np.sqrt((rows * rows).sum(axis=1, keepdims=True))


def unit_or_zero_rows(rows: np.ndarray) -> np.ndarray:
    """Scale rows to unit length in float64; rows that are zero or not finite become zero."""
    rows = np.asarray(rows, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=(lengths > 0) & np.isfinite(lengths))


def dot_products(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Multiply each row by each column vector, such that a product does not depend on its place."""
    # In a matrix product its last digit does, and then exchanging two sets would not negate d exactly.
    return np.einsum("id,jd->ij", rows, columns, optimize=False)


def _cosines_with_set(targets, attributes, association):
    if association == "mean_cosine":
        cosines = dot_products(targets, unit_rows(attributes)).tolist()
        return np.array([math.fsum(row) / len(row) for row in cosines])
    centroid = _centroid(attributes)
    return dot_products(targets, unit_rows(centroid))[:, 0] if centroid.any() else np.full(len(targets), np.nan)


def _centroid(rows):
    centroid = rows.mean(axis=0, keepdims=True)
    return np.where(np.abs(centroid) > EQUAL * np.abs(rows).max(), centroid, 0.0)
