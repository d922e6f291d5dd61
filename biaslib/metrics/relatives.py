"""Which relative pronoun a masked language model expects after an animal: who or which (speciesism study, §4.2).

Masato Takeshita, Rafal Rzepka and Kenji Araki (2022), "Speciesist Language and Nonhuman Animal Bias in English Masked
Language Models", Information Processing & Management 59(5), 103050. A relative pronoun in a real sentence about an
animal is masked. The bias is how often the model prefers a pronoun for things where the author wrote one for persons,
minus how often it does the reverse.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from biaslib import scoring, stats
from biaslib._checks import as_sentences, check_columns, check_count, listed
from biaslib._frames import check_names, names_of
from biaslib._text import MASK
from biaslib.metrics._columns import check_absent
from biaslib.metrics._relative_grammar import HUMAN_PRONOUNS, KIND_OF, OBJECT_PRONOUNS, PRONOUNS
from biaslib.scoring.tokens import check_loaded

HUMAN_NAME = "human"
# Sentences scored at once, so that a large corpus needs no more memory than a small one.
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
        Number of sentences scored.
    n_tokens : int
    n_left_out : int
        Number of sampled sentences without a score.
    reasons : str
        Why, with their counts.
    """

    pppl: float
    ci_low: float
    ci_high: float
    n: int
    n_tokens: int
    n_left_out: int
    reasons: str = ""

    def to_frame(self) -> pd.DataFrame:
        """Return the fields as a frame of one row."""
        return pd.DataFrame([asdict(self)])


def relative_probabilities(
    lm, relatives: pd.DataFrame, *, batch_tokens: int | None = None, progress: bool = False
) -> pd.DataFrame:
    """Mask each relative pronoun in its sentence and compute the probability of all five in its place.

    Parameters
    ----------
    lm : MaskedLM
    relatives : pandas.DataFrame
        From `find_relatives`, or any frame with the columns ``sentence start end``.
    batch_tokens, progress
        As in `biaslib.scoring.scores`.

    Returns
    -------
    pandas.DataFrame
        The frame with the added columns ``that which who whose whom`` (probabilities in place) and ``reason``: "", or
        why there are none (the sentence is too long for the model or contains a mask, or a pronoun is not a single
        vocabulary entry there). A row has all five probabilities or none. Index and order are kept.

    Raises
    ------
    ValueError
        If a column is missing, the frame already has an added column, or an offset lies outside its sentence.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> from biaslib.metrics import find_relatives
    >>> found = find_relatives(["The dog that barked slept. The dogs, who barked, slept."], ["dog"])
    >>> scored = relative_probabilities(load_masked_lm("demo"), found)
    >>> bool((scored.loc[0, "that"] > scored.loc[0, "whose"]) and (scored["reason"] == "").all())
    True
    """
    check_loaded(lm)
    check_columns(relatives, ("sentence", "start", "end"))
    check_absent(relatives, (*PRONOUNS, "reason"))
    masked = _masked_sentences(relatives)
    scores = _score_in_portions(lm, list(dict.fromkeys(masked)), batch_tokens, progress).loc[masked]
    return relatives.assign(**{column: scores[column].to_numpy() for column in scores})


