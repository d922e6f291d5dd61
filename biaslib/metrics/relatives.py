"""What a masked language model puts for a relative pronoun about an animal: who or which (speciesism study, §4.2).

Masato Takeshita, Rafal Rzepka and Kenji Araki (2022), "Speciesist Language and Nonhuman Animal Bias in English Masked
Language Models", Information Processing & Management 59(5), 103050. A relative pronoun in a real sentence about an
animal is masked; the bias is how often the model prefers a pronoun of the other kind than the author's, towards the
thing minus towards the person.
"""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from biaslib import scoring, stats
from biaslib._checks import check_columns, check_count
from biaslib._frames import check_names, names_of
from biaslib._text import MASK
from biaslib.metrics._relative_grammar import HUMAN_PRONOUNS, KIND_OF, OBJECT_PRONOUNS, PRONOUNS
from biaslib.scoring.tokens import check_loaded, mask_positions

HUMAN_NAME = "human"
# Sentences scored at once: five words in each, so that a large corpus needs no more memory than a small one.
_SENTENCES_AT_ONCE = 4_096
_WITH = ("with who, whose or whom", "with that or which")


@dataclass(frozen=True)
class Perplexity:
    """Result of `sample_perplexity`.

    Attributes
    ----------
    pppl : float
        exp(−ΣPLL / Σtokens) over the sampled sentences.
    ci_low, ci_high : float
        Bootstrap interval over sentences.
    n : int
        Sentences scored.
    n_tokens : int
    n_left_out : int
        Sampled sentences without a score.
    reasons : str
        Why, with their numbers.
    """

    pppl: float
    ci_low: float
    ci_high: float
    n: int
    n_tokens: int
    n_left_out: int
    reasons: str = ""

    def to_frame(self):
        """Give the fields as a frame of one row."""
        return pd.DataFrame([asdict(self)])


def relative_probabilities(lm, relatives, *, batch_tokens=None, progress=False):
    """Mask each relative pronoun in its sentence and compute the probabilities of all five there.

    Parameters
    ----------
    lm : MaskedLM
    relatives : pandas.DataFrame
        ``sentence start end`` and whatever else, from `find_relatives`.
    batch_tokens, progress
        As in `biaslib.scoring.scores`.

    Returns
    -------
    pandas.DataFrame
        The frame with the columns that, which, who, whose, whom (probability, in place) and reason ("" or why there
        is none: a sentence over the model's limit, a mask of its own in it, a pronoun that is not one entry of the
        vocabulary there). A row has all five probabilities or none. Index and order stay.

    Raises
    ------
    ValueError
        If a column is missing or the frame has one of the new ones, or an offset lies outside its sentence.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> found = find_relatives(["The dog that barked slept. The dogs, who barked, slept."], ["dog"])
    >>> scored = relative_probabilities(load_masked_lm("demo"), found)
    >>> bool((scored.loc[0, "that"] > scored.loc[0, "whose"]) and (scored["reason"] == "").all())
    True
    """
    check_loaded(lm)
    check_columns(relatives, ("sentence", "start", "end"))
    present = [column for column in (*PRONOUNS, "reason") if column in relatives]
    if present:
        raise ValueError(f"the frame has the column(s) {', '.join(present)} already: score it once")
    masked = _masked_sentences(relatives)
    different = list(dict.fromkeys(masked))
    scores = _score_in_portions(lm, different, batch_tokens, progress)
    frame = relatives.copy()
    row_of = {sentence: row for row, sentence in enumerate(different)}
    rows = [row_of[sentence] for sentence in masked]
    for column in (*PRONOUNS, "reason"):
        frame[column] = scores[column].to_numpy()[rows]
    return frame


