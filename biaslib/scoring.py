"""Probabilities and likelihoods of sentences under a masked language model.

Every score is a set of requests: token ids, the places to mask, the places to read, and the entries wanted
there. Equal requests are computed once; the rest are sorted by length, packed into batches, and only the places
read pass through the language-model head.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from difflib import SequenceMatcher
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from biaslib.packed_weights import packed_linear_layers
from biaslib.tokens import (
    MASK,
    Encoded,
    as_sentences,
    as_words,
    describe_vocabulary,
    encode,
    mask_positions,
    readable_in_place,
    resolve_in_sentences,
)

PLL_VARIANTS = ("original", "within_word_l2r")
SPAN_VARIANTS = ("all_masked", "left_to_right", *PLL_VARIANTS)
BATCH_TOKENS = {"cpu": 1_024, "mps": 8_192, "cuda": 32_768}
LOGITS_AT_ONCE = 2**25
NOT_FINITE = "the model's output is not a finite number"
_traits: WeakKeyDictionary = WeakKeyDictionary()
_attention_sources: WeakKeyDictionary = WeakKeyDictionary()


class Request(NamedTuple):
    """One forward: ids, places to mask, and for each place read the entries whose probability is wanted."""

    ids: tuple[int, ...]
    masked: tuple[int, ...]
    read: tuple[int, ...]
    wanted: tuple[tuple[int, ...], ...]


class Traits(NamedTuple):
    """What a model allows: its head run at single places (gathered where), sentences of several lengths in a batch."""

    gathers: str
    pads: bool


class Batch(NamedTuple):
    """Padded ids and their mask, as tensors, and (row, place) of every position to read."""

    ids: object
    attention_mask: object
    rows: object
    places: object


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
    reasons = [_reason(lm, item) for item in encoded]
    usable = [number for number, reason in enumerate(reasons) if not reason]
    requests = [Request(encoded[n].ids, (positions[n],), (positions[n],), ((),)) for n in usable]
    distributions = np.full((len(encoded), lm.vocabulary_size), np.nan, dtype=np.float32)
    unique, index = _deduplicate(lm, requests)
    rows_of = _invert(index, len(unique))

    def keep(numbers, logits):
        probabilities = logits.softmax(-1).cpu().numpy()
        for number, row in zip(numbers, probabilities, strict=True):
            distributions[[usable[n] for n in rows_of[number]]] = row

    _forward_all(lm, unique, keep, batch_tokens=batch_tokens, progress=progress)
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
        Spellings that count as the word (see :func:`biaslib.tokens.resolve_words`).
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
    >>> from biaslib.models import load_masked_lm
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
        Spellings that count as the word (see :func:`biaslib.tokens.resolve_words`).
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
    >>> from biaslib.models import load_masked_lm
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
    reasons = [_reason(lm, item) for item in encoded]
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
        raise ValueError(f"{_reason(lm, encoded[0])}: {sentence!r}")
    best = np.argsort(-probabilities, kind="stable")[:k]
    return pd.DataFrame(
        {
            "rank": np.arange(1, k + 1),
            "word": readable_in_place(lm, sentence, best.tolist()),
            "token": describe_vocabulary(lm).token.to_numpy()[best],
            "probability": probabilities[best],
        }
    )


def pseudo_log_likelihood(lm, sentences, *, variant="original", batch_tokens=None, progress=False) -> pd.DataFrame:
    """Compute the pseudo-log-likelihood of sentences (Salazar et al. 2020, Eq. 1).

    Parameters
    ----------
    lm : MaskedLM
    sentences : sequence of str
    variant : {"original", "within_word_l2r"}
        The second also masks the later pieces of the same word (Kauf & Ivanova 2023).
    batch_tokens, progress
        As for :func:`mask_distributions`.

    Returns
    -------
    DataFrame
        sentence_id, sentence, pll (natural logarithm, summed over tokens), n_tokens, n_unknown (tokens that are
        the unknown token), reason ("" or why there is no score). A Series' index is kept.

    Raises
    ------
    ValueError
        If the variant is unknown, or the tokenizer cannot tell the pieces of a word.
    """
    _check_variant(variant, PLL_VARIANTS)
    index = _index_of(sentences)
    sentences, encoded, reasons, usable = _to_score_whole(lm, sentences)
    words = _word_numbers(lm, sentences, encoded) if variant == "within_word_l2r" else None
    requests, owners = [], []
    for n in usable:
        item = encoded[n]
        for place in range(item.first, item.last):
            later = _later_pieces(words[n], place) if words else ()
            requests.append(Request(item.ids, (place, *later), (place,), ((item.ids[place],),)))
            owners.append(n)
    pll = _sums(len(sentences), owners, log_probabilities(lm, requests, batch_tokens, progress), usable)
    return _sentence_frame(lm, sentences, encoded, reasons, index, pll=pll)


def pseudo_perplexity(lm, sentences, *, batch_tokens=None, progress=False) -> float:
    """Compute the pseudo-perplexity of a set of sentences (Salazar et al. 2020, Eq. 4).

    exp(−ΣPLL / Σtokens) over the whole set, not a mean of means. Sentences without a score are left out, with a
    warning that counts them by reason.

    Parameters
    ----------
    lm : MaskedLM
    sentences : sequence of str
    batch_tokens, progress
        As for :func:`mask_distributions`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If no sentence could be scored.
    """
    frame = pseudo_log_likelihood(lm, sentences, batch_tokens=batch_tokens, progress=progress)
    scored = frame[frame.reason == ""]
    left_out = frame.reason[frame.reason != ""]
    if len(scored) == 0:
        raise ValueError(f"no sentence could be scored: {count_reasons(left_out) or 'none was given'}")
    if len(left_out):
        warnings.warn(f"{len(left_out)} of {len(frame)} sentences left out: {count_reasons(left_out)}", stacklevel=2)
    return float(np.exp(-scored.pll.sum() / scored.n_tokens.sum()))


def shared_pseudo_log_likelihood(
    lm, first, second, *, variant="original", batch_tokens=None, progress=False
) -> pd.DataFrame:
    """Compute the pseudo-log-likelihood of the tokens that two sentences share (Nangia et al. 2020, Eq. 2).

    Parameters
    ----------
    lm : MaskedLM
    first, second : sequences of str
        Pairs, in the same order.
    variant : {"original", "within_word_l2r"}
        As for :func:`pseudo_log_likelihood`: the second also masks the later pieces of the same word, shared or not.
    batch_tokens, progress
        As for :func:`mask_distributions`.

    Returns
    -------
    DataFrame
        pair_id, pll_first, pll_second, n_shared (tokens), reason ("" or why there is no score).

    Raises
    ------
    ValueError
        If the two are not of one length, the variant is unknown, or the tokenizer cannot tell the pieces of a word.
    """
    _check_variant(variant, PLL_VARIANTS)
    index, sides = _index_of(first), _two_sides(first, second)
    encoded = [encode(lm, side) for side in sides]
    words = [_word_numbers(lm, *side) for side in zip(sides, encoded, strict=True)] if variant != "original" else None
    requests, owners, shared, reasons = [], [], [], []
    for n, pair in enumerate(zip(*encoded, strict=True)):
        spans = _shared_places(*pair)
        shared.append(len(spans))
        why = [
            f"{name}: {reason}"
            for name, item in zip(("first", "second"), pair, strict=True)
            if (reason := _reason(lm, item, unmasked=True))
        ]
        reasons.append("; ".join(why) or ("" if spans else "no shared token"))
        if reasons[-1]:
            continue
        for places in spans:
            for side, (item, place) in enumerate(zip(pair, places, strict=True)):
                later = _later_pieces(words[side][n], place) if words else ()
                requests.append(Request(item.ids, (place, *later), (place,), ((item.ids[place],),)))
                owners.append(2 * n + side)
    usable = [2 * n + side for n, reason in enumerate(reasons) if not reason for side in (0, 1)]
    scored = log_probabilities(lm, requests, batch_tokens, progress)
    pll = _sums(2 * len(shared), owners, scored, usable).reshape(-1, 2)
    finite = np.isfinite(pll).all(axis=1)
    reasons = [reason or ("" if fine else NOT_FINITE) for reason, fine in zip(reasons, finite, strict=True)]
    frame = pd.DataFrame(
        {
            "pair_id": np.arange(len(shared)),
            "pll_first": pll[:, 0],
            "pll_second": pll[:, 1],
            "n_shared": np.array(shared, dtype=int),
            "reason": pd.Series(reasons, dtype=object),
        }
    )
    return frame if index is None else frame.set_axis(index)


def masked_span_likelihood(
    lm, sentences, spans, *, variant="all_masked", batch_tokens=None, progress=False
) -> pd.DataFrame:
    """Compute how likely parts of sentences are in their places.

    Parameters
    ----------
    lm : MaskedLM
    sentences : sequence of str
    spans : sequence of sequences of (int, int)
        For each sentence the parts, from a character up to another; their tokens count together.
    variant : {"all_masked", "left_to_right", "original", "within_word_l2r"}
        What the model sees while it predicts a token: a mask for each token of the parts; the tokens before it in
        its part and, in place of it and those after it, one mask; all but the token itself, as in
        :func:`pseudo_log_likelihood`; all but it and the later pieces of its word.
    batch_tokens, progress
        As for :func:`mask_distributions`.

    Returns
    -------
    DataFrame
        sentence_id, sentence, log_probability and probability (means over the tokens of the parts), n_span_tokens,
        n_tokens, n_unknown, reason ("" or why there is no score). A Series' index is kept.

    Raises
    ------
    ValueError
        If the variant is unknown, spans and sentences are not of one number, or the tokenizer does not tell where
        its tokens stand.

    Examples
    --------
    >>> from biaslib.models import load_masked_lm
    >>> frame = masked_span_likelihood(load_masked_lm("demo"), ["She is a nurse."], [[(0, 3)]])
    >>> frame[["log_probability", "n_span_tokens"]].round(2).values.tolist()
    [[-1.07, 1.0]]
    """
    _check_variant(variant, SPAN_VARIANTS)
    index = _index_of(sentences)
    sentences, encoded, reasons, _ = _to_score_whole(lm, sentences)
    if len(spans) != len(sentences):
        raise ValueError(f"as many lists of spans as sentences are needed, not {len(spans)} and {len(sentences)}")
    places = _span_places(lm, sentences, encoded, spans)
    reasons = [reason or _span_reason(lm, *of) for reason, *of in zip(reasons, encoded, places, strict=True)]
    words = _word_numbers(lm, sentences, encoded) if variant == "within_word_l2r" and sentences else None
    usable = [n for n, reason in enumerate(reasons) if not reason]
    requests, owners = [], []
    for n in usable:
        made = _span_requests(encoded[n].ids, places[n], variant, words[n] if words else None)
        requests += made
        owners += [n] * len(made)
    values: list[list[float]] = [[] for _ in sentences]
    for n, answer in zip(owners, log_probabilities(lm, requests, batch_tokens, progress), strict=True):
        values[n] += [float(log_probability) for read in answer for log_probability in read]
    frame = _sentence_frame(
        lm,
        sentences,
        encoded,
        reasons,
        index,
        log_probability=np.array([np.mean(found) if found else math.nan for found in values]),
        probability=np.array([np.exp(found).mean() if found else math.nan for found in values]),
    )
    frame.insert(4, "n_span_tokens", [sum(map(len, of_sentence)) for of_sentence in places])
    return frame


def all_unmasked_likelihood(lm, sentences, *, batch_tokens=None, progress=False) -> pd.DataFrame:
    """Compute AUL and AULA, the likelihoods of unmasked sentences (Kaneko & Bollegala 2022, Eqs. 4 and 5).

    Parameters
    ----------
    lm : MaskedLM
    sentences : sequence of str
    batch_tokens, progress
        As for :func:`mask_distributions`.

    Returns
    -------
    DataFrame
        sentence_id, sentence, aul (mean log-probability of the tokens), aula (weighted by the attention that each
        token receives, not renormalised; NaN for a model that shows no attention weights), n_tokens, n_unknown,
        reason ("" or why there is no score). A Series' index is kept.

    Warns
    -----
    UserWarning
        If the model shows no attention weights.
    """
    return _unmasked(lm, sentences, batch_tokens, progress)[0]


def token_likelihoods(lm, sentences, *, batch_tokens=None, progress=False) -> pd.DataFrame:
    """Tell what each token of a sentence adds to its PLL, its AUL and its AULA.

    Parameters
    ----------
    lm : MaskedLM
    sentences : sequence of str
    batch_tokens, progress
        As for :func:`mask_distributions`.

    Returns
    -------
    DataFrame
        A row a token, special tokens left out: sentence_id, position (from 0), token (as the vocabulary has it), text
        (as the sentence has it; a piece that continues a word starts with ``##``), pll_part, aul_part, aula_part (NaN
        for a model that shows no attention weights), reason. The parts of a sentence add up to its scores of
        :func:`pseudo_log_likelihood` and :func:`all_unmasked_likelihood`; those of AUL and AULA are already divided
        by the number of tokens. A sentence without scores has one row, without a position, and the reason.

    Warns
    -----
    UserWarning
        If the model shows no attention weights.

    Examples
    --------
    >>> from biaslib.models import load_masked_lm
    >>> parts = token_likelihoods(load_masked_lm("demo"), ["He is a nurse."])
    >>> parts.text.tolist(), f"{parts.pll_part.sum():.2f}"
    (['He', 'is', 'a', 'nurse', '.'], '-13.62')
    """
    sentences, encoded, reasons, usable = _to_score_whole(lm, sentences)
    own = {n: range(encoded[n].first, encoded[n].last) for n in usable}
    one_masked = [
        Request(encoded[n].ids, (place,), (place,), ((encoded[n].ids[place],),)) for n in usable for place in own[n]
    ]
    masked = iter(log_probabilities(lm, one_masked, batch_tokens, progress))
    unmasked = _unmasked_tokens(lm, encoded, usable, batch_tokens, progress)
    rows = []
    for n, reason in enumerate(reasons):
        if reason:
            rows.append((n, None, "", "", np.nan, np.nan, np.nan, reason))
            continue
        log_probability, weight, _ = unmasked[n]
        texts = _texts_of_tokens(lm, sentences[n], encoded[n])
        for position, place in enumerate(own[n]):
            token = lm.tokenizer.convert_ids_to_tokens(encoded[n].ids[place])
            pll_part = float(next(masked)[0][0])
            aul_part = float(log_probability[position]) / len(own[n])
            why = "" if math.isfinite(pll_part) and math.isfinite(aul_part) else NOT_FINITE
            rows.append((n, position, token, texts[position], pll_part, aul_part, weight[position] * aul_part, why))
    columns = ["sentence_id", "position", "token", "text", "pll_part", "aul_part", "aula_part", "reason"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({"position": "Int64"})


def shared_tokens(lm, first, second) -> pd.DataFrame:
    """Align the tokens of two sentences, as :func:`shared_pseudo_log_likelihood` does.

    Parameters
    ----------
    lm : MaskedLM
    first, second : sequences of str
        Pairs, in the same order.

    Returns
    -------
    DataFrame
        A row a pair and shared token: pair_id, position_first, position_second (from 0, special tokens left out).

    Raises
    ------
    ValueError
        If the two are not of one length.

    Examples
    --------
    >>> from biaslib.models import load_masked_lm
    >>> shared_tokens(load_masked_lm("demo"), ["He is a nurse."], ["The man is a nurse."]).position_second.tolist()
    [2, 3, 4, 5]
    """
    sides = _two_sides(first, second)
    encoded = [encode(lm, side) for side in sides]
    rows = [
        (n, a - one.first, b - other.first)
        for n, (one, other) in enumerate(zip(*encoded, strict=True))
        for a, b in _shared_places(one, other)
    ]
    return pd.DataFrame(rows, columns=["pair_id", "position_first", "position_second"])


def sentence_vectors(lm, sentences, *, batch_tokens=None, progress=False) -> np.ndarray:
    """Average the last layer's states over the tokens of each sentence, special tokens left out.

    Parameters
    ----------
    lm : MaskedLM
    sentences : sequence of str
    batch_tokens, progress
        As for :func:`mask_distributions`.

    Returns
    -------
    ndarray of float32, shape (n, hidden)
        A row of NaN for an empty sentence, one over the model's limit, or one of unknown tokens only.

    Raises
    ------
    ValueError
        If the model's encoder cannot be told from its head.
    """
    _, encoded, _, usable = _to_score_whole(lm, sentences)
    requests = [Request(encoded[n].ids, (), tuple(range(encoded[n].first, encoded[n].last)), ()) for n in usable]
    unique, index = _deduplicate(lm, requests)
    _check_encoder(lm)
    vectors = _no_vectors(lm, len(encoded))
    rows_of = _invert(index, len(unique))

    def score(batch, numbers):
        states = lm.model.base_model(input_ids=batch.ids, attention_mask=batch.attention_mask)[0].float()
        inside = states.new_zeros(states.shape[:2])
        inside[batch.rows, batch.places] = 1
        means = (states * inside[..., None]).sum(1) / inside.sum(1, keepdim=True)
        for number, row in zip(numbers, means.cpu().numpy(), strict=True):
            vectors[[usable[n] for n in rows_of[number]]] = row

    with _inference(lm):
        _run_batches(lm, unique, score, batch_tokens=batch_tokens, progress=progress, logits=False)
    return vectors


def check_k(lm, k) -> None:
    """Refuse a number of likeliest entries that the vocabulary does not have."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= lm.vocabulary_size:
        raise ValueError(f"k is {k!r}: take a whole number from 1 to {lm.vocabulary_size}, the vocabulary's size")


