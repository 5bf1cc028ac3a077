"""Two methods in the same orders: which is better, and does the order change who wins?

Model of the differences, with order and seed random: d[o, s] = mean + order[o] + seed[s] + rest[o, s]. The variance of
the mean difference is (MS(order) + MS(seed) - MS(rest)) / (O S), with Satterthwaite's degrees of freedom; it is never
taken to be less than what MS(order) or MS(seed) alone give. So the test speaks of new orders and new seeds; treating
all runs as independent would reject far too often where either matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from taskorder.audit.comparisons import OrderTest
from taskorder.audit.components import complete_block
from taskorder.audit.power import LEVEL
from taskorder.audit.results import Results
from taskorder.audit.settled import ranked, settled
from taskorder.checks import Floats
from taskorder.stats import share_interval

Paired = Literal["orders and seeds", "orders", "seeds", "nothing"]


@dataclass(frozen=True)
class OrderGap:
    """The first method minus the second in one order."""

    order: str
    difference: float
    clear: bool | None
    """Whether the difference in this order is clear by a t-test over seeds with the noise of all orders, at 5 % after
    Holm's correction for all orders; None without two common seeds."""


@dataclass(frozen=True)
class MethodPair:
    """One method minus another, over the orders and seeds that both have."""

    first: str
    second: str
    paired: Paired
    """What the test is over: orders and seeds; orders, each with the mean of its runs; the seeds of one order."""
    num_orders: int
    num_seeds: int
    difference: float
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    """With Holm's correction for all pairs of methods."""
    effect: float | None
    """Hedges' g: the mean difference over its standard deviation over orders, without the bias of few orders."""
    wins: int
    """Orders in which the first is ahead."""
    losses: int
    flips: float
    """Share of orders in which the worse method of the two is ahead; ties count half."""
    flips_low: float
    flips_high: float
    noise_flips: float | None
    """What noise alone would give if the difference were the same in every order."""
    interaction: OrderTest | None
    """Test that the difference is the same in every order."""
    interaction_p_holm: float | None
    gaps: tuple[OrderGap, ...]
    """By order, best for the first method first."""

    @property
    def clear_wins(self) -> int:
        """Orders in which the first is clearly ahead."""
        return sum(gap.clear is True and gap.difference > 0 for gap in self.gaps)

    @property
    def clear_losses(self) -> int:
        """Orders in which the second is clearly ahead."""
        return sum(gap.clear is True and gap.difference < 0 for gap in self.gaps)


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval and the p-value of 0."""

    mean: float
    low: float
    high: float
    p: float


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """p-values with Holm's correction for as many tests as there are; None stays None and does not count.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    known = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    adjusted: list[float | None] = [None] * len(ps)
    highest = 0.0
    for rank, (p, place) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * p))
        adjusted[place] = highest
    return adjusted


def method_pair(names: tuple[str, str], first: Results, second: Results) -> MethodPair:
    """The comparison of two methods, before any correction for the number of pairs."""
    # the differences of all runs that have a partner with the same order and seed
    orders = [order for order in first.orders if order in set(second.orders)]
    a, b = (_rows(results, orders) for results in (first, second))
    seeds = [seed for seed in first.seeds if seed in set(second.seeds)]
    if first.common_seeds and second.common_seeds:
        a_seeds, b_seeds = (
            rows[:, [results.seeds.index(seed) for seed in seeds]] for rows, results in ((a, first), (b, second))
        )
        differences = settled(a_seeds - b_seeds)
    else:
        differences = np.full((len(orders), 0), np.nan)
    rows, columns = complete_block(~np.isnan(differences)) if differences.size else (np.arange(0), np.arange(0))
    block = differences[np.ix_(rows, columns)]
    # a complete block of them separates order, seed and noise; else orders, or the seeds of one order, are the pairs
    test = None
    clear: list[bool | None]
    if min(block.shape) > 1:
        paired: Paired = "orders and seeds"
        orders, by_order, num_seeds = [orders[row] for row in rows], settled(block.mean(axis=1)), block.shape[1]
        estimate: Estimate | None = crossed_estimate(block)
        test, noise = interaction_test(block)
        clear = list(_clear(by_order, noise / num_seeds, test.error_df))
        error = float(np.sqrt(noise / num_seeds))
    else:
        by_order = settled(np.nanmean(a, axis=1) - np.nanmean(b, axis=1)) if orders else np.zeros(0)
        clear, error, num_seeds = [None] * len(orders), float("nan"), len(seeds)
        of_seeds = differences[0][~np.isnan(differences[0])] if len(orders) == 1 else np.zeros(0)
        if len(orders) > 1:
            paired, estimate = "orders", mean_estimate(by_order)
        elif len(of_seeds) > 1:
            paired, estimate = "seeds", mean_estimate(of_seeds)
        else:
            paired, estimate = "nothing", None
    # how often a comparison in a single order names the other winner
    gap = by_order.mean() if len(by_order) else np.nanmean(first.whole) - np.nanmean(second.whole)
    mean = float(settled(gap))
    against = float((by_order * mean < 0).sum() + 0.5 * (by_order * mean == 0).sum())
    low, high = share_interval(against, len(orders)) if orders else (0.0, 1.0)
    rank = ranked(by_order)
    return MethodPair(
        *names,
        paired=paired,
        num_orders=len(orders),
        num_seeds=num_seeds,
        difference=mean,
        low=None if estimate is None else estimate.low,
        high=None if estimate is None else estimate.high,
        p=None if estimate is None else estimate.p,
        p_holm=None if estimate is None else estimate.p,
        effect=hedges_g(by_order),
        wins=int((by_order > 0).sum()),
        losses=int((by_order < 0).sum()),
        flips=against / len(orders) if orders else 0.0,
        flips_low=low,
        flips_high=high,
        noise_flips=None if test is None else _below_zero(abs(mean), error),
        interaction=test,
        interaction_p_holm=None if test is None else test.p,
        gaps=tuple(OrderGap(orders[k], float(by_order[k]), clear[k]) for k in rank),
    )


