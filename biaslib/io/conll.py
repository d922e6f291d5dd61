"""Documents with coreference in the format of the CoNLL-2012 shared task (the ``_conll`` files of OntoNotes).

Pradhan, Moschitti, Xue, Uryupina & Zhang (2012), "CoNLL-2012 Shared Task: Modeling Multilingual Unrestricted
Coreference in OntoNotes", Joint Conference on EMNLP and CoNLL: Shared Task, 1-40.
"""

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from biaslib._files import DATA
from biaslib.io._text_files import iterate_lines

EMBEDDED_DOCUMENTS = ("coreference_sample",)
# A part of a document is what mentions corefer in: everything is kept and scored by these two.
KEYS = ["document", "part"]
WORD_COLUMNS = [*KEYS, "sentence", "position", "word", "speaker"]
CLUSTER_COLUMNS = [*KEYS, "cluster", "start", "end", "text"]
# In a folder, the first of these that finds files tells which they are.
PATTERNS = ("*gold_conll", "*.conll", "*_conll")
_COLUMNS = 12
_WORD, _SPEAKER = 3, 9
_BEGIN = re.compile(r"#begin document \(?(?P<document>[^()\s;][^()]*?)\)?(?:;\s*part\s+(?P<part>[0-9]{1,18}))?;?\s*")
_MARK = re.compile(r"(?P<open>\()?(?P<cluster>[0-9]{1,18})(?P<close>\))?")
_NOTHING = ("-", "_", "*", "")
# OntoNotes writes a full stop and a question mark of transcribed speech with a slash.
_ESCAPED = {"/.": ".", "/?": "?"}


@dataclass(frozen=True)
class Documents:
    """Documents as words and the clusters of mentions in them.

    Attributes
    ----------
    words : pandas.DataFrame
        One row per word: ``document part sentence position word speaker``; ``sentence`` and ``position`` count from 0
        within the part, ``speaker`` is ``"-"`` if unknown.
    clusters : pandas.DataFrame
        One row per mention: ``document part cluster start end text``; its words are those at the positions from
        ``start`` up to, but not including, ``end``.
    """

    words: pd.DataFrame
    clusters: pd.DataFrame

    def to_frame(self):
        """Count what each part of a document holds: ``document part sentences words speakers clusters mentions``."""
        words = self.words.groupby(KEYS, sort=False)
        counts = words.agg(
            sentences=("sentence", "nunique"),
            words=("word", "size"),
            speakers=("speaker", lambda speakers: speakers[speakers != "-"].nunique()),
        )
        mentions = self.clusters.groupby(KEYS)["cluster"].agg(clusters="nunique", mentions="size")
        return counts.join(mentions).fillna({"clusters": 0, "mentions": 0}).astype(int).reset_index()


def read_conll(source: str | Path | Sequence[str | Path] = "coreference_sample") -> Documents:
    """Read CoNLL-2012 files.

    Parameters
    ----------
    source : str, Path, or sequence of these
        ``"coreference_sample"`` (12 short documents, embedded), a file, or a folder, in which the files
        ``*gold_conll`` are read, or else ``*.conll``, or else ``*_conll``, at any depth, in the order of their paths.

    Returns
    -------
    Documents
        In file order. Columns are separated by tabs in a line that has any, otherwise by spaces. A mention that a file
        lists twice in a cluster counts once; clusters that share a mention are merged, with a warning. ``/.`` and
        ``/?``, which stand for ``.`` and ``?`` in OntoNotes, are read as these.

    Raises
    ------
    FileNotFoundError
        If there is no such file, or no CoNLL file in the folder.
    ValueError
        If a file is not in this format or has no word, or a part of a document occurs twice; the message names the
        file and the line.

    Warns
    -----
    UserWarning
        If clusters that share a mention were merged.

    Examples
    --------
    >>> documents = read_conll("coreference_sample")
    >>> documents.words["document"].nunique(), documents.clusters.loc[1, "text"]
    (12, 'a small boat')
    """
    sources = [source] if isinstance(source, str | Path) else list(source)
    words, clusters, seen, joined = [], [], {}, 0
    for path in (path for one in sources for path in _files(one)):
        parts = list(_parts(path))
        if not any(part["words"] for part in parts):
            raise ValueError(f"{path} has no document with a word")
        for part in parts:
            key = part["document"], part["part"]
            if key in seen:
                raise ValueError(f"{part['where']}: part {key[1]} of {key[0]} is already in {seen[key]}")
            seen[key] = part["where"]
            found, n_joined = _joined(part["mentions"])
            joined += n_joined
            words += [(*key, *word) for word in part["words"]]
            texts = [word[2] for word in part["words"]]
            clusters += [(*key, cluster, start, end, " ".join(texts[start:end])) for cluster, start, end in found]
    if joined:
        warnings.warn(f"merged {joined} cluster(s) with another that shares a mention", stacklevel=2)
    return documents_of(words, clusters)


def documents_of(words: Iterable[Sequence], clusters: Iterable[Sequence] = ()) -> Documents:
    """Make documents of rows.

    Parameters
    ----------
    words : iterable of sequences
        With the values of ``document part sentence position word speaker``.
    clusters : iterable of sequences
        With the values of ``document part cluster start end text``.

    Returns
    -------
    Documents

    Examples
    --------
    >>> documents_of([("a", 0, 0, 0, "She", "-"), ("a", 0, 0, 1, "sings", "-")]).to_frame()["words"].tolist()
    [2]
    """
    numbers = dict.fromkeys(["part", "sentence", "position"], int)
    spans = dict.fromkeys(["part", "cluster", "start", "end"], int)
    texts = {"document": str, "word": str, "speaker": str}
    return Documents(
        words=pd.DataFrame(list(words), columns=WORD_COLUMNS).astype(numbers | texts),
        clusters=pd.DataFrame(list(clusters), columns=CLUSTER_COLUMNS).astype(spans | {"document": str, "text": str}),
    )


