"""What each token adds to the scores of its sentence."""

import math
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from difflib import SequenceMatcher

import numpy as np
import pandas as pd

from biaslib._checks import as_sentences
from biaslib._text import MASK
from biaslib.scoring._attention import last_states, received_attention
from biaslib.scoring._engine import LogProbabilities, deduplicate, forward_all, log_probabilities
from biaslib.scoring._forward import Request
from biaslib.scoring.models import MaskedLM
from biaslib.scoring.reasons import NOT_FINITE
from biaslib.scoring.tokens import Encoded, encode, reason_not_scored


def token_likelihoods(
    lm: MaskedLM, sentences: Sequence[str], *, batch_tokens: int | None = None, progress: bool = False
) -> pd.DataFrame:
    """Compute what each token of a sentence adds to its PLL, AUL and AULA.

    Parameters
    ----------
    lm : MaskedLM
    sentences : sequence of str
    batch_tokens, progress
        As for :func:`mask_distributions`.

    Returns
    -------
    DataFrame
        One row per token, special tokens left out: sentence_id, position (from 0), token (as the vocabulary has it),
        text (as the sentence has it; a piece that continues a word starts with ``##``), pll_part, aul_part, aula_part
        (NaN for a model that shows no attention weights), reason. The parts of a sentence add up to its scores of
        :func:`pseudo_log_likelihood` and :func:`all_unmasked_likelihood`; those of AUL and AULA are already divided
        by the number of tokens. A sentence without scores has one row, without a position, and the reason.

    Warns
    -----
    UserWarning
        If the model shows no attention weights.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> parts = token_likelihoods(load_masked_lm("demo"), ["He is a nurse."])
    >>> parts.text.tolist(), f"{parts.pll_part.sum():.2f}"
    (['He', 'is', 'a', 'nurse', '.'], '-13.62')
    """
    sentences, encoded, reasons, usable = to_score_whole(lm, sentences)
    own = {n: range(encoded[n].first, encoded[n].last) for n in usable}
    one_masked = [
        Request(encoded[n].ids, (place,), (place,), ((encoded[n].ids[place],),)) for n in usable for place in own[n]
    ]
    masked = iter(log_probabilities(lm, one_masked, batch_tokens, progress))
    unmasked = unmasked_tokens(lm, encoded, usable, batch_tokens, progress)
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


def shared_tokens(lm: MaskedLM, first: Sequence[str], second: Sequence[str]) -> pd.DataFrame:
    """Align the tokens of two sentences, as :func:`shared_pseudo_log_likelihood` does.

    Parameters
    ----------
    lm : MaskedLM
    first, second : sequences of str
        Pairs, in the same order.

    Returns
    -------
    DataFrame
        One row per pair and shared token: pair_id, position_first, position_second (from 0, special tokens left out).

    Raises
    ------
    ValueError
        If the two differ in length.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> shared_tokens(load_masked_lm("demo"), ["He is a nurse."], ["The man is a nurse."]).position_second.tolist()
    [2, 3, 4, 5]
    """
    sides = two_sides(first, second)
    encoded = [encode(lm, side) for side in sides]
    rows = [
        (n, a - one.first, b - other.first)
        for n, (one, other) in enumerate(zip(*encoded, strict=True))
        for a, b in shared_places(one, other)
    ]
    return pd.DataFrame(rows, columns=["pair_id", "position_first", "position_second"])


def to_score_whole(lm: MaskedLM, sentences: Sequence[str]) -> tuple[list[str], list[Encoded], list[str], list[int]]:
    """Encode sentences without masks; say why some cannot be scored, and number those that can."""
    sentences = as_sentences(sentences)
    encoded = encode(lm, sentences)
    reasons = [reason_not_scored(lm, item, unmasked=True) for item in encoded]
    return sentences, encoded, reasons, [n for n, reason in enumerate(reasons) if not reason]


def shared_places(first: Encoded, second: Encoded) -> list[tuple[int, int]]:
    """Align two sentences by difflib over all ids, then leave out the special tokens of either."""
    blocks = SequenceMatcher(None, first.ids, second.ids, autojunk=False).get_matching_blocks()
    pairs = [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]
    return [(a, b) for a, b in pairs if first.first <= a < first.last and second.first <= b < second.last]


def two_sides(first: Sequence[str], second: Sequence[str]) -> list[list[str]]:
    """Check that two lists of sentences are pairs."""
    sides = [as_sentences(first), as_sentences(second)]
    if len(sides[0]) != len(sides[1]):
        raise ValueError(f"first and second must have the same length, not {len(sides[0])} and {len(sides[1])}")
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


def word_numbers(lm: MaskedLM, sentences: Sequence[str], encoded: Sequence[Encoded]) -> list[list[int | None]]:
    """Number the word that each token belongs to."""
    if not lm.tokenizer.is_fast:
        raise ValueError(f"the tokenizer of {lm.name!r} does not tell which pieces form a word; use variant='original'")
    texts = [sentence.replace(MASK, lm.tokenizer.mask_token) for sentence in sentences]
    if not texts:
        return []
    batch = lm.tokenizer(texts, truncation=False, padding=False, verbose=False)
    return [batch.word_ids(n) for n in range(len(encoded))]


def later_pieces(words: Sequence[int | None], place: int) -> tuple[int, ...]:
    return tuple(later for later in range(place + 1, len(words)) if words[later] == words[place])


def unmasked_tokens(
    lm: MaskedLM, encoded, usable, batch_tokens: int | None, progress: bool, *, with_vectors: bool = False
) -> dict[int, tuple]:
    """Give by sentence its tokens' log-probabilities and the attention they receive, float64, and its vector or None.

    The attention is NaN for a model that shows none.
    """
    requests = []
    for n in usable:
        item = encoded[n]
        places = tuple(range(item.first, item.last))
        requests.append(Request(item.ids, (), places, tuple((item.ids[place],) for place in places)))
    unique, answers = deduplicate(lm, requests)
    scored = LogProbabilities(unique)
    with received_attention(lm, unique) as attention, _states_if(with_vectors, lm, unique) as states:
        if attention is None:
            warnings.warn(f"the model {lm.name!r} shows no attention weights, so aula is missing", stacklevel=4)
        collectors = [collector for collector in (scored, attention, states) if collector is not None]
        forward_all(lm, unique, collectors, batch_tokens=batch_tokens, progress=progress)
    found = {}
    for n, (number, _) in zip(usable, answers, strict=True):
        log_probability = np.array([values[0] for values in scored.found[number]], dtype=np.float64)
        weight = attention.found[number] if attention else np.full(len(encoded[n].ids), np.nan)
        weight = weight[encoded[n].first : encoded[n].last].astype(np.float64)
        found[n] = log_probability, weight, states.found[number] if states else None
    return found


def _states_if(wanted: bool, lm, unique):
    return last_states(lm, unique) if wanted else nullcontext()
