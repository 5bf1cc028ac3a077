"""How much of its knowledge a network keeps when it learns the next task, from the states after prefixes of orders.

With M the knowledge after a prefix, m_k that after task k alone, the law says what learning k next leaves of task j:

    M'_j = m_kj + d (M_j - m_kj M_k)

so d is the slope of y = M'_j - m_kj on x = M_j - m_kj M_k over prefixes and tasks j other than k. Noise in x pulls it
down, and m_kj is in both. With a second seed its x is the instrument, sum(x' y) / sum(x' x), which that noise does not
bias; with one seed it is least squares, and the noise stays in. Intervals are over task sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.image_claims import Number, ratio_number
from reproduction.law_results import FULL, Part, Run
from taskorder.checks import Floats
from taskorder.prefixes import Prefix
from taskorder.runs.results import tables_of

KNOWLEDGE, ACCURACY = "knowledge", "accuracy"
"""What a state is counted in: the mean of accuracy and loss, as in a transfer table, or accuracy alone."""


def retention_by_step(part: Part, unit: str = KNOWLEDGE, *, corrected: bool = True) -> dict[int, Number]:
    """By step, from the second task on: the retention when it is learned, with its interval.

    corrected: whether a second seed, where there is one, takes the noise out.
    """
    moments = [step_moments(runs, part.num_classes, unit, corrected) for runs in part.sets]
    steps = sorted(set.intersection(*(set(of_set) for of_set in moments)))
    return {step: ratio_number(*np.array([of_set[step] for of_set in moments]).T) for step in steps}


def retention_over_steps(parts: Sequence[Part], unit: str = KNOWLEDGE) -> Number:
    """One retention for all steps of all task sets."""
    by_set = [step_moments(runs, part.num_classes, unit) for part in parts for runs in part.sets]
    return ratio_number(*np.array([np.sum(list(moments.values()), axis=0) for moments in by_set]).T)


def step_moments(
    runs: tuple[Run, ...], num_classes: int, unit: str = KNOWLEDGE, corrected: bool = True
) -> dict[int, tuple[float, float]]:
    """By step, the sums of x' y and of x' x over prefixes and tasks."""
    by_run = [_changes(run.result, num_classes, unit) for run in runs]
    pairs = [(0, 1), (1, 0)] if corrected and len(by_run) > 1 else [(place, place) for place in range(len(by_run))]
    sums: dict[int, tuple[float, float]] = {}
    for here, there in pairs:
        for prefix, (x, y) in by_run[here].items():
            if prefix in by_run[there]:
                again = by_run[there][prefix][0]
                old = sums.get(len(prefix), (0.0, 0.0))
                sums[len(prefix)] = (old[0] + float(again @ y), old[1] + float(again @ x))
    return dict(sorted(sums.items()))


def _changes(result: Mapping[str, Any], num_classes: int, unit: str) -> dict[Prefix, tuple[Floats, Floats]]:
    """By prefix of two tasks or more, x and y of all tasks but its last."""
    rows, tables = tables_of(result)
    known = known_of(tables, num_classes, unit)
    m = known_of({kind: np.array(table) for kind, table in result["similarities"][FULL].items()}, num_classes, unit)
    changes = {}
    for prefix, row in rows.items():
        if len(prefix) > 1:
            k = prefix[-1]
            before = known[rows[prefix[:-1]]]
            others = np.arange(len(m)) != k
            changes[prefix] = ((before - m[k] * before[k])[others], (known[row] - m[k])[others])
    return changes


def known_of(tables: Mapping[str, Floats], num_classes: int, unit: str = KNOWLEDGE) -> Floats:
    """(rows, P) what is known in each row: 1 is perfect, 0 is chance (`taskorder.tables.knowledge`, for any rows)."""
    guess = 1 / num_classes
    by_accuracy = (tables["accuracy"] - guess) / (1 - guess)
    if unit == ACCURACY:
        return np.asarray(by_accuracy)
    return np.asarray((by_accuracy + 1 - tables["loss"] / tables["chance"]) / 2)
