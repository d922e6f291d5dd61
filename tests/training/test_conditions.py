"""Models off the shelf and trained on each of several corpora."""

import pandas as pd
import pytest

from biaslib import training


def test_corpora_and_their_names_go_together():
    assert training.name_corpora(["a=x.txt", "my/b.jsonl.gz"], n=2) == {"a": "x.txt", "b": "my/b.jsonl.gz"}
    for corpora in (["a=x"], ["a=x", "a=y"], ["x/a.txt", "y/a.csv"], ["a=x", "b=y", "c=z"]):
        with pytest.raises(ValueError, match="give 2 corpora with different names"):
            training.name_corpora(corpora, n=2)
    for empty in ("=x", "a=", " = "):
        with pytest.raises(ValueError, match="has an empty name or text"):
            training.name_corpora([empty, "b=y"], n=2)


def test_each_model_is_trained_on_each_corpus_and_found_again(tiny, tmp_path):
    texts = {name: [f"the {name} was kind and it is number {n} ." for n in range(40)] for name in ("dog", "cat")}
    given = {"out": tmp_path / "models", "epochs": 1, "block_size": 16}
    models = {"a/b": tiny("bert_cased")}
    first = training.train_conditions(models, texts, **given)
    assert first["condition"].tolist() == [training.OFF_THE_SHELF, "after dog", "after cat"]
    assert first["n_trained_on"].tolist() == [0, 36, 36] and first["n_held_out"].tolist() == [0, 4, 4]
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "models").rglob("*.safetensors")}
    pd.testing.assert_frame_equal(first, training.train_conditions(models, texts, **given))
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "models").rglob("*.safetensors")}
    changed = training.train_conditions(models, {"dog": [*texts["dog"], "a cat ."]}, **given)
    assert changed["folder"][1] not in set(first["folder"])
