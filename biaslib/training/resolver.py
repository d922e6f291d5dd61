"""Coreference resolution trained on a model's encoder.

The model is the word-level one of Dobrovolskii (2021), "Word-Level Coreference Resolution", EMNLP, as implemented in
stanza: links between words, then the span around each word. It is not the span ranking of Joshi et al. (2019), with
which WinoQueer's Tables 3 and 4 were made. A mention is represented by its head word, which a parser finds; that of a
coordination is its conjunction (D'Oosterlinck et al. 2023, "CAW-coref: Conjunction-Aware Word-level Coreference
Resolution", CRAC), so that *Anna* and *Anna and Piet* are two mentions.
"""

import copy
import glob
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from biaslib import scoring
from biaslib._checks import check_count, check_number
from biaslib._files import locked, read_json, write_json
from biaslib._provenance import data_fingerprint, versions
from biaslib._text import one_line
from biaslib.io.conll import Documents
from biaslib.stats.clusters import coreference_scorer
from biaslib.training._pieces import training_pieces
from biaslib.training._stanza import (
    ABOUT,
    ENCODER,
    LAYERS,
    RESOLVER_SETTINGS,
    build_model,
    coref_model,
    fit,
    load_weights,
    new_layers,
    quiet_stanza,
    seeded,
)
from biaslib.training.parsed_documents import PARSER, head_words

# In the folder that a training writes, held for as long as it runs.
_LOCK = "training.lock"


@dataclass(frozen=True, eq=False)
class Resolver:
    """A trained resolver, ready to predict.

    Attributes
    ----------
    folder : Path
        Where it was loaded from.
    max_words : int
        Parts of documents with more words are split.
    about : dict
        How it was trained: ``encoder seed epochs learning_rate encoder_learning_rate max_words n_documents n_pieces
        losses mentions_left_out settings versions files``; files are those it needs.
    model : stanza.models.coref.model.CorefModel
    """

    folder: Path
    max_words: int
    about: dict = field(repr=False)
    model: Any = field(repr=False)


def train_resolver(
    lm,
    documents: Documents,
    *,
    out: str | Path,
    epochs: int = 20,
    seed: int = 0,
    learning_rate: float = 3e-4,
    encoder_learning_rate: float = 1e-5,
    hidden_size: int = 1_024,
    max_words: int = 1_000,
    device: str = "auto",
    parser=PARSER,
    progress: bool = False,
) -> Path:
    """Train the encoder of a model, with new layers on top, to resolve coreference.

    Parameters
    ----------
    lm : MaskedLM, str or Path
        The model, which is left unchanged, or what `biaslib.scoring.load_masked_lm` takes.
    documents : Documents
        From `biaslib.io.read_conll`.
    out : str or Path
        The folder to write. An earlier resolver there is replaced; anything else raises an error. What killed trainings
        of this folder left beside it is removed.
    epochs : int
        Passes over the documents, one document per step; both learning rates decrease linearly to 0.
    seed : int
        Of the new layers, the order of the documents and the dropout.
    learning_rate, encoder_learning_rate : float
        Of the new layers, and of the encoder. The defaults suit encoders of usual size and thousands of documents; for
        a dozen documents, see ``biaslib.studies.winoqueer_coreference.RESOLVERS``.
    hidden_size : int
        Of the layer that compares two words.
    max_words : int
        A part of a document with more words is split at sentence ends; links between the pieces are lost to training.
        It bounds memory: an encoder of the size of BERT base needs 6 GB with the default.
    device : str
        Where to train; by default the device of `lm`.
    parser : str, Path or spacy.Language
        Finds the head words.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Path
        The folder: the trained encoder in float32 with its tokenizer, the new layers, and ``resolver.json`` (see
        `Resolver.about`). It is self-contained and can be moved.

    Raises
    ------
    ValueError
        If an option is out of range, there is no mention to learn, `out` is something else, the encoder of the model
        cannot be separated from its head, or the loss is no longer finite.
    ModuleNotFoundError
        If stanza, spaCy or the parser is not installed.

    Notes
    -----
    A mention without a head word of its own (see `head_words`), or across the end of a piece, is left out and counted
    in ``resolver.json``. The same seed gives the same weights on the same machine.
    """
    check_count(seed, "seed", least=0)
    check_count(epochs, "epochs")
    check_count(hidden_size, "hidden_size")
    check_count(max_words, "max_words")
    check_number(learning_rate, "learning_rate", least=0, below=1)
    check_number(encoder_learning_rate, "encoder_learning_rate", least=0, below=1)
    out = _check_out(Path(out))
    core = coref_model()
    lm = scoring.load_masked_lm(lm, device=device)
    headed = head_words(documents, parser=parser)
    with _beside(out) as beside, quiet_stanza():
        folder = beside / "resolver"
        _save_encoder(lm, folder / ENCODER)
        window = min(RESOLVER_SETTINGS["bert_window_size"], lm.max_tokens)
        settings = RESOLVER_SETTINGS | {"bert_window_size": window, "hidden_size": hidden_size}
        place = lm.device if device == "auto" else scoring.resolve_device(device)
        with seeded(seed, place):
            model = build_model(core, folder / ENCODER, settings, place)
            pieces, left_out = training_pieces(model, documents, headed, max_words)
            rates = encoder_learning_rate, learning_rate
            losses = fit(model, [piece.content for piece in pieces], epochs, seed, rates, progress)
        about = {
            "encoder": lm.name,
            "seed": seed,
            "epochs": epochs,
            "learning_rate": learning_rate,
            "encoder_learning_rate": encoder_learning_rate,
            "max_words": max_words,
            "losses": losses,
            "n_documents": int(documents.words["document"].nunique()),
            "n_pieces": len(pieces),
            "mentions_left_out": left_out,
            "settings": settings,
            "versions": versions(),
        }
        _save(model, folder, about)
        if out.exists():
            os.replace(out, beside / "earlier")
        os.replace(folder, out)
    return out


