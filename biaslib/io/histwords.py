"""Word vectors by decade, in HistWords' format."""

import difflib
import pickle
from functools import partial
from pathlib import Path

import numpy as np

from biaslib._files import DATA
from biaslib.io._vector_cache import through_cache
from biaslib.io._vector_records import (
    VectorsError,
    clean_words,
    files_by_decade,
    in_place,
    make_keyed_vectors,
    new_account,
    warn_of,
)

_EMBEDDED_DECADES = DATA / "novel_decades"


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
        loaded[decade] = make_keyed_vectors(*read()) if embedded else through_cache(found[decade], None, read)
        loaded[decade].loading = {"source": str(source), "decade": decade, **loaded[decade].loading}
    warn_of(str(source), [vectors.loading for vectors in loaded.values()])
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
    others = sorted(set(files_by_decade(folder, "w.npy")) - set(decades)) if folder.is_dir() else []
    if others:
        raise VectorsError(f"{str(folder)!r} holds other decades ({_listed(others)}): give another folder")
    for decade, vectors in decades.items():
        with np.errstate(over="ignore"):
            array = np.asarray(vectors.vectors).astype(dtype)
        if not np.isfinite(array).all():
            raise VectorsError(f"decade {decade} has values that are not finite in {dtype}")
        with in_place(folder / f"{decade}-w.npy") as path, path.open("wb") as file:
            np.save(file, array)
        with in_place(folder / f"{decade}-vocab.pkl") as path, path.open("wb") as file:
            pickle.dump([str(word) for word in vectors.index_to_key], file, protocol=2)


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
    if len(set(raw_words)) != len(raw_words):
        twice = next(raw for raw, seen in _with_earlier(raw_words) if raw in seen)
        raise VectorsError(f"{str(vocabulary_file)!r} has the word {twice.decode('utf-8', 'replace')!r} twice")
    account = new_account("histwords")
    present = np.flatnonzero((array != 0).any(axis=1))
    account["absent"] = len(array) - len(present)
    words, array, account = clean_words([raw_words[row] for row in present], array[present].astype(np.float32), account)
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


def _listed(decades):
    return ", ".join(map(str, decades)) or "none"