def object_bias(
    frame: pd.DataFrame,
    *,
    names: Sequence[str] | None = None,
    seed: int = 0,
    n_resamples: int = 2000,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Compute each name's relative-pronoun bias: how far a model treats it as a thing (Takeshita et al. 2022, Eq. 3).

    H are a name's sentences with who, whose or whom, O those with that or which. With p_object = max(that, which)
    and p_human = max(who, whose, whom), the bias is the share of H in which p_object > p_human minus the share of O in
    which p_human > p_object; ties count for neither.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``name pronoun that which who whose whom`` from `relative_probabilities`.
    names : sequence of str, optional
        The names to report, in this order; by default all names of the frame.
    seed, n_resamples, confidence
        Of the bootstrap, which resamples the sentences of H and of O separately.

    Returns
    -------
    pandas.DataFrame
        ``name n_human n_object bias ci_low ci_high n_left_out reason``, one row per name: the sizes of H and O, the
        bias from −1 (always a person) to 1 (always a thing), its interval and the number of sentences without
        probabilities. There is no bias if H or O is empty, and no interval if either has a single sentence or all
        sentences of a kind agree; ``reason`` says so. To pool names, give them one name.

    Raises
    ------
    ValueError
        If a column is missing, a pronoun is unknown, the rows belong to several models, or `names` is not a list.
    TypeError
        If probabilities are strings.

    Examples
    --------
    The model prefers a thing in one of three human sentences, and a person in one of two object sentences:

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


def count_relatives(relatives: pd.DataFrame, *, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Count the relative pronouns of each name, as in the study's Figures 8 to 10.

    Parameters
    ----------
    relatives : pandas.DataFrame
        From `find_relatives`; with a column ``corpus`` if there are several corpora.
    names : sequence of str, optional
        The names to report, in this order; by default all names of the frame.

    Returns
    -------
    pandas.DataFrame
        ``name that which who whose whom n share_object``, preceded by ``corpus`` if given; share_object is the share
        of that and which, NaN for a name without pronouns.

    Raises
    ------
    ValueError
        If a column is missing, a pronoun is unknown, the rows belong to several models, a corpus is missing, or `names`
        is not a list.

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


def count_pronouns(counts: pd.DataFrame) -> pd.DataFrame:
    """Sum the counts of `count_relatives` over names, as in the study's Table 4.

    Parameters
    ----------
    counts : pandas.DataFrame
        From `count_relatives`.

    Returns
    -------
    pandas.DataFrame
        ``pronoun count count_without_human``, preceded by ``corpus`` if given; the last leaves out the name "human".

    Raises
    ------
    ValueError
        If a column or a corpus is missing.

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


def correlate_with_frequency(bias: pd.DataFrame, counts: pd.DataFrame, *, confidence: float = 0.95) -> pd.DataFrame:
    """Correlate bias with the share of object pronouns in a corpus, over names, as in the study's Table 5.

    The study scores sentences of one corpus and counts pronouns in the corpora that the models were trained on. Counts
    of several corpora are summed before shares are taken.

    Parameters
    ----------
    bias : pandas.DataFrame
        From `object_bias`; with a column ``model`` if there are several models.
    counts : pandas.DataFrame
        From `count_relatives`.
    confidence : float
        Of the intervals (see `biaslib.stats.correlation`), which are over names and take each bias as exact.

    Returns
    -------
    pandas.DataFrame
        ``names method correlation ci_low ci_high p_value n n_left_out reason``, preceded by ``model`` if given:
        Pearson's r and Spearman's ρ over names "all" and "without human". Names without a bias or without pronouns are
        left out; ``reason`` says why a correlation is undefined.

    Raises
    ------
    ValueError
        If a column is missing, a name occurs twice, or a model is missing.

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
            raise ValueError("a name occurs twice in bias; give the rows of one model, or a column model")
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
    lm,
    sentences: Sequence[str],
    n: int = 1000,
    seed: int = 0,
    *,
    n_resamples: int = 2000,
    confidence: float = 0.95,
    batch_tokens: int | None = None,
    progress: bool = False,
) -> Perplexity:
    """Compute the pseudo-perplexity of a sample of sentences, as in the study's Table 6 (Salazar et al. 2020, Eq. 4).

    Each token is masked in turn. No model reaches the figures that the study prints (1.06 to 1.11) this way: at 1.1
    the geometric mean of the tokens' probabilities would be .91.

    Parameters
    ----------
    lm : MaskedLM
    sentences : sequence of str
        Repeated sentences count once.
    n : int
        Number of sentences drawn, without replacement; all if there are fewer.
    seed : int
        Of the draw and of the bootstrap.
    n_resamples, confidence
        Of the bootstrap over sentences.
    batch_tokens, progress
        As in `biaslib.scoring.scores`.

    Returns
    -------
    Perplexity
        If no sentence could be scored, pppl is NaN and reasons says why.

    Raises
    ------
    ValueError
        If `n` is not a positive whole number.
    TypeError
        If `sentences` is not a list of strings.

    Examples
    --------
    >>> from biaslib.scoring import load_masked_lm
    >>> result = sample_perplexity(load_masked_lm("demo"), ["The dog barks.", "The cat sleeps."], n=2)
    >>> result.n, result.ci_low <= result.pppl <= result.ci_high
    (2, True)
    """
    check_count(n, "n")
    different = list(dict.fromkeys(as_sentences(sentences)))
    drawn = np.sort(np.random.default_rng(seed).choice(len(different), min(n, len(different)), replace=False))
    sample = [different[number] for number in drawn]
    scored = scoring.pseudo_log_likelihood(lm, sample, batch_tokens=batch_tokens, progress=progress)
    left_out = scored.loc[scored["reason"] != "", "reason"]
    usable = scored[scored["reason"] == ""]
    reasons = scoring.list_counts(left_out)
    if usable.empty:
        return Perplexity(np.nan, np.nan, np.nan, 0, 0, len(left_out), reasons or "no sentence was given")
    samples = (usable["pll"].to_numpy(), usable["n_tokens"].to_numpy())
    options = {"seed": seed, "n_resamples": n_resamples, "confidence": confidence}
    low, high = stats.bootstrap_interval(samples, _perplexity, paired=True, **options)
    pppl, n_tokens = float(_perplexity(*samples)), int(usable["n_tokens"].sum())
    return Perplexity(pppl, low, high, len(usable), n_tokens, len(left_out), reasons)


def _masked_sentences(relatives):
    masked = []
    for sentence, start, end in zip(relatives["sentence"], relatives["start"], relatives["end"], strict=True):
        if not 0 <= start < end <= len(sentence):
            raise ValueError(f"characters {start} to {end} lie outside the sentence {sentence!r}")
        masked.append(f"{sentence[:start]}{MASK}{sentence[end:]}")
    return masked


def _score_in_portions(lm, sentences, batch_tokens, progress):
    """Score different sentences, longest first so that each portion's batches are full; index them by sentence."""
    from tqdm import tqdm

    longest_first = sorted(sentences, key=len, reverse=True)
    # The first part gives an empty frame its columns.
    parts = [_score(lm, [], batch_tokens)]
    with tqdm(total=len(sentences), disable=not progress, desc=lm.name, unit="sentence") as bar:
        for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
            portion = longest_first[start : start + _SENTENCES_AT_ONCE]
            parts.append(_score(lm, portion, batch_tokens))
            bar.update(len(portion))
    return pd.concat(parts)


def _score(lm, sentences, batch_tokens):
    """Give the probabilities of the pronouns in each sentence, all or none, and the reason."""
    # One sentence with a mask of its own ends no run.
    scored = scoring.mask_probabilities(lm, sentences, PRONOUNS, errors="reason", batch_tokens=batch_tokens)
    by_sentence = (len(sentences), len(PRONOUNS))
    probabilities = scored["probability"].to_numpy(float).reshape(by_sentence)
    reasons = [_common_reason(of_words) for of_words in scored["reason"].to_numpy(object).reshape(by_sentence)]
    table = pd.DataFrame(probabilities, index=sentences, columns=PRONOUNS).assign(
        reason=np.array(reasons, dtype=object)
    )
    table.loc[table["reason"] != "", list(PRONOUNS)] = np.nan
    return table


def _common_reason(reasons):
    """Say why a sentence lacks probabilities: the reason that its words share, or that of each word."""
    if len(set(reasons)) == 1:
        return reasons[0]
    return "; ".join(f"{pronoun}: {reason}" for pronoun, reason in zip(PRONOUNS, reasons, strict=True) if reason)


def _kinds(pronouns):
    unknown = sorted(map(repr, set(pronouns) - set(KIND_OF)))
    if unknown:
        raise ValueError(f"unknown relative pronoun {listed(unknown)}; use one of {listed(PRONOUNS)}")
    return pronouns.map(KIND_OF).to_numpy(object)


def _bias(samples, options):
    """Return n_human, n_object, bias, its interval and why there is no bias or no interval."""
    sizes = [len(sample) for sample in samples]
    missing = [f"no sentence {which}" for size, which in zip(sizes, _WITH, strict=True) if size == 0]
    if missing:
        return *sizes, np.nan, np.nan, np.nan, "; ".join(missing)
    bias = float(_difference_of_means(*samples))
    why = [f"one sentence {which}" for size, which in zip(sizes, _WITH, strict=True) if size == 1]
    if not why and all((sample == sample[0]).all() for sample in samples):
        why = ["all sentences of a kind agree"]
    if why:
        return *sizes, bias, np.nan, np.nan, f"no interval: {', '.join(why)}"
    return *sizes, bias, *stats.bootstrap_interval(tuple(samples), _difference_of_means, **options), ""


def _difference_of_means(human, object_, axis=-1):
    return human.mean(axis=axis) - object_.mean(axis=axis)


def _perplexity(pll, n_tokens, axis=-1):
    return np.exp(-pll.sum(axis=axis) / n_tokens.sum(axis=axis))


def _for_each_corpus(frame, compute):
    """Compute a frame for each corpus and stack them, with a first column corpus, if the frame has one."""
    if "corpus" not in frame:
        return compute(frame)
    _refuse_missing(frame, "corpus")
    groups = frame.groupby("corpus", sort=False, observed=True)
    # An empty frame gives an empty table with the right columns.
    parts = {corpus: compute(rows) for corpus, rows in groups} or {"": compute(frame).iloc[:0]}
    for corpus, part in parts.items():
        part.insert(0, "corpus", pd.Series(corpus, part.index))
    return pd.concat(parts.values(), ignore_index=True)


def _refuse_several_models(frame):
    models = frame["model"].unique().tolist() if "model" in frame else []
    if len(models) > 1:
        raise ValueError(f"the frame has rows of {len(models)} models ({listed(models)}); give those of one")


def _refuse_missing(frame, column):
    n_missing = int(frame[column].isna().sum()) if column in frame else 0
    if n_missing:
        raise ValueError(f"the column {column} has no value in {n_missing} of {len(frame)} rows; fill it in")


def _refuse_texts(frame, columns):
    others = [column for column in columns if not pd.api.types.is_numeric_dtype(frame[column])]
    texts = [column for column in others if frame[column].map(lambda value: isinstance(value, str)).any()]
    if texts:
        raise TypeError(f"the columns must hold numbers, not strings: {listed(texts)}; convert them")
