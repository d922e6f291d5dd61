"""Texts cut into blocks of tokens, some of which are hidden."""

import math
from typing import NamedTuple

import numpy as np

from biaslib.scoring.models import UNLIMITED_TOKENS

BLOCK_SIZE = 512
# What transformers leaves out of a loss.
NOT_ASKED = -100
# A last block with fewer tokens is left out: there is hardly anything to see in it.
_FEWEST_TOKENS = 8
_TEXTS_AT_ONCE = 1_000
# Numbers that keep apart what is drawn by one seed.
_SPLIT, ORDER, TRAINED, _HELD_OUT = range(4)


class Blocks(NamedTuple):
    """Token ids of texts put one after the other, each with its special tokens, to be cut into blocks of one size.

    `documents` numbers the text of each token; `words`, its word (-1: a special token), if whole words are masked.
    """

    ids: np.ndarray
    documents: np.ndarray
    words: np.ndarray | None
    size: int

    def __len__(self):
        return math.ceil(len(self.ids) / self.size)

    def span(self, number: int) -> slice:
        """The tokens of a block."""
        return slice(number * self.size, (number + 1) * self.size)


class Masking(NamedTuple):
    """How tokens are hidden: which can be, how many, and by what they are replaced."""

    probability: float
    seed: int
    mask_id: int
    never: np.ndarray
    n_entries: int


def at_least_one(value, name):
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} is {value!r}: take a whole number from 1 up")
    return int(value)


def check_range(value, name, *, above=None):
    limit = "from 0 up" if above is None else f"above {above}"
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0 or (above is not None and value <= above):
        raise ValueError(f"{name} is {value!r}: take a number {limit}")
    return float(value)


def check_data_settings(lm, block_size, mask_probability, held_out, seed, whole_word_masking):
    """Check what decides the blocks and their masks."""
    if not hasattr(lm, "tokenizer"):
        raise TypeError(f"{lm!r} is no loaded model: give load_masked_lm({lm!r})")
    for name, share in (("mask_probability", mask_probability), ("held_out", held_out)):
        if check_range(share, name, above=0) > 1:
            raise ValueError(f"{name} is {share!r}: take a share above 0, at most 1")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**32:
        raise ValueError(f"seed is {seed!r}: take a whole number from 0 to 4294967295")
    if not isinstance(whole_word_masking, bool | np.bool_):
        raise ValueError(f"whole_word_masking is {whole_word_masking!r}: take True or False")
    return {
        "block_size": _block_size(lm, block_size),
        "mask_probability": float(mask_probability),
        "held_out": float(held_out),
        "seed": int(seed),
        "whole_word_masking": bool(whole_word_masking),
    }


def _block_size(lm, block_size):
    if block_size is None:
        return min(BLOCK_SIZE, lm.max_tokens)
    if at_least_one(block_size, "block_size") < _FEWEST_TOKENS:
        raise ValueError(f"block_size is {block_size}: take at least {_FEWEST_TOKENS} tokens")
    if block_size > lm.max_tokens:
        limit = "" if lm.max_tokens >= UNLIMITED_TOKENS else f", {lm.max_tokens} tokens"
        raise ValueError(f"block_size is {block_size}, over the limit of {lm.name!r}{limit}: take at most that")
    return int(block_size)


def prepare_blocks(lm, documents, settings):
    """Split documents, then make blocks of either part; count what went where."""
    kept = [text for text in documents if text]
    if settings["whole_word_masking"]:
        _check_words(lm)
    train, test = _split(kept, settings["held_out"], settings["seed"])
    counts = {
        "n_documents": len(kept),
        "n_empty": len(documents) - len(kept),
        "n_duplicates": len(kept) - len(set(kept)),
    }
    parts = []
    for name, texts in (("train", train), ("held_out", test)):
        blocks, left_out = _blocks(lm, texts, settings["block_size"], settings["whole_word_masking"])
        counts[name] = {
            "n_documents": len(texts),
            "n_tokens": len(blocks.ids),
            "n_blocks": len(blocks),
            "n_tokens_left_out": left_out,
        }
        parts.append(blocks)
    _check_enough(lm, parts, settings, counts)
    return *parts, counts


