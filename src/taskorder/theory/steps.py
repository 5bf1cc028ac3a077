"""The retention of each task from how long it is trained.

The longer a network trains on the next task, the less it keeps of what it knew. On pairs of tasks the odds of keeping
fall about as a power of the number of steps n:

    d / (1 - d) = (n0 / n)^b,    that is    d = 1 / (1 + (n / n0)^b).

b is 0.3 to 0.6 for perceptrons on three data sets (`python -m reproduction retention`). n0 varies much more with the
learner and the data. It stands for the reference retention: one measured d at one number of steps fixes it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import Floats, numbers, to_float
from taskorder.theory.law import PLAIN_RETENTION

STEPS_EXPONENT = 0.4
"""The power b of plain networks: about the mean of those of three data sets (`python -m reproduction retention`)."""


def retention_for_steps(
    steps: ArrayLike,
    reference: float = PLAIN_RETENTION,
    reference_steps: float | None = None,
    *,
    exponent: float = STEPS_EXPONENT,
) -> Floats:
    """The retention of each task from its own number of training steps.

    Parameters
    ----------
    steps
        (P,) training steps of each task, or anything in proportion to them: examples, where every task has the same
        epochs and batch size.
    reference
        The retention at `reference_steps`.
    reference_steps
        The number of steps at which `reference` was measured, in the unit of `steps`. The geometric mean of `steps`
        where it is left out: right for a retention measured on pairs of these tasks.
    exponent
        How fast the odds d / (1 - d) fall with the steps; 0 gives every task the reference.

    Returns
    -------
    ndarray of shape (P,)
        The share of its knowledge that the learner keeps when it learns each task.

    Examples
    --------
    >>> retention_for_steps([100, 1000, 10000], reference=0.2, reference_steps=1000).round(2)
    array([0.39, 0.2 , 0.09])
    """
    n = numbers(steps)
    if n is None or n.ndim != 1 or not n.size or not ((n > 0) & np.isfinite(n)).all():
        raise ValueError(f"`steps` must be one positive number for each task, got {steps!r}.")
    d, b = to_float(reference), to_float(exponent)
    if not 0 <= d <= 1:
        raise ValueError(f"`reference` must be a retention in [0, 1], got {reference!r}.")
    if not (b >= 0 and math.isfinite(b)):
        raise ValueError(f"`exponent` must be a finite number of at least 0, got {exponent!r}.")
    logs = np.log(n)
    start = float(logs.mean())
    if reference_steps is not None:
        given = to_float(reference_steps)
        if not (given > 0 and math.isfinite(given)):
            raise ValueError(f"`reference_steps` must be a positive number, got {reference_steps!r}.")
        start = math.log(given)
    if d in (0, 1):  # kept or lost entirely, whatever the steps
        return np.full(len(n), d)
    log_odds = math.log(d / (1 - d)) - b * (logs - start)
    return np.asarray(np.exp(-np.logaddexp(0.0, -log_odds)))
