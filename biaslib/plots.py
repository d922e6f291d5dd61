"""Figures and tables of a report, from result frames; nothing is computed here.

A group of names has one colour and one marker in every figure. The colours are Okabe and Ito's, which
colour-blind readers can tell apart; markers and hatches keep the figures legible in grey.
"""

import html
import io
import itertools
import math
import textwrap
import unicodedata
from contextlib import contextmanager

import pandas as pd

from biaslib.statistics import A_LIMITS
from biaslib.target_words import LANGUAGES
from biaslib.templates import check_columns, groups_of

GROUP_COLOURS = {"farm": "#D55E00", "companion": "#0072B2", "other": "#000000", "human": "#009E73"}
GROUP_MARKERS = {"farm": "s", "companion": "o", "other": "^", "human": "*"}
SENTIMENT_COLOURS = {"negative": "#E69F00", "neutral": "#E0E0E0", "positive": "#56B4E9"}
SENTIMENT_HATCHES = {"negative": "//", "neutral": "", "positive": ".."}
# More bars than these are not legible; a table holds the rest.
MOST_BARS = 40
GENDER_STYLES = {"male": ("#D55E00", "o"), "female": ("#0072B2", "^")}

_SPARE_COLOURS = ("#CC79A7", "#56B4E9", "#E69F00", "#666666")
_SPARE_MARKERS = "DvPXhp<>d8"
_SYMBOLS = dict(zip("so^*DvPXhp<>d8", "■●▲★◆▼✚✖⬢⬟◀▶♦⯃", strict=True))
_LINES = (("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"))
_AS_WHAT = {"object": "as a thing", "human": "as a person"}
_MODEL_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
_MODEL_MARKERS = "os^Dvp"
_MODEL_HATCHES = ("", "//", "..", "xx", "\\\\", "--")
_GENDER_COLOURS = {"male": "#0072B2", "female": "#E69F00"}
_GENDER_HATCHES = {"male": "", "female": "//"}
_FONT = "DejaVu Sans"
# Fonts of scripts that matplotlib's own lacks, most fitting first, and the Debian package that brings one.
_SCRIPT_FONTS = {
    "ja": ("Noto Sans CJK JP", "IPAexGothic", "IPAGothic", "TakaoGothic", "Hiragino Sans", "Yu Gothic", "MS Gothic"),
    "zh": ("Noto Sans CJK SC", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "PingFang SC", "Microsoft YaHei", "SimHei"),
    "ar": ("Noto Naskh Arabic", "Noto Sans Arabic", "Geeza Pro", "Segoe UI"),
}
_FONT_PACKAGES = {"ja": "fonts-noto-cjk", "zh": "fonts-noto-cjk", "ar": "fonts-noto-core"}
# A cell with text from right to left (Arabic) runs and begins on that side.
_EITHER_DIRECTION = "function(cell) { cell.dir = 'auto'; cell.style.textAlign = 'start'; }"
_TOKENS_IN_A_LINE = 8
_DPI = 120
_STYLE = {
    "font.family": _FONT,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.prop_cycle": "cycler('color', ['black'])",
    "figure.dpi": _DPI,
    "figure.facecolor": "white",
    "hatch.linewidth": 0.6,
    "lines.linewidth": 1.1,
    "legend.frameon": False,
    # Names of models, files and categories are texts, whatever dollars they hold.
    "text.parse_math": False,
    "text.usetex": False,
}
# Pronouns for things are warm, those for persons are cold.
PRONOUN_STYLES = {
    "that": ("#E69F00", ""),
    "which": ("#D55E00", "//"),
    "who": ("#56B4E9", ""),
    "whose": ("#0072B2", ".."),
    "whom": ("#0072B2", "xx"),
}


def group_styles(groups):
    """Give each group its colour and marker.

    Parameters
    ----------
    groups : iterable of str
        farm, companion, other and human always have theirs; further groups get spare ones by alphabet.

    Returns
    -------
    dict of str to (str, str)
        Colour and marker.
    """
    own, further = _in_order(groups)
    known = {group: (GROUP_COLOURS[group], GROUP_MARKERS[group]) for group in own}
    spare = zip(itertools.cycle(_SPARE_COLOURS), itertools.cycle(_SPARE_MARKERS), strict=False)
    return known | dict(zip(sorted(further), spare, strict=False))


def tmr_heatmap_with_dendrogram(tmr, clusters, groups, title):
    """Draw token match rates as a heat map beside its dendrogram.

    It is made like Figures 1 and 4 to 7 of Takeshita, Rzepka & Araki (2022);
    colours start at the lowest rate.

    Parameters
    ----------
    tmr : pandas.DataFrame, shape (n, n)
        From `biaslib.clustering.token_match_rate`.
    clusters : Clusters
        From `biaslib.clustering.cluster`, of the same names.
    groups : mapping or Series
        The group of each name, which its label's colour and symbol show.
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the names differ or one has no group.
    """
    if set(clusters.names) != set(tmr.index):
        raise ValueError("tmr and clusters are of different names: cluster the same rates")
    groups = groups_of(clusters.order, groups)
    n = len(clusters.order)
    with _style():
        side = max(3.2, 0.17 * n)
        figure = _figure(side + 3.4, side + 1.1)
        tree, heat, bar = figure.subplots(1, 3, width_ratios=[0.28 * side, side, 0.14])
        _draw_tree(tree, clusters)
        image = _draw_heat(heat, tmr.loc[list(clusters.order), list(clusters.order)])
        _label_names(heat, clusters.order, groups)
        figure.colorbar(image, cax=bar, label="token match rate")
        bar.yaxis.set_ticks_position("right")
        _group_legend(figure, groups.values())
        figure.suptitle(title, fontweight="bold", fontsize=11)
    return figure


