"""The likeliest words at the mask of two sentences."""

import math
import textwrap

import pandas as pd
from matplotlib.figure import Figure

from biaslib.plots._marks import bar_style, clipped, minus
from biaslib.plots.style import by_model, check_not_empty, figure_style, look

# More bars than these are not legible; a table holds the rest.
MOST_BARS = 40


def top_word_bars(frame: pd.DataFrame, first: str, second: str = "") -> Figure:
    """Draw the likeliest words of two sentences as pairs of bars, with their log ratio.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``word p_first p_second log_ratio`` from `biaslib.metrics.compare_sentences`; with a column ``model``, one panel
        per model. Each panel shows its first 40 words.
    first, second : str
        The sentences, for the legend; without `second`, single bars.

    Returns
    -------
    matplotlib.figure.Figure
        A word without an entry in a sentence has no bar there, and no ratio.

    Raises
    ------
    ValueError
        If a column is missing or the frame is empty.

    Examples
    --------
    >>> frame = pd.DataFrame({"word": ["good"], "p_first": [0.5], "p_second": [0.1], "log_ratio": [1.61]})
    >>> figure = top_word_bars(frame, "It is [MASK].", "She is [MASK].")
    >>> [float(bar.get_width()) for bar in figure.axes[0].patches]
    [0.5, 0.1]
    """
    check_not_empty(frame, ("word", "p_first", "p_second", "log_ratio"))
    panels = [(model, rows.head(MOST_BARS)) for model, rows in by_model(frame)]
    columns = ["p_first", "p_second"] if second else ["p_first"]
    sentences = [textwrap.fill(sentence, 60) for sentence in (first, second)[: len(columns)]]
    below = 0.6 + sum(0.19 * (sentence.count("\n") + 1) for sentence in sentences)
    with figure_style():
        figure = _lay_out(panels, below, 0.75 if second else 0.2)
        for axes, (model, rows) in zip(figure.axes, panels, strict=True):
            _draw_words(axes, rows, columns)
            axes.set_title(model)
            axes.set_xlim(0, 1.04 * frame[columns].max().max())
        axes.set_xlabel("probability at the mask")
        figure.legend(axes.containers[: len(columns)], sentences, loc="lower left", bbox_to_anchor=(0, 0))
    return figure


def _lay_out(panels, below, right):
    """Place the panels by hand, which takes half the time: this figure answers while one types."""
    longest = max(len(clipped(word)) for _, rows in panels for word in rows["word"])
    left = min(2.1, 0.3 + 0.09 * longest)
    heights = [0.12 + 0.25 * len(rows) for _, rows in panels]
    width, height = 5.6, below + sum(heights) + 0.5 * len(panels)
    figure, top = Figure(figsize=(width, height)), height
    for panel in heights:
        top -= 0.5 + panel
        figure.add_axes((left / width, top / height, (width - left - right) / width, panel / height))
    return figure


def _draw_words(axes, rows, columns):
    thick = 0.8 / len(columns)
    for number, column in enumerate(columns):
        places = [place + thick * (number - (len(columns) - 1) / 2) for place in range(len(rows))]
        axes.barh(places, rows[column].fillna(0), thick, **bar_style(look(number)))
    # Texts rather than ticks, which take most of the time that such a figure needs.
    style = {"transform": axes.get_yaxis_transform(), "va": "center"}
    for place, (word, ratio) in enumerate(zip(rows["word"], rows["log_ratio"], strict=True)):
        axes.text(-0.015, place, clipped(word), ha="right", **style)
        if not math.isnan(ratio):
            axes.text(1.03, place, minus(f"{ratio:+.2f}"), fontsize=9, **style)
    if len(columns) > 1:
        axes.text(1.03, -0.85, "log ratio", fontsize=8, **style)
    axes.set_yticks([])
    axes.set_ylim(len(rows) - 0.45, -0.6)
    axes.locator_params(axis="x", nbins=4)
