"""Provenance of results: fingerprints of data and versions of packages."""

import hashlib
import json
import platform
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata

import numpy as np
import pandas as pd

from biaslib import __version__

_LIBRARIES = ("torch", "transformers", "tokenizers", "pandas", "numpy", "scipy", "scikit-learn", "matplotlib")
_LIBRARIES += ("papermill", "nbconvert", "itables", "vaderSentiment", "gensim", "spacy", "accelerate", "stanza")
_LIBRARIES += ("coreference-eval",)


def versions() -> dict[str, str]:
    """Return the versions of the software behind a result.

    Returns
    -------
    dict of str to str
        Of biaslib, Python, and the installed libraries that biaslib uses.
    """
    found = {"biaslib": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def data_fingerprint(*objects: object) -> str:
    """Compute a short fingerprint of the data behind a score.

    Parameters
    ----------
    *objects : DataFrame, Series, array, str, number, None, or lists and dicts of these
        Of a DataFrame, columns and rows count in their order, the index does not. Sets and the keys of dicts are
        sorted.

    Returns
    -------
    str
        The first 16 hexadecimal digits of a SHA-256 hash; the same on every machine.

    Raises
    ------
    TypeError
        If an object has another type.

    Examples
    --------
    >>> data_fingerprint(["pig", "dog"]) == data_fingerprint(("pig", "dog"))
    True
    """
    canonical = json.dumps([_canonical(item) for item in objects], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def sha256_of_file(path):
    """Give the SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _canonical(item):
    if isinstance(item, pd.DataFrame):
        return {
            "frame": [
                list(map(str, item.columns)),
                *([_canonical(v) for v in row] for row in item.itertuples(index=False)),
            ]
        }
    if isinstance(item, pd.Series | pd.Index | np.ndarray):
        return [_canonical(value) for value in item.tolist()]
    if isinstance(item, Mapping):
        return {"dict": sorted([json.dumps(_canonical(k)), _canonical(v)] for k, v in item.items())}
    if isinstance(item, set | frozenset):
        return {"set": sorted((_canonical(value) for value in item), key=json.dumps)}
    if isinstance(item, list | tuple):
        return [_canonical(value) for value in item]
    if isinstance(item, np.generic):
        return item.item()
    if item is None or isinstance(item, str | int | float):
        return item
    raise TypeError(
        f"cannot compute a fingerprint of type {type(item).__name__}; give DataFrames, lists, dicts, strings or numbers"
    )
