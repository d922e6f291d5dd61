"""Long work in shards, each written to a file of its own, so that a killed run resumes where it stopped.

A folder of shards holds ``shard-00000.parquet`` and so on, ``manifest.json`` (what the shards were computed from, with
the hash and the number of rows of each) and ``seconds.json`` (how long each took). The same work gives the same bytes
in all but the last, interrupted or not and on any number of machines; for a model's scores this holds on the same kind
of processor with the same number of threads.
"""

import hashlib
import io
import json
import os
import re
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from biaslib import __version__
from biaslib._checks import listed
from biaslib._files import locked, read_json, write_bytes, write_json
from biaslib._provenance import data_fingerprint, sha256_of_file
from biaslib._text import one_line
from biaslib.compute.cluster import connected, each_result
from biaslib.io.corpora import Piece

if TYPE_CHECKING:
    import distributed

_MANIFEST, _SECONDS = "manifest.json", "seconds.json"
_OWN = re.compile(r"shard-\d{5,}\.parquet|manifest\.json|seconds\.json|\.part-[^/]+")
# The manifest grows with the number of shards; at most this share of the time is spent on writing it.
_SHARE_FOR_MANIFEST = 0.05
# A worker may have several threads, but a tokenizer serves one at a time.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class ShardRun:
    """Result of `run_shards`.

    Attributes
    ----------
    folder : pathlib.Path
        Where the shards are, for `read_shards`.
    n_shards : int
    n_kept : int
        Shards that an earlier call had computed.
    n_rows : int
        Rows in all shards.
    seconds : float
        Duration of this call.
    note : str
        Why earlier shards were not used, "" if they were.
    fingerprint : str
        Of the identity and the items, from which the shards were computed.
    """

    folder: Path
    n_shards: int
    n_kept: int
    n_rows: int
    seconds: float
    note: str = ""
    fingerprint: str = ""

    @property
    def summary(self) -> str:
        """One line for a log."""
        n_new = self.n_shards - self.n_kept
        rate = f", {60 * n_new / self.seconds:.1f} shards a minute" if n_new and self.seconds else ""
        rows = f"{self.n_rows:,} rows in {self.folder}"
        return f"{self.n_shards} shards, {self.n_kept} of them from before: {rows}; {self.seconds:.1f} s{rate}"

    def to_frame(self) -> pd.DataFrame:
        """Return the fields as a frame with one row."""
        return pd.DataFrame([{**asdict(self), "folder": str(self.folder)}])


class _Scored(NamedTuple):
    """A shard's Parquet file, still in memory, and what the manifest says about it."""

    content: bytes
    rows: int
    counts: dict
    seconds: float


def run_shards(
    items: Iterable,
    work: Callable[[Any], pd.DataFrame],
    *,
    out: str | Path,
    identity: Mapping,
    client: "distributed.Client | str | Path | None" = None,
    progress: bool = False,
) -> ShardRun:
    """Apply a function to each item and keep each result as a file.

    A call that ends early, killed or with the disk full, loses only the shards in progress; rerun it to resume. If
    `identity`, the items or the version of this package have changed since, all shards are computed anew, beside the
    earlier ones, which are replaced once the new ones are complete. If another process works in `out`, the call waits
    for it and uses its shards.

    Parameters
    ----------
    items : sequence
        One per shard: paths, numbers, strings, or tuples of these, such as `biaslib.io.cut_files` returns. Of a `Path`
        or `Piece`, the manifest records the file's name without its folder.
    work : callable
        ``work(item)`` returns a shard's frame; its index is not kept. Its ``attrs`` may hold counts (whole numbers),
        such as of what was left out. The same item must give the same frame. With a client, `work` is sent to the
        workers, so it should not hold a model but call `biaslib.compute.worker_model`.
    out : str or Path
        Folder for the shards; it must hold nothing else.
    identity : mapping
        What the result depends on, in plain values: parameters, the model's fingerprint, that of the corpus
        (`corpus_fingerprint`).
    client : distributed.Client, str or Path, optional
        Where the shards are computed, see `biaslib.compute.connected`; by default in this process, one at a time. The
        files are always written by this process. Workers must be able to read the corpus under the same paths; each
        computes one shard at a time, so one thread per worker is enough.
    progress : bool
        Show a bar with the rate and the time left; outside terminals and live notebooks, one line at the end.

    Returns
    -------
    ShardRun

    Raises
    ------
    ValueError
        If there is no item, `out` holds other files, or `identity` holds other than plain values.
    TypeError
        If `work` does not return a frame, or returns one that Parquet cannot hold.
    OSError
        If a file cannot be written; no partial file is left.
    ModuleNotFoundError
        If pyarrow is not installed, or a client is given and Dask is not.

    Warns
    -----
    UserWarning
        If earlier shards are not used, with the reason.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = run_shards([1, 2], lambda n: pd.DataFrame({"square": [n * n]}), out=f"{folder}/squares", identity={})
    ...     table = read_shards(run.folder)
    >>> table.values.tolist(), run.n_kept
    ([[0, 1], [1, 4]], 0)
    """
    start = time.perf_counter()
    items, out = list(items), Path(out)
    _pyarrow()
    plan = _plan(items, identity)
    out.parent.mkdir(parents=True, exist_ok=True)
    waiting = f"waiting for another process that computes the shards in {out}"
    with locked(out.with_name(f".{out.name}.lock"), waiting):
        place, note = _place(out, plan)
        done, damaged = _begin(place, plan)
        note = "; ".join(filter(None, [note, damaged]))
        if note:
            warnings.warn(note, UserWarning, stacklevel=2)
        n_kept = len(done)
        _run_missing(items, work, place, plan, done, client, progress)
        if place != out:
            _supersede(place, out)
    rows = sum(record["rows"] for record in done.values())
    fingerprint = data_fingerprint(plan["identity"], _items_sha256(plan))
    run = ShardRun(out, len(items), n_kept, rows, time.perf_counter() - start, note, fingerprint)
    if progress and not _is_watched():
        print(run.summary, file=sys.stderr)
    return run


