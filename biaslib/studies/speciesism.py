"""Takeshita, Rzepka & Araki (2022), Information Processing & Management 59(5)."""

import re

import pandas as pd

from biaslib._checks import check_columns
from biaslib._frames import names_of
from biaslib.studies._published import TOP_WORDS, published_model, published_table

NEUTRAL_VALUES = dict.fromkeys(("adjusted_rand", "group_cohesion", "sentiment_shift", "object_bias"), 0.0)
# Models whose published words come without the mark that tells a word from a piece of one.
_NO_PIECE_MARK = ("roberta-large", "albert-large-v2")


def agreement_with_published_top_words(top, model):
    """Compare top words with the speciesism study's Tables 8 to 11.

    Parameters
    ----------
    top : pandas.DataFrame
        ``name sentences word`` at least, from `biaslib.metrics.top_contrast`.
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
        known = ", ".join(dict.fromkeys(published_table(TOP_WORDS)["model"]))
        raise ValueError(f"nothing is published for model {str(model)!r}; known: {known}")
    check_columns(top, ("name", "sentences", "word"))
    table = published_table(TOP_WORDS)
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
