"""Load a masked language model: by name, from a folder, or already in memory."""

import difflib
import gc
import hashlib
import json
import re
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from biaslib._checks import check_choice
from biaslib._files import DATA
from biaslib._text import one_line
from biaslib.scoring._forward import Batch, Request, forward, inference_mode, make_batch, pad_id

DEMO_FOLDER = DATA / "demo_mlm"
_NOT_OF_THE_MODEL = ("_name_or_path", "transformers_version", "dtype", "torch_dtype", "architectures")
DTYPES = ("float32", "float16", "bfloat16", "float64")
UNLIMITED_TOKENS = 1_000_000
HEADS = ("keep", "new")
_traits: WeakKeyDictionary = WeakKeyDictionary()


class ModelError(ValueError):
    """A model that cannot be loaded or cannot be measured; the message says why and what to do."""


@dataclass(frozen=True, eq=False)
class MaskedLM:
    """A masked language model with its tokenizer, ready to be scored.

    Attributes
    ----------
    name : str
        The name it was asked for by.
    model : transformers.PreTrainedModel
        In evaluation mode, on `device`, in `dtype`.
    tokenizer : transformers.PreTrainedTokenizerBase
    device, dtype : str
    max_tokens : int
        The most tokens of a sentence, special tokens included.
    fingerprint : str
        SHA-256 over weights, configuration and tokenizer as loaded, first 16 hexadecimal digits.
    head : {"kept", "new"}
        ``"new"`` if the checkpoint lacked language-model head weights, which were then drawn at random: nothing that
        such a model says of words counts before it is trained.
    """

    name: str
    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    device: str
    dtype: str
    max_tokens: int
    fingerprint: str
    head: str = "kept"

    @property
    def vocabulary_size(self) -> int:
        """Entries that the model's softmax runs over."""
        return int(self.model.config.vocab_size)

    def describe(self) -> dict:
        """What a result's manifest says of the model."""
        return {
            "name": self.name,
            "type": self.model.config.model_type,
            "fingerprint": self.fingerprint,
            "revision": getattr(self.model.config, "_commit_hash", None),
            "device": self.device,
            "dtype": self.dtype,
            "parameters": sum(parameter.numel() for parameter in self.model.parameters()),
            "vocabulary_size": self.vocabulary_size,
            "max_tokens": self.max_tokens,
            "head": self.head,
            # The embedded model says so itself, under whatever name: it supports no finding about others.
            "for_trying_out": bool(getattr(self.model.config, "for_trying_out", False)),
        }


class Traits(NamedTuple):
    """What a model allows: its head run at single places (gathered where), sentences of several lengths in a batch."""

    gathers: str
    pads: bool


def load_masked_lm(
    name: "str | Path | MaskedLM | tuple" = "demo",
    *,
    device: str = "auto",
    dtype: str = "float32",
    revision: str | None = None,
    head: str = "keep",
) -> MaskedLM:
    """Load a masked language model with its tokenizer.

    Parameters
    ----------
    name : str, Path, MaskedLM or (model, tokenizer)
        ``"demo"`` is the embedded two-layer BERT; otherwise a local folder, a Hugging Face id, or the two loaded
        objects. Loaded objects are neither moved nor converted, unless `device` names another device.
    device : str
        ``"auto"`` takes CUDA, then MPS, then the CPU; or the name of a device.
    dtype : {"float32", "float16", "bfloat16", "float64"}
        Half precision changes log-probabilities by about .02 per token, so it is never the default.
    revision : str, optional
        Branch, tag or commit of a Hugging Face repository.
    head : {"keep", "new"}
        What to do with a checkpoint that lacks weights of its language-model head: refuse it, or draw them at random
        with a fixed seed, for :func:`biaslib.training.continue_pretraining`. An existing head is kept either way.

    Returns
    -------
    MaskedLM
        Its `head` is ``"new"`` if weights of it were drawn.

    Raises
    ------
    ModelError
        If there is no such model, it has no masked-language-model head, or the device lacks `dtype`.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> from biaslib.scoring import top_words
    >>> top_words(load_masked_lm("demo"), "I would like a cup of [MASK].", k=1).word.item()
    'tea'
    """
    if isinstance(name, MaskedLM):
        return name
    check_choice(dtype, "dtype", DTYPES, ModelError)
    check_choice(head, "head", HEADS, ModelError)
    if isinstance(name, tuple | list):
        return _from_loaded(name, device)
    return load_named(str(name), device, dtype, head, revision)


