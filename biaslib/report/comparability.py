"""Which scores of several runs are comparable, and warnings where they are not.

Scores are comparable if measure, group, variant and data are the same; versions of the package and precisions that
differ are warned of.
"""

import json
import string
from collections.abc import Callable, Iterator

import pandas as pd

from biaslib._checks import listed

MEASURED = ["paper", "measure", "group"]
ALIKE = [*MEASURED, "variant", "data_fingerprint"]
_WARNING_COLUMNS = ["kind", "paper", "measure", "n_groups", "groups", "runs"]
_ASPECTS = {
    "other data": "data_fingerprint",
    "other variant": "variant",
    "other version": "version",
    "other precision": "dtype",
}
# Which models are measured, where, and where files lie: a difference here changes no score of a model.
_NOT_SETTINGS = ("models", "vector_sets", "device", "results_dir", "models_dir", "shards_dir", "scheduler")


def find_warnings(scores: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Find the runs that are not comparable, and say why.

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
    rows = [row for kind, column in _ASPECTS.items() for row in _differing(scores, kind, column)]
    rows += _renamed_models(scores)
    rows += _unlike_repeats(scores)
    rows += _differing_parameters(runs)
    rows += _unknown_origins(scores, runs)
    return pd.DataFrame(rows, columns=_WARNING_COLUMNS)


def name_sets(scores):
    """Name by letters the sets of scores with the same variant and data within each measure and group."""
    # Data without a fingerprint may be any: they are like no other run's.
    data = scores["data_fingerprint"].where(scores["data_fingerprint"] != "", "?" + scores["run"])
    keyed = scores[[*MEASURED, "variant", "model"]].assign(data=data)
    letters = pd.Series("", index=scores.index, dtype=str)
    for _, rows in keyed.groupby(MEASURED, sort=False):
        sizes = rows.groupby(["variant", "data"], sort=False)["model"].nunique()
        sets = sizes.sort_values(ascending=False, kind="stable").index.tolist()
        letters.loc[rows.index] = [_letter(sets.index(key)) for key in zip(rows["variant"], rows["data"], strict=True)]
    return letters


def name_models(scores):
    """Name each score's model, with the run where a paper has several different scores of a model for the same."""
    different = scores.drop_duplicates([*ALIKE, "model", "value", "ci_low", "ci_high", "n"])
    counts = different.groupby([*MEASURED, "model"]).size().groupby(["paper", "model"]).max()
    is_ambiguous = [counts.get(key, 0) > 1 for key in zip(scores["paper"], scores["model"], strict=True)]
    with_run = scores["model"] + " (" + scores["run"] + ")"
    return scores["model"].mask(pd.Series(is_ambiguous, scores.index, bool), with_run)


def find_cautions(scores):
    """Say of each score whether its version or precision is not that of most scores in the same group and set."""
    cautions = pd.Series("", index=scores.index, dtype=str)
    for name, column in (("version", "version"), ("precision", "dtype")):
        known = scores[scores[column] != ""]
        usual = known.groupby([*MEASURED, "set"])[column].transform(lambda values: values.mode().iloc[0])
        unlike = known.index[known[column] != usual]
        cautions.loc[unlike] = [f"{before}, {name}" if before else name for before in cautions.loc[unlike]]
    return cautions


def _letter(n):
    return string.ascii_uppercase[n] if n < 26 else f"{_letter(n // 26 - 1)}{_letter(n % 26)}"


def _by_measure(kind: str, rows: pd.DataFrame, say_runs: Callable[[pd.DataFrame], str]) -> Iterator[tuple]:
    """Yield one warning per measure of some scores."""
    for (paper, measure), part in rows.groupby(["paper", "measure"], sort=False):
        yield kind, paper, measure, part["group"].nunique(), _listed(part["group"]), say_runs(part)


def _differing(scores, kind, column):
    """Warn of measures in which a column has several values in the same group."""
    known = scores[scores[column] != ""]
    several = known.groupby(MEASURED)[column].transform("nunique") > 1
    return _by_measure(kind, known[several], lambda rows: _runs_by(rows, column))


def _renamed_models(scores):
    # Vectors have no precision: "demo" vectors and the "demo" model are not the same thing.
    known = scores[scores["model_fingerprint"] != ""].assign(vectors=lambda frame: frame["dtype"] == "")
    several = known.groupby(["model", "vectors"])["model_fingerprint"].transform("nunique") > 1
    for (model, _), rows in known[several].groupby(["model", "vectors"], sort=False):
        by_run = f"{model}: {_runs_by(rows, 'model_fingerprint')}"
        yield "other model of the same name", _listed(rows["paper"]), _listed(rows["measure"]), 0, "", by_run


def _unlike_repeats(scores):
    known = scores[scores["value"].notna()]
    by = known.groupby([*ALIKE, "model", "model_fingerprint"])["value"]
    unlike = by.transform("max") - by.transform("min") > 1e-6 * by.transform(lambda values: values.abs().max())
    return _by_measure("same measurement, other value", known[unlike], lambda rows: _listed(rows["run"]))


def _differing_parameters(runs):
    for notebook, rows in runs[runs["used"]].groupby("notebook", sort=False):
        given = {row.run: json.loads(row.parameters) for row in rows.itertuples()}
        names = dict.fromkeys(name for values in given.values() for name in values if name not in _NOT_SETTINGS)
        for name in names:
            values = [(run, json.dumps(v[name], ensure_ascii=False)) for run, v in given.items() if name in v]
            found = pd.DataFrame(values, columns=["run", "value"])
            if found["value"].nunique() > 1:
                yield "other parameter", notebook, "", 0, "", f"{name} = {_runs_by(found, 'value')}"


def _unknown_origins(scores, runs):
    used = runs[runs["used"]]
    for row in used[used["manifest"] != "run.json"].itertuples():
        yield "no run.json", row.notebook, "", 0, "", f"{row.run}: version, device and precision are unknown"
    without_data = scores[scores["data_fingerprint"] == ""]
    yield from _by_measure("no data fingerprint", without_data, lambda rows: _listed(rows["run"]))
    failed = set(runs.loc[~runs["used"], "run"])
    for row in used.itertuples():
        if f"{row.run}.failed" in failed:
            yield "later run failed", row.notebook, "", 0, "", f"{row.run} is of an earlier run than {row.run}.failed"


def _runs_by(rows, column):
    """List each value of a column with the runs that have it."""
    return "; ".join(f"{value} in {_listed(part)}" for value, part in rows.groupby(column, sort=False)["run"])


def _listed(values):
    return listed(dict.fromkeys(values), most=12)
