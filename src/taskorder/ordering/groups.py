"""Groups of visits that stay together, as `Constraints.together` gives them.

together[v] is the smallest visit of the group of visit v; a visit that is free to stand alone is a group of one. None
stands for no groups at all. Precedence never divides a group: what must come before one of its visits comes before all
of them. So an allowed order is an allowed order of whole groups with an allowed one inside each, chosen independently.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Bools, Floats, Ints
from taskorder.ordering.precedence import respects

DECIMALS = 12
"""Means of keys that agree to so many decimals are the same."""


def keeps_groups(orders: Ints, together: Ints | None) -> Bools:
    """(b,) whether the visits of each group follow each other in each of many orders, (b, n).

    >>> keeps_groups(np.array([[1, 0, 2], [0, 2, 1]]), np.array([0, 0, 2])).tolist()
    [True, False]
    """
    if together is None:
        return np.ones(len(orders), dtype=np.bool_)
    labels = together[orders]
    return np.asarray((labels[:, 1:] != labels[:, :-1]).sum(axis=1) == len(np.unique(together)) - 1)


def members(together: Ints) -> list[Ints]:
    """The visits of each group, groups by their smallest visit.

    >>> [group.tolist() for group in members(np.array([0, 1, 0]))]
    [[0, 2], [1]]
    """
    return [np.flatnonzero(together == head) for head in np.unique(together)]


def part_of_groups(together: Ints | None, visits: Ints) -> Ints | None:
    """The groups among some of the visits, which are counted anew."""
    if together is None:
        return None
    labels = together[visits]
    heads = np.array([np.flatnonzero(labels == label)[0] for label in labels], dtype=np.int64)
    return None if len(np.unique(heads)) in (1, len(heads)) else heads


def count_orders(together: Ints) -> int:
    """How many orders keep the groups together, precedence aside.

    >>> count_orders(np.array([0, 0, 2]))
    4
    """
    sizes = np.bincount(together)
    return math.factorial(int((sizes > 0).sum())) * math.prod(math.factorial(int(size)) for size in sizes)


def grouped_orders(together: Ints, precedes: Bools) -> Ints:
    """(b, n) every order that keeps the groups together and every precedence, in lexicographic order.

    >>> grouped_orders(np.array([0, 0, 2]), np.zeros((3, 3), dtype=bool)).tolist()
    [[0, 1, 2], [1, 0, 2], [2, 0, 1], [2, 1, 0]]
    """
    groups = members(together)
    heads = np.unique(together)
    wholes = list(_permutations(precedes[np.ix_(heads, heads)]))
    inner = [[group[order].tolist() for order in _permutations(precedes[np.ix_(group, group)])] for group in groups]
    rows = [[visit for k in whole for visit in chosen[k]] for chosen in itertools.product(*inner) for whole in wholes]
    orders = np.array(rows, dtype=np.int64)
    return np.asarray(orders[np.lexsort(orders.T[::-1])])


def _permutations(precedes: Bools) -> Iterator[Ints]:
    """Every order that keeps the precedence."""
    for order in itertools.permutations(range(len(precedes))):
        positions = np.array(order, dtype=np.int64)
        if respects(positions, precedes):
            yield positions


def ascending(key: Floats, precedes: Bools, together: Ints | None = None) -> Ints:
    """Positions by ascending key; under precedence the smallest key among the allowed goes next.

    A group stands where the mean of its keys ranks, and is sorted inside.

    >>> ascending(np.array([2., 1., 3.]), np.zeros((3, 3), dtype=bool)).tolist()
    [1, 0, 2]
    >>> ascending(np.array([5., 1., 0., 2.]), np.zeros((4, 4), dtype=bool), np.array([0, 1, 0, 3])).tolist()
    [1, 3, 2, 0]
    """
    if together is not None:
        groups, heads = members(together), np.unique(together)
        means = np.round([key[group].mean() for group in groups], DECIMALS)
        inner = [group[ascending(key[group], precedes[np.ix_(group, group)])] for group in groups]
        return np.concatenate([inner[k] for k in ascending(means, precedes[np.ix_(heads, heads)])])
    if not precedes.any():
        return np.argsort(key, kind="stable").astype(np.int64)
    pending = precedes.sum(axis=0)
    order = np.empty(len(key), dtype=np.int64)
    for step in range(len(key)):
        allowed = np.flatnonzero(pending == 0)
        order[step] = best = allowed[key[allowed].argmin()]
        pending = pending - precedes[best]
        pending[best] = -1
    return order


def regrouped(order: Ints, precedes: Bools, together: Ints | None) -> Ints:
    """An order with its groups put together, each about where its visits stood."""
    place = np.empty(len(order))
    place[order] = np.arange(len(order))
    return ascending(place, precedes, together)


def in_place(order: Ints, precedes: Bools, together: Ints) -> Bools:
    """A precedence that keeps every group of this order where it is: only visits that stand alone, and those inside a
    group, may still change places. What obeys it keeps the groups together."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    sizes = np.bincount(together, minlength=len(order))[together]
    grouped = (sizes > 1)[:, None] | (sizes > 1)
    apart = together[:, None] != together
    return np.asarray(precedes | (grouped & apart & (place[:, None] < place)))


def group_masks(together: Ints | None, num_visits: int) -> NDArray[np.uint64]:
    """For each of at most 62 visits the bit mask of its group.

    >>> group_masks(np.array([0, 1, 0]), 3).tolist()
    [5, 2, 5]
    """
    bits = np.uint64(1) << np.arange(num_visits, dtype=np.uint64)
    if together is None:
        return bits
    masks: NDArray[np.uint64] = ((together[:, None] == together) * bits).sum(axis=1, dtype=np.uint64)
    return masks
