import json
import shutil
import sys
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import tiny_models
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslib.io import Documents, documents_of, read_conll, read_gap, select_documents
from biaslib.metrics import conll_scores, gap_scores
from biaslib.scoring import load_masked_lm, load_parser
from biaslib.training import (
    Resolver,
    _pieces,
    documents_of_texts,
    head_words,
    load_resolver,
    resolve,
    resolve_gap,
    resolver,
    train_resolver,
)
from biaslib.training.predictions import RESOLVED_COLUMNS

pytest.importorskip("stanza")
pytest.importorskip("spacy")


@pytest.fixture(scope="module")
def fast():
    """Give the options of a training that is quick: the parser is loaded once."""
    return {"epochs": 1, "hidden_size": 16, "parser": load_parser()}


def documents_with(words, mentions, sentence_length=None):
    """Make one document of words, all of one sentence unless told, and its mentions (cluster, start, end)."""
    length = sentence_length or len(words)
    rows = [("x", 0, n // length, n, word, "-") for n, word in enumerate(words)]
    return documents_of(rows, [("x", 0, c, s, e, " ".join(words[s:e])) for c, s, e in mentions])


@pytest.fixture(scope="module")
def two_documents():
    return select_documents(read_conll(), ["sample/stories/0008", "sample/talks/0009"])


@pytest.fixture(scope="module")
def trained(two_documents, fast, tmp_path_factory):
    """Train the demo model on two documents, and keep what it predicts before it is saved."""
    before = {}
    saved = resolver._save

    def save(model, folder, about):
        before["resolver"] = resolve(Resolver(folder, 1_000, about, model), two_documents)
        saved(model, folder, about)

    lm = load_masked_lm("demo", device="cpu")
    fingerprint = lm.fingerprint
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resolver, "_save", save)
        options = fast | {"epochs": 40, "hidden_size": 128, "learning_rate": 2e-3, "encoder_learning_rate": 3e-4}
        out = train_resolver(lm, two_documents, out=tmp_path_factory.mktemp("r") / "a" / "b", **options)
    assert load_masked_lm((lm.model, lm.tokenizer)).fingerprint == fingerprint and not lm.model.training
    return SimpleNamespace(folder=out, before=before["resolver"])


# Head words


def test_every_mention_has_a_head_word_of_its_own(fast):
    documents = read_conll()
    headed = head_words(documents, parser=fast["parser"])
    assert headed.drop(columns="head").equals(documents.clusters)
    assert headed["head"].notna().all() and not headed.duplicated(["document", "part", "head"]).any()
    assert (headed["head"] >= headed["start"]).all() and (headed["head"] < headed["end"]).all()
    words = documents.words.set_index(["document", "part", "position"])["word"]
    heads = {row.text: words[row.document, row.part, row.head] for row in headed.itertuples()}
    expected = {"The mother of the boy": "mother", "the boy": "boy", "Anna and Piet": "and", "Anna": "Anna"}
    expected |= {"Ida Moss , who has worked there since 1971": "Moss", "the gate of the school": "gate"}
    assert {text: heads[text] for text in expected} == expected


def test_mentions_that_share_their_head_get_another_and_without_a_free_word_none(fast):
    words, parser = ["The", "old", "house", "burned", "."], {"parser": fast["parser"]}
    headed = head_words(
        documents_with(words, [(1, 0, 3), (2, 1, 3), (3, 2, 3), (4, 0, 1), (5, 0, 2), (6, 1, 2)]), **parser
    )
    assert headed["head"].fillna(-1).tolist() == [-1, -1, 2, 0, -1, 1]
    headed = head_words(documents_with(words, [(1, 0, 3), (2, 2, 3)]), **parser)
    assert headed["head"].tolist()[1] == 2 and headed["head"].tolist()[0] in (0, 1)


def test_rows_in_any_order_get_the_same_heads(fast, two_documents):
    documents = two_documents
    moved = documents.clusters.sample(frac=1, random_state=0)
    keys = ["document", "part", "start", "end"]
    one, other = (
        head_words(Documents(documents.words, c)).set_index(keys)["head"] for c in (documents.clusters, moved)
    )
    assert one.sort_index().equals(other.sort_index())


# Training


def test_a_trained_resolver_fits_and_predicts_the_same_when_reloaded_elsewhere(trained, two_documents, tmp_path):
    moved = shutil.copytree(trained.folder, tmp_path / "moved")
    resolver = load_resolver(moved, device="cpu")
    predicted = resolve(resolver, two_documents)
    assert predicted.columns.tolist() == RESOLVED_COLUMNS
    assert predicted.equals(trained.before)
    assert conll_scores(two_documents, predicted).f1 > 95
    assert resolve(resolver, two_documents).equals(predicted)


def test_a_folder_may_have_any_name(trained, tiny, two_documents, tmp_path, fast):
    # stanza runs what has "t5" in its name as a T5.
    moved = shutil.copytree(trained.folder, tmp_path / "draft5")
    assert resolve(load_resolver(moved, device="cpu"), two_documents).equals(trained.before)
    assert train_resolver(tiny("bert_cased"), two_documents, out=moved, **fast) == moved


def test_the_folder_says_how_it_was_made(trained):
    about = json.loads((trained.folder / "resolver.json").read_text())
    assert about["encoder"] == "demo" and about["n_documents"] == 2 and about["n_pieces"] == 2
    assert len(about["losses"]) == about["epochs"] == 40 and about["losses"][-1] < about["losses"][0] / 5
    assert about["mentions_left_out"] == {"no free head word": 0, "alone in a piece or across its end": 0}
    assert about["versions"]["stanza"].startswith("1.15")
    assert {path.name for path in trained.folder.iterdir()} == {"encoder", "layers.safetensors", "resolver.json"}
    assert not [path for path in trained.folder.parent.iterdir() if path != trained.folder]


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_every_family_trains_and_predicts_mentions_of_the_documents(tiny, family, two_documents, tmp_path, fast):
    out = train_resolver(tiny(family), two_documents, out=tmp_path / "out", **fast)
    resolver = load_resolver(out, device="cpu")
    words = documents_with(["She", "saw", "the", "dog"], []).words
    (piece,) = _pieces.cut_documents(resolver.model.tokenizer, words, 64, 1_000, 0)
    assert piece.content["subwords"] == tiny(family).tokenizer.tokenize(" She saw the dog")
    predicted = resolve(resolver, read_conll())
    assert len(predicted) > 0 and predicted.groupby(["document", "part", "cluster"]).size().min() > 1
    assert not predicted.duplicated(["document", "part", "start", "end"]).any()
    words = dict(iter(read_conll().words.groupby(["document", "part"])["word"].agg(list).items()))
    for row in predicted.itertuples():
        assert row.start <= row.head < row.end
        assert row.text == " ".join(words[row.document, row.part][row.start : row.end])


def test_the_seed_decides(tiny, two_documents, tmp_path, fast):
    def losses(seed):
        out = train_resolver(tiny("bert_cased"), two_documents, out=tmp_path / "out", seed=seed, **fast)
        return load_resolver(out, device="cpu").about["losses"]

    assert losses(1) == losses(1) != losses(2)


@pytest.mark.filterwarnings("ignore:the loaded model")
def test_a_half_precision_model_is_trained_in_float32(two_documents, tmp_path, fast):
    from safetensors.torch import load_file

    model, tokenizer = tiny_models.build("bert_cased")
    lm = load_masked_lm((model.half(), tokenizer))
    out = train_resolver(lm, two_documents, out=tmp_path / "out", **fast)
    kept = load_file(out / "encoder" / "model.safetensors")
    assert {str(tensor.dtype) for tensor in kept.values()} == {"torch.float32"}
    assert lm.model.dtype == model.dtype and str(model.dtype) == "torch.float16"
    assert len(resolve(load_resolver(out, device="cpu"), two_documents)) > 0


def test_mentions_that_cannot_be_learned_are_counted(tiny, tmp_path, fast):
    words = ["He", "saw", "her", ".", "She", "saw", "him", "."] * 2
    mentions = [(1, 0, 1), (1, 6, 7), (2, 2, 3), (2, 4, 5), (3, 8, 9), (3, 14, 15), (4, 10, 13), (4, 7, 8)]
    documents = documents_with(words, mentions, sentence_length=4)
    out = train_resolver(tiny("bert_cased"), documents, out=tmp_path / "out", max_words=8, **fast)
    about = json.loads((out / "resolver.json").read_text())
    # Two pieces of two sentences; of cluster 4, one mention runs across sentences, which leaves the other alone.
    assert about["n_pieces"] == 2
    assert about["mentions_left_out"] == {"no free head word": 0, "alone in a piece or across its end": 2}


def test_a_piece_may_hold_no_mention(tiny, tmp_path, fast):
    words = ["He", "saw", "him", ".", "Good", "night", "to", "you"]
    documents = documents_with(words, [(1, 0, 1), (1, 2, 3)], sentence_length=4)
    for taken, max_words in ((documents, 4), (read_conll(), 7)):
        out = train_resolver(tiny("bert_cased"), taken, out=tmp_path / "out", max_words=max_words, **fast)
        assert load_resolver(out, device="cpu").max_words == max_words


def test_odd_words_and_long_sentences_are_taken(tiny, tmp_path, two_documents, fast):
    out = train_resolver(tiny("bert_cased"), two_documents, out=tmp_path / "out", **fast)
    resolver = load_resolver(out, device="cpu")
    words = ["[SEP]", "[PAD]", "☃", "\u200b", "-LRB-", "x" * 300, "He"] + ["dog", "saw", "her"] * 60
    for max_words in (1_000, 7):
        predicted = resolve(replace(resolver, max_words=max_words), documents_with(words, []))
        assert predicted["end"].max() <= len(words)
    # One word is a document, too.
    assert resolve(resolver, documents_with(["He"], [])).empty


def test_an_earlier_resolver_is_replaced_and_nothing_else(tiny, two_documents, tmp_path, fast):
    lm, out = tiny("bert_cased"), tmp_path / "out"
    train_resolver(lm, two_documents, out=out, **fast)
    train_resolver(lm, two_documents, out=out, **fast | {"epochs": 2})
    assert load_resolver(out, device="cpu").about["epochs"] == 2
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("dear")
    for folder, message in ((tmp_path / "mine", "is not a resolver"), (tmp_path / "mine" / "thesis.txt", "is a file")):
        with pytest.raises(ValueError, match=message):
            train_resolver(lm, two_documents, out=folder, **fast)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "dear"
    shutil.copy(tmp_path / "mine" / "thesis.txt", out)
    with pytest.raises(ValueError, match=r"is not a resolver, it holds thesis\.txt"):
        train_resolver(lm, two_documents, out=out, **fast)
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "resolver.json").write_text("{}")
    with pytest.raises(ValueError, match=r"is not a resolver, it lacks encoder, layers\.safetensors"):
        train_resolver(lm, two_documents, out=tmp_path / "else", **fast)


