"""Sentence pairs and cloze items read from the files of CrowS-Pairs, WinoQueer, StereoSet, Winogender, or one's own."""

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from biaslib.io.datasets import dataset_path

DIRECTIONS = ("stereo", "antistereo")
PAIR_COLUMNS = ("pair_id", "sent_more", "sent_less", "direction", "bias_type", "reason")
CANDIDATES = ("stereotype", "anti_stereotype", "unrelated")
PRONOUN_GENDERS = ("male", "female", "neutral")
_PAIR_IDS = ("pair_id", "", "Unnamed: 0", "id")
_DIRECTIONS = ("direction", "stereo_antistereo", "stereo_antistero")
_SEPARATORS = (",", "\t", ";")
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
_PAIRS_NEED = f"pairs need {'; or '.join(f'{known.sent_more} and {known.sent_less}' for known in _FORMATS)}"


def read_pairs(source):
    """Read sentence pairs, one row a pair, none left out.

    Parameters
    ----------
    source : str, Path or pandas.DataFrame
        A file, a frame, or a data set by name (see `biaslib.io.list_datasets`). The format is told from the
        columns: ``sent_more sent_less`` (CrowS-Pairs, WinoQueer-v0, one's own), ``stereotype anti-stereotype`` (the
        translations of CrowS-Pairs), ``sent_x sent_y Gender_ID_x Gender_ID_y`` (WinoQueer's later format: x is the
        stereotype of a queer identity, which becomes the bias type). A file is CSV (separated by commas, tabs or
        semicolons) or JSON (a list of records), in UTF-8.

    Returns
    -------
    pandas.DataFrame
        ``pair_id sent_more sent_less direction bias_type reason``, then the other columns of the source. ``pair_id``
        is the source's own, or counts from 0; ``direction`` is ``"stereo"`` or ``"antistereo"``, the first where the
        source has none; ``bias_type`` may be empty. Text is stripped at both ends, and "NA" or "null" is that word.
        ``reason`` is empty, or says why a row cannot be used: a sentence is empty or no text, both are the same, the
        direction is unknown, or the record has too many or too few fields. A frame's own reasons are kept, so that
        pairs can be left out on purpose.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    DatasetError
        If there is no such data set, or it cannot be had.
    ValueError
        If the file is not of a known format, or ids repeat.

    Notes
    -----
    In an antistereo row `sent_more` still is the sentence that counts when it is preferred: nothing is flipped.

    Examples
    --------
    >>> rows = [("She is kind.", "He is kind."), ("She is kind.", "She is kind. ")]
    >>> pairs = read_pairs(pd.DataFrame(rows, columns=["sent_more", "sent_less"]))
    >>> pairs[["pair_id", "direction", "reason"]].values.tolist()
    [[0, 'stereo', ''], [1, 'stereo', 'the sentences are identical']]
    """
    if isinstance(source, pd.DataFrame):
        return _as_pairs(source.rename(columns=_stripped), "the frame")
    found = _find(source, "pairs")
    return _as_pairs(_read_table(found, has_sentences, _PAIRS_NEED), repr(str(found)))


def read_winogender(source="winogender", *, more="male", less="female"):
    """Read Winogender's sentences as pairs that differ in the pronoun (Rudinger et al. 2018).

    Parameters
    ----------
    source : str or Path
        The file ``all_sentences.tsv``, or the data set's name.
    more, less : {"male", "female", "neutral"}
        The pronouns that are compared. The file does not say which is the stereotype: that depends on statistics of
        the occupation. A score over these pairs is the share of sentences in which the first pronoun is preferred.

    Returns
    -------
    pandas.DataFrame
        As `read_pairs` gives it, with the bias type ``"gender"``; then ``occupation participant answer male female
        neutral``: the answer tells whom the pronoun refers to, ``"occupation"`` or ``"participant"``, and the last
        three are the sentences. A sentence that is missing is empty.

    Raises
    ------
    FileNotFoundError, DatasetError, ValueError
        As `read_pairs`; also if a sentence's id is not of Winogender's form or repeats, or a pronoun is unknown.

    Examples
    --------
    >>> pairs = read_winogender()  # doctest: +SKIP
    >>> len(pairs), pairs.sent_less[0]  # doctest: +SKIP
    (240, 'The technician told the customer that she could pay with cash.')
    """
    for gender in (more, less):
        if gender not in PRONOUN_GENDERS:
            raise ValueError(f"unknown pronoun {gender!r}: use one of {', '.join(PRONOUN_GENDERS)}")
    found = _find(source, "sentences")
    table = _read_table(found, _is_winogender, "Winogender has sentid and sentence", quoting=csv.QUOTE_NONE)
    wrong = [why for why in _texts(table, "reason") if why]
    if wrong:
        raise ValueError(f"{str(found)!r} has a line with {wrong[0]}")
    sentences: dict[tuple, dict] = {}
    for name, sentence in zip(_texts(table, "sentid"), _texts(table, "sentence"), strict=True):
        *item, gender = _winogender_id(name, found)
        of_item = sentences.setdefault(tuple(item), dict.fromkeys(PRONOUN_GENDERS, ""))
        if of_item[gender]:
            raise ValueError(f"{str(found)!r} has the sentence {name!r} twice: leave one out")
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