def crossed_estimate(table: Floats) -> Estimate:
    """The mean of a complete (orders, seeds) table, for new orders and seeds."""
    num_orders, num_seeds = table.shape
    order, seed, rest = _mean_squares(table)
    squares, freedom = np.array([order, seed, rest]), np.array([num_orders - 1, num_seeds - 1, 0.0])
    freedom[2] = freedom[0] * freedom[1]
    variance = order + seed - rest
    if variance >= max(order, seed) and variance > 0:
        df = variance**2 / (squares**2 / freedom).sum()
    else:
        variance, df = (order, freedom[0]) if order >= seed else (seed, freedom[1])
    return _t_estimate(float(settled(table.mean())), variance / table.size, float(df))


def mean_estimate(values: Floats) -> Estimate:
    """The t-test of one sample."""
    variance = float(settled(values.std(ddof=1))) ** 2
    return _t_estimate(float(settled(values.mean())), variance / len(values), len(values) - 1.0)


def interaction_test(table: Floats) -> tuple[OrderTest, float]:
    """The test that all orders have the same mean, and the variance of one run without order and seed."""
    from scipy.special import fdtrc

    num_orders, num_seeds = table.shape
    order, _, rest = _mean_squares(table)
    freedom = num_orders - 1, (num_orders - 1) * (num_seeds - 1)
    if rest == 0:
        return OrderTest(None if order > 0 else 1.0, *freedom, 0.0 if order > 0 else 1.0), 0.0
    return OrderTest(order / rest, *freedom, float(fdtrc(*freedom, order / rest))), rest


def hedges_g(values: Floats) -> float | None:
    """The mean over the standard deviation, times 1 - 3 / (4 n - 5); None without a spread.

    >>> round(hedges_g(np.array([1.0, 2.0, 3.0])), 4)
    1.1429
    """
    spread = float(settled(values.std(ddof=1))) if len(values) > 1 else 0.0
    return None if spread == 0 else float(values.mean()) / spread * (1 - 3 / (4 * len(values) - 5))


def _mean_squares(table: Floats) -> tuple[float, float, float]:
    """Of order, seed and the rest."""
    num_orders, num_seeds = table.shape
    mean, by_order, by_seed = table.mean(), table.mean(axis=1), table.mean(axis=0)
    rest = (settled(table - by_order[:, None] - by_seed + mean) ** 2).sum() / ((num_orders - 1) * (num_seeds - 1))
    order = num_seeds * (settled(by_order - mean) ** 2).sum() / (num_orders - 1)
    seed = num_orders * (settled(by_seed - mean) ** 2).sum() / (num_seeds - 1)
    return float(order), float(seed), float(rest)


def _t_estimate(mean: float, variance: float, df: float) -> Estimate:
    from scipy.special import stdtr, stdtrit

    error = float(np.sqrt(variance))
    half = float(stdtrit(df, 1 - LEVEL / 2)) * error
    p = 2 * float(stdtr(df, -abs(mean) / error)) if error > 0 else float(mean == 0)
    return Estimate(mean, mean - half, mean + half, p)


def _clear(by_order: Floats, variance: float, df: int) -> list[bool]:
    """Which orders differ from 0 after Holm's correction."""
    from scipy.special import stdtr

    if variance == 0:
        return [bool(gap != 0) for gap in by_order]
    ps = holm((2 * stdtr(df, -np.abs(by_order) / np.sqrt(variance))).tolist())
    return [p is not None and p < LEVEL for p in ps]


def _below_zero(mean: float, error: float) -> float:
    """How often a normal number with this mean and standard deviation is below 0."""
    from scipy.special import ndtr

    return float(ndtr(-mean / error)) if error > 0 else 0.0


def _rows(results: Results, orders: Sequence[str]) -> Floats:
    """(orders, seeds) final average accuracies of these orders."""
    index = {order: row for row, order in enumerate(results.orders)}
    return results.whole[[index[order] for order in orders]] if orders else np.zeros((0, len(results.seeds)))
