"""Frames whose rows belong to conditions: a model off the shelf, or after training on a corpus."""

import pandas as pd

CONDITION = ["model", "condition", "head"]


def conditions_of(frame):
    return frame[CONDITION].drop_duplicates()


def rows_of(condition, frame):
    """Select the rows of a condition, without the columns that name it."""
    own = (frame["model"] == condition.model) & (frame["condition"] == condition.condition)
    return frame[own].drop(columns=CONDITION).reset_index(drop=True)


def each_condition(conditions, f):
    """Stack the frames that `f` returns for each condition."""
    parts = [with_condition(condition, f(condition)) for condition in conditions.itertuples()]
    return pd.concat(parts, ignore_index=True) if parts else conditions[CONDITION]


def with_condition(condition, frame):
    """Put ``model condition head`` first; a column of the frame with one of these names becomes ``…_given``."""
    frame = frame.rename(columns={name: f"{name}_given" for name in CONDITION if name in frame})
    labels = pd.DataFrame([{name: getattr(condition, name) for name in CONDITION}])
    return labels.merge(frame, how="cross")
