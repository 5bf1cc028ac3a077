"""What a plan by the law says besides its order."""

from __future__ import annotations

import numpy as np

from taskorder.checks import Ints
from taskorder.ordering.law_search import free_beginning
from taskorder.ordering.solver_input import SolverInput

SCORE_TIE = 1e-3
"""What a score may change by, where a plan says that positions do not matter."""
OVERSHOOT = 0.5
"""From this retention on the score may pay for knowledge above 1."""


def law_notes(inputs: SolverInput, rule: str, order: Ints) -> list[str]:
    """What to know about an order under the law: an assumed retention, positions that do not matter, overshoot."""
    law, notes = inputs.law, []
    if law is None:
        return []
    if (inputs.options or {}).get("retention") is None:
        notes.append(
            f"retention {law.retention[0]:g} is assumed, which is usual for plain networks: measure that of your "
            "learner with plan, or give `retention`"
        )
    if law.objective == "score" and rule == "optimal" and not inputs.constraints.num_repeats:
        problem = inputs.law_problem()
        position = {int(task): visit for visit, task in enumerate(problem.tasks)}
        free = free_beginning(problem, np.array([position[int(task)] for task in order]), SCORE_TIE)
        if free > 1:
            allowed = " that is allowed" if problem.precedes.any() or problem.together is not None else ""
            notes.append(
                f"the first {free} of {problem.size} tasks may come in any order{allowed}: the score changes by less "
                f"than {SCORE_TIE:g}"
            )
    if law.objective == "score" and float(law.retention.max()) > OVERSHOOT:
        notes.append(
            f"above a retention of {OVERSHOOT:g} the score may count knowledge above 1 as a gain; compare with "
            "objective='error'"
        )
    return notes
