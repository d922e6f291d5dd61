"""Runs side by side: the scores of all runs under a folder, and which of them can be compared.

Of a run nothing is read but ``results/scores.csv`` and ``run.json``. Scores are comparable where measure, group,
variant and data are the same; versions of the package and precisions that differ are warned of.
"""

import json
import math
import os
import string
from itertools import combinations
from pathlib import Path
from urllib.parse import quote

import pandas as pd

from biaslib._checks import check_columns
from biaslib.report.results import beside_notebooks, read_scores
from biaslib.studies import SCORE_COLUMNS, published_model, published_table
from biaslib.training.continued import OFF_THE_SHELF

# Notebooks that measure nothing themselves.
ACROSS_PAPERS = ("compare", "explore")
NEUTRAL_VALUES = {
    "adjusted_rand": 0.0,
    "group_cohesion": 0.0,
    "sentiment_shift": 0.0,
    "object_bias": 0.0,
    "rank_biserial": 0.0,
    "vargha_delaney_a": 0.5,
    "mbe": 50.0,
    "stereotype_score": 50.0,
    "stereotype_score_by_group": 50.0,
    "score_change": 0.0,
    "gap_bias": 1.0,
    "weat": 0.0,
    "weat_debiased": 0.0,
}
RUN_COLUMNS = ("run", "notebook", "used", "reason", "n_scores", "models", "version", "started", "manifest", "report")
RUN_COLUMNS += ("parameters",)
WARNING_COLUMNS = ("kind", "paper", "measure", "n_groups", "groups", "runs")
_MEASURED = ["paper", "measure", "group"]
_ALIKE = [*_MEASURED, "variant", "data_fingerprint"]
_ORIGIN = ("run", "data", "version", "device", "dtype", "model_fingerprint", "parameters", "for_trying_out")
_ASPECTS = {
    "other data": "data_fingerprint",
    "other variant": "variant",
    "other version": "version",
    "other precision": "dtype",
}
# What says which models are measured, where, and where files lie; a difference in it changes no score of a model.
_NOT_SETTINGS = ("models", "vector_sets", "device", "results_dir", "models_dir", "shards_dir", "scheduler")
_MAIN_GROUPS = ("all", OFF_THE_SHELF)
_MBE_TABLES = {"ted2020": "ted", "globalvoices": "news"}


def read_runs(folder="outputs", names=()):
    """Read the scores of all runs under a folder.

    A run is a folder with a ``run.json`` or a ``results/scores.csv``. Hidden folders are not looked into, and runs of
    ``compare`` and ``explore`` are passed over: they measure nothing themselves.

    Parameters
    ----------
    folder : str or Path
    names : sequence of str
        Only runs of these names (the last folder of their path); by default all.

    Returns
    -------
    scores : pandas.DataFrame
        A row a score, the columns of `biaslib.studies.SCORE_COLUMNS` and, from the manifest ("" where it does not
        say), ``run data version device dtype model_fingerprint for_trying_out``; then ``set``, ``label`` and
        ``neutral``. Within a measure and group, scores of the same `set` have the same variant and data; "A" is
        the set of most models. `label` is the model's name, with the run where the name alone is not enough.
    runs : pandas.DataFrame
        ``run notebook used reason n_scores models version started manifest report parameters``, a row a run, those
        that were left out with their reason.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If there is no run under it, or none that can be read.

    Examples
    --------
    >>> scores, runs = read_runs("outputs")  # doctest: +SKIP
    >>> runs[["run", "n_scores"]].values.tolist()  # doctest: +SKIP
    [['mbe/demo', 1], ['unmasked/demo', 14]]
    """
    root = Path(folder) if Path(folder).is_dir() else beside_notebooks(Path(folder))
    if not root.is_dir():
        raise FileNotFoundError(f"no folder {str(folder)!r}: give the folder that runs lie in, such as outputs")
    names = [names] if isinstance(names, str) else list(names)
    found = [_read_run(place, root) for place in _run_folders(root)]
    found = [(about, scores) for about, scores in found if about["notebook"] not in ACROSS_PAPERS]
    found = [each for each in found if not names or each[0]["name"] in names]
    if not found:
        called = f" called {' or '.join(names)}" if names else ""
        raise ValueError(
            f"no run{called} under {str(folder)!r}: run a notebook first, such as `biaslib run speciesism`"
        )
    runs = pd.DataFrame([about for about, _ in found])[list(RUN_COLUMNS)]
    if not runs["used"].any():
        first = runs.iloc[0]
        raise ValueError(f"no run under {str(folder)!r} can be read; {first['run']}: {first['reason']}")
    scores = pd.concat([scores for about, scores in found if about["used"]], ignore_index=True)
    scores["set"] = _sets(scores)
    scores["label"] = _labels(scores)
    scores["neutral"] = scores["measure"].map(NEUTRAL_VALUES).astype(float)
    return scores, runs


