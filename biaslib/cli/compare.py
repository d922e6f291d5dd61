"""biaslib compare: set runs side by side."""

from biaslib import report, runs
from biaslib.cli._parsing import say_how_it_ended


def add_arguments(commands):
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

    # What is not there to compare is found before a kernel starts.
    report.read_runs(arguments.folder, arguments.runs)
    values = {"runs_dir": arguments.folder, "run_names": arguments.runs}
    return say_how_it_ended(runs.run("compare", params=values, out=arguments.folder, name=arguments.name))
