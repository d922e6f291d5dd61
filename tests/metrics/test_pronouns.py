import math

import numpy as np
import pandas as pd
import plain
import pytest
import tiny_models
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslib import scoring
from biaslib.metrics import (
    add_effect,
    compare_categories,
    gendered_confidence,
    mono_minus_multi,
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
