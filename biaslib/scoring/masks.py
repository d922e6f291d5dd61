"""Probabilities at the mask of a sentence."""

import math

import numpy as np
import pandas as pd

from biaslib._checks import as_sentences, as_words
from biaslib.scoring._engine import (
    NOT_FINITE,
    Request,
    deduplicate,
    forward_all,
    invert,
    log_probabilities,
    reason_not_scored,
)
from biaslib.scoring.tokens import describe_vocabulary, encode, mask_positions, readable_in_place, resolve_in_sentences


def mask_distributions(lm, sentences, *, batch_tokens=None, progress=False) -> np.ndarray:
    """Compute the probability of every vocabulary entry at the mask of each sentence.

    Parameters
    ----------
    lm : MaskedLM
    sentences : sequence of str
        Each with exactly one ``[MASK]``.
    batch_tokens : int, optional
        Tokens in a batch, padding included; by default what suits the device.
    progress : bool

    Returns
    -------
    ndarray of float32, shape (n, |V|)
        Softmax over the whole vocabulary. A row of NaN where a sentence is over the model's limit or all of its
        tokens are unknown.

    Raises
    ------
    ValueError
        If a sentence has not exactly one mask; it names the sentence.
    """
    encoded, positions = mask_positions(lm, as_sentences(sentences))
    reasons = [reason_not_scored(lm, item) for item in encoded]
    usable = [number for number, reason in enumerate(reasons) if not reason]
    requests = [Request(encoded[n].ids, (positions[n],), (positions[n],), ((),)) for n in usable]
    distributions = np.full((len(encoded), lm.vocabulary_size), np.nan, dtype=np.float32)
    unique, index = deduplicate(lm, requests)
    rows_of = invert(index, len(unique))

    def keep(numbers, logits):
        probabilities = logits.softmax(-1).cpu().numpy()
        for number, row in zip(numbers, probabilities, strict=True):
            distributions[[usable[n] for n in rows_of[number]]] = row

    forward_all(lm, unique, keep, batch_tokens=batch_tokens, progress=progress)
    return distributions


def mask_probabilities(lm, sentences, words, *, cases=("as_is",), batch_tokens=None, progress=False) -> pd.DataFrame:
    """Compute the probability of words at the mask of each sentence, in place.

    Parameters
    ----------
    lm : MaskedLM
    sentences : sequence of str
        Each with exactly one ``[MASK]``.
    words : sequence of str
    cases : sequence of {"as_is", "lower", "title"}
        Spellings that count as the word (see :func:`biaslib.scoring.resolve_words`).
    batch_tokens, progress
        As for :func:`mask_distributions`.

    Returns
    -------
    DataFrame
        A row a sentence and word: sentence_id, sentence, word, probability (the sum over the word's different
        entries), reason ("" or why there is no probability).

    Raises
    ------
    ValueError
        If a sentence has not exactly one mask, or a case is unknown.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> frame = mask_probabilities(load_masked_lm("demo"), ["[MASK] is a nurse."], ["he", "she"])
    >>> frame.probability.round(2).tolist()
    [0.11, 0.34]
    """
    sentences, words = as_sentences(sentences), as_words(words)
    alone = {word: [word] for word in words}
    scored = group_probabilities(lm, sentences, alone, cases=cases, batch_tokens=batch_tokens, progress=progress)
    row_of = {word: row for row, word in enumerate(alone)}
    rows = [number * len(alone) + row_of[word] for number in range(len(sentences)) for word in words]
    scored = scored.rename(columns={"group": "word"}).iloc[rows].reset_index(drop=True)
    return scored[["sentence_id", "sentence", "word", "probability", "reason"]]


