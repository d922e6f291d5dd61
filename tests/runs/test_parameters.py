"""Parameters: the cell that is read, and every trap that YAML, papermill and the command line set."""

import datetime
from pathlib import Path

import nbformat
import numpy as np
import pytest

from biaslib._files import read_yaml
from biaslib.runs import Parameter, ParameterError, RunError, check_parameters, read_parameters

CELL = """
# A comment of its own line is not a parameter.
models: list[str] = ["demo"]  # models to measure
layers: list[int] = []  # layers (from 0 to 12)
weights: list[float] = [0.5]  # weights (to 1)
min_z: float = 2  # threshold (from 0)
top_k: int = 5  # words shown (from 1 to 50)
article: str = "literal"  # how a and an are chosen (one of: literal, agree)
label: str = "a=b # not a comment"  # text with = and #, as "x = 1"
progress: bool = False
words: list[str] = [  # the words
    "good",
    "bad",
]
"""


def read_values(path):
    return read_yaml(path, ParameterError, mapping=True)


def write_notebook(folder, source=CELL, *, tags=("parameters",), kernel="python3", cells=1):
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)}) for _ in range(cells)]
    )
    if kernel:
        notebook.metadata.kernelspec = {"name": kernel, "display_name": kernel, "language": "python"}
    path = Path(folder) / "notebook.ipynb"
    nbformat.write(notebook, path)
    return path


@pytest.fixture(scope="module")
def parameters(tmp_path_factory):
    return read_parameters(write_notebook(tmp_path_factory.mktemp("parameters")))


def refusal(parameters, given, **how):
    with pytest.raises(ParameterError) as caught:
        check_parameters(parameters, given, **how)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_cell_is_read_with_types_defaults_help_and_constraints(parameters):
    by_name = {p.name: p for p in parameters}
    assert list(by_name)[:4] == ["models", "layers", "weights", "min_z"]
    assert list(by_name)[4:] == ["top_k", "article", "label", "progress", "words"]
    assert by_name["models"] == Parameter("models", "list[str]", ["demo"], "models to measure")
    assert (by_name["layers"].lowest, by_name["layers"].highest) == (0, 12)
    assert (by_name["weights"].lowest, by_name["weights"].highest) == (None, 1)
    assert (by_name["min_z"].lowest, by_name["min_z"].highest) == (0, None)
    assert by_name["article"].choices == ("literal", "agree")
    assert by_name["label"].default == "a=b # not a comment"
    assert by_name["label"].help == 'text with = and #, as "x = 1"'
    assert by_name["progress"].help == ""
    assert by_name["words"].default == ["good", "bad"]
    assert by_name["words"].help == "the words"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("x = 5", "line 1 of the parameters cell must read"),
        ("x: int", "must read"),
        ("import os", "must read"),
        ("%matplotlib inline", "not plain Python"),
        ("x: int = (", "not plain Python"),
        ("x: dict = {}", "the types are int, float"),
        ("x: int = len([])", "plain value"),
        ("x: int = 1\nx: int = 2", "'x' twice"),
        ('x: int = "five"', "must be int"),
        ("x: int = 9  # size (from 0 to 5)", "from 0 to 5"),
        ("x: int = 3  # size (from 5 to 0)", "does not fit"),
        ('x: str = "a"  # word (from 0 to 5)', "does not fit"),
        ('x: str = "c"  # word (one of: a, b)', "one of: a, b"),
    ],
)
def test_a_cell_that_cannot_be_read_is_said(tmp_path, source, says):
    with pytest.raises(ParameterError, match=r"notebook\.ipynb: ") as caught:
        read_parameters(write_notebook(tmp_path, source))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_parameters_cell_declares_nothing(tmp_path):
    assert read_parameters(write_notebook(tmp_path, "# nothing to set")) == ()
    assert "the parameters are none" in refusal((), {"k": 1})


def test_notebooks_that_cannot_be_run_are_said(tmp_path):
    for how, says in (
        ({"tags": ()}, "no cell tagged 'parameters'"),
        ({"cells": 2}, "2 cells tagged 'parameters'"),
        ({"kernel": "ir"}, "its kernel is 'ir'"),
        ({"kernel": None}, "choose the kernel 'python3'"),
    ):
        with pytest.raises(ParameterError, match=says):
            read_parameters(write_notebook(tmp_path, **how))


