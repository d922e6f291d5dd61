"""Whether a masked language model expects men or women in a job (UnMASKed).

Iñigo Parra (2024), "UnMASKed: Quantifying Gender Biases in Masked Language Models through Linguistically Informed
Job Market Prompts", Proceedings of the 18th Conference of the European Chapter of the Association for
Computational Linguistics: Student Research Workshop. The prompts are our own; the paper's were never released.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from biaslib import scoring, stats
from biaslib._checks import as_sentences, as_words, check_choice, check_columns, listed
from biaslib.io.gender_words import GENDERS
from biaslib.metrics._columns import check_absent, grouping_columns
from biaslib.metrics._score_tables import insert_holm
from biaslib.scoring.tokens import resolve_words

MALE = ("he", "him", "his")
FEMALE = ("she", "her", "hers")
NEUTRAL = ("they", "them", "their")
# The spellings of a pronoun that count.
VARIANTS = {"in_place": ("as_is", "lower", "title"), "cased": ("as_is",)}
_SCORES = ("male", "female", "neutral", "any_pronoun")
_MEASURED = ("n", "n_zero", "v", "p_value", "a", "a_low", "a_high")
_MEASURED += ("rank_biserial", "rank_biserial_low", "rank_biserial_high")


def gendered_confidence(
    lm,
    prompts: str | Sequence[str] | pd.DataFrame,
    *,
    male: Sequence[str] = MALE,
    female: Sequence[str] = FEMALE,
    neutral: Sequence[str] = NEUTRAL,
    variant: str = "in_place",
    batch_tokens: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Compute gendered token confidence: the probability of each gender's pronouns at the mask (Parra 2024, Eq. 1).

    Parameters
    ----------
    lm : MaskedLM
    prompts : str, sequence of str, or pandas.DataFrame
        Each with exactly one ``[MASK]``; of a frame, the column ``prompt``.
    male, female, neutral : sequence of str
        The pronouns; `neutral` may be empty.
    variant : {"in_place", "cased"}
        ``"in_place"`` counts each pronoun as given, in lower case and in title case, as written in the mask's place;
        ``"cased"`` only as given, which is how the paper prints them: a cased model's *He* at the start of a sentence
        then does not count.
    batch_tokens, progress
        As in `biaslib.scoring.scores`.

    Returns
    -------
    pandas.DataFrame
        The columns and index of `prompts`, with ``male female neutral any_pronoun missing reason``. The confidences are
        float64 sums over distinct vocabulary entries; ``any_pronoun`` is the probability of all pronouns together,
        which is small if the prompt does not call for one. ``missing`` lists the pronouns that are not a vocabulary
        entry in that place; a side without any entry is NaN, not 0. ``reason`` says so, or why the prompt could not be
        scored ("" if male and female were).

    Raises
    ------
    ValueError
        If a prompt does not have exactly one mask, the variant is unknown, `male` or `female` is empty, two sides share
        a pronoun or a vocabulary entry, or the frame already has a column of the result.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> nurse = gendered_confidence(load_masked_lm("demo"), "[MASK] is a nurse.")
    >>> nurse[["male", "female", "any_pronoun"]].round(2).values.tolist()
    [[0.11, 0.34, 0.45]]
    """
    check_choice(variant, "variant", VARIANTS)
    frame = _prompt_frame(prompts)
    groups = _check_groups({"male": male, "female": female, "neutral": neutral})
    sentences, cases = as_sentences(frame["prompt"]), VARIANTS[variant]
    scored = scoring.group_probabilities(
        lm, sentences, groups, cases=cases, batch_tokens=batch_tokens, progress=progress
    )
    table = {name: scored[name].to_numpy().reshape(-1, len(groups)) for name in scored}
    _check_entries(lm, sentences, groups, table["n_entries"], cases)
    found = {name: table["probability"][:, number].astype(float) for number, name in enumerate(groups)}
    found["missing"] = table["missing"][:, -1].tolist()
    found["reason"] = [
        why if why in scoring.SENTENCE_REASONS else _no_entry(n_entries) or why
        for why, n_entries in zip(table["reason"][:, -1], table["n_entries"], strict=True)
    ]
    return frame.assign(**found)


