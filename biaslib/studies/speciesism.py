"""Takeshita, Rzepka & Araki (2022), Information Processing & Management 59(5)."""

import re
from collections.abc import Mapping

import pandas as pd

from biaslib import metrics
from biaslib._checks import check_choice, check_columns
from biaslib._frames import concat_models, names_of
from biaslib.studies._claims import claim_ranges, format_evidence, mark_claims, verdict, verdict_by_range
from biaslib.studies._published import TOP_WORDS, published_model, published_models, published_table

NEUTRAL_VALUES = dict.fromkeys(("adjusted_rand", "group_cohesion", "sentiment_shift", "object_bias"), 0.0)
# Models whose published words come without the mark that tells a piece of a word from a word.
_NO_PIECE_MARK = ("roberta-large", "albert-large-v2")
_ALL_BUT_HUMAN = "all but human"

# What the study's claims name.
_BERT, _ROBERTA = "bert-large-cased", "roberta-large"
_SLAUGHTERED_ANIMALS = ("chicken", "pig", "turkey")
_SLAUGHTER_WORDS = ("slaughtered", "reproduced", "ripe", "dried", "harvested")
_PERSONALITY_WORDS = {"clumsy", "bisexual", "sarcastic"}
_TRAINING_CORPORA = "books3|bookcorpus|wiki"
_CORRELATION_ABOVE = {_BERT: 0.7, _ROBERTA: 0.5, "distilbert-base-cased": 0.7, "albert-large-v2": 0.7}


def agreement_with_published_top_words(top: pd.DataFrame, model: str) -> pd.DataFrame:
    """Compare the top words of a model with those in the study's Tables 8 to 11.

    Parameters
    ----------
    top : pandas.DataFrame
        At least ``name sentences word``, from `biaslib.metrics.top_contrast`.
    model : str
        One of the study's four models, named as for `published_model`.

    Returns
    -------
    pandas.DataFrame
        ``name sentences n_published n_found share found missing``, one row for each kind of sentence and each name in
        `top` that the tables have; `found` and `missing` list the published words. Case matters, and a ``*`` in a
        published word stands for one letter (``f**ked``). For RoBERTa and ALBERT, whose tables do not mark pieces of
        words, a piece with the same letters counts as well. ``attrs["not_measured"]`` and ``attrs["not_published"]``
        list the names that only one side has.

    Raises
    ------
    ValueError
        If the model is not one of the four, or a column is missing.

    Examples
    --------
    >>> top = pd.DataFrame({"name": "chicken", "sentences": "object", "word": ["ripe", "stamped", "blue"]})
    >>> agreement_with_published_top_words(top, "google-bert/bert-large-cased").loc[0, "found"]
    'stamped, ripe'
    """
    check_columns(top, ("name", "sentences", "word"))
    table, own_name = published_table(TOP_WORDS), published_model(model)
    check_choice(own_name or str(model), "model of the study", table["model"].unique())
    table = table[table["model"] == own_name]
    names = names_of(top)
    measured = {
        key: set(words) for key, words in top["word"].groupby([top["name"].astype(str), top["sentences"].astype(str)])
    }
    rows = [
        _agreement(name, sentences, words.tolist(), measured.get((name, sentences), set()), own_name)
        for (name, sentences), words in table.groupby(["animal", "sentences"], sort=False)["word"]
        if name in names
    ]
    columns = ["name", "sentences", "n_published", "n_found", "share", "found", "missing"]
    frame = pd.DataFrame(rows, columns=columns)
    published = list(dict.fromkeys(table["animal"]))
    frame.attrs["not_measured"] = [name for name in published if name not in names]
    frame.attrs["not_published"] = [name for name in names if name not in published]
    return frame


def published_top_words_found(top: pd.DataFrame, models: list) -> pd.DataFrame:
    """Compare the top words of those models that the study used with its Tables 8 to 11.

    Parameters
    ----------
    top : pandas.DataFrame
        At least ``model name sentences word``.
    models : iterable of str
        The models of the run; those that the study did not use are passed over.

    Returns
    -------
    pandas.DataFrame
        ``model`` and the columns of `agreement_with_published_top_words`.

    Examples
    --------
    >>> top = pd.DataFrame({"model": "roberta-large", "name": "pig", "sentences": "object", "word": ["dried"]})
    >>> published_top_words_found(top, ["demo", "roberta-large"])["model"].unique().tolist()
    ['roberta-large']
    """
    return concat_models(
        {
            model: agreement_with_published_top_words(top[top["model"] == model], model)
            for model in published_models(models)
        }
    )