def find_warnings(scores, runs):
    """Say which runs are not comparable, and why.

    Parameters
    ----------
    scores, runs : pandas.DataFrame
        From `read_runs`.

    Returns
    -------
    pandas.DataFrame
        ``kind paper measure n_groups groups runs``: what differs, in which groups of which measure, and each value
        with the runs that have it. Kinds: other data, other variant, other version, other precision (of the same
        measure and group); other model of the same name; same measurement, other value (by more than 1e-6 of it);
        other parameter (of the same notebook); no run.json; no data fingerprint; later run failed.

    Examples
    --------
    >>> scores, runs = read_runs("outputs")  # doctest: +SKIP
    >>> find_warnings(scores, runs)["kind"].tolist()  # doctest: +SKIP
    ['other variant']
    """
    rows = [row for kind, column in _ASPECTS.items() for row in _differing(scores[scores[column] != ""], kind, column)]
    rows += _renamed_models(scores)
    rows += _unlike_repeats(scores)
    rows += _differing_parameters(runs)
    rows += _unknown_origins(scores, runs)
    return pd.DataFrame(rows, columns=list(WARNING_COLUMNS))


def differences(scores):
    """Subtract the scores of models from each other where measure, group, variant and data are the same.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `read_runs`.

    Returns
    -------
    pandas.DataFrame
        ``paper measure group variant data_fingerprint model_1 model_2 value_1 value_2 difference n_1 n_2 run_1 run_2
        caution``, a row a pair of models that have a value; ``difference`` is the first value minus the second.
        `caution` names what else differs ("version", "precision", or that one of them is not known). There is no
        interval: two runs' scores do not tell how they vary together, and intervals of the two that overlap or do not
        are no test of the difference.

    Examples
    --------
    >>> scores, _ = read_runs("outputs")  # doctest: +SKIP
    >>> differences(scores)["difference"].tolist()  # doctest: +SKIP
    [1.5]
    """
    known = scores[scores["value"].notna() & (scores["data_fingerprint"] != "")]
    known = known.drop_duplicates([*_ALIKE, "label", "model_fingerprint", "value"])
    rows = []
    for key, alike in known.groupby(_ALIKE, sort=False):
        for first, second in combinations(alike.to_dict("records"), 2):
            rows.append(dict(zip(_ALIKE, key, strict=True)) | _difference(first, second))
    columns = ["model_1", "model_2", "value_1", "value_2", "difference", "n_1", "n_2", "run_1", "run_2", "caution"]
    return pd.DataFrame(rows, columns=[*_ALIKE, *columns])


