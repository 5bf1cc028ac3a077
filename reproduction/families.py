"""Families of similarity matrices of any size, by name."""

from __future__ import annotations

import numpy as np

from taskorder.checks import Floats
from taskorder.theory.correlation import exact_form, random_correlation
from taskorder.theory.graphs import chain

FAMILIES = ("uniform", "chain", "factor", "scattered", "clusters")


def family_matrix(name: str, num_tasks: int, level: float, seed: int = 0) -> Floats:
    """(P, P) matrix of one of `FAMILIES`; `level` sets the similarity, `seed` draws the matrix.

    uniform: entries uniform in [0, 1] (`level` unused; up to about 7 tasks).
    chain: level^|i - j|, not random.
    factor: m + (1 - m) Z Z^T, m the level, Z random unit rows of length 4 P - 2 (rank up to 4 P - 1).
    scattered: unit vectors in P // 2 + 1 dimensions around one direction, mean similarity about `level`.
    clusters: four noisy clusters, similarity about `level` inside and a quarter of it across.

    >>> family_matrix("chain", 3, 0.5)[0].tolist()
    [1.0, 0.5, 0.25]
    """
    if name not in FAMILIES:
        raise ValueError(f"`name` must be one of {', '.join(FAMILIES)}, got {name!r}.")
    rng = np.random.default_rng(seed)
    if name == "uniform":
        return random_correlation(num_tasks, 0, 1, seed=seed)
    if name == "chain":
        return chain(num_tasks, level)
    if name == "factor":
        Z = _unit_rows(rng.standard_normal((num_tasks, 4 * num_tasks - 2)))
        return exact_form(level + (1 - level) * Z @ Z.T)
    if name == "scattered":
        rank = num_tasks // 2 + 1
        X = np.sqrt((1 - level) / rank) * rng.standard_normal((num_tasks, rank))
        X[:, 0] += np.sqrt(level)
    else:
        rank, across = max(5, 2 * num_tasks), level / 4
        X = np.sqrt((1 - level) / rank) * rng.standard_normal((num_tasks, rank))
        X[:, 0] += np.sqrt(across)
        X[np.arange(num_tasks), 1 + np.arange(num_tasks) % 4] += np.sqrt(level - across)
    X = _unit_rows(X)
    return exact_form(X @ X.T)


def _unit_rows(X: Floats) -> Floats:
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))
