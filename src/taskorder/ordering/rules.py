"""The ordering rules that need no search: by typicality, by outgoing transfer, and by the error or score now.

Each returns positions into the open tasks and obeys `precedes`: among the tasks that are allowed, the best key goes
next. Equal keys (to 12 decimals) go by the smaller position. A group stands where the mean of its keys ranks.
"""

from __future__ import annotations

import numpy as np

from taskorder.checks import Bools, Floats, Ints
from taskorder.ordering.clock import STEPS_AT_ONCE, Clock
from taskorder.ordering.groups import DECIMALS, ascending
from taskorder.ordering.law_problem import LawProblem
from taskorder.ordering.problem import Problem

WORK = 10
"""Operations on each number of the state in a step of the greedy rules."""


def typicality(similarity: Floats) -> Floats:
    """(P,) sums t_mu = sum over nu != mu of C_mu,nu; an asymmetric C counts as (C + C.T) / 2.

    >>> typicality(np.array([[1, .5], [.5, 1]])).tolist()
    [0.5, 0.5]
    """
    sums = (similarity.sum(axis=0) + similarity.sum(axis=1)) / 2 - np.diagonal(similarity)
    return np.asarray(np.round(sums, DECIMALS))


def periphery_to_core(similarity: Floats, tasks: Ints, precedes: Bools, together: Ints | None = None) -> Ints:
    """Least typical task first.

    Typicality is taken on the matrix as given (not repaired), over all P tasks: a learned task is still part of the set
    whose error counts.

    >>> C = np.array([[1, .5, .5], [.5, 1, 0], [.5, 0, 1]])
    >>> periphery_to_core(C, np.arange(3), np.zeros((3, 3), dtype=bool)).tolist()
    [1, 2, 0]
    """
    return ascending(typicality(similarity)[tasks], precedes, together)


def core_to_periphery(similarity: Floats, tasks: Ints, precedes: Bools, together: Ints | None = None) -> Ints:
    """Most typical task first; the opposite of `periphery_to_core`."""
    return ascending(-typicality(similarity)[tasks], precedes, together)


def row_sums(table: Floats, weights: Floats, tasks: Ints, precedes: Bools, together: Ints | None = None) -> Ints:
    """Least outgoing transfer first: by the weighted sums of the rows, a task's own entry among them.

    >>> row_sums(np.array([[1, .5], [.1, 1]]), np.ones(2), np.arange(2), np.zeros((2, 2), dtype=bool)).tolist()
    [1, 0]
    """
    return ascending(np.round(table @ weights, DECIMALS)[tasks], precedes, together)


def greedy(problem: Problem, clock: Clock | None = None) -> Ints:
    """At each step the allowed task that leaves the least weighted error now; O(k n^2).

    Learning j lowers the error by v.(2 h_j - v G_jj), with v = r_j its residuals now. Once the time is over, tasks go
    by what they would have gained then.
    """
    r, h = problem.r.copy(), problem.h.copy()
    diagonal = np.diagonal(problem.G)
    pending = problem.precedes.sum(axis=0)
    order = np.empty(problem.size, dtype=np.int64)
    gain, over = np.zeros(problem.size), False
    stride = max(1, STEPS_AT_ONCE // max(1, WORK * r.size))
    for step in range(problem.size):
        allowed = _allowed(pending, order[:step], problem.together)
        over = over or (clock is not None and step > 0 and step % stride == 0 and clock.over())
        if not over:
            gain = (r * (2 * h - r * diagonal)).sum(axis=0)
        order[step] = best = allowed[np.round(gain[allowed], DECIMALS).argmax()]
        if not over:
            v = r[:, best].copy()
            r -= np.multiply.outer(v, problem.C[best])
            h -= np.multiply.outer(v, problem.G[best])
        pending = pending - problem.precedes[best]
        pending[best] = -1
    return order


def greedy_by_law(problem: LawProblem, clock: Clock | None = None) -> Ints:
    """At each step the allowed visit that leaves the best score or the least error now.

    Once the time is over, visits go by what they would have left then.
    """
    state, pending = problem.start, problem.precedes.sum(axis=0)
    order = np.empty(problem.size, dtype=np.int64)
    cost, over = np.full(problem.size, np.inf), False
    stride = max(1, STEPS_AT_ONCE // max(1, WORK * problem.rows.size))
    for step in range(problem.size):
        allowed = _allowed(pending, order[:step], problem.together)
        over = over or (clock is not None and step > 0 and step % stride == 0 and clock.over())
        if not over:
            kept = problem.retention[allowed, None] * state
            own = kept[np.arange(len(allowed)), problem.tasks[allowed]]
            after = kept + problem.rows[allowed] * (1 - own)[:, None]
            cost[allowed] = np.round(problem.sign * problem.valued(after), DECIMALS)
        best = int(cost[allowed].argmin())
        order[step] = allowed[best]
        state = state if over else after[best]
        pending = pending - problem.precedes[allowed[best]]
        pending[allowed[best]] = -1
    return order


def _allowed(pending: Ints, chosen: Ints, together: Ints | None) -> Ints:
    """What may come next: nothing before it is still open, and no group is left half learned.

    pending: how many must still come before each visit; -1 for those that are chosen already.
    """
    free = pending == 0
    if together is not None and len(chosen):
        begun = (together == together[chosen[-1]]) & (pending >= 0)
        free &= begun if begun.any() else True
    return np.flatnonzero(free)
