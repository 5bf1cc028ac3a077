"""`taskorder simulate`."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from taskorder.cli.options import FILES, add_repair, add_table, read_tables
from taskorder.cli.output import INTERRUPTED, page, say

if TYPE_CHECKING:
    from taskorder.checks import Floats

EPILOG = (
    FILES
    + """
Random linear tasks with these similarities are drawn anew for every seed, and a
linear network learns them in the given order by gradient descent. Columns:
  simulated    error of a task after the last one, mean over the seeds
  +-           standard error of that mean
  closed form  the theory's value: every task trained to convergence,
               many more inputs than latent factors
  stopped      the theory's value for this number of steps

example:
  taskorder simulate table.csv --order A,C,B --seeds 20
  taskorder simulate --demo --rule periphery-to-core --steps 10
"""
)


def step_count(text: str) -> int | None:
    """The value of --steps; argparse names this function in its message."""
    return None if text.lower() == "converged" else int(text)


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "simulate",
        help="train a linear network in an order and compare with the theory",
        description="Train a linear network on random tasks in an order; compare with the theory.",
        epilog=EPILOG,
    )
    add_table(parser)
    add = parser.add_argument
    add("--order", metavar="A,C,B", help="tasks in the order of training; quote names with commas: '\"a,b\",c'")
    add("--rule", help="choose the order by this rule instead (optimal); see taskorder solve --help")
    add(
        "--seeds",
        dest="num_seeds",
        type=int,
        default=20,
        metavar="N",
        help="repetitions, each with new random tasks (20)",
    )
    add("--seed", type=int, default=0, metavar="N", help="the first of these seeds (0)")
    add("--num-latent", type=int, default=30, metavar="N", help="latent factors N_s (30)")
    add("--num-inputs", type=int, default=3000, metavar="N", help="inputs N_x (3000)")
    add("--num-outputs", type=int, default=10, metavar="N", help="outputs N_y (10)")
    add("--steps", type=step_count, default=100, metavar="N", help="gradient steps a task (100), or: converged")
    add("--learning-rate", type=float, default=1e-3, metavar="X", help="step size (0.001)")
    add_repair(parser)
    add("--json", action="store_true", help="print one JSON document instead of a table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what to print."""
    from taskorder.cli.progress import Watcher
    from taskorder.cli.render import simulation_lines, simulation_table
    from taskorder.given_table import SIMILARITY, completed
    from taskorder.linear.random_tasks import Sizes
    from taskorder.linear.simulate import simulate

    given, names, output = read_tables(args)
    complete = completed(given, args.file or "table", SIMILARITY)
    similarity = complete.values
    with Watcher(draw=sys.stderr.isatty(), label="simulating seeds") as watcher:
        sizes = Sizes(args.num_latent, args.num_inputs, args.num_outputs)
        order, notes = _order(args, similarity, names, output)
        result = simulate(
            similarity, order, output=output, names=names, sizes=sizes, num_seeds=args.num_seeds, seed=args.seed,
            steps=args.steps, learning_rate=args.learning_rate, repair=args.repair, report=watcher.count,
        )  # fmt: skip
    result = dataclasses.replace(result, notes=complete.notes + result.notes + notes)
    if watcher.interrupted:
        say(f"interrupted after {result.num_seeds} of {args.num_seeds} seeds; these are their means")
    code = INTERRUPTED if watcher.interrupted else 0
    if args.json:
        return code, result.to_json() + "\n"
    return code, page(lambda width: (simulation_table(result, width), simulation_lines(result)))


def _order(
    args: argparse.Namespace, similarity: Floats, names: tuple[str, ...], output: Floats | None
) -> tuple[list[str], tuple[str, ...]]:
    """The order asked for, and what to say about it."""
    if args.order is None:
        from taskorder.ordering.solve import solve

        plan = solve(
            similarity, args.rule or "optimal", output=output, names=names, seed=args.seed, repair=args.repair,
            time_limit=10.0, retention=1,
        )  # fmt: skip
        proven = ", proven" if plan.proven else ""
        return list(plan.named_order), (f"order chosen by the rule {plan.rule}{proven}",)
    if args.rule is not None:
        raise ValueError("`--order` and `--rule` must not be given together: the rule chooses an order.")
    from taskorder.tables.separated import split_names

    order = split_names(args.order, "order")
    left = [name for name in names if name not in order]
    few = ", ".join(left[:5]) + (", ..." if len(left) > 5 else "")
    return order, (f"not in the order and never trained: {few}",) if left else ()
