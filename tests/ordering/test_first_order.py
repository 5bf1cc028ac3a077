"""The first-order rule against listing, and its local search against the exact answer."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import quadratic_assignment

from taskorder.constraints import closure
from taskorder.ordering import first_order
from taskorder.ordering.clock import Clock
from taskorder.ordering.first_order import coefficients, first_order_rule, objective
from taskorder.ordering.kernels import assignment
from taskorder.ordering.precedence import respects
from taskorder.theory.perturbation import perturbation


def free(size):
    return np.zeros((size, size), dtype=bool)


def similarity(size, seed, mean=0.3):
    rows = np.random.default_rng(seed).standard_normal((size, 5))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    C = mean + (1 - mean) * rows @ rows.T
    np.fill_diagonal(C, 1.0)
    return C


def random_dag(size, seed, density):
    rng = np.random.default_rng(seed)
    names = rng.permutation(size)
    pairs = [(names[a], names[b]) for a, b in itertools.combinations(range(size), 2) if rng.random() < density]
    return closure(size, pairs, [str(i) for i in range(size)])


def best_listed(C, precedes, rho_out, learned):
    """The least objective over all allowed orders, written plainly."""
    tasks = [t for t in range(len(C)) if t not in learned]
    coefficient = coefficients(C, rho_out)
    values = []
    for p in itertools.permutations(range(len(tasks))):
        if respects(np.array(p, dtype=int), precedes):
            full = [*learned, *(tasks[i] for i in p)]
            pairs = itertools.combinations(range(len(C)), 2)
            values.append(sum(coefficient[i, j] * C[full[i], full[j]] for i, j in pairs))
    return min(values)


@settings(max_examples=40, deadline=None)
@given(
    size=st.integers(1, 7),
    seed=st.integers(0, 10**6),
    mean=st.sampled_from([-0.1, 0.0, 0.3, 0.95]),
    rho_out=st.sampled_from([1.0, 0.4]),
    density=st.sampled_from([0.0, 0.3]),
    num_learned=st.integers(0, 2),
)
def test_equals_listing(size, seed, mean, rho_out, density, num_learned):
    C = similarity(size, seed, mean)
    learned = np.random.default_rng(seed).permutation(size)[:num_learned]
    precedes = random_dag(size - len(learned), seed, density)
    kept = C.copy(), precedes.copy()
    tasks = np.setdiff1d(np.arange(size), learned)
    order, value, exact = first_order_rule(C, tasks, precedes, rho_out=rho_out, learned=learned)
    assert exact
    assert sorted(order) == list(range(len(precedes)))
    assert respects(order, precedes)
    assert value == pytest.approx(best_listed(C, precedes, rho_out, learned.tolist()), abs=1e-9)
    assert np.array_equal(C, kept[0])
    assert (precedes == kept[1]).all()


@pytest.mark.parametrize("rank", [2, 3])
def test_listing_cuts_no_branch_too_early_when_similarities_have_both_signs(rank):
    """A bound that is a little too high goes wrong in one matrix of a hundred: many, of four tasks."""
    for seed in range(150):
        rows = np.random.default_rng(seed).standard_normal((4, rank))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        C = rows @ rows.T
        np.fill_diagonal(C, 1.0)
        _, value, exact = first_order_rule(C, np.arange(4), free(4))
        assert exact
        assert value == pytest.approx(best_listed(C, free(4), 1.0, []), abs=1e-9), seed


def test_coefficients_are_those_at_the_mean_similarity():
    C = similarity(6, 1)
    mean = np.mean([C[i, j] for i, j in itertools.combinations(range(6), 2)])
    np.testing.assert_allclose(coefficients(C, 0.4), perturbation(6, mean, 0.4).coefficient, rtol=1e-12)
    assert abs(coefficients(C, 0.4) - perturbation(6, mean + 0.01, 0.4).coefficient).max() > 1e-3


@settings(max_examples=15, deadline=None)
@given(size=st.integers(2, 7), seed=st.integers(0, 10**6))
def test_relabelling_tasks_relabels_the_order(size, seed):
    C, precedes = similarity(size, seed), random_dag(size, seed, 0.1)
    new = np.random.default_rng(seed).permutation(size)
    order, value, _ = first_order_rule(C, np.arange(len(C)), precedes)
    renamed, same, _ = first_order_rule(C[np.ix_(new, new)], np.arange(size), precedes[np.ix_(new, new)])
    assert same == pytest.approx(value, abs=1e-10)
    # Two tasks play alike when only their mutual similarity counts: a tie by symmetry.
    if size > 2:
        assert new[renamed].tolist() == order.tolist()


@pytest.mark.parametrize("density", [0.0, 0.1])
def test_local_search_finds_the_exact_answer_at_small_sizes(monkeypatch, density):
    misses = 0
    for seed in range(8):
        C, precedes = similarity(8, seed), random_dag(8, seed, density)
        best = first_order_rule(C, np.arange(len(C)), precedes)[1]
        with monkeypatch.context() as patch:
            patch.setattr(first_order, "EXACT_SWAPS", 7)
            patch.setattr(first_order, "SWAP_BUDGET", 1_000_000)
            order, value, exact = first_order_rule(C, np.arange(len(C)), precedes)
        assert not exact
        assert respects(order, precedes)
        assert value >= best - 1e-10
        misses += value > best + 1e-9
    assert misses <= 1


@pytest.mark.parametrize("learned", [None, np.array([5, 2])])
def test_larger_sizes_are_allowed_reproducible_and_beat_their_starts(monkeypatch, learned):
    monkeypatch.setattr(first_order, "SWAP_BUDGET", 20_000_000)
    C = similarity(40, 1)
    size = 40 if learned is None else 38
    precedes = random_dag(size, 3, 0.03)
    done = [] if learned is None else learned.tolist()
    tasks = np.setdiff1d(np.arange(40), done)
    order, value, exact = first_order_rule(C, tasks, precedes, learned=learned, seed=7)
    assert not exact
    assert sorted(order) == list(range(size))
    assert respects(order, precedes)
    assert order.tolist() == first_order_rule(C, tasks, precedes, learned=learned, seed=7)[0].tolist()
    typical = tasks[first_order.ascending(first_order.typicality(C)[tasks], precedes)]
    assert value < objective(C - np.eye(40), coefficients(C), np.array([*done, *typical], dtype=int))


@pytest.mark.parametrize("seed", range(3))
def test_not_worse_than_the_relaxation_of_scipy(monkeypatch, seed):
    monkeypatch.setattr(first_order, "SWAP_BUDGET", 20_000_000)
    C = similarity(30, seed)
    S, coefficient = C - np.eye(30), coefficients(C)
    options = {"rng": np.random.default_rng(0)}
    relaxed = quadratic_assignment(coefficient + coefficient.T, S, method="faq", options=options).col_ind
    assert first_order_rule(C, np.arange(30), free(30))[1] <= objective(S, coefficient, relaxed)


def test_a_clock_that_is_over_still_gets_an_order():
    order, _, _ = first_order_rule(similarity(30, 0), np.arange(30), free(30), clock=Clock(1e-9))
    assert sorted(order) == list(range(30))


def test_kernels_equal_plain_python():
    C = similarity(6, 0)
    S = C - np.eye(6)
    flow = coefficients(C) + coefficients(C).T
    linear = np.random.default_rng(0).standard_normal((6, 6))
    order = np.array([3, 1, 5, 0, 2, 4])

    def value(p):
        return (flow * S[np.ix_(p, p)]).sum() / 2 + linear[np.arange(6), p].sum()

    for r, s in itertools.combinations(range(6), 2):
        swapped = order.copy()
        swapped[[r, s]] = swapped[[s, r]]
        delta = assignment.swap_delta(flow, linear, S[np.ix_(order, order)], order, r, s)
        assert delta == pytest.approx(value(swapped) - value(order), abs=1e-12)
    for r in range(6):
        change, target, _ = assignment.best_insertion(flow, linear, S[np.ix_(order, order)], order, free(6), r, 0.0)
        moved = [np.insert(np.delete(order, r), t, order[r]) for t in range(6)]
        assert change == pytest.approx(min(value(p) for p in moved) - value(order), abs=1e-12)
        assert target == np.argmin([value(p) for p in moved])
    fast, plain = order.copy(), order.copy()
    gain, *_ = assignment.descend(flow, linear, S, fast, free(6), 1e-12, 0, 0, 10**6)
    assignment.descend.py_func(flow, linear, S, plain, free(6), 1e-12, 0, 0, 10**6)
    assert fast.tolist() == plain.tolist()
    assert value(order) - gain == pytest.approx(value(fast), abs=1e-12)


@pytest.mark.parametrize("size", [0, 1, 2])
def test_tiny_sizes_and_ties(size):
    order, value, exact = first_order_rule(np.eye(size), np.arange(size), free(size))
    assert order.tolist() == list(range(size))
    assert value == 0
    assert exact


def test_constant_similarity_ties_everywhere():
    assert first_order_rule(np.ones((5, 5)), np.arange(5), free(5))[0].tolist() == [0, 1, 2, 3, 4]
    assert first_order_rule(np.full((5, 5), 0.3) + 0.7 * np.eye(5), np.arange(5), free(5))[0].tolist() == [
        0,
        1,
        2,
        3,
        4,
    ]


def test_runaway_coefficients_are_refused():
    C = np.full((2000, 2000), -0.5)
    with pytest.raises(
        ValueError, match="`similarity` must have a mean near or above 0 for rule first-order with 2000"
    ):
        first_order_rule(C, np.arange(2000), free(2000))
