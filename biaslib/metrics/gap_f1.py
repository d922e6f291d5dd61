"""F1 of answers about GAP's pronouns, and whether she is resolved as well as he.

Webster, Recasens, Axelrod & Baldridge (2018), "Mind the GAP: A Balanced Corpus of Gendered Ambiguous Pronouns",
TACL 6, 605–617.
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from biaslib._checks import check_columns, listed
from biaslib.io.gap import FLAGS, read_flags
from biaslib.metrics._coreference_differences import (
    check_conditions,
    difference_row,
    divide,
    precision_recall_f1,
    with_holm,
)
from biaslib.stats.hypothesis_tests import compare_group_counts, compare_paired_counts, mcnemar
from biaslib.stats.intervals import bootstrap_sums

PRONOUN_GENDER = dict.fromkeys(("she", "her", "hers"), "feminine") | dict.fromkeys(("he", "him", "his"), "masculine")
GROUPS = ("all", "masculine", "feminine")
BIAS_GROUP = "feminine / masculine"
GAP_SCORE_COLUMNS = ["measure", "group", "value", "ci_low", "ci_high", "p_value", "n", "n_left_out"]
GAP_SCORE_COLUMNS += ["duplicates", "precision", "recall", "n_named", "reason"]


@dataclass(frozen=True)
class GapScores:
    """Result of `gap_scores`.

    Attributes
    ----------
    table : pandas.DataFrame
        ``group precision recall f1 ci_low ci_high n n_left_out tp fp fn tn`` for all pronouns and by gender, in per
        cent, with the interval of F1; NaN for a gender without pronouns. n_left_out counts pronouns without an answer.
    bias : float or None
        F1 of feminine over F1 of masculine pronouns; None if either is 0 or has no pronoun.
    bias_low, bias_high : float
        NaN if there is no interval.
    p_value : float
        Two-sided permutation p value for no difference in F1 between the genders.
    reason : str
        Why there is no bias or no interval of it; "" if there are both.
    n_named : int
        Number of names that were given as the pronoun's antecedent.
    n : int
        Number of pronouns.
    missing : tuple of str
        Pronouns without an answer, which count as two false negatives each.
    duplicates : tuple of str
        Pronouns that occur more than once in the gold or in the predictions; the first counts.
    unknown : tuple of str
        Pronouns in the predictions that are not in the gold; they are ignored.
    """

    table: pd.DataFrame
    bias: float | None
    bias_low: float
    bias_high: float
    p_value: float
    reason: str
    n_named: int
    n: int
    missing: tuple[str, ...]
    duplicates: tuple[str, ...]
    unknown: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return F1 and bias as rows.

        The columns are ``measure group value ci_low ci_high p_value n n_left_out duplicates precision recall n_named
        reason``; n_left_out counts pronouns without an answer, which count as two false negatives each.
        """
        f1 = self.table.rename(columns={"f1": "value"}).assign(measure="GAP F1", p_value=math.nan, reason="")
        f1["n_named"] = f1["tp"] + f1["fp"]
        bias = {"measure": "GAP bias", "group": BIAS_GROUP, "n": self.n, "n_named": self.n_named}
        bias |= {"value": self.bias, "ci_low": self.bias_low, "ci_high": self.bias_high}
        bias |= {"p_value": self.p_value, "reason": self.reason, "n_left_out": len(self.missing)}
        frame = pd.concat([f1, pd.DataFrame([bias]).astype({"value": float})], ignore_index=True)
        return frame.assign(duplicates=len(self.duplicates))[GAP_SCORE_COLUMNS]


