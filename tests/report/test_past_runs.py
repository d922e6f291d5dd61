"""Runs under a folder: what is read and what is left out, nothing dropped silently."""

import pandas as pd
import pytest
from made_runs import row

from biaslib import report


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
    assert report.find_warnings(scores, runs)["kind"].tolist() == []


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
    assert "must have the columns" in reason["mbe/broken"] and "many" in reason["mbe/words"]
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
    assert report.find_warnings(scores, runs)["kind"].tolist() == (
        [] if text and text.endswith("1}") else ["no run.json"]
    )


def test_no_run_at_all_is_one_clear_line(write):
    with pytest.raises(ValueError, match=r"no run under .*; run a notebook first"):
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


@pytest.mark.parametrize("wrong", [{"p_value": 7}, {"value": "inf"}, {"ci_low": 0.9, "ci_high": 0.2}])
def test_impossible_numbers_are_left_out_with_their_reason(write, wrong):
    write("unmasked/good", [row()])
    path = write("unmasked/bad", [row()]) / "results" / "scores.csv"
    pd.read_csv(path, dtype=str, keep_default_na=False).assign(**wrong).to_csv(path, index=False)
    scores, runs = report.read_runs(write.root)
    assert set(scores["run"]) == {"unmasked/good"}
    bad = runs.set_index("run").loc["unmasked/bad"]
    assert not bad["used"] and "impossible numbers" in bad["reason"]


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