@pytest.mark.parametrize("content", [b"not json", b"[]", b'{"nbformat": 3}', b"{}", b"\xff\xfe", b""])
def test_files_that_are_not_notebooks_are_said(tmp_path, content):
    path = tmp_path / "x.ipynb"
    path.write_bytes(content)
    with pytest.raises(ParameterError, match="not a Jupyter notebook"):
        read_parameters(path)
    path.write_text('{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "code"}]}')
    with pytest.raises(ParameterError, match="not a valid notebook"):
        read_parameters(path)
    with pytest.raises(RunError, match="no notebook"):
        read_parameters(tmp_path / "absent.ipynb")


def test_unknown_names_are_answered_with_the_nearest(parameters):
    assert refusal(parameters, {"modles": ["demo"]}) == "unknown parameter 'modles'; did you mean 'models'?"
    assert "the parameters are models, layers" in refusal(parameters, {"zzzzzz": 1})
    assert "quote it" in refusal(parameters, {False: 1})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"min_z": "1e-3"}, {"min_z": 0.001}),
        ({"min_z": 3}, {"min_z": 3.0}),
        ({"min_z": np.float32(0.5)}, {"min_z": 0.5}),
        ({"top_k": np.int64(7)}, {"top_k": 7}),
        ({"progress": np.bool_(True)}, {"progress": True}),
        ({"layers": (1, 2)}, {"layers": [1, 2]}),
        ({"layers": np.arange(3)}, {"layers": [0, 1, 2]}),
        ({"weights": [1, "1e-1"]}, {"weights": [1.0, 0.1]}),
        ({"models": [Path("a/b"), np.str_("c")]}, {"models": ["a/b", "c"]}),
        ({"words": []}, {"words": []}),
        ({"label": ""}, {"label": ""}),
        ({}, {}),
    ],
)
def test_values_become_plain(parameters, given, expected):
    checked = check_parameters(parameters, given)
    assert checked == expected
    for value in checked.values():
        flat = value if isinstance(value, list) else [value]
        assert {type(entry) for entry in flat} <= {int, float, str, bool}
    assert type(checked.get("min_z", 0.0)) is float


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"words": ["yes", False]},
            "parameter 'words' entry 2 must be str, got False: quote it, e.g. \"no\"",
        ),
        ({"words": [True]}, 'quote it, e.g. "yes"'),
        ({"words": [None]}, 'quote it, e.g. "null"'),
        ({"words": [7]}, 'quote it: "7"'),
        ({"label": False}, '"no"'),
        ({"label": None}, '"null"'),
        ({"label": 1.5}, 'quote it: "1.5"'),
        ({"label": datetime.date(2020, 1, 1)}, 'quote it: "2020-01-01"'),
        ({"words": "good"}, "write a list: [good]"),
        ({"words": None}, "write a list"),
        ({"top_k": True}, "whole number"),
        ({"top_k": 2.5}, "whole number"),
        ({"top_k": "many"}, "whole number"),
        ({"top_k": None}, "got None"),
        ({"top_k": 0}, "give a number from 1 to 50"),
        ({"top_k": 51}, "got 51: give a number from 1 to 50"),
        ({"layers": [3, 13]}, "'layers' entry 2"),
        ({"weights": [1.5]}, "give a number to 1"),
        ({"min_z": -0.1}, "give a number from 0"),
        ({"min_z": float("nan")}, "finite"),
        ({"min_z": "nan"}, "finite"),
        ({"min_z": float("inf")}, "finite"),
        ({"min_z": True}, "got True"),
        ({"min_z": "high"}, "give a number"),
        ({"min_z": 10**400}, "give a number"),
        ({"progress": 1}, "true or false"),
        ({"progress": "true"}, "without quotes"),
        ({"article": "agreed"}, "give one of: literal, agree; did you mean agree?"),
        ({"label": {"a": 1}}, "a value of type builtins.dict"),
        ({"words": {"a", "b"}}, "a value of type builtins.set"),
        ({"words": [b"a"]}, "a value of type builtins.bytes"),
        ({"label": "x\ny", "top_k": "a\nb" * 500}, "whole number"),
    ],
)
def test_wrong_values_are_refused_in_one_line_with_a_remedy(parameters, given, says):
    message = refusal(parameters, given)
    assert says in message
    assert next(reversed(given)) in message
    assert len(message) < 250


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("label", "007", "007"),
        ("label", "no", "no"),
        ("label", "[a]", "[a]"),
        ("top_k", "007", 7),
        ("min_z", "1e-3", 0.001),
        ("progress", "Yes", True),
        ("progress", "off", False),
        ("words", "[yes, no, null, 7]", ["yes", "no", "null", "7"]),
        ("words", '["a, b", c]', ["a, b", "c"]),
        ("words", "no,on", ["no", "on"]),
        ("words", 'good, "very, bad"', ["good", "very, bad"]),
        ("words", "bert-base-uncased", ["bert-base-uncased"]),
        ("words", "a: b # c", ["a: b # c"]),
        ("words", "", []),
        ("words", "[]", []),
        ("layers", "1,02", [1, 2]),
        ("weights", "[1e-3, 1]", [0.001, 1.0]),
    ],
)
def test_command_line_text_is_read_by_the_declared_type(parameters, name, text, expected):
    assert check_parameters(parameters, {name: text}, text=True) == {name: expected}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("progress", "maybe", "give true or false"),
        ("top_k", "2.5", "whole number"),
        ("words", "a,,b", "entry 2 is empty"),
        ("words", "[a, {b: c}]", "list of plain entries"),
        ("words", "[a, [b]]", "list of plain entries"),
        ("words", "[a, ']", "write a list"),
        ("layers", "1,x", "entry 2 must be int"),
    ],
)
def test_command_line_text_that_does_not_fit_is_refused(parameters, name, text, says):
    assert says in refusal(parameters, {name: text}, text=True)


