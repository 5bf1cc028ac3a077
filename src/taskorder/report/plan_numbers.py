"""The numbers of a plan's page; what needs the table is kept apart, since a plan holds only its digest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any

import numpy as np

from taskorder import checks
from taskorder.checks import Floats
from taskorder.ordering.clock import Clock, Watch
from taskorder.ordering.compare import RETENTIONS, compare_input, with_other_retentions, with_prices
from taskorder.ordering.law_notes import SCORE_TIE
from taskorder.ordering.law_search import free_beginning
from taskorder.ordering.plans import task_paths
from taskorder.ordering.prices import PRICED
from taskorder.ordering.solver_input import SolverInput, solver_input_of, with_retention
from taskorder.records import Comparison, Plan
from taskorder.report.contradictions import without_contradictions
from taskorder.report.embedding import task_points
from taskorder.report.measure import Measure, measure_of
from taskorder.report.recomputed import by_pairs, checked_plan, without_refuted_proof
from taskorder.report.sensitivity import pair_derivatives, table_derivatives

NUM_RANDOM = 1000
"""Random orders to draw, as `taskorder compare` does."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
WHOLE_TABLES = 12_000
"""Numbers of a table that go into the page; a larger one (from 110 tasks on) is left out of its JSON."""
MOST_VALUES = 5040
"""Random values that go into the page; more are left out of its JSON."""
NAME_BUDGET = 80_000
"""Bytes of all names together: they stand in a page about ten times."""


@dataclass(frozen=True, eq=False)
class TaskTable:
    """What a plan was made from, and the map of its tasks."""

    values: Floats
    """(P, P) by task: the transfer table that the prediction was computed on, or the similarity as given."""
    symmetric: bool
    points: Floats
    """(P, 2) the map of the tasks."""
    share_shown: float
    """Share of all squared distances that the map shows."""

    @property
    def name(self) -> str:
        """similarity, or knowledge where it is that of a learner of one task on every task."""
        return "similarity" if self.symmetric else "knowledge"


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What surrounds a plan: rivals, random orders, and what each entry of the table does."""

    comparison: Comparison
    rivals: dict[str, Floats]
    """Of each rule, the value before and after each of its steps."""
    random_values: Floats
    """Value of every allowed order, or of random ones, sorted."""
    band: Floats
    """(5, steps + 1) `QUANTILES` of the value after each step of those orders."""
    slopes: Floats
    """(P, P) exact derivative of the plan's value for each entry of the table; of a similarity, for each pair."""
    left: Floats | None = None
    """(steps,) what each step leaves of the score at the end; None where the objective is the error."""
    free: int = 0
    """So many of the first steps may come in any order."""
    elsewhere: tuple[float, ...] = ()
    """The value of this plan's order at each of the other retentions of the comparison."""

    @property
    def which(self) -> str:
        """The orders that the random statistics come from, in words."""
        count = self.comparison.random_count
        return f"all {count} allowed orders" if self.comparison.random_exact else f"{count} random orders"

    def share_better(self, value: float) -> float:
        """Share of those orders with a better value, past rounding: none for a proven plan."""
        sign = -1 if self.comparison.objective == "score" else 1
        return float((sign * self.random_values < sign * value - 1e-9 * abs(value) - 1e-15).mean())


