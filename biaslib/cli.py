"""The command ``biaslib``: a subcommand is a function that adds its arguments and one that does the work."""

import argparse
import os
import re
import signal
import sys
import warnings
from pathlib import Path

from . import __version__

_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x1f\x7f-\x9f]")


class _UsageError(ValueError):
    """A command line that argparse cannot read."""


class _Once(argparse.Action):
    """An option that may be given once: of two values, one would be dropped in silence."""

    def __call__(self, parser, namespace, values, option_string=None):
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option_string} is given twice; keep one")
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise _UsageError(f"{message}; see `{self.prog} --help`")


def main(argv=None):
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default the process's own.

    Returns
    -------
    int
        0 when all is well, 1 when a notebook failed, 2 when what was given cannot be used (one line on
        standard error says why), 130 when interrupted.

    Examples
    --------
    >>> main(["run", "speciesism", "-f", "demo"])  # doctest: +SKIP
    Report: outputs/speciesism/demo/report.html
    0
    """
    if argv is None:
        # A batch system that ends a job leaves, like Ctrl-C, a partial report rather than a hidden folder.
        _interrupt_at("SIGTERM")
        # A terminal that is closed.
        _interrupt_at("SIGHUP")
    try:
        arguments = _parser().parse_args(_guarded(sys.argv[1:] if argv is None else argv))
        return arguments.action(arguments)
    except SystemExit as done:
        return done.code or 0
    except KeyboardInterrupt as stop:
        return _complain("; ".join(["interrupted", *getattr(stop, "__notes__", [])]), 130)
    except (ValueError, OSError) as error:
        return _complain(error, 2)


def _interrupt_at(name):
    """Take a signal for Ctrl-C, where there is such a signal and it is not ignored, as under nohup."""
    number = getattr(signal, name, None)
    if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler)


def _complain(message, code):
    print("biaslib:", _plain(" ".join(str(message).split())), file=sys.stderr)
    return code


def _plain(text):
    """Leave out what a terminal would take for a command."""
    return _CONTROL.sub("", text)


def _parser():
    parser = _Parser(
        prog="biaslib",
        description="Measure social bias in language models and word vectors.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"biaslib {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")
    for add in (_add_run, _add_sweep, _add_compare, _add_audit, _add_data, _add_train):
        add(commands)
    return parser


_GUARD = "\0"


def _guarded(argv):
    """Mark the values of -p, lest argparse take -1e-3 for an option; no argument can hold a NUL."""
    marked = list(argv)
    for at in range(1, len(marked)):
        if marked[at - 1] in ("-p", "--parameter") and "=" in marked[at]:
            name, _, value = marked[at].partition("=")
            raise _UsageError(f"-p takes a name and a value apart: -p {name} {value}")
        if at > 1 and marked[at - 2] in ("-p", "--parameter"):
            marked[at] = _GUARD + marked[at]
    return marked


def _add_run(commands):
    command = commands.add_parser(
        "run",
        help="run a notebook and write its report",
        description="Run a notebook and write its report, results and manifest to OUT/NOTEBOOK/NAME/.",
        allow_abbrev=False,
    )
    command.add_argument("notebook", metavar="NOTEBOOK", help="a path, or the name of one in notebooks/")
    command.add_argument(
        "-f", "--params", action=_Once, metavar="FILE", help="YAML file, or the name of one in params/NOTEBOOK/ (demo)"
    )
    _add_parameter(command, "set one parameter")
    command.add_argument("--out", default="outputs", help="folder for all runs (outputs)")
    command.add_argument("--name", help="name of the run (that of FILE, or custom with -p alone)")
    command.add_argument("--help-parameters", action="store_true", help="list the notebook's parameters and stop")
    command.set_defaults(action=_run)


def _add_parameter(command, what):
    command.add_argument(
        "-p",
        "--parameter",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help=f"{what}; lists as a,b or [a, b]",
    )


def _run(arguments):
    # Imported here, so that `biaslib --help` answers at once.
    from .parameters import check_parameters, read_parameters
    from .runs import find_notebook, run

    notebook = find_notebook(arguments.notebook)
    declared = read_parameters(notebook)
    if arguments.help_parameters:
        print("\n".join(map(_described, declared)) or f"{notebook} has no parameters")
        return 0
    given = check_parameters(declared, _pairs(arguments.parameter), text=True)
    return _told(run(notebook, params=arguments.params, out=arguments.out, set_parameters=given, name=arguments.name))


def _told(done):
    """Say how a run ended, and where its report lies."""
    if not done.ok:
        return _complain(f"{done.error}; the partial report is {done.html}", 1)
    print(f"Report: {done.html}")
    return 0


def _add_compare(commands):
    command = commands.add_parser(
        "compare",
        help="set all runs under a folder side by side",
        description="Compare the scores of all runs under FOLDER, and write the report to FOLDER/compare/NAME/.",
        allow_abbrev=False,
    )
    command.add_argument("folder", metavar="FOLDER", help="where the runs lie, such as outputs")
    command.add_argument("--runs", nargs="+", default=[], metavar="RUN", help="only runs of these names (all)")
    command.add_argument("--name", default="all", help="name of this comparison (all)")
    command.set_defaults(action=_compare)


def _compare(arguments):
    from .comparisons import read_runs
    from .runs import run

    # What is not there to compare is found before a kernel starts.
    read_runs(arguments.folder, arguments.runs)
    values = {"runs_dir": arguments.folder, "run_names": arguments.runs}
    return _told(run("compare", params=values, out=arguments.folder, name=arguments.name))


def _add_audit(commands):
    command = commands.add_parser(
        "audit",
        help="run every notebook on models, then compare",
        description="Run every notebook that measures masked language models on MODEL …, with its own default values, "
        "then the comparison of these runs. A notebook that fails stops no other.",
        allow_abbrev=False,
    )
    command.add_argument("models", metavar="MODEL", nargs="+", help="a Hugging Face id, a folder, or demo")
    command.add_argument("--vectors", nargs="+", default=[], metavar="PATH", help="word vectors, which go through weat")
    _add_parameter(command, "set one parameter of the notebooks that have it")
    command.add_argument("--out", default="outputs", help="folder for all runs (outputs)")
    command.add_argument("--name", help="name of the runs (made of the models' names)")
    command.set_defaults(action=_audit)


def _audit(arguments):
    from .audits import audit

    given = _pairs(arguments.parameter)
    options = {"vectors": arguments.vectors, "out": arguments.out, "name": arguments.name}
    ended = audit(arguments.models, set_parameters=given, progress=True, **options)
    rows = [("notebook", "status", "seconds", "report, or why there is none")]
    for row in ended.itertuples():
        where = " ".join(filter(None, [row.report, f"({row.reason})" if row.report and row.reason else row.reason]))
        rows.append((row.notebook, row.status, f"{row.seconds:.0f}" if row.seconds else "", where))
    _print_rows(rows)
    comparison = ended.iloc[-1]
    if comparison.status == "done":
        print(f"Report: {comparison.report}")
    failed = ended.loc[ended["status"] == "failed", "notebook"].tolist()
    return _complain(f"failed: {', '.join(failed)}", 1) if failed else 0


def _add_sweep(commands):
    command = commands.add_parser(
        "sweep",
        help="run a grid of notebooks, models and parameters",
        description="Run each combination of a grid of notebooks and parameters, and say how each ended. FILE is "
        "YAML: notebooks, a list of names; params, the parameters file for each; grid, parameters with a list of "
        "values each, one run for each value; set, parameters that are the same in all runs. All runs are checked "
        "before the first starts; one that fails does not stop the rest.",
        epilog="Example of FILE: {notebooks: [speciesism, unmasked], params: demo, grid: {models: [demo, "
        "bert-base-cased]}}",
        allow_abbrev=False,
    )
    command.add_argument("file", metavar="FILE", help="the grid")
    command.add_argument("--out", default="outputs", help="folder for all runs (outputs)")
    place = command.add_mutually_exclusive_group()
    place.add_argument("--workers", type=int, default=1, metavar="N", help="runs at the same time (1)")
    place.add_argument("--scheduler", metavar="ADDRESS", help="run on this Dask scheduler: its address or its file")
    command.set_defaults(action=_sweep)


def _sweep(arguments):
    from .sweeps import sweep

    given = {"out": arguments.out, "workers": arguments.workers, "client": arguments.scheduler}
    try:
        table = sweep(arguments.file, progress=sys.stderr.isatty(), **given)
    except ModuleNotFoundError as error:
        return _complain(error, 2)
    table["report"] = table["report"].where(table["error"] == "", table["error"] + " " + table["report"])
    rows = [("notebook", "run", "status", "seconds", "report")]
    rows += [(*row[:3], f"{row[3]:.1f}", row[4].rstrip()) for row in table.iloc[:, :5].itertuples(index=False)]
    _print_rows(rows)
    failed = int((table["status"] != "ok").sum())
    return _complain(f"{failed} of {len(table)} runs failed", 1) if failed else 0


def _print_rows(rows):
    """Print a table of texts, seconds to the right."""
    rows = [tuple(map(_plain, row)) for row in rows]
    seconds = rows[0].index("seconds")
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [f"{cell:{'>' if n == seconds else '<'}{widths[n]}}" for n, cell in enumerate(row)]
        print("  ".join(cells).rstrip())


def _add_data(commands):
    command = commands.add_parser(
        "data",
        help="list, fetch and find data sets",
        description="List the data sets that can be had by name, fetch them, tell where they lie.",
        allow_abbrev=False,
    )
    tasks = command.add_subparsers(title="tasks", dest="task", required=True, metavar="TASK")
    listing = tasks.add_parser("list", help="list all data sets", allow_abbrev=False)
    listing.set_defaults(action=_data_list)
    fetch = tasks.add_parser("fetch", help="download data sets and check them", allow_abbrev=False)
    fetch.add_argument("names", nargs="+", metavar="NAME", help="a name that `biaslib data list` shows")
    fetch.set_defaults(action=_data_fetch)
    where = tasks.add_parser("path", help="print a data set's path, fetching it if need be", allow_abbrev=False)
    where.add_argument("name", metavar="NAME", help="a name that `biaslib data list` shows")
    where.set_defaults(action=_data_path)


def _data_list(arguments):
    from .datasets import list_datasets

    rows = [("name", "bytes", "where", "licence")]
    for row in list_datasets().to_dict("records"):
        where = row["where"] if row["verified"] else f"{row['where']} (unverified)"
        size = f"{row['bytes']:,}" if isinstance(row["bytes"], int) else "?"
        rows.append((row["name"], size, where, row["licence"]))
    name, size, where, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    print("\n".join(f"{row[0]:{name}}  {row[1]:>{size}}  {row[2]:{where}}  {row[3]}" for row in rows))
    return 0


def _data_fetch(arguments):
    from .datasets import describe

    for about in [describe(name) for name in arguments.names]:
        print(f"{about['name']}: {_fetched(about['name'])}")
        print(f"    licence: {about['licence']}; cite {about['citation']}")
    return 0


def _data_path(arguments):
    print(_fetched(arguments.name))
    return 0


def _fetched(name):
    """Fetch a data set; a warning becomes one line on standard error, like an error."""
    from .datasets import path

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        place = path(name)
    for warning in said:
        _complain(warning.message, 0)
    return place


_NOT_FOR_TRAINING = ("command", "action", "model", "texts", "head", "device", "anew")


def _add_train(commands):
    command = commands.add_parser(
        "train",
        help="train a masked language model further on texts",
        description="Train a masked language model further on texts, and save it to FOLDER with the losses on the part "
        "held out (training.csv). The same command goes on where a training was ended.",
        epilog="To spread the work over GPUs: accelerate launch --num_processes 4 -m biaslib train MODEL TEXT --out "
        "FOLDER. Each step then takes --batch-size blocks from each process.",
        allow_abbrev=False,
    )
    command.add_argument("model", metavar="MODEL", help="a Hugging Face id, a folder, or demo")
    command.add_argument(
        "texts", metavar="TEXT", nargs="+", help="files (.txt, .jsonl, .csv, also .gz), folders or embedded samples"
    )
    command.add_argument("--out", required=True, metavar="FOLDER", help="folder of the result")
    command.add_argument("--text-column", default="text", metavar="NAME", help="field or column of the text (text)")
    command.add_argument("--epochs", type=int, default=3, metavar="N", help="passes over the texts (3)")
    command.add_argument("--block-size", type=int, metavar="N", help="tokens in a block (512 or the model's limit)")
    command.add_argument("--batch-size", type=int, default=8, metavar="N", help="blocks in a step and process (8)")
    command.add_argument(
        "--mask-probability", type=float, default=0.15, metavar="P", help="share of tokens hidden (.15)"
    )
    command.add_argument("--whole-word-masking", action="store_true", help="hide words rather than tokens")
    command.add_argument("--learning-rate", type=float, default=2e-5, metavar="X", help="highest learning rate (2e-5)")
    command.add_argument("--weight-decay", type=float, default=0.01, metavar="X", help="weight decay of AdamW (.01)")
    command.add_argument("--held-out", type=float, default=0.1, metavar="P", help="share of documents held out (.1)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="seed of split, order, masks and dropout (0)")
    command.add_argument("--save-every", type=int, default=500, metavar="N", help="steps between checkpoints (500)")
    command.add_argument("--head", default="keep", help="new: draw the head that the checkpoint lacks (keep)")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (auto)")
    command.add_argument("--anew", action="store_true", help="start anew rather than go on")
    command.set_defaults(action=_train)


def _train(arguments):
    from .finetuning import continue_pretraining, own_device, read_training
    from .models import load_masked_lm

    options = {name: value for name, value in vars(arguments).items() if name not in _NOT_FOR_TRAINING}
    lm = load_masked_lm(arguments.model, device=own_device(arguments.device), head=arguments.head)
    texts = [Path(text) for text in arguments.texts]
    folder = continue_pretraining(lm, texts, resume=not arguments.anew, progress=sys.stderr.isatty(), **options)
    if os.environ.get("RANK", "0") == "0":
        held_out = read_training(folder).query("split == 'held_out'")
        before, after = held_out.loss.iloc[[0, -1]]
        print(f"Held-out loss: {before:.3f} before, {after:.3f} after ({held_out.n_tokens.iloc[0]} tokens)")
        print(f"Model: {folder}")
    return 0


def _pairs(given):
    pairs = {}
    for name, value in given:
        if name in pairs:
            raise _UsageError(f"-p {name} is given twice; keep one")
        pairs[name] = value.removeprefix(_GUARD)
    return pairs


def _described(parameter):
    explained = f"\n    {parameter.help}" if parameter.help else ""
    return f"{parameter.name}: {parameter.type} = {parameter.default!r}{explained}"


if __name__ == "__main__":
    sys.exit(main())
