"""Gender bias in the masked language models of many languages, from parallel text (MBE).

Kaneko, Imankulova, Bollegala & Okazaki (2022), "Gender Bias in Masked Language Models for Multiple Languages", NAACL.
Sentences of the target language whose English originals are about men are compared with those about women, each with
each, weighted by their similarity.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biaslib._checks import check_choice, check_count, check_number
from biaslib.io.gender_words import GENDERS
from biaslib.metrics._pair_sums import (
    count_below,
    largest_total,
    pair_sides,
    per_cent,
    sentence_shares,
    sum_weights,
    sum_weights_above,
)
from biaslib.stats.correlations import CORRELATIONS, correlation
from biaslib.stats.hypothesis_tests import mcnemar
from biaslib.stats.intervals import check_bootstrap, percentile_interval

TEST_UNITS = ("pair", "sentence")
THRESHOLDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_CELLS = ("both", "model_only", "random_only", "neither")
# A share this close to 50 per cent is 50.
_EQUAL_SHARES = 1e-9
_RESAMPLES_AT_ONCE = 256


@dataclass(frozen=True)
class Mbe:
    """Result of `mbe_score`.

    Attributes
    ----------
    score : float
        Per cent of the weight that lies on pairs whose male sentence is preferred; NaN if there is none, see `reason`.
        50 is no preference; above it, the male sentences are preferred.
    n_male, n_female : int
        Number of sentences compared.
    n_pairs : int
        Number of pairs compared.
    ties : int
        Pairs of equal likelihood, which count as not preferring the male sentence.
    weight : str
    min_similarity : float
        NaN if there was no threshold.
    mean_weight : float
        Mean weight of the pairs compared.
    left_out : dict of str to int
        Number of sentences without a usable score or vector, by gender and reason.
    reason : str
        Why there is no score; empty if there is one.
    """

    score: float
    n_male: int
    n_female: int
    n_pairs: int
    ties: int
    weight: str
    min_similarity: float
    mean_weight: float
    left_out: dict[str, int]
    reason: str = ""

    @property
    def n_left_out(self) -> int:
        """Number of sentences left out, of both genders."""
        return sum(self.left_out.values())

    def to_frame(self) -> pd.DataFrame:
        """Return the fields as a frame of one row; what was left out becomes text and a count."""
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
        The four cells: the male side is preferred by model and coin, by only one of them, or by neither.
    n : int
        Their sum.
    p_value : float
        Exact and two-sided; NaN if `n` is 0.
    n_left_out : int
        Number of sentences left out.
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

    def to_frame(self) -> pd.DataFrame:
        """Return the fields as a frame of one row."""
        return pd.DataFrame([asdict(self)])


def mbe_score(
    male_scores: ArrayLike,
    female_scores: ArrayLike,
    male_vectors: ArrayLike,
    female_vectors: ArrayLike,
    *,
    weight: str = "cosine",
    min_similarity: float | None = None,
) -> Mbe:
    r"""Compute the multilingual bias evaluation score (Kaneko et al. 2022, Eq. 2).

    With :math:`A` the likelihood of a sentence and :math:`C` the weight of a pair,

    .. math:: 100 \cdot \frac{\sum_m \sum_f C(T_m, T_f) \; \mathbb 1[A(T_m) > A(T_f)]}{\sum_m \sum_f C(T_m, T_f)}

    Parameters
    ----------
    male_scores, female_scores : array_like, shapes (n,) and (m,)
        Likelihoods; AULA in the paper.
    male_vectors, female_vectors : array_like, shapes (n, d) and (m, d)
        Sentence vectors.
    weight : {"cosine", "dot"}
        The paper's weight is the cosine. Its released code divides dot products by the norms of the whole matrices,
        which cancel: ``"dot"``.
    min_similarity : float, optional
        Leave out pairs with a smaller cosine.

    Returns
    -------
    Mbe

    Raises
    ------
    ValueError
        If shapes do not match, or an option is unknown or out of range.

    Notes
    -----
    A sentence is left out and counted if its score or vector is not finite, or its vector is zero. Negative cosines
    count as negative weights, as in the formula: then the score may be outside 0 to 100, and if the weights do not add
    up to a positive number there is none.

    Without `min_similarity` the score is exact, in O((n + m)·d): a male sentence's weights with all less likely female
    sentences add up to a product with the sum of their vectors. With it, pairs are compared in blocks, in float32 if
    there are many; a pair whose float32 cosine is within 1e-6 of the threshold is decided in float64.

    Examples
    --------
    >>> sides = [-1, -3], [-2], [[1, 0], [0, 10]], [[1, 1]]
    >>> [round(mbe_score(*sides, weight=weight).score, 2) for weight in ("cosine", "dot")]
    [50.0, 9.09]
    """
    pairing = pair_sides(male_scores, female_scores, male_vectors, female_vectors, weight)
    if min_similarity is None:
        return _score_all(pairing)
    return _score_above(pairing, [_check_similarity(min_similarity)])[0]


def mbe_interval(
    male_scores: ArrayLike,
    female_scores: ArrayLike,
    male_vectors: ArrayLike,
    female_vectors: ArrayLike,
    *,
    weight: str = "cosine",
    min_similarity: float | None = None,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """Compute a percentile bootstrap interval of the MBE score.

    Pairs that share a sentence are not independent, so the sentences of each side are resampled, not the pairs.

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
        NaN if a side has fewer than two sentences, or the weights of a resample do not add up to a positive number.

    Raises
    ------
    ValueError
        If shapes do not match, or an option is unknown or out of range.

    Examples
    --------
    >>> sides = [-1, -3, -2], [-2, -4], [[1, 0], [0, 1], [1, 1]], [[1, 1], [2, 1]]
    >>> low, high = mbe_interval(*sides, n_resamples=200)
    >>> low <= mbe_score(*sides).score <= high
    True
    """
    check_bootstrap(seed, n_resamples, confidence)
    threshold = None if min_similarity is None else _check_similarity(min_similarity)
    pairing = pair_sides(male_scores, female_scores, male_vectors, female_vectors, weight)
    if min(len(pairing.male.scores), len(pairing.female.scores)) < 2:
        return math.nan, math.nan
    rng = np.random.default_rng(seed)
    largest = largest_total(pairing.male, pairing.female, weight=weight)
    scores = []
    for start in range(0, n_resamples, _RESAMPLES_AT_ONCE):
        n = min(_RESAMPLES_AT_ONCE, n_resamples - start)
        times = [_draw_counts(rng, len(side.scores), n) for side in (pairing.male, pairing.female)]
        if threshold is None:
            preferred, total = sum_weights(pairing, *times)
        else:
            preferred, total = (sums[0] for sums in sum_weights_above(pairing, [threshold], *times)[:2])
        scores.append(per_cent(preferred, total, largest))
    return percentile_interval(np.concatenate(scores), confidence)


def score_with_interval(
    male_scores: ArrayLike,
    female_scores: ArrayLike,
    male_vectors: ArrayLike,
    female_vectors: ArrayLike,
    *,
    weight: str = "cosine",
    n_resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Compute the MBE score and its bootstrap interval, as one row.

    Parameters
    ----------
    male_scores, female_scores, male_vectors, female_vectors, weight
        As for `mbe_score`.
    n_resamples, seed : int
        As for `mbe_interval`.

    Returns
    -------
    pandas.DataFrame
        The fields of `Mbe` as columns, with ``ci_low`` and ``ci_high`` after ``score``.

    Raises
    ------
    ValueError
        As in `mbe_interval`.

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
    male_scores: ArrayLike,
    female_scores: ArrayLike,
    male_vectors: ArrayLike,
    female_vectors: ArrayLike,
    *,
    weight: str = "cosine",
    thresholds: Iterable[float] = THRESHOLDS,
) -> pd.DataFrame:
    """Compute the MBE score at several least similarities of a pair.

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
        NaN), then one row per threshold, in ascending order.

    Raises
    ------
    ValueError
        If shapes do not match, there is no threshold, or an option is unknown or out of range.

    Examples
    --------
    >>> sides = [-1, -3], [-2], [[1, 0], [0, 10]], [[2, 1]]
    >>> similarity_curve(*sides, thresholds=[0.5])[["score", "n_pairs"]].round(2).values.tolist()
    [[66.67, 2.0], [100.0, 1.0]]
    """
    thresholds = sorted({_check_similarity(threshold) for threshold in thresholds})
    if not thresholds:
        raise ValueError("thresholds is empty; give at least one cosine")
    pairing = pair_sides(male_scores, female_scores, male_vectors, female_vectors, weight)
    results = [_score_all(pairing), *_score_above(pairing, thresholds)]
    frame = pd.concat([result.to_frame() for result in results], ignore_index=True)
    n_all = results[0].n_pairs
    frame["share_of_pairs"] = frame["n_pairs"] / n_all if n_all else math.nan
    return frame[["min_similarity", "score", "n_pairs", "share_of_pairs", "ties", "mean_weight", "reason"]]


def sentence_preferences(
    male_scores: ArrayLike,
    female_scores: ArrayLike,
    male_vectors: ArrayLike,
    female_vectors: ArrayLike,
    *,
    weight: str = "cosine",
    seed: int = 0,
) -> pd.DataFrame:
    """Determine for each sentence which side its pairs prefer, and compare it with the toss of a coin.

    Parameters
    ----------
    male_scores, female_scores, male_vectors, female_vectors, weight
        As for `mbe_score`.
    seed : int
        Seed of the coin, the random predictor.

    Returns
    -------
    pandas.DataFrame
        ``gender place aula share prefers_male random_prefers_male cell``, one row per sentence: its position among the
        sentences of its gender, its likelihood, its own MBE score (over its pairs only), whether that is above 50, what
        the coin says, and the cell of McNemar's table, ``both``, ``model_only``, ``random_only`` or ``neither``.
        Sentences left out, and those whose weights do not add up to a positive number, have no share and no cell ("").

    Raises
    ------
    ValueError
        If shapes do not match, or an option is unknown or out of range.

    Examples
    --------
    >>> sides = [-1, -3], [-2], [[1, 0], [0, 10]], [[1, 1]]
    >>> sentence_preferences(*sides)[["gender", "share", "prefers_male"]].values.tolist()
    [['male', 100.0, True], ['male', 0.0, False], ['female', 50.0, False]]
    """
    check_count(seed, "seed", least=0)
    pairing = pair_sides(male_scores, female_scores, male_vectors, female_vectors, weight)
    sides = []
    for gender, side, scores, own in zip(
        GENDERS, (pairing.male, pairing.female), (male_scores, female_scores), sentence_shares(pairing), strict=True
    ):
        aula = np.asarray(scores, dtype=np.float64)
        shares = np.full(len(aula), np.nan)
        shares[side.places] = own
        sides.append(pd.DataFrame({"gender": gender, "place": np.arange(len(aula)), "aula": aula, "share": shares}))
    frame = pd.concat(sides, ignore_index=True)
    prefers = frame["share"].to_numpy() > 50 + _EQUAL_SHARES
    coin = np.random.default_rng(seed).integers(0, 2, len(frame)).astype(bool)
    cells = np.select([prefers & coin, prefers, coin], _CELLS[:3], _CELLS[3])
    cells = np.where(frame["share"].isna(), "", cells)
    return frame.assign(prefers_male=prefers, random_prefers_male=coin, cell=cells)


def mcnemar_random(
    male_scores: ArrayLike,
    female_scores: ArrayLike,
    male_vectors: ArrayLike,
    female_vectors: ArrayLike,
    *,
    unit: str = "pair",
    weight: str = "cosine",
    seed: int = 0,
) -> McNemarRandom:
    """Test the model's preferences against a random predictor, by McNemar's test.

    Parameters
    ----------
    male_scores, female_scores, male_vectors, female_vectors, weight
        As for `mbe_score`; each pair counts once, whatever its weight.
    unit : {"pair", "sentence"}
        Whether to count pairs, as the score does, or sentences, each once (see `sentence_preferences`).
    seed : int
        Seed of the random predictor, which prefers either side of a pair or sentence by the toss of a coin.

    Returns
    -------
    McNemarRandom

    Raises
    ------
    ValueError
        If shapes do not match, or an option is unknown.

    Notes
    -----
    Pairs share sentences and are not independent: with 20,000 sentences per side there are 400,000,000 of them, and the
    smallest preference is significant. Sentences are fewer, but each is compared with the same others. The interval to
    trust is that of `mbe_interval`.

    The coins of pairs that the model treats alike are drawn together, as binomial counts.

    Examples
    --------
    >>> sides = [-1.0] * 10, [-2.0] * 10, [[1.0, 0.0]] * 10, [[1.0, 1.0]] * 10
    >>> result = mcnemar_random(*sides)
    >>> result.both + result.model_only, result.random_only + result.neither
    (100, 0)
    """
    check_choice(unit, "unit", TEST_UNITS)
    check_count(seed, "seed", least=0)
    if unit == "pair":
        pairing = pair_sides(male_scores, female_scores, male_vectors, female_vectors, weight)
        cells, n_left_out = _cells_of_pairs(pairing, seed), sum(pairing.left_out.values())
    else:
        found = sentence_preferences(male_scores, female_scores, male_vectors, female_vectors, weight=weight, seed=seed)
        cells = found["cell"].value_counts().reindex(_CELLS, fill_value=0).astype(int).to_dict()
        n_left_out = int((found["cell"] == "").sum())
    n = sum(cells.values())
    p_value = mcnemar(cells["model_only"], cells["random_only"]) if n else math.nan
    return McNemarRandom(unit=unit, **cells, n=n, p_value=p_value, n_left_out=n_left_out, seed=seed)


def meta_evaluation(
    scores_a: Mapping[str, float] | pd.Series, scores_b: Mapping[str, float] | pd.Series
) -> pd.DataFrame:
    """Correlate two measures over models.

    Parameters
    ----------
    scores_a, scores_b : mapping or pandas.Series
        From the name of a model to its score.

    Returns
    -------
    pandas.DataFrame
        ``method correlation p_value n n_left_out reason``, for Pearson's and Spearman's correlation; NaN with a reason
        for fewer than three models in common, or if all scores of a measure are equal. n_left_out counts models with a
        score of only one measure.

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
    a, b = (pd.Series(scores, dtype=float) for scores in (scores_a, scores_b))
    for scores in (a, b):
        if scores.index.has_duplicates:
            name = scores.index[scores.index.duplicated()][0]
            raise ValueError(f"model {name!r} has several scores; give one per model")
    every = pd.concat([a, b], axis=1)
    common = every.dropna()
    rows = []
    for method in CORRELATIONS:
        found = correlation(*common.to_numpy().T, method=method)
        row = {"method": method.capitalize(), "correlation": found.correlation, "p_value": found.p_value, "n": found.n}
        rows.append(row | {"n_left_out": len(every) - len(common), "reason": found.reason})
    return pd.DataFrame(rows)


