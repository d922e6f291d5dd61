"""Parallel text: read from the usual formats, and searched for English sentences with words of one gender.

The extraction is that of Kaneko, Imankulova, Bollegala & Okazaki (2022), "Gender Bias in Masked Language Models for
Multiple Languages", NAACL: a target sentence is called male or female after the words of its English original.
"""

import gzip
import html
import io
import os
import re
import unicodedata
import zlib
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pandas as pd

from biaslib import datasets
from biaslib.templates import DATA, read_text_columns
from biaslib.tokens import as_sentences

GENDERS = ("male", "female")
REASONS = (
    "no English text",
    "no target text",
    "no gender word",
    "words of both genders",
    "target sentence of both genders",
    "repeated target sentence",
)

_CHUNK_BYTES = 2**16
_BOM = b"\xef\xbb\xbf"
# Files that lie beside the two sides of a Moses pair.
_NOT_A_SIDE = {"xml", "ids", "scores", "txt", "tsv", "csv", "tmx", "md", "json", "zip"}
_ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")
_SAME = str.maketrans(
    dict.fromkeys("’‘ʼ＇`´", "'") | dict.fromkeys("‐‑", "-") | {"\N{SOFT HYPHEN}": None},
)
# A word with its hyphens and inner apostrophes; then, apart from it as tokenizers leave it, a possessive's mark.
_WORD = re.compile(r"(\w+(?:[-']\w+)*)(\s?'\s?s(?![\w'-])|\s?'(?!\w))?")
_SPLIT_HYPHEN = re.compile(r"\s?@-@\s?")
# One word for both genders, written with a slash or brackets, is read as the two words.
_BOTH = (
    (re.compile(r"(?<!\w)(?:s/|\(s\))he(?!\w)"), "she/he"),
    (re.compile(r"(?<!\w)(?:wo/|\(wo\))(m[ae]n)(?!\w)"), r"woman/\1"),
)
# After these, 's is "is" or "has"; the others have no possessive either.
_NEVER_POSSESSIVE = frozenset(("he", "him", "his", "himself", "she", "her", "hers", "herself"))
_CONTRACTED = frozenset(("d", "ll", "re", "ve", "m"))


def read_parallel(source, target=None, *, languages=("en", None)):
    """Read parallel text, English and one other language.

    Parameters
    ----------
    source : str or Path
        With `target`, the English one of two line-aligned files (Moses). Alone: a file ``.tsv`` (two columns, English
        first) or ``.tmx``, each also gzip-compressed; a folder that holds one Moses pair
        (``TED2020.de-en.en`` and ``TED2020.de-en.de``); ``"parallel_en_de"``, the embedded sample; or the name of a
        data set such as ``"ted2020-de"``, which is downloaded once.
    target : str or Path, optional
        The other one of two line-aligned files.
    languages : (str, str or None)
        The code of English and that of the other language, which a TMX file or a folder with several needs; ``"en"``
        takes ``en-GB`` too.

    Returns
    -------
    pandas.DataFrame
        ``english target``, all pairs in order, empty ones too. The index, called ``line``, counts lines of the file
        (of a TMX file, translation units) from 1, a header included.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the two files differ in their number of lines (it says where they part), a row of a table has not two
        fields, a file is damaged or not UTF-8, or a TMX file declares entities, which are refused.

    Notes
    -----
    A line ends with ``\\n`` or ``\\r\\n`` and with nothing else: U+2028, U+0085 or a form feed stay in it. A byte order
    mark is taken away, nothing else. A table's first row is its header if it begins with "english" or the code of
    English. Text in a TMX file is joined over line breaks; what its inline elements hold of another program's codes is
    no text.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "pairs.tsv"
    ...     _ = place.write_text("She sings.\\tSie singt.\\nIt rains.\\tEs regnet.\\n", encoding="utf-8")
    ...     read_parallel(place)
              english       target
    line
    1      She sings.  Sie singt.
    2       It rains.  Es regnet.
    """
    english, other = _check_languages(languages)
    path = _find(source)
    if path.is_dir():
        if target is not None:
            raise ValueError(f"{str(path)!r} is a folder: give the English file, or no target")
        path, target = _pair_in(path, english, other)
    if target is not None:
        return _frame(_read_two(path, _find(target)))
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".tsv"):
        return _frame(_read_table(path, english))
    if name.endswith(".tmx"):
        return _frame(_read_tmx(path, english, other))
    raise ValueError(f"{str(path)!r} is one file of another kind: give two line-aligned files, a .tsv or a .tmx file")


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
        sides = {"male": list(_lines(_find(name_or_path))), "female": list(_lines(_find(female)))}
        rows = [(gender, word, "") for gender, words in sides.items() for word in words]
    else:
        frame = read_list(name_or_path, "gender_words_english", ("male", "female"))
        kinds = frame["kind"] if "kind" in frame else [""] * len(frame)
        rows = [(gender, word, kind) for gender in GENDERS for word, kind in zip(frame[gender], kinds, strict=True)]
    words = pd.DataFrame(rows, columns=["gender", "word", "kind"])
    words["word"] = words["word"].str.replace("_", " ").str.strip()
    words = words[words["word"] != ""].drop_duplicates(["gender", "word"], ignore_index=True)
    _index_words(*(words.loc[words["gender"] == gender, "word"] for gender in GENDERS))
    return words


