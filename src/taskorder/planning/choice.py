"""The order that a fitted law chooses among those that are allowed, and the orders it is compared with."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from taskorder.checks import Bools, Floats, Ints
from taskorder.constraints import Constraints
from taskorder.ordering.sampling import random_orders
from taskorder.ordering.solve import RULES_WITHOUT_WEIGHTS, solve_input
from taskorder.ordering.solver_input import SolverInput, checked_table
from taskorder.planning.fitted_law import FittedLaw
from taskorder.tables.loss_ratios import clip_similarity

Order = tuple[int, ...]
AUTO = "auto"
LISTED = 7
"""Up to so many open tasks all allowed orders are listed."""
MAX_COMPARED = 1000
"""Random orders to compare with, where there are more."""
BEAM = 100
"""Endings that the search keeps at every length."""
SEARCH_SECONDS = 0.3
"""For an alternative."""
ALTERNATIVE_RULES = ("periphery-to-core", "max-path", "greedy")
"""What a plan is compared with."""


def allowed_orders(constraints: Constraints) -> Ints | None:
    """(n, open tasks) all allowed orders of up to seven open tasks, in lexicographic order; None for more.

    >>> allowed_orders(Constraints.of(3, before=[("C", "A")], last="B"))
    array([[2, 0, 1]])
    """
    tasks = constraints.open_tasks
    if len(tasks) > LISTED:
        return None
    return np.array(list(filter(constraints.allows_ending, itertools.permutations(tasks.tolist()))), dtype=np.int64)


def compared_orders(constraints: Constraints, rng: np.random.Generator) -> Ints:
    """(n, open tasks) all allowed orders, or random ones where these are many."""
    listed = allowed_orders(constraints)
    if listed is None or len(listed) > MAX_COMPARED:
        drawn = random_orders(constraints.precedence(), MAX_COMPARED, rng)
        return np.unique(constraints.open_tasks[drawn], axis=0)
    return listed


def best_order(law: FittedLaw, constraints: Constraints) -> Order:
    """The allowed order that the law rates highest: of all, or of those that a search from the end finds.

    >>> from taskorder.planning.fitted_law import FittedLaw
    >>> table = np.array([[1.0, 0.8, 0.7], [0.1, 1.0, 0.2], [0.3, 0.3, 1.0]])
    >>> law = FittedLaw(table, np.full(3, 0.1), np.zeros(3), np.full(3, 1 / 3), {}, 1.0)
    >>> best_order(law, Constraints.of(3))
    (2, 1, 0)
    """
    orders = allowed_orders(constraints)
    if orders is None:
        orders = _from_the_end(law, constraints.open_tasks, constraints.precedence())
    return tuple(orders[int(law.rate(orders).argmax())].tolist())


def _from_the_end(law: FittedLaw, tasks: Ints, precedes: Bools) -> Ints:
    """(n, open tasks) orders from a beam that grows endings by the gains of theory/law.py and what pairs add."""
    P, n = len(law.table), len(tasks)
    ends = np.empty((1, 0), dtype=np.int64)
    gains = (law.table @ law.weights)[None]
    total = np.zeros(1)
    added = np.zeros((P, P))
    for pair, more in law.beyond.items():
        added[pair] = more @ law.weights
    row_of = np.full(P, -1)
    row_of[tasks] = np.arange(n)
    for length in range(n):
        # a task may come next, counted from the end, once all that must follow it are in the ending
        inside = np.zeros((len(ends), n), dtype=bool)
        np.put_along_axis(inside, row_of[ends], True, axis=1)
        free = ~inside & ~((~inside).astype(np.int64) @ precedes.T.astype(np.int64) > 0)
        value = np.where(free, total[:, None] + gains[:, tasks], -np.inf)
        if length == 1:
            value += added[tasks[None, :], ends[:, :1]]
        kept = np.argsort(-value, axis=None, kind="stable")[: min(BEAM, int(free.sum()))]
        parent, column = np.unravel_index(kept, value.shape)
        k = tasks[column]
        total = value[parent, column]
        gain = gains[parent, k]
        gains = law.retention[k][:, None] * (gains[parent] - law.table[:, k].T * gain[:, None])
        ends = np.hstack([k[:, None], ends[parent]])
    return ends


def rule_order(similarity: Floats, rule: str, constraints: Constraints) -> Order:
    """The order of one of the paper's rules on an estimate of the similarity, whose entries may fall below -1.

    Weights are left out with a rule that cannot use them.
    """
    if rule in RULES_WITHOUT_WEIGHTS:
        constraints = replace(constraints, weights=None)
    inputs = SolverInput(checked_table(clip_similarity(similarity)[0]), constraints)
    return solve_input(inputs, rule, time_limit=SEARCH_SECONDS).order
