"""Scores of several models, conditions or runs side by side."""

import math
import textwrap
from functools import partial

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from biaslib.plots._marks import draw_points, draw_published, note_beside, say_missing, spelled
from biaslib.plots.style import GREY, check_not_empty, draw_panels, figure_style, legend_below, look

_OPTIONAL = {"neutral": math.nan, "published": math.nan, "set": "A", "caution": ""}


def forest(frame: pd.DataFrame) -> Figure:
    """Draw scores with their intervals as a forest plot, one panel per measure, one line per group and model.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``panel group label value ci_low ci_high n`` from `biaslib.report.choose_rows`. With ``neutral``, a vertical
        line stands at that value of a panel; with ``published``, a hollow diamond at that value. With ``set``, scores
        of another set than "A" are hollow and followed by their set's letter; with ``caution``, scores that have one
        are followed by an asterisk.

    Returns
    -------
    matplotlib.figure.Figure
        Beside each line stands its n.

    Raises
    ------
    ValueError
        If a column is missing or the frame is empty.

    Examples
    --------
    >>> frame = pd.DataFrame({"panel": "GAP F1", "group": "all", "label": ["a", "b"], "value": [60.0, 70.0]})
    >>> figure = forest(frame.assign(ci_low=55.0, ci_high=75.0, n=100))
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['a', 'b']
    """
    check_not_empty(frame, ("panel", "group", "label", "value", "ci_low", "ci_high", "n"))
    frame = frame.assign(**{column: default for column, default in _OPTIONAL.items() if column not in frame})
    panels = [(panel, rows.assign(place=_places(rows))) for panel, rows in frame.groupby("panel", sort=False)]
    looks = {label: look(number) for number, label in enumerate(dict.fromkeys(frame["label"]))}
    heights = [0.19 * (rows["place"].max() + 2) + 0.75 for _, rows in panels]
    height = sum(heights) + 0.3 + 0.22 * math.ceil(len(looks) / 2)
    figure = draw_panels(panels, partial(_draw_panel, looks=looks), 7.2, height, share="", heights=heights)
    with figure_style():
        _add_legend(figure, frame, looks)
    return figure


def _places(rows):
    """Return where each line of a panel stands, from the top: groups are set apart."""
    group = (rows["group"] != rows["group"].shift()).cumsum() - 1
    return [line + 0.7 * number for line, number in enumerate(group)]


def _draw_panel(axes, rows, looks):
    if rows["neutral"].notna().any():
        axes.axvline(rows["neutral"].iloc[0], color="black", linewidth=0.8, zorder=1)
    for (label, letter), part in rows.groupby(["label", "set"], sort=False):
        draw_points(axes, part, "value", looks[label], face=None if letter == "A" else "white")
    draw_published(axes, rows)
    say_missing(axes, rows.loc[rows["value"].isna(), "place"])
    note_beside(axes, rows["place"], [_note(row) for row in rows.itertuples()])
    middle = rows.groupby("group", sort=False)["place"].mean()
    names = [textwrap.fill(spelled(group), 34) for group in middle.index]
    axes.set_yticks(middle, names, fontsize=8)
    axes.set_ylim(rows["place"].max() + 0.8, -0.8)
    axes.margins(x=0.06)
    axes.set_xlabel("value (95 % interval)", fontsize=8)


def _note(row):
    letter = "" if row.set == "A" else f"  {row.set}"
    return f"n = {row.n:,}{letter}{' *' if row.caution else ''}"


def _add_legend(figure, frame, looks):
    entries = [(label, own.colour, own.marker, own.colour) for label, own in looks.items()]
    if frame["published"].notna().any():
        entries.append(("published", "black", "d", "white"))
    if (frame["set"] != "A").any():
        entries.append(("hollow, with a letter: other data or variant", GREY, "o", "white"))
    if (frame["caution"] != "").any():
        entries.append(("with an asterisk: other version or precision", "white", "", "white"))
    handles = [
        Line2D([], [], linestyle="", marker=marker, color=colour, markerfacecolor=face)
        for _, colour, marker, face in entries
    ]
    legend_below(figure, handles, [name for name, *_ in entries])
