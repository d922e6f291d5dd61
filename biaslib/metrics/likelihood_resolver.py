"""Resolve GAP's pronouns without training, by the likelihood of either name in the pronoun's place."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import pandas as pd

from biaslib import scoring
from biaslib._text import MASK
from biaslib.io.gap import checked_gap
from biaslib.metrics.gap_f1 import PRONOUN_GENDER
from biaslib.scoring.tokens import check_loaded, encode

if TYPE_CHECKING:
    from biaslib.scoring import MaskedLM

_OWNS = "'s"
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'’”)\]]*\s+")


def resolve_by_likelihood(
    lm: MaskedLM,
    gap: pd.DataFrame,
    *,
    variant: str = "original",
    batch_tokens: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Resolve pronouns without training: put either name in the pronoun's place and see which is more likely.

    The pronoun is replaced by the name, a possessive one by the name with *'s*. The score of a name is the
    pseudo-log-likelihood of its tokens given the rest of the text (Salazar et al. 2020), averaged over the tokens, so
    that names of several pieces are not less likely for that. The more likely name is the answer.

    Parameters
    ----------
    lm : MaskedLM
    gap : pandas.DataFrame
        As `biaslib.io.read_gap` returns it.
    variant : {"original", "within_word_l2r", "all_masked", "left_to_right"}
        What the model sees of the name while it predicts a token of it: all other tokens; all but the later pieces of
        the same word, which give the earlier ones away (Kauf & Ivanova 2023); none; the tokens before it.
    batch_tokens, progress
        As in `biaslib.scoring`.

    Returns
    -------
    pandas.DataFrame
        ``ID A-coref B-coref score_a score_b n_pieces_a n_pieces_b possessive shortened reason``, one row per pronoun,
        in the order of `gap`. Scores are natural logarithms per token. ``shortened`` says that the text was too long
        for the model, so that sentences far from the pronoun and the names were left out. A row that could not be
        scored has a ``reason`` and no answer (a missing value, which `gap_scores` counts as two false negatives).

    Raises
    ------
    ValueError
        If a column is missing, the variant is unknown, or a row's offsets do not point at its strings.

    Notes
    -----
    One of the names is always chosen unless their scores are equal: "neither" is the answer for about a tenth of GAP's
    pronouns, and the threshold for it would differ between models. *Her* is possessive if the model finds *his* more
    likely than *him* in its place (if a model lacks either as an entry: if a word follows); *his* always is.

    Examples
    --------
    >>> from biaslib.io import read_gap
    >>> from biaslib.scoring import load_masked_lm
    >>> answers = resolve_by_likelihood(load_masked_lm("demo"), read_gap("gap_sample").head(2))
    >>> answers[["ID", "possessive", "n_pieces_a", "reason"]].values.tolist()
    [['sample-1', False, 4, ''], ['sample-2', False, 2, '']]
    """
    check_loaded(lm)
    gap = checked_gap(gap)
    places = [_place_of(lm, row) for row in gap.to_dict("records")]
    usable = [n for n, place in enumerate(places) if "reason" not in place]
    options = {"batch_tokens": batch_tokens, "progress": progress}
    possessive = _possessive(lm, [places[n] for n in usable], options)
    texts, spans = [], []
    for n, owns in zip(usable, possessive, strict=True):
        for name in (places[n]["A"], places[n]["B"]):
            before, after = places[n]["before"], places[n]["after"]
            texts.append(f"{before}{name}{_OWNS if owns else ''}{after}")
            spans.append([(len(before), len(before) + len(name))])
    scored = scoring.masked_span_likelihood(lm, texts, spans, variant=variant, **options)
    return _answers(gap, places, usable, possessive, scored)


