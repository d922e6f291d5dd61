"""Fonts that draw the scripts of a run's languages."""

import unicodedata
from collections.abc import Mapping

from IPython.display import Markdown
from matplotlib import font_manager, ft2font

from biaslib.io.languages import read_language
from biaslib.plots.style import FONT


def text_font(text: str, language: str) -> list[str]:
    """Find installed fonts that together draw a text of some language.

    Parameters
    ----------
    text : str
    language : str
        Its code: Japanese and Chinese share characters but not their shapes.

    Returns
    -------
    list of str
        Font families, in the order in which they are needed; empty if a character would come out as a box, or if
        letters written from right to left would not be joined (matplotlib joins them from version 3.11 on). Leave such
        a text to a `table`, where the reader's browser draws it, and see `missing_fonts`.

    Examples
    --------
    >>> text_font("Müller, Иванов", "ru")
    ['DejaVu Sans']
    """
    is_shaped = hasattr(ft2font, "__libraqm_version__")
    if not is_shaped and any(unicodedata.bidirectional(character) in ("R", "AL") for character in text):
        return []
    left = {character for character in text if not character.isspace() and unicodedata.category(character) != "Cf"}
    families = []
    for family in (FONT, *read_language(language).fonts):
        drawn = _drawn_by(family, left)
        if drawn:
            families.append(family)
            left -= drawn
    return [] if left else families


def missing_fonts(texts: Mapping[str, str]) -> Markdown:
    """Name the packages that provide the fonts that figures lack.

    Parameters
    ----------
    texts : mapping of str to str
        From a language's code to a text in it.

    Returns
    -------
    IPython.display.Markdown
        Empty if every text can be drawn.

    Examples
    --------
    >>> missing_fonts({"de": "Größe", "ru": "она"}).data
    ''
    """
    lacking = [read_language(code) for code, text in texts.items() if not text_font(text, code)]
    if not lacking:
        return Markdown("")
    names = ", ".join(language.name for language in lacking)
    packages = sorted({language.font_package for language in lacking})
    return Markdown(
        f"> No installed font covers {names}: figures show the name of the language instead, tables show the text. On "
        f"Debian and Ubuntu, run `apt-get install {' '.join(packages)}`; elsewhere, install the Noto fonts of the "
        "script."
    )


def _drawn_by(family, characters):
    """Return the characters that a font draws; none if it is not installed."""
    if family not in font_manager.get_font_names():
        return set()
    font = font_manager.get_font(font_manager.findfont(family, fallback_to_default=False))
    return {character for character in characters if font.get_char_index(ord(character))}
