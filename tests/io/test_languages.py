import pytest

from biaslib.io import list_languages, read_language, read_retention_words


def test_every_language_has_a_name_and_balanced_lists():
    languages = list_languages()
    assert languages["code"].tolist() == ["ar", "de", "en", "es", "id", "ja", "pt", "ru", "zh"]
    assert languages.ne("").all(axis=None)
    for language in map(read_language, languages["code"]):
        assert set(language.retention_words["gender"]) <= {"male", "female", "none"}
        assert language.native_names.groupby("gender").size().isin([10]).all()
        assert not language.transliterated_names["name"].duplicated().any()
        assert not set(language.not_pronouns) & set(language.retention_words["word"])


def test_a_language_is_found_by_the_first_part_of_its_code():
    chinese = read_language("zh_CN")
    assert (chinese.code, chinese.name, chinese.spaces) == ("zh", "Chinese", False)
    assert "其他" in chinese.not_pronouns and chinese.fonts[0] == "Noto Sans CJK SC"
    with pytest.raises(ValueError, match="must be a code such as 'de', not 'German'"):
        read_language("German")


def test_a_language_without_a_file_has_no_lists():
    hindi = read_language("hi")
    assert hindi.name == "hi" and hindi.spaces
    assert hindi.retention_words.empty and hindi.native_names.empty and hindi.transliterated_names.empty


def test_retention_words_come_from_a_table_of_ones_own(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("language;gender;word\nfr;male; il\nFR;female;elle\nde;male;er\n", encoding="utf-8")
    assert read_retention_words("fr", path).values.tolist() == [["male", "il"], ["female", "elle"]]
