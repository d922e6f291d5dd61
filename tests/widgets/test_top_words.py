import numpy as np
import pandas as pd
import pytest
import tiny_models
from explorers import counted, live, page, put, top_words

from biaslib import scoring
from biaslib.metrics import compare_sentences
from biaslib.scoring import model_pool
from biaslib.widgets import PairExplorer


def test_a_slot_gives_the_words_of_its_sentences(demo):
    explorer = top_words(demo)
    put(explorer, **{"{name}": "nurse"})
    expected = compare_sentences(demo, "It is a nurse that is [MASK].", "She is a nurse who is [MASK].", 4)
    pd.testing.assert_frame_equal(explorer.to_frame().drop(columns="model"), expected)
    assert explorer.to_frame()["model"].unique().tolist() == ["demo"]
    assert explorer.message == ""
    assert "It is a nurse that is [MASK]." in [text.get_text() for text in explorer.to_figure().legends[0].get_texts()]


@pytest.mark.parametrize("family", tiny_models.TOKENIZER_FAMILIES)
def test_every_family_of_tokenizers_answers(tiny, family):
    lm = tiny(family)
    explorer = top_words(lm, first="[MASK] is a {name}.", second="The {name} said [MASK] is kind.")
    put(explorer, condition="second", k=5)
    assert explorer.to_frame()["rank_second"].tolist() == [1, 2, 3, 4, 5]
    pair = PairExplorer(lm, "He is a nurse.", "The kind dog is a nurse.")
    scored = scoring.pseudo_log_likelihood(lm, ["He is a nurse.", "The kind dog is a nurse."])
    sums = pair.to_frame().groupby("sentence")["pll_part"].sum()
    np.testing.assert_allclose(sums[["first", "second"]], scored["pll"], rtol=1e-6)


def test_the_second_sentence_may_be_empty_but_not_be_asked_for(demo):
    explorer = top_words(demo)
    put(explorer, second="")
    assert explorer.to_frame()["p_second"].isna().all() and explorer.message == ""
    put(explorer, condition="second")
    assert "the second sentence is empty" in explorer.message


@pytest.mark.parametrize(
    ("values", "line"), [({"first": "gap"}, "none"), ({"k": 0}, "k must be a whole number"), ({"slots": {}}, "slot")]
)
def test_wrong_options_at_first_are_an_error(demo, values, line):
    with pytest.raises(ValueError, match=line):
        top_words(demo, **values)
    with pytest.raises(ValueError, match="use one of either, first, second"):
        top_words(demo, condition="third")


def test_slots_come_and_go_with_the_templates(demo):
    explorer = top_words(demo, slots={"name": "pig", "job": "nurse"})
    assert list(explorer.controls) == ["model", "first", "second", "{name}", "condition", "k"]
    put(explorer, first="The {job} said that {name} is [MASK].")
    assert list(explorer.controls) == ["model", "first", "second", "{job}", "{name}", "condition", "k"]
    assert explorer.message == "" and explorer.widget.children[0].children[3].value == "nurse"
    put(explorer, **{"{name}": "Ann"})
    put(explorer, first="It is [MASK].", second="")
    assert not any("{" in name for name in explorer.controls)
    put(explorer, first="{name} is [MASK].")
    assert explorer.controls["{name}"].value == "Ann"


def test_several_models_are_seen_one_by_one_or_together(demo, tiny):
    explorer = top_words([demo, tiny("bert_cased")])
    other = tiny("bert_cased").name
    put(explorer, model=other)
    assert set(explorer.to_frame()["model"]) == {other}
    put(explorer, model="")
    assert list(explorer.to_frame()["model"].unique()) == ["demo", other]
    assert [axes.get_title("left") for axes in explorer.to_figure().axes] == ["demo", other]
    with pytest.raises(ValueError, match="given twice"):
        top_words([demo, "demo"])
    with pytest.raises(ValueError, match="no model"):
        top_words([])


def test_a_model_is_loaded_when_it_is_first_chosen(demo, tiny_folder, tmp_path, monkeypatch):
    loads = counted(monkeypatch, model_pool, "load_named")
    folder = str(tiny_folder("bert_cased"))
    explorer = top_words([demo, folder])
    assert loads == []
    put(explorer, model=folder, k=3)
    put(explorer, model="demo")
    put(explorer, model=folder)
    assert [load[0] for load in loads] == [folder]
    put(explorer, model="demo")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    incomplete = top_words([demo, str(tmp_path)])
    put(incomplete, model=str(tmp_path))
    assert str(tmp_path) in incomplete.message and len(incomplete.to_frame())
    with pytest.raises(ValueError, match="no folder 'no/such/model/here'"):
        top_words([demo, "no/such/model/here"])


def test_many_words_are_all_in_the_table_but_not_in_the_figure(demo):
    explorer = top_words(demo, second="", k=250)
    assert len(explorer.to_frame()) == 250
    assert "shows the first 40 of 250 words" in explorer.message
    assert len(explorer.to_figure().axes[0].patches) == 40
    assert "The first 200 of 250 rows" in live(explorer)
    assert "word249" not in live(explorer) and page(explorer).find("section") is not None


def test_words_without_an_entry_in_the_other_place_are_counted(demo):
    explorer = top_words(demo, first="She is [MASK].", second="She is un[MASK].")
    missing = explorer.to_frame()["reason"].ne("").sum()
    assert missing and f"{missing} words have no entry in the other sentence" in explorer.message


def test_money_and_formulas_are_drawn_as_they_are_typed(demo):
    explorer = top_words(demo, first="It costs $5 or $x_1 to be [MASK].", second="$\\frac$ [MASK]")
    legend = explorer.to_figure().legends[0].get_texts()
    assert [text.get_text() for text in legend] == ["It costs $5 or $x_1 to be [MASK].", "$\\frac$ [MASK]"]
    assert not any(text.get_parse_math() for text in legend)


def test_characters_beyond_the_figures_type_are_said(demo):
    explorer = top_words(demo, second="")
    put(explorer, first="日本 [MASK].")
    assert "lacks some characters" in explorer.message