def object_bias(frame, *, names=None, seed=0, n_resamples=2000, confidence=0.95):
    """Compute how far a model puts things where authors wrote persons, by animal (Takeshita et al. 2022, Eq. 3).

    H and O are a name's sentences with who, whose or whom and with that or which. With p_object the larger
    probability of that and which, and p_human the largest of who, whose and whom, bias is the share of H in which
    p_object > p_human minus the share of O in which p_human > p_object; equal ones count for neither.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``name pronoun that which who whose whom`` from `relative_probabilities`.
    names : sequence of str, optional
        Which names, in this order; by default all that the frame knows of.
    seed, n_resamples, confidence
        Of the bootstrap, which resamples H and O apart, sentence by sentence.

    Returns
    -------
    pandas.DataFrame
        ``name n_human n_object bias ci_low ci_high n_left_out reason``: the sentences of H and of O with all
        probabilities; bias from −1 (always the person) to 1 (always the thing); the sentences without
        probabilities. Without a sentence in H or in O there is no bias; with one sentence in either, or if all of H and
        all of O come out alike, no interval; reason says so. For several names together give them one name.

    Raises
    ------
    ValueError
        If a column is missing, a pronoun is none of the five, the rows are of several models, or `names` are no list.
    TypeError
        If probabilities are texts.

    Examples
    --------
    Of three human sentences the model prefers the thing in one, of two object sentences the person in one:

    >>> columns = ["pronoun", "that", "which", "who", "whose", "whom"]
    >>> rows = [("who", 0.2, 0.2, 0.3, 0.01, 0.02), ("who", 0.5, 0.1, 0.3, 0.01, 0.02), ("who", 0.3, 0.1, 0.3, 0, 0)]
    >>> rows += [("that", 0.1, 0.1, 0.05, 0.05, 0.09), ("that", 0.1, 0.2, 0.6, 0, 0)]
    >>> bias = object_bias(pd.DataFrame(rows, columns=columns).assign(name="pig"))
    >>> bias[["bias", "n_human", "n_object"]].round(6).values.tolist()
    [[-0.166667, 3.0, 2.0]]
    """
    check_columns(frame, ("name", "pronoun", *PRONOUNS))
    _refuse_several_models(frame)
    _refuse_texts(frame, PRONOUNS)
    kind = _kinds(frame["pronoun"])
    p_object = frame[list(OBJECT_PRONOUNS)].max(axis=1, skipna=False)
    p_human = frame[list(HUMAN_PRONOUNS)].max(axis=1, skipna=False)
    is_scored = p_object.notna() & p_human.notna()
    crossed = np.where(kind == "human", p_object > p_human, p_human > p_object).astype(float)
    options = {"seed": seed, "n_resamples": n_resamples, "confidence": confidence}
    rows = []
    for name in names_of(frame) if names is None else check_names(names):
        own = (frame["name"] == name).to_numpy()
        samples = [crossed[own & is_scored & (kind == side)] for side in ("human", "object")]
        rows.append((name, *_bias(samples, options), int((own & ~is_scored).sum())))
    columns = ["name", "n_human", "n_object", "bias", "ci_low", "ci_high", "reason", "n_left_out"]
    table = pd.DataFrame(rows, columns=columns)
    return table[["name", "n_human", "n_object", "bias", "ci_low", "ci_high", "n_left_out", "reason"]]


def count_relatives(relatives, *, names=None):
    """Count the relative pronouns of each name, like the study's Figures 8 to 10.

    Parameters
    ----------
    relatives : pandas.DataFrame
        ``name pronoun`` from `find_relatives` and, for several, ``corpus``.
    names : sequence of str, optional
        Which names, in this order; by default all that the frame knows of.

    Returns
    -------
    pandas.DataFrame
        ``name that which who whose whom n share_object``, after ``corpus`` if there is one; share_object is the share
        of that and which, NaN for a name without a pronoun.

    Raises
    ------
    ValueError
        If a column is missing, a pronoun is none of the five, the rows are of several models, a corpus has no name, or
        `names` are no list.

    Examples
    --------
    >>> frame = pd.DataFrame({"name": ["pig", "pig", "dog"], "pronoun": ["that", "who", "who"]})
    >>> count_relatives(frame)[["name", "n", "share_object"]].values.tolist()
    [['pig', 2, 0.5], ['dog', 1, 0.0]]
    """
    check_columns(relatives, ("name", "pronoun"))
    _refuse_several_models(relatives)
    _kinds(relatives["pronoun"])
    names = names_of(relatives) if names is None else check_names(names)

    def count(rows):
        rows = rows[rows["name"].isin(names)]
        counts = pd.crosstab(rows["name"].astype(object), rows["pronoun"].astype(object))
        counts = counts.reindex(index=names, columns=list(PRONOUNS), fill_value=0)
        n = counts.sum(axis=1)
        share = counts[list(OBJECT_PRONOUNS)].sum(axis=1) / n.where(n > 0)
        return counts.assign(n=n, share_object=share).rename_axis("name").rename_axis(None, axis=1).reset_index()

    return _for_each_corpus(relatives, count)