def read_list(name_or_path, embedded, columns):
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


def label_gender(english, target, *, male_words, female_words):
    """Say of each sentence pair of which gender its English words are, or why it is left out.

    Parameters
    ----------
    english, target : sequence of str
        Pairs in the same order. With Series, the index of `english` is kept as ``line``; else lines count from 1.
    male_words, female_words : sequence of str
        English words, also with spaces or hyphens.

    Returns
    -------
    pandas.DataFrame
        ``line english target gender word reason``, a row a pair in the order given. Texts are stripped, and their HTML
        entities (``&apos;``) are the characters that they stand for. ``word`` is the first gender word, as the list
        has it; ``reason`` is "" for a pair to be taken, else one of `REASONS`, and ``gender`` is "" unless all words
        are of one gender.

    Raises
    ------
    ValueError
        If the two differ in length, a list is empty or a word is in both lists.

    Notes
    -----
    Words are whole words and case-blind: leave names out that are also words (will, grace). Decided, where it could be
    otherwise:

    - A possessive is not the word: *shepherd's*, *shepherd’s*, *shepherd 's*, *the boys' toys*. After *he* and *she*,
      ``'s`` is *is* or *has*, and the word counts; so it does before ``'d 'll 're 've``. A closing quotation mark after
      a word in *-s* cannot be told from a possessive, and is read as one.
    - A hyphenated compound is one word: *man-made* is not *man*, *mother-in-law* counts if it is in the list. A dash,
      ``--`` and a slash part words. *s/he*, *(s)he* and *(wo)man* are words of both genders.
    - A target sentence whose originals are of both genders is left out, each time; one that comes again with the same
      gender counts once, the first time.

    Examples
    --------
    >>> pairs = ["The weather is fine.", "She saw him.", "The shepherd's herd.", "His hat."], ["1", "2", "3", "4"]
    >>> label_gender(*pairs, male_words=["him", "his", "shepherd"], female_words=["she"])[["gender", "reason"]]
      gender                 reason
    0                no gender word
    1         words of both genders
    2                no gender word
    3   male
    """
    lines = english.index if isinstance(english, pd.Series) else None
    english, target = as_sentences(english), as_sentences(target)
    if len(english) != len(target):
        raise ValueError(f"pairs need as many English as target sentences, not {len(english)} and {len(target)}")
    single, phrases = _index_words(male_words, female_words)
    english, target = ([_unescaped(text) for text in side] for side in (english, target))
    genders, words, reasons = [], [], []
    for source, translation in zip(english, target, strict=True):
        found = _gender_words(source, single, phrases) if source and translation else []
        kinds = {gender for gender, _ in found}
        genders.append(found[0][0] if len(kinds) == 1 else "")
        words.append(found[0][1] if found else "")
        reasons.append(_reason(source, translation, kinds))
    frame = pd.DataFrame(
        {
            "line": np.arange(1, len(english) + 1) if lines is None else lines,
            "english": pd.Series(english, dtype=object),
            "target": pd.Series(target, dtype=object),
            "gender": pd.Series(genders, dtype=object),
            "word": pd.Series(words, dtype=object),
            "reason": pd.Series(reasons, dtype=object),
        }
    )
    return _each_target_once(frame)


