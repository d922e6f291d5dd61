"""Parallel text: every line of every format is read or refused in one line; whole words of one gender alone count."""

import gzip
import re
import zipfile

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslib.io import read_gender_words, read_parallel
from biaslib.metrics import balance, count_labels, gender_sentences, label_gender, usable
from biaslib.metrics.gendered_sentences import REASONS

MALE = ["he", "him", "his", "man", "men", "shepherd", "boys", "James", "father-in-law", "fire chief", "mr.", "José"]
FEMALE = ["she", "her", "hers", "woman", "women", "mother", "ma'am", "Mary", "lady in waiting", "mrs."]
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


def genders(*sentences, male=MALE, female=FEMALE):
    frame = label_gender(sentences, list(map(str, range(len(sentences)))), male_words=male, female_words=female)
    return frame.gender.where(frame.reason == "", frame.reason).tolist()


def only_gender(sentence):
    (gender,) = genders(sentence)
    return {"no gender word": "", "words of both genders": "both"}.get(gender, gender)


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


# Words


@pytest.mark.parametrize(
    ("sentence", "gender"),
    [
        ("He sings.", "male"),
        ("HE SINGS", "male"),
        ("The weather is fine.", ""),
        ("She saw him.", "both"),
        # Parts of words, and Unicode letters around.
        ("The other menu.", ""),
        ("Hé, chez Rhe.", ""),
        ("José sang.", "male"),
        ("Jose\u0301 sang.", "male"),
        ("He\u0301 sang.", ""),
        ("the_he_file he2", ""),
        ("“He”—and… ‘he’", "male"),
        ("he\u2028she", "both"),
        # Possessives and contractions, with either apostrophe, and as tokenizers leave them.
        ("the shepherd's herd", ""),
        ("the shepherd’s herd", ""),
        ("the shepherd &apos;s herd", ""),
        ("the shepherd &#39;s herd", ""),
        ("the shepherd ' s herd", ""),
        ("the shepherd 's", ""),
        ("the boys' toys", ""),
        ("the boys &apos; toys", ""),
        ("the boys’", ""),
        ("the shepherd' he", "male"),
        ("'the shepherd' is gone", "male"),
        ("he's here", "male"),
        ("she &apos;s here", "female"),
        ("the mother'd say", "female"),
        ("the mother &apos;ll say", "female"),
        ("he'd've gone", "male"),
        ("'it is hers'", "female"),
        ("Yes, ma’am.", "female"),
        ("ma'am's hat", ""),
        # Hyphens, dashes, slashes.
        ("man-made", ""),
        ("a he-man", ""),
        ("his father-in-law's", "male"),
        ("my father-in-law", "male"),
        ("my father‑in‑law", "male"),
        ("my father in law", ""),
        ("my father @-@ in @-@ law", "male"),
        ("man @-@ made", ""),
        ("he--she", "both"),
        ("he – she", "both"),
        ("so\u00adhe sang", ""),
        ("h\u00ade sang", "male"),
        ("he/she", "both"),
        ("s/he sings", "both"),
        ("(s)he sings", "both"),
        ("a (wo)man", "both"),
        # Lists with phrases, dots and capitals.
        ("the fire chief", "male"),
        ("the fire chief's hat", ""),
        ("a lady in waiting", "female"),
        ("a lady in her", "female"),
        ("Mr Hume and Mr. Smith", "male"),
        ("mary sang", "female"),
        ("R&D &copy; &nosuch; he", "male"),
    ],
)
def test_whole_words_alone_count(sentence, gender):
    assert only_gender(sentence) == gender


def test_the_word_is_the_first_as_listed():
    frame = gender_sentences(["A MAN and his dog.", "MARY!"], ["1", "2"], male_words=MALE, female_words=FEMALE)
    assert frame[["gender", "word"]].values.tolist() == [["male", "man"], ["female", "Mary"]]
    assert frame.columns.tolist() == ["line", "english", "target", "gender", "word"]


def test_every_pair_has_its_reason():
    english = ["He ran.", "", "He ran.", "He left.", "It rains.", "He saw her.", "He ate.", "She ate.", " ", "He\tate"]
    target = ["Er lief.", "x", "", "Er  lief. ", "Es regnet.", "y", "Aß.", "Aß.", "", "&quot;z&quot;"]
    frame = label_gender(english, target, male_words=MALE, female_words=FEMALE)
    assert frame.reason.tolist() == [
        "",
        "no English text",
        "no target text",
        "repeated target sentence",
        "no gender word",
        "words of both genders",
        "target sentence of both genders",
        "target sentence of both genders",
        "no English text",
        "",
    ]
    assert frame.line.tolist() == list(range(1, 11)) and frame.target.iloc[-1] == '"z"'
    counts = count_labels(frame).set_index("outcome").n
    assert counts["taken: male"] == 2 and counts["taken: female"] == 0
    assert counts["all pairs"] == 10 == counts.drop("all pairs").sum()
    assert set(REASONS) < set(counts.index)


