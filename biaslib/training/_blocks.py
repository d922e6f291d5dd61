"""Documents split into those trained on and those held out, and cut into blocks of tokens."""

import math
from typing import NamedTuple

import numpy as np

from biaslib.training._masking import SPLIT, held_out_block, make_masking

# A shorter last block is left out: the model would see hardly any context in it.
FEWEST_TOKENS = 8
_TEXTS_AT_ONCE = 1_000


class Blocks(NamedTuple):
    """Token ids of documents, one after the other with their special tokens, to be read in blocks of one size.

    `documents` numbers the document of each token; `words` its word (-1: a special token) for whole-word masking.
    """

    ids: np.ndarray
    documents: np.ndarray
    words: np.ndarray | None
    size: int

    def __len__(self):
        return math.ceil(len(self.ids) / self.size)

    def span(self, number):
        return slice(number * self.size, (number + 1) * self.size)


def prepare_blocks(lm, documents, settings):
    """Return the blocks to train on, those held out, and how many documents and tokens went where."""
    kept = [text for text in documents if text]
    if settings["whole_word_masking"]:
        _check_words(lm)
    train, held_out = split_documents(kept, settings["held_out"], settings["seed"])
    counts = {
        "n_documents": len(kept),
        "n_empty": len(documents) - len(kept),
        "n_duplicates": len(kept) - len(set(kept)),
    }
    parts = []
    for name, texts in (("train", train), ("held_out", held_out)):
        blocks, left_out = cut_blocks(lm, texts, settings["block_size"], settings["whole_word_masking"])
        counts[name] = {
            "n_documents": len(texts),
            "n_tokens": len(blocks.ids),
            "n_blocks": len(blocks),
            "n_tokens_left_out": left_out,
        }
        parts.append(blocks)
    _check_enough(lm, *parts, settings, counts)
    return *parts, counts


def split_documents(documents, held_out, seed):
    """Hold out a share of the distinct documents; copies of a document stay together."""
    distinct = list(dict.fromkeys(documents))
    if held_out == 1:
        return [], documents
    if len(distinct) < 2:
        found = f"{len(distinct)} distinct documents" if distinct else "no text"
        raise ValueError(f"the texts hold {found}; give at least 2, one to train on and one to hold out")
    n = min(max(1, round(held_out * len(distinct))), len(distinct) - 1)
    order = np.random.default_rng((seed, SPLIT)).permutation(len(distinct))
    chosen = {distinct[number] for number in order[:n]}
    return [text for text in documents if text not in chosen], [text for text in documents if text in chosen]


def cut_blocks(lm, texts, size, whole_words):
    """Encode texts one after the other; return their blocks and how many tokens of a short last block are left out."""
    ids, documents, words = [], [], []
    n_words = 0
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        some = texts[start : start + _TEXTS_AT_ONCE]
        encoded = lm.tokenizer(some, truncation=False, padding=False, verbose=False)
        for number, row in enumerate(encoded["input_ids"]):
            ids.append(np.array(row, dtype=np.int32))
            documents.append(np.full(len(row), start + number, dtype=np.int32))
            if whole_words:
                own = np.array([-1 if word is None else word for word in encoded.word_ids(number)], dtype=np.int64)
                words.append(np.where(own < 0, -1, own + n_words))
                n_words += int(own.max(initial=-1)) + 1
    ids, documents, words = map(_concatenated, (ids, documents, words))
    rest = len(ids) % size
    left_out = rest if rest < FEWEST_TOKENS and len(ids) > size else 0
    end = len(ids) - left_out
    return Blocks(ids[:end], documents[:end], words[:end] if whole_words else None, size), left_out


def _concatenated(arrays):
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int32)


def _check_enough(lm, train, held_out, settings, counts):
    """Refuse texts that leave nothing to train on or to predict."""
    masking = make_masking(lm, settings)
    n_hidden = sum(held_out_block(held_out, masking, number)[1].size for number in range(len(held_out)))
    if not n_hidden:
        n, tokens = (counts["held_out"][name] for name in ("n_documents", "n_tokens"))
        raise ValueError(
            f"too little text: no token is masked in the held-out part ({n} documents, {tokens} tokens); "
            "give more texts, or increase held_out or mask_probability"
        )
    if settings["held_out"] < 1 and np.isin(train.ids, masking.never).all():
        n = counts["train"]["n_documents"]
        raise ValueError(f"too little text: {lm.name!r} knows no token of the {n} documents to train on")


def _check_words(lm):
    """Refuse a tokenizer that does not report which tokens form a word."""
    words = lm.tokenizer("one or two", add_special_tokens=False).word_ids() if lm.tokenizer.is_fast else []
    if len(set(words)) < 2:
        raise ValueError(
            f"the tokenizer of {lm.name!r} does not report which tokens form a word; use whole_word_masking=False"
        )
