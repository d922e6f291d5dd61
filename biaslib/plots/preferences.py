"""Scores around 50, where neither of two kinds of sentence is preferred."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from biaslib.plots._marks import draw_points, draw_published, language_names, name_rows, say_missing
from biaslib.plots.style import check_not_empty, in_rows, one_panel


def preference_scores(frame: pd.DataFrame, title: str = "", *, by: str, label: str, ax: Axes | None = None) -> Figure:
    """Draw scores with their intervals around 50, where neither side is preferred.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``score ci_low ci_high``, the column `by` and, for several models, ``model``; with ``published``, the published
        score stands beside. A row without a score is marked "no value".
    title : str
    by : str
        The column whose values are the rows of the figure; language codes are written out.
    label : str
        What the scores are.
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
    The German model of Kaneko et al. (2022), Table 2:

    >>> frame = pd.DataFrame({"language": ["de"], "score": [54.69], "ci_low": [53.9], "ci_high": [55.5]})
    >>> figure = preference_scores(frame, by="language", label="MBE")
    >>> figure.axes[0].get_yticklabels()[0].get_text()
    'German'
    """
    check_not_empty(frame, (by, "score", "ci_low", "ci_high"))
    names = list(dict.fromkeys(frame[by]))
    series = list(in_rows(frame, by))
    with one_panel(ax, 7.2, 1.1 + len(names) * (0.22 + 0.16 * len(series)), title) as axes:
        axes.axvline(50, color="black", linewidth=0.8)
        for look, model, rows in series:
            draw_points(axes, rows, "score", look, label=model)
            say_missing(axes, rows.loc[rows["score"].isna(), "place"], at=50)
        if "published" in frame:
            published = pd.concat([rows for _, _, rows in series])
            draw_published(axes, published, label="published")
        name_rows(axes, language_names(names))
        axes.set_xlabel(f"{label} (95 % interval)")
    return axes.figure
