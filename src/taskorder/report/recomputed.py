"""A plan beside the table it was made from: what can be computed again is, and what does not agree is said."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from taskorder.ordering.plans import make_plan
from taskorder.ordering.solver_input import SolverInput
from taskorder.records import Comparison, Plan
from taskorder.report.measure import measure_of

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
"""Fields of a plan that follow from its table, its order and its options."""
TOLERANCE = 1e-6


def checked_plan(plan: Plan, inputs: SolverInput) -> tuple[Plan, tuple[str, ...]]:
    """The plan with the numbers that its table gives, and where they are not those that it says."""
    again = make_plan(inputs, plan.order, plan.rule)
    problems = []
    if plan.objective != again.objective:
        problems.append(f"The plan says that its objective is the {plan.objective}, its options ask for the "
                        f"{again.objective}.")  # fmt: skip
    elif not _same(plan.value, again.value):
        noun = plan.objective
        problems.append(f"The plan says a final {noun} of {plan.value:.4g}, its table gives {again.value:.4g}.")
    wrong = [key for key in RECOMPUTED if not _same(getattr(plan, key), getattr(again, key))]
    if wrong and not problems:
        problems.append(f"The plan and its table do not agree on: {', '.join(wrong).replace('_', ' ')}.")
    if wrong or problems:
        given = {key: getattr(again, key) for key in (*RECOMPUTED, "objective")}
        plan = replace(plan, **given, bound=None, proven=False)
    if problems:
        problems.append("The page shows what the table gives; the plan's proof and bound are left out.")
    return plan, (*problems, *_order_problems(plan, inputs))


def without_refuted_proof(plan: Plan, comparison: Comparison) -> tuple[Plan, tuple[str, ...]]:
    """The plan without a proof or a bound that another order refutes, and which order that is."""
    if plan.bound is None or plan.rule == "worst":
        return plan, ()
    measure = measure_of(plan.objective)
    best = comparison.scores[0]
    said = "proven to be the best" if plan.proven else f"within its bound of {measure.said(plan.bound)}"
    if not measure.is_better(best.value, plan.bound):
        return plan, ()
    problem = (
        f"The plan says that its order is {said}, but the rule {best.rule} ends with {measure.said(best.value)} "
        f"{measure.noun} on this table: its proof and bound are left out."
    )
    return replace(plan, bound=None, proven=False), (problem,)


def _order_problems(plan: Plan, inputs: SolverInput) -> list[str]:
    constraints, visits = inputs.constraints, Counter(plan.order)
    if set(visits) - set(constraints.learned) != set(constraints.open_tasks.tolist()):
        return ["The plan's order does not visit every task that is left to learn."]
    once = len(visits) == len(plan.order) and not set(visits) & set(constraints.learned)
    return ["The plan's order breaks its own constraints."] if once and not constraints.allows(plan.order) else []


def _same(said: Any, given: Any) -> bool:
    """Whether numbers, or tables of them, agree to rounding."""
    if said is None or given is None:
        return said is given
    a, b = np.array(said, dtype=np.float64), np.array(given, dtype=np.float64)
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE))
