"""Tables of any kind, read as text: CSV, TSV, JSON, JSON lines and Parquet, plain or compressed by gzip.

Every reader of tables rests on these rules:

- Files are UTF-8, or UTF-16 if a byte order mark says so. Gzip is recognized by its first bytes, not by the name.
- The ending tells the kind. A file with another ending is JSON if it begins with ``[`` or ``{``, otherwise CSV.
- The separator is a tab in TSV. In CSV it is the comma, tab or semicolon that splits the header into the needed
  columns, or what a first line such as ``sep=;`` says.
- Quotation marks enclose cells in CSV, and are ordinary characters in TSV.
- The header is stripped of surrounding white space; a column that occurs twice is refused.
- Cells are text as written: "NA" and "null" are words. An absent cell, a JSON null and an empty cell are all "".
- A blank line is not a row. No other row is dropped.
"""

import json
import re
import reprlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from biaslib.io._text_files import (
    DAMAGED_GZIP,
    QuotingError,
    first_character,
    is_gzip,
    is_utf16,
    iterate_lines,
    iterate_records,
    open_bytes,
    open_text,
)

_KINDS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_SEPARATORS = (",", "\t", ";")
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_INTEGER = re.compile(r"[-+]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_ROWS_AT_ONCE = 256


class _Row(NamedTuple):
    """A record: its line or number, its cells, and what is wrong with it, if anything."""

    number: int
    cells: dict[str, Any]
    problem: str = ""
    remedy: str = ""


class _Layout(NamedTuple):
    """How a CSV or TSV file is written."""

    columns: list[str]
    header_line: int
    separator: str
    quoting: bool


def read_table(
    path: str | Path,
    *,
    needed: Sequence[str] | Sequence[Sequence[str]] = (),
    kind: str | None = None,
    separator: str | None = None,
    quoting: bool | None = None,
    strip: bool = False,
    problems: str | None = None,
) -> pd.DataFrame:
    """Read a table whose cells are all text.

    Parameters
    ----------
    path : str or Path
    needed : sequence of str, or sequence of such sequences
        The columns that the table must have; of several alternatives, one must be there in full.
    kind : {"csv", "tsv", "json", "json lines", "parquet"}, optional
        By default, the ending of the file tells it.
    separator : str, optional
        By default, a tab in TSV; in CSV, the comma, tab or semicolon that yields the needed columns.
    quoting : bool, optional
        Whether quotation marks enclose cells. By default, they do so in CSV but not in TSV.
    strip : bool
        Whether to remove white space around cells.
    problems : str, optional
        The column in which to report what is wrong with a row, such as too few fields; "" if nothing is. The table may
        have the column already: then its own texts are kept where there is no problem. By default, a wrong row raises
        an error.

    Returns
    -------
    pandas.DataFrame
        Columns of text. The index is called ``line`` and holds the number of the line in which a row begins; for
        Parquet and a JSON list, it is called ``record`` and counts from 1. Numbers and booleans of JSON and Parquet are
        spelled as in JSON.

    Raises
    ------
    ValueError
        If the file cannot be read as a table, has a column twice, lacks a needed one, or has a wrong row. The
        message is one line that names the file and the remedy.
    ModuleNotFoundError
        If the file is Parquet and pyarrow is not installed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "names.csv")
    ...     _ = path.write_text("name;group\\npig;farm\\nNA;\\n")
    ...     read_table(path, needed=["name", "group"])
         name group
    line
    2     pig  farm
    3      NA
    """
    kind = _kind_of(path, kind)
    columns, rows = _open_table(path, kind, needed, separator, quoting)
    wanted = [name for names in _alternatives(needed) for name in names]
    rows = [_as_texts(row, wanted) for row in rows]
    if kind.startswith("json"):
        columns = list(dict.fromkeys(name for row in rows for name in row.cells))
        _check_columns(path, columns, needed)
    wrong = next((row for row in rows if row.problem), None)
    if wrong and problems is None:
        _refuse(path, kind, wrong)
    tidy = str.strip if strip else str
    cells = [[tidy(row.cells.get(name, "")) for name in columns] for row in rows]
    index = pd.Index([row.number for row in rows], name=_unit(kind), dtype="int64")
    frame = pd.DataFrame(cells, columns=columns, index=index, dtype=str)
    if problems is not None:
        given = frame[problems] if problems in frame else [""] * len(frame)
        frame[problems] = [row.problem or text for row, text in zip(rows, given, strict=True)]
    return frame


def as_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Turn each column of text that holds nothing but numbers and empty cells into numbers.

    Parameters
    ----------
    frame : pandas.DataFrame
        As from `read_table`.

    Returns
    -------
    pandas.DataFrame
        Integers where all cells are; else floats, with NaN for an empty cell. A column without a number stays text.

    Examples
    --------
    >>> frame = pd.DataFrame({"model": ["1a", "2"], "layers": ["12", "24"], "p": ["", ".05"]})
    >>> as_numbers(frame).values.tolist()
    [['1a', 12, nan], ['2', 24, 0.05]]
    """
    return frame.apply(_column_as_numbers)


def _column_as_numbers(column):
    filled = column[column != ""]
    if filled.empty or not filled.map(lambda text: bool(_NUMBER.fullmatch(text))).all():
        return column
    if len(filled) == len(column) and filled.map(lambda text: bool(_INTEGER.fullmatch(text))).all():
        return column.astype("int64")
    return filled.map(float).astype("float64").reindex(column.index)


def iterate_column(path: str | Path, column: str = "text", *, start: int = 0, stop: int | None = None) -> Iterator[str]:
    """Read one column of text, row by row, from a file that may be larger than the memory.

    Parameters
    ----------
    path : str or Path
    column : str
    start, stop : int, optional
        The part of the file to read, for a file that `can_be_cut`: bytes, between which whole lines lie; in Parquet,
        row groups.

    Yields
    ------
    str
        One text per row; "" for an absent one.

    Raises
    ------
    ValueError, ModuleNotFoundError
        As in `read_table`; also if JSON or Parquet holds a number or anything else that is not text.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "posts.jsonl")
    ...     _ = path.write_text('{"text": "She sings."}\\n{"text": null}\\n')
    ...     list(iterate_column(path))
    ['She sings.', '']
    """
    kind = _kind_of(path)
    _, rows = _open_table(path, kind, [column], start=start, stop=stop, only=[column])
    for row in rows:
        text = row.cells.get(column, 0)
        if row.problem or not (text is None or isinstance(text, str)):
            _refuse(path, kind, _with_problem(row, column), start)
        yield text or ""


@contextmanager
def open_parquet(path: str | Path):
    """Open a Parquet file; what is wrong with it is said in one line.

    Parameters
    ----------
    path : str or Path

    Yields
    ------
    pyarrow.parquet.ParquetFile

    Raises
    ------
    ValueError
        If the file is not Parquet or is damaged.
    ModuleNotFoundError
        If pyarrow is not installed.

    Examples
    --------
    >>> with open_parquet("corpus.parquet") as file:  # doctest: +SKIP
    ...     file.num_row_groups
    12
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ModuleNotFoundError(
            f"{str(path)!r} is Parquet, which needs pyarrow ({error}): pip install 'biaslib[cluster]'"
        ) from None
    try:
        with open_bytes(path) as source, parquet.ParquetFile(source) as file:
            yield file
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError, *DAMAGED_GZIP) as error:
        # The system's own errors, such as those of permissions, have a number.
        if getattr(error, "errno", None):
            raise
        why = " ".join(str(error).split())
        raise ValueError(f"{str(path)!r} is not Parquet, or damaged: {why}") from None


