"""`taskorder solve` and `taskorder compare`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from taskorder.cli.options import (
    FILES,
    RETENTION,
    TABLE_KINDS,
    add_constraints,
    add_law,
    add_repair,
    add_table,
    add_table_kind,
    read_problem,
    seconds,
)
from taskorder.cli.output import INTERRUPTED, page, say

if TYPE_CHECKING:
    from rich.table import Table

    from taskorder.checks import Floats
    from taskorder.records import Comparison, Plan

PIPE_WIDTH = 160
"""Orders in a comparison are shortened to fit this where no terminal says how wide it is."""

SOLVE_EPILOG = (
    FILES
    + TABLE_KINDS
    + RETENTION
    + """
rules:
  optimal            most knowledge in the end, proven where time allows
  row-sums           least outgoing transfer first
  periphery-to-core  least typical task first
  core-to-periphery  most typical task first
  max-path           neighbors as dissimilar as possible
  min-path           neighbors as similar as possible
  first-order        minimizes the paper's perturbation objective
  greedy             at each step the task that leaves the most knowledge now
  random             a random order
  worst              least knowledge in the end, to see the stakes

example:
  taskorder solve similarity.csv --before cats:dogs --weights cats=2
  taskorder solve similarity.csv --group cats,lions --group dogs,wolves
  taskorder solve transfer.csv --retention 0.1
  taskorder solve losses.csv --losses --chance chance.csv
  taskorder solve --demo
"""
)
COMPARE_EPILOG = (
    FILES
    + TABLE_KINDS
    + RETENTION
    + """
columns:
  score       mean knowledge in the end (with --retention 1 the error)
  of lead     share of the best order's lead over a random order
  percentile  share of random orders that are better, ties counted half
              (a mid-rank): 0 % is best, 50 % is typical, 100 % is worst
The rules are explained in: taskorder solve --help

example:
  taskorder compare similarity.csv --num-random 2000 --json
  taskorder compare --demo
"""
)


def add(commands: Any) -> None:
    """Add both commands to the parser."""
    solve = commands.add_parser(
        "solve",
        help="find an order from a transfer table or similarities",
        description="Find an order from a transfer table or similarities.",
        epilog=SOLVE_EPILOG,
    )
    compare = commands.add_parser(
        "compare",
        help="compare every rule with random orders",
        description="Compare every rule with random orders: does order matter here?",
        epilog=COMPARE_EPILOG,
    )
    solve.add_argument(
        "--rule",
        default="optimal",
        help="how to choose the order (optimal); see below",
    )
    for sub in (solve, compare):
        _shared_options(sub)
        sub.set_defaults(run=run)
    solve.add_argument("--visits", type=int, metavar="K", help="visit K times in all, each task at least once")
    compare.add_argument(
        "--prices", action=argparse.BooleanOptionalAction, help="say what each constraint costs (up to 50 tasks)"
    )
    compare.add_argument("--num-random", type=int, default=1000, metavar="N", help="random orders to draw (1000)")


def _shared_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_table(parser)
    add_table_kind(parser)
    add_law(parser)
    add_constraints(parser)
    add("--time-limit", type=seconds, default=10.0, metavar="SECONDS", help="stop searching after this (10; or none)")
    add("--seed", type=int, default=0, metavar="N", help="random seed (0); the same seed gives the same answer")
    add_repair(parser)
    add("--json", action="store_true", help="print one JSON document instead of tables")


def run(args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    table, options, notes = read_problem(args)
    from taskorder.cli.progress import Watcher

    # numbers of different rules make no sense in one line
    label = "comparing rules" if args.command == "compare" else ""
    with Watcher(args.time_limit, draw=sys.stderr.isatty(), label=label) as watcher:
        if args.command == "solve":
            from taskorder.ordering.solve import solve

            result: Plan | Comparison = solve(table, args.rule, visits=args.visits, watch=watcher, **options)
        else:
            from taskorder.ordering.compare import compare

            result = compare(table, num_random=args.num_random, prices=args.prices, watch=watcher, **options)
    result = replace(result, notes=(*notes, *result.notes))
    if watcher.interrupted:
        say("interrupted; this is the best found so far")
    code = INTERRUPTED if watcher.interrupted else 0
    if args.json:
        return code, result.to_json() + "\n"
    return code, page(lambda width: _drawn(result, options.get("weights"), width))


def _drawn(result: Plan | Comparison, weights: Floats | None, width: int | None) -> tuple[Table, list[str]]:
    from taskorder.cli import render
    from taskorder.records import Plan

    if isinstance(result, Plan):
        weighted = [1.0] * len(result.names) if weights is None else list(weights)
        return render.plan_table(result, weighted, width), render.plan_lines(result)
    shown = width or PIPE_WIDTH
    return render.comparison_table(result, shown), render.comparison_lines(result, shown)
