import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslib._text import escape_markdown, lone_surrogate, one_line


@given(st.text(), st.integers(1, 30))
def test_one_line_has_no_line_break_and_no_more_than_it_may(text, most):
    whole, cut = one_line(text), one_line(text, most)
    assert whole.split() == text.split()
    assert len(whole.splitlines()) <= 1
    assert cut == whole if len(whole) <= most else (len(cut) == most and cut[:-1] + "…" == cut)


def test_one_line_by_hand():
    assert one_line(" a\n b\tc ") == "a b c"
    assert one_line(ValueError("a\nb")) == "a b"
    assert one_line("abcd", 4) == "abcd"
    assert one_line("abcde", 4) == "abc…"


@pytest.mark.parametrize(
    ("text", "half"), [("", ""), ("é 😀 \0", ""), ("a\ud800b\udfff", "\ud800"), ("\udcff", "\udcff")]
)
def test_the_first_half_of_a_character_is_found(text, half):
    assert lone_surrogate(text) == half


@given(st.text())
def test_markdown_shows_the_text_itself(text):
    escaped = escape_markdown(text)
    assert not set(escaped) & set("*_`<>[]$\\|~!\n")
    # Null and a few others have no character reference of their own in HTML.
    shown = "".join(c for c in text if html.unescape(f"&#{ord(c)};") == c)
    assert html.unescape(escape_markdown(shown)) == shown


def test_markdown_of_what_is_no_text():
    assert escape_markdown(1.5) == "1.5"
    assert escape_markdown("#1 [a](b)") == "&#35;1 &#91;a&#93;&#40;b&#41;"
