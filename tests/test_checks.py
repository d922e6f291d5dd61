import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslib._checks import (
    as_sentences,
    as_words,
    check_choice,
    check_columns,
    check_count,
    check_number,
    check_text,
    listed,
)


class OwnError(ValueError):
    pass


@pytest.mark.parametrize("make", [list, tuple, iter, np.array, pd.Series, pd.Index, dict.fromkeys])
def test_words_come_as_a_list(make):
    assert as_words(make(["a", "", "a b"])) == ["a", "", "a b"]


@pytest.mark.parametrize("make", [list, tuple, iter, np.array, pd.Series, pd.Index])
def test_sentences_come_as_a_list(make):
    assert as_sentences(make(["a", "", "é 😀"])) == ["a", "", "é 😀"]
    assert as_sentences(make([])) == []


@pytest.mark.parametrize("check", [as_words, as_sentences])
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("she is", "texts must be a list of strings, not one string"),
        (3, "not int"),
        (None, "not NoneType"),
        (["a", 1.5], "1.5"),
        (["a", float("nan")], "nan"),
        ([b"a"], "b'a'"),
    ],
)
def test_what_is_no_list_of_strings_is_refused(check, given, says):
    with pytest.raises(TypeError, match=re.escape(says)):
        check(given, "texts")


@pytest.mark.parametrize("given", [pd.DataFrame({"text": ["a"]}), {"a": 1}, {"a"}, b"a"])
def test_sentences_in_no_order_or_of_a_frame_are_refused(given):
    with pytest.raises(TypeError, match=f"sentences must be .* not {type(given).__name__}"):
        as_sentences(given)


def test_half_a_character_is_refused_with_its_place():
    with pytest.raises(ValueError, match=r"entry 1 of texts holds half a character, '\\ud800'"):
        as_sentences(["a", "b \ud800"], "texts")
    assert check_text("a", "line 1") == "a"


def test_words_are_refused_by_the_error_that_is_wanted():
    for words in ("a", 1, [1]):
        with pytest.raises(OwnError):
            as_words(words, error=OwnError)


@pytest.mark.parametrize("value", [1, 7, np.int8(7), np.uint64(7), 10**30])
def test_counts_come_as_int(value):
    count = check_count(value, "n")
    assert count == value
    assert type(count) is int


@pytest.mark.parametrize("value", [0, -1, True, np.True_, 1.0, np.float64(1), "1", None, float("nan"), [1]])
def test_what_is_no_count_is_refused(value):
    with pytest.raises(ValueError, match=re.escape(f"n must be a whole number of at least 1, not {value!r}")):
        check_count(value, "n")


@given(st.integers(), st.integers(-50, 50), st.integers(0, 50))
def test_counts_lie_within_their_limits(value, least, more):
    if least <= value <= least + more:
        assert check_count(value, "k", least, least + more) == value
    else:
        with pytest.raises(OwnError, match=f"k must be a whole number from {least} to {least + more}, not {value}"):
            check_count(value, "k", least, least + more, OwnError)


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.5), np.int64(1), Fraction(1, 2)])
def test_numbers_come_as_float(value):
    number = check_number(value, "rate", above=0, most=1)
    assert number == value
    assert type(number) is float


@pytest.mark.parametrize("value", [True, np.True_, "0.5", None, float("nan"), float("inf"), 10**400, [0.5], 1j])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ValueError, match=re.escape(f"rate must be a finite number, not {value!r}")):
        check_number(value, "rate")


@pytest.mark.parametrize(
    ("limits", "inside", "outside", "says"),
    [
        ({"above": 0, "below": 1}, (0.01, 0.99), (0, 1, -1), "above 0 and below 1, not"),
        ({"least": 0, "most": 1}, (0, 1), (-0.01, 1.01), "at least 0 and at most 1, not"),
        ({"least": 0}, (0, 1e300), (-1e-9,), "at least 0, not"),
        ({"above": 0, "most": 1}, (1,), (0,), "above 0 and at most 1, not"),
        ({"least": 0, "below": 1}, (0,), (1,), "at least 0 and below 1, not"),
    ],
)
def test_numbers_lie_within_their_limits(limits, inside, outside, says):
    for value in inside:
        assert check_number(value, "rate", **limits) == value
    for value in outside:
        with pytest.raises(OwnError, match=f"rate must be a finite number {says} {value}"):
            check_number(value, "rate", error=OwnError, **limits)


@pytest.mark.parametrize("known", [("default", "released"), {"default": 1, "released": 2}])
def test_an_unknown_choice_is_refused(known):
    check_choice("released", "variant", known)
    with pytest.raises(ValueError, match=r"^unknown variant 'mean'; use one of default, released$"):
        check_choice("mean", "variant", known)
    with pytest.raises(OwnError, match=r"unknown variant \['mean'\]"):
        check_choice(["mean"], "variant", iter(known), OwnError)


def test_a_choice_may_be_a_number():
    check_choice(0, "ddof", (0, 1))
    with pytest.raises(ValueError, match=r"unknown ddof 2; use one of 0, 1"):
        check_choice(2, "ddof", (0, 1))


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (("word", "score"), "pairs must have the column score, found: word, n"),
        (("b", "word", "a"), "pairs must have the columns b, a, found: word, n"),
    ],
)
def test_a_missing_column_is_named(columns, says):
    frame = pd.DataFrame({"word": ["a"], "n": [1]})
    check_columns(frame, ("n", "word"), "pairs")
    with pytest.raises(ValueError, match=f"^{says}$"):
        check_columns(frame, columns, "pairs")
    with pytest.raises(OwnError, match=f"^{says}; separate columns by commas$"):
        check_columns(frame, columns, "pairs", "separate columns by commas", OwnError)


def test_a_frame_without_columns_and_what_is_no_frame():
    with pytest.raises(ValueError, match="the frame must have the column a, found: none"):
        check_columns(pd.DataFrame(), ["a"])
    for frame in ({"a": [1]}, None, "a.csv", pd.Series([1], name="a")):
        with pytest.raises(TypeError, match=f"the frame must be a DataFrame, not {type(frame).__name__}"):
            check_columns(frame, ["a"])


def test_lists_are_cut_with_the_number_of_what_is_left_out():
    assert listed([]) == ""
    assert listed(iter([1, "b"])) == "1, b"
    assert listed("abc", 3) == "a, b, c"
    assert listed("abcde", 3) == "a, b, c and 2 more"
