import math
import sys

import numpy as np
import pandas as pd
import plain
import pytest
import tiny_models
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslib import scoring
from biaslib.io import first_prompts, read_prompts
from biaslib.metrics import (
    add_effect,
    compare_categories,
    count_pairs,
    gendered_confidence,
    leaning_words,
    mono_minus_multi,
    pairs_of,
    parallel_pairs,
    unit_tokens,
)
from biaslib.metrics.pronouns import FEMALE, MALE, NEUTRAL, VARIANTS
from biaslib.studies import published_table

SENTENCES = [
    "[MASK] is a nurse.",
    "[MASK]'s done it.",
    "Before the city was old, [MASK] was not seen.",
    "the doctor ([MASK]) is kind",
    "it is good to be with [MASK]!",
]
CONFIDENCE_COLUMNS = ["male", "female", "neutral", "any_pronoun", "missing", "reason"]


# Prompts


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_prompts_from_a_file_keep_their_columns(tmp_path):
    text = '\ufeffcategory,prompt,note\nNA,"[MASK] counts, and counts.",null\nfashion,Today [MASK] sews.,\n'
    frame = read_prompts(write(tmp_path / "mine.csv", text))
    assert frame.columns.tolist() == ["category", "prompt", "note"]
    assert frame.values.tolist() == [
        ["NA", "[MASK] counts, and counts.", "null"],
        ["fashion", "Today [MASK] sews.", ""],
    ]


def test_unit_prompts_from_a_file(tmp_path):
    text = "unit,frame,gender,prompt\nverb,1,female,She [MASK] it.\nverb,1,male,He [MASK] it.\n"
    frame = read_prompts(write(tmp_path / "units.csv", text))
    assert frame.columns.tolist() == ["unit", "frame", "gender", "prompt"]
    assert frame["gender"].tolist() == ["female", "male"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompt\n[MASK] is.\n", "has the columns 'prompt' but needs 'category'"),
        ("unit,prompt\nverb,He [MASK].\n", "needs 'category', 'prompt'; or 'unit', 'frame', 'gender', 'prompt'"),
        ("category,prompt\na,He is.\n", r"line 2 of .* exactly one \[MASK\]"),
        ("category,prompt\na,[MASK] is.\nb,[MASK] is [MASK].\n", r"line 3 of .* exactly one \[MASK\]"),
        ("category,prompt\na,[MASK] is.\n ,[MASK] was.\n", "line 3 of .*: no category"),
        ("category,prompt\na,[MASK] is.\na,[MASK] is.\n", r"has the prompt '\[MASK\] is\.' twice"),
        ("category,prompt\na,[MASK] is, now\n", "line 2 of .*: expected 2 fields, found 3"),
        ("unit,frame,gender,prompt\nnoun,1,male,He [MASK].\n", "unknown unit 'noun'; use one of verb, adverb, adj"),
        ("unit,frame,gender,prompt\nverb,1,he,He [MASK].\n", "unknown gender 'he'; use one of male, female"),
        (
            "unit,frame,gender,prompt\nverb,1,male,He [MASK].\n",
            "frame '1' of verb must occur once for each gender, found: male",
        ),
        ("", "is empty"),
    ],
)
def test_odd_prompt_files_give_one_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as error:
        read_prompts(write(tmp_path / "odd.csv", text))
    assert "\n" not in str(error.value) and "odd.csv" in str(error.value)


def test_unknown_prompts_name_the_known_ones():
    with pytest.raises(FileNotFoundError, match="'jobs': give a file, 'job_prompts' or 'unit_prompts'"):
        read_prompts("jobs")


def test_the_first_of_each_category():
    prompts = pd.DataFrame({"category": list("abababb"), "prompt": list("1234567")}, index=range(7, 14))
    first = first_prompts(prompts, 3)
    assert first["prompt"].tolist() == list("123456") and first.index.tolist() == list(range(7, 13))
    assert first_prompts(prompts).equals(prompts)
    for n in (0, -1, 1.5, True, "60"):
        with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
            first_prompts(prompts, n)
    with pytest.raises(ValueError, match="must have the column kind"):
        first_prompts(prompts, 1, by="kind")


# Gendered token confidence


@pytest.fixture(scope="module")
def doubles(tiny, demo):
    copies = {}

    def get(family):
        lm = demo if family == "demo" else tiny(family)
        if family not in copies:
            copies[family] = plain.double(lm)
        return lm, copies[family]

    return get


PLAIN = [(family, variant) for family in tiny_models.TOKENIZER_FAMILIES for variant in VARIANTS]


