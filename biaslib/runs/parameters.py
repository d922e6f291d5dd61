"""Parameters of notebooks: the ``parameters`` cell is read, and given values are checked against it.

Each line of the cell reads ``name: type = default  # help``. The types are ``int``, ``float``, ``str``, ``bool`` and
lists of the first three. The help may end with a constraint, which is checked::

    top_k: int = 5  # words shown per animal (from 1 to 50)
    article: str = "literal"  # how "a" and "an" are chosen (one of: literal, agree)
"""

import ast
import csv
import difflib
import io
import math
import os
import re
import reprlib
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from biaslib._text import lone_surrogate, one_line

TYPES = ("int", "float", "str", "bool", "list[str]", "list[int]", "list[float]")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_CONSTRAINT = re.compile(
    r"\((?:one of: *(?P<choices>[^()]+)"
    rf"|from (?P<low>{_NUMBER})(?: to (?P<high>{_NUMBER}))?"
    rf"|to (?P<top>{_NUMBER}))\)\s*$"
)
_WHOLE = re.compile(r"[-+]?\d{1,400}")
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_YAML_WORDS = "YAML reads an unquoted yes, no, on, off, true or false as a boolean"


class ParameterError(ValueError):
    """Raised for a parameter, parameters file or ``parameters`` cell that cannot be used."""


@dataclass(frozen=True)
class Parameter:
    """One line of a notebook's ``parameters`` cell.

    Attributes
    ----------
    name, type, help : str
        As written; the help text includes the constraint.
    default : object
        The value if none is given.
    choices : tuple
        The allowed values (of each entry, for a list); empty if there is no restriction.
    lowest, highest : float or None
        The bounds of the value (of each entry, for a list).
    """

    name: str
    type: str
    default: object
    help: str = ""
    choices: tuple = ()
    lowest: float | None = None
    highest: float | None = None

    @property
    def entry_type(self):
        """The type of one entry: ``str`` for ``list[str]``, otherwise the type itself."""
        return self.type.removeprefix("list[").removesuffix("]")

    @property
    def is_list(self):
        """Whether the parameter is a list."""
        return self.type.startswith("list[")


def check_parameters(parameters: Iterable[Parameter], given: Mapping, *, text: bool = False) -> dict:
    """Check values against the declared parameters and convert them to plain Python values.

    Parameters
    ----------
    parameters : iterable of Parameter
        From `read_parameters`.
    given : mapping
        Names and values.
    text : bool
        Whether the values are text from a command line, to be parsed by the declared type: lists as ``[a, b]`` or
        ``a,b``, booleans as true/false, yes/no or on/off.

    Returns
    -------
    dict
        The given parameters only, as plain Python values that papermill can write into a notebook.

    Raises
    ------
    ParameterError
        If a name is unknown, or a value has the wrong type or is out of bounds; the message names the parameter and the
        remedy.

    Examples
    --------
    >>> check_parameters([Parameter("min_z", "float", 2.0)], {"min_z": "1e-3"})
    {'min_z': 0.001}
    """
    known = {parameter.name: parameter for parameter in parameters}
    checked = {}
    for name, value in given.items():
        if name not in known:
            raise ParameterError(_unknown(name, known))
        parameter = known[name]
        try:
            checked[name] = _check(parameter, _read_text(parameter, value) if text else value)
        except RecursionError:
            raise ParameterError(f"parameter {name!r} is a list within itself; write a plain list") from None
    return checked


def parse_cell(source):
    """Read the source of a ``parameters`` cell."""
    try:
        statements = ast.parse(source).body
        comments = _comments(source)
    except (SyntaxError, tokenize.TokenError) as error:
        raise ParameterError(f"the parameters cell is not plain Python: {one_line(error)}") from None
    parameters = [_read_line(statement, comments) for statement in statements]
    names = [parameter.name for parameter in parameters]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ParameterError(f"the parameters cell has {twice[0]!r} twice; keep one")
    return tuple(parameters)


def _comments(source):
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.start[0]: token.string.lstrip("#").strip() for token in tokens if token.type == tokenize.COMMENT}


def _read_line(statement, comments):
    if not (
        isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value is not None
    ):
        raise ParameterError(f"line {statement.lineno} of the parameters cell must read `name: type = default  # help`")
    name, kind = statement.target.id, ast.unparse(statement.annotation)
    if kind not in TYPES:
        raise ParameterError(f"parameter {name!r} has the type {kind}; the types are {', '.join(TYPES)}")
    try:
        default = ast.literal_eval(statement.value)
    except ValueError:
        raise ParameterError(f"parameter {name!r}: its default must be a plain value, not a computation") from None
    rows = range(statement.lineno, statement.end_lineno + 1)
    description = " ".join(comments[row] for row in rows if row in comments)
    parameter = Parameter(name, kind, default, description, **_constraint(name, kind, description))
    return Parameter(**{**vars(parameter), "default": _check(parameter, default)})


def _constraint(name, kind, description):
    match = _CONSTRAINT.search(description)
    if not match:
        return {}
    entry = Parameter(name, kind, None).entry_type
    if match["choices"]:
        one = Parameter(name, entry, None)
        words = [word.strip().strip("\"'") for word in match["choices"].split(",")]
        return {"choices": tuple(_check(one, _read_text(one, word)) for word in words)}
    low, high = (float(bound) if bound else None for bound in (match["low"], match["high"] or match["top"]))
    if entry not in ("int", "float") or (low is not None and high is not None and low > high):
        raise ParameterError(f"parameter {name!r}: the constraint {match[0].strip()} does not fit its type {kind}")
    return {"lowest": low, "highest": high}


