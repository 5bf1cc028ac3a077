"""The options of `taskorder plan` that say who learns, and what it does against forgetting."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taskorder.strategies import Strategy


def add_learner(parser: argparse.ArgumentParser) -> None:
    """The learner, its training, its heads and its strategy."""
    add = parser.add_argument
    add("--learner", metavar="L", help="the learner; see below")
    add("--epochs", type=int, default=5, metavar="N", help="passes over each task (5)")
    add("--batch-size", type=int, metavar="N", help="examples a step (4 for mlp and cnn, 32 for torch)")
    add("--heads", default="shared", metavar="H", help="shared, task (outputs of its own for each task) or class")
    add("--replay", dest="kept", type=int, metavar="N", help="keep N examples of each class and replay them")
    add("--strategy", metavar="S", help="against forgetting: plain, replay, ewc, lwf or l2init (plain)")
    add("--strength", type=float, metavar="X", help="how strong ewc, lwf and l2init are (100, 1, 0.001)")


def chosen_strategy(args: argparse.Namespace) -> Strategy | None:
    """The strategy that the options name; None for plain training."""
    from taskorder.arguments import BadArgument
    from taskorder.strategies import PLAIN, STRATEGIES, strategy_of

    name = args.strategy or (PLAIN if args.kept is None else "replay")
    if args.kept is not None and name != "replay" and name in (PLAIN, *STRATEGIES):
        raise BadArgument("`kept` must be left out with ", "strategy", f" {name}, got {args.kept}. Take one of them.")
    given = {"kept": args.kept, "strength": args.strength}
    return strategy_of(name, **{key: value for key, value in given.items() if value is not None})