def load_named(name: str, device: str, dtype: str, head: str, revision: str | None = None, fingerprint="") -> MaskedLM:
    """Load a model by its name; weights are hashed only if their fingerprint is not given."""
    place = resolve_device(device)
    _check_dtype(place, dtype)
    tokenizer, model, drawn = _from_pretrained(name, model_source(name), dtype, revision, head)
    return _checked(name, model.to(place).eval(), tokenizer, "new" if drawn else "kept", fingerprint)


def release_memory() -> None:
    """Free the memory of models that are no longer referred to, on the accelerator too."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def resolve_device(device: str = "auto") -> str:
    """Return the name of the device that `device` stands for; raise ModelError if this machine does not have it."""
    import torch

    if device == "auto":
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        kind = torch.device(device).type
    except RuntimeError:
        raise ModelError(f"unknown device {device!r}; use 'auto', 'cpu', 'cuda', 'cuda:1' or 'mps'") from None
    here = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not here.get(kind, False):
        raise ModelError(f"no {kind} device on this machine; use device='auto' or 'cpu'")
    count = torch.cuda.device_count() if kind == "cuda" else 1
    if (torch.device(device).index or 0) >= count:
        raise ModelError(f"no device {device!r} on this machine, which has {count}; use device='auto'")
    return device


def _check_dtype(device: str, dtype: str) -> None:
    """Refuse a precision that the device only emulates."""
    import torch

    kind = torch.device(device).type
    native = {
        "cpu": {"float32", "float64"} | ({"bfloat16"} if _cpu_has_bfloat16() else set()),
        "mps": {"float32", "float16", "bfloat16"},
        "cuda": {"float32", "float64", "float16"},
    }[kind]
    if kind == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False):
        native = native | {"bfloat16"}
    if dtype not in native:
        raise ModelError(f"this {kind} device has no {dtype}; use one of {', '.join(sorted(native))}")


def _cpu_has_bfloat16() -> bool:
    import torch

    capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") or capabilities.get("bf16"))


def traits_of(lm: MaskedLM) -> Traits:
    """Find out once, on small batches, what a model allows; one that allows nothing is only slower."""
    if lm.model not in _traits:
        with inference_mode(lm):
            _traits[lm.model] = Traits(_gathers(lm), _pads(lm))
    return _traits[lm.model]


def probe(lm: MaskedLM, *lengths: int) -> Batch:
    """Make a batch of some of the vocabulary's entries, the second place of each row to be read."""
    padding = pad_id(lm)
    entries = [i for i in range(lm.model.get_input_embeddings().weight.shape[0]) if i != padding]
    rows = [
        tuple(entries[(7 * place + n) % len(entries)] for place in range(length)) for n, length in enumerate(lengths)
    ]
    return make_batch(lm, [Request(row, (), (1,), ()) for row in rows])


def _alike(lm, one, other) -> bool:
    import torch

    tolerance = 1e-4 if lm.dtype in ("float32", "float64") else 5e-2
    return one.shape == other.shape and torch.allclose(one, other, rtol=tolerance, atol=tolerance)


def _gathers(lm) -> str:
    """Tell how early single places give the same as whole sentences: "last attention", "encoder", or "" (nowhere)."""
    if lm.model.base_model is lm.model:
        return ""
    batch = probe(lm, 5, 3)
    full = forward(lm, batch)[1]
    found = ""
    for where in ("encoder", "last attention"):
        try:
            if not _alike(lm, full, forward(lm, batch, where)[1]):
                break
        except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
            break
        found = where
    return found


def _pads(lm) -> bool:
    """Whether a sentence scores the same beside a longer one; not so where padding takes part (FNet)."""
    alone = forward(lm, probe(lm, 4))[1]
    return _alike(lm, alone, forward(lm, probe(lm, 4, 11))[1][:1])


