"""A map of the tasks: classical multidimensional scaling in two dimensions."""

from __future__ import annotations

import numpy as np

from taskorder.checks import Floats

DENSE = 200
"""Above this many tasks only the two largest eigenvalues are computed, which is many times faster."""


def task_points(similarity: Floats) -> tuple[Floats, float]:
    """(P, 2) points of the tasks, and the share of all squared distances that these two dimensions show.

    The squared distance of two tasks is 2 (1 - C): that of two unit vectors whose inner product is C. Signs are chosen
    so that the farthest task of each axis lies on its positive side.

    >>> points, share = task_points(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> (points.round(3) + 0.0).tolist(), round(share, 6)
    ([[0.707, 0.0], [-0.707, 0.0]], 1.0)
    """
    P = len(similarity)
    centered = similarity - similarity.mean(axis=0)
    centered -= centered.mean(axis=1)[:, None]
    total = float(np.trace(centered))
    if total <= 1e-12 * P:  # one task, or tasks that are all the same
        return np.zeros((P, 2)), 1.0
    values, vectors = _largest_two((centered + centered.T) / 2)
    points = vectors * np.sqrt(np.maximum(values, 0.0))
    farthest = points[np.abs(points).argmax(axis=0), [0, 1]]
    return points * np.where(farthest < 0, -1.0, 1.0), min(1.0, float(np.maximum(values, 0.0).sum()) / total)


def _largest_two(matrix: Floats) -> tuple[Floats, Floats]:
    """The two largest eigenvalues, larger first, and their vectors as columns."""
    if len(matrix) <= DENSE:
        values, vectors = np.linalg.eigh(matrix)
        return values[:-3:-1], vectors[:, :-3:-1]
    from scipy.sparse.linalg import eigsh

    start = np.random.default_rng(0).standard_normal(len(matrix))
    values, vectors = eigsh(matrix, k=2, which="LA", v0=start)
    return values[::-1], vectors[:, ::-1]
