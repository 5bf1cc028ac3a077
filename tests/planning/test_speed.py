"""What a plan from a pilot says does not depend on how fast or how busy the machine is; else it says so."""

import itertools
import types

import pytest

from taskorder.ordering import clock
from taskorder.planning.plan import plan

from .pupils import names, random_table, retaining


def machine(monkeypatch, seconds):
    """A clock that is later by so much every time that somebody looks at it."""
    ticks = itertools.count()
    monkeypatch.setattr(clock, "time", types.SimpleNamespace(perf_counter=lambda: seconds * next(ticks)))


def plan_of_nine(**options):
    """Nine tasks, which are too many to list, and a retention at which nothing can be proven."""
    return plan(names(9), retaining(random_table(9), 0.9, noise=0.02), seeds=1, **options)


@pytest.mark.parametrize("rule", ["auto", "optimal", "max-path"])
def test_confidence_and_prices_are_those_of_a_fast_machine(monkeypatch, rule):
    asked = {"draws": 8, "last": "C", "groups": [["D", "E"]], "rule": rule}
    machine(monkeypatch, 0.0)
    fast = plan_of_nine(**asked)
    machine(monkeypatch, 1e-3)
    slow = plan_of_nine(**asked)
    assert fast.objective == "score"
    for part in ("order", "confidence", "prediction", "alternatives", "notes"):
        assert getattr(slow, part) == getattr(fast, part), part


@pytest.mark.parametrize("rule", ["auto", "optimal"])
def test_a_search_that_was_cut_short_is_told(monkeypatch, rule):
    told = "the search for the order was stopped after 10 s; there may be a better one"
    machine(monkeypatch, 0.0)
    assert told not in plan_of_nine(draws=0, rule=rule).notes
    machine(monkeypatch, 1.0)
    assert told in plan_of_nine(draws=0, rule=rule).notes
    assert told not in plan(names(5), retaining(random_table(5), 0.9), seeds=1, draws=0, rule=rule).notes  # all listed
