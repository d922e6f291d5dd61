"""Data sets by name: found in a local folder or downloaded once, and always checked before use.

The registry is ``biaslib/data/datasets.csv``, one row per file. Where nobody published the SHA-256 of a file, that of
its first download is recorded beside it, and the set is called unverified.
"""

import difflib
import os
import sys
import tempfile
import warnings
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from biaslib._files import DATA, read_json, write_json
from biaslib._provenance import sha256_of_file
from biaslib.io.tables import as_numbers, read_table, table_kind

_REGISTRY = DATA / "datasets.csv"
_TIMEOUT = 30
_CHUNK_BYTES = 2**17


class DatasetError(ValueError):
    """Raised for a data set that is unknown, cannot be downloaded or differs from what was published."""


@dataclass(frozen=True)
class _File:
    """One row of the registry; `unpack` is the folder of interest in a zip archive ("." for all of it)."""

    name: str
    file: str
    url: str
    bytes: int | None
    sha256: str
    licence: str
    citation: str
    unpack: str


def dataset_path(name: str) -> Path:
    """Return where a data set is, after downloading it if necessary.

    It is looked for first in the folder that the environment variable ``BIASLIB_DATA`` names, laid out like the column
    ``file`` of the registry, and then in the data folder: ``data`` in ``BIASLIB_CACHE``, by default the user's cache
    folder.

    Parameters
    ----------
    name : str
        As in `list_datasets`.

    Returns
    -------
    Path
        The file, checked by size and SHA-256; or the folder, if the set has several files or was unpacked. The files of
        an unpacked set are checked by name and size.

    Raises
    ------
    DatasetError
        If there is no such set, it cannot be downloaded, or a file differs from the one that was published.

    Warns
    -----
    UserWarning
        If the SHA-256 of a file is recorded because nobody published one.

    Examples
    --------
    >>> dataset_path("crows-pairs")  # doctest: +SKIP
    PosixPath('/home/me/.cache/biaslib/data/crows_pairs/crows_pairs_anonymized.csv')
    """
    files = _files(name)
    folder = next((folder for folder in _folders() if all(_lies_in(folder, file) for file in files)), _data_folder())
    unknown = [file for file in files if not file.sha256 and not _recorded(file)]
    places = [_place(folder, file) for file in files]
    if any(_recorded(file) for file in unknown):
        warnings.warn(
            f"data set {name!r} is unverified: nobody published its SHA-256; that of this first copy is recorded",
            stacklevel=2,
        )
    return places[0] if len(places) == 1 else places[0].parent


def dataset(name: str):
    """Read a data set that is one table, as its authors wrote it.

    Parameters
    ----------
    name : str
        As in `list_datasets`; a set of one CSV or TSV file.

    Returns
    -------
    pandas.DataFrame
        The columns of the file; those of numbers as numbers, all others as text ("NA" and "None" are words).

    Raises
    ------
    DatasetError
        As in `dataset_path`; also if the set is not a single table.

    Examples
    --------
    >>> dataset("winoqueer-v0").shape  # doctest: +SKIP
    (5872, 8)
    """
    files = _files(name)
    if len(files) > 1 or table_kind(files[0].file) not in ("csv", "tsv"):
        raise DatasetError(
            f"data set {name!r} is not a single table: use dataset_path({name!r}) and read what is there"
        )
    return as_numbers(read_table(dataset_path(name)).reset_index(drop=True))


def describe_dataset(name: str) -> dict:
    """Describe a data set, without downloading anything.

    Parameters
    ----------
    name : str
        As in `list_datasets`.

    Returns
    -------
    dict
        ``name files bytes licence citation urls verified``. ``bytes`` is None if nobody published it; ``verified`` says
        whether every file has a published SHA-256.

    Raises
    ------
    DatasetError
        If there is no such set.

    Examples
    --------
    >>> describe_dataset("gender-words")["files"]
    ['gender_words/female_word_file.txt', 'gender_words/male_word_file.txt']
    """
    files = _files(name)
    sizes = [file.bytes for file in files]
    return {
        "name": name,
        "files": [file.file for file in files],
        "bytes": None if None in sizes else sum(sizes),
        "licence": files[0].licence,
        "citation": files[0].citation,
        "urls": [file.url for file in files],
        "verified": all(file.sha256 for file in files),
    }