def unmasked_likelihood_and_vectors(
    lm, sentences, *, batch_tokens=None, progress=False
) -> tuple[pd.DataFrame, np.ndarray]:
    """Compute AUL, AULA and the sentence vectors in one pass over the model.

    Parameters
    ----------
    lm : MaskedLM
    sentences : sequence of str
    batch_tokens, progress
        As for :func:`mask_distributions`.

    Returns
    -------
    scores : DataFrame
        As :func:`all_unmasked_likelihood` gives it.
    vectors : ndarray of float32, shape (n, hidden)
        As :func:`sentence_vectors` gives it: a row of NaN for a sentence that cannot be scored.

    Raises
    ------
    ValueError
        If the model's encoder cannot be told from its head.

    Warns
    -----
    UserWarning
        If the model shows no attention weights.
    """
    _check_encoder(lm)
    return _unmasked(lm, sentences, batch_tokens, progress, with_vectors=True)


def why_not_scored(lm, sentences) -> list[str]:
    """Say for each masked sentence why it cannot be scored; "" if it can."""
    return [_reason(lm, item) for item in mask_positions(lm, as_sentences(sentences))[0]]


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


def _reason(lm, item: Encoded, *, unmasked: bool = False) -> str:
    """Say why a sentence cannot be scored; "" if it can."""
    own = item.ids[item.first : item.last]
    if len(item.ids) > lm.max_tokens:
        return f"too long: {len(item.ids)} tokens, the model holds {lm.max_tokens}"
    if not own:
        return "empty"
    if unmasked and lm.tokenizer.mask_token_id in own:
        return f"{MASK} in a sentence to be scored whole"
    written = [token_id for token_id in own if token_id != lm.tokenizer.mask_token_id]
    if written and all(token_id == lm.tokenizer.unk_token_id for token_id in written):
        return "only unknown tokens"
    return ""