def different_top_words(top: pd.DataFrame) -> pd.DataFrame:
    """Count the different words in the top ranks of either kind of sentence.

    Parameters
    ----------
    top : pandas.DataFrame
        At least ``sentences word``, of one model.

    Returns
    -------
    pandas.DataFrame
        ``sentences n_different``, with the row of object sentences first.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    The study's Table 8, of BERT, has 85 different words in object and 45 in human sentences:

    >>> table = published_table("speciesism_tables8_11_top_words")
    >>> different_top_words(table[table["model"] == "bert-large-cased"])["n_different"].tolist()
    [85, 45]
    """
    check_columns(top, ("sentences", "word"))
    rows = [(kind, top.loc[top["sentences"] == kind, "word"].nunique()) for kind in ("object", "human")]
    return pd.DataFrame(rows, columns=["sentences", "n_different"])


def bias_of_all_but_human(scored: pd.DataFrame, *, seed: int = 0) -> pd.DataFrame:
    """Compute the bias over the sentences of all names but *human* together (Eq. 3).

    Parameters
    ----------
    scored : pandas.DataFrame
        Of one model, from `biaslib.metrics.score_corpus`.
    seed : int
        Of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        One row, as `biaslib.metrics.object_bias` gives it, with the name ``"all but human"``.
    """
    others = scored[scored["name"] != "human"].assign(name=_ALL_BUT_HUMAN)
    return metrics.object_bias(others, names=[_ALL_BUT_HUMAN], seed=seed)


def add_published_correlation(correlation: pd.DataFrame) -> pd.DataFrame:
    """Add the study's correlations (Table 5) to those of `biaslib.metrics.correlate_with_frequency`.

    Parameters
    ----------
    correlation : pandas.DataFrame
        At least ``model names method``.

    Returns
    -------
    pandas.DataFrame
        With the column ``published``: Pearson's r over all names for a model of the study, else NaN.

    Examples
    --------
    >>> correlation = pd.DataFrame({"model": "roberta-large", "names": "all", "method": ["pearson", "spearman"]})
    >>> add_published_correlation(correlation)["published"].tolist()
    [0.55, nan]
    """
    return correlation.assign(published=_figures(correlation, "pearson_r").where(_is_of_study(correlation)))


def add_published_perplexity(perplexity: pd.DataFrame) -> pd.DataFrame:
    """Add the study's pseudo-perplexities (Table 6) to those of `biaslib.metrics.sample_perplexity`.

    Parameters
    ----------
    perplexity : pandas.DataFrame
        At least ``model``.

    Returns
    -------
    pandas.DataFrame
        With the column ``published``, NaN for a model that the study did not use.

    Examples
    --------
    >>> add_published_perplexity(pd.DataFrame({"model": ["demo", "roberta-large"]}))["published"].tolist()
    [nan, 1.105]
    """
    return perplexity.assign(published=_figures(perplexity, "pppl"))


def in_short(sentiment: pd.DataFrame, pooled: pd.DataFrame | None = None) -> list[str]:
    """Say in a few lines of Markdown what a run found.

    Parameters
    ----------
    sentiment : pandas.DataFrame
        ``model sentiment object human difference ci_low ci_high n``, from `biaslib.metrics.compare_shares`.
    pooled : pandas.DataFrame, optional
        ``model bias ci_low ci_high n n_left_out`` from `bias_of_all_but_human`, if a corpus was scored.

    Returns
    -------
    list of str
        For each model a line on neutral words and, with a corpus, one on the bias in real sentences.
    """
    lines = [
        f"- `{row.model}`: VADER rates {row.object:.1%} of a name's words as neutral when it is a thing and "
        f"{row.human:.1%} when it is a person ({row.difference:+.1%}, interval {row.ci_low:+.1%} to "
        f"{row.ci_high:+.1%}, n = {row.n} names)."
        for row in sentiment[sentiment["sentiment"] == "neutral"].itertuples()
    ]
    if pooled is None:
        return lines
    return lines + [
        f"- `{row.model}`: in real sentences the bias over all names but *human* is {row.bias:+.2f} (interval "
        f"{row.ci_low:+.2f} to {row.ci_high:+.2f}, n = {row.n} pronouns, {row.n_left_out} left out). Above 0 "
        "the model leans towards the thing, below 0 towards the person."
        for row in pooled.itertuples()
    ]


