"""Likelihoods and vectors of sentences about men and about women, as MBE takes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from biaslib import scoring
from biaslib._checks import check_columns, check_count
from biaslib.io.gender_words import GENDERS
from biaslib.metrics.mbe import score_with_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from biaslib.scoring import MaskedLM


def gender_likelihoods(
    lm: MaskedLM,
    sentences: pd.DataFrame,
    *,
    text: str = "target",
    batch_tokens: int | None = None,
    progress: bool = False,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Score sentences and compute their vectors, in one pass over the model.

    Parameters
    ----------
    lm : MaskedLM
    sentences : pandas.DataFrame
        With the column `text` and, for `by_gender`, ``gender``, as `gender_sentences` returns it.
    text : str
        The column to score.
    batch_tokens, progress
        As in `biaslib.scoring`.

    Returns
    -------
    scored : pandas.DataFrame
        The columns of `sentences` with ``aul aula n_tokens n_unknown reason``; the index numbers the rows of `vectors`.
    vectors : numpy.ndarray of float32, shape (n, hidden)

    Raises
    ------
    ValueError
        If the column is missing, or the model has no sentence vectors.

    Examples
    --------
    >>> from biaslib.metrics import gender_sentences
    >>> from biaslib.scoring import load_masked_lm
    >>> pairs = ["She is kind.", "He is old."], ["Sie ist nett.", "Er ist alt."]
    >>> sentences = gender_sentences(*pairs, male_words=["he"], female_words=["she"])
    >>> scored, vectors = gender_likelihoods(load_masked_lm("demo"), sentences, text="english")
    >>> bool((scored["aula"] < 0).all()), vectors.shape
    (True, (2, 128))
    """
    check_columns(sentences, [text], "sentences")
    scores, vectors = scoring.unmasked_likelihood_and_vectors(
        lm, sentences[text].tolist(), batch_tokens=batch_tokens, progress=progress
    )
    scores = scores.drop(columns=["sentence_id", "sentence"])
    kept = sentences.drop(columns=scores.columns, errors="ignore").reset_index(drop=True)
    return pd.concat([kept, scores], axis=1), vectors


def by_gender(
    scored: pd.DataFrame, vectors: ArrayLike, *, score: str = "aula"
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Split scored sentences by gender, in the order in which the measures take them.

    Parameters
    ----------
    scored : pandas.DataFrame
        ``gender`` and `score`. The index says which row of `vectors` belongs to which sentence, so that a subset of the
        rows may be passed.
    vectors : array_like, shape (n, d)
    score : {"aula", "aul"}

    Returns
    -------
    male_scores, female_scores, male_vectors, female_vectors : numpy.ndarray
        For `mbe_score` and related functions: ``mbe_score(*by_gender(scored, vectors))``.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> scored = pd.DataFrame({"gender": ["female", "male"], "aula": [-2.0, -1.0]})
    >>> [side.tolist() for side in by_gender(scored, [[1.0], [3.0]])]
    [[-1.0], [-2.0], [[3.0]], [[1.0]]]
    """
    check_columns(scored, ["gender", score], "scored")
    parts = [scored[scored["gender"] == gender] for gender in GENDERS]
    vectors = np.asarray(vectors)
    return (
        *(part[score].to_numpy(dtype=np.float64) for part in parts),
        *(vectors[part.index.to_numpy(dtype=int)] for part in parts),
    )


def length_matched(scored: pd.DataFrame, seed: int = 0, *, width: int = 1) -> pd.DataFrame:
    """Sample male and female sentences so that both have the same lengths.

    AULA decreases with the length of a sentence; if the sentences of one gender are longer, that alone moves the score.

    Parameters
    ----------
    scored : pandas.DataFrame
        ``gender n_tokens aula``, as `gender_likelihoods` returns it; rows without a score are left out.
    seed : int
    width : int
        Lengths are the same if they fall into the same interval of this many tokens.

    Returns
    -------
    pandas.DataFrame
        Rows of `scored` in their order and with their index, which `by_gender` needs; of each length, as many male as
        female ones.

    Raises
    ------
    ValueError
        If a column is missing, or `width` is not a positive whole number.

    Examples
    --------
    >>> scored = pd.DataFrame({"gender": ["male", "male", "female"], "n_tokens": [5, 9, 5], "aula": [-1, -2, -3]})
    >>> length_matched(scored).index.tolist()
    [0, 2]
    """
    check_columns(scored, ["gender", "n_tokens", "aula"], "scored")
    check_count(width, "width")
    rng = np.random.default_rng(seed)
    usable = scored["aula"].notna().to_numpy() & scored["gender"].isin(GENDERS).to_numpy()
    gender = scored["gender"].to_numpy(dtype=object)
    length = scored["n_tokens"].to_numpy() // width
    kept = []
    for one_length in np.unique(length[usable]):
        places = [np.flatnonzero(usable & (length == one_length) & (gender == one)) for one in GENDERS]
        size = min(map(len, places))
        kept += [rng.choice(of_one, size, replace=False) for of_one in places]
    return scored.iloc[np.sort(np.concatenate(kept)) if kept else []]


def tokenizer_coverage(
    scored: pd.DataFrame,
    vectors: ArrayLike,
    *,
    text: str = "target",
    weight: str = "cosine",
    n_resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure how well a tokenizer covers the language of sentences, with the MBE score on them.

    Parameters
    ----------
    scored, vectors
        From `gender_likelihoods`.
    text : str
        The column that was scored.
    weight, n_resamples, seed
        As for `score_with_interval`.

    Returns
    -------
    pandas.DataFrame
        One row: ``n n_tokens n_unknown share_unknown tokens_per_word`` (words are separated by blanks; in languages
        without blanks, a sentence is one word), and the columns of `score_with_interval`.

    Raises
    ------
    ValueError
        If a column is missing, or an option is unknown or out of range.

    Examples
    --------
    >>> rows = [("Er lief.", "male", -1.0, 4, 1), ("Sie lief.", "female", -2.0, 4, 0)]
    >>> scored = pd.DataFrame(rows, columns=["target", "gender", "aula", "n_tokens", "n_unknown"]).assign(reason="")
    >>> tokenizer_coverage(scored, [[1.0], [1.0]])[["share_unknown", "tokens_per_word", "score"]].values.tolist()
    [[0.125, 2.0, 100.0]]
    """
    check_columns(scored, [text, "n_tokens", "n_unknown", "reason"], "scored")
    read = scored[scored["reason"] == ""]
    n_tokens, n_unknown = int(read["n_tokens"].sum()), int(read["n_unknown"].sum())
    n_words = int(read[text].str.split().str.len().sum())
    row = {"n": len(read), "n_tokens": n_tokens, "n_unknown": n_unknown}
    row["share_unknown"] = n_unknown / n_tokens if n_tokens else math.nan
    row["tokens_per_word"] = n_tokens / n_words if n_words else math.nan
    options = {"weight": weight, "n_resamples": n_resamples, "seed": seed}
    score = score_with_interval(*by_gender(scored, vectors), **options)
    return pd.concat([pd.DataFrame([row]), score], axis=1)