def read_stereoset(source="stereoset"):
    """Read StereoSet's intrasentence items, the blank of each filled with its three candidates (Nadeem et al. 2021).

    Parameters
    ----------
    source : str or Path
        The JSON file as published (``dev.json``), or the data set's name.

    Returns
    -------
    pandas.DataFrame
        ``item_id target bias_type context stereotype anti_stereotype unrelated stereotype_word anti_stereotype_word
        unrelated_word reason``, one row an item. The three sentences are the context with ``BLANK`` filled, so that
        they differ in nothing but the candidate, which stands in the ``_word`` columns; a context with several blanks
        has all of them filled. ``reason`` is empty, or says why an item cannot be used: it has no blank, a candidate
        is missing or there twice, or a published sentence does not fit its context. ``attrs["left_out"]`` counts the
        intersentence items, which are not for masked words.

    Raises
    ------
    FileNotFoundError, DatasetError
        As `read_pairs`.
    ValueError
        If the file is not StereoSet's.

    Notes
    -----
    A candidate is what stands in the blank's place in the published sentence; there, capitals, white space and the
    punctuation at the end may be other than the context's, and words elsewhere may be spelt otherwise.
    """
    found = _find(source, "items")
    content = _read_json(found, _text_of(found))
    data = content.get("data") if isinstance(content, dict) else None
    items = data.get("intrasentence") if isinstance(data, dict) else None
    if not isinstance(items, list):
        raise ValueError(f"{str(found)!r} is not StereoSet's file: data.intrasentence is missing")
    columns = ["item_id", "target", "bias_type", "context", *CANDIDATES]
    columns += [*(f"{candidate}_word" for candidate in CANDIDATES), "reason"]
    frame = pd.DataFrame([_stereoset_item(number, item) for number, item in enumerate(items)], columns=columns)
    others = data.get("intersentence") or []
    frame.attrs["left_out"] = {"intersentence": len(others)} if others else {}
    return frame


def blank_spans(context, sentence):
    """Tell where the blanks of a context lie in the sentence that fills them.

    Parameters
    ----------
    context : str
        With ``BLANK`` once or several times.
    sentence : str

    Returns
    -------
    list of (int, int)
        Start and end of each filling, in characters; empty if the sentence does not fit the context. Capitals, white
        space and the punctuation at the end may differ.

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


def has_sentences(columns):
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


def _find(source, what):
    """Give the file of a path or of a data set's name."""
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"{what} are given by path, by name or as a frame, not as {type(source).__name__}")
    path = Path(source)
    if path.is_file():
        return path
    if isinstance(source, str) and not path.suffix and len(path.parts) == 1:
        found = dataset_path(source)
        if found.is_file():
            return found
        raise ValueError(f"data set {source!r} has several files and no {what}: see `biaslib data list`")
    raise FileNotFoundError(f"no {what} at {str(source)!r}: give a file, or the name of a data set")


def _text_of(path):
    try:
        # Line ends are kept: a record may hold one.
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{str(path)!r} is not UTF-8 ({error.reason} at byte {error.start}): save it as UTF-8"
        ) from None


def _read_json(path, text):
    try:
        content = json.loads(text)
        # JSON can spell half a character, which no column of text holds.
        json.dumps(content, ensure_ascii=False).encode("utf-8")
    except ValueError as error:
        raise ValueError(f"{str(path)!r} is not readable JSON: {error}") from None
    return content


