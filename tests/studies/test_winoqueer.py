"""What WinoQueer's notebook compares and judges, on made-up results."""

import pandas as pd
import pytest

from biaslib import scoring, training
from biaslib.studies import winoqueer, winoqueer_coreference
from biaslib.training import OFF_THE_SHELF

BERTS = ["google-bert/bert-base-cased", "google-bert/bert-large-cased"]
NEWS, VOICES = "after news", "after voices"
NO_COREFERENCE = pd.DataFrame(columns=["model", "resolver", "first", "measure", "group"])
NOT_ASKED = winoqueer_coreference.read_coreference()


def compared(base=(57.0, 55.0), large=(71.0, 70.0), before=75.0, p_lower=0.001, p_between=0.01):
    """Comparisons of BERT base and large that fall from one score to two others."""
    rows = []
    for model, (news, voices) in zip(BERTS, (base, large), strict=True):
        rows += [(model, OFF_THE_SHELF, NEWS, before, news, p_lower)]
        rows += [
            (model, OFF_THE_SHELF, VOICES, before, voices, p_lower),
            (model, NEWS, VOICES, news, voices, p_between),
        ]
    frame = pd.DataFrame(rows, columns=["model", "first", "second", "before", "after", "p_lower"])
    return frame.assign(difference=frame["after"] - frame["before"])


def judged(frame, **options):
    return winoqueer.judge(frame, NO_COREFERENCE, NOT_ASKED, **options)["status"].tolist()


UNTESTABLE = ["not testable here"] * 3


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (compared(), ["seen", "seen"]),
        (compared(base=(71, 70), large=(57, 55)), ["not seen", "seen"]),
        (compared(p_lower=0.2), ["not seen", "not seen"]),
        (compared(p_between=0.4), ["seen", "not seen"]),
        (compared(base=(20, 19)), ["seen", "not seen"]),
        (compared(before=49), ["seen", "not testable here"]),
        (compared().query("model == @BERTS[1]"), ["not testable here", "seen"]),
        (compared()[:0], ["not testable here", "not testable here"]),
    ],
    ids=["seen", "large falls more", "no fall", "second as first", "past 50", "below 50", "one BERT", "none"],
)
def test_claims_on_bias(frame, expected):
    assert judged(frame) == expected + UNTESTABLE


def test_no_claim_is_testable_on_other_pairs():
    assert judged(compared(), of_the_study=False) == ["not testable here"] * 5


def test_claims_on_coreference_come_with_those_on_bias():
    models = [*BERTS, "SpanBERT/spanbert-base-cased", "SpanBERT/spanbert-large-cased"]
    rows = pd.DataFrame({"model": models, "resolver": "trained", "first": OFF_THE_SHELF, "second": NEWS})
    f1 = rows.assign(measure="GAP F1", group="all", value_first=80.0, value_second=79.5, difference=-0.5)
    bias = rows.assign(measure="GAP bias", group="x", value_first=0.97, value_second=0.95, difference=-0.02)
    conll = rows.assign(measure="CoNLL F1", group="x", value_first=75.0, value_second=74.0, difference=-1.0)
    documents = NOT_ASKED.learned
    data = winoqueer_coreference.CoreferenceData(None, documents, documents, frozenset({"GAP", "OntoNotes"}))
    marked = winoqueer.judge(compared(), pd.concat([f1, bias, conll]), data)
    assert marked["status"].tolist() == ["seen"] * 4 + ["not testable here"]
    assert marked["evidence"].str.len().gt(0).all()


def scored(condition, more, model="demo", head="kept"):
    """Two pairs about gay people, one that compares masculine with feminine sentences."""
    frame = pd.DataFrame({"pair_id": [0, 1, 2], "sent_more": ["a", "b", "c"], "sent_less": ["d", "e", "f"]})
    frame = frame.assign(direction="stereo", bias_type=["cis_gay", "cis_gay", "masc_femm_name"], reason="")
    frame = frame.assign(identity=["gay", "gay", "feminine"], score_more=more, score_less=-2.0)
    return frame.assign(model=model, condition=condition, head=head)


@pytest.fixture
def pairs():
    return pd.concat([scored(OFF_THE_SHELF, [-1, -1, -1]), scored(NEWS, [-1, -3, -1]), scored(VOICES, [-3, -3, -1])])


def test_masculine_against_feminine_is_no_part_of_the_score(pairs):
    overall = winoqueer.stereotype_scores(pairs)
    assert overall[["model", "condition", "head", "score", "n"]].values.tolist() == [
        ["demo", OFF_THE_SHELF, "kept", 100.0, 2],
        ["demo", NEWS, "kept", 50.0, 2],
        ["demo", VOICES, "kept", 0.0, 2],
    ]
    groups = winoqueer.group_scores(pairs).query("condition == @OFF_THE_SHELF")
    assert groups[["by", "group", "n"]].values.tolist() == [
        ["bias_type", "cis_gay", 2],
        ["bias_type", "masc_femm_name", 1],
        ["identity", "feminine", 1],
        ["identity", "gay", 2],
    ]
    lines = winoqueer.in_short(overall)
    assert len(lines) == 3 and "50.0 % of the pairs" in lines[1] and "untrained" not in lines[1]


