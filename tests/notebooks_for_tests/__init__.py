"""Tiny notebooks, made where a test needs them."""

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

RESULTS_DIR = 'results_dir: str = "outputs/paper/adhoc/results"  # where tables go'


def write_notebook(path, *cells, parameters=RESULTS_DIR):
    """Write a notebook of a parameters cell and further cells: text that starts with "# " is Markdown."""
    made = [new_code_cell(parameters, metadata={"tags": ["parameters"]})]
    for cell in cells:
        made.append(new_markdown_cell(cell) if cell.startswith("# ") else new_code_cell(cell))
    notebook = new_notebook(cells=made)
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
    return path
