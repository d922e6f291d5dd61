"""Shares of sentences that keep their gender in translation."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from biaslib.plots._marks import bar_style, draw_intervals, language_names, name_rows, note_beside, say_missing
from biaslib.plots.fonts import text_font
from biaslib.plots.style import FONT, GENDER_STYLES, check_not_empty, in_rows, one_panel


def retention_bars(frame: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw the shares of sentences that keep their gender in the target language.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``language gender n share ci_low ci_high`` from `biaslib.metrics.retention`, male and female rows; with
        ``label``, the language's own name or words for its genders, written beside its name where a font has them.
    title : str
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        Beside each bar stands n.

    Raises
    ------
    ValueError
        If a column is missing or the frame has no male or female row.

    Examples
    --------
    >>> frame = pd.DataFrame({"language": "de", "gender": ["male", "female"], "n": [102, 101], "share": [0.55, 0.61]})
    >>> figure = retention_bars(frame.assign(ci_low=[0.45, 0.52], ci_high=[0.64, 0.70]))
    >>> figure.axes[0].get_yticklabels()[0].get_text()
    'German'
    """
    frame = frame[frame["gender"].isin(GENDER_STYLES)] if "gender" in frame else frame
    check_not_empty(frame, ("language", "gender", "n", "share", "ci_low", "ci_high"))
    languages = list(dict.fromkeys(frame["language"]))
    with one_panel(ax, 6.4, 1.1 + 0.5 * len(languages), title) as axes:
        for _, _, rows in in_rows(frame, "language", series="gender"):
            gender = rows["gender"].iloc[0]
            style = bar_style(GENDER_STYLES[gender])
            axes.barh(rows["place"], rows["share"].fillna(0), 0.4, label=f"{gender} sentences", **style)
            draw_intervals(axes, rows)
            note_beside(axes, rows["place"], [f"n = {n:,}" for n in rows["n"]])
            say_missing(axes, rows.loc[rows["share"].isna(), "place"])
        _name_languages(axes, frame, languages)
        axes.set_xlim(0, 1)
        axes.set_xlabel("share of target sentences with a word for their gender (95 % interval)")
    return axes.figure


def _name_languages(axes, frame, languages):
    """Write the names of languages and, where a font has them, their own labels."""
    own = frame.drop_duplicates("language").set_index("language")["label"] if "label" in frame else {}
    fonts = {language: text_font(own[language], language) if language in own else [] for language in languages}
    names = dict(zip(languages, language_names(languages), strict=True))
    name_rows(axes, [f"{names[x]} ({own[x]})" if fonts[x] else names[x] for x in languages])
    for tick, families in zip(axes.get_yticklabels(), fonts.values(), strict=True):
        tick.set_fontfamily([FONT, *families])
