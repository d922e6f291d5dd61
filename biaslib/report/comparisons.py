"""Comparisons of the scores of several runs: differences between models, and what a figure shows."""

from itertools import combinations

import pandas as pd

from biaslib._checks import check_count
from biaslib.report.comparability import ALIKE, find_cautions
from biaslib.training.conditions import OFF_THE_SHELF

_MAIN_GROUPS = ("all", OFF_THE_SHELF)
_DIFFERENCES = ["model_1", "model_2", "value_1", "value_2", "difference", "n_1", "n_2", "run_1", "run_2", "caution"]


def differences(scores: pd.DataFrame) -> pd.DataFrame:
    """Subtract the scores of models from each other where measure, group, variant and data are the same.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `read_runs`.

    Returns
    -------
    pandas.DataFrame
        ``paper measure group variant data_fingerprint model_1 model_2 value_1 value_2 difference n_1 n_2 run_1 run_2
        caution``, one row per pair of models that have a value; ``difference`` is the first value minus the second.
        `caution` names what else differs ("version", "precision", or that one of them is not known). There is no
        interval: the scores of two runs do not tell how they vary together, and whether their intervals overlap is no
        test of the difference.

    Examples
    --------
    >>> scores, _ = read_runs("outputs")  # doctest: +SKIP
    >>> differences(scores)["difference"].tolist()  # doctest: +SKIP
    [1.5]
    """
    known = scores[scores["value"].notna() & (scores["data_fingerprint"] != "")]
    known = known.drop_duplicates([*ALIKE, "label", "model_fingerprint", "value"])
    rows = [
        dict(zip(ALIKE, key, strict=True)) | _difference(first, second)
        for key, alike in known.groupby(ALIKE, sort=False)
        for first, second in combinations(alike.to_dict("records"), 2)
    ]
    return pd.DataFrame(rows, columns=[*ALIKE, *_DIFFERENCES])


def choose_rows(scores: pd.DataFrame, max_rows: int = 40) -> pd.DataFrame:
    """Choose the scores that a legible figure shows, one panel per measure.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `read_runs`.
    max_rows : int
        Rows of a panel. Of a longer measure, the main groups ("all", "off the shelf") come first, then the others in
        the order of the runs, as many as fit, but at least one.

    Returns
    -------
    pandas.DataFrame
        Rows of `scores`, those of a group together and repeats of a score once, with the columns ``panel`` (its title,
        which says how many groups it shows) and ``caution`` ("version" or "precision" where it is not that of most
        scores in the same group and set).

    Raises
    ------
    ValueError
        If `max_rows` is below 1.

    Examples
    --------
    >>> scores, _ = read_runs("outputs")  # doctest: +SKIP
    >>> choose_rows(scores)["panel"].unique().tolist()  # doctest: +SKIP
    ['mbe: mbe', 'unmasked: vargha_delaney_a']
    """
    check_count(max_rows, "max_rows")
    once = scores.drop_duplicates([*ALIKE, "label", "value", "ci_low", "ci_high", "n"])
    once = once.assign(caution=find_cautions(once), panel="")
    panels = [_panel(rows, max_rows) for _, rows in once.groupby(["paper", "measure"], sort=False)]
    return pd.concat(panels, ignore_index=True) if panels else once


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


def _panel(rows, max_rows):
    groups = list(dict.fromkeys(rows["group"]))
    groups.sort(key=lambda group: _MAIN_GROUPS.index(group) if group in _MAIN_GROUPS else len(_MAIN_GROUPS))
    ends = rows.groupby("group").size().loc[groups].cumsum()
    shown = groups[: max(1, int((ends <= max_rows).sum()))]
    paper, measure = rows[["paper", "measure"]].iloc[0]
    some = f" ({len(shown)} of {len(groups)} groups)" if len(shown) < len(groups) else ""
    parts = [rows[rows["group"] == group].sort_values("set", kind="stable") for group in shown]
    return pd.concat(parts).assign(panel=f"{paper}: {measure}{some}")
