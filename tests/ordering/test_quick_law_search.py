"""A good order by few steps: allowed, hardly worse than the best, and found without a look at the clock."""

import itertools
import types

import numpy as np
import pytest

from taskorder import solve
from taskorder.ordering import clock
from taskorder.ordering.quick_law_search import good_by_law
from taskorder.ordering.solver_input import solver_input


def table_of(size, seed=0, low=0.0):
    rng = np.random.default_rng(seed)
    table = rng.uniform(low, 0.8, (size, size))
    np.fill_diagonal(table, rng.uniform(0.8, 1.0, size))
    return table


def quick(table, goal=1, **options):
    inputs = solver_input(table, **options)
    problem = inputs.law_problem()
    positions = good_by_law(problem, goal)
    order = problem.tasks[positions].tolist()
    assert inputs.constraints.allows(order)
    return order, problem.value(positions)


@pytest.mark.parametrize("size", [1, 2, 8])
@pytest.mark.parametrize("options", [{}, {"retention": 0.9, "objective": "error"}])
def test_few_tasks_are_listed(size, options):
    order, _ = quick(table_of(size), **options)
    assert tuple(order) == solve(table_of(size), **options).order


@pytest.mark.parametrize("goal", [1, -1])
@pytest.mark.parametrize(("size", "retention"), [(9, 0.0), (9, 0.5), (12, 0.13), (12, 0.5), (30, 0.0), (30, 0.3)])
@pytest.mark.parametrize("asked", [{}, {"first": 3, "before": [(1, 2)], "groups": [[4, 5, 6]], "learned": [0]}])
def test_scores_are_nearly_those_of_a_whole_search(size, retention, asked, goal):
    table = table_of(size, size, low=-0.3)
    _, score = quick(table, goal, retention=retention, **asked)
    best, random, worst = (
        solve(table, rule, retention=retention, **asked).score for rule in ("optimal", "random", "worst")
    )
    end = best if goal == 1 else worst
    assert goal * score <= goal * end + 1e-9
    assert goal * score >= goal * (end - 0.05 * (end - random))


@pytest.mark.parametrize("size", [9, 12, 20])
def test_errors_lie_far_below_those_of_simple_orders(size):
    table = table_of(size, size)
    _, error = quick(table, retention=0.9, objective="error")
    simple = (solve(table, rule, retention=0.9, objective="error").error for rule in ("greedy", "row-sums", "random"))
    assert error <= min(simple)
    _, worst = quick(table, -1, retention=0.9, objective="error")
    assert worst > error


def test_time_does_not_matter(monkeypatch):
    early, _ = quick(table_of(12), retention=0.9, objective="error")
    years = itertools.count(step=10**9)
    monkeypatch.setattr(clock, "time", types.SimpleNamespace(perf_counter=lambda: next(years)))
    assert quick(table_of(12), retention=0.9, objective="error")[0] == early
