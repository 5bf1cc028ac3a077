"""The best order when there are too many tasks for a proof: greedy starts, then annealing of parts in many sizes.

Starts are built along the lower bound, by beams that get wider while that pays (beam_from_front.py,
kernels/beam_both_ends.py), and improved by insertions. Then one arm after another is pulled: heat a group of tasks
(relatives, neighbors in the order, or all of them) to some temperature and cool it; or cut the order into blocks and
treat each as a problem of its own, by annealing, by a beam or by branch and bound; keep the result unless it is worse.
Which sizes and temperatures pay differs from matrix to matrix by orders of magnitude, so all are tried, and those that
gained most for their cost are tried more often. A few orders from different starts are improved side by side, and one
may take over how another places a group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from taskorder.checks import Bools, Ints
from taskorder.ordering.annealing import Walker
from taskorder.ordering.clock import Clock
from taskorder.ordering.groups import ascending, group_masks
from taskorder.ordering.precedence import masks
from taskorder.ordering.problem import Problem
from taskorder.ordering.rules import greedy

CLOSE = 1e-9
"""The search ends when its error is this close to the bound, relative."""
SHORT = 8
"""Moves a task in the shortest annealing."""
ANNEALING_SHARE = 0.1
"""The longest annealing takes this share of what was spent so far: patience grows, and more effort only goes on."""
NODES = 50
"""Nodes of branch and bound in a block for each step of an annealing."""
MAX_WALKERS = 4
"""Orders that are improved side by side."""
MAX_BEAM = 250
"""Most tasks for which beam search at both ends pays."""
FIRST_WIDTH, WIDER, MAX_WIDTH = 4, 4, 2048
"""Width of the first beam from the front, how much wider the next one is, and the widest; fewer with many rows of r."""
BLOCK_WIDTH = 256
"""Width of the widest beam in a block."""
LEAST_FRONT = 30
"""From this many tasks on beams from the front pay."""
GREEDY_SECONDS, GREEDY_ROW_SECONDS = 1.2e-10, 3e-9
"""What the greedy rule takes, times the cube of the number of tasks, and for each further row of r times its square."""
FRONT_SECONDS, FRONT_ROW_SECONDS = 5e-10, 5e-9
"""The same of the narrowest beam from the front."""
MAX_SHARED = 300
"""Up to this many tasks several orders are kept; above, time is better spent on one."""


def search(problem: Problem, *, seed: int, clock: Clock, bound: float = -np.inf, effort: float = 1.0) -> Ints:
    """Positions of `problem` in the best order found.

    problem: what to order; its `precedes` is obeyed. bound: a known lower bound; reaching it ends the search.
    effort: multiplies the schedule, which takes about 0.05 s at 15 tasks, 2.5 s at 50 and 10 s from 200 on; the clock
    only cuts it short. The same seed gives the same order unless the clock did.
    """
    with clock.alarm() as late:
        run = Search(problem, seed, clock, late, bound, effort)
        run.start()
        run.improve()
    return run.order


@dataclass
class Arm:
    """One way to improve an order, and the relative gain for its cost of late."""

    kind: str
    size: int
    level: float
    rate: float = 0.0

    def expected_cost(self, n: int, steps: int) -> float:
        """About what one pull costs with n tasks."""
        if self.kind == "exact":
            return NODES * steps * n / self.size * (self.size**3 / 2 + 2000.0) / 3 + 0.3 * n**3
        if self.kind == "blocks":
            return 2.0 * n * steps * (self.size**2 + 1000.0) + 0.3 * n**3
        if self.kind == "beam":
            return n * (1e5 + 7.0 * min(steps, BLOCK_WIDTH) * self.size) + 0.3 * n**3
        return (steps + 3.0) * self.size * (0.6 * n**2 + 1000.0) + 1e5


def make_arms(n: int) -> list[Arm]:
    """All arms for n tasks."""
    levels = (0.1, 0.4, 1.5, 6.0)
    arms = [Arm("all", n, level) for level in (*levels, 24.0)]
    groups = [(kind, size) for size in (8, 32, 128) if size < n for kind in ("near", "stretch")]
    arms += [Arm(kind, size, level) for kind, size in groups for level in levels]
    arms += [Arm("blocks", size, level) for size in (24, 48, 96) if 2 * size <= n for level in (0.1, 0.5, 2.5)]
    arms += [Arm("exact", size, 0.0) for size in (9, 12, 15, 18) if 4 * size <= 3 * n]
    arms += [Arm("beam", size, 0.0) for size in (32, 64, 128) if 4 * size <= 3 * n]
    return arms + [Arm("cross", size, 0.1) for size in (8, 16, 32, 64, 128) if 2 * size <= n <= MAX_SHARED]


class Search:
    """The state of one search: incumbent, arms, and the cost that is left."""

    def __init__(self, problem: Problem, seed: int, clock: Clock, late: Bools, bound: float, effort: float) -> None:
        n = problem.size
        self.problem, self.clock, self.late, self.bound = problem, clock, late, bound
        self.rng = np.random.default_rng(seed)
        self.random = self.rng.integers(1, 2**63, 1, dtype=np.uint64)
        self.order = lexicographic_order(problem.precedes)
        self.error = problem.error(self.order)
        self.simple()
        self.unit = 1e9 * min(0.05 * max(1.0, n / 15) ** 3.3, 0.05 * max(n, 1), 10.0)
        self.budget, self.spent = effort * self.unit, 0.0
        self.walkers: list[Walker] = []

    def simple(self) -> None:
        """Start from the best of a few simple orders, or of the first of them: by typicality, random ones, and greedy
        with many tasks."""
        typicality = self.problem.C.sum(axis=0)
        keys = [typicality, -typicality, *self.rng.random((10, self.problem.size))]
        orders = np.array([ascending(key, self.problem.precedes) for key in keys])
        errors = self.problem.errors(orders, self.clock)
        self.offer(orders[int(np.argmin(errors))], float(errors.min()))
        # the starts along the bound may not get done
        if self.problem.size > MAX_SHARED and self.affordable(GREEDY_SECONDS, GREEDY_ROW_SECONDS):
            self.offer(greedy(self.problem, self.clock))

    def affordable(self, seconds: float, row_seconds: float) -> bool:
        """Whether there is time for a start that takes so many n^3 seconds, and n^2 for each further row of r."""
        k, n = self.problem.r.shape
        return self.clock.room(seconds * n**3 + row_seconds * (k - 1) * n**2)

    def done(self) -> bool:
        """True when the clock, the bound or the schedule ends the search."""
        close = self.error - self.bound <= CLOSE * abs(self.error)
        return self.clock.report(self.error, self.bound) or close or self.spent >= self.budget

    def offer(self, order: Ints, error: float | None = None) -> None:
        """Take `order` as the incumbent if it is better, or as good and lexicographically first."""
        error = self.problem.error(order) if error is None else error
        tie = 1e-12 * abs(self.error) + 1e-15 * abs(self.problem.e)
        if error < self.error - tie or (error <= self.error + tie and tuple(order) < tuple(self.order)):
            self.order, self.error = order.copy(), error

    def start(self) -> None:
        """Orders along the bound, each improved by descent; the best few go on, with many tasks only one."""
        n = self.problem.size
        for make in self.starts() if n > 1 else []:
            if not self.done():
                self.descend(make())
        if n > LEAST_FRONT:
            self.widen(*(((1.0, 2.0), 0.15) if n <= MAX_SHARED else ((2.0,), 0.5)))
        if not self.walkers and not self.done():  # there was no time for any of these
            self.descend(self.order)
        few = MAX_WALKERS if n <= MAX_SHARED else 1
        self.walkers = sorted(self.walkers, key=lambda walker: walker.state.error)[:few]

    def widen(self, stretches: tuple[float, ...], share: float) -> None:
        """Beams from the front, wider and wider, for about a share of the usual schedule, and less without a gain."""
        width, begun, rows = FIRST_WIDTH, self.spent, len(self.problem.r)
        while width <= MAX_WIDTH and not self.done():
            spent, before = self.spent, self.error
            for stretch in stretches:
                self.descend(self.front(max(1, width // rows), stretch))
            share = share if self.error < before else share / 2
            if self.spent - begun + 2 * (self.spent - spent) > share * self.unit:
                break
            width *= WIDER

    def descend(self, order: Ints | None) -> None:
        """A new walker from `order`."""
        if order is not None:
            n = self.problem.size
            self.offer(order)
            walker = Walker(self.problem, order, self.random, self.clock)
            walker.walk(np.arange(n), n * (6 if n <= MAX_SHARED else 1), 0.0, 0.0)
            self.walkers.append(walker)
            self.settle(walker, 0.0)

    def starts(self) -> list[Callable[[], Ints | None]]:
        """What `start` tries first: beams that grow at both ends or one; greedy under some strengths of the bound."""
        stretches = (1.0, 0.9, 1.2, 2.0) if self.problem.size <= MAX_SHARED else ()
        ends = (0, 1) if self.problem.size <= LEAST_FRONT else (0,)
        beams = [partial(self.beam, sides) for sides in ends] if self.problem.size <= MAX_BEAM else []
        return [*beams, *(partial(self.front, 1, stretch) for stretch in stretches)]

    def front(self, width: int, stretch: float) -> Ints | None:
        """A beam from the front; with width 1 one task after another along the bound."""
        from taskorder.ordering.beam_from_front import beam_from_front

        if not self.affordable(FRONT_SECONDS, FRONT_ROW_SECONDS):
            return None
        order, cost = beam_from_front(self.problem, width, stretch, self.clock)
        self.spent += cost
        return order

    def beam(self, sides: int) -> Ints | None:
        """The best of many partial orders side by side; None where that would take too long."""
        from taskorder.ordering.kernels.beam_both_ends import beam_both_ends

        now, order = self.problem, self.order.copy()
        width = int(min(100, max(2, 2e9 / now.size**4)))
        cost = 0.15 * width * now.size**4 * len(now.r) + 1e5
        if not self.clock.room(0.5e-9 * cost):
            return None
        self.spent += cost
        beam_both_ends(now.e, now.r, now.h, now.C, now.G, now.precedes, width, sides, self.error, order, self.late)
        return order

    def settle(self, walker: Walker, cost: float) -> None:
        """Book what a walker has spent since `cost`, and offer its order."""
        self.spent += walker.cost - cost
        if walker.state.error < self.error + 1e-9 * abs(self.error) and (walker.state.order != self.order).any():
            self.offer(walker.state.order)

    def improve(self) -> None:
        """Pull arms until the search is done."""
        n = self.problem.size
        short = max(SHORT, 400 // max(n, 1))
        every = make_arms(n)
        first = 2 * [arm for arm in every if arm.kind == "beam"]
        while n > 2 and self.walkers and not self.done():
            affordable = max(ANNEALING_SHARE * self.spent, 0.5 * ANNEALING_SHARE * self.unit)
            arms = [arm for arm in every if arm.expected_cost(n, short) <= affordable] or every[:1]
            rates = np.array([arm.rate for arm in arms])
            weights = 1 + len(arms) * rates / max(rates.sum(), 1e-300)
            arm = first.pop() if first else arms[self.rng.choice(len(arms), p=weights / weights.sum())]
            longer = np.log2(max(1.0, affordable / arm.expected_cost(n, short)))
            steps = int(short * 2 ** self.rng.uniform(0, min(longer, 9)))
            # First all walkers alike, then mostly the best one.
            alike = self.rng.random() * (self.unit + 2 * self.spent) < self.unit
            walker = self.walkers[self.rng.integers(len(self.walkers))]
            walker = walker if alike else min(self.walkers, key=lambda other: other.state.error)
            error, cost, spent = walker.state.error, walker.cost, self.spent
            self.pull(arm, walker, steps)
            self.settle(walker, cost)
            # A pull never makes an order worse, but summing its error again may, by rounding: not a negative gain.
            gain = max(0.0, error - walker.state.error) / max(abs(walker.state.error), 1e-300)
            arm.rate = 0.7 * arm.rate + gain / max(self.spent - spent, 1.0)

    def pull(self, arm: Arm, walker: Walker, steps: int) -> None:
        """Try one arm on one walker, whose order changes only for the better."""
        n = self.problem.size
        level = arm.level * 2 ** self.rng.uniform(-1, 1) / n
        if arm.kind == "blocks":
            self.sweep(arm, walker, lambda block: self.anneal(block, walker, level, steps))
        elif arm.kind == "exact":
            self.sweep(arm, walker, lambda block: self.solve(block, walker, NODES * steps))
        elif arm.kind == "beam":
            width = max(1, min(steps, BLOCK_WIDTH) // len(self.problem.r))
            self.sweep(arm, walker, lambda block: self.rebuild(block, walker, width))
        elif arm.kind == "cross":
            other = self.walkers[self.rng.integers(len(self.walkers))]
            group = self.members(Arm(("near", "stretch")[self.rng.integers(2)], arm.size, 0), walker)
            before = walker.state
            walker.reset(crossed(before.order, before.pos, other.state.pos, group, self.problem.precedes))
            walker.walk(np.arange(n), 2 * n, 0.0, 0.0)
            walker.cycle(group, SHORT, level)
            if not walker.state.error <= before.error:
                walker.state = before
        else:
            walker.cycle(self.members(arm, walker), steps, level)

    def members(self, arm: Arm, walker: Walker) -> Ints:
        """A group of tasks: relatives of a random one, neighbors in the order, or a random draw."""
        n = walker.problem.size
        seed = int(self.rng.integers(n))
        if arm.kind == "near":
            return np.argsort(-np.abs(walker.problem.C[seed]), kind="stable")[: arm.size]
        if arm.kind == "stretch":
            start = max(0, min(n - arm.size, seed - arm.size // 2))
            return np.ascontiguousarray(walker.state.order[start : start + arm.size])
        return self.rng.permutation(n)[: arm.size]

    def sweep(self, arm: Arm, walker: Walker, improve: Callable[[Problem], Ints]) -> None:
        """Improve the blocks of an order, cut at random positions, from first to last."""
        from taskorder.ordering.order_state import improve_blocks

        n = self.problem.size
        edges = sorted({0, n, *range(int(self.rng.integers(1, arm.size + 1)), n, arm.size)})
        walker.cost += 0.3 * n**3 + 30.0 * n**2 + 3e5 * len(edges)
        old = walker.state.order
        order = improve_blocks(self.problem, old, edges, improve, self.clock)
        if (order != old).any():
            walker.reset(order)

    def anneal(self, block: Problem, walker: Walker, level: float, steps: int) -> Ints:
        """A block annealed in groups of several sizes."""
        m = block.size
        inner = Walker(block, np.arange(m), self.random, self.clock)
        for _ in range(6 if m > 2 else 0):
            size = max(2, round(m ** self.rng.uniform(0.3, 1)))
            kind = ("near", "stretch", "all")[self.rng.integers(3)]
            inner.cycle(self.members(Arm(kind, size, 0), inner), steps, level * 2 ** self.rng.uniform(-1, 1))
        walker.cost += inner.cost
        return inner.state.order

    def rebuild(self, block: Problem, walker: Walker, width: int) -> Ints:
        """A block built anew by a beam, if that is better."""
        from taskorder.ordering.beam_from_front import beam_from_front

        order, cost = beam_from_front(block, width, self.rng.uniform(0.9, 1.3), self.clock)
        walker.cost += cost
        present = np.arange(block.size)
        return order if order is not None and block.error(order) < block.error(present) else present

    def solve(self, block: Problem, walker: Walker, nodes: int) -> Ints:
        """A block by branch and bound with at most `nodes` nodes."""
        from taskorder.ordering.kernels.branch import Effort, Whole, branch

        m, k = block.size, len(block.r)
        order = np.arange(m)
        if m < 2:
            return order
        (before, after), apart = masks(block.precedes), group_masks(None, m)
        error = walker.state.error
        root = np.concatenate([np.zeros(2, np.int8), order.astype(np.int8)])[None]
        _, used, _, _ = branch(
            Whole(block.e, block.r, block.h, block.C, block.G, before, after, np.zeros((0, m), np.int8), apart), root,
            np.full(1, -np.inf), block.error(order), order, 0.0, 1e-12 * abs(error), np.full(k, 0.1),
            Effort(nodes, m, nodes, self.late),
        )  # fmt: skip
        walker.cost += used * k * (m**3 / 2 + 2000.0) / 3 + 1e5
        return order


def crossed(order: Ints, pos: Ints, other: Ints, group: Ints, precedes: np.ndarray) -> Ints:
    """`order` with the tasks of `group` at the positions that they have in `other`, as far as `precedes` allows."""
    key = pos.astype(float)
    key[group] = other[group]
    if precedes.any():
        # A task goes no earlier than any that must precede it: raise keys along the old order, which is allowed.
        for j in order:
            key[j] = max(key[j], key[precedes[:, j]].max(initial=-1.0))
    return np.lexsort((pos, key))


def lexicographic_order(precedes: np.ndarray) -> Ints:
    """The lexicographically first order that obeys `precedes`."""
    n = len(precedes)
    waiting, order = precedes.sum(axis=0), np.empty(n, np.int64)
    is_open = np.ones(n, bool)
    for at in range(n):
        j = int(np.argmax(is_open & (waiting == 0)))
        order[at], is_open[j] = j, False
        waiting -= precedes[j]
    return order
