"""A budget of visits: which tasks to learn more than once, and when.

A further visit of a task is one more open visit of the same problem (similarity 1 to the first). For a given choice of
extra visits the solver proves the best sequence as it does for single visits, so with few choices every one is tried;
with many the extra visits are chosen one by one where they help most, and then exchanged while that helps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.machine import one_blas_thread
from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import Proof, tolerance
from taskorder.ordering.many_rows import after_visits
from taskorder.ordering.optimum import minimize
from taskorder.ordering.problem import Problem
from taskorder.ordering.solver_input import SolverInput

MAX_CHOICES = 300
"""Most choices of extra visits that are tried one by one."""
MAX_TRIED = 14
"""Most visits for which every choice is tried."""


def minimize_visits(inputs: SolverInput, sign: int, clock: Clock) -> tuple[Proof, Ints, tuple[str, ...]]:
    """Minimize sign * error within the visits: the proof, the tasks in visiting order, and notes."""
    constraints = inputs.constraints
    repeats = constraints.num_repeats
    if repeats == 0:
        problem = _signed_problem(inputs, (), sign)
        proof = minimize(problem, seed=inputs.seed, clock=clock)
        return proof, problem.tasks[proof.order], ()
    free = repeats - len(constraints.required_repeats)
    num_choices = math.comb(len(constraints.names) + free - 1, free)
    every = num_choices <= MAX_CHOICES and constraints.num_open + repeats <= MAX_TRIED
    proof, tasks = (_try_all if every else _exchange)(inputs, free, sign, clock)
    useful = tasks[np.append(True, tasks[1:] != tasks[:-1])]  # an immediate repeat changes nothing
    repeated = sorted({constraints.names[t] for t in useful if (useful == t).sum() > 1 or t in constraints.learned})
    note = f"visited again: {', '.join(repeated)}" if repeated else "no task is visited again"
    if len(useful) < len(tasks):
        effect = "help" if sign > 0 else "hurt"
        reason = f"no further visit can {effect}" if proof.complete else f"no further visit was found to {effect}"
        note += f"; {len(useful)} of the {constraints.visits} visits are used, {reason}"
    return proof, useful, (note,)


def _signed_problem(inputs: SolverInput, repeats: tuple[int, ...], sign: int) -> Problem:
    problem = inputs.problem(repeats)
    return problem if sign > 0 else problem.negated()


def _try_all(inputs: SolverInput, free: int, sign: int, clock: Clock) -> tuple[Proof, Ints]:
    """Every choice of extra visits, each solved; the bound is the smallest of all."""
    required = inputs.constraints.required_repeats
    best: tuple[float, Ints] = (math.inf, np.zeros(0, np.int64))
    bound, nodes = math.inf, 0
    for choice in combinations_with_replacement(range(len(inputs.constraints.names)), free):
        problem = _signed_problem(inputs, required + choice, sign)
        proof = minimize(problem, seed=inputs.seed, clock=clock)
        bound, nodes = min(bound, proof.bound), nodes + proof.nodes
        if proof.error < best[0] - 1e-12 * abs(best[0]) or not len(best[1]):
            best = proof.error, problem.tasks[proof.order]
        if clock.over():
            bound = _least(sign)
            break
    error, tasks = best
    if bound >= error - tolerance(_signed_problem(inputs, required, sign), error):
        bound = error  # choices that tie differ by rounding; no better one counts as better
    return Proof(np.arange(len(tasks)), error, min(bound, error), nodes), tasks


def _exchange(inputs: SolverInput, free: int, sign: int, clock: Clock) -> tuple[Proof, Ints]:
    """Add the best further visit at its best position, `free` times; then drop, re-add and re-order while it helps."""
    base = _signed_problem(inputs, inputs.constraints.required_repeats, sign)
    proof = minimize(base, seed=inputs.seed, clock=clock.share(0.4))
    sequence, error = base.tasks[proof.order], proof.error
    for _ in range(free):
        if clock.report(error, -math.inf):
            break
        longer, value = _insert_best(inputs, sequence, sign, clock)
        if value == math.inf:
            break
        sequence, error = longer, value
    improved = True
    while improved and not clock.report(error, -math.inf):
        improved = False
        for trial, value in _neighbors(inputs, sequence, sign, clock):
            if value < error - 1e-9 * abs(error):
                sequence, error, improved = trial, value, True
                break
    return Proof(np.arange(len(sequence)), error, _least(sign), 0), sequence


def _least(sign: int) -> float:
    """What is known of a longer sequence without a search: errors are sums of squares."""
    return 0.0 if sign > 0 else -math.inf


def _neighbors(inputs: SolverInput, sequence: Ints, sign: int, clock: Clock) -> Iterator[tuple[Ints, float]]:
    """One visit dropped and the best one added; after all of these, the same visits in the best order found."""
    from taskorder.ordering.search import search

    for position in _droppable(inputs, sequence):
        if clock.left <= 0:
            return
        yield _insert_best(inputs, np.delete(sequence, position), sign, clock)
    rest = sequence.tolist()
    for task in range(len(inputs.constraints.names)):
        if task not in inputs.constraints.learned:
            rest.remove(task)
    problem = _signed_problem(inputs, tuple(rest), sign)
    import scipy.linalg  # noqa: F401  (its BLAS is limited once it is loaded)

    with one_blas_thread():
        order = search(problem, seed=inputs.seed, clock=clock)
    yield problem.tasks[order], problem.error(order)


def _insert_best(inputs: SolverInput, sequence: Ints, sign: int, clock: Clock) -> tuple[Ints, float]:
    """The sequence with one more visit, of whichever allowed task at whichever allowed position helps most; an infinite
    error where there was no time to find one."""
    errors = insertion_errors(inputs, sequence, clock)
    errors[np.isfinite(errors)] *= sign
    if inputs.constraints.first is not None:
        errors[0] = np.inf
    if inputs.constraints.last is not None:
        errors[-1] = np.inf
    met = _met(inputs, sequence)
    for a, b in inputs.constraints.before:
        errors[: met[a] + 1, b] = np.inf  # b must not be met before a
    position, task = np.unravel_index(errors.argmin(), errors.shape)
    return np.insert(sequence, position, task), float(errors[position, task])


def insertion_errors(inputs: SolverInput, sequence: Ints, clock: Clock | None = None) -> Floats:
    """(n + 1, P) error of `sequence` with one more visit: row p, column t for a visit of task t at position p.

    With S the rows of C carried through the visits from position p on, a visit of t there leaves R - r_t S_t
    instead of R: all P (n + 1) errors cost O(n P^2). The last rows come first; where the time is over before, the
    others are infinite.
    """
    C, w, P = inputs.table.similarity, inputs.weights, len(inputs.constraints.names)
    errors = np.full((len(sequence) + 1, P), np.inf)
    stride = max(1, math.isqrt(len(sequence)))  # of the states at all positions few fit into memory
    kept = [after_visits(inputs.table.output_rows, C, np.array(inputs.constraints.learned, np.int64))]
    for first in range(0, len(sequence), stride):
        if clock is not None and clock.over():
            return errors
        kept.append(after_visits(kept[-1], C, sequence[first : first + stride]))
    final, S, states, begun = kept[-1], C.copy(), [kept[-1]], len(sequence)
    for position in range(len(sequence), -1, -1):
        if clock is not None and clock.over():
            break
        if position < len(sequence):
            j = sequence[position]
            S = S - np.outer(C[:, j], S[j])
        if position < begun:
            begun = position // stride * stride
            states = [kept[begun // stride]]
            for j in sequence[begun:position]:
                states.append(after_visits(states[-1], C, np.array([j])))
        r = states[position - begun]
        errors[position] = (
            (final**2 @ w).sum() - 2 * (r * ((final * w) @ S.T)).sum(axis=0) + (r**2).sum(axis=0) * (S**2 @ w)
        )
    return errors


def _met(inputs: SolverInput, sequence: Ints) -> Ints:
    """(P,) the position where each task is first visited; -1 for a learned task, n for one that is not visited."""
    met = np.full(len(inputs.constraints.names), len(sequence))
    met[sequence[::-1]] = np.arange(len(sequence))[::-1]
    met[list(inputs.constraints.learned)] = -1
    return met


def _droppable(inputs: SolverInput, sequence: Ints) -> list[int]:
    """Positions whose visit can go: every open task is still met, in an allowed order, and the ends stay."""
    inner = range(inputs.constraints.first is not None, len(sequence) - (inputs.constraints.last is not None))
    positions = []
    for position in inner:
        rest = np.delete(sequence, position)
        met = _met(inputs, rest)
        if (met < len(rest)).all() and all(met[a] <= met[b] for a, b in inputs.constraints.before):
            positions.append(position)
    return positions