@pytest.mark.parametrize(("family", "variant"), [*PLAIN, ("demo", "in_place")])
def test_confidence_is_the_plain_sum(doubles, family, variant):
    lm, model = doubles(family)
    frame = gendered_confidence(lm, SENTENCES, variant=variant)
    # After a bracket the tiny unigram vocabulary spells every pronoun in letters.
    assert frame["reason"].eq("").sum() == (4 if family == "xlm_roberta" else 5)
    assert (frame["reason"] == "").equals(frame[["male", "female"]].notna().all(axis=1))
    for side, words in (("male", MALE), ("female", FEMALE), ("neutral", NEUTRAL)):
        spellings = words if variant == "cased" else [form for w in words for form in (w, w.capitalize())]
        expected = [plain.group_probability(lm, model, sentence, spellings) for sentence in SENTENCES]
        np.testing.assert_allclose(frame[side], expected, rtol=1e-5, atol=0)
    of_all = frame[["male", "female", "neutral"]].sum(axis=1, min_count=1)
    np.testing.assert_allclose(frame["any_pronoun"], of_all, rtol=1e-12)
    assert frame["any_pronoun"].dropna().between(0, 1).all()


def test_a_cased_start_counts_only_in_place(tiny):
    cased = tiny("bert_cased")
    in_place, printed = (gendered_confidence(cased, SENTENCES[0], variant=v) for v in ("in_place", "cased"))
    title = scoring.mask_probabilities(cased, SENTENCES[:1], ["He", "She"])["probability"]
    assert in_place["male"].item() == pytest.approx(printed["male"].item() + title[0])
    assert in_place["female"].item() == pytest.approx(printed["female"].item() + title[1])
    uncased = tiny("bert_uncased")
    both = [gendered_confidence(uncased, SENTENCES[0], variant=v) for v in ("in_place", "cased")]
    pd.testing.assert_frame_equal(*both)


def test_words_without_an_entry_are_named(tiny):
    frame = gendered_confidence(tiny("bert_cased"), SENTENCES)
    assert frame.columns.tolist() == ["prompt", *CONFIDENCE_COLUMNS]
    assert set(frame["missing"]) == {"them, their"}


def test_a_side_without_entry_is_missing_not_zero(tiny):
    lm = tiny("roberta")
    frame = gendered_confidence(lm, SENTENCES, male=["fisherman"], neutral=[])
    assert frame["male"].isna().all() and frame["neutral"].isna().all()
    assert frame["female"].equals(gendered_confidence(lm, SENTENCES)["female"])
    assert set(frame["reason"]) == {"no male pronoun is one vocabulary entry here"}
    frame = gendered_confidence(lm, SENTENCES[:1], male=["fisherman"], female=["fisherwoman"])
    assert frame["reason"].item() == "no male or female pronoun is one vocabulary entry here"
    assert frame["missing"].item().startswith("fisherman, fisherwoman, ")


def test_a_prompt_over_the_limit_has_a_reason(tiny):
    frame = gendered_confidence(tiny("bert_cased"), ["[MASK] is a nurse.", "dog " * 80 + "[MASK]"])
    assert frame["reason"][0] == "" and frame["reason"][1].startswith("too long")
    assert frame.loc[1, ["male", "female", "neutral", "any_pronoun"]].isna().all()


def test_a_frame_keeps_its_columns_index_and_order(tiny):
    lm = tiny("bert_cased")
    given_frame = pd.DataFrame({"category": list("cab"), "prompt": SENTENCES[:3], "note": ""}, index=[4, 2, 9])
    frame = gendered_confidence(lm, given_frame)
    assert frame.columns.tolist() == ["category", "prompt", "note", *CONFIDENCE_COLUMNS]
    pd.testing.assert_frame_equal(frame[["category", "prompt", "note"]], given_frame)
    plain_frame = gendered_confidence(lm, SENTENCES[:3])
    assert frame["male"].tolist() == plain_frame["male"].tolist()
    empty = gendered_confidence(lm, given_frame.iloc[:0])
    assert empty.columns.tolist() == frame.columns.tolist() and empty.empty
    assert compare_categories(empty).empty


