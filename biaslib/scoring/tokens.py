"""Which vocabulary entry a word is in its place, and what the entries of a vocabulary read as."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from biaslib._checks import as_sentences, as_words, check_choice
from biaslib._text import MASK
from biaslib.scoring.models import MaskedLM
from biaslib.scoring.reasons import (
    EMPTY,
    HOLDS_A_MASK,
    LONE_SPACE,
    NOT_IN_VOCABULARY,
    NOT_ONE_MASK,
    NOT_ONE_TOKEN,
    ONLY_UNKNOWN,
    SPECIAL_TOKEN,
    TOO_LONG,
)

CASES = {"as_is": str, "lower": str.lower, "title": str.capitalize}
_ODD_SPACE = re.compile(r"(?:^|\s)\s$|[^\S ]$")


class Encoded(NamedTuple):
    """Token ids of one text; `first` to `last` (exclusive) are its own, the rest the tokenizer added."""

    ids: tuple[int, ...]
    first: int
    last: int


def check_loaded(lm: MaskedLM) -> None:
    """Raise TypeError if `lm` is not a loaded model but, for example, a name."""
    if not hasattr(lm, "tokenizer"):
        raise TypeError(f"{lm!r} is not a loaded model; give load_masked_lm({lm!r})")


def encode(lm: MaskedLM, sentences: Sequence[str]) -> list[Encoded]:
    """Encode texts, `[MASK]` standing for the model's own mask token, nothing cut off."""
    check_loaded(lm)
    texts = [sentence.replace(MASK, lm.tokenizer.mask_token) for sentence in as_sentences(sentences)]
    if not texts:
        return []
    before, after = _added_around(lm.tokenizer)
    rows = lm.tokenizer(texts, truncation=False, padding=False, verbose=False)["input_ids"]
    return [Encoded(tuple(ids), before, len(ids) - after) for ids in rows]


def _added_around(tokenizer) -> tuple[int, int]:
    """Count the special tokens that the tokenizer adds before and after a text."""
    for text in ("a", "the", "1", ".", "。"):
        inside = tokenizer(text, add_special_tokens=False)["input_ids"]
        around = tokenizer(text)["input_ids"]
        for before in range(len(around) - len(inside) + 1):
            if inside and around[before : before + len(inside)] == inside:
                return before, len(around) - before - len(inside)
    raise ValueError(f"the tokenizer {type(tokenizer).__name__} rewrites a text when it adds special tokens")


def reason_not_scored(lm: MaskedLM, item: Encoded, *, unmasked: bool = False) -> str:
    """Say why a sentence cannot be scored; "" if it can."""
    own = item.ids[item.first : item.last]
    if len(item.ids) > lm.max_tokens:
        return TOO_LONG
    if not own:
        return EMPTY
    if unmasked and lm.tokenizer.mask_token_id in own:
        return HOLDS_A_MASK
    written = [token_id for token_id in own if token_id != lm.tokenizer.mask_token_id]
    if written and all(token_id == lm.tokenizer.unk_token_id for token_id in written):
        return ONLY_UNKNOWN
    return ""


class Masked(NamedTuple):
    """Sentences encoded, the place of the mask in each, and why one cannot be scored ("" if it can)."""

    encoded: list[Encoded]
    places: list[int]
    reasons: list[str]


def locate_masks(lm: MaskedLM, sentences: Sequence[str], *, errors: str = "raise") -> Masked:
    """Encode sentences that have one mask each, and locate it.

    Parameters
    ----------
    lm : MaskedLM
    sentences : sequence of str
    errors : {"raise", "reason"}
        Whether a sentence without exactly one mask, or with a lone piece of a word before it, is an error or has a
        reason.

    Returns
    -------
    Masked
        ``encoded``, ``places`` and ``reasons``, with one entry per sentence.

    Raises
    ------
    ValueError
        If `errors` is ``"raise"`` and there is such a sentence, which the message names.
    """
    check_choice(errors, "errors", ("raise", "reason"))
    encoded = encode(lm, sentences)
    places, reasons = [], []
    for number, (sentence, item) in enumerate(zip(sentences, encoded, strict=True)):
        n_masks = item.ids.count(lm.tokenizer.mask_token_id)
        place = item.ids.index(lm.tokenizer.mask_token_id) if n_masks else 0
        reason = NOT_ONE_MASK if n_masks != 1 else LONE_SPACE if _has_lone_space(lm, sentence, item, place) else ""
        if reason and errors == "raise":
            raise ValueError(_mask_error(reason, sentence, n_masks))
        if not reason:
            encoded[number] = _with_glued_tail(lm, sentence, item, place)
        places.append(place)
        reasons.append(reason or reason_not_scored(lm, encoded[number]))
    return Masked(encoded, places, reasons)


