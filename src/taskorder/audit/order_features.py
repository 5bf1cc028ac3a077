"""What of an order a small model sees: its last task, both ends, the position of every task, and neighbors.

Every feature is 1 or 0, so that the prediction for an order is a sum of effects: of tasks at positions, and of one task
right after another.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taskorder.checks import Floats, Ints

MOST_ENUMERATED = 8
"""Tasks of which all orders are looked at for the best one, where neighbors count."""
FEATURES = ("last task", "ends", "positions", "neighbors")
NAMES = {
    "last task": "the last task",
    "ends": "the first and the last task",
    "positions": "the position of every task",
    "neighbors": "the position of every task and its neighbor",
}


@dataclass(frozen=True, eq=False)
class Effects:
    """What each task at each position adds to an accuracy, and each task right after another."""

    base: float
    positions: Floats
    """(P, P) by task and position."""
    neighbors: Floats
    """(P, P) by task and the next one."""

    def expected(self, orders: Ints) -> Floats:
        """(n,) for (n, P) orders."""
        steps = np.arange(orders.shape[1])
        pairs = self.neighbors[orders[:, :-1], orders[:, 1:]].sum(axis=1)
        return np.asarray(self.base + self.positions[orders, steps].sum(axis=1) + pairs)


def feature_table(orders: Ints, features: str) -> Floats:
    """(n, features) of (n, P) orders."""
    num, num_tasks = orders.shape
    steps = {"last task": [num_tasks - 1], "ends": [0, num_tasks - 1]}.get(features, [*range(num_tasks)])
    table = np.zeros((num, len(steps), num_tasks))
    table[np.arange(num)[:, None], np.arange(len(steps)), orders[:, steps]] = 1
    flat = table.reshape(num, -1)
    if features != "neighbors":
        return flat
    pairs = np.zeros((num, num_tasks, num_tasks))
    pairs[np.arange(num)[:, None], orders[:, :-1], orders[:, 1:]] = 1
    return np.hstack([flat, pairs.reshape(num, -1)])


def effects_of(weights: Floats, base: float, num_tasks: int, features: str) -> Effects:
    """The effects that the weights of `feature_table` stand for."""
    positions, neighbors = np.zeros((num_tasks, num_tasks)), np.zeros((num_tasks, num_tasks))
    steps = {"last task": [num_tasks - 1], "ends": [0, num_tasks - 1]}.get(features, [*range(num_tasks)])
    by_step = weights[: len(steps) * num_tasks].reshape(len(steps), num_tasks)
    positions[:, steps] = by_step.T
    if features == "neighbors":
        neighbors = weights[len(steps) * num_tasks :].reshape(num_tasks, num_tasks)
    return Effects(base, positions, neighbors)


def highest_order(effects: Effects, starts: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The order with the highest expected accuracy.

    Exact without effects of neighbors (an assignment of tasks to positions) and for few tasks; else the best that
    exchanges and moves of single tasks reach from that assignment and from `starts`.
    """
    from scipy.optimize import linear_sum_assignment

    num_tasks = len(effects.positions)
    tasks, steps = linear_sum_assignment(effects.positions, maximize=True)
    assigned = tuple(int(task) for task in tasks[np.argsort(steps)])
    if not effects.neighbors.any():
        return assigned
    if num_tasks <= MOST_ENUMERATED:
        orders = np.array([*itertools.permutations(range(num_tasks))])
        return tuple(orders[effects.expected(orders).argmax()].tolist())
    ends = [_climbed(effects, np.array(start)) for start in (assigned, *starts)]
    return tuple(max(ends, key=lambda order: float(effects.expected(order[None])[0])).tolist())


def _climbed(effects: Effects, order: Ints) -> Ints:
    """The order after the best exchange or move of a task, as long as there is one."""
    while True:
        changed = np.array([*_neighbors_of(order)])
        expected = effects.expected(changed)
        if expected.max() <= effects.expected(order[None])[0] + 1e-12:
            return order
        order = changed[expected.argmax()]


def _neighbors_of(order: Ints) -> list[Ints]:
    """All orders in which two tasks have changed places, or one has moved."""
    changed = []
    for a, b in itertools.permutations(range(len(order)), 2):
        changed.append(np.insert(np.delete(order, a), b, order[a]))
        if a < b:
            swapped = order.copy()
            swapped[[a, b]] = swapped[[b, a]]
            changed.append(swapped)
    return changed
