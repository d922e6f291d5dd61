"""Sentences that are about men or about women, by the words of their English originals."""

import html
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from biaslib._checks import as_sentences, check_columns, check_count
from biaslib._text import one_line
from biaslib.io.gender_words import GENDERS, WORD, index_words, normal_form

REASONS = (
    "no English text",
    "no target text",
    "no gender word",
    "words of both genders",
    "target sentence of both genders",
    "repeated target sentence",
)
_ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")
_SPLIT_HYPHEN = re.compile(r"\s?@-@\s?")
# One word for both genders, written with a slash or in brackets, is read as two words.
_BOTH = (
    (re.compile(r"(?<!\w)(?:s/|\(s\))he(?!\w)"), "she/he"),
    (re.compile(r"(?<!\w)(?:wo/|\(wo\))(m[ae]n)(?!\w)"), r"woman/\1"),
)
# After these, 's is "is" or "has"; the others have no possessive.
_NEVER_POSSESSIVE = frozenset(("he", "him", "his", "himself", "she", "her", "hers", "herself"))
_CONTRACTED = frozenset(("d", "ll", "re", "ve", "m"))


def label_gender(
    english: Sequence[str], target: Sequence[str], *, male_words: Sequence[str], female_words: Sequence[str]
) -> pd.DataFrame:
    """Label each sentence pair by the gender of its English words, or by the reason why it is left out.

    Parameters
    ----------
    english, target : sequence of str
        Pairs in the same order. If `english` is a Series, its index is kept as ``line``; otherwise lines count from 1.
    male_words, female_words : sequence of str
        English words, optionally with spaces or hyphens.

    Returns
    -------
    pandas.DataFrame
        ``line english target gender word reason``, one row per pair in the order given. Texts are stripped, and HTML
        entities (``&apos;``) are replaced by their characters. ``word`` is the first gender word, as spelled in the
        list. ``reason`` is "" for a pair that can be used and otherwise one of `REASONS`; ``gender`` is "" unless all
        gender words have the same gender.

    Raises
    ------
    ValueError
        If the two differ in length, a list is empty, or a word is in both lists.

    Notes
    -----
    Words are whole words, whatever their case: leave out names that are also words (will, grace). Where it could be
    otherwise:

    - A possessive is not the word: *shepherd's*, *shepherd’s*, *shepherd 's*, *the boys' toys*. After *he* and *she*,
      ``'s`` is *is* or *has*, and the word counts; so it does before ``'d 'll 're 've``. A closing quotation mark after
      a word in *-s* cannot be distinguished from a possessive, and is read as one.
    - A hyphenated compound is one word: *man-made* is not *man*, and *mother-in-law* counts if it is in the list. A
      dash, ``--`` and a slash separate words. *s/he*, *(s)he* and *(wo)man* are words of both genders.
    - A target sentence whose originals are of both genders is left out, each time it occurs; one that is repeated with
      the same gender counts once, the first time.

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
    english, target = as_sentences(english, "english"), as_sentences(target, "target")
    if len(english) != len(target):
        raise ValueError(f"english and target must have the same length, not {len(english)} and {len(target)}")
    lines = range(1, len(english) + 1) if lines is None else lines
    words = index_words(male_words, female_words)
    texts = [(_unescaped(source), _unescaped(translation)) for source, translation in zip(english, target, strict=True)]
    labelled = [(*pair, *_label(*pair, *words)) for pair in texts]
    frame = pd.DataFrame(labelled, columns=["english", "target", "gender", "word", "reason"], dtype=object)
    frame.insert(0, "line", lines)
    return _each_target_once(frame)


def gender_sentences(
    english: Sequence[str], target: Sequence[str], *, male_words: Sequence[str], female_words: Sequence[str]
) -> pd.DataFrame:
    """Select the sentence pairs whose English words are of one gender.

    Parameters
    ----------
    english, target, male_words, female_words
        As for `label_gender`, which also says why the other pairs are left out.

    Returns
    -------
    pandas.DataFrame
        ``line english target gender word``, in the order given, each target sentence once. To measure a model of
        English, pass the English sentences as the target too.

    Raises
    ------
    ValueError
        As in `label_gender`.

    Examples
    --------
    >>> gender_sentences(["He ran.", "It ran."], ["Er lief.", "Es lief."], male_words=["he"], female_words=["she"])
       line  english    target gender word
    0     1  He ran.  Er lief.   male   he
    """
    return usable(label_gender(english, target, male_words=male_words, female_words=female_words))


def usable(labelled: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows of `label_gender` that have no reason to be left out, and drop that column.

    Parameters
    ----------
    labelled : pandas.DataFrame

    Returns
    -------
    pandas.DataFrame
        As `gender_sentences` returns it.

    Examples
    --------
    >>> labelled = label_gender(["He ran.", ""], ["Er lief.", ""], male_words=["he"], female_words=["she"])
    >>> usable(labelled)["target"].tolist()
    ['Er lief.']
    """
    return labelled[labelled["reason"] == ""].drop(columns="reason").reset_index(drop=True)


