import pytest
import tiny_models

from biaslib.models import load_masked_lm


@pytest.fixture(scope="session")
def demo():
    return load_masked_lm("demo", device="cpu")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """Load a tiny random model of a family from a folder, once."""
    folder = tmp_path_factory.mktemp("models")
    loaded = {}

    def load(family):
        if family not in loaded:
            loaded[family] = load_masked_lm(tiny_models.save(family, folder / family), device="cpu")
        return loaded[family]

    return load
