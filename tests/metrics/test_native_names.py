"""Names are replaced by the rules of their language."""

import pandas as pd
import pytest

from biaslib.io import read_language
from biaslib.metrics import replace_names, with_native_names


@pytest.fixture
def names(tmp_path):
    given, native = tmp_path / "given.csv", tmp_path / "native.csv"
    rows = ["ru,male,John,Джон", "ru,male,Paul,Пол", "ru,male,Jim,Джим", "ru,female,Mary,Мэри"]
    rows += ["ja,male,John,ジョン", "ar,male,John,جون", "de,male,John,John"]
    given.write_text("\n".join(["language,gender,english,name", *rows]), encoding="utf-8")
    rows = ["ru,male,Иван", "ru,male,Пётр", "ru,female,Анна", "ja,male,健", "ar,male,عمر"]
    native.write_text("\n".join(["language,gender,name", *rows]), encoding="utf-8")
    return {"transliterated": given, "native": native}


def test_names_are_replaced_by_the_seed(names):
    texts = ["Джон и Мэри: Джон, Пол!", "Пол мира под полом. Джона нет.", "Никого."]
    frame = replace_names(pd.Series(texts, index=[7, 8, 9]), "ru", 3, **names)
    first = frame.loc[7]
    assert first.n_replaced == 4 and first.target == texts[0]
    john = first.replaced.split()[0]
    assert {john, "Анна"} < set(first.replaced.replace(":", "").replace(",", "").split())
    assert first.replaced in ("Иван и Анна: Иван, Пётр!", "Пётр и Анна: Пётр, Иван!")
    assert first["names"] == f"Джон → {john}; Мэри → Анна; Пол → {'Пётр' if john == 'Иван' else 'Иван'}"
    # Case tells the name from the word; an inflected form is another word.
    assert frame.loc[8].replaced.endswith("мира под полом. Джона нет.") and frame.loc[8].n_replaced == 1
    assert frame.loc[9].replaced == texts[2] and frame.loc[9]["names"] == ""
    # In whatever company, the same; with another seed, sooner or later another.
    assert replace_names([texts[0]], "ru", 3, **names).replaced.item() == first.replaced
    assert len({replace_names([texts[0]], "ru", seed, **names).replaced.item() for seed in range(9)}) == 2


def test_more_names_than_native_ones_are_all_replaced(names):
    assert replace_names(["Джон, Пол и Джим"], "ru", 0, **names).n_replaced.item() == 3


def test_names_keep_what_is_written_around_them(names):
    replaced = replace_names(["ジョン・スミスとジョンソン"], "ja", **names).replaced.item()
    assert replaced == "健・スミスとジョンソン"
    assert replace_names(["وجون هنا"], "ar", **names).replaced.item() == "وعمر هنا"


def test_names_that_are_refused(names):
    with pytest.raises(ValueError, match="has no row for 'de'"):
        replace_names(["John"], "de", **names)
    with pytest.raises(ValueError, match="has no row for 'zh'"):
        replace_names(["x"], "zh", **names)
    text = names["native"].read_text(encoding="utf-8").replace("ru,female,Анна\n", "")
    names["native"].write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="no female name for 'ru'"):
        replace_names(["x"], "ru", **names)


@pytest.mark.parametrize("language", ["ja", "ar", "ru", "zh"])
def test_the_embedded_names(language):
    """There are ten native names per gender, and each is used."""
    native, given = read_language(language).native_names, read_language(language).transliterated_names
    assert native.groupby("gender").size().to_dict() == {"female": 10, "male": 10}
    for gender, pool in native.groupby("gender").name.agg(set).items():
        name = given.name[given.gender == gender].iloc[0]
        texts = [f"{name} {n}" for n in range(200)]
        frame = replace_names(texts, language)
        assert {replaced.rsplit(" ", 1)[0] for replaced in frame.replaced} == pool


def test_names_stay_where_a_language_has_no_list():
    frame = with_native_names(pd.DataFrame({"target": ["John ging."], "gender": ["male"]}), "de")
    assert frame.values.tolist() == [["John ging.", "male", 0]]
    replaced = with_native_names(pd.DataFrame({"target": ["Джон ушёл.", "Никого."]}), "ru")
    assert replaced["n_replaced"].tolist() == [1, 0] and replaced["target"].tolist()[1] == "Никого."
    assert not replaced["target"].str.contains("Джон").any()