def read_json(path: str | Path) -> Any:
    """Read a JSON document of any form.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    dict, list, str, int, float, bool or None
        The keys of objects are stripped of surrounding white space.

    Raises
    ------
    ValueError
        If it is not JSON, an object has a key twice, a text has half a character, or as in `open_text`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "words.json")
    ...     _ = path.write_text('{"male": ["he", "him"]}')
    ...     read_json(path)
    {'male': ['he', 'him']}
    """
    with open_text(path) as file:
        return _parse(file.read(), path)


def table_kind(path: str | Path) -> str | None:
    """Tell the kind of a table by the ending of its name.

    Parameters
    ----------
    path : str or Path
        The file need not exist.

    Returns
    -------
    {"csv", "tsv", "json", "json lines", "parquet"} or None
        None for the ending of no table, such as ``.txt``.

    Examples
    --------
    >>> table_kind("posts.jsonl.gz"), table_kind("novel.txt")
    ('json lines', None)
    """
    name = Path(path).name.lower().removesuffix(".gz")
    return _KINDS.get(Path(name).suffix)


def can_be_cut(path: str | Path) -> bool:
    """Tell whether a file can be read in parts, each from the end of one line (in Parquet, row group) to another.

    Parameters
    ----------
    path : str or Path
        A table or plain text.

    Returns
    -------
    bool
        False for gzip, UTF-16, CSV, where a cell may go over several lines, and a JSON list.

    Examples
    --------
    >>> can_be_cut(__file__)
    True
    """
    kind = _kind_of(path) if table_kind(path) == "json" else table_kind(path)
    return not (is_gzip(path) or is_utf16(path) or kind in ("csv", "json"))


