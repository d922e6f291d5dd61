import gc
import os
import shutil
import weakref

import pytest
import tiny_models

from biaslib import scoring
from biaslib.scoring import ModelError, load_masked_lm, model_pool, models, open_models


@pytest.fixture
def folders(tmp_path):
    """Three models of the same size."""
    one = tiny_models.save("bert_cased", tmp_path / "one")
    return [str(one), *(str(shutil.copytree(one, tmp_path / name)) for name in ("two", "three"))]


@pytest.fixture
def counted(monkeypatch):
    """Count what is loaded and what is hashed."""
    loaded, hashed = [], []

    load, fingerprint = models.load_named, models._fingerprint

    def counted_load(name, *args, **options):
        loaded.append(name)
        return load(name, *args, **options)

    def counted_fingerprint(*args):
        hashed.append(fingerprint(*args))
        return hashed[-1]

    monkeypatch.setattr(model_pool, "load_named", counted_load)
    monkeypatch.setattr(models, "_fingerprint", counted_fingerprint)
    return loaded, hashed


def room_for(monkeypatch, n, folder):
    """Let half of the free memory hold so many models."""
    size = sum(tensor.nbytes for tensor in load_masked_lm(folder).model.state_dict().values())
    monkeypatch.setattr(model_pool, "_free_memory", lambda device: 2 * n * size)


def test_a_model_is_loaded_when_first_asked_for_and_then_kept(folders, counted):
    loaded, hashed = counted
    opened = open_models([*folders, "demo"])
    assert list(opened) == [*folders, "demo"] and len(opened) == 4 and not loaded
    second = opened[folders[1]]
    assert second.name == folders[1] and opened[folders[1]] is second and loaded == [folders[1]]
    assert [model["name"] for model in opened.describe()] == [*folders, "demo"]
    assert opened.describe()[1] == second.describe() and second.fingerprint == load_masked_lm(folders[1]).fingerprint
    assert loaded == [folders[1], folders[0], folders[2], "demo"] and len(hashed) == 5
    with pytest.raises(KeyError):
        opened["another"]


def test_the_oldest_is_released_and_loaded_again_without_a_hash(folders, counted, monkeypatch):
    room_for(monkeypatch, 2, folders[0])
    loaded, hashed = counted
    hashed.clear()
    opened = open_models(folders)
    alive = [weakref.ref(opened[name].model) for name in folders]
    assert [model() is not None for model in alive] == [False, True, True]
    described = opened.describe()
    assert opened[folders[2]].model is alive[2]() and len(loaded) == 3
    again = opened[folders[0]]
    assert [model() is not None for model in alive] == [False, False, True]
    assert loaded == [*folders, folders[0]] and len(hashed) == 3
    assert again.describe() == described[0] and opened.describe() == described


def test_a_model_is_released_before_the_next_is_loaded(folders, monkeypatch):
    room_for(monkeypatch, 0.5, folders[0])
    opened, alive, together = open_models(folders), [], []
    for name in [*folders, folders[0]]:
        lm = opened[name]
        alive.append(weakref.ref(lm.model))
        assert lm.describe()["name"] == name
        del lm
        together.append([model() is not None for model in alive].count(True))
    assert together == [1, 1, 1, 1]


def test_no_model_is_left_when_closed(folders, counted):
    with open_models(folders) as opened:
        alive = weakref.ref(opened[folders[0]].model)
        assert alive() is not None
    gc.collect()
    assert alive() is None
    assert opened[folders[0]].fingerprint and len(counted[0]) == 2 and len(counted[1]) == 1


def test_a_model_that_changes_during_a_run_is_refused(folders):
    opened = open_models(folders)
    assert opened[folders[0]].name == folders[0]
    opened.close()
    os.utime(os.path.join(folders[0], "model.safetensors"), ns=(1, 1))
    with pytest.raises(ModelError, match="has changed since the run began; start the run again"):
        opened[folders[0]]


def test_loaded_models_are_taken_as_they_are(demo, folders):
    model, tokenizer = tiny_models.build("bert_cased")
    opened = open_models([demo, (model, tokenizer), folders[0]], device="cpu")
    opened.close()
    assert opened["demo"] is demo and opened[list(opened)[1]].model is model
    assert [row["name"] for row in opened.describe()] == list(opened)


def test_options_are_those_of_loading(folders):
    opened = open_models(folders[:1], device="cpu", dtype="float64")
    assert opened[folders[0]].dtype == "float64" == opened.describe()[0]["dtype"]
    frame = scoring.pseudo_log_likelihood(opened[folders[0]], ["He is."])
    assert frame["pll"].notna().all()


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (["demo", "demo"], {}, "the model 'demo' is given twice; give each once"),
        ([], {}, "no model is given; name at least one, such as 'demo'"),
        ("demo", {}, r"models must be a list of names, not one string; write \['demo'\]"),
        (["demo"], {"dtype": "half"}, "unknown dtype 'half'; use one of float32"),
        (["demo"], {"head": "none"}, "unknown head 'none'; use one of keep, new"),
        (["demo", "./nowhere/model"], {}, "no folder './nowhere/model'"),
    ],
)
def test_wrong_names_and_options_are_said_before_anything_is_loaded(given, options, message):
    with pytest.raises(ModelError, match=message):
        open_models(given, **options)
