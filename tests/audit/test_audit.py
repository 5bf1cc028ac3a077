"""What an audit says of its results, and which options it refuses."""

import json

import numpy as np
import pytest

from taskorder.audit.audit import audit_results
from taskorder.audit.results import results_from_rows

from .drawn_results import accuracy_table, results, rows_of


def test_verdicts():
    strong = audit_results(results(accuracy_table()), used="3", compare=[("0", "1")])
    assert strong.verdict.startswith("Order matters: it accounts for 9")
    assert strong.test.p < 1e-6
    assert strong.orders[0].mean == max(score.mean for score in strong.orders)
    weak = audit_results(results(accuracy_table(order=0.0, shape=(12, 10, 3))))
    assert weak.verdict.startswith("The effect of the order is within the noise")
    few = audit_results(results(accuracy_table(seed=1, order=0.0, shape=(3, 2, 3))))
    assert few.verdict.startswith("These runs do not show whether order matters")
    same = audit_results(results(np.full((3, 2, 2), 0.5)))
    assert same.verdict.startswith("All runs have the same final average accuracy")
    one_seed = audit_results(results(accuracy_table(shape=(5, 1, 3))), used="0", compare=[("0", "1")])
    assert "order and noise cannot be separated" in one_seed.verdict
    assert (one_seed.components, one_seed.test, one_seed.needs, one_seed.aopd.noise) == ((), None, None, None)
    assert (one_seed.regret.cross_validated, one_seed.pairs[0].p) == (None, None)
    one_order = audit_results(results(accuracy_table(shape=(1, 5, 3))))
    assert one_order.verdict.startswith("One order: nothing can be said about the order")
    assert [part.source for part in one_order.components] == ["seed"]
    assert "One run says nothing" in audit_results(results(accuracy_table(shape=(1, 1, 3)))).verdict
    for audit in (strong, weak, few, same, one_seed, one_order):
        assert json.loads(audit.to_json())["verdict"] == audit.verdict
        assert audit.summary().endswith(audit.verdict)


def test_more_orders_than_there_are():
    table = results_from_rows(enumerate(rows_of(accuracy_table()), 2), "a")
    audit = audit_results(table, difference=0.02)
    assert audit.needs.possible_orders == 6
    assert audit.needs.orders[0][1] > 6
    assert "only 6 orders exist: run all of them with both methods" in audit.summary()
    assert "orders exist" not in audit_results(table, difference=0.3).summary()
    assert audit_results(results(accuracy_table())).needs.possible_orders is None  # orders with names of their own


def test_no_noise_at_all_is_an_infinite_f():
    accuracy = np.repeat(np.linspace(0.5, 0.9, 4)[:, None, None], 3, axis=1)
    audit = audit_results(results(accuracy))
    assert (audit.test.f, audit.test.p) == (None, 0.0)
    assert json.loads(audit.to_json())["test"]["f"] is None
    assert audit.components[0].share == 1


def test_bad_options():
    table = results(accuracy_table())
    for gap in (0, 1, -1, float("nan")):
        with pytest.raises(ValueError, match="`difference` must be above 0 and below 1"):
            audit_results(table, difference=gap)
    with pytest.raises(ValueError, match="`compare` must name an order"):
        audit_results(table, compare=[("0", "z")])
    with pytest.raises(ValueError, match="`where` must name a column, got 'color'"):
        results_from_rows(enumerate(rows_of(accuracy_table()), 2), "a", {"color": "red"})
    with pytest.raises(ValueError, match="`where` must leave rows of a last step, got none for seed=99"):
        results_from_rows(enumerate(rows_of(accuracy_table()), 2), "a", {"seed": "99"})