def _split(documents, held_out, seed):
    """Hold out a share of the different documents, all copies of each."""
    different = list(dict.fromkeys(documents))
    if held_out == 1:
        return [], documents
    if len(different) < 2:
        found = f"{len(different)} different documents" if different else "no text"
        raise ValueError(f"the texts hold {found}: give at least 2, one to train on and one to hold out")
    n = min(max(1, round(held_out * len(different))), len(different) - 1)
    order = np.random.default_rng((seed, _SPLIT)).permutation(len(different))
    chosen = {different[number] for number in order[:n]}
    return [text for text in documents if text not in chosen], [text for text in documents if text in chosen]


def _check_enough(lm, parts, settings, counts):
    """Refuse texts that leave nothing to train on or to ask."""
    train, test = parts
    masking = make_masking(lm, settings)
    asked = sum(held_out_block(test, masking, number)[1].size for number in range(len(test)))
    if not asked:
        n, tokens = (counts["held_out"][name] for name in ("n_documents", "n_tokens"))
        raise ValueError(
            f"too little text: not one token is hidden in what is held out ({n} documents, {tokens} tokens): "
            "give more texts, or a larger held_out or mask_probability"
        )
    if settings["held_out"] < 1 and np.isin(train.ids, masking.never).all():
        raise ValueError(f"too little text: {lm.name!r} knows no token of the {counts['train']['n_documents']} texts")


def _check_words(lm):
    """Refuse a tokenizer that does not tell which pieces form a word."""
    if lm.tokenizer.is_fast:
        words = lm.tokenizer("one or two", add_special_tokens=False).word_ids()
        if len(set(words)) > 1:
            return
    raise ValueError(
        f"the tokenizer of {lm.name!r} does not tell which pieces form a word: use whole_word_masking=False"
    )


def _blocks(lm, texts, size, whole_words):
    """Put the ids of texts one after the other; drop the few of a last block that would be too short."""
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
    ids, documents, words = (
        np.concatenate(part) if part else np.zeros(0, dtype=np.int32) for part in (ids, documents, words)
    )
    rest = len(ids) % size
    left_out = rest if rest < _FEWEST_TOKENS and len(ids) > size else 0
    end = len(ids) - left_out
    return Blocks(ids[:end], documents[:end], words[:end] if whole_words else None, size), left_out


def make_masking(lm, settings):
    return Masking(
        settings["mask_probability"],
        settings["seed"],
        lm.tokenizer.mask_token_id,
        np.array(lm.tokenizer.all_special_ids),
        len(lm.tokenizer),
    )


def mask_block(blocks, masking, number, rng):
    """Hide tokens of a block: its ids as the model sees them, and the places to ask for."""
    span = blocks.span(number)
    ids = blocks.ids[span].astype(np.int64)
    if blocks.words is None:
        chosen = rng.random(len(ids)) < masking.probability
    else:
        words, place = np.unique(blocks.words[span], return_inverse=True)
        chosen = (rng.random(len(words)) < masking.probability)[place]
    chosen &= ~np.isin(ids, masking.never)
    lot, entries = rng.random(len(ids)), rng.integers(masking.n_entries, size=len(ids))
    seen = np.where(chosen & (lot < 0.8), masking.mask_id, ids)
    return np.where(chosen & (lot >= 0.9), entries, seen), np.flatnonzero(chosen)


def held_out_block(blocks, masking, number):
    return mask_block(blocks, masking, number, np.random.default_rng((masking.seed, _HELD_OUT, number)))


def collated(items, padding):
    """Make a batch of blocks, of which the last one of a text is shorter."""
    import torch

    width = max(len(seen) for seen, _ in items)
    batch = {
        "input_ids": np.full((len(items), width), padding),
        "attention_mask": np.zeros((len(items), width), dtype=np.int64),
        "labels": np.full((len(items), width), NOT_ASKED),
    }
    for row, (seen, labels) in enumerate(items):
        batch["input_ids"][row, : len(seen)] = seen
        batch["attention_mask"][row, : len(seen)] = 1
        batch["labels"][row, : len(seen)] = labels
    return {name: torch.as_tensor(values) for name, values in batch.items()}
