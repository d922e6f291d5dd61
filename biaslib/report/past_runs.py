"""The runs under a folder: their scores with where these come from, and links to their reports.

Of a run nothing is read but ``results/scores.csv`` and ``run.json``.
"""

import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import pandas as pd

from biaslib._files import read_json
from biaslib._text import one_line
from biaslib.report.comparability import name_models, name_sets
from biaslib.report.results import beside_notebooks, read_scores
from biaslib.studies import SCORE_COLUMNS, neutral_values

# Notebooks that measure nothing themselves.
ACROSS_PAPERS = ("compare", "explore")
_RUN_COLUMNS = ["run", "notebook", "used", "reason", "n_scores", "models", "version", "started", "manifest", "report"]
_RUN_COLUMNS += ["parameters"]
_ORIGIN = ["run", "data", "version", "device", "dtype", "model_fingerprint", "parameters", "for_trying_out"]


def read_runs(folder: str | Path = "outputs", names: str | Sequence[str] = ()) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the scores of all runs under a folder.

    A run is a folder with a ``run.json`` or a ``results/scores.csv``. Hidden folders are skipped, and so are runs of
    ``compare`` and ``explore``, which measure nothing themselves.

    Parameters
    ----------
    folder : str or Path
    names : str or sequence of str
        Only runs of these names (the last folder of their path); by default all.

    Returns
    -------
    scores : pandas.DataFrame
        One row per score: the columns of `biaslib.studies.SCORE_COLUMNS` and, from the manifest ("" where it does not
        say), ``run data version device dtype model_fingerprint parameters for_trying_out``; then ``set``, ``label``
        and ``neutral``. Within a measure and group, scores of the same `set` have the same variant and data; "A" is
        the set of most models. `label` is the model's name, with the run where the name alone is ambiguous.
    runs : pandas.DataFrame
        ``run notebook used reason n_scores models version started manifest report parameters``, one row per run; those
        that were left out have a reason.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If there is no run under it, or none that can be read.

    Examples
    --------
    >>> scores, runs = read_runs("outputs")  # doctest: +SKIP
    >>> runs[["run", "n_scores"]].values.tolist()  # doctest: +SKIP
    [['mbe/demo', 1], ['unmasked/demo', 14]]
    """
    root = Path(folder) if Path(folder).is_dir() else beside_notebooks(Path(folder))
    if not root.is_dir():
        raise FileNotFoundError(f"no folder {str(folder)!r}; give the folder that contains the runs, such as outputs")
    names = [names] if isinstance(names, str) else list(names)
    found = [_read_run(place, root) for place in _run_folders(root)]
    found = [(about, scores) for about, scores in found if about["notebook"] not in ACROSS_PAPERS]
    found = [(about, scores) for about, scores in found if not names or about["name"] in names]
    if not found:
        called = f" called {' or '.join(names)}" if names else ""
        raise ValueError(
            f"no run{called} under {str(folder)!r}; run a notebook first, such as `biaslib run speciesism`"
        )
    runs = pd.DataFrame([about for about, _ in found])[_RUN_COLUMNS]
    if not runs["used"].any():
        first = runs.iloc[0]
        raise ValueError(f"no run under {str(folder)!r} can be read; {first['run']}: {first['reason']}")
    scores = pd.concat([scores for about, scores in found if about["used"]], ignore_index=True)
    neutral = scores["measure"].map(neutral_values()).astype(float)
    return scores.assign(set=name_sets(scores), label=name_models(scores), neutral=neutral), runs


def report_links(runs: pd.DataFrame, folder: str | Path) -> pd.DataFrame:
    """Give links from a page in a folder to the reports of runs.

    Parameters
    ----------
    runs : pandas.DataFrame
        From `read_runs`.
    folder : str or Path
        The folder of the page that will contain the links.

    Returns
    -------
    pandas.DataFrame
        ``run href``: a relative path with its special characters escaped, so that the link works from disk and still
        works where all runs are moved together. Runs without a page are left out.

    Examples
    --------
    >>> runs = pd.DataFrame({"run": ["mbe/demo"], "report": ["outputs/mbe/demo/report.html"]})
    >>> report_links(runs, "outputs/compare/all").href.item()
    '../../mbe/demo/report.html'
    """
    with_page = runs[runs["report"] != ""]
    start = beside_notebooks(Path(folder))
    href = [quote(Path(os.path.relpath(report, start)).as_posix()) for report in with_page["report"]]
    return pd.DataFrame({"run": with_page["run"].tolist(), "href": href}, dtype=str)


def _run_folders(root: Path) -> Iterator[Path]:
    seen = set()
    for place, inside, files in os.walk(root, followlinks=True):
        real = os.path.realpath(place)
        # A link may lead to a run that was met, or back up the tree.
        is_run = "run.json" in files or (Path(place) / "results" / "scores.csv").is_file()
        inside[:] = [] if is_run or real in seen else sorted(name for name in inside if not name.startswith("."))
        if is_run and real not in seen:
            yield Path(place)
        seen.add(real)


def _read_run(place, root):
    """Return what is known of a run, and its scores if they can be used."""
    manifest, problem = _read_manifest(place)
    notebook = _string(manifest.get("notebook"))
    here = Path(os.path.abspath(place))
    about = {
        "run": place.relative_to(root).as_posix() if place != root else here.name,
        "name": here.name.removesuffix(".failed"),
        "notebook": Path(notebook).stem if notebook else here.parent.name,
        "used": False,
        "reason": "",
        "n_scores": 0,
        "models": "",
        "version": _string(_mapping(manifest.get("versions")).get("biaslib")),
        "started": _string(manifest.get("started")),
        "manifest": problem or "run.json",
        "report": str(place / "report.html") if (place / "report.html").is_file() else "",
        "parameters": json.dumps(_mapping(manifest.get("parameters")), ensure_ascii=False),
    }
    if manifest.get("ok") is False or place.name.endswith(".failed"):
        return about | {"reason": f"the run failed: {_string(manifest.get('error')) or 'no reason given'}"}, None
    try:
        scores = read_scores(place / "results")
        _check_possible(scores)
    except (ValueError, OverflowError, OSError) as error:
        return about | {"reason": one_line(error)}, None
    models = "; ".join(dict.fromkeys(scores["model"]))
    return about | {"used": True, "n_scores": len(scores), "models": models}, _with_origin(scores, about, manifest)


def _check_possible(scores):
    """Refuse numbers that no score can have."""
    wrong = scores["p_value"].lt(0) | scores["p_value"].gt(1) | scores["ci_low"].gt(scores["ci_high"])
    wrong |= scores[["value", "ci_low", "ci_high"]].isin([math.inf, -math.inf]).any(axis=1)
    if wrong.any():
        row = scores[wrong].iloc[0]
        numbers = ", ".join(f"{name} {row[name]:g}" for name in ("value", "ci_low", "ci_high", "p_value"))
        raise ValueError(f"scores.csv has impossible numbers, such as {row['measure']} of {row['model']}: {numbers}")


def _read_manifest(place):
    """Return the content of ``run.json``, and why there is none."""
    try:
        manifest = read_json(place / "run.json")
    except FileNotFoundError:
        return {}, "none"
    except (ValueError, OSError):
        manifest = None
    return (manifest, "") if isinstance(manifest, dict) else ({}, "not readable")


def _with_origin(scores, about, manifest):
    """Add what the manifest says of each score's model and data."""
    entries = manifest.get("models") if isinstance(manifest.get("models"), list) else []
    models = {_string(entry.get("name")): entry for entry in entries if isinstance(entry, dict)}
    data = {_string(value): _string(name) for name, value in _mapping(manifest.get("data")).items()}
    origin = {name: about[name] for name in ("run", "version", "parameters")}
    origin["data"] = [data.get(fingerprint, "") for fingerprint in scores["data_fingerprint"]]
    known = [models.get(model, {}) for model in scores["model"]]
    for column, key in (("device", "device"), ("dtype", "dtype"), ("model_fingerprint", "fingerprint")):
        origin[column] = [_string(entry.get(key)) for entry in known]
    origin["for_trying_out"] = [entry.get("for_trying_out") is True for entry in known]
    types = dict.fromkeys(_ORIGIN, str) | {"for_trying_out": bool}
    return scores.assign(**origin).astype(types)[[*SCORE_COLUMNS, *_ORIGIN]]


def _string(value):
    return value if isinstance(value, str) else ""


def _mapping(value):
    return value if isinstance(value, dict) else {}
