"""Tables of scores: their columns, their rows by group, and the tests in them."""

import math

import pandas as pd

from biaslib.stats.hypothesis_tests import holm


def score_column(frame, column):
    """Return a column of scores as floats; an empty text is no score."""
    scores = pd.to_numeric(frame[column], errors="coerce").astype(float)
    wrong = frame.loc[scores.isna() & frame[column].notna() & (frame[column].astype(str).str.strip() != ""), column]
    if len(wrong):
        raise ValueError(f"{column} must hold numbers, not {wrong.iloc[0]!r}")
    return scores


def stack_by(tables):
    """Stack tables, with a first column ``by`` that holds their names."""
    named = [table.assign(by=name) for name, table in tables.items()]
    # Empty tables would change the types of columns; one is kept where all are empty.
    stacked = pd.concat([table for table in named if len(table)] or named[:1], ignore_index=True)
    return stacked[["by", *stacked.columns.drop("by")]]


def none_if_nan(value):
    return None if math.isnan(value) else float(value)


def insert_holm(table):
    """Insert the adjusted p values of all rows after the column ``p_value``."""
    table.insert(table.columns.get_loc("p_value") + 1, "p_holm", holm(table["p_value"].to_numpy(float)))
    return table
