"""Word vectors in GloVe's and word2vec's formats."""

import re
from contextlib import contextmanager
from itertools import islice

import numpy as np

from biaslib.io._text_files import DAMAGED_GZIP, open_bytes
from biaslib.io._vector_records import VectorsError, clean_words, new_account

_HEAD_BYTES = 2**20
BLOCK_LINES = 20_000
_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(rb"\s*(\d+)[ \t]+(\d+)\s*")
NUMBER = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)


@contextmanager
def one_line_errors(path):
    """Turn what a damaged file makes the readers raise into one line that names it."""
    try:
        yield
    except VectorsError:
        raise
    except EOFError:
        raise VectorsError(f"{str(path)!r} ends too early: the download is incomplete") from None
    except DAMAGED_GZIP as error:
        raise VectorsError(f"{str(path)!r} is damaged gzip: {error}") from None
    except MemoryError:
        raise VectorsError(f"{str(path)!r} does not fit into memory: read its first words with limit=100_000") from None
    except OSError as error:
        raise VectorsError(f"cannot read {str(path)!r}: {error.strerror or error}") from None


def read_head(path):
    """Read what tells a file's format."""
    with one_line_errors(path), open_bytes(path) as file:
        head = file.read(_HEAD_BYTES)
    if not head.strip(_BOM + b" \t\r\n"):
        raise VectorsError(f"{str(path)!r} is empty")
    return head


def choose_reader(path, head, limit):
    """Choose between word2vec binary and text by what the file holds."""
    first, _, rest = head.removeprefix(_BOM).partition(b"\n")
    if b"\r" in first.rstrip(b"\r") and b"\0" not in head[:4096]:
        raise VectorsError(f"{str(path)!r}: its lines end with a bare carriage return; save it with line feeds")
    found = _HEADER.fullmatch(first)
    header = [int(found[1]), int(found[2])] if found else None
    if header and header[1] == 0:
        raise VectorsError(f"{str(path)!r}, line 1: the header says 0 numbers per word")
    if header and _is_binary(rest):
        return lambda: _read_binary(path, len(first) + 1, header, limit)
    if not header and b"\0" in head[:4096]:
        raise VectorsError(f"{str(path)!r} is neither text nor word2vec binary, which begins with 'words dimensions'")
    dimension = header[1] if header else _dimension(path, head)
    return lambda: _read_text(path, header, dimension, limit)


def _is_binary(rest):
    """Tell raw float32 from a line of text, even one that is damaged."""
    line = rest.lstrip().partition(b"\n")[0]
    if any(NUMBER.fullmatch(part) for part in line.split()[1:]):
        return False
    try:
        return bool(re.search(r"[\0-\x08\x0e-\x1f]", rest[:4096].decode("utf-8")))
    except UnicodeDecodeError:
        return True


def _dimension(path, head):
    """Find how many numbers most lines end in, where no header says it."""
    whole = head if len(head) < _HEAD_BYTES else head[: head.rfind(b"\n")]
    lines = [line.split() for line in whole.removeprefix(_BOM).split(b"\n")[:1000] if line.strip()]
    lengths = [min(_n_numbers(parts), len(parts) - 1) for parts in lines]
    dimension = max(sorted(set(lengths)), key=lambda length: (lengths.count(length), length > 0))
    if dimension == 0:
        raise VectorsError(f"{str(path)!r} is not a file of vectors: line 1 is not a word followed by numbers")
    return dimension


def _n_numbers(parts):
    """Count the numbers at the end of a line."""
    return next((n for n, part in enumerate(reversed(parts)) if not NUMBER.fullmatch(part)), len(parts))


def _read_text(path, header, dimension, limit):
    """Read GloVe or word2vec text.

    Not with gensim, which takes no word with spaces, no double space and no wrong header, and needs longer.
    """
    account = new_account("word2vec text" if header else "text", header=header, limit=limit)
    raw_words, blocks = [], []
    with one_line_errors(path), open_bytes(path) as file:
        lines = islice(_lines(path, file, account, skip=bool(header)), limit)
        while block := list(islice(lines, BLOCK_LINES)):
            split = [_split(path, number, line, dimension) for number, line in block]
            raw_words += [raw for raw, _ in split]
            blocks.append(_numbers(path, block, [numbers for _, numbers in split]))
    if not raw_words:
        raise VectorsError(f"{str(path)!r} holds no vectors")
    return clean_words(raw_words, np.concatenate(blocks), account)


def _lines(path, file, account, skip):
    """Give the lines that are not empty, with their numbers."""
    for number, line in enumerate(file, start=1):
        if number == 1:
            line = line.removeprefix(_BOM)
            if skip:
                continue
        if line.strip():
            yield number, line
        else:
            account["empty_lines"] += 1


def _split(path, number, line, dimension):
    """Split a line from the right into the word, which may contain spaces, and the text of its numbers."""
    parts = line.rsplit(None, dimension)
    if len(parts) <= dimension:
        raise VectorsError(f"{str(path)!r}, line {number}: expected a word and {dimension} numbers, found fewer")
    raw = parts[0]
    before = raw.split()[1:]
    if before and NUMBER.fullmatch(before[-1]) and _is_whole(before[-1]) == _is_whole(parts[1]):
        raise VectorsError(f"{str(path)!r}, line {number}: expected {dimension} numbers, found more")
    return raw.strip(), line[len(raw) :].decode("latin-1")


def _is_whole(number):
    return number.lstrip(b"+-").isdigit()


def _numbers(path, block, texts):
    try:
        return np.loadtxt(texts, dtype=np.float32, comments=None, ndmin=2)
    except ValueError:
        for (number, _), text in zip(block, texts, strict=True):
            for part in text.encode("latin-1").split():
                if not NUMBER.fullmatch(part):
                    shown = part[:40].decode("utf-8", "replace")
                    raise VectorsError(f"{str(path)!r}, line {number}: {shown!r} is not a number") from None
        raise


def _read_binary(path, start, header, limit):
    """Read word2vec binary.

    Not with gensim, which makes the second of equal words None, and drops what the header does not count.
    """
    dimension = header[1]
    raw_words, values = [], bytearray()
    with one_line_errors(path), open_bytes(path) as file:
        file.read(start)
        for raw, value in islice(_binary_entries(path, file, 4 * dimension), limit):
            raw_words.append(raw)
            values += value
    if not raw_words:
        raise VectorsError(f"{str(path)!r} holds no vectors")
    array = np.frombuffer(values, dtype="<f4").reshape(-1, dimension).astype(np.float32, copy=False)
    return clean_words(raw_words, array, new_account("word2vec binary", header=header, limit=limit))


def _binary_entries(path, file, width):
    """Give each word and the bytes of its numbers."""
    buffer, at = b"", 0
    while True:
        space = buffer.find(b" ", at)
        end = space + 1 + width
        if space >= 0 and end <= len(buffer):
            # The original tool writes a line break behind each vector.
            yield buffer[at:space].lstrip(b"\n"), buffer[space + 1 : end]
            at = end
            continue
        more = file.read(_HEAD_BYTES)
        left = len(buffer) - at
        if not more and not buffer[at:].strip(b"\r\n"):
            return
        if not more or (space < 0 and left > _HEAD_BYTES):
            raise VectorsError(f"{str(path)!r} ends too early: {left} bytes at its end are not a whole vector")
        buffer, at = buffer[at:] + more, 0
