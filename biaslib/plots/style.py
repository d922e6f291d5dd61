"""The palette of all figures, and the skeleton that they share: a style, a figure, its panels and a legend."""

import itertools
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from biaslib._checks import check_columns


class Look(NamedTuple):
    """How one of several things is drawn: told apart by colour and, for readers who see none, by a second trait."""

    colour: str
    hatch: str = ""
    marker: str = "o"
    line: str = "-"


GROUP_STYLES = {
    "farm": Look("#D55E00", marker="s"),
    "companion": Look("#0072B2", marker="o"),
    "other": Look("#000000", marker="^"),
    "human": Look("#009E73", marker="*"),
}
GENDER_STYLES = {"male": Look("#D55E00"), "female": Look("#0072B2", hatch="//", marker="^")}
SENTIMENT_STYLES = {
    "negative": Look("#E69F00", hatch="//"),
    "neutral": Look("#E0E0E0"),
    "positive": Look("#56B4E9", hatch=".."),
}
# Pronouns for things are warm, those for persons are cold.
PRONOUN_STYLES = {
    "that": Look("#E69F00"),
    "which": Look("#D55E00", hatch="//"),
    "who": Look("#56B4E9"),
    "whose": Look("#0072B2", hatch=".."),
    "whom": Look("#0072B2", hatch="xx"),
}
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
_HATCHES = ("", "//", "..", "xx", "\\\\", "--")
_MARKERS = "os^Dvp"
_LINES = ("-", "--", ":", "-.")
_SPARE_COLOURS = ("#CC79A7", "#56B4E9", "#E69F00", "#666666")
_SPARE_MARKERS = "DvPXhp<>d8"
GREY = "#595959"
FONT = "DejaVu Sans"
DPI = 120
_STYLE = {
    "font.family": FONT,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.prop_cycle": "cycler('color', ['black'])",
    "figure.dpi": DPI,
    "figure.facecolor": "white",
    "hatch.linewidth": 0.6,
    "lines.linewidth": 1.1,
    "legend.frameon": False,
    # Names of models, files and categories are plain text, whatever dollar signs they contain.
    "text.parse_math": False,
    "text.usetex": False,
}


