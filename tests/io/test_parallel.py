"""Parallel text: every line of every format is read or refused in one line; whole words of one gender alone count."""

import gzip
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslib.io import read_parallel

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>She &lt;sings&gt;
  &amp; <hi>dances</hi>.<bpt i="1">{\\b <sub>no text</sub></bpt></seg></tuv>
<tuv xml:lang="de-DE"><seg>Sie singt.</seg></tuv></tu>
<tu><tuv xml:lang="de-DE"><seg>Es\u2028regnet.</seg></tuv><tuv xml:lang="EN_gb"><seg>It rains.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg/></tuv><tuv xml:lang="de"><seg>Leer.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Alone.</seg></tuv></tu>
</body></tmx>"""


def put(place, content, compressed=False):
    content = content if isinstance(content, bytes) else content.encode("utf-8")
    place.write_bytes(gzip.compress(content, mtime=0) if compressed else content)
    return place


def pairs(frame):
    return list(zip(frame["english"], frame["target"], strict=True))


# Files


@pytest.mark.parametrize("compressed", [False, True])
def test_two_aligned_files(tmp_path, compressed):
    ends = ".gz" if compressed else ""
    english = put(tmp_path / f"a.en{ends}", "\ufeffHe sings.\r\n\r\nOne\u2028line\x85still\x0cone.\n", compressed)
    german = put(tmp_path / f"a.de{ends}", "Er singt.\n\n\ufeffEine.", compressed)
    frame = read_parallel(english, german)
    assert pairs(frame) == [("He sings.", "Er singt."), ("", ""), ("One\u2028line\x85still\x0cone.", "\ufeffEine.")]
    assert frame.index.tolist() == [1, 2, 3] and frame.index.name == "line"


@pytest.mark.parametrize("more", ["english", "target"])
def test_files_of_unequal_length_say_where_they_part(tmp_path, more):
    short, long = put(tmp_path / "short", "1\n2\n"), put(tmp_path / "long", "1\n2\n3\n4\n5\n")
    files = (long, short) if more == "english" else (short, long)
    counts = "long' has 5 lines and .*short' 2" if more == "english" else "short' has 2 lines and .*long' 5"
    with pytest.raises(ValueError, match=f"{counts}: give two files that are aligned"):
        read_parallel(*files)


@pytest.mark.parametrize("compressed", [False, True])
def test_a_table(tmp_path, compressed):
    text = 'English\tGerman\r\nA "b\tEin "b\n\nNA\tnull\n'
    frame = read_parallel(put(tmp_path / f"t.TSV{'.gz' if compressed else ''}", text, compressed))
    assert pairs(frame) == [('A "b', 'Ein "b'), ("", ""), ("NA", "null")]
    assert frame.index.tolist() == [2, 3, 4]


def test_a_table_without_header_loses_no_row(tmp_path):
    assert pairs(read_parallel(put(tmp_path / "t.tsv", "Englishman\tx\nb\ty"))) == [("Englishman", "x"), ("b", "y")]


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("languages", [("en", None), ("en", "de"), ("EN", "de")])
def test_a_translation_memory(tmp_path, compressed, languages):
    frame = read_parallel(put(tmp_path / f"m.tmx{'.gz' if compressed else ''}", TMX, compressed), languages=languages)
    assert pairs(frame) == [
        ("She <sings> & dances.", "Sie singt."),
        ("It rains.", "Es\u2028regnet."),
        ("", "Leer."),
        ("Alone.", ""),
    ]
    assert frame.index.tolist() == [1, 2, 3, 4]


def test_a_long_translation_memory_is_read_piece_by_piece(tmp_path):
    unit = '<tu><tuv xml:lang="en"><seg>é{0} {1}</seg></tuv><tuv xml:lang="ru"><seg>ё{0}</seg></tuv></tu>'
    body = "".join(unit.format(n, "x" * 50) for n in range(5000))
    frame = read_parallel(put(tmp_path / "m.tmx", f"<tmx><body>{body}</body></tmx>"))
    assert len(frame) == 5000 and frame.target.tolist() == [f"ё{n}" for n in range(5000)]


@pytest.mark.parametrize(
    ("declared", "used"),
    [
        ('<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">', "&b;"),
        ('<!ENTITY a SYSTEM "file:///etc/passwd">', "&a;"),
        ('<!ENTITY % a SYSTEM "http://127.0.0.1/x"> %a;', "text"),
        ("", "&nbsp;"),
    ],
)
def test_entities_are_refused(tmp_path, declared, used):
    text = TMX.replace('SYSTEM "tmx14.dtd"', f'SYSTEM "x.dtd" [{declared}]').replace("It rains", used)
    with pytest.raises(ValueError, match=r"XML entity '.*', which is refused") as error:
        read_parallel(put(tmp_path / "m.tmx", text))
    assert "\n" not in str(error.value)


OTHER = '<tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="fr"><seg>b</seg></tuv></tu></body>'
TWICE = '<tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="en-GB"><seg>b</seg></tuv></tu></body>'


@pytest.mark.parametrize(
    ("text", "languages", "says"),
    [
        (TMX, ("en", "ja"), "no text in ja: it has de, de-de, en, en-gb"),
        (TMX, ("fr", "de"), "no text in fr"),
        ("<tmx><body></body></tmx>", ("en", None), "no text in en: it has none"),
        (TMX[:-30], ("en", None), "not well-formed XML"),
        (TMX.replace("</body>", OTHER), ("en", None), "'de' and 'fr' beside 'en': say which"),
        (TMX.replace("</body>", TWICE), ("en", "de"), "several texts in unit 5 .en and en-gb.: say which"),
    ],
)
def test_translation_memories_that_are_refused(tmp_path, text, languages, says):
    with pytest.raises(ValueError, match=says):
        read_parallel(put(tmp_path / "m.tmx", text), languages=languages)


def test_one_of_several_languages_is_chosen(tmp_path):
    frame = read_parallel(put(tmp_path / "m.tmx", TMX.replace("</body>", OTHER)), languages=("en", "fr"))
    assert frame.target.tolist() == ["", "", "", "", "b"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("t.tsv", "a\tb\na\tb\tc\n", "line 2 of .* found 3 field"),
        ("t.tsv", "a\n", "line 1 of .* found 1 field"),
        ("t.tsv", b"a\tb\n\xff\t\xfe\n", "line 2 of .* is not UTF-8"),
        ("t.tsv.gz", gzip.compress(b"a\tb\n" * 9999, mtime=0)[:-30], "damaged gzip .* download it again"),
        ("t.csv", "a,b\n", "give two line-aligned files"),
    ],
)
def test_files_that_are_refused(tmp_path, name, content, says):
    with pytest.raises(ValueError, match=says) as error:
        read_parallel(put(tmp_path / name, content))
    assert "\n" not in str(error.value)


def test_utf16_with_its_mark_is_read(tmp_path):
    assert pairs(read_parallel(put(tmp_path / "t.tsv", "ä\tb\n".encode("utf-16")))) == [("ä", "b")]


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(
        FileNotFoundError,
        match=r"no parallel text '.*gone.tsv': give a file, 'parallel_en_de' or the name of a data set",
    ):
        read_parallel(tmp_path / "gone.tsv")
    with pytest.raises(ValueError, match="did you mean 'ted2020-"):
        read_parallel("ted2020-dd")
    with pytest.raises(TypeError, match="not as a list"):
        read_parallel(["a"])
    with pytest.raises(ValueError, match="two codes, English first"):
        read_parallel(tmp_path, languages="de")


def test_a_folder_of_one_pair(tmp_path):
    for name in ("GlobalVoices.en-zhs.en", "GlobalVoices.en-zhs.zhs", "GlobalVoices.en-zhs.xml", "README", "LICENSE"):
        put(tmp_path / name, f"{name}\n")
    assert pairs(read_parallel(tmp_path)) == [("GlobalVoices.en-zhs.en", "GlobalVoices.en-zhs.zhs")]
    put(tmp_path / "GlobalVoices.en-zhs.de.gz", "German\n", compressed=True)
    with pytest.raises(ValueError, match=r"has 2 pairs of name\.en and name\.CODE"):
        read_parallel(tmp_path)
    assert read_parallel(tmp_path, languages=("en", "de")).target.tolist() == ["German"]
    with pytest.raises(ValueError, match="is a folder"):
        read_parallel(tmp_path, tmp_path)


def test_a_data_set_by_name(tmp_path, monkeypatch):
    """An archive of OPUS has its files on top; what lies beside the two is not read."""
    monkeypatch.setenv("BIASLIB_DATA", str(tmp_path))
    monkeypatch.setenv("BIASLIB_CACHE", str(tmp_path / "cache"))
    archive = tmp_path / "opus/TED2020/en-zh_cn.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as packed:
        for end, text in (("en", "She sings."), ("zh_cn", "她唱歌。"), ("xml", "<x/>")):
            packed.writestr(f"TED2020.en-zh_cn.{end}", text)
        packed.writestr("README", "about")
    with pytest.warns(UserWarning, match="'ted2020-zh' is unverified"):
        assert pairs(read_parallel("ted2020-zh")) == [("She sings.", "她唱歌。")]


@given(
    st.lists(st.tuples(*[st.text(st.characters(blacklist_characters="\0\n\r\t\ufeff", codec="utf-8"))] * 2), min_size=1)
)
def test_what_is_written_is_read(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("pairs")
    for end, side in (("en", 0), ("de", 1)):
        put(folder / f"p.{end}", "".join(f"{row[side]}\n" for row in rows))
    put(folder / "p.tsv", "en\tde\n" + "".join("\t".join(row) + "\n" for row in rows))
    assert pairs(read_parallel(folder)) == pairs(read_parallel(folder / "p.tsv")) == rows


# Real material
