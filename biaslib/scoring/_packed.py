"""Linear layers whose weights oneDNN holds packed, for the time of a run on a CPU.

A plain `torch.nn.Linear` rearranges its weights at every call. Packed once, the same products took a fifth to a
third less time where it was measured, at the price of a second copy of the weights while the run lasts.
"""

from contextlib import contextmanager

# Below this many tokens in a run, packing costs more than it saves.
WORTH_PACKING = 2_048


@contextmanager
def packed_linear_layers(lm, n_tokens: int, rows: int):
    """Run a model's linear layers on packed weights.

    Nothing is changed where it does not help or is not possible: on an accelerator, at another precision than
    float32, for few tokens, or where this build of PyTorch has no oneDNN. The layer that yields the logits is left
    as it is, since a second copy of a large vocabulary would cost more memory than it saves time.

    Parameters
    ----------
    lm : MaskedLM
    n_tokens : int
        Tokens in the whole run, padding left out.
    rows : int
        Tokens in a batch, for which the weights are laid out; others are computed too.

    Yields
    ------
    int
        Layers packed.
    """
    layers = _layers_to_pack(lm) if n_tokens >= WORTH_PACKING and _can_pack(lm) else []
    try:
        for layer in layers:
            layer.forward = _packed_forward(layer, rows)
        yield len(layers)
    finally:
        for layer in layers:
            layer.__dict__.pop("forward", None)


def _can_pack(lm) -> bool:
    import torch

    wanted = ("_linear_pointwise", "_reorder_linear_weight")
    return (
        lm.device == "cpu"
        and lm.dtype == "float32"
        and torch.backends.mkldnn.is_available()
        and all(hasattr(torch.ops.mkldnn, name) for name in wanted)
    )


def _layers_to_pack(lm) -> list:
    """List plain linear layers; one that something else has already taken over keeps its own way."""
    import torch

    output = lm.model.get_output_embeddings()
    return [
        module
        for module in lm.model.modules()
        if type(module) is torch.nn.Linear
        and module is not output
        and module.weight.dtype == torch.float32
        and "forward" not in vars(module)
        and not torch.nn.utils.parametrize.is_parametrized(module)
    ]


def _packed_forward(layer, rows: int):
    import torch

    weight, bias = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), rows), layer.bias
    product = torch.ops.mkldnn._linear_pointwise
    return lambda states: product(states, weight, bias, "none", [], "")
