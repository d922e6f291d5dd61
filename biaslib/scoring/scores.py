"""Probabilities and likelihoods of sentences under a masked language model.

Every score is a set of requests: token ids, the places to mask, the places to read, and the entries wanted
there. Equal requests are computed once; the rest are sorted by length, packed into batches, and only the places
read pass through the language-model head.
"""

import math
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd

from biaslib._checks import check_choice
from biaslib.scoring._engine import deduplicate, invert, log_probabilities, run_batches
from biaslib.scoring._forward import Request, inference_mode
from biaslib.scoring._spans import PLL_VARIANTS, SPAN_VARIANTS, span_places, span_reason, span_requests
from biaslib.scoring.models import MaskedLM
from biaslib.scoring.reasons import NO_SHARED_TOKEN, NOT_FINITE, join_reasons, list_counts
from biaslib.scoring.token_scores import (
    later_pieces,
    shared_places,
    to_score_whole,
    two_sides,
    unmasked_tokens,
    word_numbers,
)
from biaslib.scoring.tokens import encode, reason_not_scored


def pseudo_log_likelihood(
    lm: MaskedLM,
    sentences: Sequence[str],
    *,
    variant: str = "original",
    batch_tokens: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
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
    check_choice(variant, "variant", PLL_VARIANTS)
    index = _index_of(sentences)
    sentences, encoded, reasons, usable = to_score_whole(lm, sentences)
    words = word_numbers(lm, sentences, encoded) if variant == "within_word_l2r" else None
    requests, owners = [], []
    for n in usable:
        item = encoded[n]
        for place in range(item.first, item.last):
            later = later_pieces(words[n], place) if words else ()
            requests.append(Request(item.ids, (place, *later), (place,), ((item.ids[place],),)))
            owners.append(n)
    pll = _sums(len(sentences), owners, log_probabilities(lm, requests, batch_tokens, progress), usable)
    return _sentence_frame(lm, sentences, encoded, reasons, index, pll=pll)


def pseudo_perplexity(
    lm: MaskedLM, sentences: Sequence[str], *, batch_tokens: int | None = None, progress: bool = False
) -> float:
    """Compute the pseudo-perplexity of a set of sentences (Salazar et al. 2020, Eq. 4).

    exp(−ΣPLL / Σtokens) over the whole set, not a mean of means. Sentences without a score are left out; a warning
    counts them by reason.

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
    left_out = list_counts(frame.reason)
    if len(scored) == 0:
        raise ValueError(f"no sentence could be scored: {left_out or 'none was given'}")
    if left_out:
        warnings.warn(f"{len(frame) - len(scored)} of {len(frame)} sentences left out: {left_out}", stacklevel=2)
    return float(np.exp(-scored.pll.sum() / scored.n_tokens.sum()))


def shared_pseudo_log_likelihood(
    lm: MaskedLM,
    first: Sequence[str],
    second: Sequence[str],
    *,
    variant: str = "original",
    batch_tokens: int | None = None,
    progress: bool = False,
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
        pair_id, pll_first, pll_second, n_shared (tokens), reason ("" or why there is no score), reason_first and
        reason_second (what of it is about one of the sentences).

    Raises
    ------
    ValueError
        If the two differ in length, the variant is unknown, or the tokenizer cannot tell the pieces of a word.
    """
    check_choice(variant, "variant", PLL_VARIANTS)
    index, sides = _index_of(first), two_sides(first, second)
    encoded = [encode(lm, side) for side in sides]
    words = [word_numbers(lm, *side) for side in zip(sides, encoded, strict=True)] if variant != "original" else None
    of_side = [[reason_not_scored(lm, item, unmasked=True) for item in side] for side in encoded]
    requests, owners, shared, reasons = [], [], [], []
    for n, pair in enumerate(zip(*encoded, strict=True)):
        spans = shared_places(*pair)
        shared.append(len(spans))
        why = join_reasons({"first": of_side[0][n], "second": of_side[1][n]})
        reasons.append(why or ("" if spans else NO_SHARED_TOKEN))
        if reasons[-1]:
            continue
        for places in spans:
            for side, (item, place) in enumerate(zip(pair, places, strict=True)):
                later = later_pieces(words[side][n], place) if words else ()
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
            "reason_first": pd.Series(of_side[0], dtype=object),
            "reason_second": pd.Series(of_side[1], dtype=object),
        }
    )
    return frame if index is None else frame.set_axis(index)


