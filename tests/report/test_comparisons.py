"""Runs side by side: what is read, what is comparable, what is marked; nothing dropped in silence."""

import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslib import plots, report
from biaslib.report import write_results
from biaslib.studies import score_row

MODEL = {"name": "bert", "fingerprint": "f1", "device": "cpu", "dtype": "float32", "for_trying_out": False}


def row(model="bert", group="stem", value=0.6, **fields):
    given = {"paper": "unmasked", "measure": "vargha_delaney_a", "variant": "in_place", "data_fingerprint": "d1"}
    return score_row(**given | {"model": model, "group": group, "value": value, "n": 100} | fields)


@pytest.fixture
def write(tmp_path):
    """Write a run by hand: its scores and its manifest."""

    def write_run(run, rows, *, models=(MODEL,), version="0.1.0", **manifest):
        folder = tmp_path / run
        write_results(folder / "results", scores=rows, tables={})
        made = {"ok": True, "notebook": f"notebooks/{folder.parent.name}.ipynb", "versions": {"biaslib": version}}
        made |= {"models": list(models), "started": "2026-01-01T00:00:00+00:00", **manifest}
        (folder / "run.json").write_text(json.dumps(made))
        return folder

    write_run.root = tmp_path
    return write_run


def kinds(scores, runs):
    return report.find_warnings(scores, runs)["kind"].tolist()


def test_every_score_comes_with_its_run_and_origin(write):
    write("unmasked/demo", [row(value=0.1), row(group="art", value=None)], data={"prompts": "d1"})
    scores, runs = report.read_runs(write.root)
    assert scores["value"].tolist()[0] == 0.1 and scores["value"].isna().tolist() == [False, True]
    origin = ["run", "data", "version", "device", "dtype", "model_fingerprint", "set", "label", "neutral"]
    assert scores.loc[0, origin].tolist() == [
        "unmasked/demo",
        "prompts",
        "0.1.0",
        "cpu",
        "float32",
        "f1",
        "A",
        "bert",
        0.5,
    ]
    assert runs.loc[0, ["run", "notebook", "used", "n_scores"]].tolist() == ["unmasked/demo", "unmasked", True, 2]
    assert kinds(scores, runs) == []


def test_what_is_no_run_is_passed_over_and_what_cannot_be_read_is_listed(write):
    write("unmasked/demo", [row()])
    write("unmasked/.demo.running-1", [row(model="hidden")])
    write("compare/all", [row(model="own")])
    write("explore/all", [row(model="own")])
    write("unmasked/bad.failed", [row(model="bad")], ok=False, error="ModelError: gone")
    broken = write("mbe/broken", [row()]) / "results" / "scores.csv"
    broken.write_text("paper,value\nmbe,1\n")
    (write("mbe/words", [row()]) / "results" / "scores.csv").write_text(
        (write.root / "unmasked/demo/results/scores.csv").read_text().replace("0.6", "many")
    )
    (write("mbe/none", []) / "results" / "scores.csv").unlink()
    scores, runs = report.read_runs(write.root)
    assert scores["model"].tolist() == ["bert"]
    reason = runs[~runs["used"]].set_index("run")["reason"]
    assert set(reason.index) == {"unmasked/bad.failed", "mbe/broken", "mbe/words", "mbe/none"}
    assert reason["unmasked/bad.failed"] == "the run failed: ModelError: gone"
    assert "columns of scores" in reason["mbe/broken"] and "many" in reason["mbe/words"]
    assert "no scores at" in reason["mbe/none"]


@pytest.mark.parametrize(
    "text", [None, "[1]", "{not json", '{"models": 3, "versions": [], "data": "x", "notebook": 1}']
)
def test_a_run_without_a_usable_manifest_is_compared_and_said(write, text):
    folder = write("unmasked/adhoc", [row()])
    (folder / "run.json").unlink()
    if text:
        (folder / "run.json").write_text(text)
    scores, runs = report.read_runs(write.root)
    assert scores[["version", "dtype", "run"]].values.tolist() == [["", "", "unmasked/adhoc"]]
    assert runs["notebook"].item() == "unmasked"
    assert kinds(scores, runs) == ([] if text and text.endswith("1}") else ["no run.json"])


