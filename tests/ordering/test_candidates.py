"""The orders that the literature's rules choose, against listing all orders."""

import itertools

import numpy as np
import pytest

from taskorder import chain, solve
from taskorder.ordering.candidates import curvature_orders, pairwise_order, similarity_orders, table_orders
from taskorder.theory.law import PLAIN_RETENTION, final_score
from taskorder.theory.random_orders import knowledge_after


def preference(ratios, order):
    return sum(ratios[b][a] - ratios[a][b] for a, b in itertools.combinations(order, 2))


@pytest.mark.parametrize("seed", range(5))
def test_pairwise_is_the_best_of_all_orders(seed):
    ratios = np.random.default_rng(seed).random((6, 6))
    best = max(preference(ratios, order) for order in itertools.permutations(range(6)))
    assert preference(ratios, pairwise_order(ratios)) == pytest.approx(best)


def test_pairwise_refuses_what_would_take_too_long():
    with pytest.raises(ValueError, match="at most 14 tasks for the pairwise order, got 15"):
        pairwise_order(np.zeros((15, 15)))


def test_path_rules_have_both_directions_the_better_one_first():
    orders = similarity_orders(chain(5, 0.7))
    for rule in ("max-path", "min-path"):
        chosen, other = orders[rule]
        assert chosen == other[::-1] == solve(chain(5, 0.7), rule, retention=1).order
    assert orders["optimal"] == (solve(chain(5, 0.7), retention=1).order,)


def test_estimates_below_minus_one_are_taken_as_minus_one():
    table = np.array([[1, -1.7, 0.2], [-1.7, 1, 0.1], [0.2, 0.1, 1]])
    assert similarity_orders(table) == similarity_orders(np.maximum(table, -1))


def test_curvature_paths_are_the_extremes_of_all_paths():
    table = -np.random.default_rng(3).random((5, 5))
    both = (table + table.T) / 2

    def length(order):
        return -sum(both[a, b] for a, b in itertools.pairwise(order))

    orders = curvature_orders(table)
    lengths = [length(order) for order in itertools.permutations(range(5))]
    assert length(orders["curvature-max-path"][0]) == pytest.approx(max(lengths))
    assert length(orders["curvature-min-path"][1]) == pytest.approx(min(lengths))


def test_the_order_of_the_law_is_the_best_of_all():
    rng = np.random.default_rng(0)
    orders = np.array(list(itertools.permutations(range(5))))
    for _ in range(30):
        S = rng.uniform(-0.4, 0.9, (5, 5))
        for retention in (0.0, 0.13, 0.5):
            values = knowledge_after(S, orders, np.full(5, retention)).sum(axis=1)
            order = np.array([table_orders(S, retention)["law"]])
            assert knowledge_after(S, order, np.full(5, retention)).sum() == pytest.approx(values.max())
    assert table_orders(S)["row-sums"] == tuple(np.argsort(S.sum(axis=1)).tolist())


def test_orders_of_a_table_do_not_depend_on_the_names_of_tasks():
    S = np.random.default_rng(1).uniform(-0.2, 0.8, (30, 30))
    mixed = np.random.default_rng(2).permutation(30)
    for rule, order in table_orders(S[np.ix_(mixed, mixed)]).items():
        values = [final_score(S, way, PLAIN_RETENTION) for way in (mixed[list(order)], table_orders(S)[rule])]
        assert values[0] == pytest.approx(values[1], rel=1e-9)
