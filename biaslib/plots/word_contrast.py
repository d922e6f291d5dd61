"""The words that a model ties to a name as a thing, and as a person."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from biaslib.plots._marks import bar_style, clipped
from biaslib.plots.style import SENTIMENT_STYLES, Look, check_not_empty, one_panel

_STYLES = SENTIMENT_STYLES | {"": Look("white")}


def contrast_bars(frame: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw the words that go with a name as a thing to the right, those that go with it as a person to the left.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``word log_ratio sentiment``, one row per bar; `sentiment` is empty where there is none.
    title : str
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        Colour and hatch show the sentiment; white bars have none.

    Raises
    ------
    ValueError
        If a column is missing or the frame is empty.

    Examples
    --------
    >>> frame = pd.DataFrame({"word": ["kind", "ripe"], "log_ratio": [-3.0, 2.0], "sentiment": ["positive", ""]})
    >>> [float(bar.get_width()) for bar in contrast_bars(frame, "pig").axes[0].patches]
    [-3.0, 2.0]
    """
    check_not_empty(frame, ("word", "log_ratio", "sentiment"))
    rows = frame.sort_values("log_ratio", kind="stable").reset_index(drop=True)
    most = 1.06 * rows["log_ratio"].abs().max() or 1.0
    with one_panel(ax, 5.6, 1.3 + 0.21 * len(rows), title) as axes:
        for sentiment, look in _STYLES.items():
            part = rows[rows["sentiment"] == sentiment]
            if len(part):
                style = bar_style(look, edge="#333333")
                axes.barh(part.index, part["log_ratio"], label=sentiment or "without sentiment", **style)
        for place, (word, ratio) in enumerate(zip(rows["word"], rows["log_ratio"], strict=True)):
            side = "right" if ratio > 0 else "left"
            axes.text(0, place, f" {clipped(word)} ", ha=side, va="center", fontsize=9, parse_math=False)
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_xlim(-most, most)
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("← as a person     log ratio     as a thing →")
    return axes.figure
