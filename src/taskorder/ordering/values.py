"""What an order of tasks is worth, whichever form the problem has."""

from __future__ import annotations

import numpy as np

from taskorder.checks import Ints
from taskorder.ordering.law_problem import LawProblem
from taskorder.ordering.problem import Problem


def order_value(problem: Problem | LawProblem, order: Ints) -> float:
    """The value of an order of task indices."""
    positions = {int(task): position for position, task in enumerate(problem.tasks)}
    visits = np.array([positions[int(task)] for task in order], np.int64)
    return max(0.0, problem.error(visits)) if isinstance(problem, Problem) else problem.value(visits)
