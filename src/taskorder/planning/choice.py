"""The order that a fitted law chooses among those that are allowed, and the orders it is compared with."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.constraints import Constraints
from taskorder.ordering.prices import PRICED, without_each
from taskorder.ordering.quick_law_search import good_by_law
from taskorder.ordering.sampling import random_orders
from taskorder.ordering.solve import CUT_SHORT, RULES_WITHOUT_WEIGHTS, solve_input
from taskorder.ordering.solver_input import CheckedTable, Law, SolverInput, checked_table
from taskorder.planning.additions import Additions
from taskorder.planning.fitted_law import FittedLaw
from taskorder.planning.pair_effects import PairEffects, grouped_better
from taskorder.records import Alternative
from taskorder.tables.loss_ratios import clip_similarity

Order = tuple[int, ...]
AUTO = "auto"
LISTED = 7
"""Up to so many open tasks all allowed orders are listed."""
MAX_COMPARED = 1000
"""Random orders to compare with, where there are more."""
SECONDS = 10.0
"""For the search of the plan itself, as `solve` takes by default. Resamples, alternatives and prices are searched
quickly, by step counts alone: what they say must not depend on how busy the machine is."""
MOST_PRICES = 20
"""Constraints whose price is computed, each with a search."""
PAPER_RULES = ("periphery-to-core", "core-to-periphery", "max-path", "min-path", "first-order")
"""Rules that go by the similarity of tasks."""
ALTERNATIVE_RULES = ("row-sums", "periphery-to-core", "max-path")
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
        drawn = random_orders(constraints.precedence(), MAX_COMPARED, rng, constraints.together)
        return np.unique(constraints.open_tasks[drawn], axis=0)
    return listed


def law_input(law: FittedLaw, constraints: Constraints) -> SolverInput:
    """What solvers read: the law without pairs. Learned tasks are learned by it, too, even where a model was measured.

    >>> law = FittedLaw(np.eye(2), np.full(2, 0.1), np.zeros(2), np.full(2, 0.5), {}, 1.0)
    >>> law_input(law, Constraints.of(2)).options["retention"]
    0.1
    """
    d = law.retention
    options = {
        "retention": float(d[0]) if (d == d[0]).all() else d.tolist(),
        "objective": "score",
        "kind": "transfer",
        "start": None,
    }
    table = CheckedTable(law.table, law.table, None, None, None)
    made = f"transfer table of a pilot, {100 * law.kept_asymmetry:.0f} % of its asymmetry kept"
    if law.effects is not None:
        made = "transfer table of a pilot, of tasks alone; pairs of tasks tell the orders apart"
    rule = Law(law.table, d, "score", np.zeros(len(law.table)), made)
    return SolverInput(table, constraints, law=rule, options=options)


def plan_order(law: FittedLaw, similarity: Floats, rule: str, constraints: Constraints) -> tuple[Order, list[str]]:
    """The order of a plan by a rule, and a note where its search was cut short."""
    if rule == AUTO and (law.effects is not None or allowed_orders(constraints) is not None):
        return best_order(law, constraints), []
    inputs = _rule_input(law, similarity, rule, constraints)
    found = solve_input(inputs, "optimal" if rule == AUTO else rule, time_limit=SECONDS)
    order = best_order(law, constraints, found.order) if rule == AUTO else found.order
    if not any(CUT_SHORT in note for note in found.notes):
        return order, []
    return order, [f"the search for the order was stopped after {SECONDS:g} s; there may be a better one"]


def best_order(law: FittedLaw, constraints: Constraints, found: Order | None = None) -> Order:
    """The allowed order with the highest score by the law: of all, or of those near the one that a search has found,
    quickly where `found` is left out.

    >>> table = np.array([[1.0, 0.8, 0.7], [0.1, 1.0, 0.2], [0.3, 0.3, 1.0]])
    >>> law = FittedLaw(table, np.full(3, 0.1), np.zeros(3), np.full(3, 1 / 3), {}, 1.0)
    >>> best_order(law, Constraints.of(3))
    (2, 1, 0)
    """
    orders = allowed_orders(constraints)
    if orders is None and isinstance(law.effects, Additions):
        return law.effects.best(law.weights, constraints)
    if orders is None and isinstance(law.effects, PairEffects):
        begun = solve_input(law_input(law, constraints), "row-sums", time_limit=None).order
        return grouped_better(begun, law.effects.worth(law.weights), constraints.allows, constraints.groups)
    if orders is None:
        found = _quick_order(law, "optimal", constraints) if found is None else found
        # the solver does not know what pairs add: as it says, or with one of them moved to the end
        moved = [(*(task for task in found if task not in pair), *pair) for pair in law.beyond]
        orders = np.array([found, *filter(constraints.allows, moved)])
    return tuple(orders[int(law.score(orders).argmax())].tolist())


def price_notes(law: FittedLaw, order: Order, constraints: Constraints) -> list[str]:
    """What each constraint costs by itself, as far as the law can tell; nothing where that takes long."""
    dropped = list(without_each(constraints))
    if not dropped or len(dropped) > MOST_PRICES or constraints.num_open > PRICED:
        return []
    best = [best_order(law, others) for _, others in dropped]
    costs = np.maximum(0.0, law.outcome(np.array(best)) - law.outcome(np.array([order])))
    unit = "knowledge" if law.guess is None else "accuracy"
    said = ", ".join(f"{words} {100 * law.share * cost:.1f}" for (words, _), cost in zip(dropped, costs, strict=True))
    by = "the law" if law.effects is None else "pairs of tasks"
    return [f"what each constraint costs by {by}, in points of {unit}: {said}"]


def rule_order(law: FittedLaw, similarity: Floats, rule: str, constraints: Constraints) -> Order:
    """The order of a rule: the paper's read the similarity, whose entries may fall below -1, the others the law.

    Weights are left out with a rule that cannot use them.
    """
    if rule in ("optimal", "worst"):
        return _quick_order(law, rule, constraints)
    return solve_input(_rule_input(law, similarity, rule, constraints), rule, time_limit=None).order


def _rule_input(law: FittedLaw, similarity: Floats, rule: str, constraints: Constraints) -> SolverInput:
    if rule not in PAPER_RULES:
        return law_input(law, constraints)
    if rule in RULES_WITHOUT_WEIGHTS:
        constraints = replace(constraints, weights=None)
    return SolverInput(checked_table(clip_similarity(similarity)[0]), constraints)


def _quick_order(law: FittedLaw, rule: str, constraints: Constraints) -> Order:
    """A good order by the law, or a bad one for the rule worst."""
    problem = law_input(law, constraints).law_problem()
    return tuple(problem.tasks[good_by_law(problem, 1 if rule == "optimal" else -1)].tolist())


def regret(law: FittedLaw, order: Order, constraints: Constraints) -> float | None:
    """How much higher the score of the best order would be, had nothing been learned."""
    if not constraints.learned:
        return None
    # `first` was about the next task and does not hold from the start
    free = replace(law, start=np.zeros_like(law.start), learned=())
    best = best_order(free, replace(constraints, learned=(), first=None))
    return max(0.0, float(free.score(np.array([best]))[0] - law.score(np.array([order]))[0]))


def alternatives(law: FittedLaw, similarity: Floats, constraints: Constraints) -> tuple[Alternative, ...]:
    """What the paper's rules would choose, and what the law predicts of it."""
    orders = [rule_order(law, similarity, rule, constraints) for rule in ALTERNATIVE_RULES]
    known, outcomes = law.knowledge(np.array(orders)), law.outcome(np.array(orders)).tolist()
    importance = constraints.importance
    return tuple(
        Alternative(rule, order, float((1 - after) ** 2 @ importance), outcome)
        for rule, order, after, outcome in zip(ALTERNATIVE_RULES, orders, known, outcomes, strict=True)
    )
