"""Train a masked language model further on texts of one's own, and say what it lost or gained on a part held out.

The question is that of Felkner, Chang, Jang & May (2022), "Towards WinoQueer: Developing a Benchmark for Anti-Queer
Bias in Large Language Models", QueerInAI workshop at NAACL, §3.1: does training on a community's own words change how a
model speaks of it? The loss is that of Devlin et al. (2019), "BERT: Pre-training of Deep Bidirectional Transformers
for Language Understanding", NAACL 2019, §3.1: some tokens are hidden, and the model is to tell which they were.
"""

import copy
import csv
import hashlib
import io
import json
import math
import os
import random
import re
import shutil
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from biaslib.models import UNLIMITED_TOKENS, load_masked_lm, quiet_transformers, release_memory, resolve_device
from biaslib.results import data_fingerprint, versions
from biaslib.tokens import as_sentences

DATA = Path(__file__).parent / "data"
SAMPLES = ("queer_news_sample", "queer_voices_sample")
BLOCK_SIZE = 512
OFF_THE_SHELF = "off the shelf"
TRAINING_COLUMNS = ("step", "epoch", "split", "loss", "perplexity", "n_tokens")

_LINES, _RECORDS, _TABLES = (".txt",), (".jsonl", ".ndjson"), (".csv", ".tsv")
_ENDINGS = (*_LINES, *_RECORDS, *_TABLES)
# What transformers leaves out of a loss.
_NOT_ASKED = -100
# A last block with fewer tokens is left out: there is hardly anything to see in it.
_FEWEST_TOKENS = 8
_TEXTS_AT_ONCE = 1_000
# Numbers that keep apart what is drawn by one seed.
_SPLIT, _ORDER, _TRAINED, _HELD_OUT = range(4)
_BEGUN, _COMPLETE = "begun.json", "complete.json"


class Blocks(NamedTuple):
    """Token ids of texts put one after the other, each with its special tokens, to be cut into blocks of one size.

    `documents` numbers the text of each token; `words`, its word (-1: a special token), if whole words are masked.
    """

    ids: np.ndarray
    documents: np.ndarray
    words: np.ndarray | None
    size: int

    def __len__(self):
        return math.ceil(len(self.ids) / self.size)

    def span(self, number: int) -> slice:
        """The tokens of a block."""
        return slice(number * self.size, (number + 1) * self.size)


class Masking(NamedTuple):
    """How tokens are hidden: which can be, how many, and by what they are replaced."""

    probability: float
    seed: int
    mask_id: int
    never: np.ndarray
    n_entries: int


@dataclass(frozen=True)
class HeldOutLoss:
    """How well a model tells the hidden tokens of texts held out.

    Attributes
    ----------
    loss : float
        Mean over the tokens asked for of −log P(token | block), natural logarithm.
    ci_low, ci_high : float
        95 % percentile bootstrap interval over documents; NaN for a single one.
    perplexity : float
        exp(loss): comparable between models of one vocabulary only.
    n_tokens, n_documents : int
        Tokens asked for, and the documents they are in.
    by_document : pandas.DataFrame
        ``document loss n_tokens``: the mean of each document, so that two models can be compared pair by pair.
    """

    loss: float
    ci_low: float
    ci_high: float
    perplexity: float
    n_tokens: int
    n_documents: int
    by_document: pd.DataFrame = field(repr=False, compare=False)

    def to_frame(self) -> pd.DataFrame:
        """Give the figures as a frame of one row."""
        return pd.DataFrame([{name: value for name, value in vars(self).items() if name != "by_document"}])


