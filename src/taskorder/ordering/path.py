"""Longest and shortest Hamiltonian paths through the open tasks: the max-path and min-path rules."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from taskorder.checks import Bools, Floats, Ints
from taskorder.ordering.clock import Clock
from taskorder.ordering.precedence import respects

EXACT_SIZE = 20
LOOKS_PER_TASK = 25_000
ROUNDS = 100
NEIGHBORS = 10
BLOCK = 30
PATH_TIE = 1e-12


def extreme_path(
    weight: Floats,
    precedes: Bools,
    *,
    start: Floats | None = None,
    longest: bool = True,
    seed: int = 0,
    clock: Clock | None = None,
) -> tuple[Ints, float, bool]:
    """The Hamiltonian path of greatest (or smallest) total weight: (positions, length, whether that is proven).

    The length is start[order[0]] (where given) + sum_i weight[order[i], order[i+1]], `weight` (n, n) symmetric with any
    diagonal, `start` (n,). Up to n = 20 by dynamic programming over subsets, O(2^n n^2) time and 80 MiB at n = 20;
    of paths that tie (to 1e-12 times n times the largest weight) the lexicographically smallest positions are returned.
    Above, 2-opt and Or-opt with random block swaps, by step counts or until the clock ends; same seed, same answer.

    >>> weight = np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0.]])
    >>> positions, length, exact = extreme_path(weight, np.zeros((3, 3), dtype=bool))
    >>> positions.tolist(), length, exact
    ([0, 2, 1], 5.0, True)
    """
    size = len(weight)
    first = np.zeros(size) if start is None else start
    sign = 1.0 if longest else -1.0
    if size <= 1:
        order = np.arange(size, dtype=np.int64)
    elif size <= EXACT_SIZE:
        order = _dynamic(sign * weight, precedes, sign * first)
    else:
        order = _search(-sign * weight, precedes, -sign * first, seed, sign, clock)
    return order, path_length(weight, order, start), size <= EXACT_SIZE


def path_length(weight: Floats, order: Ints, start: Floats | None = None) -> float:
    """start[order[0]] (where given) + sum_i weight[order[i], order[i+1]]."""
    if len(order) == 0:
        return 0.0
    return float(weight[order[:-1], order[1:]].sum()) + (0.0 if start is None else float(start[order[0]]))


def path_bound(weight: Floats, *, start: Floats | None = None, longest: bool = True, steps: int = 200) -> float:
    """No path is longer than this (shortest: shorter), precedence or not.

    Every task has two neighbors, so half the sum of its two best edges bounds its share; node prices, which no path can
    see, tighten that by subgradient steps.

    >>> path_bound(np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0.]]))
    5.0
    """
    from taskorder.ordering.kernels import path as kernels

    if len(weight) <= 1:
        return 0.0 if start is None else float(start.sum())
    sign = 1.0 if longest else -1.0
    cost, degree, scale = _between_ends(-sign * weight, -sign * (np.zeros(len(weight)) if start is None else start))
    order = kernels.nearest_first(cost, np.zeros(len(weight), np.int64), _none(len(weight)))
    bound, _ = kernels.degree_bound(cost, degree, path_length(cost, order), steps)
    return float(-sign * bound * scale)


def path_rule(
    similarity: Floats,
    tasks: Ints,
    precedes: Bools,
    error: Callable[[Ints], float],
    *,
    together: Ints | None = None,
    after: int | None = None,
    longest: bool = True,
    seed: int = 0,
    clock: Clock | None = None,
) -> tuple[Ints, str]:
    """Max-path (min-path): positions of the path of greatest (smallest) total dissimilarity 1 - C, and a note on it.

    Works on the matrix as given; an asymmetric one counts as (C + C.T) / 2. A path and its reverse are equally long:
    where both are allowed, the one with the smaller `error(positions)` is returned (the forward one when they tie).
    `after` is the last learned task: the path then starts there, which fixes its direction. together: groups of
    positions that follow each other (groups.py).
    """
    distance = 1 - (similarity + similarity.T) / 2
    weight = np.ascontiguousarray(distance[np.ix_(tasks, tasks)])
    start = None if after is None else np.ascontiguousarray(distance[after, tasks])
    grouped = weight if together is None else _with_groups(weight, start, together, longest)
    order, _, exact = extreme_path(grouped, precedes, start=start, longest=longest, seed=seed, clock=clock)
    length = path_length(weight, order, start)
    kind = "longest" if longest else "shortest"
    note = f"{kind} path found: length {length:.6g}" + (
        "" if exact else f" ({kind} not proven above {EXACT_SIZE} tasks)"
    )
    if len(order) < 2:
        return order, note
    if after is not None:
        return order, f"{note}; its direction is fixed: it continues from the last learned task"
    mirror = _mirror(order, tasks)
    if not respects(mirror, precedes):
        return order, f"{note}; its direction is fixed by the constraints"
    here, there = error(order), error(mirror)
    best, other = (order, there) if here <= there + PATH_TIE * abs(there) else (mirror, here)
    return best, f"{note}; of its two directions the one with the smaller error was taken (the other: {other:.6g})"


def _with_groups(weight: Floats, start: Floats | None, together: Ints, longest: bool) -> Floats:
    """Weights under which no path that leaves a group and comes back is the best: each step inside a group counts so
    much that one of them less cannot be made up for by all other steps together."""
    largest = max(float(np.abs(weight).max()), 0.0 if start is None else float(np.abs(start).max()))
    much = 2.0 * (len(weight) + 1) * (largest or 1.0)
    return np.asarray(weight + (much if longest else -much) * (together[:, None] == together))


def _mirror(order: Ints, tasks: Ints) -> Ints:
    """The reversed path; copies of one task trade places, so that they keep their order."""
    mirrored = order[::-1].copy()
    for task in np.unique(tasks[mirrored]):
        at = np.flatnonzero(tasks[mirrored] == task)
        mirrored[at] = np.sort(mirrored[at])
    return mirrored


def _dynamic(weight: Floats, precedes: Bools, start: Floats) -> Ints:
    """The longest path; of those that tie the lexicographically smallest."""
    from taskorder.ordering.kernels import path as kernels

    size = len(weight)
    needs = (precedes.T.astype(np.int64) << np.arange(size)).sum(axis=1)
    into = np.zeros((size, -(-size // 8) * 8))
    into[:, :size] = weight.T
    stride = (1 << (size - 1)) + 72
    table = kernels.subset_table(into, needs, stride)
    edges = np.abs(weight - np.diag(np.diagonal(weight)))
    tie = PATH_TIE * size * max(float(edges.max()), float(np.abs(start).max()))
    order = np.empty(size, dtype=np.int64)
    rest = (1 << size) - 1
    step = start
    for i in range(size):
        options = [j for j in range(size) if rest >> j & 1 and not int(needs[j]) & rest]
        cells = [j * stride + ((rest & (1 << j) - 1) | (rest >> j + 1 << j)) for j in options]
        values = step[options] + table[cells]
        order[i] = options[int(np.flatnonzero(values >= values.max() - tie)[0])]
        rest ^= 1 << int(order[i])
        step = weight[order[i]]
    return order


def _search(cost: Floats, precedes: Bools, start: Floats, seed: int, sign: float, clock: Clock | None) -> Ints:
    """A short path by iterated local search."""
    from taskorder.ordering.kernels import path as kernels

    size = len(cost)
    ends, degree, scale = _between_ends(cost, start)
    crude = kernels.nearest_first(ends, precedes.sum(axis=0), precedes)
    # Prices charged at both ends of an edge change every path alike. Without them, a few outlying tasks would be
    # the best neighbors of all, and the search would see nothing else.
    bound, price = kernels.degree_bound(ends, degree, path_length(ends, crude), 50)
    ends += price[:, None] + price
    near = _neighbors(ends)
    order = kernels.nearest_first(ends, precedes.sum(axis=0), precedes)
    heads, links = _successors(precedes)
    state = np.random.default_rng(seed).integers(1, 2**63, size=1, dtype=np.uint64)
    length = path_length(ends, order) - float(degree @ price)
    # Constrained orders have more local optima: let the search climb further out of one.
    slack = (3.0 if precedes.any() else 1.0) * float(np.take_along_axis(ends, near, axis=1)[:size].std())
    budget = LOOKS_PER_TASK * size // ROUNDS
    for _ in range(ROUNDS):
        length -= kernels.kick_and_settle(ends, near, order, heads, links, budget, BLOCK, slack, state)
        if clock is not None and clock.report(-sign * length * scale, -sign * bound * scale):
            break
    return np.ascontiguousarray(order[1:-1])


def _between_ends(cost: Floats, start: Floats) -> tuple[Floats, Floats, float]:
    """Costs with a start node n and an end node n + 1, scaled to at most 1; how many edges each node has; the scale."""
    size = len(cost)
    ends = np.zeros((size + 2, size + 2))
    ends[:size, :size] = cost
    ends[size, :size] = ends[:size, size] = start
    np.fill_diagonal(ends, 0.0)
    scale = float(np.abs(ends).max()) or 1.0
    ends /= scale
    np.fill_diagonal(ends, np.inf)
    ends[size, size + 1] = ends[size + 1, size] = np.inf
    degree = np.full(size + 2, 2.0)
    degree[size:] = 1.0
    return ends, degree, scale


def _neighbors(ends: Floats) -> Ints:
    """(n + 2, k) nearest nodes of each node, nearest first."""
    count = min(NEIGHBORS, len(ends) - 2)
    near = np.argpartition(ends, count - 1, axis=1)[:, :count]
    ranks = np.argsort(np.take_along_axis(ends, near, axis=1), axis=1, kind="stable")
    return np.ascontiguousarray(np.take_along_axis(near, ranks, axis=1), dtype=np.int64)


def _successors(precedes: Bools) -> tuple[Ints, Ints]:
    """The direct successors of each node (the ends included, without any), as row starts and a flat list.

    Direct ones suffice to check a move: in a feasible order, a chain of successors stands between its two ends.
    """
    strict = precedes.astype(np.float32)
    direct = precedes & ~(strict @ strict > 0)
    counts = np.concatenate([[0], direct.sum(axis=1), [0, 0]])
    return np.cumsum(counts).astype(np.int64), np.nonzero(direct)[1].astype(np.int64)


def _none(size: int) -> Bools:
    return np.zeros((size, size), dtype=np.bool_)