def _kind_of(path, kind=None):
    """Tell the kind as it is given, by the ending or, where that leaves it open, by the first character."""
    if kind is not None and kind not in _KINDS.values():
        raise ValueError(f"unknown kind {kind!r}: use one of {', '.join(dict.fromkeys(_KINDS.values()))}")
    kind = kind or table_kind(path)
    if kind not in (None, "json"):
        return kind
    first = first_character(path)
    if first == "[":
        return "json"
    return "json lines" if kind == "json" or first == "{" else "csv"


def _open_table(path, kind, needed, separator=None, quoting=None, *, start=0, stop=None, only=None):
    """Give the columns, which in JSON only the rows tell, and an iterator of rows with cells as they are stored."""
    if kind in ("csv", "tsv"):
        layout = _layout(path, kind, needed, separator, quoting)
        return layout.columns, _delimited_rows(path, layout, start, stop)
    if kind == "parquet":
        with open_parquet(path) as file:
            columns = [name.strip() for name in file.schema_arrow.names]
        _check_columns(path, columns, needed)
        return columns, _parquet_rows(path, only or columns, start, stop)
    return [], _listed_rows(path) if kind == "json" else _json_line_rows(path, start, stop)


def _layout(path, kind, needed, separator, quoting):
    """Find the separator with which the header has the needed columns."""
    quoting = kind == "csv" if quoting is None else quoting
    declared = re.fullmatch("sep=(.)", next(iterate_lines(path), ""))
    separators = ["\t"] if kind == "tsv" else list(_SEPARATORS)
    if separator or declared:
        separators = [separator or declared[1]]
    most, unreadable = [], None
    for candidate in separators:
        try:
            line, columns = _header(path, candidate, quoting, after=1 if declared else 0)
        except QuotingError as error:
            unreadable = error
            continue
        if columns and _fits(columns, needed):
            _check_columns(path, columns, needed)
            return _Layout(columns, line, candidate, quoting)
        most = max(most, columns, key=len)
    if unreadable and not most:
        raise unreadable
    raise ValueError(_lacking(path, most, needed))


def _header(path, separator, quoting, after):
    for line, fields in iterate_records(path, separator, quoting=quoting):
        if fields and line > after:
            return line, [name.strip() for name in fields]
    return 0, []


def _delimited_rows(path, layout, start, stop):
    n = len(layout.columns)
    enclose = "put quotation marks around cells that hold the separator"
    remedy = enclose if layout.quoting else "remove the separator from its cells, or save the file as CSV"
    records = iterate_records(path, layout.separator, quoting=layout.quoting, start=start, stop=stop)
    for line, fields in records:
        if not fields or (start == 0 and line <= layout.header_line):
            continue
        problem = "" if len(fields) == n else f"expected {n} fields, found {len(fields)}"
        yield _Row(line, dict(zip(layout.columns, [*fields, *[""] * n], strict=False)), problem, remedy)


def _parquet_rows(path, columns, start, stop):
    number = 0
    with open_parquet(path) as file:
        written = [name for name in file.schema_arrow.names if name.strip() in columns]
        names = [name.strip() for name in written]
        groups = range(start, file.num_row_groups if stop is None else stop)
        for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=written, row_groups=groups):
            for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                yield _Row(number, dict(zip(names, values, strict=True)))