def list_datasets():
    """List the data sets that are available by name.

    Returns
    -------
    pandas.DataFrame
        ``name files bytes licence where verified``: the number of files; their size, if known; ``"here"`` for the data
        folder, ``"BIASLIB_DATA"`` for the folder it names, or ``"not fetched"``; and whether every file has a published
        SHA-256. Only names are looked up; the files of a set are checked when it is used.

    Examples
    --------
    >>> list_datasets().set_index("name").loc["gap-test", "licence"]
    'Apache-2.0'
    """
    import pandas as pd

    names = dict.fromkeys(file.name for file in _registry())
    sets = pd.DataFrame([describe_dataset(name) | {"where": _where(name)} for name in names])
    sets["files"] = sets["files"].map(len)
    return sets[["name", "files", "bytes", "licence", "where", "verified"]].astype({"bytes": "Int64"})


def _where(name):
    files = _files(name)
    for folder in _folders():
        if all(_lies_in(folder, file) for file in files):
            return "here" if folder == _data_folder() else "BIASLIB_DATA"
    return "not fetched"


def _registry():
    rows = read_table(_REGISTRY).to_dict("records")
    return [_File(**row | {"bytes": int(row["bytes"]) if row["bytes"] else None}) for row in rows]


def _files(name):
    registry = _registry()
    files = [file for file in registry if file.name == name]
    if not files:
        known = sorted({file.name for file in registry})
        near = [other for other in known if other.startswith(f"{name}-")]
        near = near or difflib.get_close_matches(str(name), known, n=1)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "see `biaslib data list`"
        raise DatasetError(f"no data set {name!r}; {hint}")
    return files


def _folders():
    given = os.environ.get("BIASLIB_DATA")
    if not given:
        return [_data_folder()]
    if not Path(given).expanduser().is_dir():
        raise DatasetError(f"BIASLIB_DATA names no folder: {given!r}")
    return [Path(given).expanduser().absolute(), _data_folder()]


def _data_folder():
    from platformdirs import user_cache_path

    given = os.environ.get("BIASLIB_CACHE")
    folder = Path(given).expanduser() if given else user_cache_path("biaslib", appauthor=False)
    return folder.absolute() / "data"


def _unpacked(folder, file):
    return (folder / file.file).with_suffix("")


def _lies_in(folder, file):
    return (folder / file.file).is_file() or bool(file.unpack and _unpacked(folder, file).is_dir())


def _place(folder, file):
    """Give a file of a folder, or download it into the data folder."""
    if file.unpack:
        for unpacked in (_unpacked(folder, file), _unpacked(_data_folder(), file)):
            if unpacked.is_dir():
                return _whole(unpacked, file)
    found = folder / file.file
    if not found.is_file():
        return _download(file)
    sha256 = _checked(found, file)
    if file.unpack:
        with _writing(_data_folder() / file.file) as beside:
            return _unpack(found, file, sha256, beside)
    if folder == _data_folder() and not file.sha256 and not _recorded(file):
        with _writing(found):
            _record(file, {"sha256": sha256})
    return found


def _download(file):
    target = _data_folder() / file.file
    with _writing(target) as beside:
        arrived = _retrieve(file, beside)
        sha256 = _checked(arrived, file, arrived=True)
        if file.unpack:
            return _unpack(arrived, file, sha256, beside)
        if not file.sha256:
            _record(file, {"sha256": sha256})
        os.replace(arrived, target)
    return target