def _has_lone_space(lm, sentence: str, item: Encoded, place: int) -> bool:
    if place > item.first and _is_lone_piece(lm.tokenizer, item.ids[place - 1]):
        return True
    # The mask token swallows white space that would be a piece of its own before a word.
    before_mask = sentence.replace(lm.tokenizer.mask_token, MASK).partition(MASK)[0]
    return _word_start_mark(lm.tokenizer) == "Ġ" and _ODD_SPACE.search(before_mask) is not None


def _mask_error(reason: str, sentence: str, n_masks: int) -> str:
    if reason == NOT_ONE_MASK:
        return f"a sentence must have exactly one {MASK}, this one has {n_masks or 'none'}: {sentence!r}"
    return (
        f"a piece of white space is left alone before the mask of {sentence!r}; write one space before the mask, or, "
        "if there is one, load a tokenizer whose mask token has lstrip=True"
    )


def _with_glued_tail(lm, sentence: str, item: Encoded, place: int) -> Encoded:
    """Encode what touches the mask from the right as it is after a word.

    Unigram tokenizers start anew after the mask token and put a ``▁`` before, say, a full stop, which no sentence
    with a word in that place has: no word would have an entry, and the model would see a sentence it never saw in
    training. Whole words of the vocabulary are tried in the mask's place, and the tail most of them agree on is taken.
    """
    tokenizer = lm.tokenizer
    tail = sentence.replace(tokenizer.mask_token, MASK).partition(MASK)[2]
    if not tail or tail[0].isspace() or _word_start_mark(tokenizer) != "▁":
        return item
    head = item.ids[:place]
    probes = _probe_words(tokenizer)
    filled = encode(lm, [sentence.replace(tokenizer.mask_token, MASK).replace(MASK, text) for text, _ in probes])
    tails = Counter(
        full.ids[place + 1 :]
        for full, (_, token_id) in zip(filled, probes, strict=True)
        if full.ids[: place + 1] == (*head, token_id)
    )
    if not tails:
        return item
    ids = (*head, tokenizer.mask_token_id, *tails.most_common(1)[0][0])
    return Encoded(ids, item.first, len(ids) - (len(item.ids) - item.last))


@lru_cache(maxsize=4)
def _probe_words(tokenizer, n: int = 12) -> list[tuple[str, int]]:
    """Take the first entries that begin and that continue words; a unigram vocabulary lists the commonest first."""
    entries = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    lettered = [(token, token_id) for token, token_id in entries if len(token) > 2 and token.strip("▁").isalpha()]
    begin = [(token[1:], token_id) for token, token_id in lettered if token[0] == "▁"]
    # After an opening bracket or quotation mark a word has no ▁ of its own.
    proceed = [(token, token_id) for token, token_id in lettered if "▁" not in token]
    return begin[:n] + proceed[:n]


def _is_lone_piece(tokenizer, token_id: int) -> bool:
    token = tokenizer.convert_ids_to_tokens(token_id)
    return bool(token) and not token.strip("Ġ▁Ċ \t\n")


