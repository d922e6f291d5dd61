"""Parra (2024), EACL Student Research Workshop."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from biaslib import metrics
from biaslib._checks import check_columns
from biaslib._text import escape_markdown
from biaslib.io.prompts import UNITS
from biaslib.studies._claims import format_evidence, mark_claims, verdict
from biaslib.studies._published import published_model, published_models, published_table, unmasked_models
from biaslib.studies._scores import scores_of

THIS_RUN, PUBLISHED = "this run", "the study's Table 2"
NEUTRAL_VALUES = {"vargha_delaney_a": 0.5, "rank_biserial": 0.0}
_MEASURES = {"vargha_delaney_a": "a", "rank_biserial": "rank_biserial"}
# Claim 2's "almost 67 %", read as at least 60 %; and how many of the words of claim 4 have to be found.
_ALMOST_TWO_THIRDS, _LEAST_WORDS = 0.6, 5
# The words of claim 4, by model, and which gender they lean to.
_LEANING_WORDS = {
    "bert": {"successfully": "male", "led": "male", "wrote": "male", "edited": "male"},
    "distilbert": {"angrily": "male", "positively": "male"},
    "roberta": {"successfully": "male", "brilliant": "male", "attends": "female", "remembers": "female"},
}
_MONOLINGUAL = tuple(_LEANING_WORDS)


def classify(table: pd.DataFrame, expected: pd.DataFrame | None = None, *, alpha: float | None = 0.05) -> pd.DataFrame:
    """Classify each category as stereotypical or not.

    Parameters
    ----------
    table : pandas.DataFrame
        From `biaslib.metrics.compare_categories`, or with ``category leaning`` at least.
    expected : pandas.DataFrame, optional
        ``category stereotypical``, the latter "male" or "female"; the paper's Table 1 by default.
    alpha : float or None
        Count only differences with ``p_holm`` below it; None goes by the effect alone.

    Returns
    -------
    pandas.DataFrame
        The table with ``outcome``: "stereotypical", "alternative" (the category leans the other way), or "" for
        neither, as for a category that is not in `expected`.

    Raises
    ------
    ValueError
        If a column is missing or `expected` lists a category twice.

    Examples
    --------
    >>> table = pd.DataFrame({"category": ["stem", "fashion", "sports"], "leaning": ["male", "male", ""]})
    >>> classify(table, alpha=None)["outcome"].tolist()
    ['stereotypical', 'alternative', '']
    """
    expected = published_table("unmasked_table1_expected") if expected is None else expected
    check_columns(expected, ("category", "stereotypical"))
    if expected["category"].duplicated().any():
        raise ValueError("expected lists a category twice: give each one row")
    check_columns(table, ("category", "leaning") if alpha is None else ("category", "leaning", "p_holm"))
    stereotype = table["category"].map(expected.set_index("category")["stereotypical"])
    counts = (table["leaning"] != "") & stereotype.notna()
    if alpha is not None:
        counts &= table["p_holm"] < alpha
    outcome = np.where(table["leaning"] == stereotype, "stereotypical", "alternative")
    return table.assign(outcome=np.where(counts, outcome, "").tolist())


def model_pairs(names: Iterable[str], given: Sequence[str] = ()) -> dict[str, str]:
    """Find the pairs of a monolingual model and its multilingual counterpart.

    Parameters
    ----------
    names : iterable of str
        Hugging Face ids, folders named like the last part of one, or the paper's own names.
    given : sequence of str
        Your own pairs, each written "monolingual=multilingual"; the paper's by default.

    Returns
    -------
    dict of str to str
        From the monolingual to the multilingual model, as written in `names`.

    Raises
    ------
    ValueError
        If a given pair is not written that way, names a model that is not in `names`, or repeats a monolingual one.

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


