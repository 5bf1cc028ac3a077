"""A budget of visits: which tasks to learn more than once, and when.

A further visit of a task is one more open visit of the same problem (similarity 1 to the first). For a given choice of
extra visits the solver proves the best sequence as it does for single visits, so with few choices every one is tried;
with many the extra visits are chosen one by one where they help most, and then exchanged while that helps.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.machine import one_blas_thread
from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import Proof, tolerance
from taskorder.ordering.optimum import minimize
from taskorder.ordering.problem import Problem
from taskorder.ordering.question import Question
from taskorder.theory.closed_form import output_factor

MAX_CHOICES = 300
"""Most choices of extra visits that are tried one by one."""
MAX_VISITS = 3000
"""Largest budget."""
MAX_TRIED = 14
"""Most visits for which every choice is tried."""


def extra_visits(visits: int | None, question: Question) -> int:
    """How many visits the budget allows beyond one for each open task."""
    if visits is None:
        return 0
    try:
        budget = operator.index(visits)
    except TypeError:
        budget = -1
    if budget < question.num_open:
        raise ValueError(f"`visits` must be at least {question.num_open}, one for each open task, got {visits!r}.")
    if budget > MAX_VISITS:
        raise ValueError(f"`visits` must be at most {MAX_VISITS}, got {visits!r}.")
    return budget - question.num_open


def minimize_visits(
    question: Question, visits: int | None, sign: int, clock: Clock
) -> tuple[Proof, Ints, tuple[str, ...]]:
    """Minimize sign * error within the budget: the proof, the tasks in visiting order, and notes."""
    extra = extra_visits(visits, question)
    if extra == 0:
        problem = _posed(question, (), sign)
        proof = minimize(problem, seed=question.seed, clock=clock)
        return proof, problem.tasks[proof.order], ()
    needed = needed_visits(question)
    choices = math.comb(len(question.names) + extra - len(needed) - 1, extra - len(needed))
    if choices <= MAX_CHOICES and question.num_open + extra <= MAX_TRIED:
        proof, tasks = _try_all(question, needed, extra, sign, clock)
    else:
        proof, tasks = _exchange(question, needed, extra, sign, clock)
    useful = tasks[np.append(True, tasks[1:] != tasks[:-1])]  # an immediate repeat changes nothing
    repeated = sorted({question.names[t] for t in useful if (useful == t).sum() > 1 or t in question.learned})
    note = f"visited again: {', '.join(repeated)}" if repeated else "no task is visited again"
    if len(useful) < len(tasks):
        effect = "help" if sign > 0 else "hurt"
        found = f"no further visit can {effect}" if proof.complete else f"no further visit was found to {effect}"
        note += f"; {len(useful)} of the {question.num_open + extra} visits are used, {found}"
    return proof, useful, (note,)


def _posed(question: Question, extra: tuple[int, ...], sign: int) -> Problem:
    problem = question.problem(extra)
    return problem if sign > 0 else problem.negated()


def needed_visits(question: Question) -> tuple[int, ...]:
    """The repeat without which further visits cannot meet the constraints: a task that is first or early, and last."""
    try:
        question.problem()
        if question.last is None or question.first != question.last:
            return ()
    except ValueError:
        if question.last is None:
            raise
    question.problem((question.last,))
    return (question.last,)


def _try_all(question: Question, needed: tuple[int, ...], extra: int, sign: int, clock: Clock) -> tuple[Proof, Ints]:
    """Every choice of extra visits, each solved; the bound is the smallest of all."""
    best: tuple[float, Ints] = (math.inf, np.zeros(0, np.int64))
    bound, nodes = math.inf, 0
    for choice in combinations_with_replacement(range(len(question.names)), extra - len(needed)):
        problem = _posed(question, needed + choice, sign)
        proof = minimize(problem, seed=question.seed, clock=clock)
        bound, nodes = min(bound, proof.bound), nodes + proof.nodes
        if proof.error < best[0] - 1e-12 * abs(best[0]) or not len(best[1]):
            best = proof.error, problem.tasks[proof.order]
    error, tasks = best
    if bound >= error - tolerance(_posed(question, needed, sign), error):
        bound = error  # choices that tie differ by rounding; no better one counts as better
    return Proof(np.arange(len(tasks)), error, min(bound, error), nodes), tasks


def _exchange(question: Question, needed: tuple[int, ...], extra: int, sign: int, clock: Clock) -> tuple[Proof, Ints]:
    """Add the best further visit at its best place, `extra` times; then re-order, drop and re-add while that helps."""
    base = _posed(question, needed, sign)
    proof = minimize(base, seed=question.seed, clock=clock.share(0.4))
    sequence, error = base.tasks[proof.order], proof.error
    for _ in range(extra - len(needed)):
        if clock.report(error, -math.inf):
            break
        sequence, error = _insert_best(question, sequence, sign)
    improved = True
    while improved and not clock.report(error, -math.inf):
        improved = False
        for trial, value in _neighbors(question, sequence, sign, clock):
            if value < error - 1e-9 * abs(error):
                sequence, error, improved = trial, value, True
                break
    # Below the error of a longer sequence nothing is known but that errors are sums of squares.
    return Proof(np.arange(len(sequence)), error, 0.0 if sign > 0 else -math.inf, 0), sequence


def _neighbors(question: Question, sequence: Ints, sign: int, clock: Clock) -> Iterator[tuple[Ints, float]]:
    """One visit dropped and the best one added; after all of these, the same visits in the best order found."""
    from taskorder.ordering.search import search

    for place in _droppable(question, sequence):
        if clock.left <= 0:
            return
        yield _insert_best(question, np.delete(sequence, place), sign)
    rest = sequence.tolist()
    for task in range(len(question.names)):
        if task not in question.learned:
            rest.remove(task)
    problem = _posed(question, tuple(rest), sign)
    with one_blas_thread():
        order = search(problem, seed=question.seed, clock=clock)
    yield problem.tasks[order], problem.error(order)


def _insert_best(question: Question, sequence: Ints, sign: int) -> tuple[Ints, float]:
    """The sequence with one more visit, of whichever allowed task at whichever allowed place helps most."""
    errors = sign * insertion_errors(question, sequence)
    if question.first is not None:
        errors[0] = np.inf
    if question.last is not None:
        errors[-1] = np.inf
    met = _met(question, sequence)
    for a, b in question.before:
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
        if (met < len(rest)).all() and all(met[a] <= met[b] for a, b in question.before):
            places.append(place)
    return places