def read_shards(out: str | Path | ShardRun, *, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read all shards as one frame.

    Parameters
    ----------
    out : str, Path or ShardRun
        The folder; or the result of `run_shards`, in which case shards replaced by another call since are an error.
    columns : sequence of str, optional
        The columns to read; by default all.

    Returns
    -------
    pandas.DataFrame
        The rows in the order of the shards, with a first column ``shard``, its number. ``attrs`` holds the sums of the
        shards' counts.

    Raises
    ------
    FileNotFoundError
        If there are no shards, or some are missing.
    ValueError
        If a file is damaged, or the shards are not those of the given run.

    Examples
    --------
    >>> read_shards("scores/books")  # doctest: +SKIP
    """
    pa = _pyarrow()
    tables, counts = [], {}
    for table, own in _tables(out, columns):
        tables.append(table)
        counts = {name: counts.get(name, 0) + own.get(name, 0) for name in {**counts, **own}}
    # Columns without any value have no certain type.
    tables = [table for table in tables if table.num_rows] or tables[:1]
    frame = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries().to_pandas()
    frame.attrs.update(counts)
    return frame


def _plan(items, identity):
    """Return what the manifest says from the start; equal plans give equal shards."""
    if not items:
        raise ValueError("there is no shard to compute; give at least one item")
    recorded = [_recorded(item) for item in items]
    try:
        plain = json.loads(json.dumps(dict(identity), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"identity must be a mapping of plain values: {error}") from None
    return {"identity": {"biaslib": __version__, **plain}, "items": recorded}


def _recorded(item):
    if isinstance(item, Piece):
        return [Path(item.path).name, item.start, item.stop]
    if isinstance(item, Path):
        return item.name
    if isinstance(item, list | tuple):
        return [_recorded(entry) for entry in item]
    if isinstance(item, Mapping):
        return {str(key): _recorded(value) for key, value in item.items()}
    if item is None or isinstance(item, str | int | float):
        return item
    raise TypeError(f"an item cannot be a {type(item).__name__}; give paths, numbers, texts or tuples of these")


def _place(out, plan):
    """Return the folder to work in, and why it is not the one asked for."""
    following, aside = (out.with_name(f".{out.name}.{what}") for what in ("next", "old"))
    if aside.exists() and not out.exists():
        # Killed between two moves.
        os.rename(aside, out)
    for folder in (out, following):
        _refuse_others(folder)
    differences = _differences(_read_manifest(out), plan)
    if not differences or not any(out.glob("shard-*")):
        return out, ""
    goes_on = not _differences(_read_manifest(following), plan)
    start = "going on with what was started anew" if goes_on else "starting anew"
    return following, f"{differences}: {start}; what is in {out} stays until the new shards are complete"


def _refuse_others(folder):
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; choose another out")
    others = sorted(path.name for path in folder.glob("*") if not (_OWN.fullmatch(path.name) or _is_hidden_file(path)))
    if others:
        raise ValueError(f"{folder} holds {others[0]!r}, which is no shard; choose another out, or move it away")


def _is_hidden_file(path):
    """Whether this is a hidden file, such as systems leave in folders (.DS_Store, .nfs…)."""
    return path.name.startswith(".") and path.is_file()


def _read_manifest(folder):
    """Read a manifest; None if there is none that can be read."""
    try:
        manifest = read_json(folder / _MANIFEST)
        return manifest if _is_sound(manifest) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_sound(manifest):
    """Whether a manifest names each shard once, by its own file name, and says what is in it."""
    records = manifest["shards"]
    numbers = [int(record["file"][6:-8]) for record in records]
    return (
        isinstance(manifest["identity"], dict)
        and numbers == sorted(set(numbers) & set(range(manifest["n_shards"])))
        and [record["file"] for record in records] == [_file_name(number) for number in numbers]
        and all(isinstance(record["sha256"], str) and isinstance(record["rows"], int) for record in records)
        and all(isinstance(record["counts"], dict) for record in records)
    )


def _differences(was, plan):
    """Say what has changed since a manifest was written, "" if nothing."""
    if was is None:
        return f"there is no {_MANIFEST} that can be read"
    before, now = was["identity"], plan["identity"]
    said = [
        f"{name} {_said(before, name, 'was')} and {_said(now, name, 'is')}"
        for name in {**before, **now}
        if name not in before or name not in now or before[name] != now[name]
    ]
    if was.get("items_sha256") != _items_sha256(plan):
        said.append("the shards are cut in another way")
    return "; ".join(said)


def _said(identity, name, verb):
    if name not in identity:
        return f"{verb} not given"
    return f"{verb} {one_line(json.dumps(identity[name], ensure_ascii=False), 80)}"


def _items_sha256(plan):
    return hashlib.sha256(json.dumps(plan["items"]).encode()).hexdigest()


def _begin(place, plan):
    """Prepare a folder; return the records of the shards that are done, and which were damaged."""
    manifest = _read_manifest(place)
    if _differences(manifest, plan):
        # Only a folder without shards or an unfinished one beside the result comes here.
        place.mkdir(parents=True, exist_ok=True)
        for path in place.glob("*"):
            if _OWN.fullmatch(path.name):
                path.unlink()
        _write_manifest(place, plan, {})
        return {}, ""
    for part in place.glob(".part-*"):
        part.unlink()
    records = {int(record["file"][6:-8]): record for record in manifest["shards"]}
    whole = {number: record for number, record in records.items() if _is_whole(place, record)}
    damaged = [records[number]["file"] for number in records if number not in whole]
    if not damaged:
        return whole, ""
    return whole, f"damaged or missing, computed again: {listed(damaged, most=5)}"


def _is_whole(place, record):
    path = place / record["file"]
    return path.is_file() and sha256_of_file(path) == record["sha256"]


def _run_missing(items, work, place, plan, done, client, progress):
    """Compute the shards that are not done, write each, and add it to `done` and to the manifest."""
    from tqdm import tqdm

    missing = [number for number in range(len(items)) if number not in done]
    seconds = _read_seconds(place)
    bar = tqdm(total=len(items), initial=len(done), unit="shard", disable=not (progress and _is_watched()))
    saved, took = time.perf_counter(), 0.0
    with bar, closing(_computed(items, missing, work, client)) as computed:
        try:
            for number, scored in computed:
                done[number] = _write_shard(place, number, plan["items"][number], scored)
                seconds[done[number]["file"]] = round(scored.seconds, 3)
                bar.update()
                if (now := time.perf_counter()) - saved > took / _SHARE_FOR_MANIFEST:
                    _save(place, plan, done, seconds)
                    saved, took = time.perf_counter(), time.perf_counter() - now
        except BaseException as stop:
            # If a full disk ended the run, there may be no room for this either.
            with suppress(OSError):
                _save(place, plan, done, seconds)
            stop.add_note(
                f"{len(done)} of {len(items)} shards are done and stay in {place}; rerun the same call to resume"
            )
            raise
    if missing:
        _save(place, plan, done, seconds)


def _computed(items, missing, work, client):
    """Yield the number and the content of each missing shard as it is computed, here or on workers."""
    score = partial(_score, work, __version__)
    if client is None:
        for number in missing:
            yield number, _named(score, items[number], number)
        return
    with connected(client) as connection:
        results = each_result(connection, score, [items[number] for number in missing])
        with closing(results):
            for place, scored, error in results:
                if error is not None:
                    error.add_note(f"in {_file_name(missing[place])}")
                    raise error
                yield missing[place], scored


def _named(score, item, number):
    try:
        return score(item)
    except Exception as error:
        error.add_note(f"in {_file_name(number)}")
        raise


def _score(work, version, item):
    """Compute a shard, possibly on a worker: only its file is sent back."""
    if version != __version__:
        raise ValueError(f"a worker has biaslib {__version__}, not {version}; install the same version everywhere")
    with _ONE_AT_A_TIME:
        start = time.perf_counter()
        frame = work(item)
        if not isinstance(frame, pd.DataFrame):
            raise TypeError(f"the work on a shard must return a DataFrame, not {type(frame).__name__}")
        content = _parquet(frame)
        return _Scored(content, len(frame), _counts(frame.attrs), time.perf_counter() - start)


def _pyarrow():
    try:
        import pyarrow
    except ImportError as error:
        raise ModuleNotFoundError(
            f"shards are Parquet files, which need pyarrow ({error}): pip install pyarrow"
        ) from None
    return pyarrow


def _parquet(frame):
    """Return a frame as the bytes of a Parquet file, without the metadata that pandas adds."""
    pa = _pyarrow()
    from pyarrow import parquet

    names = list(frame.columns)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names) or "shard" in names:
        raise TypeError(f"the columns of a shard must be different strings other than 'shard', not {names}")
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    except pa.ArrowException as error:
        raise TypeError(f"a column of a shard cannot be kept: {' '.join(map(str, error.args))}") from None
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, compression="zstd")
    return sink.getvalue().to_pybytes()


def _counts(attrs):
    for name, value in attrs.items():
        if isinstance(value, bool) or not isinstance(value, int) or not isinstance(name, str):
            raise TypeError(f"attrs of a shard must be counts, which are summed; {name!r} is {value!r}")
    return dict(attrs)


def _write_shard(place, number, item, scored):
    path = place / _file_name(number)
    write_bytes(path, scored.content)
    sha256 = hashlib.sha256(scored.content).hexdigest()
    return {"file": path.name, "item": item, "sha256": sha256, "rows": scored.rows, "counts": scored.counts}


def _save(place, plan, done, seconds):
    _write_manifest(place, plan, done)
    _write_json(place / _SECONDS, dict(sorted(seconds.items())))


def _write_manifest(place, plan, done):
    manifest = {
        "identity": plan["identity"],
        "items_sha256": _items_sha256(plan),
        "n_shards": len(plan["items"]),
        "shards": [done[number] for number in sorted(done)],
    }
    _write_json(place / _MANIFEST, manifest)


def _read_seconds(place):
    try:
        return dict(read_json(place / _SECONDS))
    except (OSError, ValueError, TypeError):
        return {}


def _write_json(path, content):
    # The manifest's form, which decides whether two runs gave the same bytes.
    write_json(path, content, indent=1, errors="surrogatepass")


def _supersede(place, out):
    """Put the complete new shards where the earlier ones are; those go last."""
    aside = out.with_name(f".{out.name}.old")
    shutil.rmtree(aside, ignore_errors=True)
    if out.exists():
        os.rename(out, aside)
    os.rename(place, out)
    for path in aside.glob(".*"):
        if not _OWN.fullmatch(path.name):
            os.replace(path, out / path.name)
    shutil.rmtree(aside, ignore_errors=True)


def _tables(run, columns):
    from pyarrow import parquet

    out = run.folder if isinstance(run, ShardRun) else Path(run)
    manifest = _read_manifest(out)
    if manifest is None:
        raise FileNotFoundError(f"no shards at {out}; compute them with run_shards")
    now = data_fingerprint(manifest["identity"], manifest.get("items_sha256"))
    if isinstance(run, ShardRun) and now != run.fingerprint:
        raise ValueError(f"another call has replaced the shards in {out} since; give each call an out of its own")
    n_done = len(manifest["shards"])
    if n_done < manifest["n_shards"]:
        raise FileNotFoundError(
            f"{n_done} of {manifest['n_shards']} shards in {out} are done; rerun run_shards to resume"
        )
    wanted = None if columns is None else [column for column in columns if column != "shard"]
    for number, record in enumerate(manifest["shards"]):
        path = out / record["file"]
        content = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(content).hexdigest() != record["sha256"]:
            raise ValueError(f"{path} is damaged or missing; rerun run_shards to compute it again")
        table = parquet.read_table(io.BytesIO(content), columns=wanted)
        yield _with_number(table, number), record["counts"]


def _with_number(table, number):
    pa = _pyarrow()
    return table.add_column(0, "shard", pa.array([number] * table.num_rows, pa.int32()))


def _file_name(number):
    return f"shard-{number:05}.parquet"


def _is_watched():
    """Whether output goes to a terminal or a live notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules
