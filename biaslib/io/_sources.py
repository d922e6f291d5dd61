"""Files found by path, by the name of an embedded one or by the name of a data set."""

import os
import re
from pathlib import Path

from biaslib._checks import listed
from biaslib._files import DATA
from biaslib.io.datasets import dataset_path


def find_source(source, what, embedded=(), *, data_sets=False):
    """Find a file or folder; `embedded` lists files of the package, each known by its name without the ending."""
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"{what} must be given by path or name, not as a {type(source).__name__}")
    ours = {Path(name).stem: DATA / name for name in embedded}
    if source in ours:
        return ours[source]
    path = Path(source).expanduser()
    if path.exists():
        return path
    if data_sets and isinstance(source, str) and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", source):
        return dataset_path(source)
    *others, last = ["a file", *map(repr, ours), *(["the name of a data set"] if data_sets else [])]
    raise FileNotFoundError(f"no {what} {str(source)!r}: give {f'{listed(others)} or {last}' if others else last}")


def find_file(source, what, embedded=(), *, data_sets=False):
    """Find a file as `find_source` does; a folder is an error."""
    path = find_source(source, what, embedded, data_sets=data_sets)
    if path.is_dir():
        raise FileNotFoundError(f"no {what} {str(source)!r}: it is a folder; give a file in it")
    return path