def test_what_killed_trainings_left_is_removed_and_nothing_else(tiny, two_documents, tmp_path, fast):
    for name in (".out-killed00", ".out-running0", ".out-original"):
        (tmp_path / name).mkdir()
    (tmp_path / ".out-killed00" / "training.lock").touch()
    with FileLock(tmp_path / ".out-running0" / "training.lock"):
        train_resolver(tiny("bert_cased"), two_documents, out=tmp_path / "out", **fast)
    assert {path.name for path in tmp_path.iterdir()} == {"out", ".out-running0", ".out-original"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": "x"}, "seed must be a whole number of at least 0, not 'x'"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, not 0"),
        ({"max_words": 1.5}, "max_words must be a whole number"),
        ({"hidden_size": 0}, "hidden_size must be a whole number"),
        ({"learning_rate": -1}, "learning_rate must be a finite number at least 0 and below 1, not -1"),
        ({"encoder_learning_rate": "1e-5"}, "encoder_learning_rate must be .* not '1e-5'"),
        ({"documents": documents_with(["He", "ran"], [(1, 0, 1)])}, "there is nothing to learn"),
    ],
)
def test_training_refuses(tiny, two_documents, tmp_path, change, message, fast):
    arguments = {"documents": two_documents, "out": tmp_path / "out", **fast} | change
    with pytest.raises(ValueError, match=message):
        train_resolver(tiny("bert_cased"), **arguments)
    assert not (tmp_path / "out").exists()