def gender_sentences(english, target, *, male_words, female_words):
    """Take the sentence pairs whose English words are of one gender.

    Parameters
    ----------
    english, target, male_words, female_words
        As for `label_gender`, which also tells why the other pairs are left out.

    Returns
    -------
    pandas.DataFrame
        ``line english target gender word``, in the order given, each target sentence once. To measure a model of
        English, give English as the target too.

    Raises
    ------
    ValueError
        As `label_gender` does.

    Examples
    --------
    >>> gender_sentences(["He ran.", "It ran."], ["Er lief.", "Es lief."], male_words=["he"], female_words=["she"])
       line  english    target gender word
    0     1  He ran.  Er lief.   male   he
    """
    return taken(label_gender(english, target, male_words=male_words, female_words=female_words))


def taken(labelled):
    """Keep the rows of `label_gender` that have no reason to be left out; the column goes.

    Parameters
    ----------
    labelled : pandas.DataFrame

    Returns
    -------
    pandas.DataFrame
        As `gender_sentences` gives it.
    """
    return labelled[labelled["reason"] == ""].drop(columns="reason").reset_index(drop=True)


def balance(sentences, seed=0, *, n=None):
    """Make the two genders equal in size, by sampling.

    Parameters
    ----------
    sentences : pandas.DataFrame
        With a column ``gender``, as `gender_sentences` gives it.
    seed : int
    n : int, optional
        At most so many of each gender; by default as many as the rarer one has.

    Returns
    -------
    pandas.DataFrame
        In the order given; the index is new. What it leaves out, `count_labels` counts.

    Raises
    ------
    ValueError
        If a gender is neither male nor female.

    Examples
    --------
    >>> balance(pd.DataFrame({"gender": ["male", "male", "female"]}))["gender"].tolist()
    ['male', 'female']
    """
    gender = sentences["gender"].to_numpy(dtype=object)
    other = sorted(set(gender) - set(GENDERS))
    if other:
        raise ValueError(f"gender is {other[0]!r} in a row: give the sentences of gender_sentences, male or female")
    rng = np.random.default_rng(seed)
    places = [np.flatnonzero(gender == of_one) for of_one in GENDERS]
    size = min(*map(len, places), *([] if n is None else [n]))
    kept = np.sort(np.concatenate([rng.choice(of_one, size, replace=False) for of_one in places]))
    return sentences.iloc[kept].reset_index(drop=True)


def count_labels(labelled, kept=None):
    """Count what was taken and what was left out, by reason.

    Parameters
    ----------
    labelled : pandas.DataFrame
        From `label_gender`.
    kept : pandas.DataFrame, optional
        What `balance` left of the sentences taken.

    Returns
    -------
    pandas.DataFrame
        ``outcome n share``, shares of all pairs: male and female sentences taken, every reason, all pairs.

    Examples
    --------
    >>> labelled = label_gender(["He ran.", ""], ["Er lief.", ""], male_words=["he"], female_words=["she"])
    >>> count_labels(labelled).query("n > 0")[["outcome", "n"]].values.tolist()
    [['taken: male', 1], ['no English text', 1], ['all pairs', 2]]
    """
    use = taken(labelled)
    kept = use if kept is None else kept
    counts = {f"taken: {gender}": int((kept["gender"] == gender).sum()) for gender in GENDERS}
    counts |= {"left out to make both genders equal": len(use) - len(kept)}
    counts |= labelled["reason"].value_counts().reindex(REASONS, fill_value=0).to_dict()
    frame = pd.DataFrame({"outcome": [*counts, "all pairs"], "n": [*counts.values(), len(labelled)]})
    return frame.assign(share=frame["n"] / len(labelled) if len(labelled) else np.nan)


def _check_languages(languages):
    if isinstance(languages, str) or len(languages) != 2 or not isinstance(languages[0], str):
        raise ValueError(f"languages has to be two codes, English first, such as ('en', 'de'), not {languages!r}")
    return tuple(_code(language) if language is not None else None for language in languages)


def _code(language):
    return language.strip().lower().replace("_", "-")


def _is_of(tag, language):
    return tag == language or tag.startswith(f"{language}-")


def _find(source):
    """Find a file or folder by path, the embedded sample or a data set by name."""
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"parallel text is given by path or name, not as a {type(source).__name__}")
    path = Path(source).expanduser()
    if path.exists():
        return path
    if source == "parallel_en_de":
        return DATA / "parallel_en_de.tsv"
    if isinstance(source, str) and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", source):
        return datasets.path(source)
    raise FileNotFoundError(f"no file {str(source)!r}: check the path")


