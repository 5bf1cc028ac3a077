"""The same descent without ever forming the weights.

Only the residuals D_mu = B_mu - W A_mu matter. While task j is trained, with K = A_j^T A_j = V diag(lam) V^T,

    D_mu(t) = D_mu - D_j V diag(f_t) V^T A_j^T A_mu,    f_t = (1 - (1 - eta lam)^t) / lam,

so one eigendecomposition a task gives its whole trajectory, and `steps = None` (each task trained to convergence) is
the limit f = 1 / lam. All orders advance together: a visit costs a product of (orders N_y, N_s) by (N_s, P N_s).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from taskorder.arguments import BadArgument
from taskorder.checks import Floats
from taskorder.linear.random_tasks import LinearTasks

CHUNK_BYTES = 64_000_000
"""Orders are simulated in chunks whose working memory stays near this; the P N_s x P N_s blocks come on top, twice."""


def boundary_errors(
    tasks: LinearTasks, orders: ArrayLike, *, steps: int | None = 100, learning_rate: float = 1e-3, path: bool = False
) -> Floats:
    """(K, P) error of every task after the last visit of each of K orders; with `path` (K, visits + 1, P), after each.

    `orders` is (K, visits), task indices, repeats allowed. `steps=None` trains every task to convergence, at any rate.
    """
    visits = np.asarray(orders, dtype=np.int64)
    P, N_y, N_s = tasks.B.shape
    K = tasks.gram()
    pull = np.empty((P, N_s, P * N_s))  # what training j takes from every task, as a factor right of D_j
    for j in range(P):
        lam, V = _spectrum(K[j, :, j], learning_rate if steps else None)
        f = _removed(lam, learning_rate, steps)
        pull[j] = (V * f) @ (V.T @ K[j].reshape(N_s, P * N_s))
    results = np.empty((len(visits), visits.shape[1] + 1, P) if path else (len(visits), P))
    for rows in _chunks(len(visits), 16 * N_y * P * N_s):
        D = np.repeat(_start(tasks)[None], len(visits[rows]), axis=0)
        if path:
            results[rows, 0] = _errors(D)
        for step, now in enumerate(visits[rows].T, start=1):
            for j in np.unique(now):
                these = np.flatnonzero(now == j)
                D[these] -= (D[these, :, j].reshape(-1, N_s) @ pull[j]).reshape(len(these), N_y, P, N_s)
            if path:
                results[rows, step] = _errors(D)
        if not path:
            results[rows] = _errors(D)
    return results


def trajectories(tasks: LinearTasks, orders: ArrayLike, *, steps: int = 100, learning_rate: float = 1e-3) -> Floats:
    """(K, visits * steps + 1, P) error of every task before training and after every step of each of K orders.

    With X = D_j V and Y = V^T A_j^T A_mu the squared residual is quadratic in f_t, and only its coefficients depend on
    the order: |D_mu|^2 - 2 sum_k f_k (X^T D_mu . Y)_k + sum_kl f_k f_l (X^T X)_kl (Y Y^T)_kl.
    """
    visits = np.asarray(orders, dtype=np.int64)
    P, N_y, N_s = tasks.B.shape
    K = tasks.gram()
    left, right = np.triu_indices(N_s)
    twice = np.where(left == right, 1.0, 2.0)
    bases, pulls, removed, products, squares, decays = [], [], [], [], [], []
    for j in range(P):
        lam, V = _spectrum(K[j, :, j], learning_rate)
        Y = (V.T @ K[j].reshape(N_s, P * N_s)).reshape(N_s, P, N_s)
        f = np.array([_removed(lam, learning_rate, t) for t in range(1, steps + 1)])
        bases.append(V)
        pulls.append(Y)
        removed.append(f)
        products.append((f[:, left] * f[:, right] * twice).T)
        squares.append(np.einsum("kmb,lmb->mkl", Y, Y, optimize=True)[:, left, right])
        decays.append((1 - learning_rate * lam) ** (2 * np.arange(1, steps + 1)[:, None]))
    results = np.empty((len(visits), visits.shape[1] * steps + 1, P))
    for rows in _chunks(len(visits), 8 * P * (3 * N_y * N_s + 2 * len(left) + 2 * steps + N_s * N_s)):
        D = np.repeat(_start(tasks)[None], len(visits[rows]), axis=0)
        part = results[rows]
        part[:, 0] = _errors(D)
        for step, now in enumerate(visits[rows].T):
            span = slice(1 + step * steps, 1 + (step + 1) * steps)
            for j in np.unique(now):
                these = np.flatnonzero(now == j)
                X = D[these, :, j] @ bases[j]
                flat = D[these].reshape(len(these), N_y, P * N_s)
                crossed = (X.swapaxes(1, 2) @ flat).reshape(len(these), N_s, P, N_s)
                linear = np.einsum("nkmb,kmb->nmk", crossed, pulls[j], optimize=True)
                XX = X.swapaxes(1, 2) @ X
                quadratic = XX[:, None, left, right] * squares[j]
                change = quadratic @ products[j] - 2 * linear @ removed[j].T
                errors = part[these, step * steps][:, :, None] + change / N_y
                errors[:, j] = np.diagonal(XX, axis1=1, axis2=2) @ decays[j].T / N_y  # exact far below rounding of 1
                part[these, span] = np.maximum(errors, 0).swapaxes(1, 2)
                D[these] -= ((X * removed[j][-1]) @ pulls[j].reshape(N_s, -1)).reshape(len(these), N_y, P, N_s)
    return results


def _start(tasks: LinearTasks) -> Floats:
    """(N_y, P, N_s) residuals before training, W = 0."""
    return np.ascontiguousarray(tasks.B.swapaxes(0, 1))


def _errors(D: Floats) -> Floats:
    return np.asarray(np.einsum("nymb,nymb->nm", D, D) / D.shape[1])


def _spectrum(gram: Floats, learning_rate: float | None) -> tuple[Floats, Floats]:
    """Eigenvalues, at least 0, and eigenvectors of one task's Gram block; refuses a learning rate that diverges."""
    lam, V = np.linalg.eigh(gram)
    if learning_rate is not None and not 0 < learning_rate * lam[-1] < 2:
        raise BadArgument(
            f"`learning_rate` must be positive and less than {2 / lam[-1]:.3g} for these sizes, got {learning_rate:g}: "
            "gradient descent would diverge."
        )
    return np.maximum(lam, 0.0), V


def _removed(lam: Floats, learning_rate: float, steps: int | None) -> Floats:
    """f_t, the sum of (1 - eta lam)^s over s < t, times eta; its limit is the pseudo-inverse."""
    seen = lam > 1e-12 * lam[-1]
    safe = np.where(seen, lam, 1.0)
    if steps is None:
        return np.where(seen, 1 / safe, 0.0)
    rate = learning_rate * safe
    slow = np.minimum(rate, 0.5)
    small = -np.expm1(steps * np.log1p(-slow))  # keeps the digits of a rate near 0
    return np.where(seen, np.where(rate <= 0.5, small, 1 - (1 - rate) ** steps) / safe, learning_rate * steps)


def _chunks(count: int, bytes_each: int) -> Iterator[slice]:
    size = max(1, CHUNK_BYTES // bytes_each)
    return (slice(start, start + size) for start in range(0, count, size))