def published_pairs() -> pd.DataFrame:
    """Give the parallel pairs that the paper counts, in the form of `biaslib.metrics.count_pairs`.

    Returns
    -------
    pandas.DataFrame
        ``model unit n_pairs percent``. The paper prints each model's total and each unit's share of it, from which the
        counts by unit follow.

    Examples
    --------
    XLM-R has no pair of adverbs:

    >>> pairs = published_pairs().set_index(["model", "unit"])["n_pairs"]
    >>> int(pairs["xlm-roberta", "adverb"]), int(pairs["bert"].sum())
    (0, 77)
    """
    table = published_table("unmasked_parallel_pairs")
    percent = pd.concat([table.assign(unit=unit, percent=table[f"{unit}_percent"]) for unit in UNITS])
    percent = percent.sort_index(kind="stable").reset_index(drop=True)
    n_pairs = (percent["pairs"] * percent["percent"] / 100).round().astype(int)
    return percent.assign(n_pairs=n_pairs)[["model", "unit", "n_pairs", "percent"]]


def compare_pairs(
    compared: pd.DataFrame, confidence: pd.DataFrame, pairs: dict[str, str], *, seed=0, n_resamples=2000
) -> pd.DataFrame:
    """Compare monolingual models with their multilingual counterparts.

    Parameters
    ----------
    compared : pandas.DataFrame
        ``category model a``, from `biaslib.metrics.compare_categories`.
    confidence : pandas.DataFrame
        ``model category prompt male female``, from `biaslib.metrics.gendered_confidence`.
    pairs : dict of str to str
        From `model_pairs`.
    seed, n_resamples : int
        Of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        ``source`` and the columns of `biaslib.metrics.mono_minus_multi`. Without any pair, these are the study's own,
        recomputed from its Table 2, and ``source`` says so.

    Examples
    --------
    >>> differences = compare_pairs(pd.DataFrame(), pd.DataFrame(), {})
    >>> differences[["source", "pair", "difference"]].values[0].tolist()
    ["the study's Table 2", 'bert', 0.05]
    """
    if pairs:
        options = {"confidence": confidence, "seed": seed, "n_resamples": n_resamples}
        differences, source = metrics.mono_minus_multi(compared, pairs, **options), THIS_RUN
    else:
        differences, source = _published_differences(), PUBLISHED
    differences.insert(0, "source", source)
    return differences


def _published_differences():
    table = published_table("unmasked_table2_gtc")
    return metrics.mono_minus_multi(table, model_pairs(table["model"].unique()))


def recomputed_table_3() -> pd.DataFrame:
    """Set the study's Table 3 as printed beside what follows from its Table 2.

    Returns
    -------
    pandas.DataFrame
        The columns of `biaslib.metrics.mono_minus_multi`, and ``difference_printed``.

    Examples
    --------
    >>> table = recomputed_table_3()
    >>> int((table["difference"] - table["difference_printed"]).abs().gt(0.005).sum()), len(table)
    (0, 21)
    """
    printed = published_table("unmasked_table3_mono_minus_multi")
    return _published_differences().merge(printed, on=["category", "pair"], suffixes=("", "_printed"))


def beside_published(compared: pd.DataFrame) -> pd.DataFrame:
    """Set the study's Table 2 and Table A beside the results of a run.

    Parameters
    ----------
    compared : pandas.DataFrame
        ``model category n v p_value a delta``, from `biaslib.metrics.compare_categories`.

    Returns
    -------
    pandas.DataFrame
        These columns for the models of the study, ``study`` (its name of the model) and the published columns.

    Examples
    --------
    >>> row = {"category": "stem", "n": 60, "v": 1830.0, "p_value": 0.0, "a": 1.0, "delta": 0.5}
    >>> compared = pd.DataFrame([row | {"model": name} for name in ("demo", "bert-base-uncased")])
    >>> beside_published(compared)[["study", "a", "a_published"]].values.tolist()
    [['bert', 1.0, 1.0]]
    """
    ours = compared[["model", "category", "n", "v", "p_value", "a", "delta"]]
    ours = ours.assign(study=_study_names(ours["model"])).dropna(subset="study")
    for name in ("unmasked_table2_gtc", "unmasked_tableA_delta"):
        printed = published_table(name).rename(columns={"model": "study"})
        ours = ours.merge(printed, on=["study", "category"], how="left", suffixes=("", "_published"))
    return ours


