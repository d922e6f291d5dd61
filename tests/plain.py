"""The definitions, written out plainly: one sentence and one token at a time, in float64."""

import copy
import math
from difflib import SequenceMatcher

import numpy as np
import torch


def double(lm):
    """Copy a model to float64 with eager attention."""
    model = copy.deepcopy(lm.model).double().eval()
    model.set_attn_implementation("eager")
    return model


def logits(model, ids, **options):
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), **options)


def log_probability(model, ids, place, token_id):
    row = logits(model, ids).logits[0, place]
    return float(row[token_id] - torch.logsumexp(row, 0))


def own_places(lm, text):
    """Places of the tokens that are the text's own."""
    ids = lm.tokenizer(text)["input_ids"]
    inside = lm.tokenizer(text, add_special_tokens=False)["input_ids"]
    start = next(k for k in range(len(ids)) if ids[k : k + len(inside)] == inside)
    return ids, range(start, start + len(inside))


def pll(lm, model, text, variant="original"):
    ids, places = own_places(lm, text)
    words = lm.tokenizer(text).word_ids()
    total = 0.0
    for place in places:
        masked = list(ids)
        for other in places:
            later_piece = variant == "within_word_l2r" and other > place and words[other] == words[place]
            if other == place or later_piece:
                masked[other] = lm.tokenizer.mask_token_id
        total += log_probability(model, masked, place, ids[place])
    return total


def shared_pll(lm, model, first, second, variant="original"):
    (ids_a, own_a), (ids_b, own_b) = own_places(lm, first), own_places(lm, second)
    words = [lm.tokenizer(text).word_ids() for text in (first, second)]
    totals, n = [0.0, 0.0], 0
    for tag, a, a_end, b, _ in SequenceMatcher(None, ids_a, ids_b, autojunk=False).get_opcodes():
        for step in range(a_end - a if tag == "equal" else 0):
            if a + step in own_a and b + step in own_b:
                n += 1
                for side, ids, place in ((0, ids_a, a + step), (1, ids_b, b + step)):
                    masked = list(ids)
                    masked[place] = lm.tokenizer.mask_token_id
                    for later in range(place + 1, len(ids)):
                        if variant == "within_word_l2r" and words[side][later] == words[side][place]:
                            masked[later] = lm.tokenizer.mask_token_id
                    totals[side] += log_probability(model, masked, place, ids[place])
    return (*totals, n)


def span(lm, model, ids, places, variant, words):
    """Log-probabilities of neighbouring tokens, seen as the variant has it; `words` numbers each token's word."""
    mask, first, last = lm.tokenizer.mask_token_id, places[0], places[-1]
    values = []
    for place in places:
        if variant == "all_masked":
            seen = [*ids[:first], *[mask] * len(places), *ids[last + 1 :]]
        elif variant in ("original", "within_word_l2r"):
            hidden = [k for k in range(place + 1, len(ids)) if words[k] == words[place] and variant != "original"]
            seen = [mask if k == place or k in hidden else token_id for k, token_id in enumerate(ids)]
        else:
            seen = [*ids[:place], mask, *ids[last + 1 :]]
        values.append(log_probability(model, seen, place, ids[place]))
    return values


def aul_aula(lm, model, text):
    ids, places = own_places(lm, text)
    output = logits(model, ids, output_attentions=True)
    attention = torch.stack([layer[0] for layer in output.attentions])  # layers, heads, queries, keys
    received = attention.mean(dim=(0, 1, 2))
    log_probabilities = output.logits[0].log_softmax(-1)
    values = [float(log_probabilities[place, ids[place]]) for place in places]
    weighted = [float(received[place]) * value for place, value in zip(places, values, strict=True)]
    return math.fsum(values) / len(values), math.fsum(weighted) / len(values)


def token_parts(lm, model, text):
    """What each token adds to PLL, AUL and AULA."""
    ids, places = own_places(lm, text)
    output = logits(model, ids, output_attentions=True)
    received = torch.stack([layer[0] for layer in output.attentions]).mean(dim=(0, 1, 2))
    unmasked = output.logits[0].log_softmax(-1)
    rows = []
    for place in places:
        masked = list(ids)
        masked[place] = lm.tokenizer.mask_token_id
        aul_part = float(unmasked[place, ids[place]]) / len(places)
        rows.append((log_probability(model, masked, place, ids[place]), aul_part, float(received[place]) * aul_part))
    return rows


def group_probability(lm, model, sentence, spellings):
    """Sum over the entries that spellings are as one token where the mask stands."""
    place_of_mask = sentence.index("[MASK]")
    found = {}
    for spelling in spellings:
        text = sentence.replace("[MASK]", spelling)
        filled = lm.tokenizer(text, return_offsets_mapping=True)
        for place, (start, end) in enumerate(filled["offset_mapping"]):
            is_word = end == place_of_mask + len(spelling) and text[start:end].strip() == spelling
            if is_word and filled["input_ids"][place] != lm.tokenizer.unk_token_id:
                masked = list(filled["input_ids"])
                token_id = masked[place]
                masked[place] = lm.tokenizer.mask_token_id
                found[token_id] = math.exp(log_probability(model, masked, place, token_id))
    return math.fsum(found.values()) if found else math.nan


def vector(lm, model, text):
    ids, places = own_places(lm, text)
    with torch.no_grad():
        states = model.base_model(input_ids=torch.tensor([ids]))[0][0]
    return states[list(places)].mean(0).numpy()


def mbe(male_scores, female_scores, male_vectors, female_vectors, weight="cosine", min_similarity=-math.inf):
    """Give MBE, the number of pairs compared and that of ties, pair by pair."""
    preferred, total, n_pairs, ties = [], [], 0, 0
    for male_score, m in zip(male_scores, np.asarray(male_vectors, dtype=np.float64), strict=True):
        for female_score, f in zip(female_scores, np.asarray(female_vectors, dtype=np.float64), strict=True):
            cosine = (m @ f) / math.sqrt((m @ m) * (f @ f))
            if cosine < min_similarity:
                continue
            n_pairs += 1
            ties += male_score == female_score
            total.append(cosine if weight == "cosine" else m @ f)
            preferred.append(total[-1] if male_score > female_score else 0.0)
    return 100 * math.fsum(preferred) / math.fsum(total), n_pairs, ties