# A few examples are enough: each runs the model.
@settings(max_examples=6, deadline=None)
@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=8), st.integers(5, 200))
def test_order_duplicates_and_batching_change_no_confidence(tiny, prompts, batch_tokens):
    lm = tiny("bert_cased")
    alone = gendered_confidence(lm, SENTENCES).set_index("prompt")
    frame = gendered_confidence(lm, prompts, batch_tokens=batch_tokens)
    for side in ("male", "female", "neutral", "any_pronoun"):
        np.testing.assert_allclose(frame[side], alone.loc[prompts, side], rtol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variant": "upper"}, "unknown variant 'upper'; use one of in_place, cased"),
        ({"male": []}, "male is empty"),
        ({"female": []}, "female is empty"),
        ({"neutral": ["He"]}, "male and neutral share the pronoun 'He'"),
        ({"female": ["hé"]}, "male and female share the vocabulary entry he"),
        ({"prompts": ["He is."]}, r"exactly one \[MASK\].*'He is\.'"),
        ({"prompts": ["[MASK] saw [MASK]."]}, r"exactly one \[MASK\]"),
        ({"prompts": pd.DataFrame({"text": ["[MASK] is."]})}, "must have the column prompt"),
        ({"prompts": pd.DataFrame({"prompt": ["[MASK] is."], "male": [1]})}, "already has the columns male"),
    ],
)
def test_confidence_refuses(tiny, change, message):
    arguments = {"prompts": SENTENCES} | change
    with pytest.raises(ValueError, match=message) as error:
        gendered_confidence(tiny("bert_uncased"), **arguments)
    assert "\n" not in str(error.value)


def test_confidence_needs_texts(tiny):
    lm = tiny("bert_cased")
    with pytest.raises(TypeError, match="must be a list of strings"):
        gendered_confidence(lm, SENTENCES, male="he")
    with pytest.raises(TypeError, match="entry 1 of sentences must be a string, not nan"):
        gendered_confidence(lm, pd.DataFrame({"prompt": ["[MASK] is.", math.nan]}))


# Categories


def confidences(**categories):
    """Make a frame of confidences from (male, female) by category."""
    parts = [pd.DataFrame({"category": name, "male": m, "female": f}) for name, (m, f) in categories.items()]
    return pd.concat(parts, ignore_index=True)


STEPS = np.arange(1.0, 61) / 200
SEVEN = np.array([3.0, -1, 2, 2, 0, -2, 5])


def test_v_of_sixty_reaches_the_published_maximum():
    table = compare_categories(confidences(up=(0.3 + STEPS, 0.3), down=(0.3, 0.3 + STEPS)), n_resamples=50)
    assert table["v"].tolist() == [1830, 0]
    assert table["v"].max() == published_table("unmasked_table2_gtc")["v"].max()
    assert table["a"].tolist() == [1, 0] and table["rank_biserial"].tolist() == [1, -1]
    assert table["p_value"].nunique() == 1 and (table["p_value"] < 1e-9).all()
    assert table["leaning"].tolist() == ["male", "female"]
    assert table["delta"].tolist() == [0.5, 0.5] and table["effect"].tolist() == ["large", "large"]
    # Holm: the smallest of two p values is doubled, and the other is not below it.
    assert table["p_holm"].tolist() == pytest.approx((2 * table["p_value"]).tolist())


def test_table_by_hand():
    frame = confidences(c=(10 + SEVEN, 10.0)).assign(neutral=0.25, any_pronoun=[0.5, 1.0] * 3 + [0.75])
    frame.loc[len(frame)] = ["c", math.nan, 1.0, math.nan, math.nan]
    frame["reason"] = [""] * 7 + ["no male pronoun is one vocabulary entry here"]
    row = compare_categories(frame, n_resamples=99).iloc[0]
    assert (row["v"], row["n"], row["n_zero"]) == (17, 6, 1)
    assert row["rank_biserial"] == pytest.approx(13 / 21)
    # Of seven values against seven tens: four above, two below, one equal.
    assert row["a"] == pytest.approx(4.5 / 7) and row["effect"] == "medium"
    assert row["a_low"] < row["a"] < row["a_high"]
    assert row["rank_biserial_low"] < row["rank_biserial"] < row["rank_biserial_high"]
    assert row["mean_male"] == pytest.approx(10 + 9 / 7) and row["mean_neutral"] == 0.25
    assert row["mean_any_pronoun"] == 0.75
    assert (row["n_left_out"], row["left_out"]) == (1, "1 no male pronoun is one vocabulary entry here")
    assert row["note"] == ""