def test_lines_go_back_to_the_file(tmp_path):
    frame = read_parallel(put(tmp_path / "t.tsv", "english\tde\nIt rains.\tx\nHe ran.\ty\n"))
    taken_from = gender_sentences(frame.english, frame.target, male_words=MALE, female_words=FEMALE)
    assert taken_from.line.tolist() == [3]


@given(st.randoms(use_true_random=False))
def test_order_moves_no_label(rng):
    rows = [("He ran.", "a"), ("She ran.", "a"), ("She ate.", "b"), ("It ate.", "c"), ("Her hat.", "d"), ("him", "e")]

    def found(rows):
        return set(
            map(
                tuple,
                gender_sentences(*zip(*rows, strict=True), male_words=MALE, female_words=FEMALE)[
                    ["english", "target", "gender"]
                ].values,
            )
        )

    assert (
        found(rows)
        == found(rng.sample(rows, len(rows)))
        == {("She ate.", "b", "female"), ("Her hat.", "d", "female"), ("him", "e", "male")}
    )


def test_lists_that_are_refused():
    for male, female, says in (
        (["he", "her"], ["HER"], "'HER' is in both lists"),
        ([], ["she"], "there is no male word"),
        (["he"], ["--"], "'--' has no letter"),
    ):
        with pytest.raises(ValueError, match=says):
            label_gender(["x"], ["y"], male_words=male, female_words=female)
    with pytest.raises(ValueError, match="as many English as target sentences, not 1 and 2"):
        label_gender(["x"], ["y", "z"], male_words=MALE, female_words=FEMALE)
    with pytest.raises(TypeError, match="entry 0 of sentences must be a string, not None"):
        label_gender([None], ["y"], male_words=MALE, female_words=FEMALE)


def test_sides_are_made_equal_by_the_seed():
    frame = pd.DataFrame({"gender": ["male"] * 9 + ["female"] * 4, "target": list("abcdefghijklm")})
    some = balance(frame, 1)
    assert some.gender.value_counts().to_dict() == {"male": 4, "female": 4}
    assert some.target.is_monotonic_increasing and set(some.target) >= set("jklm")
    pd.testing.assert_frame_equal(some, balance(frame, 1))
    assert any(set(balance(frame, seed).target) != set(some.target) for seed in range(2, 9))
    assert balance(frame[:9]).empty
    counts = count_labels(frame.assign(reason=""), some).set_index("outcome").n
    assert counts["left out to make both genders equal"] == 5 and counts["all pairs"] == 13
    with pytest.raises(ValueError, match="gender is '' in a row"):
        balance(pd.DataFrame({"gender": ["male", ""]}))


# Word lists


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


def test_the_embedded_pairs():
    frame = read_parallel("parallel_en_de")
    assert len(frame) > 350 and frame.ne("").all(axis=None)
    words = read_gender_words().groupby("gender").word.agg(list)
    labelled = label_gender(frame.english, frame.target, male_words=words.male, female_words=words.female)
    counts = count_labels(labelled).set_index("outcome").n
    assert min(counts["taken: male"], counts["taken: female"]) > 80
    assert counts["words of both genders"] > 0 and counts["no gender word"] > 100


# Real material


def test_ten_thousand_real_pairs(real_data):
    folder = real_data / "parallel_en_de"
    if not folder.is_dir():
        pytest.skip("no parallel_en_de in BIASLIB_DATA")
    frame = read_parallel(folder)
    assert frame.shape == (10_000, 2)
    lists = real_data / "gender_words"
    words = read_gender_words(lists / "male_word_file.txt", lists / "female_word_file.txt")
    by = words.groupby("gender").word.agg(list)
    labelled = label_gender(frame.english, frame.target, male_words=by.male, female_words=by.female)
    counts = count_labels(labelled).set_index("outcome").n
    assert counts.drop("all pairs").sum() == 10_000 and counts["taken: male"] > 500 and counts["taken: female"] > 150
    assert not labelled.english.str.contains("&apos;").any()
    # Against a plain search for the commonest words in text without apostrophes or hyphens.
    plain = frame[~frame.english.str.contains(r"[&'’\-(/]")]
    for word, gender in (("he", "male"), ("she", "female"), ("women", "female")):
        expected = plain.index[plain.english.str.contains(rf"\b{word}\b", flags=re.IGNORECASE)]
        rows = labelled.set_index("line").loc[expected]
        assert len(rows) and (rows.gender.eq(gender) | rows.reason.eq("words of both genders")).all()
    sample = balance(usable(labelled), 0)
    pd.testing.assert_frame_equal(sample, balance(usable(labelled), 0))
    shuffled = frame.sample(frac=1, random_state=0)
    again = label_gender(shuffled.english, shuffled.target, male_words=by.male, female_words=by.female)
    pd.testing.assert_frame_equal(
        again.sort_values("line", ignore_index=True)[["gender", "word"]], labelled[["gender", "word"]]
    )
