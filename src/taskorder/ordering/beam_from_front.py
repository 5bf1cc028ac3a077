"""Orders built from the front by beam search along the lower bound; with one order in the beam this is a greedy rule.

The bound (kernels/bound.py has the notation) rises by (r_j - x_j)^2 / (K^-1)_jj when j is learned next; then K^-1 loses
the rank-one part that belongs to j, and x moves along it. K^-1 depends on the set of open tasks only, and the partial
orders of a beam have most of their tasks in common: one inverse is kept for the tasks that are open in any of them, and
for each set in the beam the few rows Z with which its own inverse is inverse - Z^T Z. So a partial order costs O(n) a
step, not O(n^2), and a thousand are affordable. lam is tuned again on a fresh factorization now and then, the more
often the wider the beam.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from taskorder.checks import Floats, Ints
from taskorder.ordering.clock import Clock
from taskorder.ordering.kernels.beam_from_front import close, extend, price, renew, roots
from taskorder.ordering.problem import Problem

START = 1.0
"""First lam."""
SHRINK = 0.8
"""lam is tuned again when this share of the tasks is left,"""
OFTEN = 0.5
"""or when this many times what that costs was spent on steps since it was tuned last."""
MIRROR_TIE = 1e-9
"""Prices this close, relative, are most likely those of mirror images: one is kept."""
MAX_SPREAD = 64
"""When partial orders differ in more tasks than this, which makes them expensive, only like ones are kept."""


class Beam(NamedTuple):
    """Partial orders side by side; the last axis of r, h, x and shut is that of the tasks open in any of them."""

    e: Floats
    bound: Floats
    key: NDArray[np.uint64]
    """Equal for equal sets of tasks."""
    order: Ints
    r: Floats
    h: Floats
    x: Floats
    shut: NDArray[np.bool_]
    """True for what this one has learned."""


def empty_beam(width: int, k: int, n: int) -> Beam:
    """Room for `width` partial orders."""
    r, h, x = (np.zeros((width, k, n)) for _ in range(3))
    order, shut = np.zeros((width, n), np.int64), np.zeros((width, n), np.bool_)
    return Beam(np.zeros(width), np.zeros(width), np.zeros(width, np.uint64), order, r, h, x, shut)


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


def smallest(prices: Floats, width: int) -> Ints:
    """Where the `width` smallest finite prices stand, smallest first, one of each group of ties."""
    enough = min(len(prices), 2 * width)  # some are ties
    cut = np.partition(prices, enough - 1)[enough - 1]
    near: Ints = np.flatnonzero((prices <= cut) & (prices < np.inf))
    near = near[np.argsort(prices[near], kind="stable")]
    values = prices[near]
    fresh = np.append(True, np.diff(values) > MIRROR_TIE * np.abs(values[1:]))
    distinct: Ints = near[fresh][:width]
    return distinct


class BeamFromFront:
    """One beam search under way."""

    def __init__(self, problem: Problem, width: int, stretch: float, clock: Clock) -> None:
        n, k = problem.size, len(problem.r)
        self.problem, self.width, self.stretch, self.clock = problem, width, stretch, clock
        self.beam, self.spare = empty_beam(width, k, n), empty_beam(width, k, n)
        self.beam.e[0], self.beam.r[0], self.beam.h[0] = problem.e, problem.r, problem.h
        self.count, self.m, self.ids, self.lam = 1, n, np.arange(n), START
        self.names = np.random.default_rng(0).integers(1, 2**63, n, dtype=np.uint64)
        self.before = np.argwhere(problem.precedes)
        self.inverse, self.label = np.zeros((0, 0)), np.zeros(1, np.int64)
        self.cost = 0.0

    def tuning(self) -> float:
        """What it costs to tune."""
        return 0.13 * self.m**3 + (40.0 + 0.4 * self.count * len(self.problem.r)) * self.m**2 + 2e5

    def tune(self, steps: int) -> None:
        """Tune lam for the best partial order; compute the inverse, x and the bounds anew."""
        problem, beam, m, count = self.problem, self.beam, self.m, self.count
        r, h = beam.r[:count, :, :m], beam.h[:count, :, :m]
        best = int(np.argmin(beam.bound[:count]))
        open_slots = np.flatnonzero(~beam.shut[best, :m])
        own = np.ix_(self.ids[open_slots], self.ids[open_slots])
        rows = r[best][:, open_slots], h[best][:, open_slots]
        self.lam = tune(*rows, problem.C[own], problem.G[own], self.lam, steps, self.clock)
        if self.clock.left <= 0:
            return  # what follows is as expensive, and the run is over
        grid = np.ix_(self.ids[:m], self.ids[:m])
        C, G = problem.C[grid], problem.G[grid]
        lam = self.lam + (self.stretch - 1) * abs(self.lam)
        factor = _factor(C, G, lam)
        while factor is None and lam < 1e6 * max(1.0, abs(self.lam)):
            lam = 2 * abs(lam) + 1e-6
            factor = _factor(C, G, lam)
        half = np.eye(m) if factor is None else np.triu(lapack.dpotri(factor)[0])
        self.inverse = half + np.triu(half, 1).T
        Z, _ = self.sets()
        renew(beam, count, m, lam, self.label, Z, self.inverse)
        self.cost += self.tuning()

    def sets(self) -> tuple[Floats, Floats]:
        """(Z, weight) of every set of tasks in the beam; `label` tells which partial order has which."""
        keys, first, self.label = np.unique(self.beam.key[: self.count], return_index=True, return_inverse=True)
        shut = self.beam.shut[first, : self.m]
        most = int(shut[0].sum())  # the same for all: the partial orders are equally long
        Z, weight = np.empty((len(keys), most, self.m)), np.empty((len(keys), self.m))
        slot = np.full(self.problem.size, -1)
        slot[self.ids[: self.m]] = np.arange(self.m)
        roots(shut, self.m, self.inverse, slot, self.before, Z, weight)
        self.cost += len(keys) * (self.m * (most**2 / 4 + 2.0) + 2.0 * len(self.before))
        return Z, weight

    def step(self, at: int) -> None:
        """One more task for every partial order; the best stay."""
        problem, beam, m, k = self.problem, self.beam, self.m, len(self.problem.r)
        Z, weight = self.sets()
        prices = np.empty((self.count, m))
        price(beam, self.count, m, self.label, weight, prices)
        chosen = smallest(prices.ravel(), self.width)
        extend(
            beam, at, m, prices.ravel()[chosen], chosen // m, chosen % m, self.label, Z, self.inverse, self.ids,
            problem.C, problem.G, self.names, self.spare,
        )  # fmt: skip
        new = len(chosen)
        self.cost += self.count * m * (6.0 + 2 * k) + new * m * (0.4 * Z.shape[1] + 4 * k + 3.0)
        self.beam, self.spare, self.count = self.spare, beam, new
        if Z.shape[1] > MAX_SPREAD:
            self.gather()
        self.m = close(self.beam, self.count, m, self.inverse, self.ids)
        self.cost += (m - self.m) * 0.5 * m * m + 7e4

    def gather(self) -> None:
        """Keep only the partial orders with the same tasks as the best one."""
        best = int(np.argmin(self.beam.bound[: self.count]))
        same = np.flatnonzero(self.beam.key[: self.count] == self.beam.key[best])
        for table in self.beam:
            table[: len(same)] = table[same]
        self.count = len(same)

    def run(self) -> Ints | None:
        """The best order; None when time ran out."""
        n, tuned, since = self.problem.size, -np.inf, np.inf
        for at in range(n):
            if self.clock.left <= 0:
                return None
            if n - at <= SHRINK * since or self.cost - tuned > OFTEN * self.tuning():
                self.tune(30 if at == 0 else 4)
                if self.clock.left <= 0:
                    return None
                tuned, since = self.cost, n - at
            self.step(at)
        best: Ints = self.beam.order[int(np.argmin(self.beam.e[: self.count]))].copy()
        return best


def beam_from_front(problem: Problem, width: int, stretch: float, clock: Clock) -> tuple[Ints | None, float]:
    """(order, cost) by a beam of `width` partial orders, with lam moved up by (stretch - 1)|lam| from the best bound.

    The order is None when time ran out. The cost is counted, in about nanoseconds of one core.
    """
    run = BeamFromFront(problem, width, stretch, clock)
    return run.run(), run.cost
