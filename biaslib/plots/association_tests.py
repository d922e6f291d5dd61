"""Effect sizes of word-embedding association tests."""

import textwrap

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from biaslib.plots._marks import bar_style, draw_intervals, name_rows, say_missing
from biaslib.plots.style import check_not_empty, in_rows, one_panel


def effect_sizes(frame: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw effect sizes as bars with their intervals, one bar per contrast and model.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``x y a b effect_size ci_low ci_high`` from `biaslib.embeddings.run_contrasts` and, for several models,
        ``model``. A contrast without a value is marked "no value".
    title : str
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        Thin lines mark Cohen's small, medium and large effects (0.2, 0.5, 0.8).

    Raises
    ------
    ValueError
        If a column is missing or the frame is empty.

    Examples
    --------
    Two tests of Caliskan et al. (2017), Table 1:

    >>> words = {"x": ["flowers", "instruments"], "y": ["insects", "weapons"], "a": "pleasant", "b": "unpleasant"}
    >>> frame = pd.DataFrame(words).assign(effect_size=[1.50, 1.53], ci_low=float("nan"), ci_high=float("nan"))
    >>> [float(bar.get_width()) for bar in effect_sizes(frame, "WEAT").axes[0].patches]
    [1.5, 1.53]
    """
    check_not_empty(frame, ("x", "y", "a", "b", "effect_size", "ci_low", "ci_high"))
    frame = frame.assign(contrast=[f"{row.x} / {row.y} × {row.a} / {row.b}" for row in frame.itertuples()])
    contrasts = list(dict.fromkeys(frame["contrast"]))
    series = list(in_rows(frame, "contrast"))
    with one_panel(ax, 7.2, 0.9 + len(contrasts) * (0.18 + 0.16 * len(series)), title) as axes:
        for look, model, rows in series:
            bars = rows["effect_size"].fillna(0)
            axes.barh(rows["place"], bars, 0.8 / len(series), label=model, **bar_style(look))
            draw_intervals(axes, rows)
            say_missing(axes, rows.loc[rows["effect_size"].isna(), "place"], at=0)
        for d in (-0.8, -0.5, -0.2, 0.2, 0.5, 0.8):
            axes.axvline(d, color="#999999", linewidth=0.5, linestyle=":")
        axes.axvline(0, color="black", linewidth=0.8)
        name_rows(axes, [textwrap.fill(contrast, 46) for contrast in contrasts])
        axes.set_xlim(-2.05, 2.05)
        axes.set_xlabel("effect size d (95 % interval over words)")
    return axes.figure