def continue_pretraining(
    lm,
    texts,
    *,
    out,
    epochs=3,
    block_size=None,
    mask_probability=0.15,
    learning_rate=2e-5,
    weight_decay=0.01,
    batch_size=8,
    held_out=0.1,
    seed=0,
    whole_word_masking=False,
    text_column="text",
    resume=True,
    save_every=500,
    progress=False,
) -> Path:
    """Train a masked language model further, and save it with its losses.

    The texts are put one after the other, each between the special tokens that the tokenizer adds, and cut into
    blocks; a last block of fewer than 8 tokens is left out and counted. In every block and epoch anew, each token is
    chosen with `mask_probability`; of those chosen, 80 % become the mask token, 10 % any entry of the vocabulary, 10 %
    stay (Devlin et al. 2019, §3.1). Special tokens, the unknown one among them, are never chosen. Training is AdamW
    with a linearly falling rate, gradients clipped at 1, in float32.

    Parameters
    ----------
    lm : MaskedLM
        It is left as it is: a copy is trained, on its device. One with ``head="new"`` gets a trained head.
    texts : str, Path, or a sequence of these or of texts
        See :func:`read_texts`. A document is a line, record or entry.
    out : str or Path
        The folder of the result. Until it is complete, what is needed to go on lies beside it, in
        ``.<name>.training``.
    epochs : int
    block_size : int, optional
        Tokens in a block, special ones included; by default 512 or the model's limit.
    mask_probability, learning_rate, weight_decay : float
    batch_size : int
        Blocks in a step, in each process.
    held_out : float
        Share of the different documents that is not trained on; copies of a document stay together.
    seed : int
        Decides the split, the order, the masks and the dropout. On a CPU, the same seed and number of threads give
        the same weights.
    whole_word_masking : bool
        Choose words rather than tokens.
    text_column : str
        Of JSON lines and CSV files.
    resume : bool
        Go on from the last complete checkpoint of the same training, or give its result if it is done. With False,
        start anew; an earlier result gives way when the new one is complete.
    save_every : int
        Steps between checkpoints.
    progress : bool

    Returns
    -------
    Path
        The folder, for :func:`biaslib.models.load_masked_lm`. Beside the model it holds ``training.csv`` (see
        :func:`read_training`) and ``training.json``: the settings, the base model, a fingerprint of the texts and
        their counts, but nothing of the texts themselves.

    Raises
    ------
    ValueError
        If a setting is out of range, the texts are too few, or a training was begun in `out` with another setting.
    FileNotFoundError, FileExistsError
        If a file is missing, or `out` holds something else.

    Notes
    -----
    ``accelerate launch -m biaslib train …`` spreads the work over processes; each step then takes `batch_size`
    blocks from each of them.

    Examples
    --------
    >>> from biaslib.models import load_masked_lm
    >>> folder = continue_pretraining(load_masked_lm("demo"), "news.txt", out="trained/news")  # doctest: +SKIP
    >>> load_masked_lm(folder)  # doctest: +SKIP
    """
    settings = _data_settings(lm, block_size, mask_probability, held_out, seed, whole_word_masking)
    if settings["held_out"] == 1:
        raise ValueError("held_out is 1: take a share below, or nothing is left to train on")
    settings |= {
        "epochs": _at_least_one(epochs, "epochs"),
        "learning_rate": _number(learning_rate, "learning_rate", above=0),
        "weight_decay": _number(weight_decay, "weight_decay"),
        "batch_size": _at_least_one(batch_size, "batch_size"),
    }
    out = Path(os.path.abspath(Path(out).expanduser()))
    work = _work_folder(out)
    arguments = _arguments(lm, settings, work, _at_least_one(save_every, "save_every"))
    documents = read_texts(texts, text_column=text_column)
    identity = {"model": lm.fingerprint, "texts": data_fingerprint(documents), "processes": arguments.world_size}
    begun = {**settings, **identity}
    if _is_done(out, work, begun, resume):
        return out
    train, test, counts = _prepare(lm, documents, settings)
    checkpoint, start = _begin(work, begun, arguments, resume)
    with _interruption_explained(work), _own_randomness(), quiet_transformers():
        trained, seconds = _train(lm, train, test, settings, arguments, checkpoint, progress)
        manifest = {
            "settings": settings,
            "base": lm.describe(),
            "texts": {"fingerprint": identity["texts"], **counts},
            "versions": versions(),
            "seed": settings["seed"],
            "device": str(arguments.device),
            "processes": arguments.world_size,
            **start,
            "ended": datetime.now(UTC).isoformat(),
            "seconds": round(seconds, 3),
        }
        if arguments.process_index == 0:
            _finish(trained, lm, work, out, manifest)
        _wait_for_all()
    del trained
    release_memory()
    return out


def train_each(models, corpora, *, out, device="auto", head="keep", progress=False, **settings) -> pd.DataFrame:
    """Train each model on each of several corpora, one apart from the other.

    Parameters
    ----------
    models : sequence of str
        What :func:`biaslib.models.load_masked_lm` takes as a name.
    corpora : mapping of str to texts
        Texts as :func:`read_texts` takes them, by what the condition is called.
    out : str or Path
        Folder of the trained models. Each has a folder of its own, whose name ends in a fingerprint of model, texts and
        settings: what is there is not trained again, and what was interrupted goes on.
    device, head : str
        As for ``load_masked_lm``.
    progress : bool
    **settings
        Of :func:`continue_pretraining`.

    Returns
    -------
    DataFrame
        ``model condition folder head n_trained_on n_held_out text_fingerprint``: for each model a row as it is
        (condition :data:`OFF_THE_SHELF`, folder: its name; head: "new" if it was drawn at random), and one a corpus,
        with the documents trained on and held out.

    Raises
    ------
    ValueError
        As :func:`continue_pretraining`, or if a model is given twice or a condition is called :data:`OFF_THE_SHELF`.
    """
    models = [str(name) for name in models]
    if len(set(models)) < len(models) or OFF_THE_SHELF in corpora:
        raise ValueError(f"give each model once, and call no corpus {OFF_THE_SHELF!r}")
    rows = []
    for name in models:
        lm = load_masked_lm(name, device=device, head=head)
        rows.append((name, OFF_THE_SHELF, name, lm.head, 0, 0, ""))
        for condition, texts in corpora.items():
            documents = read_texts(texts, text_column=settings.get("text_column", "text"))
            mark = data_fingerprint(lm.fingerprint, documents, settings)[:8]
            folder = Path(out) / f"{_plain_name(name)}-{_plain_name(condition)}-{mark}"
            continue_pretraining(lm, documents, out=folder, progress=progress, **settings)
            told = json.loads((folder / "training.json").read_text(encoding="utf-8"))["texts"]
            counts = (told[part]["n_documents"] for part in ("train", "held_out"))
            rows.append((name, condition, str(folder), "kept", *counts, told["fingerprint"]))
        del lm
        release_memory()
    columns = ["model", "condition", "folder", "head", "n_trained_on", "n_held_out", "text_fingerprint"]
    return pd.DataFrame(rows, columns=columns)


