"""How many orders and seeds a comparison needs, from estimated variances.

Two-sided t-tests at 5 % that find a true difference with a chance of 80 %. Supposed: normal effects; orders and seeds
drawn at random; the second method has the variances of the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LEVEL = 0.05
POWER = 0.8
SEED_COUNTS = (1, 3, 5, 10)
MAX_RUNS = 1_000_000
CHI_QUANTILES = (np.arange(2000) + 0.5) / 2000


@dataclass(frozen=True)
class Needs:
    """What it takes to see `difference` in final average accuracy."""

    difference: float
    level: float
    power: float
    orders: tuple[tuple[int, int | None], ...]
    """Two methods, each on random orders of its own with new seeds for each: (seeds an order, orders a method)."""
    seeds: int | None
    """Two orders of one method: seeds for each (the same seeds for both where results are crossed)."""
    order_spread: float
    """How far a single random order moves the final average accuracy: 1.96 standard deviations."""
    possible_orders: int | None = None
    """All orders of the tasks, where they are few enough to run; None past 10 tasks or where orders list no tasks."""


def needs(order: float, seed: float, rest: float, difference: float, *, paired: bool) -> Needs:
    """The numbers of runs for variances of order, seed and the rest; `paired` if two orders share their seeds."""
    per_seed = 2 * rest if paired else 2 * (seed + rest)
    return Needs(
        difference=difference,
        level=LEVEL,
        power=POWER,
        orders=tuple(
            (num, runs_needed(2 * (order + (seed + rest) / num), difference, paired=False)) for num in SEED_COUNTS
        ),
        seeds=runs_needed(per_seed, difference, paired=paired),
        order_spread=1.96 * float(np.sqrt(order)),
    )


def runs_needed(variance: float, difference: float, *, paired: bool) -> int | None:
    """The smallest n with enough power; None past a million.

    `variance` is that of the difference of one pair of runs; the mean difference has variance / n. Paired: n pairs and
    n - 1 degrees of freedom; else n runs on each side and 2 (n - 1).

    >>> runs_needed(2.0, 1.0, paired=False)  # the textbook case: 17 in each group for one standard deviation
    17
    """
    if power_of(MAX_RUNS, variance, difference, paired=paired) < POWER:
        return None
    low, high = 1, 2
    while power_of(high, variance, difference, paired=paired) < POWER:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle, variance, difference, paired=paired) >= POWER else (middle, high)
    return high


def power_of(num: int, variance: float, difference: float, *, paired: bool) -> float:
    """The chance that the t-test sees the difference; 0 for a single run, which leaves no degree of freedom.

    The noncentral t distribution as the mean over quantiles of the chi-square in its denominator: SciPy's own gives
    no number for large shifts.
    """
    from scipy.special import chdtri, ndtr, stdtrit

    freedom = (num - 1) * (1 if paired else 2)
    if freedom < 1:
        return 0.0
    if variance <= 0:
        return 1.0
    shift = abs(difference) * np.sqrt(num / variance)
    limit = stdtrit(freedom, 1 - LEVEL / 2) * np.sqrt(chdtri(freedom, CHI_QUANTILES) / freedom)
    return float((ndtr(shift - limit) + ndtr(-shift - limit)).mean())


def power_of_orders(num_orders: int, num_seeds: int, ratio: float) -> float:
    """The chance that the F-test of all orders sees a variance of orders `ratio` times that of the rest.

    >>> round(power_of_orders(6, 3, 1.0), 3), power_of_orders(1, 3, 1.0)
    (0.556, 0.0)
    """
    from scipy.special import fdtrc, fdtri

    if num_orders < 2 or num_seeds < 2:
        return 0.0
    freedom = num_orders - 1, (num_orders - 1) * (num_seeds - 1)
    return float(fdtrc(*freedom, fdtri(*freedom, 1 - LEVEL) / (1 + num_seeds * ratio)))
