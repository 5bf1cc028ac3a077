"""How an order is chosen: the rule that `auto` stands for, and the score that rehearsed orders are chosen by.

docs/choose.md has the measurements behind `auto`. The score gives equal votes to the rehearsal and to two rules:

    score = rehearsed / s_1 + typicality late / s_2 + dissimilar neighbors / s_3

rehearsed            mean affinity of all tasks after the rehearsed endings of the order (planning/rehearsal.py)
typicality late      sum over steps k of k times the typicality of the task at step k: periphery-to-core maximizes it
dissimilar neighbors minus the sum of the similarities of neighbors: max-path maximizes it

each over its standard deviation s over all orders (or many random ones). A pilot is small and noisy, and the three
err in different ways. Frozen after development on Fashion-MNIST task sets 0 to 49; docs/choose.md has what it earns.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from taskorder.checks import Floats
from taskorder.constraints import Constraints
from taskorder.ordering.rules import typicality
from taskorder.ordering.sampling import random_orders
from taskorder.ordering.solve import RULES_WITHOUT_WEIGHTS, solve_input
from taskorder.ordering.solver_input import SolverInput, checked_table
from taskorder.planning.rehearsal import LISTED, Rehearsal
from taskorder.tables.loss_ratios import clip_similarity
from taskorder.theory.nearest import nearest_correlation

Order = tuple[int, ...]
REHEARSAL = "rehearsal"
AUTO = "auto"
MAX_REHEARSED = 7
"""Up to so many tasks periphery-to-core beats a random order in the closed form whatever the structure (on chains it
turns worse at ten), and rehearsal gets far enough to beat both."""
SEARCH_SECONDS = 0.3
"""For a resample or an alternative; the plan itself gets the time that `solve` takes by default."""
ALTERNATIVE_RULES = ("periphery-to-core", "max-path", "optimal", "first-order", "greedy")
"""What a plan is compared with."""
MAX_COMPARED = 720
"""Random orders to compare with, where there are more."""
SMALLEST_SPREAD = 1e-9
"""What varies less than this between orders has no vote."""


def similarity_rule(num_tasks: int) -> tuple[str, str]:
    """The rule to order by similarity alone, and why.

    >>> similarity_rule(5)[0], similarity_rule(30)[0]
    ('periphery-to-core', 'optimal')
    """
    if num_tasks > MAX_REHEARSED:
        return (
            "optimal",
            f"beyond {MAX_REHEARSED} tasks the simple rules fall behind a random order and the least error does not",
        )
    return "periphery-to-core", "with few tasks it was the best of the rules on the similarity of a small pilot"


def auto_rule(num_tasks: int) -> tuple[str, str]:
    """The rule that `auto` stands for, and why.

    The budget decides how far a rehearsal goes, not whether there is one: tasks alone, which the similarity needs
    anyway, are enough to beat the rules. Noise decides the verdict, not the rule. The mean similarity decides nothing:
    where it seemed to (max-path from 0.1 on, on task sets 0 to 49), new task sets did not agree.

    >>> auto_rule(5)[0], auto_rule(30)[0]
    ('rehearsal', 'optimal')
    """
    if num_tasks <= MAX_REHEARSED:
        return REHEARSAL, "with few tasks it beat every rule on the similarity alone"
    return similarity_rule(num_tasks)


def rule_order(similarity: Floats, rule: str, constraints: Constraints) -> Order:
    """The order of a rule on an estimate of the similarity, whose entries may fall below -1.

    Weights are left out with a rule that cannot use them.
    """
    if rule in RULES_WITHOUT_WEIGHTS:
        constraints = replace(constraints, weights=None)
    inputs = SolverInput(checked_table(clip_similarity(similarity)[0]), constraints)
    return solve_input(inputs, rule, time_limit=SEARCH_SECONDS).order


def compared_orders(constraints: Constraints, rng: np.random.Generator) -> list[Order]:
    """All allowed orders of up to six tasks; of more, random ones.

    >>> compared_orders(Constraints.of(3, before=[("C", "A")], last="B"), np.random.default_rng(0))
    [(2, 0, 1)]
    """
    tasks = constraints.open_tasks
    if len(tasks) <= LISTED:
        return list(filter(constraints.allows_ending, itertools.permutations(tasks.tolist())))
    drawn = tasks[random_orders(constraints.precedence(), MAX_COMPARED, rng)]
    return list(dict.fromkeys(tuple(order) for order in drawn.tolist()))


def predicted_errors(
    similarity: Floats,
    orders: Iterable[Sequence[int]],
    learned: Sequence[int] = (),
    weights: Floats | None = None,
) -> Floats:
    """(K,) closed-form final errors of orders of equal length, on the nearest correlation matrix.

    >>> predicted_errors(np.array([[1.0, 0.5], [0.5, 1.0]]), [(0, 1), (1, 0)])
    array([0.0625, 0.0625])
    """
    C = nearest_correlation(clip_similarity(similarity)[0])[0]
    sequences = np.array([(*learned, *order) for order in orders])
    residuals = np.ones((len(sequences), len(C)))
    for step in sequences.T:
        residuals -= residuals[np.arange(len(sequences)), step][:, None] * C[step]
    return np.asarray(residuals**2 @ (np.ones(len(C)) if weights is None else weights))


def combined_score(
    rehearsal: Rehearsal,
    values: Floats,
    similarity: Floats,
    orders: Sequence[Order],
    reference: Sequence[Order],
    learned: Sequence[int] = (),
    weights: Floats | None = None,
) -> Floats:
    """The score of each of `orders`; more is better.

    values: (B, P) of the rehearsal. reference: the orders that spreads are taken over. learned: what came before.
    weights: (P,) how much each task counts.
    """
    # a beam knows only the last two tasks of an order that it did not follow
    common = 2 if rehearsal.level == "beam" else None
    rehearsed = rehearsal.score(orders, values, None, weights), rehearsal.score(reference, values, common, weights)
    late = typicality_late(similarity, orders, weights), typicality_late(similarity, reference, weights)
    apart = dissimilar_neighbors(similarity, orders, learned), dissimilar_neighbors(similarity, reference, learned)
    total = np.zeros(len(orders))
    for part, among in (rehearsed, late, apart):
        spread = float(among.std())
        if spread > SMALLEST_SPREAD:
            total += (part - among.mean()) / spread
    return total


def typicality_late(similarity: Floats, orders: Sequence[Order], weights: Floats | None = None) -> Floats:
    """Of each order the sum over steps k = 1, 2, ... of k times the typicality of the task at step k.

    With weights w the typicality of a task is the sum of w times its similarity to all tasks, itself among them: what
    counts much comes late. With equal weights that adds the same to every order. It was the best of four ways on
    Fashion-MNIST task sets 0 to 49 with random weights.

    >>> typicality_late(np.array([[1, 0.5, 0.5], [0.5, 1, 0], [0.5, 0, 1]]), [(1, 2, 0), (0, 1, 2)])
    array([4.5, 3.5])
    """
    typical = typicality(similarity) if weights is None else (similarity + similarity.T) / 2 @ weights / weights.mean()
    table = typical[np.array(orders)]
    return np.asarray(table @ np.arange(1, table.shape[1] + 1))


def dissimilar_neighbors(similarity: Floats, orders: Sequence[Order], learned: Sequence[int] = ()) -> Floats:
    """Of each order minus the sum of the similarities of tasks that follow each other.

    >>> dissimilar_neighbors(np.array([[1, 0.5, 0.25], [0.5, 1, 0], [0.25, 0, 1]]), [(1, 2, 0), (0, 1, 2)])
    array([-0.25, -0.5 ])
    """
    sequences = np.array([(*learned[-1:], *order) for order in orders])
    return np.asarray(-similarity[sequences[:, :-1], sequences[:, 1:]].sum(axis=1))
