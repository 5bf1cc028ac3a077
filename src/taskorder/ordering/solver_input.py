"""What a solver reads: a checked table, constraints and a seed."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from taskorder import checks
from taskorder.checks import MAX_TASKS, Floats
from taskorder.constraints import Constraints
from taskorder.ordering.problem import Problem, open_problem
from taskorder.records import Repair
from taskorder.theory.nearest import nearest_correlation


@dataclass(frozen=True, eq=False)
class CheckedTable:
    """A similarity matrix and an output similarity, with the correlation matrices nearest to them."""

    given: Floats
    """The similarity as given: the rules that only compare tasks read this one."""
    similarity: Floats
    """The nearest correlation matrix: every error is computed on this one."""
    output: Floats | None
    repair: Repair | None
    """None where the similarity was a correlation matrix already."""
    output_repair: Repair | None

    @property
    def notes(self) -> tuple[str, ...]:
        """The repairs, in words."""
        repairs = {"similarity": self.repair, "output": self.output_repair}
        return tuple(f"{name} {repair.summary()}" for name, repair in repairs.items() if repair)


@dataclass(frozen=True, eq=False)
class SolverInput:
    """A checked table with the constraints on the order."""

    table: CheckedTable
    constraints: Constraints
    seed: int = 0

    @functools.cached_property
    def unit(self) -> float:
        """The largest weight of a task."""
        return float(self.constraints.importance.max())

    @functools.cached_property
    def weights(self) -> Floats:
        """(P,) weights of the tasks over `unit`: what counts as small must not depend on the unit of the weights."""
        return np.asarray(self.constraints.importance / self.unit)

    def problem(self, repeats: Sequence[int] = ()) -> Problem:
        """The problem of ordering the open tasks; `repeats` adds further visits of tasks."""
        constraints = self.constraints
        tasks = np.concatenate([constraints.open_tasks, np.array(repeats, np.int64)])
        return open_problem(
            self.table.similarity,
            self.table.output,
            self.weights,
            np.array(constraints.learned, dtype=np.int64),
            tasks,
            constraints.precedence(repeats),
        )


def checked_table(similarity: ArrayLike, output: ArrayLike | None = None, *, repair: bool = True) -> CheckedTable:
    """Check a similarity matrix and an output similarity; without `repair`, refuse what is no correlation matrix."""
    given = checks.square_matrix(similarity)
    if len(given) > MAX_TASKS:
        raise ValueError(
            f"`similarity` must have at most {MAX_TASKS} tasks, got {len(given)}. Merge near-identical tasks first."
        )
    checks.correlation_entries(given)
    if not repair:
        checks.symmetric(given)
        checks.positive_semidefinite((given + given.T) / 2)
    repaired, report = nearest_correlation(given)
    output_report = None
    if output is not None and repair:
        output, output_report = nearest_correlation(checks.output_entries(output, len(given)))
    return CheckedTable(
        given=given,
        similarity=repaired,
        output=checks.output_similarity(output, len(given)),
        repair=_unless_rounding(report),
        output_repair=_unless_rounding(output_report),
    )


def solver_input(
    similarity: ArrayLike, *, output: ArrayLike | None = None, seed: int = 0, repair: bool = True, **constraints: Any
) -> SolverInput:
    """Check everything that `solve` and `compare` share; `constraints` are the arguments of `Constraints.of`.

    >>> solver_input([[1, 0.5], [0.5, 1]], first="B").problem().precedes.tolist()
    [[False, False], [True, False]]
    """
    table = checked_table(similarity, output, repair=repair)
    return SolverInput(table, Constraints.of(len(table.given), **constraints), checks.seed_number(seed))


def _unless_rounding(report: Repair | None) -> Repair | None:
    return report if report is not None and report.largest_change > checks.SYMMETRY_TOLERANCE else None
