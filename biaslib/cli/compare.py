"""``biaslib compare``: compare runs side by side."""

from biaslib import report, runs
from biaslib.cli._terminal import say_how_it_ended


def add_arguments(commands):
    command = commands.add_parser(
        "compare",
        help="compare all runs in a folder",
        description="Compare the scores of all runs in FOLDER and write the report to FOLDER/compare/NAME/.",
        allow_abbrev=False,
    )
    command.add_argument("folder", metavar="FOLDER", help="folder that contains the runs, such as outputs")
    command.add_argument(
        "--runs", nargs="+", default=[], metavar="RUN", help="only the runs with these names (default: all)"
    )
    command.add_argument("--name", default="all", help="name of the comparison (default: all)")
    command.set_defaults(action=_compare)


def _compare(arguments):
    # Missing runs are reported before a kernel starts.
    report.read_runs(arguments.folder, arguments.runs)
    values = {"runs_dir": arguments.folder, "run_names": arguments.runs}
    return say_how_it_ended(runs.run("compare", params=values, out=arguments.folder, name=arguments.name))
