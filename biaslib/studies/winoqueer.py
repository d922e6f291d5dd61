"""Anti-queer bias before and after training on a community's texts.

Felkner, Chang, Jang & May (2022), "Towards WinoQueer: Developing a Benchmark for Anti-Queer Bias in Large Language
Models", QueerInAI workshop at NAACL. What training costs coreference: `biaslib.studies.winoqueer_coreference`.
"""

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import pandas as pd

from biaslib import io, metrics, scoring, training
from biaslib._text import escape_markdown
from biaslib.stats.hypothesis_tests import holm
from biaslib.studies import winoqueer_coreference
from biaslib.studies._claims import format_evidence, mark_claims, verdict
from biaslib.studies._conditions import conditions_of, each_condition, rows_of, with_condition
from biaslib.studies._published import published_model, published_models, published_table
from biaslib.studies._scores import scores_of
from biaslib.studies._winoqueer_generator import winoqueer_pairs
from biaslib.studies.winoqueer_coreference import CoreferenceData
from biaslib.training.conditions import OFF_THE_SHELF

# Metric and variant, by the names that the notebook gives them.
METRICS = {
    "pll": ("pll", "default"),
    "pll_nangia": ("pll", "nangia"),
    "aul": ("aul", "default"),
    "aula": ("aula", "default"),
}
NEUTRAL_VALUES = {"stereotype_score": 50.0, "stereotype_score_by_group": 50.0, "score_change": 0.0, "gap_bias": 1.0}
_FRAMES = ("pairs", "within_word", "losses", "gap_answers", "clusters")
_STUDY_PAIRS = ("winoqueer", "winoqueer-v0")
_GROUPINGS = ("bias_type", "identity", "schema")
_PUBLISHED_COLUMNS = ("off_the_shelf", "queernews", "queertwitter")
_SCORED = ["model", "condition", "head", "likelihood", "by", "group", "score", "ci_low", "ci_high", "p_value", "p_holm"]
_SCORED += ["n", "n_different", "n_tested", "ties", "duplicates", "n_left_out"]
_COMPARED = ["model", "first", "second", *metrics.CHANGE_COLUMNS]


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured on one or more conditions.

    Attributes
    ----------
    pairs : pandas.DataFrame
        All pairs with their scores, as `biaslib.metrics.StereotypeScore.pairs`.
    within_word : pandas.DataFrame
        The pairs about pronouns, scored with the later pieces of a word masked too.
    losses : pandas.DataFrame
        From `biaslib.training.held_out_losses`.
    gap_answers, clusters : pandas.DataFrame
        From `biaslib.studies.winoqueer_coreference.answer`.
    models : list of dict
        What `biaslib.scoring.MaskedLM.describe` says of the models.
    """

    pairs: pd.DataFrame
    within_word: pd.DataFrame
    losses: pd.DataFrame
    gap_answers: pd.DataFrame
    clusters: pd.DataFrame
    models: list[dict]


def read_pairs(source: str | Path = "winoqueer") -> pd.DataFrame:
    """Read the pairs to score, or make those of the study.

    Parameters
    ----------
    source : str or Path
        ``"winoqueer"`` makes the pairs of `biaslib.studies.winoqueer_pairs`, ``"winogender"`` reads that data set;
        anything else is read by `biaslib.io.read_pairs`.

    Returns
    -------
    pandas.DataFrame
        As `biaslib.io.read_pairs` gives it.

    Raises
    ------
    ValueError
        If no pair can be scored, or `biaslib.io.read_pairs` refuses the source.

    Examples
    --------
    >>> len(read_pairs("winoqueer"))
    5452
    """
    made = {"winoqueer": winoqueer_pairs, "winogender": io.read_winogender}
    pairs = io.read_pairs(made[source]() if source in made else source)
    if (pairs["reason"] != "").all():
        raise ValueError(f"no pair of {source} can be scored: {pairs['reason'].value_counts().to_dict()}")
    return pairs


def uses_study_pairs(source: str | Path, metric: str) -> bool:
    """Whether pairs and metric are the study's, so that the scores can be compared with the published ones.

    Parameters
    ----------
    source : str or Path
        As for `read_pairs`.
    metric : str
        A key of ``METRICS``.

    Returns
    -------
    bool
    """
    return source in _STUDY_PAIRS and METRICS[metric][0] == "pll"


def measure(
    lm,
    pairs: pd.DataFrame,
    corpora: Mapping[str, str],
    coreference_data: CoreferenceData,
    *,
    metric: str = "pll",
    resolver: str = "full",
    models_dir: str | Path,
    seed: int = 0,
) -> Measured:
    """Measure one model: its bias, its loss on each corpus, and its coreference.

    Parameters
    ----------
    lm : MaskedLM
    pairs : pandas.DataFrame
        From `read_pairs`.
    corpora : mapping of str to texts
        From `biaslib.training.name_corpora`.
    coreference_data : CoreferenceData
    metric : str
        A key of ``METRICS``.
    resolver : str
        A key of ``winoqueer_coreference.RESOLVERS``.
    models_dir : str or Path
        Folder of the trained resolvers.
    seed : int
        Of training and bootstrap.

    Returns
    -------
    Measured
    """
    scored_by, variant = METRICS[metric]
    options = {"variant": variant, "seed": seed}
    score = metrics.stereotype_score(lm, pairs, metric=scored_by, progress=True, **options)
    about_pronouns = pairs[pairs["bias_type"].str.contains("trans_pronoun")]
    within_word = metrics.stereotype_score(lm, about_pronouns, likelihood="within_word_l2r", **options)
    losses = training.held_out_losses(lm, corpora, seed=seed)
    answers = winoqueer_coreference.answer(lm, coreference_data, models_dir=models_dir, resolver=resolver, seed=seed)
    return Measured(score.pairs, within_word.pairs, losses, *answers, models=[lm.describe()])


def measure_conditions(conditions: pd.DataFrame, opened: scoring.OpenModels, *arguments, **options) -> Measured:
    """Measure each condition.

    Parameters
    ----------
    conditions : pandas.DataFrame
        From `biaslib.training.train_conditions`.
    opened : OpenModels
        The models off the shelf, from `biaslib.scoring.open_models`.
    *arguments, **options
        Of `measure`.

    Returns
    -------
    Measured
        Each frame with ``model condition head`` first.
    """
    after = conditions.loc[conditions["condition"] != OFF_THE_SHELF, "folder"]
    with scoring.open_models(after, device=opened.device) as trained:
        models = ChainMap(trained, opened)
        measured = [measure(models[folder], *arguments, **options) for folder in conditions["folder"]]
    frames = {name: _labelled(conditions, [getattr(one, name) for one in measured]) for name in _FRAMES}
    return Measured(**frames, models=[model for one in measured for model in one.models])


def stereotype_scores(pairs: pd.DataFrame, *, metric: str = "pll", seed: int = 0) -> pd.DataFrame:
    """Score each condition on the pairs about queer identities.

    The released file also compares masculine with feminine sentences (``masc_femm``), which are left out here.

    Parameters
    ----------
    pairs : pandas.DataFrame
        Scored pairs with ``model condition head``, from `measure_conditions`.
    metric : str
        A key of ``METRICS``.
    seed : int
        Of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        ``model condition head``, then the first row of `biaslib.metrics.StereotypeScore.to_frame`; ``p_holm`` is
        adjusted over the conditions.
    """

    def score(condition):
        return _score(rows_of(condition, pairs), metric, seed).to_frame().head(1)

    scores = each_condition(conditions_of(pairs), score)
    return scores.assign(p_holm=holm(scores["p_value"]))


def group_scores(pairs: pd.DataFrame, *, metric: str = "pll", seed: int = 0) -> pd.DataFrame:
    """Score each condition by bias type, identity and schema.

    Parameters
    ----------
    pairs, metric, seed
        As for `stereotype_scores`.

    Returns
    -------
    pandas.DataFrame
        ``model condition head``, then the columns of `biaslib.metrics.score_groups`.
    """
    by = [column for column in _GROUPINGS if column in pairs]

    def score(condition):
        return metrics.score_groups(rows_of(condition, pairs), by, variant=METRICS[metric][1], seed=seed)

    return each_condition(conditions_of(pairs), score)


def pronoun_scores(measured: Measured, *, metric: str = "pll", seed: int = 0) -> pd.DataFrame:
    """Score the pairs about pronouns with two likelihoods.

    Parameters
    ----------
    measured : Measured
        From `measure_conditions`.
    metric : str
        A key of ``METRICS``. Without ``"pll"`` only the likelihood within words is left.
    seed : int
        Of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        ``model condition head likelihood``, then the columns of `biaslib.metrics.StereotypeScore.to_frame`: for each
        condition the likelihood ``"pll"`` and ``"within word"``, which masks the later pieces of a word too.
    """
    scored_by, variant = METRICS[metric]
    asked = measured.within_word["pair_id"].unique() if scored_by == "pll" else []
    plain = measured.pairs[measured.pairs["pair_id"].isin(asked)]

    def score(condition):
        parts = []
        for likelihood, pairs in ((scored_by, plain), ("within word", measured.within_word)):
            scored = metrics.score_pairs(rows_of(condition, pairs), variant=variant, seed=seed)
            parts.append(scored.to_frame().head(1).assign(likelihood=likelihood))
        return pd.concat(parts)

    scores = each_condition(conditions_of(measured.pairs), score)
    return scores[scores["n"] > 0].reindex(columns=_SCORED)


def compare_conditions(pairs: pd.DataFrame, *, metric: str = "pll", seed: int = 0) -> pd.DataFrame:
    """Compare the conditions of each model with each other, pair by pair.

    Parameters
    ----------
    pairs, metric, seed
        As for `stereotype_scores`.

    Returns
    -------
    pandas.DataFrame
        ``model first second``, then the columns of `biaslib.metrics.ScoreChange.to_frame`. Models whose head was
        untrained off the shelf are left out: there is no change to speak of.
    """
    frames = []
    for model, rows in conditions_of(pairs).groupby("model", sort=False):
        if (rows["head"] == "kept").all():
            scores = {one.condition: _score(rows_of(one, pairs), metric, seed) for one in rows.itertuples()}
            for first, second in combinations(scores, 2):
                frame = metrics.compare_scores(scores[first], scores[second], seed=seed).to_frame()
                frames.append(frame.assign(model=model, first=first, second=second))
    table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    return table.reindex(columns=_COMPARED)


def changes(compared: pd.DataFrame) -> pd.DataFrame:
    """Select what training changed from the comparisons of conditions.

    Parameters
    ----------
    compared : pandas.DataFrame
        From `compare_conditions`.

    Returns
    -------
    pandas.DataFrame
        ``model condition``, then the columns of `biaslib.metrics.ScoreChange.to_frame`, of each condition after
        training compared with the model off the shelf; ``p_holm`` is adjusted over all rows.
    """
    change = compared[compared["first"] == OFF_THE_SHELF].drop(columns="first").reset_index(drop=True)
    return change.rename(columns={"second": "condition"}).assign(p_holm=holm(change["p_value"]))


def changed_pairs(pairs: pd.DataFrame, *, metric: str = "pll", seed: int = 0) -> pd.DataFrame:
    """List the pairs in which training changed the preferred sentence.

    Parameters
    ----------
    pairs, metric, seed
        As for `stereotype_scores`.

    Returns
    -------
    pandas.DataFrame
        ``model condition head``, then the columns of `biaslib.metrics.changed_sides`. Models whose head was untrained
        off the shelf are left out.
    """
    conditions = conditions_of(pairs)
    before = conditions[(conditions["condition"] == OFF_THE_SHELF) & (conditions["head"] == "kept")]
    before = {one.model: _score(rows_of(one, pairs), metric, seed) for one in before.itertuples()}
    after = conditions[conditions["model"].isin(before) & (conditions["condition"] != OFF_THE_SHELF)]
    return each_condition(
        after, lambda one: metrics.changed_sides(before[one.model], _score(rows_of(one, pairs), metric, seed))
    )


def in_short(scores: pd.DataFrame) -> list[str]:
    """Summarise the stereotype scores.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `stereotype_scores`.

    Returns
    -------
    list of str
        A line of Markdown per condition.
    """
    return [_one_line(row) for row in scores.itertuples()]


def beside_published(scores: pd.DataFrame, *, of_the_study: bool = True) -> pd.DataFrame:
    """Set the stereotype scores of a run beside the study's Table 2.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `stereotype_scores`. The conditions, in their order, correspond to the study's off the shelf, QueerNews
        and QueerTwitter.
    of_the_study : bool
        Whether pairs and metric are the study's (see `uses_study_pairs`); otherwise nothing is set beside the figures.

    Returns
    -------
    pandas.DataFrame
        ``study column published model condition head score ci_low ci_high n``, one row per published figure. The
        columns from ``model`` are missing if the study's model is not in the run.
    """
    columns = dict(zip(scores["condition"].unique(), _PUBLISHED_COLUMNS, strict=False))
    study = published_models(scores["model"], "winoqueer")
    ours = scores if of_the_study else scores.head(0)
    ours = ours.assign(study=ours["model"].map(study), column=ours["condition"].map(columns))
    printed = published_table("winoqueer_table2_bias").melt("model", var_name="column", value_name="published")
    keys = ["study", "column"]
    beside = printed.rename(columns={"model": "study"}).merge(
        ours.astype(dict.fromkeys(keys, object)), on=keys, how="left"
    )
    return beside[["study", "column", "published", "model", "condition", "head", "score", "ci_low", "ci_high", "n"]]


def comparison_scores(
    scores: pd.DataFrame, groups: pd.DataFrame, change: pd.DataFrame, *, metric: str, data_fingerprint: str
) -> pd.DataFrame:
    """Give the stereotype scores and their changes as rows of ``scores.csv``.

    Parameters
    ----------
    scores, groups, change : pandas.DataFrame
        From `stereotype_scores`, `group_scores` and `changes`. Rows of an untrained head are left out.
    metric : str
        A key of ``METRICS``.
    data_fingerprint : str
        Of the pairs.

    Returns
    -------
    pandas.DataFrame
        As `biaslib.studies.scores_frame` gives it.
    """
    how = {"paper": "winoqueer", "variant": " ".join(METRICS[metric]), "data_fingerprint": data_fingerprint}
    kept, groups = scores[scores["head"] == "kept"], groups[groups["head"] == "kept"]
    groups = groups.assign(group=groups["condition"] + ", " + groups["by"] + " " + groups["group"].astype(str))
    frames = [
        scores_of(kept, value="score", group="condition", measure="stereotype_score", **how),
        scores_of(groups, value="score", group="group", measure="stereotype_score_by_group", **how),
        scores_of(change, value="difference", group="condition", measure="score_change", **how),
    ]
    return pd.concat(frames, ignore_index=True)


def judge(
    compared: pd.DataFrame,
    coreference_compared: pd.DataFrame,
    coreference_data: CoreferenceData,
    *,
    of_the_study: bool = True,
) -> pd.DataFrame:
    """Judge the study's claims on the results of a run.

    Parameters
    ----------
    compared : pandas.DataFrame
        From `compare_conditions`. The first corpus takes the place of QueerNews, the second that of QueerTwitter.
    coreference_compared : pandas.DataFrame
        From `biaslib.studies.winoqueer_coreference.compare_answers`.
    coreference_data : CoreferenceData
    of_the_study : bool
        Whether pairs and metric are the study's (see `uses_study_pairs`).

    Returns
    -------
    pandas.DataFrame
        As `biaslib.studies.mark_claims` gives it. Claim 1 is seen if every score of BERT base and large falls, and
        those of base fall farther. Claim 2 is seen if the scores of all models fall towards 50 from above, and those
        after the second corpus are below those after the first (one-sided p below .05 each). Claim 3 is seen if no
        model loses more than 1.8 CoNLL F1, claim 4 if no GAP F1 moves by more than 1 point (the study's largest move is
        .8) and the bias moves away from 1 in more than half of the cases; both need the study's four models trained on
        OntoNotes. Claim 5 is not testable.

    Examples
    --------
    >>> compared = pd.DataFrame(columns=["model", "first", "second", "before", "after", "difference", "p_lower"])
    >>> coreference = pd.DataFrame(columns=["model", "resolver", "first", "measure", "group"])
    >>> nothing = winoqueer_coreference.read_coreference()
    >>> judge(compared, coreference, nothing)["status"].unique().tolist()
    ['not testable here']
    """
    after_training = compared[compared["first"] == OFF_THE_SHELF]
    between_corpora = compared[compared["first"] != OFF_THE_SHELF]
    verdicts = {
        1: _judge_size(after_training, of_the_study),
        2: _judge_corpora(after_training, between_corpora, of_the_study),
        5: verdict(None, "the corpora were not released"),
    }
    verdicts |= winoqueer_coreference.verdicts(coreference_compared, coreference_data)
    return mark_claims("winoqueer", verdicts)


def published_scores(scores: pd.DataFrame) -> dict[int, tuple[float, str]]:
    """Find the figure of Table 2 for each score of a run: off the shelf, by PLL, on WinoQueer's own pairs."""
    printed = published_table("winoqueer_table2_bias").set_index("model")["off_the_shelf"].to_dict()
    own = published_models(scores["model"], "winoqueer")
    found = {}
    for row in scores.itertuples():
        own_pairs = row.given.get("pair_source") in _STUDY_PAIRS and "pll" in row.variant.split()
        is_alike = row.measure == "stereotype_score" and row.group == OFF_THE_SHELF and own_pairs
        if is_alike and own.get(row.model) in printed:
            found[row.Index] = (printed[own[row.model]], "WinoQueer, Table 2")
    return found


