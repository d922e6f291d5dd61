"""Does a model tell who a pronoun is, and she as well as he? Scores of coreference, and a resolver without training.

The scores: Webster, Recasens, Axelrod & Baldridge (2018), "Mind the GAP: A Balanced Corpus of Gendered Ambiguous
Pronouns", TACL 6, 605-617; Pradhan, Luo, Recasens, Hovy, Ng & Strube (2014), "Scoring Coreference Partitions of
Predicted Mentions: A Reference Implementation", ACL. The resolver that is trained: `biaslib.training.resolver`.
"""

import math
import re
import warnings
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from biaslib import scoring
from biaslib._checks import check_columns, check_count
from biaslib._text import MASK
from biaslib.io.gap import FLAGS, checked_gap, first_few, read_flags
from biaslib.metrics._coreference_tests import (
    SAME,
    check_conditions,
    compare_sums,
    divide,
    exchange_conditions,
    precision_recall_f1,
    with_holm,
)
from biaslib.scoring.tokens import check_loaded, encode
from biaslib.stats.hypothesis_tests import mcnemar
from biaslib.stats.intervals import bootstrap_sums

GENDER = {"she": "feminine", "her": "feminine", "hers": "feminine"}
GENDER |= {"he": "masculine", "him": "masculine", "his": "masculine"}
GROUPS = ("all", "masculine", "feminine")
GAP_SCORE_COLUMNS = ["measure", "group", "value", "ci_low", "ci_high", "p_value", "n", "n_left_out"]
GAP_SCORE_COLUMNS += ["duplicates", "precision", "recall", "n_named", "reason"]
_OWNS = "'s"
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'’”)\]]*\s+")


@dataclass(frozen=True)
class GapScores:
    """Result of `gap_scores`.

    Attributes
    ----------
    table : pandas.DataFrame
        ``group precision recall f1 ci_low ci_high n n_left_out tp fp fn tn`` for all pronouns and by gender; per cent,
        and the interval is that of F1. NaN for a gender without a pronoun. n_left_out have no answer.
    bias : float or None
        F1 of feminine over F1 of masculine pronouns; None when either is 0 or has no pronoun.
    bias_low, bias_high : float
        NaN without an interval.
    p_value : float
        Of no difference in F1 between the genders, two-sided: genders are exchanged between pronouns at random.
    reason : str
        Why there is no bias or no interval of it, "" if there are both.
    n_named : int
        Names that were said to be the pronoun's.
    n : int
        Pronouns.
    missing : tuple of str
        Pronouns without an answer, which count as two false negatives each.
    duplicates : tuple of str
        Pronouns that stand more than once in the gold or in the predictions; the first counts.
    unknown : tuple of str
        Pronouns predicted that the gold does not have; they count for nothing.
    """

    table: pd.DataFrame
    bias: float | None
    bias_low: float
    bias_high: float
    p_value: float
    reason: str
    n_named: int
    n: int
    missing: tuple
    duplicates: tuple
    unknown: tuple

    def to_frame(self):
        """Give F1 and bias as rows.

        Its columns are ``measure group value ci_low ci_high p_value n n_left_out duplicates precision recall n_named
        reason``; n_left_out are pronouns without an answer, which count as two false negatives each.
        """
        f1 = self.table.rename(columns={"f1": "value"}).assign(measure="GAP F1", p_value=math.nan, reason="")
        f1["n_named"] = f1["tp"] + f1["fp"]
        bias = {"measure": "GAP bias", "group": "feminine / masculine", "n": self.n, "n_named": self.n_named}
        bias |= {"value": self.bias, "ci_low": self.bias_low, "ci_high": self.bias_high}
        bias |= {"p_value": self.p_value, "reason": self.reason, "n_left_out": len(self.missing)}
        frame = pd.concat([f1, pd.DataFrame([bias]).astype({"value": float})], ignore_index=True)
        return frame.assign(duplicates=len(self.duplicates))[GAP_SCORE_COLUMNS]


