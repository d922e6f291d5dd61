"""Languages of the MBE study: their names, the words that tell genders apart, given names and fonts.

A language is one YAML file in ``biaslib/data/languages``, named by its code.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

from biaslib._checks import check_columns, listed
from biaslib._files import DATA, read_yaml
from biaslib.io._sources import find_file
from biaslib.io.gender_words import GENDERS
from biaslib.io.tables import read_table

UNGENDERED = "none"
_FOLDER = DATA / "languages"
_RETENTION_COLUMNS = ("gender", "word", "note")
_NATIVE_COLUMNS = ("gender", "name")
_TRANSLITERATED_COLUMNS = ("gender", "english", "name")


@dataclass(frozen=True)
class Language:
    """What is known of a language.

    Attributes
    ----------
    code : str
        In lower case, such as ``"de"``.
    name, own_name, script : str
        Its name in English and in itself, and the script it is written in.
    spaces : bool
        Whether words are separated by spaces.
    standalone_characters : str
        Without spaces, a range of characters: a word of these alone is found only where none of them is next to it.
    same_letters : tuple of str
        Letters that count as one, such as ``"её"``.
    optional_marks : str
        A range of characters that may follow any letter.
    prefixes : tuple of dict
        What may be written together with the next word, in order: for words of at least ``min_letters`` letters, one
        of ``written``.
    retention_words : pandas.DataFrame
        ``gender word note``: the words by which the language tells women from men. The gender ``none`` is for words of
        neither. A note that begins with "ambiguous" marks words that have other meanings (German *sie*: she, they).
    not_pronouns : tuple of str
        Words that contain one of these words without being it.
    native_names : pandas.DataFrame
        ``gender name``: given names.
    transliterated_names : pandas.DataFrame
        ``gender english name``: English names as the language writes them.
    fonts : tuple of str
        Fonts that have its script, the most fitting first, if common ones lack it.
    font_package : str
        The Debian package that brings the first of these fonts.
    """

    code: str
    name: str
    retention_words: pd.DataFrame
    native_names: pd.DataFrame
    transliterated_names: pd.DataFrame
    own_name: str = ""
    script: str = ""
    spaces: bool = True
    standalone_characters: str = ""
    same_letters: tuple[str, ...] = ()
    optional_marks: str = ""
    prefixes: tuple[dict, ...] = ()
    not_pronouns: tuple[str, ...] = ()
    fonts: tuple[str, ...] = ()
    font_package: str = "fonts-noto-core"


def read_language(code: str) -> Language:
    """Read what is known of a language.

    Parameters
    ----------
    code : str
        Such as ``"de"``; of ``"zh_cn"``, the first part counts.

    Returns
    -------
    Language
        A language without a file has its code for a name, spaces, and no lists.

    Raises
    ------
    ValueError
        If it is not a code, or the file of the language is invalid.

    Examples
    --------
    >>> german = read_language("de-AT")
    >>> german.name, german.native_names["name"].head(2).tolist()
    ('German', ['Lukas', 'Felix'])
    """
    code = primary(code)
    content = {"name": code} | _content_of(code)
    lists = {name: tuple(value) for name, value in content.items() if isinstance(value, list)}
    words = _listed_by_gender(content.get("retention_words"))
    native = _listed_by_gender(content.get("native_names"))
    written = _listed_by_gender(content.get("transliterated_names"))
    spelled = [(gender, english, name) for gender, english, names in written for name in names]
    frames = {
        "retention_words": pd.DataFrame(words, columns=list(_RETENTION_COLUMNS), dtype=str),
        "native_names": pd.DataFrame(native, columns=list(_NATIVE_COLUMNS), dtype=str),
        "transliterated_names": pd.DataFrame(spelled, columns=list(_TRANSLITERATED_COLUMNS), dtype=str),
    }
    return Language(code, **content | lists | frames)


def list_languages() -> pd.DataFrame:
    """List the languages that have a file.

    Returns
    -------
    pandas.DataFrame
        ``code name own_name script``, by code.

    Examples
    --------
    >>> list_languages().set_index("code").loc["ja"].tolist()
    ['Japanese', '日本語', 'Japanese']
    """
    found = [read_language(path.stem) for path in sorted(_FOLDER.glob("*.yaml"))]
    columns = ["code", "name", "own_name", "script"]
    return pd.DataFrame([[getattr(language, column) for column in columns] for language in found], columns=columns)


def read_retention_words(language: str, path: str | Path | None = None) -> pd.DataFrame:
    """Read the words by which a language tells women from men.

    Parameters
    ----------
    language : str
        Its code.
    path : str or Path, optional
        A table with the columns ``language gender word`` and optionally ``note``; by default the embedded lists.

    Returns
    -------
    pandas.DataFrame
        ``gender word note``, as in `Language`, and further columns of the table.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If there are no words of the language, a gender is unknown, or a word is repeated.

    Examples
    --------
    >>> read_retention_words("ja").query("gender == 'female'")["word"].tolist()
    ['彼女', 'かのじょ']
    """
    if path is None:
        words = read_language(language).retention_words
        if words.empty:
            known = [code for code in list_languages()["code"] if len(read_language(code).retention_words)]
            raise ValueError(f"no embedded retention words for {language!r}: known are those of {listed(known)}")
    else:
        words = read_rows_of(path, language, ("gender", "word"))
    return check_retention_words(words)


def check_retention_words(words: pd.DataFrame) -> pd.DataFrame:
    """Return words with their genders if these are known and no word is repeated."""
    check_columns(words, ["gender", "word"], "the retention words")
    known = (*GENDERS, UNGENDERED)
    unknown = sorted(set(words["gender"]) - set(known))
    if unknown:
        raise ValueError(f"unknown gender {unknown[0]!r}; use one of {listed(known)}")
    twice = words.loc[words["word"].duplicated(), "word"].tolist()
    if twice:
        raise ValueError(f"the word {twice[0]!r} is given twice: give each once")
    return words


def read_rows_of(path: str | Path, language: str, columns: tuple[str, ...]) -> pd.DataFrame:
    """Read a table with a column ``language`` and return the rows of one language without that column."""
    file = find_file(path, "table")
    table = read_table(file, needed=["language", *columns], strip=True)
    known = table["language"].str.lower()
    rows = table[known == primary(language)]
    if rows.empty:
        raise ValueError(f"{str(file)!r} has no row for {language!r}: it has {listed(sorted(set(known)))}")
    return rows.drop(columns="language").reset_index(drop=True)


def primary(language: str) -> str:
    """Return the first part of a language's code, in lower case."""
    if not isinstance(language, str) or not re.match(r"[A-Za-z]{2,3}(?![A-Za-z])", language.strip()):
        raise ValueError(f"language must be a code such as 'de', not {language!r}")
    return re.split(r"[-_]", language.strip().lower())[0]


@cache
def _content_of(code):
    path = _FOLDER / f"{code}.yaml"
    return read_yaml(path, mapping=True) if path.is_file() else {}


def _listed_by_gender(content):
    """Give (gender, entry) of lists by gender, (gender, key, value) of mappings by gender."""
    rows = []
    for gender, entries in (content or {}).items():
        for entry in entries.items() if isinstance(entries, dict) else zip(entries, strict=True):
            rows.append((gender, *entry))
    return rows