def by_condition(conditions, frames) -> pd.DataFrame:
    """Put one frame a condition below each other, with ``model condition head`` first.

    Parameters
    ----------
    conditions : DataFrame
        From :func:`train_each`.
    frames : sequence of DataFrame
        One for each of its rows; a column of theirs that is called like one of these becomes ``…_given``.

    Returns
    -------
    DataFrame
    """
    labels = conditions[["model", "condition", "head"]].reset_index(drop=True)
    if labels.empty:
        return labels
    frames = [frame.rename(columns={name: f"{name}_given" for name in labels if name in frame}) for frame in frames]
    parts = [labels.iloc[[n]].merge(frame, how="cross") for n, frame in enumerate(frames)]
    return pd.concat(parts, ignore_index=True)


def name_corpora(corpora, *, n) -> dict:
    """Read the names of corpora, or say what is wrong with them before anything is trained.

    Parameters
    ----------
    corpora : sequence of str
        Each written "name=text", with the text as :func:`read_texts` takes it; without a name, the file's is taken.
    n : int
        How many there have to be.

    Returns
    -------
    dict of str to str

    Raises
    ------
    ValueError
        If there are not `n`, a name or a text is empty, or a name comes twice.

    Examples
    --------
    >>> name_corpora(["news=queer_news_sample", "my/posts.jsonl"], n=2)
    {'news': 'queer_news_sample', 'posts': 'my/posts.jsonl'}
    """
    named = {}
    for corpus in corpora:
        name, given, text = corpus.partition("=")
        name, text = (name.strip(), text) if given else (Path(corpus).name.partition(".")[0], corpus)
        if not name or not text.strip():
            raise ValueError(f"corpus {corpus!r} has an empty name or text: write it as name=text")
        named[name] = text.strip()
    if len(corpora) != n or len(named) != n:
        raise ValueError(f"give {n} corpora of different names, each as name=text, not {list(corpora)}")
    return named


def _plain_name(name):
    """Write a name so that it can be a folder's."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", Path(str(name)).name).strip("-.") or "model"


def held_out_loss(
    lm,
    texts,
    *,
    held_out=0.1,
    block_size=None,
    mask_probability=0.15,
    whole_word_masking=False,
    seed=0,
    text_column="text",
    batch_tokens=None,
    progress=False,
) -> HeldOutLoss:
    """Compute the loss of a model on the documents that a training with the same settings holds out.

    Which documents they are and which of their tokens are hidden depends on the texts, the seed and the tokenizer
    alone: a model before and after training is asked the same.

    Parameters
    ----------
    lm : MaskedLM
    texts, text_column
        As for :func:`read_texts`.
    held_out : float
        As for :func:`continue_pretraining`; with 1, all documents are asked for.
    block_size, mask_probability, whole_word_masking, seed
        As for :func:`continue_pretraining`.
    batch_tokens, progress
        As in `biaslib.scoring`.

    Returns
    -------
    HeldOutLoss

    Raises
    ------
    ValueError
        If a setting is out of range, or the texts are too few.

    Examples
    --------
    >>> from biaslib.models import load_masked_lm
    >>> found = held_out_loss(load_masked_lm("demo"), "queer_voices_sample", block_size=64, held_out=1)
    >>> round(found.loss, 2), found.n_tokens  # a guess without any knowledge costs ln 30,522 = 10.33
    (3.76, 399)
    """
    from biaslib.statistics import bootstrap_interval

    settings = _data_settings(lm, block_size, mask_probability, held_out, seed, whole_word_masking)
    _, blocks, _ = _prepare(lm, read_texts(texts, text_column=text_column), settings)
    losses, documents = _held_out_losses(lm, blocks, _masking(lm, settings), range(len(blocks)), batch_tokens, progress)
    if not np.isfinite(losses).all():
        raise ValueError(f"the output of {lm.name!r} is not a finite number for {(~np.isfinite(losses)).sum()} tokens")
    numbers, place = np.unique(documents, return_inverse=True)
    sums, n = np.bincount(place, weights=losses), np.bincount(place)
    low, high = bootstrap_interval((sums, n), _ratio, seed=settings["seed"], paired=True)
    loss = float(losses.mean())
    by_document = pd.DataFrame({"document": numbers, "loss": sums / n, "n_tokens": n})
    return HeldOutLoss(loss, low, high, _perplexity(loss), len(losses), len(numbers), by_document)


def held_out_losses(lm, corpora, **options) -> pd.DataFrame:
    """Give the losses on the part held out of several corpora.

    Parameters
    ----------
    lm : MaskedLM
    corpora : mapping of str to texts
    **options
        Of :func:`held_out_loss`.

    Returns
    -------
    DataFrame
        ``corpus loss ci_low ci_high perplexity n_tokens n_documents``.
    """
    losses = {name: held_out_loss(lm, texts, **options).to_frame() for name, texts in corpora.items()}
    return pd.concat(losses, names=["corpus", None]).reset_index("corpus").reset_index(drop=True)


def read_fingerprint(texts, *, text_column="text") -> str:
    """Give the fingerprint of texts that a training's manifest has, without keeping the texts."""
    return data_fingerprint(read_texts(texts, text_column=text_column))


