from pathlib import Path

import pandas as pd
import pytest

from biaslib import studies
from biaslib.studies import _published, published_model, published_models, published_table, unmasked_models


@pytest.mark.parametrize("name", sorted(path.stem for path in studies.FOLDER.glob("*.csv")))
def test_every_table_reads_without_losing_a_row(name):
    lines = (studies.FOLDER / f"{name}.csv").read_text(encoding="utf-8").strip().count("\n")
    assert len(published_table(name)) == lines


def test_numbers_with_gaps_stay_numbers():
    for name in ("speciesism_table7_models", "speciesism_table1_animal_frequency"):
        frame = published_table(name)
        assert frame.select_dtypes("number").shape[1] >= 1
    assert published_table("speciesism_table7_models")["other"].tolist()[0] == ""


def test_text_stays_text(tmp_path, monkeypatch):
    (tmp_path / "odd.csv").write_text("word,n,m\nNA,1,\nnull,2,5\n", encoding="utf-8")
    monkeypatch.setattr(_published, "FOLDER", tmp_path)
    frame = published_table("odd")
    assert frame["word"].tolist() == ["NA", "null"]
    assert frame["n"].tolist() == [1, 2]
    assert pd.isna(frame.loc[0, "m"]) and frame.loc[1, "m"] == 5


def test_unknown_table_lists_the_known():
    with pytest.raises(ValueError, match=r"'speciesism_table9'; use one of .*speciesism_table7_models"):
        published_table("speciesism_table9")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("google-bert/bert-large-cased", "bert-large-cased"),
        ("bert-large-cased", "bert-large-cased"),
        ("/data/models/albert-large-v2/", "albert-large-v2"),
        ("C:\\models\\roberta-large", "roberta-large"),
        (Path("x") / "distilbert-base-cased", "distilbert-base-cased"),
        ("bert-large-uncased", None),
        ("xlm-roberta-large", None),
        ("demo", None),
        ("", None),
    ],
)
def test_published_model(name, expected):
    assert published_model(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("google-bert/bert-base-uncased", "bert"),
        ("bert-base-uncased", "bert"),
        ("/data/distilbert-base-multilingual-cased/", "distilbert-multilingual"),
        ("xlm-roberta", "xlm-roberta"),
        # A folder that happens to be called like the paper's short name may be anything.
        ("models/bert", None),
        ("bert-base-cased", None),
        ("roberta-large", None),
    ],
)
def test_published_model_of_unmasked(name, expected):
    assert published_model(name, "unmasked") == expected


def test_the_models_of_unmasked_are_those_of_its_tables():
    models = unmasked_models()
    assert set(models["model"]) == set(published_table("unmasked_table2_gtc")["model"])
    counterparts = models[models["multilingual"] != ""]
    assert (counterparts["n_languages"] == 1).all()
    assert set(counterparts["model"]) == set(published_table("unmasked_table3_mono_minus_multi")["pair"])
    assert set(counterparts["multilingual"]) == set(models.loc[models["n_languages"] > 1, "model"])


def test_models_of_a_paper_among_those_of_a_run():
    names = ["demo", "xlm-roberta-base", "models/bert-base-uncased"]
    assert published_models(names, "unmasked") == {
        "xlm-roberta-base": "xlm-roberta",
        "models/bert-base-uncased": "bert",
    }
    assert published_models(["demo"]) == {}


def test_models_of_other_papers_are_not_known_by_name():
    with pytest.raises(ValueError, match="use one of mbe, speciesism, unmasked, winoqueer"):
        published_model("demo", "weat")
