import pandas as pd
import pytest
from pair_files import frame_of, stereoset, write

from biaslib import io
from biaslib.io import DatasetError, read_pairs, read_stereoset, read_winogender

COLUMNS = ["pair_id", "sent_more", "sent_less", "direction", "bias_type", "reason"]


@pytest.fixture
def file(tmp_path):
    return lambda content, name="pairs.csv": write(tmp_path / name, content)


# Reading pairs


def test_crows_pairs(file):
    path = file(
        ",sent_more,sent_less,stereo_antistereo,bias_type,annotations\n"
        '0,"It’s old, he said.","It’s new, he said.",stereo,age,"[[\'age\'], []]"\n'
        '7,Pérez was late.,"Bradford was\nlate.",antistereo,nationality,[]\n'
        '9,"He said ""yes"".","He said ""no"".",stereo,age,[]\n'
    )
    frame = read_pairs(path)
    assert frame.columns.tolist() == [*COLUMNS, "annotations"]
    assert frame.pair_id.tolist() == [0, 7, 9]
    assert frame.sent_more.tolist() == ["It’s old, he said.", "Pérez was late.", 'He said "yes".']
    assert frame.sent_less[1] == "Bradford was\nlate."
    assert frame.direction.tolist() == ["stereo", "antistereo", "stereo"]
    assert frame.bias_type.tolist() == ["age", "nationality", "age"]
    assert frame.annotations[0] == "[['age'], []]"
    assert frame.reason.eq("").all()


def test_winoqueer_v0_with_its_misspelt_header_and_leading_spaces(file):
    path = file(
        ",sent_more,sent_less,stereo_antistero,bias_type,anon_writer\n"
        "0,James is strong., Mary is strong., stereo, masc_femm_name,a0\n"
        "1,He is kind.,Ey is kind.,antistereo,masc_trans_pronoun, a0\n"
    )
    frame = read_pairs(path)
    assert frame.drop(columns="reason").values.tolist() == [
        [0, "James is strong.", "Mary is strong.", "stereo", "masc_femm_name", "a0"],
        [1, "He is kind.", "Ey is kind.", "antistereo", "masc_trans_pronoun", "a0"],
    ]


def test_winoqueers_later_format(file):
    path = file("Gender_ID_x,Gender_ID_y,sent_x,sent_y\nGay,Straight,Gay people are x.,Straight people are x.\n")
    frame = read_pairs(path)
    assert frame.columns.tolist() == [*COLUMNS, "Gender_ID_x", "Gender_ID_y"]
    assert frame.iloc[0, 1:6].tolist() == ["Gay people are x.", "Straight people are x.", "stereo", "Gay", ""]
    assert frame.Gender_ID_y.tolist() == ["Straight"]
    pd.testing.assert_frame_equal(read_pairs(frame), frame)


def test_the_translations(file):
    record = {"direction": "antistereo", "bias_type": "gender", "stereotype": " 彼", "anti-stereotype": "彼女"}
    frame = read_pairs(file([{**record, "bias_score": 4}, {**record, "stereotype": None}], "japanese.json"))
    assert frame.iloc[0].tolist() == [0, "彼", "彼女", "antistereo", "gender", "", "4"]
    assert frame.reason.tolist() == ["", "sent_more is empty"]


