"""What a solver reads: a checked table, the law that the learner follows, constraints and a seed."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from taskorder import checks
from taskorder.arguments import BadArgument, unknown
from taskorder.checks import MAX_TASKS, Floats
from taskorder.constraints import Constraints
from taskorder.given_table import (
    LARGEST_ASYMMETRY,
    SIMILARITY,
    agreed_names,
    aligned,
    by_name,
    checked_kind,
    completed,
    given_table,
    kind_of,
)
from taskorder.machine import one_blas_thread
from taskorder.ordering.law_problem import LawProblem
from taskorder.ordering.problem import Problem, open_problem
from taskorder.records import Plan, Repair
from taskorder.theory.closed_form import output_factor
from taskorder.theory.law import (
    PLAIN_RETENTION,
    checked_retention,
    checked_start,
    final_knowledge,
    knowledge_from_similarity,
)
from taskorder.theory.nearest import nearest_correlation

OBJECTIVES = ("score", "error")


@dataclass(frozen=True, eq=False)
class CheckedTable:
    """A similarity matrix and an output similarity, with the correlation matrices nearest to them."""

    given: Floats
    """The table as given: the rules that only compare tasks read this one."""
    similarity: Floats
    """The nearest correlation matrix: every error of the paper's theory is computed on this one."""
    output: Floats | None
    repair: Repair | None
    """None where the similarity was a correlation matrix already."""
    output_repair: Repair | None
    filled: tuple[str, ...] = ()
    """What was done about missing cells, in words."""

    @functools.cached_property
    @one_blas_thread()
    def output_rows(self) -> Floats:
        """(k, P) rows R with R^T R = output, one for each of its ranks."""
        return output_factor(self.output, len(self.given))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was filled and repaired, in words."""
        repairs = {"similarity": self.repair, "output": self.output_repair}
        return (*self.filled, *(f"{name} {repair.summary()}" for name, repair in repairs.items() if repair))


@dataclass(frozen=True, eq=False)
class Law:
    """The law of retention on a transfer table; the paper's theory, retention 1 and the error, does without it."""

    knowledge: Floats
    """(P, P) transfer table."""
    retention: Floats
    """(P,)"""
    objective: str
    start: Floats
    """(P,) knowledge before anything is learned."""
    made: str
    """How the table was made."""


@dataclass(frozen=True, eq=False)
class SolverInput:
    """A checked table with the constraints on the order."""

    table: CheckedTable
    constraints: Constraints
    seed: int = 0
    law: Law | None = None
    """None for the paper's theory."""
    options: Mapping[str, Any] | None = None
    """How the law was asked for, as plain JSON values."""

    @property
    def objective(self) -> str:
        """score or error."""
        return "error" if self.law is None else self.law.objective

    @property
    def retention(self) -> float:
        """Share of its knowledge that the learner keeps; of several, their mean."""
        if self.law is None:
            return 1.0
        first = float(self.law.retention[0])  # a mean of equal numbers may differ from them by rounding
        return first if (self.law.retention == first).all() else float(self.law.retention.mean())

    @functools.cached_property
    def unit(self) -> float:
        """What values are multiplied by for people: the largest weight of a task for an error, 1 for a score."""
        return float(self.constraints.importance.max()) if self.objective == "error" else 1.0

    @functools.cached_property
    def weights(self) -> Floats:
        """(P,) weights of the tasks: of errors over `unit`, since what counts as small must not depend on their unit;
        of scores with sum 1."""
        importance = self.constraints.importance
        return np.asarray(importance / (self.unit if self.objective == "error" else importance.sum()))

    def problem(self, repeats: Sequence[int] = ()) -> Problem:
        """The problem of ordering the open tasks in the paper's theory; `repeats` adds further visits of tasks."""
        constraints = self.constraints
        tasks = np.concatenate([constraints.open_tasks, np.array(repeats, np.int64)])
        return open_problem(
            self.table.similarity,
            self.table.output,
            self.weights,
            np.array(constraints.learned, dtype=np.int64),
            tasks,
            constraints.precedence(repeats),
            None if repeats else constraints.together,
            rows=self.table.output_rows,
        )

    def law_problem(self, repeats: Sequence[int] = ()) -> LawProblem:
        """The problem of ordering the open tasks under the law."""
        assert self.law is not None
        constraints, law = self.constraints, self.law
        tasks = np.concatenate([constraints.open_tasks, np.array(repeats, np.int64)])
        return LawProblem(
            tasks=tasks,
            rows=law.knowledge[tasks],
            retention=law.retention[tasks],
            start=final_knowledge(law.knowledge, constraints.learned, law.retention, start=law.start),
            weights=self.weights,
            precedes=constraints.precedence(repeats),
            objective=law.objective,
            together=None if repeats else constraints.together,
        )

    def any_problem(self, repeats: Sequence[int] = ()) -> Problem | LawProblem:
        """The problem of ordering the open tasks, whichever form the learner asks for."""
        return self.problem(repeats) if self.law is None else self.law_problem(repeats)


