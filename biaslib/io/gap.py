"""GAP's pronouns with two names each."""

from pathlib import Path

import pandas as pd

from biaslib._checks import check_columns, listed
from biaslib.io._sources import find_file
from biaslib.io.tables import read_table

GAP_COLUMNS = ("ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL")
EMBEDDED_GAP = "gap_sample"
FLAGS = ("A-coref", "B-coref")
_FLAG_TEXTS = {"true": True, "false": False}


def read_gap(source: str | Path = EMBEDDED_GAP) -> pd.DataFrame:
    """Read pronouns with two names each, in the format of GAP (Webster et al. 2018).

    Parameters
    ----------
    source : str or Path
        ``"gap_sample"`` (60 rows of ours: 30 texts in a feminine and a masculine version; A, B and neither are the
        answer in a third each), a file, or a data set: ``"gap-development"``, ``"gap-validation"``, ``"gap-test"``.

    Returns
    -------
    pandas.DataFrame
        GAP's columns in its order: ``ID Text Pronoun Pronoun-offset A A-offset A-coref B B-offset B-coref URL``.
        Offsets are integers and count characters; ``A-coref`` and ``B-coref`` are booleans.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a column is missing or occurs twice, a row has too few or too many fields or no ID, a flag is neither TRUE
        nor FALSE, or the offsets of a row do not point at its pronoun and names; the rows are named by ID.
    biaslib.io.DatasetError
        If there is no such data set, or it cannot be downloaded.

    Examples
    --------
    >>> gap = read_gap("gap_sample")
    >>> gap[["Pronoun", "A", "A-coref", "B"]].head(1).values.tolist()
    [['her', 'Ottilie Brandt', True, 'Renate Falk']]
    """
    path = find_file(source, "GAP file", [f"{EMBEDDED_GAP}.tsv"], data_sets=True)
    table = read_table(path, needed=GAP_COLUMNS)[list(GAP_COLUMNS)]
    return checked_gap(table, f"{str(path)!r}: ")


def checked_gap(frame: pd.DataFrame, where: str = "") -> pd.DataFrame:
    """Check rows in the format of GAP, and return them with offsets as integers and flags as booleans.

    Parameters
    ----------
    frame : pandas.DataFrame
        With GAP's columns, of which ``URL``, ``A-coref`` and ``B-coref`` may be absent.
    where : str
        What error messages begin with.

    Returns
    -------
    pandas.DataFrame
        With a new index.

    Raises
    ------
    ValueError
        As in `read_gap`.
    """
    check_columns(frame, [column for column in GAP_COLUMNS[:-1] if column not in FLAGS])
    for column in ("ID", "Text"):
        empty = frame.index[_is_missing(frame[column])]
        if len(empty):
            raise ValueError(f"{where}no {column} in {frame.index.name or 'row'} {listed(empty, most=5)}")
    frame = frame.reset_index(drop=True)
    numbers = {}
    for column in ("Pronoun-offset", "A-offset", "B-offset"):
        offsets = pd.to_numeric(frame[column], errors="coerce")
        numbers[column] = offsets.where(offsets.between(0, 2**53) & (offsets % 1 == 0), -1).astype(int)
    given = [flag for flag in FLAGS if flag in frame]
    frame = frame.assign(**numbers, **{flag: read_flags(frame, flag, where).astype(bool) for flag in given})
    wrong = [
        f"{row['ID']} ({column})"
        for row in frame.to_dict("records")
        for column in ("Pronoun", "A", "B")
        if not _points_at(row["Text"], row[f"{column}-offset"], row[column])
    ]
    if wrong:
        raise ValueError(
            f"{where}offsets that do not point at their strings: {listed(wrong, most=5)}; they must count characters"
        )
    return frame


def read_flags(frame: pd.DataFrame, column: str, where: str = "", *, missing: bool = False) -> pd.Series:
    """Read a column of booleans or of the texts TRUE and FALSE; with `missing`, a cell may be absent."""
    absent = _is_missing(frame[column])
    flags = frame[column].map(lambda value: _FLAG_TEXTS.get(str(value).strip().lower())).astype("boolean")
    wrong = flags.isna() & ~absent if missing else flags.isna()
    if wrong.any():
        found = [f"{name} ({value!r})" for name, value in frame.loc[wrong, ["ID", column]].itertuples(index=False)]
        raise ValueError(f"{where}{column} must be TRUE or FALSE, unlike in {listed(found, most=5)}")
    return flags


def _points_at(text, start, string):
    return isinstance(string, str) and string != "" and start >= 0 and text[start : start + len(string)] == string


def _is_missing(column):
    return column.isna() | (column == "")
