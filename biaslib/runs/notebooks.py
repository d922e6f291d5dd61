"""Notebooks and files of parameters, found by path or by bare name, and read once."""

import difflib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from biaslib._text import one_line
from biaslib.runs.parameters import Parameter, ParameterError, parse_cell

if TYPE_CHECKING:
    from nbformat import NotebookNode

PACKAGE = Path(__file__).resolve().parents[1]


class RunError(ValueError):
    """A run that cannot start; the message says why in one line."""


@dataclass(frozen=True)
class Notebook:
    """A notebook that papermill can run, as read from its file.

    Attributes
    ----------
    path : pathlib.Path
        Its file.
    content : nbformat.NotebookNode
        The notebook, in format 4.
    parameters : tuple of Parameter
        In the order of its ``parameters`` cell.
    sha256 : str
        Of the file.
    """

    path: Path
    content: "NotebookNode"
    parameters: tuple[Parameter, ...]
    sha256: str


def read_notebook(notebook: str | Path) -> Notebook:
    """Find and read a notebook.

    Parameters
    ----------
    notebook : str or Path
        A path, or the bare name of a notebook in ``notebooks/``.

    Returns
    -------
    Notebook

    Raises
    ------
    RunError
        If there is no such notebook; the message suggests the nearest name.
    ParameterError
        If the file cannot be read, is not a Python notebook with exactly one cell tagged ``parameters``, or a line of
        that cell does not read ``name: type = default  # help``.

    Examples
    --------
    >>> read_notebook("weat").parameters[0].name  # doctest: +SKIP
    'vector_sets'
    """
    path = find_notebook(notebook)
    try:
        text = path.read_bytes()
        content = _parsed(text)
        parameters = parse_cell(_parameters_cell(content).source)
    except OSError as error:
        raise ParameterError(f"{path}: cannot be read ({error.strerror})") from None
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from None
    return Notebook(path, content, parameters, hashlib.sha256(text).hexdigest())


def read_parameters(notebook: str | Path) -> tuple[Parameter, ...]:
    """Read the parameters that a notebook declares.

    Parameters
    ----------
    notebook : str or Path
        As for `read_notebook`.

    Returns
    -------
    tuple of Parameter
        In the order of the ``parameters`` cell.

    Raises
    ------
    ValueError
        As `read_notebook` does.

    Examples
    --------
    >>> [parameter.name for parameter in read_parameters("explore")]  # doctest: +SKIP
    ['models', 'vector_sets', 'decades', 'device', 'results_dir']
    """
    return read_notebook(notebook).parameters


def find_notebook(notebook: str | Path) -> Path:
    """Find a notebook by path, or by bare name in ``notebooks/``.

    The folders ``notebooks/`` of the working folder, of the checkout and of the installed package are searched, in
    this order.

    Parameters
    ----------
    notebook : str or Path
        A path or a bare name.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    RunError
        If there is none; the message suggests the nearest name.

    Examples
    --------
    >>> find_notebook("speciesism")  # doctest: +SKIP
    PosixPath('notebooks/speciesism.ipynb')
    """
    return _find(notebook, "notebooks", ".ipynb", "notebook")


def find_params(notebook: str, params: str | Path) -> Path:
    """Find a file of parameters by path, or by bare name in ``params/<notebook>/``.

    Parameters
    ----------
    notebook : str
        The notebook's bare name.
    params : str or Path
        A path or a bare name.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    RunError
        If there is none; the message suggests the nearest name.

    Examples
    --------
    >>> find_params("speciesism", "demo")  # doctest: +SKIP
    PosixPath('params/speciesism/demo.yaml')
    """
    return _find(params, f"params/{notebook}", ".yaml", "parameters file")


def find_demo(notebook: str) -> Path | None:
    """Find the parameters of a notebook's demo; None where it has none."""
    return _in_folders(f"params/{notebook}", "demo", ".yaml")


def list_notebooks() -> Mapping[str, Path]:
    """List the notebooks that can be run by bare name.

    Returns
    -------
    dict of str to pathlib.Path
        The file of each notebook, by name in alphabetical order.

    Examples
    --------
    >>> list_notebooks()["speciesism"]  # doctest: +SKIP
    PosixPath('notebooks/speciesism.ipynb')
    """
    names = {file.stem for place in _places("notebooks") for file in place.glob("*.ipynb")}
    return {name: _in_folders("notebooks", name, ".ipynb") for name in sorted(names)}


def _parsed(text):
    import nbformat

    try:
        content = json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ParameterError("not a Jupyter notebook (its text is not JSON)") from None
    if not isinstance(content, dict) or content.get("nbformat") != 4:
        raise ParameterError("not a Jupyter notebook of format 4; open and save it in JupyterLab")
    try:
        notebook = nbformat.reads(text.decode(), as_version=4)
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        raise ParameterError(f"not a valid notebook ({one_line(error.message)})") from None
    kernel = notebook.metadata.get("kernelspec", {}).get("name")
    if kernel != "python3":
        raise ParameterError(f"its kernel is {kernel!r}; choose the kernel 'python3' and save it")
    return notebook


def _parameters_cell(content):
    code = [cell for cell in content.cells if cell.cell_type == "code"]
    tagged = [cell for cell in code if "parameters" in cell.metadata.get("tags", [])]
    if len(tagged) != 1:
        found = f"{len(tagged)} cells" if tagged else "no cell"
        raise ParameterError(f"{found} tagged 'parameters'; tag exactly one code cell so")
    return tagged[0]


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
    return [root / folder for root in (Path(), PACKAGE.parent, PACKAGE)]


def _in_folders(folder, name, suffix):
    files = [place / f"{name}{suffix}" for place in _places(folder)]
    return next((file for file in files if file.is_file()), None)
