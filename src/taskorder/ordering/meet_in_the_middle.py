"""The proven optimum for a general output similarity: prefixes and endings meet in the middle.

For every set S of tasks that may come first, all orders of S are paired with all orders of the rest;
kernels/half_orders.py and kernels/vector_pairs.py show how pairs are excluded in bulk. The work grows like (n choose
n/2) (n/2)! instead of n!, whatever the matrices are; the sets are independent and learn of better orders only between
rounds, so the answer does not depend on the number of threads.
"""

from __future__ import annotations

import itertools
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.machine import cores
from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import Proof, tolerance
from taskorder.ordering.precedence import masks
from taskorder.ordering.problem import Problem
from taskorder.ordering.symmetry import symmetries

MAX_GENERAL = 16
"""Two halves of at most eight tasks: 40,320 orders each, 60 MB a thread."""
ROUND = 400_000
"""Orders of halves between two looks at the clock."""
RIDGE = 1e-4
"""Keeps the condition of the metric below about 1e6 where a list does not spread."""
NEWTON = 2


def prove_by_halves(problem: Problem, start: Ints, clock: Clock, floor: float = -np.inf) -> Proof:
    """Minimize the error of `problem` from the feasible order `start` until proven or until the clock stops it.

    floor: a bound that is already known. It is all there is to report when the clock stops the proof, or when there are
    more than 16 tasks.
    """
    best, order = problem.error(start), start.copy()
    known = floor >= best - tolerance(problem, best)
    if problem.size > MAX_GENERAL or known:
        return Proof(order, best, best if known else floor, 0)
    if problem.size < 4:
        return _listed(problem, order, best)
    precedes, images = symmetries(problem, clock)
    middle = Middle.of(problem, precedes)
    sets = prefix_sets(precedes, images, middle.early)
    nodes, at = 0, 0
    with ThreadPoolExecutor(cores()) as threads:
        while at < len(sets):
            if at and clock.report(best, min(floor, best)):
                return Proof(order, best, min(floor, best), nodes)
            step = max(8, ROUND // middle.rows)
            batch = sets[at : at + step]
            at += step
            run = map if len(batch) == 1 or problem.size < 9 else threads.map
            search = partial(middle.search, aim=best - tolerance(problem, best))
            for value, candidate, searched in run(search, batch.tolist()):
                nodes += searched
                if candidate is not None and (value, candidate.tolist()) < (best, order.tolist()):
                    best, order = value, candidate
    return Proof(order, best, best, nodes)


def prefix_sets(precedes: np.ndarray, images: Ints, size: int) -> Ints:
    """Bit masks of the sets of `size` tasks that may come first, one of each class of equivalent sets."""
    n = len(precedes)
    chosen = np.array(list(itertools.combinations(range(n), size)), np.int64)
    member = np.zeros((len(chosen), n), bool)
    member[np.arange(len(chosen))[:, None], chosen] = True
    missing = ~member @ precedes  # (sets, n): something that must come earlier is left out
    member = member[~(member & missing).any(axis=1)]
    bits = np.int64(1) << np.arange(n)
    sets: Ints = member @ bits
    for image in images:
        sets, member = (part[member @ bits[image] >= sets] for part in (sets, member))
    return sets


@dataclass(frozen=True)
class Middle:
    """A problem in Gram form, and how it is cut in two."""

    problem: Problem
    gram: Floats
    """(n, n) A = r^T r."""
    pull: Floats
    """(n, n) N = r^T h."""
    before: np.ndarray
    after: np.ndarray
    """(n,) uint64 masks of what must come before and after each task."""
    columns: Ints
    """The entries of the padded rows of `half_orders` that vary."""
    local: threading.local
    """Buffers of each thread."""

    @classmethod
    def of(cls, problem: Problem, precedes: np.ndarray) -> Middle:
        """Cut `problem`, with its constraints as `symmetries` extends them."""
        from taskorder.ordering.kernels.half_orders import WIDTH

        late = problem.size // 2
        pairs = [2 * i * WIDTH + j for i in range(late) for j in range(late) if i != j]
        pairs += [(2 * i + 1) * WIDTH + j for i in range(late) for j in range(i + 1)]
        return cls(
            problem, problem.r.T @ problem.r, problem.r.T @ problem.h,
            *masks(precedes), np.array(pairs, np.int64), threading.local(),
        )  # fmt: skip

    @property
    def early(self) -> int:
        """Tasks in the prefix. The ending is never the longer half: a row of numbers grows with its square."""
        return self.problem.size - self.problem.size // 2

    @property
    def rows(self) -> int:
        """Most orders of the two halves of one set."""
        return math.factorial(self.early) + math.factorial(self.problem.size - self.early)

    def buffers(self) -> tuple[np.ndarray, ...]:
        """Arrays that a thread reuses from set to set: c, x, orders of S, y, orders of T."""
        if not hasattr(self.local, "arrays"):
            from taskorder.ordering.kernels.half_orders import WIDTH

            early, late = self.early, self.problem.size - self.early
            first, second = math.factorial(early), math.factorial(late)
            self.local.arrays = (
                np.empty(first), np.empty((first, 2 * late * WIDTH)), np.empty((first, early), np.int8),
                np.empty((second, 2 * late * WIDTH)), np.empty((second, late), np.int8),
            )  # fmt: skip
        arrays: tuple[np.ndarray, ...] = self.local.arrays
        return arrays

    def search(self, mask: int, aim: float) -> tuple[float, Ints | None, int]:
        """The best order that learns the set `mask` first, if its error is below `aim`: (error, order, nodes)."""
        from taskorder.ordering.kernels import half_orders, vector_pairs

        problem, columns = self.problem, self.columns
        inside = (mask >> np.arange(problem.size)) & 1
        S, T = np.flatnonzero(inside), np.flatnonzero(1 - inside)
        value, x, early, y, late = self.buffers()
        num = half_orders.prefixes(
            problem.e, self.gram, self.pull, problem.C, problem.G, self.before, S, T, value, x, early
        )
        other_num = half_orders.endings(problem.C, problem.G, self.after, T, y, late)
        nodes = num + other_num
        x_center, K = vector_pairs.moments(x, num, columns)
        y_center, Q = vector_pairs.moments(y, other_num, columns)
        F, H = balance(K, Q)
        value = np.concatenate([value[:num], np.full(other_num, -float((x_center * y_center).sum()))])
        norm, index = np.empty(nodes, np.float32), np.arange(nodes)
        vector_pairs.measure(x, num, columns, x_center, y_center, F, False, value[:num], norm[:num])
        vector_pairs.measure(y, other_num, columns, y_center, x_center, H, True, value[num:], norm[num:])
        lo, hi = np.array([0, num]), np.array([num, nodes])
        vector_pairs.screen(value, norm, index, lo, hi, aim)
        first, second = np.sort(index[: hi[0]]), np.sort(index[num : hi[1]])
        if not len(first) or not len(second):
            return aim, None, nodes
        u = np.empty((len(first) + len(second), len(columns)))
        vector_pairs.project(x, first, columns, x_center, F, u[: len(first)])
        vector_pairs.project(y, second - num, columns, y_center, H, u[len(first) :])
        p, s, tried = vector_pairs.best_pair(u, value[np.concatenate([first, second])], len(first), aim)
        if p < 0:
            return aim, None, nodes + tried
        order = np.concatenate([early[first[p]], late[second[s - len(first)] - num]]).astype(np.int64)
        return problem.error(order), order, nodes + tried


def balance(K: Floats, Q: Floats) -> tuple[Floats, Floats]:
    """(F, H) with F^T H = 1, F upper and H lower triangular: coordinates F x and H y in which two lists spread alike.

    K, Q: (d, d) covariances of x and y, lower triangles. M = F^T F should solve M K M = Q; with K = L L^T, S = L^T Q L
    it is M = L^-T S^(1/2) L^-1. A few Newton steps X <- (X + X^-1 S) / 2 are enough, because any positive definite X
    gives a valid bound. No LAPACK: its threads and those of the proof would wait for each other.

    >>> F, H = balance(np.diag([4.0, 1.0]), np.eye(2))
    >>> np.round(F.T @ H, 9).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    from taskorder.ordering.kernels.vector_pairs import cholesky, sandwich, substitute

    identity = np.eye(len(K))
    k, q = np.diagonal(K).mean() + 1e-200, np.diagonal(Q).mean() + 1e-200
    scale = ((np.diagonal(Q) / q + RIDGE) / (np.diagonal(K) / k + RIDGE)) ** 0.25
    outer = np.multiply.outer(scale, scale)
    Q = np.tril(Q) + np.tril(Q, -1).T
    L = cholesky(K * outer / k + RIDGE * identity)
    S = sandwich(L, Q / outer / q + RIDGE * identity)
    middle = np.sqrt(np.diagonal(S).mean())
    X = 0.5 * (S / middle + middle * identity)
    for _ in range(NEWTON):
        R, Y = cholesky(X), S.copy()
        substitute(R, Y, True)
        substitute(R, Y, False)
        X = 0.5 * X + 0.25 * (Y + Y.T)
    substitute(L, X, False)
    M = np.ascontiguousarray(X.T)
    substitute(L, M, False)
    R, inverse = cholesky(M), identity.copy()
    substitute(R, inverse, True)
    scale *= np.clip(q / k, 1e-24, 1e24) ** 0.25  # norms of about the same size on both sides
    F, H = np.ascontiguousarray(R.T * scale), inverse / scale
    finite = bool(np.isfinite(F).all() and np.isfinite(H).all())
    return (F, H) if finite else (identity, identity)  # valid too: what cannot be compared must not be excluded


def _listed(problem: Problem, order: Ints, best: float) -> Proof:
    """Three tasks or fewer: every allowed order."""
    for candidate in itertools.permutations(range(problem.size)):
        positions = np.array(candidate, np.int64)
        if not np.tril(problem.precedes[np.ix_(positions, positions)]).any() and problem.error(positions) < best:
            best, order = problem.error(positions), positions
    return Proof(order, best, best, math.factorial(problem.size))
