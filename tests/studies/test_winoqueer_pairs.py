import re
from collections import Counter

import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from biaslib.studies import published_table, winoqueer_pairs
from biaslib.studies._winoqueer_generator import PAIR_WORDS, WINOQUEER_COLUMNS

MATERIAL = yaml.safe_load(PAIR_WORDS.read_text(encoding="utf-8"))
APART = "masculine_feminine"
PRONOUN_OF = {
    **{forms[case]: key for key, forms in MATERIAL["pronouns"].items() for case in ("accusative", "nominative")},
    **{name: key for key, names in MATERIAL["names"].items() for name in names},
}
NAMES = {name for names in MATERIAL["names"].values() for name in names}


@pytest.fixture(scope="module")
def pairs():
    return winoqueer_pairs(schemas=["pairwise", "pronoun", APART])


def words(sentence):
    """The words of a sentence; the first without its capital, unless it is a name."""
    first, *others = sentence.removesuffix(".").split(" ")
    return [first if first in NAMES else first[0].lower() + first[1:], *others]


def test_examples_of_the_paper_are_among_the_pairs():
    pairs = winoqueer_pairs()
    made = set(zip(pairs["sent_more"], pairs["sent_less"], strict=True))
    published = published_table("winoqueer_table1_examples")
    assert len(published) == 3
    assert set(zip(published["more_stereotypical"], published["less_stereotypical"], strict=True)) <= made


def test_columns_and_sizes(pairs):
    assert tuple(pairs.columns) == WINOQUEER_COLUMNS
    assert pairs["pair_id"].tolist() == list(range(5872))
    assert pairs.groupby("bias_type", sort=False).size().to_dict() == {
        "cis_gay_pairwise_mf": 1323,
        "cis_gay_pairwise_fm": 1323,
        "cis_les_pairwise_mf": 1323,
        "cis_les_pairwise_fm": 1323,
        "masc_trans_pronoun": 80,
        "femme_trans_pronoun": 80,
        "masc_femm_name": 400,
        "masc_femm_pronoun": 20,
    }
    assert {len(adjectives) for adjectives in MATERIAL["adjectives"].values()} == {5}
    pd.testing.assert_frame_equal(pairs, winoqueer_pairs(schemas=(APART, "pronoun", "pairwise")))


def test_masculine_against_feminine_only_when_asked_for(pairs):
    for queer in (winoqueer_pairs(), winoqueer_pairs(identities=MATERIAL["identities"])):
        assert set(queer["identity"]) == {"gay", "lesbian", "transgender"}
        assert set(queer["counterpart"]) == {"straight", "cisgender"}
        assert set(queer["direction"]) == {"stereo"}
    apart = winoqueer_pairs(schemas=[APART])
    assert set(apart["bias_type"]) == {"masc_femm_name", "masc_femm_pronoun"}
    directions = apart.groupby("adjective_class")["direction"].unique().map(list).to_dict()
    assert directions == {
        "masculine": ["stereo"],
        "positive": ["stereo"],
        "feminine": ["antistereo"],
        "negative": ["antistereo"],
    }


def test_none_twice_and_none_identical(pairs):
    assert not pairs.duplicated(["sent_more", "sent_less"]).any()
    assert (pairs["sent_more"] != pairs["sent_less"]).all()
    assert not set(zip(pairs["sent_more"], pairs["sent_less"], strict=True)) & set(
        zip(pairs["sent_less"], pairs["sent_more"], strict=True)
    )


def test_pairs_differ_only_in_one_person_and_what_agrees_with_it(pairs):
    for more, less in zip(pairs["sent_more"], pairs["sent_less"], strict=True):
        differing = [two for two in zip(words(more), words(less), strict=True) if two[0] != two[1]]
        verbs = [("is", "are")] if ("are" in words(less)) else []
        assert [two for two in differing if PRONOUN_OF.keys().isdisjoint(two)] == verbs
        assert len(differing) == 1 + len(verbs)


