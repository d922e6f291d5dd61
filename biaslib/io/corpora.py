"""Texts of a corpus read piece by piece, and the sentences in them."""

import gzip
import io
import json
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from biaslib._files import DATA
from biaslib.io.pieces import JSON_LINES, PARQUET, Piece, open_piece, parquet_errors
from biaslib.io.sentences import LOOK_BACK, sentence_breaks

DEFAULT_COLUMN = "text"
# About 300 sentences on animals, written for trying out.
SAMPLE = "animal_sentences"
# Characters read at once; a passage is about as long.
PASSAGE = 2**16
# A passage that goes on for so long without the end of a sentence is cut where it is.
LONGEST_PASSAGE = 2**20
# What follows decides whether a sentence ends, so the last characters read wait for more.
_UNDECIDED = 2**10
_ROWS_AT_ONCE = 256
_OTHER_COLUMN = "call the one that is meant 'text', or give column to read_texts"


def read_texts(paths, column=None):
    """Read the texts of files one after the other, never a whole file at once.

    Parameters
    ----------
    paths : str, Path, Piece, or sequence of them
        Text (any ending), JSON lines (``.jsonl``, ``.ndjson``, ``.json``) or Parquet (``.parquet``), the first
        two also gzip-compressed (``.gz``); UTF-8. A `Piece` is a part of a file, from `biaslib.io.cut_files`.
    column : str, optional
        Which field of JSON lines or column of Parquet holds the text; by default ``"text"``.

    Yields
    ------
    str
        A row of JSON lines or Parquet is a text, an empty one where it holds null. Text files come in passages
        of about 65,000 characters that end where a sentence does.

    Raises
    ------
    FileNotFoundError
        If there is no such file; before anything is read.
    ValueError
        If no path is given, a file is damaged or not UTF-8, or has no such column or no text in it; it names the
        file.
    ModuleNotFoundError
        If a Parquet file is given and pyarrow is not installed.

    Examples
    --------
    >>> from biaslib.None import DATA
    >>> text = next(read_texts(DATA / "animal_sentences.txt"))
    >>> len(text) > 10_000
    True
    """
    paths = [paths] if isinstance(paths, str | Path | Piece) else list(paths)
    if not paths:
        raise ValueError("no file of texts is given: name at least one")
    pieces = [path if isinstance(path, Piece) else Piece(str(Path(path).expanduser())) for path in paths]
    paths = [Path(piece.path) for piece in pieces]
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"no file {str(path)!r}: give text, JSON lines or Parquet")
    if column is not None and not any(_kind(path) in JSON_LINES + PARQUET for path in paths):
        raise ValueError(f"column {column!r} is given, but text files have no columns: leave it out")
    return _texts_of(pieces, DEFAULT_COLUMN if column is None else column)


def corpus_files(corpus):
    """List the files of a corpus.

    Parameters
    ----------
    corpus : str, Path, or sequence of them
        A file; a folder, of which all files count, by name, but not hidden ones nor those of folders within it; or
        ``"animal_sentences"``, an embedded sample of our own. ``""`` stands for no corpus.

    Returns
    -------
    list of pathlib.Path
        For `read_texts` or `biaslib.io.cut_files`; empty for ``""``.

    Raises
    ------
    FileNotFoundError
        If there is no such file or folder, no file in a folder, or a link in it leads nowhere.
    ValueError
        If a file is there twice, also by links: its sentences would count twice.

    Warns
    -----
    UserWarning
        If folders within a folder hold files.

    Examples
    --------
    >>> [path.name for path in corpus_files("animal_sentences")], corpus_files("")
    (['animal_sentences.txt'], [])
    """
    entries = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    files = list(chain.from_iterable(map(_files_of, filter(lambda entry: entry != "", entries))))
    _refuse_duplicates(files)
    return files


def _refuse_duplicates(files):
    first = {}
    for path in files:
        place = path.resolve()
        if place in first:
            also = f", also as {str(path)!r}" if path != first[place] else ""
            raise ValueError(f"the corpus has {str(first[place])!r} twice{also}: keep one")
        first[place] = path