@pytest.mark.parametrize("separator", [",", "\t", ";"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_ones_own_file(file, separator, end, mark):
    lines = ["sent_more;sent_less ;identity", "a b;a c;NA", "", "null; None ;trans"]
    frame = read_pairs(file(mark + end.join(lines).replace(";", separator).encode()))
    assert frame.values.tolist() == [
        [0, "a b", "a c", "stereo", "", "", "NA"],
        [1, "null", "None", "stereo", "", "", "trans"],
    ]


def test_every_row_that_cannot_be_used_has_a_reason(file):
    path = file(
        "sent_more,sent_less,direction\n"
        "he is,she is,stereo\n"
        " ,she is,stereo\n"
        '"",,stereo\n'
        "he is, he is ,antistereo\n"
        "he is,she is,Stereo\n"
        "he is,,\n"
        "he is,she is\n"
        "he is, well,she is,stereo\n"
    )
    assert read_pairs(path).reason.tolist() == [
        "",
        "sent_more is empty",
        "sent_more is empty; sent_less is empty",
        "the sentences are identical",
        "unknown direction 'Stereo'",
        "sent_less is empty; unknown direction ''",
        "expected 3 fields, found 2",
        "expected 3 fields, found 4",
    ]


def test_a_frame_is_read_as_a_file_is():
    frame = frame_of(("he is", "she is "), (None, "she"), (float("nan"), 5), ("it", pd.NA), ("a", "b"))
    frame.index = [9, 8, 7, 6, 5]
    frame["reason"] = ["", "", "", "", "not about people"]
    frame["identity"] = [1, 2, 3, 4, 5]
    read = read_pairs(frame)
    assert read.sent_less.tolist() == ["she is", "she", "5", "", "b"]
    assert read.reason.tolist() == [
        "",
        "sent_more is empty",
        "sent_more is empty; sent_less is not text",
        "sent_less is empty",
        "not about people",
    ]
    assert read.pair_id.tolist() == list(range(5)) and read.identity.tolist() == [1, 2, 3, 4, 5]
    pd.testing.assert_frame_equal(read_pairs(read), read)
    assert "identity" in frame and frame.sent_less[9] == "she is "


@pytest.mark.parametrize(
    ("ids", "kept"),
    [(["7", "3"], [7, 3]), (["007", "3"], ["007", "3"]), (["a.1", "b"], ["a.1", "b"]), ([2.5, "b"], ["2.5", "b"])],
)
def test_ids_are_kept(ids, kept):
    frame = frame_of(("a", "b"), ("c", "d"))
    for name in ("pair_id", "Unnamed: 0", "id"):
        assert read_pairs(frame.assign(**{name: ids})).pair_id.tolist() == kept


def test_columns_named_otherwise_are_kept_beside():
    frame = frame_of(
        ("a", "b", "antistereo", "stereo"), columns=("sent_more", "sent_less", "direction", "stereo_antistereo")
    )
    read = read_pairs(frame)
    assert read.direction.item() == "antistereo" and read.stereo_antistereo.item() == "stereo"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        ("first,second\na,b\n", "has the columns 'first', 'second' but needs 'sent_more', 'sent_less'; or"),
        ("sentid,sentence\na,b\n", "use read_winogender"),
        ("sent_more,sent_less,sent_less\na,b,c\n", "has the column 'sent_less' twice"),
        ("pair_id,sent_more,sent_less\n1,a,b\n1,c,d\n", "has the pair '1' twice"),
        ('sent_more,sent_less\n"a,b\nc,d\n', "a quotation mark too many"),
        ("sent_more,sent_less\nj\xe9,b\n".encode("latin-1"), "is not UTF-8"),
        (b"[{", "is not readable JSON"),
        (["no record"], "record 1 of"),
        (b'[{"sent_more": "\\ud83d", "sent_less": "b"}]', "surrogates not allowed"),
        ({"version": "1.0", "data": {}}, "has the columns 'version', 'data' but needs"),
        ({"sent_more": "a"}, "has the columns 'sent_more' but needs"),
        ([], "is empty"),
        ([{"a": "b"}], "has the columns 'a' but needs"),
    ],
)
def test_what_is_no_file_of_pairs_is_said_in_one_line(file, content, says):
    with pytest.raises(ValueError) as error:
        is_json = isinstance(content, list | dict) or content[:1] == b"["
        read_pairs(file(content, "pairs.json" if is_json else "pairs.csv"))
    assert says in str(error.value) and "pairs." in str(error.value) and "\n" not in str(error.value)


