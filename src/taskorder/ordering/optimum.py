"""The least error of an open problem: listed, proven, or the best that the time allows with a bound below it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.machine import one_blas_thread
from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import MAX_EXACT, Proof, prove, tolerance
from taskorder.ordering.groups import ascending, count_orders, grouped_orders, keeps_groups
from taskorder.ordering.law_problem import LawProblem
from taskorder.ordering.meet_in_the_middle import prove_by_halves
from taskorder.ordering.precedence import components
from taskorder.ordering.problem import Problem

MAX_UNCOMPILED = 8
"""Up to this many tasks every order is tried with plain NumPy: nothing to compile, under 0.1 s."""
FIRST_ATTEMPT, BEFORE_HALVES = 5_000_000, 100_000
"""Nodes of a proof (some seconds) before meeting in the middle, and so with at most twelve tasks."""
HALVES = {9: 0.3, 10: 0.5, 11: 1.0, 12: 2.0, 13: 8.0, 14: 30.0, 15: 150.0, 16: 600.0}
"""Time limits from which meeting in the middle is tried, about twice what it takes with so many tasks."""
SCHEDULE = 10.0
"""Seconds that the whole schedule of the search takes, about; a longer time limit stretches it."""
LEAST_SQUARES_SECONDS = 1e-9
"""What a least squares solution takes, times the cube of the number of tasks."""
PROMPT_TERMS, BOUND_STEPS = 100_000_000, 8
"""Of a bound with fewer terms so many steps are taken even when the time is over; of another one only the first."""
FIRST_SHARE = 0.1
"""Of the time for all independent parts together; those that it was too short for share the rest."""


@one_blas_thread()
def minimize(problem: Problem, *, seed: int, clock: Clock) -> Proof:
    """The best order of `problem`; independent parts are solved apart and their gains add up."""
    coupled = (problem.C != 0) | (problem.G != 0) | problem.precedes | problem.precedes.T
    if problem.together is not None:
        coupled |= problem.together[:, None] == problem.together
    parts = components(coupled)
    if len(parts) <= 1:
        return _minimize_part(problem, seed, clock, clock.limit)
    apart = [own_part(problem, tasks, clock) for tasks in parts]
    proofs = _minimize_apart(apart, seed, clock)
    error, bound = (
        problem.e + sum(getattr(proof, name) - part.e for part, proof in zip(apart, proofs, strict=True))
        for name in ("error", "bound")
    )
    order = np.concatenate([tasks[proof.order] for tasks, proof in zip(parts, proofs, strict=True)])
    return Proof(order, error, error if bound >= error else bound, sum(proof.nodes for proof in proofs))


def _minimize_apart(parts: list[Problem], seed: int, clock: Clock) -> list[Proof]:
    """The best order of each part. No part may take the time of the others: first each has a little, which is enough
    for most, and then those that were cut short share what is left."""
    proofs, cut = [], []
    with clock.first_try():
        for number, part in enumerate(parts):
            own = clock.share(FIRST_SHARE / len(parts))
            proofs.append(_minimize_part(part, seed, own, clock.limit))
            if own.cut and not proofs[-1].complete:
                cut.append(number)
    for number_done, number in enumerate(cut):
        if not clock.over():
            known = proofs[number]
            longer = _minimize_part(parts[number], seed, clock.share(1 / (len(cut) - number_done)), clock.limit)
            best = min(longer, known, key=lambda proof: proof.error)
            bound = min(best.error, max(longer.bound, known.bound))
            proofs[number] = replace(best, bound=bound, nodes=longer.nodes + known.nodes)
    return proofs


def own_part(problem: Problem, tasks: Ints, clock: Clock) -> Problem:
    """The problem of ordering `tasks` alone, with no more error than they can take away, which is at most h G^-1 h.

    Tolerances are relative to the error: a heavy part must not make the others careless. A part that is too large for a
    proof does without where there is no time for it.
    """
    part = problem.part(tasks)
    if len(tasks) > MAX_EXACT and clock.left <= LEAST_SQUARES_SECONDS * len(tasks) ** 3:
        return part
    most = np.linalg.lstsq(part.G, part.h.T, rcond=None)[0]
    return replace(part, e=float((part.h.T * most).sum()))


def _minimize_part(problem: Problem, seed: int, clock: Clock, limit: float) -> Proof:
    """limit: seconds for the whole problem, which decide how to go about it, however many of them `clock` has left."""
    if (orders := listed_orders(problem)) is not None:
        return best_listed(problem, orders)
    import scipy.linalg  # noqa: F401  (its BLAS is limited once it is loaded)

    with one_blas_thread():
        return _search_and_prove(problem, seed, clock, limit)


def _search_and_prove(problem: Problem, seed: int, clock: Clock, limit: float) -> Proof:
    from taskorder.ordering.search_groups import search_order

    n = problem.size
    if n > MAX_EXACT:
        longer = limit / SCHEDULE if np.isfinite(limit) else 1.0
        if problem.time_for_orders(clock):
            order = search_order(problem, seed=seed, clock=clock.share(0.9), effort=max(1.0, longer))
        else:
            order = ascending(np.arange(float(n)), problem.precedes, problem.together)
        return Proof(order, problem.error_at_once(order), root_bound(problem, clock), 0)
    floor = root_bound(problem, clock)
    halves = limit >= HALVES.get(n, np.inf) and problem.together is None
    if halves and len(problem.r) > 2:  # no bound helps, and every percent above the optimum costs time in the middle
        order = search_order(problem, seed=seed, clock=clock, bound=floor, effort=0.5 if n > 12 else 0.05)
        proof = Proof(order, problem.error(order), floor, 0)
    else:
        order = search_order(problem, seed=seed, clock=clock, bound=floor, effort=0.0)
        most = (BEFORE_HALVES if n <= 12 else FIRST_ATTEMPT) if halves else np.inf
        proof = prove(problem, order, clock, floor, most, seed)
    if proof.complete or not halves or clock.left <= 0:
        return proof
    return prove_by_halves(problem, proof.order, clock, proof.bound)


def best_listed(problem: Problem, orders: Ints | None = None) -> Proof:
    """The optimum of these orders, or of every allowed one; ties go to the first."""
    orders = every_order(problem) if orders is None else orders
    errors = problem.errors(orders)
    best = int(np.argmax(errors <= errors.min() + tolerance(problem, float(errors.min()))))
    return Proof(orders[best], float(errors[best]), float(errors[best]), len(orders))


def listed_orders(problem: Problem | LawProblem) -> Ints | None:
    """(b, n) every allowed order, in lexicographic order, where there are few; else None.

    Groups leave few orders of more visits, too: as many of 4 groups of 3 as of 8 visits.
    """
    if problem.size <= MAX_UNCOMPILED:
        return every_order(problem)
    if problem.together is not None and count_orders(problem.together) <= math.factorial(MAX_UNCOMPILED):
        return grouped_orders(problem.together, problem.precedes)
    return None


def every_order(problem: Problem | LawProblem) -> Ints:
    """(b, n) every allowed order, in lexicographic order."""
    from taskorder.ordering.listing import all_orders

    orders = allowed(all_orders(problem.size), problem.precedes)
    return orders[keeps_groups(orders, problem.together)]


def allowed(orders: Ints, precedes: np.ndarray) -> Ints:
    """The rows of `orders` that keep every precedence."""
    if not precedes.any():
        return orders
    steps = np.argsort(orders, axis=1)
    for a, b in np.argwhere(precedes):
        keep = steps[:, a] < steps[:, b]
        orders, steps = orders[keep], steps[keep]
    return orders


def root_bound(problem: Problem, clock: Clock | None = None, steps: int = 30) -> float:
    """A number below the error of every order, from one multiplier shared by all rows; O(n^3) a step.

    bound(lam) = e - sum over rows of b K^-1 b, K = G + (lam/2)(C + I), b = h + (lam/2) r, is concave in lam: Newton
    steps from inside the region where K is positive definite, halved when they leave it.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    n = problem.size
    if n == 0:
        return problem.e
    shifted = problem.C + np.eye(n)
    least = BOUND_STEPS if n * n * (n + len(problem.r)) <= PROMPT_TERMS else 0

    def at(lam: float) -> tuple[float, float]:
        """(bound, Newton step); minus infinity outside the region."""
        K = problem.G + 0.5 * lam * shifted
        size = float(np.abs(np.diagonal(K)).max())
        try:
            factor = cho_factor(K, lower=True, check_finite=False)
        except LinAlgError:
            return -np.inf, 0.0
        if not float(np.diagonal(factor[0]).min()) ** 2 > 1e-10 * size:
            return -np.inf, 0.0
        b: Floats = (problem.h + 0.5 * lam * problem.r).T
        x = cho_solve(factor, b, check_finite=False)
        s = shifted @ x - problem.r.T
        slope = 0.5 * float((x * (s - problem.r.T)).sum())
        curvature = float((s * cho_solve(factor, s, check_finite=False)).sum())
        rounding = 1e-15 * n * n * float((x * x).sum()) * size
        return problem.e - float((b * x).sum()) - rounding, 2 * slope / curvature if curvature > 0 else 0.0

    def late(taken: int) -> bool:
        return clock is not None and clock.left <= 0 and taken >= least

    lam = problem.multiplier
    best, step = at(lam)
    for taken in range(60):
        if best > -np.inf or late(taken):
            break
        lam *= 4
        best, step = at(lam)
    for taken in range(6):  # the best multiplier may be smaller by orders of magnitude
        if late(taken):
            break
        value, next_step = at(lam / 10)
        if value <= best:
            break
        lam, best, step = lam / 10, value, next_step
    for taken in range(steps):
        if abs(step) <= 1e-9 * abs(lam) or late(taken):
            break
        value, next_step = at(lam + step)
        if value > best:
            lam, best, step = lam + step, value, next_step
        else:
            step /= 2
    return best
