"""Which sentences are about men and about women: whole words of one gender alone count."""

import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslib.io import read_gender_words, read_parallel
from biaslib.metrics import balance, count_labels, gender_sentences, label_gender, usable, word_sentences
from biaslib.metrics.gendered_sentences import REASONS

MALE = ["he", "him", "his", "man", "men", "shepherd", "boys", "James", "father-in-law", "fire chief", "mr.", "José"]
FEMALE = ["she", "her", "hers", "woman", "women", "mother", "ma'am", "Mary", "lady in waiting", "mrs."]


def genders(*sentences, male=MALE, female=FEMALE):
    frame = label_gender(sentences, list(map(str, range(len(sentences)))), male_words=male, female_words=female)
    return frame.gender.where(frame.reason == "", frame.reason).tolist()


def only_gender(sentence):
    (gender,) = genders(sentence)
    return {"no gender word": "", "words of both genders": "both"}.get(gender, gender)


@pytest.mark.parametrize(
    ("sentence", "gender"),
    [
        ("He sings.", "male"),
        ("HE SINGS", "male"),
        ("The weather is fine.", ""),
        ("She saw him.", "both"),
        # Parts of words, and Unicode letters around.
        ("The other menu.", ""),
        ("Hé, chez Rhe.", ""),
        ("José sang.", "male"),
        ("Jose\u0301 sang.", "male"),
        ("He\u0301 sang.", ""),
        ("the_he_file he2", ""),
        ("“He”—and… ‘he’", "male"),
        ("he\u2028she", "both"),
        # Possessives and contractions, with either apostrophe, and as tokenizers leave them.
        ("the shepherd's herd", ""),
        ("the shepherd’s herd", ""),
        ("the shepherd &apos;s herd", ""),
        ("the shepherd &#39;s herd", ""),
        ("the shepherd ' s herd", ""),
        ("the shepherd 's", ""),
        ("the boys' toys", ""),
        ("the boys &apos; toys", ""),
        ("the boys’", ""),
        ("the shepherd' he", "male"),
        ("'the shepherd' is gone", "male"),
        ("he's here", "male"),
        ("she &apos;s here", "female"),
        ("the mother'd say", "female"),
        ("the mother &apos;ll say", "female"),
        ("he'd've gone", "male"),
        ("'it is hers'", "female"),
        ("Yes, ma’am.", "female"),
        ("ma'am's hat", ""),
        # Hyphens, dashes, slashes.
        ("man-made", ""),
        ("a he-man", ""),
        ("his father-in-law's", "male"),
        ("my father-in-law", "male"),
        ("my father‑in‑law", "male"),
        ("my father in law", ""),
        ("my father @-@ in @-@ law", "male"),
        ("man @-@ made", ""),
        ("he--she", "both"),
        ("he – she", "both"),
        ("so\u00adhe sang", ""),
        ("h\u00ade sang", "male"),
        ("he/she", "both"),
        ("s/he sings", "both"),
        ("(s)he sings", "both"),
        ("a (wo)man", "both"),
        # Lists with phrases, dots and capitals.
        ("the fire chief", "male"),
        ("the fire chief's hat", ""),
        ("a lady in waiting", "female"),
        ("a lady in her", "female"),
        ("Mr Hume and Mr. Smith", "male"),
        ("mary sang", "female"),
        ("R&D &copy; &nosuch; he", "male"),
    ],
)
def test_whole_words_alone_count(sentence, gender):
    assert only_gender(sentence) == gender


def test_the_word_is_the_first_as_listed():
    frame = gender_sentences(["A MAN and his dog.", "MARY!"], ["1", "2"], male_words=MALE, female_words=FEMALE)
    assert frame[["gender", "word"]].values.tolist() == [["male", "man"], ["female", "Mary"]]
    assert frame.columns.tolist() == ["line", "english", "target", "gender", "word"]


def test_every_pair_has_its_reason():
    english = ["He ran.", "", "He ran.", "He left.", "It rains.", "He saw her.", "He ate.", "She ate.", " ", "He\tate"]
    target = ["Er lief.", "x", "", "Er  lief. ", "Es regnet.", "y", "Aß.", "Aß.", "", "&quot;z&quot;"]
    frame = label_gender(english, target, male_words=MALE, female_words=FEMALE)
    assert frame.reason.tolist() == [
        "",
        "no English text",
        "no target text",
        "repeated target sentence",
        "no gender word",
        "words of both genders",
        "target sentence of both genders",
        "target sentence of both genders",
        "no English text",
        "",
    ]
    assert frame.line.tolist() == list(range(1, 11)) and frame.target.iloc[-1] == '"z"'
    counts = count_labels(frame).set_index("outcome").n
    assert counts["taken: male"] == 2 and counts["taken: female"] == 0
    assert counts["all pairs"] == 10 == counts.drop("all pairs").sum()
    assert set(REASONS) < set(counts.index)


