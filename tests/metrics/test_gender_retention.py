"""Words of the target language, by the rules of its script."""

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from biaslib.io import list_languages, read_retention_words
from biaslib.metrics import find_genders, retention


def words(male, female, none=(), notes=()):
    rows = [(gender, word) for gender, of in (("male", male), ("female", female), ("none", none)) for word in of]
    frame = pd.DataFrame(rows, columns=["gender", "word"])
    return frame.assign(note=["ambiguous" if word in notes else "" for word in frame.word])


LISTS = {
    "de": words(["er", "ihm", "sein"], ["sie", "ihr"]),
    "es": words(["él"], ["ella"]),
    "pt": words(["ele", "dele"], ["ela", "dela"]),
    "ru": words(["он", "его"], ["она", "её"]),
    "ar": words(["هو", "رجل", "أخ"], ["هي", "مرأة", "إمرأة"]),
    "ja": words(["彼"], ["彼女"]),
    "zh": words(["他"], ["她"]),
    "hi": words(["पिता"], ["माता"]),
    "el": words(["αυτός"], ["αυτή"]),
    "ko": words(["그"], ["그녀"]),
}


@pytest.mark.parametrize(
    ("language", "sentence", "found"),
    [
        ("de", "Hat ER geschlafen?", "m"),
        ("de", "Der Herr sah vier Tiere.", ""),
        ("de", "„Sie“ – und er?", "mf"),
        ("de", "Er-Form, Müller-ihr", "mf"),
        ("es", "ÉL llegó.", "m"),
        ("es", "e\u0301l llegó", "m"),
        ("es", "El hombre y ellas.", ""),
        ("es", "¿Ella?", "f"),
        ("pt", "O livro dele.", "m"),
        ("pt", "Vê-la, aquela.", ""),
        ("pt", "É ela.", "f"),
        ("ru", "Он врач.", "m"),
        ("ru", "ОНА врач.", "f"),
        ("ru", "Вижу ее и ЕЁ.", "f"),
        ("ru", "Оно, они, многого.", ""),
        ("ar", "وهو طبيب", "m"),
        ("ar", "هُوَ طبيب", "m"),
        ("ar", "فهي طبيبة", "f"),
        ("ar", "هـو طبيب", "m"),
        ("ar", "بهو الفندق", ""),
        ("ar", "هيا بنا", ""),
        ("ar", "كالرجل وللمرأة", "mf"),
        ("ar", "والرَّجُل", "m"),
        ("ar", "امرأة", "f"),
        ("ar", "اخ", "m"),
        ("ar", "رجلان", ""),
        ("ja", "彼は医者です。", "m"),
        ("ja", "彼女は医者です。", "f"),
        ("ja", "彼女と彼", "mf"),
        ("ja", "彼らと彼女たち、彼氏。", ""),
        ("zh", "他是医生。", "m"),
        ("zh", "她是医生。", "f"),
        ("zh", "其他人和他们、她们。", ""),
        ("zh", "他們彈吉他", ""),
        ("hi", "मेरे पिता।", "m"),
        ("hi", "पिताजी, पितामह", ""),
        ("hi", "पिताा", ""),
        ("el", "ΑΥΤΌΣ", "m"),
        ("ko", "그 남자", "m"),
        ("ko", "그녀 는", "f"),
        ("ko", "그래", ""),
    ],
)
def test_words_are_found_by_the_rule_of_their_script(language, sentence, found):
    row = find_genders([sentence], language, LISTS[language]).iloc[0]
    assert "m" * int(row.male) + "f" * int(row.female) == found


def test_katakana_stands_apart():
    some = words(["アン"], ["サラ"])
    found = find_genders(["アンとサラ", "アンケート、サラダ", "アン・スミス", "コアン"], "ja", some)
    assert found.male.tolist() == [True, False, True, False] and found.female.tolist() == [True, False, False, False]


def test_a_word_of_neither_gender_takes_what_it_holds():
    found = find_genders(["他山之石", "他来了"], "zh", words(["他"], ["她"], none=["他来"]))
    assert found.male.tolist() == [False, False]


@given(st.lists(st.sampled_from(["彼", "彼女", "彼ら", "は", "アン"]), max_size=6))
def test_each_character_is_used_once(parts):
    row = find_genders(["|".join(parts)], "ja", LISTS["ja"]).iloc[0]
    assert (row.male, row.female) == ("彼" in parts, "彼女" in parts)


