"""Runs: what a folder holds after success and failure, and what survives both."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from notebooks_for_tests import RESULTS_DIR, write_notebook

import biaslib
from biaslib.report import ReportError
from biaslib.runs import RunError, notebook_run, run

PARAMETERS = f"""
mode: str = "good"  # what happens (one of: good, raise, kill, sleep)
label: str = "a=b # c"  # any text
words: list[str] = []  # any words
min_z: float = 2.0
{RESULTS_DIR}
"""
START = """
import json, os, time
from pathlib import Path
results = Path(results_dir)
results.mkdir(parents=True, exist_ok=True)
(results / "scores.csv").write_text(f"{mode},{label},{words},{min_z!r}")
(results / "provenance.json").write_text(json.dumps(
    {"models": [{"name": "demo", "device": "cpu"}], "data": {"words": "abc"}, "seed": 7}))
print("results in", results_dir)
"""
MIDDLE = """
if mode == "raise":
    raise KeyError("first line\\nsecond line")
if mode == "kill":
    os.kill(os.getpid(), 9)
if mode == "sleep":
    print("asleep", flush=True)
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    write_notebook(
        folder / "notebooks/paper.ipynb",
        "# Title $x_1$",
        START,
        MIDDLE,
        "print('end')",
        parameters=PARAMETERS,
    )
    (folder / "params/paper").mkdir(parents=True)
    (folder / "params/paper/demo.yaml").write_text('label: "no"\nwords: ["no", b]\nmin_z: 1e-3\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


@pytest.fixture(scope="module")
def good(folder):
    return run("paper", params="demo")


@pytest.fixture(scope="module")
def failed(good):
    """A failed run after a good one of the same name."""
    before = files_of(good.folder)
    return run("paper", params="demo", set_parameters={"mode": "raise"}), before


def files_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def manifest_of(done):
    return json.loads(done.manifest.read_text())


def test_a_good_run_leaves_report_results_and_manifest(good):
    assert good.ok
    assert good.error == ""
    assert good.folder == Path("outputs/paper/demo")
    assert {str(name) for name in files_of(good.folder)} == {
        "report.ipynb",
        "report.html",
        "run.json",
        "results/scores.csv",
        "results/provenance.json",
    }
    assert good.results.joinpath("scores.csv").read_text() == "good,no,['no', 'b'],0.001"
    assert good.folder.stat().st_mode == good.folder.parent.stat().st_mode
    assert "<title>Title x1</title>" in good.html.read_text()


def test_the_manifest_says_what_was_run_with_what(good, folder):
    manifest = manifest_of(good)
    assert manifest["ok"] is True
    assert manifest["error"] is None
    assert manifest["notebook"] == "notebooks/paper.ipynb"
    assert manifest["notebook_sha256"] == hashlib.sha256((folder / "notebooks/paper.ipynb").read_bytes()).hexdigest()
    assert manifest["parameters"] == {
        "mode": "good",
        "label": "no",
        "words": ["no", "b"],
        "min_z": 0.001,
        "results_dir": "outputs/paper/demo/results",
    }
    assert manifest["models"] == [{"name": "demo", "device": "cpu"}]
    assert manifest["data"] == {"words": "abc"}
    assert manifest["seed"] == 7
    assert {"biaslib", "torch", "papermill"} <= set(manifest["versions"])
    assert manifest["started"] < manifest["ended"]
    assert manifest["started"].endswith("+00:00")
    assert manifest["seconds"] > 0
    assert len(manifest["seconds_per_cell"]) == 5
    assert manifest["git"] is None or len(manifest["git"]["commit"]) == 40


def test_nothing_tells_of_the_machine_or_of_the_hidden_folder(good, folder):
    for path in (good.report, good.manifest, good.html):
        text = path.read_text()
        assert str(folder) not in text
        assert ".running-" not in text
    assert "results in outputs/paper/demo/results" in good.report.read_text()
    assert not list(good.folder.parent.glob(".*"))


def test_the_saved_notebook_runs_again(good):
    metadata = nbformat.read(good.report, 4).metadata.papermill
    assert metadata.input_path == "notebooks/paper.ipynb"
    assert metadata.output_path == "outputs/paper/demo/report.ipynb"


def test_a_failed_run_is_kept_apart_and_the_earlier_one_survives(failed, good):
    done, before = failed
    assert not done.ok
    assert done.error == "KeyError: 'first line\\nsecond line'"
    assert done.folder == Path("outputs/paper/demo.failed")
    assert "FAILED" in done.html.read_text()
    assert "first line" in done.html.read_text()
    assert manifest_of(done)["ok"] is False
    assert manifest_of(done)["error"] == done.error
    assert manifest_of(done)["parameters"]["results_dir"] == "outputs/paper/demo.failed/results"
    assert done.results.joinpath("scores.csv").is_file()
    assert files_of(good.folder) == before


def test_a_killed_kernel_is_a_failure_that_claims_no_success(failed, good):
    done = run("paper", params="demo", set_parameters={"mode": "kill"})
    assert not done.ok
    assert "kernel died" in done.error
    notebook = nbformat.read(done.report, 4)
    states = [cell.metadata.papermill.status for cell in notebook.cells if cell.cell_type == "code"]
    assert states == ["completed", "completed", "completed", "failed", "pending"]
    assert notebook.metadata.papermill.exception is True
    assert good.results.joinpath("scores.csv").read_text().startswith("good")
    assert "FAILED" in done.html.read_text()


def test_a_success_replaces_the_earlier_run_and_the_failed_one(failed):
    done = run("paper", params="demo", set_parameters={"label": "again"})
    assert done.ok
    assert done.results.joinpath("scores.csv").read_text().split(",")[1] == "again"
    assert [path.name for path in done.folder.parent.iterdir()] == ["demo"]


def test_plain_papermill_runs_the_same_notebook(folder):
    command = [
        sys.executable,
        "-m",
        "papermill",
        "notebooks/paper.ipynb",
        "out.ipynb",
        "-f",
        "params/paper/demo.yaml",
    ]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    assert (folder / "outputs/paper/adhoc/results/scores.csv").read_text().startswith("good,no,['no', 'b']")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_an_interrupted_batch_job_leaves_its_partial_report(folder, name):
    command = [
        sys.executable,
        "-m",
        "biaslib",
        "run",
        "paper",
        "-p",
        "mode",
        "sleep",
        "--name",
        "stopped",
    ]
    paths = os.pathsep.join(filter(None, [str(Path(biaslib.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list(folder.glob("outputs/paper/.stopped.running-*/results/scores.csv")):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    process.send_signal(getattr(signal, name))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "biaslib: interrupted; the partial report is outputs/paper/stopped.failed/report.html\n"
    assert json.loads((folder / "outputs/paper/stopped.failed/run.json").read_text())["error"] == "interrupted"
    assert not list(folder.glob("outputs/paper/.*"))


@pytest.fixture
def quick(tmp_path, monkeypatch):
    """A working folder in which papermill is replaced by what a test says that it does."""
    monkeypatch.chdir(tmp_path)
    write_notebook("notebooks/paper.ipynb", "# Title", parameters=PARAMETERS)

    def executing(then=lambda work: None):
        def execute(notebook, values, report):
            notebook.metadata.papermill = {"parameters": values}
            nbformat.write(notebook, report)
            then(report.parent)

        monkeypatch.setattr(notebook_run, "_papermill", execute)

    executing()
    return executing


def test_names_follow_the_parameters(quick):
    Path("other.yaml").write_text("label: x")
    assert run("paper").folder == Path("outputs/paper/default")
    assert run("paper", params={"label": "x"}).folder == Path("outputs/paper/custom")
    assert run("paper", params="other.yaml").folder == Path("outputs/paper/other")
    assert run("notebooks/paper.ipynb", name="my run", out="o").folder == Path("o/paper/my run")
    Path("demo").write_text("not: these")
    assert run("paper").folder == Path("outputs/paper/default")
    assert manifest_of(run("paper", params={"results_dir": "here"}))["parameters"]["results_dir"] == "here"


def test_folders_are_relative_where_they_can_be(quick, tmp_path):
    assert run("paper", out=tmp_path / "o").folder == Path("o/paper/default")
    outside = run("paper", out=tmp_path.parent / f"{tmp_path.name}-out")
    assert outside.ok
    assert outside.folder.is_absolute()


def test_set_parameters_go_before_the_file(quick):
    Path("p.yaml").write_text("label: file\nmin_z: 3")
    parameters = manifest_of(run("paper", params="p.yaml", set_parameters={"label": "set"}))["parameters"]
    assert (parameters["label"], parameters["min_z"]) == ("set", 3.0)


def test_a_report_that_cannot_be_shown_counts_as_failed(quick):
    def remote(work):
        notebook = nbformat.read(work / "report.ipynb", 4)
        html = {"text/html": "<img src='https://cdn.example/x.png'>"}
        notebook.cells[0].outputs = [nbformat.v4.new_output("display_data", data=html)]
        nbformat.write(notebook, work / "report.ipynb")

    first = run("paper")
    quick(remote)
    second = run("paper")
    assert first.folder.is_dir()
    assert not second.ok
    assert "cdn.example" in second.error
    assert "FAILED" in second.html.read_text()


def test_unreadable_provenance_counts_as_failed(quick):
    def scribble(work):
        (work / "results").mkdir()
        (work / "results/provenance.json").write_text("not json")

    quick(scribble)
    done = run("paper")
    assert not done.ok
    assert "provenance.json" in done.error


def test_an_interrupt_keeps_the_partial_run_and_stops_the_batch(quick):
    def interrupt(work):
        raise KeyboardInterrupt

    run("paper")
    quick(interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        run("paper")
    assert "default.failed" in caught.value.__notes__[0]
    assert sorted(path.name for path in Path("outputs/paper").iterdir()) == ["default", "default.failed"]


def test_if_the_new_run_cannot_be_moved_in_the_earlier_one_comes_back(quick, monkeypatch):
    first = run("paper")
    before = files_of(first.folder)
    rename = os.rename

    def refuse(source, target):
        if ".running-" in str(source) and Path(target) == first.folder:
            raise OSError("no")
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse)
    second = run("paper")
    assert not second.ok
    assert second.folder == Path("outputs/paper/default.failed")
    assert files_of(first.folder) == before
    assert sorted(path.name for path in Path("outputs/paper").iterdir()) == ["default", "default.failed"]


def test_nothing_starts_when_something_is_wrong(quick):
    def never(work):
        pytest.fail("started")

    quick(never)
    write_notebook("notebooks/formula.ipynb", "# Title $\\foo$")
    Path("outputs").write_text("a file")
    for arguments, says in (
        ({"notebook": "paper"}, "cannot write to outputs/paper"),
        ({"notebook": "paper", "out": "/proc/x"}, "cannot write to"),
        ({"notebook": "paper", "out": "o", "name": "x.failed"}, "cannot be named"),
        ({"notebook": "paper", "out": "o", "name": ""}, "cannot be named"),
        ({"notebook": "paper", "out": "o", "name": "a\nb"}, "cannot be named"),
        ({"notebook": "paper", "out": "o", "params": "absent"}, "no parameters file 'absent'"),
        ({"notebook": "absent", "out": "o"}, "no notebook 'absent'"),
        ({"notebook": "", "out": "o"}, "no notebook ''"),
        ({"notebook": "notebooks", "out": "o"}, "no notebook 'notebooks'"),
    ):
        with pytest.raises(RunError, match=says):
            run(**arguments)
    with pytest.raises(ReportError, match="foo"):
        run("formula", out="o")
    assert not Path("o").exists()


def test_single_values_alone_do_not_replace_the_demo_run(quick):
    assert run("paper", set_parameters={"label": "mine"}).folder.name == "custom"
    assert run("paper", set_parameters={"label": "mine"}, name="mine").folder.name == "mine"


def test_a_results_folder_that_the_run_would_replace_is_not_lost(quick):
    """The run's own results are its default; another folder inside the run is refused."""
    quick(lambda work: (work / "results").mkdir())
    done = run("paper", set_parameters={"results_dir": "outputs/paper/own/results"}, name="own")
    assert done.ok and Path("outputs/paper/own/results").is_dir()
    with pytest.raises(RunError, match="lies in the run's own folder"):
        run("paper", set_parameters={"results_dir": "outputs/paper/own"}, name="own")


@pytest.mark.parametrize("name", ["ε", 'a"b', "a\\b", "../a", ".a", "a.failed", ""])
def test_a_run_has_a_plain_name(quick, name):
    with pytest.raises(RunError, match="cannot be named"):
        run("paper", name=name)