def comparison_scores(compared: pd.DataFrame, *, variant: str, data_fingerprint: str) -> pd.DataFrame:
    """Give both effect sizes of each category as rows of ``scores.csv``.

    Parameters
    ----------
    compared : pandas.DataFrame
        From `biaslib.metrics.compare_categories`.
    variant, data_fingerprint : str

    Returns
    -------
    pandas.DataFrame
        As `biaslib.studies.scores_frame` gives it. n counts all prompts scored, also those without a difference.
    """
    tested = compared.assign(n=compared["n"] + compared["n_zero"])
    constants = {"paper": "unmasked", "variant": variant, "data_fingerprint": data_fingerprint, "group": "category"}
    frames = [
        scores_of(
            tested.rename(columns={f"{column}_low": "ci_low", f"{column}_high": "ci_high"}),
            value=column,
            measure=measure,
            **constants,
        )
        for measure, column in _MEASURES.items()
    ]
    return pd.concat(frames, ignore_index=True)


def published_scores(scores: pd.DataFrame) -> dict[int, tuple[float, str]]:
    """Find what Table 2 has for a run's scores: A, on our prompts, since the study's own were not released."""
    printed = published_table("unmasked_table2_gtc").set_index(["model", "category"])["a"].to_dict()
    own = published_models(scores["model"], "unmasked")
    found = {}
    for row in scores.itertuples():
        is_alike = row.measure == "vargha_delaney_a" and row.given.get("prompt_file") == "job_prompts"
        if is_alike and (own.get(row.model), row.group) in printed:
            found[row.Index] = (printed[own[row.model], row.group], "UnMASKed, Table 2, other prompts")
    return found


def in_short(compared: pd.DataFrame, alpha: float = 0.05) -> list[str]:
    """Summarise in lines of Markdown to which gender each model's categories lean.

    Parameters
    ----------
    compared : pandas.DataFrame
        From `biaslib.metrics.compare_categories`.
    alpha : float
        Count only differences with ``p_holm`` below it.

    Returns
    -------
    list of str
        One line per model.

    Examples
    --------
    >>> row = {"model": "demo", "category": "stem", "leaning": "male", "p_holm": 0.01, "n": 60, "n_zero": 0}
    >>> print(in_short(pd.DataFrame([row | {"n_left_out": 0, "mean_any_pronoun": 0.4}]))[0][:62])
    - demo: leans male in stem; leans female in no category (adjus
    """
    return [_one_line(model, rows, alpha) for model, rows in compared.groupby("model", sort=False)]


def _one_line(model, rows, alpha):
    leaning = rows[rows["p_holm"] < alpha].groupby("leaning")["category"].agg(", ".join).map(escape_markdown)
    male, female = (leaning.get(gender, "no category") for gender in ("male", "female"))
    return (
        f"- {escape_markdown(model)}: leans male in {male}; leans female in {female} (adjusted p below {alpha:g} and "
        f"more than a negligible effect; {rows['n'].sum()} prompts, {rows['n_zero'].sum()} more without a difference, "
        f"{rows['n_left_out'].sum()} left out). On average, {rows['mean_any_pronoun'].mean():.0%} of the probability "
        "falls on pronouns."
    )


