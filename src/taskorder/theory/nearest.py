"""The correlation matrix nearest to a given matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import EIGENVALUE_TOLERANCE, Floats, asymmetry, square_matrix
from taskorder.machine import one_blas_thread
from taskorder.records import Repair
from taskorder.theory.correlation import exact_form

MAX_PROJECTIONS = 200
"""The projections stop here at the latest; what they return is a correlation matrix in any case."""

MAX_ENTRY = 1e50
"""Fourth powers of larger entries overflow."""

LARGE = 300
"""Above this many tasks a correlation matrix is recognized by its Cholesky factor: eigenvalues take far longer."""


@one_blas_thread()
def nearest_correlation(matrix: ArrayLike) -> tuple[Floats, Repair]:
    """The correlation matrix nearest to `matrix` in the Frobenius norm, and how far away it is.

    Alternating projections (Higham, 2002) on the positive semidefinite and on the unit-diagonal matrices, made faster
    by Newton steps (Qi and Sun, 2006). The result is exactly symmetric with ones on the diagonal, and positive
    semidefinite up to rounding. A correlation matrix comes back unchanged.

    Parameters
    ----------
    matrix : array-like, (P, P)
        Any finite square matrix.

    Returns
    -------
    correlation : array, (P, P)
    repair : Repair
        Asymmetry and smallest eigenvalue of `matrix`, and how far `correlation` is from it.

    Examples
    --------
    >>> repaired, repair = nearest_correlation([[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    >>> repaired.round(4)
    array([[1.    , 0.7607, 0.1573],
           [0.7607, 1.    , 0.7607],
           [0.1573, 0.7607, 1.    ]])
    >>> round(repair.distance, 4), round(repair.min_eigenvalue, 4)
    (0.5278, -0.4142)
    """
    given = square_matrix(matrix)
    if np.abs(given).max() > MAX_ENTRY:
        raise ValueError(
            f"`similarity` must have entries of size {MAX_ENTRY:g} at most, got {np.abs(given).max():.3g}. "
            "A covariance becomes a correlation when divided by both standard deviations."
        )
    symmetric = (given + given.T) / 2
    result = exact_form(symmetric)
    if len(given) > LARGE and np.array_equal(result, given) and _is_definite(given):
        return result, Repair(0.0, 0.0, 0.0, 0.0)
    smallest = float(np.linalg.eigvalsh(symmetric)[0])
    same = np.array_equal(result, symmetric)
    if (smallest if same else float(np.linalg.eigvalsh(result)[0])) < -EIGENVALUE_TOLERANCE * len(result):
        result = _project(symmetric)
    change = result - given
    return result, Repair(asymmetry(given), smallest, float(np.linalg.norm(change)), float(np.abs(change).max()))


def _is_definite(matrix: Floats) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def _project(A: Floats, tolerance: float = 1e-10) -> Floats:
    """The nearest correlation matrix to a symmetric A.

    With Dykstra's correction the state of the alternating projections is one vector y: the matrix that is projected
    next is A + Diag(y), X is its positive semidefinite part, and the plain step is y += 1 - diag(X). That is gradient
    ascent on the concave dual e.y - |(A + Diag(y))_+|^2 / 2, whose Newton step we try first.
    """
    y = np.zeros(len(A))
    values, vectors, X, dual = _positive_part(A, y)
    for _ in range(MAX_PROJECTIONS):
        missing = 1 - np.diagonal(X)
        if np.linalg.norm(missing) <= tolerance * len(A):
            break
        step = _newton_step(values, vectors, missing)
        trial = _positive_part(A, y + step)
        if not trial[3] >= dual + 1e-4 * float(missing @ step):
            step = missing
            trial = _positive_part(A, y + step)
        y = y + step
        values, vectors, X, dual = trial
    # dividing by the root of an almost unit diagonal mends it and keeps X positive semidefinite
    scale = np.sqrt(np.diagonal(X))
    return exact_form(X / np.outer(scale, scale))


def _positive_part(A: Floats, y: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Eigenvalues and eigenvectors of A + Diag(y), its positive semidefinite part, and the dual value."""
    values, vectors = np.linalg.eigh(A + np.diag(y))
    positive = np.maximum(values, 0)
    return values, vectors, (vectors * positive) @ vectors.T, float(y.sum() - positive @ positive / 2)


def _newton_step(values: Floats, vectors: Floats, missing: Floats) -> Floats:
    """Solve V d = missing by conjugate gradients; V d = diag(Q (S * Q^T Diag(d) Q) Q^T) is how d changes diag(X)."""
    positive = np.maximum(values, 0)
    gaps = values[:, None] - values
    flat = np.abs(gaps) < 1e-14 * max(1.0, float(np.abs(values).max()))
    slopes = np.where(flat, (values > 0)[:, None], (positive[:, None] - positive) / np.where(flat, 1.0, gaps))
    d, residual = np.zeros_like(missing), missing.copy()
    direction, size = residual.copy(), float(residual @ residual)
    goal = size * min(0.01, size)
    for _ in range(50):
        inner = slopes * ((vectors.T * direction) @ vectors)
        image = np.einsum("ij,ij->i", vectors @ inner, vectors) + 1e-10 * direction
        length = size / float(direction @ image)
        d += length * direction
        residual -= length * image
        previous, size = size, float(residual @ residual)
        if size <= goal:
            break
        direction = residual + size / previous * direction
    return d