def resolve_words(
    lm: MaskedLM, sentence: str, words: Sequence[str], *, cases: Sequence[str] = ("as_is",)
) -> pd.DataFrame:
    """Find the vocabulary entry that each word is at the mask of a sentence.

    It is the entry for which the sentence with the word in the mask's place encodes to the same ids as the
    masked sentence except at the mask. So `he` inside a RoBERTa sentence is ``Ġhe`` and at its start
    ``he``; a word of several pieces, or none the vocabulary knows, has no entry.

    Parameters
    ----------
    lm : MaskedLM
    sentence : str
        With one ``[MASK]``.
    words : sequence of str
    cases : sequence of {"as_is", "lower", "title"}
        The spellings to look up; equal ones once.

    Returns
    -------
    DataFrame
        Columns word, spelling, token_id (missing if there is none), token, reason ("" or why there is none).
        Several spellings may lead to one entry, which then counts once.

    Raises
    ------
    ValueError
        If the sentence does not contain exactly one mask, or a case is unknown.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> resolve_words(load_masked_lm("demo"), "[MASK] is here.", ["she", "shepherdess"]).reason.tolist()
    ['', 'not one token']
    """
    return resolve_in_sentences(lm, [sentence], words, cases=cases).drop(columns="sentence_id")


def resolve_in_sentences(
    lm: MaskedLM, sentences: Sequence[str], words: Sequence[str], *, cases: Sequence[str] = ("as_is",)
) -> pd.DataFrame:
    """Find the entries of words in many sentences at once: :func:`resolve_words` with a column sentence_id."""
    sentences = as_sentences(sentences)
    return resolve_at_masks(lm, sentences, locate_masks(lm, sentences), words, cases=cases)


def resolve_at_masks(
    lm: MaskedLM, sentences: list[str], masked: Masked, words: Sequence[str], *, cases: Sequence[str]
) -> pd.DataFrame:
    """Find the entries of words at masks that are located."""
    spellings = _spellings(as_words(words), cases)
    sentences = [sentence.replace(lm.tokenizer.mask_token, MASK) for sentence in sentences]
    written = encode(lm, [sentence.replace(MASK, spelling) for sentence in sentences for _, spelling in spellings])
    rows = []
    for number, (item, place) in enumerate(zip(masked.encoded, masked.places, strict=True)):
        filled = written[number * len(spellings) : (number + 1) * len(spellings)]
        for (word, spelling), full in zip(spellings, filled, strict=True):
            token_id, reason = _entry(lm.tokenizer, item.ids, place, full.ids, spelling)
            rows.append((number, word, spelling, token_id, reason))
    frame = pd.DataFrame(rows, columns=["sentence_id", "word", "spelling", "token_id", "reason"])
    frame["token_id"] = frame.token_id.astype("Int64")
    token = [None if pd.isna(i) else lm.tokenizer.convert_ids_to_tokens(int(i)) for i in frame.token_id]
    frame.insert(4, "token", pd.Series(token, dtype=object))
    return frame


def _spellings(words: Sequence[str], cases: Sequence[str]) -> list[tuple[str, str]]:
    cases = [cases] if isinstance(cases, str) else list(cases)
    if not cases or not set(cases) <= set(CASES):
        raise ValueError(f"unknown cases {cases!r}; use a list of {', '.join(CASES)}")
    return [
        (word, spelling)
        for word in dict.fromkeys(words)
        for spelling in dict.fromkeys(CASES[case](word) for case in cases)
    ]


def _entry(tokenizer, masked: tuple, place: int, full: tuple, spelling: str) -> tuple[int | None, str]:
    """Compare the masked ids with those of the sentence that has the word written in."""
    if not spelling.strip():
        return None, EMPTY
    if len(full) != len(masked) or full[:place] != masked[:place] or full[place + 1 :] != masked[place + 1 :]:
        return None, NOT_ONE_TOKEN
    token_id = full[place]
    if _is_lone_piece(tokenizer, token_id):
        return None, NOT_ONE_TOKEN
    if token_id == tokenizer.unk_token_id:
        return None, NOT_IN_VOCABULARY
    if token_id in tokenizer.all_special_ids:
        return None, SPECIAL_TOKEN
    return token_id, ""


