import warnings

import pytest
from explorers import MARKUP, live, page, put

from biaslib.io import by_condition, read_templates
from biaslib.metrics import contrast, top_contrast
from biaslib.widgets import ContrastExplorer, _explorer


def test_markup_in_names_and_words_is_shown_as_text(words):
    names = {"pig": MARKUP}
    frame = words.assign(name=words["name"].astype(object).replace(names), word="<b>" + words["word"].astype(str))
    explorer = ContrastExplorer(frame, name=MARKUP)
    assert MARKUP not in live(explorer) and "<b>" not in live(explorer)
    scripts = [script.string or "" for script in page(explorer).find_all("script")]
    assert not any(script.startswith("alert") for script in scripts)


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
    assert "no kept word of 'dog' matches" in explorer.message and len(explorer.to_frame())


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
    with pytest.raises(ValueError, match="unknown name 'cow'; use one of pig"):
        ContrastExplorer(frame, name="cow")
    with pytest.raises(ValueError, match="k must be a whole number from 1 to 20, not 0"):
        ContrastExplorer(frame, k=0)
    with pytest.raises(ValueError, match="smaller min_z"):
        ContrastExplorer(frame[frame["z"] > 1e6])
    with pytest.raises(ValueError, match="must have the column z"):
        ContrastExplorer(frame.drop(columns="z"))


def test_contrasts_of_several_models_with_names_of_their_own(words):
    explorer = ContrastExplorer({"one": words, "two": words[words["name"] == "dog"].assign(name="cow")}, name="pig")
    put(explorer, model="two")
    assert explorer.controls["name"].value == "cow" and set(explorer.to_frame()["name"]) == {"cow"}
    put(explorer, model="one", name="dog")
    assert set(explorer.to_frame()["name"]) == {"dog"} and explorer.message.endswith("as a person")


def test_a_report_holds_the_words_of_all_names_up_to_a_limit(words, monkeypatch):
    explorer = ContrastExplorer(words, name="dog")
    assert all(name in explorer._repr_mimebundle_()["text/html"] for name in ("pig", "dog", "human"))
    monkeypatch.setattr(_explorer, "_TWIN_ROWS", 30)
    total = (words["z"].abs() >= 2).sum()
    assert f"the table shows the first 30 of {total:,} rows" in page(explorer).p.get_text()