def test_columns_in_order():
    columns = ["category", "n", "n_zero", "v", "p_value", "p_holm", "a", "a_low", "a_high"]
    columns += ["rank_biserial", "rank_biserial_low", "rank_biserial_high", "effect", "leaning", "delta"]
    columns += ["mean_male", "mean_female", "n_left_out", "left_out", "note"]
    frame = confidences(c=([0.2, 0.3], [0.1, 0.1]))
    assert compare_categories(frame).columns.tolist() == columns
    assert compare_categories(frame.assign(model="m")).columns.tolist() == ["model", *columns]
    assert compare_categories(frame.iloc[:0]).columns.tolist() == columns


def test_no_difference_is_p_of_one_with_a_note():
    table = compare_categories(confidences(same=([0.1, 0.2, 0.3],) * 2, other=([0.4] * 3, [0.1, 0.2, 0.3])))
    row = table.iloc[0]
    assert (row["n"], row["n_zero"], row["v"], row["p_value"], row["p_holm"]) == (0, 3, 0, 1, 1)
    assert (row["a"], row["rank_biserial"], row["effect"], row["leaning"]) == (0.5, 0, "negligible", "")
    assert row["note"] == "no pair differs" and table["note"][1] == ""


def test_a_category_without_scores_has_a_row_and_counts_for_no_other():
    frame = confidences(none=([math.nan] * 2, [0.1] * 2), some=(STEPS + 0.1, STEPS))
    row, other = compare_categories(frame, n_resamples=20).to_dict("records")
    assert (row["n"], row["n_left_out"], row["left_out"]) == (0, 2, "2 no value")
    assert row["note"] == "no prompt was scored" and row["effect"] == row["leaning"] == ""
    assert all(math.isnan(row[c]) for c in ("v", "p_value", "p_holm", "a", "a_low", "rank_biserial", "delta"))
    assert other["p_holm"] == other["p_value"]


def test_holm_is_over_models_and_categories():
    rng = np.random.default_rng(0)
    one = confidences(**{name: rng.random((2, 20)) for name in "abc"})
    frame = pd.concat([one.assign(model="m"), one.assign(model="n")])
    table = compare_categories(frame, n_resamples=20)
    assert table[["model", "category"]].values.tolist() == [[m, c] for m in "mn" for c in "abc"]
    lowest = table["p_value"].min()
    assert table["p_holm"].min() == pytest.approx(min(1, 6 * lowest))
    # The same prompts give the same interval, whatever stands beside them.
    assert table["a_low"][:3].tolist() == table["a_low"][3:].tolist()
    alone = compare_categories(one[one["category"] == "b"], n_resamples=20)
    assert alone[["a_low", "a_high"]].values.tolist() == table.loc[[1], ["a_low", "a_high"]].values.tolist()


def test_interval_keeps_pairs_and_seed():
    rng = np.random.default_rng(1)
    frame = confidences(c=rng.random((2, 30)))
    table = compare_categories(frame, seed=3, n_resamples=400)
    assert table.equals(compare_categories(frame, seed=3, n_resamples=400))
    assert not table.equals(compare_categories(frame, seed=4, n_resamples=400))
    male, female = frame["male"].to_numpy(), frame["female"].to_numpy()
    draws = np.random.default_rng(7).integers(0, 30, (2000, 30))
    resampled = [np.mean(male[d][:, None] > female[d]) + np.mean(male[d][:, None] == female[d]) / 2 for d in draws]
    expected = np.quantile(resampled, [0.025, 0.975])
    assert table[["a_low", "a_high"]].iloc[0].tolist() == pytest.approx(expected, abs=0.02)


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(12)))
def test_order_of_prompts_changes_no_test(order):
    rng = np.random.default_rng(2)
    frame = confidences(c=rng.random((2, 12)))
    columns = ["n", "v", "p_value", "a", "rank_biserial"]
    one, other = (compare_categories(f, n_resamples=2)[columns].iloc[0] for f in (frame, frame.iloc[order]))
    assert one.tolist() == pytest.approx(other.tolist(), rel=1e-12)
    swapped = compare_categories(frame.rename(columns={"male": "female", "female": "male"}), n_resamples=2).iloc[0]
    assert swapped["a"] == pytest.approx(1 - one["a"]) and swapped["v"] == 78 - one["v"]
    assert swapped["rank_biserial"] == pytest.approx(-one["rank_biserial"])


def test_compare_needs_its_columns():
    with pytest.raises(ValueError, match="must have the column category"):
        compare_categories(pd.DataFrame({"male": [0.1], "female": [0.1]}))
    with pytest.raises(ValueError, match="must have the columns male, female"):
        compare_categories(pd.DataFrame({"category": ["a"]}))


# What the paper publishes