def _place_of(lm, row):
    """Return as much text around a pronoun as fits the model with either name in its place, or why none does."""
    text, start = row["Text"], row["Pronoun-offset"]
    end = start + len(row["Pronoun"])
    place = {"pronoun": row["Pronoun"].lower(), "A": _one_space(row["A"]), "B": _one_space(row["B"])}
    if MASK in text or lm.tokenizer.mask_token in text:
        return place | {"reason": f"{MASK} in the text"}
    if place["pronoun"] not in PRONOUN_GENDER:
        return place | {"reason": f"unknown pronoun {row['Pronoun']!r}"}

    def around(low, high):
        return {"before": _one_space(text[low:start]).lstrip(), "after": _one_space(text[end:high]).rstrip()}

    def length(low, high):
        parts = around(low, high)
        texts = [f"{parts['before']}{place[name]}{_OWNS}{parts['after']}" for name in ("A", "B")]
        return max(len(item.ids) for item in encode(lm, texts))

    if length(0, len(text)) <= lm.max_tokens:
        return place | around(0, len(text)) | {"shortened": False}
    spans = [(start, end), *((row[f"{x}-offset"], row[f"{x}-offset"] + len(row[x])) for x in ("A", "B"))]
    needed = min(first for first, _ in spans), max(last for _, last in spans)
    low, high = _window(text, *needed, lambda *window: length(*window) <= lm.max_tokens)
    if length(low, high) > lm.max_tokens:
        least = f"the sentences from the first name to the last have {length(low, high)} tokens"
        return place | {"reason": f"too long: {least}, and the model takes {lm.max_tokens}"}
    return place | around(low, high) | {"shortened": True}


def _window(text, first, last, fits):
    """Return the bounds of the sentences that hold a stretch of a text and of as many around it as fit."""
    bounds = sorted({0, len(text), *(match.end() for match in _SENTENCE_END.finditer(text))})
    i = max(n for n, bound in enumerate(bounds) if bound <= first)
    j = min(n for n, bound in enumerate(bounds) if bound >= last)
    grows = True
    while grows:
        grows = False
        for before, after in ((1, 0), (0, 1)):
            low, high = i - before, j + after
            if low >= 0 and high < len(bounds) and fits(bounds[low], bounds[high]):
                i, j, grows = low, high, True
    return bounds[i], bounds[j]


def _one_space(text):
    return re.sub(r"\s+", " ", text)


def _possessive(lm, places, options):
    """Decide which pronouns are possessive; for *her*, the model decides."""
    texts = [f"{place['before']}{MASK}{place['after']}" for place in places if place["pronoun"] == "her"]
    forms = {"possessive": ["his"], "object": ["him"]}
    told = scoring.group_probabilities(lm, texts, forms, cases=("lower", "title"), **options)["probability"]
    told = iter(told.to_numpy().reshape(-1, 2))
    found = []
    for place in places:
        owns = place["pronoun"] in ("his", "hers")
        if place["pronoun"] == "her":
            his, him = next(told)
            follows = re.match(r" \w", place["after"]) is not None
            owns = follows if math.isnan(his) or math.isnan(him) else bool(his > him)
        found.append(owns)
    return found


def _answers(gap, places, usable, possessive, scored):
    """Lay out scores and answers, one row per pronoun."""
    rows = {n: {"reason": place.get("reason", "")} for n, place in enumerate(places)}
    scored = scored.to_dict("records")
    for k, (n, owns) in enumerate(zip(usable, possessive, strict=True)):
        a, b = scored[2 * k], scored[2 * k + 1]
        why = [f"{name}: {of['reason']}" for name, of in (("A", a), ("B", b)) if of["reason"]]
        rows[n] |= {"n_pieces_a": a["n_span_tokens"], "n_pieces_b": b["n_span_tokens"], "reason": "; ".join(why)}
        rows[n] |= {"score_a": a["log_probability"], "score_b": b["log_probability"], "possessive": owns}
        rows[n] |= {"shortened": places[n]["shortened"]}
        if not why:
            rows[n] |= {
                "A-coref": a["log_probability"] > b["log_probability"],
                "B-coref": b["log_probability"] > a["log_probability"],
            }
    columns = {"A-coref": "boolean", "B-coref": "boolean", "score_a": float, "score_b": float}
    columns |= {"n_pieces_a": "Int64", "n_pieces_b": "Int64", "possessive": "boolean", "shortened": "boolean"}
    frame = pd.DataFrame(list(rows.values()), columns=[*columns, "reason"]).astype(columns | {"reason": str})
    frame.insert(0, "ID", gap["ID"].to_numpy())
    return frame
