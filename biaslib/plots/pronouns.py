"""Confidence of pronouns by category of job, and parallel pairs."""

import math
import textwrap

import pandas as pd

from biaslib.plots.style import (
    GENDER_STYLES,
    check_not_empty,
    figure_style,
    model_marker,
    model_style,
    new_figure,
    panels_by_model,
)
from biaslib.stats.effect_sizes import A_LIMITS


def confidence_effects(frame, title):
    """Draw by category how far men's pronouns are likelier than women's, with intervals.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``category a a_low a_high`` from `biaslib.metrics.compare_categories` and, for several, ``model``. An A
        without an interval (NaN), such as a published one, is a marker alone; a category without an A says so.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        The grey band is Vargha and Delaney's negligible effect, thin lines begin a medium and a large one.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    check_not_empty(frame, ("category", "a", "a_low", "a_high"))
    models = panels_by_model(frame)
    categories = list(dict.fromkeys(frame["category"]))
    step = 0.8 / len(models)
    with figure_style():
        figure = new_figure(7.2, 1.1 + len(categories) * (0.2 + 0.14 * len(models)))
        axes = figure.subplots()
        _draw_effect_bands(axes)
        for number in range(1, len(categories)):
            axes.axhline(number - 0.5, color="#DDDDDD", linewidth=0.6, zorder=0)
        for number, (model, rows) in enumerate(models):
            places = [categories.index(c) + step * (number - (len(models) - 1) / 2) for c in rows["category"]]
            _draw_confidence_effects(axes, rows, places, *model_marker(number), model)
        axes.set_yticks(range(len(categories)), [spelled(category) for category in categories])
        axes.set_ylim(len(categories) - 0.5, -0.5)
        axes.set_xlim(-0.02, 1.02)
        axes.set_xlabel("← female likelier     A (95 % interval over prompts)     male likelier →")
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
        if len(models) > 1:
            figure.legend(loc="outside lower center", ncols=min(4, len(models)))
    return figure


def confidences_by_category(frame, title):
    """Draw the confidences of men's and women's pronouns by category, a dot a prompt, with boxes of quartiles.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``category male female`` from `biaslib.metrics.gendered_confidence`; with a column ``model``, a panel each.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        Below each category stands how many prompts have both confidences; the others are not drawn.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    check_not_empty(frame, ("category", "male", "female"))
    panels = panels_by_model(frame)
    categories = list(dict.fromkeys(frame["category"]))
    with figure_style():
        figure = new_figure(1.6 + 0.95 * max(4, len(categories)), 0.9 + 2.4 * len(panels))
        all_axes = figure.subplots(len(panels), 1, squeeze=False, sharey=True)[:, 0]
        for axes, (model, rows) in zip(all_axes, panels, strict=True):
            _draw_confidences(axes, rows, categories)
            axes.set_title(model)
        handles, labels = all_axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
    return figure


def pairs_by_unit(frame, title):
    """Draw the numbers of parallel pairs as bars, a bar a model, its parts the linguistic units.

    It is made like Figure 3 of Parra (2024).

    Parameters
    ----------
    frame : pandas.DataFrame
        ``unit n_pairs`` from `biaslib.metrics.count_pairs` or `biaslib.studies.published_pairs` and, for several,
        ``model``.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        Each part has its number, and each bar the sum.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    check_not_empty(frame, ("unit", "n_pairs"))
    models = panels_by_model(frame)
    counts = pd.DataFrame({number: rows.groupby("unit")["n_pairs"].sum() for number, (_, rows) in enumerate(models)})
    counts = counts.reindex(list(dict.fromkeys(frame["unit"]))).fillna(0).astype(int)
    with figure_style():
        figure = new_figure(7.2, 1.3 + 0.36 * len(models))
        axes = figure.subplots()
        start = pd.Series(0, index=counts.columns)
        for number, (unit, row) in enumerate(counts.iterrows()):
            colour, hatch = model_style(number)
            style = {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.3}
            bars = axes.barh(counts.columns, row, 0.7, left=start, label=unit, **style)
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85}
            axes.bar_label(bars, [n or "" for n in row], label_type="center", fontsize=8, bbox=box)
            start = start + row
        for place, total in start.items():
            axes.annotate(f" {total}", (total, place), va="center", fontsize=9, fontweight="bold")
        axes.set_yticks(counts.columns, [model for model, _ in models])
        axes.set_xlim(0, max(1, 1.08 * start.max()))
        axes.invert_yaxis()
        axes.set_xlabel("parallel pairs")
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
        figure.legend(loc="outside lower center", ncols=len(counts))
    return figure


def spelled(category):
    return str(category).replace("_", " ")


def _draw_effect_bands(axes):
    limits = list(A_LIMITS.values())
    axes.axvspan(1 - limits[0], limits[0], color="#EBEBEB", linewidth=0, zorder=0)
    for limit in limits[1:]:
        for side in (1 - limit, limit):
            axes.axvline(side, color="#999999", linewidth=0.5, linestyle=":", zorder=0)
    axes.axvline(0.5, color="black", linewidth=0.8, zorder=1)
    for label, low, high in zip([*A_LIMITS, "large"], [1 - limits[0], *limits], [*limits, 1], strict=True):
        middle = ((low + high) / 2, 1.01)
        axes.annotate(label, middle, xycoords=("data", "axes fraction"), ha="center", fontsize=7, color="#595959")


def _draw_confidence_effects(axes, rows, places, colour, marker, model):
    axes.plot([], [], marker, color=colour, label=model)
    for place, a, low, high in zip(places, rows["a"], rows["a_low"], rows["a_high"], strict=True):
        if math.isnan(a):
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            axes.annotate("no value", (0.5, place), ha="center", va="center", fontsize=7, color="#595959", bbox=box)
            continue
        if not math.isnan(low):
            axes.plot([low, high], [place, place], color=colour, linewidth=1.6, solid_capstyle="butt", zorder=2)
        axes.plot(a, place, marker, color=colour, markersize=6, markeredgecolor="white", clip_on=False, zorder=3)


def _draw_confidences(axes, rows, categories):
    scored = rows.dropna(subset=["male", "female"])
    parts = {category: scored[scored["category"] == category] for category in categories}
    for side, (gender, (colour, marker)) in enumerate(GENDER_STYLES.items()):
        axes.plot([], [], marker, color=colour, label=gender)
        for number, part in enumerate(parts.values()):
            place = number + 0.4 * (side - 0.5)
            # Spread evenly rather than at random: the same frame makes the same figure.
            spread = [place + 0.24 * ((i * 0.618034) % 1 - 0.5) for i in range(len(part))]
            axes.plot(spread, part[gender], marker, color=colour, markersize=3, alpha=0.6, markeredgewidth=0)
            if len(part):
                line = {"color": "black", "linewidth": 1.0}
                axes.boxplot(
                    part[gender],
                    positions=[place],
                    widths=0.3,
                    showfliers=False,
                    manage_ticks=False,
                    boxprops=line,
                    whiskerprops=line,
                    capprops=line,
                    medianprops=line | {"linewidth": 2.0},
                )
    labels = [f"{textwrap.fill(spelled(name), 11)}\nn = {len(part)}" for name, part in parts.items()]
    axes.set_xticks(range(len(categories)), labels, fontsize=8)
    axes.set_xlim(-0.5, len(categories) - 0.5)
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("confidence")
