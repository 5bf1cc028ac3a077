"""The orders that the rules of the literature choose for one set of tasks: what an experiment has to train.

A path and its reverse are equally long, and the paper scores a path rule as the mean of both directions: such a rule
has two orders here, first the direction with the smaller predicted error, which is the one a planner would return.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import Floats, square_matrix
from taskorder.ordering.clock import Clock
from taskorder.ordering.law_problem import LawProblem
from taskorder.ordering.law_search import best_by_law
from taskorder.ordering.path import extreme_path
from taskorder.ordering.rules import row_sums
from taskorder.ordering.solve import solve
from taskorder.theory.law import PLAIN_RETENTION

Orders = tuple[tuple[int, ...], ...]
ONE_ORDER = ("periphery-to-core", "core-to-periphery", "optimal", "first-order", "greedy")
TWO_ORDERS = ("max-path", "min-path")
PAIRWISE = "pairwise"
CURVATURE_PATHS = ("curvature-max-path", "curvature-min-path")
LAW = "law"
LAW_SECONDS = 10.0
"""At most, for the best order of a table."""
MOST_PAIRWISE = 14
"""Tasks; a set of them costs some microseconds."""


def similarity_orders(similarity: ArrayLike) -> dict[str, Orders]:
    """By rule: its order, or both of its orders, on a similarity matrix that need not be a correlation matrix."""
    table = np.clip(square_matrix(similarity, "similarity"), -1.0, 1.0)  # estimates may fall below -1
    single = {rule: (solve(table, rule, retention=1).order,) for rule in ONE_ORDER}
    double = {rule: solve(table, rule, retention=1).order for rule in TWO_ORDERS}
    return {**single, **{rule: (order, order[::-1]) for rule, order in double.items()}}


def pairwise_order(ratios: ArrayLike) -> tuple[int, ...]:
    """The order that respects most of the preference between pairs (Lad et al. 2009, on zero-shot transfer).

    A goes before B by as much as ratio(A -> B), the loss of B after A over chance, is below ratio(B -> A). The sum
    over all pairs is maximized by dynamic programming over sets, O(2^P P); of orders that tie, one is taken.

    >>> pairwise_order([[0, 0.9, 0.8], [0.3, 0, 0.5], [0.6, 0.7, 0]])
    (1, 2, 0)
    """
    table = square_matrix(ratios, "ratios")
    P = len(table)
    if P > MOST_PAIRWISE:
        raise ValueError(f"`ratios` must be of at most {MOST_PAIRWISE} tasks for the pairwise order, got {P}.")
    prefer = table.T - table
    members = (np.arange(1 << P)[:, None] >> np.arange(P)) & 1
    best = np.full(1 << P, -np.inf)
    best[0] = 0.0
    last = np.zeros(1 << P, dtype=np.int64)
    for chosen in range(1, 1 << P):
        inside = np.flatnonzero(members[chosen])
        rest = chosen & ~(1 << inside)
        totals = best[rest] + np.einsum("rp,pr->r", members[rest], prefer[:, inside])
        index = int(np.round(totals, 12).argmax())
        best[chosen], last[chosen] = totals[index], inside[index]
    order: list[int] = []
    left = (1 << P) - 1
    while left:
        order.append(int(last[left]))
        left &= ~(1 << order[-1])
    return tuple(order[::-1])


def curvature_orders(curvature: ArrayLike) -> dict[str, Orders]:
    """The longest and the shortest path of dissimilarity when the similarity is -g.H.g (Bell and Lawrence 2022)."""
    table = square_matrix(curvature, "curvature")
    similarity: Floats = (table + table.T) / 2
    free = np.zeros(table.shape, dtype=bool)
    orders: dict[str, Orders] = {}
    for rule, longest in zip(CURVATURE_PATHS, (True, False), strict=True):
        order = tuple(extreme_path(-similarity, free, longest=longest)[0].tolist())
        orders[rule] = (order, order[::-1])
    return orders


def table_orders(table: ArrayLike, retention: float = PLAIN_RETENTION) -> dict[str, tuple[int, ...]]:
    """The best order of a transfer table under the law of retention, and that by ascending row sums.

    >>> table_orders([[1, 0.1, 0.9], [0.3, 1, 0.3], [0.8, 0.4, 1]])
    {'law': (0, 1, 2), 'row-sums': (1, 0, 2)}
    """
    S = square_matrix(table, "table")
    P = len(S)
    open_tasks = LawProblem(
        np.arange(P), S, np.full(P, retention), np.zeros(P), np.full(P, 1 / P), np.zeros((P, P), dtype=bool)
    )
    # not `solve`, which refuses what looks like no knowledge: tables of ten examples may
    best = best_by_law(open_tasks, 1, seed=0, clock=Clock(LAW_SECONDS)).order
    sort = row_sums(S, open_tasks.weights, open_tasks.tasks, open_tasks.precedes)
    return {LAW: tuple(best.tolist()), "row-sums": tuple(sort.tolist())}