@one_blas_thread()
def checked_table(
    similarity: ArrayLike, output: ArrayLike | None = None, *, repair: bool = True, filled: tuple[str, ...] = ()
) -> CheckedTable:
    """Check a similarity matrix and an output similarity; without `repair`, refuse what is no correlation matrix."""
    given = _few_tasks(checks.square_matrix(similarity), "similarity")
    checks.correlation_entries(given)
    if not repair:
        checks.symmetric(given)
        checks.positive_semidefinite((given + given.T) / 2)
    repaired, report = nearest_correlation(given)
    if output is None or not repair:
        output, output_report = checks.output_similarity(output, len(given)), None
    else:
        output, output_report = nearest_correlation(checks.output_entries(output, len(given)))
    return CheckedTable(
        given=given,
        similarity=repaired,
        output=output,
        repair=_unless_rounding(report),
        output_repair=_unless_rounding(output_report),
        filled=filled,
    )


@one_blas_thread()
def solver_input(
    table: ArrayLike,
    *,
    retention: ArrayLike | Mapping[str, float] | None = None,
    objective: str | None = None,
    kind: str | None = None,
    start: ArrayLike | None = None,
    output: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    weights: ArrayLike | Mapping[str, float] | None = None,
    seed: int = 0,
    repair: bool = True,
    **constraints: Any,
) -> SolverInput:
    """Check everything that `solve` and `compare` share; `constraints` are the arguments of `Constraints.of`.

    >>> solver_input([[1, 0.5], [0.5, 1]], first="B").law_problem().precedes.tolist()
    [[False, False], [True, False]]
    """
    if objective not in (None, *OBJECTIVES):
        raise unknown("objective", objective, OBJECTIVES)
    checked_kind(kind)
    opened = given_table(table)
    _few_tasks(opened.values, "table")
    opened = replace(opened, names=agreed_names(names, opened))
    complete = completed(opened, "table", kind)
    # from here on no number is missing: what a table holds is told by all of them
    given, notes = complete.values, complete.notes
    told = kind is not None
    kind = kind or kind_of(given)
    checked = Constraints.of(len(given), names=opened.names, weights=by_name(weights), **constraints)
    d = checked_retention(PLAIN_RETENTION if retention is None else by_name(retention), len(given), checked.names)
    options = {
        "retention": None if retention is None else _plain_retention(d),
        "objective": objective,
        "kind": kind,
        "start": None if start is None else checked_start(start, len(given)).tolist(),
    }
    seed = checks.seed_number(seed)
    if (d == 1).all() and objective != "score":
        _check_theory(given, kind, start)
        if output is not None:
            second = completed(given_table(output, "output"), "output", SIMILARITY)
            output = aligned(second, checked.names, "output")
            notes += tuple(f"output: {note}" for note in second.notes)
        read = checked_table(given, output, repair=repair, filled=notes)
        return SolverInput(read, checked, seed, None, options)
    if output is not None:
        raise BadArgument(
            f"`output` must be left out with a retention of {d.min():g}, got one: an output similarity belongs to the "
            "paper's theory. Use retention=1, or leave it out."
        )
    knowledge, made = _knowledge(given, kind, repair, told)
    if kind == SIMILARITY and checks.asymmetry(given) > LARGEST_ASYMMETRY:
        notes += (f"the two directions of a pair differ by up to {checks.asymmetry(given):.3g}: their mean is taken",)
    law = Law(
        knowledge=knowledge,
        retention=d,
        objective=objective or "score",
        start=np.zeros(len(given)) if start is None else checked_start(start, len(given)),
        made=made,
    )
    return SolverInput(CheckedTable(given, given, None, None, None, notes), checked, seed, law, options)


