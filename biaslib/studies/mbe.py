"""Kaneko, Imankulova, Bollegala & Okazaki (2022), NAACL."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from biaslib import metrics
from biaslib._text import escape_markdown
from biaslib.studies._claims import format_evidence, mark_claims, verdict
from biaslib.studies._published import published_models, published_table
from biaslib.studies._scores import scores_of

NEUTRAL_VALUES = {"mbe": 50.0}
# The columns of Table 2, by how the name of a run's data begins.
_TABLE_2 = {"ted2020": "ted", "globalvoices": "news"}
AS_ABOVE, OTHER_SIDE, NATIVE_NAMES = "as above", "other side", "native names"
# What the study calls simpler material (§5.2), on the English side.
WORD_TEMPLATES = {"words alone": "{word}", "words in a template": "We saw {word} yesterday."}
# Sentences of each gender on the other side of the text.
_N_OTHER_SIDE = 200
# "Hardly moves", in points of MBE, and over how many languages.
_HARDLY, _LEAST_LANGUAGES = 1, 3
_GENDER_KEPT = ("de", "pt", "ru", "ja")
_EXAMPLE = "He is a nurse."


def match_sources(models: Sequence[str], sources: Sequence[str], languages: Sequence[str]) -> pd.DataFrame:
    """Match each model with its parallel text and the code of that text's other language.

    Parameters
    ----------
    models : sequence of str
    sources, languages : sequence of str
        Either one for all models or one per model.

    Returns
    -------
    pandas.DataFrame
        ``model source language``.

    Raises
    ------
    ValueError
        If the numbers do not match, a model is given twice, or one source is given two languages.

    Examples
    --------
    >>> match_sources(["a", "b"], ["talks", "news"], ["de"])["source"].tolist()
    ['talks', 'news']
    """
    columns = {"model": list(models)}
    if len(set(models)) < len(columns["model"]):
        raise ValueError("a model is given twice: give each once, and its other texts in a separate run")
    for name, given in (("source", sources), ("language", languages)):
        if len(given) not in (1, len(models)):
            raise ValueError(f"{len(given)} {name}s for {len(models)} models: give one for all, or one each")
        columns[name] = list(given) * (len(models) if len(given) == 1 else 1)
    frame = pd.DataFrame(columns)
    several = frame.groupby("source")["language"].nunique()
    if (several > 1).any():
        raise ValueError(f"source {several.index[several > 1][0]!r} is given two languages: give it one")
    return frame


def label_text(text: pd.DataFrame, gender_words: pd.DataFrame, side: str = "target") -> pd.DataFrame:
    """Label the sentences of one side of a parallel text by the gender words of their English originals.

    Parameters
    ----------
    text : pandas.DataFrame
        ``english target``, as `biaslib.io.read_parallel` gives it.
    gender_words : pandas.DataFrame
        ``gender word``, as `biaslib.io.read_gender_words` gives it.
    side : {"target", "english"}
        Which side the models read.

    Returns
    -------
    pandas.DataFrame
        As `biaslib.metrics.label_gender` gives it; ``target`` holds the sentences of `side`.

    Examples
    --------
    >>> words = pd.DataFrame({"gender": ["male", "female"], "word": ["he", "she"]})
    >>> text = pd.DataFrame({"english": ["He ran."], "target": ["Er lief."]})
    >>> label_text(text, words, "english")[["target", "gender"]].values.tolist()
    [['He ran.', 'male']]
    """
    words = gender_words.groupby("gender")["word"].agg(list)
    return metrics.label_gender(text["english"], text[side], male_words=words["male"], female_words=words["female"])


def other_sentences(
    text: pd.DataFrame, sentences: pd.DataFrame, language: str, gender_words: pd.DataFrame, *, side="target", seed=0
) -> dict[str, pd.DataFrame]:
    """Collect further sentences on which to compute MBE, to compare with those drawn from the text.

    Parameters
    ----------
    text, gender_words, side
        As for `label_text`.
    sentences : pandas.DataFrame
        Those drawn from the side that the models read.
    language : str
        Code of the text's other language.
    seed : int

    Returns
    -------
    dict of str to pandas.DataFrame
        Frames with ``target gender``: ``"other side"`` of the text (at most 200 sentences of each gender);
        ``"native names"``, the same sentences with names that are usual in the language, if any is replaced; on the
        English side also the gender words alone and in a template (§5.2).

    Examples
    --------
    >>> words = pd.DataFrame({"gender": ["male", "female"], "word": ["he", "she"], "kind": "pronoun"})
    >>> text = pd.DataFrame({"english": ["He ran.", "She ran."], "target": ["Er lief.", "Sie lief."]})
    >>> list(other_sentences(text, label_text(text, words), "de", words))
    ['other side']
    """
    other_side = label_text(text, gender_words, "english" if side == "target" else "target")
    found = {OTHER_SIDE: metrics.balance(metrics.usable(other_side), seed, n=_N_OTHER_SIDE)}
    native = metrics.with_native_names(sentences, language if side == "target" else "en", seed)
    if native["n_replaced"].any():
        found[NATIVE_NAMES] = native
    if side == "english":
        found |= {name: metrics.word_sentences(gender_words, template) for name, template in WORD_TEMPLATES.items()}
    return found


def compare_material(lm, scored: tuple, others: Mapping[str, pd.DataFrame], **options) -> pd.DataFrame:
    """Compute MBE on further sentences, with how far the model's tokenizer reaches there.

    Parameters
    ----------
    lm : MaskedLM
    scored : (pandas.DataFrame, numpy.ndarray)
        The sentences that have been scored, from `biaslib.metrics.gender_likelihoods`.
    others : mapping of str to pandas.DataFrame
        Further sentences, from `other_sentences`.
    **options
        ``weight n_resamples seed`` of `biaslib.metrics.score_with_interval`.

    Returns
    -------
    pandas.DataFrame
        ``sentences``, the columns of `biaslib.metrics.tokenizer_coverage`, and ``difference``, the score minus that on
        the sentences in `scored`, which come first as "as above".
    """
    found = {AS_ABOVE: scored} | {name: metrics.gender_likelihoods(lm, rows) for name, rows in others.items()}
    coverage = {name: metrics.tokenizer_coverage(*each, **options) for name, each in found.items()}
    table = pd.concat(coverage, names=["sentences", None]).reset_index("sentences").reset_index(drop=True)
    return table.assign(difference=table["score"] - table["score"].iloc[0])


def example_sentences(scored: pd.DataFrame) -> tuple[str, str]:
    """Choose the first male and the first female sentence that were scored.

    Parameters
    ----------
    scored : pandas.DataFrame
        ``target gender reason``, from `biaslib.metrics.gender_likelihoods`.

    Returns
    -------
    male, female : str
        "He is a nurse." for a gender without one.

    Examples
    --------
    >>> rows = [("Er lief.", "male", ""), ("", "female", "empty"), ("Sie lief.", "female", "")]
    >>> example_sentences(pd.DataFrame(rows, columns=["target", "gender", "reason"]))
    ('Er lief.', 'Sie lief.')
    """
    first = scored[scored["reason"] == ""].drop_duplicates("gender").set_index("gender")["target"]
    return first.get("male", _EXAMPLE), first.get("female", _EXAMPLE)


def in_short(measured: pd.DataFrame) -> list[str]:
    """Summarise the scores in lines of Markdown.

    Parameters
    ----------
    measured : pandas.DataFrame
        ``model source`` and the columns of `biaslib.metrics.score_with_interval`.

    Returns
    -------
    list of str
        One line per model.

    Examples
    --------
    >>> row = {"model": "demo", "source": "talks", "score": 53.6, "ci_low": 45.4, "ci_high": 61.9, "reason": ""}
    >>> in_short(pd.DataFrame([row | {"n_male": 101, "n_female": 101, "n_left_out": 0}]))[0][:54]
    '- demo on talks: MBE 53.6, 95 % interval 45.4 to 61.9 '
    """
    return [_one_line(row) for row in measured.itertuples()]


def _one_line(row):
    start = f"- {escape_markdown(row.model)} on {escape_markdown(row.source)}:"
    counts = f"({row.n_male} male and {row.n_female} female sentences, {row.n_left_out} left out)"
    if row.reason:
        return f"{start} no score, {row.reason} {counts}; the table of what was taken says why."
    line = f"{start} MBE {row.score:.1f}, 95 % interval {row.ci_low:.1f} to {row.ci_high:.1f} {counts}."
    holds_50 = row.ci_low <= 50 <= row.ci_high
    return f"{line} The interval includes 50, so no preference is shown." if holds_50 else line


def beside_published(measured: pd.DataFrame, side: str = "target") -> pd.DataFrame:
    """Set the study's Table 2 beside the scores of a run.

    Parameters
    ----------
    measured : pandas.DataFrame
        ``language model source score ci_low ci_high``.
    side : {"target", "english"}
        Scores on the English side have nothing to stand beside.

    Returns
    -------
    pandas.DataFrame
        ``language ted news model source score ci_low ci_high``, NaN where the run has no such language.

    Examples
    --------
    >>> measured = pd.DataFrame({"language": ["de"], "model": "gbert", "source": "talks", "score": 52.0})
    >>> table = beside_published(measured.assign(ci_low=51.0, ci_high=53.0))
    >>> table.dropna()[["language", "ted", "score"]].values.tolist()
    [['de', 54.69, 52.0]]
    """
    ours = measured[["language", "model", "source", "score", "ci_low", "ci_high"]]
    comparable = ours if side == "target" else ours.head(0)
    return published_table("mbe_table2_scores").merge(comparable, on="language", how="left")


def comparison_scores(
    measured: pd.DataFrame, fingerprints: Mapping[str, str], *, side="target", weight="cosine"
) -> pd.DataFrame:
    """Give the MBE scores as rows of ``scores.csv``.

    Parameters
    ----------
    measured : pandas.DataFrame
        ``model source language`` and the columns of `biaslib.metrics.score_with_interval`.
    fingerprints : mapping of str to str
        Of the sentences drawn from each source.
    side, weight : str
        They make up the variant.

    Returns
    -------
    pandas.DataFrame
        As `biaslib.studies.scores_frame` gives it. The group is the language that the models read; n counts sentences.
    """
    n = measured["n_male"] + measured["n_female"]
    read = measured["language"] if side == "target" else "en"
    measured = measured.assign(n=n, group=read, p_value=np.nan)
    how = {"paper": "mbe", "measure": "mbe", "variant": f"side={side} weight={weight}"}
    frames = [
        scores_of(rows, value="score", group="group", data_fingerprint=fingerprints[source], **how)
        for source, rows in measured.groupby("source", sort=False)
    ]
    return pd.concat(frames, ignore_index=True)


def published_scores(scores: pd.DataFrame) -> dict[int, tuple[float, str]]:
    """Find what Table 2 has for a run's scores: target side, cosine weights, and the paper's model of the language."""
    printed = published_table("mbe_table2_scores").set_index("language").stack().to_dict()
    own = published_models(scores["model"], "mbe")
    found = {}
    for row in scores.itertuples():
        corpus = next((column for start, column in _TABLE_2.items() if row.data == f"{start}-{row.group}"), None)
        is_alike = row.measure == "mbe" and {"side=target", "weight=cosine"} <= set(row.variant.split())
        if is_alike and own.get(row.model) == row.group and (row.group, corpus) in printed:
            found[row.Index] = (printed[row.group, corpus], f"MBE, Table 2, {corpus}")
    return found


def judge(measured: pd.DataFrame, material: pd.DataFrame, kept: pd.DataFrame, *, side="target") -> pd.DataFrame:
    """Judge the study's claims on the results of a run.

    Parameters
    ----------
    measured : pandas.DataFrame
        ``model language score ci_low ci_high``, one row per model.
    material : pandas.DataFrame
        ``model sentences difference`` from `compare_material`.
    kept : pandas.DataFrame
        ``language gender n n_kept reason`` from `biaslib.metrics.retention`.
    side : {"target", "english"}
        Which side the models read.

    Returns
    -------
    pandas.DataFrame
        As `biaslib.studies.mark_claims` gives it. Claim 1 is seen if all eight languages score above 50; claim 2 is
        not testable; claim 3 is seen if native names move no score by a point or more, in three languages at least;
        claim 4 is seen if more than 80 % of German, Portuguese and Russian sentences keep their gender, 50 to 70 % of
        Japanese ones, and if male and female sentences differ by less than 10 points in every language.

    Examples
    --------
    >>> measured = pd.DataFrame({"model": ["demo"], "language": "de", "score": 53.6, "ci_low": 45.4, "ci_high": 61.9})
    >>> material = pd.DataFrame(columns=["model", "sentences", "difference"])
    >>> kept = pd.DataFrame(columns=["language", "gender", "n", "n_kept", "reason"])
    >>> judge(measured, material, kept)["status"].unique().tolist()
    ['not testable here']
    """
    translations = "needs text translated by people and by machines; words and templates are in the table above"
    verdicts = {
        1: _judge_all_languages(measured, side),
        2: verdict(None, translations),
        3: _judge_native_names(measured, material),
        4: _judge_gender_kept(kept),
    }
    return mark_claims("mbe", verdicts)


def _judge_all_languages(measured, side):
    published = set(published_table("mbe_table2_scores")["language"])
    complete = side == "target" and published <= set(measured["language"]) and measured["score"].notna().all()
    found = [f"{row.language} {row.score:.1f} ({row.ci_low:.1f} to {row.ci_high:.1f})" for row in measured.itertuples()]
    evidence = f"needs the eight languages' models on the target side; MBE here on the {side} side: {', '.join(found)}"
    return verdict(bool((measured["score"] > 50).all()) if complete else None, evidence)


def _judge_native_names(measured, material):
    native = material[material["sentences"] == NATIVE_NAMES].merge(measured[["model", "language"]], on="model")
    native = native.dropna(subset="difference")
    enough = native["language"].nunique() >= _LEAST_LANGUAGES
    moves = native.groupby("language")["difference"].agg(list).to_dict()
    evidence = f"needs three languages with transliterated names; differences in MBE here: {format_evidence(moves)}"
    return verdict(bool((native["difference"].abs() < _HARDLY).all()) if enough else None, evidence)


def _judge_gender_kept(kept):
    counts = kept[kept["reason"] == ""].groupby(["gender", "language"])[["n_kept", "n"]].sum()
    share = (counts["n_kept"] / counts["n"]).unstack("gender")
    evidence = f"needs de, pt, ru and ja; shares here: {format_evidence(share.round(3).to_dict('index'))}"
    if not set(_GENDER_KEPT) <= set(share.index):
        return verdict(None, evidence)
    high = (share.loc[["de", "pt", "ru"], "all"] > 0.8).all() and 0.5 <= share.loc["ja", "all"] <= 0.7
    alike = ((share["male"] - share["female"]).abs() < 0.1).all()
    return verdict(bool(high and alike), evidence)
