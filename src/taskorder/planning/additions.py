"""Predicts orders from pairs, where all classes share one output layer and no class is in two tasks.

A network that has learned one task has never named a class of another one, so tasks alone hardly tell orders apart. A
pair tells what an earlier task adds to a later one. With m_k what is known of all tasks after task k alone, and M_ik
after i and k, let A_ik = M_ik - m_k. For task i itself this is what is left of it; for k and all others it is what
learning i first changes. An order with the last task k, and n_i tasks between i and k, ends with

    task i        m_k + fade^n_i A_ik
    all others    m_k + the mean of A_ik over the earlier tasks i, with the weights fade^n_i

where each earlier task also counts with 0 in the mean of its own effects. If tasks alone know nothing of each other,
the law of retention says the same, with its retention as `fade`.

On test sets its orders earned neither more nor less than those of the law, as far as can be told, but its intervals
held what came true, and the law's did not (`benchmarks/class_orders.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.constraints import Constraints
from taskorder.prefixes import Prefix

FADE, FADE_REPLAYED = 0.5, 0.9
"""Share of an addition that each task between leaves: without replay, and with it."""
SHARE_REPLAYED = 0.35
"""Of the differences between orders that a pilot of a learner with replay predicts, the part that real runs show."""
UNSEEN_OF_PAIRS = 3.9
"""What a pilot cannot show of an order, as a multiple of how much pairs differ in what is known after them."""
MOST_ROUNDS = 5
"""Of the moves that improve an order under constraints."""


class Additions(NamedTuple):
    """What P tasks with classes of their own add to each other."""

    alone: Floats
    """(P, P) row k: what is known of every task after k alone."""
    own: Floats
    """(P, P) at [i, k]: what is left of task i after i and k."""
    others: Floats
    """(P, P, P) at [i, k]: what learning i before k changes for every task but i, for which it is 0."""
    fade: float = FADE
    """Share of an addition that each task between leaves."""
    share: float = 1.0
    """The part of predicted differences between orders that real runs show."""
    measured: float = 1.0
    """The share of the pairs that were measured."""

    @classmethod
    def of(cls, known: Mapping[Prefix, Floats], num_tasks: int, *, fade: float = FADE, share: float = 1.0) -> Additions:
        """From what is known after every task alone and after pairs; a pair that is missing is like the others.

        >>> known = {(0,): np.array([0.8, 0.0]), (1,): np.array([0.0, 0.6]), (0, 1): np.array([0.3, 0.5])}
        >>> additions = Additions.of(known, 2)
        >>> additions.own.round(2).tolist(), additions.others[0, 1].round(2).tolist()
        ([[0.0, 0.3], [0.3, 0.0]], [0.0, -0.1])
        """
        P = num_tasks
        alone = np.array([known[(task,)] for task in range(P)])
        own, others = np.zeros((P, P)), np.zeros((P, P, P))
        pairs = list(itertools.permutations(range(P), 2))
        measured = [pair for pair in pairs if pair in known]
        for i, k in measured:
            others[i, k] = known[(i, k)] - alone[k]
            own[i, k], others[i, k, i] = others[i, k, i], 0.0
        if measured and len(measured) < len(pairs):
            usual = np.mean([own[pair] for pair in measured])
            to_last = np.mean([others[i, k, k] for i, k in measured])
            to_third = np.mean([others[i, k].sum() - others[i, k, k] for i, k in measured]) / max(1, P - 2)
            for i, k in set(pairs) - set(measured):
                own[i, k], others[i, k] = usual, to_third
                others[i, k, [i, k]] = 0.0, to_last
        return cls(alone, own, others, fade, share, len(measured) / max(1, len(pairs)))

    def knowledge(self, orders: Ints, start: Floats, learned: Sequence[int] = ()) -> Floats:
        """(n, P) what is known after each of n orders that go on from `start`, when `learned` were learned.

        >>> additions = Additions(np.eye(2) / 2, np.array([[0, 0.2], [0.4, 0]]), np.zeros((2, 2, 2)))
        >>> additions.knowledge(np.array([[0, 1], [1, 0]]), np.zeros(2)).tolist()
        [[0.2, 0.5], [0.5, 0.4]]
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
        rows, last, fades = np.arange(n), orders[:, -1], self._fades(steps)
        known = self.alone[last].copy()
        for task, fade in zip(orders[:, :-1].T, fades, strict=True):
            known += fade / fades.sum() * self.others[task, last]
            known[rows, task] += fade * self.own[task, last]
        return known

    def _fades(self, steps: int) -> Floats:
        """(steps - 1,) how much of the addition of each earlier task is left."""
        return np.asarray(self.fade ** np.arange(steps - 2, -1, -1, dtype=np.float64))

    def best(self, weights: Floats, constraints: Constraints) -> Prefix:
        """A good allowed order: for each last task, those that add most to it come latest.

        Without constraints it is the best one, if sums above 1 are not cut.

        >>> additions = Additions(np.eye(2) / 2, np.array([[0, 0.2], [0.4, 0]]), np.zeros((2, 2, 2)))
        >>> [additions.best(np.full(2, 0.5), Constraints.of(2, last=last)) for last in (None, 1)]
        [(1, 0), (0, 1)]
        """
        tasks, learned = constraints.open_tasks.tolist(), list(constraints.learned)
        fades = self._fades(len(learned) + len(tasks))
        alone = self.alone @ weights
        added = self.own * weights[:, None] + (self.others @ weights) / max(1e-9, fades.sum())

        def value(order: Sequence[int]) -> float:
            *before, last = order
            return float(alone[last] + added[[*learned, *before], last] @ fades)

        def at_most(last: int) -> float:
            others = np.sort(added[[task for task in tasks if task != last], last])
            return float(alone[last] + np.concatenate([added[learned, last], others]) @ fades)

        best: Prefix = ()
        for last in sorted(tasks, key=at_most, reverse=True):
            if best and value(best) >= at_most(last):
                break
            if constraints.allows_ending((last,)):
                order = _ending_with(last, added[:, last], constraints)
                best = order if not best or value(order) > value(best) else best
        return moved(best, value, constraints.allows) if constraints.before or constraints.groups else best

    @property
    def unseen(self) -> float:
        """What a pilot cannot show of an order, in the unit of the spread of a table of tasks alone."""
        P = len(self.alone)
        if P < 2 or not self.measured:
            return 0.0
        after = self.alone.sum(axis=1)[None] + self.own + self.others.sum(axis=2)
        spread = float(after[~np.eye(P, dtype=bool)].std())
        return UNSEEN_OF_PAIRS * self.share * spread / float(np.sqrt(P)) / self.measured


def _ending_with(last: int, added: Floats, constraints: Constraints) -> Prefix:
    """The order that ends with `last` and takes, from its end, what adds most of all that may stand there."""
    ending: Prefix = (last,)
    rest = sorted((task for task in constraints.open_tasks.tolist() if task != last), key=lambda task: -added[task])
    while rest:
        task = next(task for task in rest if constraints.allows_ending((task, *ending)))
        rest.remove(task)
        ending = (task, *ending)
    return ending


def moved(order: Prefix, value: Callable[[Prefix], float], allows: Callable[[Prefix], bool]) -> Prefix:
    """The order after single tasks were moved to other places, as long as that helps and is allowed.

    >>> moved((0, 1, 2), lambda order: -order.index(0) + order.index(2), lambda order: order.index(1) > 0)
    (0, 1, 2)
    >>> moved((2, 1, 0), lambda order: -order.index(0) + order.index(2), lambda order: order.index(1) > 0)
    (0, 1, 2)
    """
    for _ in range(MOST_ROUNDS):
        before = order
        for task in before:
            rest = tuple(other for other in order if other != task)
            places = ((*rest[:place], task, *rest[place:]) for place in range(len(order)))
            order = max([order, *filter(allows, places)], key=value)
        if order == before:
            break
    return order