def with_published(scores):
    """Set beside each score what the paper published for it, where it did.

    That is WinoQueer's Table 2 (off the shelf, on WinoQueer's pairs by PLL), UnMASKed's Table 2 (A, on our prompts,
    since its own were not released) and the MBE paper's Table 2 (target side, cosine weights, TED2020 or GlobalVoices,
    the paper's own model of the language).

    Parameters
    ----------
    scores : pandas.DataFrame
        ``paper measure group model variant data parameters``, the last as JSON text.

    Returns
    -------
    pandas.DataFrame
        With the columns ``published`` (NaN where there is none) and ``published_in``.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> row = {"paper": "unmasked", "measure": "vargha_delaney_a", "group": "stem", "model": "bert-base-uncased"}
    >>> row |= {"variant": "in_place", "data": "", "parameters": '{"prompt_file": "job_prompts"}'}
    >>> with_published(pd.DataFrame([row]))["published"].tolist()
    [1.0]
    """
    check_columns(scores, ("paper", "measure", "group", "model", "variant", "data", "parameters"))
    tables = {
        "winoqueer": published_table("winoqueer_table2_bias").set_index("model")["off_the_shelf"].to_dict(),
        "unmasked": published_table("unmasked_table2_gtc").set_index(["model", "category"])["a"].to_dict(),
        "mbe": published_table("mbe_table2_scores").set_index("language").stack().to_dict(),
    }
    found = [_published(row, tables) for row in scores.to_dict("records")]
    values = pd.Series([value for value, _ in found], index=scores.index, dtype=float)
    return scores.assign(published=values, published_in=pd.Series([where for _, where in found], scores.index, str))


def choose_rows(scores, max_rows=40):
    """Choose the scores that a legible figure holds, a panel a measure.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `read_runs`.
    max_rows : int
        Rows of a panel. Of a measure with more, the main group ("all", "off the shelf") comes first, then groups in
        the order of the runs, as many as have room, at least one.

    Returns
    -------
    pandas.DataFrame
        Rows of `scores`, a group's together, repeats of a score once, with the columns ``panel`` (what it is called,
        and how many of its groups it shows) and ``caution`` ("version" or "precision" where it is not that of most
        scores in the same group and set).

    Raises
    ------
    ValueError
        If `max_rows` is below 1.
    """
    if max_rows < 1:
        raise ValueError(f"max_rows is {max_rows}: a panel has to have 1 row or more")
    once = scores.drop_duplicates([*_ALIKE, "label", "value", "ci_low", "ci_high", "n"])
    once = once.assign(caution=_cautions(once))
    panels = [_panel(rows, max_rows) for _, rows in once.groupby(["paper", "measure"], sort=False)]
    return pd.concat(panels, ignore_index=True) if panels else once.assign(panel="")


def comparison_in_short(scores: pd.DataFrame, runs: pd.DataFrame, warnings: pd.DataFrame) -> list[str]:
    """Summarise a comparison in lines of Markdown.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `with_published`.
    runs : pandas.DataFrame
        From `read_runs`.
    warnings : pandas.DataFrame
        From `find_warnings`.

    Returns
    -------
    list of str

    Examples
    --------
    >>> scores = pd.DataFrame({"measure": ["mbe"], "model": "demo", "set": "A", "published": 54.7})
    >>> comparison_in_short(scores, pd.DataFrame({"used": [True, False]}), pd.DataFrame())[2]
    '- Scores with a published value beside them: 1.'
    """
    n_used = runs["used"].sum()
    n_other = (scores["set"] != "A").sum()
    return [
        f"- Scores: {len(scores):,}, of {scores['measure'].nunique()} measures and {scores['model'].nunique()} models "
        f"or sets of vectors. Runs: {n_used} compared, {len(runs) - n_used} left out.",
        f"- Warnings that runs are not comparable, or only with caution: {len(warnings)}. Scores on other data or by "
        f"another variant than most of their group: {n_other:,}.",
        f"- Scores with a published value beside them: {scores['published'].notna().sum():,}.",
    ]


def report_links(runs, folder):
    """Give links from a page in a folder to the reports of runs.

    Parameters
    ----------
    runs : pandas.DataFrame
        From `read_runs`.
    folder : str or Path
        Where the page lies that the links are for.

    Returns
    -------
    pandas.DataFrame
        ``run href``: a relative path with its special characters escaped, so that the link works from disk, and
        goes on working where all runs move together. A run without a page is not in it.

    Examples
    --------
    >>> runs = pd.DataFrame({"run": ["mbe/demo"], "report": ["outputs/mbe/demo/report.html"]})
    >>> report_links(runs, "outputs/compare/all").href.item()
    '../../mbe/demo/report.html'
    """
    with_page = runs[runs["report"] != ""]
    start = beside_notebooks(Path(folder))
    href = [quote(Path(os.path.relpath(report, start)).as_posix()) for report in with_page["report"]]
    return pd.DataFrame({"run": with_page["run"].tolist(), "href": href}, dtype=str)


