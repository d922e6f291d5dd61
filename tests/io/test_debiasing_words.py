import pytest

from biaslib.io import read_debiasing_words


def test_own_word_lists():
    lists = read_debiasing_words()
    assert len(lists["pairs"]) == 10 and len(lists["equalize"]) >= 25 and len(lists["specific"]) >= 200
    assert len(set(lists["specific"])) == len(lists["specific"])
    named = {word for pair in lists["pairs"] + lists["equalize"] for word in pair}
    assert named <= set(lists["specific"])
    occupations = {"nurse", "doctor", "engineer", "teacher", "secretary", "midwife", "soldier"}
    assert not occupations & set(lists["specific"])


def test_word_lists_of_ones_own(tmp_path):
    path = tmp_path / "words.yaml"
    path.write_text("pairs: [[sie, er]]\nequalize: [[Frau, Mann]]\nspecific: [sie, er]\n")
    assert read_debiasing_words(path)["equalize"] == [["Frau", "Mann"]]
    for text, message in (
        ("pairs: [[sie, er]]", "must have pairs, equalize, specific and nothing else"),
        ("pairs: [[sie]]\nequalize: []\nspecific: []", "must be a list of pairs of words, but it has .'sie'."),
        ("pairs: []\nequalize: []\nspecific: [no]", "but it has False"),
        ("pairs: [", "not valid YAML"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_debiasing_words(path)
    with pytest.raises(ValueError, match="cannot be read"):
        read_debiasing_words(tmp_path / "none.yaml")
