"""Explorers without a browser: setting a control's value does what a hand does."""

import warnings

import numpy as np
import pandas as pd
import pytest
import tiny_models
from bs4 import BeautifulSoup
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from biaslib import embeddings, io, metrics, scoring
from biaslib.embeddings import decades
from biaslib.io import by_condition, read_templates
from biaslib.metrics import compare_sentences, contrast, top_contrast, word_contrast
from biaslib.widgets import ContrastExplorer, PairExplorer, TopWordsExplorer, TrendExplorer, _explorer, sentence_pairs

MARKUP = "<script>alert(1)</script>"
WIDGET = "application/vnd.jupyter.widget-view+json"
NAMES = ["pig", "dog", "human"]


@pytest.fixture(scope="module")
def words(demo):
    kinds = by_condition(read_templates("speciesism"), ["object", "human"])
    return contrast(demo, NAMES, kinds["object"], kinds["human"], min_z=1.5)


@pytest.fixture(scope="module")
def novels():
    return io.load_histwords("novels", decades=[1850, 1900, 1930])


def top_words(lm, **options):
    return TopWordsExplorer(lm, **({"slots": {"name": "pig"}, "k": 4} | options))


def put(explorer, **values):
    for name, value in values.items():
        explorer.controls[name].value = value


def counted(monkeypatch, name):
    calls, real = [], getattr(sentence_pairs, name)

    def count(*given, **options):
        calls.append(given)
        return real(*given, **options)

    monkeypatch.setattr(sentence_pairs, name, count)
    return calls


def page(explorer):
    return BeautifulSoup(explorer._repr_mimebundle_()["text/html"], "html.parser")


def live(explorer):
    """What the live notebook shows beside the controls, as HTML."""
    return "".join(part.value for part in explorer.widget.children[1:])


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


def test_a_change_computes_once_and_a_repeat_is_remembered(demo, monkeypatch):
    explorer = top_words(demo)
    calls = counted(monkeypatch, "compare_sentences")
    put(explorer, k=5)
    assert len(calls) == 1
    explorer.controls["k"].description = "another trait"
    put(explorer, k=4)
    put(explorer, condition="first")
    put(explorer, condition="either")
    put(explorer, k=5)
    assert len(calls) == 2


def test_a_contrast_that_fills_four_boxes_computes_once(novels, monkeypatch):
    explorer = TrendExplorer(novels, n_resamples=99)
    calls, real = [], embeddings.trend
    monkeypatch.setattr(decades, "trend", lambda *given, **options: calls.append(given) or real(*given, **options))
    put(explorer, contrast="high-low-pleasure-pain")
    assert len(calls) == 1


def test_while_it_computes_it_says_so(demo, monkeypatch):
    explorer, seen = top_words(demo), []
    real_words = metrics.compare_sentences

    def slow(*given, **options):
        seen.append((explorer.message, live(explorer)))
        return real_words(*given, **options)

    monkeypatch.setattr(word_contrast, "compare_sentences", slow)
    put(explorer, k=6)
    assert seen[0][0] == "Computing …" and "Computing …" in seen[0][1]
    assert explorer.message == "" and "Computing" not in live(explorer)


WRONG = [
    (TopWordsExplorer, {"first": ""}, "the first sentence is empty"),
    (TopWordsExplorer, {"first": "   "}, "the first sentence is empty"),
    (TopWordsExplorer, {"first": "[MASK] and [MASK]"}, "exactly one [MASK] must be in a sentence, this one has 2"),
    (TopWordsExplorer, {"first": "no gap"}, "this one has none"),
    (TopWordsExplorer, {"second": "no gap"}, "this one has none"),
    (TopWordsExplorer, {"first": "a {stray [MASK]"}, "stray brace"),
    (TopWordsExplorer, {"first": "A {thing} is [MASK]."}, "slot {thing} needs a text"),
    (TopWordsExplorer, {"{name}": ""}, "slot {name} needs a text"),
    (TopWordsExplorer, {"first": "dog " * 600 + "[MASK]"}, "too long"),
    (TopWordsExplorer, {"first": "\ud800 [MASK]"}, "half a character"),
    (TopWordsExplorer, {"first": MARKUP}, MARKUP),
    (TopWordsExplorer, {"k": 0}, "k is 0: take a whole number from 1 to 30522"),
    (TopWordsExplorer, {"k": -3}, "k is -3"),
    (TopWordsExplorer, {"k": 30523}, "k is 30523: take a whole number from 1 to 30522, the vocabulary's size"),
    (PairExplorer, {"first": ""}, "empty: ''"),
    (PairExplorer, {"first": "She is a [MASK]."}, "[MASK] in a sentence to be scored whole"),
    (PairExplorer, {"second": "[MASK] [MASK]"}, "[MASK] in a sentence to be scored whole"),
    (PairExplorer, {"second": "dog " * 600}, "too long"),
    (PairExplorer, {"first": "\ud800"}, "half a character"),
    (TrendExplorer, {"x": ""}, "fill X, Y, A and B"),
    (TrendExplorer, {"x": " , ,"}, "fill X, Y, A and B"),
    (TrendExplorer, {"x": "zyzzyva"}, "no value in any decade: X has 0 word(s) with a vector"),
    (TrendExplorer, {"x": MARKUP}, MARKUP),
    (TrendExplorer, {"y": "work, zyzzyva"}, "X and Y share the word(s) work"),
]