def _to_score_whole(lm, sentences) -> tuple[list[str], list[Encoded], list[str], list[int]]:
    """Encode sentences without masks; say why some cannot be scored, and number those that can."""
    sentences = as_sentences(sentences)
    encoded = encode(lm, sentences)
    reasons = [_reason(lm, item, unmasked=True) for item in encoded]
    return sentences, encoded, reasons, [n for n, reason in enumerate(reasons) if not reason]


def count_reasons(reasons: pd.Series) -> str:
    """Say how often each kind of reason stands there ("2 too long, 1 empty"); "" for none."""
    kinds = reasons.str.partition(":")[0] if len(reasons) else reasons
    return ", ".join(f"{count} {kind}" for kind, count in kinds.value_counts().items())


def _index_of(sentences):
    """Keep the index of a Series, so that scores go back to the rows that the sentences came from."""
    return sentences.index if isinstance(sentences, pd.Series) else None


def _sentence_frame(lm, sentences, encoded, reasons, index, **scores) -> pd.DataFrame:
    own = [item.ids[item.first : item.last] for item in encoded]
    first = next(iter(scores.values()))
    reasons = [
        reason or ("" if np.isfinite(score) else NOT_FINITE) for reason, score in zip(reasons, first, strict=True)
    ]
    frame = pd.DataFrame(
        {
            "sentence_id": np.arange(len(sentences)),
            "sentence": pd.Series(sentences, dtype=object),
            **scores,
            "n_tokens": np.array([len(ids) for ids in own], dtype=int),
            "n_unknown": np.array([ids.count(lm.tokenizer.unk_token_id) for ids in own], dtype=int),
            "reason": pd.Series(reasons, dtype=object),
        }
    )
    return frame if index is None else frame.set_axis(index)


