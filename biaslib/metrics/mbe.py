"""Gender bias in the masked language models of many languages, from parallel text (MBE).

The measure of Kaneko, Imankulova, Bollegala & Okazaki (2022), "Gender Bias in Masked Language Models for Multiple
Languages", NAACL: sentences of the target language whose English originals are about men are set against those about
women, every one against every other, weighted by how alike the two are.
"""

import math
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from biaslib.io.gender_words import GENDERS
from biaslib.metrics._pair_sums import (
    above,
    largest_total,
    pair_sides,
    per_cent,
    ranks,
    result,
    sentence_shares,
    sum_weights,
    sum_weights_above,
)
from biaslib.stats.hypothesis_tests import mcnemar

_PRONOUNS = ("he", "him", "his", "himself", "she", "her", "hers", "herself")
TEST_UNITS = ("pair", "sentence")
THRESHOLDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
# A share this near to 50 per cent is 50.
_EQUAL_SHARES = 1e-9
_RESAMPLES_AT_ONCE = 256


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
    pairing = pair_sides(male_scores, female_scores, male_vectors, female_vectors, weight)
    if min_similarity is None:
        return _plain(pairing)
    return above(pairing, [_check_similarity(min_similarity)])[0]


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
    pairing = pair_sides(male_scores, female_scores, male_vectors, female_vectors, weight)
    if min(len(pairing.male.scores), len(pairing.female.scores)) < 2:
        return math.nan, math.nan
    rng = np.random.default_rng(seed)
    largest = largest_total(pairing.male, pairing.female, weight=weight)
    drawn = []
    for start in range(0, n_resamples, _RESAMPLES_AT_ONCE):
        n_draws = min(_RESAMPLES_AT_ONCE, n_resamples - start)
        times = [_times_drawn(rng, len(side.scores), n_draws) for side in (pairing.male, pairing.female)]
        if threshold is None:
            preferred, total = sum_weights(pairing, *times)
        else:
            preferred, total = (sums[0] for sums in sum_weights_above(pairing, [threshold], *times)[:2])
        drawn.append(per_cent(preferred, total, largest))
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
    pairing = pair_sides(male_scores, female_scores, male_vectors, female_vectors, weight)
    results = [_plain(pairing), *above(pairing, thresholds)]
    frame = pd.concat([result.to_frame() for result in results], ignore_index=True)
    n_all = results[0].n_pairs
    frame["share_of_pairs"] = frame["n_pairs"] / n_all if n_all else math.nan
    return frame[["min_similarity", "score", "n_pairs", "share_of_pairs", "ties", "mean_weight", "reason"]]


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
    pairing = pair_sides(male_scores, female_scores, male_vectors, female_vectors, weight)
    n_given = np.array([len(male_scores), len(female_scores)])
    shares = np.full(n_given.sum(), np.nan)
    for side, start, values in zip(
        (pairing.male, pairing.female), (0, n_given[0]), sentence_shares(pairing), strict=True
    ):
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
    if unit not in TEST_UNITS:
        raise ValueError(f"unit {unit!r} is unknown; known: {', '.join(TEST_UNITS)}")
    if unit == "pair":
        pairing = pair_sides(male_scores, female_scores, male_vectors, female_vectors, weight)
        rng = np.random.default_rng(seed)
        below, _ = ranks(pairing)
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


def _check_similarity(value):
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not -1 <= value <= 1:
        raise ValueError(f"min_similarity has to be a cosine, from -1 to 1, not {value!r}")
    return float(value)


def _plain(pairing):
    n_male, n_female = len(pairing.male.scores), len(pairing.female.scores)
    below, below_or_equal = ranks(pairing)
    preferred, total = sum_weights(pairing, np.ones((1, n_male)), np.ones((1, n_female)))
    ties = (below_or_equal - below).sum()
    return result(pairing, preferred[0], total[0], n_male * n_female, ties, math.nan)


def _times_drawn(rng, n, n_draws):
    """Draw n of n sentences, n_draws times, and count how often each was drawn."""
    return np.array([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(n_draws)], dtype=np.float64)