def masked_span_likelihood(
    lm: MaskedLM,
    sentences: Sequence[str],
    spans: Sequence[Sequence[tuple[int, int]]],
    *,
    variant: str = "all_masked",
    batch_tokens: int | None = None,
    progress: bool = False,
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
        If the variant is unknown, spans and sentences differ in number, or the tokenizer does not tell where
        its tokens stand.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> frame = masked_span_likelihood(load_masked_lm("demo"), ["She is a nurse."], [[(0, 3)]])
    >>> frame[["log_probability", "n_span_tokens"]].round(2).values.tolist()
    [[-1.07, 1.0]]
    """
    check_choice(variant, "variant", SPAN_VARIANTS)
    index = _index_of(sentences)
    sentences, encoded, reasons, _ = to_score_whole(lm, sentences)
    if len(spans) != len(sentences):
        raise ValueError(f"spans and sentences must have the same length, not {len(spans)} and {len(sentences)}")
    places = span_places(lm, sentences, encoded, spans)
    reasons = [reason or span_reason(lm, *of) for reason, *of in zip(reasons, encoded, places, strict=True)]
    words = word_numbers(lm, sentences, encoded) if variant == "within_word_l2r" and sentences else None
    usable = [n for n, reason in enumerate(reasons) if not reason]
    requests, owners = [], []
    for n in usable:
        made = span_requests(encoded[n].ids, places[n], variant, words[n] if words else None)
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


def all_unmasked_likelihood(
    lm: MaskedLM, sentences: Sequence[str], *, batch_tokens: int | None = None, progress: bool = False
) -> pd.DataFrame:
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


def sentence_vectors(
    lm: MaskedLM, sentences: Sequence[str], *, batch_tokens: int | None = None, progress: bool = False
) -> np.ndarray:
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
        If the model does not keep its encoder apart from its head.
    """
    _, encoded, _, usable = to_score_whole(lm, sentences)
    requests = [Request(encoded[n].ids, (), tuple(range(encoded[n].first, encoded[n].last)), ()) for n in usable]
    unique, index = deduplicate(lm, requests)
    _check_encoder(lm)
    vectors = _no_vectors(lm, len(encoded))
    rows_of = invert(index, len(unique))

    def score(batch, numbers):
        states = lm.model.base_model(input_ids=batch.ids, attention_mask=batch.attention_mask)[0].float()
        inside = states.new_zeros(states.shape[:2])
        inside[batch.rows, batch.places] = 1
        means = (states * inside[..., None]).sum(1) / inside.sum(1, keepdim=True)
        for number, row in zip(numbers, means.cpu().numpy(), strict=True):
            vectors[[usable[n] for n in rows_of[number]]] = row

    with inference_mode(lm):
        run_batches(lm, unique, score, batch_tokens=batch_tokens, progress=progress, logits=False)
    return vectors


def unmasked_likelihood_and_vectors(
    lm: MaskedLM, sentences: Sequence[str], *, batch_tokens: int | None = None, progress: bool = False
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
        If the model does not keep its encoder apart from its head.

    Warns
    -----
    UserWarning
        If the model shows no attention weights.
    """
    _check_encoder(lm)
    return _unmasked(lm, sentences, batch_tokens, progress, with_vectors=True)


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


def _sums(n: int, owners: Sequence[int], scored, usable: Sequence[int]) -> np.ndarray:
    """Add up, in float64, the log-probabilities of each owner; NaN for those without a score."""
    values = np.array([log_probability[0][0] for log_probability in scored], dtype=np.float64)
    usable = np.array(usable, dtype=int)
    sums = np.full(n, np.nan)
    sums[usable] = np.bincount(np.array(owners, dtype=int), weights=values, minlength=n)[usable]
    return sums


def _unmasked(lm, sentences, batch_tokens, progress, *, with_vectors=False):
    """Score unmasked sentences; give the frame and, where they are wanted, the sentence vectors."""
    index = _index_of(sentences)
    sentences, encoded, reasons, usable = to_score_whole(lm, sentences)
    found = unmasked_tokens(lm, encoded, usable, batch_tokens, progress, with_vectors=with_vectors)
    aul, aula = np.full(len(sentences), np.nan), np.full(len(sentences), np.nan)
    vectors = _no_vectors(lm, len(sentences)) if with_vectors else None
    for n, (log_probability, weight, vector) in found.items():
        aul[n] = log_probability.mean()
        aula[n] = (weight * log_probability).mean()
        if with_vectors:
            vectors[n] = vector
    return _sentence_frame(lm, sentences, encoded, reasons, index, aul=aul, aula=aula), vectors


def _check_encoder(lm) -> None:
    if lm.model.base_model is lm.model:
        raise ValueError(f"the model {lm.name!r} keeps its encoder and its head together: it has no sentence vectors")


def _no_vectors(lm, n: int) -> np.ndarray:
    return np.full((n, lm.model.config.hidden_size), np.nan, dtype=np.float32)
