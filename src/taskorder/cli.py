"""The command line: the only reader of argv and the only caller of print."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from taskorder.checks import Floats
    from taskorder.records import Comparison, Plan

CANNOT_WRITE = 1
BAD_INPUT = 2
INTERRUPTED = 130
PIPE_WIDTH = 160
"""Orders in a comparison are shortened to fit this where no terminal says how wide it is."""

FILES = """\
FILE is a P x P table of similarities, 1 on the diagonal, of at most 2000 tasks:
CSV, TSV or semicolons (with or without a header row and a name column), JSON,
NPY or NPZ; - reads standard input. Decimal commas are read between semicolons
or tabs. Tasks are called by their names in FILE, else A, B, C, ...
(T01, T02, ... past 26 tasks). The first run on 9 or more tasks compiles
kernels for this machine, once.
"""
PLAN_EPILOG = (
    FILES
    + """
rules:
  optimal            least error in the end, proven where time allows
  periphery-to-core  least typical task first
  core-to-periphery  most typical task first
  max-path           neighbors as dissimilar as possible
  min-path           neighbors as similar as possible
  first-order        minimizes the paper's perturbation objective
  greedy             at each step the task that leaves the least error now
  random             a random order
  worst              most error in the end, to see the stakes

example:
  taskorder plan similarity.csv --before cats:dogs --weights cats=2
  taskorder plan --demo
"""
)
COMPARE_EPILOG = (
    FILES
    + """
columns:
  x best      error as a multiple of the smallest error found
  percentile  share of random orders with a smaller error, ties counted half
              (a mid-rank): 0 % is best, 50 % is typical, 100 % is worst
The rules are explained in: taskorder plan --help

example:
  taskorder compare similarity.csv --num-random 2000 --json
  taskorder compare --demo
"""
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        _say(f"error: {message}")
        raise SystemExit(BAD_INPUT)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *ignored: Any, **more: Any) -> NoReturn:
        from taskorder._version import __version__

        raise SystemExit(_write(f"taskorder {__version__}\n"))


def seconds(text: str) -> float | None:
    """The value of --time-limit; argparse names this function in its message."""
    return None if text.lower() == "none" else float(text)


def build_parser() -> argparse.ArgumentParser:
    """The argument parser, with an example for each command."""
    shape = argparse.RawDescriptionHelpFormatter
    parser = _Parser(
        prog="taskorder",
        description="The best order to learn tasks in, from how similar they are.",
        epilog="examples:\n  taskorder plan --demo\n  taskorder plan --help\n  taskorder compare table.csv --json",
        formatter_class=shape,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    plan = commands.add_parser(
        "plan",
        help="find an order",
        description="Find an order.",
        epilog=PLAN_EPILOG,
        formatter_class=shape,
        allow_abbrev=False,
    )
    compare = commands.add_parser(
        "compare",
        help="compare every rule with random orders",
        description="Compare every rule with random orders: does order matter here?",
        epilog=COMPARE_EPILOG,
        formatter_class=shape,
        allow_abbrev=False,
    )
    plan.add_argument(
        "--rule",
        default="optimal",
        help="how to choose the order (optimal); see below",
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
    add(
        "--weights",
        metavar="W",
        help="importance: A=2,B=0.5 (others 1), or one number a task, or a file of A,2 or A=2 lines",
    )
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
    """Run the command line and return its exit code: 0, 1 if it cannot write, 2 for bad input, 130 after Ctrl-C."""
    if sys.stderr is None:  # closed (2>&-), and print would turn to stdout instead
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a task name must never end the program
    try:
        parser = build_parser()
        args = parser.parse_args(argv)
        if args.command is None:
            parser.print_help(sys.stderr)
            return BAD_INPUT
        code, text = _run(args)
        return _write(text) or code
    except SystemExit as end:  # argparse has printed the help, the version or an error
        return int(end.code or 0) or _write("")
    except ValueError as problem:
        if type(problem).__name__ == "LinAlgError":  # a numerical failure of ours, not bad input
            raise
        _say(f"error: {problem}")
        return BAD_INPUT
    except KeyboardInterrupt:
        _say("interrupted before an order was found")
        return INTERRUPTED


def _say(message: str) -> None:
    """One line on stderr; if that cannot be written, nothing can be said."""
    try:
        print("taskorder:", " ".join(message.splitlines()), file=sys.stderr, flush=True)
    except OSError:
        _abandon(sys.stderr)


def _write(text: str) -> int:
    """Print to stdout; the exit code."""
    if sys.stdout is None:
        _say("error: cannot write to standard output: it is closed")
        return CANNOT_WRITE
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:  # the reader (head, less) has seen enough
        _abandon(sys.stdout)
    except OSError as problem:
        _say(f"error: cannot write to standard output: {problem.strerror}")
        _abandon(sys.stdout)
        return CANNOT_WRITE
    return 0


def _abandon(stream: IO[str]) -> None:
    """Without this, Python would try to write once more while shutting down, and complain."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    similarity, options = _inputs(args)
    from taskorder._progress import Watcher

    label = (
        "comparing rules" if args.command == "compare" else ""
    )  # numbers of different rules make no sense in one line
    with Watcher(args.time_limit, draw=sys.stderr.isatty(), label=label) as watcher:
        if args.command == "plan":
            from taskorder.ordering.solve import solve

            result: Plan | Comparison = solve(similarity, args.rule, visits=args.visits, watch=watcher, **options)
        else:
            from taskorder.ordering.compare import compare

            result = compare(similarity, num_random=args.num_random, watch=watcher, **options)
    if watcher.interrupted:
        _say("interrupted; this is the best found so far")
    text = result.to_json() + "\n" if args.json else _page(result, options.get("weights"))
    return INTERRUPTED if watcher.interrupted else 0, text


