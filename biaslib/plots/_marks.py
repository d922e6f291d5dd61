"""The marks that several figures draw: intervals, points, bars, names and notes."""

import math

from biaslib._text import one_line
from biaslib.io.languages import list_languages
from biaslib.plots.style import GREY, group_styles

_BESIDE = {"xycoords": ("axes fraction", "data"), "va": "center"}
_WHITE_BOX = {"facecolor": "white", "edgecolor": "none", "pad": 1}


def draw_intervals(axes, rows, colour="black", linewidth=0.9):
    """Draw the intervals of rows with the columns ``place ci_low ci_high``; rows without an interval have none."""
    for place, low, high in zip(rows["place"], rows["ci_low"], rows["ci_high"], strict=True):
        if math.isfinite(low) and math.isfinite(high):
            axes.plot([low, high], [place, place], color=colour, linewidth=linewidth, solid_capstyle="butt", zorder=2)


def draw_points(axes, rows, column, look, *, label="", face=None):
    """Draw points with their intervals at their ``place``."""
    draw_intervals(axes, rows, look.colour, 1.5)
    style = {"color": look.colour, "markersize": 6, "markeredgecolor": "white" if face is None else look.colour}
    style |= {"markerfacecolor": face or look.colour, "linestyle": "", "clip_on": False, "zorder": 3}
    axes.plot(rows[column], rows["place"], look.marker, label=label, **style)


def draw_published(axes, rows, label=""):
    """Draw published values as hollow diamonds at their ``place``."""
    style = {"color": "black", "markerfacecolor": "white", "markersize": 5, "linestyle": "", "zorder": 2}
    axes.plot(rows["published"], rows["place"], "d", label=label, **style)


def say_missing(axes, places, at=None):
    """Write "no value" at some places of the y axis, around `at` on the x axis or else at its left end."""
    for place in places:
        style = {"va": "center", "fontsize": 7, "color": GREY, "bbox": _WHITE_BOX}
        if at is None:
            axes.annotate("no value", (0.01, place), xycoords=("axes fraction", "data"), **style)
        else:
            axes.annotate("no value", (at, place), ha="center", **style)


def bar_style(look, edge="white"):
    """Return how bars of this look are drawn."""
    return {"color": look.colour, "hatch": look.hatch, "edgecolor": edge, "linewidth": 0.3 if edge == "white" else 0.5}


def stack_bars(axes, widths, looks, edge="white"):
    """Draw each row of a frame as one bar whose parts are its columns; return the parts."""
    starts = widths.cumsum(axis=1).shift(axis=1, fill_value=0)
    places = range(len(widths))
    return [
        axes.barh(places, widths[part], 0.8, left=starts[part], label=part, **bar_style(looks[part], edge))
        for part in widths
    ]


def name_rows(axes, names, groups=None, **style):
    """Name the rows of a figure, the first on top, in the colours of their groups if these are given."""
    names = [str(name) for name in names]
    axes.set_yticks(range(len(names)), names, parse_math=False, **style)
    axes.set_ylim(max(len(names), 1) - 0.4, -0.6)
    if groups is not None:
        colour_names(axes.get_yticklabels(), groups)


def colour_names(texts, groups):
    """Give texts the colours of their groups, bold but for the group other."""
    styles = group_styles(groups)
    for text, group in zip(texts, groups, strict=True):
        text.set_color(styles[group].colour)
        text.set_fontweight("normal" if group == "other" else "bold")


def note_beside(axes, places, notes):
    """Write a note to the right of some places of the y axis."""
    for place, note in zip(places, notes, strict=True):
        axes.annotate(f" {note}", (1, place), fontsize=7, **_BESIDE)


def language_names(codes):
    """Write out the codes of known languages."""
    known = list_languages().set_index("code")["name"]
    return [known.get(code, str(code)) for code in codes]


def spelled(category):
    """Write a category such as art_design with spaces."""
    return str(category).replace("_", " ")


def clipped(text, most=24):
    """Shorten a label that would leave no room for what it labels."""
    return one_line(text, most)


def minus(number):
    """Write a number with a minus sign rather than a hyphen."""
    return number.replace("-", "−")
