"""`auto`: which rule to trust, from what has been measured (docs/choose.md has the numbers and the commands)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from taskorder.checks import Floats
from taskorder.ordering.solve import solve
from taskorder.tables.loss_ratios import clip_similarity
from taskorder.theory.nearest import nearest_correlation

REHEARSAL = "rehearsal"
AUTO = "auto"
FEW = 7
"""Up to so many tasks periphery-to-core beats a random order in the closed form whatever the structure (`taskorder
reproduce rules-at-scale`: on chains it turns worse at ten), and rehearsal gets far enough to beat both."""
SEARCH_SECONDS = 0.3
"""For a resample or an alternative; the plan itself gets the time that `solve` takes by default."""
RULES = ("periphery-to-core", "max-path", "optimal", "first-order", "greedy")
"""What a plan is compared with."""


def similarity_rule(num_tasks: int) -> tuple[str, str]:
    """The rule to order by similarity alone, and why.

    >>> similarity_rule(5)[0], similarity_rule(30)[0]
    ('periphery-to-core', 'optimal')
    """
    if num_tasks > FEW:
        return "optimal", f"beyond {FEW} tasks the simple rules fall behind a random order and the least error does not"
    return "periphery-to-core", "with few tasks it was the best of the rules on the similarity of a small pilot"


def auto_rule(num_tasks: int) -> tuple[str, str]:
    """The rule that `auto` stands for, and why.

    The budget decides how far a rehearsal goes, not whether there is one: tasks alone, which the similarity needs
    anyway, are enough to beat the rules. Noise decides the verdict, not the rule. The mean similarity decides nothing:
    where it seemed to (max-path from 0.1 on, on task sets 0 to 49), new task sets did not agree.

    >>> auto_rule(5)[0], auto_rule(30)[0]
    ('rehearsal', 'optimal')
    """
    if num_tasks <= FEW:
        return REHEARSAL, "with few tasks it beat every rule on the similarity alone"
    return similarity_rule(num_tasks)


def rule_order(similarity: Floats, rule: str, **asked: Any) -> tuple[int, ...]:
    """The order of a rule on an estimate of the similarity, which may fall below -1. asked: options of `solve`."""
    return solve(clip_similarity(similarity)[0], rule, time_limit=SEARCH_SECONDS, **asked).order


def predicted_errors(
    similarity: Floats,
    orders: Iterable[Sequence[int]],
    learned: Sequence[int] = (),
    weights: Floats | None = None,
) -> Floats:
    """(K,) closed-form final errors of orders of equal length, on the nearest correlation matrix.

    >>> predicted_errors(np.array([[1.0, 0.5], [0.5, 1.0]]), [(0, 1), (1, 0)])
    array([0.0625, 0.0625])
    """
    C = nearest_correlation(clip_similarity(similarity)[0])[0]
    ways = np.array([(*learned, *order) for order in orders])
    residuals = np.ones((len(ways), len(C)))
    for step in ways.T:
        residuals -= residuals[np.arange(len(ways)), step][:, None] * C[step]
    return np.asarray(residuals**2 @ (np.ones(len(C)) if weights is None else weights))
