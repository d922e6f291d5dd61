import numpy as np
import pandas as pd
import pytest

from biaslib import plots


def test_decades_have_lines_intervals_crosses_and_undated_vectors():
    frame = pd.DataFrame(
        {
            "vectors": ["novels"] * 3 + ["news"] * 3 + ["glove"],
            "decade": pd.array([1850, 1860, 1870, 1850, 1860, 1870, pd.NA], dtype="Int64"),
            "value": [0.1, np.nan, 0.3, 0.4, 0.5, 0.6, 0.7],
        }
    )
    frame = frame.assign(ci_low=frame["value"] - 0.1, ci_high=frame["value"] + 0.1)
    figure = plots.decade_lines(frame, "war by peace", "effect size d")
    axes = figure.axes[0]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["1850s", "1860s", "1870s", "glove"]
    labels = [t.get_text() for t in figure.legends[0].get_texts()]
    assert labels == ["novels", "novels: no value", "news", "glove"]
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert [list(line.get_xdata()) for line in crosses] == [[1]]
    assert len({line.get_marker() for line in axes.lines if line.get_label() in ("novels", "news", "glove")}) == 3
    assert axes.get_ylabel() == "effect size d" and figure.get_suptitle() == "war by peace"
    figure.draw_without_rendering()
    nothing = frame.assign(value=np.nan, ci_low=np.nan, ci_high=np.nan)
    plots.decade_lines(nothing, "x", "y").draw_without_rendering()


def test_a_trend_has_gaps_and_says_where_there_is_no_value():
    frame = pd.DataFrame(
        {
            "decade": [1850, 1860, 1870] * 2,
            "words": ["common"] * 3 + ["available"] * 3,
            "effect_size": [0.1, np.nan, 0.3, 0.2, np.nan, np.nan],
        }
    )
    frame = frame.assign(ci_low=frame["effect_size"] - 0.1, ci_high=frame["effect_size"] + 0.1)
    figure = plots.trends(frame, "war by peace")
    axes = figure.axes[0]
    drawn = {line.get_label(): line.get_ydata().tolist() for line in axes.lines if line.get_label()[0] != "_"}
    assert drawn == {"common words": pytest.approx([0.1, np.nan, 0.3], nan_ok=True)} | {
        "available words": pytest.approx([0.2, np.nan, np.nan], nan_ok=True)
    }
    missing = [text for text in axes.texts if text.get_text() == "no value"]
    assert [text.xy for text in missing] == [(1860, 0)]
    alone = plots.trends(frame[frame["words"] == "common"].assign(effect_size=np.nan))
    assert not alone.legends and len(alone.axes[0].texts) == 3
