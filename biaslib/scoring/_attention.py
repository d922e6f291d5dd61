"""The attention that each token receives, and the last layer's states, listened to while a model runs."""

from collections.abc import Sequence
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from biaslib.scoring._engine import Collector
from biaslib.scoring._forward import Batch, Request, inference_mode
from biaslib.scoring.models import probe, traits_of

_attention_sources: WeakKeyDictionary = WeakKeyDictionary()


class ReceivedAttention(Collector):
    """The attention that each token receives, averaged over layers, heads and real queries."""

    def __init__(self, unique: Sequence[Request], reported: bool):
        super().__init__(unique)
        self.options = {"output_attentions": True} if reported else {}

    def start(self, batch: Batch) -> None:
        self.query = batch.attention_mask.float()
        self.total, self.layers = 0, 0

    def add(self, weights) -> None:
        """Add a layer's weights, (batch, heads, queries, keys), which can then be freed."""
        received = (weights.float().mean(1) * self.query[:, :, None]).sum(1)
        self.total = self.total + received / self.query.sum(1, keepdim=True)
        self.layers += 1

    def see(self, output) -> None:
        for weights in output["attentions"] if self.options else ():
            self.add(weights)

    def keep(self, numbers: Sequence[int], logits) -> None:
        for row, number in enumerate(numbers):
            length = len(self.unique[number].ids)
            self.found[number] = (self.total[row, :length] / self.layers).cpu().numpy()


@contextmanager
def received_attention(lm, unique: Sequence[Request]):
    """Listen to a model's attention, in eager mode; None where it shows no attention weights."""
    traits_of(lm)  # before anyone listens: its own forwards are no sentence's
    before = lm.model.config._attn_implementation
    handles = []
    try:
        if before != "eager":
            lm.model.set_attn_implementation("eager")
        source = _attention_source(lm)
        received = ReceivedAttention(unique, reported=source == "reported") if source else None
        handles = [
            module.register_forward_hook(lambda module, inputs, output: received.add(_weights_in(output)))
            for module in (source if isinstance(source, list) else ())
        ]
        yield received
    finally:
        for handle in handles:
            handle.remove()
        if lm.model.config._attn_implementation != before:
            lm.model.set_attn_implementation(before)


def _weights_in(output):
    """Find attention weights among what a module returned."""
    parts = output if isinstance(output, tuple) else ()
    return next((part for part in parts if _is_attention(part)), None)


def _is_attention(part) -> bool:
    """Whether this is a square of weights for each sentence and head: (batch, heads, queries, keys)."""
    import torch

    return torch.is_tensor(part) and part.ndim == 4 and part.shape[-1] == part.shape[-2]


def _attention_source(lm):
    """Tell where attention weights are read: at modules, layer by layer; as reported, all at once; or nowhere."""
    if lm.model not in _attention_sources:
        with inference_mode(lm):
            _attention_sources[lm.model] = _find_attention(lm)
    return _attention_sources[lm.model]


def _find_attention(lm):
    batch = probe(lm, 7)
    calls, output = _listened(lm, batch, output_attentions=True)
    reported = output.get("attentions") or ()
    if not reported or not all(map(_is_attention, reported)):
        return None
    # The innermost module that returned the very tensor that is reported comes first; a shared one counts once.
    owners = {seen.data_ptr(): module for module, seen in reversed(calls) if seen is not None}
    modules = list(dict.fromkeys(owners.get(weights.data_ptr()) for weights in reported))
    if None in modules:
        return "reported"
    calls, _ = _listened(lm, batch)
    heard = [seen for module, seen in calls if module in modules]
    return modules if len(heard) == len(reported) and all(seen is not None for seen in heard) else "reported"


def _listened(lm, batch: Batch, **options):
    """Run a batch and list, in order, each module with the attention weights that it returned."""
    calls = []
    handles = [
        module.register_forward_hook(lambda module, inputs, output: calls.append((module, _weights_in(output))))
        for module in lm.model.modules()
    ]
    try:
        output = lm.model(input_ids=batch.ids, attention_mask=batch.attention_mask, **options)
    finally:
        for handle in handles:
            handle.remove()
    return calls, output


class LastStates(Collector):
    """The mean of the last layer's states over the places read."""

    reads_states = True

    def listen(self, module, inputs, output) -> None:
        self.states = output[0]

    def keep(self, numbers: Sequence[int], logits) -> None:
        for row, number in enumerate(numbers):
            read = self.unique[number].read
            self.found[number] = self.states[row, read[0] : read[-1] + 1].float().mean(0).cpu().numpy()


@contextmanager
def last_states(lm, unique: Sequence[Request]):
    """Listen to the encoder's output, before it is cut down to the places read."""
    states = LastStates(unique)
    handle = lm.model.base_model.register_forward_hook(states.listen)
    try:
        yield states
    finally:
        handle.remove()
