"""What an order is worth under an output similarity of high rank, a few rows of residuals at a time.

The rows know nothing of each other. All of them at once, 64 MB at a step with 2,000 tasks, would come from memory at
every step; a few stay in the cache for a whole order, which is about a hundred times as fast.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.machine import cores

if TYPE_CHECKING:
    from taskorder.ordering.problem import Problem

COMPILED = 20_000_000
"""An order of more steps, of one number each, is worth a compiled kernel."""
ROWS = 16
"""Rows at a time."""


def errors_by_rows(problem: Problem, order: Ints) -> Floats:
    """(n + 1,) the error of one order before the first step and after each one."""
    from taskorder.ordering.kernels.many_rows import take_gains

    k, n = problem.r.shape
    C, G = problem.C[np.ix_(order, order)], problem.G[np.ix_(order, order)]
    gains = np.empty((n, k))

    def take(first: int) -> None:
        rows = slice(first, first + ROWS)
        part = np.empty((n, len(problem.r[rows])))
        take_gains(np.take(problem.r[rows], order, axis=1), np.take(problem.h[rows], order, axis=1), C, G, part)
        gains[:, rows] = part

    with ThreadPoolExecutor(cores()) as threads:
        list(threads.map(take, range(0, k, ROWS)))
    path = np.empty(n + 1)
    path[0] = problem.e
    for step, gained in enumerate(gains):
        path[step + 1] = path[step] - gained.sum()
    return path


def task_errors_by_rows(similarity: Floats, R: Floats, visits: Ints) -> Floats:
    """(visits + 1, P) the error of each task before the first visit and after each one; R: (k, P) rows at the start."""
    from taskorder.ordering.kernels.many_rows import add_squares

    path = np.zeros((len(visits) + 1, len(similarity)))
    for first in range(0, len(R), ROWS):
        add_squares(R[first : first + ROWS].copy(), similarity, visits, path)
    return path


def after_visits(R: Floats, similarity: Floats, visits: Ints) -> Floats:
    """(k, P) rows of residuals after some visits."""
    left = R.copy()
    if R.size * len(visits) > COMPILED:
        from taskorder.ordering.kernels.many_rows import learn

        for first in range(0, len(R), ROWS):
            learn(left[first : first + ROWS], similarity, visits)
        return left
    for j in visits:
        left -= np.outer(left[:, j], similarity[j])
    return left
