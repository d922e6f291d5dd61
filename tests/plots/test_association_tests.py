import numpy as np
import pandas as pd

from biaslib import plots

EFFECTS = pd.DataFrame(
    {
        "model": ["a", "a", "b"],
        "x": ["career", "art", "career"],
        "y": ["family", "science", "family"],
        "a": "man",
        "b": "woman",
        "effect_size": [1.2, np.nan, -0.4],
        "ci_low": [0.5, np.nan, np.nan],
        "ci_high": [1.7, np.nan, np.nan],
    }
)


def test_effects_have_a_bar_per_contrast_and_model_with_their_intervals(texts):
    figure = plots.effect_sizes(EFFECTS, "Title")
    axes = figure.axes[0]
    bars = [
        [(round(bar.get_y() + bar.get_height() / 2, 9), bar.get_width()) for bar in bars] for bars in axes.containers
    ]
    # Model a stands above model b in each contrast.
    assert bars == [[(-0.2, 1.2), (0.8, 0.0)], [(0.2, -0.4)]]
    assert [0.5, 1.7] in [list(line.get_xdata()) for line in axes.lines]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [
        "career / family × man / woman",
        "art / science × man / woman",
    ]
    assert texts(figure).count("no value") == 1
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
    assert not plots.effect_sizes(EFFECTS[:2], "Title").legends
