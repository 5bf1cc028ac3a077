"""`compare`: every rule on one table, beside random orders, and how they fare with learners that keep less or more."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from taskorder import checks
from taskorder.arguments import BadArgument
from taskorder.checks import Floats, Ints, counted
from taskorder.constraints import TaskName
from taskorder.machine import one_blas_thread
from taskorder.ordering.clock import Clock, Watch, while_time
from taskorder.ordering.law_problem import LawProblem
from taskorder.ordering.many_rows import COMPILED
from taskorder.ordering.optimum import MAX_UNCOMPILED, listed_orders
from taskorder.ordering.prices import PRICED, constraint_prices, without_each
from taskorder.ordering.problem import Problem
from taskorder.ordering.sampling import UNEVEN, is_uniform, random_orders
from taskorder.ordering.solve import RULES
from taskorder.ordering.solver_input import SolverInput, solver_input, with_retention
from taskorder.ordering.values import order_value
from taskorder.records import AtRetention, BestOrder, Comparison, RuleScore
from taskorder.theory.law import checked_retention

RETENTIONS = (0.1, 0.5, 1.0)
"""A plain network, one with replay, and the paper's theory, about."""
RETENTION_STEPS = tuple(step / 20 for step in range(21))
"""Retentions at which the best order is looked for, to see where it changes."""
STATE = 20_000_000
"""Numbers of state held at once while random orders are evaluated."""
RANDOM_SHARE = 0.2
"""Share of the time for random orders."""
STEPS = 400_000_000
"""Multiplications spent on random orders, about a second: fewer orders are drawn when P is in the hundreds."""


def compare(
    table: ArrayLike,
    *,
    retention: ArrayLike | Mapping[str, float] | None = None,
    objective: str | None = None,
    kind: str | None = None,
    start: ArrayLike | None = None,
    output: ArrayLike | None = None,
    weights: ArrayLike | Mapping[str, float] | None = None,
    names: Sequence[str] | None = None,
    before: Iterable[tuple[TaskName, TaskName]] = (),
    first: TaskName | None = None,
    last: TaskName | None = None,
    learned: Iterable[TaskName] = (),
    groups: Iterable[Iterable[TaskName]] = (),
    time_limit: float | None = 10.0,
    seed: int = 0,
    repair: bool = True,
    num_random: int = 1000,
    retentions: Iterable[float] = RETENTIONS,
    prices: bool | None = None,
    watch: Watch | None = None,
) -> Comparison:
    """Every rule's value and its rank among random orders, the best, worst and mean, and whether order matters.

    A rule that cannot use an output similarity or weights to choose its order is still scored under them.

    Parameters
    ----------
    table, retention, objective, kind, start, output, weights, names, before, first, last, learned, groups, seed,
    repair, watch
        As in `solve`.
    time_limit
        Seconds for all rules together; the other retentions take as many again at most.
    num_random
        Random orders to compare with, fewer when P is in the hundreds. Up to 8 open tasks the random statistics come
        from every allowed order instead.
    retentions
        Other retentions at which the best order and the rules are shown; an empty list leaves them out.
    prices
        Whether to say what each constraint costs, which takes as long again at most. None says it up to 50 tasks.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from taskorder import chain
    >>> result = compare(chain(5, 0.7), retention=1)
    >>> result.scores[0].rule, round(result.worst / result.best, 1)
    ('optimal', 13.3)
    >>> for best in compare(chain(3, 0.7)).best_orders:
    ...     print(f"{best.low:g} to {best.high:g}:", " ".join("ABC"[task] for task in best.order))
    0 to 0.3: A C B
    0.35 to 0.5: B A C
    0.55 to 0.95: A B C
    1 to 1: A C B
    """
    count = checks.whole(num_random)
    if count is None or count < 2:
        raise BadArgument(f"`num_random` must be an integer of at least 2, got {num_random!r}.")
    others = [float(checked_retention(other, 1)[0]) for other in retentions]
    inputs = solver_input(
        table, retention=retention, objective=objective, kind=kind, start=start, output=output, weights=weights,
        names=names, before=before, first=first, last=last, learned=learned, groups=groups, seed=seed,
        repair=repair,
    )  # fmt: skip
    limit = checks.seconds_limit(time_limit)
    comparison = compare_input(inputs, count, time_limit, watch)[0]
    if prices or (prices is None and inputs.constraints.num_open <= PRICED):
        comparison = with_prices(comparison, inputs, Clock(limit, watch))
    return with_other_retentions(comparison, inputs, others, Clock(limit, watch))


@one_blas_thread()
def with_prices(comparison: Comparison, inputs: SolverInput, clock: Clock) -> Comparison:
    """The comparison with what each constraint costs."""
    prices = constraint_prices(inputs, clock)
    missing = len(list(without_each(inputs.constraints))) - len(prices)
    late = (f"out of time for the price of {counted(missing, 'constraint')}",) if missing else ()
    return replace(comparison, prices=prices, notes=(*comparison.notes, *late))


