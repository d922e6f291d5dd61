"""Sentence pairs and cloze items read from the files of CrowS-Pairs, WinoQueer, StereoSet, Winogender, or one's own."""

import re
from collections import Counter
from collections.abc import Iterable
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from biaslib._checks import check_choice, listed
from biaslib.io._sources import find_file
from biaslib.io.tables import read_json, read_table

DIRECTIONS = ("stereo", "antistereo")
PAIR_COLUMNS = ("pair_id", "sent_more", "sent_less", "direction", "bias_type", "reason")
CANDIDATES = ("stereotype", "anti_stereotype", "unrelated")
PRONOUN_GENDERS = ("male", "female", "neutral")
_PAIR_IDS = ("pair_id", "", "Unnamed: 0", "id")
_DIRECTIONS = ("direction", "stereo_antistereo", "stereo_antistero")
_BLANK = re.compile(r"BLANK(?![A-Z])")
_LABELS = {"stereotype": "stereotype", "anti-stereotype": "anti_stereotype", "unrelated": "unrelated"}
_AT_THE_END = r"\s.,;:!?"


class _Format(NamedTuple):
    """Which columns of a file hold the sentences, and which the bias type."""

    sent_more: str
    sent_less: str
    bias_type: str = "bias_type"


_FORMATS = (
    _Format("sent_more", "sent_less"),
    _Format("stereotype", "anti-stereotype"),
    _Format("sent_x", "sent_y", "Gender_ID_x"),
)
_WINOGENDER = ("sentid", "sentence")


def read_pairs(source: str | Path | pd.DataFrame) -> pd.DataFrame:
    """Read sentence pairs, one row per pair, none left out.

    Parameters
    ----------
    source : str, Path or pandas.DataFrame
        A table (CSV, TSV, JSON, JSON lines or Parquet), a frame, or the name of a data set (see
        `biaslib.io.list_datasets`). The columns tell the format: ``sent_more sent_less`` (CrowS-Pairs, WinoQueer-v0 or
        one's own pairs), ``stereotype anti-stereotype`` (the translations of CrowS-Pairs), or ``sent_x sent_y
        Gender_ID_x Gender_ID_y`` (the later format of WinoQueer; x is the stereotype about a queer identity, which
        becomes the bias type).

    Returns
    -------
    pandas.DataFrame
        ``pair_id sent_more sent_less direction bias_type reason``, then the other columns of the source. ``pair_id``
        is that of the source, or counts from 0. ``direction`` is ``"stereo"`` or ``"antistereo"``; ``"stereo"`` where
        the source has none. ``bias_type`` may be empty. Text is stripped; "NA" and "null" are words. ``reason`` is
        empty, or says why a pair cannot be used: a sentence is empty or not text, both are identical, the direction is
        unknown, or the row has too many or too few fields. The reasons of a frame are kept, so that pairs can be left
        out on purpose.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    DatasetError
        If there is no such data set, or it cannot be downloaded.
    ValueError
        If the table is not of a known format, or ids are repeated.

    Notes
    -----
    In an antistereo pair, too, `sent_more` is the sentence that counts when it is preferred: nothing is flipped.

    Examples
    --------
    >>> rows = [("She is kind.", "He is kind."), ("She is kind.", "She is kind. ")]
    >>> pairs = read_pairs(pd.DataFrame(rows, columns=["sent_more", "sent_less"]))
    >>> pairs[["pair_id", "direction", "reason"]].values.tolist()
    [[0, 'stereo', ''], [1, 'stereo', 'the sentences are identical']]
    """
    if isinstance(source, pd.DataFrame):
        return _as_pairs(source.rename(columns=_stripped), "the frame")
    path = find_file(source, "pairs", data_sets=True)
    formats = [(known.sent_more, known.sent_less) for known in _FORMATS]
    table = read_table(path, needed=[*formats, _WINOGENDER], problems="reason")
    return _as_pairs(table, repr(str(path)))


