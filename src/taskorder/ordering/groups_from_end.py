"""Visits that stay together, seen from the end of an order: which may come next, and what is to come at most.

The bound of law_search.py rests on F, the sum of the open gains, each discounted once more than the one before, with
the largest first. Where visits stay together F is the largest such sum over the orders that keep them so. It is no more
than that over all orders, it is still monotone and subadditive, as a maximum of sums, and a pick p = x_k of an allowed
visit k still leaves p + d F(x without k) <= F(x). The proof of the bound needs no more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taskorder.checks import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class GroupsFromEnd:
    """Visits that stay together, seen from the end. The start is one more group of one."""

    together: Ints
    """(n + 1,)"""
    starts: Ints
    """Where each group begins when the visits are sorted by group."""
    discount: Floats
    """(n + 1,) d^t for the t-th visit of each group, sorted so."""
    most: float

    @classmethod
    def of(cls, together: Ints, d: float) -> GroupsFromEnd:
        """Groups as `Constraints.together` gives them, and the largest retention."""
        labels = np.append(together, len(together))
        ranked = np.sort(labels)
        starts = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
        within = np.arange(len(labels)) - np.repeat(starts, np.diff(np.append(starts, len(labels))))
        return cls(labels, starts, d ** within.astype(np.float64), d)

    def begun(self, gains: Floats, visit: Ints) -> Ints:
        """(b,) the group of a visit where other visits of it are still open, else -1."""
        labels = self.together[visit]
        return np.where((np.isfinite(gains) & (self.together == labels[:, None])).any(axis=1), labels, -1)

    def closed(self, begun: Ints) -> Bools:
        """(b, n) which visits have to wait for a group that was begun."""
        return np.asarray((begun[:, None] >= 0) & (self.together[:-1] != begun[:, None]))

    def faded(self, gains: Floats, begun: Ints | None) -> Floats:
        """(b,) the largest sum_t d^t max(g_t, 0) of the open gains over all orders that keep the groups together.

        Inside a group the largest comes first. A group of m visits that is worth v by itself delays the others by d^m,
        so groups come by v / (1 - d^m), as exchanging two neighbors shows; one that was begun comes before all.
        """
        d, positive = self.most, np.maximum(gains, 0.0)
        largest = np.argsort(-positive, axis=1)
        groups = np.argsort(self.together.astype(np.int16)[largest], axis=1, kind="stable")  # of short integers: fast
        ranked = np.take_along_axis(largest, groups, axis=1)
        worth = np.add.reduceat(np.take_along_axis(positive, ranked, axis=1) * self.discount, self.starts, axis=1)
        is_open = np.take_along_axis(np.isfinite(gains), ranked, axis=1)
        size = np.add.reduceat(is_open, self.starts, axis=1, dtype=np.int64)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.nan_to_num(worth / (size if d == 1 else 1 - d**size), nan=0.0)
        if begun is not None:
            rate[begun[:, None] == np.unique(self.together)] = np.inf
        first = np.argsort(-rate, axis=1, kind="stable")
        size, worth = np.take_along_axis(size, first, axis=1), np.take_along_axis(worth, first, axis=1)
        return np.asarray((worth * d ** (np.cumsum(size, axis=1) - size)).sum(axis=1))
