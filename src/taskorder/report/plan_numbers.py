"""The numbers of a plan's page; what needs the similarity matrix is kept apart, since a plan holds only its digest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any

import numpy as np

from taskorder import checks
from taskorder.checks import Floats, Ints
from taskorder.ordering.clock import Watch
from taskorder.ordering.compare import compare, random_draw
from taskorder.ordering.problem import Problem
from taskorder.ordering.solver_input import SolverInput, solver_input
from taskorder.records import Comparison, Plan
from taskorder.report.embedding import task_map
from taskorder.report.sensitivity import pair_derivatives
from taskorder.theory.closed_form import error_path

NUM_RANDOM = 1000
"""Random orders to draw, as `taskorder compare` does."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
WHOLE_TABLES = 12_000
"""Numbers of a table that go into the page; a larger one (from 110 tasks on) is left out of its JSON."""
NAME_BUDGET = 80_000
"""Bytes of all names together: they stand in a page about ten times."""
QUESTION = ("output", "weights", "before", "first", "last", "learned", "seed", "repair")
"""Options of a plan that are options of the comparison too."""


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
    places: Floats
    """(P, 2) the map of the tasks."""
    shown: float
    """Share of all squared distances that the map shows."""
    slopes: Floats
    """(P, P) exact derivative of the plan's final error for the similarity of each pair."""

    @property
    def which(self) -> str:
        """The orders that the random statistics come from, in words."""
        found = self.comparison
        return (
            f"all {found.random_count} allowed orders" if found.random_exact else f"{found.random_count} random orders"
        )

    def share_better(self, error: float) -> float:
        """Share of those orders with a smaller error, past rounding: none for a proven plan."""
        return float((self.random_errors < error - 1e-9 * abs(error) - 1e-15).mean())


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
        left_out = ["plan.error_path", "plan.options.output"] if large else []
        plan = asdict(
            replace(self.plan, error_path=(), options={**self.plan.options, "output": None}) if large else self.plan
        )
        if self.names != self.plan.names:
            plan |= {"names": self.names, "options": {}}
            left_out += ["ends of names", "plan.options"]
        found: dict[str, Any] = {
            "kind": "plan",
            "plan": plan,
            "totals": self.totals.tolist(),
            "error_before_learning": self.before.tolist(),
            "error_just_learned": self.after.tolist(),
        }
        if self.around is not None:
            whole = self.around.similarity.size <= WHOLE_TABLES
            left_out += [] if whole else ["similarity", "pair_derivatives"]
            found |= {
                "comparison": {**asdict(self.around.comparison), "names": self.names},
                "rival_totals": {rule: path.tolist() for rule, path in self.around.rivals.items()},
                "random_errors": self.around.random_errors.tolist() if len(self.around.random_errors) <= 5040 else None,
                "random_quantiles": dict(zip(map(str, QUANTILES), self.around.band.tolist(), strict=True)),
                "map": self.around.places.tolist(),
                "map_share": self.around.shown,
                "similarity": self.around.similarity.tolist() if whole else None,
                "pair_derivatives": self.around.slopes.tolist() if whole else None,
            }
            left_out += [] if found["random_errors"] is not None else ["random_errors"]
        return {**found, "left_out": left_out}


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
    path = np.array(plan.error_path, dtype=np.float64)
    weights = checks.task_weights(plan.options.get("weights"), len(plan.names))
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
    options = asked(plan)
    comparison = compare(matrix, names=plan.names, num_random=NUM_RANDOM, time_limit=time_limit, watch=watch, **options)
    inputs = solver_input(matrix, names=plan.names, **options)
    paths = inputs.unit * _random_paths(inputs)
    learned, weights = list(inputs.constraints.learned), inputs.unit * inputs.weights
    places, shown = task_map(inputs.table.similarity)
    return Surroundings(
        comparison=comparison,
        similarity=matrix,
        rivals={score.rule: _totals(inputs, score.order) for score in comparison.scores},
        random_errors=np.sort(paths[:, -1]),
        band=np.quantile(paths, QUANTILES, axis=0),
        places=places,
        shown=shown,
        slopes=pair_derivatives(inputs.table.similarity, [*learned, *plan.order], inputs.table.output, weights),
    )


def asked(plan: Plan) -> dict[str, Any]:
    """The options of a plan that `compare` takes."""
    defaults: Mapping[str, Any] = {"before": (), "learned": (), "seed": 0, "repair": True}
    found = {key: plan.options.get(key, defaults.get(key)) for key in QUESTION}
    return {**found, "before": [tuple(pair) for pair in found["before"]]}


def _totals(inputs: SolverInput, order: tuple[int, ...]) -> Floats:
    learned = list(inputs.constraints.learned)
    path = error_path(inputs.table.similarity, [*learned, *order], inputs.table.output)[len(learned) :]
    return np.asarray(inputs.unit * (path @ inputs.weights))


def _random_paths(inputs: SolverInput) -> Floats:
    """(orders, n + 1) error after every step of the orders that `compare` takes for random: the same draw."""
    problem = inputs.problem()
    return np.concatenate([_paths(problem, orders) for orders in random_draw(problem, NUM_RANDOM, inputs.seed)[0]])


def _paths(problem: Problem, orders: Ints) -> Floats:
    """`problem.errors(orders)` with the error after every step, not only the last."""
    rows = np.arange(len(orders))
    paths = np.full((len(orders), problem.size + 1), problem.e)
    r, h = (np.repeat(state[None], len(orders), axis=0) for state in (problem.r, problem.h))
    for step, j in enumerate(orders.T, start=1):
        v = r[rows, :, j]
        paths[:, step] = paths[:, step - 1] - (v * (2 * h[rows, :, j] - v * problem.G[j, j][:, None])).sum(axis=1)
        r -= v[:, :, None] * problem.C[j][:, None]
        h -= v[:, :, None] * problem.G[j][:, None]
    return np.asarray(np.maximum(paths, 0.0))