def compare_categories(
    frame: pd.DataFrame, *, seed: int = 0, n_resamples: int = 2000, confidence: float = 0.95
) -> pd.DataFrame:
    """Test by category whether male or female pronouns are likelier, and measure how much.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `gendered_confidence`, with ``category`` and, if there are several models, ``model``.
    seed : int
        Of the bootstrap.
    n_resamples : int
    confidence : float

    Returns
    -------
    pandas.DataFrame
        One row per category (and model, the first column), in the frame's order. ``n`` and ``n_zero`` count the prompts
        whose two confidences differ, and those whose do not, which Wilcoxon's test leaves out; ``v`` is the sum of the
        ranks of the positive differences male − female, ``p_value`` is two-sided and ``p_holm`` adjusted over all rows.
        ``a`` is Vargha and Delaney's A of male over female confidences, over all m·n pairs, and ``rank_biserial`` the
        matched-pairs rank-biserial correlation; both have percentile bootstrap intervals ``…_low …_high`` over prompts.
        ``effect leaning delta`` are those of `add_effect`. ``mean_male mean_female`` and, if the frame has them,
        ``mean_neutral mean_any_pronoun`` are mean confidences. ``n_left_out left_out`` count the prompts without both
        confidences, with the reasons. ``note`` says if no pair differs (p is then 1), no prompt was scored (all is then
        NaN), or A and the paired test point opposite ways (``leaning`` is then "").

    Raises
    ------
    ValueError
        If a column is missing or an option is out of range.

    Examples
    --------
    With 60 prompts a category, V is 1830 when every difference is positive, as in the paper's Table 2:

    >>> frame = pd.DataFrame({"category": "stem", "male": np.linspace(0.5, 0.9, 60), "female": 0.1})
    >>> compare_categories(frame)[["n", "v", "a", "effect", "leaning", "delta"]].values.tolist()
    [[60, 1830.0, 1.0, 'large', 'male', 0.5]]
    """
    keys = grouping_columns(frame, ("category",))
    check_columns(frame, ("male", "female"))
    options = {"seed": seed, "n_resamples": n_resamples, "confidence": confidence}
    rows = []
    for key, part in frame.groupby(keys, sort=False, observed=True, dropna=False):
        rows.append(dict(zip(keys, key, strict=True)) | _compared(part, options))
    table = pd.DataFrame(rows, columns=None if rows else [*keys, *_compared(frame, options)])
    table = add_effect(insert_holm(table))
    opposed = (table["a"] - 0.5) * table["rank_biserial"] < 0
    table.loc[opposed, "leaning"] = ""
    table.loc[opposed, "note"] = "A and the paired test point opposite ways"
    return table


def add_effect(table: pd.DataFrame) -> pd.DataFrame:
    """Label how large each A is and which gender it favours.

    Parameters
    ----------
    table : pandas.DataFrame
        With a column ``a``, A of male over female confidences.

    Returns
    -------
    pandas.DataFrame
        The table with ``effect`` (`biaslib.stats.vargha_delaney_label`), ``leaning`` ("male" above .5, "female" below,
        "" if the effect is negligible) and ``delta`` (|A − .5|), inserted after A and its interval.

    Examples
    --------
    The paper's text says of an A of .37 that it favours males; by its definition it favours females:

    >>> add_effect(pd.DataFrame({"a": [0.37, 0.45]}))["leaning"].tolist()
    ['female', '']
    """
    check_columns(table, ("a",))
    a = table["a"].astype(float)
    effect = [stats.vargha_delaney_label(value) for value in a]
    large_enough = np.array([label not in ("", "negligible") for label in effect], dtype=bool)
    found = {
        "effect": effect,
        "leaning": np.where(large_enough, np.where(a > 0.5, *GENDERS), "").tolist(),
        "delta": (a - 0.5).abs(),
    }
    table = table.drop(columns=list(found), errors="ignore")
    last = next((c for c in ("rank_biserial_high", "a_high") if c in table), "a")
    place = table.columns.get_loc(last) + 1
    return pd.concat([table.iloc[:, :place], pd.DataFrame(found, index=table.index), table.iloc[:, place:]], axis=1)


