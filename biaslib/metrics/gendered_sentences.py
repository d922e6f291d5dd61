"""Sentences called male or female after the words of their English originals."""

import html
import math
import re

import numpy as np
import pandas as pd

from biaslib._checks import as_sentences
from biaslib.io.gender_words import GENDERS, WORD, index_words, normal_form
from biaslib.metrics.mbe import score_with_interval
from biaslib.scoring.scores import unmasked_likelihood_and_vectors

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
# One word for both genders, written with a slash or brackets, is read as the two words.
_BOTH = (
    (re.compile(r"(?<!\w)(?:s/|\(s\))he(?!\w)"), "she/he"),
    (re.compile(r"(?<!\w)(?:wo/|\(wo\))(m[ae]n)(?!\w)"), r"woman/\1"),
)
# After these, 's is "is" or "has"; the others have no possessive either.
_NEVER_POSSESSIVE = frozenset(("he", "him", "his", "himself", "she", "her", "hers", "herself"))
_CONTRACTED = frozenset(("d", "ll", "re", "ve", "m"))


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
    single, phrases = index_words(male_words, female_words)
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
    return usable(label_gender(english, target, male_words=male_words, female_words=female_words))


def usable(labelled):
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
    use = usable(labelled)
    kept = use if kept is None else kept
    counts = {f"taken: {gender}": int((kept["gender"] == gender).sum()) for gender in GENDERS}
    counts |= {"left out to make both genders equal": len(use) - len(kept)}
    counts |= labelled["reason"].value_counts().reindex(REASONS, fill_value=0).to_dict()
    frame = pd.DataFrame({"outcome": [*counts, "all pairs"], "n": [*counts.values(), len(labelled)]})
    return frame.assign(share=frame["n"] / len(labelled) if len(labelled) else np.nan)


def _unescaped(text):
    text = text.strip()
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text).strip() if "&" in text else text


def _gender_words(text, single, phrases):
    """List (gender, word) of an English sentence in order."""
    text = normal_form(text)
    if "@-@" in text:
        text = _SPLIT_HYPHEN.sub("-", text)
    if "/" in text or "(" in text:
        for pattern, words in _BOTH:
            text = pattern.sub(words, text)
    words = [_counted(*match.groups()) for match in WORD.finditer(text)]
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


def gender_likelihoods(lm, sentences, *, text="target", batch_tokens=None, progress=False):
    """Score sentences and give their vectors, in one pass over the model.

    Parameters
    ----------
    lm : MaskedLM
    sentences : pandas.DataFrame
        With `text` and, for `by_gender`, ``gender``, as `gender_sentences` gives it.
    text : str
        The column to score.
    batch_tokens, progress
        As in `biaslib.scoring.scores`.

    Returns
    -------
    scored : pandas.DataFrame
        The columns of `sentences` with ``aul aula n_tokens n_unknown reason``; the index counts the rows of `vectors`.
    vectors : numpy.ndarray of float32, shape (n, hidden)

    Raises
    ------
    ValueError
        If the column is missing, or the model gives no sentence vectors.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> pairs = ["She is kind.", "He is old."], ["Sie ist nett.", "Er ist alt."]
    >>> sentences = gender_sentences(*pairs, male_words=["he"], female_words=["she"])
    >>> scored, vectors = gender_likelihoods(load_masked_lm("demo"), sentences, text="english")
    >>> bool((scored["aula"] < 0).all()), vectors.shape
    (True, (2, 128))
    """
    if text not in sentences:
        raise ValueError(f"the sentences lack the column {text!r}")
    scores, vectors = unmasked_likelihood_and_vectors(
        lm, sentences[text].tolist(), batch_tokens=batch_tokens, progress=progress
    )
    scores = scores.drop(columns=["sentence_id", "sentence"])
    kept = sentences.drop(columns=scores.columns, errors="ignore").reset_index(drop=True)
    return pd.concat([kept, scores], axis=1), vectors


