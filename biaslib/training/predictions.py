"""What a trained resolver predicts for documents, and for GAP's pronouns."""

import pandas as pd

from biaslib.io.conll import CLUSTER_COLUMNS, KEYS, Documents
from biaslib.io.gap import checked_gap
from biaslib.training._pieces import cut_documents
from biaslib.training._stanza import run_model
from biaslib.training.parsed_documents import PARSER, documents_of_texts
from biaslib.training.resolver import Resolver

RESOLVED_COLUMNS = [*CLUSTER_COLUMNS, "head"]
# The share of a piece that it has in common with the one before it.
_SHARED = 4


def resolve(resolver: Resolver, documents: Documents, *, progress: bool = False) -> pd.DataFrame:
    """Predict the clusters of mentions in documents.

    A part of a document with more than ``resolver.max_words`` words is split at sentence ends into pieces that overlap
    by about a quarter; clusters that share a head word there are merged. A sentence over the model's own limit is split
    between words.

    Parameters
    ----------
    resolver : Resolver
    documents : Documents
        Their own clusters are ignored.
    progress : bool
        Show a progress bar.

    Returns
    -------
    pandas.DataFrame
        ``document part cluster start end text head``, one row per mention in the order of the documents; ``head`` is
        the position of its head word. Clusters have at least two mentions; a span predicted for two head words counts
        once. `biaslib.metrics.conll_scores` takes this frame.
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
        for number, mentions in enumerate(_one_mention_each(_merged(links.get(key, [])))):
            rows += [(*key, number, start, end, " ".join(words[start:end]), head) for head, start, end in mentions]
    frame = pd.DataFrame(rows, columns=RESOLVED_COLUMNS)
    types = dict.fromkeys(["part", "cluster", "start", "end", "head"], int) | {"document": str, "text": str}
    return frame.astype(types)


def resolve_gap(resolver: Resolver, gap: pd.DataFrame, *, parser=PARSER, progress: bool = False) -> pd.DataFrame:
    """Answer GAP's questions from the clusters that a resolver predicts for its texts.

    Parameters
    ----------
    resolver : Resolver
    gap : pandas.DataFrame
        From `biaslib.io.read_gap`.
    parser : str, Path or spacy.Language
        Splits texts into words and sentences.
    progress : bool
        Show a progress bar.

    Returns
    -------
    pandas.DataFrame
        ``ID A-coref B-coref cluster_pronoun cluster_a cluster_b inexact reason``, one row per pronoun in the order of
        `gap`. A name is coreferent if it is in the pronoun's cluster. The ``cluster_…`` columns number the clusters of
        the text; they are missing where no predicted mention is that of the pronoun or name. ``inexact`` lists what
        does not begin and end at word boundaries of the parser (it is matched by the words it overlaps); ``reason``
        lists what overlaps no word, and such a row has no answer.

    Raises
    ------
    ValueError
        If a column is missing, or the offsets of a row do not point at its strings.

    Notes
    -----
    A predicted mention is that of a name if its head word is one of the name's: *the sculptor Ida Moss* is Ida Moss,
    *Ida Moss's brother* is not. Of several such mentions, the one with the largest overlap counts.
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


def _merged(clusters):
    """Merge clusters that share a head word, of which the first span counts."""
    cluster_of: dict[int, dict] = {}
    for mentions in clusters:
        merged = {head: (start, end) for head, start, end in mentions}
        for known in {id(cluster_of[head]): cluster_of[head] for head in merged if head in cluster_of}.values():
            merged |= known
        cluster_of |= dict.fromkeys(merged, merged)
    different = {id(cluster): cluster for cluster in cluster_of.values()}.values()
    return [sorted((head, *span) for head, span in cluster.items()) for cluster in different]


def _one_mention_each(clusters):
    """Keep each span once, in the cluster that begins first, and drop clusters left with one mention."""
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
    """Return the cluster of the mention with a head among these words, the largest overlap if several; else None."""
    own = clusters[(clusters["head"] >= first) & (clusters["head"] < last)]
    if own.empty:
        return None
    shared = own["end"].clip(upper=last) - own["start"].clip(lower=first)
    overlap = 2 * shared / (own["end"] - own["start"] + last - first)
    return int(own["cluster"][overlap.idxmax()])
