"""Text files opened, whatever their encoding and compression, and read by lines or by records of fields."""

import codecs
import csv
import gzip
import io
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DAMAGED_GZIP = (gzip.BadGzipFile, zlib.error, EOFError)

_ENCODINGS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_LONGEST_MARK = 3
_GZIP_START = b"\x1f\x8b"
_CHARACTERS_AT_ONCE = 2**16
# The limit on a cell's length belongs to the whole process, so one thread at a time lifts it.
_LONGEST_CELL = 2**31 - 1
_CELL_LIMIT = threading.Lock()


class QuotingError(ValueError):
    """Raised for quotation marks that do not enclose whole cells."""


@contextmanager
def open_text(
    path: str | Path, *, start: int = 0, stop: int | None = None, newline: str | None = None
) -> Iterator[io.TextIOBase]:
    """Open a text file: UTF-8, or UTF-16 if a byte order mark says so; plain or compressed by gzip.

    Parameters
    ----------
    path : str or Path
    start, stop : int, optional
        The bytes to read, of the decompressed file.
    newline : str, optional
        As in the built-in `open`.

    Yields
    ------
    text stream

    Raises
    ------
    ValueError
        If the file is neither UTF-8 nor marked UTF-16, has a NUL byte, or is damaged gzip. The message is one line
        that names the file, the line and the remedy.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "text.txt.gz")
    ...     _ = path.write_bytes(gzip.compress(b"She sings."))
    ...     with open_text(path) as file:
    ...         file.read()
    'She sings.'
    """
    encoding = None
    try:
        with open_bytes(path) as file:
            encoding = _encoding_of(file.read(_LONGEST_MARK))
            file.seek(start)
            part = io.BufferedReader(_Part(file, stop, may_hold_nul=encoding == "utf-16"))
            with io.TextIOWrapper(part, encoding=encoding, newline=newline) as text:
                yield text
    except UnicodeDecodeError as error:
        raise ValueError(_undecodable(path, encoding, error.reason)) from None
    except DAMAGED_GZIP as error:
        raise ValueError(f"{str(path)!r} is damaged gzip ({error}): copy or download it again") from None


def iterate_lines(path: str | Path, *, start: int = 0, stop: int | None = None) -> Iterator[str]:
    r"""Read a text file line by line.

    Parameters
    ----------
    path : str or Path
    start, stop : int, optional
        The bytes to read; whole lines.

    Yields
    ------
    str
        A line without its end, which is ``\n`` or ``\r\n``. A lone ``\r`` ends a line only in a file without any
        ``\n``; U+2028 and a form feed never do.

    Raises
    ------
    ValueError
        As in `open_text`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "words.txt")
    ...     _ = path.write_bytes(b"he\r\nhim")
    ...     list(iterate_lines(path))
    ['he', 'him']
    """
    with open_text(path, start=start, stop=stop, newline=_line_end(path)) as file:
        for line in file:
            yield line.removesuffix("\n").removesuffix("\r")


def iterate_records(
    path: str | Path, separator: str = ",", *, quoting: bool = True, start: int = 0, stop: int | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Split a CSV or TSV file into records, whether it has a header or not.

    Parameters
    ----------
    path : str or Path
    separator : str
    quoting : bool
        Whether quotation marks enclose cells.
    start, stop : int, optional
        The bytes to read; whole lines.

    Yields
    ------
    line : int
        The number of the line in which the record begins, from 1.
    fields : list of str
        Its cells as written; an empty list for a blank line.

    Raises
    ------
    ValueError
        If quotation marks do not enclose whole cells, or as in `open_text`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pairs.tsv")
    ...     _ = path.write_text('A "b\\tEin "b\\n')
    ...     list(iterate_records(path, "\\t", quoting=False))
    [(1, ['A "b', 'Ein "b'])]
    """
    if not quoting:
        for line, text in enumerate(iterate_lines(path, start=start, stop=stop), start=1):
            yield line, text.split(separator) if text.strip(" ") else []
        return
    with open_text(path, start=start, stop=stop, newline="") as file:
        reader = csv.reader(file, delimiter=separator, strict=True)
        while True:
            line = reader.line_num + 1
            fields = _next_record(reader, path, line)
            if fields is None:
                return
            yield line, [] if len(fields) == 1 and fields[0].isspace() else fields


def first_character(path: str | Path) -> str:
    """Give the first character of a text file that is not white space; "" if there is none."""
    with open_text(path) as file:
        while text := file.read(_CHARACTERS_AT_ONCE):
            if text := text.lstrip():
                return text[0]
    return ""


def open_bytes(path: str | Path):
    """Open a file to read its bytes, decompressed."""
    return gzip.open(path, "rb") if is_gzip(path) else open(path, "rb")


def is_gzip(path: str | Path) -> bool:
    """Tell whether a file is compressed by gzip, whatever its name."""
    with open(path, "rb") as file:
        return file.read(len(_GZIP_START)) == _GZIP_START


def is_utf16(path: str | Path) -> bool:
    """Tell whether an uncompressed file begins with a byte order mark of UTF-16."""
    with open(path, "rb") as file:
        return _encoding_of(file.read(_LONGEST_MARK)) == "utf-16"


class _Part(io.RawIOBase):
    """The rest of a file up to a byte, as a file of its own; a NUL byte is refused, since no text has one."""

    def __init__(self, file, stop, *, may_hold_nul):
        self._file = file
        self._left = None if stop is None else stop - file.tell()
        self._may_hold_nul = may_hold_nul

    def readable(self):
        return True

    def readinto(self, buffer):
        view = memoryview(buffer)[: self._left]
        n_read = self._file.readinto(view)
        if self._left is not None:
            self._left -= n_read
        content = bytes(view[:n_read])
        if not self._may_hold_nul and b"\0" in content:
            raise UnicodeDecodeError("utf-8", content, content.index(0), content.index(0) + 1, "NUL byte")
        return n_read


def _encoding_of(first_bytes):
    return next((name for mark, name in _ENCODINGS.items() if first_bytes.startswith(mark)), "utf-8")


def _undecodable(path, encoding, reason):
    """Say why a file is not text, and in which line."""
    if encoding == "utf-16":
        return f"{str(path)!r} is not valid UTF-16 ({reason}): save it as UTF-8"
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            if why := _not_utf8(line):
                return f"line {number} of {str(path)!r} is not UTF-8 text ({why}): save the file as UTF-8"
    return f"{str(path)!r} is not UTF-8 text ({reason}): save it as UTF-8"


def _not_utf8(line):
    if b"\0" in line:
        return "NUL byte"
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason
    return ""


def _next_record(reader, path, line):
    """Read a record with cells of any length; None at the end."""
    with _CELL_LIMIT:
        limit = csv.field_size_limit(_LONGEST_CELL)
        try:
            return next(reader, None)
        except csv.Error as error:
            where = f"the record that begins in line {line} of {str(path)!r}"
            raise QuotingError(
                f'{where} has a quotation mark too many or too few ({error}): write "" for one in a cell'
            ) from None
        finally:
            csv.field_size_limit(limit)


def _line_end(path):
    """Tell what ends the lines of a file: a lone carriage return if there is no line feed at all."""
    has_return = False
    with open_text(path, newline="") as file:
        while text := file.read(_CHARACTERS_AT_ONCE):
            if "\n" in text:
                return "\n"
            has_return = has_return or "\r" in text
    return "\r" if has_return else "\n"
