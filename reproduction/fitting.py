"""Straight lines, ranks and crossings of curves, and whether the closed form captures a simulation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reproduction.claims import Claim, inside, together
from taskorder.checks import Floats
from taskorder.stats import bootstrap_interval


def slope(pairs: Floats) -> Floats:
    """(...) least-squares slope of y against x in (..., n, 2) pairs.

    >>> float(slope(np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])))
    2.0
    """
    x, y = _centered(pairs)
    return np.asarray((x * y).sum(axis=-1) / (x * x).sum(axis=-1))


def correlation(pairs: Floats) -> Floats:
    """(...) Pearson correlation of x and y in (..., n, 2) pairs.

    >>> round(float(correlation(np.array([[0.0, 5.0], [1.0, 3.0], [2.0, 1.0]]))), 12)
    -1.0
    """
    x, y = _centered(pairs)
    return np.asarray((x * y).sum(axis=-1) / np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1)))


def _centered(pairs: Floats) -> tuple[Floats, Floats]:
    middle = pairs - pairs.mean(axis=-2, keepdims=True)
    return middle[..., 0], middle[..., 1]


def rank_correlation(left: Floats, right: Floats) -> float:
    """Spearman correlation of two lists of numbers; numbers equal to ten decimals tie.

    >>> rank_correlation(np.array([1.0, 2.0, 3.0, 4.0]), np.array([10.0, 20.0, 40.0, 30.0]))
    0.8
    """
    return float(correlation(np.column_stack([_ranks(left), _ranks(right)])))


def _ranks(values: Floats) -> Floats:
    """Ranks from 1, ties averaged."""
    _, which, counts = np.unique(np.round(values, 10), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[which], dtype=np.float64)


def crossings(x: Floats, curve: Floats, level: float = 0.0) -> list[float]:
    """Every x at which the curve (k,) over the k ascending x crosses `level`.

    >>> crossings(np.array([0.0, 1.0, 2.0]), np.array([-1.0, 1.0, -3.0]))
    [0.5, 1.25]
    """
    gap = np.asarray(curve) - level
    at = np.flatnonzero((gap[:-1] > 0) != (gap[1:] > 0))
    return [float(place) for place in x[at] - gap[at] * (x[at + 1] - x[at]) / (gap[at + 1] - gap[at])]


def last_above(x: Floats, curves: Floats, level: float) -> Floats:
    """(...) largest x at which each of the curves (..., k) over the k ascending x is still at `level` or above.

    The first x for a curve that never gets there, the last for one that ends there.

    >>> last_above(np.array([1.0, 2.0, 3.0]), np.array([[4.0, 2.0, 0.0], [0.0, 0.0, 0.0]]), 1.0).tolist()
    [2.5, 1.0]
    """
    above = np.asarray(curves) >= level
    k = above.shape[-1]
    last = k - 1 - above[..., ::-1].argmax(axis=-1)
    after = np.minimum(last + 1, k - 1)
    here, there = (np.take_along_axis(curves, at[..., None], -1)[..., 0] for at in (last, after))
    drop = here - there
    share = np.where(drop > 0, (here - level) / np.where(drop > 0, drop, 1.0), 0.0)
    return np.asarray(np.where(above.any(axis=-1), x[last] + share * (x[after] - x[last]), x[0]), dtype=np.float64)


def captured(claim: str, source: str, pairs: Floats, counted: str) -> Claim:
    """Correlation above 0.95, slope within 10 % of 1 and median relative deviation below 10 %, intervals included.

    `pairs` (n, k, 2) are closed form and simulation; intervals are over the n independent ones. Large errors decide
    correlation and slope, so the deviation is told for the tenth of smallest closed-form errors, too. Its threshold was
    added when correlation and slope had been seen, and before any deviation had.
    """

    def over(statistic: Callable[[Floats], Floats]) -> tuple[float, float, float]:
        def flat(x: Floats) -> Floats:
            return np.asarray(statistic(x.reshape(len(x), -1, 2)))

        return (float(flat(pairs[None])[0]), *bootstrap_interval(pairs, flat))

    r, b, off, small = over(correlation), over(slope), over(median_deviation), over(_smallest_deviation)
    return Claim(
        claim=claim,
        source=source,
        found=f"correlation {r[0]:.4f} [{r[1]:.4f}, {r[2]:.4f}], slope of simulated against closed form "
        f"{b[0]:.3f} [{b[1]:.3f}, {b[2]:.3f}], median relative deviation {_percent(off)}, "
        f"{_percent(small)} for the tenth of smallest errors; {counted}",
        value=b[0],
        low=b[1],
        high=b[2],
        verdict=together([inside(r, above=0.95), inside(b, above=0.9, below=1.1), inside(off, below=0.1)]),
    )


def median_deviation(pairs: Floats) -> Floats:
    """(...) median of |simulated / closed form - 1| over (..., n, 2) pairs.

    >>> float(median_deviation(np.array([[1.0, 1.1], [2.0, 1.0], [4.0, 4.0]]))).__round__(3)
    0.1
    """
    return np.asarray(np.median(np.abs(pairs[..., 1] / pairs[..., 0] - 1), axis=-1))


def _smallest_deviation(pairs: Floats) -> Floats:
    """The same over the tenth of pairs with the smallest closed form; at least one."""
    count = max(1, pairs.shape[-2] // 10)
    chosen = np.argpartition(pairs[..., 0], count - 1, axis=-1)[..., :count]
    return median_deviation(np.take_along_axis(pairs, chosen[..., None], axis=-2))


def _percent(estimate: tuple[float, float, float]) -> str:
    return f"{estimate[0]:.1%} [{estimate[1]:.1%}, {estimate[2]:.1%}]"
