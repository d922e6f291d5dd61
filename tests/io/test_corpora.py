import gzip
import json
from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslib.io import corpora, corpus_files, cut_files, read_documents, read_texts, sentence_spans


def sentences(text):
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The dog ran. It fell! Why? Who knows…", ["The dog ran.", "It fell!", "Why?", "Who knows…"]),
        ('"Run!" said he. "No." She sat.', ['"Run!" said he.', '"No."', "She sat."]),
        ("Mr. Fox met Dr. J. Hare. They spoke.", ["Mr. Fox met Dr. J. Hare.", "They spoke."]),
        ("It was I. He left.", ["It was I.", "He left."]),
        ("The dog\nran on.\nIt fell.", ["The dog\nran on.", "It fell."]),
        ("a verse\nof two lines\n\nand another", ["a verse\nof two lines", "and another"]),
        ("THE END\nCHAPTER II\nThe dog ran.", ["THE END", "CHAPTER II", "The dog ran."]),
        ("So said\nI\nto him.", ["So said\nI\nto him."]),
        ("It cost 3.50 in all. Etc.", ["It cost 3.50 in all.", "Etc."]),
        ("“Sit.” The dog sat.", ["“Sit.”", "The dog sat."]),
        ("  \n \n", []),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text, expected):
    assert sentences(text) == expected


@settings(deadline=None)
@given(st.text(alphabet="aB .!?\n\"'I…", max_size=80))
def test_sentences_leave_out_white_space_only(text):
    spans = sentence_spans(text)
    assert all(end > start for start, end in spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())


def test_passages_of_a_long_file_have_its_sentences(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "PASSAGE", 4_000)
    long = "\n".join(f"Mr. Hare no. {n} saw the fox,\nwhich ran. CHAPTER\n\nI\n\nNo? “Yes.”" for n in range(2_000))
    (tmp_path / "book.txt").write_text(long, encoding="utf-8")
    passages = list(read_texts(tmp_path / "book.txt"))
    assert len(passages) > 20 and max(map(len, passages)) < 9_000
    assert "".join(passages) == long
    assert [s for passage in passages for s in sentences(passage)] == sentences(long)


def test_a_text_without_an_end_is_cut_and_not_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "LONGEST_PASSAGE", 200_000)
    endless = "word " * 100_000
    (tmp_path / "endless.txt").write_text(endless)
    passages = list(read_texts(tmp_path / "endless.txt"))
    assert "".join(passages) == endless and len(passages) > 1


