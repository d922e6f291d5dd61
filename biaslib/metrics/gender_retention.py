"""Words of the target language in its sentences: whether the gender of the English original is kept, and names.

A word is found by the rule of its language: between letters that are no part of it where words are parted by spaces,
as written where they are not. See `find_genders` for what is decided.
"""

import math
import re
import sys
import unicodedata
import zlib
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from biaslib._checks import as_sentences
from biaslib.io.gender_words import GENDERS
from biaslib.io.languages import (
    UNGENDERED,
    check_retention_words,
    primary,
    read_language,
    read_rows_of,
)

_AMBIGUOUS = "ambiguous"


class _Finder(NamedTuple):
    """A pattern with a group for each of its entries, longest first."""

    pattern: re.Pattern
    entries: tuple

    def find(self, text):
        """Give (entry, start, end) of each word in a text, from left to right."""
        for match in self.pattern.finditer(text):
            yield (self.entries[match.lastindex - 1], *match.span(match.lastindex))


def find_genders(sentences, language, words):
    """Tell which sentences hold words for men, and which for women.

    Parameters
    ----------
    sentences : sequence of str
        Of the target language.
    language : str
        Its code.
    words : pandas.DataFrame
        ``gender word``, as `read_retention_words` gives it.

    Returns
    -------
    pandas.DataFrame
        ``sentence_id sentence male female``, the last two true or false; a Series' index is kept.

    Raises
    ------
    ValueError
        If a column is missing, a gender is unknown or a word is given twice.

    Notes
    -----
    Case-blind; of words that begin at one place the longest counts, and what it takes no other word gets (彼女, "she",
    is not 彼, "he").

    - Japanese and Chinese: as written, anywhere, except that a word in katakana stands between characters that are no
      katakana (アン is not in アンケート), and that 彼 and 他 are not found in plurals (彼ら, 他们, "they") or in
      other words (其他, "other"; 彼氏, "boyfriend").
    - All others: whole words, a hyphen parts words. Combining marks belong to the letter before them.
    - Arabic: vowel signs and the lengthening stroke may stand anywhere, the forms of alef are one letter, and a word
      may follow و or ف; one of three letters or more also ب ك ل, ال and لل. Pronouns at the end of a word (ـه, ـها) are
      not looked for: give the whole word (له, لها).
    - Russian: е and ё are one letter. Inflected forms are words of their own in every language: list them.

    Examples
    --------
    >>> words = pd.DataFrame({"gender": ["male", "female"], "word": ["彼", "彼女"]})
    >>> find_genders(["彼は医者だ。", "彼女は医者だ。"], "ja", words)[["male", "female"]].values.tolist()
    [[True, False], [False, True]]
    """
    index = sentences.index if isinstance(sentences, pd.Series) else None
    sentences = as_sentences(sentences)
    words, rules = check_retention_words(words), read_language(language)
    others = sorted(set(rules.not_pronouns) - set(words["word"]))
    genders = [*words["gender"], *[UNGENDERED] * len(others)]
    finder = _finder([*words["word"], *others], genders, rules, re.IGNORECASE)
    found = [{gender for gender, _, _ in finder.find(unicodedata.normalize("NFC", text))} for text in sentences]
    frame = pd.DataFrame({"sentence_id": np.arange(len(sentences)), "sentence": pd.Series(sentences, dtype=object)})
    for gender in GENDERS:
        frame[gender] = np.array([gender in genders for genders in found], dtype=bool)
    return frame if index is None else frame.set_axis(index)