def test_effects_of_the_published_table():
    table = add_effect(published_table("unmasked_table2_gtc"))
    published = published_table("unmasked_tableA_delta")
    both = table.merge(published, on=["category", "model"], suffixes=("", "_published"))
    assert len(both) == 42
    # The paper prints .41 for BERT and sports, where its A of .94 gives .44, and so does its Table 3.
    off = both[np.abs(both["delta"] - both["delta_published"]) > 0.01 + 1e-9]
    assert off[["category", "model", "delta_published"]].values.tolist() == [["sports", "bert", 0.41]]
    by_a = table.groupby("a")["leaning"].first()
    # .44 to .56 is negligible, so that .42 and .43 are not, whichever way the paper marks them.
    assert by_a[[0.45, 0.5]].tolist() == ["", ""]
    assert by_a[[0.37, 0.42, 0.43]].tolist() == ["female"] * 3 and by_a[0.61] == "male"
    assert add_effect(table).equals(table)


def test_own_pairs_of_models():
    table = pd.DataFrame({"category": list("xxy"), "model": ["one", "many", "one"], "a": [0.1, 0.9, 0.7]})
    frame = mono_minus_multi(table, {"one": "many"})
    assert frame["closer"].tolist() == ["", ""]
    assert frame["difference"][0] == 0 and math.isnan(frame["difference"][1])
    for pairs, message in (({}, "pairs is empty"), ({"one": "all"}, "lacks the models all")):
        with pytest.raises(ValueError, match=message):
            mono_minus_multi(table, pairs)
    with pytest.raises(ValueError, match="a model twice in a category"):
        mono_minus_multi(pd.concat([table, table]), {"one": "many"})


# Linguistic units


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
        def mask_distributions(lm, sentences, *, batch_tokens=None, progress=False):
            rows = np.full((len(sentences), lm.vocabulary_size), 1e-9, dtype=np.float32)
            for row, sentence in zip(rows, sentences, strict=True):
                if table[sentence] is None:
                    row[:] = np.nan
                    continue
                for token, probability in table[sentence].items():
                    row[lm.tokenizer.convert_tokens_to_ids(token)] = probability
            return rows

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
    with pytest.raises(ValueError, match="k has to be a whole number from 1 up"):
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
        ({"k": 0}, "k is 0"),
        ({"k": True}, "k is True"),
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


def test_an_interval_of_the_difference_covers_it_and_counts_its_prompts():
    rng = np.random.default_rng(0)
    rows = [
        {
            "model": m,
            "category": "stem",
            "prompt": f"{n} [MASK].",
            "male": rng.uniform(shift, 1),
            "female": rng.uniform(),
        }
        for m, shift in (("mono", 0.5), ("multi", 0.0))
        for n in range(40)
    ]
    confidence = pd.DataFrame(rows)
    confidence.loc[3, "male"] = np.nan
    table = compare_categories(confidence, n_resamples=50)
    row = mono_minus_multi(table, {"mono": "multi"}, confidence=confidence, n_resamples=500).loc[0]
    assert (row.n, row.n_left_out) == (39, 1)
    assert row.ci_low < row.difference < row.ci_high and row.ci_low > 0
    again = mono_minus_multi(
        table, {"mono": "multi"}, confidence=confidence.sample(frac=1, random_state=1), n_resamples=500
    )
    assert again.loc[0, "n"] == 39 and abs(again.loc[0, "ci_low"] - row.ci_low) < 0.05


def test_a_category_leans_neither_way_where_the_two_effects_contradict():
    male = np.r_[np.linspace(0.1, 0.3, 80) + 0.001, np.full(20, 0.1)]
    female = np.r_[np.linspace(0.1, 0.3, 80), np.full(20, 0.9)]
    row = compare_categories(pd.DataFrame({"category": "stem", "male": male, "female": female}), n_resamples=50).loc[0]
    assert row.rank_biserial > 0 and row.a < 0.44 and row.p_value < 0.05
    assert row.leaning == "" and row.note == "A and the paired test point opposite ways"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("category,prompt\n", "has no prompt below its header"),
        ("category,prompt,model\na,[MASK] is.,x\n", "a column 'model'"),
        ("category,prompt\na,The  [MASK] is.\n", "line 2 of .*: write one space"),
        ("category,prompt\na,[MASK] is.\na, [MASK] is. \n", "twice"),
    ],
)
def test_odd_files_of_prompts_are_refused_by_row(tmp_path, content, message):
    path = tmp_path / "prompts.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_prompts(path)
