import math

import pandas as pd
import pytest

from biaslib import metrics, studies
from biaslib.io import read_gender_words
from biaslib.studies import match_sources

LANGUAGES = ["de", "ja", "ar", "es", "pt", "ru", "id", "zh"]


def test_sources_are_matched_with_models():
    frame = match_sources(["a", "b"], ["talks"], ["de"])
    assert frame.values.tolist() == [["a", "talks", "de"], ["b", "talks", "de"]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((["a", "a"], ["t"], ["de"]), "a model is given twice"),
        ((["a", "b", "c"], ["t", "u"], ["de"]), "2 sources for 3 models"),
        ((["a"], ["t"], ["de", "ja"]), "2 languages for 1 models"),
        ((["a", "b"], ["t"], ["de", "ja"]), "source 't' is given two languages"),
    ],
)
def test_sources_that_do_not_match_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        match_sources(*given)


# Sentences

TEXT = pd.DataFrame({"english": ["Michael ran.", "Mary ran."], "target": ["マイケルは走った。", "メアリーは走った。"]})


def test_other_sentences_on_the_english_side():
    words = read_gender_words()
    sentences = metrics.usable(studies.mbe.label_text(TEXT, words, "english"))
    found = studies.mbe.other_sentences(TEXT, sentences, "ja", words, side="english")
    assert list(found) == ["other side", "words alone", "words in a template"]
    assert found["other side"]["target"].tolist() == TEXT["target"].tolist()
    assert "We saw the king yesterday." in found["words in a template"]["target"].tolist()


def test_native_names_on_the_target_side():
    words = read_gender_words()
    sentences = metrics.usable(studies.mbe.label_text(TEXT, words))
    found = studies.mbe.other_sentences(TEXT, sentences, "ja", words)
    assert list(found) == ["other side", "native names"]
    assert found["other side"]["target"].tolist() == TEXT["english"].tolist()
    assert "マイケル" not in "".join(found["native names"]["target"])


def test_further_sentences_are_compared_with_those_drawn(demo):
    words = read_gender_words()
    sentences = pd.DataFrame({"target": ["He is a king.", "She is kind."], "gender": ["male", "female"]})
    scored = metrics.gender_likelihoods(demo, sentences)
    others = {"words alone": metrics.word_sentences(words).head(4)}
    table = studies.mbe.compare_material(demo, scored, others, n_resamples=100)
    assert table["sentences"].tolist() == ["as above", "words alone"]
    assert table["n"].tolist() == [2, 4] and table["difference"][0] == 0
    assert table.columns[0] == "sentences" and table.columns[-1] == "difference"


def test_a_gender_without_a_sentence_has_an_example():
    scored = pd.DataFrame({"target": ["Sie singt."], "gender": ["female"], "reason": [""]})
    assert studies.mbe.example_sentences(scored) == ("He is a nurse.", "Sie singt.")


# Results


def measured_of(languages=LANGUAGES, score=52.0, reason=""):
    frame = pd.DataFrame({"model": [f"m-{code}" for code in languages], "language": languages})
    frame = frame.assign(source=[f"talks-{code}" for code in languages], score=score, reason=reason)
    return frame.assign(ci_low=frame["score"] - 1, ci_high=frame["score"] + 1, n_male=9, n_female=8, n_left_out=3)


def test_in_short():
    line, held, none = studies.mbe.in_short(
        measured_of(["de", "ja", "ar"], [52.0, 50.5, math.nan], ["", "", "no pair"])
    )
    counts = "(9 male and 8 female sentences, 3 left out)"
    assert line == f"- m-de on talks-de: MBE 52.0, 95 % interval 51.0 to 53.0 {counts}."
    assert held.endswith("The interval includes 50, so no preference is shown.")
    assert none.startswith(f"- m-ar on talks-ar: no score, no pair {counts}")


def test_published_scores_stand_beside_the_target_side_only():
    measured = measured_of(["de"])
    beside = studies.mbe.beside_published(measured)
    assert len(beside) == 8 and beside["score"].notna().sum() == 1
    english = studies.mbe.beside_published(measured, side="english")
    assert len(english) == 8 and english["score"].isna().all() and list(english) == list(beside)


