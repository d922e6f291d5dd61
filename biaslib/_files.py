"""Files: atomic writes, JSON, YAML, names of folders and locks."""

import json
import math
import os
import re
import secrets
import sys
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path

from biaslib._text import one_line

DATA = Path(__file__).parent / "data"

_WHOLE = re.compile(r"[-+]?\d{1,400}")
_MOST_REPEATED = 100_000


@contextmanager
def replacing(path):
    """Yield a temporary path beside `path`, which replaces it if the block succeeds and is removed otherwise.

    Its name begins with ``.part-`` and keeps the suffix, by which some writers choose a format.
    """
    path = Path(path)
    beside = path.with_name(f".part-{secrets.token_hex(8)}{path.suffix}")
    try:
        yield beside
        os.replace(beside, path)
    except OSError as error:
        # The error of a full disk names no file.
        error.filename = error.filename or str(path)
        raise
    finally:
        beside.unlink(missing_ok=True)


def write_bytes(path, content):
    """Write a file that, whatever happens, is there as a whole or not at all."""
    with replacing(path) as beside, beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_text(path, text, errors="strict"):
    """Write text in UTF-8 as `write_bytes` does, its line ends unchanged."""
    write_bytes(path, text.encode("utf-8", errors))


def write_json(path, content, *, indent=2, errors="strict", **options):
    """Write JSON as `write_bytes` does; `options` are those of `json.dumps`."""
    write_text(path, json.dumps(content, indent=indent, ensure_ascii=False, **options) + "\n", errors)


def read_json(path):
    """Read JSON; whatever is wrong with the content raises ValueError."""
    text = Path(path).read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(f"{path}: it is nested too deeply") from None


def folder_name(name, keep="-"):
    """Replace by dashes all but ASCII letters, digits, ``_``, ``.`` and the characters in `keep`."""
    return re.sub(rf"[^\w.{re.escape(keep)}]+", "-", str(name), flags=re.ASCII)


@contextmanager
def locked(path, waiting=""):
    """Hold a lock file; the system releases it if the process is killed.

    If another process holds it, print `waiting` to standard error and wait; without that text, raise TimeoutError.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if not waiting:
            raise
        print(waiting, file=sys.stderr, flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def read_yaml(path, error=ValueError, *, mapping=False):
    """Read a YAML file, and refuse what YAML would misread or pass over in silence.

    Parameters
    ----------
    path : str or Path
    error : type
        The exception to raise; its one line names the file and, where known, the line and the remedy.
    mapping : bool
        Whether the file must hold a mapping; an empty file is then an empty mapping.

    Returns
    -------
    object
        What the file holds, None if nothing.

    Raises
    ------
    ValueError
        If the file cannot be read, is not YAML, or has a name twice, a number that YAML reads in a surprising way
        (``010`` is eight, ``12:30`` is 750), or aliases that repeat very many entries.

    Examples
    --------
    >>> read_yaml(DATA / "speciesism_templates.yaml")["human"][0]
    'She is a {name} who is [MASK].'
    """
    import yaml

    try:
        content = _yaml_content(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as problem:
        raise error(f"{path}: cannot be read ({problem.strerror})") from None
    except UnicodeDecodeError:
        raise error(f"{path}: not text in UTF-8; save it as UTF-8") from None
    except _Refused as problem:
        raise error(f"{path}: {problem}") from None
    except RecursionError:
        raise error(f"{path}: it is nested too deeply; write plain lists") from None
    except (yaml.YAMLError, ValueError, TypeError) as problem:
        raise error(f"{path}: not valid YAML: {_yaml_problem(problem)}") from None
    if not mapping:
        return content
    if content is not None and not isinstance(content, dict):
        raise error(f"{path}: must be a mapping, with lines such as `name: value`")
    return content or {}


class _Refused(Exception):  # noqa: N818
    """Valid YAML that is hardly what was meant."""


def _refused(node, text):
    return _Refused(f"line {node.start_mark.line + 1}: {text}")


def _yaml_content(text):
    loader = _yaml_loader()(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        entries = {}
        repeated = _n_entries(root, entries) - len(entries)
        if repeated == math.inf:
            raise _Refused("an alias (*name) stands within what it names; write plain lists")
        if repeated > _MOST_REPEATED:
            raise _Refused(f"its aliases (*name) repeat more than {_MOST_REPEATED:,} entries; write out what is meant")
        return loader.construct_document(root)
    finally:
        loader.dispose()


def _n_entries(node, known):
    """Count the entries of a node with its aliases written out; a node within itself has infinitely many."""
    if id(node) not in known:
        known[id(node)] = math.inf
        known[id(node)] = 1 + sum(_n_entries(part, known) for part in _parts(node))
    return known[id(node)]


def _parts(node):
    if node.id == "scalar":
        return ()
    return node.value if node.id == "sequence" else chain.from_iterable(node.value)


@cache
def _yaml_loader():
    """Make the loader, which needs PyYAML imported."""
    import yaml

    class Loader(yaml.SafeLoader):
        """A safe loader that refuses what YAML would misread or pass over in silence."""

        def compose_mapping_node(self, anchor):
            node = super().compose_mapping_node(anchor)
            self.refuse_doubles(node)
            return node

        def refuse_doubles(self, node):
            names = set()
            for key, _ in node.value:
                # Other keys are refused when the mapping is made, and << may come several times.
                if key.id != "scalar" or key.tag == "tag:yaml.org,2002:merge":
                    continue
                name = self.construct_object(key)
                if name in names:
                    raise _refused(key, f"{name!r} is given twice; keep one")
                names.add(name)

        def construct_object(self, node, deep=False):
            try:
                return super().construct_object(node, deep=deep)
            except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
                kind, shown = node.tag.rpartition(":")[2], one_line(node.value, 40)
                raise _refused(node, f'YAML takes {shown} for a {kind}, but it is none; quote it: "{shown}"') from None

        def construct_number(self, node):
            value = self.construct_yaml_int(node)
            digits = node.value.replace("_", "")
            if ":" in digits or (_WHOLE.fullmatch(digits) and int(digits) != value):
                raise _refused(
                    node,
                    f"YAML reads {node.value} as the number {value}; write {value} if that is meant, or quote it: "
                    f'"{node.value}"',
                )
            return value

        def construct_fraction(self, node):
            if ":" in node.value:
                raise _refused(node, f'YAML reads {node.value} as a number of base 60; quote it: "{node.value}"')
            return self.construct_yaml_float(node)

    Loader.add_constructor("tag:yaml.org,2002:int", Loader.construct_number)
    Loader.add_constructor("tag:yaml.org,2002:float", Loader.construct_fraction)
    return Loader


def _yaml_problem(error):
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    return f"line {mark.line + 1}: {problem}" if mark else one_line(error)
