"""The first-order rule: minimize the first-order change of the final error around a constant similarity.

With coefficient[i, j] from Theorem 4.1 at the mean similarity m, the objective of an order p is

    sum_{i<j} coefficient[i, j] C[p_i, p_j],

a quadratic assignment problem. Its minimum is not the minimum of the error: it holds while C is close to constant.
"""

from __future__ import annotations

import math

import numpy as np

from taskorder.checks import Bools, Floats, Ints
from taskorder.ordering.clock import Clock, while_time
from taskorder.ordering.group_moves import GroupMoves
from taskorder.ordering.groups import ascending, count_orders, grouped_orders, regrouped
from taskorder.ordering.rules import typicality
from taskorder.theory.perturbation import perturbation

EXACT_SWAPS = 9
SWAP_BUDGET = 3_000_000_000
"""Terms of swap sums to spend above the exact size when no clock ends the search: some seconds."""
SWAP_CHUNK = 100_000_000
TIE = 1e-12
LISTED_ORDERS, MOST_TERMS = 40_320, 20_000_000
"""Orders of groups that are listed, as many as of eight tasks, and terms of their sums at once."""


def first_order_rule(
    similarity: Floats,
    tasks: Ints,
    precedes: Bools,
    *,
    rho_out: float = 1.0,
    learned: Ints | None = None,
    together: Ints | None = None,
    seed: int = 0,
    clock: Clock | None = None,
) -> tuple[Ints, float, bool]:
    """The order of least first-order objective: (positions into the open tasks, objective, whether that is proven).

    `similarity` (P, P) covers all tasks (an asymmetric one counts as (C + C.T) / 2): those `learned`, which hold the
    first positions, and the n open `tasks`, each once; `precedes` (n, n) is over the open ones. Up to n = 9 by listing
    (of orders that tie, to 1e-12 of the objective's scale, the lexicographically smallest). Above, swaps and insertions
    from several starts and kicks, by step counts or until the clock ends; same seed, same answer. together: groups of
    positions that follow each other (groups.py); there the exact size is 40,320 orders.

    >>> C = np.array([[1, .6, .2], [.6, 1, .4], [.2, .4, 1]])
    >>> positions, objective, exact = first_order_rule(C, np.arange(3), np.zeros((3, 3), dtype=bool))
    >>> positions.tolist(), exact
    ([2, 0, 1], True)
    """
    done = np.array([], dtype=np.int64) if learned is None else np.asarray(learned, dtype=np.int64)
    num, size = len(done), len(tasks)
    S = (similarity + similarity.T) / 2
    np.fill_diagonal(S, 0.0)
    coefficient = coefficients(S, rho_out)
    flow = np.ascontiguousarray((coefficient + coefficient.T)[num:, num:])
    linear = np.ascontiguousarray(coefficient[:num, num:].T @ S[np.ix_(done, tasks)])
    inner = np.ascontiguousarray(S[np.ix_(tasks, tasks)])
    tie = TIE * float(np.abs(coefficient).sum()) * float(np.abs(S).max(initial=1.0))
    exact = size <= EXACT_SWAPS
    if size <= 1:
        order = np.arange(size, dtype=np.int64)
    elif together is not None:
        order, exact = _in_groups(flow, linear, inner, precedes, together, tie, seed, clock)
    elif exact:
        order = _listed(flow, linear, inner, precedes, tie)
    else:
        starts = _starts(typicality(S)[tasks], precedes, seed)
        order = _descents(flow, linear, inner, precedes, tie, starts, seed, clock)
    return order, objective(S, coefficient, np.concatenate([done, tasks[order]])), exact


def coefficients(similarity: Floats, rho_out: float = 1.0) -> Floats:
    """(P, P) first-order coefficients at the mean off-diagonal similarity.

    Powers of 1 - m outgrow floating point when many tasks are dissimilar on average; that is refused.
    """
    size = len(similarity)
    if size < 2:
        return np.zeros((size, size))
    mean = float((similarity.sum() - np.trace(similarity)) / (size * (size - 1)))
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            coefficient = perturbation(size, mean, rho_out).coefficient
    except OverflowError:
        coefficient = np.full((1, 1), np.inf)
    if not np.abs(coefficient).max() < 1e200:
        raise ValueError(
            f"`similarity` must have a mean near or above 0 for rule first-order with {size} tasks, got {mean:.3g}: "
            "its coefficients grow like (1 - mean)^P. Use rule optimal."
        )
    return coefficient