def judge(
    compared: pd.DataFrame, differences: pd.DataFrame, counted: pd.DataFrame, units: pd.DataFrame, *, alpha=0.05
) -> pd.DataFrame:
    """Judge the study's claims on the results of a run.

    Parameters
    ----------
    compared : pandas.DataFrame
        ``model category p_holm``, from `biaslib.metrics.compare_categories`.
    differences : pandas.DataFrame
        ``source pair multilingual closer``, from `compare_pairs`.
    counted : pandas.DataFrame
        ``model unit n_pairs``, from `biaslib.metrics.count_pairs`.
    units : pandas.DataFrame
        From `biaslib.metrics.unit_tokens`, with ``model``.
    alpha : float
        An adjusted p value below it counts as a difference.

    Returns
    -------
    pandas.DataFrame
        As `biaslib.studies.mark_claims` gives it. Claims 1 to 3 need the study's six models and seven categories.
        Claim 1 is seen if every category of the monolingual models differs; claim 2 if the multilingual model is
        nearer to neutral in 60 % of the cases at least; claim 3 if every monolingual model has more parallel pairs
        than its counterpart, and XLM-R none of adverbs. Claim 4 needs the monolingual models and five of its words,
        and is seen if all of them lean as the study says.
    """
    study = _study_pairs(compared, differences)
    verdicts = {
        1: _judge_differences(compared, alpha, complete=study is not None),
        2: _judge_distance(differences, complete=study is not None),
        3: _judge_parallel_pairs(counted, study),
        4: _judge_leaning_words(units),
    }
    return mark_claims("unmasked", verdicts)


def _study_names(models):
    """Look up the study's name of each model, None for other models."""
    return models.map(published_models(models.unique(), "unmasked").get)


def _study_pairs(compared, differences):
    """Give this run's pairs of the study's models; None if one or a category is lacking."""
    pairs = differences.loc[differences["source"] == THIS_RUN, ["pair", "multilingual"]].drop_duplicates()
    pairs = pairs[pairs.apply(_study_names).notna().all(axis=1)]
    categories = set(published_table("unmasked_table2_gtc")["category"])
    complete = len(pairs) == len(_MONOLINGUAL) and set(compared["category"]) == categories
    return pairs if complete else None


def _judge_differences(compared, alpha, *, complete):
    monolingual = compared[_study_names(compared["model"]).isin(_MONOLINGUAL)]
    differs = monolingual["p_holm"] < alpha
    n_different = differs.groupby(monolingual["model"]).sum().to_dict()
    testable = complete and monolingual["p_holm"].notna().all()
    evidence = (
        f"needs the study's six models and seven categories; categories that differ: {format_evidence(n_different)}"
    )
    return verdict(bool(differs.all()) if testable else None, evidence)


def _judge_distance(differences, *, complete):
    needs = "needs the study's three pairs and seven categories"
    if not complete:
        return verdict(None, needs)
    share = float((differences["closer"] == "multi").mean())
    evidence = f"{needs}; the multilingual model is nearer to neutral in {share:.0%} of the cases"
    return verdict(share >= _ALMOST_TWO_THIRDS, evidence)


def _judge_parallel_pairs(counted, study):
    n_pairs = counted.groupby("model")["n_pairs"].sum()
    evidence = f"needs the study's six models; parallel pairs here: {format_evidence(n_pairs.to_dict())}"
    if study is None:
        return verdict(None, evidence)
    fewer = (n_pairs[study["pair"]].to_numpy() > n_pairs[study["multilingual"]].to_numpy()).all()
    adverbs = counted[(counted["unit"] == "adverb") & (_study_names(counted["model"]) == "xlm-roberta")]
    return verdict(bool(fewer and adverbs["n_pairs"].eq(0).all()), evidence)


def _judge_leaning_words(units):
    claimed = [(study, word, leaning) for study, words in _LEANING_WORDS.items() for word, leaning in words.items()]
    claimed = pd.DataFrame(claimed, columns=["study", "word", "claimed"])
    leaning = metrics.leaning_words(units, k=len(units) + 1)
    leaning = leaning.assign(study=_study_names(leaning["model"])).merge(claimed, on=["study", "word"])
    said = (leaning["word"] + " " + leaning["leaning"]).groupby(leaning["model"]).agg(list).to_dict()
    testable = len(leaning) >= _LEAST_WORDS and set(_MONOLINGUAL) <= set(_study_names(units["model"]))
    evidence = f"needs half of these words in the lists of the three models; found: {format_evidence(said)}"
    return verdict(bool((leaning["leaning"] == leaning["claimed"]).all()) if testable else None, evidence)