def judge(
    words: Mapping[str, pd.DataFrame],
    *,
    top: pd.DataFrame,
    cohesion: pd.DataFrame,
    sentiment: pd.DataFrame,
    sentiment_by_name: pd.DataFrame,
    vader: pd.DataFrame,
    bias: pd.DataFrame | None = None,
    counts: pd.DataFrame | None = None,
    correlation: pd.DataFrame | None = None,
    has_frequency_corpora: bool = False,
    is_of_study: bool = True,
) -> pd.DataFrame:
    """Judge the study's claims by the results of a run.

    A claim that names models is judged by these alone, any other by all models of the run.

    Parameters
    ----------
    words : mapping of str to pandas.DataFrame
        The kept words of each model, from `biaslib.metrics.contrast`.
    top : pandas.DataFrame
        ``model name sentences word`` of the top five, from `biaslib.metrics.top_contrast`.
    cohesion : pandas.DataFrame
        ``model group difference``, from `biaslib.metrics.group_cohesion`.
    sentiment : pandas.DataFrame
        ``model sentiment object human``, from `biaslib.metrics.compare_shares`.
    sentiment_by_name : pandas.DataFrame
        ``model name sentiment n``, from `biaslib.metrics.sentiment_shares`.
    vader : pandas.DataFrame
        The sentiment of "killed" and "slaughtered", from `biaslib.metrics.word_sentiment`.
    bias, counts, correlation : pandas.DataFrame, optional
        ``model name bias``, ``corpus`` with the counts of pronouns, and ``model names method correlation``, from
        `biaslib.metrics.object_bias`, `count_relatives` and `correlate_with_frequency`; None without a corpus.
    has_frequency_corpora : bool
        Whether pronouns were counted in corpora of their own, as the study did, and not in the scored one.
    is_of_study : bool
        Whether names and templates are the study's; with others, no claim can be tested.

    Returns
    -------
    pandas.DataFrame
        As `biaslib.studies.mark_claims` gives it.
    """
    if not is_of_study:
        untested = verdict(None, "this run has other names or sentences than the study")
        return mark_claims("speciesism", dict.fromkeys(range(1, 14), untested))
    published = published_models(words)
    verdicts = {
        1: _judge_farm_animals(cohesion, published),
        2: _judge_slaughter_words(top, words, published),
        3: _judge_personality_words(words),
        4: _judge_human(sentiment_by_name),
        5: _judge_neutral(sentiment),
        6: _judge_negative(sentiment, published),
        7: _judge_vader(vader),
        13: verdict(None, "rests on people reading 50 references, which no run can do"),
    }
    if bias is None:
        return mark_claims(
            "speciesism", verdicts | dict.fromkeys(range(8, 13), verdict(None, "needs a corpus, which this run lacks"))
        )
    ranges, of_bias = claim_ranges("speciesism"), {"name": "name", "value": "bias"}
    verdicts |= {
        8: verdict_by_range(bias, ranges[8], **of_bias),
        9: verdict_by_range(bias[bias["model"].isin(_bert_and_roberta(published))], ranges[9], **of_bias),
        10: verdict_by_range(bias, ranges[10], **of_bias),
        11: _judge_frequency(counts, ranges[11]["ratio"]),
        12: _judge_correlation(correlation, published, has_frequency_corpora),
    }
    return mark_claims("speciesism", verdicts)


def _bert_and_roberta(published):
    return [model for model, own_name in published.items() if own_name in (_BERT, _ROBERTA)]


def _judge_farm_animals(cohesion, published):
    farm = cohesion[cohesion["group"] == "farm"].set_index("model")["difference"].round(3)
    evidence = f"needs all four models; rate within farm minus outside, {format_evidence(farm.to_dict())}"
    if set(published.values()) != set(_CORRELATION_ABOVE):
        return verdict(None, evidence)
    closest = farm.reindex(list(published)).fillna(0).nlargest(2).index
    return verdict({published[model] for model in closest} == {_BERT, _ROBERTA}, evidence)


