"""The confidence of gendered pronouns by category of job."""

import textwrap

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from biaslib.plots._marks import draw_points, name_rows, say_missing, spelled
from biaslib.plots.style import GENDER_STYLES, GREY, by_model, check_not_empty, draw_panels, in_rows, one_panel
from biaslib.stats.effect_sizes import A_LIMITS


def confidence_effects(frame: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw by category how much likelier male pronouns are than female ones, with intervals.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``category a a_low a_high`` from `biaslib.metrics.compare_categories` and, for several models, ``model``. An A
        without an interval (NaN), such as a published one, is a marker alone; a category without an A is marked "no
        value".
    title : str
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The grey band is Vargha and Delaney's negligible effect; thin lines begin a medium and a large one.

    Raises
    ------
    ValueError
        If a column is missing or the frame is empty.

    Examples
    --------
    BERT in Table 2 of Parra (2024):

    >>> from biaslib.studies import published_table
    >>> table = published_table("unmasked_table2_gtc").query("model == 'bert'")
    >>> figure = confidence_effects(table.assign(a_low=float("nan"), a_high=float("nan")))
    >>> figure.axes[0].get_yticklabels()[0].get_text()
    'stem'
    """
    check_not_empty(frame, ("category", "a", "a_low", "a_high"))
    frame = frame.assign(ci_low=frame["a_low"], ci_high=frame["a_high"])
    categories = list(dict.fromkeys(frame["category"]))
    series = list(in_rows(frame, "category"))
    with one_panel(ax, 7.2, 1.1 + len(categories) * (0.2 + 0.14 * len(series)), title) as axes:
        _draw_effect_bands(axes)
        for number in range(1, len(categories)):
            axes.axhline(number - 0.5, color="#DDDDDD", linewidth=0.6, zorder=0)
        for look, model, rows in series:
            draw_points(axes, rows, "a", look, label=model)
            say_missing(axes, rows.loc[rows["a"].isna(), "place"], at=0.5)
        name_rows(axes, map(spelled, categories))
        axes.set_xlim(-0.02, 1.02)
        axes.set_xlabel("← female likelier     A (95 % interval over prompts)     male likelier →")
    return axes.figure


def confidences_by_category(frame: pd.DataFrame, title: str = "") -> Figure:
    """Draw the confidence of male and female pronouns by category, one dot per prompt, with boxes of quartiles.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``category male female`` from `biaslib.metrics.gendered_confidence`; with a column ``model``, one panel per
        model.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        Below each category stands the number of prompts with both confidences; the others are not drawn.

    Raises
    ------
    ValueError
        If a column is missing or the frame is empty.

    Examples
    --------
    >>> frame = pd.DataFrame({"category": "stem", "male": [0.2, 0.4], "female": [0.1, 0.3]})
    >>> [tick.get_text() for tick in confidences_by_category(frame).axes[0].get_xticklabels()]
    ['stem\\nn = 2']
    """
    check_not_empty(frame, ("category", "male", "female"))
    categories = list(dict.fromkeys(frame["category"]))
    panels = [
        (model, rows.assign(category=pd.Categorical(rows["category"], categories))) for model, rows in by_model(frame)
    ]
    width, height = 1.6 + 0.95 * max(4, len(categories)), 0.9 + 2.4 * len(panels)
    return draw_panels(panels, _draw_confidences, width, height, title=title, share="y")


def _draw_effect_bands(axes):
    limits = list(A_LIMITS.values())
    axes.axvspan(1 - limits[0], limits[0], color="#EBEBEB", linewidth=0, zorder=0)
    for limit in limits[1:]:
        for side in (1 - limit, limit):
            axes.axvline(side, color="#999999", linewidth=0.5, linestyle=":", zorder=0)
    axes.axvline(0.5, color="black", linewidth=0.8, zorder=1)
    for label, low, high in zip([*A_LIMITS, "large"], [1 - limits[0], *limits], [*limits, 1], strict=True):
        middle = ((low + high) / 2, 1.01)
        axes.annotate(label, middle, xycoords=("data", "axes fraction"), ha="center", fontsize=7, color=GREY)


def _draw_confidences(axes, rows):
    scored = rows.dropna(subset=["male", "female"])
    parts = list(scored.groupby("category", observed=False))
    for (gender, look), shift in zip(GENDER_STYLES.items(), (-0.2, 0.2), strict=True):
        axes.plot([], [], look.marker, color=look.colour, label=gender)
        for number, (_, part) in enumerate(parts):
            _draw_box(axes, part[gender], number + shift, look)
    labels = [f"{textwrap.fill(spelled(category), 11)}\nn = {len(part)}" for category, part in parts]
    axes.set_xticks(range(len(parts)), labels, fontsize=8)
    axes.set_xlim(-0.5, len(parts) - 0.5)
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("confidence")


def _draw_box(axes, values, place, look):
    """Draw values as dots with a box of their quartiles."""
    # Spread evenly rather than at random: the same frame makes the same figure.
    spread = [place + 0.24 * ((i * 0.618034) % 1 - 0.5) for i in range(len(values))]
    axes.plot(spread, values, look.marker, color=look.colour, markersize=3, alpha=0.6, markeredgewidth=0)
    if len(values):
        line = {"color": "black", "linewidth": 1.0}
        lines = {f"{part}props": line for part in ("box", "whisker", "cap")} | {"medianprops": line | {"linewidth": 2}}
        axes.boxplot(values, positions=[place], widths=0.3, showfliers=False, manage_ticks=False, **lines)
