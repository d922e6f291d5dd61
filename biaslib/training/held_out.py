"""How well a model predicts the masked tokens of the documents that training holds out."""

import math
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from biaslib import scoring
from biaslib.io.corpora import read_documents
from biaslib.stats.intervals import bootstrap_interval
from biaslib.training._blocks import prepare_blocks
from biaslib.training._checkpoints import work_folder
from biaslib.training._masking import held_out_block, make_masking
from biaslib.training._settings import check_data_settings


@dataclass(frozen=True)
class HeldOutLoss:
    """Result of `held_out_loss`.

    Attributes
    ----------
    loss : float
        Mean of −log P(token | block) over the masked tokens, natural logarithm.
    ci_low, ci_high : float
        95 % percentile bootstrap interval over documents; NaN for a single one.
    perplexity : float
        exp(loss); comparable only between models with the same vocabulary.
    n_tokens, n_documents : int
        Masked tokens, and the documents they are in.
    by_document : pandas.DataFrame
        ``document loss n_tokens``: the mean loss of each document, for paired comparisons of two models.
    """

    loss: float
    ci_low: float
    ci_high: float
    perplexity: float
    n_tokens: int
    n_documents: int
    by_document: pd.DataFrame = field(repr=False, compare=False)

    def to_frame(self) -> pd.DataFrame:
        """Return the fields but ``by_document`` as a frame of one row."""
        return pd.DataFrame([{name: value for name, value in vars(self).items() if name != "by_document"}])


def held_out_loss(
    lm: scoring.MaskedLM,
    texts,
    *,
    held_out: float = 0.1,
    block_size: int | None = None,
    mask_probability: float = 0.15,
    whole_word_masking: bool = False,
    seed: int = 0,
    text_column: str = "text",
    batch_tokens: int | None = None,
    progress: bool = False,
) -> HeldOutLoss:
    """Compute the loss of a model on the documents that training with the same settings holds out.

    The documents held out and the tokens masked in them depend only on the texts, the seed and the tokenizer, so a
    model before and after training is asked the same.

    Parameters
    ----------
    lm : MaskedLM
    texts, text_column
        As for `biaslib.io.read_documents`.
    held_out : float
        As for `continue_pretraining`; with 1, all documents are used.
    block_size, mask_probability, whole_word_masking, seed
        As for `continue_pretraining`.
    batch_tokens, progress
        As in `biaslib.scoring`.

    Returns
    -------
    HeldOutLoss

    Raises
    ------
    ValueError
        If a setting is out of range, there are too few texts, or the model's output is not finite.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> found = held_out_loss(load_masked_lm("demo"), "queer_voices_sample", block_size=64, held_out=1)
    >>> round(found.loss, 2), found.n_tokens  # uniform guessing would cost ln 30,522 = 10.33
    (3.76, 399)
    """
    settings = check_data_settings(lm, block_size, mask_probability, held_out, seed, whole_word_masking)
    _, blocks, _ = prepare_blocks(lm, read_documents(texts, text_column=text_column), settings)
    masking = make_masking(lm, settings)
    losses, documents = losses_of_blocks(lm, blocks, masking, range(len(blocks)), batch_tokens, progress)
    if not np.isfinite(losses).all():
        raise ValueError(f"the output of {lm.name!r} is not finite for {(~np.isfinite(losses)).sum()} tokens")
    numbers, place = np.unique(documents, return_inverse=True)
    sums, n = np.bincount(place, weights=losses), np.bincount(place)
    low, high = bootstrap_interval((sums, n), _ratio, seed=settings["seed"], paired=True)
    loss = float(losses.mean())
    by_document = pd.DataFrame({"document": numbers, "loss": sums / n, "n_tokens": n})
    return HeldOutLoss(loss, low, high, perplexity(loss), len(losses), len(numbers), by_document)


def held_out_losses(lm: scoring.MaskedLM, corpora: dict, **options) -> pd.DataFrame:
    """Compute the loss of a model on the held-out part of several corpora.

    Parameters
    ----------
    lm : MaskedLM
    corpora : mapping of str to texts
        The texts of each corpus, by its name.
    **options
        Of `held_out_loss`.

    Returns
    -------
    pandas.DataFrame
        ``corpus loss ci_low ci_high perplexity n_tokens n_documents``, one row per corpus.
    """
    losses = {name: held_out_loss(lm, texts, **options).to_frame() for name, texts in corpora.items()}
    return pd.concat(losses, names=["corpus", None]).reset_index("corpus").reset_index(drop=True)


def read_training(folder: str | Path) -> pd.DataFrame:
    """Read the losses of a training, finished or not.

    Parameters
    ----------
    folder : str or Path
        The `out` of `continue_pretraining`.

    Returns
    -------
    pandas.DataFrame
        ``step epoch split loss perplexity n_tokens``. Rows with ``split`` ``"held_out"`` are the loss before training
        (step 0) and after each epoch, always on the same masked tokens; rows with ``"train"`` are the mean over the
        tokens masked in the epoch, computed while the model was training, with dropout.

    Raises
    ------
    FileNotFoundError
        If no training was started there.

    Examples
    --------
    >>> losses = read_training("trained/news")  # doctest: +SKIP
    >>> losses[losses.split == "held_out"].plot(x="epoch", y="loss")  # doctest: +SKIP
    """
    folder = Path(folder).expanduser()
    places = [folder / "training.csv", work_folder(Path(os.path.abspath(folder))) / "training.csv"]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise FileNotFoundError(f"no training.csv in {str(folder)!r}; give the folder of a continued training")
    # Python's float restores the last digit, which pandas' own parser may not.
    exact = {"loss": float, "perplexity": float}
    return pd.read_csv(found, dtype={"step": int, "epoch": int, "split": str, "n_tokens": int}, converters=exact)


def losses_of_blocks(lm, blocks, masking, numbers, batch_tokens=None, progress=False):
    """Return −log P of each masked token of some blocks, and the document it is in."""
    requests, documents = [], []
    for number in numbers:
        seen, places = held_out_block(blocks, masking, number)
        if places.size:
            span = blocks.span(number)
            wanted = tuple((entry,) for entry in blocks.ids[span][places].tolist())
            requests.append(scoring.Request(tuple(seen.tolist()), (), tuple(places.tolist()), wanted))
            documents.append(blocks.documents[span][places])
    answers = scoring.log_probabilities(lm, requests, batch_tokens, progress)
    losses = [-float(values[0]) for answer in answers for values in answer]
    return np.array(losses), np.concatenate(documents) if documents else np.zeros(0, dtype=np.int32)


def perplexity(loss):
    # The exponential of an untrained model's loss may overflow.
    return math.exp(loss) if loss < 700 else math.inf


def _ratio(sums, n, axis=-1):
    return sums.sum(axis=axis) / n.sum(axis=axis)
