"""The price of each constraint: the best order with all of them beside the best one with all of them but this."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from taskorder.constraints import Constraints
from taskorder.ordering.clock import Clock
from taskorder.ordering.solve import RULES
from taskorder.ordering.solver_input import SolverInput
from taskorder.ordering.values import order_value
from taskorder.records import Price

PRICED = 50
"""Up to so many open tasks the price of each constraint is said without being asked for."""


def without_each(constraints: Constraints) -> Iterator[tuple[str, Constraints]]:
    """Each constraint on the open tasks in words, and the constraints without it.

    >>> [words for words, _ in without_each(Constraints.of(4, before=[("A", "B")], last="D", groups=[["A", "C"]]))]
    ['before A:B', 'last D', 'group A,C']
    """
    names, known = constraints.names, set(constraints.learned)
    for number, (a, b) in enumerate(constraints.before):
        if a not in known:
            rest = constraints.before[:number] + constraints.before[number + 1 :]
            yield f"before {names[a]}:{names[b]}", replace(constraints, before=rest)
    if constraints.first is not None:
        yield f"first {names[constraints.first]}", replace(constraints, first=None)
    if constraints.last is not None:
        yield f"last {names[constraints.last]}", replace(constraints, last=None)
    for number, group in enumerate(constraints.groups):
        if not set(group) <= known and len(group) > 1:
            others = constraints.groups[:number] + constraints.groups[number + 1 :]
            yield f"group {','.join(names[task] for task in group)}", replace(constraints, groups=others)


def constraint_prices(inputs: SolverInput, clock: Clock) -> tuple[Price, ...]:
    """The prices, as many as there is time for; each is between bounds where a proof is missing.

    >>> from taskorder.ordering.solver_input import solver_input
    >>> table = [[1, 0.5, 0], [0, 1, 0], [0.2, 0, 1]]
    >>> constraint_prices(solver_input(table, retention=0, last="B"), Clock(5.0))[0].said("score")
    'last B costs 16.7 points of knowledge'
    """
    dropped = list(without_each(inputs.constraints))
    if not dropped:
        return ()
    cost, least = _least(inputs, clock.share(0.3))
    prices = []
    for number, (words, constraints) in enumerate(dropped):
        if clock.left <= 0:
            break
        free_cost, free_least = _least(
            replace(inputs, constraints=constraints), clock.share(1 / (len(dropped) - number))
        )
        free_cost = min(free_cost, cost)  # the order that keeps it is allowed without it, too
        high = cost - free_least
        value = inputs.unit * (cost - free_cost)
        proven = least == cost and free_least >= free_cost
        prices.append(
            Price(
                constraint=words,
                value=value,
                low=value if proven else inputs.unit * max(0.0, least - free_cost),
                high=value if proven else inputs.unit * high if np.isfinite(high) else None,
            )
        )
    return tuple(prices)


def _least(inputs: SolverInput, clock: Clock) -> tuple[float, float]:
    """The cost of the best order found, and a number that no allowed order is below."""
    sign = -1.0 if inputs.objective == "score" else 1.0
    with clock.without_compilation():
        best = RULES["optimal"](inputs, clock)
    cost = sign * order_value(inputs.any_problem(), best.order)
    if best.proven:
        return cost, cost
    return cost, -np.inf if best.bound is None else min(cost, sign * best.bound)
