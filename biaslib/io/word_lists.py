"""Lists of words and names, by group."""

import csv
import gzip
import io
import os
import re
import unicodedata
import zlib
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from biaslib._checks import as_sentences
from biaslib._files import DATA
from biaslib._frames import check_names
from biaslib.io.datasets import dataset_path


def read_names(name_or_path):
    """Read the names that go into the templates, with their groups.

    Parameters
    ----------
    name_or_path : str or Path
        ``"animals"`` (the speciesism study's 46 names, its Table 1, in groups of ours) or a CSV file with the
        columns ``name`` and ``group``; further columns are kept.

    Returns
    -------
    pandas.DataFrame
        In file order; text stays text ("NA" and "null" are names).

    Raises
    ------
    ValueError
        If there is no such list or file, a column is missing, a group is empty, or names repeat.

    Examples
    --------
    >>> read_names("animals").groupby("group").size().to_dict()
    {'companion': 5, 'farm': 7, 'human': 1, 'other': 33}
    """
    embedded = DATA / f"{name_or_path}.csv"
    path = embedded if str(name_or_path) == "animals" else Path(name_or_path)
    if not path.is_file():
        raise ValueError(f"no names {str(name_or_path)!r}: give 'animals' or a CSV file with columns name and group")
    frame = read_text_columns(path, ("name", "group"))
    if "wikipedia_frequency" in frame:
        frame["wikipedia_frequency"] = pd.to_numeric(frame["wikipedia_frequency"], errors="coerce")
    check_names(frame["name"])
    without = frame.loc[frame["group"].str.strip() == "", "name"]
    if len(without):
        raise ValueError(f"{path} has no group for {', '.join(without)}")
    return frame


def read_text_columns(path, wanted=()):
    """Read a CSV file whose fields are all texts.

    Parameters
    ----------
    path : str or Path
        UTF-8, with a header; separated by commas.
    wanted : sequence of str
        Columns that it has to have.

    Returns
    -------
    pandas.DataFrame
        In file order, nothing converted ("NA" and "" stay texts).

    Raises
    ------
    ValueError
        If it is no such file, a row has more or fewer fields than the header, a column comes twice or is missing.
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *rows = [row for row in csv.reader(file, strict=True) if row]
    except (csv.Error, UnicodeDecodeError, ValueError) as error:
        raise ValueError(f"{path} is not readable CSV: {' '.join(str(error).split())}") from None
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise ValueError(
                f"{path} has {len(row)} fields in row {number} and {len(header)} in its header: quote commas"
            )
    header = [column.strip() for column in header]
    repeated = sorted({column for column in header if header.count(column) > 1})
    if repeated:
        raise ValueError(f"{path} has two columns called {', '.join(repeated)}: give each its own name")
    missing = sorted(set(wanted) - set(header))
    if missing:
        found = ", ".join(header)
        raise ValueError(
            f"{path} lacks the column(s) {', '.join(missing)}, it has: {found}; separate columns by commas"
        )
    return pd.DataFrame(rows, columns=header, dtype=str)


GENDERS = ("male", "female")
_BOM = b"\xef\xbb\xbf"
_SAME = str.maketrans(
    dict.fromkeys("’‘ʼ＇`´", "'") | dict.fromkeys("‐‑", "-") | {"\N{SOFT HYPHEN}": None},
)
# A word with its hyphens and inner apostrophes; then, apart from it as tokenizers leave it, a possessive's mark.
WORD = re.compile(r"(\w+(?:[-']\w+)*)(\s?'\s?s(?![\w'-])|\s?'(?!\w))?")


def read_gender_words(name_or_path="gender_words_english", female=None):
    """Read English words by gender.

    Parameters
    ----------
    name_or_path : str or Path
        ``"gender_words_english"``, our own list, or a CSV file with the columns ``male`` and ``female`` and perhaps
        ``kind``; a row's words need not be a pair, and a field may be empty. With `female`, a text file of male words,
        one a line.
    female : str or Path, optional
        A text file of female words, one a line.

    Returns
    -------
    pandas.DataFrame
        ``gender word kind``, male words first, each once; an underscore is read as a space.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a column or all words of a gender are missing, or a word is of both genders.
    """
    if female is not None:
        sides = {
            "male": list(read_lines(find_parallel(name_or_path))),
            "female": list(read_lines(find_parallel(female))),
        }
        rows = [(gender, word, "") for gender, words in sides.items() for word in words]
    else:
        frame = read_word_rows(name_or_path, "gender_words_english", ("male", "female"))
        kinds = frame["kind"] if "kind" in frame else [""] * len(frame)
        rows = [(gender, word, kind) for gender in GENDERS for word, kind in zip(frame[gender], kinds, strict=True)]
    words = pd.DataFrame(rows, columns=["gender", "word", "kind"])
    words["word"] = words["word"].str.replace("_", " ").str.strip()
    words = words[words["word"] != ""].drop_duplicates(["gender", "word"], ignore_index=True)
    index_words(*(words.loc[words["gender"] == gender, "word"] for gender in GENDERS))
    return words


def read_word_rows(name_or_path, embedded, columns):
    """Read a CSV file of words, by path or as the embedded list of a name.

    Parameters
    ----------
    name_or_path : str or Path
    embedded : str
        The name that stands for the embedded list.
    columns : sequence of str
        What it has to have; further columns are kept.

    Returns
    -------
    pandas.DataFrame
        All fields as text ("NA" is a word), without white space around.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is not a table or lacks a column.
    """
    path = DATA / f"{embedded}.csv" if str(name_or_path) == embedded else Path(name_or_path)
    if not path.is_file():
        raise FileNotFoundError(f"no list {str(name_or_path)!r}: give {embedded!r} or a CSV file")
    return read_text_columns(path, columns).apply(lambda column: column.str.strip())


def find_parallel(source):
    """Find a file or folder by path, the embedded sample or a data set by name."""
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"parallel text is given by path or name, not as a {type(source).__name__}")
    path = Path(source).expanduser()
    if path.exists():
        return path
    if source == "parallel_en_de":
        return DATA / "parallel_en_de.tsv"
    if isinstance(source, str) and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", source):
        return dataset_path(source)
    raise FileNotFoundError(f"no file {str(source)!r}: check the path")


def open_bytes(path):
    with open(path, "rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return io.BufferedReader(gzip.open(path)) if compressed else open(path, "rb")


def read_lines(path):
    """Give a file's lines, which end with a line feed and nothing else."""
    number = 0
    try:
        with open_bytes(path) as file:
            for number, line in enumerate(file, start=1):
                if number == 1:
                    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
                        raise ValueError(f"{str(path)!r} is UTF-16 text: save it as UTF-8")
                    line = line.removeprefix(_BOM)
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{str(path)!r} is not UTF-8 in line {number}: save it as UTF-8") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{str(path)!r} is damaged after line {number} ({error}): download it again") from None


