"""Gender bias in the masked language models of many languages, from parallel text (MBE).

The measure of Kaneko, Imankulova, Bollegala & Okazaki (2022), "Gender Bias in Masked Language Models for Multiple
Languages", NAACL: sentences of the target language whose English originals are about men are set against those about
women, every one against every other, weighted by how alike the two are.
"""

import math
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from biaslib.parallel_text import (
    GENDERS,
    balance,
    count_labels,
    gender_sentences,
    label_gender,
    read_gender_words,
    read_parallel,
    taken,
)
from biaslib.scoring import unmasked_likelihood_and_vectors
from biaslib.statistics import mcnemar
from biaslib.target_words import (
    LANGUAGES,
    find_genders,
    read_retention_words,
    replace_names,
    retention,
    with_native_names,
)

__all__ = [
    "GENDERS",
    "LANGUAGES",
    "Mbe",
    "McNemarRandom",
    "balance",
    "by_gender",
    "count_labels",
    "find_genders",
    "gender_likelihoods",
    "gender_sentences",
    "label_gender",
    "length_matched",
    "match_sources",
    "mbe_interval",
    "mbe_score",
    "mcnemar_random",
    "meta_evaluation",
    "reach",
    "read_gender_words",
    "read_parallel",
    "read_retention_words",
    "replace_names",
    "retention",
    "score_with_interval",
    "sentence_preferences",
    "similarity_curve",
    "taken",
    "with_native_names",
    "word_sentences",
]

WEIGHTS = ("cosine", "dot")
_PRONOUNS = ("he", "him", "his", "himself", "she", "her", "hers", "herself")
UNITS = ("pair", "sentence")
THRESHOLDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)

NO_WEIGHT = "the weights of the pairs add up to no positive number"
# Sentences whose pairs are compared one by one; between blocks sums are enough.
_BLOCK = 256
# Similarities held at once (float32: 40 MB).
_PAIRS_AT_ONCE = 10_000_000
# Multiplications up to which similarities are computed in float64.
_EXACT_BELOW = 2**31
# A float32 similarity this near the threshold is computed again in float64; below the second size it is rounding.
_NEAR, _EQUAL = 1e-6, 1e-12
# A share this near to 50 per cent is 50.
_EQUAL_SHARES = 1e-9
_DIMENSIONS_AT_ONCE = 64
_RESAMPLES_AT_ONCE = 256


@dataclass(frozen=True)
class Mbe:
    """Result of `mbe_score`.

    Attributes
    ----------
    score : float
        Per cent of the weight that lies on pairs whose male sentence is preferred; NaN where there is none, see
        `reason`. 50 is no preference, above it the male sentences are preferred.
    n_male, n_female : int
        Sentences compared.
    n_pairs : int
        Pairs compared.
    ties : int
        Pairs of equal likelihood, which count as not preferring the male sentence.
    weight : str
    min_similarity : float
        NaN where there was no threshold.
    mean_weight : float
        Over the pairs compared.
    left_out : dict of str to int
        Sentences without a usable score or vector, by gender and reason.
    reason : str
        Why there is no score; empty where there is one.
    """

    score: float
    n_male: int
    n_female: int
    n_pairs: int
    ties: int
    weight: str
    min_similarity: float
    mean_weight: float
    left_out: dict
    reason: str = ""

    @property
    def n_left_out(self):
        """Count the sentences left out of both genders."""
        return sum(self.left_out.values())

    def to_frame(self):
        """Give the fields as a frame of one row; what was left out becomes text and a count."""
        left_out = "; ".join(f"{what}: {n}" for what, n in self.left_out.items())
        return pd.DataFrame([asdict(self) | {"left_out": left_out, "n_left_out": self.n_left_out}])


@dataclass(frozen=True)
class McNemarRandom:
    """Result of `mcnemar_random`.

    Attributes
    ----------
    unit : str
        What was counted, ``"pair"`` or ``"sentence"``.
    both, model_only, random_only, neither : int
        The four cells: where the model, the coin, both or neither prefer the male side.
    n : int
        Their sum.
    p_value : float
        Exact and two-sided; NaN without any unit.
    n_left_out : int
        Sentences left out.
    seed : int
    """

    unit: str
    both: int
    model_only: int
    random_only: int
    neither: int
    n: int
    p_value: float
    n_left_out: int
    seed: int

    def to_frame(self):
        """Give the fields as a frame of one row."""
        return pd.DataFrame([asdict(self)])


