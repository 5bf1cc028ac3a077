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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Floats, Ints
from taskorder.machine import cores
from taskorder.ordering.clock import Clock
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
COUNT_FROM, MIN_SHARING, MIN_USES, MAX_TIGHTENED = 50_000, 1.6, 5, 20
"""After COUNT_FROM nodes, and whenever they have doubled, the open nodes are counted. When MIN_SHARING of them on
average have the same tasks open, the bounds' matrices are kept in tables (kernels/branch_with_table.py), as long as an
entry serves MIN_USES nodes, and unless one node in MAX_TIGHTENED was worth tightening. At P = 20 this halves the time
on clusters and takes a third off that on trees."""
TABLE_GROUPS, LONGER = 4, 4
"""With tables there are fewer groups, since each fills its own, and slices are longer by this factor."""
MAX_POOL = 1_000_000

OpenNode = tuple[float, bytes]
"""(lower bound, int8 row as the kernels have it: tasks fixed at the front, tasks fixed at the back, an order)."""


class BoundTable(NamedTuple):
    """The arrays of kernels/bound_table.py for one group: at most 32 MB, which half a million nodes may fill."""

    table: Floats
    keys: NDArray[np.uint64]
    places: Ints
    filled: Ints

    @classmethod
    def empty(cls) -> BoundTable:
        """A table without entries."""
        size = 1 << 15
        return cls(np.empty(size * 128), np.empty((size, 3), np.uint64), np.full(size, -1), np.zeros(3, np.int64))


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
        return self.bound >= self.error


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
    from taskorder.ordering.kernels.branch import branch
    from taskorder.ordering.kernels.branch_with_table import branch_with_table
    from taskorder.ordering.kernels.steps import order_error
    from taskorder.ordering.search import search

    best = order_error(problem.e, problem.r.copy(), problem.h.copy(), problem.C, problem.G, start)
    order, improved = start.copy(), True
    if problem.size <= 1:
        return Proof(order, best, best, 0)
    precedes, images = symmetries(problem)
    limits, directions = masks(precedes), np.sign(images - np.arange(problem.size)).astype(np.int8)
    absolute = ABSOLUTE_TOLERANCE * abs(problem.e)
    lam, tally = np.full(len(problem.r), problem.multiplier), np.zeros((problem.size + 1, 4), np.int64)

    def improve(candidates: Iterable[tuple[float, Ints]]) -> None:
        """Take the candidates that are clearly better than the best order so far."""
        nonlocal best, order, improved
        for error, candidate in candidates:
            if error < best - tolerance(problem, best):
                best, order, improved = error, candidate, True

    def explore(
        group: list[OpenNode], table: BoundTable | None, error: float, limit: int
    ) -> tuple[float, Ints, int, NDArray[np.int8], Floats, Ints]:
        """Search below some nodes, one after the other: (error, order, nodes, open nodes, their bounds, tally)."""
        starts = np.frombuffer(b"".join(node for _, node in group), np.int8).reshape(len(group), -1)
        floors, best_here = np.array([bound for bound, _ in group]), np.empty(problem.size, np.int64)
        counts = tally.copy()
        here = (
            problem.e, problem.r, problem.h, problem.C, problem.G, *limits, directions, starts, floors, error,
            best_here, RELATIVE_TOLERANCE, absolute,
        )  # fmt: skip
        if table:
            limit *= LONGER
            value, nodes, still_open, bounds = branch_with_table(*here, lam[0], limit, SHALLOW, SLICES * limit, *table)
        else:
            # The root tunes the multipliers that all later nodes start from.
            own = lam.copy() if starts[0, :2].any() else lam
            value, nodes, still_open, bounds = branch(*here, own, counts, limit, SHALLOW, SLICES * limit)
        return value, best_here, nodes, still_open, bounds, counts - tally

    pool: list[OpenNode] = [(floor, np.zeros(problem.size + 2, np.int8).tobytes())]
    tables: list[BoundTable | None] = [None] * GROUPS
    count_at, since = float(COUNT_FROM), 0
    nodes, patience, effort = 0, PATIENCE / problem.size**6, EFFORT
    with ThreadPoolExecutor(cores()) as threads:  # starts no thread before it is given work
        while pool and pool[0][0] < best - tolerance(problem, best) and nodes < max_nodes and len(pool) < MAX_POOL:
            if nodes and clock.report(best, pool[0][0]):
                break
            # A better incumbent prunes all later rounds: anneal it, and when the proof takes long, search for others.
            if improved and problem.size > POLISHED:
                improved = False
                improve(threads.map(partial(polish, problem, order, clock), HEATS))
            near = pool[0][0] > best - NEAR * (best - floor)
            if nodes > (GRACE if near else 1) * patience:
                clocks = clock, clock.share(1.0, quiet=True)
                helpers = [partial(search, problem, seed=seed + i, clock=clocks[i], effort=effort) for i in range(2)]
                orders = threads.map(lambda helper: helper(), helpers)
                improve((problem.error(candidate), candidate) for candidate in orders)
                patience, effort = LATER * patience, LATER * effort
            batch = [heapq.heappop(pool) for _ in range(min(GROUPS * GROUP_SIZE, len(pool)))]
            limit = int(min(MAX_SLICE / len(problem.r), max(MIN_SLICE, SHARE * nodes)))
            # Tables pay where many open nodes have the same tasks open; that changes as the search goes on.
            if len(problem.r) == 1 and nodes > count_at:
                made = sum(int(table.filled[2]) for table in tables if table)
                if made and nodes - since < MIN_USES * made:
                    tables, count_at = [None] * GROUPS, np.inf
                elif not made and MAX_TIGHTENED * tally[:, 0].sum() < nodes and sharing([*pool, *batch]) > MIN_SHARING:
                    tables, since = [BoundTable.empty() for _ in range(TABLE_GROUPS)], nodes
                count_at *= 2
            groups = [batch[group :: len(tables)] for group in range(min(len(tables), len(batch)))]
            run = map if nodes < ALONE else threads.map
            results = list(run(partial(explore, error=best, limit=limit), groups, tables))
            for value, candidate, searched, still_open, bounds, counts in results:
                nodes += searched
                tally += counts
                if value < best:
                    best, order, improved = value, candidate, True
                rows, width = still_open.tobytes(), still_open.shape[1]
                for row, low in enumerate(bounds.tolist()):
                    heapq.heappush(pool, (low, rows[row * width : (row + 1) * width]))
    bound = pool[0][0] if pool and pool[0][0] < best - tolerance(problem, best) else best
    return Proof(order, best, bound, nodes)


def sharing(nodes: list[OpenNode]) -> float:
    """How many of the nodes, on average, have the same tasks open and the same ending."""
    table = np.frombuffer(b"".join(node for _, node in nodes), np.int8).reshape(len(nodes), -1)
    begun, ended, orders = table[:, :1], table[:, 1:2], table[:, 2:].astype(np.int64)
    position = np.arange(orders.shape[1])
    scramble = np.random.default_rng(0).integers(1 << 62, size=(2, len(position)))  # a sum of these tells sets apart
    first = np.where(position < begun, scramble[0, orders], 0)
    last = np.where(position >= len(position) - ended, scramble[1] * (orders + 1), 0)
    return len(nodes) / len(np.unique((first + last).sum(axis=1)))


def polish(problem: Problem, order: Ints, clock: Clock, hot: float) -> tuple[float, Ints]:
    """(error, order) after a short annealing, no worse than before; always the same one."""
    from taskorder.ordering.annealing import Walker

    every = np.arange(problem.size)
    walker = Walker(problem, order, np.array([1], np.uint64), clock)
    walker.walk(every, 3 * problem.size, 0.0, 0.0)
    walker.cycle(every, MOVES, hot)
    return problem.error(walker.state.order), walker.state.order
