"""Files of a corpus cut into pieces, for work in shards."""

import gzip
import hashlib
import io
import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from biaslib._provenance import data_fingerprint

# About a minute of finding and scoring.
SHARD_BYTES = 8 * 2**20
JSON_LINES = (".jsonl", ".ndjson", ".json")
PARQUET = (".parquet", ".pq")
_GZIP_FACTOR = 3
_WINDOW = 2**20
_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")
# A line that ends with a sentence (also one that quotation marks or brackets close), before one that begins another.
_SENTENCE_END = re.compile(r"(?:[.?!]|…)(?:[\"')\]_*]|’|”|»)*[ \t\r]*\n(?![ \t]*[a-z])".encode())


class Piece(NamedTuple):
    """A part of a file that ends where a line does.

    Attributes
    ----------
    path : str
    start, stop : int or None
        Bytes of text or JSON lines; row groups of Parquet. None is the end of the file.
    """

    path: str
    start: int = 0
    stop: int | None = None


def cut_files(paths, *, shard_bytes=SHARD_BYTES) -> list[tuple[Piece, ...]]:
    """Cut a corpus into shards of about equal size.

    Text is cut at a blank line; where none is near, at the end of a line with which a sentence ends, or else of any
    line. JSON lines are cut at the end of a line, Parquet between row groups. A gzip-compressed file is not cut, since
    it can only be read from its start; it counts as three times as large as it is. Small files share a shard.

    Parameters
    ----------
    paths : sequence of str or Path
        In their order. The kind of a file is told by its ending, as in ``read_texts``.
    shard_bytes : int
        About how large a shard is.

    Returns
    -------
    list of tuple of Piece
        The items for `run_shards`. Together the pieces are the files, each byte once.

    Raises
    ------
    ValueError
        If no path is given, `shard_bytes` is below 1, or a file is not Parquet despite its ending.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "lines.txt")
    ...     _ = path.write_text("A dog.\\nA cat.\\nA pig.\\n")
    ...     shards = cut_files([path], shard_bytes=10)
    >>> [[(piece.start, piece.stop) for piece in shard] for shard in shards]
    [[(0, 14)], [(14, 21)]]
    """
    paths = _files(paths)
    if isinstance(shard_bytes, bool) or not isinstance(shard_bytes, int) or shard_bytes < 1:
        raise ValueError(f"shard_bytes has to be a whole number from 1 up, not {shard_bytes!r}")
    shards, size = [], 0
    for path in paths:
        for piece, n_bytes in _pieces(path, shard_bytes):
            if not shards or size + n_bytes > shard_bytes:
                shards.append([])
                size = 0
            shards[-1].append(piece)
            size += n_bytes
    return [tuple(shard) for shard in shards]


@contextmanager
def open_piece(piece):
    """Open a piece of text or JSON lines.

    Parameters
    ----------
    piece : Piece
        From `cut_files`; not of Parquet.

    Yields
    ------
    text stream
        From its first character to its last; UTF-8, decompressed, ends of lines as ``\\n``.

    Raises
    ------
    FileNotFoundError
        If the file is gone.

    Examples
    --------
    >>> from biaslib.None import DATA
    >>> with open_piece(Piece(str(DATA / "README.md"), 0, 10)) as file:
    ...     len(file.read())
    10
    """
    if _is_gzip(piece.path):
        with gzip.open(piece.path, "rt", encoding="utf-8-sig") as file:
            yield file
        return
    with open(piece.path, "rb", buffering=0) as file:
        file.seek(piece.start)
        part = file if piece.stop is None else _Part(file, piece.stop - piece.start)
        with io.TextIOWrapper(io.BufferedReader(part), encoding="utf-8" if piece.start else "utf-8-sig") as text:
            yield text


class _Part(io.RawIOBase):
    """The next bytes of a file, as a file of their own."""

    def __init__(self, file, n_bytes):
        self._file, self._left = file, n_bytes

    def readable(self):
        return True

    def readinto(self, buffer):
        n_read = self._file.readinto(memoryview(buffer)[: self._left])
        self._left -= n_read
        return n_read


@contextmanager
def parquet_errors(path):
    """Say in one line which Parquet file cannot be read.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    ValueError
        In place of what pyarrow raises of damaged content.

    Examples
    --------
    >>> with parquet_errors("a.parquet"):
    ...     raise OSError("Corrupt snappy compressed data.")
    Traceback (most recent call last):
    ValueError: 'a.parquet' is not Parquet, or damaged: Corrupt snappy compressed data.
    """
    try:
        yield
    except (pyarrow().ArrowException, OSError, UnicodeDecodeError) as error:
        # The system's own errors, such as of permissions, have a number.
        if getattr(error, "errno", None):
            raise
        raise ValueError(f"{str(path)!r} is not Parquet, or damaged: {' '.join(str(error).split())}") from None


def corpus_fingerprint(paths) -> str:
    """Give a fingerprint of the files of a corpus: their names, without folders, and contents, in their order.

    Parameters
    ----------
    paths : sequence of str or Path

    Returns
    -------
    str
        16 hexadecimal digits of a SHA-256. All files are read, at about the speed of the disk.

    Raises
    ------
    ValueError
        If no path is given.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> from biaslib.None import DATA
    >>> len(corpus_fingerprint([DATA / "README.md"]))
    16
    """
    return data_fingerprint([[path.name, sha256_of_file(path)] for path in _files(paths)])


def sha256_of_file(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pyarrow():
    try:
        import pyarrow
    except ImportError as error:
        raise ModuleNotFoundError(
            f"shards are Parquet files, which need pyarrow ({error}): pip install pyarrow"
        ) from None
    return pyarrow


def _files(paths):
    # A worker may have another working folder.
    paths = [Path(os.path.abspath(path)) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if not paths:
        raise ValueError("no file of the corpus is given: name at least one")
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"no file {str(path)!r}: give text, JSON lines or Parquet")
    return paths


def _is_gzip(path):
    return str(path).lower().endswith(".gz")


def _pieces(path, shard_bytes):
    """Give the pieces of a file, each with its size in bytes."""
    suffix = path.suffix.lower()
    if suffix in PARQUET:
        yield from _row_groups(path)
        return
    size = path.stat().st_size
    if _is_gzip(path):
        yield Piece(str(path)), _GZIP_FACTOR * size
        return
    start = 0
    with open(path, "rb") as file:
        while size - start > shard_bytes:
            stop = _cut_after(file, start + shard_bytes, size, whole_paragraphs=suffix not in JSON_LINES)
            yield Piece(str(path), start, stop), stop - start
            start = stop
    if start < size or size == 0:
        yield Piece(str(path), start, size), size - start


def _cut_after(file, place, size, *, whole_paragraphs):
    """Find where the line or paragraph ends that a byte lies in."""
    # A line that ends with the byte before is over.
    file.seek(place - 1)
    place -= 1
    is_first = True
    while block := file.read(_WINDOW):
        near = (_BLANK_LINE.search(block) or _SENTENCE_END.search(block)) if whole_paragraphs and is_first else None
        end = near.end() if near else block.find(b"\n") + 1
        if end:
            return place + end
        place += len(block)
        is_first = False
    return size


def _row_groups(path):
    pyarrow()
    from pyarrow import parquet

    with parquet_errors(path):
        metadata = parquet.read_metadata(path)
    for number in range(metadata.num_row_groups):
        yield Piece(str(path), number, number + 1), metadata.row_group(number).total_byte_size
