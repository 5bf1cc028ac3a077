"""The search kernel alone: what its slices leave open is taken up again, and bounds of that are true."""

import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE, prove
from taskorder.ordering.groups import group_masks
from taskorder.ordering.listing import all_orders
from taskorder.ordering.optimum import allowed, best_listed
from taskorder.ordering.precedence import masks
from taskorder.ordering.problem import open_problem
from taskorder.ordering.symmetry import symmetries

from .questions import correlation, questions
from .test_exact import problem_of


def branched(problem, starts, floors, best, limit, shallow, enough, late=False):
    """(best error, its order, open nodes, bounds below these) of one call of the kernel."""
    from taskorder.ordering.kernels.branch import Effort, Whole, branch

    precedes, images = symmetries(problem)
    directions, order = np.sign(images - np.arange(problem.size)).astype(np.int8), np.empty(problem.size, np.int64)
    whole = Whole(
        problem.e,
        problem.r,
        problem.h,
        problem.C,
        problem.G,
        *masks(precedes),
        directions,
        group_masks(None, problem.size),
    )
    multipliers = np.full(len(problem.r), problem.multiplier)
    best, _, left, bounds = branch(
        whole, starts, floors, best, order, RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE * abs(problem.e), multipliers,
        Effort(limit, shallow, enough, np.array([late])),
    )  # fmt: skip
    return best, order, left, bounds


def searched(problem, start, limit):
    """(error, order) by the kernel alone: what a slice leaves open is taken up again, lowest bound first."""
    best, order = problem.error(start), start.copy()
    pool = [(-np.inf, np.zeros(problem.size + 2, np.int8).tobytes())]
    while pool:
        batch = [heapq.heappop(pool) for _ in range(min(3, len(pool)))]
        floors, nodes = np.array([low for low, _ in batch]), np.frombuffer(b"".join(node for _, node in batch), np.int8)
        before = best
        best, leaf, left, bounds = branched(problem, nodes.reshape(len(batch), -1), floors, best, limit, 2, 2 * limit)
        order = leaf if best < before else order
        for low, row in zip(bounds.tolist(), left, strict=True):
            heapq.heappush(pool, (low, row.tobytes()))
    return best, order


@given(questions(min_size=4, max_size=7), st.sampled_from([1, 7, 10**6]))
def test_a_search_in_slices_equals_enumeration(question, limit):
    similarity, options = question
    problem = problem_of(similarity, **options)
    orders = allowed(all_orders(problem.size), problem.precedes)
    for posed in (problem, problem.negated()):
        errors = posed.errors(orders)
        best, order = searched(posed, orders[int(np.argmax(errors))], limit)
        assert best == pytest.approx(float(errors.min()), rel=2e-9, abs=2e-12 * abs(posed.e))
        assert posed.error(order) == pytest.approx(best, rel=1e-9, abs=1e-12 * abs(posed.e))
        assert (orders == order).all(axis=1).any()


def test_the_worst_order_where_there_is_no_bound():
    upper = np.triu(np.random.default_rng(0).uniform(-1, -0.8, (6, 6)), 1)
    nothing, every, orders = np.zeros((6, 6), bool), np.arange(6), all_orders(6)
    problem = open_problem(upper + upper.T + np.eye(6), None, np.ones(6), every[:0], every, nothing).negated()
    errors = problem.errors(orders)
    assert np.linalg.eigvalsh(problem.C + np.eye(6)).min() < 0
    best, _ = searched(problem, orders[int(np.argmax(errors))], 7)
    assert best == pytest.approx(float(errors.min()), rel=1e-9)


@given(st.integers(5, 7), st.integers(0, 10**6), st.integers(1, 20))
@pytest.mark.slow("sizes")
def test_bounds_of_what_is_left_open_are_true(size, seed, limit):
    """Also where the nodes of a batch come with floors of their own."""
    problem, orders = problem_of(correlation(size, seed)), all_orders(size)
    errors = problem.errors(orders)
    ways = [np.append([1, 0], orders[orders[:, 0] == a][0]).astype(np.int8) for a in range(size)]
    floors = np.array([errors[orders[:, 0] == a].min() for a in range(size)])
    starts = np.argsort(-floors)
    known = np.where(np.arange(size) < 2, floors[starts], -np.inf)
    _, _, left, bounds = branched(problem, np.array(ways)[starts], known, 2 * errors.max(), limit, size, 10**6)
    for low, (begun, ended, *order) in zip(bounds.tolist(), left.tolist(), strict=True):
        same = (orders[:, :begun] == order[:begun]).all(axis=1)
        same &= (orders[:, size - ended :] == order[size - ended :]).all(axis=1)
        assert low <= errors[same].min() * (1 + 1e-9)


def weak(size, seed, strength, signed):
    """Weak coupling: every pair about equally similar, or of either sign."""
    noise = np.random.default_rng(seed).uniform(-1.0 if signed else 0.2, 1.0, (size, size))
    upper = np.triu(strength * noise, 1)
    return upper + upper.T + np.eye(size)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_proofs_of_weak_coupling_equal_listing(seed, signed):
    problem = problem_of(weak(8, seed, 0.05 + 0.1 * seed, signed))
    worst_start = all_orders(8)[int(np.argmax(problem.errors(all_orders(8))))]
    for posed in (problem, problem.negated()):
        proof = prove(posed, worst_start, Clock(60))
        assert proof.complete
        assert proof.error == pytest.approx(best_listed(posed).error, rel=2e-9)


def test_weak_coupling_of_sixteen_tasks_is_proven_by_the_bound():
    z = np.random.default_rng(0).standard_normal((16, 64))
    covariance = 0.1 + 0.9 / 64 * z @ z.T + 0.05 * np.eye(16)
    scale = np.sqrt(np.diagonal(covariance))
    proof = prove(problem_of(covariance / np.outer(scale, scale)), np.arange(16), Clock(60), max_nodes=2_000_000)
    assert proof.complete  # there are 2e13 orders