def _judge_size(change, of_the_study):
    """Judge whether the smaller BERT loses more bias."""
    named = change.assign(study=[published_model(model, "winoqueer") for model in change["model"]])
    base, large = (named[named["study"] == name].set_index("second") for name in ("bert-base", "bert-large"))
    seen = None
    if of_the_study and len(base) and len(large):
        both_fall = (base["p_lower"] < 0.05).all() and (large["p_lower"] < 0.05).all()
        seen = bool(both_fall and (base["difference"] < large["difference"]).all())
    falls = {name: rows["difference"].round(2).to_dict() for name, rows in (("bert-base", base), ("bert-large", large))}
    found = format_evidence({name: fall for name, fall in falls.items() if fall})
    return verdict(seen, f"needs BERT base and large on WinoQueer's pairs (SpanBERT has no trained head); {found}")


def _judge_corpora(change, between_corpora, of_the_study):
    """Judge whether both corpora reduce the bias, the second one more."""
    seen = None
    # A lower score is less biased only if it was above 50 and does not end farther below.
    if of_the_study and len(change) and (change["before"] > 50).all():
        nearer = (change["after"] - 50).abs() < (change["before"] - 50).abs()
        falls = nearer & (change["p_lower"] < 0.05)
        seen = bool(falls.all() and (between_corpora["p_lower"] < 0.05).all())
    tests = pd.concat([change, between_corpora.assign(second="second below first")])
    p_lower = {
        model: rows.set_index("second")["p_lower"].round(4).to_dict()
        for model, rows in tests.groupby("model", sort=False)
    }
    return verdict(seen, f"needs scores above 50 before; one-sided p of falls, {format_evidence(p_lower)}")


def _score(pairs, metric, seed):
    """Score pairs of one condition but those that compare masculine with feminine sentences."""
    apart = pairs["bias_type"].str.startswith("masc_femm")
    return metrics.score_pairs(pairs[~apart], variant=METRICS[metric][1], seed=seed)


def _labelled(conditions, frames):
    """Stack one frame per condition, with ``model condition head`` first."""
    parts = [with_condition(*both) for both in zip(conditions.itertuples(), frames, strict=True)]
    return pd.concat(parts, ignore_index=True)


def _one_line(row):
    untrained = "; its head is untrained, so this means nothing" if row.head == "new" else ""
    return (
        f"- {escape_markdown(row.model)}, {escape_markdown(row.condition)}: prefers the stereotyping sentence in "
        f"{row.score:.1f} % of the pairs (interval {row.ci_low:.1f} to {row.ci_high:.1f}, p against 50 "
        f"{row.p_value:.2g}; n = {row.n}, {row.n_different} of them distinct, {row.n_left_out} left out){untrained}."
    )
