"""One run of a notebook: checked first, executed by papermill, kept as a folder with its report and manifest.

A run is the folder ``<out>/<notebook>/<name>/`` with ``report.ipynb``, ``report.html``, ``results/`` and
``run.json``. An earlier run of the same name gives way only to one that succeeded; one that failed lies
beside it as ``<name>.failed``.
"""

import difflib
import hashlib
import json
import logging
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from biaslib._provenance import versions
from biaslib.report.html import check_report, to_html
from biaslib.runs.parameters import check_parameters, read_parameters, read_values

_PACKAGE = Path(__file__).resolve().parents[1]


class RunError(ValueError):
    """A run that cannot start; one line says why."""


@dataclass(frozen=True)
class Run:
    """What a run left behind.

    Attributes
    ----------
    folder, report, html, results, manifest : pathlib.Path
        The run's folder, and in it ``report.ipynb``, ``report.html``, ``results`` and ``run.json``.
    ok : bool
        Whether every cell ran. If not, the folder is ``<name>.failed``.
    error : str
        Why it is not ok, in one line.
    """

    folder: Path
    report: Path
    html: Path
    results: Path
    manifest: Path
    ok: bool
    error: str = ""


def run(notebook, *, params=None, out="outputs", set_parameters=None, name=None):
    """Run a notebook and keep its report, results and manifest.

    Parameters
    ----------
    notebook : str or path
        A path, or the bare name of a notebook in ``notebooks/`` (of the working folder, the checkout, or the
        package, in this order).
    params : str, path or mapping, optional
        A YAML file, the bare name of one in ``params/<notebook>/``, or the values themselves. By default
        ``demo`` if there is one, else the notebook's own values.
    out : str or path
        The folder for all runs.
    set_parameters : mapping, optional
        Single values that go before those of ``params``.
    name : str, optional
        The run's name; by default the stem of the parameters' file, or ``custom`` where only single values are set.

    Returns
    -------
    Run
        Also when a cell failed (``.ok`` is then False), so that a batch goes on.

    Raises
    ------
    ValueError
        Before anything starts: the notebook, a parameter, a formula or the output folder is not usable.

    Examples
    --------
    >>> run("speciesism", params="demo").html  # doctest: +SKIP
    PosixPath('outputs/speciesism/demo/report.html')
    """
    source, declared, values, final = _checked(notebook, params, out, set_parameters, name)
    work = _work_folder(final)
    if any(parameter.name == "results_dir" for parameter in declared):
        values.setdefault("results_dir", (work / "results").as_posix())
    settings = {parameter.name: parameter.default for parameter in declared} | values
    record = {"notebook": _shown(source), "notebook_sha256": _sha256(source), "parameters": settings}
    return _execute(source, values, record, work, final)


def check_run(notebook, *, params=None, out="outputs", set_parameters=None, name=None):
    """Check what a run is given as `run` does, and start nothing.

    Parameters
    ----------
    notebook, params, out, set_parameters, name
        As for `run`.

    Returns
    -------
    folder : pathlib.Path
        Where the run would be kept.
    values : dict
        The parameters that it is given, those of its file included.

    Raises
    ------
    ValueError
        As `run` raises it before anything starts, but for a folder that cannot be written.

    Examples
    --------
    >>> check_run("speciesism", params="demo")[0]  # doctest: +SKIP
    PosixPath('outputs/speciesism/demo')
    """
    _, _, values, folder = _checked(notebook, params, out, set_parameters, name)
    return folder, values


def find_notebook(notebook):
    """Find a notebook by path, or by bare name in ``notebooks/``.

    Parameters
    ----------
    notebook : str or path
        As for `run`.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    RunError
        If there is none; the line suggests the nearest name.

    Examples
    --------
    >>> find_notebook("speciesism")  # doctest: +SKIP
    PosixPath('notebooks/speciesism.ipynb')
    """
    return _find(notebook, "notebooks", ".ipynb", "notebook")


def find_params(notebook, params):
    """Find a file of parameters by path, or by bare name in ``params/<notebook>/``.

    Parameters
    ----------
    notebook : str
        The notebook's bare name.
    params : str or path
        As for `run`.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    RunError
        If there is none; the line suggests the nearest name.

    Examples
    --------
    >>> find_params("speciesism", "demo")  # doctest: +SKIP
    PosixPath('params/speciesism/demo.yaml')
    """
    return _find(params, f"params/{notebook}", ".yaml", "parameters file")