@pytest.fixture(scope="module")
def used(demo, novels):
    """An explorer of each kind in use, and the choice to go back to."""
    explorers = [top_words(demo), PairExplorer(demo), TrendExplorer(novels, n_resamples=99)]
    return {type(e): (e, {name: control.value for name, control in e.controls.items()}) for e in explorers}


@pytest.mark.parametrize(("kind", "values", "line"), WRONG)
def test_what_is_wrong_is_said_and_the_last_good_result_stays(used, kind, values, line):
    explorer, good = used[kind]
    frame, picture = explorer.to_frame(), explorer.widget.children[2].value
    put(explorer, **values)
    assert line in explorer.message and len(explorer.message) < 500
    assert "the last good result" in live(explorer) and MARKUP not in live(explorer)
    pd.testing.assert_frame_equal(explorer.to_frame(), frame)
    assert explorer.widget.children[2].value == picture
    put(explorer, **{name: good[name] for name in values})
    assert "the last good result" not in live(explorer)
    pd.testing.assert_frame_equal(explorer.to_frame(), frame)


def test_the_second_sentence_may_be_empty_but_not_be_asked_for(demo):
    explorer = top_words(demo)
    put(explorer, second="")
    assert explorer.to_frame()["p_second"].isna().all() and explorer.message == ""
    put(explorer, condition="second")
    assert "the second sentence is empty" in explorer.message


@pytest.mark.parametrize(
    ("values", "line"), [({"first": "gap"}, "none"), ({"k": 0}, "k is 0"), ({"slots": {}}, "slot")]
)
def test_wrong_options_at_first_are_an_error(demo, values, line):
    with pytest.raises(ValueError, match=line):
        top_words(demo, **values)
    with pytest.raises(ValueError, match="known: either, first, second"):
        top_words(demo, condition="third")


def test_whatever_breaks_is_seen(demo, monkeypatch):
    explorer = top_words(demo)
    frame = explorer.to_frame()

    def broken(*given, **options):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(word_contrast, "compare_sentences", broken)
    put(explorer, k=7)
    assert explorer.message == "RuntimeError: out of memory"
    pd.testing.assert_frame_equal(explorer.to_frame(), frame)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=12), side=st.sampled_from(["first", "second", "{name}"]))
def test_any_text_gives_an_answer_or_a_line(tiny, text, side):
    explorer = top_words(tiny("bert_cased"), k=2)
    put(explorer, **{side: text if side == "{name}" else f"{text} [MASK]"})
    assert explorer.message or explorer._current.options[side] == explorer.controls[side].value
    assert len(explorer.to_frame()) and "<img" in live(explorer)


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


def test_a_model_is_loaded_when_it_is_first_chosen(demo, tiny_folder, monkeypatch):
    loads = counted(monkeypatch, "load_masked_lm")
    folder = str(tiny_folder("bert_cased"))
    explorer = top_words([demo, folder])
    assert loads == []
    put(explorer, model=folder, k=3)
    put(explorer, model="demo")
    put(explorer, model=folder)
    assert loads == [(folder,)]
    put(explorer, model="demo")
    absent = top_words([demo, "no/such/model/here"])
    put(absent, model="no/such/model/here")
    assert "no/such/model/here" in absent.message and len(absent.to_frame())


