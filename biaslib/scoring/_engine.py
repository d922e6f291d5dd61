"""Requests for probabilities, merged, sorted and answered in batches of forwards."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from biaslib._checks import check_count
from biaslib.scoring._forward import Batch, Request, forward, inference_mode, make_batch
from biaslib.scoring._packed import packed_linear_layers
from biaslib.scoring.models import traits_of

BATCH_TOKENS = {"cpu": 1_024, "mps": 8_192, "cuda": 32_768}
LOGITS_AT_ONCE = 2**25


def log_probabilities(lm, requests: Sequence[Request], batch_tokens, progress) -> list[list[np.ndarray]]:
    """Answer requests in their order: for each place read, the log-probabilities of the entries wanted."""
    unique, index = deduplicate(lm, requests)
    scored = LogProbabilities(unique)
    forward_all(lm, unique, [scored], batch_tokens=batch_tokens, progress=progress)
    return [[scored.found[number][spot][columns] for spot, columns in enumerate(chosen)] for number, chosen in index]


class Collector(ABC):
    """What is read out of each batch: one subclass per kind, with an answer in `found` for each request."""

    # Further arguments of the model's forward, and whether the last layer has to give the states of all places.
    options: Mapping = MappingProxyType({})
    reads_states = False

    def __init__(self, unique: Sequence[Request]):
        self.unique = unique
        self.found: list = [None] * len(unique)

    def start(self, batch: Batch) -> None:  # noqa: B027
        """Prepare for a batch that is about to run."""

    def see(self, output) -> None:  # noqa: B027
        """Take what is wanted of the model's output, which is freed then."""

    @abstractmethod
    def keep(self, numbers: Sequence[int], logits) -> None:
        """Answer the requests of a batch; `logits` are those at the places read, in float32."""


class LogProbabilities(Collector):
    """At each place read, the log-probabilities of the entries wanted."""

    def keep(self, numbers: Sequence[int], logits) -> None:
        values = iter(_wanted_log_probabilities(logits, [spot for n in numbers for spot in self.unique[n].wanted]))
        for number in numbers:
            self.found[number] = [next(values) for _ in self.unique[number].read]


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


def forward_all(lm, unique, collectors: Sequence[Collector], *, batch_tokens, progress) -> None:
    """Run the model over all requests, and hand each collector what it gives."""
    gathers = traits_of(lm).gathers
    if gathers and any(collector.reads_states for collector in collectors):
        gathers = "encoder"  # the last layer has to give the states of all places
    options = {name: value for collector in collectors for name, value in collector.options.items()}

    def score(batch, numbers):
        for collector in collectors:
            collector.start(batch)
        output, logits = forward(lm, batch, gathers, **options)
        for collector in collectors:
            collector.see(output)
        del output
        logits = logits.float()
        for collector in collectors:
            collector.keep(numbers, logits)

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
        score(make_batch(lm, [unique[n] for n in numbers]), numbers)
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
    if batch_tokens is None:
        return BATCH_TOKENS[lm.device.partition(":")[0]]
    return check_count(batch_tokens, "batch_tokens")


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