def retention(sentences, language, words=None, *, confidence=0.95):
    """Measure how often the target sentences keep the gender of their English originals.

    The study's Figure 2 (Kaneko et al. 2022): the share of target sentences in which the language's words for she or
    he occur.

    Parameters
    ----------
    sentences : pandas.DataFrame
        ``target gender``, as `biaslib.metrics.gender_sentences` gives it.
    language : str
        The code of the target language.
    words : pandas.DataFrame, optional
        ``gender word``; by default the embedded list of the language, see `read_retention_words`. `find_genders` says
        how they are found.
    confidence : float

    Returns
    -------
    pandas.DataFrame
        A row for male, for female and for all sentences: ``language gender n``, ``n_kept share ci_low ci_high`` (those
        that hold a word of their own gender, with Wilson's interval), ``n_certain share_certain`` (the same without
        words that are marked as ambiguous), ``n_other share_other`` (those that hold one of the other gender) and
        ``reason``. Shares are NaN where there is no sentence, or no word of the language, which the reason says.

    Raises
    ------
    ValueError
        If a column is missing, or `confidence` is out of range.

    Examples
    --------
    >>> sentences = pd.DataFrame({"target": ["Er singt.", "Man singt.", "Sie singt."],
    ...                           "gender": ["male", "male", "female"]})
    >>> words = pd.DataFrame({"gender": ["male", "female"], "word": ["er", "sie"]})
    >>> retention(sentences, "de", words)[["gender", "n", "n_kept", "share"]].values.tolist()
    [['male', 2, 1, 0.5], ['female', 1, 1, 1.0], ['all', 3, 2, 0.6666666666666666]]
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence has to lie between 0 and 1, not {confidence!r}")
    missing = [column for column in ("target", "gender") if column not in sentences]
    if missing:
        raise ValueError(f"the sentences lack the column(s) {', '.join(missing)}")
    no_list = ""
    if words is None:
        words = read_language(language).retention_words
        no_list = f"no list of words for {language!r}" if words.empty else ""
    words = check_retention_words(words)
    certain = words
    if "note" in words:
        certain = words.assign(gender=words["gender"].mask(words["note"].str.startswith(_AMBIGUOUS), UNGENDERED))
    target, own = sentences["target"].tolist(), sentences["gender"].to_numpy(dtype=object)
    found = [find_genders(target, language, some) for some in (words, certain)]
    rows = []
    for groups in (("male",), ("female",), GENDERS):
        n = int(np.isin(own, groups).sum())
        lacking = [gender for gender in groups if gender not in set(words["gender"])]
        counts = [
            _count_found(found[0], own, groups, words, own_gender=True),
            _count_found(found[1], own, groups, certain, own_gender=True),
            _count_found(found[0], own, groups, words, own_gender=False),
        ]
        reason = no_list or (f"no {' and no '.join(lacking)} word" if lacking else "" if n else "no sentence")
        rows.append(
            {
                "language": primary(language),
                "gender": groups[0] if len(groups) == 1 else "all",
                "n": n,
                **_shares(counts, n, confidence),
                "reason": reason,
            }
        )
    return pd.DataFrame(rows)


def _count_found(found, own, groups, words, *, own_gender):
    """Count sentences of some genders that hold a word of their own, or of the other; None without such words."""
    other = dict(zip(GENDERS, reversed(GENDERS), strict=True))
    looked_for = [gender if own_gender else other[gender] for gender in groups]
    if not set(looked_for) <= set(words["gender"]):
        return None
    return sum(int((found[word] & (own == gender)).sum()) for gender, word in zip(groups, looked_for, strict=True))


def _shares(counts, n, confidence):
    kept, certain, other = counts
    low, high = _wilson(kept, n, confidence)
    return {
        "n_kept": kept or 0,
        "share": _share(kept, n),
        "ci_low": low,
        "ci_high": high,
        "n_certain": certain or 0,
        "share_certain": _share(certain, n),
        "n_other": other or 0,
        "share_other": _share(other, n),
    }


def replace_names(sentences, language, seed=0, *, transliterated=None, native=None):
    """Put native names in the place of transliterated English ones.

    Parameters
    ----------
    sentences : sequence of str
        Of the target language.
    language : str
        Its code.
    seed : int
    transliterated, native : str or Path, optional
        Tables with the columns ``language gender name``; by default the embedded lists (see `biaslib.io.Language`).

    Returns
    -------
    pandas.DataFrame
        ``sentence_id target replaced n_replaced names``: the sentence, the same with native names, how many were put
        in, and which ("マイケル → 健; …"); a Series' index is kept. A name keeps its gender, different names of a
        sentence get different ones while there are enough, and a sentence gets the same ones in whatever company.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a list has no name for the language or for a gender that is needed.

    Notes
    -----
    Names are found as `find_genders` finds words, but not case-blind. An inflected name (Джона) is another word, and
    stays unless it is in the list.
    """
    index = sentences.index if isinstance(sentences, pd.Series) else None
    sentences = as_sentences(sentences)
    rules = read_language(language)
    given = _names_of(language, transliterated, rules.transliterated_names).drop_duplicates("name")
    ours = _names_of(language, native, rules.native_names)
    lacking = sorted(set(given["gender"]) - set(ours["gender"]))
    if lacking:
        where = "the embedded list" if native is None else repr(str(native))
        raise ValueError(f"{where} has no {lacking[0]} name for {language!r}: add one")
    entries = list(zip(given["gender"], given["name"], strict=True))
    finder = _finder(given["name"], entries, rules, 0)
    pools = {gender: of_gender.tolist() for gender, of_gender in ours.groupby("gender")["name"]}
    rows = [_with_native_names(text, finder, pools, seed) for text in sentences]
    frame = pd.DataFrame(rows, columns=["target", "replaced", "n_replaced", "names"])
    frame.insert(0, "sentence_id", np.arange(len(sentences)))
    return frame if index is None else frame.set_axis(index)


def with_native_names(sentences, language, seed=0):
    """Put native names into sentences, where the language has a list of transliterated ones.

    Parameters
    ----------
    sentences : pandas.DataFrame
        With a column ``target``.
    language : str
        Its code.
    seed : int

    Returns
    -------
    pandas.DataFrame
        The same rows, ``target`` with native names, and a column ``n_replaced``: 0 throughout where names stay as they
        are written in English, as in German.
    """
    if read_language(language).transliterated_names.empty:
        return sentences.assign(n_replaced=0)
    found = replace_names(sentences["target"], language, seed)
    return sentences.assign(target=found["replaced"], n_replaced=found["n_replaced"])


def _names_of(language, path, embedded):
    """Read names from a file, or take the embedded ones."""
    if path is not None:
        return read_rows_of(path, language, ("gender", "name"))
    if embedded.empty:
        raise ValueError(f"there are no embedded names for {language!r}: give a table of names")
    return embedded


def _with_native_names(text, finder, pools, seed):
    normal = unicodedata.normalize("NFC", text)
    found = list(finder.find(normal))
    if not found:
        return text, text, 0, ""
    rng = np.random.default_rng([seed, zlib.crc32(normal.encode("utf-8"))])
    orders = {gender: rng.permutation(len(pools[gender])) for gender in sorted(pools)}
    chosen, used = {}, dict.fromkeys(pools, 0)
    for (gender, name), _, _ in found:
        if name not in chosen:
            chosen[name] = pools[gender][orders[gender][used[gender] % len(pools[gender])]]
            used[gender] += 1
    pieces, end = [], 0
    for (_, name), start, stop in found:
        pieces += [normal[end:start], chosen[name]]
        end = stop
    names = "; ".join(f"{name} → {ours}" for name, ours in chosen.items())
    return text, "".join([*pieces, normal[end:]]), len(found), names


def _finder(words, entries, rules, flags):
    """Make the pattern that finds words by the rules of a language."""
    pairs = [(unicodedata.normalize("NFC", word), entry) for word, entry in zip(words, entries, strict=True)]
    pairs.sort(key=lambda pair: -len(pair[0]))
    pattern = "|".join(_bounded(word, rules) for word, _ in pairs)
    return _Finder(re.compile(pattern, flags), tuple(entry for _, entry in pairs))


def _bounded(word, rules):
    """Write a pattern for a word with what must and must not stand beside it."""
    if not rules.spaces:
        apart = f"[{rules.standalone_characters}]" if rules.standalone_characters else ""
        if apart and re.fullmatch(f"{apart}+", word):
            return f"(?<!{apart})({re.escape(word)})(?!{apart})"
        return f"({re.escape(word)})"
    marks = f"[{rules.optional_marks}]*" if rules.optional_marks else ""
    letters = re.sub(marks, "", word) if marks else word
    core = "".join(f"{_letter(letter, rules)}{marks}" for letter in letters)
    prefixes = [prefix["written"] for prefix in rules.prefixes if len(letters) >= prefix["min_letters"]]
    before = "".join(_any_or_none(written, marks) for written in prefixes)
    beside = f"[\\w{_combining_marks()}]"
    return f"(?<!{beside}){before}({core})(?!{beside})"


def _letter(letter, rules):
    same = next((letters for letters in rules.same_letters if letter in letters), "")
    return f"[{same}]" if same else re.escape(letter)


def _any_or_none(written, marks):
    spelled = ["".join(re.escape(letter) + marks for letter in prefix) for prefix in written]
    return f"(?:{'|'.join(spelled)})?"


@lru_cache(maxsize=1)
def _combining_marks():
    """Give all combining marks, which \\w leaves out, as ranges of a character class."""
    marks = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith("M")]
    starts = [code for code in marks if not unicodedata.category(chr(code - 1)).startswith("M")]
    ends = [code for code in marks if not unicodedata.category(chr(code + 1)).startswith("M")]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))


def _share(count, n):
    return math.nan if count is None or n == 0 else count / n


def _wilson(count, n, confidence):
    from scipy import stats

    if count is None or n == 0:
        return math.nan, math.nan
    interval = stats.binomtest(count, n).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)
