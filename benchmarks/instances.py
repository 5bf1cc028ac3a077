"""Similarity matrices that the benchmarks share. Each family is defined here and nowhere else."""

from __future__ import annotations

import numpy as np

from taskorder import chain, leaves, ring, tree

__all__ = ["chain", "clusters", "factor", "flipped", "leaves", "noisy", "plane", "ring", "signed", "tree"]


def factor(num_tasks: int, mean: float, rank: int, seed: int = 0) -> np.ndarray:
    """One factor shared by all tasks, `rank` others and a little of each task's own, scaled to a unit diagonal:
    m + (1 - m) Z Z^T / rank + 0.05 I with Z Gaussian.

    The trial did not say what its factor matrices were. This was inferred from its table of rules against the optimum
    (mean of 100 matrices at 5 and at 12 tasks: periphery-to-core, max-path, random), trial / this definition:
    m = .3, rank 4P: 1.9, 3.9, 5.4 / 1.9, 4.0, 5.6 and 3.3, 3.5, 5.9 / 3.2, 3.4, 5.7;
    m = .6, rank 4P: 1.9, 1.8, 3.1 / 1.9, 1.7, 3.0 and 2.2, 1.6, 2.7 / 2.2, 1.6, 2.6;
    m = .3, rank P/2+1: 7.7, 12, 21 / 7.4, 6.9, 13 (standard errors 2.6, 1.3, 2.7) and 9.5, 8.3, 12 / 7.4, 7.1, 9.9.
    Without the own part the low rank is far off (5.2, 4.4, 5.5 at 12 tasks), with 0.08 so is the high rank.
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
    """`count` noisy clusters: similarity about `within` inside and `between` across, private noise of rank 2 P.

    What the trial's clusters were cannot be told: its one row (random 19.5, periphery-to-core 21.3, max-path 17.8 times
    the best at 200 tasks) fits more clusters with full-rank noise as well as fewer with noise of low rank.
    """
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
    """Symmetric, unit diagonal, entries uniform in [-scale, scale]; usually not positive semidefinite.

    The scale decides how hard they are: near 0.5 is the hardest, near 1 easier.
    """
    upper = np.triu(np.random.default_rng(seed).uniform(-scale, scale, (num_tasks, num_tasks)), 1)
    return upper + upper.T + np.eye(num_tasks)


def flipped(num_tasks: int, seed: int = 0, noise: float = 0.1) -> np.ndarray:
    """A factor matrix (m = .3, rank P/2+1) with half of its tasks turned around, plus noise uniform in [-noise, noise]
    that makes it indefinite (mildly: its smallest eigenvalue is about -0.2 at 20 tasks)."""
    rng = np.random.default_rng(seed)
    sign = np.where(rng.permutation(num_tasks) % 2, 1.0, -1.0)
    upper = np.triu(rng.uniform(-noise, noise, (num_tasks, num_tasks)), 1)
    matrix = np.clip(sign * factor(num_tasks, 0.3, num_tasks // 2 + 1, seed) * sign[:, None] + upper + upper.T, -1, 1)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def noisy(matrix: np.ndarray, noise: float, seed: int) -> np.ndarray:
    """The matrix plus symmetric noise uniform in [-noise, noise], clipped, its diagonal 1."""
    upper = np.triu(np.random.default_rng([seed, 1]).uniform(-noise, noise, matrix.shape), 1)
    return np.clip(matrix + upper + upper.T - np.diag(np.diagonal(matrix) - 1), -1, 1)
