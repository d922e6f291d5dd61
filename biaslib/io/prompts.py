"""Prompts with a mask, by category."""

import re
from pathlib import Path

import numpy as np
import pandas as pd

from biaslib._checks import check_columns, check_count, listed
from biaslib._text import MASK
from biaslib.io._sources import find_file
from biaslib.io.gender_words import GENDERS
from biaslib.io.tables import read_table

EMBEDDED_PROMPTS = ("job_prompts.csv", "unit_prompts.csv")
# Universal parts of speech; they set apart auxiliaries and the copula, which grammar counts among the verbs.
UNITS = {"verb": ("VERB", "AUX"), "adverb": ("ADV",), "adjective": ("ADJ",)}
_CATEGORY_COLUMNS = ("category", "prompt")
_UNIT_COLUMNS = ("unit", "frame", "gender", "prompt")


def read_prompts(name_or_path: str | Path = "job_prompts") -> pd.DataFrame:
    """Read prompts with a mask.

    Parameters
    ----------
    name_or_path : str or Path
        ``"job_prompts"`` (the subject is masked; seven categories of jobs), ``"unit_prompts"`` (a verb, adverb or
        adjective is masked; He and She in the same frame), or a table with the columns ``category prompt`` or
        ``unit frame gender prompt``; further columns are kept.

    Returns
    -------
    pandas.DataFrame
        In file order, all text.

    Raises
    ------
    FileNotFoundError
        If there is no such set or file.
    ValueError
        If a column is missing or has an empty cell, a prompt does not contain exactly one ``[MASK]``, a prompt is
        repeated within a category, or a frame lacks its He or She.

    Examples
    --------
    >>> read_prompts("job_prompts").groupby("category").size().unique().tolist()
    [100]
    """
    path = find_file(name_or_path, "prompts", EMBEDDED_PROMPTS)
    table = read_table(path, needed=[_CATEGORY_COLUMNS, _UNIT_COLUMNS], strip=True)
    if table.empty:
        raise ValueError(f"{str(path)!r} has no prompt below its header")
    if "model" in table:
        raise ValueError(f"{str(path)!r} has a column 'model', where results name the model: rename it")
    needed = list(_CATEGORY_COLUMNS if "category" in table else _UNIT_COLUMNS)
    for column in needed:
        empty = np.flatnonzero(table[column] == "")
        if empty.size:
            raise ValueError(f"{_place(path, table, empty[0])}: no {column}")
    for row, prompt in enumerate(table["prompt"]):
        if prompt.count(MASK) != 1:
            raise ValueError(f"{_place(path, table, row)}: a prompt must contain exactly one {MASK}, unlike {prompt!r}")
        if re.search(r"\s\s", prompt):
            raise ValueError(f"{_place(path, table, row)}: write one space between words, not two as in {prompt!r}")
    twice = table["prompt"][table.duplicated(needed)]
    if len(twice):
        raise ValueError(f"{str(path)!r} has the prompt {twice.iloc[0]!r} twice: leave one out")
    frame = table.reset_index(drop=True)
    return frame if "category" in frame else check_units(frame, f"{str(path)!r}: ")


def _place(path, table, row):
    return f"{table.index.name} {table.index[row]} of {str(path)!r}"


def first_prompts(prompts: pd.DataFrame, n: int | None = None, *, by: str = "category") -> pd.DataFrame:
    """Take the first prompts of each category.

    V is at most n(n + 1)/2, so the maximum of 1830 in UnMASKed means that 60 prompts per category went into its
    analysis, not the 100 that its text names.

    Parameters
    ----------
    prompts : pandas.DataFrame
    n : int, optional
        How many per category; by default all. A category with fewer keeps them all.
    by : str
        The column of categories.

    Returns
    -------
    pandas.DataFrame
        The rows in their original order.

    Raises
    ------
    ValueError
        If `n` is not a positive whole number or the column is missing.

    Examples
    --------
    >>> prompts = pd.DataFrame({"category": list("aabb"), "prompt": ["1", "2", "3", "4"]})
    >>> first_prompts(prompts, 1)["prompt"].tolist()
    ['1', '3']
    """
    check_columns(prompts, (by,))
    if n is None:
        return prompts
    check_count(n, "n")
    return prompts.groupby(by, sort=False, dropna=False).head(n)


def check_units(frame: pd.DataFrame, where: str = "") -> pd.DataFrame:
    """Return prompts by unit if each frame of a unit occurs once for each gender; `where` begins the error."""
    check_columns(frame, _UNIT_COLUMNS)
    for column, known in (("unit", UNITS), ("gender", GENDERS)):
        for value in frame[column].unique():
            if value not in known:
                raise ValueError(f"{where}unknown {column} {value!r}; use one of {listed(known)}")
    if frame["frame"].isna().any():
        raise ValueError(f"{where}a prompt has no frame: number the frames of each unit")
    for (unit, name), genders in frame.groupby(["unit", "frame"], sort=False)["gender"]:
        if sorted(genders) != sorted(GENDERS):
            raise ValueError(
                f"{where}frame {name!r} of {unit} must occur once for each gender, found: {listed(genders)}"
            )
    return frame