@one_blas_thread()
def with_other_retentions(
    comparison: Comparison, inputs: SolverInput, retentions: Iterable[float], clock: Clock
) -> Comparison:
    """The comparison with what is best for learners that keep less or more, where that can be said."""
    others = tuple(retentions)
    if not others or inputs.table.output is not None or inputs.constraints.num_open < 2:
        return comparison
    found, late = [], []
    for other in others:
        if inputs.constraints.num_open > MAX_UNCOMPILED and clock.over():
            late.append(f"a retention of {other:g}")
        elif (at := at_retention(inputs, other, comparison, clock)) is not None:
            found.append(at)
    ranges, complete = best_orders(inputs, clock)
    if not complete:
        where = f"above a retention of {ranges[-1].high:g}" if ranges else "at other retentions"
        late.append(f"the best order {where}")
    reason = "stopped by request before" if clock.stopped else "out of time for"
    notes = (*(f"{reason} {what}" for what in late), *comparison.notes)
    return replace(comparison, at_retention=tuple(found), best_orders=ranges, notes=notes)


@one_blas_thread()
def compare_input(
    inputs: SolverInput, num_random: int, time_limit: float | None, watch: Watch | None = None
) -> tuple[Comparison, Floats]:
    """`compare` on checked input; also (orders, n + 1) the value after each step of the random orders it rests on."""
    sign = -1.0 if inputs.objective == "score" else 1.0
    clock = Clock(checks.seconds_limit(time_limit), watch, unit=sign * inputs.unit)
    problem = inputs.any_problem()
    sampling = clock.share(RANDOM_SHARE, quiet=True)
    paths, exact = random_paths(problem, num_random, inputs.seed, sampling)
    values = paths[:, -1]
    long = isinstance(problem, Problem) and problem.r.size * problem.size > COMPILED  # to price one order
    notes = [*inputs.table.notes]
    if not exact and not is_uniform(problem.precedes, problem.together):
        notes.append(UNEVEN)
    if not exact and len(values) < num_random:
        why = "no time was left for more" if sampling.cut else "each takes O(P^2) steps"
        notes.append(f"{len(values)} random orders instead of {num_random}: {why}")
    scores: list[RuleScore] = []
    for rule, choose in RULES.items():
        if rule == "random":
            continue  # the random statistics stand for it
        if long and scores and clock.over():
            notes.append(f"{rule} is left out: no time was left")
            continue
        part = clock.share(0.6 if rule == "optimal" else 0.3, unit=-1.0 if rule == "worst" else 1.0)
        try:
            with clock.without_compilation():
                chosen = choose(inputs, part)
        except ValueError as refusal:
            notes.append(f"{rule} is left out: {refusal}")
            continue
        value = order_value(problem, chosen.order)
        rank, tasks = quantile(sign * value, sign * values), tuple(chosen.order.tolist())
        complete = chosen.proven or not part.cut
        scores.append(RuleScore(rule, tasks, inputs.unit * value, rank, chosen.proven, complete))
        if rule in ("optimal", "worst") and not chosen.proven:
            notes.append(f"{rule} is the {'best' if rule == 'optimal' else 'worst'} found, not proven")
    cut = [score.rule for score in scores if not score.complete]
    if cut:
        reason = "by request" if clock.stopped else "at the time limit"
        notes.append(f"stopped {reason} before these were finished: {', '.join(cut)}")
    scores.sort(key=lambda score: sign * score.value)
    paths = inputs.unit * (paths if inputs.objective == "score" else np.maximum(paths, 0.0))
    values = paths[:, -1]
    mean, std = float(values.mean()), float(values.std(ddof=0 if exact else 1))
    best, worst = (sign * choose([sign * score.value for score in scores] + [float(choose(sign * values))])
                   for choose in (min, max))  # fmt: skip
    comparison = Comparison(
        names=inputs.constraints.names,
        scores=tuple(scores),
        random_mean=mean,
        random_sem=0.0 if exact else std / math.sqrt(len(values)),
        random_std=std,
        random_count=len(values),
        random_exact=exact,
        best=best,
        worst=worst,
        verdict=_verdict(scores, best, mean, worst, inputs),
        objective=inputs.objective,
        retention=inputs.retention,
        notes=tuple(notes),
    )
    return comparison, paths


