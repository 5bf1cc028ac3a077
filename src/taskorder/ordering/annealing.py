"""One order on its way down: annealing of groups of tasks, with undo."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Ints
from taskorder.ordering.clock import Clock
from taskorder.ordering.problem import Problem

COOLING = 1 / 30
"""Last temperature of an annealing, as a share of the first."""
SLICE = 1e8
"""Cost (about nanoseconds) between two looks at the clock."""
MAX_FRESH = 300
"""Up to this many tasks the state is computed anew after each success, so that rounding errors never pile up."""


class Walker:
    """An order of one problem with its kernel state, improved by annealing groups of tasks."""

    def __init__(self, problem: Problem, order: Ints, random: NDArray[np.uint64], clock: Clock) -> None:
        self.problem, self.random, self.clock = problem, random, clock
        self.cost = 0.0
        self.best, self.best_order = np.inf, order.copy()
        self.reset(order)

    def reset(self, order: Ints) -> None:
        """Take another order."""
        from taskorder.ordering.order_state import state

        self.state = state(self.problem, order)
        self.cost += 0.2 * self.problem.size**3 + 1e5

    def walk(self, members: Ints, steps: int, hot: float, cold: float) -> None:
        """Heat-bath moves of `members`, in slices; hot = 0 is descent."""
        from taskorder.ordering.kernels.anneal import walk

        n, now, done = self.problem.size, self.state, 0
        while done < steps and self.clock.left > 0:
            count = min(steps - done, max(4, int(SLICE / (n * n * (1.3 + n / 300) + 500))))
            ends = [hot * (cold / hot) ** (at / steps) if hot else 0.0 for at in (done, done + count)]
            now.error, self.best, cost = walk(
                count, ends[0], ends[1], members, now.error, now.order, now.pos, now.v, now.f, self.problem.C,
                now.A, now.Phi, self.problem.precedes, self.best_order, self.best, self.random,
            )  # fmt: skip
            self.cost += cost
            done += count

    def cycle(self, members: Ints, steps: int, hot: float) -> None:
        """Anneal `members` with `steps` moves each and descend; undo it if the error rose."""
        before = self.state
        self.state = before.copy()
        self.cost += 0.5 * self.problem.size**2 + 1e5
        self.walk(members, steps * len(members), hot, COOLING * hot)
        self.walk(members, 3 * len(members), 0.0, 0.0)
        least = min(before.error, self.state.error)
        if self.best < least - 1e-9 * abs(least):
            self.reset(self.best_order)
        elif self.state.error < before.error and self.problem.size <= MAX_FRESH:
            self.reset(self.state.order)
        if not self.state.error <= before.error:
            self.state = before
        self.best = self.state.error