def gender_likelihoods(lm, sentences, *, text="target", batch_tokens=None, progress=False):
    """Score sentences and give their vectors, in one pass over the model.

    Parameters
    ----------
    lm : MaskedLM
    sentences : pandas.DataFrame
        With `text` and, for `by_gender`, ``gender``, as `gender_sentences` gives it.
    text : str
        The column to score.
    batch_tokens, progress
        As in `biaslib.scoring`.

    Returns
    -------
    scored : pandas.DataFrame
        The columns of `sentences` with ``aul aula n_tokens n_unknown reason``; the index counts the rows of `vectors`.
    vectors : numpy.ndarray of float32, shape (n, hidden)

    Raises
    ------
    ValueError
        If the column is missing, or the model gives no sentence vectors.

    Examples
    --------
    >>> from biaslib.models import load_masked_lm
    >>> pairs = ["She is kind.", "He is old."], ["Sie ist nett.", "Er ist alt."]
    >>> sentences = gender_sentences(*pairs, male_words=["he"], female_words=["she"])
    >>> scored, vectors = gender_likelihoods(load_masked_lm("demo"), sentences, text="english")
    >>> bool((scored["aula"] < 0).all()), vectors.shape
    (True, (2, 128))
    """
    if text not in sentences:
        raise ValueError(f"the sentences lack the column {text!r}")
    scores, vectors = unmasked_likelihood_and_vectors(
        lm, sentences[text].tolist(), batch_tokens=batch_tokens, progress=progress
    )
    scores = scores.drop(columns=["sentence_id", "sentence"])
    kept = sentences.drop(columns=scores.columns, errors="ignore").reset_index(drop=True)
    return pd.concat([kept, scores], axis=1), vectors


