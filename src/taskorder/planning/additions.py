"""Orders of tasks whose classes all compete in one output layer, no class in two of them, predicted from pairs.

A network that has learned one task has never named a class of another one, so tasks alone hardly tell orders apart. A
pair tells what an earlier task adds to a later one: with m_k what is known after task k alone, and M_ik after i and k,

    known after an order = m_k + sum of fade^(tasks between i and k) (M_ik - m_k)

where k is the last task and the sum is over all others. The first terms of the law of retention look the same, with
what it predicts of a pair in place of what was measured.

Of some twenty forms this one chose the best orders on frozen features of CIFAR-100, and was tested on others
(`python benchmarks/class_orders.py --help`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.constraints import Constraints
from taskorder.prefixes import Prefix

FADE, FADE_REPLAYED = 0.5, 0.9
"""Share of an addition that each task between leaves: without replay, and with it."""
SHARE_REPLAYED = 0.25
"""Of the differences between orders that a pilot of a learner with replay predicts, the part that real runs show."""


class Additions(NamedTuple):
    """What P tasks with classes of their own add to each other."""

    alone: Floats
    """(P, P) row k: what is known of every task after k alone."""
    more: Floats
    """(P, P, P) at [i, k]: what is known of every task after i and k, less what is known after k alone."""
    replayed: bool = False
    """Whether the learner replays examples of earlier tasks."""

    @classmethod
    def of(cls, known: Mapping[Prefix, Floats], num_tasks: int, *, replayed: bool = False) -> Additions:
        """From what is known after every task alone and after pairs; a pair that is missing is like the others.

        >>> known = {(0,): np.array([0.8, 0.0]), (1,): np.array([0.0, 0.6]), (0, 1): np.array([0.3, 0.5])}
        >>> additions = Additions.of(known, 2)
        >>> additions.more[0, 1].round(2).tolist(), additions.more[1, 0].round(2).tolist()
        ([0.3, -0.1], [-0.1, 0.3])
        """
        P = num_tasks
        alone = np.array([known[(task,)] for task in range(P)])
        more = np.zeros((P, P, P))
        pairs = list(itertools.permutations(range(P), 2))
        measured = [pair for pair in pairs if pair in known]
        for i, k in measured:
            more[i, k] = known[(i, k)] - alone[k]
        if measured and len(measured) < len(pairs):
            usual = [_by_part(more[pair], pair) for pair in measured]
            to_first, to_last, to_others = np.mean(usual, axis=0)
            for i, k in set(pairs) - set(measured):
                more[i, k] = to_others
                more[i, k, [i, k]] = to_first, to_last
        return cls(alone, more, replayed)

    @property
    def fade(self) -> float:
        """Share of an addition that each task between leaves."""
        return FADE_REPLAYED if self.replayed else FADE

    @property
    def share(self) -> float:
        """The part of predicted differences between orders that real runs show."""
        return SHARE_REPLAYED if self.replayed else 1.0

    def knowledge(self, orders: Ints, start: Floats, learned: Sequence[int] = ()) -> Floats:
        """(n, P) what is known after each of n orders that go on from `start`, when `learned` were learned.

        >>> additions = Additions(np.eye(2) / 2, np.array([[[0, 0], [0.4, 0]], [[0, 0.2], [0, 0]]]))
        >>> additions.knowledge(np.array([[0, 1], [1, 0]]), np.zeros(2)).tolist()
        [[0.4, 0.5], [0.5, 0.2]]
        """
        n, steps = orders.shape
        # what was measured at the start, beyond what additions say of it, fades as they do
        beyond = np.asarray(start) - self._after(np.array([learned], dtype=np.int64).reshape(1, -1))[0]
        whole = np.hstack([np.tile(np.array(learned, dtype=np.int64), (n, 1)), orders])
        known: Floats = np.minimum(self._after(whole) + self.fade**steps * beyond, 1.0)
        return known

    def _after(self, orders: Ints) -> Floats:
        """(n, P) what is known after whole orders."""
        n, steps = orders.shape
        if not steps:
            return np.zeros((n, len(self.alone)))
        last = orders[:, -1]
        known = self.alone[last].copy()
        for place in range(steps - 1):
            known += self.fade ** (steps - 2 - place) * self.more[orders[:, place], last]
        return known

    def path(self, order: Sequence[int], start: Floats, learned: Sequence[int] = ()) -> Floats:
        """(n + 1, P) the same of one order, before its first task and after each one.

        >>> additions = Additions(np.eye(2) / 2, np.array([[[0, 0], [0.4, 0]], [[0, 0.2], [0, 0]]]))
        >>> additions.path([0, 1], np.zeros(2)).tolist()
        [[0.0, 0.0], [0.5, 0.0], [0.4, 0.5]]
        """
        prefixes = (np.array([order[:count]], dtype=np.int64) for count in range(len(order) + 1))
        return np.concatenate([self.knowledge(prefix, start, learned) for prefix in prefixes])

    def best(self, weights: Floats, constraints: Constraints) -> Prefix:
        """A good allowed order: for each last task, those that add most to it come latest.

        Where nothing constrains the order, no other is better in the sum without its upper end of 1.

        >>> additions = Additions(np.eye(2) / 2, np.array([[[0, 0], [0.4, 0]], [[0, 0.2], [0, 0]]]))
        >>> [additions.best(np.full(2, 0.5), Constraints.of(2, last=last)) for last in (None, 0)]
        [(0, 1), (1, 0)]
        """
        tasks = constraints.open_tasks.tolist()
        alone, added = self.alone @ weights, self.more @ weights
        fades = self.fade ** np.arange(len(tasks), dtype=np.float64)

        def value(order: Sequence[int]) -> float:
            """Up to what is the same for all orders with this last task."""
            last = order[-1]
            before = added[[*constraints.learned, *order[:-1]], last]
            return float(alone[last] + before[::-1] @ self.fade ** np.arange(len(before)))

        def at_most(last: int) -> float:
            others = np.sort(added[[task for task in tasks if task != last], last])[::-1]
            learned = added[list(constraints.learned), last][::-1]
            behind = self.fade ** np.arange(len(others), len(others) + len(learned), dtype=np.float64)
            return float(alone[last] + others @ fades[: len(others)] + learned @ behind)

        best: Prefix = ()
        for last in sorted(tasks, key=at_most, reverse=True):
            if best and value(best) >= at_most(last):
                break
            if constraints.allows_ending((last,)):
                order = self._ending_with(last, added[:, last], constraints)
                best = order if not best or value(order) > value(best) else best
        return best

    def _ending_with(self, last: int, added: Floats, constraints: Constraints) -> Prefix:
        """The order that ends with `last` and takes, from its end, what adds most of all that may stand there."""
        ending: Prefix = (last,)
        rest = sorted((task for task in constraints.open_tasks.tolist() if task != last), key=lambda task: -added[task])
        while rest:
            task = next(task for task in rest if constraints.allows_ending((task, *ending)))
            rest.remove(task)
            ending = (task, *ending)
        return ending

    @property
    def differences(self) -> float:
        """How much what is known after pairs differs between pairs: the standard deviation of the sum over tasks, by
        the square root of their number, as knowledge of tasks that differ by themselves would have it."""
        after = (self.alone[None] + self.more).sum(axis=2)[~np.eye(len(self.alone), dtype=bool)]
        return float(self.share * after.std() / np.sqrt(len(self.alone))) if after.size else 0.0


def _by_part(more: Floats, pair: Prefix) -> tuple[float, float, float]:
    """What a pair adds to its first task, to its last one, and to others in the mean."""
    others = np.delete(more, pair)
    return float(more[pair[0]]), float(more[pair[1]]), float(others.mean()) if others.size else 0.0
