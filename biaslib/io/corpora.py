"""Corpora: their files found, cut into pieces, and read as texts.

Every function here knows the same kinds of file: plain text (``.txt``) and tables with a column of text (``.csv``,
``.tsv``, ``.json``, ``.jsonl``, ``.ndjson``, ``.parquet``), each also compressed by gzip (``.gz``). What `biaslib.io`
says of tables and of encodings holds for them.
"""

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from biaslib._checks import as_sentences, check_count, listed
from biaslib._files import DATA
from biaslib._provenance import data_fingerprint, sha256_of_file
from biaslib._text import one_line
from biaslib.io._text_files import is_gzip, iterate_lines, open_text
from biaslib.io.sentences import LOOK_BACK, sentence_breaks
from biaslib.io.tables import can_be_cut, iterate_column, open_parquet, table_kind

SAMPLES = ("animal_sentences", "queer_news_sample", "queer_voices_sample")
DEFAULT_COLUMN = "text"
# About a minute of finding and scoring.
SHARD_BYTES = 8 * 2**20
# Characters read at once; a passage is about as long.
PASSAGE = 2**16
# A passage that goes on for so long without the end of a sentence is cut where it is.
LONGEST_PASSAGE = 2**20
# What follows decides whether a sentence ends, so the last characters read wait for more.
_UNDECIDED = 2**10
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
        Bytes of text, TSV or JSON lines; row groups of Parquet. None is the end of the file.
    """

    path: str
    start: int = 0
    stop: int | None = None


def corpus_files(corpus: str | Path | Sequence[str | Path]) -> list[Path]:
    """List the files of a corpus.

    Parameters
    ----------
    corpus : str, Path, or sequence of them
        A file; a folder, whose files count in the order of their names, without hidden files and those in subfolders;
        or an embedded sample: ``"animal_sentences"``, ``"queer_news_sample"`` or ``"queer_voices_sample"``. ``""``
        stands for no corpus.

    Returns
    -------
    list of pathlib.Path
        For `read_texts` or `cut_files`; empty for ``""``.

    Raises
    ------
    FileNotFoundError
        If there is no such file or folder, a folder has no file, or a link in it is broken.
    ValueError
        If a file occurs twice, also by links: its sentences would count twice; or if it is of no kind that can be
        read.

    Warns
    -----
    UserWarning
        If subfolders with files are left out.

    Examples
    --------
    >>> [path.name for path in corpus_files("animal_sentences")], corpus_files("")
    (['animal_sentences.txt'], [])
    """
    entries = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    files = list(chain.from_iterable(_files_of(entry) for entry in entries if entry != ""))
    _refuse_duplicates(files)
    for path in files:
        _check_kind(path)
    return files


def read_texts(
    paths: str | Path | Piece | Sequence[str | Path | Piece], text_column: str = DEFAULT_COLUMN, *, lines: bool = False
) -> Iterator[str]:
    """Read the texts of files one after the other, never a whole file at once.

    Parameters
    ----------
    paths : str, Path, Piece, or sequence of them
        Files, or parts of files from `cut_files`.
    text_column : str
        The column of a table that holds the text.
    lines : bool
        Whether each line of plain text is a text. By default, plain text comes in passages of about 65,000 characters
        that end where a sentence does.

    Yields
    ------
    str
        Of a table, one text per row; "" for an empty cell.

    Raises
    ------
    FileNotFoundError
        If there is no such file; before anything is read.
    ValueError
        If no path is given, or a file is of no kind that can be read, is damaged, is not UTF-8 or UTF-16, or lacks
        the column. The message is one line that names the file.
    ModuleNotFoundError
        If a file is Parquet and pyarrow is not installed.

    Examples
    --------
    >>> text = next(read_texts(corpus_files("animal_sentences")))
    >>> len(text) > 10_000
    True
    """
    paths = [paths] if isinstance(paths, str | Path | Piece) else list(paths)
    pieces = [path if isinstance(path, Piece) else Piece(str(Path(path).expanduser())) for path in paths]
    _check_files([Path(piece.path) for piece in pieces])
    return chain.from_iterable(_texts_of(piece, text_column, lines) for piece in pieces)


def read_documents(texts: str | Path | Iterable[str | Path], *, text_column: str = DEFAULT_COLUMN) -> list[str]:
    """Read the documents to train on.

    Parameters
    ----------
    texts : str, Path, or sequence of these or of texts
        A corpus as for `corpus_files`, or the texts themselves, as a list or a column of a frame. A line of plain text
        or a row of a table is a document.
    text_column : str
        The column of a table that holds the text.

    Returns
    -------
    list of str
        Stripped; "" for an empty line or cell.

    Raises
    ------
    FileNotFoundError, ValueError
        As in `corpus_files` and `read_texts`.

    Examples
    --------
    >>> read_documents(["She wed her wife. ", "They play chess."])
    ['She wed her wife.', 'They play chess.']
    >>> len(read_documents("queer_news_sample"))
    96
    """
    entries = [Path(texts)] if isinstance(texts, str | os.PathLike) else texts
    if isinstance(entries, list | tuple) and entries and _names_file(entries[0]):
        entries = list(read_texts(corpus_files(entries), text_column, lines=True))
    return [text.strip() for text in as_sentences(entries, "texts")]


def cut_files(paths: str | Path | Sequence[str | Path], *, shard_bytes: int = SHARD_BYTES) -> list[tuple[Piece, ...]]:
    """Cut a corpus into shards of about equal size.

    Plain text is cut at a blank line; if none is near, at the end of a line with which a sentence ends, or else of any
    line. JSON lines and TSV are cut at the end of a line, Parquet between row groups. CSV, JSON lists, UTF-16 and
    compressed files are not cut; a compressed file counts as three times as large as it is. Small files share a shard.

    Parameters
    ----------
    paths : sequence of str or Path
        In their order.
    shard_bytes : int
        The approximate size of a shard.

    Returns
    -------
    list of tuple of Piece
        The items for `biaslib.compute.run_shards`. Together, the pieces are the files, each byte once.

    Raises
    ------
    ValueError
        If no path is given, `shard_bytes` is below 1, or a file is of no kind that can be read.
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
    check_count(shard_bytes, "shard_bytes")
    shards, size = [], 0
    for path in _absolute(paths):
        for piece, n_bytes in _pieces(path, shard_bytes):
            if not shards or size + n_bytes > shard_bytes:
                shards.append([])
                size = 0
            shards[-1].append(piece)
            size += n_bytes
    return [tuple(shard) for shard in shards]


