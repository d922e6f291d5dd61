"""Runs made up for tests of comparisons."""

from biaslib.studies import score_row

MODEL = {"name": "bert", "fingerprint": "f1", "device": "cpu", "dtype": "float32", "for_trying_out": False}


def row(model="bert", group="stem", value=0.6, **fields):
    given = {"paper": "unmasked", "measure": "vargha_delaney_a", "variant": "in_place", "data_fingerprint": "d1"}
    return score_row(**given | {"model": model, "group": group, "value": value, "n": 100} | fields)
