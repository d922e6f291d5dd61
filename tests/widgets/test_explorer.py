import pandas as pd
import pytest
from explorers import MARKUP, counted, live, page, put, top_words
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from biaslib import metrics
from biaslib.widgets import ContrastExplorer, PairExplorer, TopWordsExplorer, TrendExplorer
from biaslib.widgets import top_words as top_words_explorer

WIDGET = "application/vnd.jupyter.widget-view+json"


def test_a_change_computes_once_and_a_repeat_is_remembered(demo, monkeypatch):
    explorer = top_words(demo)
    calls = counted(monkeypatch, top_words_explorer, "compare_sentences")
    put(explorer, k=5)
    assert len(calls) == 1
    explorer.controls["k"].description = "another trait"
    put(explorer, k=4)
    put(explorer, condition="first")
    put(explorer, condition="either")
    put(explorer, k=5)
    assert len(calls) == 2


def test_while_it_computes_it_says_so(demo, monkeypatch):
    explorer, seen = top_words(demo), []
    real_words = metrics.compare_sentences

    def slow(*given, **options):
        seen.append((explorer.message, live(explorer)))
        return real_words(*given, **options)

    monkeypatch.setattr(top_words_explorer, "compare_sentences", slow)
    put(explorer, k=6)
    assert seen[0][0] == "Computing …" and "Computing …" in seen[0][1]
    assert explorer.message == "" and "Computing" not in live(explorer)


WRONG = [
    (TopWordsExplorer, {"first": ""}, "the first sentence is empty"),
    (TopWordsExplorer, {"first": "   "}, "the first sentence is empty"),
    (TopWordsExplorer, {"first": "[MASK] and [MASK]"}, "a sentence must have exactly one [MASK], this one has 2"),
    (TopWordsExplorer, {"first": "no gap"}, "this one has none"),
    (TopWordsExplorer, {"second": "no gap"}, "this one has none"),
    (TopWordsExplorer, {"first": "a {stray [MASK]"}, "stray brace"),
    (TopWordsExplorer, {"first": "A {thing} is [MASK]."}, "slot {thing} must be a string"),
    (TopWordsExplorer, {"{name}": ""}, "slot {name} must be a string"),
    (TopWordsExplorer, {"first": "dog " * 600 + "[MASK]"}, "too long"),
    (TopWordsExplorer, {"first": "\ud800 [MASK]"}, "half a character"),
    (TopWordsExplorer, {"first": MARKUP}, MARKUP),
    (TopWordsExplorer, {"k": 0}, "k must be a whole number from 1 to 30522, not 0"),
    (TopWordsExplorer, {"k": -3}, "k must be a whole number from 1 to 30522, not -3"),
    (TopWordsExplorer, {"k": 30523}, "k must be a whole number from 1 to 30522, not 30523"),
    (PairExplorer, {"first": ""}, "empty: ''"),
    (PairExplorer, {"first": "She is a [MASK]."}, "[MASK] in a sentence to be scored whole"),
    (PairExplorer, {"second": "[MASK] [MASK]"}, "[MASK] in a sentence to be scored whole"),
    (PairExplorer, {"second": "dog " * 600}, "too long"),
    (PairExplorer, {"first": "\ud800"}, "half a character"),
    (TrendExplorer, {"x": ""}, "fill in X, Y, A and B"),
    (TrendExplorer, {"x": " , ,"}, "fill in X, Y, A and B"),
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


def test_whatever_breaks_is_seen(demo, monkeypatch):
    explorer = top_words(demo)
    frame = explorer.to_frame()

    def broken(*given, **options):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(top_words_explorer, "compare_sentences", broken)
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
