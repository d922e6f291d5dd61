"""What scores of pairs share: checks, numbers, counts."""

import math
import re

import pandas as pd

from biaslib.stats.hypothesis_tests import holm

_NUMBERS = re.compile(r": \d+ tokens, the model holds \d+")


def check_choice(what, value, known):
    if value not in known:
        raise ValueError(f"unknown {what} {value!r}: use one of {', '.join(known)}")


def check_score_columns(frame, needed, what):
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"{what} have to be a DataFrame, not {type(frame).__name__}")
    missing = [name for name in needed if name not in frame]
    if missing:
        raise ValueError(
            f"{what} lack the column(s) {', '.join(missing)}; they have: {', '.join(map(str, frame.columns))}"
        )


def numbers(frame, name):
    """Give a column of scores as floats; an empty text is no score."""
    numbers = pd.to_numeric(frame[name], errors="coerce").astype(float)
    wrong = frame.loc[numbers.isna() & frame[name].notna() & (frame[name].astype(str).str.strip() != ""), name]
    if len(wrong):
        raise ValueError(f"{name} has to hold numbers, not {wrong.iloc[0]!r}")
    return numbers


def stacked(parts):
    parts = {name: part.assign(by=name) for name, part in parts.items()}
    filled = [part for part in parts.values() if len(part)] or [*parts.values()][:1]
    stacked = pd.concat(filled, ignore_index=True)
    return stacked[["by", *stacked.columns.drop("by")]]


def or_none(value):
    return None if math.isnan(value) else float(value)


def or_one(p_value):
    # When no pair has changed sides, nothing speaks against there being no difference.
    return 1.0 if math.isnan(p_value) else p_value


def count_reasons(reasons):
    kinds = reasons[reasons != ""].map(lambda reason: _NUMBERS.sub("", reason))
    return {str(kind): int(count) for kind, count in kinds.value_counts().items()}


def with_holm(frame):
    adjusted = holm(frame["p_value"].to_numpy(float))
    frame.insert(frame.columns.get_loc("p_value") + 1, "p_holm", adjusted)
    return frame


def numbered(frame, columns):
    """Number rows so that those with the same texts have the same number."""
    return frame.groupby(columns, sort=False, dropna=False).ngroup().to_numpy(dtype=int)
