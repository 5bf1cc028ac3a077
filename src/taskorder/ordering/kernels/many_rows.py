"""Orders under an output similarity of high rank: a few rows of residuals at a time, which stay in the cache.

Every sum is that of problem.py or theory/closed_form.py, in the same order of additions and to the same digits.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def, no-untyped-call"

from __future__ import annotations

from taskorder.ordering.kernels.jit import njit


@njit(error_model="numpy")
def take_gains(r, h, C, G, gains):
    """gains (n, k) <- by how much each row lowers the error at each step, the tasks standing in their order.

    r, h: (k, n) rows of the problem, used up. C, G: (n, n).
    """
    k, n = r.shape
    for step in range(n):
        for row in range(k):
            v = r[row, step]
            gains[step, row] = v * (2 * h[row, step] - v * G[step, step])
            for i in range(step + 1, n):
                r[row, i] -= v * C[step, i]
                h[row, i] -= v * G[step, i]


@njit(error_model="numpy")
def add_squares(R, C, visits, path):
    """path (visits + 1, P) += the squares of rows of residuals, (k, P), before the first visit and after each one.

    R is used up.
    """
    k, n = R.shape
    for row in range(k):
        for i in range(n):
            path[0, i] += R[row, i] * R[row, i]
    for step in range(len(visits)):
        j = visits[step]
        for row in range(k):
            v = R[row, j]
            for i in range(n):
                R[row, i] -= v * C[j, i]
                path[step + 1, i] += R[row, i] * R[row, i]


@njit(error_model="numpy")
def learn(R, C, visits):
    """R <- the rows of residuals, (k, P), after some visits."""
    k, n = R.shape
    for j in visits:
        for row in range(k):
            v = R[row, j]
            for i in range(n):
                R[row, i] -= v * C[j, i]