def objective(similarity: Floats, coefficient: Floats, order: Ints) -> float:
    """sum_{i<j} coefficient[i, j] C[order[i], order[j]]."""
    return float((coefficient * similarity[np.ix_(order, order)]).sum())


def _in_groups(
    flow: Floats,
    linear: Floats,
    S: Floats,
    precedes: Bools,
    together: Ints,
    tie: float,
    seed: int,
    clock: Clock | None,
) -> tuple[Ints, bool]:
    """The order of least objective that keeps the groups together, and whether every one of them was tried."""

    def pairs(orders: Ints) -> Floats:
        return np.asarray(np.einsum("ij,bij->b", flow, S[orders[:, :, None], orders[:, None, :]]) / 2)

    def costs(orders: Ints, clock: Clock | None = None) -> Floats:
        of_pairs = while_time(pairs, orders, S.size, clock, at_once=max(1, MOST_TERMS // S.size))
        return np.asarray(of_pairs + linear[np.arange(len(S)), orders[: len(of_pairs)]].sum(axis=1))

    if count_orders(together) <= LISTED_ORDERS:
        orders = grouped_orders(together, precedes)
        values = costs(orders)
        return orders[int(np.argmax(values <= values.min() + tie))], True
    starts = np.array([regrouped(start, precedes, together) for start in _starts(typicality(S), precedes, seed)])
    best = starts[int(costs(starts).argmin())]
    return GroupMoves(precedes, together, costs).improved(best, seed, clock or Clock(math.inf)), False


def _listed(flow: Floats, linear: Floats, S: Floats, precedes: Bools, tie: float) -> Ints:
    from taskorder.ordering.kernels import assignment

    pairs = S[~np.eye(len(S), dtype=np.bool_)]
    cheapest = np.minimum(np.tril(flow, -1) * pairs.min(), np.tril(flow, -1) * pairs.max()).sum(axis=1) + linear.min(
        axis=1
    )
    tail = np.concatenate([np.cumsum(cheapest[::-1])[::-1], [0.0]])
    return np.asarray(assignment.enumerate_orders(flow, linear, S, tail, precedes, tie))


def _starts(key: Floats, precedes: Bools, seed: int) -> list[Ints]:
    """Feasible starts: both typicality rules and eight random orders.

    SciPy's relaxation (quadratic_assignment, method "faq") is no start here: on 12 matrices of 30 to 200
    tasks with equal budgets it never led to a better order, and three times to a worse one.
    """
    rng = np.random.default_rng([seed, 1])
    shuffled = [ascending(rng.random(len(key)), precedes) for _ in range(8)]
    return [ascending(key, precedes), ascending(-key, precedes), *shuffled]


def _descents(
    flow: Floats,
    linear: Floats,
    S: Floats,
    precedes: Bools,
    tie: float,
    starts: list[Ints],
    seed: int,
    clock: Clock | None,
) -> Ints:
    """Local search from each start, then from kicks of the best order until the budget or the clock ends."""
    from taskorder.ordering.kernels import assignment

    size = len(S)
    rng = np.random.default_rng([seed, 2])

    def value(order: Ints) -> float:
        return float((flow * S[np.ix_(order, order)]).sum() / 2 + linear[np.arange(size), order].sum())

    best = min(starts, key=value).copy()
    best_value = value(best)
    work, over, count = 0, False, 0
    while not over:
        order = starts[count].copy() if count < len(starts) else _kicked(best, precedes, rng)
        here, cursor, quiet = value(order), 0, 0
        while quiet < size and not over:
            gain, cursor, quiet, used = assignment.descend(
                flow, linear, S, order, precedes, tie, cursor, quiet, SWAP_CHUNK
            )
            here -= gain
            work += used
            over = work >= SWAP_BUDGET or (clock is not None and clock.report(min(here, best_value), -math.inf))
        if here < best_value - (tie if count else -tie):
            best, best_value = order.copy(), here
        count += 1
        over = over or count >= len(starts) + 20 * size
    return best


def _kicked(order: Ints, precedes: Bools, rng: np.random.Generator) -> Ints:
    """The order with some tasks drawn out and put near its ends, repaired where that breaks a precedence.

    The coefficients fade with the distance from both ends: what happens in the middle hardly counts.
    """
    size = len(order)
    key = np.empty(size)
    key[order] = np.arange(size)
    moved = rng.choice(size, size=int(rng.integers(max(2, size // 10), max(8, size // 4))), replace=False)
    depth = np.minimum(rng.exponential(5.0, len(moved)), size)
    key[moved] = np.where(rng.random(len(moved)) < 0.5, depth, size - depth)
    return ascending(key, precedes)
