"""The command line: the only reader of argv and the only caller of print."""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from taskorder.checks import Floats
    from taskorder.records import Comparison, Plan

BAD_INPUT = 2
INTERRUPTED = 130
PIPE_WIDTH = 160
"""Orders in a comparison are shortened to fit this where no terminal says how wide it is."""

FILES = """\
FILE is a P x P table of similarities, 1 on the diagonal: CSV, TSV or semicolons (with or without a header row and a
name column), JSON, NPY or NPZ; - reads standard input. Decimal commas are read between semicolons or tabs.
Tasks are called by their names in FILE, else A, B, C, ... (T01, T02, ... past 26 tasks).
"""
PLAN_EPILOG = (
    FILES
    + """
example:
  taskorder plan similarity.csv --before cats:dogs --weights cats=2 --time-limit 30
  taskorder plan --demo
"""
)
COMPARE_EPILOG = (
    FILES
    + """
example:
  taskorder compare similarity.csv --num-random 2000 --json
  taskorder compare --demo
"""
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"taskorder: error: {message}\n")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *ignored: Any, **more: Any) -> NoReturn:
        from taskorder._version import __version__

        print(f"taskorder {__version__}")
        parser.exit()


def seconds(text: str) -> float | None:
    """The value of --time-limit; argparse names this function in its message."""
    return None if text.lower() == "none" else float(text)


