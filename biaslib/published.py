"""What the papers published: their tables and the claims of their texts."""

import re
from pathlib import Path

import pandas as pd

from biaslib.templates import check_columns, names_of

FOLDER = Path(__file__).parent / "data" / "published"
STATUSES = ("seen", "not seen", "not testable here")

_TOP_WORDS = "speciesism_tables8_11_top_words"
# Models whose published words come without the mark that tells a word from a piece of one.
_NO_PIECE_MARK = ("roberta-large", "albert-large-v2")


def published_table(name):
    """Read one of the papers' tables.

    Parameters
    ----------
    name : str
        As the files in ``biaslib/data/published`` are called, without ``.csv``.

    Returns
    -------
    pandas.DataFrame
        Text stays text ("NA", "null"); an empty field of a column of numbers is NaN.

    Raises
    ------
    ValueError
        If there is no such table; the known ones are listed.

    Examples
    --------
    >>> int(published_table("speciesism_table1_animal_frequency").set_index("animal").loc["pig"].item())
    25273
    """
    known = sorted(path.stem for path in FOLDER.glob("*.csv"))
    if name not in known:
        raise ValueError(f"no published table {name!r}; known: {', '.join(known)}")
    frame = pd.read_csv(FOLDER / f"{name}.csv", keep_default_na=False, encoding="utf-8")
    return frame.apply(_numbers_with_gaps)


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
    return verdict(inside, in_words(found))


def in_words(values):
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


def published_model(name, paper="speciesism"):
    """Give a paper's own name of a model, or None if it is not one of its models.

    Parameters
    ----------
    name : str or Path
        A hub id with or without its organisation, or a folder, of which the last part counts, or the paper's own name.
    paper : {"speciesism", "mbe", "unmasked", "winoqueer"}
        The MBE paper has one model a language, whose code is its name here.

    Returns
    -------
    str or None

    Raises
    ------
    ValueError
        If the paper is another one.

    Examples
    --------
    >>> published_model("FacebookAI/roberta-large")
    'roberta-large'
    >>> published_model("google-bert/bert-base-multilingual-uncased", "unmasked")
    'bert-multilingual'
    """
    last = _last_part(name)
    if paper == "speciesism":
        return last if last in set(published_table(_TOP_WORDS)["model"]) else None
    if paper not in ("mbe", "unmasked", "winoqueer"):
        raise ValueError(f"no models of paper {paper!r} are known by name; known: speciesism, mbe, unmasked, winoqueer")
    models = _models_of(paper)
    own = dict(zip(models["id"].map(_last_part), models["model"], strict=True))
    return str(name) if str(name) in set(models["model"]) else own.get(last)


def unmasked_models():
    """Give the six models of UnMASKed (Parra 2024).

    Returns
    -------
    pandas.DataFrame
        ``model id n_languages multilingual``: the paper's name, the Hugging Face id (inferred: the paper names no
        checkpoints), how many languages it was trained on, and the multilingual counterpart of a monolingual one
        ("" for the multilingual ones).

    Examples
    --------
    >>> unmasked_models().loc[0, ["model", "id", "multilingual"]].tolist()
    ['bert', 'google-bert/bert-base-uncased', 'bert-multilingual']
    """
    return _models_of("unmasked")


def _models_of(paper):
    return pd.read_csv(FOLDER.parent / f"{paper}_models.csv", keep_default_na=False, encoding="utf-8")


def agreement_with_published_top_words(top, model):
    """Compare top words with the speciesism study's Tables 8 to 11.

    Parameters
    ----------
    top : pandas.DataFrame
        ``name sentences word`` at least, from `biaslib.contrast.top_contrast`.
    model : str
        One of the study's four models, as `published_model` reads it.

    Returns
    -------
    pandas.DataFrame
        ``name sentences n_published n_found share found missing``, a row for each name in `top` that the
        tables have and each kind of sentence; `found` and `missing` list the published words. Words compare
        case-sensitively; a ``*`` in a published word stands for one letter (``f**ked``). For RoBERTa and
        ALBERT, whose tables do not mark pieces of words, a piece of the same letters counts as well.
        ``attrs["not_measured"]`` and ``attrs["not_published"]`` list the names that only one side has.

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
    own_name = published_model(model)
    if own_name is None:
        known = ", ".join(dict.fromkeys(published_table(_TOP_WORDS)["model"]))
        raise ValueError(f"nothing is published for model {str(model)!r}; known: {known}")
    check_columns(top, ("name", "sentences", "word"))
    table = published_table(_TOP_WORDS)
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


def different_top_words(top):
    """Count the different words that fill the top ranks in either kind of sentence.

    Parameters
    ----------
    top : pandas.DataFrame
        ``sentences word`` at least, of one model.

    Returns
    -------
    pandas.DataFrame
        ``sentences n_different``, first object, then human.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    BERT's Table 8 has 85 different words in object and 45 in human sentences:

    >>> table = published_table("speciesism_tables8_11_top_words")
    >>> different_top_words(table[table["model"] == "bert-large-cased"])["n_different"].tolist()
    [85, 45]
    """
    check_columns(top, ("sentences", "word"))
    rows = [(kind, top.loc[top["sentences"] == kind, "word"].nunique()) for kind in ("object", "human")]
    return pd.DataFrame(rows, columns=["sentences", "n_different"])


def _last_part(name):
    return re.split(r"[/\\]", str(name).rstrip("/\\"))[-1]


def _numbers_with_gaps(column):
    """Turn a column of numbers that was read as text because of empty fields back into numbers."""
    filled = column[column != ""]
    if len(filled) in (0, len(column)):
        return column
    numbers = pd.to_numeric(filled, errors="coerce")
    return column if numbers.isna().any() else numbers.reindex(column.index)


def _check_verdict(claim_id, verdict):
    if not isinstance(verdict, tuple | list) or len(verdict) != 2:
        raise ValueError(f"the verdict on claim {claim_id} has to be (status, evidence), not {verdict!r}")
    status, evidence = verdict
    if status not in STATUSES:
        raise ValueError(f"claim {claim_id}: status {status!r} is unknown; known: {', '.join(STATUSES)}")
    if not isinstance(evidence, str) or not evidence.strip():
        raise ValueError(f"claim {claim_id}: say in words what the verdict rests on")


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
