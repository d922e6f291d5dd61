"""Likeliest words, and words that go with a name."""

import math
import textwrap

from biaslib.plots.sentiment import SENTIMENT_COLOURS, SENTIMENT_HATCHES
from biaslib.plots.style import (
    check_not_empty,
    clipped,
    figure_style,
    label_inches,
    model_style,
    new_figure,
    panels_by_model,
    signed,
)

# More bars than these are not legible; a table holds the rest.
MOST_BARS = 40


def top_word_bars(frame, first, second=""):
    """Draw the likeliest words of two sentences as pairs of bars, with their log ratio.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``word p_first p_second log_ratio`` from `biaslib.metrics.compare_sentences`; with a column ``model``, a panel
        each. Of a longer panel the first 40 words are drawn.
    first, second : str
        The sentences, for the legend; without `second`, single bars.

    Returns
    -------
    matplotlib.figure.Figure
        A word without an entry in a sentence has no bar there, and no ratio.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    check_not_empty(frame, ("word", "p_first", "p_second", "log_ratio"))
    panels = [(model, rows.head(MOST_BARS)) for model, rows in panels_by_model(frame)]
    sides = {"p_first": first, "p_second": second} if second else {"p_first": first}
    sentences = ["\n".join(textwrap.wrap(sentence, 60)) for sentence in sides.values()]
    left = label_inches(word for _, rows in panels for word in rows["word"])
    below = 0.6 + sum(0.19 * (sentence.count("\n") + 1) for sentence in sentences)
    heights = [0.12 + 0.25 * len(rows) for _, rows in panels]
    width, height = 5.6, below + sum(heights) + 0.5 * len(panels)
    most = max(rows[list(sides)].max().max() for _, rows in panels)
    with figure_style():
        # Laid out by hand, which takes half the time: this figure answers while one types.
        from matplotlib.figure import Figure

        figure, top = Figure(figsize=(width, height)), height
        for (model, rows), panel in zip(panels, heights, strict=True):
            top -= 0.5 + panel
            box = (left / width, top / height, (width - left - (0.75 if second else 0.2)) / width, panel / height)
            axes = figure.add_axes(box)
            _draw_word_bars(axes, rows, list(sides))
            axes.set_xlim(0, 1.04 * most)
            axes.set_title(model, parse_math=False)
        axes.set_xlabel("probability at the mask")
        bars = axes.containers[: len(sides)]
        legend = figure.legend(bars, sentences, loc="lower left", bbox_to_anchor=(0, 0))
        for text in legend.get_texts():
            text.set_parse_math(False)
    return figure


def contrast_bars(frame, title):
    """Draw the words that go with a name as a thing to the right, those that go with it as a person to the left.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``word log_ratio sentiment``, a row a bar; `sentiment` is empty where there is none.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        Colour and hatch are the sentiment's; white bars have none.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    check_not_empty(frame, ("word", "log_ratio", "sentiment"))
    rows = frame.sort_values("log_ratio", kind="stable")
    most = 1.06 * rows["log_ratio"].abs().max() or 1.0
    with figure_style():
        figure = new_figure(5.6, 1.3 + 0.21 * len(rows))
        axes = figure.subplots()
        for sentiment in (*SENTIMENT_COLOURS, ""):
            chosen = (rows["sentiment"] == sentiment).to_numpy()
            if chosen.any():
                colour, hatch = SENTIMENT_COLOURS.get(sentiment, "white"), SENTIMENT_HATCHES.get(sentiment, "")
                style = {"color": colour, "hatch": hatch, "edgecolor": "#333333", "linewidth": 0.5}
                label = sentiment or "without sentiment"
                axes.barh(chosen.nonzero()[0], rows.loc[chosen, "log_ratio"], label=label, **style)
        for place, (word, ratio) in enumerate(zip(rows["word"].astype(str), rows["log_ratio"], strict=True)):
            side = "right" if ratio > 0 else "left"
            shown = f"{clipped(word)} " if ratio > 0 else f" {clipped(word)}"
            axes.text(0, place, shown, ha=side, va="center", fontsize=9, parse_math=False)
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_xlim(-most, most)
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("← as a person     log ratio     as a thing →")
        axes.set_title(title, parse_math=False)
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def _draw_word_bars(axes, rows, columns):
    thick = 0.8 / len(columns)
    for number, column in enumerate(columns):
        colour, hatch = model_style(number)
        places = [place + thick * (number - (len(columns) - 1) / 2) for place in range(len(rows))]
        style = {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.3}
        axes.barh(places, rows[column].fillna(0), thick, **style)
    # Texts rather than ticks, which take most of the time that such a figure needs.
    left, right = (axes.get_yaxis_transform() for _ in range(2))
    for place, (word, ratio) in enumerate(zip(rows["word"], rows["log_ratio"], strict=True)):
        shown = clipped(word)
        axes.text(-0.015, place, shown, transform=left, ha="right", va="center", parse_math=False)
        if not math.isnan(ratio):
            axes.text(1.03, place, signed(ratio), transform=right, va="center", fontsize=9)
    if len(columns) > 1:
        axes.text(1.03, -0.75, "log ratio", transform=right, va="bottom", fontsize=8)
    axes.set_yticks([])
    axes.set_ylim(len(rows) - 0.45, -0.6)
    axes.locator_params(axis="x", nbins=4)