def solver_input_of(plan: Plan, table: ArrayLike) -> SolverInput:
    """What a plan was made from, given the table again; every task is visited once, however often the plan does."""
    options = plan.options
    past_law = {} if "retention" in options else {"retention": 1.0}
    keys = ("retention", "objective", "kind", "start", "output", "weights", "first", "last")
    given = {key: options[key] for key in keys if options.get(key) is not None}
    lists = {key: options[key] for key in ("before", "learned", "groups") if options.get(key)}
    return solver_input(
        table, names=plan.names, seed=options.get("seed", 0), repair=options.get("repair", True),
        **{**past_law, **given, **lists},
    )  # fmt: skip


def with_retention(inputs: SolverInput, retention: float) -> SolverInput:
    """The same input for a learner that keeps another share, with the objective that belongs to it.

    >>> with_retention(solver_input([[1, 0.5], [0.5, 1]]), 1.0).objective
    'error'
    """
    kind = (inputs.options or {}).get("kind") or kind_of(inputs.table.given)
    if retention == 1:
        _check_theory(inputs.table.given, kind, None if inputs.law is None or not inputs.law.start.any() else 0)
        return replace(inputs, table=checked_table(inputs.table.given, filled=inputs.table.filled), law=None)
    d = np.full(len(inputs.table.given), retention)
    if inputs.law is not None:
        return replace(inputs, law=replace(inputs.law, retention=d, objective="score"))
    knowledge, made = _knowledge(inputs.table.given, kind, repair=True, told=True)
    return replace(inputs, law=Law(knowledge, d, "score", np.zeros(len(d)), made))


def _check_theory(given: Floats, kind: str, start: object) -> None:
    """Refuse what the paper's theory cannot take."""
    if start is not None:
        raise BadArgument("`start` must be left out with retention=1, got one. Name ", "learned", " tasks instead.")
    if kind == SIMILARITY:
        return
    if checks.asymmetry(given) <= LARGEST_ASYMMETRY:
        checks.unit_diagonal(given, "table")
    raise BadArgument(
        f"`retention` must be below 1 for a transfer table, got 1 with |S - S.T| up to {checks.asymmetry(given):.3g}. "
        "The paper's theory needs a symmetric similarity: pass (S + S.T) / 2, or a retention below 1."
    )


def _knowledge(given: Floats, kind: str, repair: bool, told: bool) -> tuple[Floats, str]:
    """The transfer table that the law reads, and how it was made.

    told: whether the user said what the table holds; else what looks like losses or distances is refused.
    """
    if kind == SIMILARITY:
        checks.correlation_entries(given)
        symmetric = (given + given.T) / 2
        if not repair:
            checks.symmetric(given)
            checks.positive_semidefinite(symmetric)
        return knowledge_from_similarity(symmetric), "knowledge 1 - (1 - rho)^2 from a similarity rho"
    if not repair:
        raise BadArgument("`repair` must be left out with a transfer table, got False: nothing is repaired there.")
    if given.max() > 1 + checks.SYMMETRY_TOLERANCE:
        row, column = np.unravel_index(given.argmax(), given.shape)
        raise BadArgument(
            f"`table` must hold knowledge of at most 1 (1 is perfect, 0 is chance), got {given[row, column]:.6g} at "
            f"row {row + 1}, column {column + 1}. Divide percentages by 100; take 1 - loss / chance of losses, "
            "1 - distance of distances."
        )
    off = given[~np.eye(len(given), dtype=bool)]
    if not told and off.size and np.diagonal(given).mean() < off.mean() - checks.SYMMETRY_TOLERANCE:
        raise BadArgument(
            "`table` must hold knowledge (1 is perfect, 0 is chance), got less of a learner's own task than of others. "
            "For distances take 1 - distance; for losses see taskorder.tables.knowledge."
        )
    return given, "transfer table, as given"


def _plain_retention(d: Floats) -> Any:
    """One number where all are the same."""
    return float(d[0]) if (d == d[0]).all() else d.tolist()


def _few_tasks(table: Floats, name: str) -> Floats:
    if len(table) > MAX_TASKS:
        raise BadArgument(
            f"`{name}` must have at most {MAX_TASKS} tasks, got {len(table)}. Merge near-identical tasks first."
        )
    return table


def _unless_rounding(report: Repair | None) -> Repair | None:
    return report if report is not None and report.largest_change > checks.SYMMETRY_TOLERANCE else None