def group_probabilities(lm, sentences, groups, *, cases=("as_is",), batch_tokens=None, progress=False) -> pd.DataFrame:
    """Compute the probability that falls on groups of words at the mask of each sentence, in place.

    Parameters
    ----------
    lm : MaskedLM
    sentences : sequence of str
        Each with exactly one ``[MASK]``.
    groups : mapping of str to sequence of str
        The words of each group; groups may share words.
    cases : sequence of {"as_is", "lower", "title"}
        Spellings that count as the word (see :func:`biaslib.scoring.resolve_words`).
    batch_tokens, progress
        As for :func:`mask_distributions`.

    Returns
    -------
    DataFrame
        A row a sentence and group: sentence_id, sentence, group, probability (the sum, in float64, over the
        different entries of the group's words: one that several words or spellings lead to counts once), n_entries,
        missing (the words without an entry, separated by commas), reason ("" or why there is no probability).

    Raises
    ------
    ValueError
        If a sentence has not exactly one mask, or a case is unknown.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> groups = {"male": ["he", "him"], "female": ["she", "her"]}
    >>> frame = group_probabilities(load_masked_lm("demo"), ["[MASK] is a nurse."], groups)
    >>> frame.probability.round(2).tolist()
    [0.11, 0.34]
    """
    sentences = as_sentences(sentences)
    groups = {group: as_words(words) for group, words in groups.items()}
    all_words = list(dict.fromkeys(word for words in groups.values() for word in words))
    resolved = resolve_in_sentences(lm, sentences, all_words, cases=cases)
    encoded, positions = mask_positions(lm, sentences)
    entries, why = _entries_of(resolved)
    reasons = [reason_not_scored(lm, item) for item in encoded]
    wanted = [tuple(dict.fromkeys(i for word in all_words for i in entries[n, word])) for n in range(len(sentences))]
    usable = [n for n, reason in enumerate(reasons) if not reason and wanted[n]]
    requests = [Request(encoded[n].ids, (positions[n],), (positions[n],), (wanted[n],)) for n in usable]
    scored = dict(zip(usable, log_probabilities(lm, requests, batch_tokens, progress), strict=True))
    rows = []
    for number, sentence in enumerate(sentences):
        of_entry = dict(zip(wanted[number], np.exp(scored[number][0]), strict=True)) if number in scored else {}
        for group, words in groups.items():
            ids = dict.fromkeys(i for word in words for i in entries[number, word])
            missing = [word for word in dict.fromkeys(words) if not entries[number, word]]
            no_entry = "; ".join(dict.fromkeys(why[number, word] for word in missing)) or "no word"
            reason = reasons[number] or ("" if ids else no_entry)
            probability = math.fsum(of_entry[i] for i in ids) if not reason else math.nan
            reason = reason or ("" if math.isfinite(probability) else NOT_FINITE)
            rows.append((number, sentence, group, probability, len(ids), ", ".join(missing), reason))
    columns = ["sentence_id", "sentence", "group", "probability", "n_entries", "missing", "reason"]
    return pd.DataFrame(rows, columns=columns)


def top_words(lm, sentence: str, k: int = 10) -> pd.DataFrame:
    """List the likeliest entries at the mask of a sentence.

    Parameters
    ----------
    lm : MaskedLM
    sentence : str
        With exactly one ``[MASK]``.
    k : int
        At least 1; at most the vocabulary's size.

    Returns
    -------
    DataFrame
        rank, word (a continuation of a word starts with ``##``), token (as the vocabulary has it), probability.

    Raises
    ------
    ValueError
        If `k` is out of range, or the sentence has not exactly one mask or cannot be scored.
    """
    if not isinstance(sentence, str):
        raise TypeError(f"sentence is a {type(sentence).__name__}: give one text")
    encoded = encode(lm, [sentence])
    check_k(lm, k)
    probabilities = mask_distributions(lm, [sentence])[0]
    if np.isnan(probabilities[0]):
        raise ValueError(f"{reason_not_scored(lm, encoded[0])}: {sentence!r}")
    best = np.argsort(-probabilities, kind="stable")[:k]
    return pd.DataFrame(
        {
            "rank": np.arange(1, k + 1),
            "word": readable_in_place(lm, sentence, best.tolist()),
            "token": describe_vocabulary(lm).token.to_numpy()[best],
            "probability": probabilities[best],
        }
    )


def check_k(lm, k) -> None:
    """Refuse a number of likeliest entries that the vocabulary does not have."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= lm.vocabulary_size:
        raise ValueError(f"k is {k!r}: take a whole number from 1 to {lm.vocabulary_size}, the vocabulary's size")


def _entries_of(resolved: pd.DataFrame) -> tuple[dict, dict]:
    """List, by sentence and word, the different entries of its spellings, and why the first has none."""
    entries: dict[tuple[int, str], list[int]] = {}
    why: dict[tuple[int, str], str] = {}
    columns = (resolved[name].tolist() for name in ("sentence_id", "word", "token_id", "reason"))
    for number, word, token_id, reason in zip(*columns, strict=True):
        of_word = entries.setdefault((number, word), [])
        why.setdefault((number, word), reason)
        if not reason and token_id not in of_word:
            of_word.append(token_id)
    return entries, why