def test_lines_go_back_to_the_file(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("english\tde\nIt rains.\tx\nHe ran.\ty\n")
    frame = read_parallel(path)
    taken_from = gender_sentences(frame.english, frame.target, male_words=MALE, female_words=FEMALE)
    assert taken_from.line.tolist() == [3]


@given(st.randoms(use_true_random=False))
def test_order_moves_no_label(rng):
    rows = [("He ran.", "a"), ("She ran.", "a"), ("She ate.", "b"), ("It ate.", "c"), ("Her hat.", "d"), ("him", "e")]

    def found(rows):
        return set(
            map(
                tuple,
                gender_sentences(*zip(*rows, strict=True), male_words=MALE, female_words=FEMALE)[
                    ["english", "target", "gender"]
                ].values,
            )
        )

    assert (
        found(rows)
        == found(rng.sample(rows, len(rows)))
        == {("She ate.", "b", "female"), ("Her hat.", "d", "female"), ("him", "e", "male")}
    )


def test_lists_that_are_refused():
    for male, female, says in (
        (["he", "her"], ["HER"], "'HER' is in both lists"),
        ([], ["she"], "there is no male word"),
        (["he"], ["--"], "'--' has no letter"),
    ):
        with pytest.raises(ValueError, match=says):
            label_gender(["x"], ["y"], male_words=male, female_words=female)
    with pytest.raises(ValueError, match="english and target must have the same length, not 1 and 2"):
        label_gender(["x"], ["y", "z"], male_words=MALE, female_words=FEMALE)
    with pytest.raises(TypeError, match="entry 0 of english must be a string, not None"):
        label_gender([None], ["y"], male_words=MALE, female_words=FEMALE)


def test_sides_are_made_equal_by_the_seed():
    frame = pd.DataFrame({"gender": ["male"] * 9 + ["female"] * 4, "target": list("abcdefghijklm")})
    some = balance(frame, 1)
    assert some.gender.value_counts().to_dict() == {"male": 4, "female": 4}
    assert some.target.is_monotonic_increasing and set(some.target) >= set("jklm")
    pd.testing.assert_frame_equal(some, balance(frame, 1))
    assert any(set(balance(frame, seed).target) != set(some.target) for seed in range(2, 9))
    assert balance(frame[:9]).empty
    counts = count_labels(frame.assign(reason=""), some).set_index("outcome").n
    assert counts["left out to make both genders equal"] == 5 and counts["all pairs"] == 13
    with pytest.raises(ValueError, match="gender must be male or female in every row, not ''"):
        balance(pd.DataFrame({"gender": ["male", ""]}))


def test_the_embedded_pairs():
    frame = read_parallel("parallel_en_de")
    assert len(frame) > 350 and frame.ne("").all(axis=None)
    words = read_gender_words().groupby("gender").word.agg(list)
    labelled = label_gender(frame.english, frame.target, male_words=words.male, female_words=words.female)
    counts = count_labels(labelled).set_index("outcome").n
    assert min(counts["taken: male"], counts["taken: female"]) > 80
    assert counts["words of both genders"] > 0 and counts["no gender word"] > 100


def test_ten_thousand_real_pairs(real_data):
    folder = real_data / "parallel_en_de"
    if not folder.is_dir():
        pytest.skip("no parallel_en_de in BIASLIB_DATA")
    frame = read_parallel(folder)
    assert frame.shape == (10_000, 2)
    lists = real_data / "gender_words"
    words = read_gender_words(lists / "male_word_file.txt", lists / "female_word_file.txt")
    by = words.groupby("gender").word.agg(list)
    labelled = label_gender(frame.english, frame.target, male_words=by.male, female_words=by.female)
    counts = count_labels(labelled).set_index("outcome").n
    assert counts.drop("all pairs").sum() == 10_000 and counts["taken: male"] > 500 and counts["taken: female"] > 150
    assert not labelled.english.str.contains("&apos;").any()
    # Against a plain search for the commonest words in text without apostrophes or hyphens.
    plain = frame[~frame.english.str.contains(r"[&'’\-(/]")]
    for word, gender in (("he", "male"), ("she", "female"), ("women", "female")):
        expected = plain.index[plain.english.str.contains(rf"\b{word}\b", flags=re.IGNORECASE)]
        rows = labelled.set_index("line").loc[expected]
        assert len(rows) and (rows.gender.eq(gender) | rows.reason.eq("words of both genders")).all()
    sample = balance(usable(labelled), 0)
    pd.testing.assert_frame_equal(sample, balance(usable(labelled), 0))
    shuffled = frame.sample(frac=1, random_state=0)
    again = label_gender(shuffled.english, shuffled.target, male_words=by.male, female_words=by.female)
    pd.testing.assert_frame_equal(
        again.sort_values("line", ignore_index=True)[["gender", "word"]], labelled[["gender", "word"]]
    )


def test_sentences_of_words_alone_and_in_a_template():
    rows = [("male", "king", "role"), ("female", "she", "pronoun"), ("female", "Anna", "name")]
    words = pd.DataFrame(rows, columns=["gender", "word", "kind"])
    assert word_sentences(words)["target"].tolist() == ["king", "she", "Anna"]
    frame = word_sentences(words, "We saw {word}.")
    assert frame["english"].tolist() == frame["target"].tolist() == ["We saw the king.", "We saw Anna."]
    assert frame[["gender", "word"]].values.tolist() == [["male", "king"], ["female", "Anna"]]
