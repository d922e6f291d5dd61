"""F1 from counts, and differences between conditions."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biaslib.stats.hypothesis_tests import holm
from biaslib.stats.intervals import bootstrap_sums


def divide(part: ArrayLike, whole: ArrayLike, nothing: float = 0.0) -> np.ndarray:
    """Divide, with a value for what cannot be divided."""
    part, whole = np.asarray(part, dtype=float), np.asarray(whole, dtype=float)
    return np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, nothing), where=whole > 0)


def precision_recall_f1(
    hits_precision: ArrayLike, n_precision: ArrayLike, hits_recall: ArrayLike, n_recall: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute precision, recall and F1 in per cent, 0 if there is nothing to divide by."""
    precision, recall = 100 * divide(hits_precision, n_precision), 100 * divide(hits_recall, n_recall)
    return precision, recall, divide(2 * precision * recall, precision + recall)


def check_conditions(conditions: Mapping[str, Any]) -> dict[str, Any]:
    """Return conditions as a dict; raise ValueError if there are fewer than two."""
    if not isinstance(conditions, Mapping) or len(conditions) < 2:
        raise ValueError("conditions must map two or more names to predictions")
    return dict(conditions)


def difference_row(
    both: list[np.ndarray], value: Callable, options: dict[str, Any], of_resamples: Callable | None = None
) -> dict[str, float]:
    """Compare a function of two conditions' summed counts; resamples may take another one."""
    width, of_resamples = both[0].shape[1], of_resamples or value
    first, second = (float(value(*counts.sum(axis=0))) if len(counts) else math.nan for counts in both)

    def difference(*sums):
        return of_resamples(*sums[width:]) - of_resamples(*sums[:width])

    low, high = math.nan, math.nan
    if not (math.isnan(first) or math.isnan(second)):
        with np.errstate(invalid="ignore"):
            low, high = bootstrap_sums(np.concatenate(both, axis=1), difference, **options)
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = math.nan, math.nan
    row = {"value_first": first, "value_second": second, "difference": second - first}
    return row | {"ci_low": low, "ci_high": high, "n": len(both[0])}


def with_holm(table: pd.DataFrame) -> pd.DataFrame:
    """Add adjusted p values, and put the columns in order."""
    table = table.assign(p_holm=holm(table["p_value"]))
    last = [column for column in ("only_first", "only_second", "p_value", "p_holm", "n") if column in table]
    return table[[*table.columns.drop(last), *last]]