def test_scores_for_comparison_name_the_language_that_was_read():
    measured = measured_of(["de", "ja"])
    fingerprints = {"talks-de": "f", "talks-ja": "g"}
    columns = ["model", "variant", "group", "value", "n", "n_left_out", "data_fingerprint"]
    scores = studies.mbe.comparison_scores(measured, fingerprints)
    assert scores[columns].values.tolist() == [
        ["m-de", "side=target weight=cosine", "de", 52.0, 17, 3, "f"],
        ["m-ja", "side=target weight=cosine", "ja", 52.0, 17, 3, "g"],
    ]
    english = studies.mbe.comparison_scores(measured, fingerprints, side="english", weight="dot")
    assert set(english["group"]) == {"en"} and set(english["variant"]) == {"side=english weight=dot"}


# Claims


def material_of(differences):
    """Make the table of other sentences from how far native names move each language's score."""
    rows = [(f"m-{code}", "native names", move) for code, move in differences.items()]
    rows += [(f"m-{code}", "other side", 30.0) for code in differences]
    return pd.DataFrame(rows, columns=["model", "sentences", "difference"])


def kept_of(shares, female=None):
    """Make the table of gender kept, with 100 sentences of each gender."""
    rows = []
    for code, share in shares.items():
        counts = {"male": share, "female": share if female is None else female}
        counts["all"] = sum(counts.values())
        rows += [(code, gender, n, 200 if gender == "all" else 100, "") for gender, n in counts.items()]
    return pd.DataFrame(rows, columns=["language", "gender", "n_kept", "n", "reason"])


SEEN = {
    "measured": measured_of(),
    "material": material_of({"ja": 0.4, "ar": -0.9, "ru": 0.1}),
    "kept": kept_of({"de": 85, "pt": 90, "ru": 81, "ja": 60}),
}


def test_all_claims_but_the_one_on_translations_can_be_seen():
    marked = studies.mbe.judge(**SEEN)
    assert marked["status"].tolist() == ["seen", "not testable here", "seen", "seen"]
    assert list(marked) == ["section", "claim", "published_value", "status", "evidence"]


@pytest.mark.parametrize(
    ("claim", "given"),
    [
        (0, {"measured": measured_of(score=[50.0] + [52.0] * 7)}),
        (2, {"material": material_of({"ja": -2.29, "ar": 0.1, "ru": 0.1})}),
        (3, {"kept": kept_of({"de": 80, "pt": 90, "ru": 81, "ja": 60})}),
        (3, {"kept": kept_of({"de": 85, "pt": 90, "ru": 81, "ja": 71})}),
        (3, {"kept": kept_of({"de": 85, "pt": 90, "ru": 95, "ja": 65}, female=80)}),
    ],
)
def test_a_claim_is_not_seen(claim, given):
    status = studies.mbe.judge(**SEEN | given)["status"]
    assert status[claim] == "not seen" and (status.drop([1, claim]) == "seen").all()


@pytest.mark.parametrize(
    ("claim", "given"),
    [
        (0, {"side": "english"}),
        (0, {"measured": measured_of(score=[math.nan] + [52.0] * 7)}),
        (2, {"material": material_of({"ja": 0.4, "ar": 0.1})}),
        (2, {"material": material_of({"ja": 0.4, "ar": 0.1, "ru": math.nan})}),
        (3, {"kept": kept_of({"de": 85, "pt": 90, "ru": 81})}),
        (3, {"kept": kept_of({"de": 85, "pt": 90, "ru": 81, "ja": 60}).assign(reason="no list")}),
    ],
)
def test_a_claim_is_not_testable(claim, given):
    status = studies.mbe.judge(**SEEN | given)["status"]
    assert status[claim] == "not testable here" and (status.drop([1, claim]) == "seen").all()


def test_seven_languages_do_not_test_the_claim_on_eight():
    seven = LANGUAGES[:7]
    assert studies.mbe.judge(**SEEN | {"measured": measured_of(seven)})["status"][0] == "not testable here"


def test_sources_of_one_language_are_counted_together():
    kept = pd.concat([SEEN["kept"], kept_of({"de": 20})])
    status = studies.mbe.judge(**SEEN | {"kept": kept})["status"]
    assert status[3] == "not seen", "105 of 200 German sentences are not 80 per cent"