@dataclass(frozen=True, eq=False)
class PlanNumbers:
    """A plan and all that its page shows."""

    plan: Plan
    values: Floats
    """(steps + 1,) the score or the error before and after each step."""
    before: Floats
    """(P,) knowledge or error of each task just before its last visit; before the first step if learned already."""
    after: Floats
    """(P,) the same just after its last visit."""
    table: TaskTable | None
    around: Surroundings | None
    """None without the table, and where a plan from a pilot was made for another objective than its prediction, or by
    pairs of tasks."""
    disagreements: tuple[str, ...] = ()
    """What the plan says and its table refutes; the page shows what the table gives."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tasks, cut where all of them together are too long for a page."""
        return page_names(self.plan.names)

    @property
    def measure(self) -> Measure:
        """The words of the plan's objective."""
        return measure_of(self.plan.objective)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: the records as `plan --json` and `compare --json` write them, and what was added."""
        large = self.before.size * self.values.size > WHOLE_TABLES
        left_out = ["plan.error_path", "plan.knowledge_path", "plan.options.output"] if large else []
        short = replace(self.plan, error_path=(), knowledge_path=(), options={**self.plan.options, "output": None})
        plan = asdict(short if large else self.plan)
        if self.names != self.plan.names:
            plan |= {"names": self.names, "options": {}}
            left_out += ["ends of names", "plan.options"]
        values: dict[str, Any] = {
            "kind": "plan",
            "plan": plan,
            "values": self.values.tolist(),
            "before_learning": self.before.tolist(),
            "just_learned": self.after.tolist(),
            "disagreements": list(self.disagreements),
        }
        whole = self.table is not None and self.table.values.size <= WHOLE_TABLES
        if self.table is not None:
            left_out += [] if whole else ["table"]
            values |= {
                "map": self.table.points.tolist(),
                "map_share": self.table.share_shown,
                "table": self.table.values.tolist() if whole else None,
            }
        if self.around is not None:
            around, many = self.around, len(self.around.random_values) > MOST_VALUES
            left_out += [] if whole else ["derivatives"]
            left_out += ["random_values"] if many else []
            values |= {
                "comparison": {**asdict(around.comparison), "names": self.names},
                "rivals": {rule: path.tolist() for rule, path in around.rivals.items()},
                "random_values": None if many else around.random_values.tolist(),
                "random_quantiles": dict(zip(map(str, QUANTILES), around.band.tolist(), strict=True)),
                "derivatives": around.slopes.tolist() if whole else None,
                "left_by_step": None if around.left is None else around.left.tolist(),
                "free_steps": around.free,
                "at_other_retentions": list(around.elsewhere),
            }
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
    plan: Plan,
    table: Floats | None = None,
    *,
    names: Sequence[str] | None = None,
    time_limit: float | None = 10.0,
    watch: Watch | None = None,
) -> PlanNumbers:
    """All numbers of the page; without `table`, those that the plan itself holds.

    `table` must be the one that the plan was made from, which its digest tells; names: those that the table has.
    """
    if table is None:
        consistent, problems = without_contradictions(plan)
        return replace(_numbers(consistent, None, None), disagreements=problems)
    given = checks.square_matrix(table)
    if checks.digest(given) != plan.similarity_digest:
        raise ValueError(
            "`similarity` must be the matrix that the plan was made from, got one with another digest. "
            "Name the file that `taskorder solve` read, or report on the matrix itself."
        )
    inputs = solver_input_of(plan, given)
    law = inputs.law
    shown = given if law is None else law.knowledge
    points, share = task_points(inputs.table.similarity if law is None else (shown + shown.T) / 2)
    described = TaskTable(shown, law is None, points, share)
    agreed, problems = checked_plan(plan, inputs, names)
    agreed, contradictions = without_contradictions(agreed)
    problems = (*problems, *contradictions)
    if by_pairs(plan) or (plan.prediction is not None and plan.objective != "score"):
        return replace(_numbers(agreed, described, None), disagreements=problems)
    comparison, paths = compare_input(inputs, NUM_RANDOM, time_limit, watch)
    agreed, more = without_refuted_proof(agreed, comparison)
    clock = Clock(checks.seconds_limit(time_limit), watch)
    if inputs.constraints.num_open <= PRICED:
        comparison = with_prices(comparison, inputs, Clock(clock.limit, watch))
    comparison = with_other_retentions(comparison, inputs, RETENTIONS, clock)
    around = _surroundings(agreed, inputs, comparison, paths)
    return replace(_numbers(agreed, described, around), disagreements=(*problems, *more))


def _numbers(plan: Plan, table: TaskTable | None, around: Surroundings | None) -> PlanNumbers:
    path = np.array(plan.knowledge_path if plan.objective == "score" else plan.error_path, dtype=np.float64)
    weights = checks.task_weights(plan.options.get("weights"), len(plan.names))
    weights = weights / weights.sum() if plan.objective == "score" else weights
    before, after = path[0].copy(), path[0].copy()
    for step, task in enumerate(plan.order, start=1):
        before[task], after[task] = path[step - 1, task], path[step, task]
    return PlanNumbers(plan, path @ weights, before, after, table, around)


def _surroundings(plan: Plan, inputs: SolverInput, comparison: Comparison, paths: Floats) -> Surroundings:
    law, visits = inputs.law, [*inputs.constraints.learned, *plan.order]
    importance = inputs.constraints.importance
    left, free = None, 0
    if law is None:
        slopes = pair_derivatives(inputs.table.similarity, visits, inputs.table.output, importance)
    elif inputs.objective == "error":
        gradient = -2 * (1 - np.array(plan.knowledge)) * importance
        slopes, _ = table_derivatives(law.knowledge, visits, law.retention, law.start, gradient)
    else:
        slopes, left = table_derivatives(law.knowledge, visits, law.retention, law.start, inputs.weights)
        left = left[len(visits) - len(plan.order) :]
        free = _free_steps(plan, inputs)
    return Surroundings(
        comparison=comparison,
        rivals={score.rule: _values(inputs, score.order) for score in comparison.scores},
        random_values=np.sort(paths[:, -1]),
        band=np.quantile(paths, QUANTILES, axis=0),
        slopes=slopes,
        left=left,
        free=free,
        elsewhere=tuple(
            float(_values(with_retention(inputs, other.retention), plan.order)[-1]) for other in comparison.at_retention
        ),
    )


def _free_steps(plan: Plan, inputs: SolverInput) -> int:
    """How many of the first steps may come in any order; said of orders that visit every task once."""
    problem = inputs.law_problem()
    if sorted(plan.order) != sorted(problem.tasks.tolist()):
        return 0
    position = {int(task): visit for visit, task in enumerate(problem.tasks)}
    return free_beginning(problem, np.array([position[task] for task in plan.order], np.int64), SCORE_TIE)


def _values(inputs: SolverInput, order: Sequence[int]) -> Floats:
    """(steps + 1,) the score or the error before and after each step of an order."""
    knowledge, errors = task_paths(inputs, order)
    path = errors if inputs.objective == "error" or knowledge is None else knowledge
    return np.asarray(inputs.unit * (path @ inputs.weights))
