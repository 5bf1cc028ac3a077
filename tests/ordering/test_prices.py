"""What each constraint costs: the difference that enumeration finds, or bounds around it."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskorder import compare, final_error, final_score
from taskorder.ordering import compare as comparing
from taskorder.ordering import prices
from taskorder.ordering.clock import Clock
from taskorder.ordering.prices import constraint_prices
from taskorder.ordering.solve import RULES, RuleResult
from taskorder.ordering.solver_input import solver_input

from .questions import correlation
from .reference import allowed_orders

ASKED = {"before": [(0, 3), (4, 1)], "first": 4, "last": 3, "groups": [[0, 5], [1, 2]]}
WITHOUT = {
    "before A:D": {"before": [(4, 1)]},
    "before E:B": {"before": [(0, 3)]},
    "first E": {"first": None},
    "last D": {"last": None},
    "group A,F": {"groups": [[1, 2]]},
    "group B,C": {"groups": [[0, 5]]},
}


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([0.13, 0.6, 1.0]))
def test_prices_are_those_of_enumeration(seed, retention):
    C, weights = correlation(6, seed), np.random.default_rng(seed).uniform(0.5, 2.0, 6)
    table = C if retention == 1 else np.random.default_rng(seed).uniform(0, 1, (6, 6))
    priced = compare(table, retention=retention, weights=weights, kind=None if retention == 1 else "transfer",
                    retentions=(), num_random=10, **ASKED).prices  # fmt: skip

    def best(options):
        value, pick = (final_error, min) if retention == 1 else (final_score, max)
        orders = allowed_orders(6, **options)
        return pick(value(table, order, retention=retention, weights=weights) for order in orders)

    truth = best(ASKED)
    assert [price.constraint for price in priced] == list(WITHOUT)
    for price in priced:
        expected = abs(best({**ASKED, **WITHOUT[price.constraint]}) - truth)
        assert price.proven
        assert price.value == pytest.approx(expected, abs=1e-8)


def test_a_price_without_a_proof_is_between_its_bounds(monkeypatch):
    C = correlation(6, 3)
    exact = {price.constraint: price.value for price in constraint_prices(solver_input(C, **ASKED), Clock(60.0))}
    optimal = RULES["optimal"]

    def unproven(inputs, clock):
        """An order that may be the best, and a bound that is too far."""
        best, some = optimal(inputs, clock), RULES["greedy"](inputs, clock)
        return RuleResult(some.order, (), best.bound + 0.01, False)

    monkeypatch.setitem(RULES, "optimal", unproven)
    for price in constraint_prices(solver_input(C, **ASKED), Clock(60.0)):
        assert not price.proven
        assert price.low <= exact[price.constraint] <= price.high
        assert 0 <= price.low <= price.value <= price.high
        assert "not proven: at least" in price.said("score")
    monkeypatch.setitem(RULES, "optimal", lambda *given: RuleResult(optimal(*given).order))
    for price in constraint_prices(solver_input(C, **ASKED), Clock(60.0)):
        assert (price.low, price.high) == (0.0, None)
        assert "at most" not in price.said("score")


def test_prices_are_left_out_where_there_are_many_tasks_or_no_time(monkeypatch):
    C = correlation(9, 1)
    asked = {"last": 1, "groups": [[0, 2]], "retentions": (), "num_random": 5}
    assert len(compare(C, **asked).prices) == 2
    assert compare(C, **asked, prices=False).prices == ()
    assert compare(C, retentions=(), num_random=5).prices == ()
    monkeypatch.setattr(comparing, "PRICED", 8)
    assert compare(C, **asked).prices == ()
    assert len(compare(C, **asked, prices=True).prices) == 2
    monkeypatch.setattr(comparing, "constraint_prices", lambda *given: constraint_prices(*given)[:1])
    late = compare(C, **asked, prices=True)
    assert "out of time for the price of 1 constraint" in late.notes
    assert json.loads(late.to_json())["prices"][0]["constraint"] == "last B"


def test_what_is_learned_already_has_no_price():
    inputs = solver_input(correlation(5, 2), learned=["A", "B"], before=[("A", "D"), ("C", "D")], groups=[["A", "B"]])
    assert [words for words, _ in prices.without_each(inputs.constraints)] == ["before C:D"]
    nothing = solver_input(correlation(5, 2), groups=[["A"]])
    assert constraint_prices(nothing, Clock(1.0)) == ()