@contextmanager
def _writing(target):
    """Give a folder beside a place, on the same disk; whatever is left in it goes away."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=target.parent) as beside:
            yield Path(beside)
    except OSError as error:
        raise DatasetError(
            f"cannot write to {str(target.parent)!r} ({error.strerror or error}): set BIASLIB_CACHE to a folder that "
            "can be written and has room"
        ) from error


def _retrieve(file, folder):
    import pooch
    from requests.exceptions import RequestException

    # pooch announces each download on standard error, and advises on hashes that we check ourselves.
    pooch.get_logger().setLevel("WARNING")
    downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), chunk_size=_CHUNK_BYTES, timeout=_TIMEOUT)
    try:
        return Path(pooch.retrieve(file.url, None, fname=Path(file.file).name, path=folder, downloader=downloader))
    except RequestException as error:
        raise DatasetError(
            f"data set {file.name!r} cannot be downloaded from {file.url} ({_reason(error)}): {_by_hand(file)}"
        ) from error


def _reason(error):
    from requests import exceptions

    if isinstance(error, exceptions.HTTPError):
        return f"{error.response.status_code} {error.response.reason}"
    if isinstance(error, exceptions.Timeout):
        return f"no answer within {_TIMEOUT} s"
    if isinstance(error, exceptions.ChunkedEncodingError):
        return "the connection broke before all had arrived; nothing was kept"
    if isinstance(error, exceptions.SSLError):
        return "its certificate was not accepted"
    return "no connection, or it broke"


def _by_hand(file):
    return (
        f"put the file at {str(_data_folder() / file.file)!r}, or set BIASLIB_DATA to a folder that holds {file.file}"
    )


def _checked(found, file, *, arrived=False):
    """Give a file's SHA-256 if it is the published or the recorded one."""
    size = found.stat().st_size
    if file.bytes is not None and size != file.bytes:
        raise DatasetError(_other_file(found, file, f"it has {size:,} bytes instead of {file.bytes:,}", arrived))
    sha256 = sha256_of_file(found)
    expected = file.sha256 or _recorded(file).get("sha256", sha256)
    if sha256 != expected:
        raise DatasetError(_other_file(found, file, f"its SHA-256 is {sha256} instead of {expected}", arrived))
    return sha256


def _other_file(found, file, how, arrived):
    if not file.sha256:
        how += f", recorded in {str(_record_of(file))!r}, which you may delete if you trust the new one"
    if arrived:
        return f"what {file.url} sent is not the file of data set {file.name!r}: {how}; nothing was kept"
    if found.is_relative_to(_data_folder()):
        remedy = f"delete it, then `biaslib data fetch {file.name}`"
    else:
        remedy = f"replace it by {file.url}, or unset BIASLIB_DATA"
    return f"{str(found)!r} is not the file of data set {file.name!r}: {how}; {remedy}"


def _record_of(file):
    place = _data_folder() / file.file
    return place.with_name(f"{place.name}.record.json")


def _recorded(file):
    place = _record_of(file)
    if not place.is_file():
        return {}
    try:
        record = read_json(place)
        if isinstance(record["sha256"], str) and isinstance(record.get("members", {}), dict):
            return record
    except (ValueError, TypeError, KeyError):
        pass
    raise DatasetError(f"{str(place)!r}, the record of data set {file.name!r}, is damaged: delete it")


def _record(file, record):
    """Keep what later uses are checked against: the SHA-256, and the sizes of what was unpacked."""
    write_json(_record_of(file), {"url": file.url, **record})


def _unpack(archive, file, sha256, beside):
    """Unpack an archive beside its place, record what came out, and move it there."""
    fresh, target = beside / "unpacked", _unpacked(_data_folder(), file)
    try:
        with zipfile.ZipFile(archive) as opened:
            _refuse_outsiders(opened.namelist(), file)
            opened.extractall(fresh)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise DatasetError(
            f"the archive of data set {file.name!r} cannot be unpacked ({error}), and nothing was: {_by_hand(file)}"
        ) from error
    if not (fresh / file.unpack).is_dir():
        raise DatasetError(f"the archive of data set {file.name!r} has no folder {file.unpack!r}")
    members = {at.relative_to(fresh).as_posix(): at.stat().st_size for at in sorted(fresh.rglob("*")) if at.is_file()}
    _record(file, {"sha256": sha256, "members": members})
    try:
        os.rename(fresh, target)
    except OSError:
        # Another process may have been faster: what it left is checked like any other.
        if not target.is_dir():
            raise
    return _whole(target, file)


def _refuse_outsiders(names, file):
    for name in names:
        windows = PureWindowsPath(name)
        if windows.drive or windows.root or PurePosixPath(name).is_absolute() or ".." in windows.parts:
            raise DatasetError(
                f"the archive of data set {file.name!r} was not unpacked: its member {name!r} lies outside the folder"
            )


def _whole(unpacked, file):
    for name, size in _recorded(file).get("members", {}).items():
        member = unpacked / name
        if not member.is_file() or member.stat().st_size != size:
            raise DatasetError(
                f"{str(unpacked)!r} is damaged ({name} is missing or has another size): delete the folder, then "
                f"`biaslib data fetch {file.name}`"
            )
    inner = unpacked / file.unpack
    return inner if inner.is_dir() else unpacked