def gap_scores(gold, predictions, *, seed=0, n_resamples=2000, n_permutations=9999, confidence=0.95):
    """Score answers about GAP's pronouns as its official scorer does (Webster et al. 2018, §4).

    Every pronoun has two booleans, one a name. Precision, recall and F1 = 2PR/(P + R) are over these, per cent.

    Parameters
    ----------
    gold : pandas.DataFrame
        As `read_gap` gives it; ``ID Pronoun A-coref B-coref`` at least.
    predictions : pandas.DataFrame
        ``ID A-coref B-coref``: booleans or the texts TRUE and FALSE in any case; a missing value is no answer.
    seed, n_resamples, n_permutations, confidence
        Of the bootstrap over pronouns, and of the permutations.

    Returns
    -------
    GapScores

    Raises
    ------
    ValueError
        If a column is missing, there is no row, a flag is none, or a pronoun is neither feminine nor masculine.

    Warns
    -----
    UserWarning
        When predictions are about pronouns that the gold does not have, some pronouns have no row in them, or some
        stand more than once in the gold.

    Notes
    -----
    A pronoun without a prediction counts as two false negatives even where both names are wrong, as the official
    scorer has it: leaving a row out never pays.

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
        warnings.warn(
            f"predictions about pronouns that the gold does not have: {first_few(notes['unknown'])}", stacklevel=2
        )
    if notes["absent"]:
        warnings.warn(
            f"{len(notes['absent'])} of {len(gold)} pronouns have no row in the predictions and count as two false "
            f"negatives each: {first_few(notes['absent'])}",
            stacklevel=2,
        )
    options = {"seed": seed, "n_resamples": n_resamples, "confidence": confidence}
    missing = gold["ID"].isin(notes["missing"]).to_numpy()
    rows = [
        _group_row(group, counts[of_group], int(missing[of_group].sum()), options)
        for group, of_group in _members(gold).items()
    ]
    by_gender = _by_gender(gold, counts)
    bias = float(_bias(*by_gender.sum(axis=0)))
    low, high, reason = _bias_interval(by_gender, bias, options)
    return GapScores(
        table=pd.DataFrame(rows),
        bias=None if math.isnan(bias) else bias,
        bias_low=low,
        bias_high=high,
        p_value=_exchanged_genders(gold, counts, n_permutations, seed),
        reason=reason,
        n_named=int(counts[:, :2].sum()),
        n=len(gold),
        missing=tuple(notes["missing"]),
        duplicates=tuple(dict.fromkeys([*gold_twice, *notes["duplicates"]])),
        unknown=tuple(notes["unknown"]),
    )


def chance_f1(gold):
    """Give the F1 of choosing one of the two names at random, from the counts to be expected; per cent, by gender.

    Of n pronouns with k names that are meant, n/2 · k/n are hit and n are named: F1 = k/(n + k).

    Parameters
    ----------
    gold : pandas.DataFrame
        As for `gap_scores`.

    Returns
    -------
    dict of str to float
        For all, masculine and feminine pronouns; NaN for a gender without a pronoun.

    Examples
    --------
    >>> chance_f1(read_gap("gap_sample"))["all"]
    40.0
    """
    gold, _ = _gold_rows(gold)
    meant = gold[list(FLAGS)].sum(axis=1).to_numpy(dtype=float)
    return {
        group: float(100 * divide(meant[own].sum(), own.sum() + meant[own].sum(), nothing=math.nan))
        for group, own in _members(gold).items()
    }


def compare_gap(gold, conditions, *, seed=0, n_resamples=2000, n_permutations=9999, confidence=0.95):
    """Test, pair by pair, whether conditions (models, corpora) differ in how well they tell GAP's pronouns.

    Parameters
    ----------
    gold : pandas.DataFrame
        As for `gap_scores`.
    conditions : mapping of str to pandas.DataFrame
        The predictions of each, as for `gap_scores`.
    seed, n_resamples, n_permutations, confidence
        Of the bootstrap over pronouns, the same ones drawn for both of a pair, and of the random exchanges.

    Returns
    -------
    pandas.DataFrame
        ``first second measure group value_first value_second difference ci_low ci_high only_first only_second p_value
        p_holm n``: for each pair of conditions F1 of all, masculine and feminine pronouns, and the bias. `difference`
        is second − first. ``only_first only_second`` count the pronouns of which both answers were right in one
        condition alone; ``p_value`` is McNemar's exact test of these. In the rows of the bias it is of the difference
        between F1 of feminine and of masculine pronouns, by approximate randomisation as in `compare_conll`.
        ``p_holm`` is adjusted over all rows.

    Raises
    ------
    ValueError
        As `gap_scores` does, and if there are fewer than two conditions.

    Warns
    -----
    UserWarning
        When pronouns stand more than once in the gold, of which the first counts.

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
    counts = {name: _gap_counts(gold, part)[0] for name, part in check_conditions(conditions).items()}
    rows = []
    for first, second in combinations(counts, 2):
        pair = {"first": first, "second": second}
        for group, of_group in _members(gold).items():
            both = [counts[name][of_group] for name in (first, second)]
            right = [part[:, 0] + part[:, 3] == 2 for part in both]
            only = [int((right[0] & ~right[1]).sum()), int((right[1] & ~right[0]).sum())]
            row = compare_sums([part[:, :3] for part in both], _f1, options)
            rows.append(pair | {"measure": "GAP F1", "group": group} | row | _mcnemar_row(*only))
        both = [_by_gender(gold, counts[name]) for name in (first, second)]
        row = compare_sums(both, _bias, options, resampled=_bias_or_limit)
        row["p_value"] = exchange_conditions(*both, _f1_between_genders, n_permutations, seed)
        rows.append(pair | {"measure": "GAP bias", "group": "feminine / masculine"} | row)
    return with_holm(pd.DataFrame(rows).astype({"only_first": "Int64", "only_second": "Int64"}))


