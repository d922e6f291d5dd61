"""Shares of negative, neutral and positive words."""

import pandas as pd
from matplotlib.figure import Figure

from biaslib.metrics.sentiment import SENTENCES, SENTIMENTS
from biaslib.plots._marks import colour_names, name_rows, note_beside, stack_bars
from biaslib.plots.style import SENTIMENT_STYLES, by_model, check_not_empty, draw_panels, group_styles

_AS_WHAT = dict(zip(SENTENCES, ("as a thing", "as a person"), strict=True))


def sentiment_shares_plot(frame: pd.DataFrame) -> Figure:
    """Draw the shares of negative, neutral and positive words as stacked bars.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `biaslib.metrics.sentiment_shares`, by group or by name; with a column ``model``, one panel per model.

    Returns
    -------
    matplotlib.figure.Figure
        Beside each bar stand the number of its words and how many were left out.

    Raises
    ------
    ValueError
        If a column is missing or the frame is empty.

    Examples
    --------
    >>> from biaslib.metrics import sentiment_shares
    >>> words = pd.DataFrame({"name": "pig", "word": ["killed", "happy"], "log_ratio": [2.0, 1.0], "kept": True})
    >>> figure = sentiment_shares_plot(sentiment_shares(words))
    >>> [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    ['pig, as a thing', 'pig, as a person']
    """
    unit = "group" if "group" in frame else "name"
    check_not_empty(frame, (unit, "sentences", "sentiment", "n", "share", "n_left_out"))
    panels = by_model(frame)
    n_bars = max(len(rows.drop_duplicates([unit, "sentences"])) for _, rows in panels)
    figure = draw_panels(panels, _draw_shares, 7.2, len(panels) * (0.34 * n_bars + 0.7) + 0.7)
    figure.axes[-1].set_xlabel("share of the scored words")
    return figure


def _draw_shares(axes, rows):
    unit = "group" if "group" in rows else "name"
    units = list(group_styles(rows[unit])) if unit == "group" else list(dict.fromkeys(rows[unit]))
    rows = rows.assign(**{unit: pd.Categorical(rows[unit], units), "order": rows["sentences"].map(SENTENCES.index)})
    bars = rows.groupby([unit, "order"], observed=True)
    widths = rows.pivot(index=[unit, "order"], columns="sentiment", values="share")
    stack_bars(axes, widths.reindex(columns=SENTIMENTS).fillna(0), SENTIMENT_STYLES, edge="#333333")
    notes = [f"n = {part['n'].sum():,} ({part['n_left_out'].iloc[0]:,} left out)" for _, part in bars]
    note_beside(axes, range(len(widths)), notes)
    name_rows(axes, [f"{name}, {_AS_WHAT[SENTENCES[order]]}" for name, order in widths.index])
    if unit == "group":
        colour_names(axes.get_yticklabels(), widths.index.get_level_values("group"))
    axes.set_xlim(0, 1)
