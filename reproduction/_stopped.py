"""Orders under early stopping: the problem in the solvers' form, and the errors of the orders that we follow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reproduction._fit import rank_correlation
from reproduction._orders import random_orders
from taskorder.checks import Floats, Ints
from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import Proof
from taskorder.ordering.listing import all_errors, all_orders
from taskorder.ordering.optimum import MAX_UNCOMPILED, minimize
from taskorder.ordering.path import extreme_path
from taskorder.ordering.problem import Problem
from taskorder.ordering.rules import core_to_periphery, periphery_to_core

SAMPLED = 5000
"""Random orders behind the mean where orders are too many to list."""


def stopped_problem(C: Floats, progress: float) -> Problem:
    """The problem of ordering all tasks when each visit removes only the share `progress` of its task's residual."""
    P = len(C)
    r = np.ones((1, P))
    damped = np.eye(P) + progress * (C - np.eye(P))
    return Problem(np.arange(P), float(P), progress * r, r @ C, damped, C @ C, np.zeros((P, P), bool))


def errors_by_progress(C: Floats, progress: Sequence[float]) -> dict[str, list[float]]:
    """By name, one number for each progress: errors of the best, worst and mean order (proven, or over all orders where
    they can be listed), of the rules, and of the order that is best at convergence; and "rank", the rank correlation
    between the errors of all (or many random) orders and their errors at convergence.

    Max-path counts as the mean of its two directions, as in the paper.
    """
    free = np.zeros(C.shape, bool)
    tasks = np.arange(len(C))
    path = extreme_path(1 - C, free)[0]
    rules = np.array(
        [
            periphery_to_core(C, tasks, free),
            core_to_periphery(C, tasks, free),
            path,
            path[::-1],
            _proven(stopped_problem(C, 1.0)).order,
        ]
    )
    listed = len(C) <= MAX_UNCOMPILED
    everything = all_orders(len(C)) if listed else random_orders(len(C), SAMPLED)
    final = _errors(C, everything, 1.0)
    rows = []
    for p in progress:
        problem, errors = stopped_problem(C, p), _errors(C, everything, p)
        first, second, one_way, other_way, converged = problem.errors(rules).tolist()
        rows.append(
            {
                "best": float(errors.min()) if listed else _proven(problem).error,
                "worst": float(errors.max()) if listed else -_proven(problem.negated()).error,
                "mean": float(errors.mean()),
                "periphery-to-core": first,
                "core-to-periphery": second,
                "max-path": (one_way + other_way) / 2,
                "converged": converged,
                "rank": rank_correlation(errors, final),
            }
        )
    return {key: [row[key] for row in rows] for key in rows[0]}


def _proven(problem: Problem) -> Proof:
    proof = minimize(problem, seed=0, clock=Clock(600.0))
    if not proof.complete:
        raise RuntimeError("The best order was not proven in ten minutes: the machine must be very busy.")
    return proof


def _errors(C: Floats, orders: Ints, progress: float) -> Floats:
    """Errors of `orders`, which are all of them where that is possible."""
    problem = stopped_problem(C, progress)
    return all_errors(problem) if len(C) <= MAX_UNCOMPILED else problem.errors(orders)