def test_every_pair_is_about_its_identity(pairs):
    order = {"mf": ["he", "she"], "fm": ["she", "he"]}
    one = {"masc": ["he"], "femme": ["she"]}
    for pair in pairs.itertuples():
        more, less = (
            [PRONOUN_OF[word] for word in words(sentence) if word in PRONOUN_OF]
            for sentence in (pair.sent_more, pair.sent_less)
        )
        if pair.schema == "pairwise":
            assert more == order[pair.bias_type[-2:]]
            assert less == {"gay": ["he", "he"], "lesbian": ["she", "she"]}[pair.identity]
        else:
            assert more == one[pair.bias_type.split("_")[0]]
            assert less == ["she"] if pair.schema == APART else less[0] in {"they", "ey", "zie", "sie"}


def test_labels_say_what_stands_in_the_sentence(pairs):
    for pair in pairs.itertuples():
        written = [word for word in words(pair.sent_less) if word in PRONOUN_OF]
        exchanged = [word for word in written if word == pair.name or PRONOUN_OF[word] == pair.pronoun]
        assert bool(pair.name) != bool(pair.pronoun) and exchanged
        assert bool(pair.partner) == bool(pair.interaction) == (pair.schema == "pairwise")
        assert pair.sent_less.endswith(f" very {pair.adjective}.") == (pair.schema != "pairwise")
        assert bool(pair.adjective) == bool(pair.adjective_class) == (pair.schema != "pairwise")


def test_grammar(pairs):
    accusatives = {forms["accusative"] for forms in MATERIAL["pronouns"].values()}
    nominatives = {forms["nominative"] for forms in MATERIAL["pronouns"].values()}
    for sentence in [*pairs["sent_more"], *pairs["sent_less"]]:
        assert re.fullmatch(r"[A-Z][a-z]+( [A-Za-z]+)+\.", sentence), sentence
        subject, *rest = words(sentence)
        assert subject in NAMES | nominatives
        assert rest[-1] not in nominatives - accusatives
        assert ("are" in rest) == (subject == "they")
        assert rest[0] in {"is", "are", "held"}
        assert {word for word in rest if not word.islower()} <= NAMES


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The embedded source with two names a list, so that a property can be tried often."""
    path = tmp_path_factory.mktemp("small") / "small.yaml"
    few = {**MATERIAL, "names": {"he": ["James", "John"], "she": ["Mary", "Jennifer"]}}
    path.write_text(yaml.safe_dump(few, sort_keys=False), encoding="utf-8")
    return path, winoqueer_pairs(path, schemas=MATERIAL["schemas"])


def some(values):
    return st.none() | st.lists(st.sampled_from(sorted(values)), unique=True)


@given(
    some(MATERIAL["identities"]),
    some(MATERIAL["schemas"]),
    some(["James", "John", "Mary", "Jennifer"]),
    some(MATERIAL["pronouns"]),
)
def test_a_selection_is_a_part_of_the_whole(small, identities, schemas, names, pronouns):
    path, whole = small
    written = [[word for word in words(sentence) if word in PRONOUN_OF] for sentence in whole["sent_less"]]
    wanted = whole["schema"].isin(schemas) if schemas is not None else whole["schema"] != APART
    if identities is not None:
        wanted &= whole["identity"].isin(identities)
    if names is not None:
        wanted &= pd.Series([all(word in names for word in some if word in NAMES) for some in written])
    if pronouns is not None:
        others = [[PRONOUN_OF[word] for word in some if word not in NAMES] for some in written]
        wanted &= pd.Series([set(some) <= set(pronouns) for some in others])
    chosen = {"identities": identities, "schemas": schemas, "names": names, "pronouns": pronouns}
    if wanted.any():
        pd.testing.assert_frame_equal(winoqueer_pairs(path, **chosen), whole[wanted].reset_index(drop=True))
    else:
        with pytest.raises(ValueError, match=r"no pair matches.*masculine_feminine"):
            winoqueer_pairs(path, **chosen)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"identities": ["gay", "gray"]}, "identities: unknown 'gray'; use gay, lesbian, transgender, feminine"),
        ({"schemas": ["pair"]}, "schemas: unknown 'pair'; use pairwise, pronoun, masculine_feminine"),
        ({"names": ["Mary", "Bob", "Tim"]}, "names: unknown 'Bob', 'Tim'; use James, Robert"),
        ({"names": ["Mary", 3]}, "names must be a list of strings, but it has 3"),
        ({"pronouns": ["him"]}, "pronouns: unknown 'him'; use he, she, they, ey, zie, sie"),
        ({"identities": "gay"}, "identities must be a list of strings, not one string"),
        ({"schemas": []}, "no pair matches this selection"),
        ({"source": "winoqueen"}, "no pairs 'winoqueen'; give 'winoqueer' or a YAML file"),
    ],
)
def test_unknown_choices_list_the_known_ones(chosen, message):
    with pytest.raises(ValueError, match=message):
        winoqueer_pairs(**chosen)


OWN = """
identities: {asexual: allosexual, nonbinary: man}
pronouns:
  he: {nominative: he, accusative: him, possessive: his, reflexive: himself, is: is}
  they: {nominative: they, accusative: them, possessive: their, reflexive: themselves, is: are}
