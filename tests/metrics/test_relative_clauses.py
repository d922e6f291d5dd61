import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslib._files import DATA
from biaslib.io import read_names, read_texts, sentence_spans
from biaslib.io.tables import read_table
from biaslib.metrics import PRONOUNS, find_relatives, relative_clauses, word_forms

ANIMALS = read_names("animals")["name"].tolist()
LABELS = DATA / "relative_pronoun_labels.csv"
FOUND = [
    ("The mouse which the cat caught was small.", [("mouse", "which")]),
    ("The rabbits in the cage, which were hungry, ate.", [("rabbit", "which")]),
    ("The wolves that live in the forest howl.", [("wolf", "that")]),
    ("The sheep that were shorn looked thin.", [("sheep", "that")]),
    ("The mice, which ate the cheese, ran.", [("mouse", "which")]),
    ("The dog whose tail wagged slept.", [("dog", "whose")]),
    ("The horse on whose back he rode was old.", [("horse", "whose")]),
    ("The elephant whom the keepers called Rosa loved apples.", [("elephant", "whom")]),
    ("The birds, two of which were white, flew off.", [("bird", "which")]),
    ("It was the dog that bit him.", [("dog", "that")]),
    ("He knew that the dog that barked was his.", [("dog", "that")]),
    ("She fed the horse which stood by the gate and which she had known for years.", [("horse", "which")] * 2),
    ("A pair of horses that had never worn a saddle came.", [("horse", "that")]),
    ("One of the dogs who lived there barked.", [("dog", "who")]),
    ("The dog Rex, who sleeps on the bed, is old.", [("dog", "who")]),
    ("He has a dog called Rex, who sleeps on the bed.", [("dog", "who")]),
    ("The big Newfoundland, who had slept, woke.", [("newfoundland", "who")]),
    ("There is a cat in the library whom the readers call the Director.", [("cat", "whom")]),
    ("The molly that lives in the tank has eaten.", [("molly", "that")]),
    ("Humans who keep hens learn patience.", [("human", "who")]),
    ("He rode off on the HORSE WHO had thrown him.", [("horse", "who")]),
]
NOT_FOUND = [
    "He told the dog that it was late.",
    "He told the dog that the fox, a thief, was back.",
    "That dog barked at that cat.",
    "He loved his dog, and she knew that.",
    "The idea that dogs dream is old.",
    "The cat was so quick that nobody saw it.",
    "He was so fond of the horse that he slept in the stable.",
    "The man who owned the horse left.",
    "The driver of the horse, who was half asleep, dropped the reins.",
    "The dog's owner, who was kind, fed it.",
    "The field in which the horses graze is wet.",
    "Which dog was it, and whose cat is that?",
    "The lion did not know who had fed it, or which of us.",
    "I cannot bear that noise.",
    "The human mind, which is weak, forgets.",
    "The dog cart which he drove was old.",
    "The dog ran. Nobody who saw it spoke.",
]
PROPER = ["Molly, who was seven, fed the cow.", "They met Mr. Fox, whom they feared.", "He called to Robin, who came."]


def found_in(text, parser, names=ANIMALS, **options):
    return find_relatives([text], names, parser=parser, **options)


@pytest.mark.parametrize(("sentence", "expected"), FOUND)
def test_relatives_about_animals_are_found(parser, sentence, expected):
    frame = found_in(sentence, parser)
    assert list(zip(frame["name"], frame["pronoun"], strict=True)) == expected


@pytest.mark.parametrize("sentence", NOT_FOUND)
def test_other_sentences_have_none(parser, sentence):
    frame = found_in(sentence, parser)
    assert frame.empty, frame[["name", "pronoun"]].values.tolist()


@pytest.mark.parametrize("sentence", PROPER)
def test_proper_names_are_counted_and_given_when_asked_for(parser, sentence):
    frame = found_in(sentence, parser)
    assert frame.empty and frame.attrs["n_proper_names"] == 1
    frame = found_in(sentence, parser, proper_names=True)
    assert frame["proper_name"].tolist() == [True]
    assert frame.attrs["n_proper_names"] == 1


def test_columns_by_hand(parser):
    texts = ["No animal.", "“Sit,”  he said.\nThe dogs,\n who\tsat, ate.  It fed a cat  which slept."]
    frame = find_relatives(texts, ["cat", "dog", "pig"], parser=parser)
    columns = ["text_id", "sentence_id", "sentence", "name", "antecedent", "pronoun", "start", "end"]
    assert frame.columns.tolist() == [*columns, "kind", "proper_name", "offset"]
    assert frame.drop(columns="name").values.tolist() == [
        [1, 1, "The dogs, who sat, ate.", "dogs", "who", 10, 13, "human", False, 28],
        [1, 2, "It fed a cat which slept.", "cat", "which", 13, 18, "object", False, 57],
    ]
    assert frame["name"].tolist() == ["dog", "cat"]
    assert frame["name"].cat.categories.tolist() == ["cat", "dog", "pig"]
    expected = {"n_texts": 2, "n_characters": 79, "n_parsed": 2, "n_proper_names": 0, "n_too_long": 0}
    assert frame.attrs == expected


