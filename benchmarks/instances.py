"""The families of similarity matrices that the benchmarks measure."""

from __future__ import annotations

import numpy as np

from taskorder import chain, leaves, ring, tree

__all__ = ["chain", "clusters", "factor", "leaves", "plane", "ring", "tree"]


def factor(num_tasks: int, mean: float, rank: int, seed: int = 0) -> np.ndarray:
    """Correlation matrix of the covariance m + (1 - m) Z Z^T / rank + 0.05 I, with Z (P, rank) standard Gaussian.

    All tasks share one factor of variance m = `mean`, `rank` further factors, and each has a small part of its own.
    """
    z = np.random.default_rng(seed).standard_normal((num_tasks, rank))
    covariance = mean + (1 - mean) / rank * z @ z.T + 0.05 * np.eye(num_tasks)
    scale = np.sqrt(np.diagonal(covariance))
    matrix = covariance / scale / scale[:, None]
    np.fill_diagonal(matrix, 1.0)
    return matrix


def plane(num_tasks: int, seed: int = 0) -> np.ndarray:
    """Gram matrix of random unit vectors in a plane, all within a right angle: rank 2, no entry negative."""
    angle = np.random.default_rng(seed).uniform(0, np.pi / 2, num_tasks)
    return np.cos(angle[:, None] - angle)


def clusters(num_tasks: int, seed: int = 0, within: float = 0.8, between: float = 0.2, count: int = 4) -> np.ndarray:
    """`count` noisy clusters: similarity about `within` inside and `between` across, private noise of rank 2 P."""
    rank = 2 * num_tasks
    label = np.arange(num_tasks) % count
    x = np.sqrt((1 - within) / rank) * np.random.default_rng(seed).standard_normal((num_tasks, rank))
    x[:, 0] += np.sqrt(between)
    x[np.arange(num_tasks), 1 + label] += np.sqrt(within - between)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    matrix = x @ x.T
    np.fill_diagonal(matrix, 1.0)
    return matrix
