"""The proven optimum: best-first branch and bound in deterministic rounds.

The pool holds open nodes: a fixed prefix, a fixed ending and a lower bound (kernels/bound.py states it). Each round
takes the few nodes with the smallest bounds and searches below each, depth first, for a fixed number of nodes; what is
still open goes back into the pool, and a better order is annealed. Rounds exchange the best order only at their ends,
so the answer does not depend on the number of threads.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Floats, Ints
from taskorder.machine import cores
from taskorder.ordering.clock import Clock
from taskorder.ordering.groups import group_masks
from taskorder.ordering.precedence import masks
from taskorder.ordering.problem import Problem
from taskorder.ordering.symmetry import symmetries

MAX_EXACT = 62
"""Most open tasks that the bit masks of the kernel can hold."""
RELATIVE_TOLERANCE = 1e-9
ABSOLUTE_TOLERANCE = 1e-12
"""Proven means: no allowed order is better by more than 1e-9 of the error plus 1e-12 of the error before learning."""

GROUPS, GROUP_SIZE, SLICES = 8, 16, 2
"""Groups of open nodes that a round searches side by side, nodes in each, and how many slices end the round of a group:
most nodes take much less than one slice."""
MIN_SLICE, MAX_SLICE, SHARE, SHALLOW = 300, 10_000, 1 / 64, 6
"""A slice is this share of all nodes so far, within limits. Short rounds return early to the smallest bounds, and so
find early the good orders that shorten all later rounds. What lies more than SHALLOW tasks below the start of a slice
is finished: to come back to it would cost more."""
ALONE = 1000
"""Nodes that are searched before a thread is worth its start."""
POLISHED, HEATS, MOVES = 12, (0.03, 0.1), 100
"""With more tasks than this a better order is annealed from these temperatures, by so many moves a task."""
PATIENCE, EFFORT, LATER = 1e14, 1.0, 16
"""After PATIENCE / n^6 nodes two searches of this effort look for a better order, since a proof may be far off; both
numbers are then multiplied by LATER."""
NEAR, GRACE = 0.65, 10
"""A proof with less than this share of its first gap left is likely to end: it gets GRACE times as many nodes first."""
MAX_POOL = 1_000_000
PROMPT = 125_000.0
"""With nodes that cost less than this, in thirds of a nanosecond, the first round ends in 0.2 s: it is finished."""
NEVER = np.zeros(1, np.bool_)
"""The alarm of a round that is finished."""

OpenNode = tuple[float, bytes]
"""(lower bound, int8 row as the kernels have it: tasks fixed at the front, tasks fixed at the back, an order)."""


@dataclass(frozen=True)
class Proof:
    """Best order found, its error, and a bound below every allowed order."""

    order: Ints
    error: float
    bound: float
    nodes: int

    @property
    def complete(self) -> bool:
        """True when no allowed order can be better."""
        return bool(self.bound >= self.error)


def tolerance(problem: Problem, error: float) -> float:
    """How much better an order must be to count as better."""
    return RELATIVE_TOLERANCE * abs(error) + ABSOLUTE_TOLERANCE * abs(problem.e)


def prove(
    problem: Problem,
    start: Ints,
    clock: Clock,
    floor: float = -np.inf,
    max_nodes: float = np.inf,
    seed: int = 0,
) -> Proof:
    """Minimize the error of `problem` from the feasible order `start` until proven or until the clock stops it.

    floor: a bound that is already known. max_nodes: give up after about this many. seed: of the searches for a better
    order when the proof takes long.
    """
    from taskorder.ordering.kernels.branch import Effort, Whole, branch
    from taskorder.ordering.kernels.steps import order_error
    from taskorder.ordering.search_groups import search_order

    best = order_error(problem.e, problem.r.copy(), problem.h.copy(), problem.C, problem.G, start)
    order, improved = start.copy(), True
    if problem.size <= 1:
        return Proof(order, best, best, 0)
    precedes, images = symmetries(problem, clock)
    limits, directions = masks(precedes), np.sign(images - np.arange(problem.size)).astype(np.int8)
    absolute = ABSOLUTE_TOLERANCE * abs(problem.e)
    together = group_masks(problem.together, problem.size)
    whole = Whole(problem.e, problem.r, problem.h, problem.C, problem.G, *limits, directions, together)
    lam = np.full(len(problem.r), problem.multiplier)

    def improve(candidates: Iterable[tuple[float, Ints]]) -> None:
        """Take the candidates that are clearly better than the best order so far."""
        nonlocal best, order, improved
        for error, candidate in candidates:
            if error < best - tolerance(problem, best):
                best, order, improved = error, candidate, True

    def explore(group: list[OpenNode], error: float, limit: int) -> tuple[float, Ints, int, NDArray[np.int8], Floats]:
        """Search below some nodes, one after the other: (error, order, nodes searched, open nodes, their bounds)."""
        starts = np.frombuffer(b"".join(node for _, node in group), np.int8).reshape(len(group), -1)
        floors, best_here = np.array([bound for bound, _ in group]), np.empty(problem.size, np.int64)
        # The root tunes the multipliers that all later nodes start from.
        own = lam.copy() if starts[0, :2].any() else lam
        value, searched, still_open, bounds = branch(
            whole, starts, floors, error, best_here, RELATIVE_TOLERANCE, absolute, own,
            Effort(limit, SHALLOW, SLICES * limit, late if nodes or not prompt else NEVER),
        )  # fmt: skip
        return value, best_here, searched, still_open, bounds

    prompt = len(problem.r) * (problem.size**3 / 2 + 2000) <= PROMPT
    pool: list[OpenNode] = [(floor, np.zeros(problem.size + 2, np.int8).tobytes())]
    nodes, patience, effort = 0, PATIENCE / problem.size**6, EFFORT
    with clock.alarm() as late, ThreadPoolExecutor(cores()) as threads:  # starts no thread before it is given work
        while pool and pool[0][0] < best - tolerance(problem, best) and nodes < max_nodes and len(pool) < MAX_POOL:
            over = late[0] and not prompt  # and the round would not begin
            if (nodes or over) and (clock.report(best, pool[0][0]) or over):
                break
            # A better incumbent prunes all later rounds: anneal it, and when the proof takes long, search for others.
            if improved and problem.size > POLISHED:
                improved = False
                improve(threads.map(partial(polish, problem.holding(order), order, clock), HEATS))
            near = pool[0][0] > best - NEAR * (best - floor)
            if nodes > (GRACE if near else 1) * patience:
                clocks = clock, clock.share(1.0, quiet=True)
                helpers = [
                    partial(search_order, problem, seed=seed + i, clock=clocks[i], effort=effort) for i in range(2)
                ]
                orders = threads.map(lambda helper: helper(), helpers)
                improve((problem.error(candidate), candidate) for candidate in orders)
                patience, effort = LATER * patience, LATER * effort
            batch = [heapq.heappop(pool) for _ in range(min(GROUPS * GROUP_SIZE, len(pool)))]
            limit = int(min(MAX_SLICE / len(problem.r), max(MIN_SLICE, SHARE * nodes)))
            groups = [batch[group::GROUPS] for group in range(min(GROUPS, len(batch)))]
            run = map if nodes < ALONE else threads.map
            results = list(run(partial(explore, error=best, limit=limit), groups))
            for value, candidate, searched, still_open, bounds in results:
                nodes += searched
                if value < best:
                    best, order, improved = value, candidate, True
                rows, width = still_open.tobytes(), still_open.shape[1]
                for row, low in enumerate(bounds.tolist()):
                    heapq.heappush(pool, (low, rows[row * width : (row + 1) * width]))
    bound = pool[0][0] if pool and pool[0][0] < best - tolerance(problem, best) else best
    return Proof(order, best, bound, nodes)


def polish(problem: Problem, order: Ints, clock: Clock, hot: float) -> tuple[float, Ints]:
    """(error, order) after a short annealing, no worse than before; always the same one."""
    from taskorder.ordering.annealing import Walker

    every = np.arange(problem.size)
    walker = Walker(problem, order, np.array([1], np.uint64), clock)
    walker.walk(every, 3 * problem.size, 0.0, 0.0)
    walker.cycle(every, MOVES, hot)
    return problem.error(walker.state.order), walker.state.order