def count_pronouns(counts):
    """Sum the counts of `count_relatives` over names, like the study's Table 4.

    Parameters
    ----------
    counts : pandas.DataFrame
        From `count_relatives`.

    Returns
    -------
    pandas.DataFrame
        ``pronoun count count_without_human``, after ``corpus`` if there is one; the last without the name human.

    Raises
    ------
    ValueError
        If a column is missing, or a corpus has no name.

    Examples
    --------
    >>> frame = pd.DataFrame({"name": ["pig", "human"], "pronoun": ["who", "who"]})
    >>> count_pronouns(count_relatives(frame)).values.tolist()[2]
    ['who', 2, 1]
    """
    check_columns(counts, ("name", *PRONOUNS))

    def add_up(rows):
        sums = [part[list(PRONOUNS)].sum() for part in (rows, rows[rows["name"] != HUMAN_NAME])]
        return pd.DataFrame({"pronoun": PRONOUNS, "count": sums[0].tolist(), "count_without_human": sums[1].tolist()})

    return _for_each_corpus(counts, add_up)


def correlate_with_frequency(bias, counts, *, confidence=0.95):
    """Correlate bias with the share of object pronouns in a corpus, over names, like the study's Table 5.

    The study scores sentences of one corpus and counts in the corpora that the models were trained on; counts of
    several corpora are summed before shares are taken.

    Parameters
    ----------
    bias : pandas.DataFrame
        ``name bias`` from `object_bias` and, for several, ``model``.
    counts : pandas.DataFrame
        From `count_relatives`.
    confidence : float
        Of the intervals, see `biaslib.stats.correlation`; they are over names, and take each bias as exact.

    Returns
    -------
    pandas.DataFrame
        ``names method correlation ci_low ci_high p_value n n_left_out reason``, after ``model`` if there is one:
        Pearson's r and Spearman's ρ over all names and "without human"; the names without a bias or a count are left
        out. reason says why there is no correlation.

    Raises
    ------
    ValueError
        If a column is missing, a name comes twice, or a model has no name.

    Examples
    --------
    >>> bias = pd.DataFrame({"name": list("abcd"), "bias": [0.1, 0.2, 0.3, 0.5]})
    >>> rows = [(name, pronoun) for name, n in zip("abcd", (0, 1, 2, 3)) for pronoun in ["that"] * n + ["who"]]
    >>> table = correlate_with_frequency(bias, count_relatives(pd.DataFrame(rows, columns=["name", "pronoun"])))
    >>> table[["names", "method", "correlation", "n"]].round(3).values.tolist()[1]
    ['all', 'spearman', 1.0, 4]
    """
    check_columns(bias, ("name", "bias"))
    check_columns(counts, ("name", *PRONOUNS))
    _refuse_missing(bias, "model")
    sums = counts.assign(name=counts["name"].astype(object)).groupby("name", sort=False)[list(PRONOUNS)].sum()
    share = sums[list(OBJECT_PRONOUNS)].sum(axis=1) / sums.sum(axis=1).where(sums.sum(axis=1) > 0)
    rows = []
    for model, part in [(None, bias)] if "model" not in bias else bias.groupby("model", sort=False, observed=True):
        if part["name"].duplicated().any():
            raise ValueError("a name comes twice in bias: give a column model, or the rows of one model")
        for which, chosen in (("all", part), ("without human", part[part["name"] != HUMAN_NAME])):
            pairs = pd.DataFrame({"x": chosen["name"].map(share).to_numpy(float), "y": chosen["bias"].to_numpy(float)})
            usable = pairs.dropna()
            for method in stats.CORRELATIONS:
                found = stats.correlation(usable["x"], usable["y"], method=method, confidence=confidence)
                row = {"model": model, "names": which, "method": method, **asdict(found)}
                rows.append(row | {"n_left_out": len(pairs) - len(usable)})
    columns = ["model", "names", "method", "correlation", "ci_low", "ci_high", "p_value", "n", "n_left_out", "reason"]
    return pd.DataFrame(rows, columns=columns if "model" in bias else columns[1:])


