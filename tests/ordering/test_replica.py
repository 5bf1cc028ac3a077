"""The earlier trial's solver, built again for benchmarks/trial.py: it infers nothing unless its proofs are true."""

import importlib
from pathlib import Path

import pytest

from taskorder.ordering.listing import all_errors


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module


@pytest.mark.parametrize("family", ["signed", "flipped", "clusters"])
def test_the_replica_proves_the_least_of_all_orders(benchmark, family):
    make, attempt = getattr(benchmark("instances"), family), benchmark("replica").attempt
    for seed in range(3):
        problem = benchmark("ordering").problem_of(make(7, seed))
        done = attempt(problem, 60.0, effort=0.0)
        assert done.proven
        assert done.error == pytest.approx(all_errors(problem).min(), rel=1e-9)


def test_the_replica_gives_up_at_its_limit(benchmark):
    problem = benchmark("ordering").problem_of(benchmark("instances").flipped(24, 0))
    done = benchmark("replica").attempt(problem, 0.05, effort=0.0)
    assert not done.proven
    assert problem.e > done.error
    assert 0.05 < done.seconds < 5.0