def corpus_fingerprint(paths: str | Path | Sequence[str | Path]) -> str:
    """Return a fingerprint of the files of a corpus: their names, without folders, and contents, in their order.

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
    >>> len(corpus_fingerprint(corpus_files("animal_sentences")))
    16
    """
    return data_fingerprint([[path.name, sha256_of_file(path)] for path in _absolute(paths)])


def _files_of(entry):
    if str(entry) in SAMPLES:
        return [DATA / f"{entry}.txt"]
    path = Path(entry).expanduser()
    if path.is_dir():
        return _files_in(path)
    if not path.is_file():
        hint = f"give a file, a folder of files or one of {listed(map(repr, SAMPLES))}"
        texts = "; give texts as a list" if " " in str(entry) else ""
        raise FileNotFoundError(f"no file {one_line(entry, 60)!r}: {hint}{texts}")
    return [path]


def _files_in(folder):
    entries = sorted(_not_hidden(folder.iterdir()))
    broken = [entry for entry in entries if not entry.exists()]
    if broken:
        raise FileNotFoundError(f"the link {str(broken[0])!r} is broken: repair or remove it")
    files = [entry for entry in entries if entry.is_file()]
    if not files:
        raise FileNotFoundError(f"no file in the folder {str(folder)!r}: give the folder of the corpus")
    subfolders = [entry for entry in entries if entry.is_dir()]
    within = [entry.name for entry in subfolders if any(map(Path.is_file, _not_hidden(entry.rglob("*"))))]
    if within:
        left_out = f"subfolders of {str(folder)!r} are left out ({listed(within)}): name these folders too"
        warnings.warn(left_out, UserWarning, stacklevel=5)
    return files


def _not_hidden(paths):
    return (path for path in paths if not path.name.startswith("."))


def _refuse_duplicates(files):
    first = {}
    for path in files:
        place = path.resolve()
        if place in first:
            also = f", also as {str(path)!r}" if path != first[place] else ""
            raise ValueError(f"the corpus has {str(first[place])!r} twice{also}: keep one")
        first[place] = path


def _is_plain_text(path):
    return Path(path).name.lower().removesuffix(".gz").endswith(".txt")


def _check_kind(path):
    if not (_is_plain_text(path) or table_kind(path)):
        kinds = "text (.txt), CSV, TSV, JSON, JSON lines or Parquet"
        raise ValueError(f"the name of {str(path)!r} does not end as that of {kinds}: if it is text, rename it to .txt")


def _check_files(paths):
    if not paths:
        raise ValueError("no file of texts is given: name at least one")
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"no file {str(path)!r}: check the path")
        _check_kind(path)


def _absolute(paths):
    # A worker may have another working folder.
    paths = [Path(os.path.abspath(path)) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    _check_files(paths)
    return paths


def _names_file(entry):
    """Tell whether the first entry of a list is meant as a file."""
    if not isinstance(entry, str):
        return isinstance(entry, os.PathLike)
    return entry in SAMPLES or ("\n" not in entry and (_is_plain_text(entry) or table_kind(entry) is not None))


def _texts_of(piece, text_column, lines):
    if table_kind(piece.path):
        return iterate_column(piece.path, text_column, start=piece.start, stop=piece.stop)
    if lines:
        return iterate_lines(piece.path, start=piece.start, stop=piece.stop)
    return _read_passages(piece)


def _read_passages(piece):
    with open_text(piece.path, start=piece.start, stop=piece.stop) as file:
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


def _pieces(path, shard_bytes):
    """Give the pieces of a file, each with its size in bytes."""
    size = path.stat().st_size
    if not can_be_cut(path):
        yield Piece(str(path)), size * (_GZIP_FACTOR if is_gzip(path) else 1)
    elif table_kind(path) == "parquet":
        with open_parquet(path) as file:
            for number in range(file.num_row_groups):
                yield Piece(str(path), number, number + 1), file.metadata.row_group(number).total_byte_size
    else:
        start = 0
        with open(path, "rb") as file:
            while size - start > shard_bytes:
                stop = _cut_after(file, start + shard_bytes, size, whole_paragraphs=table_kind(path) is None)
                yield Piece(str(path), start, stop), stop - start
                start = stop
        if start < size or size == 0:
            yield Piece(str(path), start, size), size - start


def _cut_after(file, place, size, *, whole_paragraphs):
    """Find where the line or paragraph ends that a byte lies in."""
    # A line that ends with the byte before is over.
    place -= 1
    file.seek(place)
    is_first = True
    while block := file.read(_WINDOW):
        near = (_BLANK_LINE.search(block) or _SENTENCE_END.search(block)) if whole_paragraphs and is_first else None
        end = near.end() if near else block.find(b"\n") + 1
        if end:
            return place + end
        place += len(block)
        is_first = False
    return size