def read_training(folder) -> pd.DataFrame:
    """Read the losses of a training, also of one that is not done yet.

    Parameters
    ----------
    folder : str or Path
        What :func:`continue_pretraining` was given as `out`.

    Returns
    -------
    pandas.DataFrame
        ``step epoch split loss perplexity n_tokens``: for ``split`` ``"held_out"``, the loss before training (step 0)
        and after each epoch, always on the same hidden tokens; for ``"train"``, the mean over the tokens hidden
        in the epoch, taken while the model learnt, with its dropout.

    Raises
    ------
    FileNotFoundError
        If no training was begun there.

    Examples
    --------
    >>> losses = read_training("trained/news")  # doctest: +SKIP
    >>> losses[losses.split == "held_out"].plot(x="epoch", y="loss")  # doctest: +SKIP
    """
    folder = Path(folder).expanduser()
    places = [folder / "training.csv", _work_folder(Path(os.path.abspath(folder))) / "training.csv"]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise FileNotFoundError(f"no training.csv in {str(folder)!r}: give the folder of a continued training")
    # Python's float reads back the last digit, which pandas' own reader may not.
    exact = {"loss": float, "perplexity": float}
    return pd.read_csv(found, dtype={"step": int, "epoch": int, "split": str, "n_tokens": int}, converters=exact)


def read_texts(texts, *, text_column="text") -> list[str]:
    """Read the documents to train on.

    Parameters
    ----------
    texts : str, Path, or a sequence of these or of texts
        A file, a folder or several of them; the name of an embedded sample (``"queer_news_sample"``,
        ``"queer_voices_sample"``); or the texts themselves, as a list or a column of a frame. Files end in ``.txt`` (a
        document a line), ``.jsonl`` or ``.ndjson`` (a JSON object a line), ``.csv`` or ``.tsv``, each also with
        ``.gz``, in UTF-8. Of a folder, all files are read, by name; not those of folders within it, nor hidden ones.
    text_column : str
        The field of JSON lines, or the column of a CSV file, that holds the text.

    Returns
    -------
    list of str
        A document each, without white space around; an empty line, record or entry is ``""``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a file has another ending, is damaged or not in UTF-8, or lacks `text_column`.

    Examples
    --------
    >>> read_texts(["She wed her wife. ", "They play chess."])
    ['She wed her wife.', 'They play chess.']
    >>> len(read_texts("queer_news_sample"))
    96
    """
    entries = [Path(texts)] if isinstance(texts, str | os.PathLike) else texts
    if isinstance(entries, list | tuple) and entries and _names_file(entries[0]):
        entries = [text for entry in entries for file in _files_of(entry) for text in _read_file(file, text_column)]
    return [text.strip() for text in as_sentences(entries)]


def own_device(device="auto") -> str:
    """Name the device for :func:`biaslib.models.load_masked_lm`: with ``accelerate launch``, each process has its own.

    Parameters
    ----------
    device : str
        As for ``load_masked_lm``; only ``"auto"`` is looked into.

    Returns
    -------
    str

    Examples
    --------
    >>> own_device("cpu")
    'cpu'
    """
    if device != "auto":
        return device
    if os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes"):
        return "cpu"
    found = resolve_device()
    return f"cuda:{os.environ['LOCAL_RANK']}" if found == "cuda" and "LOCAL_RANK" in os.environ else found


def _names_file(entry):
    """Whether the first entry of a list is meant as a file."""
    if not isinstance(entry, str):
        return isinstance(entry, os.PathLike)
    return entry in SAMPLES or ("\n" not in entry and _ending(Path(entry)) in _ENDINGS)


def _ending(path):
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _start(text):
    text = str(text)
    return repr(text if len(text) <= 60 else f"{text[:60]}…")


def _files_of(entry):
    """Find the file, the sample, or the files of the folder that an entry names."""
    if str(entry) in SAMPLES:
        return [DATA / f"{entry}.txt"]
    path = Path(entry).expanduser()
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
        if not files:
            raise FileNotFoundError(f"no file lies in the folder {str(path)!r}")
    elif path.is_file():
        files = [path]
    else:
        hint = "give texts as a list, [text]" if " " in str(entry).strip() else "check the path"
        raise FileNotFoundError(f"no file {_start(entry)}: {hint}, or one of the samples {', '.join(SAMPLES)}")
    for file in files:
        if _ending(file) not in _ENDINGS:
            raise ValueError(f"{str(file)!r} ends in none of {', '.join(_ENDINGS)} (each also with .gz): rename it")
    return files


def _read_file(path, text_column):
    """Give the texts of a file, in one line of error where that fails."""
    import gzip
    import zlib

    try:
        with gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb") as file:
            content = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{str(path)!r} is not in UTF-8 (byte {error.start}): save it as UTF-8") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{str(path)!r} is damaged gzip: {error}") from None
    if _ending(path) in _TABLES:
        return _table_texts(content, path, text_column)
    # Lines end where other tools end them, not at a form feed or U+2028 within a text.
    lines = content.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n") if content else []
    if _ending(path) in _LINES:
        return lines
    return [_record_text(line, path, number, text_column) for number, line in enumerate(lines, start=1)]


def _record_text(line, path, number, text_column):
    if not line.strip():
        return ""
    try:
        record = json.loads(line)
    except ValueError:
        raise ValueError(f"line {number} of {str(path)!r} is no JSON: give an object a line") from None
    if not isinstance(record, dict) or text_column not in record:
        has = ", ".join(map(str, record)) if isinstance(record, dict) else "no fields"
        raise ValueError(f"line {number} of {str(path)!r} has no field {text_column!r}; it has {has}: set text_column")
    text = record[text_column]
    if text is not None and not isinstance(text, str):
        raise ValueError(f"field {text_column!r} in line {number} of {str(path)!r} is {text!r}, not a text")
    return text or ""


