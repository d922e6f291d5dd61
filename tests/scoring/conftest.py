import plain
import pytest


@pytest.fixture(scope="module")
def case(tiny, demo):
    """Give the model of a family and its plain float64 copy."""
    copies = {}

    def get(family):
        lm = demo if family == "demo" else tiny(family)
        if family not in copies:
            copies[family] = plain.double(lm)
        return lm, copies[family]

    return get
