"""Which words a masked language model ties to a name in one kind of sentence more than in another.

The measure of Takeshita, Rzepka & Araki (2022), "Speciesist Language and Nonhuman Animal Bias in English
Masked Language Models", Information Processing & Management 59(5), 103050, §4.1.1: a name is put into
sentences about a thing ("This is a {name} which is [MASK].") and about a person ("She is a {name} who is
[MASK]."), and each vocabulary entry gets the log ratio of its two mean probabilities (Eq. 1).
"""

import warnings

import numpy as np
import pandas as pd

from biaslib import scoring
from biaslib._frames import check_names, names_of
from biaslib.io.templates import fill

Z_OVER = ("animal", "model")
COMPARED_BY = ("either", "first", "second")
_FLOATS = ("p_object", "p_human", "log_ratio", "z")
_COMPARED = ("word", "p_first", "p_second", "log_ratio", "rank_first", "rank_second", "token_first", "token_second")
_COMPARED += ("reason",)
# Probabilities of this many sentences × entries are held at once (float32: 96 MB).
_ENTRIES_AT_ONCE = 24_000_000
# A spread below this share of the largest ratio is rounding: no entry stands out.
_NO_SPREAD = 1e-12


def contrast(
    lm,
    names,
    object_templates,
    human_templates,
    *,
    min_z=2.0,
    z_over="animal",
    keep_all=False,
    article="literal",
    batch_tokens=None,
    progress=False,
):
    r"""Find the words that a model ties to a name as an object, and as a human.

    With :math:`\bar p(w)` the mean of :math:`P(w \mid \text{template})` over a condition's templates (Eq.
    1),

    .. math:: r(w) = \ln \frac{\bar p_\text{object}(w)}{\bar p_\text{human}(w)}

    An entry is dropped if both means are below :math:`1/|V|`, or if :math:`|z(r)|` is below `min_z`.

    Parameters
    ----------
    lm : MaskedLM
        From `biaslib.scoring.load_masked_lm`.
    names : sequence of str
        What the slot ``{name}`` is filled with, each once.
    object_templates, human_templates : sequence of str
        Templates with one ``{name}`` and one ``[MASK]``.
    min_z : float
        The least distance of a kept log ratio from the mean, in standard deviations. The paper does not
        state its own.
    z_over : {"animal", "model"}
        Whether mean and (population) standard deviation are those of the name's own log ratios or of all
        names' together. They are over the whole vocabulary, without entries whose probability is exactly 0.
    keep_all : bool
        Give the whole vocabulary, not only the kept words (about 50 bytes a row).
    article : {"literal", "agree"}
        "a elephant", as the paper has it, or "an elephant".
    batch_tokens, progress
        As in `biaslib.scoring.scores`.

    Returns
    -------
    pandas.DataFrame
        ``name word p_object p_human log_ratio z kept token_id token kind``: a row a name and kept entry,
        in the order of names and of the vocabulary; natural logarithm. ``attrs["n_zero"]`` counts, by
        name, the entries without a log ratio because a probability is 0 (with `keep_all`, rows of NaN);
        ``attrs["skipped"]`` maps each name that could not be scored to the reason, and
        ``attrs["min_z"]`` is the threshold (0 with `keep_all`). ``name`` is categorical
        and knows the names without a kept word too.

    Raises
    ------
    ValueError
        If names repeat, a template lacks its slot or its mask, or an option is unknown.

    Warns
    -----
    UserWarning
        If a name's sentence cannot be scored: the name is left out and is in ``attrs["skipped"]``.

    Notes
    -----
    Names are scored in portions, so that 46 names and 250,000 entries need less than 500 MB beside the
    model (with
    `keep_all`, beside the model and the result).

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
        # Each pair of means goes as soon as it is used: a large vocabulary's are not held twice.
        parts[name] = _part(*means.pop(name), len(vocabulary), min_z, moments, keep_all)
        n_zero[name] = parts[name].pop("n_zero")
    frame = _assemble(parts, vocabulary)
    frame.attrs["n_zero"] = n_zero
    frame.attrs["skipped"] = skipped
    frame.attrs["min_z"] = 0.0 if keep_all else float(min_z)
    return frame


def filter_contrast(p_object, p_human, *, vocabulary_size, min_z):
    """Compute the log ratio and z of each entry and say which are kept (Eq. 1 and the filter after it).

    Parameters
    ----------
    p_object, p_human : array_like, shape (n,)
        Mean probabilities of one name's entries under the two conditions.
    vocabulary_size : int
        |V|: an entry with both probabilities below 1/|V| is dropped.
    min_z : float
        An entry with |z| below it is dropped. Mean and population standard deviation are over all n
        entries but those with a probability of exactly 0, whose log ratio and z are NaN. When all log
        ratios are equal, z is 0.

    Returns
    -------
    pandas.DataFrame
        ``log_ratio z kept``, a row an entry.

    Raises
    ------
    ValueError
        If the arrays differ in shape, hold anything but probabilities, or an option is out of range.

    Examples
    --------
    >>> frame = filter_contrast([0.4, 0.1, 0.5], [0.1, 0.4, 0.5], vocabulary_size=3, min_z=1)
    >>> frame["log_ratio"].round(4).tolist()
    [1.3863, -1.3863, 0.0]
    """
    _check_options(min_z, "animal")
    p_object, p_human = (_check_probabilities(p) for p in (p_object, p_human))
    if p_object.shape != p_human.shape:
        raise ValueError(f"p_object and p_human differ in length: {p_object.size} and {p_human.size}")
    if isinstance(vocabulary_size, bool) or not vocabulary_size >= 1:
        raise ValueError(f"vocabulary_size has to be at least 1, not {vocabulary_size!r}")
    log_ratio = _log_ratio(p_object, p_human)
    z, kept = _filter(p_object, p_human, log_ratio, vocabulary_size, min_z, _moments([(p_object, p_human)]))
    return pd.DataFrame({"log_ratio": log_ratio, "z": z, "kept": kept})


def compare_sentences(lm, first, second, k=10, *, by="either", batch_tokens=None):
    """List the likeliest words of two sentences, with their log ratio.

    Parameters
    ----------
    lm : MaskedLM
    first, second : str
        Each with one ``[MASK]``; `second` may be empty, for the words of the first alone.
    k : int
        How many of the likeliest entries of a sentence; at most the vocabulary's size.
    by : {"either", "first", "second"}
        Whose likeliest entries: those of each, by log ratio, or those of one alone, by probability.
    batch_tokens
        As in `biaslib.scoring.scores`.

    Returns
    -------
    pandas.DataFrame
        ``word p_first p_second log_ratio rank_first rank_second token_first token_second reason``: a row a word, which
        counts in each sentence as the entry that it is there; a continuation (``##``) is the same entry in both.
        `log_ratio` is the natural logarithm of p_first / p_second; ranks are among the whole vocabulary. Where
        the other sentence has no entry for a word, its probability is NaN, with the reason.

    Raises
    ------
    ValueError
        If `k` is out of range, `by` is unknown, or a sentence has not exactly one mask or cannot be scored.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> words = compare_sentences(load_masked_lm("demo"), "He is a [MASK].", "She is a [MASK].", k=5)
    >>> bool(words.loc[words["word"] == "man", "log_ratio"].item() > 0)
    True
    """
    if by not in COMPARED_BY:
        raise ValueError(f"by {by!r} is unknown; known: {', '.join(COMPARED_BY)}")
    if by == "second" and not second.strip():
        raise ValueError("the second sentence is empty: write one, or take the words of the first")
    scoring.check_k(lm, k)
    sentences = [first, second] if second.strip() else [first]
    for sentence, reason in zip(sentences, scoring.why_not_scored(lm, sentences), strict=True):
        if reason:
            raise ValueError(f"{reason}: {sentence!r}")
    probabilities = scoring.mask_distributions(lm, sentences, batch_tokens=batch_tokens)
    if not np.isfinite(probabilities).all():
        raise ValueError(scoring.NOT_FINITE)
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


def top_contrast(frame, k=5):
    """Give the words with the largest log ratios, both ways, like the speciesism study's Tables 8 to 11.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `contrast`; only kept rows count.
    k : int
        Words a name and direction.

    Returns
    -------
    pandas.DataFrame
        ``name sentences rank word log_ratio``: ``"object"`` has the highest positive log ratios,
        ``"human"`` the lowest negative ones; rank 1 is the most extreme, equal ones go by word. A name
        with fewer than `k` words has fewer rows.

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
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k has to be a positive whole number, not {k!r}")
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


def word_sets(frame, *, signed=False, names=None):
    """Give each name's set of kept words, S in Eq. 2.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `contrast`; only kept rows count.
    signed : bool
        Keep word and direction together, as ``(word, 1)`` for object and ``(word, -1)`` for human
        sentences (0 where the log ratio is 0).
    names : sequence of str, optional
        Which names; a name without a kept word has an empty set. By default all names that `contrast`
        scored, or, in a frame read from a file, all that have a row.

    Returns
    -------
    dict of str to set
        Of readable words, which tell entries apart (`biaslib.scoring.describe_vocabulary`).

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


def count_kept(frame):
    """Count the words kept for each name, and what has no log ratio.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `contrast`; only kept rows count.

    Returns
    -------
    pandas.DataFrame
        ``name n_object n_human n_zero reason``: kept words with a positive and with a negative log ratio, the
        entries without one because a probability is exactly 0, and why a name was skipped ("" if it was not).

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
    """Give for the likeliest entries of one sentence the entries of both, how they read, and what is missing."""
    words = scoring.readable_in_place(lm, sentences[side], top)
    if len(sentences) == 1:
        return [((entry, None), word, "") for entry, word in zip(top, words, strict=True)]
    resolved = scoring.resolve_words(lm, sentences[1 - side], words)
    other = {row.word: (row.token_id, row.reason) for row in resolved.itertuples()}
    special = set(lm.tokenizer.all_special_ids)
    found = []
    for entry, word in zip(top, words, strict=True):
        # A continuation or a special entry is no word that could be written in the other place.
        there, reason = (entry, "") if word.startswith("##") or entry in special else other[word]
        there = None if reason else int(there)
        entries = (entry, there) if side == 0 else (there, entry)
        found.append((entries, word, reason and f"in the {COMPARED_BY[2 - side]} sentence: {reason}"))
    return found


def _compared(lm, probabilities, orders, found):
    """Look up probability, rank and token of each word's entries, (first, second), None where it has none."""
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
    if isinstance(min_z, bool) or not (np.isfinite(min_z) and min_z >= 0):
        raise ValueError(f"min_z has to be a number from 0 up, not {min_z!r}")
    if z_over not in Z_OVER:
        raise ValueError(f"z_over {z_over!r} is unknown; known: {', '.join(Z_OVER)}")


def _check_templates(templates, condition):
    if isinstance(templates, str):
        raise ValueError(f"{condition}_templates has to be a list of templates, not one text")
    templates = list(templates)
    if not templates:
        raise ValueError(f"{condition}_templates is empty: give at least one template")
    return templates


def _check_probabilities(values):
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"probabilities have to be one row of numbers, not of shape {values.shape}")
    if not ((values >= 0) & (values <= 1 + 1e-6)).all():
        raise ValueError("probabilities have to lie between 0 and 1, without NaN")
    return values