def _table_texts(content, path, text_column):
    """Give a column of a CSV file; "NA" is a text like any other, a cell that is not there an empty one."""
    limit = csv.field_size_limit(max(len(content), 1))
    reader = csv.reader(
        io.StringIO(content, newline=""), delimiter="\t" if _ending(path) == ".tsv" else ",", strict=True
    )
    try:
        header = next(reader, [])
        if text_column not in header:
            has = ", ".join(header) or "none"
            raise ValueError(f"{str(path)!r} has no column {text_column!r}; it has {has}: set text_column")
        place, texts = header.index(text_column), []
        for row in reader:
            if len(row) > len(header):
                found = f"line {reader.line_num} of {str(path)!r} has {len(row)} cells, its header {len(header)}"
                raise ValueError(f"{found}: put quotation marks around texts with the separator in them")
            texts.append(row[place] if place < len(row) else "")
        return texts
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} of {str(path)!r} is no CSV: {error}") from None
    finally:
        csv.field_size_limit(limit)


def _at_least_one(value, name):
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} is {value!r}: take a whole number from 1 up")
    return int(value)


def _number(value, name, *, above=None):
    limit = "from 0 up" if above is None else f"above {above}"
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0 or (above is not None and value <= above):
        raise ValueError(f"{name} is {value!r}: take a number {limit}")
    return float(value)


def _data_settings(lm, block_size, mask_probability, held_out, seed, whole_word_masking):
    """Check what decides the blocks and their masks."""
    if not hasattr(lm, "tokenizer"):
        raise TypeError(f"{lm!r} is no loaded model: give load_masked_lm({lm!r})")
    for name, share in (("mask_probability", mask_probability), ("held_out", held_out)):
        if _number(share, name, above=0) > 1:
            raise ValueError(f"{name} is {share!r}: take a share above 0, at most 1")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**32:
        raise ValueError(f"seed is {seed!r}: take a whole number from 0 to 4294967295")
    if not isinstance(whole_word_masking, bool | np.bool_):
        raise ValueError(f"whole_word_masking is {whole_word_masking!r}: take True or False")
    return {
        "block_size": _block_size(lm, block_size),
        "mask_probability": float(mask_probability),
        "held_out": float(held_out),
        "seed": int(seed),
        "whole_word_masking": bool(whole_word_masking),
    }


def _block_size(lm, block_size):
    if block_size is None:
        return min(BLOCK_SIZE, lm.max_tokens)
    if _at_least_one(block_size, "block_size") < _FEWEST_TOKENS:
        raise ValueError(f"block_size is {block_size}: take at least {_FEWEST_TOKENS} tokens")
    if block_size > lm.max_tokens:
        limit = "" if lm.max_tokens >= UNLIMITED_TOKENS else f", {lm.max_tokens} tokens"
        raise ValueError(f"block_size is {block_size}, over the limit of {lm.name!r}{limit}: take at most that")
    return int(block_size)


def _prepare(lm, documents, settings):
    """Split documents, then make blocks of either part; count what went where."""
    kept = [text for text in documents if text]
    if settings["whole_word_masking"]:
        _check_words(lm)
    train, test = _split(kept, settings["held_out"], settings["seed"])
    counts = {
        "n_documents": len(kept),
        "n_empty": len(documents) - len(kept),
        "n_duplicates": len(kept) - len(set(kept)),
    }
    parts = []
    for name, texts in (("train", train), ("held_out", test)):
        blocks, left_out = _blocks(lm, texts, settings["block_size"], settings["whole_word_masking"])
        counts[name] = {
            "n_documents": len(texts),
            "n_tokens": len(blocks.ids),
            "n_blocks": len(blocks),
            "n_tokens_left_out": left_out,
        }
        parts.append(blocks)
    _check_enough(lm, parts, settings, counts)
    return *parts, counts


def _split(documents, held_out, seed):
    """Hold out a share of the different documents, all copies of each."""
    different = list(dict.fromkeys(documents))
    if held_out == 1:
        return [], documents
    if len(different) < 2:
        found = f"{len(different)} different documents" if different else "no text"
        raise ValueError(f"the texts hold {found}: give at least 2, one to train on and one to hold out")
    n = min(max(1, round(held_out * len(different))), len(different) - 1)
    order = np.random.default_rng((seed, _SPLIT)).permutation(len(different))
    chosen = {different[number] for number in order[:n]}
    return [text for text in documents if text not in chosen], [text for text in documents if text in chosen]


def _check_enough(lm, parts, settings, counts):
    """Refuse texts that leave nothing to train on or to ask."""
    train, test = parts
    masking = _masking(lm, settings)
    asked = sum(_held_out_block(test, masking, number)[1].size for number in range(len(test)))
    if not asked:
        n, tokens = (counts["held_out"][name] for name in ("n_documents", "n_tokens"))
        raise ValueError(
            f"too little text: not one token is hidden in what is held out ({n} documents, {tokens} tokens): "
            "give more texts, or a larger held_out or mask_probability"
        )
    if settings["held_out"] < 1 and np.isin(train.ids, masking.never).all():
        raise ValueError(f"too little text: {lm.name!r} knows no token of the {counts['train']['n_documents']} texts")


def _check_words(lm):
    """Refuse a tokenizer that does not tell which pieces form a word."""
    if lm.tokenizer.is_fast:
        words = lm.tokenizer("one or two", add_special_tokens=False).word_ids()
        if len(set(words)) > 1:
            return
    raise ValueError(
        f"the tokenizer of {lm.name!r} does not tell which pieces form a word: use whole_word_masking=False"
    )


