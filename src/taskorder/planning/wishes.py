"""What a user asks of an order besides that it is good: what comes first, last or before what, and what counts most."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import Floats, task_index, task_weights
from taskorder.ordering.constraints import Bools, learned_tasks, open_tasks, precedence, task_pairs
from taskorder.ordering.sampling import random_orders
from taskorder.ordering.solve import WITHOUT_WEIGHTS
from taskorder.planning.rehearsal import LISTED

Order = tuple[int, ...]
MOST_COMPARED = 720
"""Random orders to compare with, where there are more."""


@dataclass(frozen=True, eq=False)
class Wishes:
    """Which orders are allowed, and how much each task counts; tasks by index."""

    names: tuple[str, ...]
    learned: tuple[int, ...]
    """Tasks already learned, in that order."""
    before: tuple[tuple[int, int], ...]
    first: int | None
    last: int | None
    weights: Floats | None
    """(P,) importance of each task; None where all count the same."""
    precedes: Bools
    """(P, P) what comes before what among the tasks to order, all of the above in one table."""

    @property
    def places(self) -> Order:
        """The tasks to order."""
        return tuple(open_tasks(self.names, self.learned).tolist())

    @property
    def leave_one(self) -> bool:
        """Whether only one order is allowed."""
        size = len(self.places)
        return int(self.precedes.sum()) == size * (size - 1) // 2

    def may_end(self, ending: Sequence[int]) -> bool:
        """Whether an allowed order can end so; of a whole order, whether it is allowed."""
        if not self.precedes.any():
            return True
        inside = list(ending)
        outside = [place for place in self.places if place not in ending]
        return not (
            np.tril(self.precedes[np.ix_(inside, inside)]).any() or self.precedes[np.ix_(inside, outside)].any()
        )

    def orders(self, rng: np.random.Generator) -> list[Order]:
        """All allowed orders of up to six tasks; of more, random ones."""
        places = self.places
        if len(places) <= LISTED:
            return [order for order in itertools.permutations(places) if self.may_end(order)]
        drawn = random_orders(self.precedes[np.ix_(places, places)], MOST_COMPARED, rng)
        return list(dict.fromkeys(tuple(order) for order in np.array(places)[drawn].tolist()))

    def options(self, rule: str | None = None) -> dict[str, Any]:
        """The options of `solve`; without weights for a rule that cannot use them."""
        return {
            "learned": list(self.learned), "before": self.before, "first": self.first, "last": self.last,
            "weights": None if rule in WITHOUT_WEIGHTS else self.weights,
        }  # fmt: skip

    def from_the_start(self) -> Wishes:
        """The same wishes, had nothing been learned yet; `first` was about what comes next and goes."""
        return checked_wishes(self.names, before=self.before, last=self.last, weights=self.weights)


def checked_wishes(
    names: Sequence[str],
    *,
    learned: Iterable[str | int] = (),
    before: Iterable[tuple[str | int, str | int]] = (),
    first: str | int | None = None,
    last: str | int | None = None,
    weights: ArrayLike | Mapping[str, float] | None = None,
) -> Wishes:
    """The wishes, checked; tasks are given by name or index. weights: one number a task, or some by name, others 1.

    >>> checked_wishes("ABC", before=[("C", "A")], last="B").orders(np.random.default_rng(0))
    [(2, 0, 1)]
    """
    known = tuple(names)
    past = tuple(learned_tasks(known, learned).tolist())
    if len(past) == len(known):
        raise ValueError("`learned` must leave at least one task to order, got all of them.")
    importance = None
    if weights is not None:
        if isinstance(weights, Mapping):
            given = {task_index(name, known, "weights"): weight for name, weight in weights.items()}
            weights = [given.get(place, 1.0) for place in range(len(known))]
        importance = task_weights(weights, len(known))
    pairs = tuple(task_pairs(before, known))
    places = open_tasks(known, past)
    precedes = np.zeros((len(known), len(known)), dtype=np.bool_)
    precedes[np.ix_(places, places)] = precedence(places, known, pairs, first, last, past)
    ends = [None if task is None else task_index(task, known, "") for task in (first, last)]
    return Wishes(known, past, pairs, ends[0], ends[1], importance, precedes)
