"""What each token adds to a sentence's scores."""

import math
from collections.abc import Mapping

import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from biaslib.plots._marks import clipped, minus
from biaslib.plots.style import check_not_empty, one_panel

_TOKENS_IN_A_LINE = 8


def token_strips(
    frame: pd.DataFrame, measures: Mapping[str, str], titles: Mapping[str, str], *, ax: Axes | None = None
) -> Figure:
    """Draw what each token adds to a sentence's scores as strips of cells, darker where it lowers the score more.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``sentence text shared`` and a column for each measure, from `biaslib.scoring.token_likelihoods`; ``sentence``
        groups the tokens, and tokens with ``shared`` False get a frame and bold type.
    measures : mapping of str to str
        The columns to draw and their names. Each has its own scale, the same for all sentences.
    titles : mapping of str to str
        The line above each sentence.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        Cells hold their numbers, small ones as multiples of the power of ten beside them; a missing number is a dash.

    Raises
    ------
    ValueError
        If a column is missing or the frame is empty.

    Examples
    --------
    >>> frame = pd.DataFrame({"sentence": "first", "text": ["She", "sings"], "shared": True, "pll": [-1.0, -4.0]})
    >>> figure = token_strips(frame, {"pll": "PLL"}, {"first": "She sings"})
    >>> len(figure.axes[0].patches)
    2
    """
    check_not_empty(frame, ("sentence", "text", "shared", *measures))
    lowest = {measure: min([-1e-12, *frame[measure].dropna()]) for measure in measures}
    lines = [
        (titles[sentence] if start == 0 else "", rows.iloc[start : start + _TOKENS_IN_A_LINE])
        for sentence, rows in frame.groupby("sentence", sort=False)
        for start in range(0, len(rows), _TOKENS_IN_A_LINE)
    ]
    heights = [1.3 + len(measures) + 0.8 * (1 + title.count("\n")) * bool(title) for title, _ in lines]
    width = 1.5 + max(len(rows) for _, rows in lines)
    with one_panel(ax, 0.2 + 0.66 * width, 0.2 + 0.27 * sum(heights)) as axes:
        bottom = 0.0
        for (title, rows), height in zip(lines, heights, strict=True):
            bottom += height
            top = bottom - len(measures)
            axes.text(-1.5, top - 1.15, title, va="bottom", fontsize=9, parse_math=False)
            _draw_tokens(axes, rows, top, len(measures))
            for row, (measure, name) in enumerate(measures.items()):
                _draw_cells(axes, rows[measure], name, lowest[measure], top + row)
        axes.set_xlim(-1.5, width - 1.5)
        axes.set_ylim(bottom + 0.2, 0)
        axes.axis("off")
    return axes.figure


def _draw_tokens(axes, rows, top, n_measures):
    """Write the tokens above their cells, those that are not shared in a frame."""
    style = {"ha": "center", "va": "center", "fontsize": 8, "parse_math": False}
    for place, (text, shared) in enumerate(zip(rows["text"], rows["shared"], strict=True)):
        axes.text(place + 0.5, top - 0.45, clipped(text, 10), weight="normal" if shared else "bold", **style)
        if not shared:
            corner = (place, top - 0.95)
            axes.add_patch(Rectangle(corner, 1, 0.95 + n_measures, fill=False, linewidth=1.8, zorder=3))


def _draw_cells(axes, values, name, lowest, top):
    """Draw one measure of a line's tokens."""
    exponent = min(0, math.floor(math.log10(-lowest)))
    axes.text(-0.1, top + 0.5, name + _power_of_ten(exponent), ha="right", va="center", fontsize=8)
    for place, value in enumerate(values):
        share = 0.0 if math.isnan(value) else value / lowest
        face = "white" if math.isnan(value) else colormaps["cividis"](1 - share)
        axes.add_patch(Rectangle((place, top), 1, 1, facecolor=face, edgecolor="white", linewidth=0.8))
        shown = "–" if math.isnan(value) else minus(f"{value / 10.0**exponent:.2f}")
        style = {"ha": "center", "va": "center", "fontsize": 7, "color": "white" if share > 0.5 else "black"}
        axes.text(place + 0.5, top + 0.5, shown, **style)


def _power_of_ten(exponent):
    """Write the factor that makes the numbers of a small measure legible."""
    digits = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    return f" ×10{str(exponent).translate(digits)}" if exponent else ""
