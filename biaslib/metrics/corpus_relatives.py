"""Relative pronouns in a corpus of any size, found and scored in shards."""

import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from biaslib import _provenance, compute, io
from biaslib._files import folder_name
from biaslib._frames import check_names, each_model
from biaslib.io.corpora import corpus_files, read_texts
from biaslib.metrics.relative_clauses import PARSER, PRONOUNS, find_relatives, relatives_frame
from biaslib.metrics.relatives import relative_probabilities
from biaslib.scoring.model_pool import OpenModels, open_models
from biaslib.scoring.parsers import load_parser, parser_fingerprint

# What finding and scoring depend on besides this package, whose version every folder of shards records anyway.
_LIBRARIES = ("spacy", "torch", "transformers", "tokenizers")


def find_in_corpus(
    paths: str | Path | Sequence[str | Path],
    names: Sequence[str],
    *,
    out: str | Path,
    parser: str = PARSER,
    client=None,
    progress: bool = False,
) -> pd.DataFrame:
    """Find relative pronouns in a corpus, in shards; call it again to resume after an interruption.

    Parameters
    ----------
    paths : str, Path, or sequence of them
        As for `biaslib.io.corpus_files`; ``""`` returns an empty frame.
    names : sequence of str
        As for `find_relatives`.
    out : str or Path
        Folder in which a folder of shards is written for this corpus.
    parser : str
        Name of an installed pipeline, or a folder.
    client, progress
        As for `biaslib.compute.run_shards`.

    Returns
    -------
    pandas.DataFrame
        ``shard`` and the columns of `find_relatives`, with its counts in ``attrs``; text_id counts within a shard.

    Raises
    ------
    FileNotFoundError
        If the corpus does not exist.
    ValueError, ModuleNotFoundError
        As for `find_relatives`, `biaslib.io.corpus_files` and `biaslib.compute.run_shards`, or if another call has
        replaced the shards in the meantime.

    Warns
    -----
    UserWarning
        If earlier shards cannot be reused, with the reason.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(find_in_corpus("animal_sentences", ["pig"], out=folder))
    5
    """
    names = check_names(names)
    files = corpus_files(paths)
    if not files:
        return _no_relatives(names)
    identity, given = _corpus_identity(files, names, parser)
    work = partial(_find_in_pieces, **given)
    folder = Path(out) / f"found-{_folder_name(paths if isinstance(paths, str | Path) else files[0])}"
    return _run(files, work, folder, identity, client, progress)


def score_corpus(
    paths: str | Path | Sequence[str | Path],
    models,
    names: Sequence[str],
    *,
    out: str | Path,
    parser: str = PARSER,
    client=None,
    device: str = "auto",
    dtype: str = "float32",
    progress: bool = False,
) -> pd.DataFrame:
    """Find relative pronouns in a corpus and compute the probability of all five in their place, for several models.

    The work is done in shards: call it again to resume after an interruption, with the same result.

    Parameters
    ----------
    paths : str, Path, or sequence of them
        As for `biaslib.io.corpus_files`; ``""`` returns an empty frame without loading a model.
    models : OpenModels or sequence of str
        What `biaslib.scoring.open_models` returns, or the names that it takes.
    names : sequence of str
        As for `find_relatives`.
    out : str or Path
        Folder in which a folder of shards is written for each model, with the pronouns found, so that several processes
        can score different models at the same time.
    parser : str
        Name of an installed pipeline, or a folder.
    client, progress
        As for `biaslib.compute.run_shards`; each worker loads a model once and keeps it.
    device, dtype : str
        As for `biaslib.scoring.load_masked_lm`, for models given by name.

    Returns
    -------
    pandas.DataFrame
        ``model shard``, the columns of `find_relatives` and those that `relative_probabilities` adds, with the counts
        of `find_relatives` in ``attrs``; text_id counts within a shard.

    Raises
    ------
    FileNotFoundError
        If the corpus does not exist.
    ValueError, ModuleNotFoundError
        As for `find_in_corpus` and `biaslib.scoring.open_models`.

    Warns
    -----
    UserWarning
        If earlier shards cannot be reused (another model of that name, other names, another corpus …), with the reason.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scored = score_corpus("animal_sentences", ["demo"], ["pig"], out=folder)
    >>> len(scored), bool(scored[list(PRONOUNS)].notna().all(axis=None))
    (5, True)
    """
    names = check_names(names)
    files = corpus_files(paths)
    if not files:
        found = _no_relatives(names).assign(**dict.fromkeys(PRONOUNS, 0.0), reason="")
        found.insert(0, "model", pd.Series(dtype="str"))
        return found
    corpus, given = _corpus_identity(files, names, parser)

    if not isinstance(models, OpenModels):
        models = open_models(models, device=device, dtype=dtype)
    attributes = {}

    def score(lm):
        identity = {"model": lm.fingerprint, "dtype": lm.dtype, **corpus}
        if client is None:
            work = partial(_score_pieces, lm=lm, **given)
        else:
            which = {"model": lm.name, "fingerprint": lm.fingerprint, "device": models.device, "dtype": lm.dtype}
            work = partial(_score_on_worker, **which, **given)
        table = _run(files, work, Path(out) / f"scored-{_folder_name(lm.name)}", identity, client, progress)
        # What was read and found is the same for all models.
        attributes.update(table.attrs)
        return table

    table = each_model(models, score)
    table.attrs.update(attributes)
    return table


def _run(files, work, folder, identity, client, progress):
    run = compute.run_shards(io.cut_files(files), work, out=folder, identity=identity, client=client, progress=progress)
    return compute.read_shards(run)


def _corpus_identity(files, names, parser):
    """Return what finding depends on, and the arguments for the work on each shard."""
    fingerprint = parser_fingerprint(parser)
    pipeline = compute.per_worker(_load_checked, parser, fingerprint).meta
    versions = {name: version for name, version in _provenance.versions().items() if name in _LIBRARIES}
    identity = {
        "names": names,
        "parser": f"{pipeline['lang']}_{pipeline['name']} {pipeline['version']} {fingerprint}",
        "corpus": io.corpus_fingerprint(files),
        **versions,
    }
    return identity, {"names": names, "parser": parser, "parser_fingerprint": fingerprint}


def _load_checked(parser, fingerprint):
    nlp = load_parser(parser)
    now = parser_fingerprint(parser)
    if now != fingerprint:
        raise ValueError(
            f"the pipeline {str(parser)!r} has the fingerprint {now} here, not {fingerprint}; all machines need the "
            "same files, which must not change during a run"
        )
    return nlp


def _folder_name(name):
    """Return the last part of a name or path, with a hash that distinguishes it from others that end alike."""
    last = folder_name(Path(name).name, keep="") or "unnamed"
    return f"{last}-{hashlib.sha256(str(name).encode()).hexdigest()[:8]}"


def _no_relatives(names):
    found = relatives_frame([], names)
    found.insert(0, "shard", pd.Series(dtype="int32"))
    return found


def _find_in_pieces(pieces, *, names, parser, parser_fingerprint):
    return find_relatives(
        read_texts(pieces), names, parser=compute.per_worker(_load_checked, parser, parser_fingerprint)
    )


def _score_pieces(pieces, *, lm, **given):
    return relative_probabilities(lm, _find_in_pieces(pieces, **given))


def _score_on_worker(pieces, *, model, fingerprint, device, dtype, **given):
    lm = compute.worker_model(model, fingerprint, device=device, dtype=dtype)
    return _score_pieces(pieces, lm=lm, **given)