def balance(sentences: pd.DataFrame, seed: int = 0, *, n: int | None = None) -> pd.DataFrame:
    """Sample as many male as female sentences.

    Parameters
    ----------
    sentences : pandas.DataFrame
        With a column ``gender``, as `gender_sentences` returns it.
    seed : int
    n : int, optional
        Sample at most this many of each gender; by default, as many as the rarer one has.

    Returns
    -------
    pandas.DataFrame
        In the order given, with a new index. `count_labels` counts what is left out.

    Raises
    ------
    ValueError
        If the column is missing, or a gender is neither male nor female.

    Examples
    --------
    >>> balance(pd.DataFrame({"gender": ["male", "male", "female"]}))["gender"].tolist()
    ['male', 'female']
    """
    check_columns(sentences, ["gender"], "sentences")
    most = [] if n is None else [check_count(n, "n", least=0)]
    gender = sentences["gender"].to_numpy(dtype=object)
    other = sorted(set(gender) - set(GENDERS))
    if other:
        raise ValueError(f"gender must be {' or '.join(GENDERS)} in every row, not {other[0]!r}")
    rng = np.random.default_rng(seed)
    places = [np.flatnonzero(gender == one) for one in GENDERS]
    size = min(*map(len, places), *most)
    kept = np.sort(np.concatenate([rng.choice(of_one, size, replace=False) for of_one in places]))
    return sentences.iloc[kept].reset_index(drop=True)


def count_labels(labelled: pd.DataFrame, kept: pd.DataFrame | None = None) -> pd.DataFrame:
    """Count the sentence pairs that are used, and those left out by reason.

    Parameters
    ----------
    labelled : pandas.DataFrame
        From `label_gender`.
    kept : pandas.DataFrame, optional
        What `balance` keeps of the usable ones.

    Returns
    -------
    pandas.DataFrame
        ``outcome n share``: male and female sentences taken, each reason, and all pairs; shares are of all pairs.

    Examples
    --------
    >>> labelled = label_gender(["He ran.", ""], ["Er lief.", ""], male_words=["he"], female_words=["she"])
    >>> count_labels(labelled).query("n > 0")[["outcome", "n"]].values.tolist()
    [['taken: male', 1], ['no English text', 1], ['all pairs', 2]]
    """
    use = usable(labelled)
    kept = use if kept is None else kept
    counts = {f"taken: {gender}": int((kept["gender"] == gender).sum()) for gender in GENDERS}
    counts |= {"left out to make both genders equal": len(use) - len(kept)}
    counts |= labelled["reason"].value_counts().reindex(REASONS, fill_value=0).to_dict()
    frame = pd.DataFrame({"outcome": [*counts, "all pairs"], "n": [*counts.values(), len(labelled)]})
    return frame.assign(share=frame["n"] / len(labelled) if len(labelled) else np.nan)


def word_sentences(gender_words: pd.DataFrame, template: str = "{word}") -> pd.DataFrame:
    """Make sentences of gender words alone or in a template, the simpler material of the study (§5.2).

    Parameters
    ----------
    gender_words : pandas.DataFrame
        ``gender word kind``, as `biaslib.io.read_gender_words` returns it.
    template : str
        With ``{word}``. Unless the word stands alone, pronouns are left out and a noun gets *the*.

    Returns
    -------
    pandas.DataFrame
        ``english target gender word``, with the same text twice.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> words = pd.DataFrame({"gender": ["male", "female"], "word": ["king", "she"], "kind": ["role", "pronoun"]})
    >>> word_sentences(words, "We saw {word} yesterday.")["target"].tolist()
    ['We saw the king yesterday.']
    """
    check_columns(gender_words, ["gender", "word", "kind"], "gender_words")
    frame, alone = gender_words.reset_index(drop=True), template == "{word}"
    if not alone:
        frame = frame[frame["kind"] != "pronoun"].reset_index(drop=True)
    written = frame["word"].where(alone | (frame["kind"] == "name"), "the " + frame["word"])
    texts = [template.replace("{word}", words) for words in written]
    return pd.DataFrame({"english": texts, "target": texts, "gender": frame["gender"], "word": frame["word"]})


def _unescaped(text):
    text = text.strip()
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text).strip() if "&" in text else text


def _label(source, translation, single, phrases):
    """Return the gender of a pair, its first gender word, and the reason to leave it out."""
    if not source:
        return "", "", "no English text"
    if not translation:
        return "", "", "no target text"
    found = _gender_words(source, single, phrases)
    if not found:
        return "", "", "no gender word"
    gender, word = found[0]
    return (gender, word, "") if len({gender for gender, _ in found}) == 1 else ("", word, "words of both genders")


def _gender_words(text, single, phrases):
    """List the gender words of an English sentence in order, as (gender, word)."""
    text = normal_form(text)
    if "@-@" in text:
        text = _SPLIT_HYPHEN.sub("-", text)
    if "/" in text or "(" in text:
        for pattern, words in _BOTH:
            text = pattern.sub(words, text)
    words = [_without_contraction(*match.groups()) for match in WORD.finditer(text)]
    found = []
    for place, word in enumerate(words):
        if word in single:
            found.append(single[word])
        for parts, gender, phrase in phrases.get(word, ()):
            if tuple(words[place : place + len(parts)]) == parts:
                found.append((gender, phrase))
    return found


def _without_contraction(word, mark):
    """Return the word in a piece of text without a contraction; "" for a possessive."""
    base, _, rest = word.partition("'")
    if word.endswith("'s"):
        word, mark = word[:-2], "'s"
    elif rest.partition("'")[0] in _CONTRACTED:
        word = base
    possessive = mark and ("s" in mark or word.endswith("s"))
    return "" if possessive and word not in _NEVER_POSSESSIVE else word


def _each_target_once(frame):
    """Give a reason to target sentences that occur again."""
    one_gender = frame["reason"] == ""
    target = frame.loc[one_gender, "target"].map(one_line)
    several = frame.loc[one_gender, "gender"].groupby(target).transform("nunique") > 1
    repeated = target.duplicated() & ~several
    frame.loc[several.index[several], "reason"] = "target sentence of both genders"
    frame.loc[repeated.index[repeated], "reason"] = "repeated target sentence"
    return frame