def check_name(name: str | Path) -> None:
    """Raise ModelError, before anything is loaded, if a name cannot be a model's, such as a missing folder."""
    model_source(str(name))


def model_source(name: str) -> str:
    """Tell a folder from a hub id, so that a mistyped folder is reported as a folder."""
    if name == "demo":
        return str(DEMO_FOLDER)
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ModelError(f"folder {name!r} has no config.json; give the folder that save_pretrained wrote")
        return str(folder)
    if folder.exists():
        raise ModelError(f"{name!r} is a file; give the folder that holds config.json and the weights")
    if re.match(r"^[./~\\]|^[A-Za-z]:[\\/]", name) or name.count("/") > 1 or "\\" in name or name.endswith("/"):
        raise ModelError(f"no folder {name!r}{_nearest_folder(folder)}")
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name, flags=re.ASCII):
        raise ModelError(f"{name!r} is neither a folder here nor a Hugging Face id (owner/model)")
    return name


def _nearest_folder(folder: Path) -> str:
    parent = folder.parent
    names = [path.name for path in parent.iterdir() if path.is_dir()] if parent.is_dir() else []
    close = difflib.get_close_matches(folder.name, names, n=1)
    return f": did you mean {str(parent / close[0])!r}?" if close else ": check the path"


def _from_pretrained(name: str, source: str, dtype: str, revision: str | None, head: str):
    """Load tokenizer and model from a folder or the hub, and list the weights of its head that were drawn."""
    import torch
    from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer

    where = {"revision": revision} if revision else {}
    with quiet_transformers(), _one_line_errors(name, source), torch.random.fork_rng(devices=[]):
        # Weights that a checkpoint lacks are drawn while it is loaded, on the CPU.
        torch.default_generator.manual_seed(0)
        config = AutoConfig.from_pretrained(source, trust_remote_code=False, **where)
        _check_architecture(name, config)
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False, **where)
        model, loading = AutoModelForMaskedLM.from_pretrained(
            source,
            config=config,
            dtype=getattr(torch, dtype),
            trust_remote_code=False,
            weights_only=True,
            output_loading_info=True,
            **where,
        )
    missing = sorted(loading["missing_keys"])
    all_in_head = not any(key.startswith(f"{model.base_model_prefix}.") for key in missing)
    if missing and not (head == "new" and all_in_head):
        remedy = "take a checkpoint saved with its language-model head (AutoModelForMaskedLM)"
        raise ModelError(
            f"{name!r} is not a complete masked language model: it lacks the weights {', '.join(missing)}: {remedy}"
            + (", or ask for head='new' and train it" if all_in_head else "")
        )
    return tokenizer, model, missing


def _check_architecture(name: str, config) -> None:
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    if config.model_type not in MODEL_FOR_MASKED_LM_MAPPING_NAMES or config.is_encoder_decoder:
        raise ModelError(
            f"{name!r} is of type {config.model_type!r}, which is not an encoder with a masked-language-model head; "
            "give a BERT-like model"
        )


@contextmanager
def quiet_transformers():
    """Keep load reports, retries and progress bars out of a notebook: what matters is raised as an error."""
    from huggingface_hub.utils import logging as hub_logging
    from transformers.utils import logging

    verbosity, hub_verbosity, bars = (
        logging.get_verbosity(),
        hub_logging.get_verbosity(),
        logging.is_progress_bar_enabled(),
    )
    logging.set_verbosity_error()
    hub_logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        hub_logging.set_verbosity(hub_verbosity)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def _one_line_errors(name: str, source: str):
    """Turn the many-line errors of the loaders into one line that names the model."""
    import pickle

    try:
        yield
    except ModelError:
        raise
    except pickle.UnpicklingError:
        raise ModelError(
            f"{name!r} holds pickled weights with more than tensors in them, which could run any code; "
            "ask for safetensors"
        ) from None
    except Exception as error:
        said = one_line(error, 300)
        if Path(source).is_dir():
            raise ModelError(f"cannot load the model in {name!r}: {type(error).__name__}: {said}") from error
        raise ModelError(
            f"cannot get {name!r} from the Hugging Face hub, and there is no folder of that name here; check the "
            f"spelling, the network and, for a private model, your login ({type(error).__name__})"
        ) from error


