"""Scores as rows that runs can be compared by."""

import numpy as np
import pandas as pd

SCORE_COLUMNS = (
    "paper",
    "measure",
    "variant",
    "model",
    "group",
    "value",
    "ci_low",
    "ci_high",
    "p_value",
    "n",
    "n_left_out",
    "data_fingerprint",
)
_TEXT = ("paper", "measure", "variant", "model", "group", "data_fingerprint")
FLOATS = ("value", "ci_low", "ci_high", "p_value")
COUNTS = ("n", "n_left_out")


def score_row(
    *,
    paper,
    measure,
    model,
    group,
    value,
    n,
    variant="default",
    ci_low=None,
    ci_high=None,
    p_value=None,
    n_left_out=0,
    data_fingerprint="",
):
    """Give one score as a row for `scores_frame`.

    Parameters
    ----------
    paper, measure, model, group : str
        What was measured on what; `group` is ``"all"`` for a score over everything.
    value : float or None
        The score; None or NaN where there is none.
    n : int
        Observations behind it.
    variant : str
    ci_low, ci_high, p_value : float, optional
        Interval and test, where there are any.
    n_left_out : int
        Observations left out of it.
    data_fingerprint : str
        Of the data behind it, from `data_fingerprint`; scores are comparable when it is the same.

    Returns
    -------
    dict
    """
    given = locals()
    return {column: given[column] for column in SCORE_COLUMNS}


def scores_frame(rows):
    """Make the frame of scores that comparisons read.

    Parameters
    ----------
    rows : iterable of dict or pandas.DataFrame
        Each with all of `SCORE_COLUMNS` and nothing else.

    Returns
    -------
    pandas.DataFrame
        The columns in the order of `SCORE_COLUMNS`: texts, floats (NaN where there is none), whole counts.

    Raises
    ------
    ValueError
        If a column is missing or unknown, or a field is not what its column holds.

    Examples
    --------
    >>> row = score_row(paper="speciesism", measure="adjusted Rand index", model="demo", group="all",
    ...                 value=0.1, n=46)
    >>> scores_frame([row])[["variant", "value", "n"]].values.tolist()
    [['default', 0.1, 46]]
    """
    if isinstance(rows, pd.DataFrame):
        rows = rows.to_dict("records") if len(rows) else []
    rows = list(rows)
    for i, row in enumerate(rows):
        _check_score(i, row)
    frame = pd.DataFrame(rows, columns=list(SCORE_COLUMNS))
    types = dict.fromkeys(_TEXT, str) | dict.fromkeys(FLOATS, float) | dict.fromkeys(COUNTS, np.int64)
    return frame.astype(types)


def scores_of(frame, *, value, group="all", **constants):
    """Take scores from a result frame with a column ``model``.

    Parameters
    ----------
    frame : pandas.DataFrame
        Its columns ``ci_low ci_high p_value n n_left_out`` are taken where it has them.
    value : str
        The column that holds the score.
    group : str
        The column that names the group, or what to call it for all rows.
    **constants
        ``paper``, ``measure``, and further fields of `score_row`, the same for all rows.

    Returns
    -------
    pandas.DataFrame
        As `scores_frame` gives it.

    Examples
    --------
    >>> frame = pd.DataFrame({"model": ["demo"], "difference": [0.1], "n": [46]})
    >>> scores_of(frame, value="difference", paper="speciesism", measure="difference").value.tolist()
    [0.1]
    """
    taken = [column for column in (*FLOATS[1:], *COUNTS, "model") if column in frame]
    rows = [
        score_row(
            value=row[value],
            group=row.get(group, group),
            **constants,
            **{c: row[c] for c in taken},
        )
        for row in frame.to_dict("records")
    ]
    return scores_frame(rows)


def _check_score(i, row):
    unknown = sorted(map(str, set(row) - set(SCORE_COLUMNS)))
    missing = [column for column in SCORE_COLUMNS if column not in row]
    if missing or unknown:
        parts = [f"lacks {', '.join(missing)}"] if missing else []
        parts += [f"has unknown {', '.join(unknown)}"] if unknown else []
        raise ValueError(f"score row {i} {' and '.join(parts)}; columns: {', '.join(SCORE_COLUMNS)}")
    for column in _TEXT:
        if not isinstance(row[column], str):
            raise ValueError(f"score row {i}: {column} has to be a text, not {row[column]!r}")
    for column in FLOATS:
        value = row[column]
        if value is not None and (isinstance(value, bool | str) or not np.isscalar(value)):
            raise ValueError(f"score row {i}: {column} has to be a number or None, not {value!r}")
    for column in COUNTS:
        value = row[column]
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
            raise ValueError(f"score row {i}: {column} has to be a whole number from 0 up, not {value!r}")
