"""Whether sentences of the target language keep the gender of their English originals."""

import math
import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import pandas as pd

from biaslib._checks import as_sentences, check_columns, check_number
from biaslib.io.gender_words import GENDERS
from biaslib.io.languages import UNGENDERED, check_retention_words, primary, read_language
from biaslib.metrics._word_finder import word_finder
from biaslib.stats.intervals import wilson

_AMBIGUOUS = "ambiguous"


def find_genders(sentences: Sequence[str], language: str, words: pd.DataFrame) -> pd.DataFrame:
    """Find the sentences that contain words for men, and those that contain words for women.

    Parameters
    ----------
    sentences : sequence of str
        In the target language.
    language : str
        Its code.
    words : pandas.DataFrame
        ``gender word``, as `biaslib.io.read_retention_words` returns it.

    Returns
    -------
    pandas.DataFrame
        ``sentence_id sentence male female``, the last two booleans; the index of a Series is kept.

    Raises
    ------
    ValueError
        If a column is missing, a gender is unknown, or a word is repeated.

    Notes
    -----
    Case is ignored. Of words that begin at the same place the longest counts, and a character belongs to one word only
    (彼女, "she", is not 彼, "he").

    - Japanese and Chinese: words are found as written, anywhere, except that a word in katakana must not touch other
      katakana (アン is not in アンケート), and that 彼 and 他 are not found in plurals (彼ら, 他们, "they") or in other
      words (其他, "other"; 彼氏, "boyfriend").
    - All other languages: whole words, which a hyphen separates. Combining marks belong to the letter before them.
    - Arabic: vowel signs and the lengthening stroke are ignored, the forms of alef are one letter, and a word may
      follow و or ف; one of at least three letters also ب ك ل, ال and لل. Pronouns at the end of a word (ـه, ـها) are
      not looked for: list the whole word (له, لها).
    - Russian: е and ё are one letter. In every language, inflected forms are separate words: list them.

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
    finder = word_finder([*words["word"], *others], genders, rules, re.IGNORECASE)
    found = [{gender for gender, _, _ in finder.find(unicodedata.normalize("NFC", text))} for text in sentences]
    frame = pd.DataFrame({"sentence_id": np.arange(len(sentences)), "sentence": pd.Series(sentences, dtype=object)})
    for gender in GENDERS:
        frame[gender] = np.array([gender in genders for genders in found], dtype=bool)
    return frame if index is None else frame.set_axis(index)


def retention(
    sentences: pd.DataFrame, language: str, words: pd.DataFrame | None = None, *, confidence: float = 0.95
) -> pd.DataFrame:
    """Measure how often target sentences keep the gender of their English originals (Kaneko et al. 2022, Figure 2).

    Gender is kept if the sentence contains one of the language's words for her or him.

    Parameters
    ----------
    sentences : pandas.DataFrame
        ``target gender``, as `gender_sentences` returns it.
    language : str
        The code of the target language.
    words : pandas.DataFrame, optional
        ``gender word`` and optionally ``note``; by default the embedded list of the language, see
        `biaslib.io.read_retention_words`. `find_genders` says how they are found.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    pandas.DataFrame
        One row each for male, female and all sentences: ``language gender n``, ``n_kept share ci_low ci_high`` (those
        that contain a word of their own gender, with Wilson's interval), ``n_certain share_certain`` (the same without
        words marked as ambiguous), ``n_other share_other`` (those that contain a word of the other gender) and
        ``reason``. Shares are NaN if there are no sentences or no words, which the reason says.

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
    check_number(confidence, "confidence", above=0, below=1)
    check_columns(sentences, ["target", "gender"], "sentences")
    no_list = ""
    if words is None:
        words = read_language(language).retention_words
        no_list = f"no list of words for {language!r}" if words.empty else ""
    words = check_retention_words(words)
    certain = words
    if "note" in words:
        certain = words.assign(gender=words["gender"].mask(words["note"].str.startswith(_AMBIGUOUS), UNGENDERED))
    own = sentences["gender"].to_numpy(dtype=object)
    found, found_certain = (find_genders(sentences["target"].tolist(), language, some) for some in (words, certain))
    is_male = own == "male"
    kept = np.where(is_male, found["male"], found["female"])
    kept_certainly = np.where(is_male, found_certain["male"], found_certain["female"])
    has_other = np.where(is_male, found["female"], found["male"])
    rows = []
    for name, group in {"male": ["male"], "female": ["female"], "all": list(GENDERS)}.items():
        member = np.isin(own, group)
        n = int(member.sum())
        lacking = [gender for gender in group if gender not in set(words["gender"])]
        other = [gender for gender in GENDERS if gender not in group] or group
        row = {"language": primary(language), "gender": name, "n": n}
        row["n_kept"], row["share"] = _count(kept[member], group, words)
        interval = wilson(row["n_kept"], n, confidence=confidence)
        row["ci_low"], row["ci_high"] = (math.nan, math.nan) if lacking else interval
        row["n_certain"], row["share_certain"] = _count(kept_certainly[member], group, certain)
        row["n_other"], row["share_other"] = _count(has_other[member], other, words)
        row["reason"] = no_list or (f"no {' and no '.join(lacking)} word" if lacking else "" if n else "no sentence")
        rows.append(row)
    return pd.DataFrame(rows)


def _count(hits, genders, words):
    """Count sentences and their share, which is NaN without sentences or without words of these genders."""
    if not set(genders) <= set(words["gender"]):
        return 0, math.nan
    return int(hits.sum()), float(hits.mean()) if len(hits) else math.nan