def describe_vocabulary(lm: MaskedLM) -> pd.DataFrame:
    """List the entries of the model's softmax and how each reads.

    Parameters
    ----------
    lm : MaskedLM

    Returns
    -------
    DataFrame
        One row per entry, in the order of the softmax: token_id, token (as the vocabulary has it), word (readable:
        the mark of a word's start gone, a continuation marked ``##`` in every tokenizer family; no two are the
        same), kind ("word", "piece" of a word, "special", "not a word": no letter in it).
    """
    check_loaded(lm)
    tokens, texts, starts = _vocabulary(lm.tokenizer, lm.vocabulary_size, len(lm.tokenizer))
    special = _special_entries(lm.tokenizer, tokens)
    read = zip(tokens, texts, starts, special, strict=True)
    words = pd.Series([_readable(*entry) for entry in read], dtype=object)
    words = words.mask(words.duplicated(keep=False), pd.Series([f"[{token}]" for token in tokens], dtype=object))
    lettered = np.array([any(map(str.isalpha, text)) and "\ufffd" not in text for text in texts])
    kind = np.select([special, ~lettered, ~starts], ["special", "not a word", "piece"], "word")
    return pd.DataFrame({"token_id": np.arange(len(tokens)), "token": tokens, "word": words, "kind": kind})


def _readable(token: str, text: str, starts_word: bool, special: bool) -> str:
    """Read an entry; one that is only white space or part of a character is shown in the vocabulary's own form."""
    if special:
        return token
    if not text or "\ufffd" in text:
        return f"[{token}]"
    return text if starts_word else f"##{text}"


def readable_in_place(lm: MaskedLM, sentence: str, token_ids: Sequence[int]) -> list[str]:
    """Read entries as they stand at the mask of a sentence: a whole word plain, a continuation with ``##``.

    At the start of a sentence byte-level vocabularies write words without the mark of a word's start, so that
    only the place tells ``He`` from the end of a longer word.
    """
    tokens, texts, _ = _vocabulary(lm.tokenizer, lm.vocabulary_size, len(lm.tokenizer))
    chosen = [texts[token_id] for token_id in token_ids]
    entries = resolve_words(lm, sentence, chosen).set_index("word").token_id
    special = _special_entries(lm.tokenizer, [tokens[token_id] for token_id in token_ids])
    return [
        text if is_special or (entries[text] is not pd.NA and entries[text] == token_id) else f"##{text}"
        for text, token_id, is_special in zip(chosen, token_ids, special, strict=True)
    ]


def _special_entries(tokenizer, tokens: Sequence[str]) -> np.ndarray:
    """Mark entries that stand for no text: control tokens, unused ones, and rows beyond the tokenizer."""
    special = set(tokenizer.all_special_tokens)
    return np.array(
        [token in special or ((token[:1] + token[-1:]) in ("[]", "<>") and len(token) > 2) for token in tokens]
    )


@lru_cache(maxsize=2)
def _vocabulary(tokenizer, size: int, n_tokens: int) -> tuple[list[str], list[str], np.ndarray]:
    """List tokens, their plain texts, and whether each can be a whole word; `n_tokens` tells a tokenizer that grew."""
    tokens = [f"[id {number}]" for number in range(size)]
    for token, token_id in tokenizer.get_vocab().items():
        if token_id < size:
            tokens[token_id] = token
    mark = _word_start_mark(tokenizer)
    whole = {
        "##": lambda token: not token.startswith("##"),
        "@@": lambda token: not token.endswith("@@"),
        "</w>": lambda token: token.endswith("</w>"),
    }.get(mark, lambda token: token.startswith(mark))
    starts = _array(map(whole, tokens))
    if mark == "Ġ":
        from tokenizers.decoders import ByteLevel

        decoder = ByteLevel()
        return tokens, [decoder.decode([token]).strip() for token in tokens], starts
    if mark == "▁":
        return tokens, [token.replace("▁", " ").strip() for token in tokens], starts
    return tokens, [token.removeprefix("##").removesuffix("@@").removesuffix("</w>") for token in tokens], starts


@lru_cache(maxsize=4)
def _word_start_mark(tokenizer) -> str:
    """Tell the family: ``Ġ`` or ``▁`` mark a word's start, ``##`` and ``@@`` a piece, ``</w>`` a word's end."""
    vocabulary = tokenizer.get_vocab()
    count = {mark: sum(token.startswith(mark) for token in vocabulary) for mark in ("##", "Ġ", "▁")}
    count |= {mark: sum(token.endswith(mark) for token in vocabulary) for mark in ("@@", "</w>")}
    return max(count, key=count.get)


def _array(values) -> np.ndarray:
    return np.array(list(values), dtype=bool)
