"""Effect sizes of association tests, and how they move over decades."""

import math
import textwrap

import pandas as pd

from biaslib.plots.style import (
    LINES,
    check_not_empty,
    clipped,
    figure_style,
    model_marker,
    model_style,
    new_figure,
    panels_by_model,
)


def effect_sizes(frame, title):
    """Draw effect sizes as bars with their intervals, a bar a contrast and model.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``x y a b effect_size ci_low ci_high`` from `biaslib.embeddings.run_contrasts` and, for several, ``model``.
        A contrast without a value has no bar, and says so.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        Thin lines mark Cohen's small, medium and large (.2, .5, .8).

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    check_not_empty(frame, ("x", "y", "a", "b", "effect_size", "ci_low", "ci_high"))
    models = panels_by_model(frame)
    labels = ["\n".join(textwrap.wrap(f"{row.x} / {row.y} × {row.a} / {row.b}", 46)) for row in frame.itertuples()]
    contrasts = list(dict.fromkeys(labels))
    label_of = dict(zip(frame.index, labels, strict=True))
    thick = 0.8 / len(models)
    with figure_style():
        figure = new_figure(7.2, 0.9 + len(contrasts) * (0.18 + 0.16 * len(models)))
        axes = figure.subplots()
        for number, (model, rows) in enumerate(models):
            places = [contrasts.index(label_of[i]) + thick * (number - (len(models) - 1) / 2) for i in rows.index]
            _draw_effects(axes, rows, places, thick, *model_style(number), model)
        for d in (0.2, 0.5, 0.8):
            for side in (-d, d):
                axes.axvline(side, color="#999999", linewidth=0.5, linestyle=":")
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_yticks(range(len(contrasts)), contrasts)
        axes.set_xlim(-2.05, 2.05)
        axes.invert_yaxis()
        axes.set_xlabel("effect size d (95 % interval over words)")
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
        if len(models) > 1:
            figure.legend(loc="outside lower center", ncols=min(4, len(models)))
    return figure


def trends(frame, title):
    """Draw effect sizes over decades, with their intervals as a band and gaps where there is no value.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``decade words effect_size ci_low ci_high`` from `biaslib.embeddings.trend`; a line for each value of ``words``.
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    check_not_empty(frame, ("decade", "words", "effect_size", "ci_low", "ci_high"))
    decades = sorted(frame["decade"].unique())
    with figure_style():
        figure = new_figure(6.4, 3.0)
        axes = figure.subplots()
        axes.axhline(0, color="black", linewidth=0.8)
        for number, (words, rows) in enumerate(frame.groupby("words", sort=False)):
            rows = rows.set_index("decade").reindex(decades)
            if rows["effect_size"].isna().all():
                continue
            colour, _ = model_style(number)
            line, marker = LINES[number % len(LINES)]
            # The first line is the main one: it lies on top, with smaller markers that leave the others to be seen.
            style = {"marker": marker, "color": colour, "markersize": 4 + 3 * number, "zorder": 4 - number}
            axes.plot(decades, rows["effect_size"], line, label=f"{words} words", **style)
            axes.fill_between(decades, rows["ci_low"], rows["ci_high"], color=colour, alpha=0.15, linewidth=0)
        missing = [d for d in decades if frame.loc[frame["decade"] == d, "effect_size"].isna().all()]
        for decade in missing:
            axes.annotate("no value", (decade, 0), rotation=90, ha="center", va="bottom", fontsize=8, color="#595959")
        axes.set_xticks(decades, [f"{decade}s" for decade in decades], rotation=45, ha="right")
        axes.set_ylim(-2.05, 2.05)
        axes.set_ylabel("effect size d")
        axes.set_title(title)
        figure.legend(loc="outside right upper")
    return figure


def decade_lines(frame, title, label):
    """Draw a measure over decades, a line for each set of vectors, with intervals and what is missing.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``vectors decade value ci_low ci_high``. Vectors without decades (missing in ``decade``) stand at the right.
    title : str
    label : str
        What is measured.

    Returns
    -------
    matplotlib.figure.Figure
        A cross at the bottom marks a decade in which a set of vectors has no value.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    check_not_empty(frame, ("vectors", "decade", "value", "ci_low", "ci_high"))
    decades = sorted(frame["decade"].dropna().astype(int).unique())
    undated = list(dict.fromkeys(frame.loc[frame["decade"].isna(), "vectors"]))
    places = {decade: place for place, decade in enumerate(decades)}
    ends = {name: len(decades) + 0.5 + place for place, name in enumerate(undated)}
    with figure_style():
        figure = new_figure(6.4, 3.4)
        axes = figure.subplots()
        axes.axhline(0, color="black", linewidth=0.8)
        for number, (name, rows) in enumerate(frame.groupby("vectors", sort=False)):
            at = [ends[name] if pd.isna(d) else places[int(d)] for d in rows["decade"]]
            _draw_decades(axes, rows.set_axis(at), number, name)
        ticks = [*places.values(), *ends.values()]
        names = [*(f"{decade}s" for decade in decades), *map(clipped, undated)]
        axes.set_xticks(ticks, names, rotation=45, ha="right", parse_math=False)
        axes.set_ylabel(label)
        axes.set_title("\n".join(textwrap.wrap(title, 70)), parse_math=False)
        legend = figure.legend(loc="outside lower center", ncols=3)
        for text in legend.get_texts():
            text.set_parse_math(False)
    return figure


def _draw_effects(axes, rows, places, thick, colour, hatch, model):
    d = rows["effect_size"]
    axes.barh(places, d.fillna(0), thick, color=colour, hatch=hatch, edgecolor="white", linewidth=0.3, label=model)
    for place, value, low, high in zip(places, d, rows["ci_low"], rows["ci_high"], strict=True):
        if math.isnan(value):
            axes.annotate(" no value", (0, place), va="center", fontsize=8, color="#595959")
        elif not math.isnan(low):
            axes.plot([low, high], [place, place], color="black", linewidth=0.9, solid_capstyle="butt")


def _draw_decades(axes, rows, number, name):
    """Draw one set of vectors; the index holds the places on the x axis."""
    colour, marker = model_marker(number)
    line, _ = LINES[number % len(LINES)]
    dated, undated = rows[rows["decade"].notna()], rows[rows["decade"].isna()]
    axes.plot(dated.index, dated["value"], line, marker=marker, color=colour, label=name if len(dated) else None)
    axes.fill_between(dated.index, dated["ci_low"], dated["ci_high"], color=colour, alpha=0.15, linewidth=0)
    axes.plot(undated.index, undated["value"], marker, color=colour, label=None if len(dated) else name)
    axes.vlines(undated.index, undated["ci_low"], undated["ci_high"], color=colour, linewidth=1.6)
    missing = rows.index[rows["value"].isna()]
    if len(missing):
        style = {"transform": axes.get_xaxis_transform(), "color": colour, "markersize": 7, "clip_on": False}
        axes.plot(missing, [0.03 + 0.05 * number] * len(missing), "x", label=f"{name}: no value", **style)