def gap_scores(
    gold: pd.DataFrame,
    predictions: pd.DataFrame,
    *,
    seed: int = 0,
    n_resamples: int = 2000,
    n_permutations: int = 9999,
    confidence: float = 0.95,
) -> GapScores:
    """Score answers about GAP's pronouns as its official scorer does (Webster et al. 2018, §4).

    Every pronoun has two booleans, one per name. Precision, recall and F1 = 2PR/(P + R) are computed over these, in
    per cent.

    Parameters
    ----------
    gold : pandas.DataFrame
        At least ``ID Pronoun A-coref B-coref``, as `biaslib.io.read_gap` returns it.
    predictions : pandas.DataFrame
        ``ID A-coref B-coref``: booleans or the texts TRUE and FALSE in any case; a missing value is no answer.
    seed, n_resamples, n_permutations, confidence
        Options of the bootstrap over pronouns and of the permutation test.

    Returns
    -------
    GapScores

    Raises
    ------
    ValueError
        If a column is missing, there are no rows, a flag is not a boolean, or a pronoun is neither feminine nor
        masculine.

    Warns
    -----
    UserWarning
        If predictions are about pronouns that are not in the gold, pronouns have no row in the predictions, or
        pronouns occur more than once in the gold.

    Notes
    -----
    A pronoun without a prediction counts as two false negatives even if both names are wrong, as in the official
    scorer: omitting a row never pays.

    Examples
    --------
    >>> gold = pd.DataFrame({"ID": ["1", "2", "3"], "Pronoun": ["she", "he", "her"],
    ...                      "A-coref": [True, False, False], "B-coref": [False, True, False]})
    >>> scores = gap_scores(gold, pd.DataFrame({"ID": ["1", "3"], "A-coref": True, "B-coref": False}))
    >>> scores.table[["group", "f1", "tp", "fp", "fn", "tn"]].round(1).values.tolist()
    [['all', 40.0, 1, 1, 2, 2], ['masculine', 0.0, 0, 0, 2, 0], ['feminine', 66.7, 1, 1, 0, 2]]
    >>> scores.bias is None, scores.missing
    (True, ('2',))
    """
    gold, gold_twice = _gold_rows(gold)
    _warn_of_duplicates(gold_twice)
    counts, notes = _gap_counts(gold, predictions)
    if notes["unknown"]:
        message = f"predictions about pronouns that are not in the gold are ignored: {_named(notes['unknown'])}"
        warnings.warn(message, stacklevel=2)
    if notes["absent"]:
        message = f"{len(notes['absent'])} of {len(gold)} pronouns have no row in the predictions and count as two "
        warnings.warn(f"{message}false negatives each: {_named(notes['absent'])}", stacklevel=2)
    options = {"seed": seed, "n_resamples": n_resamples, "confidence": confidence}
    missing = gold["ID"].isin(notes["missing"]).to_numpy()
    members = _members(gold)
    rows = [_group_row(group, counts[own], int(missing[own].sum()), options) for group, own in members.items()]
    by_gender = _by_gender(gold, counts)
    bias = float(_bias(*by_gender.sum(axis=0)))
    low, high, reason = _bias_interval(by_gender, bias, options)
    permutations = {"n_permutations": n_permutations, "seed": seed}
    return GapScores(
        table=pd.DataFrame(rows),
        bias=None if math.isnan(bias) else bias,
        bias_low=low,
        bias_high=high,
        p_value=compare_group_counts(counts[:, :3], members["feminine"], _f1, **permutations),
        reason=reason,
        n_named=int(counts[:, :2].sum()),
        n=len(gold),
        missing=tuple(notes["missing"]),
        duplicates=tuple(dict.fromkeys([*gold_twice, *notes["duplicates"]])),
        unknown=tuple(notes["unknown"]),
    )


def chance_f1(gold: pd.DataFrame) -> dict[str, float]:
    """Compute the F1 of choosing one of the two names at random, from the expected counts, in per cent.

    Of n pronouns for which k names are meant, n are named and n/2 · k/n hit: F1 = k/(n + k).

    Parameters
    ----------
    gold : pandas.DataFrame
        As for `gap_scores`.

    Returns
    -------
    dict of str to float
        For all, masculine and feminine pronouns; NaN for a gender without pronouns.

    Raises
    ------
    ValueError
        As in `gap_scores`.

    Examples
    --------
    >>> from biaslib.io import read_gap
    >>> chance_f1(read_gap("gap_sample"))["all"]
    40.0
    """
    gold, _ = _gold_rows(gold)
    meant = gold[list(FLAGS)].sum(axis=1).to_numpy(dtype=float)
    return {
        group: float(100 * divide(meant[own].sum(), own.sum() + meant[own].sum(), nothing=math.nan))
        for group, own in _members(gold).items()
    }


