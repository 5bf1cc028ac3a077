"""The best order of many tasks of which some stay together.

The search of search.py, which knows precedence but no groups, serves twice: on the problem without its groups it leads
to a start, which is then put in order group by group; and with every group held where it is, its annealing orders the
visits inside the groups and those that stand alone. In between whole groups move (group_moves.py).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from taskorder.checks import Ints
from taskorder.ordering.clock import Clock
from taskorder.ordering.group_moves import KICKS, GroupMoves
from taskorder.ordering.groups import regrouped
from taskorder.ordering.problem import Problem
from taskorder.ordering.rules import greedy
from taskorder.ordering.search import search

MAX_HELD = 500
"""Most visits for which annealing with the groups held pays."""
VISIT_MOVES, HOT = 20, 0.1
"""Moves a visit of that annealing, and its first temperature, for each of the visits."""


def search_order(problem: Problem, *, seed: int, clock: Clock, bound: float = -np.inf, effort: float = 1.0) -> Ints:
    """Positions of `problem` in the best order found; the arguments are those of `search`."""
    if problem.together is None:
        return search(problem, seed=seed, clock=clock, bound=bound, effort=effort)
    alone = replace(problem, together=None)
    typicality = problem.C.sum(axis=0)
    starts = [
        search(alone, seed=seed, clock=clock.share(0.3), bound=bound, effort=effort / 4),
        np.argsort(typicality, kind="stable"),
        np.argsort(-typicality, kind="stable"),
    ]
    greedily = greedy(problem, clock.share(0.3))
    orders = np.array([greedily, *(regrouped(start, problem.precedes, problem.together) for start in starts)])
    start = orders[int(problem.errors(orders, clock).argmin())]
    random = np.random.default_rng(seed).integers(1, 2**63, 1, dtype=np.uint64)

    def inside(order: Ints) -> Ints:
        """The order after annealing that moves no group."""
        from taskorder.ordering.annealing import Walker

        every = np.arange(problem.size)
        walker = Walker(problem.holding(order), order, random, clock)
        walker.cycle(every, VISIT_MOVES, HOT / problem.size)
        return walker.state.order if problem.error(walker.state.order) < problem.error(order) else order

    moves = GroupMoves(problem.precedes, problem.together, problem.errors)
    polish = inside if problem.size <= MAX_HELD else None
    return moves.improved(start, seed, clock, polish, int(effort * KICKS))
