"""Local search under the law of retention: one visit at a time goes where it helps most.

For the score all positions of a visit cost O(n P) together. With F_p the state before position p of the other visits,
and a_p.s + c_p the score that a state s before position p ends with,

    a_end = w, c_end = 0;   backwards over visit k:   c <- c + a.S_k,   a <- d_k (a - (a.S_k) e_k),

visit i at position p ends with a_p.(d_i F_p + S_i (1 - d_i F_pi)) + c_p. For the error every position is computed.
"""

from __future__ import annotations

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.ordering.clock import Clock
from taskorder.ordering.group_moves import KICKS, WORTH, GroupMoves
from taskorder.ordering.law_problem import LawProblem

KICKED = 3
"""Visits that a random change moves."""


def improved(problem: LawProblem, order: Ints, sign: int, seed: int, clock: Clock) -> Ints:
    """An order with a smaller value times `sign`, by moves of single visits and random changes of a few."""
    if problem.together is not None:
        return _group_moves(problem, problem.together, sign).improved(order, seed, clock)
    rng = np.random.default_rng(seed)
    best = descended(problem, order, sign, clock)
    cost = sign * problem.value(best)
    for _ in range(KICKS // problem.size):
        if clock.report(cost, -np.inf):
            break
        trial = best
        for visit in rng.choice(problem.size, min(KICKED, problem.size), replace=False):
            rest = trial[trial != visit]
            low, high = position_range(problem, rest, int(visit))
            trial = np.insert(rest, int(rng.integers(low, high + 1)), visit)
        trial = descended(problem, trial, sign, clock)
        value = sign * problem.value(trial)
        if value < cost - WORTH * abs(cost):
            best, cost = trial, value
    return best


def descended(problem: LawProblem, order: Ints, sign: int, clock: Clock) -> Ints:
    """The order after moves of single visits, or of groups, the last ones first, until none helps or the time is
    over."""
    if problem.together is not None:
        return _group_moves(problem, problem.together, sign).descended(order, clock)
    cost = sign * problem.value(order)
    moved = True
    while moved:
        moved = False
        for visit in order[::-1].tolist():
            if clock.report(cost, -np.inf):
                return order
            rest = order[order != visit]
            low, high = position_range(problem, rest, visit)
            costs = sign * insertion_values(problem, rest, visit, low, high, clock)
            at = int(costs.argmin())
            if costs[at] < cost - WORTH * max(1.0, abs(cost)):
                order, cost, moved = np.insert(rest, low + at, visit), float(costs[at]), True
    return order


def _group_moves(problem: LawProblem, together: Ints, sign: int) -> GroupMoves:
    """Moves of groups instead of single visits, priced in the same way."""

    def costs(orders: Ints, clock: Clock | None) -> Floats:
        return sign * problem.values(orders, clock)

    def insertions(rest: Ints, piece: Ints, positions: Ints) -> Floats:
        return sign * _insertion_scores(problem, rest, piece, positions)

    return GroupMoves(problem.precedes, together, costs, insertions if problem.objective == "score" else None)


def position_range(problem: LawProblem, rest: Ints, visit: int) -> tuple[int, int]:
    """The first and last position among the other visits that precedence allows."""
    before, after = np.flatnonzero(problem.precedes[rest, visit]), np.flatnonzero(problem.precedes[visit, rest])
    return int(before[-1]) + 1 if before.size else 0, int(after[0]) if after.size else len(rest)


def insertion_values(
    problem: LawProblem, rest: Ints, visit: int, low: int, high: int, clock: Clock | None = None
) -> Floats:
    """(high - low + 1,) values of the order `rest` with `visit` at each position from low to high; fewer, of the first
    ones, where the time is over before."""
    positions = np.arange(low, high + 1)
    if problem.objective == "error":
        return problem.values(np.stack([np.insert(rest, position, visit) for position in positions]), clock)
    return _insertion_scores(problem, rest, np.array([visit]), positions)


def _insertion_scores(problem: LawProblem, rest: Ints, piece: Ints, positions: Ints) -> Floats:
    """The score of the order `rest` with the visits of `piece`, one after the other, at each of the positions."""
    low, high = int(positions[0]), int(positions[-1])
    states = np.empty((high - low + 1, len(problem.start)))
    state = problem.start
    for position, k in enumerate(rest[:high].tolist()):
        if position >= low:
            states[position - low] = state
        kept = problem.retention[k] * state
        state = kept + problem.rows[k] * (1 - kept[problem.tasks[k]])
    states[high - low] = state
    values = np.empty((high - low + 1, len(state)))
    constants = np.empty(high - low + 1)
    a, c = problem.weights, 0.0
    for position in range(len(rest), low - 1, -1):
        if position <= high:
            values[position - low], constants[position - low] = a, c
        if position > low:
            k = int(rest[position - 1])
            gain = float(a @ problem.rows[k])
            c += gain
            a = problem.retention[k] * a
            a[problem.tasks[k]] -= problem.retention[k] * gain
    learned, values, constants = (table[positions - low] for table in (states, values, constants))
    for visit in piece.tolist():
        kept = problem.retention[visit] * learned
        learned = kept + problem.rows[visit] * (1 - kept[:, problem.tasks[visit]])[:, None]
    return np.asarray((values * learned).sum(axis=1) + constants)
