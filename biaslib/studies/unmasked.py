"""Parra (2024), EACL Student Research Workshop."""

import numpy as np
import pandas as pd

from biaslib._checks import check_columns
from biaslib.io.prompts import UNITS
from biaslib.studies._published import published_model, published_table, unmasked_models


def classify(table, expected=None, *, alpha=0.05):
    """Say where a model follows the stereotype.

    Parameters
    ----------
    table : pandas.DataFrame
        From `compare_categories`, or with ``category leaning`` at least.
    expected : pandas.DataFrame, optional
        ``category stereotypical``, the latter "male" or "female"; by default the paper's Table 1.
    alpha : float or None
        Only a difference with ``p_holm`` below it counts; None goes by the effect alone.

    Returns
    -------
    pandas.DataFrame
        The table with ``outcome``: "stereotypical", "alternative" (it leans the other way), or "" for neither, as for
        a category that `expected` does not have.

    Raises
    ------
    ValueError
        If a column is missing or `expected` has a category twice.

    Examples
    --------
    >>> table = pd.DataFrame({"category": ["stem", "fashion", "sports"], "leaning": ["male", "male", ""]})
    >>> classify(table, alpha=None)["outcome"].tolist()
    ['stereotypical', 'alternative', '']
    """
    expected = published_table("unmasked_table1_expected") if expected is None else expected
    check_columns(expected, ("category", "stereotypical"))
    if expected["category"].duplicated().any():
        raise ValueError("expected has a category twice: give each one row")
    check_columns(table, ("category", "leaning") if alpha is None else ("category", "leaning", "p_holm"))
    stereotype = table["category"].map(expected.set_index("category")["stereotypical"])
    counts = (table["leaning"] != "") & stereotype.notna()
    if alpha is not None:
        counts &= table["p_holm"] < alpha
    outcome = np.where(table["leaning"] == stereotype, "stereotypical", "alternative")
    return table.assign(outcome=np.where(counts, outcome, "").tolist())


def model_pairs(names, given=()):
    """Find the pairs of a monolingual model and its multilingual counterpart among models.

    Parameters
    ----------
    names : iterable of str
        Hugging Face ids, folders called like their last parts, or the paper's own names.
    given : sequence of str
        Pairs of one's own, each written "monolingual=multilingual"; without any, the paper's.

    Returns
    -------
    dict of str to str
        From the monolingual to the multilingual one, as they are called in `names`.

    Raises
    ------
    ValueError
        If a given pair is not written that way or names a model that is not among `names`.

    Examples
    --------
    >>> model_pairs(["FacebookAI/xlm-roberta-base", "demo", "models/roberta-base"])
    {'models/roberta-base': 'FacebookAI/xlm-roberta-base'}
    >>> model_pairs(["german", "demo"], given=["german=demo"])
    {'german': 'demo'}
    """
    names = [str(name) for name in names]
    if given:
        found = [_given_pair(pair, names) for pair in given]
        twice = [own for own, _ in found if sum(own == other for other, _ in found) > 1]
        if twice:
            raise ValueError(f"{twice[0]!r} is the monolingual model of two pairs: give each one multilingual model")
        return dict(found)
    found = {}
    for name in names:
        found.setdefault(published_model(name, "unmasked"), name)
    models = unmasked_models()
    return {
        found[own]: found[other]
        for own, other in zip(models["model"], models["multilingual"], strict=True)
        if own in found and other in found
    }


def _given_pair(pair, names):
    own, _, other = (part.strip() for part in pair.partition("="))
    if own not in names or other not in names or own == other:
        raise ValueError(f"pair {pair!r}: write 'monolingual=multilingual', two of the models {', '.join(names)}")
    return own, other


def published_pairs():
    """Give the parallel pairs that the paper counts, in the form of `count_pairs`.

    Returns
    -------
    pandas.DataFrame
        ``model unit n_pairs percent``: the paper prints each model's total and each unit's share of it; the counts by
        unit are what these give.

    Examples
    --------
    XLM-R fills no adverb:

    >>> pairs = published_pairs().set_index(["model", "unit"])["n_pairs"]
    >>> int(pairs["xlm-roberta", "adverb"]), int(pairs["bert"].sum())
    (0, 77)
    """
    table = published_table("unmasked_parallel_pairs")
    percent = pd.concat([table.assign(unit=unit, percent=table[f"{unit}_percent"]) for unit in UNITS])
    percent = percent.sort_index(kind="stable").reset_index(drop=True)
    n_pairs = (percent["pairs"] * percent["percent"] / 100).round().astype(int)
    return percent.assign(n_pairs=n_pairs)[["model", "unit", "n_pairs", "percent"]]
