"""A budget of visits: which tasks to learn more than once, and when.

A further visit of a task is one more open visit of the same problem (similarity 1 to the first). For a given choice of
extra visits the solver proves the best sequence as it does for single visits, so with few choices every one is tried;
with many the extra visits are chosen one by one where they help most, and then exchanged while that helps.
"""

from __future__ import annotations

import math
import operator
from itertools import combinations_with_replacement

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import Proof
from taskorder.ordering.optimum import minimize
from taskorder.ordering.problem import Problem
from taskorder.ordering.question import Question
from taskorder.theory.error import output_factor

MAX_CHOICES = 300
"""Most choices of extra visits that are tried one by one."""
MAX_TRIED = 14
"""Most visits for which every choice is tried."""


def extra_visits(visits: int | None, question: Question) -> int:
    """How many visits the budget allows beyond one for each open task."""
    single = len(question.names) - len(question.learned)
    if visits is None:
        return 0
    try:
        budget = operator.index(visits)
    except TypeError:
        budget = -1
    if budget < single:
        raise ValueError(f"`visits` must be at least {single}, one visit for each open task, got {visits!r}.")
    return budget - single


def minimize_visits(
    question: Question, visits: int | None, sign: int, clock: Clock
) -> tuple[Proof, Ints, tuple[str, ...]]:
    """Minimize sign * error within the budget: the proof, the tasks in visiting order, and notes."""
    extra = extra_visits(visits, question)
    single = len(question.names) - len(question.learned)
    if extra == 0:
        problem = _posed(question, (), sign)
        proof = minimize(problem, seed=question.seed, clock=clock)
        return proof, problem.tasks[proof.order], ()
    choices = math.comb(len(question.names) + extra - 1, extra)
    if choices <= MAX_CHOICES and single + extra <= MAX_TRIED:
        proof, tasks = _try_all(question, extra, sign, clock)
    else:
        proof, tasks = _exchange(question, extra, sign, clock)
    useful = tasks[np.append(True, tasks[1:] != tasks[:-1])]
    repeated = sorted({question.names[t] for t in useful if (useful == t).sum() > 1 or t in question.learned})
    note = f"repeats pay for {', '.join(repeated)}" if repeated else "no repeat pays"
    if len(useful) < len(tasks):
        note += f"; {len(useful)} of the {single + extra} visits are enough"
    return proof, useful, (note,)


def _posed(question: Question, extra: tuple[int, ...], sign: int) -> Problem:
    problem = question.problem(extra)
    return problem if sign > 0 else problem.negated()


def _try_all(question: Question, extra: int, sign: int, clock: Clock) -> tuple[Proof, Ints]:
    """Every choice of extra visits, each solved; the bound is the smallest of all."""
    best: tuple[float, list[int], Proof] | None = None
    bound, nodes = math.inf, 0
    for choice in combinations_with_replacement(range(len(question.names)), extra):
        problem = _posed(question, choice, sign)
        proof = minimize(problem, seed=question.seed, clock=clock)
        bound, nodes = min(bound, proof.bound), nodes + proof.nodes
        tasks = problem.tasks[proof.order].tolist()
        if best is None or proof.error < best[0] - 1e-12 * abs(best[0]):
            best = (proof.error, tasks, proof)
    assert best is not None
    error, tasks, proof = best
    return Proof(proof.order, error, min(bound, error), nodes), np.array(tasks, np.int64)


def _exchange(question: Question, extra: int, sign: int, clock: Clock) -> tuple[Proof, Ints]:
    """Add the best further visit at its best place, `extra` times; then drop and re-add while that helps."""
    base = _posed(question, (), sign)
    proof = minimize(base, seed=question.seed, clock=clock.share(0.4))
    sequence, error = base.tasks[proof.order], proof.error
    for _ in range(extra):
        sequence, error = _insert_best(question, sequence, sign)
    improved = True
    while improved:
        improved = False
        for place in _droppable(question, sequence):
            if clock.report(error, -math.inf):
                break
            trial, value = _insert_best(question, np.delete(sequence, place), sign)
            if value < error - 1e-9 * abs(error):
                sequence, error, improved = trial, value, True
                break
    # Below the error of a longer sequence nothing is known but that errors are sums of squares.
    return Proof(np.arange(len(sequence)), error, 0.0 if sign > 0 else -math.inf, 0), sequence


def _insert_best(question: Question, sequence: Ints, sign: int) -> tuple[Ints, float]:
    """The sequence with one more visit, of whichever allowed task at whichever allowed place helps most."""
    errors = sign * insertion_errors(question, sequence)
    if question.first is not None:
        errors[0] = np.inf
    if question.last is not None:
        errors[-1] = np.inf
    met = _met(question, sequence)
    for a, b in question.pairs():
        errors[: met[a] + 1, b] = np.inf  # b must not be met before a
    place, task = np.unravel_index(errors.argmin(), errors.shape)
    return np.insert(sequence, place, task), float(errors[place, task])


def insertion_errors(question: Question, sequence: Ints) -> Floats:
    """(n + 1, P) error of `sequence` with one more visit: row p, column t for a visit of task t at place p.

    With S the rows of C carried through the visits from place p on, a visit of t there leaves R - r_t S_t instead of R:
    all P (n + 1) errors cost O(n P^2).
    """
    C, w, P = question.similarity, question.weights, len(question.names)
    R = output_factor(question.output, P)
    for j in question.learned:
        R = R - np.outer(R[:, j], C[j])
    states = [R]
    for j in sequence:
        states.append(states[-1] - np.outer(states[-1][:, j], C[j]))
    final, S = states[-1], C.copy()
    errors = np.empty((len(sequence) + 1, P))
    for place in range(len(sequence), -1, -1):
        if place < len(sequence):
            j = sequence[place]
            S = S - np.outer(C[:, j], S[j])
        r = states[place]
        errors[place] = (
            (final**2 @ w).sum() - 2 * (r * ((final * w) @ S.T)).sum(axis=0) + (r**2).sum(axis=0) * (S**2 @ w)
        )
    return errors


def _met(question: Question, sequence: Ints) -> Ints:
    """(P,) the place where each task is first visited; -1 for a learned task, n for one that is not visited."""
    met = np.full(len(question.names), len(sequence))
    met[sequence[::-1]] = np.arange(len(sequence))[::-1]
    met[question.learned] = -1
    return met


def _droppable(question: Question, sequence: Ints) -> list[int]:
    """Places whose visit can go: every open task is still met, in an allowed order, and the ends stay."""
    inner = range(question.first is not None, len(sequence) - (question.last is not None))
    places = []
    for place in inner:
        rest = np.delete(sequence, place)
        met = _met(question, rest)
        if (met < len(rest)).all() and all(met[a] <= met[b] for a, b in question.pairs()):
            places.append(place)
    return places