def test_what_is_not_there_is_said(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="no resolver in"):
        load_resolver(tmp_path)
    monkeypatch.setitem(sys.modules, "stanza.models.coref.model", None)
    (tmp_path / "resolver.json").write_text("{}")
    with pytest.raises(ModuleNotFoundError, match=r"stanza cannot be imported .*biaslib\[coref,units\]") as error:
        load_resolver(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "name", ["encoder/tokenizer.json", "encoder/config.json", "encoder/model.safetensors", "layers.safetensors"]
)
def test_a_lost_or_broken_file_is_named(trained, tmp_path, name):
    folder = shutil.copytree(trained.folder, tmp_path / "copied")
    (folder / name).write_bytes((folder / name).read_bytes()[:99])
    with pytest.raises(ValueError, match=r"cannot load the resolver in '.*copied'") as broken:
        load_resolver(folder)
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"the resolver in '.*copied' lacks {name}") as lost:
        load_resolver(folder)
    assert "\n" not in str(broken.value) + str(lost.value)


@pytest.mark.parametrize("text", ["{}", '{"settings": '])
def test_a_broken_description_is_said(tmp_path, text):
    (tmp_path / "resolver.json").write_text(text)
    with pytest.raises(ValueError, match="cannot load the resolver in"):
        load_resolver(tmp_path)