def test_many_words_are_all_in_the_table_but_not_in_the_figure(demo):
    explorer = top_words(demo, second="", k=250)
    assert len(explorer.to_frame()) == 250
    assert "the first 40 of 250 words" in explorer.message
    assert len(explorer.to_figure().axes[0].patches) == 40
    assert "The first 200 of 250 rows" in live(explorer)
    assert "word249" not in live(explorer) and page(explorer).find("section") is not None


def test_words_without_an_entry_in_the_other_place_are_counted(demo):
    explorer = top_words(demo, first="She is [MASK].", second="She is un[MASK].")
    missing = explorer.to_frame()["reason"].ne("").sum()
    assert missing and f"{missing} words are no entry in the other sentence" in explorer.message


def test_markup_is_shown_as_text(demo):
    explorer = top_words(demo)
    put(explorer, **{"{name}": MARKUP})
    put(explorer, first=f"It is a {{name}} that is [MASK] {MARKUP}.")
    assert MARKUP not in live(explorer)
    twin = page(explorer)
    assert MARKUP in twin.img["alt"] and MARKUP in twin.p.get_text()
    assert not [script for script in twin.find_all("script") if (script.string or "").startswith("alert")]
    pair = PairExplorer(demo, f"He is {MARKUP}.", "She is.")
    assert MARKUP not in live(pair) and MARKUP in page(pair).img["alt"]
    assert "script" in pair.to_frame()["text"].tolist()


def test_markup_in_names_and_words_is_shown_as_text(words):
    names = {"pig": MARKUP}
    frame = words.assign(name=words["name"].astype(object).replace(names), word="<b>" + words["word"].astype(str))
    explorer = ContrastExplorer(frame, name=MARKUP)
    assert MARKUP not in live(explorer) and "<b>" not in live(explorer)
    scripts = [script.string or "" for script in page(explorer).find_all("script")]
    assert not any(script.startswith("alert") for script in scripts)


def test_money_and_formulas_are_drawn_as_they_are_typed(demo):
    explorer = top_words(demo, first="It costs $5 or $x_1 to be [MASK].", second="$\\frac$ [MASK]")
    legend = explorer.to_figure().legends[0].get_texts()
    assert [text.get_text() for text in legend] == ["It costs $5 or $x_1 to be [MASK].", "$\\frac$ [MASK]"]
    assert not any(text.get_parse_math() for text in legend)


def test_characters_beyond_the_figures_type_are_said(demo):
    explorer = top_words(demo, second="")
    put(explorer, first="日本 [MASK].")
    assert "lacks some characters" in explorer.message


def test_contrast_filters_by_z_sentiment_and_search(words):
    explorer = ContrastExplorer(words, name="dog")
    rows = explorer.to_frame()
    expected = words[(words["name"] == "dog") & (words["z"].abs() >= 2)]
    assert set(rows["word"]) == set(expected["word"]) and rows["name"].unique().tolist() == ["dog"]
    assert rows["log_ratio"].is_monotonic_decreasing
    put(explorer, min_z=3.0)
    assert explorer.to_frame()["z"].abs().min() >= 3
    put(explorer, min_z=1.5, sentiment="negative")
    assert set(explorer.to_frame()["sentiment"]) == {"negative"}
    put(explorer, search="KILL")
    assert explorer.to_frame()["word"].str.contains("kill").all()
    put(explorer, sentiment="", search="##")
    assert explorer.to_frame()["word"].str.startswith("##").all()
    put(explorer, search="(")
    assert "no kept word of 'dog' is like this" in explorer.message and len(explorer.to_frame())


def test_the_bars_are_the_top_words_both_ways(words):
    explorer = ContrastExplorer(words, name="pig", k=3)
    kept = words[(words["name"] == "pig") & (words["z"].abs() >= 2)]
    expected = top_contrast(kept, 3)
    axes = explorer.to_figure().axes[0]
    assert sorted(patch.get_width() for patch in axes.patches) == pytest.approx(sorted(expected["log_ratio"]))
    assert {text.get_text().strip() for text in axes.texts} == set(expected["word"])
    put(explorer, k=0)
    assert explorer.controls["k"].value == 1 and len(explorer.to_figure().axes[0].patches) == 2


