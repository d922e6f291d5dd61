"""Continued training of a masked language model on texts of one's own.

The question is that of Felkner, Chang, Jang & May (2022), "Towards WinoQueer: Developing a Benchmark for Anti-Queer
Bias in Large Language Models", QueerInAI workshop at NAACL, §3.1: does training on a community's own words change how a
model speaks of it? The loss is that of Devlin et al. (2019), "BERT: Pre-training of Deep Bidirectional Transformers
for Language Understanding", NAACL 2019, §3.1: the model predicts tokens that are masked.
"""

import os
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from biaslib import scoring
from biaslib._checks import check_count
from biaslib._provenance import data_fingerprint, versions
from biaslib.io.corpora import read_documents
from biaslib.training._blocks import prepare_blocks
from biaslib.training._checkpoints import begin, finish, is_done, wait_for_all, work_folder
from biaslib.training._settings import check_data_settings, check_training_settings
from biaslib.training._trainer import train_copy, training_arguments


def continue_pretraining(
    lm: scoring.MaskedLM,
    texts,
    *,
    out: str | Path,
    epochs: int = 3,
    block_size: int | None = None,
    mask_probability: float = 0.15,
    learning_rate: float = 2e-5,
    weight_decay: float = 0.01,
    batch_size: int = 8,
    held_out: float = 0.1,
    seed: int = 0,
    whole_word_masking: bool = False,
    text_column: str = "text",
    resume: bool = True,
    save_every: int = 500,
    progress: bool = False,
) -> Path:
    """Continue the training of a masked language model, and save it with its losses.

    The documents are concatenated, each with the special tokens that the tokenizer adds, and cut into blocks; a last
    block of fewer than 8 tokens is left out and counted. In each epoch, every token of a block is chosen anew with
    `mask_probability`; of those chosen, 80 % become the mask token, 10 % a random entry of the vocabulary, and 10 %
    stay (Devlin et al. 2019, §3.1). Special tokens, the unknown token among them, are never chosen. Training uses
    AdamW with a linearly decreasing learning rate, gradients clipped at 1, in float32.

    Parameters
    ----------
    lm : MaskedLM
        Left unchanged: a copy is trained, on its device. A model with ``head="new"`` gets a trained head.
    texts : str, Path, or a sequence of these or of texts
        As for `biaslib.io.read_documents`.
    out : str or Path
        Folder of the result. Until training is complete, its checkpoints are in ``.<name>.training`` beside it.
    epochs : int
    block_size : int, optional
        Tokens per block, special tokens included; by default 512 or the model's limit.
    mask_probability, learning_rate, weight_decay : float
    batch_size : int
        Blocks per step and process.
    held_out : float
        Share of the distinct documents that is not trained on; copies of a document stay together.
    seed : int
        Of the split, the order, the masks and the dropout. On a CPU, the same seed and number of threads give the same
        weights.
    whole_word_masking : bool
        Choose words rather than tokens.
    text_column : str
        Of JSON Lines and CSV files.
    resume : bool
        Resume from the last complete checkpoint of the same training, or return its result if it is finished. With
        False, start over; an earlier result is replaced when the new one is complete.
    save_every : int
        Steps between checkpoints.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Path
        The folder, for `biaslib.scoring.load_masked_lm`. Beside the model it holds ``training.csv`` (see
        `read_training`) and ``training.json``: the settings, the base model, and a fingerprint of the texts with their
        counts, but nothing of the texts themselves.

    Raises
    ------
    ValueError
        If a setting is out of range, there are too few texts, or a training with other settings was started in `out`.
    FileNotFoundError
        If a file is missing.
    FileExistsError
        If `out` holds something else.

    Notes
    -----
    ``accelerate launch -m biaslib train …`` distributes the training over processes; each step then takes
    `batch_size` blocks from each of them.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> folder = continue_pretraining(load_masked_lm("demo"), "news.txt", out="trained/news")  # doctest: +SKIP
    >>> load_masked_lm(folder)  # doctest: +SKIP
    """
    settings = check_data_settings(lm, block_size, mask_probability, held_out, seed, whole_word_masking)
    if settings["held_out"] == 1:
        raise ValueError("held_out must be below 1, or nothing is left to train on")
    settings |= check_training_settings(epochs, learning_rate, weight_decay, batch_size)
    out = Path(os.path.abspath(Path(out).expanduser()))
    work = work_folder(out)
    arguments = training_arguments(lm, settings, work, check_count(save_every, "save_every"))
    documents = read_documents(texts, text_column=text_column)
    identity = {"model": lm.fingerprint, "texts": data_fingerprint(documents), "processes": arguments.world_size}
    begun = {**settings, **identity}
    if is_done(out, work, begun, resume):
        return out
    train, test, counts = prepare_blocks(lm, documents, settings)
    checkpoint, start = begin(work, begun, arguments, resume)
    with _interruption_explained(work), scoring.quiet_transformers():
        trained, seconds = train_copy(lm, train, test, settings, arguments, checkpoint, progress)
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
    scoring.release_memory()
    return out


def own_device(device: str = "auto") -> str:
    """Name the device for `biaslib.scoring.load_masked_lm`; under ``accelerate launch``, each process has its own.

    Parameters
    ----------
    device : str
        As for ``load_masked_lm``; anything but ``"auto"`` is returned unchanged.

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
    found = scoring.resolve_device()
    return f"cuda:{os.environ['LOCAL_RANK']}" if found == "cuda" and "LOCAL_RANK" in os.environ else found


@contextmanager
def _interruption_explained(work):
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note(f"run the same call again to resume from the last checkpoint in {work}")
        raise
