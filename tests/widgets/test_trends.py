import numpy as np
import pandas as pd
import pytest
from explorers import counted, put

from biaslib import embeddings, io
from biaslib.widgets import TrendExplorer


def test_a_contrast_that_fills_four_boxes_computes_once(novels, monkeypatch):
    explorer = TrendExplorer(novels, n_resamples=99)
    calls = counted(monkeypatch, embeddings, "trend")
    put(explorer, contrast="high-low-pleasure-pain")
    assert len(calls) == 1


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
    assert "fill in X, Y, A and B for an effect size" in explorer.message


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
    with pytest.raises(ValueError, match="unknown contrast 'x'"):
        TrendExplorer(novels, contrast="x")
    with pytest.raises(ValueError, match="use one of common, available"):
        TrendExplorer(novels, words="all")
    with pytest.raises(ValueError, match="decades must be"):
        TrendExplorer({})