def _blocks(lm, texts, size, whole_words):
    """Put the ids of texts one after the other; drop the few of a last block that would be too short."""
    ids, documents, words = [], [], []
    n_words = 0
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        some = texts[start : start + _TEXTS_AT_ONCE]
        encoded = lm.tokenizer(some, truncation=False, padding=False, verbose=False)
        for number, row in enumerate(encoded["input_ids"]):
            ids.append(np.array(row, dtype=np.int32))
            documents.append(np.full(len(row), start + number, dtype=np.int32))
            if whole_words:
                own = np.array([-1 if word is None else word for word in encoded.word_ids(number)], dtype=np.int64)
                words.append(np.where(own < 0, -1, own + n_words))
                n_words += int(own.max(initial=-1)) + 1
    ids, documents, words = (
        np.concatenate(part) if part else np.zeros(0, dtype=np.int32) for part in (ids, documents, words)
    )
    rest = len(ids) % size
    left_out = rest if rest < _FEWEST_TOKENS and len(ids) > size else 0
    end = len(ids) - left_out
    return Blocks(ids[:end], documents[:end], words[:end] if whole_words else None, size), left_out


def _masking(lm, settings):
    return Masking(
        settings["mask_probability"],
        settings["seed"],
        lm.tokenizer.mask_token_id,
        np.array(lm.tokenizer.all_special_ids),
        len(lm.tokenizer),
    )


def _masked(blocks, masking, number, rng):
    """Hide tokens of a block: its ids as the model sees them, and the places to ask for."""
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


def _held_out_block(blocks, masking, number):
    return _masked(blocks, masking, number, np.random.default_rng((masking.seed, _HELD_OUT, number)))


def _held_out_losses(lm, blocks, masking, numbers, batch_tokens=None, progress=False):
    """Give −log P of each hidden token of some blocks, and the document that it is in."""
    from biaslib import scoring

    requests, documents = [], []
    for number in numbers:
        seen, places = _held_out_block(blocks, masking, number)
        if places.size:
            span = blocks.span(number)
            wanted = tuple((entry,) for entry in blocks.ids[span][places].tolist())
            requests.append(scoring.Request(tuple(seen.tolist()), (), tuple(places.tolist()), wanted))
            documents.append(blocks.documents[span][places])
    answers = scoring.log_probabilities(lm, requests, batch_tokens, progress)
    losses = [-float(values[0]) for answer in answers for values in answer]
    return np.array(losses), np.concatenate(documents) if documents else np.zeros(0, dtype=np.int32)


def _ratio(sums, n, axis=-1):
    return sums.sum(axis=axis) / n.sum(axis=axis)


def _perplexity(loss):
    # An untrained model's may be over what a float holds.
    return math.exp(loss) if loss < 700 else math.inf


class _Epochs:
    """Blocks to train on, and the order they come in: both by (epoch, block), so that a restart finds the same."""

    def __init__(self, blocks, masking):
        self.blocks, self.masking, self.epoch = blocks, masking, 0

    def __len__(self):
        return len(self.blocks)

    def __iter__(self):
        order = np.random.default_rng((self.masking.seed, _ORDER, self.epoch)).permutation(len(self.blocks))
        return iter([(self.epoch, int(number)) for number in order])

    def __getitem__(self, key):
        epoch, number = key
        rng = np.random.default_rng((self.masking.seed, _TRAINED, epoch, number))
        seen, places = _masked(self.blocks, self.masking, number, rng)
        labels = np.full(len(seen), _NOT_ASKED)
        labels[places] = self.blocks.ids[self.blocks.span(number)][places]
        return seen, labels


def _collated(items, padding):
    """Make a batch of blocks, of which the last one of a text is shorter."""
    import torch

    width = max(len(seen) for seen, _ in items)
    batch = {
        "input_ids": np.full((len(items), width), padding),
        "attention_mask": np.zeros((len(items), width), dtype=np.int64),
        "labels": np.full((len(items), width), _NOT_ASKED),
    }
    for row, (seen, labels) in enumerate(items):
        batch["input_ids"][row, : len(seen)] = seen
        batch["attention_mask"][row, : len(seen)] = 1
        batch["labels"][row, : len(seen)] = labels
    return {name: torch.as_tensor(values) for name, values in batch.items()}


def _arguments(lm, settings, work, save_every):
    """Say to transformers' Trainer what to do, and where."""
    from transformers import TrainingArguments

    arguments = TrainingArguments(
        output_dir=str(work),
        num_train_epochs=settings["epochs"],
        per_device_train_batch_size=settings["batch_size"],
        learning_rate=settings["learning_rate"],
        weight_decay=settings["weight_decay"],
        lr_scheduler_type="linear",
        seed=settings["seed"],
        save_strategy="steps",
        save_steps=save_every,
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        log_level="error",
        use_cpu=lm.device.startswith("cpu"),
    )
    if arguments.world_size == 1:
        if lm.device.startswith("cuda") and lm.device != str(arguments.device):
            raise ValueError(
                f"the model is on {lm.device}, but training takes {arguments.device}, the first one that is visible: "
                "load it there, or set CUDA_VISIBLE_DEVICES"
            )
        # Else the Trainer would take every GPU that it sees, and batches as many times larger.
        arguments._n_gpu = min(arguments.n_gpu, 1)
    return arguments


