"""What stands beside the scores of all studies: their neutral values and the published figures.

Each study says in its own file which of its measures has which neutral value (``NEUTRAL_VALUES``) and which published
figure belongs to which score (``published_scores``).
"""

import json
from importlib import import_module
from pathlib import Path

import pandas as pd

from biaslib._checks import check_columns


def neutral_values() -> dict[str, float]:
    """Return the value of each measure at which neither side is preferred.

    Returns
    -------
    dict of str to float
        Without measures that have no such value, such as a perplexity.

    Examples
    --------
    >>> neutral_values()["vargha_delaney_a"]
    0.5
    """
    return {measure: value for study in _studies() for measure, value in getattr(study, "NEUTRAL_VALUES", {}).items()}


def with_published(scores: pd.DataFrame) -> pd.DataFrame:
    """Set beside each score what the paper published for it.

    A figure belongs to a score only if measure, material and model are those of the paper, as its study says.

    Parameters
    ----------
    scores : pandas.DataFrame
        ``paper measure group model variant data parameters``, from `biaslib.report.read_runs`; the parameters of the
        run are JSON text.

    Returns
    -------
    pandas.DataFrame
        The scores with the columns ``published`` (NaN where there is none) and ``published_in`` ("" there).

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
    numbered = scores.reset_index(drop=True).assign(given=[json.loads(text) for text in scores["parameters"]])
    found = {}
    for study in _studies():
        if hasattr(study, "published_scores"):
            paper = study.__name__.rpartition(".")[2]
            found |= study.published_scores(numbered[numbered["paper"] == paper])
    published = pd.DataFrame.from_dict(found, orient="index", columns=["published", "published_in"])
    published = published.reindex(numbered.index).set_axis(scores.index)
    return scores.assign(
        published=published["published"].astype(float), published_in=published["published_in"].fillna("").astype(str)
    )


def _studies():
    """Return the modules of all studies, which are this folder's public files."""
    files = sorted(Path(__file__).parent.glob("[!_]*.py"))
    return [import_module(f"{__package__}.{file.stem}") for file in files]