def find_resolver(lm, documents: Documents, *, out: str | Path, parser=PARSER, progress=False, **settings) -> Resolver:
    """Load the resolver of a model, after training it if it has not been trained yet.

    Parameters
    ----------
    lm : MaskedLM
    documents : Documents
        To train on.
    out : str or Path
        Folder of the trained resolvers. The name of each one's own folder ends in a fingerprint of model, documents and
        settings, by which it is found again.
    parser, progress, **settings
        Of `train_resolver`.

    Returns
    -------
    Resolver

    Raises
    ------
    ValueError, ModuleNotFoundError
        As `train_resolver` and `load_resolver`.
    """
    mark = data_fingerprint(lm.fingerprint, documents.words, documents.clusters, settings)[:8]
    folder = Path(out) / f"resolver-{mark}"
    if not (folder / ABOUT).is_file():
        train_resolver(lm, documents, out=folder, parser=parser, progress=progress, **settings)
    return load_resolver(folder, device=lm.device)


def load_resolver(folder: str | Path, *, device: str = "auto") -> Resolver:
    """Load a resolver that `train_resolver` has written.

    Parameters
    ----------
    folder : str or Path
    device : str
        As for `biaslib.scoring.load_masked_lm`.

    Returns
    -------
    Resolver

    Raises
    ------
    FileNotFoundError
        If there is no resolver in the folder, or one of its files is missing.
    ValueError
        If one of its files cannot be read.
    ModuleNotFoundError
        If stanza is not installed.
    """
    folder = Path(folder).expanduser()
    if not (folder / ABOUT).is_file():
        raise FileNotFoundError(f"no resolver in {str(folder)!r}; give the folder that train_resolver wrote")
    core, device = coref_model(), scoring.resolve_device(device)
    try:
        about = read_json(folder / ABOUT)
        lost = [name for name in about.get("files", []) if not (folder / name).is_file()]
        model = None if lost else load_weights(core, folder, about["settings"], device)
        max_words = about["max_words"]
    except Exception as error:
        why = f"{type(error).__name__}: {one_line(error)[:300]}"
        raise ValueError(f"cannot load the resolver in {str(folder)!r}: {why}") from error
    if lost:
        raise FileNotFoundError(f"the resolver in {str(folder)!r} lacks {', '.join(lost)}; copy the whole folder")
    return Resolver(folder=folder, max_words=max_words, about=about, model=model)


def check_installed(parser=PARSER) -> None:
    """Check, before any work, that what training and scoring a resolver need is installed.

    Parameters
    ----------
    parser : str, Path or spacy.Language

    Raises
    ------
    ModuleNotFoundError
        If stanza, coreference-eval, spaCy or the parser is not installed.
    """
    coref_model()
    coreference_scorer()
    scoring.load_parser(parser)


def _check_out(out):
    out = out.expanduser().absolute()
    if out.exists() and not out.is_dir():
        raise ValueError(f"{str(out)!r} is a file; name a folder to write")
    held, parts = {path.name for path in out.iterdir()} if out.is_dir() else set(), {ENCODER, LAYERS, ABOUT}
    if held and held != parts:
        what, names = ("holds", held - parts) if held - parts else ("lacks", parts - held)
        some = ", ".join(sorted(names)[:3])
        raise ValueError(f"folder {str(out)!r} is not a resolver, it {what} {some}; name another one")
    return out


@contextmanager
def _beside(out):
    """Make a folder beside another one for as long as a training runs, and remove what killed ones left."""
    out.parent.mkdir(parents=True, exist_ok=True)
    for lock in out.parent.glob(f".{glob.escape(out.name)}-????????/{_LOCK}"):
        # A lock that is held belongs to a training that runs.
        with suppress(OSError), locked(lock):
            shutil.rmtree(lock.parent, ignore_errors=True)
    beside = tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent)
    with beside as folder, locked(Path(folder) / _LOCK):
        yield Path(folder)


def _save_encoder(lm, folder):
    """Save the encoder in float32, whatever its precision, with its tokenizer."""
    import torch

    encoder = lm.model.base_model
    if encoder is lm.model:
        raise ValueError(f"the model {lm.name!r} does not separate its encoder from its head, as training needs")
    if any(parameter.dtype != torch.float32 for parameter in encoder.parameters()):
        encoder = copy.deepcopy(encoder).float()
    encoder.save_pretrained(folder)
    lm.tokenizer.save_pretrained(folder)


def _save(model, folder, about):
    from safetensors.torch import save_file

    model.bert.save_pretrained(folder / ENCODER)
    layers = {
        f"{name}.{key}": value.contiguous()
        for name, module in new_layers(model).items()
        for key, value in module.state_dict().items()
    }
    save_file(layers, folder / LAYERS)
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    write_json(folder / ABOUT, about | {"files": files}, indent=1)
