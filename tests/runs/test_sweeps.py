"""Sweeps: every run checked first, one failure does not stop the rest, names of their own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from notebooks_for_tests import RESULTS_DIR, write_notebook

import biaslib
from biaslib import runs
from biaslib.cli import main
from biaslib.runs import read_sweep, sweep, sweeps

PARAMETERS = f"""
models: list[str] = ["demo"]  # models to measure
mode: str = "good"  # what happens (one of: good, raise, die, sleep, write, leave)
min_z: float = 2.0  # threshold (from 0 to 10)
{RESULTS_DIR}
"""
CELL = """
import os, time
from pathlib import Path
Path(results_dir).mkdir(parents=True, exist_ok=True)
Path(results_dir, "table.csv").write_text(f"{models},{min_z!r}")
if mode == "raise":
    1 / 0
if mode == "write":
    os.system("echo hi; echo hi >&2")
    os.write(1, b"\\xff{")
    os.write(2, b"\\xff")
    raise RuntimeError("\\x1b[31mred\\x07")
if mode == "leave":
    import subprocess
    subprocess.Popen(["sleep", "60"])
if mode == "die":
    os.kill(os.getppid(), 9)
if mode == "sleep":
    time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Runs are processes of their own.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(biaslib.__file__).parents[1]), *sys.path]))
    write_notebook("notebooks/paper.ipynb", CELL, parameters=PARAMETERS)
    write_notebook("notebooks/other.ipynb", "1", parameters='vectors: str = "a"')
    (tmp_path / "params/paper").mkdir(parents=True)
    (tmp_path / "params/paper/demo.yaml").write_text("min_z: 1e-3\n")
    return tmp_path


def written(text):
    Path("sweep.yaml").write_text(text)
    return "sweep.yaml"


def test_a_grid_gives_each_combination_a_run_and_a_name(folder):
    jobs = read_sweep(
        written("""
notebooks:
  - notebook: paper
    grid: {models: [demo, org/model-b, [demo, c]], min_z: [1, 1e-3]}
  - other
""")
    )
    assert [job.name for job in jobs] == [
        "demo--models=demo--min_z=1.0",
        "demo--models=demo--min_z=0.001",
        "demo--models=org-model-b--min_z=1.0",
        "demo--models=org-model-b--min_z=0.001",
        "demo--models=demo+c--min_z=1.0",
        "demo--models=demo+c--min_z=0.001",
        "default",
    ]
    assert jobs[1].set_parameters == {"models": ["demo"], "min_z": 0.001}
    assert jobs[6].set_parameters == {}


def test_a_notebooks_own_settings_go_before_the_general_ones(folder):
    Path("p.yaml").write_text("min_z: 5")
    jobs = read_sweep(
        written("""
notebooks: [paper, {notebook: paper, params: p.yaml, grid: {models: [b]}, set: {min_z: 4}}]
grid: {models: [a]}
set: {min_z: 3, mode: raise}
""")
    )
    assert [(job.name, job.params, job.set_parameters) for job in jobs] == [
        ("demo--models=a", None, {"min_z": 3.0, "mode": "raise", "models": ["a"]}),
        ("p--models=b", "p.yaml", {"min_z": 4.0, "mode": "raise", "models": ["b"]}),
    ]


def test_names_that_clash_or_are_too_long_are_told_apart(folder):
    models = ["a/b", "a-b", "A-B", "é", "x" * 200, "x.failed", "../../up", "c"]
    jobs = read_sweep(written(json.dumps({"notebooks": ["paper"], "grid": {"models": models}})))
    names = [job.name for job in jobs]
    assert len({name.casefold() for name in names}) == len(models)
    assert names[-1] == "demo--models=c"
    assert all(len(name) <= 100 and "/" not in name and not name.endswith(".failed") for name in names)
    again = read_sweep(written(json.dumps({"notebooks": ["paper"], "grid": {"models": models[::-1]}})))
    assert [job.name for job in again] == names[::-1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "give notebooks, a list"),
        ("notebooks: paper", "give notebooks, a list"),
        ("notebooks: [papre]", "did you mean 'paper'?"),
        ("notebooks: [7]", "must be a name or a path, not 7"),
        ("notebooks: [paper]\ngird: {}", "unknown 'gird'; a sweep has notebooks, params, grid, set"),
        ("notebooks: [{notebook: paper, model: a}]", "unknown 'model'"),
        ("notebooks: [paper]\ngrid: [models]", "grid must be a mapping"),
        ("notebooks: [paper]\nparams: [demo]", "params must be the name of a file"),
        ("notebooks: [paper]\nparams: dmeo", "did you mean 'demo'?"),
        ("notebooks: [paper]\ngrid: {models: demo}", "models in grid must be a list of values"),
        ("notebooks: [paper]\ngrid: {models: []}", "models in grid must be a list of values"),
        ("notebooks: [paper]\ngrid: {modles: [a]}", "unknown parameter 'modles'; did you mean 'models'?"),
        ("notebooks: [paper]\ngrid: {models: [a, no]}", "quote it"),
        ("notebooks: [paper]\ngrid: {min_z: [1, 11]}", "give a number from 0 to 10"),
        ("notebooks: [paper]\ngrid: {min_z: [1, 1.0]}", "min_z in grid has 1.0 twice"),
        ("notebooks: [paper]\nset: {mode: bad}", "give one of: good, raise, die, sleep, write, leave"),
        ("notebooks: [paper]\ngrid: {min_z: [1]}\nset: {min_z: 2}", "'min_z' is both in grid and in set"),
        ("notebooks: [paper]\nset: {results_dir: here}", "results_dir is for a single run"),
        ("notebooks: [paper, paper]", "two runs are the same"),
        ("notebooks: [paper, other]\ngrid: {models: [a]}", "other: unknown parameter 'models'"),
        ("notebooks: [paper", "not valid YAML"),
    ],
)
def test_a_mistake_is_one_line_and_starts_nothing(folder, capsys, text, says):
    assert main(["sweep", written(text)]) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith("biaslib: sweep.yaml: ")
    assert errors.count("\n") == 1
    assert says in errors
    assert not (folder / "outputs").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("sweep absent.yaml", "absent.yaml: cannot be read"),
        ("sweep good.yaml --workers 0", "workers must be a whole number of at least 1"),
        ("sweep good.yaml --workers 2 --scheduler tcp://127.0.0.1:9", "not allowed with"),
        ("sweep good.yaml --scheduler tcp://127.0.0.1:9", "pip install 'biaslib[cluster]'"),
    ],
)
def test_a_wrong_command_is_one_line_and_starts_nothing(folder, capsys, monkeypatch, arguments, says):
    Path("good.yaml").write_text("notebooks: [paper]")
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(arguments.split()) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert says in errors
    assert errors.count("\n") == 1
    assert not (folder / "outputs").exists()