def mono_minus_multi(
    table: pd.DataFrame,
    pairs: Mapping[str, str],
    *,
    confidence: pd.DataFrame | None = None,
    seed: int = 0,
    n_resamples: int = 2000,
) -> pd.DataFrame:
    """Compare the bias of monolingual models with their multilingual counterparts: Δ_mono − Δ_multi, Δ = |A − .5|.

    Parameters
    ----------
    table : pandas.DataFrame
        ``category model a``, one row each: from `compare_categories`, or the paper's Table 2.
    pairs : mapping of str to str
        From the monolingual to the multilingual model, as returned by `model_pairs`.
    confidence : pandas.DataFrame, optional
        ``model category prompt male female`` from `gendered_confidence`, from which the table was computed; needed for
        intervals.
    seed, n_resamples : int
        Of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        ``category pair multilingual delta_mono delta_multi difference closer``: one row per category and pair, which is
        named after the monolingual model; NaN if a category has no A. ``closer`` is the model closer to neutral,
        "multi" or "mono" ("" for neither). With `confidence` also ``n ci_low ci_high n_left_out``: a 95 % percentile
        bootstrap interval of the difference over the ``n`` prompts that both models have scored.

    Raises
    ------
    ValueError
        If a column is missing, `pairs` is empty, or the table lacks a model or has one twice in a category.

    Examples
    --------
    The paper's Table 3 follows from its Table 2, and so does its "almost 67 %" of 21:

    >>> from biaslib.studies import model_pairs, published_table
    >>> table = published_table("unmasked_table2_gtc")
    >>> differences = mono_minus_multi(table, model_pairs(table["model"].unique()))
    >>> int((differences["closer"] == "multi").sum()), len(differences)
    (14, 21)
    """
    check_columns(table, ("category", "model", "a"))
    pairs = dict(pairs)
    if not pairs:
        raise ValueError("pairs is empty; give at least one, as {'monolingual': 'multilingual'}")
    missing = [model for pair in pairs.items() for model in pair if model not in set(table["model"])]
    if missing:
        raise ValueError(f"the table lacks the models {listed(missing)}")
    if table.duplicated(["category", "model"]).any():
        raise ValueError("the table has a model twice in a category; give each one row")
    delta = (table.set_index(["category", "model"])["a"].astype(float) - 0.5).abs()
    rows = [
        (category, mono, multi, delta.get((category, mono), np.nan), delta.get((category, multi), np.nan))
        for category in table["category"].drop_duplicates()
        for mono, multi in pairs.items()
    ]
    frame = pd.DataFrame(rows, columns=["category", "pair", "multilingual", "delta_mono", "delta_multi"])
    # Rounded, so that equal As on either side of .5 are equally far from it.
    frame["difference"] = (frame["delta_mono"] - frame["delta_multi"]).round(12)
    frame["closer"] = np.select([frame["difference"] > 0, frame["difference"] < 0], ["multi", "mono"], "").tolist()
    if confidence is None:
        return frame
    check_columns(confidence, ("model", "category", "prompt", "male", "female"))
    intervals = [_difference_interval(confidence, row, seed, n_resamples) for row in frame.itertuples()]
    return frame.join(pd.DataFrame(intervals, columns=["n", "ci_low", "ci_high", "n_left_out"]))


