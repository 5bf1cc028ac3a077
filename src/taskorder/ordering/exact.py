"""The proven optimum: best-first branch and bound in deterministic rounds.

The pool holds open nodes (a fixed beginning, a fixed ending, a lower bound). Each round takes the few with the
smallest bounds and searches below each, depth first, for a fixed number of nodes; what is still open goes back into the
pool, and a better order is annealed. Rounds exchange incumbents only at their ends, so the answer does not depend on
how many threads ran them.
"""

from __future__ import annotations

import heapq
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
"""Most open visits that the bit masks of the kernel can hold."""
RELATIVE_TOLERANCE = 1e-9
ABSOLUTE_TOLERANCE = 1e-12
"""Proven means: no allowed order is better by more than 1e-9 of the error plus 1e-12 of the error before learning."""

LANES, BATCH, SLICES = 8, 16, 2
"""Lanes that are searched side by side in a round; nodes of the pool for each, one after the other; and how many slices
end its round: most nodes take much less than one."""
MIN_SLICE, MAX_SLICE, SHARE, SHALLOW = 300, 10_000, 1 / 64, 6
"""A round searches below each for this share of all nodes so far, within limits: short rounds come back to what looks
best now, and so the good orders, which cut all later rounds short, are found early. What is more than this many visits
deeper is finished: to come back to it would cost more."""
ALONE = 1000
"""Nodes that are searched before a thread is worth its start."""
POLISHED, HEATS, MOVES = 12, (0.03, 0.1), 100
"""With more visits than this a better order is annealed from these temperatures, by so many moves a visit."""
PATIENCE, EFFORT, LATER = 1e14, 1.0, 16
"""After this many nodes, over the sixth power of the number of visits, two searches of this effort look for a better
order, for a proof may be far off; and so on, each time this many times later and harder."""
NEAR, GRACE = 0.65, 10
"""A proof with less than this share of its first gap left is likely to end: it has so many times more nodes before."""
SHARED, COMMON, SERVED, TIGHTENED = 50_000, 1.6, 5, 20
"""After this many nodes, and whenever they have doubled, the open ones are counted: when so many on average have the
same visits open, what these share is kept (_shared.py), as long as it serves so many nodes and unless one node in so
many was worth tightening. At P = 20 clusters take half the time that way, and trees two thirds."""
SHARED_LANES, LONGER = 4, 4
"""Then there are so many lanes, for each has to learn what it shares, and slices are so many times longer."""
MAX_POOL = 1_000_000

Node = tuple[float, bytes]
"""(bound, as the kernel has it: how many positions are fixed at the front and at the back, an order with these)."""