def _train(lm, train, test, settings, arguments, checkpoint, progress):
    """Train a copy of the model; give it, and the seconds that took."""
    from functools import partial

    import torch
    from torch.utils.data import DataLoader
    from transformers import PrinterCallback, Trainer, TrainerCallback

    from biaslib import scoring

    class Callback(_Recorder, TrainerCallback):
        """A recorder that the Trainer calls."""

    class Training(Trainer):
        """A Trainer that takes its batches in an order and with masks that a restart finds again."""

        def get_train_dataloader(self):
            collate = partial(_collated, padding=scoring.pad_id(lm))
            loader = DataLoader(epochs, batch_size=settings["batch_size"], sampler=epochs, collate_fn=collate)
            return self.accelerator.prepare(loader)

        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            """Take the mean over the tokens hidden in a step, in all processes, of which there may be none."""
            rows, places = (inputs["labels"] != _NOT_ASKED).nonzero(as_tuple=True)
            batch = scoring.Batch(inputs["input_ids"], inputs["attention_mask"], rows, places)
            # The head is the dearest part of a small model, and runs at the hidden places alone if it can.
            with scoring.gathering(copied, batch, gathers) if gathers else nullcontext():
                output = model(input_ids=batch.ids, attention_mask=batch.attention_mask)
            logits = output.logits[:, 0] if gathers else output.logits[rows, places]
            total = torch.nn.functional.cross_entropy(logits, inputs["labels"][rows, places], reduction="sum")
            n_tokens = recorder.add(total.item(), len(rows))
            loss = total * arguments.world_size / max(n_tokens, 1)
            return (loss, output) if return_outputs else loss

    model = copy.deepcopy(lm.model).float()
    epochs = _Epochs(train, _masking(lm, settings))
    copied = replace(lm, model=model, device=str(arguments.device), dtype="float32")
    gathers = scoring.traits_of(copied).gathers
    recorder = Callback(copied, test, epochs, arguments, checkpoint, progress)
    trainer = Training(model=model, args=arguments, train_dataset=epochs, callbacks=[recorder])
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=str(checkpoint.folder) if checkpoint else None)
    return model, recorder.seconds()


class Checkpoint(NamedTuple):
    """A complete checkpoint of the Trainer, and what was recorded with it."""

    folder: Path
    record: dict


class _Recorder:
    """Writes losses down, vouches for checkpoints and tells which epoch it is, as the Trainer goes along."""

    def __init__(self, lm, test, epochs, arguments, checkpoint, progress):
        known = checkpoint.record if checkpoint else {"step": -1, "seconds": 0.0, "loss_sum": 0.0, "n_tokens": 0}
        self.lm, self.test, self.epochs, self.arguments, self.progress = lm, test, epochs, arguments, progress
        self.work, self.is_first = Path(arguments.output_dir), arguments.process_index == 0
        self.rows = _rows_until(self.work, known["step"])
        self.seconds_before, self.started = known["seconds"], time.monotonic()
        # A checkpoint knows the sums over all processes: the first one goes on from them.
        self.loss_sum, self.n_tokens = (known[key] * self.is_first for key in ("loss_sum", "n_tokens"))

    def seconds(self):
        """Time spent on what counts: not on steps that were lost when the process was ended."""
        return self.seconds_before + time.monotonic() - self.started

    def add(self, loss_sum, n_tokens):
        """Take down a step of this process; give the number of tokens hidden in the step over all."""
        if not math.isfinite(loss_sum):
            raise ValueError("the loss is not a finite number any more: train with a smaller learning_rate")
        self.loss_sum += loss_sum
        self.n_tokens += n_tokens
        return self._over_all(n_tokens)[0]

    def on_train_begin(self, args, state, control, **kwargs):
        from tqdm import tqdm

        shown = self.progress and self.is_first
        self.bar = tqdm(
            total=state.max_steps, initial=state.global_step, desc=self.lm.name, unit="step", disable=not shown
        )
        if not self.rows:
            self._ask_held_out(0, 0)

    def on_epoch_begin(self, args, state, control, train_dataloader, **kwargs):
        self.epochs.epoch = state.global_step // len(train_dataloader)

    def on_step_end(self, args, state, control, train_dataloader, **kwargs):
        self.bar.update()
        epoch, rest = divmod(state.global_step, len(train_dataloader))
        if rest == 0:
            loss_sum, n_tokens = self._over_all(self.loss_sum, self.n_tokens)
            self._write_down(state.global_step, epoch, "train", loss_sum, n_tokens)
            self.loss_sum, self.n_tokens = 0.0, 0
            self._ask_held_out(state.global_step, epoch)

    def on_save(self, args, state, control, **kwargs):
        """Mark the checkpoint as complete, then delete the one before it."""
        loss_sum, n_tokens = self._over_all(self.loss_sum, self.n_tokens)
        _wait_for_all()
        if not self.is_first:
            return
        folder = self.work / f"checkpoint-{state.global_step}"
        files = {file.name: file.stat().st_size for file in folder.iterdir()}
        record = {"step": state.global_step, "seconds": self.seconds(), "loss_sum": loss_sum, "n_tokens": n_tokens}
        _write(folder / _COMPLETE, _json({**record, "files": files}))
        for other in _checkpoint_folders(self.work):
            if other != folder:
                shutil.rmtree(other)

    def on_train_end(self, args, state, control, **kwargs):
        self.bar.close()

    def _ask_held_out(self, step, epoch):
        share = range(self.arguments.process_index, len(self.test), self.arguments.world_size)
        losses, _ = _held_out_losses(self.lm, self.test, self.epochs.masking, share)
        loss_sum, n_tokens = self._over_all(losses.sum(), len(losses))
        self._write_down(step, epoch, "held_out", loss_sum, n_tokens)

    def _write_down(self, step, epoch, split, loss_sum, n_tokens):
        loss = loss_sum / n_tokens if n_tokens else math.nan
        self.rows.append((step, epoch, split, loss, _perplexity(loss), int(n_tokens)))
        self.bar.set_postfix({split: f"{loss:.3f}"})
        if self.is_first:
            frame = pd.DataFrame(self.rows, columns=TRAINING_COLUMNS)
            _write(self.work / "training.csv", frame.to_csv(index=False, lineterminator="\n"))

    def _over_all(self, *values):
        """Add up what each process has."""
        import torch

        if self.arguments.world_size == 1:
            return values
        summed = torch.tensor(values, dtype=torch.float64, device=self.arguments.device)
        torch.distributed.all_reduce(summed)
        return summed.tolist()