def read_winogender(source: str | Path = "winogender", *, more: str = "male", less: str = "female") -> pd.DataFrame:
    """Read Winogender's sentences as pairs that differ in the pronoun (Rudinger et al. 2018).

    Parameters
    ----------
    source : str or Path
        The file ``all_sentences.tsv``, or the name of the data set.
    more, less : {"male", "female", "neutral"}
        The pronouns to compare. The file does not say which one is the stereotype: that depends on the statistics of
        the occupation. A score of these pairs is the percentage in which the first pronoun is preferred.

    Returns
    -------
    pandas.DataFrame
        As from `read_pairs`, with the bias type ``"gender"``; then ``occupation participant answer male female
        neutral``. The answer is whom the pronoun refers to, ``"occupation"`` or ``"participant"``; the last three are
        the sentences, empty where one is missing.

    Raises
    ------
    FileNotFoundError, DatasetError, ValueError
        As in `read_pairs`; also if the id of a sentence is not in Winogender's format or is repeated, or a pronoun is
        unknown.

    Examples
    --------
    >>> pairs = read_winogender()  # doctest: +SKIP
    >>> len(pairs), pairs.sent_less[0]  # doctest: +SKIP
    (240, 'The technician told the customer that she could pay with cash.')
    """
    for gender in (more, less):
        check_choice(gender, "pronoun", PRONOUN_GENDERS)
    path = find_file(source, "sentences", data_sets=True)
    table = read_table(path, needed=_WINOGENDER, quoting=False, strip=True)
    sentences: dict[tuple, dict] = {}
    for name, sentence in zip(table["sentid"], table["sentence"], strict=True):
        *item, gender = _winogender_id(name, path)
        of_item = sentences.setdefault(tuple(item), dict.fromkeys(PRONOUN_GENDERS, ""))
        if of_item[gender]:
            raise ValueError(f"{str(path)!r} has the sentence {name!r} twice: leave one out")
        of_item[gender] = sentence
    rows = [
        {
            "pair_id": ".".join(item),
            "sent_more": of_item[more],
            "sent_less": of_item[less],
            "bias_type": "gender",
            "occupation": item[0],
            "participant": item[1],
            "answer": ("occupation", "participant")[int(item[2])],
            **of_item,
        }
        for item, of_item in sentences.items()
    ]
    return read_pairs(pd.DataFrame(rows))


def read_stereoset(source: str | Path = "stereoset") -> pd.DataFrame:
    """Read StereoSet's intrasentence items, each blank filled with its three candidates (Nadeem et al. 2021).

    Parameters
    ----------
    source : str or Path
        The JSON file as published (``dev.json``), or the name of the data set.

    Returns
    -------
    pandas.DataFrame
        ``item_id target bias_type context stereotype anti_stereotype unrelated stereotype_word anti_stereotype_word
        unrelated_word reason``, one row per item. The three sentences are the context with ``BLANK`` filled, so they
        differ in nothing but the candidate, which is in the ``_word`` columns; if a context has several blanks, all are
        filled. ``reason`` is empty, or says why an item cannot be used: it has no blank, a candidate is missing or
        occurs twice, or a published sentence does not fit its context. ``attrs["left_out"]`` counts the intersentence
        items, which are not for masked words.

    Raises
    ------
    FileNotFoundError, DatasetError
        As in `read_pairs`.
    ValueError
        If the file is not StereoSet's.

    Notes
    -----
    A candidate is what the published sentence has in place of the blank. Elsewhere, that sentence may differ from the
    context in case, white space, punctuation at the end and the spelling of words.
    """
    path = find_file(source, "items", data_sets=True)
    content = read_json(path)
    data = content.get("data") if isinstance(content, dict) else None
    items = data.get("intrasentence") if isinstance(data, dict) else None
    if not isinstance(items, list):
        raise ValueError(f"{str(path)!r} is not StereoSet's file: data.intrasentence is missing")
    columns = ["item_id", "target", "bias_type", "context", *CANDIDATES]
    columns += [*(f"{candidate}_word" for candidate in CANDIDATES), "reason"]
    frame = pd.DataFrame([_stereoset_item(number, item) for number, item in enumerate(items)], columns=columns)
    others = data.get("intersentence") or []
    frame.attrs["left_out"] = {"intersentence": len(others)} if others else {}
    return frame


