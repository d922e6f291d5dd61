"""Token match rates, their dendrogram, and clusters by threshold."""

import itertools
import math

from biaslib._frames import groups_of
from biaslib.plots.style import LINES, check_not_empty, figure_style, group_styles, new_figure, panels_by_model

_SYMBOLS = dict(zip("so^*DvPXhp<>d8", "■●▲★◆▼✚✖⬢⬟◀▶♦⯃", strict=True))


def tmr_heatmap_with_dendrogram(tmr, clusters, groups, title):
    """Draw token match rates as a heat map beside its dendrogram.

    It is made like Figures 1 and 4 to 7 of Takeshita, Rzepka & Araki (2022);
    colours start at the lowest rate.

    Parameters
    ----------
    tmr : pandas.DataFrame, shape (n, n)
        From `biaslib.metrics.token_match_rate`.
    clusters : Clusters
        From `biaslib.metrics.cluster`, of the same names.
    groups : mapping or Series
        The group of each name, which its label's colour and symbol show.
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the names differ or one has no group.
    """
    if set(clusters.names) != set(tmr.index):
        raise ValueError("tmr and clusters are of different names: cluster the same rates")
    groups = groups_of(clusters.order, groups)
    n = len(clusters.order)
    with figure_style():
        side = max(3.2, 0.17 * n)
        figure = new_figure(side + 3.4, side + 1.1)
        tree, heat, bar = figure.subplots(1, 3, width_ratios=[0.28 * side, side, 0.14])
        _draw_tree(tree, clusters)
        image = _draw_heat(heat, tmr.loc[list(clusters.order), list(clusters.order)])
        _label_names(heat, clusters.order, groups)
        figure.colorbar(image, cax=bar, label="token match rate")
        bar.yaxis.set_ticks_position("right")
        group_legend(figure, groups.values())
        figure.suptitle(title, fontweight="bold", fontsize=11)
    return figure


def cluster_agreement_by_min_z(frame, *, alpha=0.05):
    """Draw how the agreement of clusters with groups moves with the threshold.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``min_z statistic`` (adjusted Rand index) and, for several, ``model``; with ``p_value`` the
        markers are filled where it is below `alpha`.
    alpha : float

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    check_not_empty(frame, ("min_z", "statistic"))
    with figure_style():
        figure = new_figure(6.4, 3.6)
        axes = figure.subplots()
        axes.axhline(0, color="#999999", linewidth=0.8)
        for (model, rows), (line, marker) in zip(panels_by_model(frame), itertools.cycle(LINES), strict=False):
            rows = rows.sort_values("min_z")
            axes.plot(rows["min_z"], rows["statistic"], line, color="black")
            solid = (rows["p_value"] < alpha).tolist() if "p_value" in rows else [True] * len(rows)
            for x, y, filled in zip(rows["min_z"], rows["statistic"], solid, strict=True):
                face = "black" if filled else "white"
                axes.plot(x, y, marker, color="black", markerfacecolor=face, markersize=6)
            if model:
                axes.plot([], [], line, marker=marker, color="black", label=model)
        axes.set_xticks(sorted(frame["min_z"].unique()))
        axes.set_xlabel("least |z| of a kept word (min_z)")
        axes.set_ylabel("adjusted Rand index")
        if "p_value" in frame:
            axes.plot([], [], "o", color="black", label=f"p < {alpha:g}")
            axes.plot([], [], "o", color="black", markerfacecolor="white", label=f"p ≥ {alpha:g} or none")
        if axes.get_legend_handles_labels()[1]:
            figure.legend(loc="outside right upper")
    return figure


def _draw_tree(axes, clusters):
    from scipy.cluster import hierarchy

    hierarchy.dendrogram(
        clusters.linkage,
        orientation="left",
        no_labels=True,
        color_threshold=0,
        above_threshold_color="black",
        ax=axes,
    )
    axes.set_ylim(10 * len(clusters.names), 0)
    axes.spines["left"].set_visible(False)
    axes.set_yticks([])
    axes.set_xlabel("1 − rate")


def _draw_heat(axes, rates):
    # Rates lie close together: a scale from 0 would show little but one colour.
    low = min(0.9, math.floor(10 * rates.to_numpy().min()) / 10)
    image = axes.imshow(rates, cmap="cividis", vmin=low, vmax=1, aspect="auto", interpolation="nearest")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return image


def _label_names(axes, names, groups):
    styles = group_styles(groups.values())
    places = range(len(names))
    axes.yaxis.set_ticks_position("right")
    axes.set_yticks(places, [f"{_SYMBOLS[styles[groups[name]][1]]} {name}" for name in names], fontsize=8)
    axes.set_xticks(places, names, rotation=90, fontsize=8)
    for ticks in (axes.get_yticklabels(), axes.get_xticklabels()):
        for tick, name in zip(ticks, names, strict=True):
            tick.set_color(styles[groups[name]][0])
            tick.set_fontweight("normal" if groups[name] == "other" else "bold")


def group_legend(figure, groups):
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="", marker=marker, color=colour, label=group, markersize=8)
        for group, (colour, marker) in group_styles(groups).items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
