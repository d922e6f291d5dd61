"""What a notebook leaves for others to read: scores, tables and where they come from."""

import csv
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from biaslib._checks import listed
from biaslib._files import write_json, write_text
from biaslib._frames import each_model as each_model
from biaslib._provenance import data_fingerprint as data_fingerprint
from biaslib._provenance import versions as versions
from biaslib._text import escape_markdown as escape_markdown
from biaslib.io.tables import read_table
from biaslib.studies import COUNTS, FLOATS, SCORE_COLUMNS, scores_frame

_TABLE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def write_results(
    results_dir: str | Path,
    *,
    scores: pd.DataFrame | Iterable[dict],
    tables: Mapping[str, pd.DataFrame],
    models: Iterable[Mapping] = (),
    data: Mapping[str, str] | None = None,
    seed: int | None = None,
) -> Path:
    """Write the results of a notebook.

    Parameters
    ----------
    results_dir : str or Path
        Created if it does not exist. Files of the same names are replaced; others stay.
    scores : pandas.DataFrame or iterable of dict
        See `biaslib.studies.scores_frame`; becomes ``scores.csv``.
    tables : mapping of str to pandas.DataFrame
        Each becomes ``<name>.csv``, without its index.
    models : iterable of mapping
        What is known of each model (name, fingerprint, device, precision).
    data : mapping of str to str
        The fingerprint of each data set.
    seed : int, optional

    Returns
    -------
    Path
        The folder. Besides the tables it contains ``provenance.json`` with the keys models, data and seed. Numbers have
        full precision, and a reader never meets half a file.

    Raises
    ------
    ValueError
        If scores or the name of a table are invalid; then nothing is written.

    Examples
    --------
    >>> table = pd.DataFrame({"word": ["ripe"], "n": [3]})
    >>> folder = write_results("outputs/mine", scores=[], tables={"words": table})  # doctest: +SKIP
    >>> sorted(path.name for path in folder.iterdir())  # doctest: +SKIP
    ['provenance.json', 'scores.csv', 'words.csv']
    """
    for name, frame in tables.items():
        _check_table(name, frame)
    texts = {name: _csv(frame) for name, frame in {"scores": scores_frame(scores), **tables}.items()}
    provenance = {"models": [dict(model) for model in models], "data": dict(data or {}), "seed": seed}
    folder = beside_notebooks(results_dir)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_text(folder / f"{name}.csv", text)
    write_json(folder / "provenance.json", provenance, default=str)
    return folder


def read_scores(path: str | Path) -> pd.DataFrame:
    """Read a ``scores.csv``.

    Parameters
    ----------
    path : str or Path
        The file, or the results folder that contains it.

    Returns
    -------
    pandas.DataFrame
        As `biaslib.studies.scores_frame` returns it, the same to the last digit.

    Raises
    ------
    ValueError
        If there is no such file or its columns are not those of `biaslib.studies.SCORE_COLUMNS`.

    Examples
    --------
    >>> read_scores("outputs/mbe/demo/results")["value"].round(1).tolist()  # doctest: +SKIP
    [53.6]
    """
    path = Path(path)
    path = path / "scores.csv" if path.is_dir() else path
    if not path.is_file():
        raise ValueError(f"no scores at {path}; give a scores.csv or the results folder of a run")
    frame = read_table(path).reset_index(drop=True)
    if set(frame.columns) != set(SCORE_COLUMNS):
        raise ValueError(f"{path} must have the columns {listed(SCORE_COLUMNS)}, found: {listed(frame.columns, 20)}")
    for column in FLOATS:
        frame[column] = [math.nan if text == "" else float(text) for text in frame[column]]
    return scores_frame(frame.astype(dict.fromkeys(COUNTS, np.int64)))


def beside_notebooks(folder: str | Path) -> Path:
    """Resolve a relative folder against the checkout where JupyterLab has started the kernel in its ``notebooks/``.

    Parameters
    ----------
    folder : str or Path

    Returns
    -------
    Path
        The folder as it is, or beside ``notebooks/`` if that is the working folder of a checkout.

    Examples
    --------
    >>> beside_notebooks("/tmp/results").as_posix()
    '/tmp/results'
    """
    here, folder = Path.cwd(), Path(folder)
    in_checkout = here.name == "notebooks" and (here.parent / "outputs").is_dir()
    return here.parent / folder if in_checkout and not folder.is_absolute() else folder


def _check_table(name, frame):
    if not isinstance(name, str) or not _TABLE_NAME.fullmatch(name):
        raise ValueError(f"table name {name!r} must consist of letters, digits, _ and -, since it becomes a file name")
    if name == "scores":
        raise ValueError("a table cannot be called 'scores', which is the file of the scores")
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(f"table {name!r} must be a DataFrame, not {type(frame).__name__}")


def _csv(frame):
    text = frame.to_csv(index=False, lineterminator="\n")
    if "\r" in text:
        # A bare carriage return is left unquoted, and would be read as the end of a row.
        return frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    return text