def build_parser() -> argparse.ArgumentParser:
    """The argument parser, with an example for each command."""
    shape = argparse.RawDescriptionHelpFormatter
    parser = _Parser(
        prog="taskorder",
        description="The best order to learn tasks in, from how similar they are.",
        epilog="examples:\n  taskorder plan --demo\n  taskorder plan table.csv\n  taskorder compare table.csv --json",
        formatter_class=shape,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    plan = commands.add_parser(
        "plan", help="find an order", description="Find an order.", epilog=PLAN_EPILOG, formatter_class=shape
    )
    compare = commands.add_parser(
        "compare",
        help="compare every rule with random orders",
        description="Compare every rule with random orders: does order matter here?",
        epilog=COMPARE_EPILOG,
        formatter_class=shape,
    )
    plan.add_argument(
        "--rule",
        default="optimal",
        help="optimal (default), periphery-to-core, core-to-periphery, max-path, min-path, first-order, greedy, "
        "random, or worst (to see the stakes)",
    )
    for sub in (plan, compare):
        _shared_options(sub)
    plan.add_argument("--visits", type=int, metavar="K", help="visit K times in all, each task at least once")
    compare.add_argument("--num-random", type=int, default=1000, metavar="N", help="random orders to draw (1000)")
    return parser


def _shared_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", help="the similarity table; see below")
    add("--demo", action="store_true", help="use the table that ships with taskorder: 12 CIFAR-100 tasks")
    add("--output", metavar="FILE", help="similarity of the tasks' outputs (default: one shared readout)")
    add("--weights", metavar="W", help="importance: A=2,B=0.5 (others 1), or one number a task, or a file of A,2 lines")
    add("--before", action="append", default=[], metavar="A:B", help="task A before task B; repeat for more")
    add("--first", metavar="A", help="the task to start with")
    add("--last", metavar="A", help="the task to end with")
    add("--learned", metavar="A,B", help="tasks already learned, in that order; quote names with commas: '\"a,b\",c'")
    add("--time-limit", type=seconds, default=10.0, metavar="SECONDS", help="stop searching after this (10; or none)")
    add("--seed", type=int, default=0, metavar="N", help="random seed (0); the same seed gives the same answer")
    add(
        "--repair",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="move a table that is no correlation matrix to the nearest one and say so (default), or refuse it",
    )
    add("--json", action="store_true", help="print one JSON document instead of tables")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 2 for bad input, 130 after Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a task name must never end the program
    try:
        code = _run(build_parser().parse_args(argv))
        sys.stdout.flush()
        return code
    except ValueError as problem:
        if type(problem).__name__ == "LinAlgError":  # a numerical failure of ours, not bad input
            raise
        print("taskorder: error:", " ".join(str(problem).split("\n")), file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("taskorder: interrupted before an order was found", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # the reader (head, less) has seen enough; without this, Python would complain once more while shutting down
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(args: argparse.Namespace) -> int:
    similarity, options = _inputs(args)
    from taskorder._progress import Watcher

    with Watcher(args.time_limit, draw=sys.stderr.isatty()) as watcher:
        if args.command == "plan":
            from taskorder.ordering.solve import solve

            result: Plan | Comparison = solve(similarity, args.rule, visits=args.visits, watch=watcher, **options)
        else:
            from taskorder.ordering.compare import compare

            result = compare(similarity, num_random=args.num_random, watch=watcher, **options)
    if watcher.interrupted:
        print("taskorder: interrupted; this is the best found so far", file=sys.stderr)
    if args.json:
        print(result.to_json())
    else:
        _print_tables(result, options.get("weights"))
    return INTERRUPTED if watcher.interrupted else 0


def _inputs(args: argparse.Namespace) -> tuple[Floats, dict[str, Any]]:
    """The matrix and the options that plan and compare share."""
    from taskorder.checks import task_names
    from taskorder.similarity.tables import demo_similarity, read_similarity, read_weights

    if args.demo == (args.file is not None):
        raise ValueError("Give a FILE to read or --demo, and not both. See: taskorder plan --help")
    if args.file == "-" and args.output == "-":
        raise ValueError("`--output` must be a file when FILE is -, got - twice.")
    similarity, found = demo_similarity() if args.demo else read_similarity(args.file)
    names = task_names(found, len(similarity))
    options: dict[str, Any] = {
        "names": names,
        "before": [_pair(text, names) for text in args.before],
        "first": args.first,
        "last": args.last,
        "learned": [name.strip() for name in next(csv.reader([args.learned or ""], skipinitialspace=True), [])],
        "time_limit": args.time_limit,
        "seed": args.seed,
        "repair": args.repair,
    }
    if args.output is not None:
        output, output_names = read_similarity(args.output)
        options["output"] = output if output_names is None else _aligned(output, output_names, names, args.output)
    if args.weights is not None:
        options["weights"] = read_weights(args.weights, names)
    return similarity, options


def _pair(text: str, names: tuple[str, ...]) -> tuple[str, str]:
    """A:B as two task names; names may hold colons themselves as long as only one split gives two known tasks."""
    splits = [(text[:i], text[i + 1 :]) for i, mark in enumerate(text) if mark == ":"]
    known = [(a.strip(), b.strip()) for a, b in splits if a.strip() in names and b.strip() in names]
    if len(known) == 1:
        return known[0]
    if len(known) > 1:
        raise ValueError(
            f"`--before` must be A:B, got {text!r}, which can be split in {len(known)} ways. Rename a task."
        )
    if not splits:
        raise ValueError(f"`--before` must be A:B (A before B), got {text!r}.")
    tasks = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    raise ValueError(f"`--before` must be A:B with two known tasks, got {text!r}. Tasks: {tasks}.")


def _aligned(output: Floats, output_names: tuple[str, ...], names: tuple[str, ...], label: str) -> Floats:
    """The output similarity in the task order of the similarity file."""
    odd = sorted(set(names) ^ set(output_names))
    if odd:
        raise ValueError(f"`{label}` must name the same tasks as the similarity file, got a difference: {odd[0]!r}.")
    places = [output_names.index(name) for name in names]
    return output[places][:, places]


def _print_tables(result: Plan | Comparison, weights: Floats | None) -> None:
    """Colors and line breaks for a terminal; for a pipe or a file, plain text with whole lines."""
    from rich.console import Console

    from taskorder import _render
    from taskorder.records import Plan

    terminal = sys.stdout.isatty()
    console = Console(force_terminal=terminal, width=None if terminal else 10_000, highlight=False, emoji=False)
    if isinstance(result, Plan):
        table = _render.plan_table(result, [1.0] * len(result.names) if weights is None else list(weights))
        lines = _render.plan_lines(result)
    else:
        table = _render.comparison_table(result, console.width if terminal else PIPE_WIDTH)
        lines = _render.comparison_lines(result)
    with console.capture() as page:  # printed below in one piece: rich has its own, louder way with closed pipes
        console.print(table)
        for text in lines:
            console.print(text, markup=False, soft_wrap=not terminal)
    print(page.get(), end="")