def test_no_run_at_all_is_one_clear_line(write):
    with pytest.raises(ValueError, match=r"no run under .*: run a notebook first"):
        report.read_runs(write.root)
    with pytest.raises(FileNotFoundError, match="no folder 'absent'"):
        report.read_runs("absent")
    write("unmasked/bad.failed", [], ok=False, error="gone")
    with pytest.raises(ValueError, match=r"can be read; unmasked/bad.failed: the run failed: gone"):
        report.read_runs(write.root)
    with pytest.raises(ValueError, match="no run called mine under"):
        report.read_runs(write.root, ["mine"])


def test_links_are_followed_once(write):
    folder = write("unmasked/demo", [row()])
    (write.root / "gathered").mkdir()
    (write.root / "gathered" / "linked").symlink_to(folder, target_is_directory=True)
    (write.root / "gathered" / "up").symlink_to(write.root, target_is_directory=True)
    assert len(report.read_runs(write.root)[1]) == 1
    assert report.read_runs(write.root / "gathered")[1].loc[0, "run"] == "linked"


def test_only_runs_of_a_name(write):
    write("unmasked/demo", [row()])
    write("unmasked/mine", [row(model="mine")])
    write("mbe/mine", [row(model="mine", paper="mbe")])
    assert report.read_runs(write.root, ["mine"])[1]["run"].tolist() == ["mbe/mine", "unmasked/mine"]
    assert report.read_runs(write.root / "unmasked" / "demo")[1]["run"].tolist() == ["demo"]


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
    assert kinds(*report.read_runs(write.root)) == []


def test_a_repeat_is_drawn_once_and_one_with_another_value_is_warned_of(write):
    write("unmasked/a", [row(value=0.6)])
    write("unmasked/b", [row(value=0.6 + 1e-8), row(group="art")])
    scores, runs = report.read_runs(write.root)
    assert kinds(scores, runs) == []
    write("unmasked/b", [row(value=0.6)])
    scores, _ = report.read_runs(write.root)
    assert scores["label"].tolist() == ["bert", "bert"] and len(report.choose_rows(scores)) == 1
    assert report.differences(scores).empty
    write("unmasked/b", [row(value=0.7)])
    scores, runs = report.read_runs(write.root)
    assert kinds(scores, runs) == ["same measurement, other value"]
    assert scores["label"].tolist() == ["bert (unmasked/a)", "bert (unmasked/b)"]


def test_parameters_that_differ_and_a_later_failure(write):
    write("winoqueer/a", [row()], parameters={"models": ["bert"], "epochs": 3, "device": "cpu"})
    write("winoqueer/b", [row("other")], parameters={"models": ["other"], "epochs": 10, "device": "cuda"})
    write("winoqueer/b.failed", [], ok=False, error="gone")
    scores, runs = report.read_runs(write.root)
    warnings = report.find_warnings(scores, runs)
    assert warnings["kind"].tolist() == ["other parameter", "later run failed"]
    assert warnings["runs"].tolist()[0] == "epochs = 3 in winoqueer/a; 10 in winoqueer/b"


def test_differences_by_hand_and_without_an_interval(write):
    rows = [row("a", value=0.75, ci_low=0.7, ci_high=0.8), row("b", value=0.5), row("c", value=None)]
    write("unmasked/demo", [*rows, row("b", group="art", value=0.9)])
    scores, _ = report.read_runs(write.root)
    pairs = report.differences(scores)
    assert pairs[["group", "model_1", "model_2", "difference"]].values.tolist() == [["stem", "a", "b", 0.25]]
    assert not [column for column in pairs if column.startswith("ci")]
    assert pairs["caution"].item() == ""


