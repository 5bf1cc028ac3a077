"""Every rule on one matrix, beside random orders: does the order matter here, and which rule finds it?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from taskorder import checks
from taskorder.checks import Floats
from taskorder.ordering.clock import Clock, Watch
from taskorder.ordering.listing import all_orders
from taskorder.ordering.optimum import LISTED, allowed
from taskorder.ordering.problem import Problem
from taskorder.ordering.question import Question, Task, pose
from taskorder.ordering.sampling import random_orders
from taskorder.ordering.solve import RULES
from taskorder.records import Comparison, RuleScore

STATE = 20_000_000
"""Numbers of state held at once while random orders are evaluated."""


def compare(
    similarity: ArrayLike,
    *,
    output: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    before: Iterable[tuple[Task, Task]] = (),
    first: Task | None = None,
    last: Task | None = None,
    learned: Iterable[Task] = (),
    time_limit: float | None = 10.0,
    seed: int = 0,
    repair: bool = True,
    num_random: int = 1000,
    watch: Watch | None = None,
) -> Comparison:
    """Every rule's error and its rank among random orders, the best, worst and mean, and whether order matters.

    The options mean what they mean in `solve`; a rule that cannot use an output similarity or weights to choose its
    order is still scored under them. Up to 8 open tasks the random statistics come from every allowed order, above from
    `num_random` seeded ones (fewer when P is in the hundreds). The time limit is shared out between the rules.

    >>> from taskorder import chain
    >>> result = compare(chain(5, 0.7))
    >>> result.scores[0].rule, round(result.worst / result.best, 1)
    ('optimal', 13.3)
    """
    if not isinstance(num_random, int) or num_random < 2:
        raise ValueError(f"`num_random` must be an integer of at least 2, got {num_random!r}.")
    question = pose(
        similarity, output=output, weights=weights, names=names, before=before, first=first, last=last,
        learned=learned, seed=seed, repair=repair,
    )  # fmt: skip
    problem = question.problem()
    errors, exact = random_errors(problem, num_random, question.seed)
    limit = checks.seconds_limit(time_limit)
    clock, scores, notes = Clock(limit, watch), [], list(question.notes)
    for rule, find in RULES.items():
        if rule == "random":
            continue  # the random statistics stand for it
        fraction = 0.6 if rule == "optimal" else 0.3
        with clock.without_compilation():
            answer = find(question, None, clock.share(fraction, sign=-1 if rule == "worst" else 1))
        error = _error(question, problem, answer.order)
        scores.append(RuleScore(rule, tuple(answer.order.tolist()), error, _quantile(error, errors), answer.proven))
    if clock.stopped:
        notes.append("stopped by request before every rule was finished")
    scores.sort(key=lambda score: score.error)
    mean, std = float(errors.mean()), float(errors.std(ddof=0 if exact else 1))
    best, worst = min(scores[0].error, float(errors.min())), max(scores[-1].error, float(errors.max()))
    return Comparison(
        names=question.names,
        scores=tuple(scores),
        random_mean=mean,
        random_sem=0.0 if exact else std / math.sqrt(len(errors)),
        random_std=std,
        random_count=len(errors),
        random_exact=exact,
        best=best,
        worst=worst,
        verdict=_verdict(scores, best, mean, worst, len(question.names)),
        notes=tuple(notes),
    )


def random_errors(problem: Problem, num_random: int, seed: int) -> tuple[Floats, bool]:
    """Errors of every allowed order while that is cheap, else of seeded random ones; and which of the two it was."""
    n = problem.size
    if n <= LISTED:
        return problem.errors(allowed(all_orders(n), problem.precedes)), True
    size = problem.r.size
    orders = random_orders(
        problem.precedes, max(50, min(num_random, 400_000_000 // (size * n))), np.random.default_rng(seed)
    )
    step = max(1, STATE // size)
    return np.concatenate([problem.errors(orders[i : i + step]) for i in range(0, len(orders), step)]), False


def _error(question: Question, problem: Problem, tasks: np.ndarray) -> float:
    position = {int(task): place for place, task in enumerate(problem.tasks)}
    return problem.error(np.array([position[int(task)] for task in tasks], np.int64))


def _quantile(error: float, errors: Floats) -> float:
    """Share of random orders with a smaller error; ties count half."""
    tie = 1e-9 * abs(error) + 1e-15
    return float(((errors < error - tie).mean() + (errors <= error + tie).mean()) / 2)


def _verdict(scores: list[RuleScore], best: float, mean: float, worst: float, num_tasks: int) -> str:
    """A plain sentence on whether order matters here."""
    if worst - best <= 1e-9 * num_tasks:
        return "Order does not matter here: every order ends with the same error."
    gain = (mean - best) / mean
    size = f"the best order ends with {100 * gain:.0f} % less error than a random one ({best:.4g} against {mean:.4g})"
    if gain < 0.05 or mean - best < 0.001 * num_tasks:
        return f"Order hardly matters here: {size}."
    usable = [score for score in scores if score.rule not in ("optimal", "worst")]
    rule = min(usable, key=lambda score: score.error)
    share = (mean - rule.error) / (mean - best)
    help_ = (
        f"{rule.rule} comes closest and earns {100 * share:.0f} % of that"
        if share > 0
        else "no simple rule beats random"
    )
    return f"Order matters here: {size}; {help_}."
