"""The papers' tables, and the models they speak of."""

import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from biaslib._checks import check_choice
from biaslib._files import DATA
from biaslib.io.tables import as_numbers, read_table

FOLDER = DATA / "published"
TOP_WORDS = "speciesism_tables8_11_top_words"


def published_table(name: str) -> pd.DataFrame:
    """Read one of the papers' tables.

    Parameters
    ----------
    name : str
        The name of a file in ``biaslib/data/published``, without ``.csv``.

    Returns
    -------
    pandas.DataFrame
        Text stays text ("NA", "null"); an empty field in a column of numbers is NaN.

    Raises
    ------
    ValueError
        If there is no such table; the message lists those there are.

    Examples
    --------
    >>> int(published_table("speciesism_table1_animal_frequency").set_index("animal").loc["pig"].item())
    25273
    """
    check_choice(name, "published table", sorted(path.stem for path in FOLDER.glob("*.csv")))
    return as_numbers(read_table(FOLDER / f"{name}.csv").reset_index(drop=True))


def published_model(name: str | Path, paper: str = "speciesism") -> str | None:
    """Return the name that a paper gives to a model, or None if it is not one of the paper's models.

    Parameters
    ----------
    name : str or Path
        A Hugging Face id, with or without its organisation; a folder, whose last part counts; or the paper's own name.
    paper : str
        A paper whose models are listed in ``<paper>_models.csv``, or ``"speciesism"``. The MBE paper has one model
        per language, named by the language's code here.

    Returns
    -------
    str or None

    Raises
    ------
    ValueError
        If the models of the paper are not listed in ``biaslib/data/published``.

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
    listed_models = [re.fullmatch("([a-z]+)_models", path.stem) for path in FOLDER.glob("*.csv")]
    check_choice(paper, "paper", sorted(["speciesism", *(match[1] for match in listed_models if match)]))
    models = published_table(f"{paper}_models")
    own = dict(zip(models["id"].map(_last_part), models["model"], strict=True))
    return str(name) if str(name) in set(models["model"]) else own.get(last)


def published_models(names: Iterable[str | Path], paper: str = "speciesism") -> dict[str, str]:
    """Find the models of a paper among those of a run.

    Parameters
    ----------
    names : iterable of str or Path
        As for `published_model`.
    paper : str
        As for `published_model`.

    Returns
    -------
    dict of str to str
        From the name in the run to the paper's own, in the order of `names`; other models are left out.

    Examples
    --------
    >>> published_models(["demo", "FacebookAI/roberta-large"])
    {'FacebookAI/roberta-large': 'roberta-large'}
    """
    own = {name: published_model(name, paper) for name in names}
    return {name: published for name, published in own.items() if published}


def unmasked_models() -> pd.DataFrame:
    """List the six models of UnMASKed (Parra 2024).

    Returns
    -------
    pandas.DataFrame
        ``model id n_languages multilingual``: the paper's name, the Hugging Face id (inferred, since the paper names no
        checkpoints), the number of languages it was trained on, and the multilingual counterpart of a monolingual
        model ("" for a multilingual one).

    Examples
    --------
    >>> unmasked_models().loc[0, ["model", "id", "multilingual"]].tolist()
    ['bert', 'google-bert/bert-base-uncased', 'bert-multilingual']
    """
    return published_table("unmasked_models")


def _last_part(name):
    return re.split(r"[/\\]", str(name).rstrip("/\\"))[-1]