def _pair_in(folder, english, other):
    """Find the two sides of the one Moses pair in a folder."""
    sides = {}
    for path in sorted(folder.iterdir()):
        stem, _, code = path.name.removesuffix(".gz").rpartition(".")
        if path.is_file() and stem and code.lower() not in _NOT_A_SIDE:
            sides.setdefault(stem, {})[_code(code)] = path
    pairs = [
        (codes[english], path)
        for codes in sides.values()
        if english in codes
        for code, path in codes.items()
        if code != english and (other is None or _is_of(code, other))
    ]
    if len(pairs) == 1:
        return pairs[0]
    wanted = f"name.{english} and name.{other or 'CODE'}"
    found = ", ".join(path.name for codes in sides.values() for path in codes.values()) or "no such file"
    raise ValueError(f"{str(folder)!r} has {len(pairs)} pairs of {wanted} ({found}): give the two files")


def _frame(rows):
    """Make a frame of (line, english, target)."""
    lines, english, target = [], [], []
    for line, source, translation in rows:
        lines.append(line)
        english.append(source)
        target.append(translation)
    index = pd.Index(np.array(lines, dtype=np.int64), name="line")
    return pd.DataFrame({"english": english, "target": target}, index=index, dtype=str)


def _open(path):
    with open(path, "rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return io.BufferedReader(gzip.open(path)) if compressed else open(path, "rb")


def _lines(path):
    """Give a file's lines, which end with a line feed and nothing else."""
    number = 0
    try:
        with _open(path) as file:
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


def _read_two(source, target):
    one, other = _lines(source), _lines(target)
    for line, (text, translation) in enumerate(zip_longest(one, other), start=1):
        if text is None or translation is None:
            longer = line + sum(1 for _ in (other if text is None else one))
            counts = (line - 1, longer) if text is None else (longer, line - 1)
            raise ValueError(
                f"{str(source)!r} has {counts[0]} lines and {str(target)!r} {counts[1]}: from line {line} on only one "
                "of them goes on; give two files that are aligned line by line"
            )
        yield line, text, translation


def _read_table(path, english):
    for line, text in enumerate(_lines(path), start=1):
        fields = text.split("\t") if text else ["", ""]
        if len(fields) != 2:
            raise ValueError(
                f"{str(path)!r} has {len(fields)} field(s) in line {line}, not 2: give English, a tab and the target"
            )
        if line == 1 and fields[0].strip().casefold() in ("english", english):
            continue
        yield line, *fields


def _read_tmx(path, english, other):
    """Read a TMX file piece by piece."""
    from xml.parsers import expat

    units = _Units(path)
    number, chosen, tags = 0, other, set()
    try:
        with _open(path) as file:
            while piece := file.read(_CHUNK_BYTES):
                for texts in units.feed(piece):
                    number += 1
                    tags.update(tag for tag, _ in texts)
                    chosen = chosen or _other_language(path, texts, english)
                    yield number, _text_in(path, number, texts, english), _text_in(path, number, texts, chosen)
                    if other is None:
                        _check_only_one(path, texts, english, chosen)
        units.parser.Parse(b"", True)
    except LookupError as error:
        raise ValueError(f"{str(path)!r} cannot be read ({error}): save it as UTF-8") from None
    except expat.ExpatError as error:
        raise ValueError(f"{str(path)!r} is not well-formed XML ({error}): export it again as TMX") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{str(path)!r} is damaged ({error}): download it again") from None
    for language in (english, chosen or "another language"):
        if not any(_is_of(tag, language) for tag in tags):
            raise ValueError(f"{str(path)!r} has no text in {language}: it has {', '.join(sorted(tags)) or 'none'}")


class _Units:
    """The translation units of a TMX file, as they become complete; every entity beyond XML's own is refused."""

    def __init__(self, path):
        from xml.parsers import expat

        self.path, self.done, self.texts = path, [], []
        self.language, self.pieces, self.foreign = None, None, 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._refuse
        self.parser.SkippedEntityHandler = self._refuse

    def feed(self, piece):
        self.parser.Parse(piece, False)
        done, self.done = self.done, []
        return done

    def _refuse(self, name, *_):
        raise ValueError(f"{str(self.path)!r} uses the XML entity {name!r}, which is refused: export it without one")

    def _start(self, name, attributes):
        if name == "tuv":
            self.language = _code(attributes.get("xml:lang") or attributes.get("lang") or "")
        elif name == "seg":
            self.pieces, self.foreign = [], 0
        elif self.pieces is not None and name != "hi":
            # bpt, ept, it, ph, ut and what stands in them are codes of another program; only hi marks text.
            self.foreign += 1

    def _end(self, name):
        if name == "seg":
            self.texts.append((self.language, " ".join(re.split(r"[\t\r\n ]+", "".join(self.pieces))).strip()))
            self.pieces = None
        elif name == "tu":
            self.done.append(self.texts)
            self.texts = []
        elif self.pieces is not None and name != "hi":
            self.foreign -= 1

    def _text(self, text):
        if self.pieces is not None and not self.foreign:
            self.pieces.append(text)


def _other_language(path, texts, english):
    return next((tag.partition("-")[0] for tag, _ in texts if not _is_of(tag, english)), None)


def _check_only_one(path, texts, english, chosen):
    more = [tag for tag, _ in texts if not _is_of(tag, english) and not _is_of(tag, chosen)]
    if more:
        raise ValueError(
            f"{str(path)!r} has {chosen!r} and {more[0]!r} beside {english!r}: say which, "
            f"languages=({english!r}, {chosen!r})"
        )


def _text_in(path, number, texts, language):
    """Give the text of a unit in a language; an empty one if it has none."""
    if language is None:
        return ""
    found = [(tag, text) for tag, text in texts if _is_of(tag, language)]
    if len(found) > 1:
        tags = " and ".join(tag for tag, _ in found)
        raise ValueError(f"{str(path)!r} has several texts in unit {number} ({tags}): say which language, in full")
    return found[0][1] if found else ""


def _unescaped(text):
    text = text.strip()
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text).strip() if "&" in text else text