def _files_of(entry):
    if str(entry) == SAMPLE:
        return [DATA / f"{SAMPLE}.txt"]
    path = Path(entry).expanduser()
    if not path.is_dir():
        if not path.is_file():
            raise FileNotFoundError(f"no corpus {str(path)!r}: give a file, a folder of files, or {SAMPLE!r}")
        return [path]
    entries = sorted(_not_hidden(path.iterdir()))
    broken = [entry for entry in entries if not entry.exists()]
    if broken:
        raise FileNotFoundError(f"the link {str(broken[0])!r} leads to no file: mend or remove it")
    files = [entry for entry in entries if entry.is_file()]
    if not files:
        raise FileNotFoundError(f"no file lies in the folder {str(path)!r}: give the folder of the corpus")
    within = [
        entry.name for entry in entries if entry.is_dir() and any(map(Path.is_file, _not_hidden(entry.rglob("*"))))
    ]
    if within:
        left_out = f"files of folders within {str(path)!r} are left out ({', '.join(within)}): name these folders too"
        warnings.warn(left_out, UserWarning, stacklevel=3)
    return files


def _not_hidden(paths):
    return (path for path in paths if not path.name.startswith("."))


def _kind(path):
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _texts_of(pieces, column):
    for piece in pieces:
        kind = _kind(Path(piece.path))
        if kind in PARQUET:
            yield from _read_parquet(piece, column)
        elif kind in JSON_LINES:
            yield from _read_json_lines(piece, column)
        else:
            yield from _read_passages(piece)


@contextmanager
def _opened(piece) -> Iterator[io.TextIOBase]:
    """Open text, compressed or not; say in one line which file is damaged."""
    try:
        with open_piece(piece) as file:
            yield file
    except UnicodeDecodeError as error:
        raise ValueError(f"{piece.path!r} is not UTF-8 ({error.reason}): convert it first") from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ValueError(f"{piece.path!r} is damaged gzip: {error}") from None


def _read_passages(piece) -> Iterable[str]:
    with _opened(piece) as file:
        buffer = ""
        while chunk := file.read(PASSAGE):
            buffer += chunk
            end = _last_sentence_end(buffer)
            if end:
                yield buffer[:end]
                buffer = buffer[end:]
        if buffer:
            yield buffer


def _last_sentence_end(buffer):
    """Find where to cut, looking at the end first; 0 to wait for more text."""
    decided = len(buffer) - _UNDECIDED
    for look_from in (max(0, decided - 4 * _UNDECIDED), 0):
        least = look_from + LOOK_BACK if look_from else 1
        ends = [look_from + end for end in sentence_breaks(buffer[look_from:]) if least <= look_from + end <= decided]
        if ends:
            return ends[-1]
    return len(buffer) if len(buffer) >= LONGEST_PASSAGE else 0


def _read_json_lines(piece, column) -> Iterable[str]:
    with _opened(piece) as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield _text_of_line(piece, number, line, column)


def _text_of_line(piece, number, line, column):
    where = f"{piece.path!r}, line {number}" + (f" after byte {piece.start}" if piece.start else "")
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        why = getattr(error, "msg", error)
        raise ValueError(f"{where} is not JSON that can be read ({why}): give one object a line") from None
    if not isinstance(row, dict):
        raise ValueError(f"{where} is not an object such as {{{DEFAULT_COLUMN!r}: ...}}")
    if column not in row:
        raise ValueError(f"{where} has no field {column!r}, it has {', '.join(row) or 'none'}: {_OTHER_COLUMN}")
    return _whole(_checked_text(row[column], f"{where}, field {column!r}"), where)


def _read_parquet(piece, column) -> Iterable[str]:
    path = piece.path
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ModuleNotFoundError(
            f"{str(path)!r} needs pyarrow ({error}): pip install 'biaslib[demo]' brings it"
        ) from None
    with parquet_errors(path), parquet.ParquetFile(path) as file:
        columns = file.schema_arrow.names
        if column not in columns:
            raise ValueError(f"{str(path)!r} has no column {column!r}, it has {', '.join(columns)}: {_OTHER_COLUMN}")
        groups = range(piece.start, file.num_row_groups if piece.stop is None else piece.stop)
        for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=[column], row_groups=groups):
            for value in batch.column(0).to_pylist():
                yield _checked_text(value, f"{str(path)!r}, column {column!r}")


def _checked_text(value, where):
    """Give a row's text; null is an empty one, so that rows keep their numbers."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{where} holds {value!r}, which is not a text: {_OTHER_COLUMN}")
    return value


def _whole(text, where):
    """Refuse a text with half a character, which JSON can hold and models cannot take."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = text[error.start : error.end]
        raise ValueError(f"{where} holds half a character, {half!r}: write the file again as UTF-8") from None
    return text