@pytest.mark.parametrize("language", [code for code in list_languages()["code"] if code != "en"])
def test_the_embedded_words_load(language):
    listed = read_retention_words(language)
    genders = set(listed.gender) & {"male", "female"}
    assert genders == (set() if language == "id" else {"male", "female"})
    # Each word is found in itself, by its own gender.
    found = find_genders(listed.word, language, listed)
    for gender in genders:
        assert found[gender].tolist() == listed.gender.eq(gender).tolist()


def test_words_that_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no embedded retention words for 'xx': known are those of ar, de, es, id"):
        read_retention_words("xx")
    path = tmp_path / "w.csv"
    path.write_text("language,gender,word\nde,man,er\n", encoding="utf-8")
    with pytest.raises(ValueError, match="unknown gender 'man'; use one of male, female, none"):
        read_retention_words("de", path)
    path.write_text("language,gender,word\nde,male,er\nde,female,er\n", encoding="utf-8")
    with pytest.raises(ValueError, match="'er' is given twice"):
        read_retention_words("de", path)
    with pytest.raises(ValueError, match="a code such as 'de', not 'German'"):
        find_genders([], "German", LISTS["de"])


# Retention


SENTENCES = pd.DataFrame(
    {
        "target": ["Er singt.", "Man singt.", "Sein Hut.", "Sie lacht.", "Man lacht.", "Er lacht mit ihr."],
        "gender": ["male", "male", "male", "female", "female", "female"],
    }
)


def test_retention_by_hand():
    frame = retention(SENTENCES, "de", words(["er", "sein"], ["sie", "ihr"], notes=["sein", "sie"]))
    assert frame[["gender", "n", "n_kept", "n_certain", "n_other"]].values.tolist() == [
        ["male", 3, 2, 1, 0],
        ["female", 3, 2, 1, 1],
        ["all", 6, 4, 2, 1],
    ]
    assert frame.share.tolist() == [2 / 3] * 3 and frame.share_certain.tolist() == [1 / 3] * 3
    interval = stats.binomtest(2, 3).proportion_ci(method="wilson")
    assert frame.loc[0, ["ci_low", "ci_high"]].tolist() == pytest.approx([interval.low, interval.high])
    assert frame.reason.eq("").all()


def test_retention_has_a_reason_where_it_has_no_value():
    frame = retention(SENTENCES[:3], "de-DE", words(["er"], []))
    assert frame.language.eq("de").all()
    assert frame.reason.tolist() == ["", "no female word", "no female word"]
    assert frame.share.isna().tolist() == [False, True, True] and math.isnan(frame.share_other[0])
    assert retention(SENTENCES[:3], "de", LISTS["de"]).reason.tolist() == ["", "no sentence", ""]
    assert retention(SENTENCES, "id").share.isna().all()
    # All female words are ambiguous: none is certain, which is not the same as none found.
    certain = retention(SENTENCES, "de", words(["er"], ["sie"], notes=["sie"]))
    assert certain.share_certain.isna().tolist() == [False, True, True]


def test_retention_refuses():
    with pytest.raises(ValueError, match="sentences must have the column gender"):
        retention(SENTENCES[["target"]], "de")
    with pytest.raises(ValueError, match="confidence"):
        retention(SENTENCES, "de", confidence=95)


def test_retention_on_real_translations(real_data):
    """Japanese pairs that differ in he and she: both sides of a pair hold pronouns of different gender."""
    path = real_data / "crows_pairs_translated/japanese.json"
    if not path.is_file():
        pytest.skip("no crows_pairs_translated in BIASLIB_DATA")
    pairs = pd.read_json(path)
    sides = [find_genders(pairs[side], "ja", LISTS["ja"]) for side in ("stereotype", "anti-stereotype")]
    one = pairs.stereotype.str.replace("彼女", "彼") == pairs["anti-stereotype"].str.replace("彼女", "彼")
    other = pairs.stereotype != pairs["anti-stereotype"]
    swapped = sides[0][one & other], sides[1][one & other]
    assert len(swapped[0]) > 20
    assert (swapped[0].female | swapped[1].female).all() and (swapped[0].male | swapped[1].male).all()
