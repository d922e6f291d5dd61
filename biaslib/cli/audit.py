"""``biaslib audit``: run every notebook on a model."""

from biaslib import runs
from biaslib.cli._terminal import add_parameter, complain, print_rows, read_set_parameters


def add_arguments(commands):
    command = commands.add_parser(
        "audit",
        help="run every notebook on models, then compare",
        description="Run every notebook that measures masked language models on each MODEL with its default "
        "parameters, then compare the runs. A notebook that fails does not stop the others.",
        allow_abbrev=False,
    )
    command.add_argument("models", metavar="MODEL", nargs="+", help="a Hugging Face id, a folder, or demo")
    command.add_argument("--vectors", nargs="+", default=[], metavar="PATH", help="word vectors for the weat notebook")
    add_parameter(command, "set a parameter of all notebooks that have it")
    command.add_argument("--out", default="outputs", help="folder for all runs (default: outputs)")
    command.add_argument("--name", help="name of the runs (default: from the models' names)")
    command.set_defaults(action=_audit)


def _audit(arguments):
    given = read_set_parameters(arguments.parameter)
    options = {"vectors": arguments.vectors, "out": arguments.out, "name": arguments.name}
    ended = runs.audit(arguments.models, set_parameters=given, progress=True, **options)
    rows = [("notebook", "status", "seconds", "report, or why there is none")]
    for row in ended.itertuples():
        where = " ".join(filter(None, [row.report, f"({row.reason})" if row.report and row.reason else row.reason]))
        rows.append((row.notebook, row.status, f"{row.seconds:.0f}" if row.seconds else "", where))
    print_rows(rows)
    comparison = ended.iloc[-1]
    if comparison.status == "done":
        print(f"Report: {comparison.report}")
    failed = ended.loc[ended["status"] == "failed", "notebook"].tolist()
    return complain(f"failed: {', '.join(failed)}", 1) if failed else 0