def sample_perplexity(
    lm, sentences, n=1000, seed=0, *, n_resamples=2000, confidence=0.95, batch_tokens=None, progress=False
):
    """Compute the pseudo-perplexity of a sample of sentences, like the study's Table 6 (Salazar et al. 2020, Eq. 4).

    Every token is masked in turn. The figures that the study prints (1.06 to 1.11) are out of reach that way, for any
    model: at 1.1 each token would have a probability of .91 on average.

    Parameters
    ----------
    lm : MaskedLM
    sentences : sequence of str
        Equal ones count once.
    n : int
        How many are drawn, without replacement; all if there are fewer.
    seed : int
        Of the draw and of the bootstrap.
    n_resamples, confidence
        Of the bootstrap over sentences.
    batch_tokens, progress
        As in `biaslib.scoring.scores`.

    Returns
    -------
    Perplexity
        Without a sentence that could be scored, pppl is NaN and reasons says why.

    Raises
    ------
    ValueError
        If `n` is no whole number from 1 up.
    TypeError
        If `sentences` is one text.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> result = sample_perplexity(load_masked_lm("demo"), ["The dog barks.", "The cat sleeps."], n=2)
    >>> result.n, result.ci_low <= result.pppl <= result.ci_high
    (2, True)
    """
    check_count(n, "n")
    if isinstance(sentences, str):
        raise TypeError("sentences is one text: give a list of texts, [text]")
    different = pd.Series(list(dict.fromkeys(sentences)), dtype=object)
    drawn = np.sort(np.random.default_rng(seed).choice(len(different), min(n, len(different)), replace=False))
    scored = scoring.pseudo_log_likelihood(
        lm, different.iloc[drawn].tolist(), batch_tokens=batch_tokens, progress=progress
    )
    left_out = scored.loc[scored["reason"] != "", "reason"]
    usable = scored[scored["reason"] == ""]
    reasons = scoring.count_reasons(left_out)
    if usable.empty:
        return Perplexity(np.nan, np.nan, np.nan, 0, 0, len(left_out), reasons or "no sentence was given")
    samples = (usable["pll"].to_numpy(), usable["n_tokens"].to_numpy())
    options = {"seed": seed, "n_resamples": n_resamples, "confidence": confidence}
    low, high = stats.bootstrap_interval(samples, _perplexity, paired=True, **options)
    return Perplexity(
        float(_perplexity(*samples)), low, high, len(usable), int(samples[1].sum()), len(left_out), reasons
    )


def _masked_sentences(relatives):
    masked = []
    for sentence, start, end in zip(relatives["sentence"], relatives["start"], relatives["end"], strict=True):
        if not 0 <= start < end <= len(sentence):
            raise ValueError(f"characters {start} to {end} lie outside the sentence {sentence!r}")
        masked.append(f"{sentence[:start]}{MASK}{sentence[end:]}")
    return masked


def _score_in_portions(lm, sentences, batch_tokens, progress):
    """Score sentences in the order of their length, so that each portion's batches are full."""
    from tqdm import tqdm

    order = sorted(range(len(sentences)), key=lambda number: len(sentences[number]), reverse=True)
    scores = {column: np.full(len(sentences), np.nan) for column in PRONOUNS}
    reasons = np.full(len(sentences), "", dtype=object)
    with tqdm(total=len(sentences), disable=not progress, desc=lm.name, unit="sentence") as bar:
        for start in range(0, len(order), _SENTENCES_AT_ONCE):
            some = np.array(order[start : start + _SENTENCES_AT_ONCE])
            unfit = _why_unfit(lm, [sentences[number] for number in some])
            reasons[some] = unfit
            fit = some[np.array(unfit, dtype=object) == ""]
            _score(lm, [sentences[number] for number in fit], fit, scores, reasons, batch_tokens)
            bar.update(len(some))
    return pd.DataFrame({**scores, "reason": reasons})


