"""Probabilities at the mask of a sentence."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from biaslib._checks import as_sentences, as_words, check_count, check_text
from biaslib._text import one_line
from biaslib.scoring._engine import Collector, deduplicate, forward_all, invert, log_probabilities
from biaslib.scoring._forward import Request
from biaslib.scoring.models import MaskedLM
from biaslib.scoring.reasons import NO_WORD, NOT_FINITE, REASONS
from biaslib.scoring.tokens import (
    Masked,
    check_loaded,
    describe_vocabulary,
    locate_masks,
    readable_in_place,
    resolve_at_masks,
)


def mask_distributions(
    lm: MaskedLM,
    sentences: Sequence[str],
    *,
    return_reasons: bool = False,
    batch_tokens: int | None = None,
    progress: bool = False,
) -> np.ndarray | tuple[np.ndarray, list[str]]:
    """Compute the probability of every vocabulary entry at the mask of each sentence.

    Parameters
    ----------
    lm : MaskedLM
    sentences : sequence of str
        Each with exactly one ``[MASK]``.
    return_reasons : bool
        Whether to say, too, why a sentence has no probabilities.
    batch_tokens : int, optional
        Tokens per batch, padding included; by default what suits the device.
    progress : bool

    Returns
    -------
    distributions : ndarray of float32, shape (n, |V|)
        Softmax over the whole vocabulary. A row of NaN where a sentence is over the model's limit or all of its
        tokens are unknown.
    reasons : list of str
        Only if `return_reasons`: for each sentence ``""`` or why its row is NaN, one of `REASONS`.

    Raises
    ------
    ValueError
        If a sentence does not contain exactly one mask; the message names the sentence.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> mask_distributions(load_masked_lm("demo"), ["[MASK] is a nurse."]).shape
    (1, 30522)
    """
    masked = locate_masks(lm, as_sentences(sentences))
    usable = [number for number, reason in enumerate(masked.reasons) if not reason]
    unique, index = deduplicate(lm, [_at_mask(masked, number, ()) for number in usable])
    distributions = np.full((len(masked.encoded), lm.vocabulary_size), np.nan, dtype=np.float32)
    rows_of = [[usable[row] for row in rows] for rows in invert(index, len(unique))]
    collector = _Distributions(unique, distributions, rows_of)
    forward_all(lm, unique, [collector], batch_tokens=batch_tokens, progress=progress)
    if not return_reasons:
        return distributions
    without = np.isnan(distributions[:, 0])
    return distributions, [why or (NOT_FINITE if nan else "") for why, nan in zip(masked.reasons, without, strict=True)]


class _Distributions(Collector):
    """The whole softmax at the one place read, written into the rows that each request answers."""

    def __init__(self, unique: Sequence[Request], distributions: np.ndarray, rows_of: Sequence[Sequence[int]]):
        super().__init__(unique)
        self.distributions, self.rows_of = distributions, rows_of

    def keep(self, numbers: Sequence[int], logits) -> None:
        for number, probabilities in zip(numbers, logits.softmax(-1).cpu().numpy(), strict=True):
            self.distributions[self.rows_of[number]] = probabilities


def _at_mask(masked: Masked, number: int, wanted: Sequence[int]) -> Request:
    place = masked.places[number]
    return Request(masked.encoded[number].ids, (place,), (place,), (tuple(wanted),))


def mask_probabilities(
    lm: MaskedLM,
    sentences: Sequence[str],
    words: Sequence[str],
    *,
    cases: Sequence[str] = ("as_is",),
    errors: str = "raise",
    batch_tokens: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Compute the probability of words at the mask of each sentence, in place.

    Parameters
    ----------
    lm : MaskedLM
    sentences : sequence of str
        Each with exactly one ``[MASK]``.
    words : sequence of str
    cases : sequence of {"as_is", "lower", "title"}
        Spellings that count as the word (see :func:`biaslib.scoring.resolve_words`).
    errors : {"raise", "reason"}
        Whether a sentence without exactly one mask raises ValueError or has no probability, with the reason.
    batch_tokens, progress
        As for :func:`mask_distributions`.

    Returns
    -------
    DataFrame
        One row per sentence and word: sentence_id, sentence, word, probability (the sum over the word's different
        entries), reason ("" or why there is no probability, see `REASONS`).

    Raises
    ------
    ValueError
        If a case is unknown, or a sentence does not contain exactly one mask.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> frame = mask_probabilities(load_masked_lm("demo"), ["[MASK] is a nurse."], ["he", "she"])
    >>> frame.probability.round(2).tolist()
    [0.11, 0.34]
    """
    sentences, words = as_sentences(sentences), as_words(words)
    alone = {word: [word] for word in words}
    options = {"cases": cases, "errors": errors, "batch_tokens": batch_tokens, "progress": progress}
    scored = group_probabilities(lm, sentences, alone, **options)
    row_of = {word: row for row, word in enumerate(alone)}
    rows = [number * len(alone) + row_of[word] for number in range(len(sentences)) for word in words]
    scored = scored.rename(columns={"group": "word"}).iloc[rows].reset_index(drop=True)
    return scored[["sentence_id", "sentence", "word", "probability", "reason"]]


