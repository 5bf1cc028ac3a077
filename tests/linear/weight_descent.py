"""The reference for linear/residual_descent.py: gradient descent on the weights, exactly as published."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from taskorder.checks import Floats
from taskorder.linear.random_tasks import LinearTasks


def descend(tasks: LinearTasks, order: Iterable[int], *, steps: int = 100, learning_rate: float = 1e-3) -> Floats:
    """(len(order) * steps + 1, P) error of every task before training and after each step of

    W <- W + learning_rate (B - W A) A^T,    W = 0 at the start

    (the paper prints the wrong sign and a factor 2 / N_y that its figures do not use: docs/errata.md, item 3).
    """
    W = np.zeros((tasks.B.shape[1], tasks.A.shape[1]))
    rows = [errors(tasks, W)]
    for j in order:
        A, B = tasks.A[j], tasks.B[j]
        for _ in range(steps):
            W += learning_rate * (B - W @ A) @ A.T
            rows.append(errors(tasks, W))
    return np.array(rows)


def converge(tasks: LinearTasks, order: Iterable[int]) -> Floats:
    """(len(order) + 1, P) error of every task before training and after each task, each trained to convergence:

    W <- W + (B - W A) A^+.
    """
    W = np.zeros((tasks.B.shape[1], tasks.A.shape[1]))
    rows = [errors(tasks, W)]
    for j in order:
        W += (tasks.B[j] - W @ tasks.A[j]) @ np.linalg.pinv(tasks.A[j])
        rows.append(errors(tasks, W))
    return np.array(rows)


def errors(tasks: LinearTasks, W: Floats) -> Floats:
    """(P,) ||B_mu - W A_mu||_F^2 / N_y; about 1 for W = 0."""
    residual = tasks.B - W @ tasks.A
    return np.asarray((residual**2).sum(axis=(1, 2)) / len(W))
