"""Run a notebook: executed by papermill, kept as a folder with its report, results and manifest.

A run is the folder ``<out>/<notebook>/<name>/`` with ``report.ipynb``, ``report.html``, ``results/`` and
``run.json``. It replaces an earlier run of the same name only if it succeeds; a failed run is kept beside it as
``<name>.failed``.
"""

import copy
import logging
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from biaslib._files import read_json, write_json, write_text
from biaslib._provenance import versions
from biaslib._text import one_line
from biaslib.report.html import to_html
from biaslib.runs.notebooks import PACKAGE, RunError
from biaslib.runs.preparation import Preparation, prepare


@dataclass(frozen=True)
class Run:
    """Result of `run`.

    Attributes
    ----------
    folder, report, html, results, manifest : pathlib.Path
        The run's folder and, in it, ``report.ipynb``, ``report.html``, ``results`` and ``run.json``.
    ok : bool
        Whether every cell ran; if not, the folder is ``<name>.failed``.
    error : str
        Why the run failed, in one line; "" if it did not.
    """

    folder: Path
    report: Path
    html: Path
    results: Path
    manifest: Path
    ok: bool
    error: str = ""


def run(
    notebook: str | Path | Preparation,
    *,
    params: str | Path | Mapping | None = None,
    out: str | Path = "outputs",
    set_parameters: Mapping | None = None,
    name: str | None = None,
) -> Run:
    """Run a notebook and keep its report, results and manifest.

    Parameters
    ----------
    notebook : str, Path or Preparation
        As for `prepare`, or what it returned; the other arguments are then left out.
    params, out, set_parameters, name
        As for `prepare`.

    Returns
    -------
    Run
        Also if a cell failed (``.ok`` is then False), so that a batch continues.

    Raises
    ------
    ValueError
        Before anything starts, as `prepare` does, or if the output folder cannot be written.

    Examples
    --------
    >>> run("speciesism", params="demo").html  # doctest: +SKIP
    PosixPath('outputs/speciesism/demo/report.html')
    """
    prepared = notebook
    if not isinstance(prepared, Preparation):
        prepared = prepare(notebook, params=params, out=out, set_parameters=set_parameters, name=name)
    notebook = prepared.notebook
    work = _work_folder(prepared.folder)
    settings = {parameter.name: parameter.default for parameter in notebook.parameters} | prepared.values
    if "results_dir" in settings and not prepared.values.get("results_dir"):
        settings["results_dir"] = (work / "results").as_posix()
    given = {name: settings[name] for name in (*prepared.values, "results_dir") if name in settings}
    record = {"notebook": _shown(notebook.path), "notebook_sha256": notebook.sha256, "parameters": settings}
    return _execute(notebook, given, record, work, prepared.folder)


def _work_folder(final):
    """Make the hidden folder beside the final one that the run works in."""
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        if final.exists() and not final.is_dir():
            raise RunError(f"{final} is a file, not a folder; move it away or choose another --name")
        made = tempfile.mkdtemp(prefix=f".{final.name}.running-", dir=final.parent)
        shutil.copymode(final.parent, made)
    except OSError as error:
        raise RunError(f"cannot write to {final.parent} ({error.strerror}); choose another --out") from None
    return final.parent / Path(made).name


def _execute(notebook, values, record, work, final):
    """Run the notebook in its work folder, then put that folder where success or failure belongs."""
    started = datetime.now(UTC)
    error, interrupted = "", None
    try:
        _papermill(copy.deepcopy(notebook.content), values, work / "report.ipynb")
    except KeyboardInterrupt as stop:
        error, interrupted = "interrupted", stop
    except Exception as problem:
        error = _describe(problem)
    if error:
        _mark_failed(work / "report.ipynb")
    record |= {"started": started.isoformat(), "ended": datetime.now(UTC).isoformat()}
    if not error:
        try:
            run = _finish(notebook.path, record, work, final)
            shutil.rmtree(_failed(final), ignore_errors=True)
            return run
        except (ValueError, OSError) as problem:
            error = _describe(problem)
    run = _finish(notebook.path, record, work, _failed(final), error=error)
    if interrupted:
        interrupted.add_note(f"the partial report is {run.html}")
        raise interrupted
    return run


def _papermill(content, values, report):
    import papermill

    # The run itself reports errors, once.
    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    papermill.execute_notebook(
        content,
        # papermill formats the path with the parameters.
        str(report).replace("{", "{{").replace("}", "}}"),
        parameters=values,
        kernel_name="python3",
        language="python",
        coalesce_streams=True,
        extra_arguments=["--log-level=CRITICAL"],
        progress_bar=sys.stderr.isatty(),
    )


def _describe(problem):
    """Describe in one line what stopped a run."""
    name, text = type(problem).__name__, str(problem)
    if name == "PapermillExecutionError":
        name, text = problem.ename, problem.evalue
    elif name == "DeadKernelError":
        text = "the kernel died; it is probably out of memory"
    return one_line(f"{name}: {text}".rstrip(": \n"), 300)


