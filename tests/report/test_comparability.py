"""Warnings about runs that are not comparable."""

import pytest
from made_runs import MODEL, row

from biaslib import report


@pytest.mark.parametrize(
    ("change", "run", "kind", "set_"),
    [
        ({"data_fingerprint": "d2"}, {}, "other data", "B"),
        ({"variant": "cased"}, {}, "other variant", "B"),
        ({}, {"version": "0.2.0"}, "other version", "A"),
        ({}, {"models": [MODEL | {"name": "other", "dtype": "float16"}]}, "other precision", "A"),
        ({"data_fingerprint": ""}, {}, "no data fingerprint", "B"),
    ],
)
def test_runs_that_are_not_comparable_are_named(write, change, run, kind, set_):
    write("unmasked/a", [row(), row("second")], models=[MODEL, MODEL | {"name": "second"}])
    write("unmasked/b", [row("other", **change)], **{"models": [MODEL | {"name": "other"}]} | run)
    scores, runs = report.read_runs(write.root)
    warnings = report.find_warnings(scores, runs)
    assert warnings["kind"].tolist() == [kind]
    assert "unmasked/b" in warnings["runs"].item() and warnings["groups"].item() == "stem"
    assert scores["set"].tolist() == ["A", "A", set_]
    pairs = report.differences(scores)
    assert len(pairs) == (1 if set_ == "B" else 3)
    marked = report.choose_rows(scores).set_index("model")["caution"]
    assert bool(marked["other"]) == (kind in ("other version", "other precision")) and not marked["bert"]


def test_a_model_that_is_another_one_under_its_name(write):
    write("unmasked/a", [row()])
    write("mbe/b", [row(paper="mbe", measure="mbe")], models=[MODEL | {"fingerprint": "f2"}])
    warnings = report.find_warnings(*report.read_runs(write.root))
    assert warnings[["kind", "runs"]].values.tolist() == [
        ["other model of the same name", "bert: f2 in mbe/b; f1 in unmasked/a"]
    ]


def test_vectors_and_a_model_may_have_one_name(write):
    write("unmasked/a", [row()])
    write("weat/b", [row(paper="weat", measure="weat")], models=[{"name": "bert", "fingerprint": "v"}])
    assert report.find_warnings(*report.read_runs(write.root))["kind"].tolist() == []


def test_a_repeat_is_drawn_once_and_one_with_another_value_is_warned_of(write):
    write("unmasked/a", [row(value=0.6)])
    write("unmasked/b", [row(value=0.6 + 1e-8), row(group="art")])
    scores, runs = report.read_runs(write.root)
    assert report.find_warnings(scores, runs)["kind"].tolist() == []
    write("unmasked/b", [row(value=0.6)])
    scores, _ = report.read_runs(write.root)
    assert scores["label"].tolist() == ["bert", "bert"] and len(report.choose_rows(scores)) == 1
    assert report.differences(scores).empty
    write("unmasked/b", [row(value=0.7)])
    scores, runs = report.read_runs(write.root)
    assert report.find_warnings(scores, runs)["kind"].tolist() == ["same measurement, other value"]
    assert scores["label"].tolist() == ["bert (unmasked/a)", "bert (unmasked/b)"]


def test_parameters_that_differ_and_a_later_failure(write):
    write("winoqueer/a", [row()], parameters={"models": ["bert"], "epochs": 3, "device": "cpu"})
    write("winoqueer/b", [row("other")], parameters={"models": ["other"], "epochs": 10, "device": "cuda"})
    write("winoqueer/b.failed", [], ok=False, error="gone")
    scores, runs = report.read_runs(write.root)
    warnings = report.find_warnings(scores, runs)
    assert warnings["kind"].tolist() == ["other parameter", "later run failed"]
    assert warnings["runs"].tolist()[0] == "epochs = 3 in winoqueer/a; 10 in winoqueer/b"
