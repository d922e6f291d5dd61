"""Word vectors by decade, in HistWords' format."""

import difflib
import pickle
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from biaslib._checks import listed
from biaslib._files import DATA
from biaslib._text import one_line
from biaslib.io._vector_cache import through_cache
from biaslib.io._vector_records import (
    VectorsError,
    clean_words,
    files_by_decade,
    make_keyed_vectors,
    new_account,
    warn_of,
)

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

_EMBEDDED_DECADES = DATA / "novel_decades"


def load_histwords(source: str | Path, *, decades: Iterable[int] | None = None) -> dict[int, "KeyedVectors"]:
    """Load the vectors of each decade from a folder in the format of HistWords (Hamilton et al. 2016).

    Parameters
    ----------
    source : str or Path
        A folder with ``<decade>-w.npy`` and ``<decade>-vocab.pkl`` for each decade, such as ``eng-all/sgns``; or
        ``"novels"``, the embedded vectors of 100 novels, which are for trying out, not for findings.
    decades : iterable of int, optional
        Load only these.

    Returns
    -------
    dict of int to gensim.models.KeyedVectors
        By decade, ascending; each as from :func:`load_vectors`. A row of zeros is an absent word: it is left out of the
        vocabulary and counted in ``loading["absent"]``.

    Raises
    ------
    VectorsError
        If a file is missing, damaged or does not fit its partner, or a vocabulary is not a list of strings.

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
        raise VectorsError(f"{str(source)!r} has no decade {absent[0]}, only {listed(sorted(found)) or 'none'}")
    loaded = {}
    for decade in chosen:
        read = partial(_read_decade, *found[decade])
        loaded[decade] = make_keyed_vectors(*read()) if embedded else through_cache(found[decade], None, read)
        loaded[decade].loading = {"source": str(source), "decade": decade, **loaded[decade].loading}
    warn_of(str(source), [vectors.loading for vectors in loaded.values()])
    return loaded


def _decade_files(folder):
    """Pair each decade's array with its vocabulary."""
    if not folder.is_dir():
        _refuse_folder(folder)
    arrays, vocabularies = files_by_decade(folder, "w.npy"), files_by_decade(folder, "vocab.pkl")
    if not arrays and not vocabularies:
        inside = [path for path in sorted(folder.iterdir()) if path.is_dir() and files_by_decade(path, "w.npy")]
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
    twice = [raw for raw, count in Counter(raw_words).items() if count > 1]
    if twice:
        raise VectorsError(f"{str(vocabulary_file)!r} has the word {twice[0].decode('utf-8', 'replace')!r} twice")
    account = new_account("histwords")
    present = np.flatnonzero((array != 0).any(axis=1))
    account["absent"] = len(array) - len(present)
    words, array, account = clean_words([raw_words[row] for row in present], array[present].astype(np.float32), account)
    if not words:
        raise VectorsError(f"{str(array_file)!r} has no row with finite values that are not all zero")
    return words, array, account


def _decade_array(path):
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise VectorsError(f"{str(path)!r} is not an array of numbers: {one_line(error, 200)}") from None
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "fiu" or not array.size:
        raise VectorsError(f"{str(path)!r} is not a table of numbers with one row per word")
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
        raise VectorsError(f"{str(path)!r} is not a readable pickle: {type(error).__name__}") from None
    if not isinstance(words, list) or not all(isinstance(word, str | bytes) for word in words):
        raise VectorsError(f"{str(path)!r} does not hold a list of strings")
    return [word if isinstance(word, bytes) else word.encode("utf-8", "surrogatepass") for word in words]
