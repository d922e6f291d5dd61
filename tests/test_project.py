"""What a user relies on beside the functions: requirements, the wheel, the size of what is kept."""

import ast
import json
import os
import shutil
import statistics
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_environment_for_conda_has_the_requirements_of_the_package():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python, pip, by_pip = environment["dependencies"]
    assert python == f"python{PROJECT['requires-python']}" and pip == "pip"
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], "--editable ."]
    wanted += [requirement for extra in ("demo", "units", "coref", "lab") for requirement in extras[extra]]
    assert sorted(by_pip["pip"]) == sorted(wanted)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    skip = shutil.ignore_patterns(".git", ".venv", "outputs", "tests", "__pycache__", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, source, ignore=skip)
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            folder,
            source,
        ],
        check=True,
    )
    return next(folder.glob("*.whl"))


def test_notebooks_parameters_and_data_travel_in_the_wheel(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"biaslib/notebooks/{notebook.name}" in names
        assert f"biaslib/params/{notebook.stem}/demo.yaml" in names
    for path in (ROOT / "biaslib").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert path.relative_to(ROOT).as_posix() in names


def test_an_installed_package_runs_in_an_empty_folder(wheel, tmp_path):
    installed, empty = tmp_path / "installed", tmp_path / "empty"
    empty.mkdir()
    zipfile.ZipFile(wheel).extractall(installed)
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", "import sys; from biaslib.cli import main; sys.exit(main(sys.argv[1:]))"]
    done = subprocess.run([*command, "run", "speciesism"], cwd=empty, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (empty / "outputs/speciesism/demo/report.html").stat().st_size > 100_000


def test_nothing_large_and_nothing_executed_is_kept():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    files = [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]
    assert not [path.name for path in files if path.stat().st_size > 12 * 2**20]
    assert [path.name for path in files if "outputs" in path.relative_to(ROOT).parts] == ["README.md"]


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_show_one_thing_per_cell(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert statistics.median(text.count("\n") + 1 for text in code) <= 8
    nested = [ast.unparse(node) for text in code for node in ast.walk(ast.parse(text)) if is_nested(node)]
    assert not nested


def is_nested(node):
    """Tell whether a node is a comprehension within or over another, or of two loops."""
    kinds = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    if not isinstance(node, kinds):
        return False
    return len(node.generators) > 1 or any(isinstance(part, kinds) for part in ast.walk(node) if part is not node)
