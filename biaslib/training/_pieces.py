"""Documents cut into pieces that fit the model."""

from itertools import pairwise

import numpy as np

from biaslib.io.conll import KEYS
from biaslib.training._stanza import Piece

_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def cut_documents(tokenizer, words, window, max_words, overlap):
    """Cut the parts of documents into pieces that fit the model."""
    for key, part in words.groupby(KEYS, sort=False):
        tokens = [_tokens(tokenizer, word)[: window - 2] for word in part["word"]]
        sentences = _short_sentences(part["sentence"], map(len, tokens), window - 2, max_words)
        speakers = part["speaker"].tolist()
        for first, last in _stretches(sentences, max_words, overlap):
            content = _content(key, part["word"].tolist()[first:last], tokens[first:last])
            content |= {"sent_id": sentences[first:last], "speaker": speakers[first:last]}
            yield Piece(key, first, content)


def _tokens(tokenizer, word):
    """Split a word into tokens; a word without any, or that reads as a special token, is the unknown token."""
    # In byte-level vocabularies a space marks the start of a word; others ignore it.
    tokens = tokenizer.tokenize(f" {_BRACKETS.get(word, word)}")
    special = set(tokenizer.all_special_tokens) - {tokenizer.unk_token}
    return tokens if tokens and not special & set(tokens) else [tokenizer.unk_token]


def _short_sentences(sentences, n_tokens, most_tokens, most_words):
    """Renumber sentences, with those that are too long cut between words."""
    numbers, previous, tokens, words = [], None, 0, 0
    for sentence, n in zip(sentences, n_tokens, strict=True):
        if sentence != previous or tokens + n > most_tokens or words == most_words:
            numbers.append(numbers[-1] + 1 if numbers else 0)
            tokens = words = 0
        else:
            numbers.append(numbers[-1])
        previous, tokens, words = sentence, tokens + n, words + 1
    return numbers


def _stretches(sentences, max_words, overlap):
    """Yield the bounds (first word, one after the last) of overlapping runs of whole sentences."""
    bounds = [n for n, sentence in enumerate(sentences) if n == 0 or sentence != sentences[n - 1]] + [len(sentences)]
    start = 0
    while True:
        end = max(n for n, bound in enumerate(bounds) if n > start and (bound - bounds[start] <= max_words))
        yield bounds[start], bounds[end]
        if end == len(bounds) - 1:
            return
        # The next run must end after this one.
        start = next(
            n
            for n in range(start + 1, end + 1)
            if bounds[end] - bounds[n] <= overlap and bounds[end + 1] - bounds[n] <= max_words
        )


def _content(key, words, tokens):
    ends, word_of = [0], []
    for number, of_word in enumerate(tokens):
        ends.append(ends[-1] + len(of_word))
        word_of += [number] * len(of_word)
    return {
        "document_id": f"{key[0]}_{key[1]}",
        "cased_words": words,
        "word2subword": list(pairwise(ends)),
        "subwords": [token for of_word in tokens for token in of_word],
        "word_id": word_of,
        "head2span": [],
        "word_clusters": [],
        "span_clusters": [],
    }


def training_pieces(model, documents, headed, max_words):
    """Make pieces with the mentions inside them, and count the mentions left out."""
    window = model.config.bert_window_size
    pieces = list(cut_documents(model.tokenizer, documents.words, window, max_words, overlap=0))
    usable = headed[headed["head"].notna()]
    mentions = dict(iter(usable.groupby(KEYS)))
    n_learned = 0
    for piece in pieces:
        if piece.key in mentions:
            n_learned += _add_mentions(piece, mentions[piece.key])
    if not any(piece.content["word_clusters"] for piece in pieces):
        raise ValueError("no document has two mentions of a cluster in one piece, so there is nothing to learn")
    without_head = len(headed) - len(usable)
    left_out = {"no free head word": without_head, "alone in a piece or across its end": len(usable) - n_learned}
    return pieces, left_out


def _add_mentions(piece, mentions):
    """Add clusters to a piece; return the number of mentions added."""
    content, n = piece.content, len(piece.content["cased_words"])
    moved = mentions[["cluster", "head", "start", "end"]].astype(int)
    moved[["head", "start", "end"]] -= piece.first
    moved = moved[(moved["start"] >= 0) & (moved["end"] <= n)]
    sentence = np.array(content["sent_id"])
    moved = moved[sentence[moved["start"]] == sentence[moved["end"] - 1]]
    moved = moved[moved.groupby("cluster")["head"].transform("size") > 1]
    for _, cluster in moved.groupby("cluster"):
        content["word_clusters"].append(sorted(cluster["head"].tolist()))
        content["span_clusters"].append(sorted(zip(cluster["start"].tolist(), cluster["end"].tolist(), strict=True)))
    content["head2span"] = sorted(moved[["head", "start", "end"]].values.tolist())
    return len(moved)
