"""The error that remains after tasks are learned one after another, each to convergence.

Theorem 3.1 of the paper, with C and Co permuted into learning order and U the strictly upper triangle of C:

    error = || Co^{1/2} (I - (I + U)^{-1} C) ||_F^2.

The same number comes from one Gauss-Seidel sweep over residuals R that are indexed by task, with R^T R = Co:

    R <- R - R[:, j] C[j, :]    for j in order,

which needs no inverse, gives every task's error after every step, and allows any sequence of visits.

Training that stops early removes only a share of a task's own residual: `progress` = 1 - (1 - eta N_x / N_s)^steps for
gradient descent with rate eta, and the sweep becomes R <- R - progress R[:, j] C[j, :].

A learner that forgets keeps the share `retention` of what it knew when it learns the next task (`law.py`). Its error is
the sum of (1 - s)^2 over its knowledge s, for any transfer table; at retention 1 that is the theorem's.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import (
    Floats,
    output_similarity,
    progress_number,
    square_matrix,
    symmetric,
    task_weights,
    unit_diagonal,
    visit_order,
)
from taskorder.theory.law import checked_retention, checked_start, knowledge_path


def final_error(
    similarity: ArrayLike,
    order: Iterable[int],
    output: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    progress: float = 1.0,
    retention: ArrayLike = 1.0,
    start: ArrayLike | None = None,
) -> float:
    """Weighted sum of all task errors after the last task of `order` has been learned.

    Theorem 3.1 as a Gauss-Seidel sweep: R <- R - progress R[:, j] C[j, :] for j in order, from R^T R = Co; the error is
    sum_m weights[m] |R[:, m]|^2.

    Parameters
    ----------
    similarity : array-like, (P, P)
        C, symmetric with ones on the diagonal; it need not be positive semidefinite.
    order : iterable of int
        Task indices in the order of learning. Tasks may be visited again or left out.
    output : array-like, (P, P), optional
        Output similarity Co; None for one shared readout (all ones).
    weights : array-like, (P,), optional
        Weight of each task's error; 1 by default.
    progress : float
        Share of its own residual that a task loses when it is trained: 1 is training to convergence, more overshoots.
    retention : float or array-like, (P,)
        Share of its knowledge that the learner keeps when it learns the next task; 1 is the theorem. Below 1
        `similarity` may be any transfer table of knowledge (row: task that was learned, column: task that is tested),
        and `output` must be None.
    start : array-like, (P,), optional
        Knowledge of each task before the first step; 0 by default.

    Returns
    -------
    float
        A sum over tasks; P before any learning with unit weights.

    Examples
    --------
    >>> final_error([[1, 0.5], [0.5, 1]], [0, 1])
    0.0625
    >>> final_error([[1, 0.5], [0.5, 1]], [0, 1, 0, 1])
    0.00390625
    >>> final_error([[1, 0.5], [0.5, 1]], [0, 1], progress=0.5)
    0.23828125
    >>> round(final_error([[1, 0.5], [0.3, 1]], [0, 1], retention=0.1), 6)
    0.378225
    """
    errors = task_errors(similarity, order, output, progress=progress, retention=retention, start=start)
    return float(errors @ task_weights(weights, len(errors)))


def task_errors(
    similarity: ArrayLike,
    order: Iterable[int],
    output: ArrayLike | None = None,
    *,
    progress: float = 1.0,
    retention: ArrayLike = 1.0,
    start: ArrayLike | None = None,
) -> Floats:
    """Error of each task after the last task of `order` has been learned; 1 before any learning.

    Parameters
    ----------
    similarity : array-like, (P, P)
        C, symmetric with ones on the diagonal; it need not be positive semidefinite.
    order : iterable of int
        Task indices in the order of learning. Tasks may be visited again or left out.
    output : array-like, (P, P), optional
        Output similarity Co; None for one shared readout (all ones).
    progress : float
        Share of its own residual that a task loses when it is trained: 1 is training to convergence, more overshoots.
    retention : float or array-like, (P,)
        Share of its knowledge that the learner keeps when it learns the next task; 1 is the theorem. Below 1
        `similarity` may be any transfer table of knowledge (row: task that was learned, column: task that is tested),
        and `output` must be None.
    start : array-like, (P,), optional
        Knowledge of each task before the first step; 0 by default.

    Returns
    -------
    array, (P,)
        By task index.

    Examples
    --------
    >>> task_errors([[1, 0.5], [0.5, 1]], [0, 1])
    array([0.0625, 0.    ])
    """
    final: Floats = error_path(similarity, order, output, progress=progress, retention=retention, start=start)[-1]
    return final


def error_path(
    similarity: ArrayLike,
    order: Iterable[int],
    output: ArrayLike | None = None,
    *,
    progress: float = 1.0,
    retention: ArrayLike = 1.0,
    start: ArrayLike | None = None,
) -> Floats:
    """Error of each task before learning and after every step of `order`.

    Parameters
    ----------
    similarity : array-like, (P, P)
        C, symmetric with ones on the diagonal; it need not be positive semidefinite.
    order : iterable of int
        Task indices in the order of learning. Tasks may be visited again or left out.
    output : array-like, (P, P), optional
        Output similarity Co; None for one shared readout (all ones).
    progress : float
        Share of its own residual that a task loses when it is trained: 1 is training to convergence, more overshoots.
    retention : float or array-like, (P,)
        Share of its knowledge that the learner keeps when it learns the next task; 1 is the theorem. Below 1
        `similarity` may be any transfer table of knowledge (row: task that was learned, column: task that is tested),
        and `output` must be None.
    start : array-like, (P,), optional
        Knowledge of each task before the first step; 0 by default.

    Returns
    -------
    array, (len(order) + 1, P)
        Row s holds each task's error after s steps; row 0 is before any learning.

    Examples
    --------
    >>> error_path([[1, 0.5], [0.5, 1]], [0, 1])
    array([[1.    , 1.    ],
           [0.    , 0.25  ],
           [0.0625, 0.    ]])
    """
    share = progress_number(progress)
    S = square_matrix(similarity)
    if (checked_retention(retention, len(S)) < 1).any():
        no_output(output)
        return np.asarray((1 - knowledge_path(share * S, order, retention, start=start)) ** 2)
    C = unit_diagonal_similarity(S)
    visits = visit_order(order, len(C))
    R = output_factor(output_similarity(output, len(C)), len(C))
    if start is not None:
        if output is not None:
            raise ValueError(
                "`start` must be left out with `output`, got both. It is known for one shared readout only."
            )
        R = 1 - checked_start(start, len(C))[None]
    path = np.empty((len(visits) + 1, len(C)))
    path[0] = _column_errors(R)
    for step, j in enumerate(visits, start=1):
        R -= np.outer(R[:, j], share * C[j])
        path[step] = _column_errors(R)
    return path


def closed_form_error(similarity: ArrayLike, order: Iterable[int], output: ArrayLike | None = None) -> float:
    """The sum of task errors by the paper's formula, with its inverse: the reference for tests and benchmarks.

    `order` must list each task once. Use `final_error` for everything else: it is faster and accepts repeated tasks.

    >>> round(closed_form_error([[1, 0.5], [0.5, 1]], [0, 1]), 12)
    0.0625
    """
    C = unit_diagonal_similarity(similarity)
    visits = visit_order(order, len(C))
    if not np.array_equal(np.sort(visits), np.arange(len(C))):
        raise ValueError(f"`order` must list each of the {len(C)} tasks exactly once, got {visits.tolist()}.")
    Co = output_similarity(output, len(C))
    Co = np.ones_like(C) if Co is None else Co[np.ix_(visits, visits)]
    C = C[np.ix_(visits, visits)]
    residual = np.eye(len(C)) - np.linalg.inv(np.eye(len(C)) + np.triu(C, 1)) @ C
    return float(np.trace(residual.T @ Co @ residual))


def no_output(output: ArrayLike | None) -> None:
    """Refuse an output similarity below retention 1."""
    if output is not None:
        raise ValueError(
            "`output` must be left out for a retention below 1, got a matrix. There the table itself says what "
            "one task teaches another."
        )


def unit_diagonal_similarity(similarity: ArrayLike) -> Floats:
    """The checked C: symmetric with ones on the diagonal, of any definiteness."""
    C = square_matrix(similarity)
    unit_diagonal(C)
    symmetric(C)
    return C


def output_factor(output: Floats | None, num_tasks: int) -> Floats:
    """(k, P) rows R with R^T R = Co and k = rank(Co); one row of ones for a shared readout (None)."""
    if output is None:
        return np.ones((1, num_tasks))
    values, vectors = np.linalg.eigh(output)
    keep = values > 1e-12 * values[-1]
    return np.ascontiguousarray((vectors[:, keep] * np.sqrt(values[keep])).T[::-1])


def _column_errors(R: Floats) -> Floats:
    errors: Floats = np.einsum("ki,ki->i", R, R)
    return errors
