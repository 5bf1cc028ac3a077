"""The solver of the earlier trial, built again from its description (used by trial.py).

Branch and bound from the front: the children of a node are the tasks that may come next, priced from one factorization
by LB + (r_j - x_j)^2 / (K^-1)_jj and searched depth first, cheapest first; the multiplier is inherited along a Newton
step; the last visits are listed. Two threads share the beginnings of two tasks and the incumbent. No symmetry, no
endings, no memory: taskorder's own solver has all of these and is not what is measured here.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np

from taskorder.machine import one_blas_thread
from taskorder.ordering.clock import Clock
from taskorder.ordering.kernels.jit import njit
from taskorder.ordering.problem import Problem
from taskorder.ordering.search import search

THREADS, LISTED = 2, 3
"""Threads, and last visits that are listed."""
STEPS = 2
"""Newton steps at a node, chosen on the rows whose matrices are known (trial.py): with 0, 1 and 2 steps it reaches
within 1 s as many tasks as the trial but for -2 to 2, -2 to 2 and -1 to 2."""
FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(error_model="numpy", fastmath=FAST)
def factorize(r, h, C, G, tasks, m, lam, K, X, y):
    """b K^-1 b, or -1 when K is not positive definite; X <- inverse Cholesky factor of K, y <- X b."""
    half, value = 0.5 * lam, 0.0
    for i in range(m):
        a = tasks[i]
        for j in range(i + 1):
            K[i, j] = G[a, tasks[j]] + half * C[a, tasks[j]]
        K[i, i] += half
        whole = K[i, i]
        for j in range(i):
            total = K[i, j]
            for k in range(j):
                total -= K[i, k] * K[j, k]
            K[i, j] = total * K[j, j]
            whole -= K[i, j] * K[i, j]
        if not whole > 1e-10 * (G[a, a] + abs(lam)):
            return -1.0
        K[i, i] = 1.0 / np.sqrt(whole)  # the diagonal of the factor, inverted
        for j in range(i + 1):
            X[i, j] = 0.0
        for k in range(i):
            for j in range(k + 1):
                X[i, j] -= K[i, k] * X[k, j]
        for j in range(i):
            X[i, j] *= K[i, i]
        X[i, i] = K[i, i]
        total = 0.0
        for j in range(i + 1):
            total += X[i, j] * (h[tasks[j]] + half * r[tasks[j]])
        y[i] = total
        value += total * total
    return value


@njit(error_model="numpy", fastmath=FAST)
def newton(r, C, tasks, m, X, y, x, s):
    """The Newton step of the multiplier; x <- K^-1 b."""
    for j in range(m):
        x[j] = 0.0
    for i in range(m):
        for j in range(i + 1):
            x[j] += X[i, j] * y[i]
    slope, curvature = 0.0, 0.0
    for i in range(m):
        a = tasks[i]
        total = x[i] - r[a]
        for j in range(m):
            total += C[a, tasks[j]] * x[j]
        s[i] = total
        slope += 0.5 * x[i] * (total - r[a])
    for i in range(m):
        total = 0.0
        for j in range(i + 1):
            total += X[i, j] * s[j]
        curvature += total * total
    return 2.0 * slope / curvature if curvature > 0.0 else 0.0


@njit(error_model="numpy", fastmath=FAST)
def bound(e, r, h, C, G, tasks, m, lam, safe, steps, enough, K, X, vectors):
    """(lower bound, its multiplier, the next multiplier) after at most `steps` more Newton steps; X and x belong to it.

    lam is tried first, then `safe`, which is known to keep K positive definite: the parent's.
    """
    y, x, s = vectors[0], vectors[1], vectors[2]
    value = factorize(r, h, C, G, tasks, m, lam, K, X, y)
    if value < 0.0:
        lam = safe
        value = factorize(r, h, C, G, tasks, m, lam, K, X, y)
        if value < 0.0:  # rounding: no bound
            for i in range(m):
                x[i] = r[tasks[i]]
                for j in range(i + 1):
                    X[i, j] = 1.0 if i == j else 0.0
            return -np.inf, lam, lam
    step = newton(r, C, tasks, m, X, y, x, s)
    for _ in range(steps):
        if e - value >= enough or abs(step) < 1e-3 * abs(lam):
            break
        new, tries = -1.0, 0
        while tries < 6:
            new = factorize(r, h, C, G, tasks, m, lam + step, K, X, y)
            if 0.0 <= new <= value:
                break
            step, tries = 0.3 * step, tries + 1
        if tries == 6:
            value, step = factorize(r, h, C, G, tasks, m, lam, K, X, y), 0.0
            newton(r, C, tasks, m, X, y, x, s)
            break
        lam, value = lam + step, new
        step = newton(r, C, tasks, m, X, y, x, s)
    return e - value, lam, lam + step


@njit(error_model="numpy", fastmath=FAST)
def branch(e, r, h, C, G, prefix, lam, safe, steps, relative, absolute, best, order, stop):
    """Search everything that begins with `prefix`; best, order and stop are shared with other threads; returns nodes.

    The multiplier lam is tried at the first node, `safe` is its parent's.
    """
    n, nodes = len(r), 0
    es, rs, hs = np.empty(n + 1), np.empty((n + 1, n)), np.empty((n + 1, n))
    tasks, price = np.empty((n + 1, n), np.int64), np.empty((n + 1, n))
    now, next_child = np.empty(n, np.int64), np.zeros(n + 1, np.int64)
    lams, safes = np.empty(n + 1), np.empty(n + 1)
    K, X, vectors = np.empty((n, n)), np.empty((n, n)), np.empty((3, n))
    depth, base = len(prefix), len(prefix)
    taken = np.zeros(n, np.bool_)
    es[depth], rs[depth], hs[depth], lams[depth], safes[depth] = e, r, h, lam, safe
    for i in range(depth):
        j = prefix[i]
        v = rs[depth, j]
        es[depth] -= v * (2.0 * hs[depth, j] - v * G[j, j])
        rs[depth] -= v * C[j]
        hs[depth] -= v * G[j]
        now[i], taken[j] = j, True
    m = 0
    for j in range(n):
        if not taken[j]:
            tasks[depth, m] = j
            m += 1
    new = True
    while depth >= base:
        m = n - depth
        if new:  # price the children
            new = False
            nodes += 1
            next_child[depth] = 0
            if stop[0]:
                return nodes
            if m > LISTED:
                enough = best[0] - relative * abs(best[0]) - absolute
                low, safe, lam = bound(
                    es[depth], rs[depth], hs[depth], C, G, tasks[depth], m, lams[depth], safes[depth], steps, enough,
                    K, X, vectors,
                )  # fmt: skip
                lams[depth + 1], safes[depth + 1] = lam, safe
                if low >= enough:
                    depth -= 1
                    continue
                for j in range(m):
                    square = 0.0
                    for i in range(j, m):
                        square += X[i, j] * X[i, j]
                    price[depth, j] = low + (rs[depth, tasks[depth, j]] - vectors[1, j]) ** 2 / square
                for i in range(1, m):  # ascending
                    p, t, j = price[depth, i], tasks[depth, i], i
                    while j > 0 and price[depth, j - 1] > p:
                        price[depth, j], tasks[depth, j] = price[depth, j - 1], tasks[depth, j - 1]
                        j -= 1
                    price[depth, j], tasks[depth, j] = p, t
            else:
                for j in range(m):
                    price[depth, j] = -np.inf
        c = next_child[depth]
        if c == m or price[depth, c] >= best[0] - relative * abs(best[0]) - absolute:
            depth -= 1
            continue
        next_child[depth] += 1
        j = tasks[depth, c]
        v, now[depth] = rs[depth, j], j
        es[depth + 1] = es[depth] - v * (2.0 * hs[depth, j] - v * G[j, j])
        if m == 1:
            if es[depth + 1] < best[0] - relative * abs(best[0]) - absolute:
                best[0] = es[depth + 1]
                order[:] = now
            continue
        k = 0
        for i in range(m):
            t = tasks[depth, i]
            if i != c:
                tasks[depth + 1, k] = t
                rs[depth + 1, t] = rs[depth, t] - v * C[j, t]
                hs[depth + 1, t] = hs[depth, t] - v * G[j, t]
                k += 1
        depth += 1
        new = True
    return nodes


class Attempt(NamedTuple):
    """What one run of the replica came to."""

    proven: bool
    seconds: float
    """Of the start and of two threads that have a core each: CPU time, since the machine is shared."""
    error: float


def attempt(problem: Problem, limit: float, effort: float, steps: int = STEPS) -> Attempt:
    """The trial's way to a proven optimum: a search of that effort, then branch and bound with so many Newton steps a
    node, until `limit` seconds of CPU time a thread."""
    began = time.process_time()
    with one_blas_thread():
        start = search(problem, seed=0, clock=Clock(limit), effort=effort)
        first = time.process_time() - began
        best, order, stop = np.array([problem.error(start)]), start.copy(), np.zeros(1, np.bool_)
        jobs = prefixes(problem, steps)
        here = problem.e, problem.r[0], problem.h[0], problem.C, problem.G
        lock, queue = threading.Lock(), iter(jobs)

        def work() -> None:
            while True:
                with lock:
                    job = next(queue, None)
                if job is None or stop[0]:
                    return
                low, prefix, lam, safe = job
                if low < best[0]:
                    branch(*here, prefix, lam, safe, steps, 1e-9, 1e-12 * problem.e, best, order, stop)

        def spent() -> float:
            return first + (time.process_time() - began - first) / THREADS

        with ThreadPoolExecutor(THREADS) as threads:
            working = [threads.submit(work) for _ in range(THREADS)]
            while wait(working, timeout=0.01).not_done:
                stop[0] = stop[0] or spent() > limit
            for done in working:
                done.result()
    return Attempt(not stop[0], spent(), float(best[0]))


def prefixes(problem: Problem, steps: int) -> list[tuple[float, np.ndarray, float, float]]:
    """(price, beginning of two tasks, multiplier to try, multiplier that is safe), cheapest first."""
    n, C, G = problem.size, problem.C, problem.G
    K, X, vectors = np.empty((n, n)), np.empty((n, n)), np.empty((3, n))
    lam, found = problem.multiplier, []

    def children(e, r, h, tasks, lam, safe, steps):
        m = len(tasks)
        low, safe, lam = bound(e, r, h, C, G, tasks, m, lam, safe, steps, np.inf, K, X, vectors)
        inverse = (np.tril(X[:m, :m]) ** 2).sum(axis=0)
        return low + (r[tasks] - vectors[1, :m]) ** 2 / inverse, lam, safe

    e, r, h, every = problem.e, problem.r[0], problem.h[0], np.arange(n)
    _, lam, safe = children(e, r, h, every, lam, 1e-6 * lam, 30)
    for j in every:
        v = r[j]
        rest = every[every != j]
        then = e - v * (2 * h[j] - v * G[j, j]), r - v * C[j], h - v * G[j]
        prices, next_lam, next_safe = children(*then, rest, lam, safe, max(steps, 1))
        found += [(float(p), np.array([j, k]), next_lam, next_safe) for p, k in zip(prices, rest, strict=True)]
    return sorted(found, key=lambda job: job[0])
