"""What the papers claim, and verdicts on it."""

import pandas as pd

from biaslib._checks import check_choice, listed
from biaslib._files import read_yaml
from biaslib.io.tables import read_table
from biaslib.studies._published import FOLDER

STATUSES = ("seen", "not seen", "not testable here")


def claims(paper: str) -> pd.DataFrame:
    """List what a paper asserts in words.

    Parameters
    ----------
    paper : {"speciesism", "mbe", "unmasked", "weat", "winoqueer"}

    Returns
    -------
    pandas.DataFrame
        ``claim_id section claim value``, one row per claim; ids count from 1 in the file's order.

    Raises
    ------
    ValueError
        If the paper is unknown.

    Examples
    --------
    >>> claims("speciesism").loc[6, "claim"]
    'VADER: "killed" is negative, "slaughtered" is neutral'
    """
    frame = read_table(FOLDER / "claims.csv")
    check_choice(paper, "paper", frame["paper"].unique())
    frame = frame[frame["paper"] == paper].reset_index(drop=True)
    frame.insert(0, "claim_id", range(1, len(frame) + 1))
    return frame[["claim_id", "section", "claim", "value"]]


def mark_claims(paper: str, verdicts: dict[int, tuple[str, str]]) -> pd.DataFrame:
    """Set the verdict of a run beside each claim of a paper.

    Parameters
    ----------
    paper : str
        As in `claims`.
    verdicts : dict of int to (str, str)
        For each ``claim_id`` a status (``"seen"``, ``"not seen"`` or ``"not testable here"``) and the evidence for it.

    Returns
    -------
    pandas.DataFrame
        ``section claim published_value status evidence``, one row per claim.

    Raises
    ------
    ValueError
        If a claim has no verdict, an id or a status is unknown, or evidence is missing.

    Examples
    --------
    >>> verdicts = {i: ("not testable here", "needs the paper's corpora") for i in range(1, 14)}
    >>> mark_claims("speciesism", verdicts).shape
    (13, 5)
    """
    frame = claims(paper)
    ids = frame["claim_id"].tolist()
    if missing := [claim_id for claim_id in ids if claim_id not in verdicts]:
        raise ValueError(f"no verdict on {paper} claim(s) {listed(missing)}; judge every claim")
    for claim_id, found in verdicts.items():
        check_choice(claim_id, f"{paper} claim", ids)
        _check_verdict(claim_id, found)
    marked = frame.rename(columns={"value": "published_value"}).drop(columns="claim_id")
    marked["status"] = [verdicts[claim_id][0] for claim_id in ids]
    marked["evidence"] = [verdicts[claim_id][1] for claim_id in ids]
    return marked


def verdict(seen, evidence):
    """Give the status and the evidence for `mark_claims`; `seen` is None if the claim cannot be tested in this run."""
    return ("not testable here" if seen is None else "seen" if seen else "not seen"), evidence


def claim_ranges(paper):
    """Read the bounds between which the values named in a paper's claims must lie: by claim id and name."""
    return read_yaml(FOLDER / f"{paper}_claim_bounds.yaml", mapping=True)


def verdict_by_range(frame, ranges, *, name, value):
    """Judge a claim by whether the values of every model lie within its ranges.

    `ranges` gives two bounds for each entry of the column `name`. The claim is not testable if there is no model or if
    one of them lacks a value.
    """
    if frame.empty:
        return verdict(None, "none of the models that the claim names is in this run")
    wide = frame.pivot(index="model", columns=name, values=value)
    if without := [key for key in ranges if key not in wide or wide[key].isna().any()]:
        return verdict(None, f"no value for {listed(without, most=3)}")
    inside = all(wide[key].between(low, high, inclusive="neither").all() for key, (low, high) in ranges.items())
    return verdict(inside, format_evidence(wide[list(ranges)].astype(float).round(2).to_dict("index")))


def format_evidence(values):
    """Write values by model as text: numbers, lists, or dicts of these."""
    return "; ".join(f"{model}: {_written(value)}" for model, value in values.items()) or "none"


def _written(value):
    if isinstance(value, dict):
        return ", ".join(f"{key} {_written(part)}" for key, part in value.items()) or "none"
    if isinstance(value, list | tuple | set):
        return ", ".join(map(_written, value)) or "none"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _check_verdict(claim_id, found):
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise ValueError(f"the verdict on claim {claim_id} must be (status, evidence), not {found!r}")
    status, evidence = found
    check_choice(status, f"status of claim {claim_id}", STATUSES)
    if not isinstance(evidence, str) or not evidence.strip():
        raise ValueError(f"claim {claim_id} must have evidence: say what the verdict rests on")
