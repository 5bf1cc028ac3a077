"""The one place where plans are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from taskorder import checks
from taskorder._version import __version__
from taskorder.ordering.solver_input import SolverInput
from taskorder.records import Plan
from taskorder.theory.closed_form import error_path


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
    """The plan to learn tasks in `order`, with its predicted errors.

    rule: where the order comes from. bound: on the error in units of `inputs.unit`. options: in addition to the rule
    and the constraints. notes: after those on repairs.

    >>> from taskorder.ordering.solver_input import solver_input
    >>> make_plan(solver_input([[1, 0.5], [0.5, 1]]), [1, 0], "by-hand").named_order
    ('B', 'A')
    """
    table, constraints = inputs.table, inputs.constraints
    learned = constraints.learned
    path = error_path(table.similarity, [*learned, *order], table.output)[len(learned) :]
    error = inputs.unit * float(path[-1] @ inputs.weights)
    if proven:
        lower_bound: float | None = error  # the same sum in another order of additions; a proof leaves no gap
    elif bound is None or not np.isfinite(bound):
        lower_bound = None
    else:
        bound *= inputs.unit
        lower_bound = max(bound, error) if rule == "worst" else max(0.0, min(bound, error))
    return Plan(
        order=tuple(int(task) for task in order),
        names=constraints.names,
        error=error,
        task_errors=tuple(path[-1].tolist()),
        error_path=tuple(tuple(row.tolist()) for row in path),
        rule=rule,
        lower_bound=lower_bound,
        proven=proven,
        seconds=seconds,
        options={"rule": rule, **constraints.options, **(options or {})},
        notes=(*table.notes, *notes),
        repair=table.repair,
        similarity_digest=checks.digest(table.given),
        version=__version__,
    )