def compare_gap(
    gold: pd.DataFrame,
    conditions: Mapping[str, pd.DataFrame],
    *,
    seed: int = 0,
    n_resamples: int = 2000,
    n_permutations: int = 9999,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Test, pair by pair, whether conditions (models, corpora) differ in how well they resolve GAP's pronouns.

    Parameters
    ----------
    gold : pandas.DataFrame
        As for `gap_scores`.
    conditions : mapping of str to pandas.DataFrame
        The predictions of each condition, as for `gap_scores`.
    seed, n_resamples, n_permutations, confidence
        Options of the bootstrap over pronouns (the same ones are drawn for both conditions) and of the permutation
        test.

    Returns
    -------
    pandas.DataFrame
        ``first second measure group value_first value_second difference ci_low ci_high only_first only_second p_value
        p_holm n``: for each pair of conditions, F1 of all, masculine and feminine pronouns, and the bias. `difference`
        is second − first. ``only_first`` and ``only_second`` count the pronouns for which both answers were right in
        one condition only; ``p_value`` is McNemar's exact test of these. In rows of the bias it is that of the
        difference between F1 of feminine and of masculine pronouns, by approximate randomisation as in
        `compare_conll`. ``p_holm`` is adjusted over all rows.

    Raises
    ------
    ValueError
        As in `gap_scores`, and if there are fewer than two conditions.

    Warns
    -----
    UserWarning
        If pronouns occur more than once in the gold, of which the first counts.

    Examples
    --------
    >>> gold = pd.DataFrame({"ID": list("abc"), "Pronoun": ["she", "he", "her"], "A-coref": True, "B-coref": False})
    >>> wrong = gold.assign(**{"A-coref": False, "B-coref": True})
    >>> compared = compare_gap(gold, {"before": wrong, "after": gold})
    >>> compared[["difference", "only_second", "p_value"]].head(1).values.tolist()
    [[100.0, 3, 0.25]]
    """
    gold, gold_twice = _gold_rows(gold)
    _warn_of_duplicates(gold_twice)
    options = {"seed": seed, "n_resamples": n_resamples, "confidence": confidence}
    permutations = {"n_permutations": n_permutations, "seed": seed}
    counts = {name: _gap_counts(gold, part)[0] for name, part in check_conditions(conditions).items()}
    rows = []
    for first, second in combinations(counts, 2):
        pair = {"first": first, "second": second}
        for group, own in _members(gold).items():
            both = [counts[name][own] for name in (first, second)]
            row = difference_row([part[:, :3] for part in both], _f1, options) | _mcnemar_row(*both)
            rows.append(pair | {"measure": "GAP F1", "group": group} | row)
        both = [_by_gender(gold, counts[name]) for name in (first, second)]
        row = difference_row(both, _bias, options, of_resamples=_bias_or_limit)
        row["p_value"] = compare_paired_counts(*both, _f1_between_genders, **permutations)
        rows.append(pair | {"measure": "GAP bias", "group": BIAS_GROUP} | row)
    return with_holm(pd.DataFrame(rows).astype({"only_first": "Int64", "only_second": "Int64"}))


def _gold_rows(gold):
    """Return the first row of each pronoun with its gender, and the IDs of those that occur twice."""
    check_columns(gold, ("ID", "Pronoun", *FLAGS), "gold")
    if gold.empty:
        raise ValueError("gold has no rows; give the pronouns to score")
    twice = gold["ID"][gold["ID"].duplicated()].unique().tolist()
    gold = gold.drop_duplicates("ID").reset_index(drop=True)
    gender = gold["Pronoun"].str.lower().map(PRONOUN_GENDER)
    if gender.isna().any():
        wrong = [f"{row} ({pronoun!r})" for row, pronoun in gold.loc[gender.isna(), ["ID", "Pronoun"]].values]
        raise ValueError(f"pronouns other than {listed(PRONOUN_GENDER)}: {_named(wrong)}; leave these rows out")
    flags = {flag: read_flags(gold, flag) for flag in FLAGS}
    return gold.assign(**flags, gender=gender), twice


def _warn_of_duplicates(names):
    if names:
        message = f"pronouns occur more than once in the gold, of which the first counts: {_named(names)}"
        warnings.warn(message, stacklevel=3)


def _named(names):
    return listed(names, most=5)


def _gap_counts(gold, predictions):
    """Count ``tp fp fn tn`` of each pronoun, shape (n, 4), and note what is amiss with the predictions."""
    check_columns(predictions, ("ID", *FLAGS), "predictions")
    first = predictions.drop_duplicates("ID").reset_index(drop=True)
    flags = pd.DataFrame({flag: read_flags(first, flag, missing=True) for flag in FLAGS})
    answered = flags.set_axis(first["ID"]).reindex(gold["ID"])
    counts = np.zeros((len(gold), 4), dtype=int)
    for flag in FLAGS:
        true = gold[flag].to_numpy(dtype=bool)
        said = answered[flag].to_numpy(dtype=object)
        no_answer = pd.isna(said)
        yes = np.where(no_answer, False, said).astype(bool)
        outcomes = true & yes, ~true & yes, (true & ~yes) | no_answer, ~true & ~yes & ~no_answer
        counts += np.stack(outcomes, axis=1)
    return counts, {
        "missing": gold["ID"][answered.isna().any(axis=1).to_numpy()].tolist(),
        "absent": gold["ID"][~gold["ID"].isin(first["ID"])].tolist(),
        "duplicates": predictions["ID"][predictions["ID"].duplicated()].unique().tolist(),
        "unknown": first["ID"][~first["ID"].isin(gold["ID"])].tolist(),
    }


def _members(gold):
    return {
        group: np.ones(len(gold), bool) if group == "all" else gold["gender"].to_numpy() == group for group in GROUPS
    }


def _by_gender(gold, counts):
    """Return ``tp fp fn`` as a feminine, then as a masculine pronoun, one row per pronoun."""
    members = _members(gold)
    return np.concatenate([counts[:, :3] * members[group][:, None] for group in ("feminine", "masculine")], axis=1)


def _group_row(group, counts, n_left_out, options):
    tp, fp, fn, tn = map(int, counts.sum(axis=0))
    precision, recall, f1 = (math.nan,) * 3
    low, high = math.nan, math.nan
    if len(counts):
        precision, recall, f1 = map(float, precision_recall_f1(tp, tp + fp, tp, tp + fn))
        low, high = bootstrap_sums(counts[:, :3], _f1, **options)
    row = {"group": group, "precision": precision, "recall": recall, "f1": f1, "ci_low": low, "ci_high": high}
    return row | {"n": len(counts), "n_left_out": n_left_out, "tp": tp, "fp": fp, "fn": fn, "tn": tn}


def _f1(tp, fp, fn):
    return precision_recall_f1(tp, tp + fp, tp, tp + fn)[2]


def _bias(*sums):
    """Divide F1 of feminine by F1 of masculine pronouns; NaN where either is 0."""
    feminine, masculine = _f1(*sums[:3]), _f1(*sums[3:])
    return np.where(feminine > 0, divide(feminine, masculine, nothing=math.nan), math.nan)


def _bias_or_limit(*sums):
    """Return the bias of resamples, infinite where only masculine F1 is 0, so that one of these costs no interval."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.divide(_f1(*sums[:3]), _f1(*sums[3:]))


def _f1_between_genders(*sums):
    return _f1(*sums[:3]) - _f1(*sums[3:])


def _bias_interval(by_gender, bias, options):
    """Return the interval of the bias, and why there is none, or ""."""
    if math.isnan(bias):
        f1 = {"feminine": _f1(*by_gender.sum(axis=0)[:3]), "masculine": _f1(*by_gender.sum(axis=0)[3:])}
        return math.nan, math.nan, f"F1 is 0: {', '.join(gender for gender, value in f1.items() if value == 0)}"
    # Quantiles between infinite values are NaN.
    with np.errstate(invalid="ignore"):
        low, high = bootstrap_sums(by_gender, _bias_or_limit, **options)
    if math.isfinite(low) and math.isfinite(high):
        return low, high, ""
    return math.nan, math.nan, "no interval: too few right answers, so that many resamples have none for one gender"


def _mcnemar_row(first, second):
    """Count pronouns with both answers right in one condition only, and test these counts."""
    right_first, right_second = (counts[:, 0] + counts[:, 3] == 2 for counts in (first, second))
    only_first, only_second = int((right_first & ~right_second).sum()), int((right_second & ~right_first).sum())
    return {"only_first": only_first, "only_second": only_second, "p_value": mcnemar(only_first, only_second)}