def _shared_places(first: Encoded, second: Encoded) -> list[tuple[int, int]]:
    """Align two sentences by difflib over all ids, then leave out the special tokens of either."""
    blocks = SequenceMatcher(None, first.ids, second.ids, autojunk=False).get_matching_blocks()
    pairs = [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]
    return [(a, b) for a, b in pairs if first.first <= a < first.last and second.first <= b < second.last]


def _span_places(lm, sentences, encoded: Sequence[Encoded], spans) -> list[list[list[int]]]:
    """Find the tokens of each part of each sentence."""
    if not sentences:
        return []
    if not lm.tokenizer.is_fast:
        raise ValueError(f"the tokenizer of {lm.name!r} does not tell where its tokens stand: load its fast version")
    batch = lm.tokenizer(list(sentences), return_offsets_mapping=True, truncation=False, padding=False, verbose=False)
    return [
        [[place for place in range(item.first, item.last) if _touches(offsets[place], span)] for span in of_sentence]
        for item, offsets, of_sentence in zip(encoded, batch["offset_mapping"], spans, strict=True)
    ]


def _touches(offset: tuple[int, int], span: tuple[int, int]) -> bool:
    # A mark of a word's start that stands alone has no width.
    (start, stop), (first, last) = offset, span
    return first == start == stop or (start < last and stop > first)


