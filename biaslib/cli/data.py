"""``biaslib data``: list, download and locate data sets."""

import warnings

from biaslib import io
from biaslib.cli._terminal import complain


def add_arguments(commands):
    command = commands.add_parser(
        "data",
        help="list, download and locate data sets",
        description="List the available data sets, download them, or print where they are stored.",
        allow_abbrev=False,
    )
    tasks = command.add_subparsers(title="tasks", dest="task", required=True, metavar="TASK")
    listing = tasks.add_parser("list", help="list the available data sets", allow_abbrev=False)
    listing.set_defaults(action=_data_list)
    fetch = tasks.add_parser("fetch", help="download data sets and verify their checksums", allow_abbrev=False)
    fetch.add_argument("names", nargs="+", metavar="NAME", help="a name from `biaslib data list`")
    fetch.set_defaults(action=_data_fetch)
    where = tasks.add_parser(
        "path", help="print the path of a data set, downloading it if necessary", allow_abbrev=False
    )
    where.add_argument("name", metavar="NAME", help="a name from `biaslib data list`")
    where.set_defaults(action=_data_path)


def _data_list(arguments):
    rows = [("name", "bytes", "where", "licence")]
    for row in io.list_datasets().to_dict("records"):
        where = row["where"] if row["verified"] else f"{row['where']} (unverified)"
        size = f"{row['bytes']:,}" if isinstance(row["bytes"], int) else "?"
        rows.append((row["name"], size, where, row["licence"]))
    name, size, where, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    print("\n".join(f"{row[0]:{name}}  {row[1]:>{size}}  {row[2]:{where}}  {row[3]}" for row in rows))
    return 0


def _data_fetch(arguments):
    for about in [io.describe_dataset(name) for name in arguments.names]:
        print(f"{about['name']}: {_fetched(about['name'])}")
        print(f"    licence: {about['licence']}; cite {about['citation']}")
    return 0


def _data_path(arguments):
    print(_fetched(arguments.name))
    return 0


def _fetched(name):
    """Download a data set; print warnings as one line each on standard error."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        place = io.dataset_path(name)
    for warning in said:
        complain(warning.message, 0)
    return place
