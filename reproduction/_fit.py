"""Straight lines through pairs of numbers, batched so that they can be resampled."""

from __future__ import annotations

import numpy as np

from taskorder.checks import Floats


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
