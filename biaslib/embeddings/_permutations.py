"""The permutation test of associations: all partitions of the targets, or a sample of them."""

import math
from functools import lru_cache
from itertools import chain, combinations, islice

import numpy as np

from biaslib.embeddings._cosines import EQUAL
from biaslib.embeddings._options import AssociationTestOptions

# Numbers held at once while partitions are summed (float64: 16 MB).
_NUMBERS_AT_ONCE = 2_000_000
# Partitions of a size that comes up again and again (40 contrasts of 8 + 8 words) are listed once.
_PARTITIONS_KEPT = 200_000


def permutation_test(s_x: np.ndarray, s_y: np.ndarray, options: AssociationTestOptions) -> dict[str, float | bool]:
    """Return the fields ``p_value n_permutations exact smallest_p`` of `WeatResult`."""
    # Centred associations sum to 0, so the sum over the smaller set alone orders the partitions as S does.
    pooled = np.concatenate([s_x, s_y])
    pooled = pooled - math.fsum(pooled) / pooled.size
    x_is_smaller = len(s_x) <= len(s_y)
    smaller = pooled[: len(s_x)] if x_is_smaller else pooled[len(s_x) :]
    n_partitions = math.comb(pooled.size, smaller.size)
    exact = n_partitions <= options.max_exact
    if exact:
        n_looked_at, sums = n_partitions, _all_sums(pooled, smaller.size)
    else:
        n_looked_at, sums = options.n_samples, _sampled_sums(pooled, smaller.size, options.n_samples, options.seed)
    positive_is_extreme = x_is_smaller == (options.alternative == "greater")
    two_sided, strict = options.alternative == "two-sided", options.ties == "greater"

    def extremeness(sums):
        return np.abs(sums) if two_sided else sums if positive_is_extreme else -sums

    margin = EQUAL * np.abs(pooled).sum()
    least = extremeness(math.fsum(smaller)) + (margin if strict else -margin)
    at_least = np.greater if strict else np.greater_equal
    n_extreme = sum(int(np.count_nonzero(at_least(extremeness(part), least))) for part in sums)
    if exact:
        # Exchanging X and Y whole leaves |S| as it is.
        twins = 2 if two_sided and len(s_x) == len(s_y) else 1
        p_value, smallest_p = n_extreme / n_partitions, 0.0 if strict else twins / n_partitions
    else:
        p_value, smallest_p = (n_extreme + 1) / (n_looked_at + 1), 1 / (n_looked_at + 1)
    return {"p_value": p_value, "n_permutations": n_looked_at, "exact": exact, "smallest_p": smallest_p}


def _all_sums(values, k):
    """Yield the sums of all subsets of k values, in blocks."""
    for subsets in _subsets(values.size, k):
        yield values[subsets].sum(axis=1)


def _subsets(n, k):
    rows = max(1, _NUMBERS_AT_ONCE // k)
    if math.comb(n, k) <= _PARTITIONS_KEPT:
        subsets = _list_subsets(n, k)
        yield from (subsets[start : start + rows] for start in range(0, len(subsets), rows))
        return
    remaining = combinations(range(n), k)
    while (block := np.fromiter(chain.from_iterable(islice(remaining, rows)), dtype=np.intp)).size:
        yield block.reshape(-1, k)


@lru_cache(maxsize=8)
def _list_subsets(n, k):
    flat = np.fromiter(chain.from_iterable(combinations(range(n), k)), dtype=np.uint32, count=k * math.comb(n, k))
    return flat.reshape(-1, k)


def _sampled_sums(values, k, n_samples, seed):
    """Yield the sums of k values drawn without replacement, in blocks."""
    rng = np.random.default_rng(seed)
    rows = max(1, _NUMBERS_AT_ONCE // values.size)
    for start in range(0, n_samples, rows):
        dealt = np.tile(values, (min(rows, n_samples - start), 1))
        yield rng.permuted(dealt, axis=1, out=dealt)[:, :k].sum(axis=1)
