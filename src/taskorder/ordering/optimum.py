"""The least error of an open problem: listed, proven, or the best that the time allows with a bound below it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from taskorder.checks import Floats, Ints
from taskorder.ordering.clock import Clock
from taskorder.ordering.constraints import components
from taskorder.ordering.exact import MAX_EXACT, Proof, prove, tolerance
from taskorder.ordering.problem import Problem

LISTED = 8
"""Up to this many visits every order is tried with plain NumPy: nothing to compile, under 0.1 s."""
FIRST_ATTEMPT = 0.3
"""Share of the time for the first proof attempt, before the search for a better order resumes."""
SCHEDULE = 10.0
"""Seconds that the whole schedule of the search takes, about; a longer time limit stretches it."""


def minimize(problem: Problem, *, seed: int, clock: Clock) -> Proof:
    """The best order of `problem`; independent parts are solved apart and their gains add up."""
    coupled = (problem.C != 0) | (problem.G != 0) | problem.precedes | problem.precedes.T
    parts = components(coupled)
    if len(parts) <= 1:
        return _minimize_part(problem, seed, clock)
    order, error, bound, nodes = [], problem.e, problem.e, 0
    for visits in parts:
        proof = _minimize_part(problem.part(visits), seed, clock)
        order.append(visits[proof.order])
        error += proof.error - problem.e
        bound += proof.bound - problem.e
        nodes += proof.nodes
    return Proof(np.concatenate(order), error, bound, nodes)


def _minimize_part(problem: Problem, seed: int, clock: Clock) -> Proof:
    if problem.size <= LISTED:
        return listed(problem)
    with one_blas_thread():
        return _search_and_prove(problem, seed, clock)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Many small matrix products: on a busy machine the threads of BLAS cost up to ten times what they bring."""
    with _blas().limit(limits=1, user_api="blas"):
        yield


def _search_and_prove(problem: Problem, seed: int, clock: Clock) -> Proof:
    from taskorder.ordering.search import search

    floor = root_bound(problem)
    if problem.size > MAX_EXACT:
        longer = clock.left / SCHEDULE if np.isfinite(clock.left) else 1.0
        order = search(problem, seed=seed, clock=clock, bound=floor, effort=max(1.0, longer))
        return Proof(order, problem.error(order), floor, 0)
    order = search(problem, seed=seed, clock=clock, bound=floor, effort=0.3)
    proof = prove(problem, order, clock.share(FIRST_ATTEMPT), floor)
    if proof.complete or clock.left <= 0:
        return proof
    # No quick proof: a better order may be worth more than a better bound, and it shortens the next attempt.
    order = search(problem, seed=seed + 1, clock=clock.share(0.5), bound=proof.bound, effort=8.0)
    better = order if problem.error(order) < proof.error else proof.order
    second = prove(problem, better, clock, proof.bound)
    return Proof(second.order, second.error, second.bound, proof.nodes + second.nodes)


def listed(problem: Problem) -> Proof:
    """The optimum by trying every allowed order; ties go to the lexicographically first."""
    from taskorder.ordering.listing import all_orders

    orders = allowed(all_orders(problem.size), problem.precedes)
    errors = problem.errors(orders)
    best = int(np.argmax(errors <= errors.min() + tolerance(problem, float(errors.min()))))
    return Proof(orders[best], float(errors[best]), float(errors[best]), len(orders))


def allowed(orders: Ints, precedes: np.ndarray) -> Ints:
    """The rows of `orders` that keep every precedence."""
    steps = np.argsort(orders, axis=1)
    for a, b in np.argwhere(precedes):
        keep = steps[:, a] < steps[:, b]
        orders, steps = orders[keep], steps[keep]
    return orders


def root_bound(problem: Problem, steps: int = 30) -> float:
    """A number below the error of every order, from one multiplier shared by all rows; O(n^3) a step.

    bound(lam) = e - sum over rows of b K^-1 b, K = G + (lam/2)(C + I), b = h + (lam/2) r, is concave in lam: Newton
    steps from inside the region where K is positive definite, halved when they leave it.
    """
    n = problem.size
    if n == 0:
        return problem.e
    identity = np.eye(n)
    shifted = problem.C + identity

    def at(lam: float) -> tuple[float, float]:
        """(bound, Newton step); minus infinity outside the region."""
        K = problem.G + 0.5 * lam * shifted
        try:
            np.linalg.cholesky(K - 1e-11 * float(np.abs(np.diagonal(K)).max()) * identity)
        except np.linalg.LinAlgError:
            return -np.inf, 0.0
        b: Floats = (problem.h + 0.5 * lam * problem.r).T
        x = np.linalg.solve(K, b)
        s = shifted @ x - problem.r.T
        slope = 0.5 * float((x * (s - problem.r.T)).sum())
        curvature = float((s * np.linalg.solve(K, s)).sum())
        rounding = 1e-15 * n * float((x * x).sum()) * float(np.abs(K).max())
        return problem.e - float((b * x).sum()) - rounding, 2 * slope / curvature if curvature > 0 else 0.0

    lam = 0.1
    while at(lam)[0] == -np.inf and lam < 1e12:
        lam *= 4
    best, step = at(lam)
    for _ in range(steps):
        value, next_step = at(lam + step)
        if value > best:
            lam, best, step = lam + step, value, next_step
        else:
            step /= 2
        if abs(step) <= 1e-9 * abs(lam):
            break
    return best
