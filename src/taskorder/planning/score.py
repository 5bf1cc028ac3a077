"""The score that rehearsed orders are chosen by: what was rehearsed, and both rules of the paper, with equal votes.

    score = rehearsed / s_1 + typicality late / s_2 + dissimilar neighbors / s_3

rehearsed            mean affinity of all tasks after the rehearsed endings of the order (taskorder/rehearsal.py)
typicality late      sum over steps k of k times the typicality of the task at step k: periphery-to-core maximizes it
dissimilar neighbors minus the sum of the similarities of neighbors: max-path maximizes it

each over its standard deviation s over all orders (or many random ones). A pilot is small and noisy, and the three
err in different ways. Frozen after development on Fashion-MNIST task sets 0 to 49; docs/choose.md has what it earns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taskorder.checks import Floats
from taskorder.ordering.rules import typicality
from taskorder.planning.rehearsal import Rehearsal

Order = tuple[int, ...]
SMALLEST_SPREAD = 1e-9
"""What varies less than this between orders has no vote."""


def combined_score(
    rehearsal: Rehearsal,
    values: Floats,
    similarity: Floats,
    orders: Sequence[Order],
    reference: Sequence[Order],
    learned: Sequence[int] = (),
    weights: Floats | None = None,
) -> Floats:
    """The score of each of `orders`; more is better.

    values: (B, P) of the rehearsal. reference: the orders that spreads are taken over. learned: what came before.
    weights: (P,) how much each task counts.
    """
    # a beam knows only the last two tasks of an order that it did not follow
    common = 2 if rehearsal.level == "beam" else None
    rehearsed = rehearsal.score(orders, values, None, weights), rehearsal.score(reference, values, common, weights)
    late = typicality_late(similarity, orders, weights), typicality_late(similarity, reference, weights)
    apart = dissimilar_neighbors(similarity, orders, learned), dissimilar_neighbors(similarity, reference, learned)
    total = np.zeros(len(orders))
    for part, among in (rehearsed, late, apart):
        spread = float(among.std())
        if spread > SMALLEST_SPREAD:
            total += (part - among.mean()) / spread
    return total


def typicality_late(similarity: Floats, orders: Sequence[Order], weights: Floats | None = None) -> Floats:
    """Of each order the sum over steps k = 1, 2, ... of k times the typicality of the task at step k.

    With weights w the typicality of a task is the sum of w times its similarity to all tasks, itself among them: what
    counts much comes late. With equal weights that adds the same to every order. It was the best of four ways on
    Fashion-MNIST task sets 0 to 49 with random weights.

    >>> typicality_late(np.array([[1, 0.5, 0.5], [0.5, 1, 0], [0.5, 0, 1]]), [(1, 2, 0), (0, 1, 2)])
    array([4.5, 3.5])
    """
    typical = typicality(similarity) if weights is None else (similarity + similarity.T) / 2 @ weights / weights.mean()
    table = typical[np.array(orders)]
    return np.asarray(table @ np.arange(1, table.shape[1] + 1))


def dissimilar_neighbors(similarity: Floats, orders: Sequence[Order], learned: Sequence[int] = ()) -> Floats:
    """Of each order minus the sum of the similarities of tasks that follow each other.

    >>> dissimilar_neighbors(np.array([[1, 0.5, 0.25], [0.5, 1, 0], [0.25, 0, 1]]), [(1, 2, 0), (0, 1, 2)])
    array([-0.25, -0.5 ])
    """
    ways = np.array([(*learned[-1:], *order) for order in orders])
    return np.asarray(-similarity[ways[:, :-1], ways[:, 1:]].sum(axis=1))
