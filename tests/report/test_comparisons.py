"""Differences between models, and what a figure shows."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import row

from biaslib import plots, report, studies


def test_differences_by_hand_and_without_an_interval(write):
    rows = [row("a", value=0.75, ci_low=0.7, ci_high=0.8), row("b", value=0.5), row("c", value=None)]
    write("unmasked/demo", [*rows, row("b", group="art", value=0.9)])
    scores, _ = report.read_runs(write.root)
    pairs = report.differences(scores)
    assert pairs[["group", "model_1", "model_2", "difference"]].values.tolist() == [["stem", "a", "b", 0.25]]
    assert not [column for column in pairs if column.startswith("ci")]
    assert pairs["caution"].item() == ""


@settings(max_examples=20)
@given(st.permutations(range(6)))
def test_the_order_of_rows_changes_no_set(order):
    rows = [(m, v, d) for m, v, d in zip("abcabc", "xxxyyx", "112112", strict=True)]
    frame = pd.DataFrame([rows[n] for n in order], columns=["model", "variant", "data_fingerprint"])
    frame = frame.assign(paper="p", measure="m", group="g", value=1.0, n=1, run="r", label=frame["model"])
    frame = frame.assign(version="1", dtype="float32", model_fingerprint=frame["model"])
    pairs = report.differences(frame)
    found = {frozenset((r.model_1, r.model_2)) | {r.variant, r.data_fingerprint} for r in pairs.itertuples()}
    assert found == {frozenset("abx1"), frozenset("aby1")}


def test_a_measure_of_many_rows_shows_its_main_group_first(write):
    groups = [f"g{n}" for n in range(9)] + ["all"]
    write("unmasked/demo", [row(model, group) for group in groups for model in ("a", "b")])
    scores, _ = report.read_runs(write.root)
    drawn = report.choose_rows(scores, 7)
    assert list(dict.fromkeys(drawn["group"])) == ["all", "g0", "g1"] and len(drawn) == 6
    assert set(drawn["panel"]) == {"unmasked: vargha_delaney_a (3 of 10 groups)"}
    assert len(report.choose_rows(scores, 1)) == 2, "one group at least"
    assert set(report.choose_rows(scores, 20)["panel"]) == {"unmasked: vargha_delaney_a"}
    with pytest.raises(ValueError, match="max_rows must be a whole number of at least 1, not 0"):
        report.choose_rows(scores, 0)


def test_the_forest_plot_has_a_line_a_score_and_marks_what_is_not_comparable(write):
    write("unmasked/a", [row("$x_1$", ci_low=0.5, ci_high=0.7), row("_b"), row("c", value=None)])
    write("unmasked/b", [row("$x_1$", data_fingerprint="d2")])
    scores, _ = report.read_runs(write.root)
    frame = report.choose_rows(scores).assign(published=[0.9, *[None] * 3])
    figure = plots.forest(frame.astype({"published": float}))
    (axes,) = figure.axes
    beside = [text.get_text().strip() for text in axes.texts]
    assert beside.count("n = 100") == 3 and "n = 100  B" in beside and "no value" in beside
    assert [line.get_xdata()[0] for line in axes.lines[:1]] == [0.5], "the neutral line"
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named[:2] == ["$x_1$ (unmasked/a)", "_b"] and "published" in named
    assert report.show(figure, "A forest").data.startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no row"):
        plots.forest(frame.head(0))


def test_in_short_counts_runs_scores_and_warnings(write):
    write("unmasked/demo", [row(), row(group="art")])
    write("unmasked/other", [row(model="other", data_fingerprint="d2")])
    write("unmasked/bad.failed", [row()], ok=False)
    scores, runs = report.read_runs(write.root)
    scores = studies.with_published(scores)
    lines = report.comparison_in_short(scores, runs, report.find_warnings(scores, runs))
    assert lines[0] == "- Scores: 3, of 1 measures and 2 models or sets of vectors. Runs: 2 compared, 1 left out."
    assert lines[1].endswith("another variant than most of their group: 1.")
    assert lines[2] == "- Scores with a published value beside them: 0."
