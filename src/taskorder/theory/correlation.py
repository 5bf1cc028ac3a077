"""Random correlation matrices with all entries in a range."""

from __future__ import annotations

import numpy as np

from taskorder.checks import Floats, positive_count, seed_number, similarity_number

MAX_CANDIDATES = 8_000_000
"""Rejection gives up after this many candidate matrices: some seconds."""


def random_correlation(num_tasks: int, low: float = -1.0, high: float = 1.0, seed: int = 0) -> Floats:
    """A uniformly random correlation matrix with all off-diagonal entries in [low, high].

    On [-1, 1] this is the LKJ distribution with eta = 1 (Lewandowski, Kurowicka and Joe, 2009), drawn directly by their
    onion method. Any other range keeps the first acceptable one of many candidates, by turns from two proposals: LKJ
    draws, kept when they stay in the range, and uniform entries, kept when they are positive definite. Every kept
    candidate is uniform over the same set, so the mixture is exact; a candidate is built row by row and dropped whole
    at its first bad row.

    Parameters
    ----------
    num_tasks : int
        P.
    low, high : float
        Range of the off-diagonal entries, within [-1, 1].
    seed : int
        The same seed gives the same matrix.

    Returns
    -------
    array, (P, P)

    Raises
    ------
    ValueError
        When the range holds no or too few correlation matrices.

    Examples
    --------
    >>> random_correlation(3, 0, 1, seed=1).round(3)
    array([[1.   , 0.567, 0.711],
           [0.567, 1.   , 0.475],
           [0.711, 0.475, 1.   ]])
    """
    P = positive_count(num_tasks)
    low, high = similarity_number(low, "low"), similarity_number(high, "high")
    rng = np.random.default_rng(seed_number(seed))
    if not low < high:
        raise ValueError(f"`low` must be less than `high`, got {low:g} and {high:g}.")
    if P > 2 and high * (P - 1) < -1:
        raise ValueError(
            f"`high` must be at least {-1 / (P - 1):.3g} for {P} tasks, got {high:g}: "
            "the entries of a correlation matrix cannot all be more negative."
        )
    if low == -1 and high == 1:
        return _gram(_onion(P, 1, -1.0, 1.0, rng)[0])
    batch, tried = 64, 0
    while tried < MAX_CANDIDATES:
        for propose in (_onion, _box):
            kept = propose(P, batch, low, high, rng)
            if len(kept):
                return _gram(kept[0])
        tried += 2 * batch
        batch = min(2 * batch, max(64, 2_000_000 // P**2))
    raise ValueError(
        f"`low` and `high` must leave a fair share of correlation matrices of {P} tasks, got [{low:g}, {high:g}]: "
        f"none in {tried:,} candidates. Use fewer tasks, a range of small entries, or all of [-1, 1]."
    )


def random_correlations(num_tasks: int, count: int, rng: np.random.Generator) -> Floats:
    """(count, P, P) uniformly random correlation matrices with entries in [-1, 1], drawn together.

    >>> random_correlations(3, 5, np.random.default_rng(0)).shape
    (5, 3, 3)
    """
    return _gram(_onion(positive_count(num_tasks), positive_count(count, "count"), -1.0, 1.0, rng))


def _onion(P: int, batch: int, low: float, high: float, rng: np.random.Generator) -> Floats:
    """(kept, P, P) Cholesky factors of those of `batch` LKJ(1) draws that have all entries in [low, high].

    Row k of a factor is (w, sqrt(1 - |w|^2)) with w in a random direction and |w|^2 ~ Beta(k / 2, (P - k + 1) / 2).
    """
    L = np.ones((batch, 1, 1))
    for k in range(1, P):
        w = rng.standard_normal((len(L), k))
        square = rng.beta(k / 2, (P - k + 1) / 2, len(L))
        w *= (np.sqrt(square) / np.linalg.norm(w, axis=1))[:, None]
        row = np.einsum("bij,bj->bi", L, w)
        good = ((row >= low) & (row <= high)).all(axis=1)
        L = _with_row(L[good], w[good], 1 - square[good])
    return L


def _box(P: int, batch: int, low: float, high: float, rng: np.random.Generator) -> Floats:
    """(kept, P, P) Cholesky factors of those of `batch` matrices with uniform entries that are positive definite."""
    L = np.ones((batch, 1, 1))
    for k in range(1, P):
        row = rng.uniform(low, high, (len(L), k))
        w = np.empty_like(row)
        for j in range(k):
            w[:, j] = (row[:, j] - np.einsum("bi,bi->b", L[:, j, :j], w[:, :j])) / L[:, j, j]
        pivot = 1 - np.einsum("bi,bi->b", w, w)
        good = pivot > 1e-12
        L = _with_row(L[good], w[good], pivot[good])
    return L


def _with_row(L: Floats, w: Floats, pivot: Floats) -> Floats:
    """Factors with one more row (w, sqrt(pivot))."""
    kept, k = w.shape
    larger = np.zeros((kept, k + 1, k + 1))
    larger[:, :k, :k] = L
    larger[:, k, :k] = w
    larger[:, k, k] = np.sqrt(pivot)
    return larger


def _gram(L: Floats) -> Floats:
    return exact_form(L @ np.swapaxes(L, -1, -2))


def exact_form(matrix: Floats) -> Floats:
    """The same (..., P, P) matrices with rounding taken out of their symmetry and of their unit diagonals."""
    mended = np.asarray((matrix + np.swapaxes(matrix, -1, -2)) / 2)
    each = np.arange(mended.shape[-1])
    mended[..., each, each] = 1.0
    return mended
