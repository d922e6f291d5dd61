"""Contrasts of word sets for association tests."""

import warnings
from pathlib import Path

import pandas as pd

from biaslib._checks import check_columns, listed
from biaslib._files import DATA, read_yaml

SETS = ("X", "Y", "A", "B")
CONTRASTS = DATA / "weat_contrasts.yaml"
CONTRAST_COLUMNS = (
    "contrast",
    "name",
    "category",
    "subcategory",
    "set",
    "set_name",
    "word",
    "source",
    "history",
    "citation",
)
_FIELDS = ("name", "category", "subcategory", "x", "y", "a", "b")


def read_contrasts(name_or_path: str | Path = "categorical") -> pd.DataFrame:
    """Read contrasts: which sets of words are compared with which.

    Parameters
    ----------
    name_or_path : str or Path
        A group of the embedded file: ``"categorical"`` (40 contrasts by category, with our word lists), ``"paper"``
        (the two that "An Analysis of Categorical Biases in Word Embeddings" prints, word for word), ``"caliskan"``
        (the ten tests of Caliskan et al. 2017) or ``"novels"`` (two of ours for the embedded decades). Or a YAML file
        of the same form, of which all groups are read.

    Returns
    -------
    pandas.DataFrame
        ``contrast name category subcategory set set_name word source history citation``, one row per word, in file
        order. ``set`` is X or Y (the targets) or A or B (the attributes); ``history`` marks the contrasts that the
        paper follows through the decades.

    Raises
    ------
    ValueError
        If there is no such group or file, a contrast is incomplete, a word is repeated within a set (whatever its
        case), or X and Y, or A and B, share a word.

    Examples
    --------
    >>> contrasts = read_contrasts("paper")
    >>> contrasts.groupby("contrast", sort=False)["word"].size().to_dict()
    {'paper-career-family-man-woman': 16, 'paper-communism-socialism-popular-unpopular': 8}
    >>> read_contrasts().query("history")["contrast"].nunique()
    9
    """
    embedded = _read_groups(CONTRASTS)
    if isinstance(name_or_path, str) and name_or_path in embedded:
        path, groups = CONTRASTS, {name_or_path: embedded[name_or_path]}
    elif Path(name_or_path).is_file():
        path = Path(name_or_path)
        groups = _read_groups(path)
    else:
        raise ValueError(f"no contrasts {str(name_or_path)!r}: give a YAML file or one of {listed(embedded)}")
    rows, seen = [], set()
    for group, content in groups.items():
        for contrast, fields in _contrasts_of(path, group, content).items():
            if contrast in seen:
                raise ValueError(f"{path}: the contrast {contrast!r} occurs twice")
            seen.add(contrast)
            rows += _rows_of(path, contrast, fields, content)
    return pd.DataFrame(rows, columns=list(CONTRAST_COLUMNS))


def contrast_sets(contrasts: pd.DataFrame, contrast: str | None = None) -> dict[str, list[str]]:
    """Return the four sets of one contrast.

    Parameters
    ----------
    contrasts : pandas.DataFrame
        With the columns ``contrast set word``, as from `read_contrasts`.
    contrast : str, optional
        May be omitted if the frame has only one.

    Returns
    -------
    dict of str to list of str
        The words of ``"X"``, ``"Y"``, ``"A"`` and ``"B"``.

    Raises
    ------
    ValueError
        If there is no such contrast, or it lacks a set.

    Examples
    --------
    >>> contrast_sets(read_contrasts("paper"), "paper-communism-socialism-popular-unpopular")["X"]
    ['communism', 'communist']
    """
    check_columns(contrasts, ("contrast", "set", "word"), "contrasts")
    known = by_contrast(contrasts, "word")
    if contrast is None and len(known) == 1:
        contrast = next(iter(known))
    if contrast not in known:
        raise ValueError(f"no contrast {contrast!r}; known: {listed(known)}")
    return known[contrast]


def check_shared(sets, case):
    spelled = str.lower if case == "as_is_or_lower" else str
    x, y, a, b = ({spelled(word) for word in sets[name]} for name in SETS)
    for names, shared in (("X and Y", x & y), ("A and B", a & b)):
        if shared:
            raise ValueError(f"{names} share the word(s) {listed(sorted(shared))}: take them out of one")
    both = (x | y) & (a | b)
    if both:
        message = f"{listed(sorted(both))}: among targets and attributes, where the cosine with itself is 1"
        warnings.warn(message, stacklevel=4)


def _read_groups(path):
    content = read_yaml(path, mapping=True)
    if not content:
        raise ValueError(f"{path}: it is empty; map each group to its citation, sets and contrasts")
    return content


def _contrasts_of(path, group, content):
    if not isinstance(content, dict) or not {"citation", "sets", "contrasts"} <= set(content):
        raise ValueError(f"{path}: the group {group!r} needs citation, sets and contrasts")
    if not all(isinstance(content[part], dict) and content[part] for part in ("sets", "contrasts")):
        raise ValueError(f"{path}: sets and contrasts of the group {group!r} must map names to content")
    for name, words in content["sets"].items():
        _check_set(path, name, words)
    return content["contrasts"]


def _check_set(path, name, words):
    if not isinstance(words, list) or not words:
        raise ValueError(f"{path}: the set {name!r} must be a list of words")
    for word in words:
        if not isinstance(word, str) or not word.strip():
            raise ValueError(f"{path}: the set {name!r} has {word!r}: quote it if it is a word")
    repeated = {word for word in words if sum(word.lower() == other.lower() for other in words) > 1}
    if repeated:
        raise ValueError(f"{path}: the set {name!r} has {listed(sorted(repeated))} more than once")


def _rows_of(path, contrast, fields, group):
    lacking = [field for field in _FIELDS if not isinstance(fields, dict) or not isinstance(fields.get(field), str)]
    if lacking:
        raise ValueError(f"{path}: the contrast {contrast!r} lacks {listed(lacking)}")
    names = {name: fields[name.lower()] for name in SETS}
    for name in names.values():
        if name not in group["sets"]:
            raise ValueError(f"{path}: the contrast {contrast!r} names the unknown set {name!r}")
    try:
        check_shared({name: group["sets"][of_set] for name, of_set in names.items()}, "as_is_or_lower")
    except ValueError as error:
        raise ValueError(f"{path}: in the contrast {contrast!r}, {error}") from None
    described = [contrast, *(fields[field] for field in ("name", "category", "subcategory"))]
    source = str(group.get("source", path.stem))
    end = [source, bool(fields.get("history", False)), str(fields.get("citation", group["citation"]))]
    return [[*described, name, of_set, word, *end] for name, of_set in names.items() for word in group["sets"][of_set]]


def by_contrast(contrasts, column):
    """Return the values of a column by contrast and set."""
    values = {contrast: {name: [] for name in SETS} for contrast in contrasts["contrast"]}
    for contrast, name, value in zip(*(contrasts[c].tolist() for c in ("contrast", "set", column)), strict=True):
        if name not in SETS:
            raise ValueError(f"the contrast {contrast!r} has a set {name!r}; known: {listed(SETS)}")
        values[contrast][name].append(value)
    for contrast, sets in values.items():
        lacking = [name for name, of_set in sets.items() if not of_set]
        if lacking:
            raise ValueError(f"the contrast {contrast!r} has no words for {listed(lacking)}")
    return values