def _from_loaded(pair, device: str) -> MaskedLM:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    if len(pair) != 2 or not isinstance(pair[0], PreTrainedModel) or not isinstance(pair[1], PreTrainedTokenizerBase):
        raise ModelError("a loaded model must be given as (model, tokenizer), both of transformers, in this order")
    model, tokenizer = pair
    name = model.config._name_or_path or type(model).__name__
    _check_architecture(name, model.config)
    if model.get_output_embeddings() is None:
        raise ModelError(f"{type(model).__name__} has no language-model head; load it with AutoModelForMaskedLM")
    if device != "auto":
        model = model.to(resolve_device(device))
    lm = _checked(name, model, tokenizer)
    if lm.dtype in ("float16", "bfloat16"):
        warnings.warn(
            f"the loaded model {name!r} is in {lm.dtype}, which changes scores by about .02 per token; "
            "give model.float() for exact ones",
            stacklevel=3,
        )
    return lm


def _checked(name: str, model, tokenizer, head: str = "kept", fingerprint: str = "") -> MaskedLM:
    """Refuse a tokenizer that does not go with the model."""
    if tokenizer.mask_token_id is None:
        raise ModelError(
            f"the tokenizer of {name!r} has no mask token, so it does not belong to a masked language model"
        )
    entries = model.get_input_embeddings().weight.shape[0]
    highest = max(tokenizer.get_vocab().values())
    if highest >= entries:
        raise ModelError(
            f"the tokenizer of {name!r} has ids up to {highest}, the model only {entries} entries: they do not belong "
            "together, or the model needs resize_token_embeddings"
        )
    parameter = next(model.parameters())
    return MaskedLM(
        name=name,
        model=model,
        tokenizer=tokenizer,
        device=str(parameter.device),
        dtype=str(parameter.dtype).removeprefix("torch."),
        max_tokens=_max_tokens(model, tokenizer),
        fingerprint=fingerprint or _fingerprint(model, tokenizer),
        head=head,
    )


def _max_tokens(model, tokenizer) -> int:
    """Tokens that fit: RoBERTa-like models count positions from after their padding id (514 hold 512)."""
    limits = [UNLIMITED_TOKENS, int(min(tokenizer.model_max_length, UNLIMITED_TOKENS))]
    if positions := getattr(model.config, "max_position_embeddings", None):
        tables = [
            module
            for key, module in model.named_modules()
            if key.endswith("position_embeddings") and hasattr(module, "padding_idx")
        ]
        offset = max((table.padding_idx + 1 for table in tables if table.padding_idx is not None), default=0)
        limits.append(positions - offset)
    return min(limits)


def _fingerprint(model, tokenizer) -> str:
    """Hash weights, configuration and tokenizer."""
    digest = hashlib.sha256()
    for key, tensor in sorted(model.state_dict().items()):
        digest.update(f"{key} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(_tensor_bytes(tensor))
    settings = {key: value for key, value in model.config.to_diff_dict().items() if key not in _NOT_OF_THE_MODEL}
    digest.update(json.dumps(settings, sort_keys=True, default=str).encode())
    digest.update(json.dumps(_tokenizer_settings(tokenizer), sort_keys=True).encode())
    return digest.hexdigest()[:16]


def _tokenizer_settings(tokenizer) -> dict:
    """Give what decides how a text is encoded."""
    if not tokenizer.is_fast:
        return {"class": type(tokenizer).__name__, "vocabulary": tokenizer.get_vocab()}
    settings = json.loads(tokenizer.backend_tokenizer.to_str())
    # These two hold what the last call asked for.
    return settings | {"truncation": None, "padding": None}


def _tensor_bytes(tensor) -> memoryview:
    import torch

    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return memoryview(flat.view(torch.uint8).numpy()) if flat.numel() else memoryview(b"")