def at_retention(inputs: SolverInput, retention: float, comparison: Comparison, clock: Clock) -> AtRetention | None:
    """The best order at another retention, and what the rules' orders earn there; None where it cannot be said."""
    try:
        other = with_retention(inputs, retention)
    except ValueError:
        return None  # a transfer table has no value in the paper's theory
    problem, sign = other.any_problem(), -1.0 if other.objective == "score" else 1.0
    order = _best_order(other, clock.share(0.3))
    best, mean = order_value(problem, order), float(random_paths(problem, 200, inputs.seed, clock)[0][:, -1].mean())
    lead = sign * (mean - best)
    shares = {
        score.rule: sign * (mean - order_value(problem, np.array(score.order))) / lead if lead > 0 else 0.0
        for score in comparison.scores
        if score.rule not in ("optimal", "worst")
    }
    return AtRetention(retention, other.objective, tuple(order.tolist()), other.unit * best, other.unit * mean, shares)


def best_orders(inputs: SolverInput, clock: Clock) -> tuple[tuple[BestOrder, ...], bool]:
    """Ranges of retention in which one order stays the best, but for 0.1 % of its lead over a random order, and whether
    there was time for all retentions."""
    ranges: list[BestOrder] = []
    for retention in RETENTION_STEPS:
        try:
            other = with_retention(inputs, retention)
        except ValueError:
            continue
        if clock.over():
            return tuple(ranges), False
        problem, sign = other.any_problem(), -1.0 if other.objective == "score" else 1.0
        order = _best_order(other, clock.share(0.2))
        best, mean = order_value(problem, order), float(random_paths(problem, 100, inputs.seed, clock)[0][:, -1].mean())
        last = np.array(ranges[-1].order) if ranges else order[:0]
        if ranges and (
            (last == order).all() or sign * (order_value(problem, last) - best) <= 1e-3 * sign * (mean - best)
        ):
            ranges[-1] = replace(ranges[-1], high=retention)
        else:
            ranges.append(BestOrder(retention, retention, tuple(order.tolist())))
    return tuple(ranges), True


def _best_order(inputs: SolverInput, clock: Clock) -> Ints:
    with clock.without_compilation():
        return RULES["optimal"](inputs, clock).order


def random_paths(
    problem: Problem | LawProblem, num_random: int, seed: int, clock: Clock | None = None
) -> tuple[Floats, bool]:
    """The value after each step of every allowed order while that is cheap, else of seeded random ones, of two at least
    when the time is over; and which."""
    n = problem.size
    size = problem.r.size if isinstance(problem, Problem) else len(problem.start)
    orders = listed_orders(problem)
    exact = orders is not None
    if orders is None:
        count = min(num_random, max(50, STEPS // (size * n)))
        orders = random_orders(problem.precedes, count, np.random.default_rng(seed), problem.together)
    if isinstance(problem, Problem):
        paths = problem.error_paths(orders, None if exact else clock)
        return (paths if len(paths) > 1 or exact else problem.error_paths(orders[:2])), exact
    return while_time(problem.value_paths, orders, size * n, clock, at_once=max(1, STATE // size)), exact


def quantile(cost: float, costs: Floats) -> float:
    """Share of random orders with a smaller cost; ties count half."""
    tie = 1e-9 * abs(cost) + 1e-15
    return float(((costs < cost - tie).mean() + (costs <= cost + tie).mean()) / 2)


def _verdict(scores: list[RuleScore], best: float, mean: float, worst: float, inputs: SolverInput) -> str:
    """A plain sentence on whether order matters here, in the model."""
    by_score = inputs.objective == "score"
    total = 1.0 if by_score else inputs.unit * float(inputs.weights.sum())  # the most there is to learn
    if abs(worst - best) <= 1e-9 * total:
        return f"Order does not matter here: every order ends with the same {inputs.objective}."
    proven = any(score.proven and score.rule == "optimal" for score in scores)
    which = "the best order" if proven else "the best order found"
    gain = abs(mean - best)
    if by_score:
        size = f"{which} is predicted to end with {100 * gain:.1f} points more knowledge than a random one"
        numbers, small = f"({100 * best:.1f} against {100 * mean:.1f} %)", gain < 0.01
    else:
        size = f"{which} ends with {100 * gain / mean:.0f} % less error than a random one"
        numbers, small = f"({best:.4g} against {mean:.4g})", gain < 0.05 * mean or gain < 0.001 * total
    if not by_score:
        numbers += " in the paper's theory, where the learner keeps everything"
    if small:
        return f"Order hardly matters here: {size} {numbers}."
    usable = [score for score in scores if score.rule not in ("optimal", "worst")]
    if not usable or not all(score.complete for score in usable):
        return f"Order matters here: {size} {numbers}."
    rule = (max if by_score else min)(usable, key=lambda score: score.value)
    share = (mean - rule.value) / (mean - best)
    help_ = (
        f"{rule.rule} comes closest and earns {100 * share:.0f} % of that"
        if share > 0
        else "no simple rule beats random"
    )
    return f"Order matters here: {size} {numbers}; {help_}."
