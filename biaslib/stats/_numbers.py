"""Checks of samples, and differences of pairs."""

import numpy as np

# A difference below this share of the larger value is rounding, not a difference.
_ZERO_DIFFERENCE = 1e-12


def as_pairs(x, y):
    """Return two samples of one length as arrays of finite numbers."""
    x, y = as_numbers(x, "x"), as_numbers(y, "y")
    if x.size != y.size:
        raise ValueError(f"x and y must have the same length, not {x.size} and {y.size}")
    return x, y


def paired_differences(x, y):
    """Return x - y, with differences that are only rounding set to 0."""
    difference = x - y
    zero = np.abs(difference) <= _ZERO_DIFFERENCE * np.maximum(np.abs(x), np.abs(y))
    return np.where(zero, 0.0, difference)


def sum_positive_ranks(difference):
    """Return the sum of the ranks of the positive differences and the number of nonzero ones, along the last axis."""
    from scipy import stats

    n = np.count_nonzero(difference, axis=-1)
    # Zeros have the lowest ranks of all: without them every other rank is lower by their number.
    ranks = stats.rankdata(np.abs(difference), axis=-1) - (difference.shape[-1] - n)[..., None]
    return np.where(difference > 0, ranks, 0.0).sum(axis=-1), n


def as_numbers(values, what):
    """Return a sample as an array of finite numbers."""
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"{what} must be a one-dimensional, non-empty array, not one of shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"{what} must not contain NaN or infinite values; leave such observations out")
    return values
