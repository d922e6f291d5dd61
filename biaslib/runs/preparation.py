"""What a run needs before it starts: the notebook read once, its parameters checked, its folder named."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from biaslib._files import read_yaml
from biaslib.report.html import check_report
from biaslib.runs.notebooks import Notebook, RunError, find_demo, find_params, read_notebook
from biaslib.runs.parameters import ParameterError, check_parameters


@dataclass(frozen=True)
class Preparation:
    """A run that can start.

    Attributes
    ----------
    notebook : Notebook
        The notebook, read and checked.
    values : dict
        The parameters that are given, those of the file included.
    folder : pathlib.Path
        Where the run will be kept.
    """

    notebook: Notebook
    values: dict
    folder: Path


def prepare(
    notebook: str | Path | Notebook,
    *,
    params: str | Path | Mapping | None = None,
    out: str | Path = "outputs",
    set_parameters: Mapping | None = None,
    name: str | None = None,
    text: bool = False,
) -> Preparation:
    """Check what a run is given, and start nothing.

    Parameters
    ----------
    notebook : str, Path or Notebook
        A path, the bare name of a notebook in ``notebooks/`` (of the working folder, the checkout or the package, in
        this order), or a notebook that `read_notebook` has read.
    params : str, Path or mapping, optional
        A YAML file, the bare name of one in ``params/<notebook>/``, or the values themselves. By default ``demo`` if
        there is one, else the notebook's own values.
    out : str or Path
        The folder for all runs.
    set_parameters : mapping, optional
        Single values, which take precedence over those of `params`.
    name : str, optional
        The run's name; by default the stem of the parameters' file, or ``custom`` if only single values are set.
    text : bool
        Whether the single values are text from a command line, to be read by their declared types.

    Returns
    -------
    Preparation

    Raises
    ------
    ValueError
        If the notebook, a parameter, a formula or picture of its text, or the run's name cannot be used.

    Examples
    --------
    >>> prepare("speciesism", params="demo").folder  # doctest: +SKIP
    PosixPath('outputs/speciesism/demo')
    """
    if not isinstance(notebook, Notebook):
        notebook = read_notebook(notebook)
    default_name, values = _read_values(notebook.path.stem, params)
    if params is None and set_parameters:
        default_name = "custom"
    single_values = check_parameters(notebook.parameters, set_parameters or {}, text=text)
    values = check_parameters(notebook.parameters, {**values, **single_values})
    # A formula or picture that no report can show is found before hours of computing, not after.
    check_report(notebook.content, notebook.path)
    folder = _relative(out) / notebook.path.stem / _checked_name(default_name if name is None else name)
    return Preparation(notebook, _without_own_results(values, folder), folder)


def _read_values(notebook, params):
    """Return the default name of the run, and the values of its parameters as given."""
    if isinstance(params, Mapping):
        return "custom", dict(params)
    path = find_demo(notebook) if params is None else find_params(notebook, params)
    return (path.stem, read_yaml(path, ParameterError, mapping=True)) if path else ("default", {})


def _checked_name(name):
    name = str(name)
    if not re.fullmatch(r"[A-Za-z0-9_][\w .+=@-]{0,99}", name, flags=re.ASCII) or name.endswith((".failed", ".", " ")):
        raise RunError(f"the run cannot be named {name!r}; give --name with plain letters, digits, - and _")
    return name


def _without_own_results(values, folder):
    """Leave out a results folder that is the run's own by default; refuse another one that the run would replace."""
    if not values.get("results_dir"):
        return values
    given, own = (Path(os.path.abspath(path)) for path in (values["results_dir"], folder))
    if not given.is_relative_to(own):
        return values
    if given != own / "results":
        place = values["results_dir"]
        raise RunError(f"results_dir {place} lies in the run's own folder, which the run replaces; leave it out")
    return {name: value for name, value in values.items() if name != "results_dir"}


def _relative(path):
    """Return a path from the working folder if it lies in it, so that reports don't tell where that is."""
    path = Path(path)
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