def test_one_failure_does_not_stop_the_rest(folder, capsys):
    file = written("notebooks: [paper]\ngrid: {mode: [raise, die, good]}\nset: {models: [b]}")
    assert main(["sweep", file, "--workers", "3"]) == 1
    output, errors = capsys.readouterr()
    assert errors == "biaslib: 2 of 3 runs failed\n"
    head, raised, died, good = output.splitlines()
    assert head.split() == ["notebook", "run", "status", "seconds", "report"]
    assert raised.split()[:3] == ["paper", "demo--mode=raise", "failed"]
    assert raised.endswith("ZeroDivisionError: division by zero outputs/paper/demo--mode=raise.failed/report.html")
    assert died.split()[:3] == ["paper", "demo--mode=die", "failed"]
    assert died.endswith("ended by SIGKILL, probably out of memory")
    assert good.split()[:3] == ["paper", "demo--mode=good", "ok"]
    assert good.endswith("outputs/paper/demo--mode=good/report.html")
    assert (folder / "outputs/paper/demo--mode=good/results/table.csv").read_text() == "['b'],0.001"
    assert (folder / "outputs/paper/demo--mode=raise.failed/report.html").is_file()


def test_what_a_notebook_writes_or_leaves_behind_ends_no_sweep(folder, capsys):
    start = time.monotonic()
    assert main(["sweep", written("notebooks: [paper]\ngrid: {mode: [write, leave]}"), "--workers", "2"]) == 1
    _, wrote, left = capsys.readouterr().out.splitlines()
    assert wrote.split()[1:3] == ["demo--mode=write", "failed"]
    assert "RuntimeError: red outputs/" in wrote
    assert left.split()[1:3] == ["demo--mode=leave", "ok"]
    assert time.monotonic() - start < 50


def test_a_run_that_cannot_start_or_says_nothing_is_a_failed_one(folder, monkeypatch):
    file = written("notebooks: [other]")
    monkeypatch.setattr(sweeps, "_CHILD", "pass")
    assert sweep(file).loc[0, "error"] == "the process of the run ended with 0: no reason given"
    monkeypatch.setattr(sys, "executable", "/absent")
    table = sweep(file)
    assert table["status"].tolist() == ["failed"]
    assert table.loc[0, "error"].startswith("FileNotFoundError: ")


def test_ctrl_c_ends_the_runs_and_keeps_their_partial_reports(folder):
    file = written("notebooks: [paper]\ngrid: {mode: [sleep], min_z: [1, 2]}")
    command = [sys.executable, "-m", "biaslib", "sweep", file]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(folder.glob("outputs/paper/.*.running-*/results/table.csv")):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, "")
    assert errors.startswith("biaslib: interrupted")
    assert [path.name for path in (folder / "outputs/paper").iterdir()] == ["demo--mode=sleep--min_z=1.0.failed"]


def test_on_dask_workers_it_ends_the_same(folder):
    distributed = pytest.importorskip("distributed")
    file = written("notebooks: [paper]\ngrid: {mode: [raise, good]}")
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as made, distributed.Client(made) as client:
        table = sweep(file, client=client)
    assert table.columns.tolist() == list(runs.SWEEP_COLUMNS)
    assert table["status"].tolist() == ["failed", "ok"]
    assert table["error"].tolist() == ["ZeroDivisionError: division by zero", ""]
    assert (folder / table.loc[1, "report"]).is_file()
    assert (table["seconds"] > 0).all()


def test_a_worker_that_sees_other_files_says_so(folder):
    job = read_sweep(written("notebooks: [other]"))[0]
    assert sweeps._run_in_folder("/absent", job)[3].startswith("the worker has no folder /absent")
