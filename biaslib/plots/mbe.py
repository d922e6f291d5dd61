"""The MBE score by the similarity of its sentence pairs."""

import pandas as pd
from matplotlib.figure import Figure

from biaslib.plots.style import by_model, check_not_empty, figure_style, legend_below, look, new_figure


def similarity_curves(frame: pd.DataFrame, title: str = "") -> Figure:
    """Draw how the MBE score, and the share of pairs behind it, change with the minimum similarity of a pair.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``min_similarity score share_of_pairs`` from `biaslib.metrics.similarity_curve` and, for several models,
        ``model``. A missing ``min_similarity`` stands for all pairs.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        The score above, the share of pairs below.

    Raises
    ------
    ValueError
        If a column is missing or the frame is empty.

    Examples
    --------
    >>> frame = pd.DataFrame({"min_similarity": [None, 0.5], "score": [52.0, 53.0], "share_of_pairs": [1.0, 0.8]})
    >>> [tick.get_text() for tick in similarity_curves(frame).axes[1].get_xticklabels()]
    ['all', '0.5']
    """
    check_not_empty(frame, ("min_similarity", "score", "share_of_pairs"))
    thresholds = sorted(frame["min_similarity"].dropna().unique())
    with figure_style():
        figure = new_figure(6.4, 4.2, title)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
        upper.axhline(50, color="black", linewidth=0.8)
        for number, (model, rows) in enumerate(by_model(frame)):
            places = [0 if pd.isna(least) else 1 + thresholds.index(least) for least in rows["min_similarity"]]
            own = look(number)
            style = {"linestyle": own.line, "marker": own.marker, "color": own.colour}
            upper.plot(places, rows["score"], label=model, **style)
            lower.plot(places, rows["share_of_pairs"], **style)
        upper.set_ylabel("MBE")
        lower.set_ylabel("share of pairs")
        lower.set_ylim(-0.05, 1.05)
        lower.set_xticks(range(len(thresholds) + 1), ["all", *(f"{least:g}" for least in thresholds)])
        lower.set_xlabel("minimum cosine of a pair")
        legend_below(figure, *upper.get_legend_handles_labels())
    return figure