def _span_reason(lm, item: Encoded, places: Sequence[Sequence[int]]) -> str:
    if not places or not all(places):
        return "no token in the part"
    unknown = any(item.ids[place] == lm.tokenizer.unk_token_id for span in places for place in span)
    return "unknown token in the part" if unknown else ""


def _span_requests(ids: Sequence[int], places: Sequence[Sequence[int]], variant: str, words) -> list[Request]:
    """Mask all tokens of the parts at once, or show them one after another from the left, or all but one (its word)."""
    if variant in PLL_VARIANTS:
        return [
            Request(tuple(ids), (place, *(_later_pieces(words, place) if words else ())), (place,), ((ids[place],),))
            for span in places
            for place in span
        ]
    if variant == "all_masked":
        masked = tuple(place for span in places for place in span)
        return [Request(tuple(ids), masked, masked, tuple((ids[place],) for place in masked))]
    requests = []
    for shown in range(max(map(len, places))):
        masked = [span[shown] for span in places if len(span) > shown]
        hidden = {place for span in places for place in span[shown + 1 :]}
        kept = [place for place in range(len(ids)) if place not in hidden]
        read = tuple(kept.index(place) for place in masked)
        wanted = tuple((ids[place],) for place in masked)
        requests.append(Request(tuple(ids[place] for place in kept), read, read, wanted))
    return requests


def _check_variant(variant: str, known: Sequence[str]) -> None:
    if variant not in known:
        raise ValueError(f"unknown variant {variant!r}: use one of {', '.join(known)}")


def _two_sides(first, second) -> list[list[str]]:
    """Check that two lists of sentences are pairs."""
    sides = [as_sentences(first), as_sentences(second)]
    if len(sides[0]) != len(sides[1]):
        raise ValueError(f"pairs need as many first as second sentences, not {len(sides[0])} and {len(sides[1])}")
    return sides


def _texts_of_tokens(lm, sentence: str, item: Encoded) -> list[str]:
    """Read each token as the sentence has it; a tokenizer that tells no places gives its own spelling."""
    own = lm.tokenizer.convert_ids_to_tokens(list(item.ids[item.first : item.last]))
    if not lm.tokenizer.is_fast:
        return own
    spans = lm.tokenizer(sentence, truncation=False, verbose=False, return_offsets_mapping=True)["offset_mapping"]
    spans = spans[item.first : item.last]
    # A lone mark of a word's start has the place of the character after it.
    texts = [_text_at(sentence, *span) if token.strip("Ġ▁") else "" for span, token in zip(spans, own, strict=True)]
    return [text or token for text, token in zip(texts, own, strict=True)]


def _text_at(sentence: str, start: int, end: int) -> str:
    text = sentence[start:end]
    continues = start > 0 and sentence[start - 1].isalnum() and text[:1].isalnum()
    return f"##{text}" if continues else text.strip()


def _word_numbers(lm, sentences: Sequence[str], encoded: Sequence[Encoded]) -> list[list[int | None]]:
    """Number the word that each token belongs to."""
    if not lm.tokenizer.is_fast:
        raise ValueError(f"the tokenizer of {lm.name!r} does not tell which pieces form a word: use variant='original'")
    texts = [sentence.replace(MASK, lm.tokenizer.mask_token) for sentence in sentences]
    if not texts:
        return []
    batch = lm.tokenizer(texts, truncation=False, padding=False, verbose=False)
    return [batch.word_ids(n) for n in range(len(encoded))]


def _later_pieces(words: Sequence[int | None], place: int) -> tuple[int, ...]:
    return tuple(later for later in range(place + 1, len(words)) if words[later] == words[place])


def _sums(n: int, owners: Sequence[int], scored, usable: Sequence[int]) -> np.ndarray:
    """Add up, in float64, the log-probabilities of each owner; NaN for those without a score."""
    values = np.array([log_probability[0][0] for log_probability in scored], dtype=np.float64)
    usable = np.array(usable, dtype=int)
    sums = np.full(n, np.nan)
    sums[usable] = np.bincount(np.array(owners, dtype=int), weights=values, minlength=n)[usable]
    return sums


def log_probabilities(lm, requests: Sequence[Request], batch_tokens, progress) -> list[list[np.ndarray]]:
    """Answer requests in their order: for each place read, the log-probabilities of the entries wanted."""
    unique, index = _deduplicate(lm, requests)
    scored = _log_probabilities_of(lm, unique, batch_tokens, progress)
    return [[scored[number][spot][columns] for spot, columns in enumerate(chosen)] for number, chosen in index]