def by_gender(scored, vectors, *, score="aula"):
    """Part scored sentences by gender, in the order in which the measures take them.

    Parameters
    ----------
    scored : pandas.DataFrame
        ``gender`` and `score`; its index says which row of `vectors` is whose, so that some of the rows may be given.
    vectors : array_like, shape (n, d)
    score : {"aula", "aul"}

    Returns
    -------
    male_scores, female_scores, male_vectors, female_vectors : numpy.ndarray
        For `mbe_score` and its kin: ``mbe_score(*by_gender(scored, vectors))``.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    missing = [column for column in ("gender", score) if column not in scored]
    if missing:
        raise ValueError(f"the scored sentences lack the column(s) {', '.join(missing)}")
    parts = [scored[scored["gender"] == gender] for gender in GENDERS]
    vectors = np.asarray(vectors)
    return (
        *(part[score].to_numpy(dtype=np.float64) for part in parts),
        *(vectors[part.index.to_numpy(dtype=int)] for part in parts),
    )


def mbe_score(male_scores, female_scores, male_vectors, female_vectors, *, weight="cosine", min_similarity=None):
    r"""Compute the multilingual bias evaluation score (Kaneko et al. 2022, Eq. 2).

    With :math:`A` the likelihood of a sentence and :math:`C` the weight of a pair,

    .. math:: 100 \cdot \frac{\sum_m \sum_f C(T_m, T_f) \; \mathbb 1[A(T_m) > A(T_f)]}{\sum_m \sum_f C(T_m, T_f)}

    Parameters
    ----------
    male_scores, female_scores : array_like, shapes (n,) and (m,)
        Likelihoods, the paper's being AULA.
    male_vectors, female_vectors : array_like, shapes (n, d) and (m, d)
        Sentence vectors.
    weight : {"cosine", "dot"}
        The paper's weight is the cosine. Its released code divides dot products by the norms of the whole matrices,
        which cancel: ``"dot"``.
    min_similarity : float, optional
        Leave out pairs whose cosine is below it.

    Returns
    -------
    Mbe

    Raises
    ------
    ValueError
        If shapes do not fit, or an option is unknown or out of range.

    Notes
    -----
    A sentence is left out and counted if its score or vector is not finite, or its vector is zero. Negative cosines
    count as in the formula, as negative weight: then the score may leave 0 to 100, and where the weights do not add up
    to a positive number there is none.

    Without `min_similarity` the score is exact, in O((n + m)·d): a male sentence's weights against all female sentences
    below it add up to a product with their sum. With it, pairs are compared in blocks, in float32 if there are many;
    a pair whose float32 cosine is within 1e-6 of the threshold is decided in float64.

    Examples
    --------
    >>> sides = [-1, -3], [-2], [[1, 0], [0, 10]], [[1, 1]]
    >>> [round(mbe_score(*sides, weight=weight).score, 2) for weight in ("cosine", "dot")]
    [50.0, 9.09]
    """
    pairing = _pairing(male_scores, female_scores, male_vectors, female_vectors, weight)
    if min_similarity is None:
        return _plain(pairing)
    return _above(pairing, [_check_similarity(min_similarity)])[0]


def mbe_interval(
    male_scores,
    female_scores,
    male_vectors,
    female_vectors,
    *,
    weight="cosine",
    min_similarity=None,
    n_resamples=1000,
    confidence=0.95,
    seed=0,
):
    """Give a bootstrap interval of the MBE score, over the sentences of both sides.

    Pairs that share a sentence are not independent; sentences are drawn anew instead, of each side as many as there
    are.

    Parameters
    ----------
    male_scores, female_scores, male_vectors, female_vectors, weight, min_similarity
        As for `mbe_score`.
    n_resamples : int
    confidence : float
        Between 0 and 1.
    seed : int

    Returns
    -------
    low, high : float
        Percentiles; NaN if a side has fewer than two sentences, or the weights of a draw add up to no positive number.

    Raises
    ------
    ValueError
        If shapes do not fit, or an option is unknown or out of range.

    Examples
    --------
    >>> sides = [-1, -3, -2], [-2, -4], [[1, 0], [0, 1], [1, 1]], [[1, 1], [2, 1]]
    >>> low, high = mbe_interval(*sides, n_resamples=200)
    >>> low <= mbe_score(*sides).score <= high
    True
    """
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, int | np.integer) or n_resamples < 1:
        raise ValueError(f"n_resamples has to be a whole number from 1 up, not {n_resamples!r}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence has to lie between 0 and 1, not {confidence!r}")
    threshold = None if min_similarity is None else _check_similarity(min_similarity)
    pairing = _pairing(male_scores, female_scores, male_vectors, female_vectors, weight)
    if min(len(pairing.male.scores), len(pairing.female.scores)) < 2:
        return math.nan, math.nan
    rng = np.random.default_rng(seed)
    largest = _largest_total(pairing.male, pairing.female, weight=weight)
    drawn = []
    for start in range(0, n_resamples, _RESAMPLES_AT_ONCE):
        n_draws = min(_RESAMPLES_AT_ONCE, n_resamples - start)
        times = [_times_drawn(rng, len(side.scores), n_draws) for side in (pairing.male, pairing.female)]
        if threshold is None:
            preferred, total = _sums(pairing, *times)
        else:
            preferred, total = (sums[0] for sums in _sums_above(pairing, [threshold], *times)[:2])
        drawn.append(_per_cent(preferred, total, largest))
    drawn = np.concatenate(drawn)
    if np.isnan(drawn).any():
        return math.nan, math.nan
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def score_with_interval(
    male_scores, female_scores, male_vectors, female_vectors, *, weight="cosine", n_resamples=1000, seed=0
):
    """Give the MBE score and its bootstrap interval as one row.

    Parameters
    ----------
    male_scores, female_scores, male_vectors, female_vectors, weight
        As for `mbe_score`.
    n_resamples, seed : int
        As for `mbe_interval`.

    Returns
    -------
    pandas.DataFrame
        The fields of `Mbe` as columns, ``ci_low`` and ``ci_high`` after ``score``.

    Examples
    --------
    >>> row = score_with_interval([-1, -3], [-2], [(1, 0), (0, 10)], [(1, 1)], n_resamples=100)
    >>> row["score"].round(2).tolist()
    [50.0]
    """
    sides = (male_scores, female_scores, male_vectors, female_vectors)
    frame = mbe_score(*sides, weight=weight).to_frame()
    low, high = mbe_interval(*sides, weight=weight, n_resamples=n_resamples, seed=seed)
    frame.insert(frame.columns.get_loc("score") + 1, "ci_low", low)
    frame.insert(frame.columns.get_loc("score") + 2, "ci_high", high)
    return frame


def reach(scored, vectors, *, text="target", weight="cosine", n_resamples=1000, seed=0):
    """Say how far a tokenizer reaches in the language of sentences, beside what MBE comes to on them.

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
        One row: ``n n_tokens n_unknown share_unknown tokens_per_word`` (words are what stands between blanks: in
        languages without blanks, a sentence), and the columns of `score_with_interval`.
    """
    usable = scored[scored["reason"] == ""]
    n_tokens, n_unknown = int(usable["n_tokens"].sum()), int(usable["n_unknown"].sum())
    n_words = int(usable[text].str.split().str.len().sum())
    row = {"n": len(usable), "n_tokens": n_tokens, "n_unknown": n_unknown}
    row["share_unknown"] = n_unknown / n_tokens if n_tokens else math.nan
    row["tokens_per_word"] = n_tokens / n_words if n_words else math.nan
    options = {"weight": weight, "n_resamples": n_resamples, "seed": seed}
    score = score_with_interval(*by_gender(scored, vectors), **options)
    return pd.concat([pd.DataFrame([row]), score], axis=1)


def word_sentences(gender_words, template="{word}"):
    """Make sentences of nothing but gender words, the simpler material that the study compares with (§5.2).

    Parameters
    ----------
    gender_words : pandas.DataFrame
        ``gender word kind``, as `read_gender_words` gives it.
    template : str
        With ``{word}``; pronouns are left out unless the word stands alone, and a noun gets *the*.

    Returns
    -------
    pandas.DataFrame
        ``english target gender word``, both texts the same.

    Examples
    --------
    >>> words = pd.DataFrame({"gender": ["male", "female"], "word": ["king", "she"], "kind": ["role", "pronoun"]})
    >>> word_sentences(words, "We saw {word} yesterday.")["target"].tolist()
    ['We saw the king yesterday.']
    """
    frame, alone = gender_words, template == "{word}"
    if not alone:
        frame = frame[frame["kind"] != "pronoun"]
    written = [word if alone or kind == "name" else f"the {word}" for word, kind in frame[["word", "kind"]].to_numpy()]
    sentences = [template.replace("{word}", word) for word in written]
    return pd.DataFrame(
        {"english": sentences, "target": sentences, "gender": frame["gender"].tolist(), "word": frame["word"].tolist()}
    )


def match_sources(models, sources, languages):
    """Give each model its parallel text and the code of that text's other language.

    Parameters
    ----------
    models, sources, languages : sequence of str
        One source and one language for all models, or one each.

    Returns
    -------
    pandas.DataFrame
        ``model source language``.

    Raises
    ------
    ValueError
        If their numbers do not go together, a model is given twice, or one source is given two languages.

    Examples
    --------
    >>> match_sources(["a", "b"], ["talks", "news"], ["de"])["source"].tolist()
    ['talks', 'news']
    """
    columns = {"model": list(models)}
    if len(set(models)) < len(columns["model"]):
        raise ValueError("a model is given twice: give each once, and its other texts in a run of their own")
    for name, given in (("source", sources), ("language", languages)):
        if len(given) not in (1, len(models)):
            raise ValueError(f"{len(given)} {name}s for {len(models)} models: give one for all, or one each")
        columns[name] = list(given) * (len(models) if len(given) == 1 else 1)
    frame = pd.DataFrame(columns)
    several = frame.groupby("source")["language"].nunique()
    if (several > 1).any():
        raise ValueError(f"source {several.index[several > 1][0]!r} is given two languages: give each source one")
    return frame


def similarity_curve(
    male_scores, female_scores, male_vectors, female_vectors, *, weight="cosine", thresholds=THRESHOLDS
):
    """Show how the MBE score moves when dissimilar pairs are left out.

    Parameters
    ----------
    male_scores, female_scores, male_vectors, female_vectors, weight
        As for `mbe_score`.
    thresholds : sequence of float
        Least cosines of a pair.

    Returns
    -------
    pandas.DataFrame
        ``min_similarity score n_pairs share_of_pairs ties mean_weight reason``: first all pairs (`min_similarity` is
        NaN), then a row a threshold, in rising order.

    Raises
    ------
    ValueError
        If shapes do not fit, or an option is unknown or out of range.

    Examples
    --------
    >>> sides = [-1, -3], [-2], [[1, 0], [0, 10]], [[2, 1]]
    >>> similarity_curve(*sides, thresholds=[0.5])[["score", "n_pairs"]].round(2).values.tolist()
    [[66.67, 2.0], [100.0, 1.0]]
    """
    thresholds = sorted({_check_similarity(threshold) for threshold in thresholds})
    if not thresholds:
        raise ValueError("thresholds is empty: give at least one cosine")
    pairing = _pairing(male_scores, female_scores, male_vectors, female_vectors, weight)
    results = [_plain(pairing), *_above(pairing, thresholds)]
    frame = pd.concat([result.to_frame() for result in results], ignore_index=True)
    n_all = results[0].n_pairs
    frame["share_of_pairs"] = frame["n_pairs"] / n_all if n_all else math.nan
    return frame[["min_similarity", "score", "n_pairs", "share_of_pairs", "ties", "mean_weight", "reason"]]


def length_matched(scored, seed=0, *, width=1):
    """Sample male and female sentences so that both have the same lengths.

    AULA falls with the length of a sentence; where one gender's sentences are longer, that alone moves the score.

    Parameters
    ----------
    scored : pandas.DataFrame
        ``gender n_tokens aula``, as `gender_likelihoods` gives it; rows without a score are left out.
    seed : int
    width : int
        Lengths are the same if they fall into the same interval of so many tokens.

    Returns
    -------
    pandas.DataFrame
        Rows of `scored` in their order, with their index, which `by_gender` needs: of each length as many male as
        female ones.

    Raises
    ------
    ValueError
        If a column is missing, or `width` is no positive whole number.

    Examples
    --------
    >>> scored = pd.DataFrame({"gender": ["male", "male", "female"], "n_tokens": [5, 9, 5], "aula": [-1, -2, -3]})
    >>> length_matched(scored).index.tolist()
    [0, 2]
    """
    missing = [column for column in ("gender", "n_tokens", "aula") if column not in scored]
    if missing:
        raise ValueError(f"the scored sentences lack the column(s) {', '.join(missing)}")
    if isinstance(width, bool) or not isinstance(width, int | np.integer) or width < 1:
        raise ValueError(f"width has to be a whole number from 1 up, not {width!r}")
    rng = np.random.default_rng(seed)
    usable = scored["aula"].notna().to_numpy() & scored["gender"].isin(GENDERS).to_numpy()
    gender = scored["gender"].to_numpy(dtype=object)
    length = scored["n_tokens"].to_numpy() // width
    kept = []
    for of_length in np.unique(length[usable]):
        places = [np.flatnonzero(usable & (length == of_length) & (gender == one)) for one in GENDERS]
        size = min(map(len, places))
        kept += [rng.choice(of_one, size, replace=False) for of_one in places]
    return scored.iloc[np.sort(np.concatenate(kept)) if kept else []]


def sentence_preferences(male_scores, female_scores, male_vectors, female_vectors, *, weight="cosine", seed=0):
    """Tell for each sentence which side its pairs prefer, and set it beside a coin.

    Parameters
    ----------
    male_scores, female_scores, male_vectors, female_vectors, weight
        As for `mbe_score`.
    seed : int
        Of the coin, the random predictor.

    Returns
    -------
    pandas.DataFrame
        ``gender place aula share prefers_male random_prefers_male cell``: the place of a sentence among those given of
        its gender; its own MBE score, that over its pairs alone; whether that is above 50; what the coin says; and the
        cell of McNemar's table, ``both``, ``model_only``, ``random_only`` or ``neither``. Sentences left out, and those
        whose weights add up to no positive number, have no share and no cell ("").

    Raises
    ------
    ValueError
        If shapes do not fit, or the weight is unknown.
    """
    pairing = _pairing(male_scores, female_scores, male_vectors, female_vectors, weight)
    n_given = np.array([len(male_scores), len(female_scores)])
    shares = np.full(n_given.sum(), np.nan)
    for side, start, values in zip((pairing.male, pairing.female), (0, n_given[0]), _shares(pairing), strict=True):
        shares[start + side.places] = values
    coin = np.random.default_rng(seed).integers(0, 2, len(shares)).astype(bool)
    prefers = shares > 50 + _EQUAL_SHARES
    cells = np.select([prefers & coin, prefers, coin], ["both", "model_only", "random_only"], "neither")
    return pd.DataFrame(
        {
            "gender": np.repeat(np.array(GENDERS, dtype=object), n_given),
            "place": np.concatenate([np.arange(n) for n in n_given]),
            "aula": np.concatenate([np.asarray(scores, dtype=np.float64) for scores in (male_scores, female_scores)]),
            "share": shares,
            "prefers_male": prefers,
            "random_prefers_male": coin,
            "cell": np.where(np.isnan(shares), "", cells),
        }
    )


def mcnemar_random(male_scores, female_scores, male_vectors, female_vectors, *, unit="pair", weight="cosine", seed=0):
    """Test the model's preferences against a random predictor, by McNemar's test.

    Parameters
    ----------
    male_scores, female_scores, male_vectors, female_vectors, weight
        As for `mbe_score`; pairs count once each, whatever their weight.
    unit : {"pair", "sentence"}
        Count pairs, as the score does, or sentences, each once (see `sentence_preferences`).
    seed : int
        Of the random predictor, which prefers either side of a pair or sentence by the flip of a coin.

    Returns
    -------
    McNemarRandom

    Raises
    ------
    ValueError
        If shapes do not fit, or an option is unknown.

    Notes
    -----
    Pairs share sentences and are not independent: with 20,000 sentences a side, there are 400,000,000 of them and
    the smallest preference is significant. Sentences are fewer, yet each is compared with the same others. The interval
    to trust is that of `mbe_interval`.

    The coins of pairs that the model treats alike are drawn together, as binomial counts.

    Examples
    --------
    >>> sides = [-1.0] * 10, [-2.0] * 10, [[1.0, 0.0]] * 10, [[1.0, 1.0]] * 10
    >>> result = mcnemar_random(*sides)
    >>> result.both + result.model_only, result.random_only + result.neither
    (100, 0)
    """
    if unit not in UNITS:
        raise ValueError(f"unit {unit!r} is unknown; known: {', '.join(UNITS)}")
    if unit == "pair":
        pairing = _pairing(male_scores, female_scores, male_vectors, female_vectors, weight)
        rng = np.random.default_rng(seed)
        below, _ = _ranks(pairing)
        n_male = int(below.sum())
        n_other = len(pairing.male.scores) * len(pairing.female.scores) - n_male
        both, random_only = int(rng.binomial(n_male, 0.5)), int(rng.binomial(n_other, 0.5))
        cells = {"both": both, "model_only": n_male - both}
        cells |= {"random_only": random_only, "neither": n_other - random_only}
        n_left_out = sum(pairing.left_out.values())
    else:
        found = sentence_preferences(male_scores, female_scores, male_vectors, female_vectors, weight=weight, seed=seed)
        names = ["both", "model_only", "random_only", "neither"]
        cells = found["cell"].value_counts().reindex(names, fill_value=0).astype(int).to_dict()
        n_left_out = int((found["cell"] == "").sum())
    n = sum(cells.values())
    p_value = mcnemar(cells["model_only"], cells["random_only"]) if n else math.nan
    return McNemarRandom(unit=unit, **cells, n=n, p_value=p_value, n_left_out=n_left_out, seed=seed)


def meta_evaluation(scores_a, scores_b):
    """Correlate two measures over models.

    Parameters
    ----------
    scores_a, scores_b : mapping or pandas.Series
        From a model's name to its score.

    Returns
    -------
    pandas.DataFrame
        ``method correlation p_value n n_left_out reason``, for Pearson's and Spearman's correlation; NaN, with the
        reason, with fewer than three models in common or where all scores of a measure are equal. Left out are models
        that only one of the two has a score of.

    Raises
    ------
    ValueError
        If a model is named twice.

    Examples
    --------
    >>> meta_evaluation({"a": 51, "b": 55, "c": 53}, {"a": 60, "b": 66, "c": 64})[["method", "correlation", "n"]]
         method  correlation  n
    0   Pearson     0.981981  3
    1  Spearman     1.000000  3
    """
    from scipy import stats

    a, b = (pd.Series(scores, dtype=float) for scores in (scores_a, scores_b))
    for scores in (a, b):
        if scores.index.has_duplicates:
            raise ValueError(f"{scores.index[scores.index.duplicated()][0]!r} has several scores: give one a model")
    both = pd.concat([a, b], axis=1)
    common = both.dropna()
    n_left_out = len(both) - len(common)
    a, b = common.to_numpy().T
    reason = "fewer than 3 models have both scores" if len(common) < 3 else ""
    if not reason and min(np.ptp(a), np.ptp(b)) == 0:
        reason = "all scores of a measure are equal"
    rows = []
    for method, correlate in (("Pearson", stats.pearsonr), ("Spearman", stats.spearmanr)):
        value, p_value = (math.nan, math.nan) if reason else map(float, correlate(a, b))
        rows.append((method, value, p_value, len(common), n_left_out, reason))
    return pd.DataFrame(rows, columns=["method", "correlation", "p_value", "n", "n_left_out", "reason"])


class _Side(NamedTuple):
    """The usable sentences of one gender: their scores, vectors, the vectors' norms, and places among those given."""

    scores: np.ndarray
    vectors: np.ndarray
    norms: np.ndarray
    places: np.ndarray


