"""Prompts with a mask, by category."""

import re
from pathlib import Path

import numpy as np

from biaslib._checks import check_columns, check_count
from biaslib._files import DATA
from biaslib._text import MASK
from biaslib.io.word_lists import GENDERS, read_text_columns

EMBEDDED_PROMPTS = ("job_prompts", "unit_prompts")
# Universal parts of speech; they set apart auxiliaries and the copula, which grammar counts among the verbs.
UNITS = {"verb": ("VERB", "AUX"), "adverb": ("ADV",), "adjective": ("ADJ",)}
_UNIT_COLUMNS = ("unit", "frame", "gender", "prompt")


def read_prompts(name_or_path="job_prompts"):
    """Read prompts with a mask.

    Parameters
    ----------
    name_or_path : str or Path
        ``"job_prompts"`` (the subject is masked: seven categories of jobs), ``"unit_prompts"`` (a verb, adverb or
        adjective is masked, He and She in the same frame), or a CSV file with the columns ``category prompt`` or
        ``unit frame gender prompt``; further columns are kept.

    Returns
    -------
    pandas.DataFrame
        In file order; text stays text.

    Raises
    ------
    ValueError
        If there is no such set or file, a column is missing or has an empty field, a prompt has not exactly one
        ``[MASK]``, a prompt stands twice in a category, or a frame lacks its He or She.

    Examples
    --------
    >>> read_prompts("job_prompts").groupby("category").size().unique().tolist()
    [100]
    """
    path = DATA / f"{name_or_path}.csv" if str(name_or_path) in EMBEDDED_PROMPTS else Path(name_or_path)
    if not path.is_file():
        raise ValueError(
            f"no prompts {str(name_or_path)!r}: give {' or '.join(map(repr, EMBEDDED_PROMPTS))}, or a CSV file"
        )
    columns = read_text_columns(path).columns
    needed = _UNIT_COLUMNS if "unit" in columns and "category" not in columns else ("category", "prompt")
    frame = read_text_columns(path, needed)
    if frame.empty:
        raise ValueError(f"{path} has no prompt below its header")
    if "model" in frame:
        raise ValueError(f"{path} has a column model, where results name the model: call it something else")
    frame = frame.assign(**{column: frame[column].str.strip() for column in needed})
    for column in needed:
        empty = np.flatnonzero(frame[column] == "")
        if empty.size:
            raise ValueError(f"{path} has an empty {column} in row {empty[0] + 2}")
    for number, prompt in enumerate(frame["prompt"], start=2):
        if prompt.count(MASK) != 1:
            raise ValueError(f"{path}, row {number}: exactly one {MASK} must be in a prompt, not as in {prompt!r}")
        if re.search(r"\s\s", prompt):
            raise ValueError(f"{path}, row {number}: write one blank between words, not two as in {prompt!r}")
    twice = frame["prompt"][frame.duplicated(list(needed))]
    if len(twice):
        raise ValueError(f"{path} has a prompt twice, which would count it twice: {twice.iloc[0]!r}")
    return frame if "category" in needed else check_units(frame, f"{path}: ")


def first_prompts(prompts, n=None, *, by="category"):
    """Take the first prompts of each category.

    V reaches at most n(n + 1)/2; the paper's maximum of 1830 means that 60 prompts a category went into its
    analysis, not the 100 that its text names.

    Parameters
    ----------
    prompts : pandas.DataFrame
    n : int, optional
        How many; all by default. A category with fewer keeps them all.
    by : str
        The column of the categories.

    Returns
    -------
    pandas.DataFrame
        The rows in their order.

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


def check_units(frame, where=""):
    check_columns(frame, _UNIT_COLUMNS)
    for column, known in (("unit", UNITS), ("gender", GENDERS)):
        unknown = [value for value in frame[column].unique() if value not in known]
        if unknown:
            raise ValueError(f"{where}{column} {unknown[0]!r} is unknown; known: {', '.join(known)}")
    if frame["frame"].isna().any():
        raise ValueError(f"{where}a prompt has no frame: number the frames of each unit")
    for (unit, name), genders in frame.groupby(["unit", "frame"], sort=False)["gender"]:
        if sorted(genders) != sorted(GENDERS):
            found = ", ".join(genders)
            raise ValueError(f"{where}frame {name!r} of {unit} has to be there once for each gender, not for: {found}")
    return frame
