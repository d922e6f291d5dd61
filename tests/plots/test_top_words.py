import numpy as np
import pandas as pd

from biaslib import plots

WORD_PAIRS = pd.DataFrame(
    {"word": ["good", "##x", "sad"], "p_first": [0.5, 0.2, np.nan], "p_second": [0.1, 0.1, 0.3]}
).assign(log_ratio=[np.log(5), np.log(2), np.nan])


def test_top_words_have_a_bar_for_each_sentence_and_their_ratio():
    figure = plots.top_word_bars(WORD_PAIRS, "It is [MASK].", "She is [MASK] for $5 and $6.")
    axes = figure.axes[0]
    widths = [[bar.get_width() for bar in bars] for bars in axes.containers]
    assert widths == [[0.5, 0.2, 0.0], [0.1, 0.1, 0.3]]
    shown = [text.get_text() for text in axes.texts]
    assert [word for word in shown if word in ("good", "##x", "sad")] == ["good", "##x", "sad"]
    assert [ratio for ratio in shown if ratio.startswith("+")] == ["+1.61", "+0.69"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1], "the first word is on top"
    legend = figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["It is [MASK].", "She is [MASK] for $5 and $6."]
    assert len({bar.get_hatch() for bar in legend.legend_handles}) == 2
    figure.draw_without_rendering()


def test_top_words_of_one_sentence_and_of_several_models(texts):
    alone = plots.top_word_bars(WORD_PAIRS.assign(p_second=np.nan, log_ratio=np.nan), "It is [MASK].")
    assert len(alone.axes[0].containers) == 1 and "log ratio" not in texts(alone)
    both = pd.concat([WORD_PAIRS.assign(model="one"), WORD_PAIRS.assign(model="$two$")])
    figure = plots.top_word_bars(both, "It is [MASK].", "She is [MASK].")
    assert [axes.get_title("left") for axes in figure.axes] == ["one", "$two$"]
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    figure.draw_without_rendering()


def test_a_long_list_of_words_is_cut_and_long_words_are_shortened():
    many = pd.DataFrame({"word": ["w" * 80] * 99, "p_first": 0.1, "p_second": 0.2, "log_ratio": 1.0})
    figure = plots.top_word_bars(many, "x" * 400, "y")
    assert len(figure.axes[0].containers[0]) == plots.MOST_BARS
    assert all(len(text.get_text()) <= 24 for text in figure.axes[0].texts)
    assert figure.get_size_inches()[0] < 6
