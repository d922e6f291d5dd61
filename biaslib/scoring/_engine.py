"""Requests for probabilities, merged, sorted and answered in batches of forwards."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from biaslib._text import MASK
from biaslib.scoring._packed import packed_linear_layers
from biaslib.scoring.tokens import Encoded

BATCH_TOKENS = {"cpu": 1_024, "mps": 8_192, "cuda": 32_768}
LOGITS_AT_ONCE = 2**25
NOT_FINITE = "the model's output is not a finite number"
_traits: WeakKeyDictionary = WeakKeyDictionary()


class Request(NamedTuple):
    """One forward: ids, places to mask, and for each place read the entries whose probability is wanted."""

    ids: tuple[int, ...]
    masked: tuple[int, ...]
    read: tuple[int, ...]
    wanted: tuple[tuple[int, ...], ...]


class Traits(NamedTuple):
    """What a model allows: its head run at single places (gathered where), sentences of several lengths in a batch."""

    gathers: str
    pads: bool


class Batch(NamedTuple):
    """Padded ids and their mask, as tensors, and (row, place) of every position to read."""

    ids: object
    attention_mask: object
    rows: object
    places: object


def reason_not_scored(lm, item: Encoded, *, unmasked: bool = False) -> str:
    """Say why a sentence cannot be scored; "" if it can."""
    own = item.ids[item.first : item.last]
    if len(item.ids) > lm.max_tokens:
        return f"too long: {len(item.ids)} tokens, the model holds {lm.max_tokens}"
    if not own:
        return "empty"
    if unmasked and lm.tokenizer.mask_token_id in own:
        return f"{MASK} in a sentence to be scored whole"
    written = [token_id for token_id in own if token_id != lm.tokenizer.mask_token_id]
    if written and all(token_id == lm.tokenizer.unk_token_id for token_id in written):
        return "only unknown tokens"
    return ""


def count_reasons(reasons: pd.Series) -> str:
    """Say how often each kind of reason stands there ("2 too long, 1 empty"); "" for none."""
    kinds = reasons.str.partition(":")[0] if len(reasons) else reasons
    return ", ".join(f"{count} {kind}" for kind, count in kinds.value_counts().items())


def log_probabilities(lm, requests: Sequence[Request], batch_tokens, progress) -> list[list[np.ndarray]]:
    """Answer requests in their order: for each place read, the log-probabilities of the entries wanted."""
    unique, index = deduplicate(lm, requests)
    scored = log_probabilities_of_different(lm, unique, batch_tokens, progress)
    return [[scored[number][spot][columns] for spot, columns in enumerate(chosen)] for number, chosen in index]


def log_probabilities_of_different(
    lm, unique, batch_tokens, progress, *, received=None, attention=None, states=None, means=None
):
    """Answer different requests; with `received` and `states`, also keep attention received and mean last states."""
    answers: list = [None] * len(unique)

    def keep(numbers, logits):
        spots = [entries for number in numbers for entries in unique[number].wanted]
        values = _wanted_log_probabilities(logits, spots)
        start = 0
        for row, number in enumerate(numbers):
            stop = start + len(unique[number].read)
            answers[number] = values[start:stop]
            start = stop
            if received is not None:
                attention[number] = received.mean_row(row, len(unique[number].ids))
            if states is not None:
                means[number] = states.mean_row(row, unique[number].read)

    options = {"batch_tokens": batch_tokens, "progress": progress, "received": received}
    forward_all(lm, unique, keep, whole_states=states is not None, **options)
    return answers


def _wanted_log_probabilities(logits, spots: Sequence[Sequence[int]]) -> list[np.ndarray]:
    """Log-softmax of the entries wanted in each row, the whole vocabulary in the denominator."""
    import torch

    width = max(map(len, spots))
    wanted = torch.tensor([[*entries, *[0] * (width - len(entries))] for entries in spots], device=logits.device)
    step = max(1, LOGITS_AT_ONCE // (4 * logits.shape[-1]))
    total = torch.cat([part.logsumexp(-1, keepdim=True) for part in logits.split(step)])
    values = (logits.gather(-1, wanted) - total).cpu().numpy()
    return [row[: len(entries)] for row, entries in zip(values, spots, strict=True)]


def deduplicate(lm, requests: Sequence[Request]) -> tuple[list[Request], list[tuple[int, list[list[int]]]]]:
    """Merge requests for the same forward; tell for each its number and the columns of its entries."""
    numbers: dict[tuple, int] = {}
    unique: list[Request] = []
    columns: list[list[dict[int, int]]] = []
    index = []
    for request in requests:
        ids = np.array(request.ids, dtype=np.int32)
        ids[list(request.masked)] = lm.tokenizer.mask_token_id
        number = numbers.setdefault((ids.tobytes(), request.read), len(unique))
        if number == len(unique):
            unique.append(request)
            columns.append([{} for _ in request.wanted])
        index.append(
            (
                number,
                [
                    [known.setdefault(entry, len(known)) for entry in entries]
                    for known, entries in zip(columns[number], request.wanted, strict=True)
                ],
            )
        )
    merged = [
        request._replace(wanted=tuple(tuple(known) for known in of_request))
        for request, of_request in zip(unique, columns, strict=True)
    ]
    return merged, index


def invert(index, n: int) -> list[list[int]]:
    """List for each different request the callers' rows that it answers."""
    rows_of: list[list[int]] = [[] for _ in range(n)]
    for row, (number, _) in enumerate(index):
        rows_of[number].append(row)
    return rows_of


