import pandas as pd

from biaslib import plots
from biaslib.metrics import sentiment_shares

GROUPS = {"pig": "farm", "cow": "farm", "dog": "companion", "human": "human"}
WORDS = pd.DataFrame(
    {
        "name": ["pig", "pig", "dog"],
        "word": ["killed", "##x", "happy"],
        "log_ratio": [2.0, 1.0, -1.0],
        "kept": True,
    }
)


def test_sentiment_bars_end_to_end_and_say_what_is_left_out(texts):
    shares = sentiment_shares(WORDS, GROUPS)
    figure = plots.sentiment_shares_plot(shares)
    axes = figure.axes[0]
    bars = {(bar.get_label(), i): patch.get_width() for bar in axes.containers for i, patch in enumerate(bar)}
    assert bars[("negative", 0)] == 1 and bars[("positive", 3)] == 1
    assert [t.get_text() for t in axes.get_yticklabels()] == [
        "farm, as a thing",
        "farm, as a person",
        "companion, as a thing",
        "companion, as a person",
    ]
    assert " n = 1 (1 left out)" in texts(figure)
    assert {bar.patches[0].get_hatch() for bar in axes.containers} == {"//", "", ".."}


def test_sentiment_panels_by_model():
    shares = sentiment_shares(WORDS)
    figure = plots.sentiment_shares_plot(pd.concat([shares.assign(model="a"), shares.assign(model="b")]))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["a", "b"]
