import numpy as np
import pandas as pd
import pytest

from biaslib import plots

GROUPS = {"pig": "farm", "cow": "farm", "dog": "companion", "human": "human"}
BIAS = pd.DataFrame(
    {
        "name": ["pig", "cow", "dog", "human"],
        "n_human": [4, 0, 1, 6],
        "n_object": [3, 2, 5, 7],
        "bias": [0.5, np.nan, -0.2, 0.0],
        "ci_low": [0.1, np.nan, np.nan, -0.3],
        "ci_high": [0.9, np.nan, np.nan, 0.3],
    }
)


COUNTS = pd.DataFrame(
    {
        "name": ["dog", "pig", "cow"],
        "that": [1, 6, 0],
        "which": [0, 2, 0],
        "who": [2, 1, 0],
        "whose": [1, 0, 0],
        "whom": [0, 1, 0],
        "n": [4, 10, 0],
        "share_object": [0.25, 0.8, np.nan],
    }
)


def test_bias_bars_are_sorted_and_say_who_has_none(texts):
    figure = plots.object_bias_bars(BIAS, GROUPS, "Title")
    axes = figure.axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["pig", "human", "dog"]
    assert [bar.get_width() for bar in axes.patches] == [0.5, 0.0, -0.2]
    assert [bar.get_y() + bar.get_height() / 2 for bar in axes.patches] == pytest.approx([0, 1, 2])
    intervals = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == 2 and line.get_color() == "black"]
    assert [list(interval) for interval in intervals if list(interval) != [0, 0]] == [[0.1, 0.9], [-0.3, 0.3]]
    assert axes.get_xlabel().endswith("no value (1): cow") and "hollow" in axes.get_xlabel()
    markers = [line for line in axes.lines if len(line.get_xdata()) == 1]
    assert [line.get_markerfacecolor() == "white" for line in markers] == [False, False, True]
    assert {" 4+3", " 6+7", " 1+5"} <= set(texts(figure))
    assert axes.get_yticklabels()[0].get_color() == plots.GROUP_STYLES["farm"].colour
    figure = plots.object_bias_bars(pd.concat([BIAS.assign(model="a"), BIAS.assign(model="b")]), GROUPS, "Title")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["a", "b"]


def test_pronoun_shares_are_stacked_to_one(texts):
    figure = plots.pronoun_shares(COUNTS, "Title")
    axes = figure.axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["pig", "dog"]
    widths = np.array([[bar.get_width() for bar in bars] for bars in axes.containers])
    np.testing.assert_allclose(widths.T, [[0.6, 0.2, 0.1, 0, 0.1], [0.25, 0, 0.5, 0.25, 0]], atol=1e-12)
    assert [bars[0].get_x() for bars in axes.containers] == pytest.approx([0, 0.6, 0.8, 0.9, 0.9])
    assert {" 10", " 4"} <= set(texts(figure))
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["that", "which", "who", "whose", "whom"]
    figure = plots.pronoun_shares(pd.concat([COUNTS.assign(corpus="a"), COUNTS.assign(corpus="b")]), "Title")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["a", "b"]


def test_figures_of_relatives_refuse_what_they_cannot_draw():
    with pytest.raises(ValueError, match="must have the column"):
        plots.object_bias_bars(BIAS.drop(columns="bias"), GROUPS, "Title")
    with pytest.raises(ValueError, match="no rows"):
        plots.object_bias_bars(BIAS.iloc[:0], GROUPS, "Title")
    with pytest.raises(ValueError, match="no group for cow"):
        plots.object_bias_bars(BIAS, {"pig": "farm", "dog": "companion", "human": "human"}, "Title")
    with pytest.raises(ValueError, match="no name has a relative pronoun"):
        plots.pronoun_shares(COUNTS.iloc[2:], "Title")
