"""What is left to order under the law of retention (theory/law.py), in the form that its solvers share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taskorder.checks import Bools, Floats, Ints
from taskorder.ordering.clock import Clock, while_time


@dataclass(frozen=True, eq=False)
class LawProblem:
    """n open visits, and the state that decides which sequence of them ends with the most knowledge."""

    tasks: Ints
    """(n,) task index of each visit; a task that is visited twice stands here twice."""
    rows: Floats
    """(n, P) row of the transfer table of each visit."""
    retention: Floats
    """(n,) share of its knowledge that the learner keeps at each visit."""
    start: Floats
    """(P,) knowledge before the first visit."""
    weights: Floats
    """(P,) what a unit of knowledge (objective score) or of squared error (objective error) counts."""
    precedes: Bools
    """(n, n) transitively closed: precedes[a, b] means visit a comes before visit b."""
    objective: str = "score"
    together: Ints | None = None
    """(n,) the smallest visit of the group of each visit (ordering/groups.py); None without groups."""

    @property
    def size(self) -> int:
        """Number of open visits."""
        return len(self.tasks)

    @property
    def sign(self) -> int:
        """What turns a value into a cost: -1 for a score, which is to be large, 1 for an error."""
        return -1 if self.objective == "score" else 1

    def valued(self, knowledge: Floats) -> Floats:
        """The score or error of states of knowledge, (..., P)."""
        return np.asarray((knowledge if self.objective == "score" else (1 - knowledge) ** 2) @ self.weights)

    def value(self, order: Ints) -> float:
        """The score or error after visiting positions `order`, a permutation of range(n)."""
        return float(self.values(order[None])[0])

    def values(self, orders: Ints, clock: Clock | None = None) -> Floats:
        """(b,) scores or errors of many orders, (b, n) positions; fewer, of the first ones, where the time is over
        before."""
        return self.valued(while_time(self._states, orders, self.size * len(self.start), clock))

    def _states(self, orders: Ints) -> Floats:
        """(b, P) knowledge after many orders, all advanced together.

        Orders next to each other share the states of their common beginning: of all orders, listed in lexicographic
        order, a third of the states is left to compute.
        """
        fresh = np.ones(orders.shape, dtype=np.bool_)  # whether a beginning is another than that of the order above
        np.logical_or.accumulate(orders[1:] != orders[:-1], axis=1, out=fresh[1:])
        state, row = self.start[None].copy(), np.zeros(len(orders), dtype=np.int64)
        for step in range(self.size):
            heads = np.flatnonzero(fresh[:, step])
            state = state[row[heads]]
            self._advance(state, orders[heads, step])
            row = np.cumsum(fresh[:, step]) - 1
        return np.asarray(state[row])

    def value_paths(self, orders: Ints) -> Floats:
        """(b, n + 1) the score or error of many orders before the first visit and after each one."""
        state = np.tile(self.start, (len(orders), 1))
        paths = np.empty((len(orders), self.size + 1))
        paths[:, 0] = self.valued(state)
        for step, visits in enumerate(orders.T):
            self._advance(state, visits)
            paths[:, step + 1] = self.valued(state)
        return paths

    def _advance(self, state: Floats, visits: Ints) -> None:
        """Learn one visit in every state, in place."""
        state *= self.retention[visits][:, None]
        state += self.rows[visits] * (1 - state[np.arange(len(state)), self.tasks[visits]])[:, None]
