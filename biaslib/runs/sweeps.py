"""Sweeps: one run for each combination in a grid of notebooks and parameters.

A sweep is a YAML file::

    notebooks: [speciesism, unmasked]
    params: demo                      # a file, or the name of one in params/NOTEBOOK/, for each notebook
    grid:
      models: [demo, bert-base-cased] # one run for each value
    set:
      seed: 1                         # the same in all runs

A notebook may have its own ``params``, ``grid`` and ``set``, which take precedence over the general ones::

    notebooks:
      - unmasked
      - notebook: speciesism
        grid: {min_z: [1, 2, 3]}
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from biaslib import compute
from biaslib._checks import check_count
from biaslib._files import folder_name, read_json, read_yaml
from biaslib._provenance import data_fingerprint
from biaslib._text import one_line
from biaslib.runs.notebook_run import run
from biaslib.runs.notebooks import read_notebook
from biaslib.runs.parameters import ParameterError, check_parameters
from biaslib.runs.preparation import prepare

if TYPE_CHECKING:
    from distributed import Client

SWEEP_COLUMNS = ("notebook", "run", "status", "seconds", "report", "error")
_KEYS = ("params", "grid", "set")
_LONGEST_NAME = 80
_CHILD = "import sys; from biaslib.runs.sweeps import _run_from_input; _run_from_input(sys.argv[1])"


class Job(NamedTuple):
    """One run of a sweep: the arguments of `biaslib.runs.run`."""

    notebook: str
    params: str | None
    set_parameters: dict
    name: str
    out: str


def read_sweep(path: str | Path, *, out: str | Path = "outputs") -> list[Job]:
    """Read a sweep and check all its runs.

    Parameters
    ----------
    path : str or Path
        The YAML file; for its format see the docstring of this module.
    out : str or Path
        The folder for all runs.

    Returns
    -------
    list of Job
        Ordered by notebook, then by the grid, whose last parameter varies fastest. The name of a run consists of the
        name of its params and its grid values; no two runs share a folder.

    Raises
    ------
    ValueError
        If the file is not a sweep or one of its runs cannot start; the message says which and why.

    Examples
    --------
    >>> [job.name for job in read_sweep("sweep.yaml")]  # doctest: +SKIP
    ['demo--models=demo', 'demo--models=bert-base-cased']
    """
    content = read_yaml(path, ParameterError, mapping=True)
    _check_keys(content, ("notebooks", *_KEYS), path)
    notebooks = content.get("notebooks")
    if not isinstance(notebooks, list) or not notebooks:
        raise ParameterError(f"{path}: give notebooks, a list: `notebooks: [speciesism]`")
    jobs = [job for entry in notebooks for job in _jobs(entry, content, Path(out), path)]
    return _with_names_of_their_own(jobs, path)


def sweep(
    path: str | Path,
    *,
    out: str | Path = "outputs",
    workers: int = 1,
    client: "Client | str | Path | None" = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Run a grid of notebooks and parameters; a run that fails does not stop the others.

    Parameters
    ----------
    path : str or Path
        The YAML file, see `read_sweep`. All runs are checked before the first one starts.
    out : str or Path
        The folder for all runs.
    workers : int
        Number of runs at the same time. Each is a process of its own; they share the processor's cores unless
        ``OMP_NUM_THREADS`` sets the number of threads per run.
    client : distributed.Client, str or Path, optional
        Where to run instead, see `biaslib.compute.connected`: one run per worker thread. The workers need the same
        working folder, on a disk that all machines share.
    progress : bool
        Show a progress bar.

    Returns
    -------
    pandas.DataFrame
        One row per run, in the order of `read_sweep`: notebook, run (its name), status ("ok" or "failed"), seconds,
        report (its path, "" if there is none) and error (why it failed, in one line).

    Raises
    ------
    ValueError
        As `read_sweep` does, or if `workers` is below 1.
    ModuleNotFoundError, ConnectionError
        If a client is given but Dask is not installed or no scheduler answers.

    Examples
    --------
    >>> sweep("sweep.yaml", workers=2)[["run", "status"]]  # doctest: +SKIP
    """
    from tqdm import tqdm

    check_count(workers, "workers")
    jobs = read_sweep(path, out=out)
    ended = {}
    results = _locally(jobs, workers) if client is None else _on_workers(jobs, client)
    with closing(results), tqdm(total=len(jobs), unit="run", disable=not progress) as bar:
        for number, result in results:
            ended[number] = result
            bar.update()
    rows = [(Path(job.notebook).stem, job.name, *ended[number]) for number, job in enumerate(jobs)]
    return pd.DataFrame(rows, columns=SWEEP_COLUMNS)