def test_nothing_found_has_the_same_columns_and_types(parser):
    full, empty = found_in("The dog that barked ate.", parser), find_relatives([], ANIMALS, parser=parser)
    assert list(empty.columns) == list(full.columns) and empty.empty
    assert empty.dtypes.astype(str).tolist() == full.dtypes.astype(str).tolist()
    assert empty.attrs["n_texts"] == 0


def test_a_stream_is_read_once_and_in_order(parser):
    def stream():
        for number in range(1_300):
            yield f"The dog that ate {number} bones slept." if number % 2 else "Nothing."

    frame = find_relatives(stream(), ["dog"], parser=parser)
    assert frame["text_id"].tolist() == list(range(1, 1_300, 2))
    assert frame["sentence"].iloc[-1] == "The dog that ate 1299 bones slept."


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from([s for s, _ in FOUND] + NOT_FOUND), max_size=6), st.sampled_from([" ", "\n", "\n\n"]))
def test_sentences_in_one_text_are_found_as_alone(parser, sentences, between):
    text = between.join(sentences)
    together = found_in(text, parser)
    alone = find_relatives(sentences, ANIMALS, parser=parser)
    keys = ["sentence", "name", "pronoun", "start", "end", "kind"]
    pd.testing.assert_frame_equal(together[keys], alone[keys])
    for row in together.itertuples():
        assert text[row.offset : row.offset + len(row.pronoun)].lower() == row.pronoun
        assert row.sentence[row.start : row.end].lower() == row.pronoun


def test_letters_that_change_length_in_lower_case_move_nothing(parser):
    text = "İİİİ. ẞ saw the dog who slept."
    frame = found_in(text, parser)
    assert text[frame.loc[0, "offset"] :].startswith("who")


def test_overlong_sentences_are_counted(parser):
    endless = "the dog that ran and " * 1_000
    frame = find_relatives([endless, "The dog that ran slept."], ["dog"], parser=parser)
    assert frame["text_id"].tolist() == [1] and frame.attrs["n_too_long"] == 1


@pytest.mark.parametrize(
    ("texts", "names", "error", "message"),
    [
        ("The dog.", ["dog"], TypeError, "texts must be a list of strings, not one string"),
        ([3], ["dog"], TypeError, "text 0 must be a string, not int"),
        (["A \ud800 dog that ran."], ["dog"], ValueError, "text 0 holds half a character"),
        (["x"], "dog", ValueError, "list of strings"),
        (["x"], ["guinea pig"], ValueError, "a single word of letters, not 'guinea pig'"),
        (["x"], ["dog", "dogs"], ValueError, "'dogs' stands for two names, dog and dogs"),
        (["x"], [], ValueError, "empty"),
    ],
)
def test_bad_input_is_named(parser, texts, names, error, message):
    with pytest.raises(error, match=message):
        find_relatives(texts, names, parser=parser)


def test_a_pipeline_without_parser_is_refused():
    spacy = pytest.importorskip("spacy")
    with pytest.raises(ValueError, match="has no dependency parser"):
        find_relatives([], ["dog"], parser=spacy.blank("en"))


def test_plurals():
    assert [form for form, name in word_forms(ANIMALS).items() if name == "buffalo"] == [
        "buffalo",
        "buffaloes",
        "buffalos",
    ]
    forms = word_forms(["wolf", "fly", "goose", "fox", "finch", "deer", "monkey", "human", "person"])
    plurals = ["wolves", "flies", "geese", "foxes", "finches", "monkeys", "humans", "people", "persons"]
    assert {form for form in forms if form != forms[form]} == set(plurals)
    assert word_forms(["Ox", "emu"], plurals={"emu": ["emu", "emus"]}) == {
        "ox": "Ox",
        "oxen": "Ox",
        "emu": "emu",
        "emus": "emu",
    }
    with pytest.raises(ValueError, match="not in names: cat"):
        word_forms(["dog"], plurals={"cat": "cats"})


def test_the_demo_text_is_read_as_it_was_written(parser):
    frame = find_relatives(read_texts(DATA / "animal_sentences.txt"), ANIMALS, parser=parser)
    assert set(frame["name"]) == set(ANIMALS)
    assert set(frame["pronoun"]) == set(PRONOUNS)
    # Written with 223 relative pronouns about animals, and with others about people and things.
    assert 221 <= len(frame) <= 223
    assert not frame["sentence"].isin(NOT_FOUND).any()
    assert (
        not frame["sentence"].str.contains(r"who trains|who fed|who live above|whom we had never met|bell that").any()
    )


