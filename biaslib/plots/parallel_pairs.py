"""Numbers of parallel pairs."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from biaslib.plots._marks import name_rows, stack_bars
from biaslib.plots.style import by_model, check_not_empty, look, one_panel


def pairs_by_unit(frame: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw the numbers of parallel pairs as one bar per model, its parts the linguistic units.

    It follows Figure 3 of Parra (2024).

    Parameters
    ----------
    frame : pandas.DataFrame
        ``unit n_pairs`` from `biaslib.metrics.count_pairs` or `biaslib.studies.published_pairs` and, for several
        models, ``model``.
    title : str
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        Each part has its number, and each bar its sum.

    Raises
    ------
    ValueError
        If a column is missing or the frame is empty.

    Examples
    --------
    Figure 3 itself, with BERT's bar on top:

    >>> from biaslib.studies import published_pairs
    >>> figure = pairs_by_unit(published_pairs(), "Parallel pairs")
    >>> figure.axes[0].get_yticklabels()[0].get_text()
    'bert'
    """
    check_not_empty(frame, ("unit", "n_pairs"))
    units = list(dict.fromkeys(frame["unit"]))
    counts = pd.DataFrame({model: rows.groupby("unit")["n_pairs"].sum() for model, rows in by_model(frame)})
    counts = counts.reindex(units).fillna(0).astype(int).T
    totals = counts.sum(axis=1)
    with one_panel(ax, 7.2, 1.3 + 0.36 * len(counts), title) as axes:
        parts = stack_bars(axes, counts, {unit: look(number) for number, unit in enumerate(units)})
        for unit, bars in zip(units, parts, strict=True):
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85}
            axes.bar_label(bars, [n or "" for n in counts[unit]], label_type="center", fontsize=8, bbox=box)
        for place, total in enumerate(totals):
            axes.annotate(f" {total}", (total, place), va="center", fontsize=9, fontweight="bold")
        name_rows(axes, counts.index)
        axes.set_xlim(0, max(1, 1.08 * totals.max()))
        axes.set_xlabel("parallel pairs")
    return axes.figure
