"""The proven optimum: best-first branch and bound in deterministic rounds.

The pool holds open nodes (a fixed beginning, a fixed ending, a lower bound). Each round takes the few with the
smallest bounds and searches below each, depth first, for a fixed number of nodes; what is still open goes back into the
pool, and an improved order is annealed. Rounds exchange incumbents only at their ends, so the answer does not depend on
how many threads ran them.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Ints
from taskorder.machine import cores
from taskorder.ordering.clock import Clock
from taskorder.ordering.constraints import masks
from taskorder.ordering.problem import Problem
from taskorder.ordering.symmetry import symmetries

MAX_EXACT = 62
"""Most open visits that the bit masks of the kernel can hold."""
RELATIVE_TOLERANCE = 1e-9
ABSOLUTE_TOLERANCE = 1e-12
"""Proven means: no allowed order is better by more than 1e-9 of the error plus 1e-12 of the error before learning."""

LANES = 8
"""Nodes of the pool that are searched side by side in a round."""
MIN_SLICE, MAX_SLICE, SHARE = 1_000, 50_000, 1 / 64
"""A round searches below each for this share of all nodes so far, within limits: short rounds come back to what looks
best now, and so the good orders, which cut all later rounds short, are found early."""
POLISHED, HEATS, MOVES = 12, (0.03, 0.1), 100
"""With more visits than this an improved order is annealed from these temperatures, by so many moves a visit."""
MAX_POOL = 1_000_000

Node = tuple[float, tuple[int, ...], tuple[int, ...]]


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


def prove(problem: Problem, start: Ints, clock: Clock, floor: float = -np.inf, max_nodes: float = np.inf) -> Proof:
    """Minimize the error of `problem` from the feasible order `start` until proven or until the clock stops it.

    floor: a bound that is already known. max_nodes: give up after about this many.
    """
    from taskorder.ordering._branch import branch, order_error

    best = order_error(problem.e, problem.r.copy(), problem.h.copy(), problem.C, problem.G, start)
    order = start.copy()
    if problem.size <= 1:
        return Proof(order, best, best, 0)
    precedes, images = symmetries(problem)
    absolute = ABSOLUTE_TOLERANCE * abs(problem.e)
    lam, tally = np.full(len(problem.r), problem.multiplier), np.zeros((problem.size + 1, 3), np.int64)

    def explore(node: Node, error: float, limit: int) -> tuple[float, Ints, int, list[Node], Ints]:
        """Search below one node; positions in and out are those of the whole problem."""
        known, begin, end = node
        part = descend(problem, begin, end)
        keep = part.tasks
        limits = masks(precedes[np.ix_(keep, keep)])
        directions = _directions(images, begin, keep)
        local, counts = np.zeros(len(keep), np.int64), tally.copy()
        value, nodes, still_open = branch(
            part.e, part.r, part.h, part.C, part.G, *limits, directions,
            error, local, RELATIVE_TOLERANCE, absolute, known, lam.copy() if begin or end else lam,
            counts, limit,
        )  # fmt: skip
        found = np.concatenate([np.array(begin, np.int64), keep[local], np.array(end, np.int64)])
        children: list[Node] = []
        for row, begun, ended, bound in zip(*still_open, strict=True):
            tail = tuple(keep[row[len(row) - ended :]].tolist())
            children.append((float(bound), begin + tuple(keep[row[:begun]].tolist()), tail + end))
        return value, found, nodes, children, counts - tally

    pool: list[Node] = [(floor, (), ())]
    nodes, news = 0, False
    with ThreadPoolExecutor(cores()) as threads:  # starts no thread before it is given work
        while pool and pool[0][0] < best - tolerance(problem, best) and nodes < max_nodes and len(pool) < MAX_POOL:
            if nodes and clock.report(best, pool[0][0]):
                break
            batch = [heapq.heappop(pool) for _ in range(min(LANES, len(pool)))]
            limit = int(min(MAX_SLICE, max(MIN_SLICE, SHARE * nodes)))
            run = map if len(batch) == 1 else threads.map
            results = list(run(partial(explore, error=best, limit=limit), batch))
            for value, found, visited, children, counts in results:
                nodes += visited
                tally += counts
                if value < best:
                    best, order, news = value, found, True
                for node in children:
                    heapq.heappush(pool, node)
            if news and problem.size > POLISHED:
                news = False
                for error, found in threads.map(partial(polish, problem, order, clock), HEATS):
                    if error < best - tolerance(problem, best):
                        best, order, news = error, found, True
    bound = pool[0][0] if pool and pool[0][0] < best - tolerance(problem, best) else best
    return Proof(order, best, bound, nodes)


def polish(problem: Problem, order: Ints, clock: Clock, hot: float) -> tuple[float, Ints]:
    """(error, order) after a short annealing, no worse than before; always the same one."""
    from taskorder.ordering.walker import Walker

    every = np.arange(problem.size)
    walker = Walker(problem, order, np.array([1], np.uint64), clock)
    walker.walk(every, 3 * problem.size, 0.0, 0.0)
    walker.cycle(every, MOVES, hot)
    return problem.error(walker.state.order), walker.state.order


def descend(problem: Problem, begin: Sequence[int], end: Sequence[int]) -> Problem:
    """The open problem between a fixed beginning and a fixed ending; its `tasks` are positions in `problem`."""
    from taskorder.ordering._branch import fix_last, visit_first

    n, depth = problem.size, len(begin) + len(end)
    if depth == 0:
        return replace(problem, tasks=np.arange(n))
    e, keep = np.empty(depth + 1), np.empty((depth + 1, n), np.int64)
    r, h, C, G = (np.empty((depth + 1, *table.shape)) for table in (problem.r, problem.h, problem.C, problem.G))
    e[0], r[0], h[0], C[0], G[0], keep[0] = problem.e, problem.r, problem.h, problem.C, problem.G, np.arange(n)
    steps = [(visit_first, position) for position in begin] + [(fix_last, position) for position in reversed(end)]
    for d, (step, position) in enumerate(steps):
        step(int(np.flatnonzero(keep[d, : n - d] == position)[0]), n - d, d, e, r, h, C, G, keep)
    m, tasks = n - depth, keep[depth, : n - depth].copy()
    r, h, C, G = r[depth, :, :m], h[depth, :, :m], C[depth, :m, :m], G[depth, :m, :m]
    r, h, C, G = (np.ascontiguousarray(table) for table in (r, h, C, G))
    return Problem(tasks, float(e[depth]), r, h, C, G, problem.precedes[np.ix_(tasks, tasks)])


def _directions(images: Ints, begin: Sequence[int], keep: Ints) -> NDArray[np.int8]:
    """For each symmetry that fixes the whole beginning: -1, 0 or 1 as it maps a kept visit down, to itself or up.

    A beginning extended by a visit that maps down has an equivalent order that comes earlier in the alphabet.
    """
    fixed = np.array(begin, np.int64)
    fixing = images[(images[:, fixed] == fixed).all(axis=1)]
    return np.ascontiguousarray(np.sign(fixing[:, keep] - keep), np.int8)