def _difference_interval(confidence, row, seed, n_resamples):
    """Bootstrap the difference of a category over the prompts that both models have scored."""
    rows = confidence[confidence["category"] == row.category]
    sides = [rows.loc[rows["model"] == m].set_index("prompt")[["male", "female"]] for m in (row.pair, row.multilingual)]
    both = sides[0].merge(sides[1], left_index=True, right_index=True, suffixes=("_mono", "_multi"), how="outer")
    both = both.astype(float)
    usable = both[np.isfinite(both).all(axis=1)]

    def difference(*samples, axis=-1):
        a = [stats.vargha_delaney_a(*samples[start : start + 2], axis=axis) for start in (0, 2)]
        return np.abs(a[0] - 0.5) - np.abs(a[1] - 0.5)

    interval = (np.nan, np.nan)
    if len(usable):
        samples, options = tuple(usable.to_numpy().T), {"seed": seed, "n_resamples": n_resamples}
        interval = stats.bootstrap_interval(samples, difference, paired=True, **options)
    return len(usable), *interval, len(both) - len(usable)


def _prompt_frame(prompts):
    if isinstance(prompts, pd.DataFrame):
        check_columns(prompts, ("prompt",))
        check_absent(prompts, (*_SCORES, "missing", "reason"))
        return prompts
    prompts = [prompts] if isinstance(prompts, str) else prompts
    return pd.DataFrame({"prompt": pd.Series(as_sentences(prompts), dtype=str)})


def _check_groups(sides):
    """Return the pronouns of each side, and those of all sides."""
    sides = {side: as_words(words) for side, words in sides.items()}
    for side in GENDERS:
        if not sides[side]:
            raise ValueError(f"{side} is empty; give at least one pronoun")
    owner = {}
    for side, words in sides.items():
        for word in words:
            first = owner.setdefault(word.casefold(), side)
            if first != side:
                raise ValueError(f"{first} and {side} share the pronoun {word!r}; it can count for only one")
    return sides | {"any_pronoun": [word for words in sides.values() for word in words]}


def _check_entries(lm, sentences, groups, n_entries, cases):
    """Refuse two sides that share a vocabulary entry, as pronouns that differ by an accent may."""
    for sentence, (*of_side, of_all) in zip(sentences, n_entries, strict=True):
        if sum(of_side) > of_all:
            entries = resolve_words(lm, sentence, groups["any_pronoun"], cases=cases).dropna(subset="token_id")
            owners = {side: set(entries.loc[entries["word"].isin(groups[side]), "token"]) for side in _SCORES[:3]}
            one, other = next((a, b) for a, b in combinations(owners, 2) if owners[a] & owners[b])
            shared = ", ".join(sorted(owners[one] & owners[other]))
            raise ValueError(f"{one} and {other} share the vocabulary entry {shared}; it can count for only one")


def _no_entry(n_entries):
    without = [side for side, n in zip(GENDERS, n_entries, strict=False) if n == 0]
    return f"no {' or '.join(without)} pronoun is one vocabulary entry here" if without else ""


def _compared(part, options):
    pair = part[["male", "female"]].astype(float)
    usable = np.isfinite(pair).all(axis=1)
    male, female = pair[usable].to_numpy().T
    reasons = part.loc[~usable, "reason"] if "reason" in part else pd.Series("", index=part.index[~usable])
    means = {f"mean_{name}": part.loc[usable, name].mean() for name in _SCORES if name in part}
    left_out = {
        "n_left_out": int((~usable).sum()),
        "left_out": scoring.list_counts(reasons.replace("", "no value").fillna("no value")),
    }
    if not male.size:
        nothing = dict.fromkeys(_MEASURED, np.nan) | {"n": 0, "n_zero": 0}
        return nothing | means | left_out | {"note": "no prompt was scored"}
    test = stats.signed_rank(male, female)
    values = [test.n, test.n_zero, test.v, test.p_value]
    for statistic in (stats.vargha_delaney_a, stats.rank_biserial):
        interval = stats.bootstrap_interval((male, female), statistic, paired=True, **options)
        values += [statistic(male, female), *interval]
    return dict(zip(_MEASURED, values, strict=True)) | means | left_out | {"note": test.note}
