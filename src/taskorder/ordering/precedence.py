"""Precedence matrices, as `Constraints.precedence` gives them: precedes[a, b] says that visit a precedes visit b."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Bools, Ints


def respects(order: Ints, precedes: Bools) -> bool:
    """Whether an order of the visits keeps every precedence.

    >>> respects(np.array([1, 0]), np.array([[False, True], [False, False]]))
    False
    """
    return not np.tril(precedes[np.ix_(order, order)]).any()


def masks(precedes: Bools) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """For each of at most 62 visits the bit masks of those that must come before it and after it."""
    bits = np.uint64(1) << np.arange(len(precedes), dtype=np.uint64)
    before = (precedes * bits[:, None]).sum(axis=0, dtype=np.uint64)
    return before, (precedes * bits).sum(axis=1, dtype=np.uint64)


def components(linked: Bools) -> list[Ints]:
    """Connected components of a symmetric relation, each ascending, by smallest member.

    >>> [part.tolist() for part in components(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool))]
    [[0, 2], [1]]
    """
    left = np.ones(len(linked), dtype=np.bool_)
    parts = []
    while left.any():
        seen = np.zeros(len(linked), dtype=np.bool_)
        wave = seen.copy()
        wave[left.argmax()] = True
        while wave.any():
            seen |= wave
            wave = linked[wave].any(axis=0) & ~seen
        left &= ~seen
        parts.append(np.flatnonzero(seen))
    return parts