def look(number: int) -> Look:
    """Return the look of the n-th of several models or lines; a colour that comes again has another marker."""
    n = len(_COLOURS)
    marker = _MARKERS[(number + number // n) % len(_MARKERS)]
    return Look(_COLOURS[number % n], _HATCHES[number % n], marker, _LINES[number % len(_LINES)])


def group_styles(groups: Iterable[str]) -> dict[str, Look]:
    """Give each group its colour and marker.

    Parameters
    ----------
    groups : iterable of str
        farm, companion, other and human always have their own; further groups get spare ones in alphabetical order.

    Returns
    -------
    dict of str to Look
        The known groups first, with the fields ``colour`` and ``marker`` among others.

    Examples
    --------
    >>> group_styles(["birds", "farm"])["farm"].colour
    '#D55E00'
    """
    given = list(dict.fromkeys(groups))
    known = {group: own for group, own in GROUP_STYLES.items() if group in given}
    spare = zip(itertools.cycle(_SPARE_COLOURS), itertools.cycle(_SPARE_MARKERS), strict=False)
    further = sorted(group for group in given if group not in known)
    return known | {group: Look(colour, marker=marker) for group, (colour, marker) in zip(further, spare, strict=False)}


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw in the style of this package, whatever the user's own is; the backend stays."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def new_figure(width: float, height: float, title: str = "") -> Figure:
    """Return an empty figure, its size in inches, with a title at its left edge."""
    figure = Figure(figsize=(width, height), layout="constrained")
    if title:
        title = textwrap.fill(title, int(10 * width))
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
    return figure


@contextmanager
def one_panel(ax: Axes | None, width: float, height: float, title: str = "") -> Iterator[Axes]:
    """Yield a user's axes, or those of a new figure of that size; afterwards, add a legend of what has a label."""
    with figure_style():
        if ax is None:
            figure = new_figure(width, height, title)
            axes = figure.subplots()
            yield axes
            legend_below(figure, *axes.get_legend_handles_labels())
        else:
            ax.set_title(title, parse_math=False)
            yield ax
            if ax.get_legend_handles_labels()[1]:
                ax.legend()


def draw_panels(
    panels: Sequence[tuple[str, pd.DataFrame]],
    draw: Callable[[Axes, pd.DataFrame], None],
    width: float,
    height: float,
    *,
    title: str = "",
    across: bool = False,
    share: str = "x",
    heights: Sequence[float] | None = None,
) -> Figure:
    """Draw each frame with ``draw(axes, frame)`` in a panel with its name, below or across from each other."""
    with figure_style():
        figure = new_figure(width, height, title)
        shape = (1, len(panels)) if across else (len(panels), 1)
        shared = {"sharex": share == "x", "sharey": share == "y"}
        grid = figure.subplots(*shape, squeeze=False, height_ratios=heights, **shared)
        for axes, (name, frame) in zip(grid.flat, panels, strict=True):
            draw(axes, frame)
            axes.set_title(textwrap.fill(name, int(11 * (width / shape[1] - 1.2))))
        legend_below(figure, *grid.flat[0].get_legend_handles_labels())
    return figure


def legend_below(figure: Figure, handles: Sequence, names: Sequence[str]) -> None:
    """Add a legend below a figure, in as many columns as its width has room for; none if nothing has a name."""
    if not names:
        return
    names = [textwrap.fill(name, 44) for name in names]
    columns = _fitting_columns(names, figure.get_size_inches()[0])
    legend = figure.legend(handles, [str(n) for n in range(len(names))], loc="outside lower center", ncols=columns)
    # Set afterwards: matplotlib leaves out names that begin with an underscore.
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)


def _fitting_columns(names, width):
    """Return how many columns of names fit a width in inches."""
    inches = [0.6 + 0.08 * max(map(len, name.split("\n"))) for name in names]
    for n in range(min(len(names), 5), 1, -1):
        if sum(column.max() for column in np.array_split(inches, n)) <= width:
            return n
    return 1


def group_legend(figure: Figure, groups: Iterable[str]) -> None:
    """Add a legend of groups below a figure."""
    from matplotlib.lines import Line2D

    styles = group_styles(groups)
    shapes = [Line2D([], [], linestyle="", marker=s.marker, color=s.colour, markersize=8) for s in styles.values()]
    legend_below(figure, shapes, list(styles))


def by_model(frame: pd.DataFrame, column: str = "model") -> list[tuple[str, pd.DataFrame]]:
    """Return the name and the rows of each model; the whole frame, without a name, if it has no such column."""
    if column not in frame:
        return [("", frame)]
    return [(str(model), rows) for model, rows in frame.groupby(column, sort=False, observed=True)]


def in_rows(frame: pd.DataFrame, column: str, series: str = "model") -> Iterator[tuple[Look, str, pd.DataFrame]]:
    """Yield the look, the name and the rows of each model, with their ``place`` on the y axis.

    Each value of `column` has a row, in which the models stand below each other. A model that stands alone needs no
    name.
    """
    names = list(dict.fromkeys(frame[column]))
    models = by_model(frame, series)
    for number, (model, rows) in enumerate(models):
        shift = 0.8 / len(models) * (number - (len(models) - 1) / 2)
        places = [names.index(name) + shift for name in rows[column]]
        yield look(number), model if len(models) > 1 else "", rows.assign(place=places)


def check_not_empty(frame: pd.DataFrame, columns: Iterable[str]) -> None:
    """Raise ValueError if a frame lacks a column or has no rows."""
    check_columns(frame, columns)
    if frame.empty:
        raise ValueError("the frame has no rows, so there is nothing to draw")