def _judge_slaughter_words(top, words, published):
    of_animals = (top["sentences"] == "object") & top["name"].isin(_SLAUGHTERED_ANIMALS)
    found = top[of_animals & top["word"].isin(_SLAUGHTER_WORDS)]
    by_model = {model: found.loc[found["model"] == model, "word"].tolist() for model in words}
    asked = _bert_and_roberta(published)
    seen = found["model"].isin(asked).any() if asked else None
    return verdict(seen, f"needs one of the two models; of these words, the top 5 of {format_evidence(by_model)}")


def _judge_personality_words(words):
    of_humans = {model: set(frame.loc[frame["log_ratio"] < 0, "word"]) for model, frame in words.items()}
    named = {model: sorted(found & _PERSONALITY_WORDS) for model, found in of_humans.items()}
    evidence = f"of these three, the kept words of human sentences include, {format_evidence(named)}"
    return verdict(all(named.values()), evidence)


def _judge_human(sentiment_by_name):
    negative = sentiment_by_name[sentiment_by_name["sentiment"] == "negative"]
    n = negative.groupby(["model", "name"], observed=True)["n"].sum().unstack("name")
    if "human" not in n:
        return verdict(None, "needs the name human")
    others = n.drop(columns="human").median(axis=1)
    found = pd.DataFrame({"human": n["human"], "median of others": others}).to_dict("index")
    return verdict((n["human"] < others).all(), f"words that VADER rates as negative, {format_evidence(found)}")


def _shares(sentiment, kind):
    return sentiment[sentiment["sentiment"] == kind].set_index("model")[["object", "human"]]


def _judge_neutral(sentiment):
    neutral = _shares(sentiment, "neutral")
    seen = (neutral > 0.5).all(axis=None) and (neutral["object"] > neutral["human"]).all()
    return verdict(seen, f"shares of neutral words, {format_evidence(neutral.to_dict('index'))}")


def _judge_negative(sentiment, published):
    negative = _shares(sentiment, "negative").drop(index=[model for model in published if published[model] == _BERT])
    seen = (negative["human"] > negative["object"]).all() if len(negative) else None
    return verdict(seen, f"shares of negative words, {format_evidence(negative.to_dict('index'))}")


def _judge_vader(vader):
    found = vader.set_index("word")
    seen = found["sentiment"].to_dict() == {"killed": "negative", "slaughtered": "neutral"}
    return verdict(seen, f"compound scores, {format_evidence(found['compound'].to_dict())}")


def _judge_frequency(counts, bounds):
    n = counts.groupby("corpus", sort=False)[list(metrics.PRONOUNS)].sum()
    ratio = n[["that", "which"]].sum(axis=1) / n[["who", "whose", "whom"]].sum(axis=1)
    of_study = ratio[ratio.index.str.contains(_TRAINING_CORPORA, case=False)]
    seen = of_study.between(*bounds).all() if len(of_study) else None
    return verdict(seen, f"needs one of the three corpora; ratio, {format_evidence(ratio.to_dict())}")


def _judge_correlation(correlation, published, has_frequency_corpora):
    r = correlation[_is_of_study(correlation)].set_index("model")["correlation"].dropna()
    own = r[r.index.isin(list(published))] if has_frequency_corpora else r.head(0)
    least = own.index.map(published).map(_CORRELATION_ABOVE)
    seen = (own > least).all() if len(own) else None
    return verdict(seen, f"needs the study's models and corpora; r, {format_evidence(r.to_dict())}")


def _is_of_study(correlation):
    return (correlation["names"] == "all") & (correlation["method"] == "pearson")


def _figures(frame, column):
    study = published_table("speciesism_tables5_6_correlation_pppl").set_index("model")[column]
    return frame["model"].map(published_models(frame["model"].unique())).map(study)


def _agreement(name, sentences, published, measured, model):
    found = [word for word in published if _is_among(word, measured, model)]
    missing = [word for word in published if word not in found]
    share = len(found) / len(published)
    return name, sentences, len(published), len(found), share, ", ".join(found), ", ".join(missing)


def _is_among(word, measured, model):
    pattern = re.escape(word).replace(r"\*", r"[^\W\d_]")
    if model in _NO_PIECE_MARK:
        pattern = f"(?:##)?{pattern}"
    return any(re.fullmatch(pattern, other) for other in measured)