# Predictions, by a model that links every word to those spelled alike, and each to a span around it


@cache
def tokenizer():
    return tiny_models.build("bert_cased")[1]


class Alike:
    """Stands for stanza's model: words alike are linked, and the mention is the word with `around` words before it."""

    def __init__(self, around=0):
        self.tokenizer = tokenizer()
        self.config = SimpleNamespace(bert_window_size=64)
        self.around, self.pieces = around, []

    def run(self, content):
        words = content["cased_words"]
        self.pieces.append(words)
        places = {word: [n for n, other in enumerate(words) if other == word] for word in words if word[0].isupper()}
        clusters = [found for found in places.values() if len(found) > 1]
        spans = [[(max(0, n - self.around), n + 1) for n in cluster] for cluster in clusters]
        return SimpleNamespace(word_clusters=clusters, span_clusters=spans)


def alike(max_words=1_000, around=0, window=64):
    return Resolver(Path("x"), max_words, {"settings": {"bert_window_size": window}}, Alike(around))


def spans(predicted):
    return predicted.groupby("cluster")["start"].agg(list).tolist()


def test_clusters_of_overlapping_pieces_are_one():
    words = [*"Abcdefgh", "A", *"ijklmno", "A", *"pqrs", "B", *"tuvw", "B"]
    documents = documents_with(words, [], sentence_length=2)
    assert spans(resolve(alike(), documents)) == [[0, 8, 16], [21, 26]]
    split = alike(max_words=16)
    assert spans(resolve(split, documents)) == [[0, 8], [21, 26]]
    # Whole sentences, at most 16 words, of which each piece shares 4 with the one before.
    assert split.model.pieces == [words[:16], words[12:]]
    shared = documents_with([*words[:13], "A", *words[14:]], [], sentence_length=2)
    assert spans(resolve(split, shared)) == [[0, 8, 13, 16], [21, 26]]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 20))
def test_pieces_cover_all_words_and_break_at_sentences(lengths, max_words):
    sentences = [number for number, length in enumerate(lengths) for _ in range(length)]
    words = [("x", 0, sentence, n, f"w{n}", "-") for n, sentence in enumerate(sentences)]
    resolver = alike(max_words=max_words)
    resolve(resolver, documents_of(words))
    pieces = [[int(word[1:]) for word in piece] for piece in resolver.model.pieces]
    assert sorted({n for piece in pieces for n in piece}) == list(range(len(words)))
    assert all(piece == list(range(piece[0], piece[-1] + 1)) and len(piece) <= max_words for piece in pieces)
    assert all(one[-1] < other[-1] and one[0] < other[0] <= one[-1] + 1 for one, other in pairwise(pieces))
    if max(lengths) <= max_words:
        edges = [edge for piece in pieces for edge in (piece[0], piece[-1] + 1)]
        assert all(edge in (0, len(words)) or sentences[edge] != sentences[edge - 1] for edge in edges)


def test_a_sentence_beyond_the_limit_is_split_between_words():
    resolver = alike(max_words=5)
    assert spans(resolve(resolver, documents_with(list("AbAcdeAfgA"), []))) == [[0, 2], [6, 9]]
    assert resolver.model.pieces == [list("AbAcd"), list("eAfgA")]


