"""Audits: every notebook that measures models, run on given models, then compared."""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from biaslib._provenance import data_fingerprint
from biaslib._text import one_line
from biaslib.report.past_runs import ACROSS_PAPERS
from biaslib.runs.notebook_run import run
from biaslib.runs.notebooks import list_notebooks, read_notebook
from biaslib.runs.parameters import ParameterError, check_parameters
from biaslib.runs.preparation import prepare
from biaslib.scoring.models import check_name

AUDIT_COLUMNS = ("notebook", "status", "seconds", "report", "reason")
_LONGEST_NAME = 60


def audit(
    models: Sequence[str],
    *,
    vectors: Sequence[str] = (),
    out: str | Path = "outputs",
    name: str | None = None,
    set_parameters: Mapping[str, str] | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Run every notebook with a parameter ``models`` on given models, then compare the runs.

    Parameters
    ----------
    models : sequence of str
        Hugging Face ids, local folders or "demo".
    vectors : sequence of str
        Word vectors for the notebooks with a parameter ``vector_sets``; without any, these notebooks are not run.
    out : str or Path
        The folder for all runs.
    name : str, optional
        The name of these runs (default: from the names of the models).
    set_parameters : mapping of str to str, optional
        Further values, written as on the command line; each is passed to the notebooks that have the parameter.
    progress : bool
        Print the name of each notebook on standard error as it starts.

    Returns
    -------
    pandas.DataFrame
        ``notebook status seconds report reason``, one row per notebook in running order, the comparison last.
        `status` is "done", "failed" (the other notebooks still run; `report` is the partial one, or "" if the run
        could not start) or "not run" (the notebook measures no models, or vectors and none are given; see `reason`).

    Raises
    ------
    ValueError
        Before anything starts, if no model is given, a folder does not exist, no notebook is found, or a parameter is
        unknown to all notebooks or has a wrong value.

    Examples
    --------
    >>> audit(["demo"]).query("status == 'done'")["notebook"].tolist()  # doctest: +SKIP
    ['mbe', 'speciesism', 'unmasked', 'winoqueer', 'compare']
    """
    models, vectors = ([given] if isinstance(given, str) else list(given) for given in (models, vectors))
    if not models:
        raise ValueError("no model given; name at least one, such as demo")
    for model in models:
        check_name(model)
    notebooks = list_notebooks()
    planned, rows = _plan(notebooks, {"models": models, "vector_sets": vectors}, dict(set_parameters or {}))
    name = name or audit_name(models)
    planned.append((read_notebook(notebooks["compare"]), {"runs_dir": str(out), "run_names": [name]}))
    for notebook, values in planned:
        if progress:
            print(f"== {notebook.path.stem}", file=sys.stderr, flush=True)
        rows.append({"notebook": notebook.path.stem} | _run(notebook, values, out, name))
    return pd.DataFrame(rows, columns=list(AUDIT_COLUMNS))


def audit_name(models: Sequence[str]) -> str:
    """Derive the name of an audit's runs from the names of its models.

    Parameters
    ----------
    models : sequence of str

    Returns
    -------
    str
        ASCII letters, digits, - and _; a long name is truncated and ends with a fingerprint.

    Examples
    --------
    >>> audit_name(["google-bert/bert-base-cased", "models/mine"])
    'audit-google-bert-bert-base-cased+models-mine'
    """
    last = [str(model).replace("\\", "/").strip("/") for model in models]
    plain = [
        "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in part.replace("/", "-"))
        for part in last
    ]
    name = f"audit-{'+'.join(plain)}"
    if len(name) > _LONGEST_NAME or name.endswith((".failed", ".")):
        name = f"{name[: _LONGEST_NAME - 9]}-{data_fingerprint(list(map(str, models)))[:8]}"
    return name


def _plan(notebooks, measured, further):
    """Return the notebooks to run with their values, and one row for each that is not run."""
    planned, left_out, taken = [], [], set()
    for notebook, path in notebooks.items():
        if notebook in ACROSS_PAPERS:
            continue
        try:
            found = read_notebook(path)
        except ParameterError as error:
            left_out.append(_row("not run", error, notebook=notebook))
            continue
        names = {parameter.name for parameter in found.parameters}
        what = [key for key in measured if key in names]
        if not any(measured[key] for key in what):
            reason = "no vectors are given" if what else "it has no parameter models or vector_sets"
            left_out.append(_row("not run", reason, notebook=notebook))
            continue
        given = {key: value for key, value in further.items() if key in names}
        taken |= set(given)
        values = check_parameters(found.parameters, given, text=True) | {key: measured[key] for key in what}
        planned.append((found, values))
    _check_further(further, taken, measured)
    if not planned:
        raise ValueError(
            "found no notebook with a parameter models; run the command in the folder that contains notebooks/"
        )
    return planned, left_out


def _check_further(further, taken, measured):
    for key in further:
        if key in measured or key == "results_dir":
            raise ValueError(f"the parameter {key!r} cannot be set; the audit sets it itself")
        if key not in taken:
            raise ValueError(f"no notebook of this audit has the parameter {key!r}")


def _run(notebook, values, out, name):
    started = time.perf_counter()
    try:
        done = run(prepare(notebook, params=values, out=out, name=name))
    except (ValueError, OSError) as error:
        return _row("failed", error)
    seconds = round(time.perf_counter() - started, 1)
    return _row("done" if done.ok else "failed", done.error, seconds=seconds, report=done.html.as_posix())


def _row(status, reason, *, seconds=0.0, report="", **notebook):
    return {"status": status, "seconds": seconds, "report": report, "reason": one_line(reason)} | notebook