class Memory(NamedTuple):
    """What the nodes of one lane share, as _memory.py keeps it: at most 32 MB, which half a million nodes may fill."""

    table: Floats
    keys: NDArray[np.uint64]
    places: Ints
    filled: Ints

    @classmethod
    def empty(cls) -> Memory:
        """Nothing is known yet."""
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
    from taskorder.ordering.kernels.shared import branch_shared
    from taskorder.ordering.kernels.steps import order_error
    from taskorder.ordering.search import search

    best = order_error(problem.e, problem.r.copy(), problem.h.copy(), problem.C, problem.G, start)
    order = start.copy()
    if problem.size <= 1:
        return Proof(order, best, best, 0)
    precedes, images = symmetries(problem)
    limits, directions = masks(precedes), np.sign(images - np.arange(problem.size)).astype(np.int8)
    absolute = ABSOLUTE_TOLERANCE * abs(problem.e)
    lam, tally = np.full(len(problem.r), problem.multiplier), np.zeros((problem.size + 1, 4), np.int64)

    def explore(
        lane: list[Node], memory: Memory | None, error: float, limit: int
    ) -> tuple[float, Ints, int, NDArray[np.int8], Floats, Ints]:
        """Search below some nodes, one after the other."""
        starts = np.frombuffer(b"".join(node for _, node in lane), np.int8).reshape(len(lane), -1)
        floors, found, counts = np.array([bound for bound, _ in lane]), np.empty(problem.size, np.int64), tally.copy()
        here = (
            problem.e, problem.r, problem.h, problem.C, problem.G, *limits, directions, starts, floors, error, found,
            RELATIVE_TOLERANCE, absolute,
        )  # fmt: skip
        if memory:
            limit *= LONGER
            value, nodes, still_open, bounds = branch_shared(*here, lam[0], limit, SHALLOW, SLICES * limit, *memory)
        else:
            own = lam.copy() if starts[0, :2].any() else lam
            value, nodes, still_open, bounds = branch(*here, own, counts, limit, SHALLOW, SLICES * limit)
        return value, found, nodes, still_open, bounds, counts - tally

    pool: list[Node] = [(floor, np.zeros(problem.size + 2, np.int8).tobytes())]
    memories: list[Memory | None] = [None] * LANES
    count_at, since = float(SHARED), 0
    nodes, news, patience, effort = 0, True, PATIENCE / problem.size**6, EFFORT
    with ThreadPoolExecutor(cores()) as threads:  # starts no thread before it is given work
        while pool and pool[0][0] < best - tolerance(problem, best) and nodes < max_nodes and len(pool) < MAX_POOL:
            if nodes and clock.report(best, pool[0][0]):
                break
            if news and problem.size > POLISHED:
                news = False
                for error, found in threads.map(partial(polish, problem, order, clock), HEATS):
                    if error < best - tolerance(problem, best):
                        best, order, news = error, found, True
            near = pool[0][0] > best - NEAR * (best - floor)
            if nodes > (GRACE if near else 1) * patience:
                clocks = clock, clock.share(1.0, quiet=True)
                helpers = [partial(search, problem, seed=seed + i, clock=clocks[i], effort=effort) for i in range(2)]
                for found in threads.map(lambda helper: helper(), helpers):
                    error = problem.error(found)
                    if error < best - tolerance(problem, best):
                        best, order, news = error, found, True
                patience, effort = LATER * patience, LATER * effort
            batch = [heapq.heappop(pool) for _ in range(min(LANES * BATCH, len(pool)))]
            limit = int(min(MAX_SLICE / len(problem.r), max(MIN_SLICE, SHARE * nodes)))
            if len(problem.r) == 1 and nodes > count_at:
                made = sum(int(memory.filled[2]) for memory in memories if memory)
                if made and nodes - since < SERVED * made:
                    memories, count_at = [None] * LANES, np.inf
                elif not made and TIGHTENED * tally[:, 0].sum() < nodes and in_common([*pool, *batch]) > COMMON:
                    memories, since = [Memory.empty() for _ in range(SHARED_LANES)], nodes
                count_at *= 2
            lanes = [batch[lane :: len(memories)] for lane in range(min(len(memories), len(batch)))]
            run = map if nodes < ALONE else threads.map
            results = list(run(partial(explore, error=best, limit=limit), lanes, memories))
            for value, found, visited, still_open, bounds, counts in results:
                nodes += visited
                tally += counts
                if value < best:
                    best, order, news = value, found, True
                table, width = still_open.tobytes(), still_open.shape[1]
                for row, low in enumerate(bounds.tolist()):
                    heapq.heappush(pool, (low, table[row * width : (row + 1) * width]))
    bound = pool[0][0] if pool and pool[0][0] < best - tolerance(problem, best) else best
    return Proof(order, best, bound, nodes)


def in_common(nodes: list[Node]) -> float:
    """How many of the nodes, on average, have the same visits open and the same ending."""
    table = np.frombuffer(b"".join(node for _, node in nodes), np.int8).reshape(len(nodes), -1)
    begun, ended, orders = table[:, :1], table[:, 1:2], table[:, 2:].astype(np.int64)
    place = np.arange(orders.shape[1])
    scramble = np.random.default_rng(0).integers(1 << 62, size=(2, len(place)))  # a sum of these tells sets apart
    first = np.where(place < begun, scramble[0, orders], 0)
    last = np.where(place >= len(place) - ended, scramble[1] * (orders + 1), 0)
    return len(nodes) / len(np.unique((first + last).sum(axis=1)))


def polish(problem: Problem, order: Ints, clock: Clock, hot: float) -> tuple[float, Ints]:
    """(error, order) after a short annealing, no worse than before; always the same one."""
    from taskorder.ordering.walker import Walker

    every = np.arange(problem.size)
    walker = Walker(problem, order, np.array([1], np.uint64), clock)
    walker.walk(every, 3 * problem.size, 0.0, 0.0)
    walker.cycle(every, MOVES, hot)
    return problem.error(walker.state.order), walker.state.order
