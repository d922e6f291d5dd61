"""What the papers claim, and verdicts on it."""

import pandas as pd

from biaslib.studies._published import FOLDER

STATUSES = ("seen", "not seen", "not testable here")


def claims(paper):
    """Give what a paper's text asserts in words.

    Parameters
    ----------
    paper : str
        ``"speciesism"``, ``"mbe"``, ``"unmasked"``, ``"weat"`` or ``"winoqueer"``.

    Returns
    -------
    pandas.DataFrame
        ``claim_id section claim value``; ids count from 1 in the file's order.

    Raises
    ------
    ValueError
        If the paper is unknown.

    Examples
    --------
    >>> claims("speciesism").loc[6, "claim"]
    'VADER: "killed" is negative, "slaughtered" is neutral'
    """
    frame = pd.read_csv(FOLDER / "claims.csv", dtype=str, keep_default_na=False, encoding="utf-8")
    papers = list(dict.fromkeys(frame["paper"]))
    if paper not in papers:
        raise ValueError(f"no claims of {paper!r}; known: {', '.join(papers)}")
    frame = frame[frame["paper"] == paper].reset_index(drop=True)
    frame.insert(0, "claim_id", range(1, len(frame) + 1))
    return frame[["claim_id", "section", "claim", "value"]]


def mark_claims(paper, verdicts):
    """Set beside each claim of a paper what was found.

    Parameters
    ----------
    paper : str
        As in `claims`.
    verdicts : dict of int to (str, str)
        For each ``claim_id`` a status (``"seen"``, ``"not seen"`` or ``"not testable here"``) and the
        evidence for it in words.

    Returns
    -------
    pandas.DataFrame
        ``section claim published_value status evidence``, a row a claim.

    Raises
    ------
    ValueError
        If a claim has no verdict, an id or a status is unknown, or there is no evidence.

    Examples
    --------
    >>> verdicts = {i: ("not testable here", "needs the paper's corpora") for i in range(1, 14)}
    >>> mark_claims("speciesism", verdicts).shape
    (13, 5)
    """
    frame = claims(paper)
    missing = sorted(set(frame["claim_id"]) - set(verdicts))
    if missing:
        raise ValueError(f"no verdict on {paper} claim(s) {', '.join(map(str, missing))}: mark every claim")
    unknown = [str(claim_id) for claim_id in verdicts if claim_id not in set(frame["claim_id"])]
    if unknown:
        raise ValueError(f"{paper} has no claim(s) {', '.join(unknown)}; its ids go from 1 to {len(frame)}")
    for claim_id, verdict in verdicts.items():
        _check_verdict(claim_id, verdict)
    marked = frame.rename(columns={"value": "published_value"}).drop(columns="claim_id")
    marked["status"] = [verdicts[claim_id][0] for claim_id in frame["claim_id"]]
    marked["evidence"] = [verdicts[claim_id][1] for claim_id in frame["claim_id"]]
    return marked


def verdict(seen, evidence):
    """Give a verdict for `mark_claims`.

    Parameters
    ----------
    seen : bool or None
        Whether what the claim says was seen; None if it cannot be tested here.
    evidence : str
        What the verdict rests on.

    Returns
    -------
    tuple of (str, str)

    Examples
    --------
    >>> verdict(None, "needs the paper's corpora")
    ('not testable here', "needs the paper's corpora")
    """
    return ("not testable here" if seen is None else "seen" if seen else "not seen"), evidence


def claim_ranges(paper):
    """Read between which bounds the effects named in a paper's claims have to lie, as we read its text.

    Parameters
    ----------
    paper : str

    Returns
    -------
    dict of int to dict of str to list of float
        By ``claim_id`` and name: the two bounds.

    Raises
    ------
    ValueError
        If there is no such reading.
    """
    import yaml

    path = FOLDER.parent / f"{paper}_claims.yaml"
    if not path.is_file():
        raise ValueError(f"no reading of the claims of {paper!r}")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def by_decade(ranges):
    """Name each range by contrast and decade.

    Parameters
    ----------
    ranges : dict of str to dict of int to list of float
        Bounds by contrast and decade.

    Returns
    -------
    dict of str to list of float

    Examples
    --------
    >>> by_decade({"career": {1820: [1, 2], 1830: [1, 2]}})
    {'career 1820': [1, 2], 'career 1830': [1, 2]}
    """
    return {f"{name} {decade}": bounds for name, found in ranges.items() for decade, bounds in found.items()}


def verdict_by_range(frame, ranges, *, name, value):
    """Judge a claim by whether the values of every model lie in the ranges that it gives.

    Parameters
    ----------
    frame : pandas.DataFrame
        With a column ``model`` and those that `name` and `value` name.
    ranges : dict of str to (float, float)
        By name, the bounds between which a value has to lie.
    name, value : str
        Columns.

    Returns
    -------
    tuple of (str, str)
        As `verdict` gives it: not testable where a model lacks a value.

    Examples
    --------
    >>> frame = pd.DataFrame({"model": "demo", "contrast": ["law", "cook"], "d": [0.4, -0.3]})
    >>> verdict_by_range(frame, {"law": (0, 2), "cook": (-2, 0)}, name="contrast", value="d")
    ('seen', 'demo: law 0.4, cook -0.3')
    """
    if frame.empty:
        return verdict(None, "no model that it is about has been scored in this run")
    wide = frame.pivot(index="model", columns=name, values=value)
    without = [key for key in ranges if key not in wide or wide[key].isna().any()]
    if without:
        more = f" and {len(without) - 3} more" if len(without) > 3 else ""
        return verdict(None, f"no value for {', '.join(without[:3])}{more}")
    inside = all(wide[key].between(low, high, inclusive="neither").all() for key, (low, high) in ranges.items())
    found = {model: {key: round(float(row[key]), 2) for key in ranges} for model, row in wide.iterrows()}
    return verdict(inside, format_evidence(found))


def format_evidence(values):
    """Write values by model as evidence that people read.

    Parameters
    ----------
    values : dict
        From a model's name to a number, a text, a list, or a dict of these.

    Returns
    -------
    str

    Examples
    --------
    >>> in_words({"demo": {"object": 0.865, "human": 0.632}, "mine": []})
    'demo: object 0.865, human 0.632; mine: none'
    """
    return "; ".join(f"{model}: {_said(value)}" for model, value in values.items()) or "none"


def _said(value):
    if isinstance(value, dict):
        return ", ".join(f"{key} {_said(part)}" for key, part in value.items()) or "none"
    if isinstance(value, list | tuple | set):
        return ", ".join(map(_said, value)) or "none"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _check_verdict(claim_id, verdict):
    if not isinstance(verdict, tuple | list) or len(verdict) != 2:
        raise ValueError(f"the verdict on claim {claim_id} has to be (status, evidence), not {verdict!r}")
    status, evidence = verdict
    if status not in STATUSES:
        raise ValueError(f"claim {claim_id}: status {status!r} is unknown; known: {', '.join(STATUSES)}")
    if not isinstance(evidence, str) or not evidence.strip():
        raise ValueError(f"claim {claim_id}: say in words what the verdict rests on")
