"""Where the sentences of an English text begin and end."""

import re

# The longest word that is looked at before a full stop.
LOOK_BACK = 20
_CLOSING = "\"'”’)\\]»_*"
_BREAK = re.compile(rf"[.?!…][{_CLOSING}]*\s+|\n\s*\n\s*")
_NEXT = re.compile(r"[^\W_]")
_LAST_WORD = re.compile(r"[^\W_]+(?=\.$)")
_ABBREVIATION = re.compile(
    "m[rs]|mrs|dr|st|messrs|mme|mdlle|mlle|mgr|prof|revd?|hon|capt|col|gen|lieut|lt|sergt|sgt|maj|supt|gov|sen|rep|esq|"
    "[js]r|vs|viz|cf|vol|fig|bros|mt|ft",
    re.IGNORECASE,
)


def sentence_spans(text):
    """Tell where the sentences of an English text begin and end, by its punctuation.

    A sentence ends at ``.``, ``?``, ``!`` or ``…`` before white space, unless a lower-case letter follows or a
    title, an abbreviation or an initial stands before; at a blank line; and beside a line in capitals, such as a
    heading. A single line break is white space: texts may be wrapped or not.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of (int, int)
        First character and the one after the last, without white space around; they leave out nothing else.

    Examples
    --------
    >>> text = "“Run!” cried Mr. Fox.\\nThe hens ran."
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['“Run!” cried Mr. Fox.', 'The hens ran.']
    """
    spans, start = [], 0
    for end in (*sentence_breaks(text), len(text)):
        _add_spans(spans, text, start, end)
        start = end
    return spans


def sentence_breaks(text):
    """Tell where the next sentence begins, in texts without headings."""
    return [found.end() for found in _BREAK.finditer(text) if _ends_sentence(text, found)]


def _ends_sentence(text, found):
    mark = found.group()
    if mark.count("\n") > 1:
        return True
    following = _NEXT.search(text, found.end(), found.end() + 8)
    if following and following.group().islower():
        return False
    if mark[0] != "." or not mark[1:].isspace():
        return True
    before = _LAST_WORD.search(text[max(0, found.start() - LOOK_BACK) : found.start() + 1])
    word = before.group() if before else ""
    is_initial = len(word) == 1 and word.isupper() and word != "I"
    return not (is_initial or _ABBREVIATION.fullmatch(word))


def _add_spans(spans, text, start, end):
    """Add a sentence, and the lines in capitals before it (a heading has no full stop) each on its own."""
    piece = text[start:end]
    first = start + len(piece) - len(piece.lstrip())
    last = start + len(piece.rstrip())
    while "\n" in (rest := text[first:last]):
        line = rest.partition("\n")[0]
        if not line.isupper() or sum(map(str.isalpha, line)) < 2:
            break
        spans.append((first, first + len(line.rstrip())))
        first += len(rest) - len(rest[len(line) :].lstrip())
    if last > first:
        spans.append((first, last))
