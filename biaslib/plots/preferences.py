"""Scores around 50, by similarity and by language."""

import math

from biaslib.io.languages import list_languages
from biaslib.plots.style import (
    FONT,
    LINES,
    check_not_empty,
    draw_scores,
    figure_style,
    model_style,
    new_figure,
    panels_by_model,
    text_font,
)

_GENDER_COLOURS = {"male": "#0072B2", "female": "#E69F00"}
_GENDER_HATCHES = {"male": "", "female": "//"}


def preference_scores(frame, title, *, by, label):
    """Draw scores with their intervals around 50, where neither side is preferred.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``score ci_low ci_high``, the column `by` and, for several, ``model``; with ``published``, that value stands
        beside. A row without a score says so.
    title : str
    by : str
        What the rows of the figure are; codes of languages are written out.
    label : str
        What the scores are.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    check_not_empty(frame, (by, "score", "ci_low", "ci_high"))
    names = list(dict.fromkeys(frame[by]))
    models = panels_by_model(frame)
    with figure_style():
        figure = new_figure(7.2, 1.1 + len(names) * (0.22 + 0.16 * len(models)))
        axes = figure.subplots()
        axes.axvline(50, color="black", linewidth=0.8)
        for number, (model, rows) in enumerate(models):
            shift = 0.8 / len(models) * (number - (len(models) - 1) / 2)
            draw_scores(axes, rows, [names.index(name) + shift for name in rows[by]], number, model)
        if "published" in frame:
            axes.plot([], [], "d", color="black", markerfacecolor="white", label="published")
        axes.set_yticks(range(len(names)), _written_out(names))
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel(f"{label} (95 % interval)")
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
        if len(models) > 1 or "published" in frame:
            figure.legend(loc="outside lower center", ncols=min(4, len(models) + 1))
    return figure


def similarity_curves(frame, title):
    """Draw how the MBE score, and the share of pairs it rests on, move with the least similarity of a pair.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``min_similarity score share_of_pairs`` from `biaslib.metrics.similarity_curve` and, for several,
        ``model``.
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    check_not_empty(frame, ("min_similarity", "score", "share_of_pairs"))
    thresholds = sorted(frame["min_similarity"].dropna().unique())
    with figure_style():
        figure = new_figure(6.4, 4.2)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
        upper.axhline(50, color="black", linewidth=0.8)
        for number, (model, rows) in enumerate(panels_by_model(frame)):
            places = [0 if math.isnan(t) else 1 + thresholds.index(t) for t in rows["min_similarity"]]
            line, marker = LINES[number % len(LINES)]
            style = {"linestyle": line, "marker": marker, "color": model_style(number)[0]}
            upper.plot(places, rows["score"], label=model, **style)
            lower.plot(places, rows["share_of_pairs"], **style)
        upper.set_ylabel("MBE")
        lower.set_ylabel("share of pairs")
        lower.set_ylim(-0.05, 1.05)
        lower.set_xticks(range(len(thresholds) + 1), ["all", *(f"{t:g}" for t in thresholds)])
        lower.set_xlabel("least cosine of a pair")
        upper.set_title(title)
        if "model" in frame:
            figure.legend(loc="outside right upper")
    return figure


def retention_bars(frame, title):
    """Draw the shares of sentences that keep their gender in the target language.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``language gender n share ci_low ci_high`` from `biaslib.metrics.retention`, male and female rows; with
        ``label``, the name of the language in itself or its words, written beside its name where a font has them.
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    frame = frame[frame["gender"].isin(_GENDER_COLOURS)] if "gender" in frame else frame
    check_not_empty(frame, ("language", "gender", "n", "share", "ci_low", "ci_high"))
    languages = list(dict.fromkeys(frame["language"]))
    with figure_style():
        figure = new_figure(6.4, 1.1 + 0.5 * len(languages))
        axes = figure.subplots()
        for number, (gender, colour) in enumerate(_GENDER_COLOURS.items()):
            rows = frame[frame["gender"] == gender]
            places = [languages.index(language) + 0.38 * (number - 0.5) for language in rows["language"]]
            style = {"color": colour, "hatch": _GENDER_HATCHES[gender], "edgecolor": "white", "linewidth": 0.3}
            axes.barh(places, rows["share"].fillna(0), 0.38, label=f"{gender} sentences", **style)
            for place, row in zip(places, rows.itertuples(), strict=True):
                if not math.isnan(row.ci_low):
                    axes.plot([row.ci_low, row.ci_high], [place, place], color="black", linewidth=0.9)
                axes.annotate(f" n = {row.n:,}", (1, place), va="center", fontsize=8)
        names = _written_out(languages)
        fonts = [_own_font(frame, language) for language in languages]
        labels = [f"{name} ({own})" if own else name for name, (own, _) in zip(names, fonts, strict=True)]
        axes.set_yticks(range(len(languages)), labels)
        for tick, (_, families) in zip(axes.get_yticklabels(), fonts, strict=True):
            tick.set_fontfamily([FONT, *families])
        axes.set_xlim(0, 1)
        axes.set_ylim(len(languages) - 0.5, -0.5)
        axes.set_xlabel("share of target sentences with a word for their gender (95 % interval)")
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def _written_out(codes):
    names = list_languages().set_index("code")["name"]
    return [names.get(code, str(code)) for code in codes]


def _own_font(frame, language):
    """Give what a frame calls a language in itself, with fonts that draw it; "" where none does."""
    own = frame.loc[frame["language"] == language, "label"].iloc[0] if "label" in frame else ""
    families = text_font(own, language)
    return (own, families) if families else ("", [])
