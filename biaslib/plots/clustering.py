"""Token match rates with their dendrogram, and clusters by threshold."""

import itertools
import math
from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from biaslib._frames import groups_of
from biaslib.metrics.clustering import Clusters
from biaslib.plots._marks import colour_names
from biaslib.plots.style import (
    by_model,
    check_not_empty,
    figure_style,
    group_legend,
    group_styles,
    look,
    new_figure,
    one_panel,
)

_SYMBOLS = dict(zip("so^*DvPXhp<>d8", "■●▲★◆▼✚✖⬢⬟◀▶♦⯃", strict=True))


def tmr_heatmap_with_dendrogram(
    tmr: pd.DataFrame, clusters: Clusters, groups: Mapping[str, str] | pd.Series, title: str = ""
) -> Figure:
    """Draw token match rates as a heat map beside its dendrogram.

    It follows Figures 1 and 4 to 7 of Takeshita, Rzepka & Araki (2022), with colours that start at the lowest rate.

    Parameters
    ----------
    tmr : pandas.DataFrame, shape (n, n)
        From `biaslib.metrics.token_match_rate`.
    clusters : Clusters
        From `biaslib.metrics.cluster`, of the same names.
    groups : mapping or Series
        The group of each name, which sets the colour and the symbol of its label.
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the names differ or a name has no group.

    Examples
    --------
    >>> from biaslib.metrics import cluster, token_match_rate
    >>> rates = token_match_rate({"pig": {"fat"}, "cow": {"fat", "slow"}, "dog": {"loyal"}})
    >>> groups = {"pig": "farm", "cow": "farm", "dog": "companion"}
    >>> figure = tmr_heatmap_with_dendrogram(rates, cluster(rates, n_clusters=2), groups)
    >>> len(figure.axes)
    3
    """
    if set(clusters.names) != set(tmr.index):
        raise ValueError("tmr and clusters have different names; cluster the same rates")
    names = list(clusters.order)
    group_of = groups_of(names, groups)
    side = max(3.2, 0.17 * len(names))
    with figure_style():
        figure = new_figure(side + 3.4, side + 1.1, title)
        tree, heat, bar = figure.subplots(1, 3, width_ratios=[0.28 * side, side, 0.14])
        _draw_tree(tree, clusters)
        image = _draw_heat(heat, tmr.loc[names, names])
        _label_names(heat, group_of)
        figure.colorbar(image, cax=bar, label="token match rate")
        bar.yaxis.set_ticks_position("right")
        group_legend(figure, group_of.values())
    return figure


def cluster_agreement_by_min_z(frame: pd.DataFrame, *, alpha: float = 0.05, ax: Axes | None = None) -> Figure:
    """Draw how the agreement of clusters with groups changes with the threshold.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``min_z statistic`` (adjusted Rand index) and, for several models, ``model``; with ``p_value``, markers are
        filled where it is below `alpha`.
    alpha : float
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
    >>> figure = cluster_agreement_by_min_z(pd.DataFrame({"min_z": [1.5, 2.0], "statistic": [0.1, 0.3]}))
    >>> figure.axes[0].get_ylabel()
    'adjusted Rand index'
    """
    check_not_empty(frame, ("min_z", "statistic"))
    with one_panel(ax, 6.4, 3.6) as axes:
        axes.axhline(0, color="#999999", linewidth=0.8)
        for number, (model, rows) in enumerate(by_model(frame)):
            _draw_agreement(axes, rows.sort_values("min_z"), look(number), model, alpha)
        if "p_value" in frame:
            axes.plot([], [], "o", color="black", label=f"p < {alpha:g}")
            axes.plot([], [], "o", color="black", markerfacecolor="white", label=f"p ≥ {alpha:g} or no test")
        thresholds = sorted(frame["min_z"].unique())
        axes.set_xticks(thresholds, [f"{threshold:g}" for threshold in thresholds])
        axes.set_xlabel("smallest |z| of a kept word (min_z)")
        axes.set_ylabel("adjusted Rand index")
    return axes.figure


def _draw_agreement(axes, rows, own, model, alpha):
    axes.plot(rows["min_z"], rows["statistic"], own.line, color="black")
    filled = rows["p_value"] < alpha if "p_value" in rows else itertools.repeat(True)
    for x, y, solid in zip(rows["min_z"], rows["statistic"], filled, strict=False):
        axes.plot(x, y, own.marker, color="black", markerfacecolor="black" if solid else "white", markersize=6)
    axes.plot([], [], own.line, marker=own.marker, color="black", label=model)


def _draw_tree(axes, clusters):
    from scipy.cluster import hierarchy

    black = {"color_threshold": 0, "above_threshold_color": "black"}
    hierarchy.dendrogram(clusters.linkage, orientation="left", no_labels=True, ax=axes, **black)
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


def _label_names(axes, group_of):
    names, groups = list(group_of), list(group_of.values())
    styles = group_styles(groups)
    symbols = [_SYMBOLS[styles[group].marker] for group in groups]
    axes.yaxis.set_ticks_position("right")
    axes.set_yticks(
        range(len(names)), [f"{symbol} {name}" for symbol, name in zip(symbols, names, strict=True)], fontsize=8
    )
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
    for labels in (axes.get_yticklabels(), axes.get_xticklabels()):
        colour_names(labels, groups)
