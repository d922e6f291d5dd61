"""Settings of continued training, checked and with their defaults filled in."""

import numpy as np

from biaslib._checks import check_count, check_number
from biaslib.scoring.models import UNLIMITED_TOKENS
from biaslib.scoring.tokens import check_loaded
from biaslib.training._blocks import FEWEST_TOKENS

_BLOCK_SIZE = 512


def check_data_settings(lm, block_size, mask_probability, held_out, seed, whole_word_masking):
    """Check what decides the blocks and their masks."""
    check_loaded(lm)
    if not isinstance(whole_word_masking, bool | np.bool_):
        raise ValueError(f"whole_word_masking must be True or False, not {whole_word_masking!r}")
    return {
        "block_size": _block_size(lm, block_size),
        "mask_probability": check_number(mask_probability, "mask_probability", above=0, most=1),
        "held_out": check_number(held_out, "held_out", above=0, most=1),
        "seed": check_count(seed, "seed", least=0, most=2**32 - 1),
        "whole_word_masking": bool(whole_word_masking),
    }


def check_training_settings(epochs, learning_rate, weight_decay, batch_size):
    """Check what decides the steps of a training."""
    return {
        "epochs": check_count(epochs, "epochs"),
        "learning_rate": check_number(learning_rate, "learning_rate", above=0),
        "weight_decay": check_number(weight_decay, "weight_decay", least=0),
        "batch_size": check_count(batch_size, "batch_size"),
    }


def _block_size(lm, block_size):
    if block_size is None:
        return min(_BLOCK_SIZE, lm.max_tokens)
    size = check_count(block_size, "block_size", least=FEWEST_TOKENS)
    if size > lm.max_tokens:
        limit = "" if lm.max_tokens >= UNLIMITED_TOKENS else f", {lm.max_tokens} tokens"
        raise ValueError(f"block_size is {block_size}, over the limit of {lm.name!r}{limit}; choose a smaller one")
    return size
