"""F1 from counts, and tests between conditions."""

import math
from collections.abc import Mapping

import numpy as np

from biaslib._checks import check_count
from biaslib.stats.hypothesis_tests import holm
from biaslib.stats.intervals import bootstrap_sums

SAME = 1e-12


def divide(part, whole, nothing=0.0):
    part, whole = np.asarray(part, dtype=float), np.asarray(whole, dtype=float)
    return np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, nothing), where=whole > 0)


def precision_recall_f1(hits_precision, n_precision, hits_recall, n_recall):
    """Give these in per cent; 0 where there is nothing to divide by."""
    precision, recall = 100 * divide(hits_precision, n_precision), 100 * divide(hits_recall, n_recall)
    return precision, recall, divide(2 * precision * recall, precision + recall)


def compare_sums(both, value, options, resampled=None):
    """Compare a value of the sums of two conditions' counts; of resamples, another one may be taken."""
    width, n, of_resample = both[0].shape[1], len(both[0]), resampled or value
    values = [float(value(*counts.sum(axis=0))) if n else math.nan for counts in both]
    low, high = math.nan, math.nan
    if not np.isnan(values).any():
        pairs = np.concatenate(both, axis=1)
        with np.errstate(invalid="ignore"):
            low, high = bootstrap_sums(
                pairs, lambda *sums: of_resample(*sums[width:]) - of_resample(*sums[:width]), **options
            )
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = math.nan, math.nan
    row = {"value_first": values[0], "value_second": values[1], "difference": values[1] - values[0]}
    return row | {"ci_low": low, "ci_high": high, "n": n}


def with_holm(table):
    """Adjust the p values, and put the columns in order."""
    table = table.assign(p_holm=holm(table["p_value"]))
    last = [column for column in ("only_first", "only_second", "p_value", "p_holm", "n") if column in table]
    return table[[*table.columns.drop(last), *last]]


def check_conditions(conditions):
    if not isinstance(conditions, Mapping) or len(conditions) < 2:
        raise ValueError("conditions has to map two or more names to predictions")
    return dict(conditions)


def exchange_conditions(first, second, value, n_permutations, seed):
    """Test by approximate randomisation whether a value of the sums of counts differs between two conditions."""
    check_count(n_permutations, "n_permutations")
    check_count(seed, "seed", least=0)
    rng = np.random.default_rng(seed)
    observed = abs(float(value(*second.sum(axis=0)) - value(*first.sum(axis=0))))
    change, least, at_once = second - first, observed - SAME * max(observed, 1), max(1, 10**7 // len(first))
    at_least = 0
    for start in range(0, n_permutations, at_once):
        swap = rng.random((min(at_once, n_permutations - start), len(first))) < 0.5
        moved = swap @ change
        differences = value(*(second.sum(axis=0) - moved).T) - value(*(first.sum(axis=0) + moved).T)
        at_least += int((np.abs(differences) >= least).sum())
    return (at_least + 1) / (n_permutations + 1)
