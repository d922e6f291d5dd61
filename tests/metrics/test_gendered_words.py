import math
import sys

import numpy as np
import pandas as pd
import pytest
import tiny_models

from biaslib import scoring
from biaslib.metrics import (
    count_pairs,
    leaning_words,
    pairs_of,
    parallel_pairs,
    unit_tokens,
)


def frames(**units):
    """Make unit prompts from frames with {} for He and She."""
    rows = [
        (unit, str(number), gender, frame.format(pronoun))
        for unit, of_unit in units.items()
        for number, frame in enumerate(of_unit, start=1)
        for gender, pronoun in (("male", "He"), ("female", "She"))
    ]
    return pd.DataFrame(rows, columns=["unit", "frame", "gender", "prompt"])


@pytest.fixture
def answers(monkeypatch, demo):
    """Let the demo model give each prompt's entries the probabilities of a table."""

    def install(table):
        def mask_distributions(lm, sentences, *, return_reasons, batch_tokens=None, progress=False):
            rows = np.full((len(sentences), lm.vocabulary_size), 1e-9, dtype=np.float32)
            for row, sentence in zip(rows, sentences, strict=True):
                if table[sentence] is None:
                    row[:] = np.nan
                    continue
                for token, probability in table[sentence].items():
                    row[lm.tokenizer.convert_tokens_to_ids(token)] = probability
            return rows, ["" if table[sentence] else scoring.NOT_FINITE for sentence in sentences]

        monkeypatch.setattr(scoring, "mask_distributions", mask_distributions)
        return demo

    return install


ADVERB = frames(adverb=["{} spoke [MASK] at the meeting."])


HE, SHE = ADVERB["prompt"]


SPOKEN = {
    HE: {"slowly": 0.3, "##ly": 0.25, "again": 0.2, ",": 0.1, "up": 0.05, "quietly": 0.04, "well": 0.01},
    SHE: {"again": 0.4, "well": 0.2, "up": 0.1, "[MASK]": 0.05, "##ly": 0.04, "slowly": 0.03, "quietly": 0.02},
}


def test_units_by_hand(answers, parser):
    units = unit_tokens(answers(SPOKEN), ADVERB, k=5, parser=parser)
    male, female = (units[units["gender"] == g].set_index("word") for g in ("male", "female"))
    assert male.index.tolist() == ["slowly", "##ly", "again", ",", "up"]
    assert male["rank"].tolist() == [1, 2, 3, 4, 5]
    assert male["rank_other"].tolist()[:3] == [6, 5, 1]
    assert male["reason"].tolist() == ["", "word piece", "", "not a word", "off category"]
    assert male["part_of_speech"].tolist() == ["ADV", "", "ADV", "", "ADP"]
    assert female["reason"].tolist() == ["", "", "off category", "special token", "word piece"]
    assert units["kept"].tolist() == (units["reason"] == "").tolist()
    assert female.loc["again", "probability_other"] == pytest.approx(0.2)


def test_pairs_by_hand(answers, parser):
    lm = answers(SPOKEN)
    pairs = parallel_pairs(lm, ADVERB, k=5, parser=parser)
    wanted = ["unit", "frame", "token", "word", "rank_male", "rank_female", "offset"]
    wanted += ["probability_male", "probability_female", "log_ratio"]
    assert pairs.columns.tolist() == wanted
    assert pairs.iloc[:, :7].values.tolist() == [["adverb", "1", "again", "again", 3, 1, 2]]
    assert pairs["log_ratio"].item() == pytest.approx(math.log(0.2 / 0.4))
    # With k = 7, slowly, well and quietly are among the likeliest of both.
    assert parallel_pairs(lm, ADVERB, k=7, parser=parser)["word"].tolist() == ["slowly", "again", "quietly", "well"]


def test_counts_by_hand(answers, parser):
    units = unit_tokens(answers(SPOKEN), ADVERB, k=5, parser=parser)
    counts = count_pairs(pd.concat([units.assign(model="m"), units.assign(model="n")]))
    names = ["n_frames", "n_tokens", "n_kept", "n_piece", "n_not_a_word", "n_off_category", "n_not_scored", "n_pairs"]
    assert counts.columns.tolist() == ["model", "unit", *names, "percent"]
    assert counts[names].values.tolist() == [[1, 10, 4, 2, 2, 2, 0, 1]] * 2
    assert counts["percent"].tolist() == [100, 100]


def test_a_unit_without_pair_is_counted(answers, parser):
    prompts = pd.concat([frames(verb=["{} [MASK] it."]), ADVERB])
    he, she = prompts["prompt"][:2]
    lm = answers(SPOKEN | {he: {"##s": 0.9}, she: {"##s": 0.9}})
    counts = count_pairs(unit_tokens(lm, prompts, k=1, parser=parser))
    assert counts[["unit", "n_tokens", "n_piece", "n_pairs"]].values.tolist() == [
        ["verb", 2, 2, 0],
        ["adverb", 2, 0, 0],
    ]
    assert counts["percent"].isna().all()
    assert pairs_of(unit_tokens(lm, prompts, k=1, parser=parser)).empty


def test_leaning_by_hand(answers, parser):
    units = unit_tokens(answers(SPOKEN), ADVERB, k=5, parser=parser)
    table = leaning_words(units)
    assert table["word"].tolist() == ["slowly", "well", "again"]
    assert table["leaning"].tolist() == ["male", "female", "female"]
    assert table["rank"].tolist() == [1, 1, 2]
    assert table["log_ratio"].tolist() == pytest.approx([math.log(10), math.log(1 / 20), math.log(1 / 2)])
    # Of parallel pairs alone, and one word a gender.
    assert leaning_words(pairs_of(units))["word"].tolist() == ["again"]
    assert leaning_words(units, k=1)["word"].tolist() == ["slowly", "well"]
    with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
        leaning_words(units, k=0)


