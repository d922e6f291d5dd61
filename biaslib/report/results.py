"""What a notebook leaves for others to read: scores, tables and where they come from."""

import csv
import json
import math
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd

from biaslib._frames import concat_models as concat_models
from biaslib._frames import each_model as each_model
from biaslib._provenance import data_fingerprint as data_fingerprint
from biaslib._provenance import versions as versions
from biaslib._text import escape_markdown as escape_markdown
from biaslib.io.tables import read_table
from biaslib.studies import COUNTS, FLOATS, SCORE_COLUMNS, scores_frame

_TABLE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


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
    folder = beside_notebooks(results_dir)
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
    frame = read_table(path).reset_index(drop=True)
    if set(frame.columns) != set(SCORE_COLUMNS):
        raise ValueError(f"{path} has not the columns of scores: {', '.join(SCORE_COLUMNS)}")
    for column in FLOATS:
        frame[column] = [math.nan if text == "" else float(text) for text in frame[column]]
    for column in COUNTS:
        frame[column] = frame[column].astype(np.int64)
    return scores_frame(frame)


def beside_notebooks(folder):
    """Take a relative folder from the checkout, where JupyterLab has started the kernel in its ``notebooks/``.

    Parameters
    ----------
    folder : str or Path

    Returns
    -------
    Path
        The folder as it is, or beside ``notebooks/`` where that is the working folder of a checkout.
    """
    here, folder = Path.cwd(), Path(folder)
    in_checkout = here.name == "notebooks" and (here.parent / "outputs").is_dir()
    return here.parent / folder if in_checkout and not folder.is_absolute() else folder


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
