"""Texts of a corpus read piece by piece, and the sentences in them."""

import gzip
import io
import json
import re
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from biaslib.shards import JSON_LINES, PARQUET, Piece, open_piece, parquet_errors
from biaslib.templates import DATA

DEFAULT_COLUMN = "text"
# About 300 sentences on animals, written for trying out.
SAMPLE = "animal_sentences"
# Characters read at once; a passage is about as long.
PASSAGE = 2**16
# A passage that goes on for so long without the end of a sentence is cut where it is.
LONGEST_PASSAGE = 2**20
# What follows decides whether a sentence ends, so the last characters read wait for more.
_UNDECIDED = 2**10
# The longest word that is looked at before a full stop.
_LOOK_BACK = 20
_ROWS_AT_ONCE = 256
_OTHER_COLUMN = "call the one that is meant 'text', or give column to read_texts"

_CLOSING = "\"'”’)\\]»_*"
_BREAK = re.compile(rf"[.?!…][{_CLOSING}]*\s+|\n\s*\n\s*")
_NEXT = re.compile(r"[^\W_]")
_LAST_WORD = re.compile(r"[^\W_]+(?=\.$)")
_ABBREVIATION = re.compile(
    "m[rs]|mrs|dr|st|messrs|mme|mdlle|mlle|mgr|prof|revd?|hon|capt|col|gen|lieut|lt|sergt|sgt|maj|supt|gov|sen|rep|esq|"
    "[js]r|vs|viz|cf|vol|fig|bros|mt|ft",
    re.IGNORECASE,
)


def read_texts(paths, column=None):
    """Read the texts of files one after the other, never a whole file at once.

    Parameters
    ----------
    paths : str, Path, Piece, or sequence of them
        Text (any ending), JSON lines (``.jsonl``, ``.ndjson``, ``.json``) or Parquet (``.parquet``), the first
        two also gzip-compressed (``.gz``); UTF-8. A `Piece` is a part of a file, from `biaslib.shards.cut_files`.
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
    >>> from biaslib.templates import DATA
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
        For `read_texts` or `biaslib.shards.cut_files`; empty for ``""``.

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


def sentence_spans(text):
    """Tell where the sentences of an English text begin and end, by its punctuation.

    A sentence ends at ``.``, ``?``, ``!`` or ``…`` before white space, unless a lower-case letter follows or a
    title, an abbreviation or an initial stands before; at a blank line; and beside a line in capitals, such as a
    heading. A single line break is white space: texts may be wrapped or not.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of (int, int)
        First character and the one after the last, without white space around; they leave out nothing else.

    Examples
    --------
    >>> text = "“Run!” cried Mr. Fox.\\nThe hens ran."
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['“Run!” cried Mr. Fox.', 'The hens ran.']
    """
    spans, start = [], 0
    for end in (*_breaks(text), len(text)):
        _add_spans(spans, text, start, end)
        start = end
    return spans


def _breaks(text):
    """Tell where the next sentence begins, in texts without headings."""
    return [found.end() for found in _BREAK.finditer(text) if _ends_sentence(text, found)]


def _ends_sentence(text, found):
    mark = found.group()
    if mark.count("\n") > 1:
        return True
    following = _NEXT.search(text, found.end(), found.end() + 8)
    if following and following.group().islower():
        return False
    if mark[0] != "." or not mark[1:].isspace():
        return True
    before = _LAST_WORD.search(text[max(0, found.start() - _LOOK_BACK) : found.start() + 1])
    word = before.group() if before else ""
    is_initial = len(word) == 1 and word.isupper() and word != "I"
    return not (is_initial or _ABBREVIATION.fullmatch(word))


def _add_spans(spans, text, start, end):
    """Add a sentence, and the lines in capitals before it (a heading has no full stop) each on its own."""
    piece = text[start:end]
    first = start + len(piece) - len(piece.lstrip())
    last = start + len(piece.rstrip())
    while "\n" in (rest := text[first:last]):
        line = rest.partition("\n")[0]
        if not line.isupper() or sum(map(str.isalpha, line)) < 2:
            break
        spans.append((first, first + len(line.rstrip())))
        first += len(rest) - len(rest[len(line) :].lstrip())
    if last > first:
        spans.append((first, last))


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
        least = look_from + _LOOK_BACK if look_from else 1
        ends = [look_from + end for end in _breaks(buffer[look_from:]) if least <= look_from + end <= decided]
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
