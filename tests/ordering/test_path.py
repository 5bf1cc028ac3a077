"""Hamiltonian paths: dynamic programming against listing, the local search against dynamic programming."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskorder.constraints import closure
from taskorder.ordering import path
from taskorder.ordering.clock import Clock
from taskorder.ordering.kernels import path as kernels
from taskorder.ordering.path import extreme_path, path_bound, path_length, path_rule
from taskorder.ordering.precedence import respects


def free(size):
    return np.zeros((size, size), dtype=bool)


def symmetric(size, seed):
    half = np.triu(np.random.default_rng(seed).uniform(-1, 2, (size, size)), 1)
    return half + half.T


def random_dag(size, seed, density):
    rng = np.random.default_rng(seed)
    names = rng.permutation(size)
    pairs = [(names[a], names[b]) for a, b in itertools.combinations(range(size), 2) if rng.random() < density]
    return closure(size, pairs, [str(i) for i in range(size)])


def searched(weight, precedes, start, longest, seed=0):
    sign = 1.0 if longest else -1.0
    return path._search(-sign * weight, precedes, -sign * start, seed, sign, None)


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(0, 7),
    seed=st.integers(0, 10**6),
    density=st.sampled_from([0.0, 0.2, 0.5]),
    begin=st.booleans(),
    longest=st.booleans(),
)
def test_dynamic_programming_equals_listing(size, seed, density, begin, longest):
    weight, precedes = symmetric(size, seed), random_dag(size, seed, density)
    start = np.random.default_rng(seed).uniform(-1, 1, size) if begin else None
    kept = weight.copy(), precedes.copy()
    order, length, exact = extreme_path(weight, precedes, start=start, longest=longest)
    orders = [np.array(p, dtype=int) for p in itertools.permutations(range(size))]
    lengths = {tuple(p): path_length(weight, p, start) for p in orders if respects(p, precedes)}
    best = (max if longest else min)(lengths.values())
    assert exact
    assert length == pytest.approx(best, abs=1e-12)
    assert tuple(order) == min(p for p, value in lengths.items() if abs(value - best) < 1e-11)
    assert (weight == kept[0]).all()
    assert (precedes == kept[1]).all()


def test_ties_give_the_smallest_positions():
    assert extreme_path(np.ones((6, 6)), free(6))[0].tolist() == [0, 1, 2, 3, 4, 5]
    assert extreme_path(np.zeros((3, 3)), closure(3, [(2, 0)], "ABC"))[0].tolist() == [1, 2, 0]


def test_kernel_equals_plain_python():
    weight, needs = np.zeros((7, 8)), np.array([0, 1, 0, 0, 6, 0, 0])
    weight[:, :7] = symmetric(7, 0)
    fast, plain = (f(weight, needs, 64 + 72) for f in (kernels.subset_table, kernels.subset_table.py_func))
    # Cells that no allowed order reaches are never written: compare the others by the answer they give.
    reachable = [j * 136 for j in range(7)] + [j * 136 + 63 for j in range(7) if needs[j] == 0]
    assert fast[reachable].tolist() == plain[reachable].tolist()


@settings(max_examples=25, deadline=None)
@given(
    size=st.integers(5, 12),
    seed=st.integers(0, 10**6),
    density=st.sampled_from([0.0, 0.0, 0.1, 0.3]),
    longest=st.booleans(),
)
def test_local_search_is_allowed_and_never_better_than_exact(size, seed, density, longest):
    weight, precedes = symmetric(size, seed), random_dag(size, seed, density)
    start = np.random.default_rng(seed).uniform(-1, 1, size)
    sign = 1 if longest else -1
    _, best, _ = extreme_path(weight, precedes, start=start, longest=longest)
    order = searched(weight, precedes, start, longest)
    assert sorted(order) == list(range(size))
    assert respects(order, precedes)
    assert sign * (best - path_length(weight, order, start)) >= -1e-9
    assert sign * (path_bound(weight, start=start, longest=longest) - best) >= -1e-9


def test_local_search_is_almost_always_optimal_at_small_sizes():
    misses = 0
    for seed, density in itertools.product(range(10), (0.0, 0.1)):
        weight, precedes = symmetric(12, seed), random_dag(12, seed, density)
        best = extreme_path(weight, precedes)[1]
        misses += path_length(weight, searched(weight, precedes, np.zeros(12), True)) < best - 1e-9
    assert misses <= 1


@pytest.mark.parametrize("longest", [True, False])
@pytest.mark.parametrize("density", [0.0, 0.02])
def test_larger_paths_are_allowed_reproducible_and_close_to_the_bound(longest, density):
    size = 60
    rows = np.random.default_rng(0).standard_normal((size, size))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    weight, precedes = 1 - rows @ rows.T, random_dag(size, 1, density)
    kept = weight.copy(), precedes.copy()
    order, length, exact = extreme_path(weight, precedes, longest=longest, seed=3)
    assert not exact
    assert sorted(order) == list(range(size))
    assert respects(order, precedes)
    assert length == pytest.approx(path_length(weight, order))
    assert order.tolist() == extreme_path(weight, precedes, longest=longest, seed=3)[0].tolist()
    bound = path_bound(weight, longest=longest)
    assert (bound - length if longest else length - bound) >= -1e-9
    if not density:
        assert abs(bound - length) < 0.01 * bound
    assert (weight == kept[0]).all()
    assert (precedes == kept[1]).all()


@pytest.mark.parametrize(("size", "proven"), [(6, True), (7, False)])
def test_proven_up_to_the_largest_size_of_dynamic_programming(monkeypatch, size, proven):
    monkeypatch.setattr(path, "EXACT_SIZE", 6)
    assert extreme_path(symmetric(size, 2), free(size))[2] == proven


@pytest.mark.parametrize("longest", [True, False])
def test_a_larger_path_begins_where_its_start_pays(longest):
    weight, start = symmetric(30, 4), np.zeros(30)
    start[7] = 100.0 if longest else -100.0
    order, length, exact = extreme_path(weight, free(30), start=start, longest=longest)
    assert not exact
    assert order[0] == 7
    assert length == pytest.approx(path_length(weight, order) + start[7])
    bound = path_bound(weight, start=start, longest=longest)
    assert (bound - length if longest else length - bound) >= -1e-9


def test_a_clock_that_is_over_still_gets_a_path():
    weight = symmetric(80, 0)
    order, length, _ = extreme_path(weight, free(80), clock=Clock(1e-9))
    assert sorted(order) == list(range(80))
    assert length > path_length(weight, np.arange(80))


@settings(max_examples=30, deadline=None)
@given(size=st.integers(3, 8), seed=st.integers(0, 10**6))
def test_relabelling_tasks_relabels_the_path(size, seed):
    weight = symmetric(size, seed)
    new = np.random.default_rng(seed).permutation(size)
    order = extreme_path(weight, free(size))[0]
    renamed = new[extreme_path(weight[np.ix_(new, new)], free(size))[0]]
    assert renamed.tolist() in (order.tolist(), order[::-1].tolist())


def test_the_better_direction_is_taken_and_said():
    C = 1 - np.abs(symmetric(5, 2)) / 3
    tasks = np.arange(5)
    ahead, note = path_rule(C, tasks, free(5), lambda p: float(p[0]))
    back, _ = path_rule(C, tasks, free(5), lambda p: -float(p[0]))
    assert ahead.tolist() == back[::-1].tolist()
    assert ahead[0] < back[0]
    assert "of its two directions the one with the smaller error was taken" in note


def test_a_fixed_direction_is_said():
    C = 1 - np.abs(symmetric(5, 2)) / 3
    order, note = path_rule(C, np.arange(5), closure(5, [(0, 1)], "ABCDE"), lambda p: 0.0)
    assert order.tolist().index(0) < order.tolist().index(1)
    assert note.endswith("its direction is fixed by the constraints")
    order, note = path_rule(C, np.array([0, 1, 3]), free(3), lambda p: 0.0, after=4)
    assert note.endswith("its direction is fixed: it continues from the last learned task")
    steps = [
        1 - C[4, [0, 1, 3][p[0]]] + path_length(1 - C[np.ix_([0, 1, 3], [0, 1, 3])], np.array(p))
        for p in itertools.permutations(range(3))
    ]
    assert f"length {max(steps):.6g}" in note


def test_an_asymmetric_matrix_counts_as_its_symmetric_part():
    C = np.array([[1, 0.1, 0.9], [0.3, 1, 0.4], [0.5, 0.8, 1]])
    symmetric_part = (C + C.T) / 2
    answers = [path_rule(M, np.arange(3), free(3), lambda p: 0.0) for M in (C, symmetric_part)]
    assert answers[0][0].tolist() == answers[1][0].tolist()
    assert answers[0][1] == answers[1][1]


def test_copies_keep_their_order_in_both_directions():
    tasks = np.array([0, 1, 2, 0])
    C = np.array([[1, 0.1, 0.2], [0.1, 1, 0.3], [0.2, 0.3, 1]])
    precedes = closure(4, [(0, 3)], "ABCA")
    seen = []
    path_rule(C, tasks, precedes, lambda p: seen.append(p.tolist()) or 0.0)
    assert len(seen) == 2
    assert tasks[seen[0]].tolist() == tasks[seen[1]][::-1].tolist()
    assert all(order.index(0) < order.index(3) for order in seen)


@pytest.mark.parametrize("size", [0, 1, 2])
def test_tiny_sizes(size):
    order, note = path_rule(np.eye(size), np.arange(size), free(size), lambda p: 0.0, longest=False)
    assert order.tolist() == list(range(size))
    assert "shortest path" in note
    assert path_bound(np.zeros((size, size))) == 0
