"""Parts of sentences and the tokens that lie in them."""

from collections.abc import Sequence

from biaslib.scoring._forward import Request
from biaslib.scoring.reasons import NO_TOKEN_IN_PART, UNKNOWN_IN_PART
from biaslib.scoring.token_scores import later_pieces
from biaslib.scoring.tokens import Encoded

PLL_VARIANTS = ("original", "within_word_l2r")
SPAN_VARIANTS = ("all_masked", "left_to_right", *PLL_VARIANTS)


def span_places(lm, sentences, encoded: Sequence[Encoded], spans) -> list[list[list[int]]]:
    """Find the tokens of each part of each sentence."""
    if not sentences:
        return []
    if not lm.tokenizer.is_fast:
        raise ValueError(f"the tokenizer of {lm.name!r} does not tell where its tokens stand; load its fast version")
    batch = lm.tokenizer(list(sentences), return_offsets_mapping=True, truncation=False, padding=False, verbose=False)
    return [
        [[place for place in range(item.first, item.last) if _touches(offsets[place], span)] for span in of_sentence]
        for item, offsets, of_sentence in zip(encoded, batch["offset_mapping"], spans, strict=True)
    ]


def _touches(offset: tuple[int, int], span: tuple[int, int]) -> bool:
    # A mark of a word's start that stands alone has no width.
    (start, stop), (first, last) = offset, span
    return first == start == stop or (start < last and stop > first)


def span_reason(lm, item: Encoded, places: Sequence[Sequence[int]]) -> str:
    if not places or not all(places):
        return NO_TOKEN_IN_PART
    unknown = any(item.ids[place] == lm.tokenizer.unk_token_id for span in places for place in span)
    return UNKNOWN_IN_PART if unknown else ""


def span_requests(ids: Sequence[int], places: Sequence[Sequence[int]], variant: str, words) -> list[Request]:
    """Mask all tokens of the parts at once, or show them one after another from the left, or all but one (its word)."""
    if variant in PLL_VARIANTS:
        return [
            Request(tuple(ids), (place, *(later_pieces(words, place) if words else ())), (place,), ((ids[place],),))
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
