"""English words by gender, and how words are compared with those of a text."""

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from biaslib._checks import as_sentences
from biaslib.io._sources import find_file
from biaslib.io._text_files import iterate_lines
from biaslib.io.tables import read_table

GENDERS = ("male", "female")
_EMBEDDED = ("gender_words_english.csv",)
_SAME = str.maketrans(
    dict.fromkeys("’‘ʼ＇`´", "'") | dict.fromkeys("‐‑", "-") | {"\N{SOFT HYPHEN}": None},
)
# A word with its hyphens and inner apostrophes; then, apart from it as tokenizers leave it, a possessive's mark.
WORD = re.compile(r"(\w+(?:[-']\w+)*)(\s?'\s?s(?![\w'-])|\s?'(?!\w))?")


def read_gender_words(name_or_path: str | Path = "gender_words_english", female: str | Path | None = None):
    """Read English words by gender.

    Parameters
    ----------
    name_or_path : str or Path
        ``"gender_words_english"``, an embedded list; a table with the columns ``male`` and ``female`` and optionally
        ``kind``, in which the words of a row need not be a pair and a cell may be empty; or, with `female`, a text
        file with one male word per line.
    female : str or Path, optional
        A text file with one female word per line.

    Returns
    -------
    pandas.DataFrame
        ``gender word kind``, male words first, without duplicates. Underscores are read as spaces.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a column or all words of a gender are missing, or a word is of both genders.

    Examples
    --------
    >>> read_gender_words().loc[0].tolist()
    ['male', 'he', 'pronoun']
    """
    if female is None:
        path = find_file(name_or_path, "list of words", _EMBEDDED)
        frame = read_table(path, needed=GENDERS, strip=True)
        kinds = frame["kind"] if "kind" in frame else [""] * len(frame)
        rows = [(gender, word, kind) for gender in GENDERS for word, kind in zip(frame[gender], kinds, strict=True)]
    else:
        files = zip(GENDERS, (name_or_path, female), strict=True)
        found = [(gender, find_file(source, "list of words", data_sets=True)) for gender, source in files]
        rows = [(gender, word, "") for gender, path in found for word in iterate_lines(path)]
    words = pd.DataFrame(rows, columns=["gender", "word", "kind"])
    words["word"] = words["word"].str.replace("_", " ").str.strip()
    words = words[words["word"] != ""].drop_duplicates(["gender", "word"], ignore_index=True)
    index_words(*(words.loc[words["gender"] == gender, "word"] for gender in GENDERS))
    return words


def normal_form(text: str) -> str:
    """Return a text in the form in which words are compared."""
    text = text if text.isascii() else unicodedata.normalize("NFC", text)
    return text.translate(_SAME).casefold()


def index_words(male_words: Sequence[str], female_words: Sequence[str]) -> tuple[dict, dict]:
    """Map each word to (gender, word), and each phrase's first word to a list of (all its words, gender, phrase)."""
    single, phrases, genders = {}, {}, {}
    for gender, words in zip(GENDERS, (male_words, female_words), strict=True):
        words = as_sentences(words, f"the {gender} words")
        if not words:
            raise ValueError(f"there is no {gender} word: give at least one")
        for word in words:
            parts = tuple(match[1] for match in WORD.finditer(normal_form(word).replace("_", " ")))
            if not parts:
                raise ValueError(f"the {gender} word {word!r} has no letter: leave it out")
            if genders.setdefault(parts, gender) != gender:
                raise ValueError(f"{word!r} is in both lists: leave it in one")
            if len(parts) == 1:
                single.setdefault(parts[0], (gender, word))
            else:
                phrases.setdefault(parts[0], []).append((parts, gender, word))
    return single, phrases
