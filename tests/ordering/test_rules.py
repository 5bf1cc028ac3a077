"""The rules without search: contract, meaning, ties, and the distribution of random orders."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskorder.constraints import closure
from taskorder.ordering import rules, sampling
from taskorder.ordering.precedence import respects
from taskorder.ordering.problem import open_problem


def free(size):
    return np.zeros((size, size), dtype=bool)


def similarity(size, seed):
    rows = np.random.default_rng(seed).standard_normal((size, size + 1)) + 0.5
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


def random_dag(size, seed, density=0.3):
    rng = np.random.default_rng(seed)
    names = rng.permutation(size)
    pairs = [(names[a], names[b]) for a, b in itertools.combinations(range(size), 2) if rng.random() < density]
    return closure(size, pairs, [str(i) for i in range(size)])


def greedy_of(C, tasks, precedes):
    none = np.array([], dtype=np.int64)
    return rules.greedy(open_problem(C, None, np.ones(len(C)), none, tasks, precedes))


def random_of(C, tasks, precedes):
    return sampling.random_order(precedes, np.random.default_rng(5))


RULES = {
    "periphery-to-core": rules.periphery_to_core,
    "core-to-periphery": rules.core_to_periphery,
    "greedy": greedy_of,
    "random": random_of,
}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())


@every_rule
@settings(max_examples=25, deadline=None)
@given(size=st.integers(0, 9), seed=st.integers(0, 10**6), density=st.sampled_from([0.0, 0.1, 0.4]))
def test_contract(rule, size, seed, density):
    C = similarity(size, seed) if size else np.zeros((0, 0))
    precedes = random_dag(size, seed, density)
    kept = C.copy(), precedes.copy()
    order = rule(C, np.arange(size), precedes)
    assert order.dtype == np.int64
    assert sorted(order) == list(range(size))
    assert respects(order, precedes)
    assert order.tolist() == rule(C, np.arange(size), precedes).tolist()
    assert np.array_equal(C, kept[0])
    assert (precedes == kept[1]).all()


@pytest.mark.parametrize("name", ["periphery-to-core", "core-to-periphery", "greedy"])
@settings(max_examples=25, deadline=None)
@given(size=st.integers(3, 8), seed=st.integers(0, 10**6))  # two tasks always tie
def test_relabelling_tasks_relabels_the_order(name, size, seed):
    C, precedes = similarity(size, seed), random_dag(size, seed)
    new = np.random.default_rng(seed).permutation(size)  # task new[i] is now called i
    renamed = RULES[name](C[np.ix_(new, new)], np.arange(size), precedes[np.ix_(new, new)])
    assert new[renamed].tolist() == RULES[name](C, np.arange(size), precedes).tolist()


@every_rule
def test_ties_go_by_position(rule):
    order = rule(np.ones((4, 4)), np.arange(4), free(4))
    if rule is random_of:
        assert sorted(order) == [0, 1, 2, 3]
    else:
        assert order.tolist() == [0, 1, 2, 3]


def test_typicality_counts_all_tasks_and_symmetrizes():
    C = np.array([[1, 0.2, 0.9], [0.4, 1, 0.0], [0.9, 0.0, 1]])
    assert rules.typicality(C).tolist() == pytest.approx([1.2, 0.3, 0.9])
    # Without task 0 the others would tie; with it, task 1 is the less typical one.
    assert rules.periphery_to_core(C, np.array([2, 1]), free(2)).tolist() == [1, 0]


def test_opposite_rules_mirror_each_other():
    C = similarity(7, 3)
    ahead = rules.periphery_to_core(C, np.arange(7), free(7))
    assert ahead.tolist() == rules.core_to_periphery(C, np.arange(7), free(7))[::-1].tolist()


@pytest.mark.parametrize("output", [None, "own"])
def test_greedy_takes_the_least_error_at_each_step(output):
    C, weights = similarity(6, 1), np.array([1, 2, 0.5, 1, 3, 1.0])
    R = np.ones((1, 6)) if output is None else np.linalg.cholesky(similarity(6, 2)).T
    Co = None if output is None else R.T @ R
    precedes = random_dag(6, 4, 0.2)
    problem = open_problem(C, Co, weights, np.array([], dtype=np.int64), np.arange(6), precedes)
    expected = []
    for _ in range(6):
        ready = [j for j in range(6) if j not in expected and all(precedes[:, j] <= np.isin(np.arange(6), expected))]
        left = {j: ((R - np.outer(R[:, j], C[j])) ** 2).sum(axis=0) @ weights for j in ready}
        expected.append(min(left, key=left.get))
        R = R - np.outer(R[:, expected[-1]], C[expected[-1]])
    assert rules.greedy(problem).tolist() == expected


@pytest.mark.parametrize(
    "pairs",
    [
        [],
        [(0, 1)],
        [(0, 1), (0, 2), (0, 3), (0, 4)],
        [(0, 1), (2, 3)],
        [(0, 2), (1, 2), (1, 3)],  # the N: neither series nor parallel
        [(3, 0), (3, 1), (0, 4), (1, 4), (1, 2)],
    ],
)
def test_random_orders_are_uniform_over_the_allowed_ones(pairs):
    precedes = closure(5, pairs, "ABCDE")
    orders = [p for p in itertools.permutations(range(5)) if respects(np.array(p), precedes)]
    num = 400 * len(orders)
    counts = Counter(map(tuple, sampling.random_orders(precedes, num, np.random.default_rng(1)).tolist()))
    assert sampling.is_uniform(precedes)
    assert set(counts) == set(orders)
    # Chi-square with len - 1 degrees of freedom: mean d, standard deviation sqrt(2 d); five of them are far out.
    chi = sum((counts[p] - 400) ** 2 / 400 for p in orders)
    assert chi <= len(orders) - 1 + 5 * np.sqrt(2 * len(orders))


def test_priority_fallback_is_allowed_and_reported(monkeypatch):
    monkeypatch.setattr(sampling, "DOWNSET_LIMIT", 3)
    precedes = closure(5, [(0, 2), (1, 2), (1, 3)], "ABCDE")
    drawn = sampling.random_orders(precedes, 500, np.random.default_rng(0))
    assert not sampling.is_uniform(precedes)
    assert all(respects(order, precedes) for order in drawn)
    assert len(set(map(tuple, drawn.tolist()))) == 25


def test_random_orders_of_many_tasks():
    precedes = random_dag(60, 0, 0.05)
    drawn = sampling.random_orders(precedes, 20, np.random.default_rng(0))
    assert all(sorted(order) == list(range(60)) and respects(order, precedes) for order in drawn)
    assert sampling.random_orders(free(0), 3, np.random.default_rng(0)).shape == (3, 0)
    again = sampling.random_orders(precedes, 20, np.random.default_rng(0))
    assert (again == drawn).all()
