"""Documents to train on."""

import csv
import io
import json
import os
from pathlib import Path

from biaslib._checks import as_sentences
from biaslib._files import DATA

SAMPLES = ("queer_news_sample", "queer_voices_sample")
_LINES, _RECORDS, _TABLES = (".txt",), (".jsonl", ".ndjson"), (".csv", ".tsv")
_ENDINGS = (*_LINES, *_RECORDS, *_TABLES)


def read_documents(texts, *, text_column="text") -> list[str]:
    """Read the documents to train on.

    Parameters
    ----------
    texts : str, Path, or a sequence of these or of texts
        A file, a folder or several of them; the name of an embedded sample (``"queer_news_sample"``,
        ``"queer_voices_sample"``); or the texts themselves, as a list or a column of a frame. Files end in ``.txt`` (a
        document a line), ``.jsonl`` or ``.ndjson`` (a JSON object a line), ``.csv`` or ``.tsv``, each also with
        ``.gz``, in UTF-8. Of a folder, all files are read, by name; not those of folders within it, nor hidden ones.
    text_column : str
        The field of JSON lines, or the column of a CSV file, that holds the text.

    Returns
    -------
    list of str
        A document each, without white space around; an empty line, record or entry is ``""``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a file has another ending, is damaged or not in UTF-8, or lacks `text_column`.

    Examples
    --------
    >>> read_texts(["She wed her wife. ", "They play chess."])
    ['She wed her wife.', 'They play chess.']
    >>> len(read_texts("queer_news_sample"))
    96
    """
    entries = [Path(texts)] if isinstance(texts, str | os.PathLike) else texts
    if isinstance(entries, list | tuple) and entries and _names_file(entries[0]):
        entries = [text for entry in entries for file in _files_of(entry) for text in _read_file(file, text_column)]
    return [text.strip() for text in as_sentences(entries)]


def _names_file(entry):
    """Whether the first entry of a list is meant as a file."""
    if not isinstance(entry, str):
        return isinstance(entry, os.PathLike)
    return entry in SAMPLES or ("\n" not in entry and _ending(Path(entry)) in _ENDINGS)


def _ending(path):
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _start(text):
    text = str(text)
    return repr(text if len(text) <= 60 else f"{text[:60]}…")


def _files_of(entry):
    """Find the file, the sample, or the files of the folder that an entry names."""
    if str(entry) in SAMPLES:
        return [DATA / f"{entry}.txt"]
    path = Path(entry).expanduser()
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
        if not files:
            raise FileNotFoundError(f"no file lies in the folder {str(path)!r}")
    elif path.is_file():
        files = [path]
    else:
        hint = "give texts as a list, [text]" if " " in str(entry).strip() else "check the path"
        raise FileNotFoundError(f"no file {_start(entry)}: {hint}, or one of the samples {', '.join(SAMPLES)}")
    for file in files:
        if _ending(file) not in _ENDINGS:
            raise ValueError(f"{str(file)!r} ends in none of {', '.join(_ENDINGS)} (each also with .gz): rename it")
    return files


def _read_file(path, text_column):
    """Give the texts of a file, in one line of error where that fails."""
    import gzip
    import zlib

    try:
        with gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb") as file:
            content = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{str(path)!r} is not in UTF-8 (byte {error.start}): save it as UTF-8") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{str(path)!r} is damaged gzip: {error}") from None
    if _ending(path) in _TABLES:
        return _table_texts(content, path, text_column)
    # Lines end where other tools end them, not at a form feed or U+2028 within a text.
    lines = content.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n") if content else []
    if _ending(path) in _LINES:
        return lines
    return [_record_text(line, path, number, text_column) for number, line in enumerate(lines, start=1)]


def _record_text(line, path, number, text_column):
    if not line.strip():
        return ""
    try:
        record = json.loads(line)
    except ValueError:
        raise ValueError(f"line {number} of {str(path)!r} is no JSON: give an object a line") from None
    if not isinstance(record, dict) or text_column not in record:
        has = ", ".join(map(str, record)) if isinstance(record, dict) else "no fields"
        raise ValueError(f"line {number} of {str(path)!r} has no field {text_column!r}; it has {has}: set text_column")
    text = record[text_column]
    if text is not None and not isinstance(text, str):
        raise ValueError(f"field {text_column!r} in line {number} of {str(path)!r} is {text!r}, not a text")
    return text or ""


def _table_texts(content, path, text_column):
    """Give a column of a CSV file; "NA" is a text like any other, a cell that is not there an empty one."""
    limit = csv.field_size_limit(max(len(content), 1))
    reader = csv.reader(
        io.StringIO(content, newline=""), delimiter="\t" if _ending(path) == ".tsv" else ",", strict=True
    )
    try:
        header = next(reader, [])
        if text_column not in header:
            has = ", ".join(header) or "none"
            raise ValueError(f"{str(path)!r} has no column {text_column!r}; it has {has}: set text_column")
        place, texts = header.index(text_column), []
        for row in reader:
            if len(row) > len(header):
                found = f"line {reader.line_num} of {str(path)!r} has {len(row)} cells, its header {len(header)}"
                raise ValueError(f"{found}: put quotation marks around texts with the separator in them")
            texts.append(row[place] if place < len(row) else "")
        return texts
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} of {str(path)!r} is no CSV: {error}") from None
    finally:
        csv.field_size_limit(limit)
