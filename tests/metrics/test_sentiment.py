import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslib import metrics
from biaslib.metrics import sentiment, sentiment_shares, word_sentiment


def by_word(words):
    return word_sentiment(words).set_index("word")


def test_the_paper_s_example():
    frame = by_word(["killed", "slaughtered"])
    assert frame["sentiment"].to_dict() == {"killed": "negative", "slaughtered": "neutral"}
    assert frame.loc["killed", "compound"] == -0.6705
    assert frame.loc["slaughtered", "compound"] == 0


@pytest.mark.parametrize("word", ["bad", "Ġbad", "▁bad"])
def test_the_start_mark_is_not_read(word):
    frame = word_sentiment([word])
    assert list(frame.columns) == ["word", "text", "compound", "sentiment", "reason"]
    assert frame.loc[0].tolist() == [word, "bad", -0.5423, "negative", ""]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("##bad", "word piece"),
        ("##.", "word piece"),
        ("[MASK]", "special token"),
        ("[unused3]", "special token"),
        ("<s>", "special token"),
        ("<|endoftext|>", "special token"),
        (":", "no letter"),
        (":)", "no letter"),
        ("1984", "no letter"),
        ("", "no letter"),
        ("Ġ", "no letter"),
        ("a\ufffd", "part of a character"),
    ],
)
def test_what_is_no_word_has_a_reason_and_no_score(word, reason):
    row = word_sentiment([word]).loc[0]
    assert row["reason"] == reason
    assert np.isnan(row["compound"]) and row["sentiment"] == ""


@pytest.mark.parametrize(
    ("compound", "expected"),
    [(-0.05, "negative"), (-0.0499, "neutral"), (0.0, "neutral"), (0.0499, "neutral"), (0.05, "positive")],
)
def test_thresholds_are_inclusive(monkeypatch, compound, expected):
    class Fixed:
        def polarity_scores(self, text):
            return {"compound": compound}

    monkeypatch.setattr(sentiment, "_analyzer", Fixed)
    assert word_sentiment(["word"]).loc[0, "sentiment"] == expected


def test_each_text_is_scored_once(monkeypatch):
    scored = []

    class Counting:
        def polarity_scores(self, text):
            scored.append(text)
            return {"compound": 0.0}

    analyzer = Counting()
    monkeypatch.setattr(sentiment, "_analyzer", lambda: analyzer)
    assert len(word_sentiment(["a", "b", "a", "##b", "a"])) == 5
    assert scored == ["a", "b"]


@given(st.lists(st.sampled_from(["killed", "happy", "Ġtable", "##x", ":", "[PAD]"]), max_size=12))
def test_a_row_a_word_in_order(words):
    frame = word_sentiment(words)
    assert frame["word"].tolist() == words
    assert (frame["reason"] == "").eq(frame["compound"].notna()).all()
    for word, rows in frame.groupby("word"):
        assert rows["sentiment"].tolist() == word_sentiment([word])["sentiment"].tolist() * len(rows)


@pytest.mark.parametrize(("words", "message"), [("bad", "not one string"), ([None], "has None"), ([1.0], "has 1.0")])
def test_words_have_to_be_texts(words, message):
    with pytest.raises(ValueError, match=message):
        word_sentiment(words)


KEPT = pd.DataFrame(
    [
        ("pig", "killed", 2.0, True),
        ("pig", "table", 1.0, True),
        ("pig", "##olate", 1.0, True),
        ("pig", "happy", -2.0, True),
        ("pig", "happy", 3.0, False),
        ("cow", "killed", 1.0, True),
        ("cow", ":", -1.0, True),
        ("dog", "kind", -1.0, True),
    ],
    columns=["name", "word", "log_ratio", "kept"],
)


def test_shares_by_name():
    frame = sentiment_shares(KEPT)
    assert list(frame.columns) == ["name", "sentences", "sentiment", "n", "share", "n_left_out"]
    assert len(frame) == 3 * 2 * 3
    found = frame.set_index(["name", "sentences", "sentiment"])
    assert found.loc[("pig", "object", "negative")].tolist() == [1, 0.5, 1]
    assert found.loc[("pig", "object", "neutral")].tolist() == [1, 0.5, 1]
    assert found.loc[("pig", "object", "positive")].tolist() == [0, 0, 1]
    assert found.loc[("pig", "human", "positive")].tolist() == [1, 1, 0]
    nothing = found.loc[[("cow", "human", s) for s in metrics.SENTIMENTS]]
    assert nothing["share"].isna().all() and nothing["n_left_out"].tolist() == [1, 1, 1]


def test_shares_by_group_count_a_word_for_each_name():
    frame = sentiment_shares(KEPT, {"pig": "farm", "cow": "farm", "dog": "companion"})
    found = frame.set_index(["group", "sentences", "sentiment"])
    assert found.loc[("farm", "object", "negative"), ["n", "share"]].tolist() == [2, pytest.approx(2 / 3)]
    assert found.loc[("companion", "human", "positive"), "n"] == 1
    by_name = sentiment_shares(KEPT)
    assert frame["n"].sum() == by_name["n"].sum() == 5
    left_out = frame.drop_duplicates(["group", "sentences"])["n_left_out"].sum()
    assert left_out + 5 == KEPT["kept"].sum()


def test_a_name_without_kept_word_has_its_rows():
    name = pd.Categorical(KEPT["name"], categories=["pig", "cow", "dog", "owl"])
    frame = sentiment_shares(KEPT.assign(name=name))
    owl = frame[frame["name"] == "owl"]
    assert len(owl) == 6 and owl["n"].sum() == 0 and owl["share"].isna().all()


def test_a_name_without_group_is_named():
    with pytest.raises(ValueError, match="no group for cow, dog"):
        sentiment_shares(KEPT, {"pig": "farm"})
