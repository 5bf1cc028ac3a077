"""Orders of tasks that each have a head of their own, predicted from pairs.

A network that has learned one task says nothing of another one's head, which nobody has trained. So the transfer table
holds the tasks alone, and what orders differ in is what pairs show:

    gain    what learning i first adds to j: M_ij - m_jj, the knowledge of j after i and j, and after j alone
    kept    what learning k leaves of j: M_jk / m_jj, the knowledge of j after j and k, and after j alone

After an order task j is known as well as alone, plus the gains from all tasks before it, times what each later one
leaves. Of six candidates this ranked real orders best (`python benchmarks/heads.py digits`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.prefixes import Prefix

LEAST_KNOWN = 0.05
"""Below this knowledge nobody can say what share of it is kept."""
UNSEEN_OF_HEADS = 4.2
"""What a pilot cannot show of an order, as a multiple of how much it matters which of two tasks comes first."""
MOST_SWEEPS = 50
"""Of the search among orders that are too many to list."""


class PairEffects(NamedTuple):
    """What P tasks do to each other, each with a head of its own."""

    alone: Floats
    """(P,) knowledge of each task after it alone."""
    gain: Floats
    """(P, P) row i, column j: what i before j adds to j."""
    kept: Floats
    """(P, P) row j, column k: the share of j that k leaves."""

    @classmethod
    def of(cls, known: Mapping[Prefix, Floats], num_tasks: int) -> PairEffects:
        """From what is known after every task alone and after pairs; a pair that is missing is like the others.

        >>> known = {(0,): np.array([0.8, 0.0]), (1,): np.array([0.1, 0.5]), (0, 1): np.array([0.6, 0.7])}
        >>> effects = PairEffects.of(known, 2)
        >>> effects.gain.round(2).tolist(), effects.kept.round(2).tolist()
        ([[0.0, 0.2], [0.2, 0.0]], [[1.0, 0.75], [0.75, 1.0]])
        """
        alone = np.array([known[(task,)][task] for task in range(num_tasks)])
        gain, kept = np.full((2, num_tasks, num_tasks), np.nan)
        for i, j in (sequence for sequence in known if len(sequence) == 2):
            gain[i, j] = known[(i, j)][j] - alone[j]
            kept[i, j] = max(0.0, known[(i, j)][i] / alone[i]) if alone[i] > LEAST_KNOWN else 1.0
        for table, neutral in ((gain, 0.0), (kept, 1.0)):
            measured = table[~np.isnan(table)]
            table[np.isnan(table)] = measured.mean() if measured.size else neutral
            np.fill_diagonal(table, neutral)
        return cls(alone, gain, kept)

    def knowledge(self, orders: Ints, start: Floats, learned: Sequence[int] = ()) -> Floats:
        """(n, P) what is known after each of n orders that go on from `start`, when `learned` were learned.

        >>> effects = PairEffects(np.array([0.8, 0.5]), np.array([[0, 0.2], [0, 0]]), np.array([[1, 0.75], [1, 1]]))
        >>> effects.knowledge(np.array([[0, 1], [1, 0]]), np.zeros(2)).round(2).tolist()
        [[0.6, 0.7], [0.8, 0.5]]
        """
        rows = np.arange(len(orders))
        known = np.tile(np.maximum(start, 0.0), (len(orders), 1))
        before = np.zeros_like(known)
        before[:, list(learned)] = 1
        for k in orders.T:
            known *= self.kept[:, k].T
            known[rows, k] = self.alone[k] + (before * self.gain[:, k].T).sum(axis=1)
            before[rows, k] = 1
            np.minimum(known, 1.0, out=known)
        return known

    def worth(self, weights: Floats) -> Floats:
        """(P, P) what i before j is worth, to first order."""
        lost = (self.kept - 1) * self.alone[:, None]
        return np.asarray(self.gain * weights + lost * weights[:, None])

    @property
    def share(self) -> float:
        """The part of predicted differences between orders that real runs show: all, as far as anybody knows."""
        return 1.0

    @property
    def unseen(self) -> float:
        """What a pilot cannot show of an order, in the unit of the spread of a table of tasks alone."""
        return UNSEEN_OF_HEADS * self.differences

    @property
    def differences(self) -> float:
        """How much it matters which of two tasks comes first: the standard deviation over pairs, in knowledge."""
        worth = self.worth(np.ones(len(self.alone)))
        ahead = (worth - worth.T)[np.triu_indices(len(worth), 1)] / 2
        return float(np.sqrt(np.mean(ahead**2))) if ahead.size else 0.0


def pairwise_better(order: Sequence[int], worth: Floats, allows: Callable[[Prefix], bool]) -> Prefix:
    """The order after tasks were moved one by one to where they add most, as long as that helps and is allowed.

    worth: (P, P) what i before j is worth.

    >>> pairwise_better((0, 1, 2), np.array([[0.0, 0, 0], [0, 0, 1], [2, 0, 0]]), lambda order: True)
    (1, 2, 0)
    """
    now = list(order)
    for _ in range(MOST_SWEEPS):
        before = tuple(now)
        for task in order:
            now = _best_place(now, task, worth, allows)
        if tuple(now) == before:
            break
    return tuple(now)


def _best_place(order: list[int], task: int, worth: Floats, allows: Callable[[Prefix], bool]) -> list[int]:
    """The order with a task at the place where it adds most of those that are allowed."""
    here = order.index(task)
    rest = order[:here] + order[here + 1 :]
    # what the task is worth at each place among the others
    ahead = np.concatenate([[0.0], np.cumsum(worth[rest, task] - worth[task, rest])])
    for place in np.argsort(-ahead, kind="stable").tolist():
        if ahead[place] <= ahead[here] + 1e-12:
            break
        moved = (*rest[:place], task, *rest[place:])
        if allows(moved):
            return list(moved)
    return order


def grouped_better(
    order: Sequence[int], worth: Floats, allows: Callable[[Prefix], bool], groups: Sequence[Sequence[int]]
) -> Prefix:
    """The same with tasks that stay together: groups are moved as wholes, and then the tasks inside them.

    >>> worth = np.array([[0.0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]])
    >>> together = lambda order: abs(order.index(0) - order.index(1)) == abs(order.index(2) - order.index(3)) == 1
    >>> pairwise_better((0, 1, 2, 3), worth, together), grouped_better((0, 1, 2, 3), worth, together, [(0, 1), (2, 3)])
    ((0, 1, 3, 2), (3, 2, 0, 1))
    """
    group_of = {task: -1 - number for number, group in enumerate(groups) for task in group}
    pieces = [tuple(piece) for _, piece in itertools.groupby(order, lambda task: group_of.get(task, task))]
    between = np.array([[worth[np.ix_(one, other)].sum() for other in pieces] for one in pieces])

    def joined(places: Sequence[int]) -> Prefix:
        return tuple(itertools.chain.from_iterable(pieces[place] for place in places))

    wholes = pairwise_better(range(len(pieces)), between, lambda places: allows(joined(places)))
    return pairwise_better(joined(wholes), worth, allows)
