"""Similarity matrices that the benchmarks share. Each family is defined here and nowhere else."""

from __future__ import annotations

import numpy as np

from taskorder import chain, leaves, ring, tree

__all__ = ["chain", "clusters", "factor", "leaves", "ring", "signed", "tree", "unit_factor"]


def factor(num_tasks: int, mean: float, rank: int, seed: int = 0) -> np.ndarray:
    """One factor shared by all tasks and rank - 1 others: m + (1 - m) Z Z^T, Z random unit rows of length rank - 1."""
    z = np.random.default_rng(seed).standard_normal((num_tasks, rank - 1))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    matrix = mean + (1 - mean) * z @ z.T
    np.fill_diagonal(matrix, 1.0)
    return matrix


def unit_factor(num_tasks: int, mean: float, rank: int, seed: int = 0) -> np.ndarray:
    """Gram matrix of unit vectors scattered around one direction so that the mean similarity is about `mean`."""
    x = np.sqrt((1 - mean) / rank) * np.random.default_rng(seed).standard_normal((num_tasks, rank))
    x[:, 0] += np.sqrt(mean)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    matrix = x @ x.T
    np.fill_diagonal(matrix, 1.0)
    return matrix


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


def signed(num_tasks: int, seed: int = 0, scale: float = 0.5) -> np.ndarray:
    """Symmetric, unit diagonal, entries uniform in [-scale, scale]; usually not positive semidefinite."""
    upper = np.triu(np.random.default_rng(seed).uniform(-scale, scale, (num_tasks, num_tasks)), 1)
    return upper + upper.T + np.eye(num_tasks)
