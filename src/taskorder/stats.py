"""Means with their errors, and seeded intervals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import Floats


def mean_and_sem(values: ArrayLike, axis: int = 0) -> tuple[Floats, Floats]:
    """Mean along `axis` and its standard error; the error is NaN for a single value.

    >>> mean, sem = mean_and_sem([1.0, 2.0, 3.0])
    >>> float(mean), round(float(sem), 4)
    (2.0, 0.5774)
    """
    table = np.asarray(values, dtype=np.float64)
    count = table.shape[axis]
    mean = table.mean(axis=axis)
    if count < 2:
        return np.asarray(mean), np.full(np.shape(mean), np.nan)
    return np.asarray(mean), np.asarray(table.std(axis=axis, ddof=1) / np.sqrt(count))


def share_interval(wins: float, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Interval for a probability after `wins` of `trials` (a tie may count half): Jeffreys, from Beta(1/2, 1/2).

    The lower end is 0 after no win and the upper end 1 after no loss.

    >>> tuple(round(end, 3) for end in share_interval(8, 10))
    (0.497, 0.956)
    """
    from scipy.special import betaincinv

    if not 0 <= wins <= trials or trials == 0:
        raise ValueError(f"`wins` must be between 0 and `trials` > 0, got {wins} of {trials}.")
    tail = (1 - level) / 2
    a, b = wins + 0.5, trials - wins + 0.5
    low = 0.0 if wins == 0 else float(betaincinv(a, b, tail))
    high = 1.0 if wins == trials else float(betaincinv(a, b, 1 - tail))
    return low, high


def bootstrap_interval(
    values: ArrayLike,
    statistic: Callable[[Floats], Floats],
    *,
    seed: int = 0,
    level: float = 0.95,
    num_resamples: int = 2000,
) -> tuple[float, float]:
    """Percentile interval of `statistic` over resamples of the first axis of `values`.

    `statistic` takes (num_resamples, n, ...) and reduces all axes but the first: `lambda x: x.mean(axis=1)`.

    >>> low, high = bootstrap_interval(np.arange(100.0), lambda x: x.mean(axis=1))
    >>> 42 < low < 46 < 53 < high < 57
    True
    """
    table = np.asarray(values, dtype=np.float64)
    if len(table) < 2:
        raise ValueError(f"`values` must hold at least 2 observations for an interval, got {len(table)}.")
    rng = np.random.default_rng(seed)
    chunk = max(1, 4_000_000 // table.size)
    drawn = [
        statistic(table[rng.integers(0, len(table), (min(chunk, num_resamples - start), len(table)))])
        for start in range(0, num_resamples, chunk)
    ]
    tail = (1 - level) / 2
    low, high = np.quantile(np.concatenate(drawn), [tail, 1 - tail])
    return float(low), float(high)
