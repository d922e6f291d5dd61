"""Scores of several runs side by side."""

import math
import textwrap

from biaslib.plots.pronouns import spelled
from biaslib.plots.style import MODEL_COLOURS, MODEL_MARKERS, check_not_empty, figure_style, new_figure


def forest(frame):
    """Draw scores with their intervals as a forest plot, a panel a measure, a line a group and model.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``panel group label value ci_low ci_high n`` from `biaslib.report.choose_rows`. With ``neutral``, a line
        stands at that value of a panel; with ``published``, a hollow diamond at that one. With ``set``, scores of
        another set than "A" are hollow and marked by its letter; with ``caution``, those that have one are marked
        by an asterisk.

    Returns
    -------
    matplotlib.figure.Figure
        Beside each line stands its n.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    check_not_empty(frame, ("panel", "group", "label", "value", "ci_low", "ci_high", "n"))
    given = {"neutral": math.nan, "published": math.nan, "set": "A", "caution": ""}
    frame = frame.assign(**{column: default for column, default in given.items() if column not in frame})
    panels = [(panel, rows.assign(place=_forest_places(rows))) for panel, rows in frame.groupby("panel", sort=False)]
    heights = [0.19 * (rows["place"].max() + 2) + 0.75 for _, rows in panels]
    styles = {label: _forest_style(number) for number, label in enumerate(dict.fromkeys(frame["label"]))}
    with figure_style():
        figure = new_figure(7.2, sum(heights) + 0.3 + 0.22 * math.ceil(len(styles) / 2))
        all_axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, (panel, rows) in zip(all_axes, panels, strict=True):
            _draw_forest(axes, rows, styles)
            axes.set_title(textwrap.fill(panel, 70))
            axes.set_xlabel("value (95 % interval)", fontsize=8)
        _forest_legend(figure, frame, styles)
    return figure


def _forest_style(number):
    """Colour and marker of the n-th of many lines: another marker for a colour that comes again."""
    markers = MODEL_MARKERS
    return MODEL_COLOURS[number % len(MODEL_COLOURS)], markers[(number + number // len(markers)) % len(markers)]


def _forest_places(rows):
    """Where each line of a panel stands, from the top: groups are set apart."""
    new_group = (rows["group"] != rows["group"].shift()).cumsum() - 1
    return [line + 0.7 * group for line, group in enumerate(new_group)]


def _draw_forest(axes, rows, styles):
    if rows["neutral"].notna().any():
        axes.axvline(rows["neutral"].iloc[0], color="black", linewidth=0.8, zorder=1)
    for row in rows.itertuples():
        _draw_forest_line(axes, row, *styles[row.label])
    middle = rows.groupby("group", sort=False)["place"].mean()
    axes.set_yticks(middle, [textwrap.fill(spelled(group), 34) for group in middle.index], fontsize=8)
    axes.set_ylim(rows["place"].max() + 0.8, -0.8)
    axes.margins(x=0.06)


def _draw_forest_line(axes, row, colour, marker):
    beside = f" n = {row.n:,}{'' if row.set == 'A' else f'  {row.set}'}{' *' if row.caution else ''}"
    axes.annotate(beside, (1, row.place), xycoords=("axes fraction", "data"), va="center", fontsize=7)
    if math.isfinite(row.published):
        face = {"markerfacecolor": "white", "markersize": 6, "zorder": 2}
        axes.plot(row.published, row.place, "d", color="black", **face)
    if not math.isfinite(row.value):
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        style = {"va": "center", "fontsize": 7, "color": "#595959", "bbox": box}
        axes.annotate("no value", (0.01, row.place), xycoords=("axes fraction", "data"), **style)
        return
    if math.isfinite(row.ci_low) and math.isfinite(row.ci_high):
        axes.plot([row.ci_low, row.ci_high], [row.place] * 2, color=colour, linewidth=1.5, solid_capstyle="butt")
    face = colour if row.set == "A" else "white"
    axes.plot(row.value, row.place, marker, color=colour, markerfacecolor=face, markersize=5.5, zorder=3)


def _forest_legend(figure, frame, styles):
    from matplotlib.lines import Line2D

    entries = [(label, colour, marker, colour) for label, (colour, marker) in styles.items()]
    if frame["published"].notna().any():
        entries.append(("published", "black", "d", "white"))
    if (frame["set"] != "A").any():
        entries.append(("hollow, with a letter: other data or variant", "#595959", "o", "white"))
    if (frame["caution"] != "").any():
        entries.append(("with an asterisk: other version or precision", "white", "", "white"))
    handles = [
        Line2D([], [], linestyle="", marker=marker, color=colour, markerfacecolor=face)
        for _, colour, marker, face in entries
    ]
    names = [textwrap.fill(name, 44) for name, *_ in entries]
    columns = 2 if len(names) > 1 and max(map(len, names)) <= 44 else 1
    legend = figure.legend(handles, [str(n) for n in range(len(names))], loc="outside lower center", ncols=columns)
    # Set afterwards: matplotlib leaves out names that begin with an underscore.
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)
