"""The state of an order from scratch, and blocks: a stretch of an order as a problem of its own.

With the tasks in their order, U the strictly upper part of C and N = (I + U)^-1, the residuals at learning are v = r N,
the rows of C carried to the end are F = N C, and so Phi = N G N^T. What stands before a block changes (e, r, h); what
stands behind it, T, folds into (e, h, G): the rows of the block W carried through T are Y = (I + U_WW) F_W.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.linalg import lapack

from taskorder.checks import Floats, Ints
from taskorder.ordering.clock import Clock
from taskorder.ordering.problem import Problem


@dataclass
class OrderState:
    """What the kernels of insertion.py keep of one order; all arrays by task, changed in place by the kernels."""

    error: float
    order: Ints
    pos: Ints
    v: Floats
    f: Floats
    A: Floats
    Phi: Floats

    def copy(self) -> OrderState:
        """An independent copy."""
        return replace(self, **{name: getattr(self, name).copy() for name in ("order", "pos", "v", "f", "A", "Phi")})


def carry(problem: Problem, order: Ints) -> tuple[Floats, Floats, Floats]:
    """C and G with their tasks in order, and N = (I + U)^-1."""
    C, G = problem.C[np.ix_(order, order)], problem.G[np.ix_(order, order)]
    N = lapack.dtrtri(np.triu(C, 1), unitdiag=1)[0]
    np.fill_diagonal(N, 1.0)  # LAPACK takes the ones for granted
    return C, G, N


def state(problem: Problem, order: Ints) -> OrderState:
    """The state of `order`; O(n^3)."""
    _, G, N = carry(problem, order)
    r, h = problem.r[:, order], problem.h[:, order]
    v = r @ N
    end = h - v @ G
    pos = np.empty_like(order)
    pos[order] = np.arange(len(order))
    grid = np.ix_(pos, pos)
    Phi = np.ascontiguousarray((N @ G @ N.T)[grid])
    A = np.ascontiguousarray(-(N + N.T)[grid])
    np.fill_diagonal(A, 0.0)
    return OrderState(
        error=problem.e - float(((h + end) * v).sum()),
        order=order.copy(),
        pos=pos,
        v=np.ascontiguousarray(v.T[pos]),
        f=np.ascontiguousarray((N @ end.T)[pos]),
        A=A,
        Phi=Phi,
    )


def improve_blocks(
    problem: Problem, order: Ints, edges: list[int], improve: Callable[[Problem], Ints], clock: Clock
) -> Ints:
    """`order` after each block between neighboring edges, first to last, was put into the order that `improve` gives,
    as far as the time allows.

    `improve` sees a block as a problem whose tasks stand in their present order.
    """
    C, G, N = carry(problem, order)
    NG = N @ G
    e, r, h = problem.e, problem.r[:, order].copy(), problem.h[:, order].copy()
    new = order.copy()
    for start, stop in pairwise(edges):
        if clock.left <= 0:
            break
        W, T = slice(start, stop), slice(stop, None)
        x = r[:, T] @ N[T, T]
        end = h - x @ G[T]
        U = np.triu(C[W, W], 1)
        Y = U @ NG[W] + NG[W]
        N_Y = U @ N[W] + N[W]
        folded = Y @ N_Y.T
        block = Problem(
            tasks=np.arange(stop - start),
            e=e - float(((h + end)[:, T] * x).sum()),
            r=r[:, W].copy(),
            h=end[:, W] - (end[:, T] @ N[T, T].T) @ C[T, W],
            C=np.ascontiguousarray(C[W, W]),
            G=0.5 * (folded + folded.T),
            precedes=np.ascontiguousarray(problem.precedes[np.ix_(order[W], order[W])]),
        )
        positions = improve(block)
        new[W] = order[W][positions]
        for j in start + positions:
            if clock.left <= 0:
                return new
            v = r[:, j].copy()
            e -= float(v @ (2 * h[:, j] - v * G[j, j]))
            r -= np.outer(v, C[j])
            h -= np.outer(v, G[j])
    return new
