"""What the user asked, checked once and put into the form that rules and solvers read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from taskorder import checks
from taskorder.checks import MAX_TASKS, Floats, Ints, task_index
from taskorder.ordering.constraints import learned_tasks, open_tasks, precedence, task_pairs
from taskorder.ordering.problem import Problem, open_problem
from taskorder.records import Repair
from taskorder.theory.nearest import nearest_correlation

TaskName = str | int


@dataclass(frozen=True)
class Question:
    """A checked similarity matrix with its constraints."""

    given: Floats
    """The matrix as given: the rules that only compare tasks read this one."""
    similarity: Floats
    """The correlation matrix nearest to it: every error is computed on this one."""
    output: Floats | None
    weights: Floats
    """(P,) importance of each task, divided by `unit`: what is small must not depend on the user's unit."""
    unit: float
    weighted: bool
    """Whether the user gave weights."""
    names: tuple[str, ...]
    learned: Ints
    before: tuple[tuple[int, int], ...]
    first: int | None
    last: int | None
    seed: int
    repair: Repair | None
    output_repair: Repair | None

    @property
    def num_open(self) -> int:
        """Number of tasks still to learn."""
        return len(self.names) - len(self.learned)

    @property
    def notes(self) -> tuple[str, ...]:
        """What happened to the input."""
        reports = {"similarity": self.repair, "output": self.output_repair}
        return tuple(f"{name} {report.summary()}" for name, report in reports.items() if report)

    @property
    def options(self) -> dict[str, Any]:
        """What was asked of the order, tasks by name, in plain JSON values."""
        return {
            "weights": (self.unit * self.weights).tolist() if self.weighted else None,
            "before": [[self.names[a], self.names[b]] for a, b in self.before],
            "first": None if self.first is None else self.names[self.first],
            "last": None if self.last is None else self.names[self.last],
            "learned": [self.names[task] for task in self.learned],
        }

    def problem(self, extra: Sequence[int] = ()) -> Problem:
        """The open problem; `extra` adds further visits of tasks."""
        tasks = np.concatenate([open_tasks(self.names, self.learned), np.array(extra, np.int64)])
        precedes = precedence(tasks, self.names, self.before, self.first, self.last, self.learned)
        return open_problem(self.similarity, self.output, self.weights, self.learned, tasks, precedes)


def pose(
    similarity: ArrayLike,
    *,
    output: ArrayLike | None,
    weights: ArrayLike | None,
    names: Sequence[str] | None,
    before: Iterable[tuple[TaskName, TaskName]],
    first: TaskName | None,
    last: TaskName | None,
    learned: Iterable[TaskName],
    seed: int,
    repair: bool,
) -> Question:
    """Check everything that solve and compare share."""
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
    task_names = checks.task_names(names, len(given))
    importance = checks.task_weights(weights, len(given))
    return Question(
        given=given,
        similarity=repaired,
        output=checks.output_similarity(output, len(given)),
        weights=importance / importance.max(),
        unit=float(importance.max()),
        weighted=weights is not None,
        names=task_names,
        learned=learned_tasks(task_names, learned),
        before=tuple(task_pairs(before, task_names)),
        first=None if first is None else task_index(first, task_names, "first"),
        last=None if last is None else task_index(last, task_names, "last"),
        seed=checks.seed_number(seed),
        repair=_if_moved(report),
        output_repair=_if_moved(output_report),
    )


def _if_moved(report: Repair | None) -> Repair | None:
    """The report, unless the change was mere rounding."""
    return report if report is not None and report.largest_change > checks.SYMMETRY_TOLERANCE else None
