"""Checks of arguments: each raises one line that says what the argument must be."""

import math
import operator
from collections.abc import Iterable
from numbers import Integral, Real

from biaslib._text import lone_surrogate


def as_sentences(sentences, what="sentences"):
    """Return sentences as a list; `what` names them in the error.

    Raises
    ------
    TypeError
        If they are not a list of strings but, for example, one string, a frame or a set.
    ValueError
        If a string holds a lone surrogate, which no tokenizer takes.
    """
    _refuse_one_string(sentences, what, TypeError)
    if hasattr(sentences, "columns") or isinstance(sentences, dict | set | bytes):
        raise TypeError(f"{what} must be a list of strings or one column of a frame, not {type(sentences).__name__}")
    _refuse_not_iterable(sentences, what, TypeError)
    return [check_text(sentence, f"entry {number} of {what}") for number, sentence in enumerate(sentences)]


def as_words(words, what="words", error=TypeError):
    """Return words as a list; raise `error` if they are not a list of strings."""
    _refuse_one_string(words, what, error)
    _refuse_not_iterable(words, what, error)
    words = list(words)
    for word in words:
        if not isinstance(word, str):
            raise error(f"{what} must be a list of strings, but it has {word!r}; put it in quotes if it is a word")
    return words


def check_text(text, what):
    """Return a string if UTF-8 can encode it."""
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a string, not {text!r}")
    if half := lone_surrogate(text):
        raise ValueError(f"{what} holds half a character, {half!r}; decode it again as UTF-8")
    return text


def check_count(value, what, least=1, most=None, error=ValueError):
    """Return a whole number from `least` to `most`, both included, as an int."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise error(f"{what} must be a whole number {limits}, not {value!r}")
    return int(value)


def check_number(value, what, *, least=None, above=None, most=None, below=None, error=ValueError):
    """Return a finite number as a float; `least` and `most` are themselves allowed, `above` and `below` are not."""
    limits = [
        (least, "at least", operator.ge),
        (above, "above", operator.gt),
        (most, "at most", operator.le),
        (below, "below", operator.lt),
    ]
    limits = [limit for limit in limits if limit[0] is not None]
    number = _as_float(value)
    if not math.isfinite(number) or not all(is_within(number, bound) for bound, _, is_within in limits):
        wanted = " and ".join(f"{words} {bound}" for bound, words, _ in limits)
        raise error(f"{what} must be a finite number {wanted}".rstrip() + f", not {value!r}")
    return number


def check_choice(value, what, known, error=ValueError):
    """Raise `error` if a value is not one of the known ones."""
    known = list(known)
    if value not in known:
        raise error(f"unknown {what} {value!r}; use one of {listed(known)}")


def check_columns(frame, columns, what="the frame", hint="", error=ValueError):
    """Raise `error` if a frame lacks a column; `hint` is a remedy to add."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"{what} must be a DataFrame, not {type(frame).__name__}")
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        noun = "column" if len(missing) == 1 else "columns"
        found = listed(frame.columns, most=20) or "none"
        raise error(f"{what} must have the {noun} {listed(missing)}, found: {found}" + (f"; {hint}" if hint else ""))


def listed(values, most=None):
    """Join values by commas; beyond `most`, say how many more there are."""
    names = list(map(str, values))
    if most is None or len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def _refuse_one_string(values, what, error):
    if isinstance(values, str):
        raise error(f"{what} must be a list of strings, not one string")


def _refuse_not_iterable(values, what, error):
    if not isinstance(values, Iterable):
        raise error(f"{what} must be a list of strings, not {type(values).__name__}")


def _as_float(value):
    """Return a number as a float, and NaN for anything else."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan
