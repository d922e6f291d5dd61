"""Shares of sentiments."""

import itertools

import pandas as pd

from biaslib.plots.style import check_not_empty, figure_style, group_styles, in_order, new_figure, panels_by_model

SENTIMENT_COLOURS = {"negative": "#E69F00", "neutral": "#E0E0E0", "positive": "#56B4E9"}
SENTIMENT_HATCHES = {"negative": "//", "neutral": "", "positive": ".."}
_AS_WHAT = {"object": "as a thing", "human": "as a person"}


def sentiment_shares_plot(frame):
    """Draw the shares of negative, neutral and positive words as stacked bars.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `biaslib.metrics.sentiment_shares`, by group or name; with a column ``model``, a panel each.

    Returns
    -------
    matplotlib.figure.Figure
        Beside each bar stands how many words it is of, and how many were left out.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    unit = "group" if "group" in frame else "name"
    check_not_empty(frame, (unit, "sentences", "sentiment", "n", "share", "n_left_out"))
    panels = panels_by_model(frame)
    n_bars = max(len(rows.drop_duplicates([unit, "sentences"])) for _, rows in panels)
    with figure_style():
        figure = new_figure(7.2, len(panels) * (0.34 * n_bars + 0.7) + 0.7)
        all_axes = figure.subplots(len(panels), 1, squeeze=False, sharex=True)[:, 0]
        for axes, (model, rows) in zip(all_axes, panels, strict=True):
            _draw_shares(axes, rows, unit)
            axes.set_title(model)
        all_axes[-1].set_xlabel("share of the scored words")
        handles, labels = all_axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure


def _draw_shares(axes, rows, unit):
    wide = rows.pivot(index=[unit, "sentences"], columns="sentiment", values="share")
    keys = rows[[unit, "sentences"]].drop_duplicates().itertuples(index=False, name=None)
    units = list(itertools.chain(*in_order(rows[unit])))
    wide = wide.loc[sorted(keys, key=lambda key: units.index(key[0]))].fillna(0)
    start = pd.Series(0.0, index=wide.index)
    places = range(len(wide))
    for sentiment, colour in SENTIMENT_COLOURS.items():
        hatch = SENTIMENT_HATCHES[sentiment]
        axes.barh(
            places,
            wide[sentiment],
            left=start,
            color=colour,
            hatch=hatch,
            edgecolor="#333333",
            linewidth=0.5,
            label=sentiment,
        )
        start = start + wide[sentiment]
    scored = rows.groupby([unit, "sentences"])["n"].sum()
    left_out = rows.groupby([unit, "sentences"])["n_left_out"].first()
    for place, key in zip(places, wide.index, strict=True):
        axes.annotate(f" n = {scored[key]:,} ({left_out[key]:,} left out)", (1, place), va="center", fontsize=8)
    axes.set_yticks(places, [f"{name}, {_AS_WHAT[sentences]}" for name, sentences in wide.index])
    if unit == "group":
        styles = group_styles(units)
        for tick, (group, _) in zip(axes.get_yticklabels(), wide.index, strict=True):
            tick.set_color(styles[group][0])
    axes.set_xlim(0, 1)
    axes.invert_yaxis()
