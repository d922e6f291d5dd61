"""The papers' tables, and the models they speak of."""

import re

import pandas as pd

from biaslib._files import DATA

FOLDER = DATA / "published"
TOP_WORDS = "speciesism_tables8_11_top_words"


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
        return last if last in set(published_table(TOP_WORDS)["model"]) else None
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


def _last_part(name):
    return re.split(r"[/\\]", str(name).rstrip("/\\"))[-1]


def _numbers_with_gaps(column):
    """Turn a column of numbers that was read as text because of empty fields back into numbers."""
    filled = column[column != ""]
    if len(filled) in (0, len(column)):
        return column
    numbers = pd.to_numeric(filled, errors="coerce")
    return column if numbers.isna().any() else numbers.reindex(column.index)