class _Pairing(NamedTuple):
    male: _Side
    female: _Side
    weight: str
    left_out: dict


def _pairing(male_scores, female_scores, male_vectors, female_vectors, weight):
    if weight not in WEIGHTS:
        raise ValueError(f"weight {weight!r} is unknown; known: {', '.join(WEIGHTS)}")
    left_out: dict = {}
    sides = [
        _side(gender, scores, vectors, left_out)
        for gender, scores, vectors in zip(
            GENDERS, (male_scores, female_scores), (male_vectors, female_vectors), strict=True
        )
    ]
    wide = [side.vectors.shape[1] for side in sides if len(side.vectors)] or [0]
    if len(set(wide)) > 1:
        raise ValueError(f"male and female vectors have {wide[0]} and {wide[1]} dimensions: take one model's")
    sides = [side if len(side.vectors) else side._replace(vectors=np.zeros((0, wide[0]))) for side in sides]
    return _Pairing(*sides, weight, left_out)


def _side(gender, scores, vectors, left_out):
    scores, vectors = np.asarray(scores, dtype=np.float64), np.asarray(vectors)
    vectors = vectors if vectors.dtype == np.float32 else vectors.astype(np.float64)
    if scores.size == vectors.size == 0:
        vectors = vectors.reshape(0, vectors.shape[1] if vectors.ndim == 2 else 0)
    if scores.ndim != 1 or vectors.ndim != 2 or len(scores) != len(vectors):
        raise ValueError(
            f"{gender}_scores need one row of numbers and {gender}_vectors a row for each, "
            f"not shapes {scores.shape} and {vectors.shape}"
        )
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    why = np.select(
        [~np.isfinite(scores), ~np.isfinite(norms), norms == 0], ["no score", "no vector", "zero vector"], ""
    )
    for reason in ("no score", "no vector", "zero vector"):
        if count := int((why == reason).sum()):
            left_out[f"{gender}: {reason}"] = count
    places = np.flatnonzero(why == "")
    if len(places) < len(scores):
        scores, vectors, norms = scores[places], vectors[places], norms[places]
    return _Side(scores, vectors, norms, places)


