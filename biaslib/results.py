"""What a notebook leaves for others to read: scores, tables and where they come from."""

import csv
import hashlib
import json
import math
import os
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path

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
_FLOATS = ("value", "ci_low", "ci_high", "p_value")
_COUNTS = ("n", "n_left_out")
_LIBRARIES = ("torch", "transformers", "tokenizers", "pandas", "numpy", "scipy", "scikit-learn", "matplotlib")
_LIBRARIES += ("papermill", "nbconvert", "itables", "vaderSentiment", "gensim", "spacy", "accelerate", "stanza")
_LIBRARIES += ("coreference-eval",)
_TABLE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


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
    types = dict.fromkeys(_TEXT, str) | dict.fromkeys(_FLOATS, float) | dict.fromkeys(_COUNTS, np.int64)
    return frame.astype(types)


def by_model(frames):
    """Put the frames of several models under each other.

    Parameters
    ----------
    frames : dict of str to pandas.DataFrame

    Returns
    -------
    pandas.DataFrame
        With a first column ``model``; empty if there is no frame.

    Examples
    --------
    >>> by_model({"demo": pd.DataFrame({"n": [1, 2]})}).values.tolist()
    [['demo', 1], ['demo', 2]]
    """
    if not frames:
        return pd.DataFrame({"model": []})
    parts = [frame.assign(model=model) for model, frame in frames.items()]
    stacked = pd.concat(parts, ignore_index=True)
    return stacked[["model", *stacked.columns.drop("model")]]


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
    taken = [column for column in (*_FLOATS[1:], *_COUNTS, "model") if column in frame]
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


def versions():
    """List the versions of what a result rests on.

    Returns
    -------
    dict of str to str
        biaslib, Python, and those of the libraries it calls that are installed.
    """
    from biaslib import __version__

    found = {"biaslib": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def write_results(results_dir, *, scores, tables, models=(), data=None, seed=None):
    """Write a notebook's results.

    Parameters
    ----------
    results_dir : str or Path
        Made if it does not exist. Files of the same names are replaced; others stay.
    scores : pandas.DataFrame or iterable of dict
        See `scores_frame`; becomes ``scores.csv``.
    tables : dict of str to pandas.DataFrame
        Each becomes ``<name>.csv``, without its index.
    models : list of dict
        What is known of each model used (name, fingerprint, device, precision).
    data : dict of str to str
        The fingerprint of each data set used.
    seed : int, optional

    Returns
    -------
    Path
        The folder. Besides the tables it holds ``provenance.json`` with the keys models, data and seed.
        Numbers have full precision; every file is written beside its name and then moved there, so that a
        reader never meets half a file.

    Raises
    ------
    ValueError
        If scores or a table's name are not as they should be; then nothing is written.
    """
    frames = {"scores": scores_frame(scores)}
    for name, frame in dict(tables).items():
        _check_table(name, frame)
        frames[name] = frame
    provenance = {"models": [dict(model) for model in models], "data": dict(data or {}), "seed": seed}
    texts = {f"{name}.csv": _csv(frame) for name, frame in frames.items()}
    texts["provenance.json"] = json.dumps(provenance, indent=2, ensure_ascii=False, default=str) + "\n"
    folder = beside_notebooks(Path(results_dir))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        _replace(folder / name, text)
    return folder


def read_scores(path):
    """Read a ``scores.csv``.

    Parameters
    ----------
    path : str or Path
        The file, or the results folder it lies in.

    Returns
    -------
    pandas.DataFrame
        What `scores_frame` gives, the same to the last digit.

    Raises
    ------
    ValueError
        If there is no such file or its columns are not `SCORE_COLUMNS`.
    """
    path = Path(path)
    path = path / "scores.csv" if path.is_dir() else path
    if not path.is_file():
        raise ValueError(f"no scores at {path}: give a scores.csv or the results folder of a run")
    frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    if set(frame.columns) != set(SCORE_COLUMNS):
        raise ValueError(f"{path} has not the columns of scores: {', '.join(SCORE_COLUMNS)}")
    for column in _FLOATS:
        frame[column] = [math.nan if text == "" else float(text) for text in frame[column]]
    for column in _COUNTS:
        frame[column] = frame[column].astype(np.int64)
    return scores_frame(frame)


def beside_notebooks(folder):
    """Take a relative folder from the checkout, where JupyterLab has started the kernel in its ``notebooks/``.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    Path
        The folder as it is, or beside ``notebooks/`` where that is the working folder of a checkout.
    """
    here = Path.cwd()
    in_checkout = here.name == "notebooks" and (here.parent / "outputs").is_dir()
    return here.parent / folder if in_checkout and not folder.is_absolute() else folder


def data_fingerprint(*objects):
    """Give a short fingerprint of the data behind a score.

    Parameters
    ----------
    *objects : DataFrame, Series, array, text, number, None, or lists and dicts of these
        A frame counts with its columns and rows in their order, without its index. A set counts sorted, a
        dict by its sorted keys.

    Returns
    -------
    str
        16 hexadecimal digits of a SHA-256; the same on every machine.

    Raises
    ------
    TypeError
        If an object is of another kind.

    Examples
    --------
    >>> data_fingerprint(["pig", "dog"]) == data_fingerprint(("pig", "dog"))
    True
    """
    canonical = json.dumps([_canonical(item) for item in objects], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:16]


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
    for column in _FLOATS:
        value = row[column]
        if value is not None and (isinstance(value, bool | str) or not np.isscalar(value)):
            raise ValueError(f"score row {i}: {column} has to be a number or None, not {value!r}")
    for column in _COUNTS:
        value = row[column]
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
            raise ValueError(f"score row {i}: {column} has to be a whole number from 0 up, not {value!r}")


def _check_table(name, frame):
    if not isinstance(name, str) or not _TABLE_NAME.fullmatch(name):
        raise ValueError(f"table name {name!r} has to be letters, digits, _ and -: it becomes a file name")
    if name == "scores":
        raise ValueError("a table can't be called 'scores': that is the file of the scores")
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(f"table {name!r} has to be a DataFrame, not {type(frame).__name__}")


def _csv(frame):
    text = frame.to_csv(index=False, lineterminator="\n")
    if "\r" in text:
        # A bare carriage return is left unquoted, and would be read as the end of a row.
        return frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    return text


def _replace(path, text):
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        beside.write_text(text, encoding="utf-8", newline="")
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _canonical(item):
    if isinstance(item, pd.DataFrame):
        return {
            "frame": [
                list(map(str, item.columns)),
                *([_canonical(v) for v in row] for row in item.itertuples(index=False)),
            ]
        }
    if isinstance(item, pd.Series | pd.Index | np.ndarray):
        return [_canonical(value) for value in item.tolist()]
    if isinstance(item, Mapping):
        return {"dict": sorted([json.dumps(_canonical(k)), _canonical(v)] for k, v in item.items())}
    if isinstance(item, set | frozenset):
        return {"set": sorted((_canonical(value) for value in item), key=json.dumps)}
    if isinstance(item, list | tuple):
        return [_canonical(value) for value in item]
    if isinstance(item, np.generic):
        return item.item()
    if item is None or isinstance(item, str | int | float):
        return item
    raise TypeError(f"no fingerprint for {type(item).__name__}: give frames, lists, dicts, texts, numbers")