def _failed(final):
    return final.with_name(f"{final.name}.failed")


def _finish(source, record, work, place, *, error=""):
    """Complete the work folder (report, page, manifest) under its final name and move it there."""
    report = work / "report.ipynb"
    cells = _settle_report(source, report, work, place) if report.is_file() else []
    parameters = {name: _renamed(value, work, place) for name, value in record["parameters"].items()}
    results = Path(parameters.get("results_dir", place / "results"))
    within = work / "results" if results == place / "results" else results
    started, ended = (datetime.fromisoformat(record[moment]) for moment in ("started", "ended"))
    provenance = _provenance(within, error, started)
    manifest = {
        "ok": not error,
        "error": error or None,
        **record,
        "parameters": parameters,
        "models": provenance.get("models", []),
        "data": provenance.get("data", {}),
        "seed": provenance.get("seed", parameters.get("seed")),
        "versions": versions(),
        "platform": platform.platform(),
        "git": _git(),
        "seconds": round((ended - started).total_seconds(), 3),
        "seconds_per_cell": cells,
    }
    if report.is_file():
        to_html(report, work / "report.html", failed=error or None, base=source.parent)
    write_json(work / "run.json", manifest, allow_nan=False)
    _swap(work, place)
    return Run(
        folder=place,
        report=place / "report.ipynb",
        html=place / "report.html",
        results=results,
        manifest=place / "run.json",
        ok=not error,
        error=error,
    )


def _renamed(value, work, place):
    """Return a value in which the work folder has its final name."""
    if isinstance(value, list):
        return [_renamed(entry, work, place) for entry in value]
    return value.replace(work.name, place.name) if isinstance(value, str) else value


def _settle_report(source, report, work, place):
    """Write the final paths into the saved notebook; return the seconds of each code cell."""
    import nbformat

    text = report.read_text(encoding="utf-8")
    notebook = nbformat.reads(text.replace(work.name, place.name), as_version=4)
    notebook.metadata.papermill.update(input_path=_shown(source), output_path=_shown(place / report.name))
    write_text(report, nbformat.writes(notebook) + "\n")
    code = [(n, cell.metadata.get("papermill", {})) for n, cell in enumerate(notebook.cells) if "outputs" in cell]
    return [{"cell": n, "seconds": state.get("duration")} for n, state in code]


def _mark_failed(report):
    """Correct the states of the cells: a killed kernel leaves all of them marked as completed."""
    import nbformat

    if not report.is_file():
        return
    try:
        notebook = nbformat.read(report, as_version=4)
    except ValueError:
        # Truncated while it was written, as on a full disk: it cannot be shown.
        report.unlink()
        return
    notebook.metadata.papermill["exception"] = True
    states = [cell.metadata.get("papermill", {}) for cell in notebook.cells]
    ended = [state for state in states if state.get("end_time")]
    if ended and not any(state.get("status") == "failed" for state in states):
        ended[-1].update(status="failed", exception=True)
    for state in states:
        if state.get("status") == "completed" and not state.get("end_time"):
            state["status"] = "pending"
    write_text(report, nbformat.writes(notebook) + "\n")


def _provenance(results, error, started):
    """Read what the notebook recorded of its models, data and seed, unless an earlier run left the file."""
    path = results / "provenance.json"
    if not path.is_file() or path.stat().st_mtime < started.timestamp() - 2:
        return {}
    try:
        content = read_json(path)
    except ValueError:
        content = None
    if isinstance(content, dict):
        return content
    if error:
        return {}
    raise RunError(f"the notebook's {path.name} is not a JSON object")


def _git():
    """Return the commit of the checkout and whether it has changes; None for an installed package."""
    if not (PACKAGE.parent / ".git").exists():
        return None
    try:
        commit, changes = (
            subprocess.run(
                ["git", "-C", str(PACKAGE.parent), *command],
                capture_output=True,
                text=True,
                check=True,
                timeout=20,
            ).stdout.strip()
            for command in (["rev-parse", "HEAD"], ["status", "--porcelain"])
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit, "dirty": bool(changes)}


def _shown(path):
    """Return a path relative to the working folder, the checkout or the package, without the machine's own folders."""
    absolute = Path(os.path.abspath(path))
    for root in (Path.cwd(), PACKAGE.parent, PACKAGE):
        if absolute.is_relative_to(root):
            return absolute.relative_to(root).as_posix()
    return Path(path).as_posix() if not Path(path).is_absolute() else absolute.name


def _swap(work, place):
    """Move the work folder into place; an earlier run is removed only once the new one is there."""
    if not place.exists():
        os.rename(work, place)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{place.name}.old-", dir=place.parent))
    os.rename(place, aside / place.name)
    try:
        os.rename(work, place)
    except OSError:
        os.rename(aside / place.name, place)
        aside.rmdir()
        raise
    shutil.rmtree(aside, ignore_errors=True)
