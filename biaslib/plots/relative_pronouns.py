"""Relative pronouns of animals: the bias of each name, and the shares of the five pronouns."""

import textwrap
from collections.abc import Mapping
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from biaslib._frames import groups_of
from biaslib.plots._marks import draw_intervals, name_rows, note_beside, stack_bars
from biaslib.plots.style import (
    PRONOUN_STYLES,
    by_model,
    check_not_empty,
    draw_panels,
    figure_style,
    group_legend,
    group_styles,
)


def object_bias_bars(frame: pd.DataFrame, groups: Mapping[str, str] | pd.Series, title: str = "") -> Figure:
    """Draw the bias of each name as a bar with its interval, highest first, in the colour of its group.

    It follows Figure 3 of Takeshita, Rzepka & Araki (2022).

    Parameters
    ----------
    frame : pandas.DataFrame
        ``name n_human n_object bias ci_low ci_high`` from `biaslib.metrics.object_bias`; with a column ``model``, one
        panel per model.
    groups : mapping or Series
        The group of each name.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        Beside each bar stand the numbers of sentences of either kind. The marker of a name without an interval is
        hollow; names without a bias are listed below.

    Raises
    ------
    ValueError
        If a column is missing, the frame is empty, or a name has no group.

    Examples
    --------
    >>> frame = pd.DataFrame({"name": ["dog", "pig"], "n_human": [9, 4], "n_object": [8, 7], "bias": [-0.2, 0.5]})
    >>> groups = {"pig": "farm", "dog": "companion"}
    >>> figure = object_bias_bars(frame.assign(ci_low=[-0.6, 0.1], ci_high=[0.1, 0.8]), groups)
    >>> [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    ['pig', 'dog']
    """
    check_not_empty(frame, ("name", "n_human", "n_object", "bias", "ci_low", "ci_high"))
    panels = by_model(frame)
    group_of = groups_of(frame["name"].drop_duplicates(), groups)
    most = max(rows["bias"].notna().sum() for _, rows in panels)
    width, height = 1.2 + 3.2 * max(len(panels), 1.6), 1.8 + 0.17 * max(most, 6)
    figure = draw_panels(panels, partial(_draw_bias, group_of=group_of), width, height, title=title, across=True)
    with figure_style():
        group_legend(figure, group_of.values())
    return figure


def pronoun_shares(counts: pd.DataFrame, title: str = "") -> Figure:
    """Draw the shares of the five relative pronouns as one stacked bar per name, most that and which first.

    It follows Figures 8 to 10 of Takeshita, Rzepka & Araki (2022).

    Parameters
    ----------
    counts : pandas.DataFrame
        From `biaslib.metrics.count_relatives`; with a column ``corpus``, one panel per corpus. Names without a pronoun
        are not drawn.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        Beside each bar stands the number of its pronouns.

    Raises
    ------
    ValueError
        If a column is missing, the frame is empty, or no name has a pronoun.

    Examples
    --------
    >>> counts = pd.DataFrame({"name": "dog", "that": 1, "which": 0, "who": 2, "whose": 1, "whom": 0}, index=[0])
    >>> figure = pronoun_shares(counts.assign(n=4, share_object=0.25))
    >>> [float(bar.get_width()) for bar in figure.axes[0].patches]
    [0.25, 0.0, 0.5, 0.25, 0.0]
    """
    check_not_empty(counts, ("name", *PRONOUN_STYLES, "n", "share_object"))
    counts = counts[counts["n"] > 0]
    if counts.empty:
        raise ValueError("no name has a relative pronoun, so there is nothing to draw")
    panels = by_model(counts, "corpus")
    width, height = 1.6 + 3.6 * len(panels), 1.6 + 0.17 * max(len(rows) for _, rows in panels)
    return draw_panels(panels, _draw_pronouns, width, height, title=title, across=True)


def _draw_bias(axes, rows, group_of):
    drawn = rows.dropna(subset=["bias"]).sort_values("bias", ascending=False, kind="stable")
    drawn = drawn.assign(place=range(len(drawn)))
    groups = [group_of[name] for name in drawn["name"]]
    looks = [group_styles(group_of.values())[group] for group in groups]
    axes.axvline(0, color="black", linewidth=0.8, zorder=1)
    axes.barh(drawn["place"], drawn["bias"], 0.7, color=[look.colour for look in looks], alpha=0.4, zorder=2)
    draw_intervals(axes, drawn)
    for look, row in zip(looks, drawn.itertuples(), strict=True):
        # A bias of 0 has no bar: the marker shows that it was measured.
        face = "white" if pd.isna(row.ci_low) else look.colour
        axes.plot(row.bias, row.place, look.marker, color=look.colour, markerfacecolor=face, markersize=5, zorder=4)
    note_beside(axes, drawn["place"], drawn["n_human"].astype(str) + "+" + drawn["n_object"].astype(str))
    name_rows(axes, drawn["name"], groups, fontsize=8)
    axes.set_xlim(-1.05, 1.05)
    axes.set_xlabel("\n".join(_explain_bias(rows)), fontsize=9)


def _explain_bias(rows):
    """Yield the lines below a panel."""
    yield "← person     bias (95 % interval)     thing →"
    yield "right: n of who, whose, whom\n+ n of that, which"
    if (rows["bias"].notna() & rows["ci_low"].isna()).any():
        yield "hollow: too few sentences for an interval"
    missing = rows.loc[rows["bias"].isna(), "name"].tolist()
    if missing:
        yield textwrap.fill(f"no value ({len(missing)}): {', '.join(missing)}", 62)


def _draw_pronouns(axes, rows):
    rows = rows.sort_values(["share_object", "n"], ascending=False, kind="stable")
    stack_bars(axes, rows[list(PRONOUN_STYLES)].div(rows["n"], axis=0), PRONOUN_STYLES)
    note_beside(axes, range(len(rows)), [f"{n:,}" for n in rows["n"]])
    name_rows(axes, rows["name"], fontsize=8)
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of the relative pronouns")
