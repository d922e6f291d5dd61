"""The sentiment of single words by VADER (Hutto & Gilbert 2014), as in the speciesism study (§5.1.2)."""

import re
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd

from biaslib._checks import as_words
from biaslib._frames import groups_of, names_of
from biaslib.stats.hypothesis_tests import signed_rank
from biaslib.stats.intervals import bootstrap_interval

SENTIMENTS = ("negative", "neutral", "positive")
SENTENCES = ("object", "human")
THRESHOLD = 0.05
_WORD_START = "Ġ▁"
_SPECIAL = re.compile(r"\[[^\[\]]+\]|<[^<>]+>")


def word_sentiment(words: Sequence[str]) -> pd.DataFrame:
    """Compute the sentiment of each word.

    Parameters
    ----------
    words : sequence of str
        Words, or vocabulary entries in the tokenizer's notation: ``Ġbad`` and ``▁bad`` are read as "bad".

    Returns
    -------
    pandas.DataFrame
        ``word text compound sentiment reason``, one row per word: the text scored, VADER's compound score (−1 to 1),
        and ``"negative"`` (at most −.05), ``"positive"`` (at least .05) or ``"neutral"``. Word pieces (``##gratory``),
        special and unused entries (``[MASK]``, ``<s>``) and entries without a letter have a reason, no score (NaN) and
        an empty sentiment.

    Raises
    ------
    ValueError
        If `words` is not a list of strings.

    Examples
    --------
    The paper's own example (§6.1):

    >>> word_sentiment(["killed", "slaughtered"])["sentiment"].tolist()
    ['negative', 'neutral']
    """
    words = as_words(words, error=ValueError)
    scored = {word: _score(word) for word in dict.fromkeys(words)}
    columns = ["text", "compound", "sentiment", "reason"]
    frame = pd.DataFrame([scored[word] for word in words], columns=columns)
    frame["compound"] = frame["compound"].astype(float)
    frame.insert(0, "word", pd.Series(words, dtype=frame["text"].dtype))
    return frame


def sentiment_shares(words: pd.DataFrame, groups: Mapping | pd.Series | None = None) -> pd.DataFrame:
    """Count the sentiments of the words kept for each name, or group of names, in each kind of sentence.

    Parameters
    ----------
    words : pandas.DataFrame
        From `biaslib.metrics.contrast`; only kept rows count, those with a positive log ratio for object sentences and
        those with a negative one for human sentences.
    groups : mapping or Series, optional
        The group of each name. A word kept for several names of a group counts once for each.

    Returns
    -------
    pandas.DataFrame
        ``name sentences sentiment n share n_left_out`` (``group`` instead of ``name`` if groups are given), one row per
        combination. `share` is the share of the scored words, NaN if there are none; `n_left_out` is the number of
        words of that name and kind of sentence without a score (pieces, special entries, no letter).

    Raises
    ------
    ValueError
        If a name has no group.

    Examples
    --------
    >>> words = pd.DataFrame({"name": "pig", "word": ["killed", "##olate"], "log_ratio": 2.0, "kept": True})
    >>> sentiment_shares(words).loc[[0], ["sentences", "sentiment", "n", "share", "n_left_out"]]
      sentences sentiment  n  share  n_left_out
    0    object  negative  1    1.0           1
    """
    kept = words.loc[words["kept"].to_numpy(bool) & (words["log_ratio"] != 0).to_numpy()]
    names = names_of(words)
    unit = "name" if groups is None else "group"
    unit_of = {name: name for name in names} if groups is None else groups_of(names, groups)
    units = list(dict.fromkeys(unit_of[name] for name in names))
    sentiments = word_sentiment(kept["word"].astype(object))["sentiment"].to_numpy()
    counted = pd.DataFrame(
        {
            unit: kept["name"].astype(object).map(unit_of).to_numpy(),
            "sentences": np.where(kept["log_ratio"] > 0, *SENTENCES),
            "sentiment": sentiments,
        }
    ).value_counts()
    index = pd.MultiIndex.from_product([units, SENTENCES, SENTIMENTS], names=[unit, "sentences", "sentiment"])
    frame = counted.reindex(index, fill_value=0).rename("n").reset_index()
    total = frame.groupby([unit, "sentences"])["n"].transform("sum")
    frame["share"] = frame["n"] / total.where(total > 0)
    left_out = [counted.get((*key, ""), 0) for key in zip(frame[unit], frame["sentences"], strict=True)]
    frame["n_left_out"] = left_out
    return frame


def compare_shares(words: pd.DataFrame, *, seed: int, n_resamples: int = 9999) -> pd.DataFrame:
    """Test whether the share of each sentiment differs between object and human sentences.

    Parameters
    ----------
    words : pandas.DataFrame
        From `biaslib.metrics.contrast`; only kept rows count.
    seed : int
        Of the bootstrap.
    n_resamples : int

    Returns
    -------
    pandas.DataFrame
        ``sentiment object human difference ci_low ci_high p_value n n_left_out n_words_left_out``: the mean over names
        of the sentiment's share of a name's scored words in each kind of sentence, the mean difference (object −
        human) with its 95 % percentile bootstrap interval over names, Wilcoxon's two-sided signed-rank p value, and
        the numbers of names compared, of names left out because a kind of sentence has no scored word, and of words
        without a sentiment.

    Raises
    ------
    ValueError
        If the frame has no name.

    Examples
    --------
    >>> words = pd.DataFrame({"name": ["pig"] * 2 + ["dog"] * 2, "word": ["killed", "shy", "old", "happy"]})
    >>> words = words.assign(log_ratio=[2.0, -2.0, 2.0, -2.0], kept=True)
    >>> compare_shares(words, seed=0).loc[0, ["object", "human"]].astype(float).tolist()
    [0.5, 0.5]
    """
    shares = sentiment_shares(words)
    if shares.empty:
        raise ValueError("the frame has no name, so there is nothing to compare")
    left_out = int(shares.drop_duplicates(["name", "sentences"])["n_left_out"].sum())
    wide = shares.pivot(index="name", columns=["sentiment", "sentences"], values="share")
    usable = wide.dropna()
    rows = []
    for sentiment in SENTIMENTS:
        thing, person = (usable[sentiment, kind].to_numpy(float) for kind in SENTENCES)
        difference = thing - person
        interval, p_value = (np.nan, np.nan), np.nan
        if len(usable):
            interval = bootstrap_interval(difference, np.mean, seed=seed, n_resamples=n_resamples)
            p_value = signed_rank(thing, person).p_value
        means = [values.mean() if len(usable) else np.nan for values in (thing, person, difference)]
        counts = (len(usable), len(wide) - len(usable), left_out)
        rows.append((sentiment, *means, *interval, p_value, *counts))
    columns = ["sentiment", *SENTENCES, "difference", "ci_low", "ci_high", "p_value"]
    return pd.DataFrame(rows, columns=[*columns, "n", "n_left_out", "n_words_left_out"])


def _score(word):
    text = word.strip().lstrip(_WORD_START)
    reason = _why_not_scored(text)
    if reason:
        return text, np.nan, "", reason
    compound = _analyzer().polarity_scores(text)["compound"]
    if compound <= -THRESHOLD:
        return text, compound, "negative", ""
    return text, compound, "positive" if compound >= THRESHOLD else "neutral", ""


def _why_not_scored(text):
    if text.startswith("##"):
        return "word piece"
    if _SPECIAL.fullmatch(text):
        return "special token"
    if "\ufffd" in text:
        return "part of a character"
    return "" if any(character.isalpha() for character in text) else "no letter"


@cache
def _analyzer():
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    return SentimentIntensityAnalyzer()