def test_what_is_no_source_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no pairs '.*lost\.csv': give a file or the name of a data set"):
        read_pairs(tmp_path / "lost.csv")
    with pytest.raises(FileNotFoundError, match=r"no pairs .* it is a folder"):
        read_pairs(tmp_path)
    with pytest.raises(DatasetError, match="did you mean 'crows-pairs'"):
        read_pairs("crows-pair")
    with pytest.raises(TypeError, match="not as a list"):
        read_pairs(["a", "b"])
    with pytest.raises(ValueError, match="the frame has the columns a, but pairs need"):
        read_pairs(pd.DataFrame({"a": ["b"]}))


def test_no_pairs_make_an_empty_frame(file):
    assert read_pairs(file("sent_more,sent_less\n")).columns.tolist() == COLUMNS
    assert len(read_pairs(frame_of())) == 0


# Winogender


WINOGENDER = (
    "sentid\tsentence\n"
    'cook.guest.1.male.txt\tThe cook asked the guest if he was "late".\n'
    'cook.guest.1.female.txt\tThe cook asked the guest if she was "late".\n'
    'cook.guest.1.neutral.txt\tThe cook asked the guest if they were "late".\n'
    "cook.someone.0.male.txt\tThe cook told someone that he was late.\n"
)


def test_winogender(file):
    path = file(WINOGENDER, "all_sentences.tsv")
    frame = read_winogender(path)
    assert frame.columns.tolist() == [*COLUMNS, "occupation", "participant", "answer", "male", "female", "neutral"]
    assert frame.pair_id.tolist() == ["cook.guest.1", "cook.someone.0"]
    assert frame.sent_more[0] == 'The cook asked the guest if he was "late".' == frame.male[0]
    assert frame.sent_less[0] == frame.female[0]
    assert frame.answer.tolist() == ["participant", "occupation"]
    assert frame.reason.tolist() == ["", "sent_less is empty"]
    other = read_winogender(path, more="neutral", less="female")
    assert other.sent_more[0] == frame.neutral[0] and other.sent_less[0] == frame.female[0]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("cook.guest.1.male.txt\tAgain.\n", "has the sentence 'cook.guest.1.male.txt' twice"),
        ("cook.guest.2.male.txt\tOther.\n", "is not an id such as"),
        ("cook\tOther.\n", "is not an id such as"),
        ("cook.guest.0.male.txt\tOther\t.\n", "line 6 of .*: expected 2 fields, found 3"),
    ],
)
def test_what_is_not_winogender_is_said(file, line, says):
    with pytest.raises(ValueError, match=says):
        read_winogender(file(WINOGENDER + line))
    with pytest.raises(ValueError, match="has the columns 'a', 'b' but needs 'sentid', 'sentence'"):
        read_winogender(file("a\tb\n"))
    with pytest.raises(ValueError, match="male, female, neutral"):
        read_winogender(file(WINOGENDER), more="he")


# StereoSet


def test_stereoset_items(file):
    frame = read_stereoset(file(stereoset(), "dev.json"))
    assert frame.item_id.tolist() == [f"i{n}" for n in range(10)]
    words = frame[["stereotype_word", "anti_stereotype_word", "unrelated_word"]].values.tolist()
    assert words[:6] == [
        ["She", "He", "It"],
        ["kind", "old", "city"],
        ["good", "bad", "city"],
        ["kindness itself", "bad", "London"],
        ["old", "bad", "city"],
        ["She … Her", "He … his", "It … it"],
    ]
    # The context as it is written, and nothing but the blanks filled.
    assert frame.anti_stereotype[1] == "The nurse is (old)."
    assert frame.unrelated[2] == "A city dog is a  city dog."
    assert frame.stereotype[4] == "The dog's colour is old."
    assert frame.stereotype[5] == "She's dog, Her"
    assert frame.reason.tolist()[:6] == [""] * 6
    assert frame.reason.tolist()[6:] == [
        "no BLANK in the context",
        "the sentence for anti-stereotype does not fit the context; "
        "the sentence for unrelated does not fit the context",
        "2 sentences for stereotype; no sentence for anti-stereotype; no sentence for unrelated",
        "no BLANK in the context",
    ]
    assert frame.attrs == {"left_out": {"intersentence": 2}}