def blank_spans(context: str, sentence: str) -> list[tuple[int, int]]:
    """Find where the blanks of a context lie in the sentence that fills them.

    Parameters
    ----------
    context : str
        With one or more ``BLANK``.
    sentence : str

    Returns
    -------
    list of (int, int)
        Start and end of each filling, in characters; empty if the sentence does not fit the context. Case, white space
        and the punctuation at the end may differ.

    Examples
    --------
    >>> blank_spans("BLANK's dog is BLANK.", "The nurse's dog is old.")
    [(0, 9), (19, 22)]
    """
    parts = _BLANK.split(context)
    parts[-1] = re.sub(rf"[{_AT_THE_END}]+$", "", parts[-1])
    pattern = rf"([^{_AT_THE_END}](?:.*?\S)??)".join(map(_loosely, parts))
    found = re.fullmatch(rf"\s*{pattern}[{_AT_THE_END}]*", sentence, re.IGNORECASE | re.DOTALL)
    return [found.span(number) for number in range(1, len(parts))] if found else []


def has_sentences(columns: Iterable[str]) -> bool:
    """Tell whether these are the columns of pairs that `read_pairs` knows.

    Parameters
    ----------
    columns : iterable of str

    Returns
    -------
    bool

    Examples
    --------
    >>> has_sentences(["sent_more", "sent_less"])
    True
    """
    return _format_of(columns) is not None


def _stripped(value):
    return value.strip() if isinstance(value, str) else value


def _format_of(columns):
    """Return the format with these columns; None if they are not those of pairs."""
    return next((known for known in _FORMATS if {known.sent_more, known.sent_less} <= set(columns)), None)


def _check_columns(columns, where):
    twice = [repr(str(column)) for column, count in Counter(columns).items() if count > 1]
    if twice:
        raise ValueError(f"{where} has the column {listed(twice)} twice: rename one")
    if set(_WINOGENDER) <= set(columns):
        raise ValueError(f"{where} has the sentences of Winogender: use read_winogender")
    if not has_sentences(columns):
        needed = "; or ".join(f"{known.sent_more} and {known.sent_less}" for known in _FORMATS)
        raise ValueError(f"{where} has the columns {listed(columns)}, but pairs need {needed}")


def _as_pairs(frame, where):
    """Bring a frame of a known format into the columns of pairs."""
    _check_columns(frame.columns, where)
    known = _format_of(frame.columns)
    own_id, direction, bias_type = (
        next((column for column in names if column in frame), None)
        for names in (_PAIR_IDS, _DIRECTIONS, ("bias_type", known.bias_type))
    )
    more, less = frame[known.sent_more].tolist(), frame[known.sent_less].tolist()
    directions = _texts(frame, direction, "stereo")
    why = map(_why_not, more, less, directions)
    columns = {
        "pair_id": _ids(_texts(frame, own_id), where) if own_id is not None else np.arange(len(frame)),
        "sent_more": list(map(_as_text, more)),
        "sent_less": list(map(_as_text, less)),
        "direction": directions,
        "bias_type": _texts(frame, bias_type),
        "reason": [one or other for one, other in zip(_texts(frame, "reason"), why, strict=True)],
    }
    used = {known.sent_more, known.sent_less, own_id, direction, *PAIR_COLUMNS}
    others = frame[[column for column in frame.columns if column not in used]].reset_index(drop=True)
    return pd.concat([pd.DataFrame(columns), others.map(_stripped).infer_objects()], axis=1)


def _texts(frame, column, default=""):
    """Return a column as texts; the default for each row if there is no such column."""
    return [_as_text(value) for value in frame[column]] if column in frame else [default] * len(frame)


def _is_missing(value):
    return pd.api.types.is_scalar(value) and pd.isna(value)