def write_yaml(folder, text):
    path = folder / "values.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_yaml_is_read_as_papermill_reads_it(tmp_path):
    path = write_yaml(tmp_path, "words: [good, no]\nmin_z: 1e-3\ntop_k: 007\nlabel: 'no'\n")
    assert read_values(path) == {"words": ["good", False], "min_z": "1e-3", "top_k": 7, "label": "no"}
    assert read_values(write_yaml(tmp_path, "# all by default\n")) == {}
    assert read_values(write_yaml(tmp_path, "\ufefftop_k: 3\n")) == {"top_k": 3}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- a\n- b\n", "must be a mapping"),
        ("just text", "must be a mapping"),
        ("a: [1, 2", "not valid YAML: line"),
        ("a: 1\nb: 2\na: 3\n", "'a' is given twice"),
        ("a: {b: 1, b: 2}", "'b' is given twice"),
        ("k: 010", 'YAML reads 010 as the number 8; write 8 if that is meant, or quote it: "010"'),
        ("k: 12:30", "as the number 750"),
        ("k: 09:30:00\nd: 2020-99-99", "line 2: YAML takes 2020-99-99 for a timestamp"),
        ("k: !!python/object/apply:os.system ['true']", "not valid YAML"),
        ("? [a, b]\n: 1", "not valid YAML"),
        (b"\xff\xfe\x00", "UTF-8"),
    ],
)
def test_yaml_that_misleads_is_said_in_one_line(tmp_path, text, says):
    with pytest.raises(ParameterError) as caught:
        read_values(write_yaml(tmp_path, text))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_yaml_file_is_said(tmp_path):
    with pytest.raises(ParameterError, match="cannot be read"):
        read_values(tmp_path / "absent.yaml")
    with pytest.raises(ParameterError, match="cannot be read"):
        read_values(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"), [("words", "a\nb"), ("words", "[a, b"), ("weights", "1_0"), ("min_z", "1_0"), ("label", "\udcff")]
)
def test_text_that_would_be_read_as_something_else_is_refused(parameters, name, text):
    assert name in refusal(parameters, {name: text}, text=True)


@pytest.mark.parametrize("text", ["min_z: 1:30.5\n", "words: &a [*a]\n", "words: " + "[" * 2000 + "]" * 2000 + "\n"])
def test_yaml_that_python_cannot_hold_or_reads_by_base_60_is_refused(tmp_path, text):
    path = write_yaml(tmp_path, text)
    with pytest.raises(ParameterError) as error:
        check_parameters([Parameter("words", "list[str]", []), Parameter("min_z", "float", 1.0)], read_values(path))
    assert "\n" not in str(error.value)