def by_gender(scored, vectors, *, score="aula"):
    """Part scored sentences by gender, in the order in which the measures take them.

    Parameters
    ----------
    scored : pandas.DataFrame
        ``gender`` and `score`; its index says which row of `vectors` is whose, so that some of the rows may be given.
    vectors : array_like, shape (n, d)
    score : {"aula", "aul"}

    Returns
    -------
    male_scores, female_scores, male_vectors, female_vectors : numpy.ndarray
        For `mbe_score` and its kin: ``mbe_score(*by_gender(scored, vectors))``.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    missing = [column for column in ("gender", score) if column not in scored]
    if missing:
        raise ValueError(f"the scored sentences lack the column(s) {', '.join(missing)}")
    parts = [scored[scored["gender"] == gender] for gender in GENDERS]
    vectors = np.asarray(vectors)
    return (
        *(part[score].to_numpy(dtype=np.float64) for part in parts),
        *(vectors[part.index.to_numpy(dtype=int)] for part in parts),
    )


def tokenizer_coverage(scored, vectors, *, text="target", weight="cosine", n_resamples=1000, seed=0):
    """Say how far a tokenizer reaches in the language of sentences, beside what MBE comes to on them.

    Parameters
    ----------
    scored, vectors
        From `gender_likelihoods`.
    text : str
        The column that was scored.
    weight, n_resamples, seed
        As for `score_with_interval`.

    Returns
    -------
    pandas.DataFrame
        One row: ``n n_tokens n_unknown share_unknown tokens_per_word`` (words are what stands between blanks: in
        languages without blanks, a sentence), and the columns of `score_with_interval`.
    """
    usable = scored[scored["reason"] == ""]
    n_tokens, n_unknown = int(usable["n_tokens"].sum()), int(usable["n_unknown"].sum())
    n_words = int(usable[text].str.split().str.len().sum())
    row = {"n": len(usable), "n_tokens": n_tokens, "n_unknown": n_unknown}
    row["share_unknown"] = n_unknown / n_tokens if n_tokens else math.nan
    row["tokens_per_word"] = n_tokens / n_words if n_words else math.nan
    options = {"weight": weight, "n_resamples": n_resamples, "seed": seed}
    score = score_with_interval(*by_gender(scored, vectors), **options)
    return pd.concat([pd.DataFrame([row]), score], axis=1)


def word_sentences(gender_words, template="{word}"):
    """Make sentences of nothing but gender words, the simpler material that the study compares with (§5.2).

    Parameters
    ----------
    gender_words : pandas.DataFrame
        ``gender word kind``, as `read_gender_words` gives it.
    template : str
        With ``{word}``; pronouns are left out unless the word stands alone, and a noun gets *the*.

    Returns
    -------
    pandas.DataFrame
        ``english target gender word``, both texts the same.

    Examples
    --------
    >>> words = pd.DataFrame({"gender": ["male", "female"], "word": ["king", "she"], "kind": ["role", "pronoun"]})
    >>> word_sentences(words, "We saw {word} yesterday.")["target"].tolist()
    ['We saw the king yesterday.']
    """
    frame, alone = gender_words, template == "{word}"
    if not alone:
        frame = frame[frame["kind"] != "pronoun"]
    written = [word if alone or kind == "name" else f"the {word}" for word, kind in frame[["word", "kind"]].to_numpy()]
    sentences = [template.replace("{word}", word) for word in written]
    return pd.DataFrame(
        {"english": sentences, "target": sentences, "gender": frame["gender"].tolist(), "word": frame["word"].tolist()}
    )


def length_matched(scored, seed=0, *, width=1):
    """Sample male and female sentences so that both have the same lengths.

    AULA falls with the length of a sentence; where one gender's sentences are longer, that alone moves the score.

    Parameters
    ----------
    scored : pandas.DataFrame
        ``gender n_tokens aula``, as `gender_likelihoods` gives it; rows without a score are left out.
    seed : int
    width : int
        Lengths are the same if they fall into the same interval of so many tokens.

    Returns
    -------
    pandas.DataFrame
        Rows of `scored` in their order, with their index, which `by_gender` needs: of each length as many male as
        female ones.

    Raises
    ------
    ValueError
        If a column is missing, or `width` is no positive whole number.

    Examples
    --------
    >>> scored = pd.DataFrame({"gender": ["male", "male", "female"], "n_tokens": [5, 9, 5], "aula": [-1, -2, -3]})
    >>> length_matched(scored).index.tolist()
    [0, 2]
    """
    missing = [column for column in ("gender", "n_tokens", "aula") if column not in scored]
    if missing:
        raise ValueError(f"the scored sentences lack the column(s) {', '.join(missing)}")
    if isinstance(width, bool) or not isinstance(width, int | np.integer) or width < 1:
        raise ValueError(f"width has to be a whole number from 1 up, not {width!r}")
    rng = np.random.default_rng(seed)
    usable = scored["aula"].notna().to_numpy() & scored["gender"].isin(GENDERS).to_numpy()
    gender = scored["gender"].to_numpy(dtype=object)
    length = scored["n_tokens"].to_numpy() // width
    kept = []
    for of_length in np.unique(length[usable]):
        places = [np.flatnonzero(usable & (length == of_length) & (gender == one)) for one in GENDERS]
        size = min(map(len, places))
        kept += [rng.choice(of_one, size, replace=False) for of_one in places]
    return scored.iloc[np.sort(np.concatenate(kept)) if kept else []]
