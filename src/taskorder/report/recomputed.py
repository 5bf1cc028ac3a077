"""A plan beside the table it was made from: what can be computed again is, and what does not agree is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from taskorder.ordering.law_notes import law_notes
from taskorder.ordering.plans import BY_HAND, make_plan
from taskorder.ordering.solve import RULES_WITHOUT_WEIGHTS
from taskorder.ordering.solver_input import SolverInput
from taskorder.records import Comparison, Plan
from taskorder.report.contradictions import same
from taskorder.report.measure import measure_of
from taskorder.strategies import BY_CLASS, BY_TASK

RECOMPUTED = (
    "error",
    "score",
    "task_errors",
    "knowledge",
    "error_path",
    "knowledge_path",
    "retention",
    "task_retention",
)
"""Numbers of a plan that follow from its table, its order and its options."""
TOLD = ("table", "repair")
"""What else does."""
SORTED = ("row-sums", "periphery-to-core", "core-to-periphery", "greedy")
"""Rules that choose the same order every time."""
FREE = "tasks may come in any order"
"""In a note on the first tasks."""


def checked_plan(plan: Plan, inputs: SolverInput, names: Sequence[str] | None = None) -> tuple[Plan, tuple[str, ...]]:
    """The plan with what its table gives, and where that is not what it says; names: those that the table has."""
    if by_pairs(plan):
        return plan, (*_other_names(plan, names), *_order_problems(plan, inputs))
    again = make_plan(inputs, plan.order, plan.rule)
    problems = []
    if plan.objective != again.objective:
        problems.append(f"The plan says that its objective is the {plan.objective}, its options ask for the "
                        f"{again.objective}.")  # fmt: skip
    elif not same(plan.value, again.value):
        noun = plan.objective
        problems.append(f"The plan says a final {noun} of {plan.value:.4g}, its table gives {again.value:.4g}.")
    wrong = [key for key in RECOMPUTED if not same(getattr(plan, key), getattr(again, key))]
    if wrong and not problems:
        problems.append(f"The plan and its table do not agree on: {', '.join(wrong).replace('_', ' ')}.")
    if wrong or problems:
        given = {key: getattr(again, key) for key in (*RECOMPUTED, "objective")}
        plan = replace(plan, **given, bound=None, proven=False)
        problems.append("The page shows what the table gives; the plan's proof and bound are left out.")
    plan, told = _told(plan, again, inputs)
    return plan, (*problems, *told, *_other_names(plan, names), *_order_problems(plan, inputs))


def by_pairs(plan: Plan) -> bool:
    """Whether pairs tell the orders apart, for tasks with heads or classes of their own: a table does not hold them."""
    return plan.options.get("heads") in (BY_TASK, BY_CLASS)


def _other_names(plan: Plan, names: Sequence[str] | None) -> list[str]:
    if names is None or tuple(names) == plan.names:
        return []
    here, there = next((a, b) for a, b in zip(plan.names, names, strict=True) if a != b)
    return [f"The plan calls a task {here} that its table calls {there}."]


def _told(plan: Plan, again: Plan, inputs: SolverInput) -> tuple[Plan, list[str]]:
    """The plan with what its table says in words, and where that is not what it says."""
    problems = []
    if plan.table != again.table and plan.prediction is None and plan.confidence is None:  # a pilot tells more of it
        problems.append(
            f"The plan says that it was made from {plan.table!r:.100}, its options ask for {again.table!r}."
        )
    if not same(*(None if each.repair is None else [*vars(each.repair).values()] for each in (plan, again))):
        said = "that its table was not repaired" if plan.repair is None else "how its table was repaired"
        problems.append(f"The plan does not say truly {said}.")
    if problems:
        plan = replace(plan, **{key: getattr(again, key) for key in TOLD})
    once = sorted(plan.order) == inputs.constraints.open_tasks.tolist()
    true = law_notes(inputs, plan.rule, np.array(plan.order)) if once else []
    false = [note for note in plan.notes if FREE in note and note not in true]
    if false:
        problems += [f"The plan notes that {note}; on its table that is not so." for note in false]
        plan = replace(plan, notes=tuple(note for note in plan.notes if note not in false))
    return plan, problems


def without_refuted_proof(plan: Plan, comparison: Comparison) -> tuple[Plan, tuple[str, ...]]:
    """The plan without a proof or a bound that another order refutes, or a rule that chooses another order."""
    plan, problems = _without_other_rule(plan, comparison)
    if plan.bound is None:
        return plan, problems
    measure, worst = measure_of(plan.objective), plan.rule == "worst"
    rival = comparison.scores[-1 if worst else 0]
    extreme = "worst" if worst else "best"
    said = f"proven to be the {extreme}" if plan.proven else f"within its bound of {measure.said(plan.bound)}"
    past = measure.is_better(plan.bound, rival.value) if worst else measure.is_better(rival.value, plan.bound)
    if not past:
        return plan, problems
    problem = (
        f"The plan says that its order is {said}, but the rule {rival.rule} ends with {measure.said(rival.value)} "
        f"{measure.noun} on this table: its proof and bound are left out."
    )
    return replace(plan, bound=None, proven=False), (*problems, problem)


def _without_other_rule(plan: Plan, comparison: Comparison) -> tuple[Plan, tuple[str, ...]]:
    """The plan as one by hand, where its rule chooses an order of another value."""
    score = next((score for score in comparison.scores if score.rule == plan.rule), None)
    # in a pilot the rules that rank by similarity read the one that was measured, not the table
    elsewhere = plan.prediction is not None and plan.rule in RULES_WITHOUT_WEIGHTS
    known = plan.rule in SORTED and not elsewhere
    if not known or score is None or not score.complete or same(score.value, plan.value):
        return plan, ()
    measure = measure_of(plan.objective)
    problem = (
        f"The plan says that its order is that of the rule {plan.rule}, which chooses another one on this table: "
        f"{measure.said(score.value)} {measure.noun}, not {measure.said(plan.value)}."
    )
    return replace(plan, rule=BY_HAND), (problem,)


def _order_problems(plan: Plan, inputs: SolverInput) -> list[str]:
    constraints, visits = inputs.constraints, Counter(plan.order)
    if set(visits) - set(constraints.learned) != set(constraints.open_tasks.tolist()):
        return ["The plan's order does not visit every task that is left to learn."]
    once = len(visits) == len(plan.order) and not set(visits) & set(constraints.learned)
    return ["The plan's order breaks its own constraints."] if once and not constraints.allows(plan.order) else []
