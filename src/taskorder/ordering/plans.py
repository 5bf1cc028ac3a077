"""The one place where plans are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from taskorder import checks
from taskorder._version import __version__
from taskorder.checks import Floats
from taskorder.ordering.many_rows import COMPILED, task_errors_by_rows
from taskorder.ordering.solver_input import SolverInput
from taskorder.records import Plan
from taskorder.theory.closed_form import error_path
from taskorder.theory.law import knowledge_path

BY_HAND = "by-hand"
"""What a plan calls an order that no rule made."""


def make_plan(
    inputs: SolverInput,
    order: Sequence[int],
    rule: str,
    *,
    bound: float | None = None,
    proven: bool = False,
    seconds: float = 0.0,
    options: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
) -> Plan:
    """The plan to learn tasks in `order`, with what will be known after it.

    rule: where the order comes from. bound: on the value in units of `inputs.unit`. options: in addition to the rule
    and the constraints. notes: after those on repairs.

    >>> from taskorder.ordering.solver_input import solver_input
    >>> make_plan(solver_input([[1, 0.5], [0.5, 1]]), [1, 0], "by-hand").named_order
    ('B', 'A')
    """
    table, constraints = inputs.table, inputs.constraints
    importance = constraints.importance
    knowledge, errors = task_paths(inputs, order)
    error = float(errors[-1] @ importance)
    score = None if knowledge is None else float(knowledge[-1] @ importance / importance.sum())
    value = error if inputs.objective == "error" or score is None else score
    if proven:
        bound = value  # the same sum in another order of additions; a proof leaves no gap
    elif bound is not None:
        bound = _sensible(bound * inputs.unit, value, above=(rule == "worst") != (inputs.objective == "score"))
        bound = max(bound, 0.0) if bound is not None and inputs.objective == "error" else bound
    retention = np.ones(len(constraints.names)) if inputs.law is None else inputs.law.retention
    same = bool((retention == retention[0]).all())
    by_score = inputs.objective == "score"
    return Plan(
        order=tuple(int(task) for task in order),
        names=constraints.names,
        error=error,
        task_errors=tuple(errors[-1].tolist()),
        error_path=() if by_score else _rows(errors),
        rule=rule,
        objective=inputs.objective,
        score=score,
        knowledge=() if knowledge is None else tuple(knowledge[-1].tolist()),
        knowledge_path=_rows(knowledge) if by_score and knowledge is not None else (),
        retention=inputs.retention,
        task_retention=() if same else tuple(retention.tolist()),
        table="similarity" if inputs.law is None else inputs.law.made,
        bound=bound,
        proven=proven,
        seconds=seconds,
        options={"rule": rule, **constraints.options, **(inputs.options or {}), **(options or {})},
        notes=(*table.notes, *notes),
        repair=table.repair,
        similarity_digest=checks.digest(table.given),
        version=__version__,
    )


def task_paths(inputs: SolverInput, order: Sequence[int]) -> tuple[Floats | None, Floats]:
    """(n + 1, P) knowledge (None with an output similarity) and error of every task before the first step and after
    each one."""
    table, learned = inputs.table, inputs.constraints.learned
    visits, skipped = [*learned, *order], len(learned)
    if inputs.law is not None:
        law = inputs.law
        knowledge = knowledge_path(law.knowledge, visits, law.retention, start=law.start)[skipped:]
        return knowledge, (1 - knowledge) ** 2
    if table.output is None:
        errors = error_path(table.similarity, visits)[skipped:]
        return knowledge_path(table.similarity, visits, 1.0)[skipped:], errors
    if table.output_rows.size * len(visits) > COMPILED:
        return None, task_errors_by_rows(table.similarity, table.output_rows, np.array(visits))[skipped:]
    return None, error_path(table.similarity, visits, table.output)[skipped:]


def _sensible(bound: float, value: float, *, above: bool) -> float | None:
    """The bound on its side of the value; None where it says nothing."""
    if not np.isfinite(bound) or abs(bound) > 1e3 * max(1.0, abs(value)):
        return None
    return max(bound, value) if above else min(bound, value)


def _rows(path: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row.tolist()) for row in path)