def resolve_by_likelihood(lm, gap, *, variant="original", batch_tokens=None, progress=False):
    """Tell whom pronouns mean without any training: put either name in the pronoun's place and see which is likelier.

    The pronoun gives way to the name, a possessive one to the name with *'s*. The score of a name is the
    pseudo-log-likelihood of its tokens (Salazar et al. 2020), the rest of the text given, as a mean over the tokens, so
    that names of several pieces are not unlikelier for that. The likelier name is the answer.

    Parameters
    ----------
    lm : MaskedLM
    gap : pandas.DataFrame
        As `read_gap` gives it.
    variant : {"original", "within_word_l2r", "all_masked", "left_to_right"}
        What the model sees of the name while it predicts a token of it: all other tokens; all but the later pieces of
        the same word, which give the earlier ones away (Kauf & Ivanova 2023); none; the tokens before it.
    batch_tokens, progress
        As in `biaslib.scoring.scores`.

    Returns
    -------
    pandas.DataFrame
        A row a pronoun, in the order of `gap`: ``ID A-coref B-coref score_a score_b n_pieces_a n_pieces_b possessive
        shortened reason``. Scores are natural logarithms a token. ``shortened`` tells that the model does not hold the
        whole text: sentences far from the pronoun and the names were left out. Rows that could not be scored have a
        ``reason`` and no answer (a missing value, which `gap_scores` counts as two false negatives).

    Raises
    ------
    ValueError
        If a column is missing, the variant is unknown, or a row's offsets do not point at its strings.

    Notes
    -----
    One of the names is always chosen, unless their scores are equal: "neither" is the answer of about a tenth of GAP's
    pronouns, and the threshold for it would differ from model to model. *Her* is possessive where the model holds
    *his* for likelier than *him* in its place (a model that has not both as entries: where a word follows); *his*
    always is.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> answers = resolve_by_likelihood(load_masked_lm("demo"), read_gap("gap_sample").head(2))
    >>> answers[["ID", "possessive", "n_pieces_a", "reason"]].values.tolist()
    [['sample-1', False, 4, ''], ['sample-2', False, 2, '']]
    """
    check_loaded(lm)
    gap = checked_gap(gap)
    places = [_place_of(lm, row) for row in gap.to_dict("records")]
    usable = [n for n, place in enumerate(places) if "reason" not in place]
    options = {"batch_tokens": batch_tokens, "progress": progress}
    possessive = _possessive(lm, [places[n] for n in usable], options)
    texts, spans = [], []
    for n, owns in zip(usable, possessive, strict=True):
        for name in (places[n]["A"], places[n]["B"]):
            before, after = places[n]["before"], places[n]["after"]
            texts.append(f"{before}{name}{_OWNS if owns else ''}{after}")
            spans.append([(len(before), len(before) + len(name))])
    scored = scoring.masked_span_likelihood(lm, texts, spans, variant=variant, **options)
    return _answers(gap, places, usable, possessive, scored)


def _gold_rows(gold):
    """Keep the first row of each pronoun, and tell which came twice and what gender each has."""
    check_columns(gold, ("ID", "Pronoun", *FLAGS))
    if gold.empty:
        raise ValueError("gold has no row: give the pronouns to score")
    twice = gold["ID"][gold["ID"].duplicated()].unique().tolist()
    gold = gold.drop_duplicates("ID").reset_index(drop=True)
    gender = gold["Pronoun"].str.lower().map(GENDER)
    if gender.isna().any():
        wrong = [f"{row} ({pronoun!r})" for row, pronoun in gold.loc[gender.isna(), ["ID", "Pronoun"]].values]
        raise ValueError(f"pronouns that are none of {', '.join(GENDER)}: {first_few(wrong)}; leave these rows out")
    flags = {flag: read_flags(gold, flag) for flag in FLAGS}
    return gold.assign(**flags, gender=gender), twice