def normal_form(text):
    """Give a text in the form in which words are compared."""
    text = text if text.isascii() else unicodedata.normalize("NFC", text)
    return text.translate(_SAME).casefold()


def index_words(male_words, female_words):
    """Map each word to (gender, word), and each phrase's first word to (all its words, gender, phrase)."""
    single, phrases, genders = {}, {}, {}
    for gender, words in zip(GENDERS, (male_words, female_words), strict=True):
        words = as_sentences(words)
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


DEBIASING_WORDS = DATA / "gender_words.yaml"


def read_debiasing_words(path=None):
    """Read the word lists that debiasing takes.

    Parameters
    ----------
    path : str or Path, optional
        A YAML file with ``pairs``, ``equalize`` and ``specific``; by default ours, for English.

    Returns
    -------
    dict
        ``pairs`` and ``equalize``: lists of pairs of words; ``specific``: a list of words. As keyword
        arguments they are what `hard_debias` takes.

    Raises
    ------
    ValueError
        If there is no such file, or it does not have the three lists.

    Examples
    --------
    >>> read_gender_words()["pairs"][0]
    ['she', 'he']
    """
    import yaml

    path = DEBIASING_WORDS if path is None else Path(path)
    if not path.is_file():
        raise ValueError(f"no word lists at {path}")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not readable YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict) or set(content) != {"pairs", "equalize", "specific"}:
        raise ValueError(f"{path} has to have pairs, equalize and specific")
    return {
        "pairs": check_pairs("pairs", content["pairs"]),
        "equalize": check_pairs("equalize", content["equalize"]),
        "specific": check_words("specific", content["specific"]),
    }


def check_words(what, words):
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise ValueError(f"{what} has to be a list of words, not {words!r}")
    words = list(words)
    for word in words:
        if not isinstance(word, str) or not word:
            raise ValueError(f"{what} has to be a list of words, but has {word!r}")
    return words


def check_pairs(what, pairs):
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise ValueError(f"{what} has to be a list of pairs of words, not {pairs!r}")
    pairs = [pair if isinstance(pair, str) else list(pair) for pair in pairs]
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(word, str) and word for word in pair):
            raise ValueError(f"{what} has to be a list of pairs of words, but has {pair!r}")
    return pairs


LANGUAGES = {
    "en": "English",
    "de": "German",
    "ja": "Japanese",
    "ar": "Arabic",
    "es": "Spanish",
    "pt": "Portuguese",
    "ru": "Russian",
    "id": "Indonesian",
    "zh": "Chinese",
}
UNGENDERED = "none"


def read_retention_words(language, name_or_path="gender_retention"):
    """Read the words by which a language tells women from men.

    Parameters
    ----------
    language : str
        A code such as ``"de"``; of ``"zh_cn"`` the first part counts.
    name_or_path : str or Path
        ``"gender_retention"``, our own lists, or a CSV file with the columns ``language gender word`` and perhaps
        ``note``. Gender ``none`` is for words of neither; a note that begins with "ambiguous" marks words that are
        other words too (German *sie*, "she" and "they").

    Returns
    -------
    pandas.DataFrame
        ``gender word`` and what further columns there are.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If there is no list for the language (the known ones are named), or a gender is unknown.
    """
    frame = read_word_rows(name_or_path, "gender_retention", ("language", "gender", "word"))
    return check_retention_words(of_language(frame, language, name_or_path))


def primary(language):
    if not isinstance(language, str) or not re.match(r"[A-Za-z]{2,3}(?![A-Za-z])", language.strip()):
        raise ValueError(f"language has to be a code such as 'de', not {language!r}")
    return re.split(r"[-_]", language.strip().lower())[0]


def of_language(frame, language, source):
    known = frame["language"].str.lower()
    rows = frame[known == primary(language)]
    if rows.empty:
        raise ValueError(f"{str(source)!r} has nothing for {language!r}: it has {', '.join(sorted(set(known)))}")
    return rows.drop(columns="language").reset_index(drop=True)


def check_retention_words(words):
    missing = [column for column in ("gender", "word") if column not in words]
    if missing:
        raise ValueError(f"the words lack the column(s) {', '.join(missing)}")
    unknown = sorted(set(words["gender"]) - {*GENDERS, UNGENDERED})
    if unknown:
        raise ValueError(f"gender {unknown[0]!r} is unknown; known: {', '.join((*GENDERS, UNGENDERED))}")
    twice = words.loc[words["word"].duplicated(), "word"].tolist()
    if twice:
        raise ValueError(f"the word {twice[0]!r} is given twice: give each once")
    return words
