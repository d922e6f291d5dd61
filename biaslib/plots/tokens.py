"""What each token adds to a sentence's scores."""

import math

from biaslib.plots.style import check_not_empty, clipped, figure_style, minus, new_figure

_TOKENS_IN_A_LINE = 8


def token_strips(frame, measures, titles):
    """Draw what each token adds to a sentence's scores as strips of cells, darker where it takes more away.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``sentence text shared`` and a column for each measure, from `biaslib.scoring.token_likelihoods`; ``sentence``
        groups the tokens, ``shared`` is False for tokens that get a frame and bold type.
    measures : mapping of str to str
        The columns to draw and what to call them. Each has its own scale, the same for all sentences.
    titles : mapping of str to str
        A line above each sentence.

    Returns
    -------
    matplotlib.figure.Figure
        Cells hold their numbers, those of small measures as multiples of the power of ten beside them; a missing one
        has a stroke.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    check_not_empty(frame, ("sentence", "text", "shared", *measures))
    lowest = {measure: min([-1e-12, *frame[measure].dropna()]) for measure in measures}
    names = {measure: _scaled_name(name, lowest[measure]) for measure, name in measures.items()}
    lines = [
        (titles[sentence] if start == 0 else "", rows.iloc[start : start + _TOKENS_IN_A_LINE])
        for sentence, rows in frame.groupby("sentence", sort=False)
        for start in range(0, len(rows), _TOKENS_IN_A_LINE)
    ]
    tall = [1.3 + len(measures) + 0.8 * (1 + title.count("\n")) * bool(title) for title, _ in lines]
    width = 1.5 + min(_TOKENS_IN_A_LINE, max(len(rows) for _, rows in lines))
    with figure_style():
        figure = new_figure(0.2 + 0.66 * width, 0.2 + 0.27 * sum(tall))
        axes = figure.subplots()
        top = 0.0
        for (title, rows), height in zip(lines, tall, strict=True):
            _draw_strip(axes, rows, names, lowest, title, top + height - len(measures))
            top += height
        axes.set_xlim(-1.5, width - 1.5)
        axes.set_ylim(top + 0.2, 0)
        axes.axis("off")
    return figure


def _exponent(lowest):
    """The power of ten that makes the numbers of a small measure legible; 0 for others."""
    return min(0, math.floor(math.log10(-lowest)))


def _scaled_name(name, lowest):
    power = str(_exponent(lowest)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return name if power == "⁰" else f"{name} ×10{power}"


def _draw_strip(axes, rows, names, lowest, title, top):
    """Draw tokens as columns, their measures (column: name) as rows of cells that begin at `top`."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    colours = colormaps["cividis"]
    axes.text(-1.5, top - 1.15, title, va="bottom", fontsize=9, parse_math=False)
    for place, (text, shared) in enumerate(zip(rows["text"], rows["shared"], strict=True)):
        weight = "normal" if shared else "bold"
        axes.text(
            place + 0.5,
            top - 0.45,
            clipped(text, 10),
            ha="center",
            va="center",
            fontsize=8,
            weight=weight,
            parse_math=False,
        )
        if not shared:
            frame = Rectangle((place, top - 0.95), 1, 0.95 + len(names), fill=False, linewidth=1.8, zorder=3)
            axes.add_patch(frame)
    for row, (measure, name) in enumerate(names.items()):
        axes.text(-0.1, top + row + 0.5, name, ha="right", va="center", fontsize=8)
        for place, value in enumerate(rows[measure]):
            share = 0.0 if math.isnan(value) else value / lowest[measure]
            face = "white" if math.isnan(value) else colours(1 - share)
            cell = Rectangle((place, top + row), 1, 1, facecolor=face, edgecolor="white", linewidth=0.8)
            axes.add_patch(cell)
            ink = "white" if share > 0.5 else "black"
            shown = "–" if math.isnan(value) else minus(f"{value / 10.0 ** _exponent(lowest[measure]):.2f}")
            axes.text(place + 0.5, top + row + 0.5, shown, ha="center", va="center", fontsize=7, color=ink)
