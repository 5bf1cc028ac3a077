"""How the variance of the final average accuracy divides into order, seed and the rest.

Model, with order, seed and rest random and independent: y[o, s] = mean + order[o] + seed[s] + rest[o, s], where the
rest is the interaction of order and seed and whatever else makes two runs differ. With every order run with every
seed the mean squares of the two-way table have the expectations

    E MS(order) = S var(order) + var(rest),   E MS(seed) = O var(seed) + var(rest),   E MS(rest) = var(rest)

Intervals are generalized confidence intervals (Weerahandi 1993): each sum of squares over its expected mean square is
chi-square, so draws of chi-squares turn into draws of the components; they suppose normal effects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from taskorder.audit.settled import settled
from taskorder.checks import Floats, Ints

NUM_DRAWS = 20_000
Design = Literal["crossed", "nested", "one seed", "one order", "one run"]


@dataclass(frozen=True)
class Component:
    """One source of variance, with 95 % intervals."""

    source: str
    variance: float
    low: float
    high: float
    share: float
    """Of the sum of all sources."""
    share_low: float
    share_high: float


@dataclass(frozen=True)
class Split:
    """The sources, and what tests and power calculations need of them."""

    components: tuple[Component, ...]
    error_variance: float
    """Mean square of runs within an order (crossed: after the seeds' share is taken out)."""
    error_df: int
    order_f: float
    """MS(order) / MS(rest); infinite where runs of an order do not differ at all."""
    order_df: int

    def variance(self, source: str) -> float:
        """The estimate of one source; 0 where the design has no such source."""
        return next((part.variance for part in self.components if part.source == source), 0.0)


def design_of(table: Floats, *, common_seeds: bool = True) -> tuple[Design, Ints, Ints]:
    """What can be asked of an (orders, seeds) table with NaN for missing runs, and the rows and columns to ask it of.

    Crossed: a block in which every order has every seed and that keeps at least half of the runs; else nested: runs
    within orders, where seeds of different orders have nothing in common.
    """
    there = ~np.isnan(table)
    rows, columns = np.arange(len(table)), np.arange(table.shape[1])
    if len(table) == 1:
        return ("one order" if there.sum() > 1 else "one run"), rows, columns
    if there.sum(axis=1).max() == 1:
        return "one seed", rows, columns
    block_rows, block_columns = complete_block(there)
    if (
        common_seeds
        and min(len(block_rows), len(block_columns)) > 1
        and 2 * len(block_rows) * len(block_columns) >= there.sum()
    ):
        return "crossed", block_rows, block_columns
    return "nested", rows, columns


def complete_block(there: np.ndarray) -> tuple[Ints, Ints]:
    """Drop the row or column that misses most of its runs until none misses any."""
    rows, columns = np.arange(there.shape[0]), np.arange(there.shape[1])
    while len(rows) and len(columns) and not (block := there[np.ix_(rows, columns)]).all():
        by_row, by_column = (~block).mean(axis=1), (~block).mean(axis=0)
        if by_row.max() >= by_column.max():
            rows = np.delete(rows, by_row.argmax())
        else:
            columns = np.delete(columns, by_column.argmax())
    return rows, columns


def crossed_split(table: Floats, seed: int = 0) -> Split:
    """Order, seed and the rest of a complete (orders, seeds) table."""
    num_orders, num_seeds = table.shape
    mean = table.mean()
    by_order, by_seed = table.mean(axis=1), table.mean(axis=0)
    squares = np.array(
        [
            num_seeds * (settled(by_order - mean) ** 2).sum(),
            num_orders * (settled(by_seed - mean) ** 2).sum(),
            (settled(table - by_order[:, None] - by_seed + mean) ** 2).sum(),
        ]
    )
    freedom = np.array([num_orders - 1, num_seeds - 1, (num_orders - 1) * (num_seeds - 1)])

    def solve(order: Floats, by: Floats, rest: Floats) -> Floats:
        return np.stack([(order - rest) / num_seeds, (by - rest) / num_orders, rest])

    return _split(("order", "seed", "rest"), squares, freedom, solve, seed)


def nested_split(table: Floats, seed: int = 0) -> Split:
    """Order, and runs within an order, whose numbers may differ (unweighted means, harmonic mean of the counts)."""
    counts = (~np.isnan(table)).sum(axis=1)
    by_order = np.nanmean(table, axis=1)
    harmonic = len(counts) / (1 / counts).sum()
    squares = np.array(
        [
            harmonic * (settled(by_order - by_order.mean()) ** 2).sum(),
            np.nansum(settled(table - by_order[:, None]) ** 2),
        ]
    )
    freedom = np.array([len(counts) - 1, int(counts.sum()) - len(counts)])

    def solve(order: Floats, rest: Floats) -> Floats:
        return np.stack([(order - rest) / harmonic, rest])

    return _split(("order", "seed"), squares, freedom, solve, seed)


def seeds_only(values: Floats, seed: int = 0) -> Split:
    """The variance of the runs of a single order."""
    squares = np.array([(settled(values - values.mean()) ** 2).sum()])
    split = _split(("seed",), squares, np.array([len(values) - 1]), lambda rest: rest[None], seed)
    return Split(split.components, split.error_variance, split.error_df, float("nan"), 0)


def _split(names: tuple[str, ...], squares: Floats, freedom: Ints, solve: Callable[..., Floats], seed: int) -> Split:
    means = squares / freedom
    estimate = np.maximum(solve(*means), 0)
    rng = np.random.default_rng(seed)
    draws = np.maximum(solve(*(squares[:, None] / rng.chisquare(freedom[:, None], (len(freedom), NUM_DRAWS)))), 0)
    low, high = np.quantile(draws, [0.025, 0.975], axis=1)
    total = draws.sum(axis=0)
    shares = np.divide(draws, total, out=np.zeros_like(draws), where=total > 0)
    share_low, share_high = np.quantile(shares, [0.025, 0.975], axis=1)
    share = estimate / estimate.sum() if estimate.sum() > 0 else np.zeros(len(names))
    parts = zip(names, estimate, low, high, share, share_low, share_high, strict=True)
    error = float(means[-1])
    order_f = float(means[0] / error) if error > 0 else (float("inf") if means[0] > 0 else 1.0)
    return Split(
        components=tuple(Component(name, *map(float, numbers)) for name, *numbers in parts),
        error_variance=error,
        error_df=int(freedom[-1]),
        order_f=order_f,
        order_df=int(freedom[0]),
    )
