"""One forward of a model over a batch of sentences, its head at the places read alone where the model allows that."""

from collections.abc import Sequence
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

import numpy as np


class Request(NamedTuple):
    """One forward: ids, places to mask, and for each place read the entries whose probability is wanted."""

    ids: tuple[int, ...]
    masked: tuple[int, ...]
    read: tuple[int, ...]
    wanted: tuple[tuple[int, ...], ...]


class Batch(NamedTuple):
    """Padded ids and their mask, as tensors, and (row, place) of every position to read."""

    ids: object
    attention_mask: object
    rows: object
    places: object


def make_batch(lm, requests: Sequence[Request]) -> Batch:
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
    """Return the token id that pads the sentences of a batch."""
    candidates = (lm.tokenizer.pad_token_id, getattr(lm.model.config, "pad_token_id", None), 0)
    return next(candidate for candidate in candidates if candidate is not None)


@contextmanager
def inference_mode(lm):
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


def forward(lm, batch: Batch, gathers: str = "", **options):
    """Run the model on a batch; give its output and the logits at the places read, shape (places, |V|)."""
    with gathering(lm, batch, gathers) if gathers else nullcontext():
        output = lm.model(input_ids=batch.ids, attention_mask=batch.attention_mask, **options)
    return output, output.logits[:, 0] if gathers else output.logits[batch.rows, batch.places]


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