def _rows_until(work, step):
    """Read the losses written down up to a step: later ones will come again."""
    if step < 0:
        return []
    frame = read_training(work)
    return list(frame[frame.step <= step].itertuples(index=False, name=None))


def _work_folder(out):
    return out.with_name(f".{out.name}.training")


def _is_done(out, work, begun, resume):
    """Whether `out` holds the result of the same training; refuse what is in the way."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return False
    if not (out / "training.json").is_file():
        raise FileExistsError(f"{str(out)!r} exists and is no result of a continued training: choose another out")
    if not resume or (work / _BEGUN).is_file():
        return False
    manifest = json.loads((out / "training.json").read_text(encoding="utf-8"))
    was = {
        **manifest["settings"],
        "model": manifest["base"]["fingerprint"],
        "texts": manifest["texts"]["fingerprint"],
        "processes": manifest["processes"],
    }
    _refuse_changes(was, begun, out)
    if manifest["weights"] != _weights_of(out):
        raise ValueError(f"the weights in {str(out)!r} are not those trained there: remove that folder to train anew")
    return True


def _weights_of(folder):
    """Give the SHA-256 of each file of weights."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.safetensors"))}


def _refuse_changes(was, now, place):
    for name, value in now.items():
        if was.get(name) != value:
            raise ValueError(
                f"{name} was {was.get(name)!r} when the training in {str(place)!r} was begun, and is {value!r} now: "
                "give the same, choose another out, or start anew (resume=False)"
            )


def _begin(work, begun, arguments, resume):
    """Make the folder to work in ready; give the checkpoint to go on from, if any, and when and how often begun."""
    place = work / _BEGUN
    known = json.loads(place.read_text(encoding="utf-8")) if resume and place.is_file() else None
    if known:
        _refuse_changes(known["begun"], begun, work)
    start = known["start"] if known else {"started": datetime.now(UTC).isoformat(), "restarts": -1}
    start["restarts"] += 1
    _wait_for_all()
    if arguments.process_index == 0:
        if not known:
            shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True, exist_ok=True)
        _write(place, _json({"begun": begun, "start": start}))
        for folder in _checkpoint_folders(work):
            if _complete(folder) is None:
                shutil.rmtree(folder)
    _wait_for_all()
    found = [checkpoint for folder in _checkpoint_folders(work) if (checkpoint := _complete(folder))]
    return max(found, key=lambda checkpoint: checkpoint.record["step"], default=None), start


def _checkpoint_folders(work):
    return sorted(work.glob("checkpoint-*"))


def _complete(folder):
    """Give a checkpoint whose files are all there in full size, else None: a process may end while it writes one."""
    mark = folder / _COMPLETE
    if not mark.is_file():
        return None
    record = json.loads(mark.read_text(encoding="utf-8"))
    whole = all(
        (folder / name).is_file() and (folder / name).stat().st_size == size for name, size in record["files"].items()
    )
    return Checkpoint(folder, record) if whole else None


def _finish(model, lm, work, out, manifest):
    """Write the result within the folder of work, then move it into place at once."""
    fresh = work / "result"
    shutil.rmtree(fresh, ignore_errors=True)
    # The Trainer changes settings of the model that have nothing to do with its weights.
    model.config = copy.deepcopy(lm.model.config)
    model.eval().save_pretrained(fresh)
    lm.tokenizer.save_pretrained(fresh)
    shutil.copyfile(work / "training.csv", fresh / "training.csv")
    _write(fresh / "training.json", _json({**manifest, "weights": _weights_of(fresh)}))
    if out.exists():
        os.rename(out, work / f"replaced-{time.time_ns()}")
    os.rename(fresh, out)
    shutil.rmtree(work)


def _json(content):
    return json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n"


def _write(path, text):
    """Write beside, then move: a process that ends leaves no half file."""
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(text, encoding="utf-8", newline="")
    os.replace(beside, path)


def _wait_for_all():
    from accelerate import PartialState

    PartialState().wait_for_everyone()


@contextmanager
def _interruption_explained(work):
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note(f"the same call goes on from the last checkpoint in {work}")
        raise


@contextmanager
def _own_randomness():
    """Leave the caller's random numbers as they were: the Trainer seeds all of them."""
    import torch

    python, numpy = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
