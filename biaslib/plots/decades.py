"""Associations over decades."""

import itertools

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from biaslib.plots._marks import clipped
from biaslib.plots.style import GREY, check_not_empty, look, one_panel


def trends(frame: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw effect sizes over decades with their intervals as bands, and gaps where there is no value.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``decade words effect_size ci_low ci_high`` from `biaslib.embeddings.trend`; one line per value of ``words``.
    title : str
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a column is missing or the frame is empty.

    Examples
    --------
    >>> frame = pd.DataFrame({"decade": [1900, 1910], "words": "common", "effect_size": [0.4, 0.6]})
    >>> figure = trends(frame.assign(ci_low=0.1, ci_high=0.9), "career and family by gender")
    >>> [tick.get_text() for tick in figure.axes[0].get_xticklabels()]
    ['1900s', '1910s']
    """
    check_not_empty(frame, ("decade", "words", "effect_size", "ci_low", "ci_high"))
    decades = sorted(frame["decade"].unique())
    with one_panel(ax, 6.4, 3.2, title) as axes:
        axes.axhline(0, color="black", linewidth=0.8)
        for number, (words, rows) in enumerate(frame.groupby("words", sort=False)):
            rows = rows.set_index("decade").reindex(decades)
            if rows["effect_size"].notna().any():
                # The first line is the main one: it lies on top, with smaller markers that leave the others visible.
                above = {"markersize": 4 + 3 * number, "zorder": 4 - number}
                _draw_line(axes, rows, "effect_size", look(number), f"{words} words", **above)
        has_value = frame.groupby("decade")["effect_size"].count() > 0
        for decade in has_value.index[~has_value]:
            axes.annotate("no value", (decade, 0), rotation=90, ha="center", va="bottom", fontsize=8, color=GREY)
        axes.set_xticks(decades, [f"{decade}s" for decade in decades], rotation=45, ha="right")
        axes.set_ylim(-2.05, 2.05)
        axes.set_ylabel("effect size d")
    return axes.figure


def decade_lines(frame: pd.DataFrame, title: str, label: str, *, ax: Axes | None = None) -> Figure:
    """Draw a measure over decades with its intervals, one line per set of vectors.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``vectors decade value ci_low ci_high``. Vectors without decades (missing in ``decade``) stand at the right.
    title : str
    label : str
        What is measured.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        A cross at the bottom marks a decade in which a set of vectors has no value.

    Raises
    ------
    ValueError
        If a column is missing or the frame is empty.

    Examples
    --------
    >>> frame = pd.DataFrame({"vectors": "novels", "decade": [1900, 1910], "value": [0.4, 0.6]})
    >>> figure = decade_lines(frame.assign(ci_low=0.1, ci_high=0.9), "king, queen", "cosine")
    >>> figure.axes[0].get_ylabel()
    'cosine'
    """
    check_not_empty(frame, ("vectors", "decade", "value", "ci_low", "ci_high"))
    decades = sorted(frame["decade"].dropna().astype(int).unique())
    undated = list(dict.fromkeys(frame.loc[frame["decade"].isna(), "vectors"]))
    places = dict(zip([*decades, *undated], itertools.count(), strict=False))
    # Vectors without decades are set apart from the last decade.
    places |= {name: places[name] + 0.5 for name in undated}
    with one_panel(ax, 6.4, 3.4, title) as axes:
        axes.axhline(0, color="black", linewidth=0.8)
        for number, (name, rows) in enumerate(frame.groupby("vectors", sort=False)):
            at = [places[name] if pd.isna(decade) else places[int(decade)] for decade in rows["decade"]]
            _draw_vectors(axes, rows.set_axis(at), number, name)
        names = [*(f"{decade}s" for decade in decades), *map(clipped, undated)]
        axes.set_xticks(list(places.values()), names, rotation=45, ha="right", parse_math=False)
        axes.set_ylabel(label, parse_math=False)
    return axes.figure


def _draw_line(axes, rows, column, own, label, **style):
    """Draw a line with its interval as a band; the index holds the places on the x axis."""
    axes.plot(rows.index, rows[column], own.line, marker=own.marker, color=own.colour, label=label, **style)
    axes.fill_between(rows.index, rows["ci_low"], rows["ci_high"], color=own.colour, alpha=0.15, linewidth=0)


def _draw_vectors(axes, rows, number, name):
    """Draw one set of vectors; the index holds the places on the x axis."""
    own = look(number)
    dated, undated = rows[rows["decade"].notna()], rows[rows["decade"].isna()]
    _draw_line(axes, dated, "value", own, name if len(dated) else None)
    axes.plot(undated.index, undated["value"], own.marker, color=own.colour, label=None if len(dated) else name)
    axes.vlines(undated.index, undated["ci_low"], undated["ci_high"], color=own.colour, linewidth=1.6)
    missing = rows.index[rows["value"].isna()]
    if len(missing):
        at_bottom = {"transform": axes.get_xaxis_transform(), "markersize": 7, "clip_on": False}
        heights = [0.03 + 0.05 * number] * len(missing)
        axes.plot(missing, heights, "x", color=own.colour, label=f"{name}: no value", **at_bottom)
