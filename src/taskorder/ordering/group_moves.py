"""Local search among orders that keep groups together: whole groups move, and visits move inside their group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from taskorder.checks import Bools, Floats, Ints
from taskorder.ordering.clock import Clock

Costs = Callable[[Ints, Clock | None], Floats]
"""(b, n) orders to their (b,) costs; fewer, of the first ones, where the time is over before."""
Insertions = Callable[[Ints, Ints, Ints], Floats]
"""Costs of the first visits, in this order, with the second ones inserted at each of some positions."""
WORTH = 1e-12
"""A move must gain more than this share of the cost: less is rounding."""
KICKS = 600
"""Random changes that are followed by a new search, divided by the number of visits."""
MOST_KICKED = 6
"""Groups or visits that a random change moves, at least two."""
MOST_PRODUCTS = 40_000_000
"""Most multiplications that one move is worth: of very long orders only some positions are tried."""


@dataclass(frozen=True, eq=False)
class GroupMoves:
    """The moves of one problem and what they cost."""

    precedes: Bools
    together: Ints
    costs: Costs
    insertions: Insertions | None = None
    """A faster way to price a move than `costs` on whole orders."""

    def cost(self, order: Ints) -> float:
        """The cost of one order."""
        return float(self.costs(order[None], None)[0])

    def improved(
        self, order: Ints, seed: int, clock: Clock, polish: Callable[[Ints], Ints] | None = None, kicks: int = KICKS
    ) -> Ints:
        """An order of smaller cost, by moves and random changes; `polish` may make each order better in its own way."""
        rng = np.random.default_rng(seed)

        def settled(start: Ints) -> Ints:
            lowered = self.descended(start, clock)
            return lowered if polish is None or clock.over() else self.descended(polish(lowered), clock)

        best = settled(order)
        cost = self.cost(best)
        for _ in range(max(2, kicks // len(order))):
            if clock.report(cost, -np.inf):
                break
            trial = settled(self.kicked(best, rng))
            value = self.cost(trial)
            if value < cost - WORTH * abs(cost):
                best, cost = trial, value
        return best

    def descended(self, order: Ints, clock: Clock) -> Ints:
        """The order after moves, the last ones first, until none helps or the time is over."""
        cost = self.cost(order)
        moved = True
        while moved:
            moved = False
            for piece in self.pieces(order):
                if clock.report(cost, -np.inf):
                    return order
                piece = order[np.isin(order, piece)]  # as it stands after the moves before
                rest = order[~np.isin(order, piece)]
                positions = self.positions(rest, piece)
                positions = positions[:: max(1, len(positions) * len(order) ** 2 // MOST_PRODUCTS)]
                costs = self.inserted(rest, piece, positions, clock)
                at = int(costs.argmin())
                if costs[at] < cost - WORTH * max(1.0, abs(cost)):
                    order, cost, moved = np.insert(rest, positions[at], piece), float(costs[at]), True
        return order

    def pieces(self, order: Ints) -> list[Ints]:
        """What can move: whole groups, each followed by its visits, from the end of the order to its beginning."""
        labels = self.together[order]
        pieces = []
        for label in labels[np.append(True, labels[1:] != labels[:-1])][::-1]:
            group = order[labels == label]
            pieces += [group, *(group[i : i + 1] for i in range(len(group) - 1, -1, -1) if len(group) > 1)]
        return pieces

    def positions(self, rest: Ints, piece: Ints) -> Ints:
        """Where a piece may stand among the other visits."""
        labels = self.together[rest]
        own = np.flatnonzero(labels == self.together[piece[0]])
        before = np.flatnonzero(self.precedes[np.ix_(rest, piece)].any(axis=1))
        after = np.flatnonzero(self.precedes[np.ix_(piece, rest)].any(axis=0))
        low, high = int(before[-1]) + 1 if before.size else 0, int(after[0]) if after.size else len(rest)
        if own.size:  # one visit of a group
            return np.arange(max(low, own[0]), min(high, own[-1] + 1) + 1)
        positions = np.arange(low, high + 1)
        inside = (positions > 0) & (positions < len(rest))
        inside[inside] = labels[positions[inside] - 1] == labels[positions[inside]]
        return positions[~inside]

    def inserted(self, rest: Ints, piece: Ints, positions: Ints, clock: Clock) -> Floats:
        """The cost of each position of a piece, of the first ones at least."""
        if self.insertions is not None:
            return self.insertions(rest, piece, positions)
        return self.costs(np.stack([np.insert(rest, position, piece) for position in positions]), clock)

    def kicked(self, order: Ints, rng: np.random.Generator) -> Ints:
        """The order with a few pieces at random places."""
        for _ in range(int(rng.integers(2, MOST_KICKED + 1))):
            pieces = self.pieces(order)
            piece = pieces[rng.integers(len(pieces))]
            rest = order[~np.isin(order, piece)]
            order = np.insert(rest, rng.choice(self.positions(rest, piece)), piece)
        return order
