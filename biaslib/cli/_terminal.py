"""Parsing of the command line, and its messages."""

import argparse
import re
import sys

from biaslib._text import one_line

_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x1f\x7f-\x9f]")


class _UsageError(ValueError):
    """Raised for a command line that cannot be parsed."""


class Once(argparse.Action):
    """An option that may be given only once; argparse would silently keep the last value."""

    def __call__(self, parser, namespace, values, option_string=None):
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option_string} is given twice; give it once")
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise _UsageError(f"{message}; see `{self.prog} --help`")


def complain(message, code):
    print("biaslib:", _plain(one_line(message)), file=sys.stderr)
    return code


def _plain(text):
    """Remove the control sequences of a terminal."""
    return _CONTROL.sub("", text)


_GUARD = "\0"


def guard_values(argv):
    """Mark the values of -p, so that argparse does not take -1e-3 for an option; no argument can contain NUL."""
    marked = list(argv)
    for at in range(1, len(marked)):
        if marked[at - 1] in ("-p", "--parameter") and "=" in marked[at]:
            name, _, value = marked[at].partition("=")
            raise _UsageError(f"-p takes a name and a value, separated by a space: -p {name} {value}")
        if at > 1 and marked[at - 2] in ("-p", "--parameter"):
            marked[at] = _GUARD + marked[at]
    return marked


def add_parameter(command, what):
    command.add_argument(
        "-p",
        "--parameter",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help=f"{what}; write lists as a,b or [a, b]",
    )


def say_how_it_ended(done):
    """Print how a run ended and where its report is."""
    if not done.ok:
        return complain(f"{done.error}; the partial report is {done.html}", 1)
    print(f"Report: {done.html}")
    return 0


def print_rows(rows):
    """Print a table of strings; the column of seconds is right-aligned."""
    rows = [tuple(map(_plain, row)) for row in rows]
    seconds = rows[0].index("seconds")
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [f"{cell:{'>' if n == seconds else '<'}{widths[n]}}" for n, cell in enumerate(row)]
        print("  ".join(cells).rstrip())


def read_set_parameters(given):
    pairs = {}
    for name, value in given:
        if name in pairs:
            raise _UsageError(f"-p {name} is given twice; give it once")
        pairs[name] = value.removeprefix(_GUARD)
    return pairs


def describe_parameter(parameter):
    explained = f"\n    {parameter.help}" if parameter.help else ""
    return f"{parameter.name}: {parameter.type} = {parameter.default!r}{explained}"
