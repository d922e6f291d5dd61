"""Templates with slots, and the sentences they make.

A template is plain text with a slot in braces, ``"She is a {name} who is [MASK]."``. ``[MASK]`` marks the predicted
word for every model and is left as it is.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from biaslib._checks import check_choice, check_columns, listed
from biaslib._files import DATA, read_yaml
from biaslib._frames import check_names

ARTICLES = ("literal", "agree")
_SLOT = re.compile(r"\{([^\W\d]\w*)\}")
_ARTICLE_AND_SLOT = re.compile(r"\b(an?)( +)\{([^\W\d]\w*)\}", re.IGNORECASE)
# Spelled with a vowel, spoken with a consonant (a unicorn, a ewe, a one-eyed cat); and the other way round.
_SPOKEN_CONSONANT = re.compile(r"eu|ew|uni(?![nm])|us[aeiu]|ut[eio]|ubi|one\b|once\b", re.IGNORECASE)
_SPOKEN_VOWEL = re.compile(r"hour|honest|honou?r|heir", re.IGNORECASE)


def read_templates(name_or_path: str | Path) -> pd.DataFrame:
    """Read a set of templates.

    Parameters
    ----------
    name_or_path : str or Path
        The name of an embedded set (``"speciesism"``), or a YAML file that maps each condition to its templates.

    Returns
    -------
    pandas.DataFrame
        ``condition template``, in file order.

    Raises
    ------
    ValueError
        If there is no such set or file, or it is not a mapping of conditions to lists of different strings.

    Examples
    --------
    The two human templates of the speciesism study (Takeshita, Rzepka & Araki 2022, §4.1.1):

    >>> templates = read_templates("speciesism")
    >>> templates.loc[templates["condition"] == "human", "template"].tolist()
    ['She is a {name} who is [MASK].', 'He is a {name} who is [MASK].']
    """
    path = _find_templates(name_or_path)
    content = read_yaml(path, mapping=True)
    if not content:
        raise ValueError(f"{path}: it is empty; map each condition to a list of templates")
    rows = [
        (condition, template)
        for condition, templates in content.items()
        for template in _checked_list(path, condition, templates)
    ]
    return pd.DataFrame(rows, columns=["condition", "template"])


def fill(template: str, /, article: str = "literal", **slots: str) -> str:
    """Fill the slots of a template.

    Parameters
    ----------
    template : str
        Plain text with slots such as ``{name}``.
    article : {"literal", "agree"}
        ``"literal"`` leaves the article of the template as it is ("a elephant", as in the speciesism study);
        ``"agree"`` makes an ``a`` or ``an`` right before a slot agree with the word put there. The rule looks at
        spelling: ``an`` before a, e, i, o, u, with exceptions for words such as *unicorn*, *ewe*, *one* and *hour*. It
        does not know names that are read letter by letter (*FBI*).
    **slots : str
        The text of each slot. Braces in it are not read as slots.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If a slot is missing, unknown or empty, the template has a stray brace, or ``article`` is unknown.

    Examples
    --------
    >>> fill("It is a {name} which is [MASK].", name="elephant")
    'It is a elephant which is [MASK].'
    >>> fill("It is a {name} which is [MASK].", article="agree", name="elephant")
    'It is an elephant which is [MASK].'
    """
    check_choice(article, "article", ARTICLES)
    _check_slots(template, slots)
    if article == "agree":
        template = _ARTICLE_AND_SLOT.sub(lambda match: _agreeing(match, slots), template)
    return _SLOT.sub(lambda match: slots[match[1]], template)


def slots_of(template: str) -> list[str]:
    """List the slots of a template.

    Parameters
    ----------
    template : str

    Returns
    -------
    list of str
        In the order of their first occurrence.

    Raises
    ------
    ValueError
        If the template is not a string or has a stray brace.

    Examples
    --------
    >>> slots_of("The {job} said that {name} is a {job}.")
    ['job', 'name']
    """
    _check_braces(template)
    return list(dict.fromkeys(_SLOT.findall(template)))


def expand(templates: pd.DataFrame, names: Sequence[str], article: str = "literal") -> pd.DataFrame:
    """Fill every template with every name.

    Parameters
    ----------
    templates : pandas.DataFrame
        ``condition template``, as from `read_templates`; the slot is ``{name}``.
    names : sequence of str
        Without duplicates.
    article : {"literal", "agree"}
        As in `fill`.

    Returns
    -------
    pandas.DataFrame
        ``name condition template sentence``: all templates with the first name, then with the second, and so on.

    Raises
    ------
    ValueError
        If a column is missing, a name is repeated, or a template has other slots than ``{name}``.

    Examples
    --------
    >>> expand(read_templates("speciesism"), ["dog"]).loc[0, "sentence"]
    'She is a dog who is [MASK].'
    """
    check_columns(templates, ["condition", "template"], "templates")
    rows = [
        (name, condition, template, fill(template, article=article, name=name))
        for name in check_names(names)
        for condition, template in zip(templates["condition"], templates["template"], strict=True)
    ]
    return pd.DataFrame(rows, columns=["name", "condition", "template", "sentence"])


def by_condition(templates: pd.DataFrame, conditions: Sequence[str]) -> dict[str, list[str]]:
    """Group templates by condition.

    Parameters
    ----------
    templates : pandas.DataFrame
        ``condition template``, as from `read_templates`.
    conditions : sequence of str

    Returns
    -------
    dict of str to list of str
        In the order of `conditions`.

    Raises
    ------
    ValueError
        If a condition has no template.

    Examples
    --------
    >>> {name: len(found) for name, found in by_condition(read_templates("speciesism"), ["object", "human"]).items()}
    {'object': 6, 'human': 2}
    """
    found = templates.groupby("condition", sort=False)["template"].agg(list).to_dict()
    missing = [condition for condition in conditions if condition not in found]
    if missing:
        raise ValueError(f"no template for {listed(missing)}: the conditions must be {listed(conditions)}")
    return {condition: found[condition] for condition in conditions}


def _find_templates(name_or_path):
    embedded = DATA / f"{name_or_path}_templates.yaml"
    if isinstance(name_or_path, str) and name_or_path.isidentifier() and embedded.is_file():
        return embedded
    path = Path(name_or_path)
    if path.is_file():
        return path
    known = sorted(file.name.removesuffix("_templates.yaml") for file in DATA.glob("*_templates.yaml"))
    raise ValueError(f"no templates {str(name_or_path)!r}: neither a file nor an embedded set ({', '.join(known)})")


def _checked_list(path, condition, templates):
    where = f"{path}, condition {condition!r}"
    if not isinstance(condition, str):
        raise ValueError(f"{where}: the name of a condition must be a string; quote it")
    if not isinstance(templates, list) or not templates:
        raise ValueError(f"{where}: give a list of templates")
    for template in templates:
        if not isinstance(template, str):
            raise ValueError(f"{where}: a template must be a string, not {template!r}; quote it")
        _check_braces(template)
    if len(set(templates)) < len(templates):
        raise ValueError(f"{where}: the same template occurs twice; leave one out")
    return templates


def _check_braces(template):
    if not isinstance(template, str):
        raise ValueError(f"a template must be a string, not {template!r}")
    if re.search(r"[{}]", _SLOT.sub("", template)):
        raise ValueError(f"template {template!r} has a stray brace: write a slot as {{name}}")


def _check_slots(template, slots):
    _check_braces(template)
    wanted = set(_SLOT.findall(template))
    problems = [f"slot {{{slot}}} is missing" for slot in sorted(wanted - set(slots))]
    problems += [f"it has no slot {{{slot}}}" for slot in sorted(set(slots) - wanted)]
    for slot in sorted(wanted & set(slots)):
        if not isinstance(slots[slot], str) or not slots[slot].strip():
            problems.append(f"slot {{{slot}}} must be a string that is not empty, not {slots[slot]!r}")
    if problems:
        raise ValueError(f"template {template!r}: {'; '.join(problems)}")


def _agreeing(match, slots):
    article, space, slot = match.groups()
    agreed = article[0] + ("n" if _takes_an(slots[slot].lstrip()) else "")
    return f"{agreed}{space}{{{slot}}}"


def _takes_an(word):
    if _SPOKEN_VOWEL.match(word):
        return True
    return word[0].lower() in "aeiou" and not _SPOKEN_CONSONANT.match(word)
