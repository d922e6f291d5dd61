"""Effect sizes and permutation tests of associations."""

import math
from functools import lru_cache
from itertools import chain, combinations, islice

import numpy as np

# Associations and sums closer than this share of their size are equal: the rest is rounding.
EQUAL = 1e-12
# Numbers held at once while partitions are summed (float64: 16 MB).
_NUMBERS_AT_ONCE = 2_000_000
# Partitions of a size that comes up again and again (40 contrasts of 8 + 8 words) are listed once.
_PARTITIONS_KEPT = 200_000


def counts(found):
    by_set = {
        field: {name: getattr(of_set, field) for name, of_set in found.items() if getattr(of_set, field)}
        for field in ("missing", "duplicates", "lowered")
    }
    return {f"n_{name.lower()}": len(of_set.words) for name, of_set in found.items()} | by_set


def effect_size(s_x, s_y, ddof):
    # Sums that do not depend on order: exchanging X and Y, or A and B, negates d to the last digit.
    pooled = [*s_x, *s_y]
    mean = math.fsum(pooled) / len(pooled)
    variance = math.fsum((value - mean) ** 2 for value in pooled) / (len(pooled) - ddof)
    return float((math.fsum(s_x) / len(s_x) - math.fsum(s_y) / len(s_y)) / math.sqrt(variance))


def permuted(s_x, s_y, options):
    """Give p value, number of partitions, whether these are all, and the least p value."""
    # Centred associations sum to 0, so the sum over X alone orders the partitions as S does.
    pooled = np.concatenate([s_x, s_y])
    pooled = pooled - math.fsum(pooled) / pooled.size
    drawn = min(len(s_x), len(s_y))
    sign = 1 if len(s_x) == drawn else -1
    sign = -sign if options["alternative"] == "less" else sign
    measure = np.abs if options["alternative"] == "two-sided" else lambda sums: sign * sums
    margin = EQUAL * np.abs(pooled).sum()
    observed = measure(math.fsum(pooled[: len(s_x)] if len(s_x) == drawn else pooled[len(s_x) :]))
    strict = options["ties"] == "greater"
    least = observed + margin if strict else observed - margin
    n_partitions = math.comb(pooled.size, drawn)
    exact = n_partitions <= options["max_exact"]
    sums = _all_sums(pooled, drawn) if exact else _sampled_sums(pooled, drawn, options["n_samples"], options["seed"])
    extreme = sum(int(np.count_nonzero(measure(part) > least if strict else measure(part) >= least)) for part in sums)
    if not exact:
        n = int(options["n_samples"])
        return {"p_value": (extreme + 1) / (n + 1), "n_permutations": n, "exact": False, "smallest_p": 1 / (n + 1)}
    # Exchanging X and Y whole leaves |S| as it is.
    twins = 2 if options["alternative"] == "two-sided" and len(s_x) == len(s_y) else 1
    smallest = 0.0 if strict else twins / n_partitions
    return {
        "p_value": extreme / n_partitions,
        "n_permutations": n_partitions,
        "exact": True,
        "smallest_p": smallest,
    }


def _all_sums(values, k):
    for subsets in _subsets(values.size, k):
        yield values[subsets].sum(axis=1)


def _subsets(n, k):
    rows = max(1, _NUMBERS_AT_ONCE // k)
    if math.comb(n, k) <= _PARTITIONS_KEPT:
        subsets = _listed(n, k)
        yield from (subsets[start : start + rows] for start in range(0, len(subsets), rows))
        return
    remaining = combinations(range(n), k)
    while (block := np.fromiter(chain.from_iterable(islice(remaining, rows)), dtype=np.intp)).size:
        yield block.reshape(-1, k)


@lru_cache(maxsize=8)
def _listed(n, k):
    flat = np.fromiter(chain.from_iterable(combinations(range(n), k)), dtype=np.uint32, count=k * math.comb(n, k))
    return flat.reshape(-1, k)


def _sampled_sums(values, k, n_samples, seed):
    rng = np.random.default_rng(seed)
    rows = max(1, _NUMBERS_AT_ONCE // values.size)
    for start in range(0, n_samples, rows):
        dealt = np.tile(values, (min(rows, n_samples - start), 1))
        yield rng.permuted(dealt, axis=1, out=dealt)[:, :k].sum(axis=1)