def cluster_agreement_by_min_z(frame, *, alpha=0.05):
    """Draw how the agreement of clusters with groups moves with the threshold.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``min_z statistic`` (adjusted Rand index) and, for several, ``model``; with ``p_value`` the
        markers are filled where it is below `alpha`.
    alpha : float

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    _check_columns(frame, ("min_z", "statistic"))
    with _style():
        figure = _figure(6.4, 3.6)
        axes = figure.subplots()
        axes.axhline(0, color="#999999", linewidth=0.8)
        for (model, rows), (line, marker) in zip(_by_model(frame), itertools.cycle(_LINES), strict=False):
            rows = rows.sort_values("min_z")
            axes.plot(rows["min_z"], rows["statistic"], line, color="black")
            solid = (rows["p_value"] < alpha).tolist() if "p_value" in rows else [True] * len(rows)
            for x, y, filled in zip(rows["min_z"], rows["statistic"], solid, strict=True):
                face = "black" if filled else "white"
                axes.plot(x, y, marker, color="black", markerfacecolor=face, markersize=6)
            if model:
                axes.plot([], [], line, marker=marker, color="black", label=model)
        axes.set_xticks(sorted(frame["min_z"].unique()))
        axes.set_xlabel("least |z| of a kept word (min_z)")
        axes.set_ylabel("adjusted Rand index")
        if "p_value" in frame:
            axes.plot([], [], "o", color="black", label=f"p < {alpha:g}")
            axes.plot([], [], "o", color="black", markerfacecolor="white", label=f"p ≥ {alpha:g} or none")
        if axes.get_legend_handles_labels()[1]:
            figure.legend(loc="outside right upper")
    return figure


def sentiment_shares_plot(frame):
    """Draw the shares of negative, neutral and positive words as stacked bars.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `biaslib.sentiment.sentiment_shares`, by group or name; with a column ``model``, a panel each.

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
    _check_columns(frame, (unit, "sentences", "sentiment", "n", "share", "n_left_out"))
    panels = _by_model(frame)
    n_bars = max(len(rows.drop_duplicates([unit, "sentences"])) for _, rows in panels)
    with _style():
        figure = _figure(7.2, len(panels) * (0.34 * n_bars + 0.7) + 0.7)
        all_axes = figure.subplots(len(panels), 1, squeeze=False, sharex=True)[:, 0]
        for axes, (model, rows) in zip(all_axes, panels, strict=True):
            _draw_shares(axes, rows, unit)
            axes.set_title(model)
        all_axes[-1].set_xlabel("share of the scored words")
        handles, labels = all_axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure


def effect_sizes(frame, title):
    """Draw effect sizes as bars with their intervals, a bar a contrast and model.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``x y a b effect_size ci_low ci_high`` from `biaslib.weat.run_contrasts` and, for several, ``model``.
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
    _check_columns(frame, ("x", "y", "a", "b", "effect_size", "ci_low", "ci_high"))
    models = _by_model(frame)
    labels = ["\n".join(textwrap.wrap(f"{row.x} / {row.y} × {row.a} / {row.b}", 46)) for row in frame.itertuples()]
    contrasts = list(dict.fromkeys(labels))
    label_of = dict(zip(frame.index, labels, strict=True))
    thick = 0.8 / len(models)
    with _style():
        figure = _figure(7.2, 0.9 + len(contrasts) * (0.18 + 0.16 * len(models)))
        axes = figure.subplots()
        for number, (model, rows) in enumerate(models):
            places = [contrasts.index(label_of[i]) + thick * (number - (len(models) - 1) / 2) for i in rows.index]
            _draw_effects(axes, rows, places, thick, *_model_style(number), model)
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
        ``decade words effect_size ci_low ci_high`` from `biaslib.weat.trend`; a line for each value of ``words``.
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    _check_columns(frame, ("decade", "words", "effect_size", "ci_low", "ci_high"))
    decades = sorted(frame["decade"].unique())
    with _style():
        figure = _figure(6.4, 3.0)
        axes = figure.subplots()
        axes.axhline(0, color="black", linewidth=0.8)
        for number, (words, rows) in enumerate(frame.groupby("words", sort=False)):
            rows = rows.set_index("decade").reindex(decades)
            if rows["effect_size"].isna().all():
                continue
            colour, _ = _model_style(number)
            line, marker = _LINES[number % len(_LINES)]
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


def confidence_effects(frame, title):
    """Draw by category how far men's pronouns are likelier than women's, with intervals.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``category a a_low a_high`` from `biaslib.pronouns.compare_categories` and, for several, ``model``. An A
        without an interval (NaN), such as a published one, is a marker alone; a category without an A says so.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        The grey band is Vargha and Delaney's negligible effect, thin lines begin a medium and a large one.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    _check_columns(frame, ("category", "a", "a_low", "a_high"))
    models = _by_model(frame)
    categories = list(dict.fromkeys(frame["category"]))
    step = 0.8 / len(models)
    with _style():
        figure = _figure(7.2, 1.1 + len(categories) * (0.2 + 0.14 * len(models)))
        axes = figure.subplots()
        _draw_effect_bands(axes)
        for number in range(1, len(categories)):
            axes.axhline(number - 0.5, color="#DDDDDD", linewidth=0.6, zorder=0)
        for number, (model, rows) in enumerate(models):
            places = [categories.index(c) + step * (number - (len(models) - 1) / 2) for c in rows["category"]]
            _draw_confidence_effects(axes, rows, places, *_model_marker(number), model)
        axes.set_yticks(range(len(categories)), [_spelled(category) for category in categories])
        axes.set_ylim(len(categories) - 0.5, -0.5)
        axes.set_xlim(-0.02, 1.02)
        axes.set_xlabel("← female likelier     A (95 % interval over prompts)     male likelier →")
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
        if len(models) > 1:
            figure.legend(loc="outside lower center", ncols=min(4, len(models)))
    return figure


