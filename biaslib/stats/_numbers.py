"""Numbers, pairs and their differences, as the tests take them."""

import numpy as np

# A difference below this share of the larger value is rounding, not a difference.
_ZERO_DIFFERENCE = 1e-12


def as_pairs(x, y):
    x, y = as_numbers(x, "x"), as_numbers(y, "y")
    if x.size != y.size:
        raise ValueError(f"x and y are pairs but differ in length: {x.size} and {y.size}")
    return x, y


def paired_differences(x, y):
    """Subtract pairs; what is only rounding becomes 0."""
    difference = x - y
    zero = np.abs(difference) <= _ZERO_DIFFERENCE * np.maximum(np.abs(x), np.abs(y))
    return np.where(zero, 0.0, difference)


def sum_positive_ranks(difference):
    """Give the sum of the ranks of the positive differences, and how many differ from 0, along the last axis."""
    from scipy import stats

    n = np.count_nonzero(difference, axis=-1)
    # Zeros have the lowest ranks of all: without them every other rank is lower by their number.
    ranks = stats.rankdata(np.abs(difference), axis=-1) - (difference.shape[-1] - n)[..., None]
    return np.where(difference > 0, ranks, 0.0).sum(axis=-1), n


def as_numbers(values, what):
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"{what} has to be one row of numbers, at least one, not of shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"{what} holds NaN or an infinite number: leave such observations out")
    return values
