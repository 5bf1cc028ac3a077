"""The numbers of a plan's page; what needs the similarity matrix is kept apart, since a plan holds only its digest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any

import numpy as np

from taskorder import checks
from taskorder.checks import Floats
from taskorder.ordering.clock import Watch
from taskorder.ordering.compare import compare_input
from taskorder.ordering.plans import task_paths
from taskorder.ordering.solver_input import SolverInput, solver_input_of
from taskorder.records import Comparison, Plan
from taskorder.report.embedding import task_points
from taskorder.report.sensitivity import pair_derivatives, table_derivatives

NUM_RANDOM = 1000
"""Random orders to draw, as `taskorder compare` does."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
WHOLE_TABLES = 12_000
"""Numbers of a table that go into the page; a larger one (from 110 tasks on) is left out of its JSON."""
NAME_BUDGET = 80_000
"""Bytes of all names together: they stand in a page about ten times."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What surrounds a plan: rivals, random orders, the map, and what each pair costs."""

    comparison: Comparison
    similarity: Floats
    """(P, P) as given, by task."""
    rivals: dict[str, Floats]
    """Of each rule, the (weighted) sum of errors before and after each of its steps."""
    random_errors: Floats
    """Final error of every allowed order, or of random ones, sorted."""
    band: Floats
    """(5, steps + 1) `QUANTILES` of the sum of errors after each step of those orders."""
    points: Floats
    """(P, 2) the map of the tasks."""
    share_shown: float
    """Share of all squared distances that the map shows."""
    slopes: Floats
    """(P, P) exact derivative of the plan's final error for the similarity of each pair."""

    @property
    def which(self) -> str:
        """The orders that the random statistics come from, in words."""
        count = self.comparison.random_count
        return f"all {count} allowed orders" if self.comparison.random_exact else f"{count} random orders"

    def share_better(self, error: float) -> float:
        """Share of those orders with a smaller error, past rounding: none for a proven plan."""
        sign = -1 if self.comparison.objective == "score" else 1
        return float((sign * self.random_errors < sign * error - 1e-9 * abs(error) - 1e-15).mean())


@dataclass(frozen=True, eq=False)
class PlanNumbers:
    """A plan and all that its page shows."""

    plan: Plan
    totals: Floats
    """(steps + 1,) the (weighted) sum of all errors before and after each step."""
    before: Floats
    """(P,) error of each task just before its last visit; before the first step for a task learned already."""
    after: Floats
    """(P,) error of each task just after its last visit; the same for a task learned already."""
    around: Surroundings | None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tasks, cut where all of them together are too long for a page."""
        return page_names(self.plan.names)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: the records as `plan --json` and `compare --json` write them, and what was added."""
        large = self.before.size * self.totals.size > WHOLE_TABLES
        left_out = ["plan.error_path", "plan.knowledge_path", "plan.options.output"] if large else []
        short = replace(self.plan, error_path=(), knowledge_path=(), options={**self.plan.options, "output": None})
        plan = asdict(short if large else self.plan)
        if self.names != self.plan.names:
            plan |= {"names": self.names, "options": {}}
            left_out += ["ends of names", "plan.options"]
        values: dict[str, Any] = {
            "kind": "plan",
            "plan": plan,
            "totals": self.totals.tolist(),
            "error_before_learning": self.before.tolist(),
            "error_just_learned": self.after.tolist(),
        }
        if self.around is not None:
            whole = self.around.similarity.size <= WHOLE_TABLES
            left_out += [] if whole else ["similarity", "pair_derivatives"]
            values |= {
                "comparison": {**asdict(self.around.comparison), "names": self.names},
                "rival_totals": {rule: path.tolist() for rule, path in self.around.rivals.items()},
                "random_errors": self.around.random_errors.tolist() if len(self.around.random_errors) <= 5040 else None,
                "random_quantiles": dict(zip(map(str, QUANTILES), self.around.band.tolist(), strict=True)),
                "map": self.around.points.tolist(),
                "map_share": self.around.share_shown,
                "similarity": self.around.similarity.tolist() if whole else None,
                "pair_derivatives": self.around.slopes.tolist() if whole else None,
            }
            left_out += [] if values["random_errors"] is not None else ["random_errors"]
        return {**values, "left_out": left_out}


def page_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names, all cut to one length where together they would be too long for a page.

    >>> page_names(["cats", "dogs"])
    ('cats', 'dogs')
    """

    def weight(name: str) -> int:
        return max(len(json.dumps(name)), len(escape(name).encode("utf-8", "replace")))

    most = longest = max(map(len, names))
    while most > 4 and sum(weight(name[:most]) for name in names) > NAME_BUDGET:
        most = int(0.8 * most)
    return tuple(names) if most == longest else tuple(n if len(n) <= most else n[:most] + "…" for n in names)


def plan_numbers(
    plan: Plan, similarity: Floats | None = None, *, time_limit: float | None = 10.0, watch: Watch | None = None
) -> PlanNumbers:
    """All numbers of the page; without `similarity`, those that the plan itself holds.

    `similarity` must be the matrix that the plan was made from, which its digest tells.
    """
    path = np.array(plan.knowledge_path if plan.objective == "score" else plan.error_path, dtype=np.float64)
    weights = checks.task_weights(plan.options.get("weights"), len(plan.names))
    weights = weights / weights.sum() if plan.objective == "score" else weights
    before, after = path[0].copy(), path[0].copy()
    for step, task in enumerate(plan.order, start=1):
        before[task], after[task] = path[step - 1, task], path[step, task]
    around = None if similarity is None else _surroundings(plan, similarity, time_limit, watch)
    return PlanNumbers(plan, path @ weights, before, after, around)


def _surroundings(plan: Plan, similarity: Floats, time_limit: float | None, watch: Watch | None) -> Surroundings:
    matrix = checks.square_matrix(similarity)
    if checks.digest(matrix) != plan.similarity_digest:
        raise ValueError(
            "`similarity` must be the matrix that the plan was made from, got one with another digest. "
            "Name the file that `taskorder solve` read, or report on the matrix itself."
        )
    inputs = solver_input_of(plan, matrix)
    comparison, paths = compare_input(inputs, NUM_RANDOM, time_limit, watch)
    table, law, visits = inputs.table, inputs.law, [*inputs.constraints.learned, *plan.order]
    points, share = task_points(table.similarity if law is None else (law.knowledge + law.knowledge.T) / 2)
    if law is None:
        slopes = pair_derivatives(table.similarity, visits, table.output, inputs.constraints.importance)
    else:
        slopes = table_derivatives(law.knowledge, visits, law.retention, law.start, inputs.weights)
    return Surroundings(
        comparison=comparison,
        similarity=matrix,
        rivals={
            score.rule: inputs.unit * (_value_path(inputs, score.order) @ inputs.weights) for score in comparison.scores
        },
        random_errors=np.sort(paths[:, -1]),
        band=np.quantile(paths, QUANTILES, axis=0),
        points=points,
        share_shown=share,
        slopes=slopes,
    )


def _value_path(inputs: SolverInput, order: Sequence[int]) -> Floats:
    """(steps + 1, P) knowledge or error of every task, as the objective is, before and after each step of an order."""
    knowledge, errors = task_paths(inputs, order)
    return errors if inputs.objective == "error" or knowledge is None else knowledge
