"""Where curves over a grid cross a level, linear between grid points."""

from __future__ import annotations

import numpy as np

from taskorder.checks import Floats


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
