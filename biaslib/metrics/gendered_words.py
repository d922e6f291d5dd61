"""Verbs, adverbs and adjectives that a model predicts for him and for her in the same sentence (UnMASKed)."""

import numpy as np
import pandas as pd

from biaslib import scoring
from biaslib._checks import as_sentences, check_columns, check_count
from biaslib._text import MASK
from biaslib.io.gender_words import GENDERS
from biaslib.io.prompts import UNITS, check_units
from biaslib.metrics._columns import check_absent, grouping_columns
from biaslib.scoring.parsers import PARSER
from biaslib.scoring.tokens import describe_vocabulary, readable_in_place

_PIECE, _OFF_CATEGORY = "word piece", "off category"
_TOKEN_COLUMNS = ["rank", "token_id", "token", "word", "probability", "rank_other", "probability_other"]
_TOKEN_COLUMNS += ["part_of_speech", "kept", "reason"]
_PAIRED = ("rank", "probability", "rank_other", "probability_other")
_TEXTS = ("token", "word", "part_of_speech", "reason")
_PAIR_COLUMNS = ["token", "word", "rank_male", "rank_female", "offset"]
_PAIR_COLUMNS += ["probability_male", "probability_female", "log_ratio"]


def unit_tokens(
    lm,
    prompts: pd.DataFrame,
    *,
    k: int = 5,
    parser=PARSER,
    batch_tokens: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """List the likeliest words for a masked verb, adverb or adjective, and which have that part of speech.

    Parameters
    ----------
    lm : MaskedLM
    prompts : pandas.DataFrame
        ``unit frame gender prompt``, as returned by ``read_prompts("unit_prompts")``: each frame once with gender
        "male" (He) and once with "female" (She); unit is "verb", "adverb" or "adjective".
    k : int
        Number of likeliest vocabulary entries per prompt.
    parser : str or spacy.Language
        The pipeline that tags parts of speech, in the sentence with the word filled in. Auxiliaries and the copula
        count as verbs.
    batch_tokens, progress
        As in `biaslib.scoring.scores`.

    Returns
    -------
    pandas.DataFrame
        One row per prompt and entry among its `k` likeliest: the columns of `prompts`, ``rank`` (1 is the likeliest of
        the whole vocabulary), ``token_id token word probability``, ``rank_other probability_other`` (of the same entry
        in the frame's other gender), ``part_of_speech`` (a universal tag; "" if not determined), ``kept``, and
        ``reason``: "" or why it is left out ("word piece", "special token", "not a word", "off category", "not one
        word to the parser"). A prompt that could not be scored has a single row, with its reason and no rank.

    Raises
    ------
    ValueError
        If a column is missing, a unit or gender is unknown, a frame lacks one gender, `k` is out of range, a prompt
        does not have exactly one mask, or the parser does not tag parts of speech.
    ModuleNotFoundError
        If spaCy or the pipeline is not installed.
    """
    frame = check_units(prompts).reset_index(drop=True)
    check_absent(frame, _TOKEN_COLUMNS)
    sentences = as_sentences(frame["prompt"])
    parser = scoring.load_parser(parser)
    scoring.check_k(lm, k)
    options = {"return_reasons": True, "batch_tokens": batch_tokens, "progress": progress}
    probabilities, reasons = scoring.mask_distributions(lm, sentences, **options)
    vocabulary = describe_vocabulary(lm)
    other = _other_gender(frame)
    parts = []
    for number, sentence in enumerate(sentences):
        if reasons[number]:
            nothing = {"kept": False, "reason": reasons[number]}
            parts.append(pd.DataFrame([nothing], index=[number]))
            continue
        best = np.argsort(-probabilities[number], kind="stable")[:k]
        part = _ranked(probabilities[number], probabilities[other[number]], best)
        part["token"] = vocabulary["token"].to_numpy()[best]
        part["word"] = readable_in_place(lm, sentence, best.tolist())
        part["reason"] = _no_word(part["word"], vocabulary["kind"].to_numpy()[best])
        parts.append(part.set_axis([number] * len(part)))
    found = pd.concat(parts) if parts else pd.DataFrame(columns=_TOKEN_COLUMNS)
    found = frame.join(found.reindex(columns=_TOKEN_COLUMNS), how="right").reset_index(drop=True)
    return _with_parts_of_speech(found, parser, lm.tokenizer.mask_token)


def parallel_pairs(
    lm,
    prompts: pd.DataFrame,
    *,
    k: int = 5,
    parser=PARSER,
    batch_tokens: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Find the words that a model predicts for both genders in the same frame.

    A parallel pair is a vocabulary entry that is among the `k` likeliest of both the He and the She sentence of a frame
    and has the requested part of speech in both. A word that fits two frames makes two pairs. The paper counts pairs by
    model (BERT: 77) and reports each unit's share, but neither defines the count further nor states its k. With ten
    frames per unit, k = 5 allows 50 pairs per unit and 150 in all, a range that includes 77.

    Parameters
    ----------
    lm, prompts, k, parser, batch_tokens, progress
        As for `unit_tokens`, which also lists the words that make no pair.

    Returns
    -------
    pandas.DataFrame
        As returned by `pairs_of`.

    Raises
    ------
    ValueError, ModuleNotFoundError
        As `unit_tokens`.
    """
    return pairs_of(unit_tokens(lm, prompts, k=k, parser=parser, batch_tokens=batch_tokens, progress=progress))


def pairs_of(units: pd.DataFrame) -> pd.DataFrame:
    """Select the parallel pairs among the words that `unit_tokens` lists.

    Parameters
    ----------
    units : pandas.DataFrame
        From `unit_tokens`; with a column ``model`` if there are several models.

    Returns
    -------
    pandas.DataFrame
        ``unit frame token word rank_male rank_female offset probability_male probability_female log_ratio``, preceded
        by ``model`` if given: one row per pair, by frame and male rank. ``offset`` is rank_male − rank_female, negative
        if the word ranks higher for He; ``log_ratio`` is the natural logarithm of probability_male /
        probability_female.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> led = {"unit": "verb", "frame": "1", "token_id": 7, "token": "led", "word": "led", "kept": True}
    >>> for_he = led | {"gender": "male", "rank": 1, "probability": 0.2, "rank_other": 3, "probability_other": 0.1}
    >>> for_she = led | {"gender": "female", "rank": 3, "probability": 0.1, "rank_other": 1, "probability_other": 0.2}
    >>> pairs_of(pd.DataFrame([for_he, for_she]))[["word", "offset", "log_ratio"]].round(3).values.tolist()
    [['led', -2, 0.693]]
    """
    keys = grouping_columns(units, ("unit", "frame"))
    sides = _both_sides(units)
    entry = [*keys, "token_id"]
    both = sides[sides.duplicated(entry, keep=False)].drop_duplicates(entry)
    both = both.assign(place=both.groupby(keys, sort=False, observed=True).ngroup())
    both = both.sort_values(["place", "rank_male"], kind="stable").reset_index(drop=True)
    both = both.astype({"rank_male": np.int64, "rank_female": np.int64})
    both["offset"] = both["rank_male"] - both["rank_female"]
    return _with_log_ratio(both)[[*keys, *_PAIR_COLUMNS]]


def count_pairs(units: pd.DataFrame) -> pd.DataFrame:
    """Count the words listed, left out and kept, and the parallel pairs, by unit.

    Parameters
    ----------
    units : pandas.DataFrame
        From `unit_tokens`; with a column ``model`` if there are several models.

    Returns
    -------
    pandas.DataFrame
        ``unit n_frames n_tokens n_kept n_piece n_not_a_word n_off_category n_not_scored n_pairs percent``, preceded by
        ``model`` if given: of the tokens listed for both genders, those kept and those left out by reason
        (``n_not_a_word``: special tokens, no letter, or not one word to the parser); prompts without a score; pairs,
        and their percentage of the model's pairs in all units, NaN if it has none.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> units = pd.DataFrame({"unit": "adverb", "frame": "1", "gender": ["male", "female"], "token_id": [7, 8]})
    >>> units = units.assign(token="x", word="##ly", rank=1, probability=0.1, rank_other=9, probability_other=0.1)
    >>> count_pairs(units.assign(kept=False, reason="word piece")).loc[0, ["n_tokens", "n_piece", "n_pairs"]].tolist()
    [2, 2, 0]
    """
    keys = grouping_columns(units, ("unit",))
    by_unit = {"sort": False, "observed": True}
    scored = units["rank"].notna()
    known = units["reason"].isin(["", _PIECE, _OFF_CATEGORY])
    counted = units[keys].assign(
        n_tokens=scored,
        n_kept=units["kept"].astype(bool),
        n_piece=units["reason"] == _PIECE,
        n_not_a_word=scored & ~known,
        n_off_category=units["reason"] == _OFF_CATEGORY,
        n_not_scored=~scored,
    )
    table = counted.groupby(keys, **by_unit).sum().astype(int)
    table.insert(0, "n_frames", units.groupby(keys, **by_unit)["frame"].nunique())
    n_pairs = pairs_of(units).groupby(keys, **by_unit).size()
    table = table.assign(n_pairs=n_pairs.reindex(table.index, fill_value=0)).reset_index()
    total = table.groupby("model", **by_unit)["n_pairs"].transform("sum") if "model" in keys else table["n_pairs"].sum()
    return table.assign(percent=100 * table["n_pairs"] / pd.Series(total, index=table.index).replace(0, np.nan))


def leaning_words(units: pd.DataFrame, k: int = 10) -> pd.DataFrame:
    """List the words that lean most towards one gender.

    Parameters
    ----------
    units : pandas.DataFrame
        From `unit_tokens` (words kept for either gender count) or `pairs_of` (only words of parallel pairs); with a
        column ``model`` if there are several models.
    k : int
        Number of words per unit and gender.

    Returns
    -------
    pandas.DataFrame
        ``unit leaning rank word log_ratio probability_male probability_female n_frames``, preceded by ``model`` if
        given. The probabilities are means over the ``n_frames`` frames in which the word is kept, and ``log_ratio`` is
        the natural logarithm of their ratio, male over female. Rank 1 leans most, ties are sorted by word, and words
        that lean neither way are not listed.

    Raises
    ------
    ValueError
        If `k` is not a positive whole number or a column is missing.

    Examples
    --------
    >>> pairs = pd.DataFrame({"unit": "verb", "frame": ["1", "1", "2"], "token": list("abb"), "word": list("abb")})
    >>> pairs = pairs.assign(probability_male=[0.2, 0.1, 0.1], probability_female=[0.1, 0.2, 0.6])
    >>> leaning_words(pairs)[["leaning", "word", "n_frames"]].values.tolist()
    [['male', 'a', 1], ['female', 'b', 2]]
    """
    check_count(k, "k")
    keys = grouping_columns(units, ("unit",))
    sides = _both_sides(units) if "gender" in units else units
    check_columns(sides, ("word", "frame", "probability_male", "probability_female"))
    probabilities = ["probability_male", "probability_female"]
    sides = sides.dropna(subset=probabilities).drop_duplicates([*keys, "frame", "token"])
    of_word = sides.groupby([*keys, "word"], sort=False, observed=True)
    table = _with_log_ratio(of_word[probabilities].mean().assign(n_frames=of_word["frame"].nunique())).reset_index()
    table = table[table["log_ratio"].notna() & (table["log_ratio"] != 0)]
    table = table.assign(
        leaning=np.where(table["log_ratio"] > 0, *GENDERS),
        size=table["log_ratio"].abs(),
        place=table.groupby(keys, sort=False, observed=True).ngroup(),
    )
    table = table.sort_values(["place", "leaning", "size", "word"], ascending=[True, False, False, True], kind="stable")
    table["rank"] = table.groupby([*keys, "leaning"], sort=False, observed=True).cumcount() + 1
    columns = ["leaning", "rank", "word", "log_ratio", *probabilities, "n_frames"]
    return table.loc[table["rank"] <= k, [*keys, *columns]].reset_index(drop=True)


def _other_gender(frame):
    """Return the row number of each prompt's counterpart for the other gender."""
    keys = frame[["unit", "frame", "gender"]].itertuples(index=False, name=None)
    row_of = {key: number for number, key in enumerate(keys)}
    return [row_of[unit, name, GENDERS[gender == "male"]] for unit, name, gender in row_of]


def _ranked(probabilities, others, best):
    """Rank entries for one gender, and the same entries for the other."""
    known = not np.isnan(others[0])
    # Ties are broken by the place in the vocabulary, as in the stable order of `best`.
    ranks = [1 + int((others > others[i]).sum() + (others[:i] == others[i]).sum()) if known else pd.NA for i in best]
    return pd.DataFrame(
        {
            "rank": np.arange(1, len(best) + 1),
            "token_id": best,
            "probability": probabilities[best].astype(float),
            "rank_other": pd.array(ranks, dtype="Int64"),
            "probability_other": others[best].astype(float),
        }
    )


def _no_word(words, kinds):
    named = {"special": "special token", "not a word": "not a word"}
    return [named.get(kind, _PIECE if word.startswith("##") else "") for word, kind in zip(words, kinds, strict=True)]


def _with_parts_of_speech(found, parser, mask_token):
    """Tag each whole word in its sentence, and keep the words that fit their unit."""
    asked = found.index[found["reason"] == ""]
    prompts = [prompt.replace(mask_token, MASK) for prompt in found.loc[asked, "prompt"]]
    words = found.loc[asked, "word"].tolist()
    docs = parser.pipe(prompt.replace(MASK, word) for prompt, word in zip(prompts, words, strict=True))
    spoken = [
        _part_of_speech(doc, prompt.index(MASK), word) for doc, prompt, word in zip(docs, prompts, words, strict=True)
    ]
    parts = pd.Series(spoken, index=asked, dtype=str).reindex(found.index, fill_value="")
    fits = [part in UNITS[unit] for part, unit in zip(parts, found["unit"], strict=True)]
    why = np.where(parts == "", "not one word to the parser", np.where(fits, "", _OFF_CATEGORY))
    found["part_of_speech"] = parts
    found["kept"] = np.array(fits, dtype=bool)
    found["reason"] = found["reason"].where(found["reason"] != "", pd.Series(why, index=found.index))
    found[["token", "word"]] = found[["token", "word"]].fillna("")
    return found.astype({"rank": "Int64", "token_id": "Int64", "rank_other": "Int64"} | dict.fromkeys(_TEXTS, str))


def _part_of_speech(doc, start, word):
    if not doc.has_annotation("POS"):
        raise ValueError("the parser does not tag parts of speech; give a pipeline with a tagger")
    span = doc.char_span(start, start + len(word))
    return span[0].pos_ if span is not None and len(span) == 1 else ""


def _both_sides(units):
    """Return the kept words with their ranks and probabilities for He and for She."""
    check_columns(units, ("gender", "kept", "token_id", *_PAIRED))
    kept = units[units["kept"].astype(bool)]
    of_male = kept["gender"] == "male"
    sides = {}
    for name in ("rank", "probability"):
        own, other = kept[name], kept[f"{name}_other"]
        sides |= {f"{name}_male": own.where(of_male, other), f"{name}_female": other.where(of_male, own)}
    return kept.assign(**sides)


def _with_log_ratio(frame):
    with np.errstate(divide="ignore", invalid="ignore"):
        male, female = (np.log(frame[f"probability_{gender}"].to_numpy(float)) for gender in GENDERS)
        return frame.assign(log_ratio=male - female)