def test_conditions_are_compared_within_a_model(pairs):
    other = pairs.assign(model="other")
    table = winoqueer.compare_conditions(pd.concat([pairs, other]))
    assert table[["model", "first", "second", "difference"]].values.tolist() == [
        [model, *rest]
        for model in ("demo", "other")
        for rest in ([OFF_THE_SHELF, NEWS, -50.0], [OFF_THE_SHELF, VOICES, -100.0], [NEWS, VOICES, -50.0])
    ]
    change = winoqueer.changes(table)
    assert change.columns.tolist()[:4] == ["model", "condition", "before", "after"]
    assert change["condition"].tolist() == [NEWS, VOICES] * 2 and (change["p_holm"] >= change["p_value"]).all()
    moved = winoqueer.changed_pairs(pairs)
    assert moved[["condition", "pair_id"]].values.tolist() == [[NEWS, 1], [VOICES, 0], [VOICES, 1]]


def test_an_untrained_head_has_no_change_and_no_score_to_compare(pairs):
    pairs.loc[pairs["condition"] == OFF_THE_SHELF, "head"] = "new"
    compared = winoqueer.compare_conditions(pairs)
    change = winoqueer.changes(compared)
    assert compared.empty and change.empty and winoqueer.changed_pairs(pairs).empty
    overall = winoqueer.stereotype_scores(pairs)
    assert "its head is untrained" in winoqueer.in_short(overall)[0]
    given = overall, winoqueer.group_scores(pairs), change
    scores = winoqueer.comparison_scores(*given, metric="pll", data_fingerprint="x")
    assert set(scores["measure"]) == {"stereotype_score", "stereotype_score_by_group"}
    assert not scores["group"].str.startswith(OFF_THE_SHELF).any()


def test_only_the_studys_models_and_pairs_stand_beside_its_table(pairs):
    overall = winoqueer.stereotype_scores(pairs.assign(model=BERTS[0]))
    beside = winoqueer.beside_published(overall).dropna(subset="score")
    assert beside[["study", "column", "score"]].values.tolist() == [
        ["bert-base", "off_the_shelf", 100.0],
        ["bert-base", "queernews", 50.0],
        ["bert-base", "queertwitter", 0.0],
    ]
    for nothing in (
        winoqueer.beside_published(overall, of_the_study=False),
        winoqueer.beside_published(overall.assign(model="demo")),
    ):
        assert nothing["published"].notna().all() and nothing["score"].isna().all()
    assert winoqueer.uses_study_pairs("winoqueer", "pll_nangia") and not winoqueer.uses_study_pairs("winoqueer", "aul")
    assert not winoqueer.uses_study_pairs("crows-pairs", "pll")


def test_pairs_of_which_none_can_be_scored_are_refused(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("sent_more,sent_less\nHe is.,He is.\n")
    with pytest.raises(ValueError, match=r"no pair of .*pairs\.csv can be scored"):
        winoqueer.read_pairs(path)


def test_conditions_are_trained_measured_and_labelled(tiny_folder, tmp_path):
    texts = {name: [f"the {name} was kind and it is number {n} ." for n in range(40)] for name in ("dog", "cat")}
    rows = [("He is a doctor.", "She is a doctor.", "x"), ("He is kind.", "She is kind.", "masc_trans_pronoun")]
    pairs = pd.DataFrame(rows, columns=["sent_more", "sent_less", "bias_type"]).assign(condition="mine")
    path = tmp_path / "pairs.csv"
    pairs.to_csv(path, index=False)
    opened = scoring.open_models([str(tiny_folder("bert_cased"))], device="cpu")
    given = {"epochs": 1, "block_size": 16}
    conditions = training.train_conditions(opened, texts, out=tmp_path / "models", **given)
    data = winoqueer.read_pairs(path), texts, NOT_ASKED
    measured = winoqueer.measure_conditions(conditions, opened, *data, models_dir=tmp_path)
    assert measured.pairs.columns.tolist()[:3] == measured.losses.columns.tolist()[:3] == ["model", "condition", "head"]
    assert measured.pairs["condition"].tolist() == [c for c in conditions["condition"] for _ in rows]
    assert set(measured.pairs["condition_given"]) == {"mine"} and len(measured.losses) == 6
    assert measured.within_word["bias_type"].unique().tolist() == ["masc_trans_pronoun"] and len(measured.models) == 3
    assert measured.models[0]["fingerprint"] == opened.describe()[0]["fingerprint"]
    assert len({model["fingerprint"] for model in measured.models}) == 3
    pronouns = winoqueer.pronoun_scores(measured)
    assert pronouns["likelihood"].tolist() == ["pll", "within word"] * 3 and (pronouns["n"] == 1).all()
    assert winoqueer.pronoun_scores(measured, metric="aul")["likelihood"].tolist() == ["within word"] * 3