def select_documents(documents: Documents, names: Iterable[str]) -> Documents:
    """Select some documents, with all parts of each.

    Parameters
    ----------
    documents : Documents
    names : iterable of str

    Returns
    -------
    Documents
        In the order of `documents`.

    Raises
    ------
    ValueError
        If a name is unknown, or there is none.

    Examples
    --------
    >>> select_documents(read_conll(), ["sample/news/0004"]).to_frame()["part"].tolist()
    [0, 1]
    """
    names = {names} if isinstance(names, str) else set(names)
    unknown = sorted(names - set(documents.words["document"]))
    if unknown or not names:
        raise ValueError(f"no document {', '.join(unknown)}" if unknown else "names is empty; give at least one")
    frames = documents.words, documents.clusters
    return Documents(*(frame[frame["document"].isin(names)].reset_index(drop=True) for frame in frames))


def _files(source):
    if str(source) in EMBEDDED_DOCUMENTS:
        return [DATA / f"{source}.conll"]
    path = Path(source).expanduser()
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise FileNotFoundError(
            f"no file or folder {str(source)!r}: give CoNLL-2012 files or {EMBEDDED_DOCUMENTS[0]!r}"
        )
    for pattern in PATTERNS:
        files = sorted(file for file in path.rglob(pattern) if file.is_file())
        if files:
            return files
    raise FileNotFoundError(f"folder {str(source)!r} holds no file {', '.join(PATTERNS)}")


def _parts(path):
    """Read the parts of one file, each with its place, words and mentions."""
    part = None
    number = 0
    for number, line in enumerate(iterate_lines(path), start=1):
        where = f"{path}, line {number}"
        if line.startswith("#begin document"):
            if part:
                raise ValueError(f"{where}: a document begins before the end of {part['document']}")
            part = _begun(where, line)
        elif line.startswith("#end document"):
            if not part:
                raise ValueError(f"{where}: a document ends that has not begun")
            _end_sentence(where, part)
            yield part
            part = None
        elif not line.strip(" \t"):
            if part:
                _end_sentence(where, part)
        elif part:
            _add_word(where, part, _fields(line))
        elif not line.startswith("#"):
            raise ValueError(f"{where}: a word outside a document; expected '#begin document (NAME); part 000'")
    if part:
        raise ValueError(f"{path}, line {number}: the file ends before the '#end document' of {part['document']}")


def _fields(line):
    """Split a line at its tabs, which keep the spaces in a cell, or else at spaces."""
    return [cell.strip(" ") for cell in line.split("\t")] if "\t" in line else re.findall("[^ ]+", line)


def _begun(where, line):
    match = _BEGIN.fullmatch(line)
    if not match:
        raise ValueError(f"{where}: write '#begin document (NAME); part 000', not {line.strip()!r}")
    part = {"document": match["document"], "part": int(match["part"] or 0), "where": where}
    return part | {"words": [], "mentions": [], "open": {}, "sentence": 0, "in_sentence": 0}


def _end_sentence(where, part):
    if part["open"]:
        named = ", ".join(map(str, part["open"]))
        raise ValueError(f"{where}: a mention of cluster {named} is still open where the sentence ends")
    if part["in_sentence"]:
        part["sentence"] += 1
        part["in_sentence"] = 0


def _add_word(where, part, fields):
    if len(fields) < _COLUMNS:
        raise ValueError(f"{where}: expected at least {_COLUMNS} columns, found {len(fields)}")
    if fields[2] != str(part["in_sentence"]):
        raise ValueError(f"{where}: expected word number {part['in_sentence']} of this sentence, found {fields[2]}")
    if not fields[_WORD]:
        raise ValueError(f"{where}: column {_WORD + 1}, the word, is empty")
    position = len(part["words"])
    word = _ESCAPED.get(fields[_WORD], fields[_WORD])
    speaker = "-" if fields[_SPEAKER] in _NOTHING else fields[_SPEAKER]
    part["words"].append((part["sentence"], position, word, speaker))
    part["in_sentence"] += 1
    if fields[-1] in _NOTHING:
        return
    for mark in fields[-1].split("|"):
        match = _MARK.fullmatch(mark)
        if not match or not (match["open"] or match["close"]):
            raise ValueError(f"{where}: {mark!r} in the last column is not a mark of coreference such as (3, 3) or (3)")
        cluster = int(match["cluster"])
        starts = part["open"].setdefault(cluster, [])
        if match["open"]:
            starts.append(position)
        if match["close"]:
            if not starts:
                raise ValueError(f"{where}: a mention of cluster {cluster} is closed but not open")
            part["mentions"].append((cluster, starts.pop(), position + 1))
        if not starts:
            del part["open"][cluster]


def _joined(mentions):
    """Sort mentions, join clusters that share one, and count how many were joined to another."""
    target: dict[int, int] = {}

    def root(cluster):
        while target.get(cluster, cluster) != cluster:
            cluster = target[cluster]
        return cluster

    owner: dict[tuple[int, int], int] = {}
    for cluster, *span in mentions:
        first = root(owner.setdefault(tuple(span), cluster))
        if root(cluster) != first:
            target[root(cluster)] = first
    found = {(root(cluster), start, end) for cluster, start, end in mentions}
    return sorted(found, key=lambda mention: (mention[1], -mention[2])), len(target)
