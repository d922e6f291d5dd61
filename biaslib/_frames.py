"""Frames of several names and models: their names, groups, and one frame for all models."""

from collections.abc import Callable, Iterable, Mapping

import pandas as pd

from biaslib._checks import check_columns, listed


def check_names(names, what="names"):
    """Return names as a list; raise ValueError unless they are distinct, non-empty strings."""
    if hasattr(names, "columns"):
        raise ValueError(f"{what} must be a list of strings, not a DataFrame; give a column, such as frame['name']")
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ValueError(f"{what} must be a list of strings, not {names!r}")
    names = list(names)
    if not names:
        raise ValueError(f"{what} is empty; give at least one")
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"{what}: each must be a string, not {name!r} (in YAML, quote it)")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{what} has duplicates: {', '.join(repeated)}; give each once")
    return names


def names_of(frame):
    """Return the names in the column ``name``, in order; of a categorical column, also those without a row."""
    names = frame["name"]
    if isinstance(names.dtype, pd.CategoricalDtype):
        return names.cat.categories.tolist()
    return names.drop_duplicates().tolist()


def groups_of(names, groups):
    """Return the group of each name, in the order of `names`; raise ValueError if a name has none."""
    groups = dict(groups)
    missing = [str(name) for name in names if name not in groups or pd.isna(groups[name])]
    if missing:
        raise ValueError(f"no group for {listed(missing)}; give every name a group")
    return {name: groups[name] for name in names}


def each_model(models, f: Callable[..., pd.DataFrame]) -> pd.DataFrame:
    """Call a function for each model and stack the frames that it returns.

    Parameters
    ----------
    models : mapping from name to anything, or DataFrame
        Such as the models that `biaslib.scoring.open_models` gives, or the frame of an earlier call: a frame needs a
        column ``model``.
    f : callable
        Takes what the mapping holds for a model, or the model's rows without the column ``model``; returns a frame.

    Returns
    -------
    DataFrame
        With a first column ``model``, in the order of the mapping or of first appearance; empty if there is no model.

    Raises
    ------
    ValueError
        If `f` raises one; the message then begins with the model's name. If a row of the frame names no model.
    TypeError
        If `models` is neither a mapping nor a frame, or `f` returns something other than a frame.

    Examples
    --------
    >>> counts = each_model({"demo": ["he", "she"]}, lambda words: pd.DataFrame({"n": [len(words)]}))
    >>> counts.values.tolist()
    [['demo', 2]]
    >>> each_model(counts, lambda rows: rows * 10).values.tolist()
    [['demo', 20]]
    """
    if isinstance(models, pd.DataFrame):
        check_columns(models, ["model"])
        if models["model"].isna().to_numpy().any():
            raise ValueError("the column model must name a model in every row")
        parts = models.groupby("model", sort=False, observed=True)
        models = {name: rows.drop(columns="model").reset_index(drop=True) for name, rows in parts}
    if not isinstance(models, Mapping):
        raise TypeError(f"models must be a mapping, or a DataFrame with a column model, not a {type(models).__name__}")
    # By name, so that no model is held while the next is loaded.
    return concat_models({name: _call(f, name, models[name]) for name in models})


def _call(f, name, given):
    try:
        frame = f(given)
    except ValueError as error:
        raise ValueError(f"model {name!r}: {error}") from error
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"model {name!r}: the function must return a DataFrame, not a {type(frame).__name__}")
    return frame


def concat_models(frames):
    """Stack the frames of several models.

    Parameters
    ----------
    frames : dict of str to pandas.DataFrame

    Returns
    -------
    pandas.DataFrame
        With a first column ``model``; empty if there is no frame.

    Examples
    --------
    >>> concat_models({"demo": pd.DataFrame({"n": [1, 2]})}).values.tolist()
    [['demo', 1], ['demo', 2]]
    """
    if not frames:
        return pd.DataFrame({"model": []})
    parts = [frame.assign(model=model) for model, frame in frames.items()]
    stacked = pd.concat(parts, ignore_index=True)
    return stacked[["model", *stacked.columns.drop("model")]]
