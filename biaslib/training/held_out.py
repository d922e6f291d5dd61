"""Losses on the part of a corpus that training holds out."""

import math
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from biaslib import scoring
from biaslib.io.corpora import read_documents
from biaslib.stats.intervals import bootstrap_interval
from biaslib.training._blocks import check_data_settings, held_out_block, make_masking, prepare_blocks


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
        As in `biaslib.scoring.scores`.

    Returns
    -------
    HeldOutLoss

    Raises
    ------
    ValueError
        If a setting is out of range, or the texts are too few.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> found = held_out_loss(load_masked_lm("demo"), "queer_voices_sample", block_size=64, held_out=1)
    >>> round(found.loss, 2), found.n_tokens  # a guess without any knowledge costs ln 30,522 = 10.33
    (3.76, 399)
    """
    settings = check_data_settings(lm, block_size, mask_probability, held_out, seed, whole_word_masking)
    _, blocks, _ = prepare_blocks(lm, read_documents(texts, text_column=text_column), settings)
    losses, documents = losses_of_blocks(
        lm, blocks, make_masking(lm, settings), range(len(blocks)), batch_tokens, progress
    )
    if not np.isfinite(losses).all():
        raise ValueError(f"the output of {lm.name!r} is not a finite number for {(~np.isfinite(losses)).sum()} tokens")
    numbers, place = np.unique(documents, return_inverse=True)
    sums, n = np.bincount(place, weights=losses), np.bincount(place)
    low, high = bootstrap_interval((sums, n), _ratio, seed=settings["seed"], paired=True)
    loss = float(losses.mean())
    by_document = pd.DataFrame({"document": numbers, "loss": sums / n, "n_tokens": n})
    return HeldOutLoss(loss, low, high, perplexity(loss), len(losses), len(numbers), by_document)


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
    places = [folder / "training.csv", work_folder(Path(os.path.abspath(folder))) / "training.csv"]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise FileNotFoundError(f"no training.csv in {str(folder)!r}: give the folder of a continued training")
    # Python's float reads back the last digit, which pandas' own reader may not.
    exact = {"loss": float, "perplexity": float}
    return pd.read_csv(found, dtype={"step": int, "epoch": int, "split": str, "n_tokens": int}, converters=exact)


def losses_of_blocks(lm, blocks, masking, numbers, batch_tokens=None, progress=False):
    """Give −log P of each hidden token of some blocks, and the document that it is in."""
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


def _ratio(sums, n, axis=-1):
    return sums.sum(axis=axis) / n.sum(axis=axis)


def perplexity(loss):
    # An untrained model's may be over what a float holds.
    return math.exp(loss) if loss < 700 else math.inf


def work_folder(out):
    return out.with_name(f".{out.name}.training")
