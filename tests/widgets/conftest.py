import pytest

from biaslib import io
from biaslib.io import by_condition, read_templates
from biaslib.metrics import contrast


@pytest.fixture(scope="session")
def words(demo):
    """Give the words that the demo model ties to three names."""
    kinds = by_condition(read_templates("speciesism"), ["object", "human"])
    return contrast(demo, ["pig", "dog", "human"], kinds["object"], kinds["human"], min_z=1.5)


@pytest.fixture(scope="session")
def novels():
    return io.load_histwords("novels", decades=[1850, 1900, 1930])