def list_notebooks():
    """List the notebooks that can be run by bare name.

    Returns
    -------
    dict of str to pathlib.Path
        By name in alphabetical order: the file that `find_notebook` finds for it.

    Examples
    --------
    >>> list_notebooks()["speciesism"]  # doctest: +SKIP
    PosixPath('notebooks/speciesism.ipynb')
    """
    names = {file.stem for place in _places("notebooks") for file in place.glob("*.ipynb")}
    return {name: _in_folders("notebooks", name, ".ipynb") for name in sorted(names)}


def _find(wanted, folder, suffix, what):
    path = Path(wanted)
    if path.is_file():
        return path
    found = _in_folders(folder, path.stem if path.suffix == suffix else path.name, suffix)
    if found and path.name == str(wanted):
        return found
    known = sorted({file.stem for place in _places(folder) for file in place.glob(f"*{suffix}")})
    near = difflib.get_close_matches(path.stem, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"{folder}/ has: {', '.join(known) or 'nothing'}"
    raise RunError(f"no {what} {str(wanted)!r}; {hint}")


def _places(folder):
    return [root / folder for root in (Path(), _PACKAGE.parent, _PACKAGE)]


def _in_folders(folder, name, suffix):
    files = [place / f"{name}{suffix}" for place in _places(folder)]
    return next((file for file in files if file.is_file()), None)


def _checked(notebook, params, out, set_parameters, name):
    """Give the notebook, its declared parameters, the values for them and the run's final folder."""
    source = find_notebook(notebook)
    declared = read_parameters(source)
    default_name, values = _values(source.stem, params)
    if params is None and set_parameters:
        default_name = "custom"
    values = check_parameters(declared, {**values, **(set_parameters or {})})
    # A formula or picture that no report can show is found before hours of computing, not after.
    check_report(source)
    final = _relative(out) / source.stem / _checked_name(default_name if name is None else name)
    return source, declared, _without_own_results(values, final), final


def _values(notebook, params):
    """The default name of the run, and the values of its parameters as given."""
    if isinstance(params, Mapping):
        return "custom", dict(params)
    embedded = _in_folders(f"params/{notebook}", "demo", ".yaml")
    path = embedded if params is None else find_params(notebook, params)
    return (path.stem, read_values(path)) if path else ("default", {})


def _checked_name(name):
    name = str(name)
    if not re.fullmatch(r"[A-Za-z0-9_][\w .+=@-]{0,99}", name, flags=re.ASCII) or name.endswith((".failed", ".", " ")):
        raise RunError(f"the run cannot be named {name!r}; give --name with plain letters, digits, - and _")
    return name


def _without_own_results(values, final):
    """Leave out a results folder that is the run's own by default; refuse another one that the run would replace."""
    given = Path(values.get("results_dir", "")) if values.get("results_dir") else None
    if given is None or not _absolute(given).is_relative_to(_absolute(final)):
        return values
    if _absolute(given) != _absolute(final / "results"):
        raise RunError(f"results_dir {given} lies in the run's own folder, which the run replaces; leave it out")
    return {name: value for name, value in values.items() if name != "results_dir"}


def _absolute(path):
    return Path(os.path.abspath(path))


def _work_folder(final):
    """Make the hidden folder, beside the final one, that the run works in."""
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        if final.exists() and not final.is_dir():
            raise RunError(f"{final} is a file, not a folder; move it away or choose another --name")
        made = tempfile.mkdtemp(prefix=f".{final.name}.running-", dir=final.parent)
        shutil.copymode(final.parent, made)
    except OSError as error:
        raise RunError(f"cannot write to {final.parent} ({error.strerror}); choose another --out") from None
    return final.parent / Path(made).name


def _execute(source, values, record, work, final):
    """Run the notebook in its work folder, then put that folder where success or failure belongs."""
    started = datetime.now(UTC)
    error, interrupted = "", None
    try:
        _papermill(source, values, work / "report.ipynb")
    except KeyboardInterrupt as stop:
        error, interrupted = "interrupted", stop
    except Exception as problem:
        error = _describe(problem)
    if error:
        _mark_failed(work / "report.ipynb")
    record |= {"started": started.isoformat(), "ended": datetime.now(UTC).isoformat()}
    if not error:
        try:
            run = _finish(source, record, work, final)
            shutil.rmtree(_failed(final), ignore_errors=True)
            return run
        except (ValueError, OSError) as problem:
            error = _describe(problem)
    run = _finish(source, record, work, _failed(final), error=error)
    if interrupted:
        interrupted.add_note(f"the partial report is {run.html}")
        raise interrupted
    return run


def _papermill(source, values, report):
    import nbformat
    import papermill

    # What goes wrong is said once, by the run itself.
    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    papermill.execute_notebook(
        nbformat.read(source, as_version=4),
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
    """One line for what stopped a run."""
    name, text = type(problem).__name__, str(problem)
    if name == "PapermillExecutionError":
        name, text = problem.ename, problem.evalue
    elif name == "DeadKernelError":
        text = "the kernel died, perhaps for want of memory"
    line = f"{name}: {' '.join(text.split())}".rstrip(": ")
    return line if len(line) <= 300 else f"{line[:299]}…"


def _failed(final):
    return final.with_name(f"{final.name}.failed")


def _finish(source, record, work, place, *, error=""):
    """Complete the work folder (report, page, manifest) under its final name and move it there."""
    report = work / "report.ipynb"
    cells = _settle_report(source, report, work, place) if report.is_file() else []
    parameters = {name: _renamed(value, work, place) for name, value in record["parameters"].items()}
    results = Path(parameters.get("results_dir", place / "results"))
    within = work / "results" if results == place / "results" else results
    provenance = _provenance(within, error, datetime.fromisoformat(record["started"]))
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
        "seconds": _seconds(record),
        "seconds_per_cell": cells,
    }
    if report.is_file():
        to_html(report, work / "report.html", failed=error or None, base=source.parent)
    _write_beside(work / "run.json", json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
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
    """A value in which the work folder has its final name."""
    if isinstance(value, list):
        return [_renamed(entry, work, place) for entry in value]
    return value.replace(work.name, place.name) if isinstance(value, str) else value


def _settle_report(source, report, work, place):
    """Give the saved notebook its final paths and true states; return each code cell's seconds."""
    import nbformat

    text = report.read_text(encoding="utf-8")
    notebook = nbformat.reads(text.replace(work.name, place.name), as_version=4)
    notebook.metadata.papermill.update(input_path=_shown(source), output_path=_shown(place / report.name))
    _write_beside(report, nbformat.writes(notebook) + "\n")
    code = [(n, cell.metadata.get("papermill", {})) for n, cell in enumerate(notebook.cells) if "outputs" in cell]
    return [{"cell": n, "seconds": state.get("duration")} for n, state in code]


def _mark_failed(report):
    """Undo the claim, which a killed kernel leaves behind, that every cell was completed."""
    import nbformat

    if not report.is_file():
        return
    try:
        notebook = nbformat.read(report, as_version=4)
    except ValueError:
        # Cut off while it was written, as by a full disk: nothing of it can be shown.
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
    _write_beside(report, nbformat.writes(notebook) + "\n")


def _provenance(results, error, started):
    """What the notebook says of its models, data and seed; what an earlier run left there says nothing of this one."""
    path = results / "provenance.json"
    if not path.is_file() or path.stat().st_mtime < started.timestamp() - 2:
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        content = None
    if isinstance(content, dict):
        return content
    if error:
        return {}
    raise RunError(f"the notebook's {path.name} is not a JSON object")


def _git():
    """The commit of the checkout and whether it was changed since; None for an installed package."""
    if not (_PACKAGE.parent / ".git").exists():
        return None
    try:
        commit, changes = (
            subprocess.run(
                ["git", "-C", str(_PACKAGE.parent), *command],
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


def _seconds(record):
    started, ended = (datetime.fromisoformat(record[key]) for key in ("started", "ended"))
    return round((ended - started).total_seconds(), 3)


def _sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _shown(path):
    """A path without the machine's own folders: from the working folder, the checkout or the package."""
    absolute = Path(os.path.abspath(path))
    for root in (Path.cwd(), _PACKAGE.parent, _PACKAGE):
        if absolute.is_relative_to(root):
            return absolute.relative_to(root).as_posix()
    return Path(path).as_posix() if not Path(path).is_absolute() else absolute.name


def _relative(path):
    """A path from the working folder if it lies in it, so that reports don't tell where that is."""
    path = Path(path)
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _write_beside(path, text):
    partial = path.with_name(f".{path.name}.part")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def _swap(work, place):
    """Move the work folder into place; an earlier one goes only when the new one is there."""
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
