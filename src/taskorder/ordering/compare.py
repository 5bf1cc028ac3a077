"""`compare`: every rule on one matrix, beside random orders."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from taskorder import checks
from taskorder.checks import Floats
from taskorder.constraints import TaskName
from taskorder.ordering.clock import Clock, Watch
from taskorder.ordering.listing import all_orders
from taskorder.ordering.optimum import MAX_UNCOMPILED, allowed
from taskorder.ordering.problem import Problem
from taskorder.ordering.sampling import UNEVEN, is_uniform, random_orders
from taskorder.ordering.solve import RULES
from taskorder.ordering.solver_input import SolverInput, solver_input
from taskorder.records import Comparison, RuleScore

STATE = 20_000_000
"""Numbers of state held at once while random orders are evaluated."""
STEPS = 400_000_000
"""Multiplications spent on random orders, about a second: fewer orders are drawn when P is in the hundreds."""


def compare(
    similarity: ArrayLike,
    *,
    output: ArrayLike | None = None,
    weights: ArrayLike | Mapping[str, float] | None = None,
    names: Sequence[str] | None = None,
    before: Iterable[tuple[TaskName, TaskName]] = (),
    first: TaskName | None = None,
    last: TaskName | None = None,
    learned: Iterable[TaskName] = (),
    time_limit: float | None = 10.0,
    seed: int = 0,
    repair: bool = True,
    num_random: int = 1000,
    watch: Watch | None = None,
) -> Comparison:
    """Every rule's error and its rank among random orders, the best, worst and mean, and whether order matters.

    A rule that cannot use an output similarity or weights to choose its order is still scored under them.

    Parameters
    ----------
    similarity, output, weights, names, before, first, last, learned, seed, repair, watch
        As in `solve`.
    time_limit
        Seconds for all rules together.
    num_random
        Random orders to compare with, fewer when P is in the hundreds. Up to 8 open tasks the random statistics come
        from every allowed order instead.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from taskorder import chain
    >>> result = compare(chain(5, 0.7))
    >>> result.scores[0].rule, round(result.worst / result.best, 1)
    ('optimal', 13.3)
    """
    count = checks.whole(num_random)
    if count is None or count < 2:
        raise ValueError(f"`num_random` must be an integer of at least 2, got {num_random!r}.")
    inputs = solver_input(
        similarity, output=output, weights=weights, names=names, before=before, first=first, last=last,
        learned=learned, seed=seed, repair=repair,
    )  # fmt: skip
    return compare_input(inputs, count, time_limit, watch)[0]


def compare_input(
    inputs: SolverInput, num_random: int, time_limit: float | None, watch: Watch | None = None
) -> tuple[Comparison, Floats]:
    """`compare` on checked input; also (orders, n + 1) the error after each step of the random orders it rests on."""
    problem = inputs.problem()
    paths, exact = random_paths(problem, num_random, inputs.seed)
    errors = paths[:, -1]
    clock = Clock(checks.seconds_limit(time_limit), watch, unit=inputs.unit)
    notes = [*inputs.table.notes]
    if not exact and not is_uniform(problem.precedes):
        notes.append(UNEVEN)
    if not exact and len(errors) < num_random:
        notes.append(f"{len(errors)} random orders instead of {num_random}: each takes O(P^2) steps")
    positions = {int(task): position for position, task in enumerate(problem.tasks)}
    scores = []
    for rule, choose in RULES.items():
        if rule == "random":
            continue  # the random statistics stand for it
        part = clock.share(0.6 if rule == "optimal" else 0.3, unit=-1.0 if rule == "worst" else 1.0)
        try:
            with clock.without_compilation():
                chosen = choose(inputs, part)
        except ValueError as refusal:
            notes.append(f"{rule} is left out: {refusal}")
            continue
        order = np.array([positions[int(task)] for task in chosen.order], np.int64)
        error = max(0.0, problem.error(order))
        rank, tasks = quantile(error, errors), tuple(chosen.order.tolist())
        complete = chosen.proven or not part.cut
        scores.append(RuleScore(rule, tasks, inputs.unit * error, rank, chosen.proven, complete))
        if rule in ("optimal", "worst") and not chosen.proven:
            notes.append(f"{rule} is the {'best' if rule == 'optimal' else 'worst'} found, not proven")
    cut = [score.rule for score in scores if not score.complete]
    if cut:
        reason = "by request" if clock.stopped else "at the time limit"
        notes.append(f"stopped {reason} before these were finished: {', '.join(cut)}")
    scores.sort(key=lambda score: score.error)
    paths = inputs.unit * np.maximum(paths, 0.0)
    errors = paths[:, -1]
    mean, std = float(errors.mean()), float(errors.std(ddof=0 if exact else 1))
    best, worst = min(scores[0].error, float(errors.min())), max(scores[-1].error, float(errors.max()))
    comparison = Comparison(
        names=inputs.constraints.names,
        scores=tuple(scores),
        random_mean=mean,
        random_sem=0.0 if exact else std / math.sqrt(len(errors)),
        random_std=std,
        random_count=len(errors),
        random_exact=exact,
        best=best,
        worst=worst,
        verdict=_verdict(scores, best, mean, worst, inputs.unit * float(inputs.weights.sum())),
        notes=tuple(notes),
    )
    return comparison, paths


def random_paths(problem: Problem, num_random: int, seed: int) -> tuple[Floats, bool]:
    """The error after each step of every allowed order while that is cheap, else of seeded random ones; and which."""
    n, size = problem.size, problem.r.size
    exact = n <= MAX_UNCOMPILED
    if exact:
        orders = allowed(all_orders(n), problem.precedes)
    else:
        count = min(num_random, max(50, STEPS // (size * n)))
        orders = random_orders(problem.precedes, count, np.random.default_rng(seed))
    step = max(1, STATE // max(1, size))  # as many at a time as their states have room for
    return np.concatenate([problem.error_paths(orders[i : i + step]) for i in range(0, len(orders), step)]), exact


def quantile(error: float, errors: Floats) -> float:
    """Share of random orders with a smaller error; ties count half."""
    tie = 1e-9 * abs(error) + 1e-15
    return float(((errors < error - tie).mean() + (errors <= error + tie).mean()) / 2)


def _verdict(scores: list[RuleScore], best: float, mean: float, worst: float, total: float) -> str:
    """A plain sentence on whether order matters here; `total` is the error before learning."""
    if worst - best <= 1e-9 * total:
        return "Order does not matter here: every order ends with the same error."
    gain = (mean - best) / mean
    which = (
        "the best order" if any(score.proven and score.error <= best for score in scores) else "the best order found"
    )
    size = f"{which} ends with {100 * gain:.0f} % less error than a random one ({best:.4g} against {mean:.4g})"
    if gain < 0.05 or mean - best < 0.001 * total:
        return f"Order hardly matters here: {size}."
    usable = [score for score in scores if score.rule not in ("optimal", "worst")]
    if not all(score.complete for score in usable):
        return f"Order matters here: {size}."
    rule = min(usable, key=lambda score: score.error)
    share = (mean - rule.error) / (mean - best)
    help_ = (
        f"{rule.rule} comes closest and earns {100 * share:.0f} % of that"
        if share > 0
        else "no simple rule beats random"
    )
    return f"Order matters here: {size}; {help_}."