def finding_quality(found, labels):
    """Return counts, precision and recall by kind of pronoun; what readers could not tell counts nowhere."""
    labels = labels[labels["note"] != "unclear"]
    joined = labels.merge(found, how="left", on=["file", "offset"], suffixes=("", "_found"))
    table = pd.DataFrame(
        {
            "kind": np.where(joined["pronoun"].isin(["that", "which"]), "object", "human"),
            "n_labelled": (joined["name"] != "") & (joined["note"] == ""),
            "n_found": joined["name_found"].notna(),
        }
    )
    # Where a pronoun refers to several names, either of them is right.
    names = zip(joined["name_found"], joined["name"], strict=True)
    table["n_correct"] = table["n_labelled"] & pd.Series([name in label.split("|") for name, label in names])
    counts = table.groupby("kind").sum()
    counts.loc["all"] = counts.sum()
    precision, recall = counts["n_correct"] / counts["n_found"], counts["n_correct"] / counts["n_labelled"]
    return counts.assign(precision=precision, recall=recall)


@pytest.fixture(scope="module")
def novels(real_data):
    texts = {}
    for path in sorted((real_data / "novels").glob("*.txt.gz")):
        with gzip.open(path, "rt", encoding="utf-8-sig") as file:
            texts[path.name.removesuffix(".txt.gz")] = file.read()
    return texts


def read_labels():
    labels = read_table(LABELS, needed=["sample", "part", "file", "offset", "pronoun", "name", "note"])
    return labels.astype({"offset": int})


def test_labels_are_well_formed():
    labels = read_labels()
    assert set(labels["note"]) == {"", "unclear", "proper name"} and set(labels["pronoun"]) == set(PRONOUNS)
    assert set(labels["name"].str.split("|").explode()) <= {"", *ANIMALS}
    assert set(labels["part"]) == {"tune", "report"} and set(labels["sample"]) == {"random", "near"}
    assert not labels.duplicated(["file", "offset"]).any()


def test_precision_and_recall_on_the_labelled_sentences_of_the_novels(novels, parser):
    labels = read_labels()
    places, sentences = [], []
    for row in labels.itertuples():
        text, begin = novels[row.file], max(0, row.offset - 5_000)
        assert text[row.offset : row.offset + len(row.pronoun)].lower() == row.pronoun
        around = text[begin : row.offset + 5_000]
        start, end = next(span for span in reversed(sentence_spans(around)) if span[0] <= row.offset - begin)
        if (row.file, begin + start) not in places:
            places.append((row.file, begin + start))
            sentences.append(around[start:end])
    assert len(sentences) == 400
    found = find_relatives(sentences, ANIMALS, parser=parser)
    begins = pd.DataFrame(places, columns=["file", "start_in_file"]).iloc[found["text_id"]].reset_index(drop=True)
    found = found.assign(file=begins["file"], offset=found["offset"] + begins["start_in_file"])
    merged = found.merge(labels[["file", "offset", "part"]], on=["file", "offset"])
    assert len(merged) == len(found)
    found = found[["file", "offset", "name"]]
    quality = {part: finding_quality(found, rows) for part, rows in labels.groupby("part")}
    report = quality["report"]
    assert report.loc["all", "n_labelled"] == 51
    # 48 of 51 found are right, and 48 of 51 are found; the study's own check of what it found: 47 of 50.
    assert report.loc["all", "precision"] >= 0.94 and report.loc["all", "recall"] >= 0.94
    assert report.loc["human", "recall"] == 1.0 and report.loc["human", "precision"] >= 0.95
    assert report.loc["object", "precision"] >= 0.92 and report.loc["object", "recall"] >= 0.89
    assert quality["tune"].loc["all", "precision"] >= 0.94 and quality["tune"].loc["all", "recall"] >= 0.88


def test_the_filter_loses_nothing_that_the_parser_finds(novels, parser):
    forms = word_forms(ANIMALS)
    rng = np.random.default_rng(5)
    names = [novels[file] for file in rng.choice(sorted(novels), 6, replace=False)]
    sentences = [text[start:end] for text in names for start, end in sentence_spans(text)]
    animal = relative_clauses._any_word_of(forms)
    with_animal = [sentence for sentence in sentences if animal.search(sentence.lower())][:400]
    chosen = with_animal + [sentences[n] for n in rng.choice(len(sentences), 200, replace=False)]
    everything = ((number, 0, sentence, 0) for number, sentence in enumerate(chosen))
    alone = [
        (candidate[0], pronoun.idx)
        for candidate, doc in relative_clauses._parsed(parser, everything)
        for pronoun, _ in relative_clauses.relatives_in(doc, forms)
    ]
    frame = find_relatives(chosen, ANIMALS, parser=parser, proper_names=True)
    assert len(alone) >= 5
    assert list(zip(frame["text_id"], frame["start"], strict=True)) == alone
    assert frame.attrs["n_parsed"] < len(chosen) / 2
