import errno
import json
import math
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslib import _files
from biaslib._provenance import data_fingerprint
from biaslib.report import read_scores, write_results
from biaslib.studies import SCORE_COLUMNS, score_row, scores_frame

ROW = score_row(paper="speciesism", measure="adjusted Rand index", model="demo", group="all", value=0.1, n=46)


def test_columns_are_those_that_comparisons_read():
    assert " ".join(SCORE_COLUMNS) == (
        "paper measure variant model group value ci_low ci_high p_value n n_left_out data_fingerprint"
    )
    assert tuple(ROW) == SCORE_COLUMNS


def test_scores_frame_types():
    frame = scores_frame([ROW, ROW | {"value": None, "p_value": np.float32(0.5), "n": np.int64(3)}])
    assert list(frame.columns) == list(SCORE_COLUMNS)
    assert frame["value"].dtype == float and frame["n"].dtype == np.int64
    assert math.isnan(frame.loc[1, "value"]) and math.isnan(frame.loc[0, "ci_low"])
    assert scores_frame([]).empty
    pd.testing.assert_frame_equal(scores_frame(frame), frame)
    assert scores_frame(frame.iloc[:0]).dtypes.to_dict() == scores_frame([]).dtypes.to_dict()


def without(column):
    return {key: value for key, value in ROW.items() if key != column}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (without("model"), "row 0 lacks model"),
        (ROW | {"speed": 1}, "has unknown speed"),
        (ROW | {"model": None}, "model must be a string"),
        (ROW | {"value": "0.1"}, "value must be a number"),
        (ROW | {"value": True}, "value must be a number"),
        (ROW | {"value": [1.0]}, "value must be a number"),
        (ROW | {"n": 1.5}, "n must be a whole number"),
        (ROW | {"n": -1}, "n must be a whole number"),
        (ROW | {"n": None}, "n must be a whole number"),
    ],
)
def test_scores_frame_refuses(row, message):
    with pytest.raises(ValueError, match=message):
        scores_frame([row])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
            | st.sampled_from(["NA", "null", "", "a\nb", 'q"', "a\r\nb", "a\rb", "x,y"]),
            st.floats(allow_nan=True),
        ),
        max_size=4,
    )
)
def test_what_is_written_is_read_to_the_last_digit(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("results")
    scores = scores_frame([ROW | {"group": group, "value": value} for group, value in rows])
    write_results(folder, scores=scores, tables={})
    pd.testing.assert_frame_equal(read_scores(folder), scores, check_exact=True)


def test_files(tmp_path):
    folder = tmp_path / "outputs" / "speciesism"
    table = pd.DataFrame({"word": pd.Categorical(["a\nb", "ä"]), "p": [1 / 3, math.nan]}, index=[5, 7])
    written = write_results(
        folder,
        scores=[ROW],
        tables={"top_words": table},
        models=[{"name": "demo", "dtype": np.dtype("float32")}],
        data={"animals": "abc"},
        seed=7,
    )
    assert written == folder
    assert sorted(os.listdir(folder)) == ["provenance.json", "scores.csv", "top_words.csv"]
    assert (folder / "top_words.csv").read_bytes() == f'word,p\n"a\nb",{1 / 3!r}\nä,\n'.encode()
    assert json.loads((folder / "provenance.json").read_text(encoding="utf-8")) == {
        "models": [{"name": "demo", "dtype": "float32"}],
        "data": {"animals": "abc"},
        "seed": 7,
    }
    assert read_scores(folder / "scores.csv").loc[0, "value"] == 0.1


def test_earlier_files_are_replaced_and_others_stay(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    write_results(tmp_path, scores=[ROW], tables={})
    write_results(tmp_path, scores=[ROW | {"value": 2.0}], tables={})
    assert read_scores(tmp_path)["value"].tolist() == [2.0]
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_failed_move_leaves_the_old_file_and_no_half_one(tmp_path, monkeypatch):
    write_results(tmp_path, scores=[ROW], tables={})
    before = (tmp_path / "scores.csv").read_bytes()

    def refuse(source, target):
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr(_files.os, "replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        write_results(tmp_path, scores=[ROW | {"value": 9.0}], tables={})
    assert (tmp_path / "scores.csv").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["provenance.json", "scores.csv"]


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"../x": pd.DataFrame()}, "becomes a file name"),
        ({"": pd.DataFrame()}, "becomes a file name"),
        ({"scores": pd.DataFrame()}, "cannot be called 'scores'"),
        ({"x": [1]}, "must be a DataFrame, not list"),
    ],
)
def test_nothing_is_written_when_something_is_wrong(tmp_path, tables, message):
    with pytest.raises(ValueError, match=message):
        write_results(tmp_path / "new", scores=[ROW], tables=tables)
    assert not (tmp_path / "new").exists()


def test_read_scores_refuses(tmp_path):
    with pytest.raises(ValueError, match="no scores at"):
        read_scores(tmp_path)
    (tmp_path / "scores.csv").write_text("paper,value\nx,1\n")
    with pytest.raises(ValueError, match="must have the columns"):
        read_scores(tmp_path)


def test_fingerprint_is_of_the_content():
    frame = pd.DataFrame({"a": ["x", "y"], "b": [0.1, 2]})
    print_of_frame = data_fingerprint(frame)
    assert len(print_of_frame) == 16 and int(print_of_frame, 16) >= 0
    same = [
        frame.copy(),
        frame.set_axis([4, 9]),
        frame.astype({"a": "category"}),
        frame.astype({"a": object}),
    ]
    assert {data_fingerprint(other) for other in same} == {print_of_frame}
    changed = [
        frame.iloc[::-1],
        frame[["b", "a"]],
        frame.rename(columns={"a": "c"}),
        frame.replace(0.1, 0.1 + 1e-16 * 2),
        frame.iloc[:1],
    ]
    assert print_of_frame not in {data_fingerprint(other) for other in changed}


def test_fingerprint_of_lists_sets_and_dicts():
    assert data_fingerprint("ab") != data_fingerprint("a", "b") != data_fingerprint(["a", "b"])
    assert data_fingerprint(["a", ["b"]]) != data_fingerprint(["a", "b"])
    assert data_fingerprint({"b", "a"}) == data_fingerprint({"a", "b"}) != data_fingerprint(["a", "b"])
    assert data_fingerprint({"x": 1, "y": 2}) == data_fingerprint({"y": 2, "x": 1})
    assert data_fingerprint({"x": 1}) != data_fingerprint({"x": 2})
    assert data_fingerprint(np.array([1, 2])) == data_fingerprint([1, 2]) == data_fingerprint(pd.Series([1, 2]))
    assert data_fingerprint("1") != data_fingerprint(1)


def test_fingerprint_is_the_same_on_every_machine():
    assert data_fingerprint(["pig", "dog"], None, 1.5) == "ab06225e0c4bbf31"


def test_fingerprint_refuses_what_it_can_not_read():
    with pytest.raises(TypeError, match="cannot compute a fingerprint of type object"):
        data_fingerprint([object()])