def test_a_name_that_was_left_out_says_why(demo):
    kinds = by_condition(read_templates("speciesism"), ["object", "human"])
    long = "dog " * 600
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        frame = contrast(demo, ["pig", long], kinds["object"], kinds["human"])
    explorer = ContrastExplorer(frame)
    put(explorer, name=long)
    assert "too long" in explorer.message and set(explorer.to_frame()["name"]) == {"pig"}
    with pytest.raises(ValueError, match="no name 'cow'; known: pig"):
        ContrastExplorer(frame, name="cow")
    with pytest.raises(ValueError, match="k has to be a whole number from 1 to 20, not 0"):
        ContrastExplorer(frame, k=0)
    with pytest.raises(ValueError, match="smaller min_z"):
        ContrastExplorer(frame[frame["z"] > 1e6])
    with pytest.raises(ValueError, match="lacks the column"):
        ContrastExplorer(frame.drop(columns="z"))


def test_contrasts_of_several_models_with_names_of_their_own(words):
    explorer = ContrastExplorer({"one": words, "two": words[words["name"] == "dog"].assign(name="cow")}, name="pig")
    put(explorer, model="two")
    assert explorer.controls["name"].value == "cow" and set(explorer.to_frame()["name"]) == {"cow"}
    put(explorer, model="one", name="dog")
    assert set(explorer.to_frame()["name"]) == {"dog"} and explorer.message.endswith("as a person")


def test_a_report_holds_the_words_of_all_names_up_to_a_limit(words, monkeypatch):
    explorer = ContrastExplorer(words, name="dog")
    assert all(name in explorer._repr_mimebundle_()["text/html"] for name in NAMES)
    monkeypatch.setattr(_explorer, "_TWIN_ROWS", 30)
    total = (words["z"].abs() >= 2).sum()
    assert f"the table has the first 30 of {total:,} rows" in page(explorer).p.get_text()


def test_a_trend_is_that_of_the_word_sets(novels):
    explorer = TrendExplorer(novels, contrast="high-low-pleasure-pain", n_resamples=99, seed=3)
    sets = io.contrast_sets(io.read_contrasts("novels"), "high-low-pleasure-pain")
    expected = embeddings.trend(novels, sets, min_words=1, n_resamples=99, seed=3)
    frame = explorer.to_frame()
    for mine, theirs in {
        "value": "effect_size",
        "ci_low": "ci_low",
        "ci_high": "ci_high",
        "p_value": "p_value",
    }.items():
        np.testing.assert_array_equal(frame[mine], expected[theirs])
    assert frame["decade"].tolist() == [1850, 1900, 1930]
    assert explorer.controls["x"].value == ", ".join(sets["X"])
    put(explorer, x="dear, sweet, dear ,", y="cruel, cold")
    assert explorer.controls["contrast"].value == "own words"
    assert explorer.to_frame()["n_x"].tolist() == [2, 2, 2]
    put(explorer, contrast="high-low-pleasure-pain")
    pd.testing.assert_frame_equal(explorer.to_frame(), frame)


def test_two_words_have_a_cosine_without_an_interval(novels):
    explorer = TrendExplorer(novels, n_resamples=99)
    put(explorer, contrast="two words")
    assert explorer.controls["y"].value == explorer.controls["b"].value == ""
    put(explorer, x="king", a="queen")
    frame = explorer.to_frame()
    expected = [float(novels[decade].similarity("king", "queen")) for decade in sorted(novels)]
    np.testing.assert_allclose(frame["value"], expected, atol=1e-6)
    assert set(frame["measure"]) == {"cosine"} and frame["ci_low"].isna().all()
    assert explorer.to_figure().axes[0].get_ylabel() == "cosine"


def test_missing_words_and_decades_are_said_and_marked(novels):
    lacks = {1850: novels[1850], 1900: {word: novels[1900][word] for word in ("queen", "man")}, 1930: novels[1930]}
    explorer = TrendExplorer(lacks, words="available", n_resamples=99)
    put(explorer, contrast="two words", x="king", a="queen")
    frame = explorer.to_frame()
    assert frame["reason"].tolist() == ["", "no vector: king", ""] and np.isnan(frame["value"][1])
    assert "no value in 1 of 3 decades (no vector: king)" in explorer.message
    crosses = [line for line in explorer.to_figure().axes[0].lines if line.get_marker() == "x"]
    assert [line.get_xdata().tolist() for line in crosses] == [[1]]
    before = explorer.to_frame()
    put(explorer, a="zyzzyva")
    assert "no value in any decade: no vector: zyzzyva" in explorer.message
    pd.testing.assert_frame_equal(explorer.to_frame(), before)
    put(explorer, a="queen, king")
    assert "fill X, Y, A and B for an effect size" in explorer.message