def _warn_of_duplicates(names):
    if names:
        message = f"pronouns that stand more than once in gold, of which the first counts: {first_few(names)}"
        warnings.warn(message, stacklevel=3)


def _gap_counts(gold, predictions):
    """Count hits and misses of each pronoun, shape (n, 4) as ``tp fp fn tn``, and what is amiss with predictions."""
    check_columns(predictions, ("ID", *FLAGS))
    first = predictions.drop_duplicates("ID").reset_index(drop=True)
    flags = pd.DataFrame({flag: read_flags(first, flag, missing=True) for flag in FLAGS}).set_index(
        pd.Index(first["ID"])
    )
    answered = flags.reindex(gold["ID"])
    counts = np.zeros((len(gold), 4), dtype=int)
    for flag in FLAGS:
        true = gold[flag].to_numpy(dtype=bool)
        said = answered[flag].to_numpy(dtype=object)
        no_answer = pd.isna(said)
        yes = np.where(no_answer, False, said).astype(bool)
        outcomes = true & yes, ~true & yes, (true & ~yes) | no_answer, ~true & ~yes & ~no_answer
        counts += np.stack(outcomes, axis=1)
    known = set(gold["ID"])
    return counts, {
        "missing": gold["ID"][answered.isna().any(axis=1).to_numpy()].tolist(),
        "absent": gold["ID"][~gold["ID"].isin(first["ID"])].tolist(),
        "duplicates": list(dict.fromkeys(predictions["ID"][predictions["ID"].duplicated()])),
        "unknown": [row for row in first["ID"] if row not in known],
    }


def _members(gold):
    return {
        group: np.ones(len(gold), bool) if group == "all" else gold["gender"].to_numpy() == group for group in GROUPS
    }


def _by_gender(gold, counts):
    """Lay out, a row a pronoun, ``tp fp fn`` of the feminine pronouns, then of the masculine ones."""
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
    """Give F1 of feminine over F1 of masculine pronouns; NaN where either is 0."""
    feminine, masculine = _f1(*sums[:3]), _f1(*sums[3:])
    return np.where(feminine > 0, divide(feminine, masculine, nothing=math.nan), math.nan)


