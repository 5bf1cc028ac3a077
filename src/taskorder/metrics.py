"""Metrics of continual learning from R[step, task], with the field's names and definitions.

R has a row for every visit and row 0 before training; R[s, j] is the accuracy on task j after s visits, and
`order[s - 1]` is the task of visit s. A task's identity and its position are kept apart: columns are tasks, never
positions. Averages over tasks, as in Lopez-Paz and Ranzato (2017) and Chaudhry et al. (2018); any number of leading
axes, (..., V + 1, P). Each task must be visited exactly once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import Floats, Ints, visit_order


@dataclass(frozen=True, eq=False)
class Metrics:
    """One number for each leading index of R."""

    final_average_accuracy: Floats
    """Mean over tasks after the last visit."""
    average_incremental_accuracy: Floats
    """Mean over visits of the mean over the tasks seen so far."""
    forgetting: Floats
    """Mean over all tasks but the last of (the best accuracy since it was learned - the final one)."""
    backward_transfer: Floats
    """Mean over all tasks but the last of (final accuracy - accuracy just after it was learned)."""
    forward_transfer: Floats
    """Mean over all tasks but the first of (accuracy just before it was learned - accuracy before any training)."""


def metrics(R: ArrayLike, order: Sequence[int]) -> Metrics:
    """All metrics of one order.

    >>> result = metrics([[0.5, 0.5], [1.0, 0.6], [0.7, 0.9]], [0, 1])
    >>> float(result.final_average_accuracy), round(float(result.forgetting), 3)
    (0.8, 0.3)
    >>> round(float(result.forward_transfer), 3)
    0.1
    """
    table = np.asarray(R, dtype=np.float64)
    visits = _once_each(order, table)
    P = len(visits)
    by_position = table[..., :, visits]  # columns in the order of learning
    final = by_position[..., P, :]
    steps = np.arange(P)
    learned = by_position[..., steps + 1, steps]
    before = by_position[..., steps, steps]
    seen = np.stack([by_position[..., s, :s].mean(axis=-1) for s in range(1, P + 1)], axis=-1)
    best = np.stack([by_position[..., j + 1 :, j].max(axis=-1) for j in range(P)], axis=-1)
    return Metrics(
        final_average_accuracy=final.mean(axis=-1),
        average_incremental_accuracy=seen.mean(axis=-1),
        forgetting=_mean(best[..., :-1] - final[..., :-1]),
        backward_transfer=_mean(final[..., :-1] - learned[..., :-1]),
        forward_transfer=_mean(before[..., 1:] - by_position[..., 0, 1:]),
    )


def _once_each(order: Sequence[int], table: Floats) -> Ints:
    P = table.shape[-1] if table.ndim >= 2 else 0
    visits = visit_order(order, max(P, 1))
    if not np.array_equal(np.sort(visits), np.arange(P)):
        raise ValueError(f"`order` must list each of the {P} tasks exactly once, got {visits.tolist()}.")
    if table.shape[-2] != P + 1:
        raise ValueError(f"`R` must have {P + 1} rows, one before training and one a visit, got {table.shape[-2]}.")
    return visits


def _mean(values: Floats) -> Floats:
    """Mean over the last axis; 0 where a single task leaves nothing to average."""
    if values.shape[-1] == 0:
        return np.zeros(values.shape[:-1])
    return np.asarray(values.mean(axis=-1))
