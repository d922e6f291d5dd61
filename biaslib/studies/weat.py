"""An Analysis of Categorical Biases in Word Embeddings; Caliskan et al. (2017), Science 356."""

import pandas as pd

from biaslib import embeddings
from biaslib.studies._claims import claim_ranges, format_evidence, mark_claims, verdict, verdict_by_range

NEUTRAL_VALUES = {"weat": 0.0, "weat_debiased": 0.0}
# Claims about decades, by their place in the list of claims.
_OF_DECADES = (13, 14, 15)
# What debiasing changes by the study's text (claim 12); the contrasts are those of "categorical".
_HALVED = {f"{pair}-man-woman" for pair in ("engineering-humanities", "doctor-nurse", "law-medicine", "cook-teacher")}
_HALVED |= {"beautiful-ugly-man-woman"}
_REVERSED = {"doctor-nurse-man-woman", "author-architect-man-woman"}
_LEAST_SMALLER = 10


def effect_sizes_by_category(contrasts: pd.DataFrame) -> pd.DataFrame:
    """Summarise the absolute effect sizes of each category of contrasts.

    Parameters
    ----------
    contrasts : pandas.DataFrame
        ``model category effect_size p_two_sided_holm``; rows without an effect size do not count.

    Returns
    -------
    pandas.DataFrame
        ``model category n mean_size largest significant``; the last is the number of contrasts whose adjusted two-sided
        p value is below .05.

    Examples
    --------
    >>> contrasts = pd.DataFrame({"model": "demo", "category": "gender", "effect_size": [-1.5, 0.5]})
    >>> effect_sizes_by_category(contrasts.assign(p_two_sided_holm=[0.01, 0.2])).values.tolist()
    [['demo', 'gender', 2, 1.0, 1.5, 1]]
    """
    sized = contrasts.assign(
        size=contrasts["effect_size"].abs(), is_significant=contrasts["p_two_sided_holm"] < 0.05
    ).dropna(subset="size")
    summary = sized.groupby(["model", "category"], sort=False).agg(
        n=("size", "size"), mean_size=("size", "mean"), largest=("size", "max"), significant=("is_significant", "sum")
    )
    return summary.reset_index()


def contrast_trends(decades: dict, contrasts: pd.DataFrame, **options) -> pd.DataFrame:
    """Follow contrasts through the decades, with the words that all decades have and with those available in each.

    Parameters
    ----------
    decades : dict of int to vectors
        As `biaslib.io.load_histwords` gives it.
    contrasts : pandas.DataFrame
        As `biaslib.io.read_contrasts` gives it.
    **options
        As for `biaslib.embeddings.trend`.

    Returns
    -------
    pandas.DataFrame
        The columns of `biaslib.embeddings.trend` and ``contrast``; one row per contrast, choice of words and decade.

    Examples
    --------
    >>> from biaslib import io
    >>> trends = contrast_trends(io.load_histwords("novels"), io.read_contrasts("novels"), n_resamples=99)
    >>> trends.groupby("words", sort=False)["contrast"].nunique().to_dict()
    {'common': 2, 'available': 2}
    """
    lines = [
        embeddings.trend(decades, rows, words=words, **options).assign(contrast=contrast)
        for contrast, rows in contrasts.groupby("contrast", sort=False)
        for words in embeddings.TREND_WORDS
    ]
    return pd.concat(lines, ignore_index=True)