def _score(lm, sentences, places, scores, reasons, batch_tokens):
    scored = scoring.mask_probabilities(lm, sentences, PRONOUNS, batch_tokens=batch_tokens)
    values = scored["probability"].to_numpy().reshape(-1, len(PRONOUNS))
    why = scored["reason"].to_numpy(object).reshape(-1, len(PRONOUNS))
    for place, row, causes in zip(places, values, why, strict=True):
        reasons[place] = _reason(causes)
        if not reasons[place]:
            for column, value in zip(PRONOUNS, row, strict=True):
                scores[column][place] = value


def _reason(causes):
    """Say why a sentence has not all five; a cause that they share is the sentence's."""
    if len(set(causes)) == 1:
        return causes[0]
    return "; ".join(f"{pronoun}: {cause}" for pronoun, cause in zip(PRONOUNS, causes, strict=True) if cause)


def _why_unfit(lm, masked):
    """Say which sentences cannot be masked, such as one that holds a mask already; one bad line ends no run."""
    try:
        mask_positions(lm, masked)
    except ValueError as error:
        if len(masked) == 1:
            return [str(error).partition(":")[0]]
        half = len(masked) // 2
        return _why_unfit(lm, masked[:half]) + _why_unfit(lm, masked[half:])
    return [""] * len(masked)


def _kinds(pronouns):
    unknown = sorted(map(repr, set(pronouns) - set(KIND_OF)))
    if unknown:
        raise ValueError(f"unknown relative pronoun {', '.join(unknown)}; known: {', '.join(PRONOUNS)}")
    return pronouns.map(KIND_OF).to_numpy(object)


def _bias(samples, options):
    """Give n_human, n_object, bias, its interval and why there is no bias or no interval."""
    sizes = [len(sample) for sample in samples]
    missing = [f"no sentence {which}" for size, which in zip(sizes, _WITH, strict=True) if size == 0]
    if missing:
        return *sizes, np.nan, np.nan, np.nan, "; ".join(missing)
    bias = float(_difference_of_means(*samples))
    why = [f"one sentence {which}" for size, which in zip(sizes, _WITH, strict=True) if size == 1]
    if not why and all((sample == sample[0]).all() for sample in samples):
        why = ["all sentences of a kind come out alike"]
    if why:
        return *sizes, bias, np.nan, np.nan, f"no interval: {', '.join(why)}"
    return *sizes, bias, *stats.bootstrap_interval(tuple(samples), _difference_of_means, **options), ""


def _difference_of_means(human, object_, axis=-1):
    return human.mean(axis=axis) - object_.mean(axis=axis)


def _perplexity(pll, n_tokens, axis=-1):
    return np.exp(-pll.sum(axis=axis) / n_tokens.sum(axis=axis))


def _for_each_corpus(frame, compute):
    """Compute a frame from the rows of each corpus, and put them together after a column corpus, if there is one."""
    if "corpus" not in frame:
        return compute(frame)
    _refuse_missing(frame, "corpus")
    groups = frame.groupby("corpus", sort=False, observed=True)
    # Of an empty frame, the columns are to be known nevertheless.
    parts = {corpus: compute(rows) for corpus, rows in groups} or {"": compute(frame).iloc[:0]}
    for corpus, part in parts.items():
        part.insert(0, "corpus", pd.Series(corpus, part.index))
    return pd.concat(parts.values(), ignore_index=True)


def _refuse_several_models(frame):
    models = frame["model"].unique().tolist() if "model" in frame else []
    if len(models) > 1:
        said = ", ".join(map(str, models))
        raise ValueError(f"the frame has rows of {len(models)} models ({said}), not to be mixed: give those of one")


def _refuse_missing(frame, column):
    n_missing = int(frame[column].isna().sum()) if column in frame else 0
    if n_missing:
        raise ValueError(f"the column {column} has no value in {n_missing} of {len(frame)} rows: fill it in")


def _refuse_texts(frame, columns):
    others = [column for column in columns if not pd.api.types.is_numeric_dtype(frame[column])]
    texts = [column for column in others if frame[column].map(lambda value: isinstance(value, str)).any()]
    if texts:
        raise TypeError(f"the column(s) {', '.join(texts)} hold texts, not numbers: convert them")