def test_the_first_contrast_shown_has_a_value(novels):
    sets = io.contrast_sets(io.read_contrasts("novels"), "high-low-pleasure-pain")
    few = {d: {word: v[word] for words in sets.values() for word in words if word in v} for d, v in novels.items()}
    explorer = TrendExplorer(few, n_resamples=99)
    assert explorer.controls["contrast"].value == "high-low-pleasure-pain"
    with pytest.raises(ValueError, match="no value in any decade"):
        TrendExplorer({1900: {"zyzzyva": [1.0, 2.0]}}, n_resamples=99)


def test_several_vectors_with_and_without_decades(novels):
    undated = {"flat": novels[1900]}
    explorer = TrendExplorer({"novels": novels, "late": {1930: novels[1930]}}, undated, n_resamples=99)
    frame = explorer.to_frame()
    assert frame["vectors"].tolist() == ["novels"] * 3 + ["late", "flat"]
    assert frame["decade"].isna().tolist() == [False] * 4 + [True]
    labels = [text.get_text() for text in explorer.to_figure().legends[0].get_texts()]
    assert labels == ["novels", "late", "flat"]
    put(explorer, vectors="flat")
    assert explorer.to_frame()["value"].item() == frame["value"].iloc[-1]
    put(explorer, x="man", y="woman", a="king", b="queen")
    assert "one word each" in explorer.message
    with pytest.raises(ValueError, match="share the name novels"):
        TrendExplorer({"novels": novels}, {"novels": novels[1900]})
    with pytest.raises(ValueError, match="no contrast 'x'"):
        TrendExplorer(novels, contrast="x")
    with pytest.raises(ValueError, match="known: common, available"):
        TrendExplorer(novels, words="all")
    with pytest.raises(ValueError, match="decades has to be"):
        TrendExplorer({})


def test_a_pair_adds_up_to_its_scores(demo):
    sentences = ["The poor man was seen.", "The poor woman was seen there."]
    explorer = PairExplorer(demo, *sentences)
    sums = explorer.to_frame().groupby("sentence")[["pll_part", "aul_part", "aula_part"]].sum()
    likelihood = scoring.all_unmasked_likelihood(demo, sentences)
    np.testing.assert_allclose(sums["pll_part"], scoring.pseudo_log_likelihood(demo, sentences)["pll"], rtol=1e-6)
    np.testing.assert_allclose(sums["aul_part"], likelihood["aul"], rtol=1e-6)
    np.testing.assert_allclose(sums["aula_part"], likelihood["aula"], rtol=1e-6)
    frame = explorer.to_frame()
    shared = scoring.shared_pseudo_log_likelihood(demo, sentences[:1], sentences[1:])
    of_shared = frame[frame["shared"]].groupby("sentence")["pll_part"].sum()
    np.testing.assert_allclose(of_shared, shared[["pll_first", "pll_second"]].to_numpy()[0], rtol=1e-6)
    assert frame.loc[~frame["shared"], "text"].tolist() == ["man", "woman", "there"]
    assert f"over the {shared['n_shared'].item()} shared tokens" in explorer.message
    put(explorer, measure="aul_part")
    assert explorer.to_figure().findobj(lambda a: getattr(a, "get_text", str)() == "PLL") == []


def test_one_sentence_alone_has_its_strip(demo):
    explorer = PairExplorer(demo, "He is a nurse.", "")
    assert explorer.to_frame()["sentence"].unique().tolist() == ["first"] and explorer.to_frame()["shared"].all()
    assert explorer.message == ""


def test_every_explorer_shows_widgets_live_and_a_figure_and_a_table_in_a_report(demo, words, novels):
    for explorer in (top_words(demo), ContrastExplorer(words), TrendExplorer(novels), PairExplorer(demo)):
        bundle = explorer._repr_mimebundle_()
        assert bundle[WIDGET]["model_id"] == explorer.widget.model_id
        twin = page(explorer)
        assert len(twin.img["alt"]) > 20 and twin.img["src"].startswith("data:image/png;base64,")
        assert twin.section["aria-label"] and twin.section.find("table") is not None
        assert twin.p.get_text().startswith("Chosen: ")
        assert "onload" not in str(twin) and "onload" in live(explorer)
        assert isinstance(explorer.to_figure(), Figure) and repr(explorer).startswith(f"<{type(explorer).__name__}: ")
        changed = explorer.to_frame()
        changed.iloc[:, 0] = None
        assert explorer.to_frame().iloc[:, 0].notna().all()
