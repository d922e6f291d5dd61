"""GAP's pronouns with two names each."""

import math
import re
from pathlib import Path

import pandas as pd

from biaslib._checks import check_columns
from biaslib._files import DATA
from biaslib.io.datasets import dataset_path

GAP_COLUMNS = ("ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL")
EMBEDDED_GAP = "gap_sample"
FLAGS = ("A-coref", "B-coref")
_FLAG_TEXTS = {"true": True, "false": False}


def read_gap(source=EMBEDDED_GAP):
    """Read pronouns with two names each, as GAP's files have them.

    Parameters
    ----------
    source : str or Path
        ``"gap_sample"`` (60 rows of ours: 30 texts in a feminine and a masculine version, of which A, B and neither
        is the answer a third each), a file, or the name of a data set: ``"gap-development"``, ``"gap-validation"``,
        ``"gap-test"``.

    Returns
    -------
    pandas.DataFrame
        GAP's columns in its order: ``ID Text Pronoun Pronoun-offset A A-offset A-coref B B-offset B-coref URL``;
        offsets are whole numbers and count characters, ``A-coref`` and ``B-coref`` are True or False.

    Raises
    ------
    ValueError
        If a column is missing or comes twice, a row has too few or many fields or no ID, a flag is neither TRUE nor
        FALSE, or the offsets of a row do not point at its pronoun and names; it names the rows by ID.
    biaslib.io.DatasetError
        If `source` is neither a file nor the name of a data set, or the set cannot be had.

    Examples
    --------
    >>> gap = read_gap("gap_sample")
    >>> gap[["Pronoun", "A", "A-coref", "B"]].head(1).values.tolist()
    [['her', 'Ottilie Brandt', True, 'Renate Falk']]
    """
    path = DATA / f"{EMBEDDED_GAP}.tsv" if str(source) == EMBEDDED_GAP else Path(source)
    path = path if path.is_file() else dataset_path(str(source))
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no table in UTF-8 separated by tabs") from None
    # Not splitlines: a text may hold line ends of other kinds.
    header, *rows = [line.split("\t") for line in re.split("\r?\n", re.sub(r"(\r?\n *)+\Z", "", text))]
    missing = [column for column in GAP_COLUMNS if column not in header]
    if missing:
        raise ValueError(f"{path} lacks the column(s) {', '.join(missing)}: its first line has to name GAP's columns")
    if len(set(header)) < len(header):
        raise ValueError(f"{path}: the first line names a column twice: {', '.join(header)}")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise ValueError(f"{path}, row {number}: {len(row)} fields, {len(header)} are due")
    return checked_gap(pd.DataFrame(rows, columns=header, dtype=str)[list(GAP_COLUMNS)], f"{path}: ", first_row=2)


def checked_gap(frame, where="", *, first_row=1):
    """Check rows of GAP, which are counted from `first_row`, and give offsets as numbers and flags as booleans."""
    check_columns(frame, [column for column in GAP_COLUMNS[:-1] if column not in FLAGS])
    frame = frame.reset_index(drop=True)
    for column in ("ID", "Text"):
        empty = [number for number, value in enumerate(frame[column], first_row) if _is_missing(value)]
        if empty:
            raise ValueError(f"{where}no {column} in row {first_few(empty)}")
    numbers = {}
    for column in ("Pronoun-offset", "A-offset", "B-offset"):
        offsets = pd.to_numeric(frame[column], errors="coerce")
        numbers[column] = offsets.where(offsets.between(0, 2**53) & (offsets % 1 == 0), -1).astype(int)
    given = [flag for flag in FLAGS if flag in frame]
    frame = frame.assign(**numbers, **{flag: read_flags(frame, flag, where).astype(bool) for flag in given})
    wrong = []
    for row in frame.to_dict("records"):
        for column in ("Pronoun", "A", "B"):
            text, start = row[column], row[f"{column}-offset"]
            if _is_missing(text) or start < 0 or row["Text"][start : start + len(text)] != text:
                wrong.append(f"{row['ID']} ({column})")
    if wrong:
        raise ValueError(
            f"{where}offsets that do not point at their strings: {first_few(wrong)}; they count characters"
        )
    return frame


def read_flags(frame, column, where="", *, missing=False):
    """Read a column of booleans or of the texts TRUE and FALSE."""
    flags = [
        _FLAG_TEXTS.get(str(value).strip().lower()) if not _is_missing(value) else pd.NA for value in frame[column]
    ]
    wrong = [
        f"{row} ({value!r})"
        for row, value, flag in zip(frame["ID"], frame[column], flags, strict=True)
        if flag is None or (flag is pd.NA and not missing)
    ]
    if wrong:
        raise ValueError(f"{where}{column} has to be TRUE or FALSE, not as in {first_few(wrong)}")
    return pd.Series(flags, dtype="boolean", index=frame.index)


def _is_missing(value):
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)) or value == ""


def first_few(names, n=5):
    """Name the first few, and say how many more there are."""
    more = f" and {len(names) - n} more" if len(names) > n else ""
    return ", ".join(map(str, list(names)[:n])) + more
