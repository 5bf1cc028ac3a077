"""A good order under the law of retention, soon: for resamples and side questions, of which there are many.

Narrow beams from the end (law_search.py), then moves of single visits. The search ends by step counts alone, so its
answers do not depend on how fast or how busy the machine is.
"""

from __future__ import annotations

import math

from taskorder.checks import Ints
from taskorder.machine import one_blas_thread
from taskorder.ordering.clock import Clock, Steps
from taskorder.ordering.law_problem import LawProblem
from taskorder.ordering.law_search import BEAM_WIDTHS, NUMBERS, Peel, as_score, best_by_law
from taskorder.ordering.local_moves import descended
from taskorder.ordering.optimum import listed_orders
from taskorder.ordering.rules import greedy_by_law

QUICK_WIDTHS = BEAM_WIDTHS[:3]
PRODUCTS = 30_000_000
"""About how many multiplications the moves may take: a fraction of a second up to a hundred tasks."""


@one_blas_thread()
def good_by_law(problem: LawProblem, goal: int) -> Ints:
    """An order with much (goal 1) or little (-1) score, or little (1) or much (-1) error, as positions."""
    endless = Clock(math.inf)
    if listed_orders(problem) is not None:
        return best_by_law(problem, goal, seed=0, clock=endless).order
    peel = Peel.of(problem if problem.objective == "score" else as_score(problem), goal)
    found, value = [greedy_by_law(problem)], -math.inf
    for width in QUICK_WIDTHS:
        ending = peel.beam(min(width, max(8, NUMBERS // problem.size**2)), value, endless)
        if ending.value > value:
            found.append(ending.order)
            value = ending.value
        if ending.left_out <= value:
            break
    cost = goal * problem.sign
    best = min(found, key=lambda order: cost * problem.value(order))
    return descended(problem, best, cost, Steps(PRODUCTS // (problem.size**2 * len(problem.start))))