def _check_keys(given, known, where):
    unknown = [str(key) for key in given if key not in known]
    if unknown:
        raise ParameterError(f"{where}: unknown {unknown[0]!r}; a sweep has {', '.join(known)}")
    for key in ("grid", "set"):
        if not isinstance(given.get(key) or {}, dict):
            raise ParameterError(f"{where}: {key} must be a mapping of parameters, such as `{key}: {{seed: 1}}`")
    if not isinstance(given.get("params", ""), str):
        raise ParameterError(f"{where}: params must be the name of a file, not {given['params']!r}")


def _jobs(entry, general, out, path):
    """Return the runs of one notebook of a sweep, each checked."""
    own = entry if isinstance(entry, dict) else {"notebook": entry}
    _check_keys(own, ("notebook", *_KEYS), path)
    name = own.get("notebook")
    if not isinstance(name, str):
        raise ParameterError(f"{path}: a notebook must be a name or a path, not {name!r}")
    grid, fixed = ({**(general.get(key) or {}), **(own.get(key) or {})} for key in ("grid", "set"))
    params = own.get("params") or general.get("params")
    twice = sorted(map(str, grid.keys() & fixed.keys()))
    if twice:
        raise ParameterError(f"{path}: {twice[0]!r} is both in grid and in set for {name}; keep one")
    try:
        notebook = read_notebook(name)
        prepared = prepare(notebook, params=params, set_parameters=fixed, out=out)
        points = list(_points(notebook, grid))
        base = prepared.folder.name if params or not fixed else prepare(notebook, out=out).folder.name
    except ValueError as error:
        raise ParameterError(f"{path}: {name}: {error}") from None
    if prepared.values.get("results_dir") or "results_dir" in grid:
        raise ParameterError(f"{path}: {name}: results_dir is for a single run; leave it out, each run has its own")
    fixed = {key: prepared.values[key] for key in fixed}
    return [Job(str(notebook.path), params, {**fixed, **p}, _name(base, p), out.as_posix()) for p in points]


def _points(notebook, grid):
    """Return the combinations of a grid's values as dicts."""
    declared = {parameter.name: parameter for parameter in notebook.parameters}
    axes = []
    for name, values in grid.items():
        if not isinstance(values, list) or not values:
            raise ParameterError(f"{name} in grid must be a list of values, one for each run: `{name}: [a, b]`")
        # A run with a single model is requested by the model's name.
        is_list = name in declared and declared[name].is_list
        values = [[value] if is_list and not isinstance(value, list) else value for value in values]
        values = [check_parameters(declared.values(), {name: value})[name] for value in values]
        twice = [value for value in values if values.count(value) > 1]
        if twice:
            raise ParameterError(f"{name} in grid has {twice[0]!r} twice; keep one")
        axes.append([(name, value) for value in values])
    return map(dict, itertools.product(*axes))


def _name(base, point):
    parts = [base, *(f"{name}={_shown(value)}" for name, value in point.items())]
    return folder_name("--".join(parts), keep="+=@-")


def _shown(value):
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)


