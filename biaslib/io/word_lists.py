"""Lists of words and names: the names that go into templates, and the words that debiasing takes."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from biaslib._checks import as_words, listed
from biaslib._files import DATA, read_yaml
from biaslib._frames import check_names
from biaslib.io._sources import find_file
from biaslib.io.tables import read_table

_DEBIASING_LISTS = ("pairs", "equalize", "specific")


def read_names(name_or_path: str | Path) -> pd.DataFrame:
    """Read the names that go into the templates, with their groups.

    Parameters
    ----------
    name_or_path : str or Path
        ``"animals"`` (the 46 names in Table 1 of the speciesism study, in groups of ours) or a table with the columns
        ``name`` and ``group``; further columns are kept.

    Returns
    -------
    pandas.DataFrame
        In file order, all text ("NA" and "null" are names) except for the numbers in ``wikipedia_frequency``.

    Raises
    ------
    FileNotFoundError
        If there is no such list or file.
    ValueError
        If a column is missing, a group is empty, or a name is repeated.

    Examples
    --------
    >>> read_names("animals").groupby("group").size().to_dict()
    {'companion': 5, 'farm': 7, 'human': 1, 'other': 33}
    """
    path = find_file(name_or_path, "table of names", ["animals.csv"])
    frame = read_table(path, needed=["name", "group"], strip=True).reset_index(drop=True)
    if "wikipedia_frequency" in frame:
        frame["wikipedia_frequency"] = pd.to_numeric(frame["wikipedia_frequency"], errors="coerce")
    check_names(frame["name"], f"the column 'name' of {str(path)!r}")
    without = frame.loc[frame["group"] == "", "name"]
    if len(without):
        raise ValueError(f"{str(path)!r} has no group for {listed(without, most=5)}: give every name one")
    return frame


def read_debiasing_words(path: str | Path | None = None) -> dict[str, list]:
    """Read the word lists that debiasing takes.

    Parameters
    ----------
    path : str or Path, optional
        A YAML file with ``pairs``, ``equalize`` and ``specific``; by default ours, for English.

    Returns
    -------
    dict
        ``pairs`` and ``equalize``: lists of pairs of words; ``specific``: a list of words. They can be passed to
        `biaslib.embeddings.hard_debias` as keyword arguments.

    Raises
    ------
    ValueError
        If there is no such file, or it does not have exactly these three lists.

    Examples
    --------
    >>> read_debiasing_words()["pairs"][0]
    ['she', 'he']
    """
    path = DATA / "gender_words.yaml" if path is None else Path(path)
    content = read_yaml(path, mapping=True)
    if set(content) != set(_DEBIASING_LISTS):
        raise ValueError(f"{path}: must have {listed(_DEBIASING_LISTS)} and nothing else")
    pairs = {what: check_pairs(what, content[what]) for what in ("pairs", "equalize")}
    return pairs | {"specific": check_words("specific", content["specific"])}


def check_words(what: str, words: Iterable[str]) -> list[str]:
    """Return words as a list if each is a string that is not empty."""
    words = as_words(words, what, ValueError)
    if "" in words:
        raise ValueError(f"{what} must be a list of words, but it has an empty string")
    return words


def check_pairs(what: str, pairs: Iterable[Iterable[str]]) -> list[list[str]]:
    """Return pairs of words as a list of lists of two."""
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise ValueError(f"{what} must be a list of pairs of words, not {pairs!r}")
    pairs = [check_words(f"each pair of {what}", pair) for pair in pairs]
    for pair in pairs:
        if len(pair) != 2:
            raise ValueError(f"{what} must be a list of pairs of words, but it has {pair!r}")
    return pairs
