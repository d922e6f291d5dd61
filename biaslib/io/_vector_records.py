"""Vectors in memory, and the record of what a file holds and what of it was left out."""

import re
import warnings

import numpy as np


class VectorsError(ValueError):
    """Raised for vectors that cannot be loaded; the message says why and what to do."""


def new_account(kind, *, header=None, limit=None):
    """Begin the record of what a file holds and what of it was repaired or left out."""
    counts = ("bad_bytes", "duplicates", "not_finite", "absent", "empty_lines", "words_with_spaces")
    account = {"format": kind, "n": 0, "dimension": 0, "header": header, "limit": limit, **dict.fromkeys(counts, 0)}
    return account | {"examples": {}}


def make_keyed_vectors(words, array, account):
    """Make gensim's vectors around an array, without the copy that adding them would make."""
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(array.shape[1])
    # A plain view of what is mapped: gensim's save would else write a file that our own loading refuses.
    array = array.view(np.ndarray)
    array.flags.writeable = False
    vectors.vectors, vectors.index_to_key, vectors.next_index = array, words, len(words)
    vectors.key_to_index = {word: row for row, word in enumerate(words)}
    vectors.loading = account | {"n": len(words), "dimension": array.shape[1]}
    return vectors


def clean_words(raw_words, array, account):
    """Decode words; leave out duplicates and values that are not finite; count all of it."""
    rows, words = {}, []
    for raw in raw_words:
        try:
            word = raw.decode("utf-8")
        except UnicodeDecodeError:
            word = raw.decode("utf-8", "replace")
            _count(account, "bad_bytes", word)
        if b" " in raw or b"\t" in raw:
            _count(account, "words_with_spaces", word)
        words.append(word)
    words, array, account = leave_out_infinite(words, array, account)
    for row, word in enumerate(words):
        if rows.setdefault(word, row) != row:
            _count(account, "duplicates", word)
    kept = list(rows.values())
    return list(rows), array if len(kept) == len(array) else array[kept], account


def _count(account, what, word):
    account[what] += 1
    account["examples"].setdefault(what, word)


def warn_of(source, accounts):
    """Say in one line what was repaired or left out."""
    said = []
    for account in accounts:
        parts = _oddities(account)
        if parts:
            decade = f"{account['decade']}: " if "decade" in account else ""
            said.append(decade + ", ".join(parts))
    if said:
        warnings.warn(f"{source}: {'; '.join(said)}", stacklevel=3)


def _oddities(account):
    kinds = (
        ("bad_bytes", "word(s) repaired that are not UTF-8"),
        ("duplicates", "duplicate(s) left out"),
        ("not_finite", "word(s) left out with values that are not finite"),
    )
    parts = [f"{account[key]} {what} ({account['examples'][key]!r})" for key, what in kinds if account[key]]
    if account["empty_lines"]:
        parts.append(f"{account['empty_lines']} empty line(s) skipped")
    if account["header"] and not account["limit"]:
        entries = account["n"] + account["duplicates"] + account["not_finite"]
        if entries != account["header"][0]:
            parts.append(f"{entries} entries read where the header counts {account['header'][0]}")
    return parts


def leave_out_infinite(words, array, account):
    """Leave out the words that have a value that is not finite, and count them."""
    with np.errstate(invalid="ignore"):
        finite = np.isfinite(array.sum(axis=1, dtype=np.float64))
    if finite.all():
        return words, array, account
    for row in np.flatnonzero(~finite):
        _count(account, "not_finite", words[row])
    return [words[row] for row in np.flatnonzero(finite)], array[finite], account


def files_by_decade(folder, kind):
    """Find ``<decade>-<kind>`` in a folder."""
    found = {}
    for path in sorted(folder.iterdir()):
        named = re.fullmatch(rf"(\d+)s?-{re.escape(kind)}", path.name)
        if not named:
            continue
        other = found.setdefault(int(named[1]), path)
        if other != path:
            raise VectorsError(f"{str(folder)!r} has decade {int(named[1])} twice: {other.name} and {path.name}")
    return found
