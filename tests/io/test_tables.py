import csv
import gzip
import json
import sys
import threading

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslib.io._text_files import is_gzip, iterate_lines, iterate_records, open_text
from biaslib.io.tables import can_be_cut, iterate_column, open_parquet, read_json, read_table, table_kind

NEEDED = ("name", "group")
ROWS = [["pig", "farm"], ["NA", ""], ["Zoë", "null"]]
COMMAS = "name,group\npig,farm\nNA,\nZoë,null\n"


def put(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(path, read=read_table, **options):
    """Give the message of an error, which is one line that names the file."""
    with pytest.raises(ValueError) as error:
        result = read(path, **options)
        list(result)
    message = str(error.value)
    assert path.name in message and "\n" not in message
    return message


# Each of these is the same table.
SAME = {
    "plain.csv": COMMAS,
    "byte order mark.csv": b"\xef\xbb\xbf" + COMMAS.encode(),
    "UTF-16 little endian.csv": b"\xff\xfe" + COMMAS.encode("utf-16-le"),
    "UTF-16 big endian.csv": b"\xfe\xff" + COMMAS.encode("utf-16-be"),
    "carriage return and line feed.csv": COMMAS.replace("\n", "\r\n"),
    "lone carriage return.csv": COMMAS.replace("\n", "\r"),
    "lone carriage return.tsv": COMMAS.replace("\n", "\r").replace(",", "\t"),
    "no final newline.csv": COMMAS.rstrip("\n"),
    "blank lines.csv": "\n" + COMMAS.replace("\n", "\n\n") + "  \n",
    "quotes.csv": '"name","group"\n"pig","farm"\n"NA",""\n"Zoë","null"\n',
    "spaces in the header.csv": COMMAS.replace("name,group", " name , group"),
    "semicolons.csv": COMMAS.replace(",", ";"),
    "quoted semicolons.csv": '"name";"group"\n"pig";"farm"\n"NA";\n"Zoë";"null"\n',
    "tabs.csv": COMMAS.replace(",", "\t"),
    "Excel.csv": "sep=;\r\n" + COMMAS.replace(",", ";").replace("\n", "\r\n"),
    "tabs.tsv": COMMAS.replace(",", "\t"),
    "other ending.txt": COMMAS.replace(",", "\t"),
    "no ending": COMMAS,
    "compressed.csv.gz": gzip.compress(COMMAS.encode()),
    "compressed without saying so.csv": gzip.compress(COMMAS.encode()),
    "not compressed.csv.gz": COMMAS,
    "UPPER.CSV.GZ": gzip.compress(COMMAS.encode()),
    "list.json": json.dumps([{"name": name, "group": group or None} for name, group in ROWS]),
    "list": json.dumps([{"name": name, "group": group} for name, group in ROWS]),
    "absent field.json": '[{"name": "pig", "group": "farm"}, {"name": "NA"}, {"name": "Zoë", "group": "null"}]',
    "lines.json": '{"name": "pig", "group": "farm"}\n{"name": "NA", "group": ""}\n{"name": "Zoë", "group": "null"}',
    "lines.jsonl": '{"name": "pig", " group": "farm"}\n\n{"name": "NA"}\n{"name": "Zo\\u00eb", "group": "null"}',
    "lines.ndjson.gz": gzip.compress(
        b'{"name":"pig","group":"farm"}\n{"name":"NA"}\n{"name":"Zo\xc3\xab","group":"null"}\n'
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_table_in_every_form(tmp_path, name):
    frame = read_table(put(tmp_path / name, SAME[name]), needed=NEEDED)
    assert frame.columns.tolist() == list(NEEDED)
    assert frame.values.tolist() == ROWS
    assert frame.dtypes.tolist() == [pd.DataFrame({"a": ["b"]}, dtype=str)["a"].dtype] * 2


@pytest.mark.parametrize("name", SAME)
def test_the_same_column_row_by_row(tmp_path, name):
    assert list(iterate_column(put(tmp_path / name, SAME[name]), "name")) == [name for name, _ in ROWS]


def test_lines_are_those_of_the_file(tmp_path):
    path = put(tmp_path / "a.csv", '\nname,group\n"two\nlines",a\n\n"x\r\ny\rz",b\nlast,c\n')
    frame = read_table(path)
    assert frame.index.name == "line" and frame.index.tolist() == [3, 6, 9]
    assert frame["name"].tolist() == ["two\nlines", "x\r\ny\rz", "last"]
    records = read_table(put(tmp_path / "a.json", '[{"name": "x"},\n\n {"name": "y"}]'))
    assert records.index.name == "record" and records.index.tolist() == [1, 2]
    lines = read_table(put(tmp_path / "a.jsonl", '\n{"name": "x"}\n\n{"name": "y"}\n'))
    assert lines.index.name == "line" and lines.index.tolist() == [2, 4]


def test_cells_are_as_written_unless_stripped(tmp_path):
    path = put(tmp_path / "a.csv", "name,group\n pig , None\nnan,1.0\n")
    assert read_table(path).values.tolist() == [[" pig ", " None"], ["nan", "1.0"]]
    assert read_table(path, strip=True).values.tolist() == [["pig", "None"], ["nan", "1.0"]]


def test_an_empty_cell_is_a_row_and_a_blank_line_is_none(tmp_path):
    path = put(tmp_path / "a.csv", 'text\n""\n\n   \none\n')
    assert read_table(path).to_dict()["text"] == {2: "", 5: "one"}
    assert read_table(put(tmp_path / "b.tsv", "a\tb\n\t\n \n")).values.tolist() == [["", ""]]
    assert list(iterate_records(path)) == [(1, ["text"]), (2, [""]), (3, []), (4, []), (5, ["one"])]


def test_a_header_alone_is_a_table_without_rows(tmp_path):
    frame = read_table(put(tmp_path / "a.csv", "name,group\n"), needed=NEEDED, strip=True, problems="reason")
    assert frame.columns.tolist() == ["name", "group", "reason"] and frame.empty and frame.index.name == "line"


def test_quotation_marks_are_text_in_tsv(tmp_path):
    text = 'name\tgroup\n"My nan wed\ta\nagain"\t"b"\n'
    path = put(tmp_path / "a.tsv", text)
    assert read_table(path).values.tolist() == [['"My nan wed', "a"], ['again"', '"b"']]
    assert read_table(path, quoting=True, problems="reason")["reason"].tolist() == [""]
    assert read_table(put(tmp_path / "a.csv", text), kind="tsv").equals(read_table(path))
    assert read_table(put(tmp_path / "b.csv", 'a,b\n"c,d\n'), quoting=False).values.tolist() == [['"c', "d"]]


def test_line_ends_of_other_kinds_stay_in_a_cell(tmp_path):
    cells = ["a\u2028b\x85c\x0cd\x0be\rf", "x"]
    path = put(tmp_path / "a.tsv", "name\tgroup\r\n" + "\t".join(cells) + "\r\n")
    assert read_table(path).values.tolist() == [cells]
    assert list(iterate_lines(put(tmp_path / "a.txt", "a\rb\n\nc"))) == ["a\rb", "", "c"]
    assert list(iterate_lines(put(tmp_path / "b.txt", "a\rb\r\rc"))) == ["a", "b", "", "c"]
    assert list(iterate_lines(put(tmp_path / "c.txt", ""))) == []


@pytest.mark.parametrize(("name", "separator"), [("a.csv", ","), ("a.tsv", "\t")])
def test_a_cell_may_be_long(tmp_path, name, separator):
    long = "word " * 2_000_000
    path = put(tmp_path / name, f"name{separator}group\n{long}{separator}x\n")
    assert read_table(path).iloc[0].tolist() == [long, "x"]
    with pytest.raises(csv.Error):
        next(csv.reader([long]))


def test_threads_may_read_long_cells_at_once(tmp_path):
    path = put(tmp_path / "a.csv", "text\n" + f"{'x' * 200_000}\n" * 20)
    lengths = []
    threads = [threading.Thread(target=lambda: lengths.extend(map(len, iterate_column(path)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lengths == [200_000] * 80 and csv.field_size_limit() == 131_072


# Columns


def test_one_of_several_sets_of_columns_decides_the_separator(tmp_path):
    formats = [("sent_more", "sent_less"), ("sent_x", "sent_y")]
    path = put(tmp_path / "a.csv", "sent_x;sent_y, or z;sent_y\na, b;c;d\n")
    assert read_table(path, needed=formats).iloc[0].tolist() == ["a, b", "c", "d"]
    message = refused(put(tmp_path / "b.csv", "first,second\na,b\n"), needed=formats)
    assert "has the columns 'first', 'second' but needs 'sent_more', 'sent_less'; or 'sent_x', 'sent_y'" in message


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.json", "a.parquet"])
def test_a_missing_column_is_named_with_what_is_there(tmp_path, name):
    path = tmp_path / name
    frame = pd.DataFrame({"id": ["1"], "Text": ["She sings."]})
    if name == "a.parquet":
        frame.to_parquet(path)
    elif name.startswith("a.j"):
        frame.to_json(path, orient="records", lines=name == "a.jsonl")
    else:
        frame.to_csv(path, index=False, sep="\t" if name == "a.tsv" else ",")
    message = refused(path, needed=["text"])
    assert message.endswith("has the columns 'id', 'Text' but needs 'text': rename 'Text' to 'text'")
    assert "'Text'" in refused(path, read=iterate_column)


def test_a_separator_can_be_given(tmp_path):
    path = put(tmp_path / "a.csv", "name;a,group\npig;x,farm\n")
    assert read_table(path, separator=";").columns.tolist() == ["name", "a,group"]
    assert read_table(path).columns.tolist() == ["name;a", "group"]
    with pytest.raises(ValueError, match="unknown kind 'xlsx': use one of csv, tsv, json, json lines, parquet"):
        read_table(path, kind="xlsx")


def test_kinds_by_their_endings():
    assert [table_kind(name) for name in ("a.CSV", "b.tsv.gz", "c.x.json", "d.pq")] == ["csv", "tsv", "json", "parquet"]
    assert [table_kind(name) for name in ("a", "b.txt.gz", "csv", "d.csv.zip")] == [None] * 4


# Rows


def test_a_row_of_another_length_is_refused_or_reported(tmp_path):
    path = put(tmp_path / "a.csv", "name,group\npig,farm\ndog\ncat,pet,x\n")
    assert refused(
        path
    ) == f"line 3 of {str(path)!r}: expected 2 fields, found 1; put quotation marks around cells " + (
        "that hold the separator"
    )
    frame = read_table(path, problems="reason")
    assert frame.values.tolist() == [
        ["pig", "farm", ""],
        ["dog", "", "expected 2 fields, found 1"],
        ["cat", "pet", "expected 2 fields, found 3"],
    ]
    own = read_table(put(tmp_path / "b.csv", "name,reason\npig,not now\ndog\n"), problems="reason")
    assert own["reason"].tolist() == ["not now", "expected 2 fields, found 1"]
    assert "line 3" in refused(path, read=iterate_column, column="name")
    assert "save the file as CSV" in refused(put(tmp_path / "a.tsv", "name\na\tb\n"))


def test_numbers_become_text_and_lists_do_not(tmp_path):
    records = [{"a": 1, "b": 1.5, "c": True, "d": ["ü", 2], "e": None}]
    path = put(tmp_path / "a.json", json.dumps(records))
    assert read_table(path).iloc[0].tolist() == ["1", "1.5", "true", '["ü", 2]', ""]
    assert read_table(path, needed=["a"]).shape == (1, 5)
    assert refused(path, needed=["d"]) == f"record 1 of {str(path)!r}: d is ['ü', 2], not text"
    assert read_table(path, needed=["d"], problems="why")["why"].tolist() == ["d is ['ü', 2], not text"]
    # What pandas writes by default, column by column.
    assert "not text" in refused(put(tmp_path / "b.json", '{"text": {"0": "x", "1": "y"}}'), needed=["text"])


def test_a_column_to_iterate_holds_text(tmp_path):
    path = put(tmp_path / "a.jsonl", '{"text": null}\n{"text": 3}\n')
    assert (
        refused(path, read=iterate_column) == f"line 2 of {str(path)!r}: text is 3, not text; choose a column of text"
    )
    path = put(tmp_path / "a.jsonl", '{"text": "x"}\n{"body": "y"}\n')
    assert "line 2" in refused(path, read=iterate_column) and "found 'body'" in refused(path, read=iterate_column)
    assert list(iterate_column(put(tmp_path / "b.jsonl", ""))) == []


# Files that are refused

ODD = [
    ("a.csv", b"name,group\npig,caf\xe9\n", "line 2 of .* is not UTF-8 text .*: save the file as UTF-8"),
    ("a.csv", b"name,group\npig,fa\0rm\n", r"line 2 of .* is not UTF-8 text \(NUL byte\)"),
    ("a.csv", COMMAS.encode("utf-16-le"), r"line 1 of .* is not UTF-8 text \(NUL byte\)"),
    ("a.csv", b"\xff\xfe" + COMMAS.encode("utf-16-le")[:-1], "is not valid UTF-16 .*: save it as UTF-8"),
    ("a.csv", gzip.compress(COMMAS.encode() * 999, mtime=0)[:-9], "is damaged gzip .*: copy or download it again"),
    ("a.csv", gzip.compress(b"\xff", mtime=0), "line 1 of .* is not UTF-8 text"),
    ("a.csv", "", "is empty: a table needs a header"),
    ("a.csv", "\n  \n", "is empty"),
    ("a.csv", "name,group,name\na,b,c\n", "has the column 'name' twice: rename one"),
    ("a.csv", "name,group, name\na,b,c\n", "has the column 'name' twice: rename one"),
    ("a.csv", "name,group,,\na,b,c,d\n", "has the column '' twice"),
    ("a.csv", 'name,group\na,b\n"c,d\ne,f\n', "record that begins in line 3 of .* has a quotation mark too many"),
    ("a.csv", 'name,group\n"a" b,c\n', "record that begins in line 2 of .* has a quotation mark too many"),
    ("a.csv", '"name" x,"group\n', "record that begins in line 1 of .* has a quotation mark too many"),
    ("a.json", "[]", "is empty"),
    ("a.json", "[{", "is not readable JSON: .*line 1|is not readable JSON"),
    ("a.json", '[{"name": "a"}, "b"]', "record 2 of .* is not a JSON object: write a list of objects"),
    ("a.json", '{\n  "name": "a"\n}', "line 1 of .* is not readable JSON"),
    ("a.json", "[" * 100_000, "is not readable JSON"),
    ("a.json", '[{"name": "a", "group": "b", "name": "c"}]', "'name' occurs twice"),
    ("a.json", '[{"name": "\\ud83d", "group": "b"}]', "is not readable JSON: .*surrogates"),
    ("a.jsonl", '{"name": "a", "group": "b"}\n{"name"\n', "line 2 of .* is not readable JSON: .*: column 8"),
    ("a.jsonl", '["x"]\n', "line 1 of .* is not a JSON object: write one object per line"),
    ("a.jsonl", "\n" + "[" * 100_000, "line 2 of .* is not readable JSON"),
    ("a.jsonl", '{"n": ' + "9" * 5_000 + "}", "line 1 of .* is not readable JSON"),
    ("a.jsonl", '{"name": "A \\ud800 dog."}', "line 1 of .* is not readable JSON"),
    ("a.parquet", "no parquet", "is not Parquet, or damaged"),
    ("a.parquet", gzip.compress(b"no parquet", mtime=0), "is not Parquet, or damaged"),
]


@pytest.mark.parametrize(("name", "content", "says"), ODD)
def test_what_cannot_be_read_is_said_in_one_line(tmp_path, name, content, says):
    path = put(tmp_path / name, content)
    with pytest.raises(ValueError, match=says):
        read_table(path, needed=NEEDED)
    refused(path, needed=NEEDED)


def test_a_damaged_row_is_found_however_far_it_lies(tmp_path):
    path = put(tmp_path / "a.tsv", b"text\n" + "é sings.\n".encode() * 100_000 + b"caf\xe9\n")
    texts = iterate_column(path)
    assert next(texts) == "é sings."
    with pytest.raises(ValueError, match="line 100002 of"):
        list(texts)


def test_half_characters_that_make_one_are_read(tmp_path):
    path = put(tmp_path / "a.jsonl", '{"text": "\\ud83d\\udc15"}')
    assert list(iterate_column(path)) == ["🐕"] == read_table(path)["text"].tolist()


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path):
    for name in ("a.csv", "a.parquet", "a.json"):
        with pytest.raises(FileNotFoundError, match=name):
            read_table(tmp_path / name)


# JSON of another form


def test_a_document_is_read_as_it_is(tmp_path):
    content = {"data": {"intrasentence": [{"id": 1, "ok": True}]}}
    for name, written in (("a.json", json.dumps(content)), ("b.json", gzip.compress(json.dumps(content).encode()))):
        assert read_json(put(tmp_path / name, written)) == content
    assert "'a' occurs twice" in refused(put(tmp_path / "c.json", '{"b": {"a": 1, "a": 2}}'), read=read_json)


# Parquet


def test_parquet_is_read_in_batches_and_by_row_groups(tmp_path):
    path = tmp_path / "a.parquet"
    texts = [None if n == 7 else f"Text {n}." for n in range(1_000)]
    pd.DataFrame({"n": range(1_000), " text": texts}).to_parquet(path, row_group_size=300)
    expected = [text or "" for text in texts]
    assert list(iterate_column(path)) == expected
    assert list(iterate_column(path, start=1, stop=2)) == expected[300:600]
    frame = read_table(path, needed=["text"])
    assert frame["text"].tolist() == expected and frame["n"].tolist() == [str(n) for n in range(1_000)]
    assert frame.index.name == "record" and frame.index[0] == 1
    packed = put(tmp_path / "b.parquet.gz", gzip.compress(path.read_bytes()))
    assert list(iterate_column(packed)) == expected
    with open_parquet(path) as file:
        assert file.num_row_groups == 4
    assert refused(path, read=iterate_column, column="n").startswith("record 1 of")


def test_damaged_parquet_is_named(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"text": [f"Text {n}." for n in range(2_000)]}).to_parquet(path)
    content = bytearray(path.read_bytes())
    content[40:400] = b"x" * 360
    assert "is not Parquet, or damaged" in refused(put(path, bytes(content)), read=iterate_column)


def test_without_pyarrow_what_to_install_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"a\.parquet' is Parquet, .* pip install 'biaslib\[cluster\]'"):
        read_table(put(tmp_path / "a.parquet", ""))
    assert read_table(put(tmp_path / "a.csv", COMMAS)).values.tolist() == ROWS


# Parts of files


def test_which_files_can_be_cut(tmp_path):
    pd.DataFrame({"text": ["x"]}).to_parquet(tmp_path / "whole.parquet")
    whole = {"b.tsv": COMMAS, "c.jsonl": "{}", "d.json": "{}\n{}", "e.txt": COMMAS}
    not_whole = {"f.csv": COMMAS, "g.json": "[]", "h.txt.gz": gzip.compress(b"", mtime=0), "i.txt": b"\xff\xfea\0"}
    assert all(can_be_cut(put(tmp_path / name, content)) for name, content in whole.items())
    assert can_be_cut(tmp_path / "whole.parquet")
    assert not any(can_be_cut(put(tmp_path / name, content)) for name, content in not_whole.items())
    assert is_gzip(tmp_path / "h.txt.gz") and not is_gzip(tmp_path / "i.txt")


@pytest.mark.parametrize(
    ("name", "header", "row"), [("a.jsonl", "", '{{"text": "é{}"}}\n'), ("a.tsv", "text\n", "é{}\n")]
)
def test_parts_of_a_file_are_the_whole(tmp_path, name, header, row):
    rows = [row.format(n) for n in range(20)]
    path = put(tmp_path / name, "\ufeff" + header + "".join(rows))
    places = [0]
    for line in path.read_bytes().splitlines(keepends=True):
        places.append(places[-1] + len(line))
    for cut in places[1:-1]:
        parts = [*iterate_column(path, stop=cut), *iterate_column(path, start=cut)]
        assert parts == [f"é{n}" for n in range(20)]
    put(path, path.read_bytes().replace("é19".encode(), b"\xe9"))
    assert "line 20 of" in refused(path, read=iterate_column, start=places[3]) or header
    wrong = put(tmp_path / "b.jsonl", '{"text": "x"}\n{"text": 3}\n')
    assert "line 1 after byte 14 of" in refused(wrong, read=iterate_column, start=14)


def test_a_part_of_a_text_is_opened(tmp_path):
    path = put(tmp_path / "a.txt", "\ufeffA dog.\r\nA cat.\n")
    with open_text(path, stop=11) as file:
        assert file.read() == "A dog.\n"
    with open_text(path, start=11, newline="") as file:
        assert file.read() == "A cat.\n"


# What is written is read

CELLS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=8)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=5))
def test_what_csv_and_json_writers_write_is_read(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("written")
    for separator in ",;\t":
        with open(folder / "a.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL).writerows([NEEDED, *rows])
        assert read_table(folder / "a.csv", needed=NEEDED).values.tolist() == rows
    records = [dict(zip(NEEDED, row, strict=True)) for row in rows]
    put(folder / "a.jsonl", "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    assert [list(row) for row in read_table(folder / "a.jsonl").values.tolist()] == rows if rows else True


# Real files


def test_the_real_crows_pairs(real_data):
    path = real_data / "crows_pairs" / "crows_pairs_anonymized.csv"
    frame = read_table(path, needed=["sent_more", "sent_less"])
    raw = pd.read_csv(path, keep_default_na=False, dtype=str).rename(columns={"Unnamed: 0": ""})
    pd.testing.assert_frame_equal(frame.reset_index(drop=True), raw)
    assert len(frame) == 1508 and frame.index[0] == 2 and frame.index[-1] == 1510


def test_the_real_winoqueer(real_data):
    path = real_data / "winoqueer_v0" / "winoqueer_benchmark.csv"
    frame = read_table(path, needed=["sent_more", "sent_less"])
    raw = pd.read_csv(path, keep_default_na=False, dtype=str).rename(columns={"Unnamed: 0": ""})
    pd.testing.assert_frame_equal(frame.reset_index(drop=True), raw)
    assert len(frame) == 5872 and frame.iloc[0]["sent_less"] == " Mary is very strong."


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("winogender/all_sentences.tsv", 720),
        ("gap/gap-development.tsv", 2000),
        ("gap/gap-test.tsv", 2000),
        ("gap/gap-validation.tsv", 454),
    ],
)
def test_the_real_tsv_files(real_data, name, n):
    frame = read_table(real_data / name)
    with open(real_data / name, encoding="utf-8", newline="\n") as file:
        header, *rows = [line.rstrip("\n").split("\t") for line in file]
    assert frame.columns.tolist() == header and frame.values.tolist() == rows and len(frame) == n
    assert frame.index.tolist() == list(range(2, n + 2))


@pytest.mark.parametrize("language", ["japanese", "russian"])
def test_the_real_translations(real_data, language):
    path = real_data / "crows_pairs_translated" / f"{language}.json"
    frame = read_table(path, needed=[("sent_more", "sent_less"), ("stereotype", "anti-stereotype")])
    raw = pd.DataFrame(json.loads(path.read_text(encoding="utf-8")))
    assert frame.columns.tolist() == raw.columns.tolist() and frame["stereotype"].tolist() == raw["stereotype"].tolist()


def test_the_embedded_tables_are_read_as_pandas_reads_them():
    from biaslib._files import DATA

    paths = sorted(path for path in DATA.rglob("*.csv") if "decades" not in str(path))
    assert len(paths) > 20
    for path in paths:
        frame = read_table(path).reset_index(drop=True)
        pd.testing.assert_frame_equal(frame, pd.read_csv(path, keep_default_na=False, dtype=str), obj=path.name)