def in_short(contrasts: pd.DataFrame) -> list[str]:
    """Say in a few lines of Markdown what a run found.

    Parameters
    ----------
    contrasts : pandas.DataFrame
        ``model contrast effect_size ci_low ci_high p_two_sided p_two_sided_holm n_x n_y``, from
        `biaslib.embeddings.run_contrasts` once with a one-sided and once with the two-sided test.

    Returns
    -------
    list of str
        For each model, how many contrasts have a value and are significant, and the largest effect.
    """
    lines = []
    for model, rows in contrasts.groupby("model", sort=False):
        valued = rows.dropna(subset="effect_size").sort_values("effect_size", key=abs, ascending=False)
        n_significant = (valued["p_two_sided_holm"] < 0.05).sum()
        lines.append(
            f"- `{model}`: {len(valued)} of {len(rows)} contrasts have a value; {n_significant} of them are "
            "significant in either direction (two-sided p, adjusted by Holm's method)."
        )
        lines += [
            f"  The largest is {top.contrast}: d = {top.effect_size:.2f} (interval {top.ci_low:.2f} to "
            f"{top.ci_high:.2f}, two-sided p = {top.p_two_sided:.2g}, {top.n_x} and {top.n_y} target words)."
            for top in valued.head(1).itertuples()
        ]
    return lines


def judge(contrasts: pd.DataFrame, debiased: pd.DataFrame, trends: pd.DataFrame) -> pd.DataFrame:
    """Judge the study's claims by the results of a run.

    What a claim says about effect sizes is read from ``biaslib/data/published/weat_claim_bounds.yaml``; it is seen if
    every model agrees.

    Parameters
    ----------
    contrasts : pandas.DataFrame
        ``model contrast category effect_size`` of the contrasts.
    debiased : pandas.DataFrame
        ``debiasing contrast smaller halved reversed`` of the gender contrasts, from
        `biaslib.embeddings.compare_contrasts`; the rows of ``"hard"`` count.
    trends : pandas.DataFrame
        From `contrast_trends`; the rows with the common words count.

    Returns
    -------
    pandas.DataFrame
        As `biaslib.studies.mark_claims` gives it.
    """
    ranges = claim_ranges("weat")
    of_decades = {claim: ranges.pop(claim) for claim in _OF_DECADES}
    of_effect = {"name": "contrast", "value": "effect_size"}
    verdicts = {claim: verdict_by_range(contrasts, bounds, **of_effect) for claim, bounds in ranges.items()}
    verdicts |= {claim: _judge_decades(trends, bounds) for claim, bounds in of_decades.items()}
    verdicts[3] = _judge_mean_of_gender(contrasts)
    verdicts[11] = _judge_twitter(contrasts)
    verdicts[12] = _judge_debiasing(debiased)
    return mark_claims("weat", verdicts)


def _mean_sizes(contrasts):
    return contrasts["effect_size"].abs().groupby(contrasts["model"]).mean()


def _judge_mean_of_gender(contrasts):
    found = _mean_sizes(contrasts[contrasts["category"] == "gender"]).to_dict()
    return verdict(
        None, f"the study does not list the biased cases; mean |d| of those with a value, {format_evidence(found)}"
    )


def _judge_twitter(contrasts):
    sizes = _mean_sizes(contrasts).dropna()
    is_twitter = sizes.index.str.contains("twitter", case=False)
    least = is_twitter[sizes.argmin()] if is_twitter.any() and len(sizes) > 1 else None
    return verdict(least, f"needs Twitter's vectors and others; mean |d|, {format_evidence(sizes.to_dict())}")


def _judge_debiasing(debiased):
    hard = debiased[debiased["debiasing"] == "hard"].set_index("contrast")
    smaller, halved, turned = (set(hard.index[hard[kind].eq(True)]) for kind in ("smaller", "halved", "reversed"))
    as_told = len(smaller) >= _LEAST_SMALLER and halved >= _HALVED and turned >= _REVERSED
    found = {"smaller": f"{len(smaller)} of {len(hard)}", "halved": sorted(halved), "reversed": sorted(turned)}
    return verdict(as_told if hard["smaller"].notna().all() else None, format_evidence({"hard debiasing here": found}))


def _judge_decades(trends, ranges):
    """Judge by the main lines; `ranges` gives bounds by contrast and decade."""
    common = trends[trends["words"] == "common"]
    lines = common.assign(model="these decades", line=common["contrast"] + " " + common["decade"].astype(str))
    bounds = {f"{name} {decade}": pair for name, decades in ranges.items() for decade, pair in decades.items()}
    return verdict_by_range(lines, bounds, name="line", value="effect_size")
