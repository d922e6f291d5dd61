"""A cache of vectors read before."""

import hashlib
import os
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np

from biaslib._files import read_json, write_json
from biaslib.io._vector_records import make_keyed_vectors

# Part of a cache entry's name: a change of what is read from a file makes earlier entries stale.
_READING = 1


def through_cache(files, limit, read):
    """Map what an earlier reading of the same files left in the cache; else read them, and leave it there."""
    entry = _cache_entry(files, limit)
    cached = _from_cache(entry)
    if cached is None:
        words, array, account = read()
        _to_cache(entry, words, array, account)
        cached = _from_cache(entry) or (words, array, account)
    return make_keyed_vectors(*cached)


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
        kept = read_json(entry / "words.json")
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
        write_json(beside / "words.json", {"words": words, "account": account}, indent=None)
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
    warnings.warn(f"no cache in {folder!r} ({reason}): set BIASLIB_CACHE to a writable folder", stacklevel=6)