@pytest.mark.parametrize("content", [[], {"data": []}, {"data": {"intrasentence": {}}}])
def test_what_is_not_stereoset_is_said(file, content):
    with pytest.raises(ValueError, match=r"is not StereoSet's file: data\.intrasentence is missing"):
        read_stereoset(file(content, "dev.json"))


@pytest.mark.parametrize(
    ("context", "sentence", "spans"),
    [
        ("BLANK.", "He", [(0, 2)]),
        ("He is BLANK", "he  is a good man!", [(7, 17)]),
        ("The BLANKET is BLANK.", "The blanket is old.", [(15, 18)]),
        ("BLANK, BLANK", "A, b, c", [(0, 1), (3, 7)]),
        ("It is (BLANK) or {BLANK}?", "It is (a.b*) or {c}?", [(7, 11), (17, 18)]),
        ("He is BLANK.", "He is .", []),
        ("He is BLANK old.", "He is old.", []),
        ("nothing", "nothing", []),
    ],
)
def test_blanks_are_found(context, sentence, spans):
    assert io.blank_spans(context, sentence) == spans


# The real files


def test_real_crows_pairs(real_data):
    frame = read_pairs("crows-pairs")
    assert len(frame) == 1508 and frame.reason.eq("").all()
    assert frame.direction.value_counts().to_dict() == {"stereo": 1290, "antistereo": 218}
    assert frame.pair_id.tolist() == list(range(1508)) and frame.bias_type.nunique() == 9
    by_id = frame.set_index("pair_id")
    assert by_id.sent_less[1293] == "Bob was denied because he was white\n."
    typographic = frame.sent_more.str.contains("’") | frame.sent_less.str.contains("’")
    assert frame.pair_id[typographic].tolist() == [395, 617, 833]
    assert "Pérez" in by_id.sent_more[899]
    pd.testing.assert_frame_equal(read_pairs(real_data / "crows_pairs" / "crows_pairs_anonymized.csv"), frame)
    raw = pd.read_csv(real_data / "crows_pairs" / "crows_pairs_anonymized.csv", keep_default_na=False)
    pd.testing.assert_frame_equal(read_pairs(raw), frame)


@pytest.mark.parametrize("language", ["japanese", "russian"])
def test_real_translations(real_data, language):
    frame = read_pairs(f"crows-pairs-{language}")
    assert len(frame) == 262 and frame.reason.eq("").all()
    assert frame.direction.value_counts().to_dict() == {"stereo": 159, "antistereo": 103}
    assert frame.bias_type.unique().tolist() == ["gender"] and frame.bias_score.astype(float).between(2, 5).all()


def test_real_winoqueer(real_data):
    frame = read_pairs("winoqueer-v0")
    assert len(frame) == 5872
    assert frame.direction.value_counts().to_dict() == {"stereo": 5662, "antistereo": 210}
    assert frame[["sent_more", "sent_less"]].drop_duplicates().shape[0] == 2484
    assert frame.pair_id[frame.reason != ""].tolist() == [2931, 3057]
    assert set(frame.reason) == {"", "the sentences are identical"}
    raw = pd.read_csv(real_data / "winoqueer_v0" / "winoqueer_benchmark.csv", keep_default_na=False)
    assert raw.sent_less.str.startswith(" ").sum() == 580
    texts = frame[["sent_more", "sent_less", "direction", "bias_type"]]
    assert (texts == texts.apply(lambda column: column.str.strip())).all(axis=None)
    assert frame.bias_type.nunique() == 8


def test_real_winogender(real_data):
    frame = read_winogender()
    assert len(frame) == 240 and frame.reason.eq("").all() and frame.occupation.nunique() == 60
    assert frame.answer.value_counts().to_dict() == {"participant": 120, "occupation": 120}
    with pytest.raises(ValueError, match="use read_winogender"):
        read_pairs("winogender")
    with pytest.raises(FileNotFoundError, match="it is a folder"):
        read_pairs("gender-words")
