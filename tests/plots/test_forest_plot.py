import numpy as np
import pandas as pd

from biaslib import plots

SCORES = pd.DataFrame(
    {
        "panel": ["F1", "F1", "F1", "bias"],
        "group": ["all", "all", "art_design", "all"],
        "label": ["$x_1$", "_b", "$x_1$", "_b"],
        "value": [0.6, 0.7, np.nan, 1.1],
        "ci_low": [0.5, np.nan, np.nan, 0.9],
        "ci_high": [0.7, np.nan, np.nan, 1.2],
        "n": [1000, 100, 100, 100],
    }
)


def test_a_panel_per_measure_and_a_line_per_score(texts):
    figure = plots.forest(SCORES)
    upper, lower = figure.axes
    assert [axes.get_title("left") for axes in figure.axes] == ["F1", "bias"]
    assert [text.get_text().strip() for text in upper.texts] == ["no value", "n = 1,000", "n = 100", "n = 100"]
    assert [tick.get_text() for tick in upper.get_yticklabels()] == ["all", "art design"]
    assert [0.9, 1.2] in [list(line.get_xdata()) for line in lower.lines]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["$x_1$", "_b"]
    assert "$x_1$" in texts(figure)


def test_what_is_not_comparable_is_marked():
    marked = SCORES.assign(neutral=[0.5] * 3 + [1], published=[0.9, None, None, None], set=["A", "B", "A", "A"])
    figure = plots.forest(marked.assign(caution=["version", "", "", ""]))
    upper = figure.axes[0]
    assert [list(axes.lines[0].get_xdata()) for axes in figure.axes] == [[0.5, 0.5], [1, 1]]
    beside = [text.get_text().strip() for text in upper.texts]
    assert beside[1:] == ["n = 1,000 *", "n = 100  B", "n = 100"]
    faces = {
        float(x): line.get_markerfacecolor()
        for line in upper.lines
        for x in line.get_xdata()
        if line.get_marker() not in ("None", "d") and not np.isnan(x)
    }
    assert faces[0.7] == "white" and faces[0.6] != "white"
    diamonds = [line for line in upper.lines if line.get_marker() == "d"]
    assert 0.9 in [float(x) for line in diamonds for x in line.get_xdata()]
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named[2:] == [
        "published",
        "hollow, with a letter: other data or variant",
        "with an asterisk: other version or precision",
    ]