def group_probabilities(
    lm: MaskedLM,
    sentences: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    *,
    cases: Sequence[str] = ("as_is",),
    errors: str = "raise",
    batch_tokens: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
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
    errors : {"raise", "reason"}
        Whether a sentence without exactly one mask raises ValueError or has no probability, with the reason.
    batch_tokens, progress
        As for :func:`mask_distributions`.

    Returns
    -------
    DataFrame
        One row per sentence and group: sentence_id, sentence, group, probability (the sum, in float64, over the
        different entries of the group's words: one that several words or spellings lead to counts once), n_entries,
        missing (the words without an entry, separated by commas), reason ("" or why there is no probability: what is
        wrong with the sentence, one of `SENTENCE_REASONS`, else why the group's words have no entry).

    Raises
    ------
    ValueError
        If a case is unknown, or a sentence does not contain exactly one mask.

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
    masked = locate_masks(lm, sentences, errors=errors)
    reasons = masked.reasons
    entries, why = _entries_of(resolve_at_masks(lm, sentences, masked, all_words, cases=cases))
    wanted = [tuple(dict.fromkeys(i for word in all_words for i in entries[n, word])) for n in range(len(sentences))]
    usable = [n for n, reason in enumerate(reasons) if not reason and wanted[n]]
    requests = [_at_mask(masked, n, wanted[n]) for n in usable]
    scored = dict(zip(usable, log_probabilities(lm, requests, batch_tokens, progress), strict=True))
    rows = []
    for number, sentence in enumerate(sentences):
        of_entry = dict(zip(wanted[number], np.exp(scored[number][0]), strict=True)) if number in scored else {}
        for group, words in groups.items():
            ids = dict.fromkeys(i for word in words for i in entries[number, word])
            missing = [word for word in dict.fromkeys(words) if not entries[number, word]]
            no_entry = "; ".join(dict.fromkeys(why[number, word] for word in missing)) or NO_WORD
            reason = reasons[number] or ("" if ids else no_entry)
            probability = math.fsum(of_entry[i] for i in ids) if not reason else math.nan
            reason = reason or ("" if math.isfinite(probability) else NOT_FINITE)
            rows.append((number, sentence, group, probability, len(ids), ", ".join(missing), reason))
    columns = ["sentence_id", "sentence", "group", "probability", "n_entries", "missing", "reason"]
    return pd.DataFrame(rows, columns=columns)


def top_words(lm: MaskedLM, sentence: str, k: int = 10) -> pd.DataFrame:
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
        If `k` is out of range, or the sentence does not contain exactly one mask or cannot be scored.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> top_words(load_masked_lm("demo"), "I would like a cup of [MASK].", k=3).word.tolist()
    ['tea', 'wine', 'coffee']
    """
    check_text(sentence, "sentence")
    check_k(lm, k)
    (probabilities,), (reason,) = mask_distributions(lm, [sentence], return_reasons=True)
    if reason:
        raise ValueError(f"{reason} ({REASONS[reason]}): {one_line(sentence, 200)!r}")
    best = np.argsort(-probabilities, kind="stable")[:k]
    return pd.DataFrame(
        {
            "rank": np.arange(1, k + 1),
            "word": readable_in_place(lm, sentence, best.tolist()),
            "token": describe_vocabulary(lm).token.to_numpy()[best],
            "probability": probabilities[best],
        }
    )


def check_k(lm: MaskedLM, k: int) -> None:
    """Raise ValueError if `k`, a number of likeliest entries, is not a whole number from 1 to the vocabulary's size."""
    check_loaded(lm)
    check_count(k, "k", most=lm.vocabulary_size)


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
