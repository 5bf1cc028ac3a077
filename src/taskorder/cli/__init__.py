"""The command line: one module for each command, with its options (`add`) and its work (`run`).

`options`, `onray`, `progress`, `render` and `output` hold what commands share.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from taskorder.arguments import BadArgument, did_you_mean
from taskorder.cli import (
    audit,
    completion,
    data,
    demo,
    explore,
    export,
    order,
    plan,
    repair,
    report,
    run,
    simulate,
    solve,
    status,
)
from taskorder.cli.options import option_names, option_strings
from taskorder.cli.output import BAD_INPUT, INTERRUPTED, said_log, say, write

EXAMPLES = """\
examples:
  taskorder demo
  taskorder plan digits --pilot 20% --labels by-position
  taskorder solve --demo
  taskorder compare table.csv --json
  taskorder report --demo
  taskorder explore --open
  taskorder simulate table.csv --order A,C,B
  taskorder data list
  taskorder run examples/quick.toml
  taskorder status results/quick.sqlite
"""


class Parser(argparse.ArgumentParser):
    """A parser that keeps the layout of its texts and reports errors in one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **options)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does; what no command knows is refused with the option that was meant."""
        found, unread = self.parse_known_args(args, namespace)
        if unread:
            known = option_strings(self, found)
            meant = next(filter(None, (did_you_mean(word.partition("=")[0], known) for word in unread)), "")
            self.error(f"unrecognized arguments: {' '.join(unread)}{meant and '.'}{meant}")
        return found

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, and what was meant where argparse lists the choices."""
        choice = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message)
        meant = "" if choice is None else did_you_mean(choice[1], re.findall(r"[\w.-]+", choice[2]))
        say(f"error: {message}{meant and '.'}{meant}")
        raise SystemExit(BAD_INPUT)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *ignored: Any, **more: Any) -> NoReturn:
        from taskorder._version import __version__

        raise SystemExit(write(f"taskorder {__version__}\n"))


def build_parser() -> argparse.ArgumentParser:
    """The argument parser, with an example for each command."""
    about = "Find the order in which a model should learn its tasks."
    parser = Parser(prog="taskorder", description=about, epilog=EXAMPLES)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    parts = (demo, plan, solve, report, explore, order, simulate, audit, data, run, status, export, repair, completion)
    for command in parts:
        command.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 if it cannot write, 2 for bad input, 130 after Ctrl-C."""
    return run_parsed(build_parser, argv)


def run_parsed(make_parser: Callable[[], argparse.ArgumentParser], argv: Sequence[str] | None) -> int:
    """Parse `argv`, run the command, write its text or a one-line error, and return the exit code."""
    if sys.stderr is None:  # closed (2>&-), and print would turn to stdout instead
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a task name must never end the program
    try:
        parser = make_parser()
        args = parser.parse_args(argv)
        if args.command is None:
            parser.print_help(sys.stderr)
            return BAD_INPUT
        with said_log():
            code, text = args.run(args)
        return write(text) or int(code)
    except SystemExit as end:  # argparse has printed the help, the version or an error
        if isinstance(end.code, str):  # a program of the user that was called ended with a message
            say(f"error: {' '.join(end.code.split())}")
            return BAD_INPUT
        return int(end.code or 0) or write("")
    except ValueError as problem:
        if type(problem).__name__ == "LinAlgError":  # a numerical failure of ours, not bad input
            raise
        text = problem.spelled(option_names(parser, args)) if isinstance(problem, BadArgument) else str(problem)
        say(f"error: {text}")
        return BAD_INPUT
    except KeyboardInterrupt:
        say("interrupted before there was a result")
        return INTERRUPTED