def forward_all(lm, unique, keep: Callable, *, batch_tokens, progress, received=None, whole_states=False) -> None:
    """Run the model over all requests and hand `keep` the float32 logits at the places read."""
    gathers = traits_of(lm).gathers
    if gathers and whole_states:
        gathers = "encoder"  # the last layer has to give the states of all places

    def score(batch, numbers):
        if received is not None:
            received.start(batch.attention_mask)
        keep(numbers, _logits_at(lm, batch, gathers, received).float())

    with inference_mode(lm):
        logits = "read" if gathers else "all"
        run_batches(lm, unique, score, batch_tokens=batch_tokens, progress=progress, logits=logits)


def run_batches(lm, unique, score: Callable, *, batch_tokens, progress, logits) -> None:
    """Feed `score` batch by batch, longest first; halve a batch that the accelerator has no memory for."""
    from tqdm import tqdm

    limit = _batch_limit(lm, batch_tokens)
    n_tokens = sum(len(request.ids) for request in unique)
    with (
        packed_linear_layers(lm, n_tokens, limit),
        tqdm(total=len(unique), disable=not progress, desc=lm.name, unit="forward") as bar,
    ):
        for numbers in _batches(lm, unique, limit, logits):
            _score_halving(lm, unique, numbers, score)
            bar.update(len(numbers))


def _score_halving(lm, unique, numbers: list[int], score: Callable) -> None:
    import torch

    try:
        score(_batch(lm, [unique[n] for n in numbers]), numbers)
        return
    except torch.OutOfMemoryError:
        if len(numbers) == 1:
            raise
    # Outside the handler: the caught error would keep the failed batch's tensors alive.
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    half = len(numbers) // 2
    _score_halving(lm, unique, numbers[:half], score)
    _score_halving(lm, unique, numbers[half:], score)


def _batch_limit(lm, batch_tokens: int | None) -> int:
    limit = BATCH_TOKENS[lm.device.partition(":")[0]] if batch_tokens is None else batch_tokens
    if limit < 1:
        raise ValueError(f"batch_tokens is {batch_tokens}: take a positive number of tokens")
    return limit


def _batches(lm, unique, limit: int, logits) -> Iterator[list[int]]:
    """Pack requests, longest first, by padded tokens and by the logits that they need."""
    rows_at_once = max(1, LOGITS_AT_ONCE // lm.vocabulary_size)
    pads = traits_of(lm).pads
    batch: list[int] = []
    width = read = 0
    for number in sorted(range(len(unique)), key=lambda n: (-len(unique[n].ids), n)):
        request = unique[number]
        more = {"read": len(request.read), "all": len(request.ids)}.get(logits, 0)
        other_length = not pads and len(request.ids) != width
        if batch and (other_length or (len(batch) + 1) * width > limit or read + more > rows_at_once):
            yield batch
            batch, read = [], 0
        width = width if batch else len(request.ids)
        batch.append(number)
        read += more
    if batch:
        yield batch


def _batch(lm, requests: Sequence[Request]) -> Batch:
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


def _logits_at(lm, batch: Batch, gathers: str, received=None):
    """Return logits at the places read, shape (places, |V|)."""
    options = {"output_attentions": True} if received is not None and received.reported else {}
    with gathering(lm, batch, gathers) if gathers else nullcontext():
        output = lm.model(input_ids=batch.ids, attention_mask=batch.attention_mask, **options)
    for weights in output["attentions"] if options else ():
        received.add(weights)
    return output.logits[:, 0] if gathers else output.logits[batch.rows, batch.places]


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


def traits_of(lm) -> Traits:
    """Find out once, on small batches, what a model allows; one that allows nothing is only slower."""
    if lm.model not in _traits:
        with inference_mode(lm):
            _traits[lm.model] = Traits(_gathers(lm), _pads(lm))
    return _traits[lm.model]


def probe(lm, *lengths: int) -> Batch:
    """Make a batch of some of the vocabulary's entries, the second place of each row to be read."""
    padding = pad_id(lm)
    entries = [i for i in range(lm.model.get_input_embeddings().weight.shape[0]) if i != padding]
    rows = [
        tuple(entries[(7 * place + n) % len(entries)] for place in range(length)) for n, length in enumerate(lengths)
    ]
    return _batch(lm, [Request(row, (), (1,), ()) for row in rows])


def _alike(lm, one, other) -> bool:
    import torch

    tolerance = 1e-4 if lm.dtype in ("float32", "float64") else 5e-2
    return one.shape == other.shape and torch.allclose(one, other, rtol=tolerance, atol=tolerance)


def _gathers(lm) -> str:
    """Tell how early single places give the same as whole sentences: "last attention", "encoder", or "" (nowhere)."""
    if lm.model.base_model is lm.model:
        return ""
    batch = probe(lm, 5, 3)
    full = _logits_at(lm, batch, gathers="")
    found = ""
    for where in ("encoder", "last attention"):
        try:
            if not _alike(lm, full, _logits_at(lm, batch, gathers=where)):
                break
        except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
            break
        found = where
    return found


def _pads(lm) -> bool:
    """Whether a sentence scores the same beside a longer one; not so where padding takes part (FNet)."""
    alone = _logits_at(lm, probe(lm, 4), gathers="")
    return _alike(lm, alone, _logits_at(lm, probe(lm, 4, 11), gathers="")[:1])
