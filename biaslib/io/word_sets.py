"""Contrasts of word sets for association tests."""

import warnings
from pathlib import Path

import pandas as pd

from biaslib._files import DATA

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


def read_contrasts(name_or_path="categorical"):
    """Read contrasts: which sets of words are compared with which.

    Parameters
    ----------
    name_or_path : str or Path
        A group of the embedded file: ``"categorical"`` (40 contrasts by category; our word lists),
        ``"paper"`` (the two that "An Analysis of Categorical Biases in Word Embeddings" prints, word for
        word), ``"caliskan"`` (the ten tests of Caliskan et al. 2017) or ``"novels"`` (two of ours for the
        embedded decades). Or a YAML file of that form, of which all groups are read.

    Returns
    -------
    pandas.DataFrame
        ``contrast name category subcategory set set_name word source history citation``, a row a word, in
        file order; ``set`` is X, Y (the targets), A or B (the attributes); ``history`` marks the contrasts
        that the paper follows through the decades.

    Raises
    ------
    ValueError
        If there is no such group or file, a contrast is incomplete, a word repeats within a set (in
        whatever case), or X and Y, or A and B, share one.

    Examples
    --------
    >>> contrasts = read_contrasts("paper")
    >>> contrasts.groupby("contrast", sort=False)["word"].size().to_dict()
    {'paper-career-family-man-woman': 16, 'paper-communism-socialism-popular-unpopular': 8}
    >>> read_contrasts().query("history")["contrast"].nunique()
    9
    """
    embedded = _read_yaml(CONTRASTS)
    if isinstance(name_or_path, str) and name_or_path in embedded:
        path, groups = CONTRASTS, {name_or_path: embedded[name_or_path]}
    elif Path(name_or_path).is_file():
        path = Path(name_or_path)
        groups = _read_yaml(path)
    else:
        raise ValueError(f"no contrasts {str(name_or_path)!r}: give a YAML file or one of {', '.join(embedded)}")
    rows, seen = [], set()
    for group, content in groups.items():
        for contrast, fields in _contrasts_of(path, group, content).items():
            if contrast in seen:
                raise ValueError(f"{path}: the contrast {contrast!r} is there twice")
            seen.add(contrast)
            rows += _rows_of(path, contrast, fields, content)
    return pd.DataFrame(rows, columns=list(CONTRAST_COLUMNS))


def contrast_sets(contrasts, contrast=None):
    """Take the four sets of one contrast.

    Parameters
    ----------
    contrasts : pandas.DataFrame
        With the columns ``contrast set word``, as `read_contrasts` gives it.
    contrast : str, optional
        Which; may be left out if the frame has only one.

    Returns
    -------
    dict of str to list of str
        Words by ``"X"``, ``"Y"``, ``"A"``, ``"B"``.

    Raises
    ------
    ValueError
        If there is no such contrast, or it lacks a set.

    Examples
    --------
    >>> contrast_sets(read_contrasts("paper"), "paper-communism-socialism-popular-unpopular")["X"]
    ['communism', 'communist']
    """
    check_columns(contrasts, ("contrast", "set", "word"))
    known = by_contrast(contrasts, "word")
    if contrast is None and len(known) == 1:
        contrast = next(iter(known))
    if contrast not in known:
        raise ValueError(f"no contrast {contrast!r}; known: {', '.join(map(str, known))}")
    return known[contrast]


def check_shared(sets, case):
    spelled = str.lower if case == "as_is_or_lower" else str
    x, y, a, b = ({spelled(word) for word in sets[name]} for name in SETS)
    for names, shared in (("X and Y", x & y), ("A and B", a & b)):
        if shared:
            raise ValueError(f"{names} share the word(s) {', '.join(sorted(shared))}: take them out of one")
    both = (x | y) & (a | b)
    if both:
        message = f"{', '.join(sorted(both))}: among targets and attributes, where the cosine with itself is 1"
        warnings.warn(message, stacklevel=4)


def _read_yaml(path):
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not readable YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict) or not content:
        raise ValueError(f"{path} has to map each group to its citation, sets and contrasts")
    return content


def _contrasts_of(path, group, content):
    if not isinstance(content, dict) or not {"citation", "sets", "contrasts"} <= set(content):
        raise ValueError(f"{path}: the group {group!r} needs citation, sets and contrasts")
    if not all(isinstance(content[part], dict) and content[part] for part in ("sets", "contrasts")):
        raise ValueError(f"{path}: sets and contrasts of the group {group!r} have to map names to content")
    for name, words in content["sets"].items():
        _check_set(path, name, words)
    return content["contrasts"]


def _check_set(path, name, words):
    if not isinstance(words, list) or not words:
        raise ValueError(f"{path}: the set {name!r} has to be a list of words")
    for word in words:
        if not isinstance(word, str) or not word.strip():
            raise ValueError(f"{path}: the set {name!r} has {word!r}: quote it if it is a word")
    repeated = {word for word in words if sum(word.lower() == other.lower() for other in words) > 1}
    if repeated:
        raise ValueError(f"{path}: the set {name!r} has {', '.join(sorted(repeated))} more than once")


def _rows_of(path, contrast, fields, group):
    lacking = [field for field in _FIELDS if not isinstance(fields, dict) or not isinstance(fields.get(field), str)]
    if lacking:
        raise ValueError(f"{path}: the contrast {contrast!r} lacks {', '.join(lacking)}")
    names = {name: fields[name.lower()] for name in SETS}
    for name in names.values():
        if name not in group["sets"]:
            raise ValueError(f"{path}: the contrast {contrast!r} names the set {name!r}, which is not there")
    try:
        check_shared({name: group["sets"][of_set] for name, of_set in names.items()}, "as_is_or_lower")
    except ValueError as error:
        raise ValueError(f"{path}: in the contrast {contrast!r}, {error}") from None
    described = [contrast, *(fields[field] for field in ("name", "category", "subcategory"))]
    source = str(group.get("source", path.stem))
    end = [source, bool(fields.get("history", False)), str(fields.get("citation", group["citation"]))]
    return [[*described, name, of_set, word, *end] for name, of_set in names.items() for word in group["sets"][of_set]]


def by_contrast(contrasts, column):
    """Give a column's values by contrast and set."""
    values = {contrast: {name: [] for name in SETS} for contrast in contrasts["contrast"]}
    for contrast, name, value in zip(*(contrasts[c].tolist() for c in ("contrast", "set", column)), strict=True):
        if name not in SETS:
            raise ValueError(f"the contrast {contrast!r} has a set {name!r}; known: {', '.join(SETS)}")
        values[contrast][name].append(value)
    for contrast, sets in values.items():
        lacking = [name for name, of_set in sets.items() if not of_set]
        if lacking:
            raise ValueError(f"the contrast {contrast!r} has no words for {', '.join(lacking)}")
    return values


def check_columns(frame, columns):
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(f"contrasts has to be a frame of read_contrasts, not {type(frame).__name__}")
    lacking = [column for column in columns if column not in frame]
    if lacking:
        raise ValueError(f"contrasts lacks the column(s) {', '.join(lacking)}")