def _unknown(name, known):
    if not isinstance(name, str):
        return f"the name {name!r} is not a word ({_YAML_WORDS}); quote it"
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"the parameters are {', '.join(known) or 'none'}"
    return f"unknown parameter {name!r}; {hint}"


def _read_text(parameter, value):
    """Parse text from a command line by the declared type; strings and numbers stay text."""
    if parameter.is_list:
        return _split(parameter, value)
    if parameter.type == "bool":
        return _truth(parameter, value)
    return value


def _truth(parameter, value):
    if value.strip().lower() not in _TRUTH:
        raise _wrong(parameter, value, "give true or false")
    return _TRUTH[value.strip().lower()]


def _split(parameter, value):
    stripped = value.strip()
    if stripped.startswith("["):
        entries = _yaml_list(parameter, stripped)
    else:
        try:
            entries = next(csv.reader([stripped], skipinitialspace=True, strict=True), [])
        except csv.Error:
            raise _wrong(parameter, value, "write a list on one line, as [a, b] or a,b") from None
        entries = [entry.strip() for entry in entries]
        if "" in entries:
            raise _wrong(parameter, value, f"entry {entries.index('') + 1} is empty; remove a comma")
    return entries


def _yaml_list(parameter, text):
    import yaml

    try:
        # The base loader leaves every entry as the text that was written: no stays "no".
        entries = yaml.load(text, yaml.BaseLoader)
    except yaml.YAMLError:
        raise _wrong(parameter, text, "write a list as [a, b] or a,b") from None
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise _wrong(parameter, text, "write a list of plain entries, as [a, b] or a,b")
    return entries


def _check(parameter, value):
    value = _plain(value)
    if not parameter.is_list:
        return _check_entry(parameter, value, "")
    if not isinstance(value, list):
        example = f"[{value}]" if isinstance(value, str | int | float) else "[a, b]"
        raise _wrong(parameter, value, f"write a list: {example}")
    return [_check_entry(parameter, entry, f" entry {n}") for n, entry in enumerate(value, 1)]


def _plain(value):
    """Convert NumPy scalars and arrays, tuples and paths to plain values; leave anything else as it is."""
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value


def _check_entry(parameter, value, place):
    convert = {"int": _whole, "float": _float, "str": _word, "bool": _bool}[parameter.entry_type]
    value = convert(parameter, value, place)
    if parameter.choices and value not in parameter.choices:
        near = difflib.get_close_matches(str(value), map(str, parameter.choices), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        allowed = ", ".join(map(str, parameter.choices))
        raise _wrong(parameter, value, f"give one of: {allowed}{hint}", place)
    low, high = parameter.lowest, parameter.highest
    if (low is not None and value < low) or (high is not None and value > high):
        raise _wrong(parameter, value, f"give a number {_bounds(low, high)}", place)
    return value


def _bounds(low, high):
    return " ".join(f"{word} {bound:g}" for word, bound in (("from", low), ("to", high)) if bound is not None)


def _whole(parameter, value, place):
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(parameter, value, "give a whole number, without quotes or decimals", place)
    return int(value)


def _float(parameter, value, place):
    number = None
    if isinstance(value, str | int | float) and not isinstance(value, bool) and "_" not in str(value):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = None
    if number is None:
        raise _wrong(parameter, value, "give a number such as 0.5", place)
    if not math.isfinite(number):
        raise _wrong(parameter, value, "give a finite number", place)
    return number


def _bool(parameter, value, place):
    if not isinstance(value, bool):
        raise _wrong(parameter, value, "give true or false, without quotes", place)
    return value


def _word(parameter, value, place):
    if isinstance(value, str):
        if lone_surrogate(value):
            raise _wrong(parameter, value, "give text in UTF-8", place)
        return str.__str__(value)
    if isinstance(value, bool):
        quoted = '"yes" or "true"' if value else '"no" or "false"'
        raise _wrong(parameter, value, f"quote it, e.g. {quoted} ({_YAML_WORDS})", place)
    if value is None:
        raise _wrong(parameter, value, 'quote it, e.g. "null" (YAML reads null, ~ and nothing as no value)', place)
    if isinstance(value, int | float):
        raise _wrong(parameter, value, f'quote it: "{value}"', place)
    if type(value).__module__ == "datetime":
        raise _wrong(parameter, value, f'quote it: "{value}" (YAML reads it as a date)', place)
    raise _wrong(parameter, value, 'give text, e.g. "word"', place)


def _wrong(parameter, value, remedy, place=""):
    kind = parameter.entry_type if place else parameter.type
    return ParameterError(f"parameter {parameter.name!r}{place} must be {kind}, got {_shown(value)}: {remedy}")


def _shown(value):
    if value is None or isinstance(value, bool | int | float | str | list):
        return one_line(reprlib.repr(str.__str__(value) if isinstance(value, str) else value))
    return f"a value of type {type(value).__module__}.{type(value).__qualname__}"