def confidences_by_category(frame, title):
    """Draw the confidences of men's and women's pronouns by category, a dot a prompt, with boxes of quartiles.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``category male female`` from `biaslib.pronouns.gendered_confidence`; with a column ``model``, a panel each.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        Below each category stands how many prompts have both confidences; the others are not drawn.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    _check_columns(frame, ("category", "male", "female"))
    panels = _by_model(frame)
    categories = list(dict.fromkeys(frame["category"]))
    with _style():
        figure = _figure(1.6 + 0.95 * max(4, len(categories)), 0.9 + 2.4 * len(panels))
        all_axes = figure.subplots(len(panels), 1, squeeze=False, sharey=True)[:, 0]
        for axes, (model, rows) in zip(all_axes, panels, strict=True):
            _draw_confidences(axes, rows, categories)
            axes.set_title(model)
        handles, labels = all_axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
    return figure


def pairs_by_unit(frame, title):
    """Draw the numbers of parallel pairs as bars, a bar a model, its parts the linguistic units.

    It is made like Figure 3 of Parra (2024).

    Parameters
    ----------
    frame : pandas.DataFrame
        ``unit n_pairs`` from `biaslib.pronouns.count_pairs` or `biaslib.pronouns.published_pairs` and, for several,
        ``model``.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        Each part has its number, and each bar the sum.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    _check_columns(frame, ("unit", "n_pairs"))
    models = _by_model(frame)
    counts = pd.DataFrame({number: rows.groupby("unit")["n_pairs"].sum() for number, (_, rows) in enumerate(models)})
    counts = counts.reindex(list(dict.fromkeys(frame["unit"]))).fillna(0).astype(int)
    with _style():
        figure = _figure(7.2, 1.3 + 0.36 * len(models))
        axes = figure.subplots()
        start = pd.Series(0, index=counts.columns)
        for number, (unit, row) in enumerate(counts.iterrows()):
            colour, hatch = _model_style(number)
            style = {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.3}
            bars = axes.barh(counts.columns, row, 0.7, left=start, label=unit, **style)
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85}
            axes.bar_label(bars, [n or "" for n in row], label_type="center", fontsize=8, bbox=box)
            start = start + row
        for place, total in start.items():
            axes.annotate(f" {total}", (total, place), va="center", fontsize=9, fontweight="bold")
        axes.set_yticks(counts.columns, [model for model, _ in models])
        axes.set_xlim(0, max(1, 1.08 * start.max()))
        axes.invert_yaxis()
        axes.set_xlabel("parallel pairs")
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
        figure.legend(loc="outside lower center", ncols=len(counts))
    return figure


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
    _check_columns(frame, (by, "score", "ci_low", "ci_high"))
    names = list(dict.fromkeys(frame[by]))
    models = _by_model(frame)
    with _style():
        figure = _figure(7.2, 1.1 + len(names) * (0.22 + 0.16 * len(models)))
        axes = figure.subplots()
        axes.axvline(50, color="black", linewidth=0.8)
        for number, (model, rows) in enumerate(models):
            shift = 0.8 / len(models) * (number - (len(models) - 1) / 2)
            _draw_scores(axes, rows, [names.index(name) + shift for name in rows[by]], number, model)
        if "published" in frame:
            axes.plot([], [], "d", color="black", markerfacecolor="white", label="published")
        axes.set_yticks(range(len(names)), [LANGUAGES.get(name, str(name)) for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel(f"{label} (95 % interval)")
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
        if len(models) > 1 or "published" in frame:
            figure.legend(loc="outside lower center", ncols=min(4, len(models) + 1))
    return figure


def as_text(text):
    """Write a text into Markdown so that it is shown as it is, whatever markup or formula it holds.

    Parameters
    ----------
    text : object

    Returns
    -------
    str

    Examples
    --------
    >>> as_text("A_1 <b>")
    'A&#95;1 &#60;b&#62;'
    """
    return "".join(c if c.isalnum() or c in " .,-/" else f"&#{ord(c)};" for c in str(text))


def similarity_curves(frame, title):
    """Draw how the MBE score, and the share of pairs it rests on, move with the least similarity of a pair.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``min_similarity score share_of_pairs`` from `biaslib.multilingual.similarity_curve` and, for several,
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
    _check_columns(frame, ("min_similarity", "score", "share_of_pairs"))
    thresholds = sorted(frame["min_similarity"].dropna().unique())
    with _style():
        figure = _figure(6.4, 4.2)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
        upper.axhline(50, color="black", linewidth=0.8)
        for number, (model, rows) in enumerate(_by_model(frame)):
            places = [0 if math.isnan(t) else 1 + thresholds.index(t) for t in rows["min_similarity"]]
            line, marker = _LINES[number % len(_LINES)]
            style = {"linestyle": line, "marker": marker, "color": _model_style(number)[0]}
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
        ``language gender n share ci_low ci_high`` from `biaslib.target_words.retention`, male and female rows; with
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
    _check_columns(frame, ("language", "gender", "n", "share", "ci_low", "ci_high"))
    languages = list(dict.fromkeys(frame["language"]))
    with _style():
        figure = _figure(6.4, 1.1 + 0.5 * len(languages))
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
        names = [LANGUAGES.get(language, language) for language in languages]
        fonts = [_own_font(frame, language) for language in languages]
        labels = [f"{name} ({own})" if own else name for name, (own, _) in zip(names, fonts, strict=True)]
        axes.set_yticks(range(len(languages)), labels)
        for tick, (_, families) in zip(axes.get_yticklabels(), fonts, strict=True):
            tick.set_fontfamily([_FONT, *families])
        axes.set_xlim(0, 1)
        axes.set_ylim(len(languages) - 0.5, -0.5)
        axes.set_xlabel("share of target sentences with a word for their gender (95 % interval)")
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def text_font(text, language):
    """Find installed fonts that together draw a text of some language.

    Parameters
    ----------
    text : str
    language : str
        Its code: Japanese and Chinese share characters, but not their shapes.

    Returns
    -------
    list of str
        Families in the order of need; empty where a character would come out as a box, or letters that are written
        from right to left would not be joined (matplotlib joins them from version 3.11 on). Then leave the text to a
        `table`, where the reader's browser draws it, and see `missing_fonts`.

    Examples
    --------
    >>> text_font("Müller, Иванов", "ru")
    ['DejaVu Sans']
    """
    from matplotlib import ft2font

    shaped = hasattr(ft2font, "__libraqm_version__")
    if not shaped and any(unicodedata.bidirectional(character) in ("R", "AL") for character in text):
        return []
    left = {character for character in text if not character.isspace() and unicodedata.category(character) != "Cf"}
    families = []
    for family in (_FONT, *_SCRIPT_FONTS.get(language.lower()[:2], ())):
        drawn = _drawn_by(family, left)
        if drawn:
            families.append(family)
            left -= drawn
    return [] if left else families


def missing_fonts(texts):
    """Say which packages bring the fonts that figures lack.

    Parameters
    ----------
    texts : mapping
        From a language's code to a text in it.

    Returns
    -------
    IPython.display.Markdown
        Empty if every text can be drawn.
    """
    from IPython.display import Markdown

    lacking = [language for language, text in texts.items() if not text_font(text, language)]
    if not lacking:
        return Markdown("")
    names = ", ".join(LANGUAGES.get(language, language) for language in lacking)
    packages = sorted({_FONT_PACKAGES.get(language.lower()[:2], "fonts-noto-core") for language in lacking})
    return Markdown(
        f"> No font here draws {names} in figures, which show names of languages instead; tables have the text. Debian "
        f"and Ubuntu: `apt-get install {' '.join(packages)}`; elsewhere install the Noto fonts of the script."
    )


def forest(frame):
    """Draw scores with their intervals as a forest plot, a panel a measure, a line a group and model.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``panel group label value ci_low ci_high n`` from `biaslib.comparisons.choose_rows`. With ``neutral``, a line
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
    _check_columns(frame, ("panel", "group", "label", "value", "ci_low", "ci_high", "n"))
    given = {"neutral": math.nan, "published": math.nan, "set": "A", "caution": ""}
    frame = frame.assign(**{column: default for column, default in given.items() if column not in frame})
    panels = [(panel, rows.assign(place=_forest_places(rows))) for panel, rows in frame.groupby("panel", sort=False)]
    heights = [0.19 * (rows["place"].max() + 2) + 0.75 for _, rows in panels]
    styles = {label: _forest_style(number) for number, label in enumerate(dict.fromkeys(frame["label"]))}
    with _style():
        figure = _figure(7.2, sum(heights) + 0.3 + 0.22 * math.ceil(len(styles) / 2))
        all_axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, (panel, rows) in zip(all_axes, panels, strict=True):
            _draw_forest(axes, rows, styles)
            axes.set_title(textwrap.fill(panel, 70))
            axes.set_xlabel("value (95 % interval)", fontsize=8)
        _forest_legend(figure, frame, styles)
    return figure


def top_word_bars(frame, first, second=""):
    """Draw the likeliest words of two sentences as pairs of bars, with their log ratio.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``word p_first p_second log_ratio`` from `biaslib.contrast.compare_sentences`; with a column ``model``, a panel
        each. Of a longer panel the first 40 words are drawn.
    first, second : str
        The sentences, for the legend; without `second`, single bars.

    Returns
    -------
    matplotlib.figure.Figure
        A word without an entry in a sentence has no bar there, and no ratio.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    _check_columns(frame, ("word", "p_first", "p_second", "log_ratio"))
    panels = [(model, rows.head(MOST_BARS)) for model, rows in _by_model(frame)]
    sides = {"p_first": first, "p_second": second} if second else {"p_first": first}
    sentences = ["\n".join(textwrap.wrap(sentence, 60)) for sentence in sides.values()]
    left = _label_inches(word for _, rows in panels for word in rows["word"])
    below = 0.6 + sum(0.19 * (sentence.count("\n") + 1) for sentence in sentences)
    heights = [0.12 + 0.25 * len(rows) for _, rows in panels]
    width, height = 5.6, below + sum(heights) + 0.5 * len(panels)
    most = max(rows[list(sides)].max().max() for _, rows in panels)
    with _style():
        # Laid out by hand, which takes half the time: this figure answers while one types.
        from matplotlib.figure import Figure

        figure, top = Figure(figsize=(width, height)), height
        for (model, rows), panel in zip(panels, heights, strict=True):
            top -= 0.5 + panel
            box = (left / width, top / height, (width - left - (0.75 if second else 0.2)) / width, panel / height)
            axes = figure.add_axes(box)
            _draw_word_bars(axes, rows, list(sides))
            axes.set_xlim(0, 1.04 * most)
            axes.set_title(model, parse_math=False)
        axes.set_xlabel("probability at the mask")
        bars = axes.containers[: len(sides)]
        legend = figure.legend(bars, sentences, loc="lower left", bbox_to_anchor=(0, 0))
        for text in legend.get_texts():
            text.set_parse_math(False)
    return figure


def contrast_bars(frame, title):
    """Draw the words that go with a name as a thing to the right, those that go with it as a person to the left.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``word log_ratio sentiment``, a row a bar; `sentiment` is empty where there is none.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        Colour and hatch are the sentiment's; white bars have none.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.
    """
    _check_columns(frame, ("word", "log_ratio", "sentiment"))
    rows = frame.sort_values("log_ratio", kind="stable")
    most = 1.06 * rows["log_ratio"].abs().max() or 1.0
    with _style():
        figure = _figure(5.6, 1.3 + 0.21 * len(rows))
        axes = figure.subplots()
        for sentiment in (*SENTIMENT_COLOURS, ""):
            chosen = (rows["sentiment"] == sentiment).to_numpy()
            if chosen.any():
                colour, hatch = SENTIMENT_COLOURS.get(sentiment, "white"), SENTIMENT_HATCHES.get(sentiment, "")
                style = {"color": colour, "hatch": hatch, "edgecolor": "#333333", "linewidth": 0.5}
                label = sentiment or "without sentiment"
                axes.barh(chosen.nonzero()[0], rows.loc[chosen, "log_ratio"], label=label, **style)
        for place, (word, ratio) in enumerate(zip(rows["word"].astype(str), rows["log_ratio"], strict=True)):
            side = "right" if ratio > 0 else "left"
            shown = f"{_clipped(word)} " if ratio > 0 else f" {_clipped(word)}"
            axes.text(0, place, shown, ha=side, va="center", fontsize=9, parse_math=False)
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_xlim(-most, most)
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("← as a person     log ratio     as a thing →")
        axes.set_title(title, parse_math=False)
        figure.legend(loc="outside lower center", ncols=2)
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
    _check_columns(frame, ("vectors", "decade", "value", "ci_low", "ci_high"))
    decades = sorted(frame["decade"].dropna().astype(int).unique())
    undated = list(dict.fromkeys(frame.loc[frame["decade"].isna(), "vectors"]))
    places = {decade: place for place, decade in enumerate(decades)}
    ends = {name: len(decades) + 0.5 + place for place, name in enumerate(undated)}
    with _style():
        figure = _figure(6.4, 3.4)
        axes = figure.subplots()
        axes.axhline(0, color="black", linewidth=0.8)
        for number, (name, rows) in enumerate(frame.groupby("vectors", sort=False)):
            at = [ends[name] if pd.isna(d) else places[int(d)] for d in rows["decade"]]
            _draw_decades(axes, rows.set_axis(at), number, name)
        ticks = [*places.values(), *ends.values()]
        names = [*(f"{decade}s" for decade in decades), *map(_clipped, undated)]
        axes.set_xticks(ticks, names, rotation=45, ha="right", parse_math=False)
        axes.set_ylabel(label)
        axes.set_title("\n".join(textwrap.wrap(title, 70)), parse_math=False)
        legend = figure.legend(loc="outside lower center", ncols=3)
        for text in legend.get_texts():
            text.set_parse_math(False)
    return figure


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
    _check_columns(frame, ("sentence", "text", "shared", *measures))
    lowest = {measure: min([-1e-12, *frame[measure].dropna()]) for measure in measures}
    names = {measure: _scaled_name(name, lowest[measure]) for measure, name in measures.items()}
    lines = [
        (titles[sentence] if start == 0 else "", rows.iloc[start : start + _TOKENS_IN_A_LINE])
        for sentence, rows in frame.groupby("sentence", sort=False)
        for start in range(0, len(rows), _TOKENS_IN_A_LINE)
    ]
    tall = [1.3 + len(measures) + 0.8 * (1 + title.count("\n")) * bool(title) for title, _ in lines]
    width = 1.5 + min(_TOKENS_IN_A_LINE, max(len(rows) for _, rows in lines))
    with _style():
        figure = _figure(0.2 + 0.66 * width, 0.2 + 0.27 * sum(tall))
        axes = figure.subplots()
        top = 0.0
        for (title, rows), height in zip(lines, tall, strict=True):
            _draw_strip(axes, rows, names, lowest, title, top + height - len(measures))
            top += height
        axes.set_xlim(-1.5, width - 1.5)
        axes.set_ylim(top + 0.2, 0)
        axes.axis("off")
    return figure


def object_bias_bars(frame, groups, title):
    """Draw the bias of each name as a bar with its interval, the highest first, in the colour of its group.

    It is made like Figure 3 of Takeshita, Rzepka & Araki (2022).

    Parameters
    ----------
    frame : pandas.DataFrame
        ``name n_human n_object bias ci_low ci_high`` from `biaslib.relatives.object_bias`; with a column ``model``, a
        panel each. A name without a bias has no bar and stands below; the marker of one without an interval is hollow.
        Beside each stands n, its sentences of either kind.
    groups : mapping or Series
        The group of each name.
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a column is missing, there is no row, or a name has no group.
    """
    _check_columns(frame, ("name", "n_human", "n_object", "bias", "ci_low", "ci_high"))
    panels = _by_model(frame)
    groups = groups_of(frame["name"].drop_duplicates(), groups)
    most = max(rows["bias"].notna().sum() for _, rows in panels)
    with _style():
        figure = _figure(1.2 + 3.2 * max(len(panels), 1.6), 1.8 + 0.17 * max(most, 6))
        all_axes = figure.subplots(1, len(panels), squeeze=False, sharex=True)[0]
        for axes, (model, rows) in zip(all_axes, panels, strict=True):
            _draw_bias(axes, rows, groups)
            axes.set_title(model)
        _group_legend(figure, groups.values())
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
    return figure


def pronoun_shares(counts, title):
    """Draw the shares of the five relative pronouns as a stacked bar a name, the one with most that and which first.

    It is made like Figures 8 to 10 of Takeshita, Rzepka & Araki (2022).

    Parameters
    ----------
    counts : pandas.DataFrame
        From `biaslib.relatives.count_relatives`; with a column ``corpus``, a panel each. Names without a pronoun are
        not drawn.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        Beside each bar stands how many pronouns it is of.

    Raises
    ------
    ValueError
        If a column is missing, there is no row, or no name has a pronoun.
    """
    _check_columns(counts, ("name", *PRONOUN_STYLES, "n", "share_object"))
    counts = counts[counts["n"] > 0]
    if counts.empty:
        raise ValueError("no name has a relative pronoun: there is nothing to draw")
    by_corpus = counts.groupby("corpus", sort=False, observed=True) if "corpus" in counts else [("", counts)]
    panels = [(str(corpus), rows) for corpus, rows in by_corpus]
    with _style():
        figure = _figure(1.6 + 3.6 * len(panels), 1.6 + 0.17 * max(len(rows) for _, rows in panels))
        all_axes = figure.subplots(1, len(panels), squeeze=False, sharex=True)[0]
        for axes, (corpus, rows) in zip(all_axes, panels, strict=True):
            _draw_pronouns(axes, rows.sort_values(["share_object", "n"], ascending=False, kind="stable"))
            axes.set_title(corpus)
        handles, labels = all_axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
    return figure


def show(figure, alt):
    """Give a figure as an image for the report, and close it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    alt : str
        What the figure shows, for readers who can't see it.

    Returns
    -------
    IPython.display.Image
        A PNG; `alt` is its alternative text and in its own metadata.

    Raises
    ------
    ValueError
        If `alt` is empty.
    """
    from IPython.display import Image
    from matplotlib import pyplot

    if not isinstance(alt, str) or not alt.strip():
        raise ValueError("alt is empty: say in a sentence what the figure shows")
    png = io.BytesIO()
    with _style():
        figure.savefig(png, format="png", dpi=_DPI, metadata={"Description": alt, "Software": None})
    pyplot.close(figure)
    return Image(data=png.getvalue(), format="png", alt=alt)


def table(frame, caption):
    """Give a frame as a table that can be searched and sorted without a network, with all its rows.

    Parameters
    ----------
    frame : pandas.DataFrame
    caption : str

    Returns
    -------
    IPython.display.HTML
        Needs `use_tables` once in the notebook.

    Raises
    ------
    ValueError
        If the caption is empty.
    """
    from IPython.display import HTML
    from itables import JavascriptFunction, to_html_datatable

    if not isinstance(caption, str) or not caption.strip():
        raise ValueError("caption is empty: say what the table holds")
    heading = f'<p class="table-caption"><strong>{html.escape(caption)}</strong></p>'
    if frame.empty:
        return HTML(f"{heading}<p>No row.</p>")
    is_number = [pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]
    with pd.option_context("display.float_format", "{:.4g}".format):
        drawn = to_html_datatable(
            frame,
            classes="display compact",
            columnDefs=[
                {"className": "dt-right", "targets": [n for n, number in enumerate(is_number) if number]},
                {
                    "className": "dt-left",
                    "targets": [n for n, number in enumerate(is_number) if not number],
                    "createdCell": JavascriptFunction(_EITHER_DIRECTION),
                },
            ],
            pageLength=15,
            lengthMenu=[15, 50, 200, {"value": -1, "label": "all"}],
            connected=False,
            maxBytes=0,
            maxRows=0,
            maxColumns=0,
            showIndex=False,
            allow_html=False,
            display_logo_when_loading=False,
        )
    return HTML(f'<section aria-label="{html.escape(caption)}">{heading}{drawn}</section>')


def notice(described):
    """Say which of a run's models are for trying out only.

    Parameters
    ----------
    described : list of dict
        From `biaslib.models.measure_each`.

    Returns
    -------
    IPython.display.Markdown
        Empty if there is none.
    """
    from IPython.display import Markdown

    trial = [model["name"] for model in described if model["for_trying_out"]]
    if not trial:
        return Markdown("")
    return Markdown(
        f"> **For trying out, not for findings.** The model `{trial[0]}` is a BERT of two layers that was trained for "
        "an hour, mostly on old novels. It shows how the measure works; it says nothing about models that people use."
    )


def use_tables():
    """Make `table` work in this notebook and in its HTML, offline; plain frames stay as they are."""
    from itables import init_notebook_mode

    init_notebook_mode(all_interactive=False, connected=False)


def _in_order(groups):
    """Split groups into those with a colour of their own, in its order, and the others as they come."""
    groups = list(dict.fromkeys(groups))
    return [group for group in GROUP_COLOURS if group in groups], [g for g in groups if g not in GROUP_COLOURS]


@contextmanager
def _style():
    import matplotlib

    with matplotlib.rc_context():
        # From matplotlib's own defaults, so that a user's style changes no report; the backend stays.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def _figure(width, height):
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _draw_tree(axes, clusters):
    from scipy.cluster import hierarchy

    hierarchy.dendrogram(
        clusters.linkage,
        orientation="left",
        no_labels=True,
        color_threshold=0,
        above_threshold_color="black",
        ax=axes,
    )
    axes.set_ylim(10 * len(clusters.names), 0)
    axes.spines["left"].set_visible(False)
    axes.set_yticks([])
    axes.set_xlabel("1 − rate")


def _draw_heat(axes, rates):
    # Rates lie close together: a scale from 0 would show little but one colour.
    low = min(0.9, math.floor(10 * rates.to_numpy().min()) / 10)
    image = axes.imshow(rates, cmap="cividis", vmin=low, vmax=1, aspect="auto", interpolation="nearest")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return image


def _label_names(axes, names, groups):
    styles = group_styles(groups.values())
    places = range(len(names))
    axes.yaxis.set_ticks_position("right")
    axes.set_yticks(places, [f"{_SYMBOLS[styles[groups[name]][1]]} {name}" for name in names], fontsize=8)
    axes.set_xticks(places, names, rotation=90, fontsize=8)
    for ticks in (axes.get_yticklabels(), axes.get_xticklabels()):
        for tick, name in zip(ticks, names, strict=True):
            tick.set_color(styles[groups[name]][0])
            tick.set_fontweight("normal" if groups[name] == "other" else "bold")


def _group_legend(figure, groups):
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="", marker=marker, color=colour, label=group, markersize=8)
        for group, (colour, marker) in group_styles(groups).items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


def _draw_shares(axes, rows, unit):
    wide = rows.pivot(index=[unit, "sentences"], columns="sentiment", values="share")
    keys = rows[[unit, "sentences"]].drop_duplicates().itertuples(index=False, name=None)
    units = list(itertools.chain(*_in_order(rows[unit])))
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


def _model_style(number):
    """Colour and hatch of the n-th of several models or lines."""
    return _MODEL_COLOURS[number % len(_MODEL_COLOURS)], _MODEL_HATCHES[number % len(_MODEL_HATCHES)]


def _draw_effects(axes, rows, places, thick, colour, hatch, model):
    d = rows["effect_size"]
    axes.barh(places, d.fillna(0), thick, color=colour, hatch=hatch, edgecolor="white", linewidth=0.3, label=model)
    for place, value, low, high in zip(places, d, rows["ci_low"], rows["ci_high"], strict=True):
        if math.isnan(value):
            axes.annotate(" no value", (0, place), va="center", fontsize=8, color="#595959")
        elif not math.isnan(low):
            axes.plot([low, high], [place, place], color="black", linewidth=0.9, solid_capstyle="butt")


def _model_marker(number):
    """Colour and marker of the n-th of several models, in figures of dots."""
    return _MODEL_COLOURS[number % len(_MODEL_COLOURS)], _MODEL_MARKERS[number % len(_MODEL_MARKERS)]


def _spelled(category):
    return str(category).replace("_", " ")


def _draw_effect_bands(axes):
    limits = list(A_LIMITS.values())
    axes.axvspan(1 - limits[0], limits[0], color="#EBEBEB", linewidth=0, zorder=0)
    for limit in limits[1:]:
        for side in (1 - limit, limit):
            axes.axvline(side, color="#999999", linewidth=0.5, linestyle=":", zorder=0)
    axes.axvline(0.5, color="black", linewidth=0.8, zorder=1)
    for label, low, high in zip([*A_LIMITS, "large"], [1 - limits[0], *limits], [*limits, 1], strict=True):
        middle = ((low + high) / 2, 1.01)
        axes.annotate(label, middle, xycoords=("data", "axes fraction"), ha="center", fontsize=7, color="#595959")


def _draw_confidence_effects(axes, rows, places, colour, marker, model):
    axes.plot([], [], marker, color=colour, label=model)
    for place, a, low, high in zip(places, rows["a"], rows["a_low"], rows["a_high"], strict=True):
        if math.isnan(a):
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            axes.annotate("no value", (0.5, place), ha="center", va="center", fontsize=7, color="#595959", bbox=box)
            continue
        if not math.isnan(low):
            axes.plot([low, high], [place, place], color=colour, linewidth=1.6, solid_capstyle="butt", zorder=2)
        axes.plot(a, place, marker, color=colour, markersize=6, markeredgecolor="white", clip_on=False, zorder=3)


def _draw_confidences(axes, rows, categories):
    scored = rows.dropna(subset=["male", "female"])
    parts = {category: scored[scored["category"] == category] for category in categories}
    for side, (gender, (colour, marker)) in enumerate(GENDER_STYLES.items()):
        axes.plot([], [], marker, color=colour, label=gender)
        for number, part in enumerate(parts.values()):
            place = number + 0.4 * (side - 0.5)
            # Spread evenly rather than at random: the same frame makes the same figure.
            spread = [place + 0.24 * ((i * 0.618034) % 1 - 0.5) for i in range(len(part))]
            axes.plot(spread, part[gender], marker, color=colour, markersize=3, alpha=0.6, markeredgewidth=0)
            if len(part):
                line = {"color": "black", "linewidth": 1.0}
                axes.boxplot(
                    part[gender],
                    positions=[place],
                    widths=0.3,
                    showfliers=False,
                    manage_ticks=False,
                    boxprops=line,
                    whiskerprops=line,
                    capprops=line,
                    medianprops=line | {"linewidth": 2.0},
                )
    labels = [f"{textwrap.fill(_spelled(name), 11)}\nn = {len(part)}" for name, part in parts.items()]
    axes.set_xticks(range(len(categories)), labels, fontsize=8)
    axes.set_xlim(-0.5, len(categories) - 0.5)
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("confidence")


def _draw_scores(axes, rows, places, number, model):
    """Draw points with their intervals, and published values beside."""
    colour, _ = _model_style(number)
    _, marker = _LINES[number % len(_LINES)]
    axes.plot(rows["score"], places, marker, color=colour, markersize=6, label=model or None)
    for place, row in zip(places, rows.itertuples(), strict=True):
        if math.isnan(row.score):
            axes.annotate(" no value", (50, place), va="center", fontsize=8, color="#595959")
        elif not math.isnan(row.ci_low):
            axes.plot([row.ci_low, row.ci_high], [place, place], color=colour, linewidth=1.4)
    if "published" in rows:
        axes.plot(rows["published"], places, "d", color="black", markerfacecolor="white", markersize=5)


def _clipped(text, most=24):
    """Shorten a label that would leave no room for what it labels."""
    text = " ".join(str(text).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _label_inches(texts):
    return min(2.1, 0.3 + 0.09 * max(len(_clipped(text)) for text in texts))


def _draw_word_bars(axes, rows, columns):
    thick = 0.8 / len(columns)
    for number, column in enumerate(columns):
        colour, hatch = _model_style(number)
        places = [place + thick * (number - (len(columns) - 1) / 2) for place in range(len(rows))]
        style = {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.3}
        axes.barh(places, rows[column].fillna(0), thick, **style)
    # Texts rather than ticks, which take most of the time that such a figure needs.
    left, right = (axes.get_yaxis_transform() for _ in range(2))
    for place, (word, ratio) in enumerate(zip(rows["word"], rows["log_ratio"], strict=True)):
        shown = _clipped(word)
        axes.text(-0.015, place, shown, transform=left, ha="right", va="center", parse_math=False)
        if not math.isnan(ratio):
            axes.text(1.03, place, _signed(ratio), transform=right, va="center", fontsize=9)
    if len(columns) > 1:
        axes.text(1.03, -0.75, "log ratio", transform=right, va="bottom", fontsize=8)
    axes.set_yticks([])
    axes.set_ylim(len(rows) - 0.45, -0.6)
    axes.locator_params(axis="x", nbins=4)


def _draw_decades(axes, rows, number, name):
    """Draw one set of vectors; the index holds the places on the x axis."""
    colour, marker = _model_marker(number)
    line, _ = _LINES[number % len(_LINES)]
    dated, undated = rows[rows["decade"].notna()], rows[rows["decade"].isna()]
    axes.plot(dated.index, dated["value"], line, marker=marker, color=colour, label=name if len(dated) else None)
    axes.fill_between(dated.index, dated["ci_low"], dated["ci_high"], color=colour, alpha=0.15, linewidth=0)
    axes.plot(undated.index, undated["value"], marker, color=colour, label=None if len(dated) else name)
    axes.vlines(undated.index, undated["ci_low"], undated["ci_high"], color=colour, linewidth=1.6)
    missing = rows.index[rows["value"].isna()]
    if len(missing):
        style = {"transform": axes.get_xaxis_transform(), "color": colour, "markersize": 7, "clip_on": False}
        axes.plot(missing, [0.03 + 0.05 * number] * len(missing), "x", label=f"{name}: no value", **style)


def _minus(number):
    return number.replace("-", "−")


def _signed(number):
    return _minus(f"{number:+.2f}")


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
            _clipped(text, 10),
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
            shown = "–" if math.isnan(value) else _minus(f"{value / 10.0 ** _exponent(lowest[measure]):.2f}")
            axes.text(place + 0.5, top + row + 0.5, shown, ha="center", va="center", fontsize=7, color=ink)


def _by_model(frame):
    if "model" not in frame:
        return [("", frame)]
    return [(str(model), rows) for model, rows in frame.groupby("model", sort=False, observed=True)]


def _check_columns(frame, wanted):
    check_columns(frame, wanted)
    if frame.empty:
        raise ValueError("the frame has no row: there is nothing to draw")


def _own_font(frame, language):
    """Give what a frame calls a language in itself, with fonts that draw it; "" where none does."""
    own = frame.loc[frame["language"] == language, "label"].iloc[0] if "label" in frame else ""
    families = text_font(own, language)
    return (own, families) if families else ("", [])


def _drawn_by(family, characters):
    """Give the characters that a font draws; none if it is not installed."""
    from matplotlib import font_manager

    if family not in font_manager.get_font_names():
        return set()
    font = font_manager.get_font(font_manager.findfont(family, fallback_to_default=False))
    return {character for character in characters if font.get_char_index(ord(character))}


def _forest_style(number):
    """Colour and marker of the n-th of many lines: another marker for a colour that comes again."""
    markers = _MODEL_MARKERS
    return _MODEL_COLOURS[number % len(_MODEL_COLOURS)], markers[(number + number // len(markers)) % len(markers)]


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
    axes.set_yticks(middle, [textwrap.fill(_spelled(group), 34) for group in middle.index], fontsize=8)
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


def _draw_bias(axes, rows, groups):
    drawn = rows.dropna(subset=["bias"]).sort_values("bias", ascending=False, kind="stable")
    styles = group_styles(groups.values())
    axes.axvline(0, color="black", linewidth=0.8, zorder=1)
    for place, row in enumerate(drawn.itertuples()):
        colour, marker = styles[groups[row.name]]
        axes.barh(place, row.bias, 0.7, color=colour, alpha=0.4, zorder=2)
        # A bias of 0 has no bar: the marker shows that it was measured.
        bounded = not math.isnan(row.ci_low)
        face = {"markerfacecolor": colour if bounded else "white", "markeredgecolor": "white" if bounded else colour}
        axes.plot(row.bias, place, marker, markersize=5, markeredgewidth=0.3 if bounded else 0.9, zorder=4, **face)
        if bounded:
            axes.plot([row.ci_low, row.ci_high], [place, place], color="black", linewidth=0.9, zorder=3)
        beside = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 7, "color": "#595959"}
        axes.annotate(f" {row.n_human}+{row.n_object}", (1, place), **beside)
    axes.set_yticks(range(len(drawn)), drawn["name"], fontsize=8)
    for tick, name in zip(axes.get_yticklabels(), drawn["name"], strict=True):
        tick.set_color(styles[groups[name]][0])
        tick.set_fontweight("normal" if groups[name] == "other" else "bold")
    axes.set_ylim(max(len(drawn), 1) - 0.4, -0.6)
    axes.set_xlim(-1.05, 1.05)
    missing = rows.loc[rows["bias"].isna(), "name"].tolist()
    label = "← person     bias (95 % interval)     thing →\nright: n of who, whose, whom + n of that, which"
    if (drawn["ci_low"].isna()).any():
        label += "\nhollow: too few sentences for an interval"
    without = textwrap.fill(f"no value ({len(missing)}): {', '.join(missing)}", 62) if missing else ""
    axes.set_xlabel(f"{label}\n{without}" if missing else label, fontsize=9)


def _draw_pronouns(axes, rows):
    places, start = range(len(rows)), pd.Series(0.0, index=rows.index)
    for pronoun, (colour, hatch) in PRONOUN_STYLES.items():
        share = rows[pronoun] / rows["n"]
        style = {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.3}
        axes.barh(places, share, 0.8, left=start, label=pronoun, **style)
        start = start + share
    for place, n in zip(places, rows["n"], strict=True):
        axes.annotate(f" {n:,}", (1, place), va="center", fontsize=7)
    axes.set_yticks(places, rows["name"], fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of the relative pronouns")
