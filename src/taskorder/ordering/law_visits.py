"""A budget of visits under the law: which tasks to learn more than once, and when.

A further visit fades what was known of the other tasks, so it may hurt: any number of extra visits up to the budget is
considered, and one that adds next to nothing is left out. With few choices every one is solved; with many the extra
visits are added one by one where they help most.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import numpy as np

from taskorder.checks import Ints
from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import Proof
from taskorder.ordering.law_problem import LawProblem
from taskorder.ordering.law_search import best_by_law
from taskorder.ordering.local_moves import descended, insertion_values, position_range
from taskorder.ordering.solver_input import SolverInput

WORTH_A_VISIT = 1e-3
"""What a further visit must add to the score, or take from the error where no task weighs more than 1: a visit costs a
training."""
MAX_SOLVED = 300
"""Most choices of extra visits that are tried one by one."""


def best_visits(inputs: SolverInput, goal: int, clock: Clock) -> tuple[Proof, Ints, tuple[str, ...]]:
    """The best (goal 1) or worst (-1) sequence within the visits: the proof, the tasks in visiting order, and notes."""
    constraints = inputs.constraints
    required = constraints.required_repeats
    free = constraints.num_repeats - len(required)
    if not constraints.num_repeats:
        problem = inputs.law_problem()
        proof = best_by_law(problem, goal, seed=inputs.seed, clock=clock)
        return proof, problem.tasks[proof.order], ()
    choices = math.comb(len(constraints.names) + free, free)  # of at most `free` extra visits
    proof, tasks = (_try_all if choices <= MAX_SOLVED else _add)(inputs, free, goal, clock)
    repeated = sorted({constraints.names[t] for t in tasks if (tasks == t).sum() > 1 or t in constraints.learned})
    note = f"visited again: {', '.join(repeated)}" if repeated else "no task is visited again"
    if len(tasks) < (constraints.visits or 0):
        used, least = f"{len(tasks)} of the {constraints.visits} visits are used", f"{WORTH_A_VISIT * inputs.unit:g}"
        small = f"a further one adds less than {least}"
        note += f"; {used}: {f'none that adds {least} was found in time' if clock.over() else small}"
    return proof, tasks, (note,)


def _try_all(inputs: SolverInput, free: int, goal: int, clock: Clock) -> tuple[Proof, Ints]:
    """Every choice of up to `free` extra visits, each solved; the bound is the smallest of all."""
    required = inputs.constraints.required_repeats
    best, tasks, bound, nodes = math.inf, np.arange(0), math.inf, 0
    used = 0
    for extra in range(free + 1):
        for choice in combinations_with_replacement(range(len(inputs.constraints.names)), extra):
            problem = inputs.law_problem([*required, *choice])
            proof = best_by_law(problem, goal, seed=inputs.seed, clock=clock)
            bound, nodes = min(bound, proof.bound), nodes + proof.nodes
            if proof.error < best - WORTH_A_VISIT * (extra - used) - 1e-12 * max(1.0, abs(best)) or not len(tasks):
                best, tasks, used = proof.error, problem.tasks[proof.order], extra
            if clock.report(best, -math.inf):
                return Proof(np.arange(len(tasks)), best, -math.inf, nodes), tasks
    return Proof(np.arange(len(tasks)), best, min(bound, best), nodes), tasks


def _add(inputs: SolverInput, free: int, goal: int, clock: Clock) -> tuple[Proof, Ints]:
    """Add the further visit that helps most, at its best position, while one helps."""
    repeats = list(inputs.constraints.required_repeats)
    problem = inputs.law_problem(repeats)
    cost_sign = goal * problem.sign
    proof = best_by_law(problem, goal, seed=inputs.seed, clock=clock.share(0.4))
    order, cost = proof.order, proof.error
    for _ in range(free):
        trials: list[tuple[float, int, Ints, LawProblem]] = []
        for task in range(len(inputs.constraints.names)):
            if clock.report(cost, -math.inf):
                break
            longer = inputs.law_problem([*repeats, task])
            visit = longer.size - 1  # of one task the last copy comes last
            low, high = position_range(longer, order, visit)
            costs = cost_sign * insertion_values(longer, order, visit, low, high, clock)
            at = int(costs.argmin())
            trials.append((float(costs[at]), task, np.insert(order, low + at, visit), longer))
        if not trials or min(trials, key=lambda trial: trial[0])[0] >= cost - WORTH_A_VISIT:
            break
        _, task, order, problem = min(trials, key=lambda trial: trial[0])
        repeats.append(task)
        order = descended(problem, order, cost_sign, clock)
        cost = cost_sign * problem.value(order)
    return Proof(np.arange(len(order)), cost, -math.inf, proof.nodes), problem.tasks[order]