def test_published_values_stand_beside_the_models_of_the_papers():
    bert, other = "google-bert/bert-base-uncased", "someone/else"
    ours, queer = '{"prompt_file": "job_prompts"}', '{"pair_source": "winoqueer-v0"}'
    given = {"variant": "in_place", "data": "", "paper": "unmasked", "measure": "vargha_delaney_a", "group": "stem"}
    given |= {"parameters": ours}
    wino = {"paper": "winoqueer", "measure": "stereotype_score", "model": "google-bert/bert-base-cased"}
    wino |= {"variant": "pll default", "group": "off the shelf", "parameters": queer}
    mbe = {"paper": "mbe", "measure": "mbe", "model": "deepset/gbert-base", "group": "de"}
    mbe |= {"variant": "side=target weight=cosine"}
    rows = {
        1.0: given | {"model": bert},
        73.77: given | wino,
        54.69: given | mbe | {"data": "ted2020-de"},
        55.12: given | mbe | {"data": "globalvoices-de"},
    }
    without = [
        given | {"model": other},
        given | {"model": bert, "measure": "rank_biserial"},
        given | {"model": bert, "parameters": '{"prompt_file": "mine.csv"}'},
        given | wino | {"group": "after news"},
        given | wino | {"variant": "aul default"},
        given | wino | {"parameters": '{"pair_source": "crows-pairs"}'},
        given | mbe | {"data": "parallel_en_de"},
        given | mbe | {"data": "teddy-de"},
        given | mbe | {"data": "ted2020-de", "model": "any"},
        given | mbe | {"data": "ted2020-de", "variant": "side=english weight=cosine"},
        given | mbe | {"data": "ted2020-de", "variant": "side=target weight=dot"},
    ]
    found = report.with_published(pd.DataFrame([*rows.values(), *without]))
    assert found["published"].fillna(-1).tolist() == [*rows, *[-1] * len(without)]
    assert (found["published_in"] != "").tolist() == found["published"].notna().tolist()


def test_a_measure_of_many_rows_shows_its_main_group_first(write):
    groups = [f"g{n}" for n in range(9)] + ["all"]
    write("unmasked/demo", [row(model, group) for group in groups for model in ("a", "b")])
    scores, _ = report.read_runs(write.root)
    drawn = report.choose_rows(scores, 7)
    assert list(dict.fromkeys(drawn["group"])) == ["all", "g0", "g1"] and len(drawn) == 6
    assert set(drawn["panel"]) == {"unmasked: vargha_delaney_a (3 of 10 groups)"}
    assert len(report.choose_rows(scores, 1)) == 2, "one group at least"
    assert set(report.choose_rows(scores, 20)["panel"]) == {"unmasked: vargha_delaney_a"}
    with pytest.raises(ValueError, match="max_rows is 0"):
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


def test_links_lead_from_the_page_to_each_report(write):
    for name in ("demo", "a (b) #1"):
        (write(f"unmasked/{name}", [row(name)]) / "report.html").write_text("<p>here</p>")
    write("unmasked/plain", [row("plain")])
    _, runs = report.read_runs(write.root)
    links = report.report_links(runs, write.root / "compare" / "all").set_index("run")["href"]
    assert links.to_dict() == {
        "unmasked/a (b) #1": "../../unmasked/a%20%28b%29%20%231/report.html",
        "unmasked/demo": "../../unmasked/demo/report.html",
    }


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


@pytest.mark.parametrize("wrong", [{"p_value": 7}, {"value": "inf"}, {"ci_low": 0.9, "ci_high": 0.2}])
def test_impossible_numbers_are_left_out_with_their_reason(write, wrong):
    write("unmasked/good", [row()])
    path = write("unmasked/bad", [row()]) / "results" / "scores.csv"
    pd.read_csv(path, dtype=str, keep_default_na=False).assign(**wrong).to_csv(path, index=False)
    scores, runs = report.read_runs(write.root)
    assert set(scores["run"]) == {"unmasked/good"}
    bad = runs.set_index("run").loc["unmasked/bad"]
    assert not bad["used"] and "impossible numbers" in bad["reason"]


def test_in_short_counts_runs_scores_and_warnings(write):
    write("unmasked/demo", [row(), row(group="art")])
    write("unmasked/other", [row(model="other", data_fingerprint="d2")])
    write("unmasked/bad.failed", [row()], ok=False)
    scores, runs = report.read_runs(write.root)
    scores = report.with_published(scores)
    lines = report.comparison_in_short(scores, runs, report.find_warnings(scores, runs))
    assert lines[0] == "- Scores: 3, of 1 measures and 2 models or sets of vectors. Runs: 2 compared, 1 left out."
    assert lines[1].endswith("another variant than most of their group: 1.")
    assert lines[2] == "- Scores with a published value beside them: 0."
