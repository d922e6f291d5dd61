"""Which words a masked language model associates with a name more in one kind of sentence than in another.

The measure of Takeshita, Rzepka & Araki (2022), "Speciesist Language and Nonhuman Animal Bias in English
Masked Language Models", Information Processing & Management 59(5), 103050, §4.1.1: a name is put into
sentences about an object ("This is a {name} which is [MASK].") and about a human ("She is a {name} who is
[MASK]."), and each vocabulary entry is given the log ratio of its two mean probabilities (Eq. 1).
"""

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biaslib import scoring
from biaslib._checks import as_words, check_choice, check_count, check_number
from biaslib._frames import check_names, names_of
from biaslib.io.templates import fill

Z_OVER = ("animal", "model")
COMPARED_BY = ("either", "first", "second")
_FLOATS = ("p_object", "p_human", "log_ratio", "z")
_COMPARED = ("word", "p_first", "p_second", "log_ratio", "rank_first", "rank_second", "token_first", "token_second")
_COMPARED += ("reason",)
# Number of sentences × entries whose probabilities are held at once (float32: 96 MB).
_ENTRIES_AT_ONCE = 24_000_000
# A spread below this share of the largest ratio is only rounding.
_NO_SPREAD = 1e-12


def contrast(
    lm,
    names: Sequence[str],
    object_templates: Sequence[str],
    human_templates: Sequence[str],
    *,
    min_z: float = 2.0,
    z_over: str = "animal",
    keep_all: bool = False,
    article: str = "literal",
    batch_tokens: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    r"""Find the words that a model associates with a name as an object, and as a human.

    With :math:`\bar p(w)` the mean of :math:`P(w \mid \text{template})` over a condition's templates (Eq. 1),

    .. math:: r(w) = \ln \frac{\bar p_\text{object}(w)}{\bar p_\text{human}(w)}

    An entry is dropped if both means are below :math:`1/|V|`, or if :math:`|z(r)|` is below `min_z`.

    Parameters
    ----------
    lm : MaskedLM
        From `biaslib.scoring.load_masked_lm`.
    names : sequence of str
        Distinct names for the slot ``{name}``.
    object_templates, human_templates : sequence of str
        Templates with one ``{name}`` and one ``[MASK]``.
    min_z : float
        Least distance of a kept log ratio from the mean, in standard deviations. The paper does not state its own.
    z_over : {"animal", "model"}
        Whether the mean and the population standard deviation are those of each name's log ratios or of all names'
        together. They are over the whole vocabulary, without entries whose probability is exactly 0.
    keep_all : bool
        Whether to return the whole vocabulary instead of the kept words only (about 50 bytes per row).
    article : {"literal", "agree"}
        "a elephant", as the paper has it, or "an elephant".
    batch_tokens, progress
        As in `biaslib.scoring.scores`.

    Returns
    -------
    pandas.DataFrame
        ``name word p_object p_human log_ratio z kept token_id token kind``: one row per name and kept entry, in the
        order of names and of the vocabulary; natural logarithm. ``name`` is categorical; its categories include names
        without a kept word. ``attrs["n_zero"]`` counts, by name, the entries without a log ratio because a probability
        is 0 (rows of NaN with `keep_all`); ``attrs["skipped"]`` maps each name that could not be scored to the reason,
        and ``attrs["min_z"]`` is the threshold (0 with `keep_all`).

    Raises
    ------
    ValueError
        If names repeat, a template lacks its slot or its mask, or an option is unknown.

    Warns
    -----
    UserWarning
        If a sentence of a name cannot be scored; the name is then left out and listed in ``attrs["skipped"]``.

    Notes
    -----
    Names are scored in portions, so that 46 names and 250,000 entries need less than 500 MB in addition to the model
    (and, with `keep_all`, the result).

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> from biaslib.io import read_templates
    >>> templates = read_templates("speciesism").groupby("condition")["template"].agg(list)
    >>> words = contrast(load_masked_lm("demo"), ["dog", "pig"], templates["object"], templates["human"])
    >>> bool((words["z"].abs() >= 2).all())
    True
    """
    _check_options(min_z, z_over)
    names = check_names(names)
    conditions = [_check_templates(object_templates, "object"), _check_templates(human_templates, "human")]
    sentences = [[fill(t, article=article, name=name) for ts in conditions for t in ts] for name in names]
    vocabulary = scoring.describe_vocabulary(lm)
    step = max(1, _ENTRIES_AT_ONCE // (len(vocabulary) * len(sentences[0])))
    means, skipped = {}, {}
    for start in range(0, len(names), step):
        some = dict(zip(names[start : start + step], sentences[start : start + step], strict=True))
        _score(lm, some, len(conditions[0]), means, skipped, batch_tokens, progress)
    if skipped:
        message = f"no contrast for {', '.join(skipped)}: {next(iter(skipped.values()))}"
        warnings.warn(message, stacklevel=2)
    moments = _moments(means.values()) if z_over == "model" else None
    parts = {}
    n_zero = {}
    for name in list(means):
        # Each pair of means is released as soon as it is used, so that none is held twice.
        parts[name] = _part(*means.pop(name), len(vocabulary), min_z, moments, keep_all)
        n_zero[name] = parts[name].pop("n_zero")
    frame = _assemble(parts, vocabulary)
    frame.attrs["n_zero"] = n_zero
    frame.attrs["skipped"] = skipped
    frame.attrs["min_z"] = 0.0 if keep_all else float(min_z)
    return frame


def filter_contrast(p_object: ArrayLike, p_human: ArrayLike, *, vocabulary_size: int, min_z: float) -> pd.DataFrame:
    """Compute the log ratio and z of each entry, and which entries are kept (Eq. 1 and the filter after it).

    Parameters
    ----------
    p_object, p_human : array_like, shape (n,)
        Mean probabilities of one name's entries under the two conditions.
    vocabulary_size : int
        |V|; an entry with both probabilities below 1/|V| is dropped.
    min_z : float
        An entry with |z| below it is dropped. The mean and the population standard deviation are over all entries but
        those with a probability of exactly 0, whose log ratio and z are NaN. If all log ratios are equal, z is 0.

    Returns
    -------
    pandas.DataFrame
        ``log_ratio z kept``, one row per entry.

    Raises
    ------
    ValueError
        If the arrays differ in length or contain anything but probabilities, or an option is out of range.

    Examples
    --------
    >>> frame = filter_contrast([0.4, 0.1, 0.5], [0.1, 0.4, 0.5], vocabulary_size=3, min_z=1)
    >>> frame["log_ratio"].round(4).tolist()
    [1.3863, -1.3863, 0.0]
    """
    _check_options(min_z, "animal")
    p_object, p_human = (_check_probabilities(p) for p in (p_object, p_human))
    if p_object.shape != p_human.shape:
        raise ValueError(f"p_object and p_human must have the same length, not {p_object.size} and {p_human.size}")
    check_count(vocabulary_size, "vocabulary_size")
    log_ratio = _log_ratio(p_object, p_human)
    z, kept = _filter(p_object, p_human, log_ratio, vocabulary_size, min_z, _moments([(p_object, p_human)]))
    return pd.DataFrame({"log_ratio": log_ratio, "z": z, "kept": kept})


def compare_sentences(
    lm, first: str, second: str, k: int = 10, *, by: str = "either", batch_tokens: int | None = None
) -> pd.DataFrame:
    """List the likeliest words of two sentences, with their log ratio.

    Parameters
    ----------
    lm : MaskedLM
    first, second : str
        Each with one ``[MASK]``; `second` may be empty, for the words of the first only.
    k : int
        Number of likeliest entries per sentence, at most the size of the vocabulary.
    by : {"either", "first", "second"}
        Whether to list the likeliest entries of both sentences, sorted by log ratio, or of one, by probability.
    batch_tokens
        As in `biaslib.scoring.scores`.

    Returns
    -------
    pandas.DataFrame
        ``word p_first p_second log_ratio rank_first rank_second token_first token_second reason``, one row per word,
        which stands for its own vocabulary entry in each sentence; a continuation (``##``) is the same entry in both.
        `log_ratio` is the natural logarithm of p_first / p_second; ranks are within the whole vocabulary. If the other
        sentence has no entry for a word, its probability is NaN, with the reason.

    Raises
    ------
    ValueError
        If `k` is out of range, `by` is unknown, or a sentence does not have exactly one mask or cannot be scored.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> words = compare_sentences(load_masked_lm("demo"), "He is a [MASK].", "She is a [MASK].", k=5)
    >>> bool(words.loc[words["word"] == "man", "log_ratio"].item() > 0)
    True
    """
    check_choice(by, "by", COMPARED_BY)
    if by == "second" and not second.strip():
        raise ValueError("the second sentence is empty; write one, or list the words of the first")
    scoring.check_k(lm, k)
    sentences = [first, second] if second.strip() else [first]
    probabilities, reasons = scoring.mask_distributions(lm, sentences, return_reasons=True, batch_tokens=batch_tokens)
    for sentence, reason in zip(sentences, reasons, strict=True):
        if reason:
            raise ValueError(f"{reason}: {sentence!r}")
    orders = [np.argsort(-row, kind="stable") for row in probabilities]
    sides = [side for side in range(len(sentences)) if by in ("either", COMPARED_BY[side + 1])]
    found = {}
    for side in sides:
        for entries, word, reason in _entries_of(lm, sentences, side, orders[side][:k].tolist()):
            found.setdefault(entries, (word, reason))
    frame = _compared(lm, probabilities, orders, found)
    if by == "either" and len(sentences) == 2:
        frame = frame.sort_values("log_ratio", ascending=False, kind="stable", ignore_index=True)
    return frame


def top_contrast(frame: pd.DataFrame, k: int = 5) -> pd.DataFrame:
    """List the words with the largest log ratios in either direction, as in the speciesism study's Tables 8 to 11.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `contrast`; only kept rows count.
    k : int
        Number of words per name and direction.

    Returns
    -------
    pandas.DataFrame
        ``name sentences rank word log_ratio``: the highest positive log ratios for sentences ``"object"``, the lowest
        negative ones for ``"human"``; rank 1 is the most extreme, ties are sorted by word. A name with fewer than `k`
        words has fewer rows.

    Raises
    ------
    ValueError
        If `k` is not a positive whole number.

    Examples
    --------
    >>> frame = pd.DataFrame({"name": ["pig"] * 3, "word": ["ripe", "shy", "old"]})
    >>> frame = frame.assign(log_ratio=[3.0, -2.0, 4.0], kept=[True, True, False])
    >>> top_contrast(frame)[["sentences", "rank", "word"]].values.tolist()
    [['object', 1, 'ripe'], ['human', 1, 'shy']]
    """
    check_count(k, "k")
    kept = frame.loc[frame["kept"].to_numpy(bool) & (frame["log_ratio"] != 0).to_numpy()]
    is_human = (kept["log_ratio"] < 0).to_numpy()
    top = pd.DataFrame(
        {
            "name": pd.Categorical(kept["name"], categories=names_of(frame)),
            "sentences": pd.Categorical.from_codes(is_human.astype(np.int8), ["object", "human"]),
            "word": kept["word"].astype(object),
            "log_ratio": kept["log_ratio"],
            "size": -kept["log_ratio"].abs(),
        }
    )
    top = top.sort_values(["name", "sentences", "size", "word"], kind="stable")
    place = top.groupby(["name", "sentences"], observed=True).cumcount() + 1
    top.insert(2, "rank", place)
    top["sentences"] = top["sentences"].astype(str)
    return top.loc[place <= k, ["name", "sentences", "rank", "word", "log_ratio"]].reset_index(drop=True)


def word_sets(frame: pd.DataFrame, *, signed: bool = False, names: Sequence[str] | None = None) -> dict[str, set]:
    """Return each name's set of kept words, S in Eq. 2.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `contrast`; only kept rows count.
    signed : bool
        Whether to keep word and direction together, as ``(word, 1)`` for object and ``(word, -1)`` for human sentences
        (0 if the log ratio is 0).
    names : sequence of str, optional
        The names to include; a name without a kept word has an empty set. By default all names that `contrast` scored,
        or, in a frame read from a file, all that have a row.

    Returns
    -------
    dict of str to set
        Sets of readable words, which identify entries (`biaslib.scoring.describe_vocabulary`).

    Examples
    --------
    >>> frame = pd.DataFrame({"name": "pig", "word": ["ripe", "shy"], "log_ratio": [3.0, -2.0], "kept": True})
    >>> sets = word_sets(frame, signed=True, names=["pig", "dog"])
    >>> sorted(sets["pig"]), sets["dog"]
    ([('ripe', 1), ('shy', -1)], set())
    """
    names = names_of(frame) if names is None else check_names(names)
    kept = frame.loc[frame["kept"].to_numpy(bool)]
    items = kept["word"].astype(object)
    if signed:
        signs = np.sign(kept["log_ratio"].to_numpy()).astype(int).tolist()
        items = pd.Series(list(zip(items, signs, strict=True)), index=kept.index, dtype=object)
    found = items.groupby(kept["name"].astype(object)).agg(set).to_dict()
    return {name: found.get(name, set()) for name in names}


def count_kept(frame: pd.DataFrame) -> pd.DataFrame:
    """Count the words kept for each name, and the entries without a log ratio.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `contrast`; only kept rows count.

    Returns
    -------
    pandas.DataFrame
        ``name n_object n_human n_zero reason``: kept words with a positive and with a negative log ratio, entries
        without a log ratio because a probability is exactly 0, and why a name was skipped ("" if it was not).

    Examples
    --------
    >>> frame = pd.DataFrame({"name": "pig", "word": ["ripe", "shy"], "log_ratio": [3.0, -2.0], "kept": True})
    >>> count_kept(frame)[["name", "n_object", "n_human"]].values.tolist()
    [['pig', 1, 1]]
    """
    skipped = frame.attrs.get("skipped", {})
    names = [*names_of(frame), *skipped]
    kept = frame.loc[frame["kept"].to_numpy(bool)]
    counts = [
        kept.loc[leans, "name"].astype(object).value_counts().reindex(names, fill_value=0).to_numpy()
        for leans in (kept["log_ratio"] > 0, kept["log_ratio"] < 0)
    ]
    zeros = frame.attrs.get("n_zero", {})
    return pd.DataFrame(
        {
            "name": names,
            "n_object": counts[0],
            "n_human": counts[1],
            "n_zero": [zeros.get(name, 0) for name in names],
            "reason": [skipped.get(name, "") for name in names],
        }
    )


def _entries_of(lm, sentences, side, top):
    """List the likeliest entries of one sentence as (entries in both, word, reason why one is missing)."""
    words = scoring.readable_in_place(lm, sentences[side], top)
    if len(sentences) == 1:
        return [((entry, None), word, "") for entry, word in zip(top, words, strict=True)]
    resolved = scoring.resolve_words(lm, sentences[1 - side], words)
    other = {row.word: (row.token_id, row.reason) for row in resolved.itertuples()}
    special = set(lm.tokenizer.all_special_ids)
    found = []
    for entry, word in zip(top, words, strict=True):
        # A continuation or a special entry cannot be written as a word in the other place.
        there, reason = (entry, "") if word.startswith("##") or entry in special else other[word]
        there = None if reason else int(there)
        entries = (entry, there) if side == 0 else (there, entry)
        found.append((entries, word, reason and f"in the {COMPARED_BY[2 - side]} sentence: {reason}"))
    return found


def _compared(lm, probabilities, orders, found):
    """Look up the probability, rank and token of each word's two entries, either of which may be None."""
    frame = pd.DataFrame(list(found.values()), columns=["word", "reason"])
    for side, name in enumerate(COMPARED_BY[1:]):
        of_entry = {}
        entries = [of_word[side] for of_word in found]
        if side < len(orders):
            ranks = np.empty(len(orders[side]), dtype=int)
            ranks[orders[side]] = np.arange(1, len(ranks) + 1)
            ids = [entry for entry in entries if entry is not None]
            tokens = lm.tokenizer.convert_ids_to_tokens(ids)
            of_entry = dict(
                zip(ids, zip(probabilities[side, ids].tolist(), ranks[ids], tokens, strict=True), strict=True)
            )
        looked_up = [of_entry.get(entry, (np.nan, pd.NA, "")) for entry in entries]
        for column, values in zip(("p", "rank", "token"), zip(*looked_up, strict=True), strict=True):
            frame[f"{column}_{name}"] = values
    frame["log_ratio"] = _log_ratio(frame["p_first"].to_numpy(float), frame["p_second"].to_numpy(float))
    return frame[list(_COMPARED)].astype({"rank_first": "Int64", "rank_second": "Int64"})


def _check_options(min_z, z_over):
    check_number(min_z, "min_z", least=0)
    check_choice(z_over, "z_over", Z_OVER)


def _check_templates(templates, condition):
    templates = as_words(templates, f"{condition}_templates", error=ValueError)
    if not templates:
        raise ValueError(f"{condition}_templates is empty; give at least one template")
    return templates


def _check_probabilities(values):
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"probabilities must be a one-dimensional, non-empty array, not one of shape {values.shape}")
    if not ((values >= 0) & (values <= 1 + 1e-6)).all():
        raise ValueError("probabilities must lie between 0 and 1, without NaN")
    return values


def _score(lm, sentences, n_object, means, skipped, batch_tokens, progress):
    """Score some names' sentences; add (p_object, p_human) in float64 to means, or a reason to skipped."""
    flat = [sentence for group in sentences.values() for sentence in group]
    options = {"return_reasons": True, "batch_tokens": batch_tokens, "progress": progress}
    scores, reasons = scoring.mask_distributions(lm, flat, **options)
    scores = scores.reshape(len(sentences), -1, scores.shape[1])
    reasons = np.array(reasons, dtype=object).reshape(len(sentences), -1)
    for (name, group), rows, why in zip(sentences.items(), scores, reasons, strict=True):
        if why.any():
            first = next(number for number, reason in enumerate(why) if reason)
            skipped[name] = f"{why[first]}: {group[first]!r}"
        else:
            halves = rows[:n_object], rows[n_object:]
            means[name] = tuple(half.mean(axis=0, dtype=np.float64) for half in halves)


def _log_ratio(p_object, p_human):
    both = (p_object > 0) & (p_human > 0)
    log_ratio = np.full(p_object.shape, np.nan)
    log_ratio[both] = np.log(p_object[both]) - np.log(p_human[both])
    return log_ratio


def _moments(pairs):
    """Return the mean and population SD of all pairs' log ratios, and the largest absolute one."""
    # The ratios are computed twice rather than kept: for a large vocabulary they would need much memory.
    pairs = list(pairs)
    n, total, largest = 0, 0.0, 0.0
    for pair in pairs:
        ratios = _ratios(pair)
        n += ratios.size
        total += ratios.sum()
        largest = max(largest, np.abs(ratios).max(initial=0.0))
    if n == 0:
        return np.nan, np.nan, 0.0
    mean = total / n
    squares = sum(np.square(_ratios(pair) - mean).sum() for pair in pairs)
    return mean, np.sqrt(squares / n), largest


def _ratios(pair):
    log_ratio = _log_ratio(*pair)
    return log_ratio[~np.isnan(log_ratio)]


def _filter(p_object, p_human, log_ratio, vocabulary_size, min_z, moments):
    mean, spread, largest = moments
    # If all ratios are equal, z is 0, and NaN where the ratio is.
    z = log_ratio * 0.0 if spread <= _NO_SPREAD * largest else (log_ratio - mean) / spread
    likely = (p_object >= 1 / vocabulary_size) | (p_human >= 1 / vocabulary_size)
    return z, likely & (np.abs(z) >= min_z)


def _part(p_object, p_human, vocabulary_size, min_z, moments, keep_all):
    log_ratio = _log_ratio(p_object, p_human)
    moments = _moments([(p_object, p_human)]) if moments is None else moments
    z, kept = _filter(p_object, p_human, log_ratio, vocabulary_size, min_z, moments)
    rows = np.arange(len(kept), dtype=np.int32) if keep_all else np.flatnonzero(kept).astype(np.int32)
    columns = {"p_object": p_object, "p_human": p_human, "log_ratio": log_ratio, "z": z, "kept": kept}
    part = {key: values[rows] for key, values in columns.items()}
    return part | {"token_id": rows, "n_zero": int(np.isnan(log_ratio).sum())}


def _assemble(parts, vocabulary):
    names = list(parts)
    sizes = [len(part["token_id"]) for part in parts.values()]
    token_id = np.concatenate([part["token_id"] for part in parts.values()] or [np.zeros(0, np.int32)])
    columns = {"name": pd.Categorical.from_codes(np.repeat(np.arange(len(names)), sizes), names)}
    columns["word"] = _repeat_texts(vocabulary["word"], token_id)
    for key in (*_FLOATS, "kept"):
        dtype = bool if key == "kept" else float
        columns[key] = np.concatenate([part.pop(key) for part in parts.values()] or [np.zeros(0, dtype)])
    columns["token_id"] = token_id
    columns["token"] = _repeat_texts(vocabulary["token"], token_id)
    columns["kind"] = _repeat_texts(vocabulary["kind"], token_id)
    return pd.DataFrame(columns, copy=False)


def _repeat_texts(texts, rows):
    """Repeat a vocabulary column's texts by row, as categories, so that no text is stored twice."""
    codes, categories = pd.factorize(texts.astype(object))
    return pd.Categorical.from_codes(codes[rows], categories)
