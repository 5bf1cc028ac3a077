"""The number of BLAS threads changes no order: all that leads to one runs on one thread."""

import json
import math
import os
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from taskorder import nearest_correlation, solve
from taskorder.machine import one_blas_thread
from taskorder.ordering.solver_input import solver_input

THREADS = 1, 2, 4


def measured(size, seed=0):
    """A similarity in clusters with noise, as measured ones are: it has negative eigenvalues."""
    rng = np.random.default_rng(seed)
    noise = np.triu(rng.normal(0, 0.3, (size, size)), 1)
    matrix = np.where(np.arange(size)[:, None] % 4 == np.arange(size) % 4, 0.7, 0.2) + noise + noise.T
    np.fill_diagonal(matrix, 1.0)
    return matrix.clip(-1, 1)


def with_threads(threads, job):
    """What a job gives where BLAS has so many threads."""
    with threadpool_limits(limits=threads, user_api="blas"):
        return job()


def plan_without_seconds(table, **options):
    return json.dumps({**asdict(solve(table, **options)), "seconds": 0})


def test_repair_and_problem_are_the_same_to_the_last_digit():
    table, weights = measured(100), np.linspace(0.1, 1, 100)
    output = measured(100, seed=1)

    def numbers():
        problem = solver_input(table, output=output, weights=weights, learned=[3], retention=1).problem()
        arrays = nearest_correlation(table)[0], problem.r, problem.h, problem.C, problem.G
        return [array.tobytes() for array in arrays]

    one, *others = [with_threads(threads, numbers) for threads in THREADS]
    assert all(other == one for other in others)


@pytest.mark.parametrize(
    "options",
    [
        {"retention": 1, "rule": "greedy"},
        {"retention": 1, "rule": "greedy", "weights": np.linspace(0.1, 1, 100)},
        {"kind": "transfer"},
        {"kind": "transfer", "weights": np.linspace(0.1, 1, 100)},
    ],
    ids=["greedy", "greedy-weights", "law", "law-weights"],
)
def test_plans_are_the_same_to_the_last_digit(options):
    table = measured(100)
    one, *others = [
        with_threads(threads, lambda: plan_without_seconds(table, time_limit=None, **options)) for threads in THREADS
    ]
    assert all(other == one for other in others)


def test_a_blas_that_is_loaded_later_is_limited_too():
    code = """
import sys
from taskorder.machine import one_blas_thread
from threadpoolctl import ThreadpoolController, threadpool_limits
import numpy
assert "scipy.linalg" not in sys.modules
with threadpool_limits(2, user_api="blas"), one_blas_thread():
    import scipy.linalg
    with one_blas_thread():
        inner = {library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()}
    print(inner)
after = {library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()}
print(after)
"""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    result = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    inner, after = result.stdout.split("\n")[:2]
    assert inner == "{1}"
    assert after == ("{2}" if len(os.sched_getaffinity(0)) > 1 else "{1}")


SEARCHES = """
import hashlib, math
import scipy.linalg
from taskorder import solve
from taskorder.machine import one_blas_thread
from taskorder.ordering.clock import Clock
from taskorder.ordering.search_groups import search_order
from taskorder.ordering.solver_input import solver_input
from tests.ordering.test_threads import measured
for size in (30, 60, 100, 120):
    for options in ({}, {"output": measured(size, 1)}, {"weights": [1 + i % 3 for i in range(size)]}):
        problem = solver_input(measured(size), retention=1, **options).problem()
        with one_blas_thread():
            order = search_order(problem, seed=0, clock=Clock(math.inf), effort=0.02)
        print(size, sorted(options), order.tolist(), problem.error(order).hex())
    plan = solve(measured(size), kind="transfer", time_limit=None)
    print(size, plan.order, plan.score.hex(), plan.bound)
"""


@pytest.mark.slow("sizes")
def test_processes_with_other_numbers_of_threads_find_the_same_orders():
    answers = set()
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        for threads in THREADS:
            env = {**os.environ, variable: str(threads)}
            answers.add(
                subprocess.run(
                    [sys.executable, "-c", SEARCHES], env=env, capture_output=True, text=True, check=True
                ).stdout
            )
    assert len(answers) == 1
    assert len(answers.pop().splitlines()) == 16


def test_the_limit_is_lifted_at_the_end():
    from threadpoolctl import ThreadpoolController

    def threads():
        return {library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()}

    with threadpool_limits(limits=2, user_api="blas"):
        with one_blas_thread(), one_blas_thread():
            assert threads() == {1}
        assert threads() == {2}
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            math.floor(1 / 0)
        assert threads() == {2}
