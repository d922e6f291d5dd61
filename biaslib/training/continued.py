"""Train a masked language model further on texts of one's own, and say what it lost or gained on a part held out.

The question is that of Felkner, Chang, Jang & May (2022), "Towards WinoQueer: Developing a Benchmark for Anti-Queer
Bias in Large Language Models", QueerInAI workshop at NAACL, §3.1: does training on a community's own words change how a
model speaks of it? The loss is that of Devlin et al. (2019), "BERT: Pre-training of Deep Bidirectional Transformers
for Language Understanding", NAACL 2019, §3.1: some tokens are hidden, and the model is to tell which they were.
"""

import copy
import json
import os
import random
import re
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from biaslib import scoring
from biaslib._provenance import data_fingerprint, versions
from biaslib.io.corpora import read_documents
from biaslib.scoring.models import load_masked_lm, quiet_transformers, release_memory, resolve_device
from biaslib.training._blocks import (
    NOT_ASKED,
    ORDER,
    TRAINED,
    at_least_one,
    check_data_settings,
    check_range,
    collated,
    make_masking,
    mask_block,
    prepare_blocks,
)
from biaslib.training._checkpoints import Recorder, begin, finish, is_done, wait_for_all
from biaslib.training.held_out import work_folder

OFF_THE_SHELF = "off the shelf"


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
        The folder, for :func:`biaslib.scoring.load_masked_lm`. Beside the model it holds ``training.csv`` (see
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
    >>> from biaslib.scoring import load_masked_lm
    >>> folder = continue_pretraining(load_masked_lm("demo"), "news.txt", out="trained/news")  # doctest: +SKIP
    >>> load_masked_lm(folder)  # doctest: +SKIP
    """
    settings = check_data_settings(lm, block_size, mask_probability, held_out, seed, whole_word_masking)
    if settings["held_out"] == 1:
        raise ValueError("held_out is 1: take a share below, or nothing is left to train on")
    settings |= {
        "epochs": at_least_one(epochs, "epochs"),
        "learning_rate": check_range(learning_rate, "learning_rate", above=0),
        "weight_decay": check_range(weight_decay, "weight_decay"),
        "batch_size": at_least_one(batch_size, "batch_size"),
    }
    out = Path(os.path.abspath(Path(out).expanduser()))
    work = work_folder(out)
    arguments = _arguments(lm, settings, work, at_least_one(save_every, "save_every"))
    documents = read_documents(texts, text_column=text_column)
    identity = {"model": lm.fingerprint, "texts": data_fingerprint(documents), "processes": arguments.world_size}
    begun = {**settings, **identity}
    if is_done(out, work, begun, resume):
        return out
    train, test, counts = prepare_blocks(lm, documents, settings)
    checkpoint, start = begin(work, begun, arguments, resume)
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
            finish(trained, lm, work, out, manifest)
        wait_for_all()
    del trained
    release_memory()
    return out


def train_each(models, corpora, *, out, device="auto", head="keep", progress=False, **settings) -> pd.DataFrame:
    """Train each model on each of several corpora, one apart from the other.

    Parameters
    ----------
    models : sequence of str
        What :func:`biaslib.scoring.load_masked_lm` takes as a name.
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
            documents = read_documents(texts, text_column=settings.get("text_column", "text"))
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


def read_fingerprint(texts, *, text_column="text") -> str:
    """Give the fingerprint of texts that a training's manifest has, without keeping the texts."""
    return data_fingerprint(read_documents(texts, text_column=text_column))


def own_device(device="auto") -> str:
    """Name the device for :func:`biaslib.scoring.load_masked_lm`: with ``accelerate launch``, each process has its own.

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


class _Epochs:
    """Blocks to train on, and the order they come in: both by (epoch, block), so that a restart finds the same."""

    def __init__(self, blocks, masking):
        self.blocks, self.masking, self.epoch = blocks, masking, 0

    def __len__(self):
        return len(self.blocks)

    def __iter__(self):
        order = np.random.default_rng((self.masking.seed, ORDER, self.epoch)).permutation(len(self.blocks))
        return iter([(self.epoch, int(number)) for number in order])

    def __getitem__(self, key):
        epoch, number = key
        rng = np.random.default_rng((self.masking.seed, TRAINED, epoch, number))
        seen, places = mask_block(self.blocks, self.masking, number, rng)
        labels = np.full(len(seen), NOT_ASKED)
        labels[places] = self.blocks.ids[self.blocks.span(number)][places]
        return seen, labels


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

    class Callback(Recorder, TrainerCallback):
        """A recorder that the Trainer calls."""

    class Training(Trainer):
        """A Trainer that takes its batches in an order and with masks that a restart finds again."""

        def get_train_dataloader(self):
            collate = partial(collated, padding=scoring.pad_id(lm))
            loader = DataLoader(epochs, batch_size=settings["batch_size"], sampler=epochs, collate_fn=collate)
            return self.accelerator.prepare(loader)

        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            """Take the mean over the tokens hidden in a step, in all processes, of which there may be none."""
            rows, places = (inputs["labels"] != NOT_ASKED).nonzero(as_tuple=True)
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
    epochs = _Epochs(train, make_masking(lm, settings))
    copied = replace(lm, model=model, device=str(arguments.device), dtype="float32")
    gathers = scoring.traits_of(copied).gathers
    recorder = Callback(copied, test, epochs, arguments, checkpoint, progress)
    trainer = Training(model=model, args=arguments, train_dataset=epochs, callbacks=[recorder])
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=str(checkpoint.folder) if checkpoint else None)
    return model, recorder.seconds()


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