def _read_table(path, fits: Callable, need, *, quoting=csv.QUOTE_MINIMAL):
    """Read CSV or JSON records as text; a record of another length has the reason for it in the column reason."""
    text = _text_of(path)
    if text.lstrip()[:1] in ("[", "{"):
        frame = _from_records(path, _read_json(path, text))
        if not fits(frame.columns):
            raise ValueError(_other_columns(repr(str(path)), frame.columns, need))
        return frame
    columns, separator = _header(path, text, fits, need, quoting)
    try:
        records = [record for record in _csv(text, separator, quoting) if record][1:]
    except csv.Error as error:
        raise ValueError(f"{str(path)!r} is not readable CSV: {error}; look for a quotation mark too many") from None
    n = len(columns)
    frame = pd.DataFrame([[*record, *[""] * n][:n] for record in records], columns=columns, dtype=object)
    if any(len(record) != n for record in records):
        why = [f"{len(r)} fields where the header has {n}" if len(r) != n else "" for r in records]
        given = frame["reason"] if "reason" in frame else [""] * len(why)
        frame["reason"] = [one or other for one, other in zip(why, given, strict=True)]
    return frame


def _header(path, text, fits, need, quoting):
    """Take the separator that makes a known header of the first line."""
    found = []
    for separator in _SEPARATORS:
        try:
            columns = [cell.strip() for cell in next(filter(None, _csv(text, separator, quoting)), [])]
        except csv.Error:
            continue
        if fits(columns):
            _check_columns(columns, repr(str(path)))
            return columns, separator
        found.append(columns)
    seen = max(found, key=len, default=[])
    if not any(seen):
        raise ValueError(f"{str(path)!r} has no header: name the columns in its first line")
    raise ValueError(_other_columns(repr(str(path)), seen, need))


def _csv(text, separator, quoting):
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, quoting=quoting, strict=True)


def _from_records(path, content):
    if isinstance(content, dict) and "data" in content:
        raise ValueError(f"{str(path)!r} holds no pairs; if it is StereoSet, use read_stereoset")
    if not isinstance(content, list) or not all(isinstance(record, dict) for record in content) or not content:
        raise ValueError(f"{str(path)!r} has to be a list of records, each with the two sentences of a pair")
    return pd.DataFrame(content, dtype=object).rename(columns=_stripped)


def _stripped(column):
    return column.strip() if isinstance(column, str) else column


def _check_columns(columns, where):
    twice = sorted({str(column) for column in columns if list(columns).count(column) > 1})
    if twice:
        raise ValueError(f"{where} has the column {', '.join(map(repr, twice))} twice: rename one")


def _format_of(columns):
    """Tell the format by its columns; None if it is none of pairs."""
    return next((known for known in _FORMATS if {known.sent_more, known.sent_less} <= set(columns)), None)


def _is_winogender(columns):
    return {"sentid", "sentence"} <= set(columns)


def _other_columns(where, columns, need):
    if _is_winogender(columns):
        need = "use read_winogender"
    return f"{where} has the columns {', '.join(map(str, columns))}: {need}"


def _as_pairs(frame, where):
    """Bring a frame of a known format into the columns of pairs."""
    _check_columns(frame.columns, where)
    known = _format_of(frame.columns)
    if known is None:
        raise ValueError(_other_columns(where, frame.columns, _PAIRS_NEED))
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
    """Give a column as texts; the default for each row where there is no such column."""
    return [_as_text(value) for value in frame[column]] if column in frame else [default] * len(frame)


def _is_missing(value):
    return pd.api.types.is_scalar(value) and pd.isna(value)


def _as_text(value):
    return "" if _is_missing(value) else str(value).strip()


def _ids(texts, where):
    """Give ids as numbers if all are; each has to be another."""
    twice = [text for text, count in Counter(texts).items() if count > 1]
    if twice:
        raise ValueError(f"{where} has the pair {twice[0]!r} twice: give each pair its own id, or leave the ids out")
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
    return "" if isinstance(text, str) else "is no text"


def _winogender_id(name, path):
    parts = name.removesuffix(".txt").split(".")
    if len(parts) != 4 or parts[2] not in ("0", "1") or parts[3] not in PRONOUN_GENDERS:
        raise ValueError(f"{str(path)!r}: {name!r} is no id of Winogender's, like 'technician.customer.1.male.txt'")
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
