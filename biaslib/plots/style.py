"""Colours, marks and fonts that all figures share."""

import itertools
import math
import unicodedata
from contextlib import contextmanager

from biaslib._checks import check_columns
from biaslib.io.languages import read_language

GROUP_COLOURS = {"farm": "#D55E00", "companion": "#0072B2", "other": "#000000", "human": "#009E73"}
GROUP_MARKERS = {"farm": "s", "companion": "o", "other": "^", "human": "*"}
GENDER_STYLES = {"male": ("#D55E00", "o"), "female": ("#0072B2", "^")}
_SPARE_COLOURS = ("#CC79A7", "#56B4E9", "#E69F00", "#666666")
_SPARE_MARKERS = "DvPXhp<>d8"
LINES = (("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"))
MODEL_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
MODEL_MARKERS = "os^Dvp"
_MODEL_HATCHES = ("", "//", "..", "xx", "\\\\", "--")
FONT = "DejaVu Sans"
DPI = 120
_STYLE = {
    "font.family": FONT,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.prop_cycle": "cycler('color', ['black'])",
    "figure.dpi": DPI,
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
    own, further = in_order(groups)
    known = {group: (GROUP_COLOURS[group], GROUP_MARKERS[group]) for group in own}
    spare = zip(itertools.cycle(_SPARE_COLOURS), itertools.cycle(_SPARE_MARKERS), strict=False)
    return known | dict(zip(sorted(further), spare, strict=False))


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
    for family in (FONT, *read_language(language).fonts):
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

    lacking = [read_language(code) for code, text in texts.items() if not text_font(text, code)]
    if not lacking:
        return Markdown("")
    names = ", ".join(language.name for language in lacking)
    packages = sorted({language.font_package for language in lacking})
    return Markdown(
        f"> No font here draws {names} in figures, which show names of languages instead; tables have the text. Debian "
        f"and Ubuntu: `apt-get install {' '.join(packages)}`; elsewhere install the Noto fonts of the script."
    )


def in_order(groups):
    """Split groups into those with a colour of their own, in its order, and the others as they come."""
    groups = list(dict.fromkeys(groups))
    return [group for group in GROUP_COLOURS if group in groups], [g for g in groups if g not in GROUP_COLOURS]


@contextmanager
def figure_style():
    import matplotlib

    with matplotlib.rc_context():
        # From matplotlib's own defaults, so that a user's style changes no report; the backend stays.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def new_figure(width, height):
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def model_style(number):
    """Colour and hatch of the n-th of several models or lines."""
    return MODEL_COLOURS[number % len(MODEL_COLOURS)], _MODEL_HATCHES[number % len(_MODEL_HATCHES)]


def model_marker(number):
    """Colour and marker of the n-th of several models, in figures of dots."""
    return MODEL_COLOURS[number % len(MODEL_COLOURS)], MODEL_MARKERS[number % len(MODEL_MARKERS)]


def draw_scores(axes, rows, places, number, model):
    """Draw points with their intervals, and published values beside."""
    colour, _ = model_style(number)
    _, marker = LINES[number % len(LINES)]
    axes.plot(rows["score"], places, marker, color=colour, markersize=6, label=model or None)
    for place, row in zip(places, rows.itertuples(), strict=True):
        if math.isnan(row.score):
            axes.annotate(" no value", (50, place), va="center", fontsize=8, color="#595959")
        elif not math.isnan(row.ci_low):
            axes.plot([row.ci_low, row.ci_high], [place, place], color=colour, linewidth=1.4)
    if "published" in rows:
        axes.plot(rows["published"], places, "d", color="black", markerfacecolor="white", markersize=5)


def clipped(text, most=24):
    """Shorten a label that would leave no room for what it labels."""
    text = " ".join(str(text).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def label_inches(texts):
    return min(2.1, 0.3 + 0.09 * max(len(clipped(text)) for text in texts))


def minus(number):
    return number.replace("-", "−")


def signed(number):
    return minus(f"{number:+.2f}")


def panels_by_model(frame):
    if "model" not in frame:
        return [("", frame)]
    return [(str(model), rows) for model, rows in frame.groupby("model", sort=False, observed=True)]


def check_not_empty(frame, wanted):
    check_columns(frame, wanted)
    if frame.empty:
        raise ValueError("the frame has no row: there is nothing to draw")


def _drawn_by(family, characters):
    """Give the characters that a font draws; none if it is not installed."""
    from matplotlib import font_manager

    if family not in font_manager.get_font_names():
        return set()
    font = font_manager.get_font(font_manager.findfont(family, fallback_to_default=False))
    return {character for character in characters if font.get_char_index(ord(character))}
