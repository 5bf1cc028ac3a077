"""The best order under the law of retention: a beam from the end that bounds what it leaves out.

Counted from the end the score is a sum (theory/law.py): learning k last adds the gain g_k and leaves

    g_j <- d_k (g_j - S_jk g_k)

for what came before. What the learner knew at the start is one more row of S that is always learned first. So a beam
grows orders from the end, keeps the most promising endings, and remembers the largest bound of those it drops: if no
dropped ending can beat the best order, the order is proven. Otherwise the beam is widened.

The bound. Let n gains be open, d the largest retention, and F(x) = sum_t d^t max(x_(t), 0) with the largest x first:
what is to come if gains only fade. Let L = max(0, -min g), q+ and q- the largest S_jk and -S_jk (0 at least), and e+
and e- the largest F of a column of S and of -S. No completion adds more than V_n <= A_n F(g) + B_n L, where

    A_n = max(A_(n-1), 1 + d e- A_(n-1) + d q+ B_(n-1)),
    B_n = d B_(n-1) + max(0, d e+ A_(n-1) + d q- B_(n-1) - 1),        A_0 = 1, B_0 = 0,

by induction on n: a pick p > 0 of task k adds p, raises the others by at most -S_jk p before they fade (F is
subadditive), and lowers none below -d (L + q+ p); a pick -m < 0 costs m and raises the others by at most S_jk m. So
without negative transfer, and with d e+ <= 1, A = 1 and B = 0.

Where visits stay together, F is the largest such sum over orders that keep them so (groups_from_end.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from taskorder.checks import Bools, Floats, Ints
from taskorder.machine import one_blas_thread
from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import Proof
from taskorder.ordering.groups_from_end import GroupsFromEnd
from taskorder.ordering.law_problem import LawProblem
from taskorder.ordering.local_moves import improved
from taskorder.ordering.optimum import listed_orders
from taskorder.ordering.sampling import random_orders

PROVEN = 1e-9
"""Proven means: no allowed order is better by more than this share of the spread over random orders."""
BEAM_WIDTHS = (8, 64, 512, 4096, 32768)
"""Endings that a beam keeps, one try after the other until the order is proven."""
SEARCHED_FROM, FAR = 512, 10.0
"""Where a beam of this width did not prove its order, or the bound is more than so many spreads away, local search
looks for a better one."""
NUMBERS = 20_000_000
"""Most numbers in the states of a beam: with many tasks it is narrower."""
EXACT_CHILDREN = 8
"""Times the width: so many of the children that look best are computed exactly."""
FEWER = 50
"""With groups more children are computed exactly, but of fewer numbers than in the states of a beam."""
SPREAD_ORDERS = 200
HUGE = 1e100
"""Where the constants of the bound grow past this, it says nothing."""
NEGLIGIBLE = 1e-13
"""Where the discount d^t falls below this, sorting further gains changes nothing."""


@one_blas_thread()
def best_by_law(problem: LawProblem, goal: int, *, seed: int, clock: Clock) -> Proof:
    """The order with the most (goal 1) or least (-1) score, or the least (1) or most (-1) error.

    `error` and `bound` of the proof are costs, which are minimized: the value times goal and the sign of the objective.
    """
    cost = goal * problem.sign
    if (orders := listed_orders(problem)) is not None:
        costs = cost * problem.values(orders)
        best = int((costs <= costs.min() + 1e-12 * max(1e-9, float(np.abs(costs).max()))).argmax())  # first of the tied
        return Proof(orders[best], float(costs[best]), float(costs[best]), len(orders))
    spread = spread_over_orders(problem, seed)
    if problem.objective == "score":
        return _search(problem, goal, PROVEN * spread, seed, clock)
    start = _search(as_score(problem), goal, PROVEN * spread, seed, clock.share(0.3))
    order = improved(problem, start.order, cost, seed, clock)
    value = cost * problem.value(order)
    return Proof(order, value, -math.inf, 0)


def spread_over_orders(problem: LawProblem, seed: int) -> float:
    """Standard deviation of the value over random allowed orders."""
    count = int(np.clip(NUMBERS // (problem.size * problem.rows.shape[1]), 20, SPREAD_ORDERS))
    return float(
        problem.values(random_orders(problem.precedes, count, np.random.default_rng(seed), problem.together)).std()
    )


def free_beginning(problem: LawProblem, order: Ints, tolerance: float) -> int:
    """How many of the first visits can be learned in any order without changing the score by more than `tolerance`."""
    if problem.size < 2:
        return 0
    peel = Peel.of(replace(problem, together=None), 1)  # any order at all
    g = peel.gains.copy()
    left = problem.size
    for k in order[::-1]:
        if left < 2:
            return 0
        visits = np.append(order[:left], problem.size)
        up, down = (peel.bound(sign * g[visits][None])[0] for sign in (1, -1))
        if up + down <= tolerance:
            return left
        g = peel.retention[k] * (g - peel.table[:, k] * g[k])
        left -= 1
    return 0


def as_score(problem: LawProblem) -> LawProblem:
    """The same visits, for the score: where the search for the least error starts."""
    total = problem.weights.sum()
    return replace(problem, weights=problem.weights / total, objective="score")


def _search(problem: LawProblem, goal: int, tolerance: float, seed: int, clock: Clock) -> Proof:
    """Beams of growing width, each with the best order so far as its bar, and local search in between."""
    peel = Peel.of(problem, goal)
    best, value, bound, nodes = np.arange(0), -math.inf, math.inf, 0
    searched = -math.inf  # the value of the last order that local search could not improve
    for width in BEAM_WIDTHS:
        ending = peel.beam(min(width, max(8, NUMBERS // problem.size**2)), value + tolerance, clock)
        nodes += ending.nodes
        if ending.value > value:
            best, value = ending.order, ending.value
        bound = min(bound, max(value, ending.left_out))
        if bound <= value + tolerance:
            return Proof(best, -value, -value, nodes)
        if clock.report(-value, -bound):
            break
        if value > searched and (width >= SEARCHED_FROM or bound - value > FAR * tolerance / PROVEN):
            order = improved(problem, best, -goal, seed, clock.share(0.7))
            after = goal * problem.value(order)
            if after > value + tolerance:
                best, value = order, after
            searched = value
        if width * problem.size**2 >= NUMBERS:
            break  # a wider one would not be wider
    return Proof(best, -value, -bound, nodes)


@dataclass(frozen=True, eq=False)
class _Ending:
    """What one beam came to."""

    order: Ints
    value: float
    left_out: float
    """No order that the beam did not follow is better than this."""
    nodes: int


@dataclass(frozen=True, eq=False)
class Peel:
    """Gains from the end, with the start as one more row, and the constants of the bound."""

    gains: Floats
    """(n + 1,) gain of each visit, and of the start, if it came last."""
    table: Floats
    """(n + 1, n) S_jk: what visit j, and the start, know of the task of visit k."""
    retention: Floats
    precedes: Bools
    most: float
    """The largest retention."""
    by_positive: Floats
    """(n + 2,) A_n."""
    by_negative: Floats
    """(n + 2,) B_n."""
    raised: tuple[Floats, Floats]
    """(n,) F of each column of -S and of S: what a pick of this task may raise the others by."""
    largest: tuple[float, float]
    """q+ and q-."""
    groups: GroupsFromEnd | None = None

    @classmethod
    def of(cls, problem: LawProblem, goal: int) -> Peel:
        """The tasks of a problem before any of them is placed at the end."""
        rows = np.vstack([problem.rows, problem.start])
        table = rows[:, problem.tasks]
        n = problem.size
        other = ~np.eye(n + 1, n, dtype=bool)
        q_up, q_down = max(0.0, float(table[other].max())), max(0.0, -float(table[other].min()))
        d = float(problem.retention.max())
        columns = np.where(other, table, 0.0)
        by_down, by_up = (_faded_sums(np.maximum(sign * columns, 0.0), d) for sign in (-1, 1))
        A, B = np.ones(n + 2), np.zeros(n + 2)
        with np.errstate(over="ignore", invalid="ignore"):
            for m in range(1, n + 2):
                down, up = (float(sums[m - 2].max()) if m > 1 else 0.0 for sums in (by_down, by_up))
                A[m] = max(A[m - 1], 1 + d * down * A[m - 1] + d * q_up * B[m - 1])
                B[m] = d * B[m - 1] + max(0.0, d * up * A[m - 1] + d * q_down * B[m - 1] - 1)
        A, B = (np.nan_to_num(np.minimum(values, HUGE), nan=HUGE) for values in (A, B))
        gains = goal * (rows @ problem.weights)
        raised = by_down[-1], by_up[-1]
        groups = None if problem.together is None else GroupsFromEnd.of(problem.together, d)
        return cls(gains, table, problem.retention, problem.precedes, d, A, B, raised, (q_up, q_down), groups)

    def faded(self, gains: Floats, begun: Ints | None = None) -> Floats:
        """(b,) sum_t d^t max(g_(t), 0) over the open gains; -inf marks those that are not open.

        begun: (b,) the group that each row has to finish first, -1 for none.
        """
        if self.groups is not None:
            return self.groups.faded(gains, begun)
        n, d = gains.shape[1], self.most
        top = n if d > 0.9 else min(n, 1 if d == 0 else math.ceil(math.log(NEGLIGIBLE) / math.log(d)))
        largest = -np.partition(-gains, top - 1, axis=1)[:, :top] if top < n else gains
        largest = np.maximum(-np.sort(-largest, axis=1), 0.0)
        total = largest @ d ** np.arange(top)
        return np.asarray(total + (largest[:, -1] * d**top * (n - top) if top < n else 0.0))

    def bound(self, gains: Floats, begun: Ints | None = None) -> Floats:
        """(b,) no completion of the open gains, of which there are equally many in each row, adds more than this."""
        n = int(np.isfinite(gains[0]).sum())
        lowest = np.maximum(0.0, -np.where(np.isfinite(gains), gains, np.inf).min(axis=1))
        return np.asarray(self.by_positive[n] * self.faded(gains, begun) + self.by_negative[n] * lowest)

    def beam(self, width: int, bar: float, clock: Clock) -> _Ending:
        """Grow endings from the last visit to the first; those whose bound is not above `bar` are dropped for good."""
        n = len(self.gains) - 1
        open_gains, total = self.gains[None].copy(), np.zeros(1)
        endings = np.zeros((1, 0), dtype=np.int64)
        followers = self.precedes.sum(axis=1)[None] if self.precedes.any() else None
        begun = None if self.groups is None else np.full(1, -1)
        most_children = EXACT_CHILDREN * width
        if self.groups is not None:  # before its gains are computed, a child's bound does not see its group
            most_children = max(most_children, NUMBERS // (FEWER * (n + 1)))
        left_out, nodes = -math.inf, 0
        negligible = NEGLIGIBLE * float(np.abs(self.gains).max())
        for step in range(n):
            rest = self.bound(open_gains, begun)
            losses = np.where(np.isfinite(open_gains), -open_gains, -np.inf)
            if float((rest + self.bound(losses, begun)).max()) <= negligible:
                left_out = max(left_out, float((total + rest).max()))
                break  # whatever is still to come
            if step and clock.report(-bar, -math.inf):
                return self._completed(endings, open_gains, total, math.inf, nodes)
            estimate = self._children(open_gains, total)
            if followers is not None:
                estimate[:, :n][followers > 0] = -np.inf
            if self.groups is not None and begun is not None:
                estimate[:, :n][self.groups.closed(begun)] = -np.inf
            parent, visit = np.nonzero(estimate[:, :n] > bar)
            guess = estimate[parent, visit]
            if not len(parent):
                return _Ending(endings[0, :0], -math.inf, left_out, nodes)
            if len(parent) > most_children:
                kept, dropped = _largest(guess, most_children)
                left_out = max(left_out, dropped)
                parent, visit = parent[kept], visit[kept]
            nodes += len(parent)
            gain = open_gains[parent, visit]
            children = self._without(open_gains[parent], visit, gain)
            value = total[parent] + gain
            now = None if self.groups is None else self.groups.begun(children, visit)
            rest = self.bound(children, now)
            kept = np.flatnonzero(value + rest > bar)
            if len(kept) > width:
                # between what is sure and what is possible: either alone keeps worse endings
                best, _ = _largest(value[kept] + rest[kept] / 2, width)
                dropped_ones = np.delete(kept, best)
                left_out = max(left_out, float((value + rest)[dropped_ones].max()))
                kept = kept[best]
            if not len(kept):
                return _Ending(endings[0, :0], -math.inf, left_out, nodes)
            parent, visit = parent[kept], visit[kept]
            endings = np.column_stack([endings[parent], visit])
            open_gains, total = children[kept], value[kept]
            begun = None if now is None else now[kept]
            if followers is not None:
                followers = followers[parent] - self.precedes[:, visit].T
        return self._completed(endings, open_gains, total, left_out, nodes)

    def _children(self, gains: Floats, total: Floats) -> Floats:
        """(b, n + 1) bound of each child without computing its gains: those of the parent can only fade."""
        n, d = int(np.isfinite(gains[0]).sum()), self.most
        q_up, q_down = self.largest
        A, B = self.by_positive[n - 1], self.by_negative[n - 1]
        ranked = np.argsort(-gains, axis=1, kind="stable")
        clipped = np.maximum(np.take_along_axis(gains, ranked, axis=1), 0.0) * d ** np.arange(gains.shape[1])
        sums = np.cumsum(clipped, axis=1)
        # Without the r-th gain those behind it move up by one place, which makes each 1/d of what it was.
        without = sums - clipped + ((sums[:, -1:] - sums) / d if d else 0.0)
        faded = np.empty_like(without)
        np.put_along_axis(faded, ranked, without, axis=1)
        lowest = np.maximum(0.0, -np.where(np.isfinite(gains), gains, np.inf).min(axis=1))[:, None]
        size = np.abs(np.where(np.isfinite(gains), gains, 0.0))
        by_positive, by_negative = (np.append(sums, 0.0) for sums in self.raised)  # nobody picks the start
        up, down = np.where(gains > 0, by_positive, by_negative), np.where(gains > 0, q_up, q_down)
        rest = A * d * (faded + up * size) + B * d * (lowest + down * size)
        return np.asarray(total[:, None] + gains + rest)

    def _without(self, gains: Floats, visit: Ints, gain: Floats) -> Floats:
        """(b, n + 1) open gains before a visit is learned in each row."""
        closed = np.isneginf(gains)
        left = self.retention[visit][:, None] * (np.where(closed, 0.0, gains) - self.table[:, visit].T * gain[:, None])
        left[closed] = -np.inf
        left[np.arange(len(visit)), visit] = -np.inf
        return left

    def _completed(self, endings: Ints, gains: Floats, total: Floats, left_out: float, nodes: int) -> _Ending:
        """The best of the endings, with what is still open by its gain."""
        n = gains.shape[1] - 1
        best = int((total + gains[:, n] * (endings.shape[1] == n)).argmax())
        g, value = gains[best].copy(), float(total[best])
        chosen = endings[best].tolist()
        followers = self.precedes.sum(axis=1) - self.precedes[:, chosen].sum(axis=1)
        for _ in range(n - len(chosen)):
            allowed_gains = np.where(followers > 0, -np.inf, g[:n])
            if self.groups is not None and chosen:
                begun = self.groups.begun(g[None], np.array(chosen[-1:]))
                allowed_gains[self.groups.closed(begun)[0]] = -np.inf
            k = int(allowed_gains.argmax())
            value += g[k]
            g = self._without(g[None], np.array([k]), g[k : k + 1])[0]
            followers = followers - self.precedes[:, k]
            chosen.append(k)
        return _Ending(np.array(chosen[::-1], dtype=np.int64), value + float(g[n]), left_out, nodes)


def _faded_sums(columns: Floats, d: float) -> Floats:
    """(n + 1, n) row m: for each column the sum of its m + 1 largest entries, each discounted once more."""
    ranked = -np.sort(-columns, axis=0)
    return np.asarray(np.cumsum(ranked * d ** np.arange(len(ranked))[:, None], axis=0))


def _largest(values: Floats, count: int) -> tuple[Ints, float]:
    """Indices of the largest values, the first of those that tie, in ascending order; and the largest of the others."""
    ranked = np.argsort(-values, kind="stable")
    return np.sort(ranked[:count]), float(values[ranked[count]])
