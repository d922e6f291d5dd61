"""Several models at hand: loaded when first asked for, released when memory runs short."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from biaslib._checks import check_choice
from biaslib.scoring.models import (
    DTYPES,
    HEADS,
    MaskedLM,
    ModelError,
    check_name,
    load_masked_lm,
    load_named,
    model_source,
    release_memory,
    resolve_device,
)


class OpenModels(Mapping):
    """Models by name, in the order given, each loaded when first asked for; see :func:`open_models`."""

    def __init__(self, given: Mapping[str, str | MaskedLM], device: str, dtype: str, head: str):
        self.device, self.dtype, self._head = device, dtype, head
        self._given = dict(given)
        self._loaded: dict[str, MaskedLM] = {}
        self._described: dict[str, dict] = {}
        self._files: dict[str, list] = {}
        self._sizes: dict[str, int] = {}
        self._limit = 0

    def __len__(self) -> int:
        return len(self._given)

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __getitem__(self, name: str) -> MaskedLM:
        given = self._given[name]
        if isinstance(given, MaskedLM):
            return given
        if name not in self._loaded:
            self._loaded[name] = self._load(given)
        return self._loaded[name]

    def __enter__(self) -> "OpenModels":
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def describe(self) -> list[dict]:
        """Say of each model what belongs in the record of a run; a model not yet loaded is loaded for it."""
        return [self._described.get(name) or self[name].describe() for name in self]

    def close(self) -> None:
        """Release all models; one that is asked for again is loaded again."""
        self._loaded.clear()
        release_memory()

    def _load(self, name: str) -> MaskedLM:
        self._limit = self._limit or _free_memory(resolve_device(self.device)) // 2
        # A model not yet seen is taken to be as large as the largest so far.
        self._release(until=self._limit - self._sizes.get(name, max(self._sizes.values(), default=0)))
        files, before = _file_times(name), self._described.get(name, {})
        lm = load_named(name, self.device, self.dtype, self._head, fingerprint=before.get("fingerprint", ""))
        if before and (files != self._files[name] or lm.describe() != before):
            raise ModelError(f"the model {name!r} has changed since the run began; start the run again")
        self._files[name], self._described[name] = files, lm.describe()
        self._sizes[name] = sum(tensor.nbytes for tensor in lm.model.state_dict().values())
        self._release(until=self._limit - self._sizes[name])
        return lm

    def _release(self, until: int) -> None:
        """Release the models loaded first until the others take no more than so many bytes."""
        while self._loaded and sum(map(self._sizes.get, self._loaded)) > until:
            del self._loaded[next(iter(self._loaded))]
            release_memory()


def open_models(names: Iterable, *, device: str = "auto", dtype: str = "float32", head: str = "keep") -> OpenModels:
    """Open several models for one run, which then loads each of them once.

    Parameters
    ----------
    names : iterable of str, Path, MaskedLM or (model, tokenizer)
        Each once, as :func:`load_masked_lm` takes it.
    device, dtype, head : str
        As for :func:`load_masked_lm`.

    Returns
    -------
    OpenModels
        A read-only mapping from name to :class:`MaskedLM`, in the order given, and a context manager. A model is
        loaded, and its weights hashed, when it is first asked for. Models are kept while together they take at most
        half of the memory that was free before the first was loaded; beyond that the one loaded first is released,
        and loaded again if it is asked for again. ``describe()`` returns one dict per model
        (:meth:`MaskedLM.describe`), ``close()`` releases all.

    Raises
    ------
    ModelError
        If no name is given, one is given twice, or one cannot be a model's. What else is wrong with a model is
        raised when it is loaded.

    Examples
    --------
    >>> with open_models(["demo"]) as opened:
    ...     opened["demo"].max_tokens, opened.describe()[0]["type"]
    (512, 'bert')
    """
    if isinstance(names, str):
        raise ModelError(f"models must be a list of names, not one string; write [{names!r}]")
    check_choice(dtype, "dtype", DTYPES, ModelError)
    check_choice(head, "head", HEADS, ModelError)
    given: dict[str, str | MaskedLM] = {}
    for name in names:
        key, model = _named(name, device)
        if key in given:
            raise ModelError(f"the model {key!r} is given twice; give each once")
        given[key] = model
    if not given:
        raise ModelError("no model is given; name at least one, such as 'demo'")
    return OpenModels(given, device, dtype, head)


def _named(name, device: str) -> tuple[str, str | MaskedLM]:
    """Tell a model that is loaded from a name, which is checked."""
    if isinstance(name, str | Path):
        check_name(name)
        return str(name), str(name)
    lm = load_masked_lm(name, device=device)
    return lm.name, lm


def _free_memory(device: str) -> int:
    """Return the bytes that are free where models are loaded."""
    import psutil
    import torch

    if torch.device(device).type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return psutil.virtual_memory().available


def _file_times(name: str) -> list:
    """List the files of a local model with their sizes and times; a model of the hub has a revision instead."""
    folder = Path(model_source(name))
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
