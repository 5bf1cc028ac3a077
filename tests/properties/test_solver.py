"""What must stay the same, or may only get better or worse, when a question to `solve` is changed.

Each function takes random numbers, draws a case and checks it. CI gives each a few seeds; `python -m
tests.properties.long_run` thousands.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from taskorder import compare
from taskorder.theory.nearest import nearest_correlation

from .cases import LARGE, PROVEN, SMALL, Case, Rng, ahead, close, draw, keeps, moved

RULES = ("row-sums", "periphery-to-core", "core-to-periphery", "max-path", "min-path", "greedy", "random", "worst")


def renamed_and_permuted(rng: Rng) -> None:
    """The order is relabeled, the value, the proof and the bound stay; ties may be broken otherwise."""
    case = draw(rng)
    places = rng.permutation(case.size).tolist()
    plan, other = case.solve(), moved(case, places).solve()
    back = [places[task] for task in other.order]
    for order, value in ((plan.order, plan.value), (back, other.value)):
        assert keeps(order, case.options)
        assert close(case.value(order), value, case)
    for one, two in ((plan, other), (other, plan)):
        assert not (one.proven and ahead(two.value, one.value, case))
        assert one.bound is None or not ahead(two.value, one.bound, case)
    named = case.solve(names=[f"task {task}" for task in range(case.size)])
    assert (named.order, named.value, named.bound) == (plan.order, plan.value, plan.bound)


def every_order_listed(rng: Rng) -> None:
    """Best and worst are those of a list of all orders, by the recursion in plain Python."""
    case = draw(rng, (1, 2, 3, 5, 6))
    values = [case.value(order) for order in permutations(case.open) if keeps(order, case.options)]
    low, high = min(values), max(values)
    for rule, end in (("optimal", low if case.by_error else high), ("worst", high if case.by_error else low)):
        plan = case.solve(rule)
        assert plan.proven
        assert plan.bound == plan.value
        assert close(plan.value, end, case)


def rules_between_best_and_worst(rng: Rng) -> None:
    """No rule is better than the best or worse than the worst, and each keeps the constraints."""
    case = draw(rng, weighted=False)
    best, worst = case.solve(), case.solve("worst")
    for rule in RULES:
        plan = case.solve(rule)
        assert keeps(plan.order, case.options)
        assert close(case.value(plan.order), plan.value, case)
        assert not (best.proven and ahead(plan.value, best.value, case))
        assert not (worst.proven and ahead(worst.value, plan.value, case))


def weights_times_a_constant(rng: Rng) -> None:
    """Scores stay, errors are multiplied, and the order is as good as before."""
    case = draw(rng)
    factor = float(rng.choice([1e-9, 0.25, 3.7, 1e12]))
    case = case.asking(weights=case.weights.tolist())
    plan, scaled = case.solve(), case.solve(weights=(factor * case.weights).tolist())
    unit = factor if case.by_error else 1.0
    assert np.isclose(scaled.value, unit * plan.value, rtol=1e-8, atol=1e-9 * unit * case.scale)
    assert close(case.value(scaled.order), plan.value, case)
    assert scaled.proven == plan.proven


def tail_of_the_whole(rng: Rng) -> None:
    """What is best after the first tasks of the best order were learned is the rest of it."""
    case = draw(rng)
    plan = case.solve()
    if len(plan.order) < 2:
        return
    begun = plan.order[: int(rng.integers(1, len(plan.order)))]
    rest = case.asking(learned=[*case.options.get("learned", ()), *begun], first=None).solve()
    assert close(case.value([*begun, *rest.order]), rest.value, case)
    assert not (plan.proven and ahead(rest.value, plan.value, case))
    assert not (rest.proven and ahead(plan.value, rest.value, case))


def start_is_one_more_task(rng: Rng) -> None:
    """`start` is what a task without weight leaves that nobody can know and that is learned before all others."""
    case = draw(rng, (1, 2, 3, 5, 7, 9), retentions=(0.0, 0.13, 0.5, 0.999, "one a task"))
    size = case.size
    start = rng.uniform(-0.2, 1, size)
    case = case.asking(start=start.tolist(), learned=None, before=None, first=None, groups=None)
    table = np.zeros((size + 1, size + 1))
    similarity = case.options["kind"] == "similarity"
    table[:size, :size] = 1 - (1 - (case.table + case.table.T) / 2) ** 2 if similarity else case.table
    table[size, :size] = start
    weights, retention = [*case.weights, 0.0], [*case.retention, 0.77]
    longer = replace(
        case.asking(start=None, kind="transfer", weights=weights, retention=retention, first=size), table=table
    )
    plan, other = case.solve(), longer.solve()
    assert close(longer.value([size, *plan.order]), plan.value, longer)
    for one, two in ((plan, other), (other, plan)):
        assert not (one.proven and ahead(two.value, one.value, longer))


def constraints_only_cost(rng: Rng) -> None:
    """More constraints are never better; what the best order keeps already costs nothing."""
    case = draw(rng)
    plan = case.solve()
    free = case.asking(first=None, last=None, before=None, groups=None).solve()
    assert not (free.proven and ahead(plan.value, free.value, case))
    assert free.bound is None or not ahead(plan.value, free.bound, case)
    order = plan.order
    if len(order) < 2:
        return
    kept = case.asking(first=order[0], last=order[-1], before=[*case.options.get("before", ()), (order[0], order[-1])])
    same = kept.solve()
    assert not (plan.proven and ahead(same.value, plan.value, case))
    assert not (same.proven and ahead(plan.value, same.value, case))


def only_the_last_task_counts(rng: Rng) -> None:
    """At retention 0 the score is the weighted mean of the last row."""
    case = draw(rng, (*SMALL, *PROVEN, *LARGE), retentions=(0.0,), objectives=(None, "score"))
    similarity = case.options["kind"] == "similarity"
    table = 1 - (1 - (case.table + case.table.T) / 2) ** 2 if similarity else case.table
    rows = table @ case.weights / case.weights.sum()
    plan = case.solve()
    assert plan.proven
    assert close(plan.value, rows[plan.order[-1]], case)
    if not {"last", "before", "groups", "learned"} & case.options.keys():
        assert close(
            plan.value,
            max(rows[task] for task in range(case.size) if task != case.options.get("first") or case.size == 1),
            case,
        )


def everything_is_kept(rng: Rng) -> None:
    """At retention 1 the error is |1 - C^T (I + L)^-1 1|^2, L the strict lower triangle of C in order of learning."""
    case = draw(rng, (*SMALL, *PROVEN), retentions=(1.0,), objectives=(None, "error"))
    plan = case.solve()
    order = [*case.options.get("learned", ()), *plan.order]
    C = nearest_correlation(case.table)[0][np.ix_(order, order)]
    v = np.linalg.solve(np.eye(len(order)) + np.tril(C, -1), np.ones(len(order)))
    assert close(float((1 - C @ v) ** 2 @ case.weights[order]), plan.value, case, 1e-7)


def unrelated_task(rng: Rng) -> None:
    """At retention 1 a task that has nothing to do with the others adds its own error or knowledge, wherever it is."""
    case = draw(rng, (1, 2, 3, 5, 8, 10), retentions=(1.0,), objectives=(None, "error"), constrained=False)
    at, weight = int(rng.integers(case.size + 1)), float(rng.choice([0.0, 1.0, 2.5]))
    table = np.insert(np.insert(case.table, at, 0, axis=0), at, 0, axis=1)
    table[at, at] = 1.0
    more = replace(case.asking(weights=np.insert(case.weights, at, weight).tolist()), table=table)
    plan, other = case.solve(), more.solve()
    rest = [task - (task > at) for task in other.order if task != at]
    for value in (other.value, case.value(rest)):
        assert close(value, plan.value, more, 1e-8) or not (plan.proven and other.proven)


def task_that_is_nothing(rng: Rng) -> None:
    """A task that teaches nothing and cannot be learned: first, it takes its share of the mean and nothing else."""
    case = draw(
        rng, (1, 2, 3, 5, 8), objectives=("score",), families=("transfer", "two values", "slight"), constrained=False
    )
    at = int(rng.integers(case.size + 1))
    table = np.insert(np.insert(case.table, at, 0, axis=0), at, 0, axis=1)
    weights, retention = np.insert(case.weights, at, 1.0), np.insert(case.retention, at, 0.3)
    more = replace(case.asking(weights=weights.tolist(), retention=retention.tolist()), table=table)
    expected = case.solve().value * case.weights.sum() / weights.sum()
    first = more.solve(first=at)
    assert close(first.value, expected, more, 1e-8) or not first.proven
    assert not ahead(first.value, more.solve().value, more)


def duplicates_are_visits(rng: Rng) -> None:
    """A copy of a task, without weight, is a second visit of it."""
    case = draw(rng, (2, 3, 4, 5), retentions=(0.0, 0.13, 0.5, 1.0)).asking(groups=None, learned=None)
    size = case.size
    if case.paper:
        case = replace(case, table=nearest_correlation(case.table)[0])
    values = [case.solve().value]
    for task in range(size):
        both = [*range(size), task]
        asked = {"weights": [*case.weights, 0.0], "before": [*case.options.get("before", ()), (task, size)]}
        if case.options.get("last") == task:
            asked["last"] = size
        values.append(replace(case.asking(**asked), table=case.table[np.ix_(both, both)]).solve().value)
    best, found = (min if case.by_error else max)(values), case.solve(visits=size + 1).value
    unit = case.weights.max() if case.by_error else 1.0
    worth = 0.0 if case.paper else 1e-3 * unit  # a visit that adds less is left out
    assert not ahead(found, best, case)
    assert abs(found - best) <= worth + 1e-8 * case.scale


def bounds_hold(rng: Rng) -> None:
    """No other seed, time or rule finds what a bound rules out."""
    case = draw(rng, LARGE)
    plans = [case.solve(time_limit=limit, seed=seed) for limit, seed in ((0.2, 0), (1.0, 1))]
    worst = case.solve("worst", time_limit=0.3)
    others = [case.solve(rule, time_limit=0.3) for rule in ("greedy", "row-sums", "random")]
    for other in (*plans, *others, worst):
        assert keeps(other.order, case.options)
        assert close(case.value(other.order), other.value, case, 1e-7)
        for plan in plans:
            assert plan.bound is None or not ahead(other.value, plan.bound, case)
        assert worst.bound is None or not ahead(worst.bound, other.value, case)


def comparison_equals_solve(rng: Rng) -> None:
    """Every rule has the order and value that `solve` gives; prices are differences; other retentions are solved."""
    case = draw(rng, (1, 2, 3, 5, 8, 9))
    compared, plan = compare(case.table, **case.options, num_random=50), case.solve()
    for score in compared.scores:
        assert close(case.value(score.order), score.value, case)
        if score.rule in RULES and "weights" not in case.options:
            assert case.solve(score.rule).order == score.order
    assert compared["optimal"].order == plan.order
    values = [score.value for score in compared.scores]
    assert values == sorted(values, reverse=not case.by_error)
    for other in compared.at_retention:
        asked = case.asking(retention=other.retention, objective=other.objective)
        again = asked.solve()
        assert close(asked.value(other.order), other.value, asked)
        assert close(again.value, other.value, asked) or not again.proven
    for price in compared.prices:
        free = without(case, price.constraint).solve()
        if free.proven and plan.proven:
            assert abs(abs(free.value - plan.value) - price.value) < 1e-7 * case.scale


def without(case: Case, constraint: str) -> Case:
    """The case without the constraint that a price is about."""
    kind, _, rest = constraint.partition(" ")
    tasks = [ord(name) - 65 for name in rest.replace(":", ",").split(",")]
    if kind in ("first", "last"):
        return case.asking(**{kind: None})
    option = {"before": "before", "group": "groups"}[kind]
    left = list(map(list, case.options[option]))
    left.remove(tasks)
    return case.asking(**{option: left or None})


PROPERTIES = (
    renamed_and_permuted,
    every_order_listed,
    rules_between_best_and_worst,
    weights_times_a_constant,
    tail_of_the_whole,
    start_is_one_more_task,
    constraints_only_cost,
    only_the_last_task_counts,
    everything_is_kept,
    unrelated_task,
    task_that_is_nothing,
    duplicates_are_visits,
    comparison_equals_solve,
)


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
def test_a_few_cases(holds):
    for seed in range({comparison_equals_solve: 1, rules_between_best_and_worst: 3}.get(holds, 6)):
        holds(np.random.default_rng(seed))


@pytest.mark.slow("sizes")
@pytest.mark.parametrize("holds", [*PROPERTIES, bounds_hold], ids=lambda holds: holds.__name__)
def test_many_cases(holds):
    for seed in range(100, 120):
        holds(np.random.default_rng(seed))


def test_what_is_not_so_is_seen():
    case = draw(np.random.default_rng(1), (5,), retentions=(0.5,), objectives=("score",), families=("transfer",))
    assert not close(0.5, 0.5 + 1e-6, case)
    assert ahead(0.6, 0.5, case)
    assert not ahead(0.6, 0.5, case.asking(objective="error"))
    assert not keeps([0, 1, 2], {"first": 1})
    assert not keeps([0, 1, 2], {"groups": [[0, 2]]})
    assert not keeps([0, 1, 2], {"before": [(2, 0)]})
