import gc

import pandas as pd
import pytest

from biaslib.report import each_model


def test_each_model_of_a_mapping():
    frame = each_model({"b": [1, 2], "a": [3]}, lambda values: pd.DataFrame({"value": values}))
    assert list(frame) == ["model", "value"]
    assert frame.values.tolist() == [["b", 1], ["b", 2], ["a", 3]]


def test_each_model_of_a_frame_in_order_of_first_appearance():
    frame = pd.DataFrame({"value": [1, 2, 3], "model": ["b", "a", "b"]}, index=[5, 6, 7])
    given = []
    assert each_model(frame, lambda rows: given.append(rows) or rows.tail(1)).values.tolist() == [["b", 3], ["a", 2]]
    assert [list(rows) for rows in given] == [["value"]] * 2 and given[0].index.tolist() == [0, 1]


def test_each_model_without_models_is_empty():
    for nothing in ({}, pd.DataFrame({"model": []})):
        assert each_model(nothing, pd.DataFrame).columns.tolist() == ["model"]


def test_each_model_names_the_model_of_an_error():
    def fail(given):
        raise ValueError("no such word")

    with pytest.raises(ValueError, match=r"^model 'demo': no such word$"):
        each_model({"demo": 1}, fail)
    with pytest.raises(ValueError, match="must have the column model"):
        each_model(pd.DataFrame({"name": []}), fail)


def test_each_model_holds_no_model_while_the_next_is_loaded():
    class Models(dict):
        def __getitem__(self, name):
            held.append(sum(type(thing) is Model for thing in gc.get_objects()))
            return Model()

    class Model:
        pass

    held = []
    each_model(Models(a=1, b=2, c=3), lambda model: pd.DataFrame({"n": [1]}))
    assert held == [0, 0, 0]


def test_each_model_drops_nothing_and_says_what_it_takes():
    unnamed = pd.DataFrame({"model": ["a", float("nan")], "n": [1, 2]})
    with pytest.raises(ValueError, match="must name a model in every row"):
        each_model(unnamed, lambda rows: rows)
    with pytest.raises(TypeError, match="models must be a mapping, or a DataFrame"):
        each_model(["a"], lambda rows: rows)
    with pytest.raises(TypeError, match="model 'a': the function must return a DataFrame, not a NoneType"):
        each_model({"a": 1}, lambda given: None)
