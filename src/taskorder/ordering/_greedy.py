"""A first order, built from the front: visit next the task that raises the lower bound of what is left the least.

With K = G + (lam/2)(C + I) on the open visits, b = h + (lam/2) r and x = K^-1 b, the bound e - b K^-1 b rises by (r_j
- x_j)^2 / (K^-1)_jj when j is visited next; then K^-1 loses the rank-one part that belongs to j, and x moves along
it. So a step costs O(m^2). lam is tuned again by Newton's method on a fresh factorization each time a fifth of the
visits is gone.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from taskorder.checks import Floats, Ints
from taskorder.ordering._jit import njit
from taskorder.ordering.clock import Clock
from taskorder.ordering.problem import Problem

SHRINK = 0.8
"""The bound is tuned again when this share of the visits is left."""
START = 1.0
"""First lam. Starting at 0 came closer to the lam of the best bound, but gave worse orders on factor matrices (m = .3,
rank 4 P) at 50, 200 and 1000 visits and on chains at 50 and 1000 (better at 200): one matrix each, cause unknown."""
CHUNK = 50
"""Visits between two looks at the clock."""


@njit(fastmath=True)
def _advance(count, m, r, x, inverse, C, ids, waiting, precedes, order):
    """Visit `count` of the m open tasks; r, x (k, m) and inverse (m, m) shrink in place with ids (m,), the open visits.

    waiting[i]: open visits that must come before i.
    """
    k = len(r)
    for step in range(count):
        pick, least = -1, np.inf
        for j in range(m):
            if waiting[ids[j]] == 0:
                rise = 0.0
                for c in range(k):
                    rise += (r[c, j] - x[c, j]) ** 2
                rise /= max(inverse[j, j], 1e-300)
                if rise < least:
                    pick, least = j, rise
        if pick < 0:
            for j in range(m):
                if waiting[ids[j]] == 0:
                    pick = j
                    break
        i = ids[pick]
        order[step] = i
        m -= 1
        # The last open visit takes the freed slot.
        for c in range(k):
            value, gap = r[c, pick], r[c, pick] - x[c, pick]
            for j in range(m + 1):
                r[c, j] -= value * C[i, ids[j]]
                x[c, j] += gap * inverse[pick, j] / inverse[pick, pick]
            r[c, pick], x[c, pick] = r[c, m], x[c, m]
        column = inverse[pick, : m + 1].copy()
        pivot = column[pick]
        if pick != m:
            for j in range(m):
                inverse[pick, j] = inverse[m, j]
            for j in range(m):
                inverse[j, pick] = inverse[pick, j]
            inverse[pick, pick] = inverse[m, m]
            column[pick] = column[m]
            ids[pick] = ids[m]
        for j in range(m):
            share = column[j] / pivot
            line = inverse[j]
            for c in range(m):
                line[c] -= share * column[c]
        for j in range(m):
            if precedes[i, ids[j]]:
                waiting[ids[j]] -= 1


def tune(r: Floats, h: Floats, C: Floats, G: Floats, lam: float, steps: int, clock: Clock) -> float:
    """lam near the smallest b K^-1 b, by at most `steps` Newton steps; unchanged if no tried K is positive definite."""
    best, good = (np.inf, lam), None
    for _ in range(steps):
        if clock.left <= 0:
            break
        factor = _factor(C, G, lam)
        if factor is None:
            lam = 0.5 * (lam + good) if good is not None else 2 * abs(lam) + 1e-3
            continue
        b = h + 0.5 * lam * r
        x = lapack.dpotrs(factor, b.T)[0].T
        value = float((b * x).sum())
        if value < best[0]:
            best = value, lam
        good = lam
        s = x @ C + x - r
        slope = 0.5 * float((x * s).sum()) - 0.5 * float((r * x).sum())
        change = 2 * slope / max(float((s * lapack.dpotrs(factor, s.T)[0].T).sum()), 1e-300)
        if abs(change) < 1e-3 * abs(lam) + 1e-9:
            break
        lam += change
    return best[1]


def _factor(C: Floats, G: Floats, lam: float) -> Floats | None:
    """Upper Cholesky factor of G + (lam/2)(C + I), or None when that is not safely positive definite."""
    K = G + 0.5 * lam * C
    K.flat[:: len(K) + 1] += 0.5 * lam
    scale = K.diagonal().max()
    factor, info = lapack.dpotrf(K, overwrite_a=True)
    return None if info or factor.diagonal().min() ** 2 < 1e-11 * scale else factor


def greedy(problem: Problem, stretch: float, clock: Clock) -> Ints | None:
    """An order by the bound with lam moved up by (stretch - 1)|lam|; None when time ran out."""
    n = problem.size
    ids, order = np.arange(n), np.empty(n, np.int64)
    e_r, e_h = problem.r.copy(), problem.h.copy()
    waiting = problem.precedes.sum(axis=0)
    done, lam = 0, START
    while done < n:
        if clock.left <= 0:
            return None
        m = n - done
        grid = np.ix_(ids, ids)
        C, G, r, h = problem.C[grid], problem.G[grid], e_r[:, ids], e_h[:, ids]
        lam = tune(r, h, C, G, lam, 30 if done == 0 else 4, clock)
        tried = lam + (stretch - 1) * abs(lam)
        factor = _factor(C, G, tried)
        while factor is None and tried < 1e6 * max(1.0, abs(lam)):
            tried = 2 * abs(tried) + 1e-6
            factor = _factor(C, G, tried)
        inverse = np.eye(m) if factor is None else lapack.dpotri(factor)[0]
        inverse = np.triu(inverse) + np.triu(inverse, 1).T
        x = (h + 0.5 * tried * r) @ inverse
        count = m if m <= 4 else m - int(SHRINK * m)
        for at in range(0, count, CHUNK):
            if clock.left <= 0:
                return None
            now = min(CHUNK, count - at)
            part = order[done + at : done + at + now]
            _advance(now, m - at, r, x, inverse, problem.C, ids, waiting, problem.precedes, part)
        ids = np.sort(ids[: m - count])
        for j in order[done : done + count]:
            v = e_r[:, j].copy()
            e_r -= np.outer(v, problem.C[j])
            e_h -= np.outer(v, problem.G[j])
        done += count
    return order