def test_every_format_gives_the_same_texts(tmp_path):
    rows = ["The dog ran.\nIt fell.", "", "Ünë »dog« 🐕."]
    plain, lines, parquet = tmp_path / "a.txt", tmp_path / "b.jsonl", tmp_path / "c.parquet"
    plain.write_bytes(b"\xef\xbb\xbf" + rows[0].encode())
    content = "\n".join(json.dumps({"id": n, "text": row}) for n, row in enumerate(rows)) + "\n\n"
    lines.write_text(content, encoding="utf-8")
    with gzip.open(tmp_path / "b2.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(content.replace('"text"', '"body"'))
    with gzip.open(tmp_path / "a2.txt.gz", "wt", encoding="utf-8") as file:
        file.write(rows[0])
    pd.DataFrame({"id": range(3), "text": [rows[0], None, rows[2]]}).to_parquet(parquet)
    assert list(read_texts([plain, tmp_path / "a2.txt.gz"])) == [rows[0], rows[0]]
    assert list(read_texts(lines)) == rows
    assert list(read_texts(str(tmp_path / "b2.jsonl.gz"), text_column="body")) == rows
    # A missing text is an empty one: rows keep their numbers.
    assert list(read_texts(parquet)) == rows


def test_parquet_comes_in_batches(tmp_path):
    rows = [f"Text {n}." for n in range(1_000)]
    pd.DataFrame({"text": rows}).to_parquet(tmp_path / "a.parquet", row_group_size=300)
    assert list(read_texts(tmp_path / "a.parquet")) == rows


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("a.jsonl", b'{"text": "x"}\n{"text"\n', {}, "line 2 of .* is not readable JSON"),
        ("a.jsonl", b'["x"]\n', {}, "line 1 of .* is not a JSON object"),
        ("a.jsonl", b"\n" + b"[" * 100_000, {}, r"line 2 of '.*a\.jsonl' is not readable JSON"),
        ("a.jsonl", b'{"n": ' + b"9" * 5_000 + b"}", {}, r"line 1 of '.*a\.jsonl' is not readable JSON"),
        (
            "a.jsonl",
            b'{"text": "A \\ud800 dog."}',
            {},
            r"line 1 of '.*a\.jsonl' .*surrogates not allowed",
        ),
        ("a.jsonl", b'{"body": "x"}\n', {}, "expected the field 'text', found 'body'"),
        ("a.jsonl", b'{"text": 3}\n', {}, "line 1 of .*: text is 3, not text"),
        ("a.parquet", b"no parquet", {}, "is not Parquet"),
        ("a.txt", b"caf\xe9 and more", {}, "is not UTF-8 text"),
        ("a.txt.gz", b"\x1f\x8bno gzip", {}, "is damaged gzip"),
        ("a.txt.gz", gzip.compress(b"The dog ran. " * 99, mtime=0)[:-9], {}, "is damaged gzip"),
        ("a.csv", b"body,id\nx,1\n", {}, "has the columns 'body', 'id' but needs 'text'"),
        ("a.md", b"The dog ran.", {}, "rename it to .txt"),
    ],
)
def test_bad_files_are_named(tmp_path, name, content, options, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        list(read_texts(tmp_path / name, **options))


def test_a_wrong_column_of_parquet_is_named(tmp_path):
    pd.DataFrame({"body": ["x"], "n": [1]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="has the columns 'body', 'n' but needs 'text'"):
        list(read_texts(tmp_path / "a.parquet"))
    with pytest.raises(ValueError, match=r"record 1 of .*: n is 1, not text"):
        list(read_texts(tmp_path / "a.parquet", text_column="n"))


def test_damaged_parquet_is_named(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"text": [f"Text {n}." for n in range(2_000)]}).to_parquet(path)
    content = bytearray(path.read_bytes())
    content[40:400] = b"x" * 360
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.parquet' is not Parquet, or damaged"):
        list(read_texts(path))


def test_missing_files_are_refused_before_reading(tmp_path):
    (tmp_path / "a.txt").write_text("The dog ran.")
    with pytest.raises(FileNotFoundError, match=r"no file .*b\.txt"):
        read_texts([tmp_path / "a.txt", tmp_path / "b.txt"])
    with pytest.raises(ValueError, match="no file of texts"):
        read_texts([])


def test_passages_of_novels_have_the_sentences_of_the_whole(real_data):
    for name in ("Kipling_Captains_1896", "Thackeray_Esmond_1852"):
        path = real_data / "novels" / f"{name}.txt.gz"
        with gzip.open(path, "rt", encoding="utf-8-sig") as file:
            whole = file.read()
        assert [s for passage in read_texts(path) for s in sentences(passage)] == sentences(whole)


def test_files_of_a_corpus(tmp_path):
    for name in ("b.txt", "a.jsonl", ".hidden"):
        (tmp_path / name).write_text("")
    (tmp_path / "folder").mkdir()
    assert [path.name for path in corpus_files(tmp_path)] == ["a.jsonl", "b.txt"]
    assert [path.name for path in corpus_files([tmp_path / "b.txt", "animal_sentences"])] == [
        "b.txt",
        "animal_sentences.txt",
    ]
    assert corpus_files("") == corpus_files([]) == []
    with pytest.raises(FileNotFoundError, match="no file in the folder"):
        corpus_files(tmp_path / "folder")
    with pytest.raises(FileNotFoundError, match=r"no file 'absent': .*'animal_sentences'"):
        corpus_files("absent")


def test_a_file_that_would_count_twice_is_refused(tmp_path):
    path, link = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("")
    with pytest.raises(ValueError, match=r"the corpus has '.*a\.txt' twice: keep one"):
        corpus_files([path, path])
    link.symlink_to(path)
    with pytest.raises(ValueError, match=r"the corpus has '.*a\.txt' twice, also as '.*b\.txt'"):
        corpus_files(tmp_path)
    assert corpus_files(link) == [link]


def test_what_a_folder_leaves_out_is_said(tmp_path):
    for name in ("a.txt", "within/b.txt", "empty/.hidden", ".git/config"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    with pytest.warns(UserWarning, match=r"left out \(within\)") as said:
        assert corpus_files(tmp_path) == [tmp_path / "a.txt"]
    assert said[0].filename == __file__
    (tmp_path / "broken").symlink_to(tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match="broken' is broken"):
        corpus_files(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'id,text\n1,"The dog, who barked, slept."\n2,NA\n'),
        ("a.tsv", "id\ttext\n1\tThe dog, who barked, slept.\n2\tNA\n"),
        ("a.json", '[{"text": "The dog, who barked, slept."}, {"text": "NA"}]'),
        ("a.csv.gz", "text;id\nThe dog, who barked, slept.;1\nNA;2\n"),
    ],
)
def test_tables_are_read_and_cut_as_tables(tmp_path, name, content):
    data = content.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    texts = ["The dog, who barked, slept.", "NA"]
    assert list(read_texts(tmp_path / name)) == read_documents(tmp_path / name) == texts
    assert [text for shard in cut_files([tmp_path / name], shard_bytes=1) for text in read_texts(shard)] == texts