def _json_line_rows(path, start, stop):
    for number, line in enumerate(iterate_lines(path, start=start, stop=stop), start=1):
        if line.strip():
            record = _parse(line, path, number, start)
            if not isinstance(record, dict):
                where = _place(path, "json lines", number, start)
                raise ValueError(f"{where} is not a JSON object: write one object per line")
            yield _Row(number, record)


def _listed_rows(path):
    for number, record in enumerate(read_json(path), start=1):
        if not isinstance(record, dict):
            raise ValueError(f"{_place(path, 'json', number)} is not a JSON object: write a list of objects")
        yield _Row(number, record)


def _parse(text, path, line=None, start=0):
    """Parse a JSON document, or one line of JSON lines."""
    try:
        content = _JSON.decode(text)
        # JSON can spell half of a character, which no column of text holds.
        if _HALF_CHARACTER.search(text):
            json.dumps(content, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        where = repr(str(path)) if line is None else _place(path, "json lines", line, start)
        why = str(error).replace(": line 1 column", ": column")
        raise ValueError(f"{where} is not readable JSON: {why}") from None
    return content


def _fields(pairs):
    fields = {name.strip(): value for name, value in pairs}
    if len(fields) < len(pairs):
        raise ValueError(f"{_repeated([name.strip() for name, _ in pairs])} occurs twice in an object")
    return fields


_JSON = json.JSONDecoder(object_pairs_hook=_fields)


def _repeated(names):
    return ", ".join(sorted({repr(name) for name in names if names.count(name) > 1}))


def _alternatives(needed):
    needed = [needed] if isinstance(needed, str) else list(needed)
    return [needed] if all(isinstance(name, str) for name in needed) else [list(names) for names in needed]


def _fits(columns, needed):
    return any(set(names) <= set(columns) for names in _alternatives(needed))


def _check_columns(path, columns, needed):
    repeated = _repeated(columns)
    if repeated:
        raise ValueError(f"{str(path)!r} has the column {repeated} twice: rename one")
    if not columns or not _fits(columns, needed):
        raise ValueError(_lacking(path, columns, needed))


def _lacking(path, columns, needed):
    """Say which columns a table has, which it needs, and what to do."""
    if not columns:
        return f"{str(path)!r} is empty: a table needs a header, which names its columns, and rows"
    wanted = "; or ".join(", ".join(map(repr, names)) for names in _alternatives(needed))
    spelled = {name.casefold(): name for names in _alternatives(needed) for name in names}
    near = [name for name in columns if spelled.get(name.casefold(), name) != name]
    remedy = f"rename {near[0]!r} to {spelled[near[0].casefold()]!r}" if near else "rename a column or choose another"
    return f"{str(path)!r} has the columns {', '.join(map(repr, columns))} but needs {wanted}: {remedy}"


def _as_texts(row, wanted):
    """Turn the cells of a row into text; a list or bytes in a wanted column is a problem."""
    cells = {name: _as_text(value) for name, value in row.cells.items()}
    odd = next((name for name in wanted if isinstance(row.cells.get(name), list | dict | bytes)), None)
    if odd is None or row.problem:
        return row._replace(cells=cells)
    return row._replace(cells=cells, problem=_not_text(row, odd))


def _with_problem(row, column):
    """Say of a row, unless something else is wrong with it, why it has no text in a column."""
    if row.problem:
        return row
    if column in row.cells:
        return row._replace(problem=_not_text(row, column), remedy="choose a column of text")
    found = ", ".join(map(repr, row.cells)) or "no field"
    return row._replace(problem=f"expected the field {column!r}, found {found}", remedy="rename it or choose another")


def _not_text(row, column):
    return f"{column} is {reprlib.repr(row.cells[column])}, not text"


def _as_text(value):
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return ""
    if isinstance(value, bool | int | float | list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _unit(kind):
    return "record" if kind in ("json", "parquet") else "line"


def _place(path, kind, number, start=0):
    after = f" after byte {start}" if start and _unit(kind) == "line" else ""
    return f"{_unit(kind)} {number}{after} of {str(path)!r}"


def _refuse(path, kind, row, start=0):
    where = _place(path, kind, row.number, start)
    raise ValueError(f"{where}: {row.problem}" + (f"; {row.remedy}" if row.remedy else ""))
