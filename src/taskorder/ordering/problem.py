"""What is left to order, in the one form that every solver shares.

Let r be the residual row vector after the tasks learned so far, W the diagonal task weights and v_j the residual of
task j at the moment it is visited. Visiting all open tasks once leaves the error

    e - 2 h.v + v G v^T,    e = r W r^T,  h = r W C,  G = C W C,

so an open problem is (e, r, h, G, C) restricted to the open tasks. Learned tasks, weights, a general output similarity
(one row r and h for each row of a factor of Co) and a fixed ending all change these numbers, never the solver.
Negating (e, h, G) turns minimizing into maximizing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.machine import cores, one_blas_thread
from taskorder.ordering.clock import STEPS_AT_ONCE, Clock, while_time
from taskorder.ordering.groups import in_place, part_of_groups
from taskorder.ordering.many_rows import COMPILED, after_visits, errors_by_rows
from taskorder.theory.closed_form import output_factor

FIRST_ORDERS, STEP_SECONDS = 2, 5e-10
"""Orders that a search takes the errors of before it looks at the clock, and what a step of one takes on one core."""


@dataclass(frozen=True)
class Problem:
    """n open visits and the state that decides which sequence of them ends with the least error."""

    tasks: Ints
    """(n,) task index of each visit; a task that is visited twice stands here twice."""
    e: float
    """Weighted error now."""
    r: Floats
    """(k, n) residuals of the open visits, one row for each row of the factor of Co."""
    h: Floats
    """(k, n) = (r W C) on the open visits."""
    C: Floats
    """(n, n) similarity between open visits."""
    G: Floats
    """(n, n) = (C W C) on the open visits."""
    precedes: np.ndarray
    """(n, n) bool, transitively closed: precedes[a, b] means visit a comes before visit b."""
    together: Ints | None = None
    """(n,) the smallest visit of the group of each visit (ordering/groups.py); None without groups."""

    @property
    def size(self) -> int:
        """Number of open visits."""
        return len(self.tasks)

    @property
    def multiplier(self) -> float:
        """A first guess at the multiplier of the lower bound: a tenth of a typical weight."""
        return 0.1 * abs(float(np.trace(self.G))) / float((self.C * self.C).sum())

    def negated(self) -> Problem:
        """The problem whose smallest error is minus the largest error of this one."""
        return replace(self, e=-self.e, h=-self.h, G=-self.G)

    def error(self, order: Ints) -> float:
        """The error after visiting positions `order`, a permutation of range(n); O(k n^2)."""
        return float(self.errors(order[None])[0])

    def error_at_once(self, order: Ints) -> float:
        """`error` to rounding, e - 2 h.v + v G v^T with v from one triangular system: faster with many rows of r."""
        from scipy.linalg import solve_triangular

        C, G = self.C[np.ix_(order, order)], self.G[np.ix_(order, order)]
        v = solve_triangular(C, self.r[:, order].T, trans="T", unit_diagonal=True, check_finite=False).T
        return self.e - float((v * (2 * self.h[:, order] - v @ G)).sum())

    def time_for_orders(self, clock: Clock) -> bool:
        """Whether there is time for the orders that a search begins with; where they take little, it is not asked."""
        steps = self.r.size * self.size
        return steps <= STEPS_AT_ONCE or clock.room(FIRST_ORDERS * STEP_SECONDS * steps / cores())

    def errors(self, orders: Ints, clock: Clock | None = None) -> Floats:
        """(b,) errors of many orders, (b, n) positions; fewer, of the first ones, where the time is over before."""
        return np.asarray(self.error_paths(orders, clock)[:, -1])

    def error_paths(self, orders: Ints, clock: Clock | None = None) -> Floats:
        """(b, n + 1) the error of many orders before the first step and after each one; the last column is `errors`."""
        steps = self.r.size * self.size
        if steps > COMPILED:
            return while_time(lambda order: errors_by_rows(self, order[0])[None], orders, steps, clock, at_once=1)
        return while_time(self._advanced, orders, steps, clock)

    def _advanced(self, orders: Ints) -> Floats:
        """The same of some orders that are all advanced together; 16 b k n bytes of state."""
        rows = np.arange(len(orders))
        paths = np.full((len(orders), orders.shape[1] + 1), self.e)
        r, h = (np.repeat(state[None], len(orders), axis=0) for state in (self.r, self.h))
        for step, j in enumerate(orders.T):
            v = r[rows, :, j]
            paths[:, step + 1] = paths[:, step] - (v * (2 * h[rows, :, j] - v * self.G[j, j][:, None])).sum(axis=1)
            r -= v[:, :, None] * self.C[j][:, None]
            h -= v[:, :, None] * self.G[j][:, None]
        return paths

    def holding(self, order: Ints) -> Problem:
        """The problem in which the groups stay where they are in `order`; what obeys it keeps them together."""
        if self.together is None:
            return self
        return replace(self, precedes=in_place(order, self.precedes, self.together), together=None)

    def part(self, visits: Ints) -> Problem:
        """The problem of ordering only some of the visits."""
        return Problem(
            tasks=self.tasks[visits],
            e=self.e,
            r=np.ascontiguousarray(self.r[:, visits]),
            h=np.ascontiguousarray(self.h[:, visits]),
            C=np.ascontiguousarray(self.C[np.ix_(visits, visits)]),
            G=np.ascontiguousarray(self.G[np.ix_(visits, visits)]),
            precedes=np.ascontiguousarray(self.precedes[np.ix_(visits, visits)]),
            together=part_of_groups(self.together, visits),
        )


@one_blas_thread()
def open_problem(
    similarity: Floats,
    output: Floats | None,
    weights: Floats,
    learned: Ints,
    tasks: Ints,
    precedes: np.ndarray,
    together: Ints | None = None,
    *,
    rows: Floats | None = None,
) -> Problem:
    """The problem that is left after `learned`, with `tasks` to visit; rows: the factor of `output`, if it is known."""
    r = after_visits(output_factor(output, len(similarity)) if rows is None else rows, similarity, learned)
    C = np.ascontiguousarray(similarity[np.ix_(tasks, tasks)])
    rows = similarity[tasks]
    return Problem(
        tasks=tasks,
        e=float((r * r).sum(axis=0) @ weights),
        r=np.ascontiguousarray(r[:, tasks]),
        h=np.ascontiguousarray((r * weights) @ rows.T),
        C=C,
        G=np.ascontiguousarray((rows * weights) @ rows.T),
        precedes=precedes,
        together=together,
    )
