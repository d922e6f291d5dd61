import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslib import _files, _frames, io
from biaslib.studies import published_table

PLAIN = st.text(st.characters(exclude_characters="{}", exclude_categories=["Cs"]), max_size=20)


def test_speciesism_templates_are_verbatim():
    frame = io.read_templates("speciesism")
    assert frame.loc[frame["condition"] == "human", "template"].tolist() == [
        "She is a {name} who is [MASK].",
        "He is a {name} who is [MASK].",
    ]
    assert frame.loc[frame["condition"] == "object", "template"].tolist() == [
        f"{start} is a {{name}} {pronoun} is [MASK]."
        for pronoun in ("which", "that")
        for start in ("This", "That", "It")
    ]


@pytest.mark.parametrize(
    ("word", "article"),
    [
        ("elephant", "an"),
        ("eagle", "an"),
        ("dog", "a"),
        ("unicorn", "a"),
        ("uninformed dog", "an"),
        ("ewe", "a"),
        ("European eel", "a"),
        ("one-eyed cat", "a"),
        ("onager", "an"),
        ("hour", "an"),
        ("horse", "a"),
        ("Otter", "an"),
        ("usher", "an"),
        ("user", "a"),
    ],
)
def test_article_agrees(word, article):
    assert io.fill("It is a {name}.", article="agree", name=word) == f"It is {article} {word}."
    assert io.fill("An {name} is.", article="agree", name=word) == f"{article.title()} {word} is."


def test_article_agrees_for_all_names():
    names = published_table("speciesism_table1_animal_frequency")["animal"]
    with_an = [n for n in names if "an " in io.fill("a {name}", article="agree", name=n)]
    assert with_an == ["eagle", "elephant"]


def test_agree_touches_only_an_article_before_a_slot():
    text = io.fill("A Panda a day, a {name}: {name}, a egg.", article="agree", name="owl")
    assert text == "A Panda a day, an owl: owl, a egg."


def test_literal_leaves_the_article():
    assert io.fill("It is a {name}.", name="elephant") == "It is a elephant."


@given(PLAIN, PLAIN, st.text(min_size=1).filter(str.strip))
def test_literal_fill_is_plain_replacement(before, after, name):
    assert io.fill(f"{before}{{name}}{after}", name=name) == before + name + after


def test_braces_in_a_name_are_not_slots():
    assert io.fill("a {name} and {other}", name="{other}", other="{") == "a {other} and {"


@pytest.mark.parametrize(
    ("template", "slots", "message"),
    [
        ("a {name}", {}, r"slot \{name\} is missing"),
        ("a dog", {"name": "cat"}, r"it has no slot \{name\}"),
        ("a {name", {"name": "cat"}, "stray brace"),
        ("a {name}}", {"name": "cat"}, "stray brace"),
        ("a {}", {"name": "cat"}, "stray brace"),
        ("a {na me}", {"name": "cat"}, "stray brace"),
        ("a {name}", {"name": ""}, "must be a string that is not empty"),
        ("a {name}", {"name": None}, "must be a string that is not empty"),
        ("a {name}", {"name": False}, "must be a string that is not empty"),
        (7, {"name": "cat"}, "must be a string"),
    ],
)
def test_fill_says_what_is_wrong_in_one_line(template, slots, message):
    with pytest.raises(ValueError, match=message) as error:
        io.fill(template, **slots)
    assert "\n" not in str(error.value)


def test_unknown_article_lists_the_known_ones():
    with pytest.raises(ValueError, match="unknown article 'some'; use one of literal, agree"):
        io.fill("a {name}", article="some", name="dog")


def test_expand():
    frame = io.expand(io.read_templates("speciesism"), ["elephant", "pig"], article="agree")
    assert list(frame.columns) == ["name", "condition", "template", "sentence"]
    assert len(frame) == 16
    assert frame["name"].tolist() == ["elephant"] * 8 + ["pig"] * 8
    assert "It is an elephant that is [MASK]." in set(frame["sentence"])
    assert not frame["sentence"].str.contains("{", regex=False).any()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("dog", "must be a list"),
        ([], "empty"),
        (["dog", "dog"], "duplicates: dog"),
        (["dog", False], "quote it"),
        (["dog", " "], "must be a string"),
        (None, "must be a list"),
    ],
)
def test_bad_names(names, message):
    with pytest.raises(ValueError, match=message):
        io.expand(io.read_templates("speciesism"), names)


