"""The command ``biaslib``; each verb is a file with a function that adds its arguments and one that does the work."""

import signal
import sys
from collections.abc import Sequence

from biaslib import __version__
from biaslib.cli import audit, compare, data, run, sweep, train
from biaslib.cli._terminal import Parser, complain, guard_values


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments (default: those of the process).

    Returns
    -------
    int
        0 on success, 1 if a notebook failed, 2 if the input cannot be used (one line on standard error
        says why), 130 if interrupted.

    Examples
    --------
    >>> main(["run", "speciesism", "-f", "demo"])  # doctest: +SKIP
    Report: outputs/speciesism/demo/report.html
    0
    """
    if argv is None:
        # A job that a batch system ends keeps its partial report, as after Ctrl-C.
        _interrupt_at("SIGTERM")
        # The terminal was closed.
        _interrupt_at("SIGHUP")
    try:
        arguments = _parser().parse_args(guard_values(sys.argv[1:] if argv is None else argv))
        return arguments.action(arguments)
    except SystemExit as done:
        return done.code or 0
    except KeyboardInterrupt as stop:
        return complain("; ".join(["interrupted", *getattr(stop, "__notes__", [])]), 130)
    except (ValueError, OSError) as error:
        return complain(error, 2)


def _interrupt_at(name):
    """Treat a signal like Ctrl-C, unless the system lacks it or it is ignored, as under nohup."""
    number = getattr(signal, name, None)
    if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler)


def _parser():
    parser = Parser(
        prog="biaslib",
        description="Measure social bias in language models and word vectors.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"biaslib {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")
    for verb in (run, sweep, compare, audit, data, train):
        verb.add_arguments(commands)
    return parser
