"""``biaslib sweep``: run a grid of notebooks and parameters."""

import sys

from biaslib import runs
from biaslib.cli._terminal import complain, print_rows


def add_arguments(commands):
    command = commands.add_parser(
        "sweep",
        help="run a grid of notebooks, models and parameters",
        description="Run every combination of a grid of notebooks and parameters, and report how each run ended. "
        "FILE is a YAML file with the keys notebooks (a list of names), params (the parameters file for all of "
        "them), grid (lists of values, one run per value) and set (parameters that are the same in all runs). "
        "All runs are checked before the first one starts; a run that fails does not stop the others.",
        epilog="Example of FILE: {notebooks: [speciesism, unmasked], params: demo, grid: {models: [demo, "
        "bert-base-cased]}}",
        allow_abbrev=False,
    )
    command.add_argument("file", metavar="FILE", help="the grid")
    command.add_argument("--out", default="outputs", help="folder for all runs (default: outputs)")
    place = command.add_mutually_exclusive_group()
    place.add_argument(
        "--workers", type=int, default=1, metavar="N", help="number of runs at the same time (default: 1)"
    )
    place.add_argument("--scheduler", metavar="ADDRESS", help="address or scheduler file of a Dask cluster to run on")
    command.set_defaults(action=_sweep)


def _sweep(arguments):
    given = {"out": arguments.out, "workers": arguments.workers, "client": arguments.scheduler}
    try:
        table = runs.sweep(arguments.file, progress=sys.stderr.isatty(), **given)
    except ModuleNotFoundError as error:
        return complain(error, 2)
    table["report"] = table["report"].where(table["error"] == "", table["error"] + " " + table["report"])
    rows = [("notebook", "run", "status", "seconds", "report")]
    rows += [(*row[:3], f"{row[3]:.1f}", row[4].rstrip()) for row in table.iloc[:, :5].itertuples(index=False)]
    print_rows(rows)
    failed = int((table["status"] != "ok").sum())
    return complain(f"{failed} of {len(table)} runs failed", 1) if failed else 0
