"""Words found in sentences by the rules of their language (`biaslib.io.Language`)."""

import re
import sys
import unicodedata
from collections.abc import Hashable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from biaslib.io.languages import Language


class WordFinder(NamedTuple):
    """A pattern with one group for each of its entries, longest first."""

    pattern: re.Pattern
    entries: tuple[Hashable, ...]

    def find(self, text: str) -> Iterator[tuple[Hashable, int, int]]:
        """Yield (entry, start, end) of each word in a text, from left to right."""
        for match in self.pattern.finditer(text):
            yield (self.entries[match.lastindex - 1], *match.span(match.lastindex))


def word_finder(words: Iterable[str], entries: Iterable[Hashable], rules: Language, flags: int = 0) -> WordFinder:
    """Make the finder of words in texts in normal form C, which yields each word's entry."""
    pairs = [(unicodedata.normalize("NFC", word), entry) for word, entry in zip(words, entries, strict=True)]
    pairs.sort(key=lambda pair: -len(pair[0]))
    pattern = "|".join(_bounded(word, rules) for word, _ in pairs)
    return WordFinder(re.compile(pattern, flags), tuple(entry for _, entry in pairs))


def _bounded(word, rules):
    """Write the pattern of a word, with what may and must not stand beside it."""
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
    """Return all combining marks, which ``\\w`` leaves out, as ranges of a character class."""
    marks = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith("M")]
    starts = [code for code in marks if not unicodedata.category(chr(code - 1)).startswith("M")]
    ends = [code for code in marks if not unicodedata.category(chr(code + 1)).startswith("M")]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))