def _normal(text):
    """Give a text in the form in which words are compared."""
    text = text if text.isascii() else unicodedata.normalize("NFC", text)
    return text.translate(_SAME).casefold()


def _index_words(male_words, female_words):
    """Map each word to (gender, word), and each phrase's first word to (all its words, gender, phrase)."""
    single, phrases, genders = {}, {}, {}
    for gender, words in zip(GENDERS, (male_words, female_words), strict=True):
        words = as_sentences(words)
        if not words:
            raise ValueError(f"there is no {gender} word: give at least one")
        for word in words:
            parts = tuple(match[1] for match in _WORD.finditer(_normal(word).replace("_", " ")))
            if not parts:
                raise ValueError(f"the {gender} word {word!r} has no letter: leave it out")
            if genders.setdefault(parts, gender) != gender:
                raise ValueError(f"{word!r} is in both lists: leave it in one")
            if len(parts) == 1:
                single.setdefault(parts[0], (gender, word))
            else:
                phrases.setdefault(parts[0], []).append((parts, gender, word))
    return single, phrases


def _gender_words(text, single, phrases):
    """List (gender, word) of an English sentence in order."""
    text = _normal(text)
    if "@-@" in text:
        text = _SPLIT_HYPHEN.sub("-", text)
    if "/" in text or "(" in text:
        for pattern, words in _BOTH:
            text = pattern.sub(words, text)
    words = [_counted(*match.groups()) for match in _WORD.finditer(text)]
    found = []
    for place, word in enumerate(words):
        if word in single:
            found.append(single[word])
        for parts, gender, phrase in phrases.get(word, ()):
            if tuple(words[place : place + len(parts)]) == parts:
                found.append((gender, phrase))
    return found


def _counted(word, mark):
    """Give the word that counts in a piece of text: without a contraction; "" for a possessive."""
    base, _, rest = word.partition("'")
    if word.endswith("'s"):
        word, mark = word[:-2], "'s"
    elif rest.partition("'")[0] in _CONTRACTED:
        word = base
    possessive = mark and ("s" in mark or word.endswith("s"))
    return "" if possessive and word not in _NEVER_POSSESSIVE else word


def _reason(source, translation, kinds):
    if not source:
        return "no English text"
    if not translation:
        return "no target text"
    return {0: "no gender word", 1: "", 2: "words of both genders"}[len(kinds)]


def _each_target_once(frame):
    """Give a reason to target sentences that come again."""
    one_gender = frame["reason"] == ""
    target = frame.loc[one_gender, "target"].map(lambda text: " ".join(text.split()))
    several = frame.loc[one_gender, "gender"].groupby(target).transform("nunique") > 1
    repeated = target.duplicated() & ~several
    frame.loc[several.index[several], "reason"] = "target sentence of both genders"
    frame.loc[repeated.index[repeated], "reason"] = "repeated target sentence"
    return frame