def _log_probabilities_of(
    lm, unique, batch_tokens, progress, *, received=None, attention=None, states=None, means=None
):
    """Answer different requests; with `received` and `states`, also keep attention received and mean last states."""
    answers: list = [None] * len(unique)

    def keep(numbers, logits):
        spots = [entries for number in numbers for entries in unique[number].wanted]
        values = _wanted_log_probabilities(logits, spots)
        start = 0
        for row, number in enumerate(numbers):
            stop = start + len(unique[number].read)
            answers[number] = values[start:stop]
            start = stop
            if received is not None:
                attention[number] = received.mean_row(row, len(unique[number].ids))
            if states is not None:
                means[number] = states.mean_row(row, unique[number].read)

    options = {"batch_tokens": batch_tokens, "progress": progress, "received": received}
    _forward_all(lm, unique, keep, whole_states=states is not None, **options)
    return answers


def _wanted_log_probabilities(logits, spots: Sequence[Sequence[int]]) -> list[np.ndarray]:
    """Log-softmax of the entries wanted in each row, the whole vocabulary in the denominator."""
    import torch

    width = max(map(len, spots))
    wanted = torch.tensor([[*entries, *[0] * (width - len(entries))] for entries in spots], device=logits.device)
    step = max(1, LOGITS_AT_ONCE // (4 * logits.shape[-1]))
    total = torch.cat([part.logsumexp(-1, keepdim=True) for part in logits.split(step)])
    values = (logits.gather(-1, wanted) - total).cpu().numpy()
    return [row[: len(entries)] for row, entries in zip(values, spots, strict=True)]


def _deduplicate(lm, requests: Sequence[Request]) -> tuple[list[Request], list[tuple[int, list[list[int]]]]]:
    """Merge requests for the same forward; tell for each its number and the columns of its entries."""
    numbers: dict[tuple, int] = {}
    unique: list[Request] = []
    columns: list[list[dict[int, int]]] = []
    index = []
    for request in requests:
        ids = np.array(request.ids, dtype=np.int32)
        ids[list(request.masked)] = lm.tokenizer.mask_token_id
        number = numbers.setdefault((ids.tobytes(), request.read), len(unique))
        if number == len(unique):
            unique.append(request)
            columns.append([{} for _ in request.wanted])
        index.append(
            (
                number,
                [
                    [known.setdefault(entry, len(known)) for entry in entries]
                    for known, entries in zip(columns[number], request.wanted, strict=True)
                ],
            )
        )
    merged = [
        request._replace(wanted=tuple(tuple(known) for known in of_request))
        for request, of_request in zip(unique, columns, strict=True)
    ]
    return merged, index


def _invert(index, n: int) -> list[list[int]]:
    """List for each different request the callers' rows that it answers."""
    rows_of: list[list[int]] = [[] for _ in range(n)]
    for row, (number, _) in enumerate(index):
        rows_of[number].append(row)
    return rows_of


def _forward_all(lm, unique, keep: Callable, *, batch_tokens, progress, received=None, whole_states=False) -> None:
    """Run the model over all requests and hand `keep` the float32 logits at the places read."""
    gathers = traits_of(lm).gathers
    if gathers and whole_states:
        gathers = "encoder"  # the last layer has to give the states of all places

    def score(batch, numbers):
        if received is not None:
            received.start(batch.attention_mask)
        keep(numbers, _logits_at(lm, batch, gathers, received).float())

    with _inference(lm):
        logits = "read" if gathers else "all"
        _run_batches(lm, unique, score, batch_tokens=batch_tokens, progress=progress, logits=logits)


def _run_batches(lm, unique, score: Callable, *, batch_tokens, progress, logits) -> None:
    """Feed `score` batch by batch, longest first; halve a batch that the accelerator has no memory for."""
    from tqdm import tqdm

    limit = _batch_limit(lm, batch_tokens)
    n_tokens = sum(len(request.ids) for request in unique)
    with (
        packed_linear_layers(lm, n_tokens, limit),
        tqdm(total=len(unique), disable=not progress, desc=lm.name, unit="forward") as bar,
    ):
        for numbers in _batches(lm, unique, limit, logits):
            _score_halving(lm, unique, numbers, score)
            bar.update(len(numbers))


def _score_halving(lm, unique, numbers: list[int], score: Callable) -> None:
    import torch

    try:
        score(_batch(lm, [unique[n] for n in numbers]), numbers)
        return
    except torch.OutOfMemoryError:
        if len(numbers) == 1:
            raise
    # Outside the handler: the caught error would keep the failed batch's tensors alive.
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    half = len(numbers) // 2
    _score_halving(lm, unique, numbers[:half], score)
    _score_halving(lm, unique, numbers[half:], score)


def _batch_limit(lm, batch_tokens: int | None) -> int:
    limit = BATCH_TOKENS[lm.device.partition(":")[0]] if batch_tokens is None else batch_tokens
    if limit < 1:
        raise ValueError(f"batch_tokens is {batch_tokens}: take a positive number of tokens")
    return limit


def _batches(lm, unique, limit: int, logits) -> Iterator[list[int]]:
    """Pack requests, longest first, by padded tokens and by the logits that they need."""
    rows_at_once = max(1, LOGITS_AT_ONCE // lm.vocabulary_size)
    pads = traits_of(lm).pads
    batch: list[int] = []
    width = read = 0
    for number in sorted(range(len(unique)), key=lambda n: (-len(unique[n].ids), n)):
        request = unique[number]
        more = {"read": len(request.read), "all": len(request.ids)}.get(logits, 0)
        other_length = not pads and len(request.ids) != width
        if batch and (other_length or (len(batch) + 1) * width > limit or read + more > rows_at_once):
            yield batch
            batch, read = [], 0
        width = width if batch else len(request.ids)
        batch.append(number)
        read += more
    if batch:
        yield batch


def _batch(lm, requests: Sequence[Request]) -> Batch:
    import torch

    width = max(len(request.ids) for request in requests)
    ids = np.full((len(requests), width), pad_id(lm), dtype=np.int64)
    attention_mask = np.zeros((len(requests), width), dtype=np.int64)
    for row, request in enumerate(requests):
        ids[row, : len(request.ids)] = request.ids
        ids[row, list(request.masked)] = lm.tokenizer.mask_token_id
        attention_mask[row, : len(request.ids)] = 1
    rows = [row for row, request in enumerate(requests) for _ in request.read]
    places = [place for request in requests for place in request.read]
    return Batch(*(torch.as_tensor(part, device=lm.device) for part in (ids, attention_mask, rows, places)))


def pad_id(lm) -> int:
    candidates = (lm.tokenizer.pad_token_id, getattr(lm.model.config, "pad_token_id", None), 0)
    return next(candidate for candidate in candidates if candidate is not None)


@contextmanager
def _inference(lm):
    """Score in evaluation mode without gradients, and leave the model's mode as it was."""
    import torch

    modes = {module: module.training for module in lm.model.modules()}
    lm.model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module, training in modes.items():
            module.training = training


def _logits_at(lm, batch: Batch, gathers: str, received=None):
    """Return logits at the places read, shape (places, |V|)."""
    options = {"output_attentions": True} if received is not None and received.reported else {}
    with gathering(lm, batch, gathers) if gathers else nullcontext():
        output = lm.model(input_ids=batch.ids, attention_mask=batch.attention_mask, **options)
    for weights in output["attentions"] if options else ():
        received.add(weights)
    return output.logits[:, 0] if gathers else output.logits[batch.rows, batch.places]


@contextmanager
def gathering(lm, batch: Batch, where: str):
    """Let the encoder, or already its last layer's feed-forward part, go on with the places read alone."""

    def from_encoder(module, inputs, output):
        output["last_hidden_state"] = output["last_hidden_state"][batch.rows, batch.places][:, None]
        return output

    def from_attention(module, inputs, output):
        return output[0][batch.rows, batch.places][:, None], *output[1:]

    if where == "last attention":
        handle = lm.model.base_model.encoder.layer[-1].attention.register_forward_hook(from_attention)
    else:
        handle = lm.model.base_model.register_forward_hook(from_encoder)
    try:
        yield
    finally:
        handle.remove()


def traits_of(lm) -> Traits:
    """Find out once, on small batches, what a model allows; one that allows nothing is only slower."""
    if lm.model not in _traits:
        with _inference(lm):
            _traits[lm.model] = Traits(_gathers(lm), _pads(lm))
    return _traits[lm.model]


def _probe(lm, *lengths: int) -> Batch:
    """Make a batch of some of the vocabulary's entries, the second place of each row to be read."""
    padding = pad_id(lm)
    entries = [i for i in range(lm.model.get_input_embeddings().weight.shape[0]) if i != padding]
    rows = [
        tuple(entries[(7 * place + n) % len(entries)] for place in range(length)) for n, length in enumerate(lengths)
    ]
    return _batch(lm, [Request(row, (), (1,), ()) for row in rows])


def _alike(lm, one, other) -> bool:
    import torch

    tolerance = 1e-4 if lm.dtype in ("float32", "float64") else 5e-2
    return one.shape == other.shape and torch.allclose(one, other, rtol=tolerance, atol=tolerance)


def _gathers(lm) -> str:
    """Tell how early single places give the same as whole sentences: "last attention", "encoder", or "" (nowhere)."""
    if lm.model.base_model is lm.model:
        return ""
    batch = _probe(lm, 5, 3)
    full = _logits_at(lm, batch, gathers="")
    found = ""
    for where in ("encoder", "last attention"):
        try:
            if not _alike(lm, full, _logits_at(lm, batch, gathers=where)):
                break
        except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
            break
        found = where
    return found


def _pads(lm) -> bool:
    """Whether a sentence scores the same beside a longer one; not so where padding takes part (FNet)."""
    alone = _logits_at(lm, _probe(lm, 4), gathers="")
    return _alike(lm, alone, _logits_at(lm, _probe(lm, 4, 11), gathers="")[:1])


class _Received:
    """The attention that each token receives, added up layer by layer as the model runs."""

    def __init__(self, reported: bool):
        self.reported = reported

    def start(self, attention_mask) -> None:
        self.query = attention_mask.float()
        self.total, self.layers = 0, 0

    def add(self, weights) -> None:
        # (batch, heads, queries, keys): averaged over heads and real queries; then the weights can be freed.
        received = (weights.float().mean(1) * self.query[:, :, None]).sum(1)
        self.total = self.total + received / self.query.sum(1, keepdim=True)
        self.layers += 1

    def mean_row(self, row: int, length: int) -> np.ndarray:
        return (self.total[row, :length] / self.layers).cpu().numpy()


@contextmanager
def _received_attention(lm):
    """Listen to a model's attention, in eager mode; None where it shows no attention weights."""
    traits_of(lm)  # before anyone listens: its own forwards are no sentence's
    before = lm.model.config._attn_implementation
    handles = []
    try:
        if before != "eager":
            lm.model.set_attn_implementation("eager")
        source = _attention_source(lm)
        received = _Received(reported=source == "reported") if source else None
        handles = [
            module.register_forward_hook(lambda module, inputs, output: received.add(_weights_in(output)))
            for module in (source if isinstance(source, list) else ())
        ]
        yield received
    finally:
        for handle in handles:
            handle.remove()
        if lm.model.config._attn_implementation != before:
            lm.model.set_attn_implementation(before)


def _weights_in(output):
    """Find attention weights among what a module returned."""
    parts = output if isinstance(output, tuple) else ()
    return next((part for part in parts if _is_attention(part)), None)


def _is_attention(part) -> bool:
    """Whether this is a square of weights for each sentence and head: (batch, heads, queries, keys)."""
    import torch

    return torch.is_tensor(part) and part.ndim == 4 and part.shape[-1] == part.shape[-2]


def _attention_source(lm):
    """Tell where attention weights are read: at modules, layer by layer; as reported, all at once; or nowhere."""
    if lm.model not in _attention_sources:
        with _inference(lm):
            _attention_sources[lm.model] = _find_attention(lm)
    return _attention_sources[lm.model]


def _find_attention(lm):
    batch = _probe(lm, 7)
    calls, output = _listened(lm, batch, output_attentions=True)
    reported = output.get("attentions") or ()
    if not reported or not all(map(_is_attention, reported)):
        return None
    # The innermost module that returned the very tensor that is reported comes first; a shared one counts once.
    owners = {seen.data_ptr(): module for module, seen in reversed(calls) if seen is not None}
    modules = list(dict.fromkeys(owners.get(weights.data_ptr()) for weights in reported))
    if None in modules:
        return "reported"
    calls, _ = _listened(lm, batch)
    heard = [seen for module, seen in calls if module in modules]
    return modules if len(heard) == len(reported) and all(seen is not None for seen in heard) else "reported"


def _listened(lm, batch: Batch, **options):
    """Run a batch and list, in order, each module with the attention weights that it returned."""
    calls = []
    handles = [
        module.register_forward_hook(lambda module, inputs, output: calls.append((module, _weights_in(output))))
        for module in lm.model.modules()
    ]
    try:
        output = lm.model(input_ids=batch.ids, attention_mask=batch.attention_mask, **options)
    finally:
        for handle in handles:
            handle.remove()
    return calls, output


def _unmasked(lm, sentences, batch_tokens, progress, *, with_vectors=False):
    """Score unmasked sentences; give the frame and, where they are wanted, the sentence vectors."""
    index = _index_of(sentences)
    sentences, encoded, reasons, usable = _to_score_whole(lm, sentences)
    found = _unmasked_tokens(lm, encoded, usable, batch_tokens, progress, with_vectors=with_vectors)
    aul, aula = np.full(len(sentences), np.nan), np.full(len(sentences), np.nan)
    vectors = _no_vectors(lm, len(sentences)) if with_vectors else None
    for n, (log_probability, weight, vector) in found.items():
        aul[n] = log_probability.mean()
        aula[n] = (weight * log_probability).mean()
        if with_vectors:
            vectors[n] = vector
    return _sentence_frame(lm, sentences, encoded, reasons, index, aul=aul, aula=aula), vectors


def _unmasked_tokens(lm, encoded, usable, batch_tokens, progress, *, with_vectors=False) -> dict[int, tuple]:
    """Give by sentence its tokens' log-probabilities and the attention they receive, float64, and its vector or None.

    The attention is NaN for a model that shows none.
    """
    requests = []
    for n in usable:
        item = encoded[n]
        places = tuple(range(item.first, item.last))
        requests.append(Request(item.ids, (), places, tuple((item.ids[place],) for place in places)))
    unique, answers = _deduplicate(lm, requests)
    attention: dict[int, np.ndarray] = {}
    means: dict[int, np.ndarray] = {}
    with _received_attention(lm) as received, _last_states(lm, with_vectors) as states:
        if received is None:
            warnings.warn(f"the model {lm.name!r} shows no attention weights: aula is missing", stacklevel=4)
        scored = _log_probabilities_of(
            lm, unique, batch_tokens, progress, received=received, attention=attention, states=states, means=means
        )
    found = {}
    for n, (number, _) in zip(usable, answers, strict=True):
        log_probability = np.array([values[0] for values in scored[number]], dtype=np.float64)
        weight = attention.get(number, np.full(len(encoded[n].ids), np.nan))[encoded[n].first : encoded[n].last]
        found[n] = log_probability, weight.astype(np.float64), means.get(number)
    return found


def _check_encoder(lm) -> None:
    if lm.model.base_model is lm.model:
        raise ValueError(f"the model {lm.name!r} keeps its encoder and its head together: it gives no sentence vectors")


def _no_vectors(lm, n: int) -> np.ndarray:
    return np.full((n, lm.model.config.hidden_size), np.nan, dtype=np.float32)


class _LastStates:
    """The last layer's states of the batch that runs."""

    def keep(self, module, inputs, output) -> None:
        self.states = output[0]

    def mean_row(self, row: int, places: Sequence[int]) -> np.ndarray:
        return self.states[row, places[0] : places[-1] + 1].float().mean(0).cpu().numpy()


@contextmanager
def _last_states(lm, wanted: bool):
    """Listen to the encoder's output, before it is cut down to the places read; None where it is not wanted."""
    if not wanted:
        yield None
        return
    states = _LastStates()
    handle = lm.model.base_model.register_forward_hook(states.keep)
    try:
        yield states
    finally:
        handle.remove()