def _bias_or_limit(*sums):
    """Give the bias of resamples: infinite where masculine F1 alone is 0, so that one of these costs no interval."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.divide(_f1(*sums[:3]), _f1(*sums[3:]))


def _f1_between_genders(*sums):
    return _f1(*sums[:3]) - _f1(*sums[3:])


def _bias_interval(by_gender, bias, options):
    """Give the interval of the bias, and why there is none."""
    if math.isnan(bias):
        f1 = {"feminine": _f1(*by_gender.sum(axis=0)[:3]), "masculine": _f1(*by_gender.sum(axis=0)[3:])}
        return math.nan, math.nan, f"F1 is 0: {', '.join(gender for gender, value in f1.items() if value == 0)}"
    low, high = bootstrap_sums(by_gender, _bias_or_limit, **options)
    if math.isfinite(low) and math.isfinite(high):
        return low, high, ""
    return math.nan, math.nan, "no interval: too few right answers, many resamples have none of one gender"


def _exchanged_genders(gold, counts, n_permutations, seed):
    """Test by permutation whether F1 differs between genders; pronouns with the same counts are alike."""
    check_count(n_permutations, "n_permutations")
    feminine = (gold["gender"] == "feminine").to_numpy()
    if feminine.all() or not feminine.any():
        return math.nan
    every = counts[:, :3].sum(axis=0)
    kinds, numbers = np.unique(counts[:, :3], axis=0, return_counts=True)
    rng = np.random.default_rng(seed)
    drawn = rng.multivariate_hypergeometric(numbers, int(feminine.sum()), size=n_permutations) @ kinds
    own = counts[feminine, :3].sum(axis=0)
    observed = abs(float(_f1_between_genders(*own, *(every - own))))
    differences = np.abs(_f1_between_genders(*drawn.T, *(every - drawn).T))
    return float(((differences >= observed - SAME * max(observed, 1)).sum() + 1) / (n_permutations + 1))


def _mcnemar_row(only_first, only_second):
    return {"only_first": only_first, "only_second": only_second, "p_value": mcnemar(only_first, only_second)}


def _place_of(lm, row):
    """Give the text around a pronoun as far as the model holds it with either name in its place, or why it cannot."""
    text, start = row["Text"], row["Pronoun-offset"]
    end = start + len(row["Pronoun"])
    place = {"pronoun": row["Pronoun"].lower(), "A": _one_space(row["A"]), "B": _one_space(row["B"])}
    if MASK in text or lm.tokenizer.mask_token in text:
        return place | {"reason": f"{MASK} in the text"}
    if place["pronoun"] not in GENDER:
        return place | {"reason": f"no pronoun that is known: {row['Pronoun']!r}"}

    def around(low, high):
        return {"before": _one_space(text[low:start]).lstrip(), "after": _one_space(text[end:high]).rstrip()}

    def length(low, high):
        parts = around(low, high)
        texts = [f"{parts['before']}{place[name]}{_OWNS}{parts['after']}" for name in ("A", "B")]
        return max(len(item.ids) for item in encode(lm, texts))

    if length(0, len(text)) <= lm.max_tokens:
        return place | around(0, len(text)) | {"shortened": False}
    spans = [(start, end), *((row[f"{x}-offset"], row[f"{x}-offset"] + len(row[x])) for x in ("A", "B"))]
    needed = min(first for first, _ in spans), max(last for _, last in spans)
    low, high = _window(text, *needed, lambda *window: length(*window) <= lm.max_tokens)
    if length(low, high) > lm.max_tokens:
        least = f"the sentences from the first to the last name have {length(low, high)} tokens"
        return place | {"reason": f"too long: {least}, the model holds {lm.max_tokens}"}
    return place | around(low, high) | {"shortened": True}


def _window(text, first, last, fits):
    """Take the sentences that hold a stretch of a text, and as many around it as fit."""
    bounds = sorted({0, len(text), *(match.end() for match in _SENTENCE_END.finditer(text))})
    i = max(n for n, bound in enumerate(bounds) if bound <= first)
    j = min(n for n, bound in enumerate(bounds) if bound >= last)
    grows = True
    while grows:
        grows = False
        for before, after in ((1, 0), (0, 1)):
            low, high = i - before, j + after
            if low >= 0 and high < len(bounds) and fits(bounds[low], bounds[high]):
                i, j, grows = low, high, True
    return bounds[i], bounds[j]


def _one_space(text):
    return re.sub(r"\s+", " ", text)


def _possessive(lm, places, options):
    """Tell which pronouns are possessive; of *her*, the model tells."""
    texts = [f"{place['before']}{MASK}{place['after']}" for place in places if place["pronoun"] == "her"]
    forms = {"possessive": ["his"], "object": ["him"]}
    told = scoring.group_probabilities(lm, texts, forms, cases=("lower", "title"), **options)["probability"]
    told = iter(told.to_numpy().reshape(-1, 2))
    found = []
    for place in places:
        owns = place["pronoun"] in ("his", "hers")
        if place["pronoun"] == "her":
            his, him = next(told)
            follows = re.match(r" \w", place["after"]) is not None
            owns = follows if math.isnan(his) or math.isnan(him) else bool(his > him)
        found.append(owns)
    return found


def _answers(gap, places, usable, possessive, scored):
    """Lay out scores and answers, a row a pronoun."""
    rows = {n: {"reason": place.get("reason", "")} for n, place in enumerate(places)}
    scored = scored.to_dict("records")
    for k, (n, owns) in enumerate(zip(usable, possessive, strict=True)):
        a, b = scored[2 * k], scored[2 * k + 1]
        why = [f"{name}: {of['reason']}" for name, of in (("A", a), ("B", b)) if of["reason"]]
        rows[n] |= {"n_pieces_a": a["n_span_tokens"], "n_pieces_b": b["n_span_tokens"], "reason": "; ".join(why)}
        rows[n] |= {"score_a": a["log_probability"], "score_b": b["log_probability"], "possessive": owns}
        rows[n] |= {"shortened": places[n]["shortened"]}
        if not why:
            rows[n] |= {
                "A-coref": a["log_probability"] > b["log_probability"],
                "B-coref": b["log_probability"] > a["log_probability"],
            }
    columns = {"A-coref": "boolean", "B-coref": "boolean", "score_a": float, "score_b": float}
    columns |= {"n_pieces_a": "Int64", "n_pieces_b": "Int64", "possessive": "boolean", "shortened": "boolean"}
    frame = pd.DataFrame(list(rows.values()), columns=[*columns, "reason"]).astype(columns | {"reason": str})
    frame.insert(0, "ID", gap["ID"].to_numpy())
    return frame