def _as_text(value):
    return "" if _is_missing(value) else str(value).strip()


def _ids(texts, where):
    """Give ids as numbers if all are; each has to be another."""
    twice = [text for text, count in Counter(texts).items() if count > 1]
    if twice:
        raise ValueError(f"{where} has the pair {twice[0]!r} twice: give each pair its own id, or remove the ids")
    numbers = [int(text) for text in texts if re.fullmatch(r"0|-?[1-9]\d{0,17}", text)]
    return numbers if len(numbers) == len(texts) else texts


def _why_not(more, less, direction):
    """Say why a pair cannot be used; "" if it can."""
    texts = {"sent_more": more, "sent_less": less}
    problems = [f"{name} {problem}" for name, text in texts.items() if (problem := _problem_of(text))]
    if not problems and more.strip() == less.strip():
        problems = ["the sentences are identical"]
    if direction not in DIRECTIONS:
        problems.append(f"unknown direction {direction!r}")
    return "; ".join(problems)


def _problem_of(text):
    if _is_missing(text) or (isinstance(text, str) and not text.strip()):
        return "is empty"
    return "" if isinstance(text, str) else "is not text"


def _winogender_id(name, path):
    parts = name.removesuffix(".txt").split(".")
    if len(parts) != 4 or parts[2] not in ("0", "1") or parts[3] not in PRONOUN_GENDERS:
        raise ValueError(f"{str(path)!r}: {name!r} is not an id such as 'technician.customer.1.male.txt'")
    return parts


def _stereoset_item(number, item):
    """Make the row of one item, or a row that says why there is none."""
    item = item if isinstance(item, dict) else {}
    row = {name: _as_text(item.get(name)) for name in ("target", "bias_type", "context")}
    row["item_id"] = _as_text(item.get("id")) or str(number)
    row |= {name: "" for candidate in CANDIDATES for name in (candidate, f"{candidate}_word")}
    row["reason"] = _fill(row, item.get("sentences"))
    return row


def _fill(row, sentences):
    """Write the candidates of an item into its row; say what is wrong with it, or ""."""
    if not _BLANK.search(row["context"]):
        return "no BLANK in the context"
    sentences = [sentence for sentence in sentences or [] if isinstance(sentence, dict)]
    problems = []
    for label, candidate in _LABELS.items():
        own = [_as_text(sentence.get("sentence")) for sentence in sentences if sentence.get("gold_label") == label]
        fillings = _fillings(row["context"], own[0]) if len(own) == 1 else []
        if len(own) != 1:
            problems.append(f"{len(own)} sentences for {label}" if own else f"no sentence for {label}")
        elif not fillings:
            problems.append(f"the sentence for {label} does not fit the context")
        else:
            parts = zip(_BLANK.split(row["context"]), [*fillings, ""], strict=True)
            row[candidate] = "".join(text for pair in parts for text in pair)
            row[f"{candidate}_word"] = " … ".join(dict.fromkeys(fillings))
    return "; ".join(problems)


def _fillings(context, sentence):
    """Give what a sentence has in the place of each blank."""
    spans = blank_spans(context, sentence)
    if spans:
        return [sentence[start:stop] for start, stop in spans]
    # A word is spelt otherwise elsewhere: take what stands between the same neighbours.
    words, written = context.split(), sentence.split()
    alike = SequenceMatcher(None, [w.casefold() for w in words], [w.casefold() for w in written], autojunk=False)
    fillings = []
    for _, a, a_end, b, b_end in alike.get_opcodes():
        if any(map(_BLANK.search, words[a:a_end])):
            between = " ".join(written[b:b_end])
            spans = blank_spans(words[a], between) if a_end - a == 1 else []
            fillings += [between[start:stop] for start, stop in spans]
    return fillings if len(fillings) == len(_BLANK.findall(context)) else []


def _loosely(text):
    """Make a pattern of a text that lets white space differ in length."""
    return r"\s+".join(map(re.escape, re.split(r"\s+", text)))
