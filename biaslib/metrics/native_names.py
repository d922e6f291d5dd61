"""Native names in place of transliterated English ones."""

import unicodedata
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from biaslib._checks import as_sentences, check_columns, check_count
from biaslib.io.languages import read_language, read_rows_of
from biaslib.metrics._word_finder import word_finder


def replace_names(
    sentences: Sequence[str],
    language: str,
    seed: int = 0,
    *,
    transliterated: str | Path | None = None,
    native: str | Path | None = None,
) -> pd.DataFrame:
    """Replace transliterated English names by native ones.

    Parameters
    ----------
    sentences : sequence of str
        In the target language.
    language : str
        Its code.
    seed : int
    transliterated, native : str or Path, optional
        Tables with the columns ``language gender name``; by default the embedded lists (see `biaslib.io.Language`).

    Returns
    -------
    pandas.DataFrame
        ``sentence_id target replaced n_replaced names``: the sentence, the same with native names, how many were
        replaced, and which ("マイケル → 健; …"); the index of a Series is kept. A name keeps its gender, different
        names in a sentence get different ones while there are enough, and the names that a sentence gets do not depend
        on the other sentences.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a list has no name for the language or for a gender that is needed.

    Notes
    -----
    Names are found as `find_genders` finds words, but case counts. An inflected name (Джона) is another word, and is
    replaced only if it is in the list.

    Examples
    --------
    >>> replace_names(["マイケルは医者だ。"], "ja")["n_replaced"].tolist()
    [1]
    """
    index = sentences.index if isinstance(sentences, pd.Series) else None
    sentences = as_sentences(sentences)
    check_count(seed, "seed", least=0)
    rules = read_language(language)
    given = _names_of(language, transliterated, rules.transliterated_names).drop_duplicates("name")
    ours = _names_of(language, native, rules.native_names)
    lacking = sorted(set(given["gender"]) - set(ours["gender"]))
    if lacking:
        where = "the embedded list" if native is None else repr(str(native))
        raise ValueError(f"{where} has no {lacking[0]} name for {language!r}; add one")
    finder = word_finder(given["name"], zip(given["gender"], given["name"], strict=True), rules)
    pools = {gender: names.tolist() for gender, names in ours.groupby("gender")["name"]}
    rows = [_with_native_names(text, finder, pools, seed) for text in sentences]
    frame = pd.DataFrame(rows, columns=["target", "replaced", "n_replaced", "names"])
    frame.insert(0, "sentence_id", np.arange(len(sentences)))
    return frame if index is None else frame.set_axis(index)


def with_native_names(sentences: pd.DataFrame, language: str, seed: int = 0) -> pd.DataFrame:
    """Replace names in sentences if the language has a list of transliterated ones.

    Parameters
    ----------
    sentences : pandas.DataFrame
        With a column ``target``.
    language : str
        Its code.
    seed : int

    Returns
    -------
    pandas.DataFrame
        The same rows, with native names in ``target`` and a column ``n_replaced``, which is 0 throughout if the
        language writes names as English does, like German.

    Raises
    ------
    ValueError
        If the column is missing.

    Examples
    --------
    >>> with_native_names(pd.DataFrame({"target": ["Michael ist Arzt."]}), "de").values.tolist()
    [['Michael ist Arzt.', 0]]
    """
    check_columns(sentences, ["target"], "sentences")
    if read_language(language).transliterated_names.empty:
        return sentences.assign(n_replaced=0)
    found = replace_names(sentences["target"], language, seed)
    return sentences.assign(target=found["replaced"], n_replaced=found["n_replaced"])


def _names_of(language, path, embedded):
    """Read names from a file, or take the embedded ones."""
    if path is not None:
        return read_rows_of(path, language, ("gender", "name"))
    if embedded.empty:
        raise ValueError(f"there are no embedded names for {language!r}: give a table of names")
    return embedded


def _with_native_names(text, finder, pools, seed):
    """Return a text, the same with native names, how many were replaced, and which."""
    normal = unicodedata.normalize("NFC", text)
    found = list(finder.find(normal))
    if not found:
        return text, text, 0, ""
    rng = np.random.default_rng([seed, zlib.crc32(normal.encode("utf-8"))])
    orders = {gender: rng.permutation(len(pools[gender])) for gender in sorted(pools)}
    chosen, used = {}, dict.fromkeys(pools, 0)
    for (gender, name), _, _ in found:
        if name not in chosen:
            chosen[name] = pools[gender][orders[gender][used[gender] % len(pools[gender])]]
            used[gender] += 1
    pieces, end = [], 0
    for (_, name), start, stop in found:
        pieces += [normal[end:start], chosen[name]]
        end = stop
    names = "; ".join(f"{name} → {ours}" for name, ours in chosen.items())
    return text, "".join([*pieces, normal[end:]]), len(found), names
