"""Scores as rows by which runs are compared."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from biaslib._checks import check_count, listed

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
    paper: str,
    measure: str,
    model: str,
    group: str,
    value: float | None,
    n: int,
    variant: str = "default",
    ci_low: float | None = None,
    ci_high: float | None = None,
    p_value: float | None = None,
    n_left_out: int = 0,
    data_fingerprint: str = "",
) -> dict:
    """Give one score as a row for `scores_frame`.

    Parameters
    ----------
    paper, measure, model, group : str
        What was measured on what; `group` is ``"all"`` for a score over everything.
    value : float or None
        The score; None or NaN if there is none.
    n : int
        The number of observations behind it.
    variant : str
    ci_low, ci_high, p_value : float, optional
        Interval and test, if there are any.
    n_left_out : int
        The number of observations left out of it.
    data_fingerprint : str
        Of the data behind it, from `biaslib.report.data_fingerprint`; scores with the same one can be compared.

    Returns
    -------
    dict
    """
    given = locals()
    return {column: given[column] for column in SCORE_COLUMNS}


def scores_frame(rows: Iterable[dict] | pd.DataFrame) -> pd.DataFrame:
    """Make the frame of scores that comparisons read.

    Parameters
    ----------
    rows : iterable of dict or pandas.DataFrame
        Each with all of `SCORE_COLUMNS` and nothing else.

    Returns
    -------
    pandas.DataFrame
        The columns in the order of `SCORE_COLUMNS`: strings, floats (NaN where there is none) and counts.

    Raises
    ------
    ValueError
        If a column is missing or unknown, or a field has the wrong type for its column.

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


def scores_of(frame: pd.DataFrame, *, value: str, group: str = "all", **constants) -> pd.DataFrame:
    """Take scores from a frame of results with a column ``model``.

    Parameters
    ----------
    frame : pandas.DataFrame
        Its columns ``ci_low ci_high p_value n n_left_out`` are taken, those it has.
    value : str
        The column that holds the score.
    group : str
        The column that names the group, or one name for all rows.
    **constants
        ``paper``, ``measure`` and further fields of `score_row`, the same in every row.

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
    taken = [column for column in ("model", *FLOATS[1:], *COUNTS) if column in frame]
    rows = frame[taken].assign(value=frame[value], group=frame.get(group, group), **constants)
    return scores_frame(score_row(**row) for row in rows.to_dict("records"))


def _check_score(i, row):
    unknown = sorted(map(str, set(row) - set(SCORE_COLUMNS)))
    missing = [column for column in SCORE_COLUMNS if column not in row]
    problems = [f"lacks {listed(missing)}"] * bool(missing) + [f"has unknown {listed(unknown)}"] * bool(unknown)
    if problems:
        raise ValueError(f"score row {i} {' and '.join(problems)}; columns: {listed(SCORE_COLUMNS)}")
    for column in _TEXT:
        if not isinstance(row[column], str):
            raise ValueError(f"score row {i}: {column} must be a string, not {row[column]!r}")
    for column in FLOATS:
        value = row[column]
        if value is not None and (isinstance(value, bool | str) or not np.isscalar(value)):
            raise ValueError(f"score row {i}: {column} must be a number or None, not {value!r}")
    for column in COUNTS:
        check_count(row[column], f"score row {i}: {column}", least=0)
