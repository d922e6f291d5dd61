"""Why a sentence or a word has no score: the codes that stand in a frame's column ``reason``."""

from collections.abc import Mapping

import pandas as pd

from biaslib._text import MASK

EMPTY = "empty"
TOO_LONG = "too long"
ONLY_UNKNOWN = "only unknown tokens"
HOLDS_A_MASK = f"{MASK} in a sentence to be scored whole"
NOT_ONE_MASK = f"not exactly one {MASK}"
LONE_SPACE = "white space alone before the mask"
NOT_FINITE = "the model's output is not a finite number"
NO_SHARED_TOKEN = "no shared token"
NO_TOKEN_IN_PART = "no token in the part"
UNKNOWN_IN_PART = "unknown token in the part"
NO_WORD = "no word"
NOT_ONE_TOKEN = "not one token"
NOT_IN_VOCABULARY = "not in the vocabulary"
SPECIAL_TOKEN = "a special token"

# All of them, with what they mean.
REASONS = {
    EMPTY: "no token of its own",
    TOO_LONG: "more tokens than the model holds; a sentence is never cut short",
    ONLY_UNKNOWN: "no token that the vocabulary has",
    HOLDS_A_MASK: "a mask where each token is to be predicted",
    NOT_ONE_MASK: "no mask, or several",
    LONE_SPACE: "a piece of white space that no word in the mask's place would leave",
    NOT_FINITE: "NaN or infinity at a place read",
    NO_SHARED_TOKEN: "the two sentences of a pair have no token in common",
    NO_TOKEN_IN_PART: "the part of the sentence holds no token",
    UNKNOWN_IN_PART: "the part of the sentence holds a token that the vocabulary lacks",
    NO_WORD: "the group has no words",
    NOT_ONE_TOKEN: "the word is several tokens in its place",
    NOT_IN_VOCABULARY: "the word is the unknown token in its place",
    SPECIAL_TOKEN: "the word is a control token",
}
# What is wrong with a sentence itself, whatever is asked about it.
SENTENCE_REASONS = frozenset({EMPTY, TOO_LONG, ONLY_UNKNOWN, HOLDS_A_MASK, NOT_ONE_MASK, LONE_SPACE})


def count_reasons(reasons: pd.Series) -> dict[str, int]:
    """Count how often each reason stands in a column of reasons, the most frequent first.

    Parameters
    ----------
    reasons : Series of str
        ``""`` stands for no reason and is not counted.

    Returns
    -------
    dict of str to int

    Examples
    --------
    >>> count_reasons(pd.Series(["", "empty", "too long", "too long"]))
    {'too long': 2, 'empty': 1}
    """
    return {str(reason): int(count) for reason, count in reasons[reasons != ""].value_counts().items()}


def join_reasons(reasons: Mapping[str, str]) -> str:
    """Say which parts have no score and why; "" if there is no reason.

    Examples
    --------
    >>> join_reasons({"first": "empty", "second": "", "third": "too long"})
    'first: empty; third: too long'
    """
    return "; ".join(f"{part}: {reason}" for part, reason in reasons.items() if reason)


def list_counts(reasons: pd.Series) -> str:
    """Count reasons in words.

    Examples
    --------
    >>> list_counts(pd.Series(["", "empty", "too long", "too long"]))
    '2 too long, 1 empty'
    """
    return ", ".join(f"{count} {reason}" for reason, count in count_reasons(reasons).items())
