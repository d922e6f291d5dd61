import math

import pandas as pd
import pytest

from biaslib.io import SETS, contrast_sets, read_contrasts
from biaslib.studies import published_table


def test_the_categorical_study():
    contrasts = read_contrasts("categorical")
    one = contrasts.drop_duplicates("contrast")
    assert one.groupby("category", sort=False).size().to_dict() == {
        "gender": 13,
        "race": 12,
        "religion": 4,
        "social": 9,
        "non-people": 2,
    }
    assert set(one.loc[one["history"], "contrast"]) == {
        "career-family-man-woman",
        "straight-gay-right-wrong",
        "europe-africa-educated-illiterate",
        "caucasian-asian-rich-poor",
        "american-russian-friend-enemy",
        "christianity-islam-peace-violence",
        "protestant-orthodox-rich-poor",
        "old-young-polite-impolite",
        "libertarian-conservative-popular-unpopular",
    }
    sizes = contrasts.groupby(["contrast", "set"]).size().unstack()
    assert (sizes["X"] == sizes["Y"]).all() and (sizes["A"] == sizes["B"]).all()
    assert sizes["X"].isin([6, 8]).all() and sizes["A"].isin([8, 10]).all()
    # Holm over 40 tests asks for .00125, which six words a side just allow.
    assert 1 / math.comb(12, 6) < 0.05 / 40
    assert (contrasts["citation"].str.len() > 20).all() and (contrasts["source"] == "biaslib").all()
    assert not contrasts["word"].str.contains(r"[\s_]").any()
    for contrast, rows in contrasts.groupby("contrast"):
        words = rows["word"].str.lower()
        assert words.is_unique, contrast


def test_occupations_are_not_gendered():
    contrasts = read_contrasts()
    occupations = contrasts[contrasts["subcategory"].isin(["work and education", "profession and class"])]
    targets = set(occupations.loc[occupations["set"].isin(["X", "Y"]), "word"])
    gendered = set(contrasts.loc[contrasts["set_name"].isin(["man", "woman"]), "word"])
    assert not targets & gendered
    assert not [word for word in targets if word.endswith(("man", "men", "ess", "wife")) and word != "business"]


def test_the_papers_own_sets_word_for_word():
    published = published_table("weat_tables2_3_word_sets")
    contrasts = read_contrasts("paper")
    for row in published.itertuples():
        own = contrasts[(contrasts["set"] == row.set) & (contrasts["set_name"] == row.name)]
        assert own["word"].tolist() == row.words.split()
    assert (contrasts["source"] == "paper").all()


def test_caliskans_ten_tests():
    contrasts = read_contrasts("caliskan")
    sizes = contrasts.groupby(["contrast", "set"], sort=False).size().unstack()[list(SETS)]
    assert sizes.index.tolist() == [f"weat-{i}" for i in range(1, 11)]
    assert sizes.loc["weat-1"].tolist() == [25, 25, 25, 25]
    assert sizes.loc["weat-9"].tolist() == [6, 6, 7, 7]
    assert "Einstein" in contrast_sets(contrasts, "weat-8")["X"]
    assert contrasts["citation"].str.contains("Caliskan").all()


def test_groups_can_be_joined():
    joined = pd.concat([read_contrasts(name) for name in ("categorical", "paper", "caliskan")])
    assert joined["contrast"].nunique() == 52


GOOD = """
mine:
  citation: Somebody (2020)
  sets: {p: [ant, Bee], q: [elk], r: [good], s: [bad]}
  contrasts:
    c: {name: p/q by r/s, category: animals, subcategory: size, x: p, y: q, a: r, b: s}
"""


def test_a_file_of_ones_own(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD)
    frame = read_contrasts(path)
    assert frame["word"].tolist() == ["ant", "Bee", "elk", "good", "bad"]
    assert frame.loc[0, ["contrast", "set_name", "source", "history", "citation"]].tolist() == [
        "c",
        "p",
        "mine",
        False,
        "Somebody (2020)",
    ]
    assert contrast_sets(frame) == {"X": ["ant", "Bee"], "Y": ["elk"], "A": ["good"], "B": ["bad"]}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ant, Bee", "ant, Ant", "the set 'p' has Ant, ant more than once"),
        ("ant, Bee", "ant, no", "has False: quote it"),
        ("ant, Bee", "ant, 1984", "has 1984: quote it"),
        ("[ant, Bee]", "ant", "must be a list of words"),
        ("q: [elk]", "q: [bee]", "in the contrast 'c', X and Y share"),
        ("s: [bad]", "s: [Good]", "in the contrast 'c', A and B share"),
        ("y: q, ", "", "the contrast 'c' lacks y"),
        ("y: q, ", "y: z, ", "names the unknown set 'z'"),
        ("citation: Somebody (2020)", "", "needs citation, sets and contrasts"),
        ("sets: {", "sets: ", "not valid YAML"),
        ("mine:", "- mine", "not valid YAML"),
    ],
)
def test_bad_files(tmp_path, old, new, message):
    path = tmp_path / "bad.yaml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(ValueError, match=message):
        read_contrasts(path)


def test_unknown_contrasts(tmp_path):
    with pytest.raises(ValueError, match="categorical, paper, caliskan"):
        read_contrasts("categoric")
    (tmp_path / "list.yaml").write_text("[1, 2]")
    with pytest.raises(ValueError, match="must be a mapping"):
        read_contrasts(tmp_path / "list.yaml")
    with pytest.raises(ValueError, match="no contrast 'z'; known: paper"):
        contrast_sets(read_contrasts("paper"), "z")
    with pytest.raises(ValueError, match="no contrast None"):
        contrast_sets(read_contrasts("paper"))