def _check_similarity(value):
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not -1 <= value <= 1:
        raise ValueError(f"min_similarity has to be a cosine, from -1 to 1, not {value!r}")
    return float(value)


def _per_cent(preferred, total, largest):
    """Give shares; none where weights that could add up to `largest` cancel out, or more than that."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > _EQUAL * largest, 100 * (preferred / total), np.nan)


def _largest_total(*sides, weight):
    """Bound the sum of the weights of all pairs of some sentences."""
    return math.prod(len(side.norms) if weight == "cosine" else float(side.norms.sum()) for side in sides)


def _ranks(pairing):
    """Count for each male sentence the female ones below it, and those below or equal."""
    female = np.sort(pairing.female.scores)
    return (np.searchsorted(female, pairing.male.scores, side=side) for side in ("left", "right"))


def _result(pairing, preferred, total, n_pairs, ties, threshold):
    n_male, n_female = len(pairing.male.scores), len(pairing.female.scores)
    largest = _largest_total(pairing.male, pairing.female, weight=pairing.weight)
    score = float(_per_cent(preferred, total, largest))
    lacking = [gender for gender, n in zip(GENDERS, (n_male, n_female), strict=True) if n == 0]
    reason = ""
    if lacking:
        reason = f"there is no {' and no '.join(lacking)} sentence with a score"
    elif n_pairs == 0:
        reason = "no pair is as similar as that"
    elif math.isnan(score):
        reason = NO_WEIGHT
    return Mbe(
        score=score,
        n_male=n_male,
        n_female=n_female,
        n_pairs=int(n_pairs),
        ties=int(ties),
        weight=pairing.weight,
        min_similarity=threshold,
        mean_weight=float(total / n_pairs) if n_pairs else math.nan,
        left_out=pairing.left_out,
        reason=reason,
    )


def _plain(pairing):
    n_male, n_female = len(pairing.male.scores), len(pairing.female.scores)
    below, below_or_equal = _ranks(pairing)
    preferred, total = _sums(pairing, np.ones((1, n_male)), np.ones((1, n_female)))
    ties = (below_or_equal - below).sum()
    return _result(pairing, preferred[0], total[0], n_male * n_female, ties, math.nan)


def _above(pairing, thresholds):
    times = [np.ones((1, len(side.scores))) for side in (pairing.male, pairing.female)]
    preferred, total, n_pairs, ties = _sums_above(pairing, thresholds, *times)
    return [
        _result(pairing, preferred[n, 0], total[n, 0], n_pairs[n], ties[n], threshold)
        for n, threshold in enumerate(thresholds)
    ]


def _weighted(pairing, side, rows=slice(None), columns=slice(None)):
    """Give vectors such that the weight of a pair is a dot product, in float64."""
    vectors = side.vectors[rows][:, columns].astype(np.float64)
    return vectors / side.norms[rows, None] if pairing.weight == "cosine" else vectors


def _sums(pairing, male_times, female_times):
    """Add up the weights of pairs, all and those whose male sentence is preferred.

    `male_times` and `female_times`, of shapes (draws, n) and (draws, m), say how often each sentence counts in each
    draw. All sentences are gone through from the least likely up, in blocks: against earlier blocks a sum of vectors
    stands for all the sentences in it, and only within a block pairs are looked at.
    """
    male, female = pairing.male, pairing.female
    n_male, n_draws = len(male.scores), len(male_times)
    is_female = np.arange(n_male + len(female.scores)) >= n_male
    # At equal scores male ones come first, so that no female one of that score is below them.
    order = np.lexsort((is_female, np.concatenate([male.scores, female.scores])))
    preferred, other = np.zeros((2, n_draws))
    men_before, women_before = np.zeros((2, n_draws, male.vectors.shape[1]))
    for start in range(0, len(order), _BLOCK):
        block = order[start : start + _BLOCK]
        of_female = is_female[block]
        men, women = block[~of_female], block[of_female] - n_male
        above = np.flatnonzero(~of_female)[:, None] > np.flatnonzero(of_female)
        male_vectors, female_vectors = _weighted(pairing, male, men), _weighted(pairing, female, women)
        male_sum, female_sum = male_times[:, men] @ male_vectors, female_times[:, women] @ female_vectors
        preferred += (male_sum * women_before).sum(1)
        other += (female_sum * men_before).sum(1)
        within = male_vectors @ female_vectors.T
        preferred += ((male_times[:, men] @ (within * above)) * female_times[:, women]).sum(1)
        other += ((male_times[:, men] @ (within * ~above)) * female_times[:, women]).sum(1)
        men_before += male_sum
        women_before += female_sum
    # From the two parts, so that a preference without exception is 100 to the last digit.
    return preferred, preferred + other


def _sums_above(pairing, thresholds, male_times, female_times):
    """Add up weights as `_sums` does, of pairs at least as similar as each threshold, and count pairs and ties."""
    male, female = pairing.male, pairing.female
    preferred, total = np.zeros((2, len(thresholds), len(male_times)))
    n_pairs, ties = np.zeros((2, len(thresholds)), dtype=np.int64)
    if not len(male.scores) or not len(female.scores):
        return preferred, total, n_pairs, ties
    exact = len(male.scores) * len(female.scores) * male.vectors.shape[1] <= _EXACT_BELOW
    dtype = np.float64 if exact else np.float32
    men, women = (np.argsort(side.scores, kind="stable") for side in (male, female))
    male, female = _in_order(male, men), _in_order(female, women)
    male_times, female_times = male_times[:, men].astype(dtype), female_times[:, women]
    below, below_or_equal = (np.searchsorted(female.scores, male.scores, side=side) for side in ("left", "right"))
    units = [_unit(side, dtype) for side in (male, female)]
    step = max(1, _PAIRS_AT_ONCE // len(female.scores))
    # The same memory for every block: getting it anew would take longer than filling it.
    buffers = np.empty((2, min(step, len(male.scores)), len(female.scores)), dtype)
    for start in range(0, len(male.scores), step):
        rows = slice(start, start + step)
        cosines, kept = buffers[:, : len(male.scores[rows])]
        np.matmul(units[0][rows], units[1].T, out=cosines)
        for n, threshold in enumerate(thresholds):
            keep = _similar(cosines, threshold, _in_order(male, rows), female, exact)
            np.multiply(cosines, keep, out=kept)
            if pairing.weight == "dot":
                kept *= male.norms[rows, None].astype(dtype)
                kept *= female.norms.astype(dtype)
            n_pairs[n] += np.count_nonzero(keep)
            total[n] += ((male_times[:, rows] @ kept) * female_times).sum(1)
            for row, (first, last) in enumerate(zip(below[rows], below_or_equal[rows], strict=True)):
                ties[n] += np.count_nonzero(keep[row, first:last])
                kept[row, first:] = 0
            preferred[n] += ((male_times[:, rows] @ kept) * female_times).sum(1)
    return preferred, total, n_pairs, ties


def _in_order(side, order):
    return _Side(*(part[order] for part in side))


def _unit(side, dtype):
    return (side.vectors / side.norms[:, None].astype(dtype)).astype(dtype, copy=False)


def _similar(cosines, threshold, male, female, exact):
    """Tell which pairs reach the threshold, deciding close calls in float64."""
    if exact:
        return cosines >= threshold - _EQUAL
    keep = cosines >= threshold + _NEAR
    at_least_near = cosines >= threshold - _NEAR
    if np.count_nonzero(keep) == np.count_nonzero(at_least_near):
        return keep
    rows, columns = np.nonzero(at_least_near ^ keep)
    for start in range(0, len(rows), _BLOCK):
        row, column = rows[start : start + _BLOCK], columns[start : start + _BLOCK]
        one, other = (
            side.vectors[places].astype(np.float64) / side.norms[places, None]
            for side, places in ((male, row), (female, column))
        )
        keep[row, column] = np.einsum("ij,ij->i", one, other) >= threshold - _EQUAL
    return keep


def _shares(pairing):
    """Give each sentence's own score, over its pairs alone, for male and for female sentences."""
    male, female = pairing.male, pairing.female
    below, _ = _ranks(pairing)
    above = len(male.scores) - np.searchsorted(np.sort(male.scores), female.scores, side="right")
    rising, falling = np.argsort(female.scores, kind="stable"), np.argsort(-male.scores, kind="stable")
    preferred, total = ([np.zeros(len(side.scores)) for side in (male, female)] for _ in range(2))
    for start in range(0, male.vectors.shape[1], _DIMENSIONS_AT_ONCE):
        some = slice(start, start + _DIMENSIONS_AT_ONCE)
        ours, others = (_weighted(pairing, side, columns=some) for side in (male, female))
        preferred[0] += (ours * _running_sums(others[rising])[below]).sum(1)
        preferred[1] += (others * _running_sums(ours[falling])[above]).sum(1)
        total[0] += ours @ others.sum(0)
        total[1] += others @ ours.sum(0)
    largest = [_largest_total(other, weight=pairing.weight) for other in (female, male)]
    if pairing.weight == "dot":
        largest = [of_others * side.norms for of_others, side in zip(largest, (male, female), strict=True)]
    return [_per_cent(*of_side) for of_side in zip(preferred, total, largest, strict=True)]


def _running_sums(vectors):
    """Sum up rows: the n-th is the sum of the first n, from none to all."""
    return np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors, axis=0)])


def _times_drawn(rng, n, n_draws):
    """Draw n of n sentences, n_draws times, and count how often each was drawn."""
    return np.array([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(n_draws)], dtype=np.float64)
