"""``biaslib run``: run a notebook."""

from biaslib import runs
from biaslib.cli._terminal import Once, add_parameter, describe_parameter, read_set_parameters, say_how_it_ended


def add_arguments(commands):
    command = commands.add_parser(
        "run",
        help="run a notebook and write its report",
        description="Run a notebook and write its report, results and manifest to OUT/NOTEBOOK/NAME/.",
        allow_abbrev=False,
    )
    command.add_argument("notebook", metavar="NOTEBOOK", help="path of a notebook, or the name of one in notebooks/")
    command.add_argument(
        "-f",
        "--params",
        action=Once,
        metavar="FILE",
        help="YAML file, or the name of one in params/NOTEBOOK/ (default: demo)",
    )
    add_parameter(command, "set a parameter")
    command.add_argument("--out", default="outputs", help="folder for all runs (default: outputs)")
    command.add_argument("--name", help="name of the run (default: the name of FILE, or custom if only -p is given)")
    command.add_argument("--help-parameters", action="store_true", help="list the notebook's parameters and exit")
    command.set_defaults(action=_run)


def _run(arguments):
    notebook = runs.read_notebook(arguments.notebook)
    if arguments.help_parameters:
        print("\n".join(map(describe_parameter, notebook.parameters)) or f"{notebook.path} has no parameters")
        return 0
    prepared = runs.prepare(
        notebook,
        params=arguments.params,
        out=arguments.out,
        set_parameters=read_set_parameters(arguments.parameter),
        name=arguments.name,
        text=True,
    )
    return say_how_it_ended(runs.run(prepared))