def test_leaning_is_of_mean_probabilities():
    pairs = pd.DataFrame({"unit": "verb", "frame": list("121"), "token": list("xxy"), "word": list("xxy")})
    pairs = pairs.assign(probability_male=[0.1, 0.5, 0.2], probability_female=[0.3, 0.1, 0.2])
    table = leaning_words(pairs)
    # y leans neither way.
    assert table[["word", "n_frames"]].values.tolist() == [["x", 2]]
    assert table["log_ratio"].item() == pytest.approx(math.log(0.6 / 0.4))


def test_a_prompt_that_cannot_be_scored_has_a_row(answers, parser):
    units = unit_tokens(answers(SPOKEN | {SHE: None}), ADVERB, k=2, parser=parser)
    row = units.iloc[-1]
    assert len(units) == 3 and row["rank"] is pd.NA and not row["kept"]
    assert row["reason"] == scoring.NOT_FINITE
    assert units["rank_other"].isna().all() and units["probability_other"].isna().all()
    assert count_pairs(units)[["n_tokens", "n_not_scored", "n_pairs"]].values.tolist() == [[2, 1, 0]]
    assert leaning_words(units).empty


@pytest.mark.parametrize("family", tiny_models.TOKENIZER_FAMILIES)
def test_units_of_every_tokenizer_family(tiny, parser, family):
    lm = tiny(family)
    prompts = frames(verb=["{} [MASK] the dog."], adjective=["{} is [MASK]."], adverb=["[MASK], {} was seen."])
    units = unit_tokens(lm, prompts, k=15, parser=parser)
    assert len(units) == 6 * 15
    for prompt, part in units.groupby("prompt"):
        top = scoring.top_words(lm, prompt, 15)
        assert part["word"].tolist() == top["word"].tolist() and part["rank"].tolist() == top["rank"].tolist()
    whole = units[~units["reason"].isin(["word piece", "special token", "not a word"])]
    assert not whole["word"].str.startswith("##").any()
    resolved = scoring.mask_probabilities(lm, whole["prompt"], whole["word"].unique()).set_index(["sentence", "word"])
    for row in whole.itertuples():
        of_word = resolved.loc[(row.prompt, row.word), "probability"].iloc[0]
        assert of_word == pytest.approx(row.probability, rel=1e-4)


def test_ranks_are_over_the_whole_vocabulary(demo, parser):
    prompts = frames(verb=["{} [MASK] the report."])
    units = unit_tokens(demo, prompts, k=20, parser=parser)
    distributions = scoring.mask_distributions(demo, prompts["prompt"])
    for gender, other in (("male", 1), ("female", 0)):
        part = units[units["gender"] == gender]
        order = np.argsort(-distributions[other], kind="stable").tolist()
        assert part["rank_other"].tolist() == [order.index(i) + 1 for i in part["token_id"]]
        assert part["probability_other"].tolist() == distributions[other][part["token_id"].astype(int)].tolist()


def test_order_of_prompts_changes_no_pair(answers, parser):
    verb = frames(verb=["{} [MASK] it."])
    he, she = verb["prompt"]
    lm = answers(SPOKEN | {he: {"made": 0.5, "took": 0.3}, she: {"took": 0.5, "made": 0.3}})
    prompts = pd.concat([ADVERB, verb], ignore_index=True)
    pairs = parallel_pairs(lm, prompts, k=2, parser=parser)
    turned = parallel_pairs(lm, prompts.iloc[::-1], k=2, parser=parser)
    assert pairs["word"].tolist() == ["made", "took"]
    pd.testing.assert_frame_equal(pairs, turned)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must be a whole number from 1 to 30522, not 0"),
        ({"k": True}, "k must be a whole number from 1 to 30522, not True"),
        ({"prompts": ADVERB.iloc[:1]}, "frame '1' of adverb must occur once for each gender, found: male"),
        ({"prompts": ADVERB.drop(columns="frame")}, "must have the column frame"),
        ({"prompts": ADVERB.assign(unit="noun")}, "use one of verb, adverb, adjective"),
        ({"prompts": ADVERB.assign(frame=math.nan)}, "a prompt has no frame"),
        ({"prompts": ADVERB.assign(rank=1)}, "already has the columns rank"),
        ({"prompts": ADVERB.assign(prompt="He spoke.")}, r"exactly one \[MASK\]"),
    ],
)
def test_units_refuse(demo, parser, change, message):
    with pytest.raises(ValueError, match=message):
        unit_tokens(demo, **({"prompts": ADVERB, "parser": parser} | change))


def test_a_parser_that_tells_no_part_of_speech_is_refused(demo):
    spacy = pytest.importorskip("spacy")
    with pytest.raises(ValueError, match="does not tag parts of speech"):
        unit_tokens(demo, ADVERB, parser=spacy.blank("en"))


def test_without_spacy_one_line_says_what_to_install(demo, monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'biaslib\[units\]' brings spaCy") as error:
        unit_tokens(demo, ADVERB)
    assert "\n" not in str(error.value)


def test_an_unknown_pipeline_is_one_line(demo):
    pytest.importorskip("spacy")
    with pytest.raises(ModuleNotFoundError, match="no spaCy pipeline 'xx_none' is installed") as error:
        parallel_pairs(demo, ADVERB, parser="xx_none")
    assert "\n" not in str(error.value)
