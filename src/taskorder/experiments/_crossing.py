"""Where a curve over a grid leaves a level for good."""

from __future__ import annotations

import numpy as np

from taskorder.checks import Floats


def last_above(x: Floats, curves: Floats, level: float) -> Floats:
    """(...) largest x at which each of the curves (..., k) over the k ascending x is still at `level` or above.

    Linear between grid points; the first x for a curve that never gets there, the last for one that ends there.

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