def _check_similarity(value):
    return check_number(value, "min_similarity", least=-1, most=1)


def _score_all(pairing):
    n_male, n_female = len(pairing.male.scores), len(pairing.female.scores)
    below, below_or_equal = count_below(pairing)
    preferred, total = sum_weights(pairing, np.ones((1, n_male)), np.ones((1, n_female)))
    ties = (below_or_equal - below).sum()
    return _result(pairing, preferred[0], total[0], n_male * n_female, ties, math.nan)


def _score_above(pairing, thresholds):
    """Score the pairs at least as similar as each threshold."""
    times = [np.ones((1, len(side.scores))) for side in (pairing.male, pairing.female)]
    sums = zip(thresholds, *sum_weights_above(pairing, thresholds, *times), strict=True)
    return [
        _result(pairing, preferred[0], total[0], n_pairs, ties, threshold)
        for threshold, preferred, total, n_pairs, ties in sums
    ]


def _result(pairing, preferred, total, n_pairs, ties, threshold):
    n_male, n_female = len(pairing.male.scores), len(pairing.female.scores)
    score = float(per_cent(preferred, total, largest_total(pairing.male, pairing.female, weight=pairing.weight)))
    lacking = [gender for gender, n in zip(GENDERS, (n_male, n_female), strict=True) if n == 0]
    reason = ""
    if lacking:
        reason = f"there is no {' and no '.join(lacking)} sentence with a score"
    elif n_pairs == 0:
        reason = "no pair is that similar"
    elif math.isnan(score):
        reason = "the weights of the pairs do not add up to a positive number"
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


def _draw_counts(rng, n, n_resamples):
    """Count how often each of n sentences is drawn, one row per resample."""
    return np.array([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(n_resamples)], dtype=np.float64)


def _cells_of_pairs(pairing, seed):
    """Toss a coin for each pair, and count the cells of McNemar's table."""
    rng = np.random.default_rng(seed)
    n_preferred = int(count_below(pairing)[0].sum())
    n_other = len(pairing.male.scores) * len(pairing.female.scores) - n_preferred
    both, random_only = int(rng.binomial(n_preferred, 0.5)), int(rng.binomial(n_other, 0.5))
    return dict(zip(_CELLS, (both, n_preferred - both, random_only, n_other - random_only), strict=True))
