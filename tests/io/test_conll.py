import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslib.io import documents_of, read_conll, select_documents
from biaslib.io.conll import CLUSTER_COLUMNS, WORD_COLUMNS

# Two sentences as OntoNotes writes them: more columns where there are predicates, a full stop of speech as "/.".
SPEECH = """\
#begin document (bc/cctv/00/cctv_0001); part 001
bc/cctv/00/cctv_0001  1  0       The   DT  (TOP(S(NP*     -   -  -  Speaker#1  *  (ARG0*  (3|(7
bc/cctv/00/cctv_0001  1  1  neighbour  NN          *)  neighbour -  1  Speaker#1  *       *)  7)
bc/cctv/00/cctv_0001  1  2        's  POS           *     -   -  -  Speaker#1  *       *   -
bc/cctv/00/cctv_0001  1  3       dog   NN          *)   dog   -  2  Speaker#1  *       *   3)
bc/cctv/00/cctv_0001  1  4        /.    .         *))     -   -  -  Speaker#1  *       *   -

bc/cctv/00/cctv_0001  1  0        It  PRP        (TOP*    -   -  -  Speaker_Two  *      (3)
bc/cctv/00/cctv_0001  1  1       saw  VBD           *   see  01  -  Speaker_Two  *       -
bc/cctv/00/cctv_0001  1  2       her  PRP           *     -   -  -  Speaker_Two  *      (7)

#end document
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def as_conll(document, sentences, mentions):
    """Write words as "w0", "w1" … and mentions (cluster, start, end) as a CoNLL-2012 file has them."""
    lines, position = [f"#begin document ({document}); part 000"], 0
    for length in sentences:
        for number in range(length):
            opened = [m for m in mentions if m[1] == position]
            closed = [m for m in mentions if m[2] == position + 1 and m not in opened]
            marks = [f"({c})" if e - s == 1 else f"({c}" for c, s, e in sorted(opened, key=lambda m: -m[2])]
            marks += [f"{c})" for c, s, e in sorted(closed, key=lambda m: -m[1])]
            columns = [document, "0", str(number), f"w{position}", *"-*---", "-", "*", "|".join(marks) or "-"]
            lines.append("  ".join(columns))
            position += 1
        lines.append("")
    return "\n".join([*lines, "#end document", ""])


def test_words_speakers_sentences_and_nested_mentions(tmp_path):
    documents = read_conll(write(tmp_path / "speech.conll", "\ufeff" + SPEECH))
    assert documents.words.columns.tolist() == WORD_COLUMNS
    assert documents.words["word"].tolist() == ["The", "neighbour", "'s", "dog", ".", "It", "saw", "her"]
    assert documents.words["sentence"].tolist() == [0] * 5 + [1] * 3
    assert documents.words["position"].tolist() == list(range(8))
    assert documents.words["speaker"].tolist() == ["Speaker#1"] * 5 + ["Speaker_Two"] * 3
    assert documents.clusters.columns.tolist() == CLUSTER_COLUMNS
    assert documents.clusters.drop(columns="document").values.tolist() == [
        [1, 3, 0, 4, "The neighbour 's dog"],
        [1, 7, 0, 2, "The neighbour"],
        [1, 3, 5, 6, "It"],
        [1, 7, 7, 8, "her"],
    ]
    counted = documents.to_frame().values.tolist()
    assert counted == [["bc/cctv/00/cctv_0001", 1, 2, 8, 2, 2, 4]]


def test_the_sample_has_what_the_format_can_have():
    documents = read_conll("coreference_sample")
    counted = documents.to_frame()
    assert counted["document"].nunique() == 12 and len(counted) == 13
    assert counted["speakers"].gt(1).sum() == 3 and counted["clusters"].min() >= 3
    assert documents.clusters.groupby(["document", "part", "cluster"]).size().min() >= 2
    mentions = documents.clusters.assign(length=documents.clusters["end"] - documents.clusters["start"])
    assert mentions["length"].eq(1).any() and mentions["length"].gt(5).any()
    pairs = mentions.merge(mentions, on=["document", "part"])
    inside = pairs["start_x"].le(pairs["start_y"]) & pairs["end_x"].ge(pairs["end_y"])
    assert (inside & (pairs["length_x"] > pairs["length_y"])).sum() > 5


@st.composite
def nested(draw):
    sentences = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    mentions, start = set(), 0
    for length in sentences:
        spans = st.tuples(st.integers(0, length - 1), st.integers(1, length)).filter(lambda span: span[0] < span[1])
        chosen = []
        for a, b in draw(st.lists(spans, max_size=4, unique=True)):
            if all(b <= c or d <= a or (a <= c and d <= b) or (c <= a and b <= d) for c, d in chosen):
                chosen.append((a, b))
        mentions |= {(draw(st.integers(0, 30)), start + a, start + b) for a, b in chosen}
        start += length
    return sentences, sorted(mentions)


@settings(deadline=None)
@given(nested())
def test_what_is_written_is_read(tmp_path_factory, case):
    sentences, mentions = case
    path = write(tmp_path_factory.mktemp("conll") / "one.conll", as_conll("x", sentences, mentions))
    documents = read_conll(path)
    assert sorted(documents.clusters[["cluster", "start", "end"]].itertuples(index=False, name=None)) == mentions
    assert documents.words.groupby("sentence").size().tolist() == sentences
    assert documents.words["word"].tolist() == [f"w{n}" for n in range(sum(sentences))]


def test_a_document_without_part_and_an_empty_line_too_many(tmp_path):
    text = SPEECH.replace("(bc/cctv/00/cctv_0001); part 001", "bc/cctv/00/cctv_0001")
    documents = read_conll(
        write(tmp_path / "one.conll", "# made by hand\n\n" + text.replace("\n\n", "\n\n\n") + "\n\n")
    )
    assert set(documents.words["part"]) == {0} and documents.words["sentence"].max() == 1


def test_tabs_and_underlines_as_other_corpora_have_them(tmp_path):
    words = [
        ["novel", "0", str(n), word, *"________", mark]
        for n, (word, mark) in enumerate([("Usher", "(0)"), ("fell", "")])
    ]
    text = "\n".join(["#begin document (novel); part 0", *map("\t".join, words), "", "#end document"])
    documents = read_conll(write(tmp_path / "one.conll", text))
    assert documents.words["speaker"].tolist() == ["-", "-"] and documents.words["word"].tolist() == ["Usher", "fell"]
    assert documents.clusters["text"].tolist() == ["Usher"]


def test_cells_between_tabs_keep_their_spaces_and_words_spaces_of_other_kinds(tmp_path):
    lines = SPEECH.replace("neighbour  NN", "a\u00a0b\u0085c\u2028d\re  NN").split("\n")
    lines[1] = "\t".join(lines[1].split()).replace("Speaker#1", "Al Gore")
    (tmp_path / "one.conll").write_bytes("\r\n".join(lines).encode())
    words = read_conll(tmp_path / "one.conll").words
    assert words["speaker"].tolist()[:2] == ["Al Gore", "Speaker#1"]
    assert words["word"].tolist()[:3] == ["The", "a\u00a0b\u0085c\u2028d\re", "'s"]


def test_clusters_that_share_a_mention_are_joined_and_said(tmp_path):
    text = SPEECH.replace("It  PRP        (TOP*    -   -  -  Speaker_Two  *      (3)", "It * * * * - - * (3)|(9)|(3)")
    text = text.replace("      (7)\n", "      (9)\n")
    with pytest.warns(UserWarning, match=r"merged 1 cluster.s. with another that shares a mention"):
        documents = read_conll(write(tmp_path / "one.conll", text))
    mentions = documents.clusters[["cluster", "start", "end"]].values.tolist()
    assert mentions == [[3, 0, 4], [7, 0, 2], [3, 5, 6], [3, 7, 8]]


LINES = SPEECH.splitlines(keepends=True)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (LINES[1] + SPEECH, 1, "a word outside a document"),
        ("#begin document\n", 1, "write '#begin document"),
        ("#begin document ; part 000\n", 1, "write '#begin document"),
        (SPEECH.replace("#end document\n", ""), 11, "ends before the '#end document' of bc/cctv/00/cctv_0001"),
        (SPEECH.replace("#end document\n", SPEECH), 12, "begins before the end of"),
        (SPEECH + "#end document\n", 13, "ends that has not begun"),
        (SPEECH.replace("3)\n", "-\n", 1), 7, "a mention of cluster 3 is still open where the sentence ends"),
        (SPEECH.replace("(3|(7", "(3"), 3, "a mention of cluster 7 is closed but not open"),
        (SPEECH.replace("(3|(7", "(3;(7"), 2, r"'\(3;\(7' in the last column is not a mark"),
        (SPEECH.replace("(3|(7", f"({'9' * 20}"), 2, r"'\(9{20}' in the last column is not a mark"),
        (SPEECH.replace(LINES[1], "\t".join([*"x10", "", *LINES[1].split()[4:]]) + "\n"), 2, "the word, is empty"),
        (SPEECH.replace("(3|(7", "3|(7"), 2, "'3' in the last column is not a mark"),
        (SPEECH.replace("  1  1       saw", "  1  2       saw"), 9, "expected word number 1 of this sentence, found 2"),
        (SPEECH.replace("  -   -  -  Speaker#1", "  -", 1), 2, "expected at least 12 columns, found 10"),
        (SPEECH + SPEECH, 13, "part 1 of bc/cctv/00/cctv_0001 is already in .*, line 1"),
    ],
)
def test_a_malformed_file_is_one_line_with_its_place(tmp_path, text, line, message):
    path = write(tmp_path / "bad.conll", text)
    with pytest.raises(ValueError, match=f"{re.escape(str(path))}, line {line}: .*{message}") as error:
        read_conll(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "# nothing\n", "#begin document (x)\n#end document\n"])
def test_a_file_without_a_word_is_said(tmp_path, text):
    with pytest.raises(ValueError, match=r"one.conll has no document with a word"):
        read_conll(write(tmp_path / "one.conll", text))


def test_a_file_of_another_encoding_is_said(tmp_path):
    (tmp_path / "bad.conll").write_bytes(SPEECH.encode() + "Café".encode("latin-1"))
    with pytest.raises(ValueError, match=r"line \d+ of '.*bad.conll' is not UTF-8"):
        read_conll(tmp_path / "bad.conll")


def test_a_folder_is_read_by_its_gold_files(tmp_path):
    for name in ("b/two", "a/one"):
        text = as_conll(name, [2], [(1, 0, 1), (1, 1, 2)])
        write(tmp_path / f"{name}.v4_gold_conll", text)
        write(tmp_path / f"{name}.v4_auto_conll", text.replace("(1)", "-"))
    documents = read_conll(tmp_path)
    assert documents.words["document"].unique().tolist() == ["a/one", "b/two"] and len(documents.clusters) == 4
    both = read_conll([tmp_path / "b", tmp_path / "a" / "one.v4_gold_conll"])
    assert both.words["document"].unique().tolist() == ["b/two", "a/one"]


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file or folder '.*nowhere'"):
        read_conll(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="holds no file"):
        read_conll(tmp_path)


def test_documents_are_selected_whole():
    documents = read_conll()
    chosen = select_documents(documents, ["sample/talks/0003", "sample/news/0004"])
    assert chosen.to_frame()[["document", "part"]].values.tolist() == [
        ["sample/talks/0003", 0],
        ["sample/news/0004", 0],
        ["sample/news/0004", 1],
    ]
    assert set(chosen.clusters["document"]) == {"sample/talks/0003", "sample/news/0004"}
    for names in (["sample/news/0004", "else"], "else"):
        with pytest.raises(ValueError, match="no document else"):
            select_documents(documents, names)
    with pytest.raises(ValueError, match="names is empty"):
        select_documents(documents, [])


def test_no_cluster_is_no_error():
    documents = documents_of([("x", 0, 0, 0, "Rain", "-")])
    assert documents.to_frame().values.tolist() == [["x", 0, 1, 1, 0, 0, 0]]
