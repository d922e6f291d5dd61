import numpy as np
import pandas as pd
import pytest

from biaslib.io import read_gap
from biaslib.io.gap import GAP_COLUMNS

HEADER = "\t".join(GAP_COLUMNS) + "\n"
ROW = 'x-1\tAnn saw Zoé; 6" of snow lay on her roof.\ther\t31\tAnn\t0\tTRUE\tZoé\t8\tFalse\thttp://x\n'


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_as_gap_writes_them(tmp_path):
    frame = read_gap(write(tmp_path / "gap.tsv", HEADER + ROW + ROW.replace("x-1", '"x-2').replace("False", "true")))
    assert frame.columns.tolist() == list(GAP_COLUMNS)
    assert frame["ID"].tolist() == ["x-1", '"x-2']
    # Characters, not bytes, of which é has two.
    assert frame["B"].tolist() == ["Zoé", "Zoé"] and frame["Pronoun-offset"].tolist() == [31, 31]
    assert frame["A-coref"].tolist() == [True, True] and frame["B-coref"].tolist() == [False, True]
    assert frame["A-coref"].dtype == bool


def test_a_text_is_not_cut_at_other_line_ends(tmp_path):
    row = ROW.replace("saw", "saw\u2028").replace("\t31", "\t32").replace("\t8", "\t9")
    assert "\u2028" in read_gap(write(tmp_path / "gap.tsv", HEADER + row)).loc[0, "Text"]


def test_long_texts_and_blank_lines_at_the_end_are_read(tmp_path):
    row = ROW.replace("snow", "snow" + "!" * 200_000).replace("\t31", "\t200031")
    (tmp_path / "gap.tsv").write_bytes((HEADER + row).replace("\n", "\r\n").encode() + b"\r\n \n")
    assert read_gap(tmp_path / "gap.tsv")["Text"].str.len().tolist() == [200_040]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER.replace("A-coref", "A-correct") + ROW, "but needs .*A-coref"),
        (HEADER + ROW.replace("\thttp://x", ""), "expected 11 fields, found 10"),
        (HEADER + ROW.replace("TRUE", "yes"), r"A-coref must be TRUE or FALSE, unlike in x-1 \('yes'\)"),
        (HEADER + ROW.replace("TRUE", ""), r"A-coref must be TRUE or FALSE, unlike in x-1 \(''\)"),
        # The offset in bytes.
        (HEADER + ROW.replace("\t31", "\t32"), r"do not point at their strings: x-1 \(Pronoun\)"),
        (HEADER + ROW.replace("\t8", "\t-35"), r"do not point at their strings: x-1 \(B\)"),
        (HEADER + ROW.replace("\t8", "\teight"), r"do not point at their strings: x-1 \(B\)"),
        (HEADER + ROW.replace("\t8", "\tinf"), r"do not point at their strings: x-1 \(B\)"),
        (HEADER + ROW.replace("\t8", "\t8.6"), r"do not point at their strings: x-1 \(B\)"),
        (HEADER + ROW + ROW.replace("x-1", ""), "no ID in line 3"),
        (HEADER.replace("URL", "URL\tA") + ROW, "has the column 'A' twice"),
        ("", "is empty"),
        (HEADER + ROW.replace("\tAnn\t", "\t\t"), r"do not point at their strings: x-1 \(A\)"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as error:
        read_gap(write(tmp_path / "gap.tsv", text))
    assert "gap.tsv" in str(error.value) and "\n" not in str(error.value)


def test_what_is_neither_file_nor_data_set_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"no data set 'gap-tset'; did you mean 'gap-test'"):
        read_gap("gap-tset")
    (tmp_path / "gap.tsv").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"gap\.tsv' is empty"):
        read_gap(tmp_path / "gap.tsv")


def test_the_sample_is_balanced():
    gap = read_gap("gap_sample")
    gender = np.where(gap["Pronoun"].str.lower().isin(["she", "her", "hers"]), "feminine", "masculine")
    answer = np.select([gap["A-coref"], gap["B-coref"]], ["A", "B"], "neither")
    assert pd.crosstab(gender, answer).values.tolist() == [[10, 10, 10], [10, 10, 10]]
    assert gap["ID"].is_unique and gap["Text"].is_unique and not (gap["A-coref"] & gap["B-coref"]).any()
    assert set(gap["Pronoun"].str.lower()) == {"she", "her", "hers", "he", "him", "his"}


@pytest.mark.parametrize(("part", "n"), [("development", 2000), ("test", 2000), ("validation", 454)])
def test_the_real_files_are_read_whole(real_data, part, n):
    gap = read_gap(f"gap-{part}")
    with open(real_data / "gap" / f"gap-{part}.tsv", encoding="utf-8") as file:
        lines = file.read().rstrip("\n").split("\n")[1:]
    assert len(gap) == len(lines) == n
    flags = [line.split("\t")[6].upper() == "TRUE" for line in lines]
    assert gap["A-coref"].tolist() == flags and 0 < sum(flags) < n