def _score(lm, sentences, n_object, means, skipped, batch_tokens, progress):
    """Score some names' sentences; add (p_object, p_human) in float64 to means, or a reason to skipped."""
    flat = [sentence for group in sentences.values() for sentence in group]
    scores = scoring.mask_distributions(lm, flat, batch_tokens=batch_tokens, progress=progress)
    scores = scores.reshape(len(sentences), -1, scores.shape[1])
    for (name, group), rows in zip(sentences.items(), scores, strict=True):
        without_score = np.isnan(rows[:, 0])
        if without_score.any():
            worst = group[int(without_score.argmax())]
            reason = scoring.why_not_scored(lm, [worst])[0] or scoring.NOT_FINITE
            skipped[name] = f"{reason}: {worst!r}"
        else:
            halves = rows[:n_object], rows[n_object:]
            means[name] = tuple(half.mean(axis=0, dtype=np.float64) for half in halves)


def _log_ratio(p_object, p_human):
    both = (p_object > 0) & (p_human > 0)
    log_ratio = np.full(p_object.shape, np.nan)
    log_ratio[both] = np.log(p_object[both]) - np.log(p_human[both])
    return log_ratio


def _moments(pairs):
    """Give mean and population SD of all pairs' log ratios, and the largest one's size.

    Ratios are computed twice rather than kept: for a large vocabulary they would need much memory.
    """
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
    # NaN where the log ratio is, 0 elsewhere, when nothing stands out.
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
    columns["word"] = _taken(vocabulary["word"], token_id)
    for key in (*_FLOATS, "kept"):
        dtype = bool if key == "kept" else float
        columns[key] = np.concatenate([part.pop(key) for part in parts.values()] or [np.zeros(0, dtype)])
    columns["token_id"] = token_id
    columns["token"] = _taken(vocabulary["token"], token_id)
    columns["kind"] = _taken(vocabulary["kind"], token_id)
    return pd.DataFrame(columns, copy=False)


def _taken(texts, rows):
    """Repeat a vocabulary column's texts by row, as categories: no text is stored twice."""
    codes, categories = pd.factorize(texts.astype(object))
    return pd.Categorical.from_codes(codes[rows], categories)