def test_expand_needs_its_columns():
    with pytest.raises(ValueError, match="templates must have the column"):
        io.expand(pd.DataFrame({"template": ["a {name}"]}), ["dog"])


def test_own_file(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("a: ['x {name}']\nb: ['y {name}', 'z {name}']\n", encoding="utf-8")
    assert io.read_templates(path).values.tolist() == [
        ["a", "x {name}"],
        ["b", "y {name}"],
        ["b", "z {name}"],
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a", "must be a mapping"),
        ("", "map each condition"),
        ("no: ['x {name}']", "quote it"),
        ("a: x {name}", "list of templates"),
        ("a: []", "list of templates"),
        ("a: [no]", "quote it"),
        ("a: ['x {name}', 'x {name}']", "twice"),
        ("a: ['x {name']", "stray brace"),
        ("a: [", "not valid YAML"),
    ],
)
def test_bad_files(tmp_path, text, message):
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as error:
        io.read_templates(path)
    assert "\n" not in str(error.value)


def test_unknown_set_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"'speciecism'.*\(speciesism"):
        io.read_templates("speciecism")


def test_animals_carry_the_published_frequencies():
    animals = pd.read_csv(_files.DATA / "animals.csv", keep_default_na=False)
    published = published_table("speciesism_table1_animal_frequency")
    assert list(animals.columns) == ["name", "wikipedia_frequency", "group", "note"]
    assert animals[["name", "wikipedia_frequency"]].values.tolist() == published.values.tolist()
    assert set(animals["group"]) == {"farm", "companion", "other", "human"}
    assert animals.loc[animals["group"] == "human", "name"].tolist() == ["human"]
    notes = animals.set_index("name")["note"]
    for name in ("turkey", "crane", "seal", "tang", "molly", "pike", "fly", "robin", "swan", "bat", "mouse"):
        assert notes[name], name
    for name, kind in {"newfoundland": "dog", "persian": "cat", "bombay": "cat"}.items():
        assert notes[name].startswith(f"a {kind} breed")


def test_names_of_a_categorical_include_those_without_a_row():
    name = pd.Categorical(["b"], categories=["b", "a"])
    assert _frames.names_of(pd.DataFrame({"name": name})) == ["b", "a"]
    assert _frames.names_of(pd.DataFrame({"name": ["b", "a", "b"]})) == ["b", "a"]


def test_groups_of_names_who_has_none():
    groups = {"a": "x", "b": None}
    assert _frames.groups_of(["a"], groups) == {"a": "x"}
    with pytest.raises(ValueError, match="no group for b, c"):
        _frames.groups_of(["a", "b", "c"], pd.Series(groups))


def test_names_from_a_file_keep_their_columns(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text('name,group,note\npig,farm,"a pig, really"\nNA,other,\n', encoding="utf-8-sig")
    assert io.read_names(path).values.tolist() == [["pig", "farm", "a pig, really"], ["NA", "other", ""]]
    # pandas would take the first of four fields for an index, and shift the names away.
    for text in (
        "name,group,note\npig,farm,a pig, really\ndog,pet,ok,\n",
        "name,group\npig,farm,x\n",
        "name,group\npig\n",
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"line 2 of .*: expected \d fields, found \d"):
            io.read_names(path)
    for text, problem in (
        ("name,kind\npig,farm\n", "needs 'name', 'group'"),
        ("name,group\npig,\n", "no group for pig"),
        ("name,group\npig,a\npig,b\n", "duplicates: pig"),
        ("", "is empty"),
        ("name,group,name\npig,a,b\n", "has the column 'name' twice"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=problem):
            io.read_names(path)
    with pytest.raises(FileNotFoundError, match=r"no table of names '.*nowhere\.csv': give a file or 'animals'"):
        io.read_names(tmp_path / "nowhere.csv")


def test_a_condition_without_template_is_named():
    frame = io.read_templates("speciesism")
    with pytest.raises(ValueError, match="no template for thing: the conditions must be thing, human"):
        io.by_condition(frame, ["thing", "human"])


def test_slots_are_listed_once_in_their_order():
    assert io.slots_of("The {job} said that {name} is a {job} [MASK].") == ["job", "name"]
    assert io.slots_of("") == []
    for bad in ("a {b", "a }", "{1a}", 3):
        with pytest.raises(ValueError, match=r"stray brace|must be a string"):
            io.slots_of(bad)
