import pytest

from biaslib.io import read_gender_words


def put(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_the_embedded_words():
    words = read_gender_words()
    sizes = words.gender.value_counts()
    assert sizes["male"] > 150 and sizes["female"] > 150
    assert {"he", "father"} <= set(words.word[words.gender == "male"])
    assert words.kind.ne("").all() and not words.duplicated(["gender", "word"]).any()
    lower = {word.lower() for word in words.word}
    assert not lower & {"will", "mark", "grace", "may", "rose", "hope", "joy", "frank"}


def test_words_by_path(tmp_path):
    csv = put(tmp_path / "w.csv", "\ufeffmale,female\nhe,she\n fire_chief ,\nNA,null\nhe,\n")
    words = read_gender_words(csv)
    assert words.word[words.gender == "male"].tolist() == ["he", "fire chief", "NA"]
    assert words.word[words.gender == "female"].tolist() == ["she", "null"]
    two = read_gender_words(put(tmp_path / "m.txt", "he\r\n\r\nhim\n"), put(tmp_path / "f.txt", "she\n"))
    assert two[["gender", "word"]].values.tolist() == [["male", "he"], ["male", "him"], ["female", "she"]]
    semicolons = read_gender_words(put(tmp_path / "s.csv", "male;female\nhe;she\n"))
    assert semicolons.word.tolist() == ["he", "she"]
    for text, says in (("male,women\n", "needs 'male', 'female'"), ("male,female\nhe,he\n", "in both lists")):
        with pytest.raises(ValueError, match=says):
            read_gender_words(put(tmp_path / "bad.csv", text))
    with pytest.raises(FileNotFoundError, match="no list of words 'nowhere': give a file or 'gender_words_english'"):
        read_gender_words("nowhere")
