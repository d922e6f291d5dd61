"""Tokens hidden in a block, as BERT's training hides them, and batches of such blocks."""

from typing import NamedTuple

import numpy as np

# The label that transformers leaves out of a loss.
NOT_ASKED = -100
# First numbers of the seeds, so that no two uses of one seed draw the same.
SPLIT, ORDER, TRAINED, _HELD_OUT = range(4)


class Masking(NamedTuple):
    """How tokens are hidden: with which probability, which never, and what replaces them."""

    probability: float
    seed: int
    mask_id: int
    never: np.ndarray
    n_entries: int


def make_masking(lm, settings):
    tokenizer = lm.tokenizer
    return Masking(
        probability=settings["mask_probability"],
        seed=settings["seed"],
        mask_id=tokenizer.mask_token_id,
        never=np.array(tokenizer.all_special_ids),
        n_entries=len(tokenizer),
    )


def mask_block(blocks, masking, number, rng):
    """Hide tokens of a block; return its ids as the model sees them, and the positions to predict."""
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
    """Hide the same tokens of a block at every call."""
    return mask_block(blocks, masking, number, np.random.default_rng((masking.seed, _HELD_OUT, number)))


class TrainingBlocks:
    """The blocks to train on, as a data set and its sampler: order and masks depend on seed, epoch and block alone."""

    def __init__(self, blocks, masking):
        self.blocks, self.masking, self.epoch = blocks, masking, 0

    def __len__(self):
        return len(self.blocks)

    def __iter__(self):
        order = np.random.default_rng((self.masking.seed, ORDER, self.epoch)).permutation(len(self.blocks))
        return iter([(self.epoch, int(number)) for number in order])

    def __getitem__(self, key):
        epoch, number = key
        rng = np.random.default_rng((self.masking.seed, TRAINED, epoch, number))
        seen, places = mask_block(self.blocks, self.masking, number, rng)
        labels = np.full(len(seen), NOT_ASKED)
        labels[places] = self.blocks.ids[self.blocks.span(number)][places]
        return seen, labels


def collate(items, padding):
    """Pad blocks to the longest of a batch."""
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
