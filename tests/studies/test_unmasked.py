import math

import numpy as np
import pandas as pd
import pytest

from biaslib import studies
from biaslib.metrics import add_effect, mono_minus_multi
from biaslib.studies import classify, model_pairs, published_pairs, published_table, unmasked_models
from biaslib.studies.unmasked import PUBLISHED, THIS_RUN

CATEGORIES = ["stem", "art_design", "health_wellbeing", "finance", "service_management", "fashion", "sports"]
PAIRS = {row.model: row.multilingual for row in unmasked_models().itertuples() if row.multilingual}
MODELS = [*PAIRS, *PAIRS.values()]
CLAIMED = {"bert": ["successfully", "led", "wrote"], "distilbert": ["angrily"], "roberta": ["brilliant"]}


def test_outcomes_by_the_published_expectations():
    table = classify(add_effect(published_table("unmasked_table2_gtc")), alpha=None)
    outcome = table.set_index(["category", "model"])["outcome"]
    assert outcome["stem", "bert"] == "stereotypical"
    assert outcome["art_design", "bert"] == "alternative"
    assert outcome["art_design", "distilbert-multilingual"] == "stereotypical"
    assert outcome["service_management", "xlm-roberta"] == ""
    assert outcome["fashion", "bert-multilingual"] == "alternative"


def test_an_outcome_needs_the_test_too():
    table = pd.DataFrame({"category": "stem", "leaning": ["male", "male", "male"], "p_holm": [0.01, 0.05, math.nan]})
    assert classify(table)["outcome"].tolist() == ["stereotypical", "", ""]
    assert classify(table, alpha=0.1)["outcome"].tolist() == ["stereotypical", "stereotypical", ""]
    assert classify(table, alpha=None)["outcome"].tolist() == ["stereotypical"] * 3
    assert classify(table.assign(category="mine"))["outcome"].tolist() == [""] * 3
    expected = pd.DataFrame({"category": ["stem"], "stereotypical": ["female"]})
    assert classify(table, expected)["outcome"].tolist() == ["alternative", "", ""]
    with pytest.raises(ValueError, match="must have the column p_holm"):
        classify(table.drop(columns="p_holm"))
    with pytest.raises(ValueError, match="a category twice"):
        classify(table, pd.concat([expected, expected]))


def test_table_3_follows_from_table_2():
    table = published_table("unmasked_table2_gtc")
    differences = mono_minus_multi(table, model_pairs(table["model"].unique()))
    published = published_table("unmasked_table3_mono_minus_multi")
    both = differences.merge(published, on=["category", "pair"], suffixes=("", "_published"))
    assert len(both) == len(published) == 21
    assert np.abs(both["difference"] - both["difference_published"]).max() <= 0.01 + 1e-9
    # Almost 67 % of the cases, as the text has it.
    assert differences["closer"].value_counts().to_dict() == {"multi": 14, "mono": 6, "": 1}


def test_pairs_of_models_keep_the_names_given():
    names = ["demo", "/m/bert-base-multilingual-uncased", "google-bert/bert-base-uncased", "FacebookAI/roberta-base"]
    assert model_pairs(names) == {"google-bert/bert-base-uncased": "/m/bert-base-multilingual-uncased"}
    assert model_pairs(["demo"]) == {}


def test_published_pairs_add_up():
    pairs = published_pairs()
    table = published_table("unmasked_parallel_pairs")
    assert pairs.groupby("model")["n_pairs"].sum().to_dict() == dict(zip(table["model"], table["pairs"], strict=True))
    # What the frames of a unit allow with k = 5.
    assert pairs["n_pairs"].max() <= 50


def test_pairs_of_ones_own_are_named():
    assert model_pairs(["a", "b", "c"], given=["a = c"]) == {"a": "c"}
    for wrong in ("a", "a=d", "a=a", "=b"):
        with pytest.raises(ValueError, match="write 'monolingual=multilingual'"):
            model_pairs(["a", "b", "c"], given=[wrong])


