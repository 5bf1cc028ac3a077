"""Averages without the rounding of their sums: what is equal is equal, however it was added up."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import Floats, Ints

SETTLED_DECIMALS = 12
"""Accuracies are shares of a number of examples: no two averages of them are closer than this, except by rounding."""


def settled(differences: ArrayLike) -> Floats:
    """Differences of averages, or standard deviations, where rounding alone counts as none.

    >>> 0.1 + 0.2 - 0.3 == 0, bool(settled(0.1 + 0.2 - 0.3) == 0)
    (False, True)
    """
    values = np.asarray(differences, dtype=np.float64)
    return np.where(np.abs(values) < 10.0**-SETTLED_DECIMALS, 0.0, values)


def ranked(averages: ArrayLike) -> Ints:
    """Indices from the largest average to the smallest, of each column; equal ones in the order in which they come.

    >>> ranked([0.3, 0.1 + 0.2, 0.4]).tolist()
    [2, 0, 1]
    """
    values = np.asarray(averages, dtype=np.float64)
    return np.argsort(-np.round(values, SETTLED_DECIMALS), axis=0, kind="stable")
