"""Models off the shelf and after training on each of several corpora: the conditions that a study compares."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from biaslib._files import folder_name, read_json
from biaslib._provenance import data_fingerprint
from biaslib.io.corpora import read_documents
from biaslib.training.continued import continue_pretraining

OFF_THE_SHELF = "off the shelf"
_COLUMNS = ["model", "condition", "folder", "head", "n_trained_on", "n_held_out", "text_fingerprint"]


def train_conditions(
    models: Mapping, corpora: Mapping, *, out: str | Path, progress: bool = False, **settings
) -> pd.DataFrame:
    """Train each model on each corpus, separately.

    Parameters
    ----------
    models : mapping of str to MaskedLM
        Loaded models by name, such as those of `biaslib.scoring.open_models`.
    corpora : mapping of str to texts
        Texts, as `biaslib.io.read_documents` takes them, by the name of the corpus.
    out : str or Path
        Folder of the trained models. The name of each one's own folder ends in a fingerprint of model, texts and
        settings: a finished training is found again, and an interrupted one is resumed.
    progress : bool
        Show progress bars.
    **settings
        Of `continue_pretraining`.

    Returns
    -------
    pandas.DataFrame
        ``model condition folder head n_trained_on n_held_out text_fingerprint``: for each model one row with the
        condition :data:`OFF_THE_SHELF` (its folder is its name; head ``"new"`` means drawn at random), then one row
        per corpus with the condition ``"after <corpus>"`` and the number of documents trained on and held out.

    Raises
    ------
    ValueError, FileNotFoundError
        As `continue_pretraining`.
    """
    rows = []
    for name, lm in models.items():
        rows.append((name, OFF_THE_SHELF, name, lm.head, 0, 0, ""))
        for corpus, texts in corpora.items():
            condition = f"after {corpus}"
            documents = read_documents(texts, text_column=settings.get("text_column", "text"))
            mark = data_fingerprint(lm.fingerprint, documents, settings)[:8]
            folder = Path(out) / f"{_plain_name(name)}-{_plain_name(condition)}-{mark}"
            continue_pretraining(lm, documents, out=folder, progress=progress, **settings)
            about = read_json(folder / "training.json")["texts"]
            counts = (about[part]["n_documents"] for part in ("train", "held_out"))
            rows.append((name, condition, str(folder), "kept", *counts, about["fingerprint"]))
    return pd.DataFrame(rows, columns=_COLUMNS)


def name_corpora(corpora: Sequence[str], *, n: int) -> dict[str, str]:
    """Split corpora written as name=texts into a dict, and check them before anything is trained.

    Parameters
    ----------
    corpora : sequence of str
        Each ``"name=texts"``, with the texts as `biaslib.io.read_documents` takes them; without a name, the name of
        the file is used.
    n : int
        How many there must be.

    Returns
    -------
    dict of str to str

    Raises
    ------
    ValueError
        If there are not `n`, a name or text is empty, or a name is repeated.

    Examples
    --------
    >>> name_corpora(["news=queer_news_sample", "my/posts.jsonl"], n=2)
    {'news': 'queer_news_sample', 'posts': 'my/posts.jsonl'}
    """
    named = {}
    for corpus in corpora:
        name, given, text = corpus.partition("=")
        name, text = (name.strip(), text) if given else (Path(corpus).name.partition(".")[0], corpus)
        if not name or not text.strip():
            raise ValueError(f"corpus {corpus!r} has an empty name or text; write it as name=text")
        named[name] = text.strip()
    if len(corpora) != n or len(named) != n:
        raise ValueError(f"give {n} corpora with different names, each as name=text, not {list(corpora)}")
    return named


def corpus_fingerprints(corpora: Mapping, *, text_column: str = "text") -> dict[str, str]:
    """Compute the fingerprint of each corpus, as the ``training.json`` of a model trained on it has it.

    Parameters
    ----------
    corpora : mapping of str to texts
    text_column : str
        As for `biaslib.io.read_documents`.

    Returns
    -------
    dict of str to str
    """
    return {name: data_fingerprint(read_documents(texts, text_column=text_column)) for name, texts in corpora.items()}


def _plain_name(name):
    return folder_name(Path(str(name)).name).strip("-.") or "model"
