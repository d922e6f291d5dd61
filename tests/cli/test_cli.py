"""The command line: one line for every mistake, the right exit code, nothing started."""

import signal
import subprocess
import sys

import pytest
from notebooks_for_tests import write_notebook

import biaslib
from biaslib.cli import main
from biaslib.runs import find_notebook

PARAMETERS = """
models: list[str] = ["demo"]  # models to measure
min_z: float = 2.0  # threshold (from 0 to 10)
label: str = "a"
results_dir: str = "results"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_notebook("notebooks/paper.ipynb", "1 / 0", parameters=PARAMETERS)
    (tmp_path / "params/paper").mkdir(parents=True)
    (tmp_path / "params/paper/demo.yaml").write_text("min_z: 1e-3\n")
    (tmp_path / "params/paper/broken.yaml").write_text("models: [yes, no]\n")
    (tmp_path / "taken").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("run paper -p modles demo", "unknown parameter 'modles'; did you mean 'models'?"),
        ("run paper -p min_z high", "parameter 'min_z' must be float, got 'high'"),
        ("run paper -p min_z -1e-3", "got -0.001: give a number from 0 to 10"),
        ("run paper -p min_z nan", "finite"),
        ("run paper -p min_z 1 -p min_z 2", "-p min_z is given twice"),
        ("run paper -p min_z", "expected 2 arguments"),
        ("run paper -p min_z=1 --name x", "-p takes a name and a value, separated by a space: -p min_z 1"),
        ("run paper -f broken", 'quote it, e.g. "yes"'),
        ("run paper -f dmeo", "did you mean 'demo'?"),
        ("run paper -f no/such.yaml", "no parameters file 'no/such.yaml'"),
        ("run papre", "no notebook 'papre'; did you mean 'paper'?"),
        ("run params/paper/demo.yaml", "not a Jupyter notebook"),
        ("run paper --out taken", "cannot write to taken/paper"),
        ("run paper --name a/b", "cannot be named 'a/b'"),
        ("run paper --name ..", "cannot be named"),
        ("run paper --nam x", "unrecognized arguments"),
        ("run", "required: NOTEBOOK"),
        ("compare absent", "no folder 'absent'"),
        ("compare notebooks", "no run under 'notebooks'"),
        ("compare notebooks --runs mine", "no run called mine under 'notebooks'"),
        ("compare", "required: FOLDER"),
        ("audit", "required: MODEL"),
        ("audit demo -p epohcs 3", "no notebook of this audit has the parameter 'epohcs'"),
        ("audit demo -p models mine", "the parameter 'models' cannot be set"),
        ("audit demo -p seed x", "parameter 'seed' must be int"),
        ("rum paper", "invalid choice"),
        ("", "required: COMMAND"),
        ("--frobnicate", "required"),
    ],
)
def test_a_mistake_is_one_line_and_starts_nothing(folder, capsys, arguments, says):
    assert main(arguments.split()) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith("biaslib: ")
    assert errors.count("\n") == 1
    assert says in errors
    assert not (folder / "outputs").exists()


def test_parameters_are_explained(folder, capsys):
    assert main(["run", "paper", "--help-parameters"]) == 0
    output = capsys.readouterr().out
    assert "models: list[str] = ['demo']\n    models to measure\n" in output
    assert "min_z: float = 2.0\n    threshold (from 0 to 10)\n" in output


def test_version_and_help(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"biaslib {biaslib.__version__}\n"
    assert main(["run", "--help"]) == 0
    assert "--help-parameters" in capsys.readouterr().out


def test_help_loads_nothing_heavy():
    program = "import sys; from biaslib.cli import main; main(['--help']); print([*sys.modules])"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"papermill", "nbformat", "pandas"} & set(shown.stdout.split("'"))


def test_a_failed_cell_exits_1_and_names_the_partial_report(folder, capfd):
    assert main(["run", "paper", "-p", "label", "-x"]) == 1
    output, errors = capfd.readouterr()
    assert output == ""
    assert errors == (
        "biaslib: ZeroDivisionError: division by zero; the partial report is outputs/paper/custom.failed/report.html\n"
    )


def test_success_says_where_the_report_lies(folder, capfd):
    write_notebook("good.ipynb", "print(label)", parameters='label: str = "a"')
    assert main(["run", "good.ipynb", "-p", "label", "-1", "--out", "{runs}"]) == 0
    assert capfd.readouterr() == ("Report: {runs}/good/custom/report.html\n", "")
    assert (folder / "{runs}/good/custom/report.html").is_file()


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="the system has no such signal")
def test_a_terminal_that_is_closed_interrupts_unless_that_is_ignored_as_under_nohup():
    ends = "from biaslib.cli.command import _interrupt_at; _interrupt_at('SIGHUP'); _interrupt_at('SIGNONE')"
    ends += "; import os; os.kill(os.getpid(), signal.SIGHUP)"
    for before, code in (("SIG_IGN", 0), ("SIG_DFL", -signal.SIGINT)):
        program = f"import signal; signal.signal(signal.SIGHUP, signal.{before}); {ends}"
        assert subprocess.run([sys.executable, "-c", program], stderr=subprocess.DEVNULL).returncode == code


def test_an_option_given_twice_is_refused(folder, capfd):
    assert main(["run", "paper", "-f", "a.yaml", "-f", "b.yaml"]) == 2
    assert "-f is given twice" in capfd.readouterr().err


SCORED = """
from biaslib import report, studies
rows = [
    studies.score_row(paper="mine", measure="m", model=m, group="all", value=n / 4, n=9, data_fingerprint="d")
    for n, m in enumerate(models)
]
report.write_results(results_dir, scores=rows, tables={})
"""


def test_an_audit_goes_on_after_a_failure_compares_and_says_how_each_ended(folder, capfd, monkeypatch):
    write_notebook("notebooks/good.ipynb", SCORED, parameters=PARAMETERS)
    write_notebook("notebooks/other.ipynb", "1", parameters="n: int = 1")
    write_notebook("notebooks/vectors.ipynb", "1 / 0", parameters='vector_sets: list[str] = ["demo"]')
    own = {path.stem: path for path in sorted((folder / "notebooks").glob("*.ipynb"))}
    monkeypatch.setattr("biaslib.runs.audits.list_notebooks", lambda: own | {"compare": find_notebook("compare")})
    assert main(["audit", "a/one", "two", "--out", "runs", "-p", "min_z", "1e-1"]) == 1
    output, errors = capfd.readouterr()
    lines = {line.split()[0]: line.split(maxsplit=2)[1:] for line in output.splitlines()[1:]}
    assert "it has no parameter models or vector_sets" in " ".join(lines["other"])
    assert "no vectors are given" in " ".join(lines["vectors"])
    assert (
        lines["paper"][0] == "failed" and "runs/paper/audit-a-one+two.failed/report.html (ZeroDivisionError" in output
    )
    assert lines["good"][0] == lines["compare"][0] == "done"
    assert output.splitlines()[-1] == "Report: runs/compare/audit-a-one+two/report.html"
    assert errors.splitlines()[-1] == "biaslib: failed: paper"
    compared = (folder / "runs/compare/audit-a-one+two/results/differences.csv").read_text()
    assert "a/one,two" in compared
    page = (folder / "runs/compare/audit-a-one+two/report.html").read_text()
    assert "../../good/audit-a-one+two/report.html" in page.replace("%2B", "+")
    assert main(["compare", "runs", "--name", "again"]) == 0
    assert capfd.readouterr().out == "Report: runs/compare/again/report.html\n"


def test_an_audit_runs_every_notebook_that_takes_models_and_weat_on_vectors(folder, capsys, monkeypatch):
    started = {}

    def refuse(prepared):
        name = prepared.notebook.path.stem
        started[name] = prepared.values
        raise ValueError(f"{name} cannot start")

    monkeypatch.setattr("biaslib.runs.audits.run", refuse)
    (folder / "notebooks/paper.ipynb").unlink()
    assert main(["audit", "demo", "--vectors", "v.txt", "w.txt", "-p", "device", "cpu", "-p", "seed", "7"]) == 1
    of_models = {"models": ["demo"], "device": "cpu", "seed": 7}
    for notebook in ("mbe", "speciesism", "unmasked", "winoqueer"):
        assert started.pop(notebook) == of_models
    assert started.pop("weat") == {"vector_sets": ["v.txt", "w.txt"], "seed": 7}
    assert started == {"compare": {"runs_dir": "outputs", "run_names": ["audit-demo"]}}
    assert "weat cannot start" in capsys.readouterr().out
