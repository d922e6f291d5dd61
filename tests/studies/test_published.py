from pathlib import Path

import pandas as pd
import pytest

from biaslib import studies
from biaslib.metrics import top_contrast
from biaslib.studies import (
    _published,
    agreement_with_published_top_words,
    claims,
    different_top_words,
    mark_claims,
    published_model,
    published_table,
    unmasked_models,
)

TOP = published_table("speciesism_tables8_11_top_words")


@pytest.mark.parametrize(
    ("model", "counts"),
    [
        ("bert-large-cased", [85, 45]),
        ("roberta-large", [107, 96]),
        ("distilbert-base-cased", [69, 58]),
        ("albert-large-v2", [95, 69]),
    ],
)
def test_different_words_of_the_tables(model, counts):
    frame = different_top_words(TOP[TOP["model"] == model])
    assert frame["sentences"].tolist() == ["object", "human"]
    assert frame["n_different"].tolist() == counts


def test_different_words_of_nothing():
    assert different_top_words(TOP.iloc[:0])["n_different"].tolist() == [0, 0]
    with pytest.raises(ValueError, match="lacks the column"):
        different_top_words(TOP[["word"]])


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
    with pytest.raises(ValueError, match=r"'speciesism_table9'; known: .*speciesism_table7_models"):
        published_table("speciesism_table9")


def test_claims_count_from_one_in_file_order():
    frame = claims("speciesism")
    assert list(frame.columns) == ["claim_id", "section", "claim", "value"]
    assert frame["claim_id"].tolist() == list(range(1, 14))
    assert frame.loc[0, "claim"].startswith("farm animals cluster closely")
    assert frame.loc[12, "value"] == "0.94"
    with pytest.raises(ValueError, match="known: speciesism, mbe, unmasked, weat, winoqueer"):
        claims("crows")


def test_every_claim_belongs_to_a_paper():
    papers = ("speciesism", "mbe", "unmasked", "weat", "winoqueer")
    assert sum(len(claims(paper)) for paper in papers) == len(published_table("claims"))


VERDICTS = dict.fromkeys(range(1, 14), ("not testable here", "needs the corpora"))


def test_mark_claims():
    frame = mark_claims("speciesism", VERDICTS | {7: ("seen", "killed −.67, slaughtered 0")})
    assert list(frame.columns) == ["section", "claim", "published_value", "status", "evidence"]
    assert frame.loc[6, ["section", "status", "evidence"]].tolist() == [
        "6.1",
        "seen",
        "killed −.67, slaughtered 0",
    ]
    assert (frame["status"] == "not testable here").sum() == 12


@pytest.mark.parametrize(
    ("verdicts", "message"),
    [
        ({i: v for i, v in VERDICTS.items() if i not in (2, 5)}, r"claim\(s\) 2, 5: mark every claim"),
        (VERDICTS | {14: ("seen", "x")}, r"no claim\(s\) 14"),
        (VERDICTS | {"1": ("seen", "x")}, r"no claim\(s\) 1"),
        (VERDICTS | {1: ("maybe", "x")}, "'maybe' is unknown; known: seen, not seen, not testable here"),
        (VERDICTS | {1: ("seen", " ")}, "claim 1: say in words"),
        (VERDICTS | {1: "seen"}, r"claim 1 has to be \(status, evidence\)"),
    ],
)
def test_mark_claims_refuses(verdicts, message):
    with pytest.raises(ValueError, match=message):
        mark_claims("speciesism", verdicts)


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


def test_models_of_other_papers_are_not_known_by_name():
    with pytest.raises(ValueError, match="known: speciesism, mbe, unmasked, winoqueer"):
        published_model("demo", "weat")


@pytest.mark.parametrize("model", sorted(set(TOP["model"])))
def test_the_tables_agree_with_themselves(model):
    top = TOP[TOP["model"] == model].rename(columns={"animal": "name"})
    top["word"] = top["word"].str.replace("f**k", "fuck", regex=False)
    frame = agreement_with_published_top_words(top, model)
    assert list(frame.columns) == ["name", "sentences", "n_published", "n_found", "share", "found", "missing"]
    assert len(frame) == 92
    assert (frame["share"] == 1).all() and (frame["missing"] == "").all()
    assert frame.attrs == {"not_measured": [], "not_published": []}


def top_of(name, words, sentences="object"):
    return pd.DataFrame({"name": name, "sentences": sentences, "word": words})


def test_agreement_compares_case_and_stars_letter_by_letter():
    top = pd.concat([top_of("bat", ["ninja"], "human"), top_of("cat", ["fucked", "f12king", "fuucking"])])
    frame = agreement_with_published_top_words(top, "google-bert/bert-large-cased")
    found = frame.set_index(["name", "sentences"])
    assert found.loc[("bat", "human"), "n_found"] == 0  # published: Ninja
    assert found.loc[("bat", "object"), ["n_found", "n_published"]].tolist() == [0, 5]
    assert found.loc[("cat", "object"), ["n_found", "share", "found"]].tolist() == [1, 0.2, "f**ked"]
    assert "f**king" in found.loc[("cat", "object"), "missing"]
    assert "pig" in frame.attrs["not_measured"]


def test_agreement_reads_no_pattern_but_the_star():
    frame = agreement_with_published_top_words(top_of("rat", ["1a"]), "albert-large-v2")
    assert frame.loc[0, "n_found"] == 0  # published: "1:"


def test_a_piece_counts_where_the_tables_do_not_mark_pieces():
    for words, model, n_found in (
        (["##dried"], "roberta-large", 1),
        (["##ripe"], "bert-large-cased", 0),
    ):
        assert agreement_with_published_top_words(top_of("chicken", words), model)["n_found"].max() == n_found


def test_names_measured_but_without_a_word_count_as_not_found():
    rows = pd.DataFrame({"name": pd.Categorical([], ["pig"]), "word": [], "log_ratio": [], "kept": []})
    top = top_contrast(rows.astype({"kept": bool, "log_ratio": float}))
    frame = agreement_with_published_top_words(top, "roberta-large")
    assert frame[["name", "n_found"]].values.tolist() == [["pig", 0], ["pig", 0]]


def test_names_the_tables_lack_are_listed():
    frame = agreement_with_published_top_words(top_of("axolotl", ["ripe"]), "roberta-large")
    assert frame.empty and frame.attrs["not_published"] == ["axolotl"]


def test_agreement_needs_a_published_model():
    with pytest.raises(ValueError, match="model 'demo'; known: bert-large-cased, roberta-large"):
        agreement_with_published_top_words(top_of("pig", ["ripe"]), "demo")
