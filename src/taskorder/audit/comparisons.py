"""Orders against each other: the test of all, those as good as the best, any two, and the regret of one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from taskorder.audit.components import Split
from taskorder.audit.settled import ranked, settled
from taskorder.checks import Floats


@dataclass(frozen=True)
class OrderScore:
    """The final average accuracy of one order."""

    order: str
    mean: float
    num_runs: int
    as_good_as_best: bool | None
    """Not worse than the best by Tukey's test of all pairs at 5 %; None without replicates."""


@dataclass(frozen=True)
class OrderTest:
    """F-test of the hypothesis that all orders are alike."""

    f: float | None
    """None stands for infinity: the runs of an order do not differ at all."""
    order_df: int
    error_df: int
    p: float


@dataclass(frozen=True)
class PairTest:
    """One order minus another."""

    first: str
    second: str
    difference: float
    low: float | None
    high: float | None
    p: float | None
    num_pairs: int
    """Seeds that both were run with; 0 where the test compares two samples (Welch)."""


@dataclass(frozen=True)
class Regret:
    """What the order that was used lost against the best."""

    used: str
    best: str
    observed: float
    """Best mean minus the used order's; too large on average, because the best was picked for its luck too."""
    cross_validated: float | None
    """Mean over seeds of: the best order by the other seeds minus the used one, on that seed. Too small on average,
    because fewer seeds pick worse; the true regret lies between, on average. None without two seeds for all."""
    share_below: float
    """Share of the other orders with a lower mean (ties count half)."""


def order_test(split: Split) -> OrderTest:
    """Whether orders differ more than runs of one order do."""
    from scipy.special import fdtrc

    finite = np.isfinite(split.order_f)
    p = float(fdtrc(split.order_df, split.error_df, split.order_f)) if finite else 0.0
    return OrderTest(split.order_f if finite else None, split.order_df, split.error_df, p)


def scores(table: Floats, orders: tuple[str, ...], split: Split | None) -> tuple[OrderScore, ...]:
    """All orders, best first. Tukey's test of all pairs (Tukey-Kramer where run counts differ) covers the choice of the
    best after the fact."""
    means, counts = np.nanmean(table, axis=1), (~np.isnan(table)).sum(axis=1)
    rank = ranked(means)
    best = rank[0]
    close: list[bool | None] = [None] * len(orders)
    if split is not None and len(orders) > 1:
        widths = _tukey_limit(len(orders), split.error_df) * np.sqrt(
            split.error_variance / 2 * (1 / counts + 1 / counts[best])
        )
        close = [bool(gap <= width) for gap, width in zip(settled(means[best] - means), widths, strict=True)]
    return tuple(OrderScore(orders[i], float(means[i]), int(counts[i]), close[i]) for i in rank)


@lru_cache(maxsize=64)
def _tukey_limit(num_orders: int, freedom: int) -> float:
    """The 95 % quantile of the range of `num_orders` means over the standard error of one."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(0.95, num_orders, freedom))


def pair_test(table: Floats, orders: tuple[str, ...], first: int, second: int) -> PairTest:
    """Paired t-test over the seeds that both orders have; Welch's test where they share fewer than two."""
    from scipy.special import stdtr, stdtrit

    a, b = table[first], table[second]
    both = ~np.isnan(a) & ~np.isnan(b)
    num = int(both.sum())
    if num > 1:
        gaps = a[both] - b[both]
        mean, error, freedom = settled(gaps.mean()), settled(gaps.std(ddof=1)) / np.sqrt(num), num - 1.0
    else:
        a, b, num = a[~np.isnan(a)], b[~np.isnan(b)], 0
        mean = settled(a.mean() - b.mean())
        if min(len(a), len(b)) < 2:
            return PairTest(orders[first], orders[second], float(mean), None, None, None, 0)
        parts = np.array([settled(runs.std(ddof=1)) ** 2 / len(runs) for runs in (a, b)])
        error = np.sqrt(parts.sum())
        weights = (parts**2 / np.array([len(a) - 1, len(b) - 1])).sum()
        freedom = parts.sum() ** 2 / weights if weights > 0 else 1.0
    half = stdtrit(freedom, 0.975) * error
    p = 2 * stdtr(freedom, -abs(mean) / error) if error > 0 else float(mean == 0)
    return PairTest(orders[first], orders[second], float(mean), float(mean - half), float(mean + half), float(p), num)


def regret_of(table: Floats, orders: tuple[str, ...], used: int, *, crossed: bool) -> Regret:
    """The regret of order `used` in an (orders, seeds) table; `crossed` if it is complete."""
    means = np.nanmean(table, axis=1)
    best = int(ranked(means)[0])
    validated = None
    if crossed:
        rest = (table.sum(axis=1, keepdims=True) - table) / (table.shape[1] - 1)
        picked = ranked(rest)[0]
        validated = float((table[picked, np.arange(table.shape[1])] - table[used]).mean())
    ahead = settled(means[used] - np.delete(means, used))
    below = float((ahead > 0).mean() + 0.5 * (ahead == 0).mean()) if len(ahead) else 1.0
    return Regret(orders[used], orders[best], float(means[best] - means[used]), validated, below)