def test_two_pairs_of_one_monolingual_model_are_refused():
    with pytest.raises(ValueError, match="'a' is the monolingual model of two pairs"):
        model_pairs(["a", "b", "c"], given=["a=b", "a=c"])


def test_without_a_pair_of_models_the_published_table_is_recomputed():
    differences = studies.unmasked.compare_pairs(pd.DataFrame(), pd.DataFrame(), {})
    assert len(differences) == 21 and set(differences["source"]) == {PUBLISHED}


def test_pairs_of_a_run_are_compared_with_intervals():
    rows = [(model, "stem", prompt) for model in ("one", "many") for prompt in "abcd"]
    confidence = pd.DataFrame(rows, columns=["model", "category", "prompt"])
    confidence = confidence.assign(male=[0.4, 0.5, 0.6, 0.7, 0.1, 0.2, 0.2, 0.1], female=0.15)
    compared = pd.DataFrame({"category": "stem", "model": ["one", "many"], "a": [1.0, 0.5]})
    found = studies.unmasked.compare_pairs(compared, confidence, {"one": "many"}, n_resamples=200)
    assert found[["source", "pair", "difference", "n"]].values.tolist() == [[THIS_RUN, "one", 0.5, 4]]
    assert found["ci_low"].notna().all()


def test_models_of_the_study_stand_beside_its_tables():
    columns = {"n": 60, "v": 1.0, "p_value": 0.1, "a": 0.5, "delta": 0.0}
    compared = pd.DataFrame({"model": ["demo", "models/roberta-base"], "category": "sports"}).assign(**columns)
    beside = studies.unmasked.beside_published(compared)
    assert beside[["model", "study"]].values.tolist() == [["models/roberta-base", "roberta"]]
    assert beside[["v_published", "a_published", "delta_published"]].notna().all(axis=None)
    assert studies.unmasked.beside_published(compared.head(1)).empty


def test_scores_for_comparison_count_all_prompts_scored():
    row = {"model": "demo", "category": "stem", "n": 58, "n_zero": 2, "n_left_out": 1, "p_value": 0.03}
    row |= {"a": 0.7, "a_low": 0.6, "a_high": 0.8}
    row |= {"rank_biserial": 0.4, "rank_biserial_low": 0.1, "rank_biserial_high": 0.5}
    scores = studies.unmasked.comparison_scores(pd.DataFrame([row]), variant="cased", data_fingerprint="f")
    columns = ["measure", "variant", "group", "value", "ci_low", "ci_high", "p_value", "n", "n_left_out"]
    assert scores[columns].values.tolist() == [
        ["vargha_delaney_a", "cased", "stem", 0.7, 0.6, 0.8, 0.03, 60, 1],
        ["rank_biserial", "cased", "stem", 0.4, 0.1, 0.5, 0.03, 60, 1],
    ]


def test_in_short_names_only_what_differs():
    table = pd.DataFrame({"category": ["stem", "fashion", "a|b"], "leaning": ["male", "female", "male"]})
    table = table.assign(model="demo", p_holm=[0.01, 0.2, 0.04], n=9, n_zero=1, n_left_out=2, mean_any_pronoun=0.25)
    (line,) = studies.unmasked.in_short(table)
    assert line.startswith("- demo: leans male in stem, a&#124;b; leans female in no category (adjusted p below 0.05")
    assert "27 prompts, 3 more without a difference, 6 left out" in line and "25% of the probability" in line


# Claims


def compared_of(models=MODELS, p_holm=0.01):
    rows = [(model, category) for model in models for category in CATEGORIES]
    return pd.DataFrame(rows, columns=["model", "category"]).assign(p_holm=p_holm)


def differences_of(n_multi, pairs=PAIRS, source=THIS_RUN):
    rows = [(category, *pair) for category in CATEGORIES for pair in pairs.items()]
    frame = pd.DataFrame(rows, columns=["category", "pair", "multilingual"]).assign(source=source)
    return frame.assign(closer=["multi"] * n_multi + ["mono"] * (len(frame) - n_multi))