def _with_names_of_their_own(jobs, path):
    """Add a fingerprint to names that are too long, end oddly, or differ from another only in case."""
    folders = Counter(_folder(job) for job in jobs)
    named = [job if folders[_folder(job)] == 1 and _is_fit(job.name) else _with_fingerprint(job) for job in jobs]
    if len(set(map(_folder, named))) < len(named):
        double = Counter(map(_folder, named)).most_common(1)[0][0]
        raise ParameterError(f"{path}: two runs are the same, {'/'.join(double)}; keep one")
    return named


def _folder(job):
    return Path(job.notebook).stem.casefold(), job.name.casefold()


def _is_fit(name):
    return len(name) <= _LONGEST_NAME and name[-1].isalnum() and not name.endswith(".failed")


def _with_fingerprint(job):
    fingerprint = data_fingerprint(job.notebook, job.params, job.set_parameters)[:8]
    return job._replace(name=f"{job.name[:_LONGEST_NAME]}--{fingerprint}")


def _locally(jobs, workers):
    """Run jobs in processes of their own, some at a time; yield number and result as they end."""
    running, stop = set(), threading.Event()
    environment = dict(os.environ)
    environment.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))
    with ThreadPoolExecutor(workers) as pool:
        work = partial(_run_apart, environment=environment, running=running, stop=stop)
        futures = {pool.submit(work, job): number for number, job in enumerate(jobs)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            # Each run keeps its partial report, as after Ctrl-C.
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(running):
                process.terminate()
            raise


def _on_workers(jobs, client):
    with compute.connected(client) as connection:
        results = compute.each_result(connection, partial(_run_in_folder, os.getcwd()), jobs)
        with closing(results):
            for number, result, error in results:
                yield number, result if error is None else _failure(f"{type(error).__name__}: {error}")


def _run_in_folder(folder, job):
    if not os.path.isdir(folder):
        return _failure(f"the worker has no folder {folder}; start it where all machines share the same files")
    return _run_apart(job, folder=folder)


def _run_apart(job, *, folder=None, environment=None, running=None, stop=None):
    """Run a job in a process of its own, so that a crash affects no other run."""
    start = time.perf_counter()
    try:
        # Files rather than pipes: a process that the notebook starts may write to a pipe or hold it open.
        with tempfile.TemporaryDirectory(prefix="biaslib-", ignore_cleanup_errors=True) as private:
            result, errors = Path(private, "result.json"), Path(private, "errors.txt")
            with open(errors, "wb") as stream:
                code = _wait_for(job, result, stream, folder, environment, running, stop)
            ok, report, error = _outcome(code, result, errors)
    except Exception as problem:
        return _failure(f"{type(problem).__name__}: {problem}")
    return "ok" if ok else "failed", round(time.perf_counter() - start, 3), report, error


def _wait_for(job, result, errors, folder, environment, running, stop):
    """Run a job's process to its end and return its exit code."""
    process = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(result)],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        # Ctrl-C reaches only this process, which then ends its runs.
        start_new_session=True,
    )
    if running is not None:
        running.add(process)
        if stop.is_set():
            process.terminate()
    process.communicate(json.dumps(job._asdict()).encode())
    if running is not None:
        running.discard(process)
    return process.returncode


def _outcome(code, result, errors):
    if code == 0 and result.is_file():
        return read_json(result)
    if code < 0:
        name = signal.Signals(-code).name
        return False, "", f"ended by {name}{', probably out of memory' if name == 'SIGKILL' else ''}"
    last = (errors.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["no reason given"])[-1]
    return False, "", f"the process of the run ended with {code}: {last}"


def _failure(error):
    return "failed", 0.0, "", one_line(error)


def _run_from_input(result_file):
    """Run the job described on standard input and write its outcome to a file."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    job = Job(**json.load(sys.stdin))
    try:
        done = run(**job._asdict())
        result = done.ok, done.html.as_posix(), done.error
    except KeyboardInterrupt as stop:
        result = False, "", "; ".join(["interrupted", *getattr(stop, "__notes__", [])])
    except (ValueError, OSError) as error:
        result = False, "", one_line(error)
    Path(result_file).write_text(json.dumps(result), encoding="utf-8")