def _inputs(args: argparse.Namespace) -> tuple[Floats, dict[str, Any]]:
    """The matrix and the options that plan and compare share."""
    from taskorder.checks import task_names
    from taskorder.similarity._delimited import split_line
    from taskorder.similarity.tables import demo_similarity, read_similarity, read_weights

    if args.demo == (args.file is not None):
        raise ValueError(f"Give a FILE to read or --demo, and not both. See: taskorder {args.command} --help")
    if args.file == "-" and args.output == "-":
        raise ValueError("`--output` must be a file when FILE is -, got - twice.")
    similarity, found = demo_similarity() if args.demo else read_similarity(args.file)
    names = task_names(found, len(similarity))
    options: dict[str, Any] = {
        "names": names,
        "before": [_pair(text, names) for text in args.before],
        "first": args.first,
        "last": args.last,
        "learned": split_line(args.learned or "", "learned"),
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


def _page(result: Plan | Comparison, weights: Floats | None) -> str:
    """Colors and line breaks for a terminal; for a pipe or a file, plain text with whole lines."""
    from rich.console import Console

    from taskorder import _render
    from taskorder.records import Plan

    terminal = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else None
    # rich has its own way with closed pipes, so it writes to memory; the encoding tells it which lines it can draw
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    page = io.TextIOWrapper(io.BytesIO(), encoding, errors="backslashreplace", newline="\n", write_through=True)
    # the tables know the width themselves: rich would cut where it has too little room
    console = Console(file=page, force_terminal=terminal, width=10_000, highlight=False, emoji=False)
    if isinstance(result, Plan):
        weighted = [1.0] * len(result.names) if weights is None else list(weights)
        table = _render.plan_table(result, weighted, width)
        lines = _render.plan_lines(result)
    else:
        table = _render.comparison_table(result, width or PIPE_WIDTH)
        lines = _render.comparison_lines(result, width or PIPE_WIDTH)
    console.print(table)
    for text in lines:
        console.print(text, markup=False, soft_wrap=not terminal, width=width)
    page.seek(0)
    return "\n".join(line.rstrip() for line in page.read().split("\n"))
