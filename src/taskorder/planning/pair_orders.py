"""Do pairs of tasks end as differently in their two orders as the law says? If not, neither do whole orders.

The law always expects a difference between learning i and then k, and k and then i. A learner that has only taken its
first steps adds up what tasks teach, and ends alike in both orders. With x what the law predicts of the difference, in
the mean over tasks, and y what was measured, the slope of y on x through 0 is what comes true of predictions.

It is taken at its upper end, since few pairs tell it badly: predictions shrink only where pairs refute them.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from taskorder.checks import Floats
from taskorder.planning.fitted_law import FittedLaw, Pilot
from taskorder.theory.random_orders import knowledge_after

LEAST_PAIRS = 3
"""Pairs in both orders, below which nothing can be refuted."""
UPPER = 0.95
"""Probability that what comes true is below its upper end."""
CONFIRMED_LEAST = 0.5
"""Share of what the law predicts of the two orders of a pair, below which pairs refute it."""


class PairOrders(NamedTuple):
    """What became of the predicted differences between the two orders of a pair."""

    share: float
    """At most this share of them comes true, from 0 to 1; 1 where pairs cannot tell."""
    predicted: float = 0.0
    """Their root mean square, in knowledge."""
    measured: float = 0.0
    """The same as measured."""
    num_pairs: int = 0
    """Pairs that were measured in both orders."""

    @property
    def otherwise(self) -> bool:
        """Whether pairs refute the law, and yet do not end alike: order matters, in a way that the law does not know.

        >>> PairOrders(0.1, 0.02, 0.001).otherwise, PairOrders(0.1, 0.02, 0.1).otherwise
        (False, True)
        """
        return self.share < CONFIRMED_LEAST and self.measured >= CONFIRMED_LEAST * self.predicted


def pair_orders(pilot: Pilot, law: FittedLaw) -> PairOrders:
    """Predicted against measured differences, from all pairs that a pilot learned in both orders."""
    measured = set(pilot.measured.sequences)
    both = [pair for pair in itertools.combinations(range(len(law.table)), 2) if {pair, pair[::-1]} <= measured]
    if len(both) < LEAST_PAIRS or law.effects is not None:  # where pairs predict orders, they cannot refute them
        return PairOrders(1.0)
    rows = {sequence: place for place, sequence in enumerate(pilot.measured.sequences)}
    known = pilot.measured.knowledge().mean(axis=0) @ law.weights
    x, y = [], []
    for pair in both:
        ends = np.array([pair, pair[::-1]])
        predicted = knowledge_after(law.table, ends, pilot.on_sample, np.zeros(len(law.table))) @ law.weights
        x.append(predicted[0] - predicted[1])
        y.append(known[rows[pair]] - known[rows[pair[::-1]]])
    return PairOrders(share_at_most(np.array(x), np.array(y)), _size(x), _size(y), len(both))


def share_at_most(predicted: Floats, measured: Floats) -> float:
    """The upper end of the slope of `measured` on `predicted` through 0, from 0 to 1.

    >>> x = np.array([0.1, -0.2, 0.3, 0.1])
    >>> share_at_most(x, np.zeros(4)), share_at_most(x, x / 2), share_at_most(x, 2 * x), share_at_most(0 * x, x)
    (0.0, 0.5, 1.0, 1.0)
    """
    size = float(predicted @ predicted)
    if size == 0:
        return 1.0
    slope = float(predicted @ measured) / size
    misses = predicted * (measured - slope * predicted)
    freedom = len(predicted) - 1
    error = np.sqrt(float(misses @ misses) * len(predicted) / freedom) / size
    return float(np.clip(slope + stdtrit(freedom, UPPER) * error, 0.0, 1.0))


def _size(values: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
