"""Relative pronouns of animals."""

import math
import textwrap

import pandas as pd

from biaslib._frames import groups_of
from biaslib.plots.clusters import group_legend
from biaslib.plots.style import PRONOUN_STYLES, check_not_empty, figure_style, group_styles, new_figure, panels_by_model


def object_bias_bars(frame, groups, title):
    """Draw the bias of each name as a bar with its interval, the highest first, in the colour of its group.

    It is made like Figure 3 of Takeshita, Rzepka & Araki (2022).

    Parameters
    ----------
    frame : pandas.DataFrame
        ``name n_human n_object bias ci_low ci_high`` from `biaslib.metrics.object_bias`; with a column ``model``, a
        panel each. A name without a bias has no bar and stands below; the marker of one without an interval is hollow.
        Beside each stands n, its sentences of either kind.
    groups : mapping or Series
        The group of each name.
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a column is missing, there is no row, or a name has no group.
    """
    check_not_empty(frame, ("name", "n_human", "n_object", "bias", "ci_low", "ci_high"))
    panels = panels_by_model(frame)
    groups = groups_of(frame["name"].drop_duplicates(), groups)
    most = max(rows["bias"].notna().sum() for _, rows in panels)
    with figure_style():
        figure = new_figure(1.2 + 3.2 * max(len(panels), 1.6), 1.8 + 0.17 * max(most, 6))
        all_axes = figure.subplots(1, len(panels), squeeze=False, sharex=True)[0]
        for axes, (model, rows) in zip(all_axes, panels, strict=True):
            _draw_bias(axes, rows, groups)
            axes.set_title(model)
        group_legend(figure, groups.values())
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
    return figure


def pronoun_shares(counts, title):
    """Draw the shares of the five relative pronouns as a stacked bar a name, the one with most that and which first.

    It is made like Figures 8 to 10 of Takeshita, Rzepka & Araki (2022).

    Parameters
    ----------
    counts : pandas.DataFrame
        From `biaslib.metrics.count_relatives`; with a column ``corpus``, a panel each. Names without a pronoun are
        not drawn.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        Beside each bar stands how many pronouns it is of.

    Raises
    ------
    ValueError
        If a column is missing, there is no row, or no name has a pronoun.
    """
    check_not_empty(counts, ("name", *PRONOUN_STYLES, "n", "share_object"))
    counts = counts[counts["n"] > 0]
    if counts.empty:
        raise ValueError("no name has a relative pronoun: there is nothing to draw")
    by_corpus = counts.groupby("corpus", sort=False, observed=True) if "corpus" in counts else [("", counts)]
    panels = [(str(corpus), rows) for corpus, rows in by_corpus]
    with figure_style():
        figure = new_figure(1.6 + 3.6 * len(panels), 1.6 + 0.17 * max(len(rows) for _, rows in panels))
        all_axes = figure.subplots(1, len(panels), squeeze=False, sharex=True)[0]
        for axes, (corpus, rows) in zip(all_axes, panels, strict=True):
            _draw_pronouns(axes, rows.sort_values(["share_object", "n"], ascending=False, kind="stable"))
            axes.set_title(corpus)
        handles, labels = all_axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
    return figure


def _draw_bias(axes, rows, groups):
    drawn = rows.dropna(subset=["bias"]).sort_values("bias", ascending=False, kind="stable")
    styles = group_styles(groups.values())
    axes.axvline(0, color="black", linewidth=0.8, zorder=1)
    for place, row in enumerate(drawn.itertuples()):
        colour, marker = styles[groups[row.name]]
        axes.barh(place, row.bias, 0.7, color=colour, alpha=0.4, zorder=2)
        # A bias of 0 has no bar: the marker shows that it was measured.
        bounded = not math.isnan(row.ci_low)
        face = {"markerfacecolor": colour if bounded else "white", "markeredgecolor": "white" if bounded else colour}
        axes.plot(row.bias, place, marker, markersize=5, markeredgewidth=0.3 if bounded else 0.9, zorder=4, **face)
        if bounded:
            axes.plot([row.ci_low, row.ci_high], [place, place], color="black", linewidth=0.9, zorder=3)
        beside = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 7, "color": "#595959"}
        axes.annotate(f" {row.n_human}+{row.n_object}", (1, place), **beside)
    axes.set_yticks(range(len(drawn)), drawn["name"], fontsize=8)
    for tick, name in zip(axes.get_yticklabels(), drawn["name"], strict=True):
        tick.set_color(styles[groups[name]][0])
        tick.set_fontweight("normal" if groups[name] == "other" else "bold")
    axes.set_ylim(max(len(drawn), 1) - 0.4, -0.6)
    axes.set_xlim(-1.05, 1.05)
    missing = rows.loc[rows["bias"].isna(), "name"].tolist()
    label = "← person     bias (95 % interval)     thing →\nright: n of who, whose, whom + n of that, which"
    if (drawn["ci_low"].isna()).any():
        label += "\nhollow: too few sentences for an interval"
    without = textwrap.fill(f"no value ({len(missing)}): {', '.join(missing)}", 62) if missing else ""
    axes.set_xlabel(f"{label}\n{without}" if missing else label, fontsize=9)


def _draw_pronouns(axes, rows):
    places, start = range(len(rows)), pd.Series(0.0, index=rows.index)
    for pronoun, (colour, hatch) in PRONOUN_STYLES.items():
        share = rows[pronoun] / rows["n"]
        style = {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.3}
        axes.barh(places, share, 0.8, left=start, label=pronoun, **style)
        start = start + share
    for place, n in zip(places, rows["n"], strict=True):
        axes.annotate(f" {n:,}", (1, place), va="center", fontsize=7)
    axes.set_yticks(places, rows["name"], fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of the relative pronouns")
