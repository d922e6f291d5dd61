"""Kaneko, Imankulova, Bollegala & Okazaki (2022), NAACL."""

import pandas as pd


def match_sources(models, sources, languages):
    """Give each model its parallel text and the code of that text's other language.

    Parameters
    ----------
    models, sources, languages : sequence of str
        One source and one language for all models, or one each.

    Returns
    -------
    pandas.DataFrame
        ``model source language``.

    Raises
    ------
    ValueError
        If their numbers do not go together, a model is given twice, or one source is given two languages.

    Examples
    --------
    >>> match_sources(["a", "b"], ["talks", "news"], ["de"])["source"].tolist()
    ['talks', 'news']
    """
    columns = {"model": list(models)}
    if len(set(models)) < len(columns["model"]):
        raise ValueError("a model is given twice: give each once, and its other texts in a run of their own")
    for name, given in (("source", sources), ("language", languages)):
        if len(given) not in (1, len(models)):
            raise ValueError(f"{len(given)} {name}s for {len(models)} models: give one for all, or one each")
        columns[name] = list(given) * (len(models) if len(given) == 1 else 1)
    frame = pd.DataFrame(columns)
    several = frame.groupby("source")["language"].nunique()
    if (several > 1).any():
        raise ValueError(f"source {several.index[several > 1][0]!r} is given two languages: give each source one")
    return frame
