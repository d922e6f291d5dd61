"""The house: what may import what, and the lists of what each layer exports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import biaslib

ROOT = Path(biaslib.__file__).parent
LAYERS = (
    "io",
    "stats",
    "scoring",
    "training",
    "embeddings",
    "compute",
    "metrics",
    "studies",
    "plots",
    "report",
    "widgets",
    "runs",
    "cli",
)
FILES = sorted(path for path in ROOT.rglob("*.py") if "data" not in path.relative_to(ROOT).parts)
PER_LAYER = pytest.mark.parametrize("layer", LAYERS)


def layer_of(path):
    """Return the place of a file's layer, lowest first; 0 is the root."""
    parts = path.relative_to(ROOT).parts
    return LAYERS.index(parts[0]) + 1 if len(parts) > 1 else 0


def imports_of(path):
    """Return the files and folders of the library that a file imports."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "biaslib":
            folder = ROOT.joinpath(*node.module.split(".")[1:])
            places = [folder / alias.name for alias in node.names] if folder.is_dir() else [folder]
            found += [place for place in places if place.is_dir() or place.with_suffix(".py").is_file()]
            found += [folder for place in places if not (place.is_dir() or place.with_suffix(".py").is_file())]
    return {place if place.is_dir() else place.with_suffix(".py") for place in found}


def exported_by(layer):
    tree = ast.parse((ROOT / layer / "__init__.pyi").read_text(encoding="utf-8"))
    return {alias.name: node.module for node in tree.body for alias in node.names}


def test_there_are_no_other_layers():
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and (path / "__init__.py").is_file()}
    assert folders == set(LAYERS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_import_points_upward(path):
    if path.name == "__main__.py" or (path.parent == ROOT and path.name == "__init__.py"):
        pytest.skip("the root's two ways in")
    for place in imports_of(path) - {ROOT}:
        own = place.parent if place.suffix else place
        level = LAYERS.index(place.name) + 1 if own == place else layer_of(place)
        assert level <= layer_of(path), f"imports {place.relative_to(ROOT)}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_private_files_are_used_in_their_own_folder(path):
    for place in imports_of(path):
        if place.name.startswith("_") and place.suffix and place.parent != ROOT:
            assert place.parent in path.parents, f"imports {place.relative_to(ROOT)}"


def test_no_files_import_each_other_in_a_circle():
    graph = {path: {place for place in imports_of(path) if place.suffix} for path in FILES}
    left = dict(graph)
    while left:
        free = {path for path, needed in left.items() if not needed & left.keys()}
        assert free, f"in a circle: {sorted(path.relative_to(ROOT).as_posix() for path in left)}"
        left = {path: needed for path, needed in left.items() if path not in free}


@PER_LAYER
def test_the_list_of_a_layer_is_what_it_exports(layer):
    module = getattr(biaslib, layer)
    assert set(module.__all__) == set(exported_by(layer))
    for name in exported_by(layer):
        assert getattr(module, name) is not None


@PER_LAYER
def test_no_file_bears_the_name_of_a_function_that_its_layer_exports(layer):
    files = {path.stem for path in (ROOT / layer).glob("*.py")}
    functions = {name for name, module in exported_by(layer).items() if module}
    assert not files & functions


def test_every_public_function_is_exported():
    for path in FILES:
        if layer_of(path) == 0 or path.parent.name == "cli" or path.name.startswith("_"):
            continue
        exported = exported_by(path.parent.name)
        if exported.get(path.stem, "") is None:
            # A study is a module of its own: `studies.weat.judge`.
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        public = {
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            and not node.name.startswith("_")
            and "Parameters\n" in (ast.get_docstring(node) or "")
        }
        assert public <= exported.keys(), path.relative_to(ROOT)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_file_is_long(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 600


def test_the_root_loads_nothing_heavy():
    heavy = ("pandas", "numpy", "scipy", "torch", "transformers", "gensim", "spacy", "matplotlib", "papermill")
    code = f"import sys, biaslib; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
