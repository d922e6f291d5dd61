"""Whatever folder a notebook is run in, what it leaves lies beside ``notebooks/``."""

import json
import re
from pathlib import Path

import pytest

from biaslib import report

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_folders_of_a_notebook_are_resolved_beside_it(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    # The writer of results and the reader of runs resolve theirs themselves.
    folders = set(re.findall(r"^(\w+_dir): str", code[0], flags=re.M)) - {"results_dir", "runs_dir"}
    assert folders == {"speciesism": {"shards_dir"}, "winoqueer": {"models_dir"}}.get(path.stem, set())
    body = "\n".join(code[1:])
    for folder in folders:
        # As a keyword it may name what was resolved before.
        uses = re.findall(rf"(?<!\w){folder}(?!\w|=)", body)
        resolved = re.findall(rf"report\.beside_notebooks\((?:Path\()?{folder}\)", body)
        assert len(uses) == len(resolved) >= 1


def test_a_folder_lies_beside_notebooks_where_the_kernel_runs_in_there(tmp_path, monkeypatch):
    for folder in ("notebooks", "outputs", "elsewhere"):
        (tmp_path / folder).mkdir()
    for here, expected in (
        ("notebooks", tmp_path / "outputs/winoqueer/models"),
        ("elsewhere", Path("outputs/winoqueer/models")),
        (".", Path("outputs/winoqueer/models")),
    ):
        monkeypatch.chdir(tmp_path / here)
        assert report.beside_notebooks("outputs/winoqueer/models") == expected
        assert report.beside_notebooks(tmp_path / "own") == tmp_path / "own"