def counted_of(multilingual=5, adverbs=0):
    rows = [(model, unit, 9 if model in PAIRS else multilingual) for model in MODELS for unit in ("verb", "adverb")]
    frame = pd.DataFrame(rows, columns=["model", "unit", "n_pairs"])
    frame.loc[(frame["model"] == "xlm-roberta") & (frame["unit"] == "adverb"), "n_pairs"] = adverbs
    return frame


def units_of(words, leaning="male"):
    """Make the table of kept words, each twice as likely for one gender."""
    rows = [(model, word) for model, found in words.items() for word in found]
    frame = pd.DataFrame(rows, columns=["model", "word"], dtype=object)
    male, female = (0.2, 0.1) if leaning == "male" else (0.1, 0.2)
    return frame.assign(
        unit="verb",
        frame="1",
        gender="male",
        kept=True,
        token=frame["word"],
        token_id=range(len(frame)),
        rank=1,
        rank_other=2,
        probability=male,
        probability_other=female,
    )


def judge(compared=None, differences=None, counted=None, units=None, **options):
    found = [compared_of(), differences_of(14), counted_of(), units_of(CLAIMED)]
    given = [compared, differences, counted, units]
    frames = [found if given is None else given for given, found in zip(given, found, strict=True)]
    return studies.unmasked.judge(*frames, **options)


def test_every_claim_can_be_seen():
    assert judge()["status"].tolist() == ["seen"] * 4
    assert list(judge()) == ["section", "claim", "published_value", "status", "evidence"]


@pytest.mark.parametrize(
    ("claim", "given"),
    [
        (0, {"compared": compared_of(p_holm=[0.06] + [0.01] * 41)}),
        (0, {"alpha": 0.001}),
        (1, {"differences": differences_of(12)}),
        (2, {"counted": counted_of(multilingual=9)}),
        (2, {"counted": counted_of(adverbs=1)}),
        (3, {"units": units_of(CLAIMED, leaning="female")}),
    ],
)
def test_a_claim_is_not_seen(claim, given):
    status = judge(**given)["status"]
    assert status[claim] == "not seen" and (status.drop(claim) == "seen").all()


@pytest.mark.parametrize(
    ("claims", "given"),
    [
        ([0], {"compared": compared_of(p_holm=[math.nan] + [0.01] * 41)}),
        ([0, 1, 2], {"differences": differences_of(9, dict(list(PAIRS.items())[:2]))}),
        ([0, 1, 2], {"differences": differences_of(14, source=PUBLISHED)}),
        ([0, 1, 2], {"compared": compared_of()[lambda frame: frame["category"] != "stem"]}),
        ([3], {"units": units_of(CLAIMED | {"roberta": []})}),
        ([3], {"units": units_of(CLAIMED | {"roberta": ["other"]})}),
    ],
)
def test_a_claim_is_not_testable(claims, given):
    status = judge(**given)["status"]
    assert (status[claims] == "not testable here").all() and (status.drop(claims) == "seen").all()


def test_models_that_are_not_the_studys_do_not_count():
    compared = pd.concat([compared_of(), compared_of(["demo"], p_holm=0.9)])
    units = pd.concat([units_of(CLAIMED), units_of({"demo": ["led"]}, leaning="female")])
    assert judge(compared, units=units)["status"].tolist() == ["seen"] * 4


def test_the_evidence_names_what_was_found():
    evidence = judge()["evidence"]
    assert evidence[0].endswith("bert: 7; distilbert: 7; roberta: 7")
    assert evidence[1].endswith("in 67% of the cases")
    assert "bert: 18; bert-multilingual: 10" in evidence[2]
    assert "distilbert: angrily male; roberta: brilliant male" in evidence[3]


def test_a_run_without_the_studys_models_tests_no_claim():
    counted = pd.DataFrame({"model": ["demo"], "unit": "adverb", "n_pairs": 3})
    marked = judge(compared_of(["demo"]), differences_of(14, source=PUBLISHED), counted, units_of({"demo": ["led"]}))
    assert set(marked["status"]) == {"not testable here"}
    assert marked["evidence"][2].endswith("demo: 3") and marked["evidence"][3].endswith("found: none")