names: {they: [Alex]}
adjectives: {kind: [honest, gentle]}
interactions: {calling: "{first_is} calling"}
schemas:
  word: "{first_nominative}, {first_reflexive} a {adjective} person, {first_is} an {identity} one."
  pairwise: "today {first_nominative} {interaction} {second_accusative} on {first_possessive} phone."
bias_types:
  word: {identity: asexual, schema: word, first: they}
  they: {identity: nonbinary, schema: pairwise, first: {more: he, less: they}, second: they, only: pronouns}
"""


def test_own_file(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(OWN, encoding="utf-8")
    pairs = winoqueer_pairs(path)
    assert pairs[["sent_more", "sent_less", "name", "pronoun", "partner"]].values.tolist() == [
        [f"{start} {article} {adjective} person, {verb} an {identity} one." for identity in ("allosexual", "asexual")]
        + [name, pronoun, ""]
        for start, verb, name, pronoun in (
            ("Alex, themselves", "is", "Alex", ""),
            ("They, themselves", "are", "", "they"),
        )
        for article, adjective in (("an", "honest"), ("a", "gentle"))
    ] + [["Today he is calling them on his phone.", "Today they are calling them on their phone.", "", "they", "they"]]
    assert winoqueer_pairs(path, names=[])["name"].unique().tolist() == [""]


def put(material, keys, value):
    """A copy of nested mappings with another value at a place; None takes it out."""
    key, *others = keys
    if others:
        return {**material, key: put(material[key], others, value)}
    return {name: old for name, old in {**material, key: value}.items() if old is not None}


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (["schemas"], None, "the file lacks schemas"),
        (["templates"], {}, "the file: unknown 'templates'; use identities"),
        (["identities"], ["gay"], "identities must be a mapping"),
        (["identities", False], "yes", r"identities must be a mapping with strings as keys \(in YAML, quote"),
        (["identities", "gay"], ["straight"], "identities, 'gay': each must be a string"),
        (["pronouns", "he", "is"], None, "pronoun 'he' lacks is"),
        (["pronouns", "he", "genitive"], "his", "pronoun 'he': unknown 'genitive'; use nominative"),
        (["pronouns", "he", "is"], False, "pronoun 'he', 'is': each must be a string, not False"),
        (["names", "xe"], ["Alex"], "names: unknown 'xe'; use he, she"),
        (["names", "he"], "James", "names of 'he' must be a list"),
        (["names", "he"], ["James", "James"], "names of 'he' has duplicates: James"),
        (["names", "he"], ["James"], "'she' and 'he' must have equally many names"),
        (["adjectives"], {}, "its schema has {adjective}, but the file has no adjectives"),
        (["adjectives", "positive"], ["greedy"], "adjectives has duplicates: greedy"),
        (["interactions", "divorcing"], "{first_was} divorcing", r"slot \{first_was\} is missing"),
        (
            ["interactions", "divorcing"],
            "held hands with",
            "cis_gay_pairwise_mf' repeats a pair of 'cis_gay_pairwise_mf': 'James held",
        ),
        (["interactions"], None, "its schema has {interaction}, but the file has no interactions"),
        (["schemas", "pairwise"], "{first_nominative waits.", "stray brace"),
        (["schemas", "pairwise"], "{first_nominative} {first_is} here.", "compares 'James is here.' with itself"),
        (["apart"], ["apart"], "apart: unknown 'apart'; use pairwise"),
        (["apart"], APART, "apart must be a list"),
        (["bias_types", "masc_femm_name", "identity"], "feminin", "'masc_femm_name', identity: unknown 'feminin'"),
        (
            ["bias_types", "masc_femm_name", "schema"],
            ["pronoun"],
            "schema must be a list of strings, but",
        ),
        (["bias_types", "masc_femm_name", "only"], "name", "only: unknown 'name'; use names, pronouns"),
        (["names"], None, "'masc_femm_name' generates no pair: its pronouns have no names"),
        (["bias_types", "masc_femm_name", "first"], None, "'masc_femm_name' lacks first"),
        (["bias_types", "masc_femm_name", "first"], 3, "'masc_femm_name', first must be a mapping"),
        (["bias_types", "masc_femm_name", "first", "less"], [], "first, less is empty"),
        (["bias_types", "masc_femm_name", "first", "less"], "xe", "first: unknown 'xe'; use he, she"),
        (["bias_types", "masc_femm_name", "antistereo"], ["bad"], "antistereo: unknown 'bad'; use masculine"),
        (["bias_types", "cis_gay_pairwise_mf", "first"], {"more": "he", "less": "she"}, "only one of first and second"),
        (
            ["bias_types", "again"],
            MATERIAL["bias_types"]["cis_gay_pairwise_mf"],
            "'again' repeats a pair of 'cis_gay_pairwise_mf'",
        ),
    ],
)
def test_bad_files_are_named_in_one_line(tmp_path, keys, value, message):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(put(MATERIAL, keys, value), sort_keys=False), encoding="utf-8")
    with pytest.raises(ValueError, match=message) as error:
        winoqueer_pairs(path)
    assert str(error.value).startswith(f"{path}: ") and "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "- a", "a: [", "identities: {gay: straight, gay: straight}"])
def test_files_that_are_no_mapping(tmp_path, text):
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(str(path))) as error:
        winoqueer_pairs(path)
    assert "\n" not in str(error.value)


def test_what_the_released_file_has_and_what_of_it_is_made(pairs, real_data):
    released = pd.read_csv(
        real_data / "winoqueer_v0" / "winoqueer_benchmark.csv", skipinitialspace=True, keep_default_na=False
    )
    made = dict(zip(zip(pairs["sent_more"], pairs["sent_less"], strict=True), pairs["schema"] == APART, strict=True))
    sides = zip(released["sent_more"], released["sent_less"], strict=True)
    apart = released["bias_type"].str.startswith("masc_femm")

    def fate(pair):
        capital = tuple(sentence[0].upper() + sentence[1:] for sentence in pair)
        spelled = tuple(sentence.replace("narcisisstic", "narcissistic") for sentence in pair)
        exchanged = [two for two in zip(*map(str.split, pair), strict=True) if two[0] != two[1]]
        fates = {
            "made": pair in made,
            "made but for the capital": capital in made,
            "made but for the spelling": spelled in made,
            "equal": pair[0] == pair[1],
            "nominative": bool(re.search(r" (he|she)\.$", pair[0])),
            "both exchanged": len(exchanged) == 2,
        }
        return next((name for name, true in fates.items() if true), "other")

    different = dict(zip(sides, apart, strict=True))
    assert len(released) == len(pairs) == 5872 and len(different) == 2484
    assert Counter(fate(pair) for pair in different if not different[pair]) == {
        "made": 1832,
        "made but for the capital": 88,
        "made but for the spelling": 8,
        "equal": 2,
        "nominative": 63,
        "both exchanged": 81,
    }
    assert Counter(fate(pair) for pair in different if different[pair]) == {
        "made": 390,
        "made but for the spelling": 20,
    }
    assert all(made[pair] == different[pair] for pair in made.keys() & different.keys())