def _run_folders(root):
    seen = set()
    for place, inside, files in os.walk(root, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:
            # A link to a run that was met, or back up the tree.
            inside.clear()
            continue
        seen.add(real)
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        if "run.json" in files or (Path(place) / "results" / "scores.csv").is_file():
            inside.clear()
            yield Path(place)


def _read_run(place, root):
    """What is known of a run, and its scores if they can be used."""
    manifest, problem = _read_manifest(place)
    notebook = _text(manifest.get("notebook"))
    here = Path(os.path.abspath(place))
    about = {
        "run": place.relative_to(root).as_posix() if place != root else here.name,
        "name": here.name.removesuffix(".failed"),
        "notebook": Path(notebook).stem if notebook else here.parent.name,
        "used": False,
        "reason": "",
        "n_scores": 0,
        "models": "",
        "version": _text(_mapping(manifest.get("versions")).get("biaslib")),
        "started": _text(manifest.get("started")),
        "manifest": problem or "run.json",
        "report": str(place / "report.html") if (place / "report.html").is_file() else "",
        "parameters": json.dumps(_mapping(manifest.get("parameters")), ensure_ascii=False),
    }
    if manifest.get("ok") is False or place.name.endswith(".failed"):
        return about | {"reason": f"the run failed: {_text(manifest.get('error')) or 'no reason given'}"}, None
    try:
        scores = _possible(read_scores(place / "results"))
    except (ValueError, OverflowError, OSError) as error:
        return about | {"reason": " ".join(str(error).split())}, None
    models = "; ".join(dict.fromkeys(scores["model"]))
    return about | {"used": True, "n_scores": len(scores), "models": models}, _with_origin(scores, about, manifest)


def _possible(scores):
    """Refuse numbers that no score can have."""
    wrong = scores["p_value"].lt(0) | scores["p_value"].gt(1) | scores["ci_low"].gt(scores["ci_high"])
    wrong |= scores[["value", "ci_low", "ci_high"]].isin([math.inf, -math.inf]).any(axis=1)
    if wrong.any():
        row = scores[wrong].iloc[0]
        numbers = ", ".join(f"{name} {row[name]:g}" for name in ("value", "ci_low", "ci_high", "p_value"))
        raise ValueError(f"scores.csv has impossible numbers, such as {row['measure']} of {row['model']}: {numbers}")
    return scores


def _read_manifest(place):
    """The content of ``run.json``, and why there is none."""
    try:
        manifest = json.loads((place / "run.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}, "none"
    except (ValueError, OSError, RecursionError):
        manifest = None
    return (manifest, "") if isinstance(manifest, dict) else ({}, "not readable")


def _with_origin(scores, about, manifest):
    """Add what the manifest says of each score's model and data."""
    entries = manifest.get("models") if isinstance(manifest.get("models"), list) else []
    models = {_text(entry.get("name")): entry for entry in entries if isinstance(entry, dict)}
    data = {_text(value): _text(name) for name, value in _mapping(manifest.get("data")).items()}
    rows = []
    for model, fingerprint in zip(scores["model"], scores["data_fingerprint"], strict=True):
        entry = models.get(model, {})
        known = [_text(entry.get(key)) for key in ("device", "dtype", "fingerprint")]
        rows.append(
            (
                *(about["run"], data.get(fingerprint, ""), about["version"], *known, about["parameters"]),
                entry.get("for_trying_out") is True,
            )
        )
    origin = pd.DataFrame(rows, columns=list(_ORIGIN)).astype(dict.fromkeys(_ORIGIN[:-1], str))
    origin["for_trying_out"] = origin["for_trying_out"].astype(bool)
    return pd.concat([scores[list(SCORE_COLUMNS)], origin], axis=1)


def _text(value):
    return value if isinstance(value, str) else ""


def _mapping(value):
    return value if isinstance(value, dict) else {}


def _sets(scores):
    """Letter the sets of scores with the same variant and data within each measure and group."""
    # Data without a fingerprint may be any: they are like no other run's.
    data = scores["data_fingerprint"].where(scores["data_fingerprint"] != "", "?" + scores["run"])
    keyed = scores[[*_MEASURED, "variant", "model"]].assign(data=data)
    letters = pd.Series("", index=scores.index, dtype=str)
    for _, rows in keyed.groupby(_MEASURED, sort=False):
        sets = (
            rows.groupby(["variant", "data"], sort=False)["model"].nunique().sort_values(ascending=False, kind="stable")
        )
        places = {key: n for n, key in enumerate(sets.index)}
        letters.loc[rows.index] = [_letter(places[key]) for key in zip(rows["variant"], rows["data"], strict=True)]
    return letters


def _letter(n):
    return string.ascii_uppercase[n] if n < 26 else f"{_letter(n // 26 - 1)}{_letter(n % 26)}"


def _labels(scores):
    """Name each score's model, with the run where a paper has several different scores of a model for the same."""
    different = scores.drop_duplicates([*_ALIKE, "model", "value", "ci_low", "ci_high", "n"])
    counts = different.groupby([*_MEASURED, "model"]).size().groupby(["paper", "model"]).max()
    repeated = [counts.get(key, 0) > 1 for key in zip(scores["paper"], scores["model"], strict=True)]
    return scores["model"].where(~pd.Series(repeated, scores.index, bool), scores["model"] + " (" + scores["run"] + ")")


def _differing(known, kind, column):
    """Rows of warnings for the measures in which a column has several values in the same group."""
    several = known.groupby(_MEASURED)[column].transform("nunique") > 1
    for (paper, measure), rows in known[several].groupby(["paper", "measure"], sort=False):
        groups = list(dict.fromkeys(rows["group"]))
        yield kind, paper, measure, len(groups), _listed(groups), _runs_by(rows, column)


def _renamed_models(scores):
    # Vectors have no precision: "demo" vectors and the "demo" model are not the same thing.
    known = scores[scores["model_fingerprint"] != ""].assign(vectors=lambda frame: frame["dtype"] == "")
    several = known.groupby(["model", "vectors"])["model_fingerprint"].transform("nunique") > 1
    for (model, _), rows in known[several].groupby(["model", "vectors"], sort=False):
        by_run = f"{model}: {_runs_by(rows, 'model_fingerprint')}"
        yield "other model of the same name", _listed(rows["paper"]), _listed(rows["measure"]), 0, "", by_run


def _unlike_repeats(scores):
    known = scores[scores["value"].notna()]
    same = [*_ALIKE, "model", "model_fingerprint"]
    by = known.groupby(same)["value"]
    unlike = by.transform("max") - by.transform("min") > 1e-6 * by.transform(lambda values: values.abs().max())
    for (paper, measure), rows in known[unlike].groupby(["paper", "measure"], sort=False):
        groups = list(dict.fromkeys(rows["group"]))
        yield "same measurement, other value", paper, measure, len(groups), _listed(groups), _listed(rows["run"])


def _differing_parameters(runs):
    used = runs[runs["used"]]
    for notebook, rows in used.groupby("notebook", sort=False):
        given = {row.run: json.loads(row.parameters) for row in rows.itertuples()}
        for name in dict.fromkeys(name for values in given.values() for name in values):
            values = {run: json.dumps(v[name], ensure_ascii=False) for run, v in given.items() if name in v}
            if name in _NOT_SETTINGS or len(set(values.values())) < 2:
                continue
            frame = pd.DataFrame({"run": list(values), "value": list(values.values())})
            yield "other parameter", notebook, "", 0, "", f"{name} = {_runs_by(frame, 'value')}"


def _unknown_origins(scores, runs):
    used, without_data = runs[runs["used"]], scores[scores["data_fingerprint"] == ""]
    for row in used[used["manifest"] != "run.json"].itertuples():
        yield "no run.json", row.notebook, "", 0, "", f"{row.run}: version, device and precision are not known"
    for (paper, measure), rows in without_data.groupby(["paper", "measure"], sort=False):
        groups = list(dict.fromkeys(rows["group"]))
        yield "no data fingerprint", paper, measure, len(groups), _listed(groups), _listed(rows["run"])
    failed = set(runs.loc[~runs["used"], "run"])
    for row in used.itertuples():
        if f"{row.run}.failed" in failed:
            yield "later run failed", row.notebook, "", 0, "", f"{row.run} is of an earlier run than {row.run}.failed"


def _runs_by(rows, column):
    """Each value of a column with the runs that have it, in words."""
    return "; ".join(f"{value} in {_listed(part)}" for value, part in rows.groupby(column, sort=False)["run"])


def _listed(values):
    values = list(dict.fromkeys(values))
    more = f" and {len(values) - 12} more" if len(values) > 12 else ""
    return ", ".join(values[:12]) + more


def _difference(first, second):
    pair = {}
    for number, row in enumerate((first, second), 1):
        pair |= {f"model_{number}": row["label"], f"run_{number}": row["run"]}
        pair |= {f"value_{number}": row["value"], f"n_{number}": row["n"]}
    unlike = [
        name if first[column] and second[column] else f"{name} not known"
        for name, column in (("version", "version"), ("precision", "dtype"))
        if first[column] != second[column]
    ]
    return pair | {"difference": first["value"] - second["value"], "caution": ", ".join(unlike)}


def _published(row, tables):
    """A score's published value and where it stands: only for the paper's measure, material and model."""
    paper, measure, group, model = (row[name] for name in ("paper", "measure", "group", "model"))
    variant, given, value, where = row["variant"].split(), json.loads(row["parameters"]), None, ""
    own_pairs = given.get("pair_source") in ("winoqueer", "winoqueer-v0") and "pll" in variant
    if paper == "winoqueer" and measure == "stereotype_score" and group == OFF_THE_SHELF and own_pairs:
        value, where = tables[paper].get(published_model(model, paper)), "WinoQueer, Table 2"
    if paper == "unmasked" and measure == "vargha_delaney_a" and given.get("prompt_file") == "job_prompts":
        value, where = tables[paper].get((published_model(model, paper), group)), "UnMASKed, Table 2, other prompts"
    if paper == "mbe" and measure == "mbe" and {"side=target", "weight=cosine"} <= set(variant):
        table = next((name for start, name in _MBE_TABLES.items() if row["data"] == f"{start}-{group}"), None)
        if published_model(model, paper) == group:
            value, where = tables[paper].get((group, table)), f"MBE, Table 2, {table}"
    return (None, "") if value is None else (value, where)


def _cautions(scores):
    cautions = pd.Series("", index=scores.index, dtype=str)
    for name, column in (("version", "version"), ("precision", "dtype")):
        known = scores[scores[column] != ""]
        usual = known.groupby([*_MEASURED, "set"])[column].transform(lambda values: values.mode().iloc[0])
        unlike = known.index[known[column] != usual]
        cautions.loc[unlike] = [f"{before}, {name}" if before else name for before in cautions.loc[unlike]]
    return cautions


def _panel(rows, max_rows):
    groups = list(dict.fromkeys(rows["group"]))
    in_order = [g for g in _MAIN_GROUPS if g in groups] + [g for g in groups if g not in _MAIN_GROUPS]
    ends = rows.groupby("group").size().loc[in_order].cumsum()
    shown = in_order[: max(1, int((ends <= max_rows).sum()))]
    paper, measure = rows[["paper", "measure"]].iloc[0]
    some = f" ({len(shown)} of {len(groups)} groups)" if len(shown) < len(groups) else ""
    parts = [rows[rows["group"] == group].sort_values("set", kind="stable") for group in shown]
    return pd.concat(parts).assign(panel=f"{paper}: {measure}{some}")