def test_a_span_predicted_twice_counts_once():
    documents = documents_with(["A", "B", "c", "A", "B"], [])
    # With one word around, B's spans are those of A and B, and A's first is A alone.
    predicted = resolve(alike(around=1), documents)
    assert predicted[["cluster", "start", "end"]].values.tolist() == [[0, 0, 1], [0, 2, 4], [1, 0, 2], [1, 3, 5]]
    assert resolve(alike(around=9), documents)[["start", "end"]].values.tolist() == [[0, 1], [0, 4], [0, 2], [0, 5]]


def test_parts_and_documents_stay_apart_and_keep_their_order():
    words = [(name, part, 0, n, "A", "-") for name, part in (("b", 1), ("a", 0), ("b", 0)) for n in range(2)]
    predicted = resolve(alike(), documents_of(words))
    assert predicted[["document", "part", "cluster"]].drop_duplicates().values.tolist() == [
        ["b", 1, 0],
        ["a", 0, 0],
        ["b", 0, 0],
    ]
    assert resolve(alike(), documents_of([])).columns.tolist() == RESOLVED_COLUMNS


def gap_row(text, pronoun, a, b, **change):
    places = {"Pronoun-offset": text.rindex(pronoun), "A-offset": text.index(a), "B-offset": text.index(b)}
    return (
        {"ID": "r", "Text": text, "Pronoun": pronoun, "A": a, "B": b, "A-coref": False, "B-coref": False}
        | places
        | change
    )


def test_gaps_names_are_matched_by_the_words_they_overlap(fast):
    # Words alike corefer: She and She, so that a "name" She is the pronoun's.
    texts = [
        gap_row("She saw Ann  and She ran.", "She", "She", "Ann", **{"A-offset": 0}),
        gap_row("Old She saw Anna-Lee and then She ran off.", "She", "Anna", "Old She"),
        gap_row("Kim saw Lee. Then Lee slept and he ran.", "he", "Kim", "Lee"),
    ]
    gap = pd.DataFrame(texts).assign(ID=["r1", "r2", "r3"])
    answers = resolve_gap(alike(), gap, parser=fast["parser"])
    assert answers["ID"].tolist() == ["r1", "r2", "r3"] and answers["reason"].eq("").all()
    assert answers[["A-coref", "B-coref"]].values.tolist() == [[True, False], [False, True], [False, False]]
    assert answers["cluster_pronoun"].tolist() == [0, 0, pd.NA] and answers["cluster_b"].tolist() == [pd.NA, 0, 0]
    assert answers.loc[0, "inexact"] == "" == answers.loc[2, "inexact"]


def test_a_name_within_a_word_is_said_to_be_inexact(fast):
    gap = pd.DataFrame([gap_row("Smithson saw Ann and she ran.", "she", "Smith", "Ann")])
    answers = resolve_gap(alike(), gap, parser=fast["parser"])
    assert answers[["inexact", "reason"]].values.tolist() == [["A", ""]]


def test_a_longer_mention_is_a_names_own_only_by_its_head(fast):
    # Mentions are "saw She" (head She) and, at the start, "She": the name "saw" is not She's.
    gap = pd.DataFrame([gap_row("She saw She and saw She run.", "She", "saw", "She", **{"B-offset": 8})])
    answers = resolve_gap(alike(around=1), gap, parser=fast["parser"])
    assert answers[["A-coref", "B-coref"]].values.tolist() == [[False, True]]


def test_the_real_validation_rows_are_all_mapped(real_data, trained, fast):
    gap = read_gap("gap-validation").iloc[:40]
    answers = resolve_gap(load_resolver(trained.folder, device="cpu"), gap, parser=fast["parser"])
    assert answers["ID"].tolist() == gap["ID"].tolist() and answers["reason"].eq("").all()
    assert answers["inexact"].tolist() == ["B" if row == "validation-35" else "" for row in gap["ID"]]
    assert gap_scores(gap, answers).missing == ()


def test_texts_become_words_with_their_characters(fast):
    documents = documents_of_texts({"x": "Zoé slept.  She\nwoke up.", "empty": " "}, parser=fast["parser"])
    words = documents.words
    assert words["word"].tolist() == ["Zoé", "slept", ".", "She", "woke", "up", "."]
    assert words["sentence"].tolist() == [0, 0, 0, 1, 1, 1, 1] and words["position"].tolist() == list(range(7))
    text = "Zoé slept.  She\nwoke up."
    assert [text[a:b] for a, b in words[["first", "last"]].values] == words["word"].tolist()
    assert documents.clusters.empty and resolve(alike(), documents).empty
