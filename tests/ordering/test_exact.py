import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskorder import chain, leaves, ring, tree
from taskorder.ordering import optimum
from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import EFFORT, Proof, prove
from taskorder.ordering.listing import MAX_KEPT, all_errors, all_orders, order_at
from taskorder.ordering.optimum import allowed, best_listed, every_order, minimize, own_part, root_bound
from taskorder.ordering.solver_input import solver_input
from taskorder.ordering.symmetry import symmetries

from .questions import correlation, questions


def problem_of(similarity, **options):
    return solver_input(similarity, **options, retention=1).problem()


def feasible(problem):
    return np.array(sorted(range(problem.size), key=lambda visit: problem.precedes[:, visit].sum()))


@given(questions(min_size=2))
def test_branch_and_bound_equals_listing(question):
    similarity, options = question
    problem = problem_of(similarity, **options)
    for posed in (problem, problem.negated()):
        proof = prove(posed, feasible(posed), Clock(60))
        errors = posed.errors(allowed(all_orders(posed.size), posed.precedes))
        assert proof.complete
        assert proof.error == pytest.approx(float(errors.min()), rel=2e-9, abs=2e-12 * abs(posed.e))
        assert posed.error(proof.order) == pytest.approx(proof.error, rel=1e-9, abs=1e-12 * abs(posed.e))
        assert not np.tril(posed.precedes[np.ix_(proof.order, proof.order)]).any()


@given(questions(min_size=2))
def test_root_bound_is_below_every_order(question):
    similarity, options = question
    problem = problem_of(similarity, **options)
    for posed in (problem, problem.negated()):
        errors = posed.errors(allowed(all_orders(posed.size), posed.precedes))
        assert root_bound(posed) <= errors.min() + 1e-9 * abs(posed.e)


@pytest.mark.parametrize("size", [5, 9, 20])
@pytest.mark.parametrize("weights", ["equal", "unequal"])
def test_root_bound_is_the_best_over_all_multipliers(size, weights):
    weight = np.random.default_rng(size).uniform(0.1, 3, size) if weights == "unequal" else None
    problem = problem_of(correlation(size, 2), weights=weight)
    bounds = []
    for lam in problem.multiplier * 10.0 ** np.linspace(-3, 3, 121):
        b = problem.h + 0.5 * lam * problem.r
        K = problem.G + 0.5 * lam * (problem.C + np.eye(size))
        if np.linalg.eigvalsh(K)[0] > 0:
            bounds.append(problem.e - float((b.T * np.linalg.solve(K, b.T)).sum()))
    assert root_bound(problem) >= max(bounds) - 1e-9 * problem.e
    assert max(bounds) > min(bounds) + 1e-3 * problem.e


@pytest.mark.parametrize("size", [1, 4, MAX_KEPT + 1])
def test_every_order_is_listed_once_and_the_list_stays_as_it_is(size):
    orders = all_orders(size)
    assert [tuple(order) for order in orders.tolist()] == list(itertools.permutations(range(size)))
    assert not orders.flags.writeable
    assert (all_orders(size) is orders) == (size <= MAX_KEPT)
    listed = every_order(problem_of(np.eye(size)))
    listed[:] = 0  # what solvers get is their own
    assert [tuple(order) for order in all_orders(size).tolist()] == list(itertools.permutations(range(size)))


@given(questions(min_size=2, max_size=6))
def test_listing_kernels_equal_the_plain_recursion(question):
    similarity, options = question
    problem = problem_of(similarity, **options)
    orders = all_orders(problem.size)
    np.testing.assert_allclose(all_errors(problem), problem.errors(orders), rtol=1e-9, atol=1e-12 * problem.e)
    assert all((order_at(i, problem.size) == row).all() for i, row in enumerate(orders))


@pytest.mark.parametrize("num_rows", [1, 9])
def test_listing_in_threads_equals_the_plain_recursion(num_rows):
    output = None if num_rows == 1 else correlation(10, 5)
    problem = problem_of(correlation(10, 4), output=output)
    errors = all_errors(problem)
    picks = np.random.default_rng(0).integers(len(errors), size=300)
    orders = np.array([order_at(int(i), 10) for i in picks])
    np.testing.assert_allclose(errors[picks], problem.errors(orders), rtol=1e-9)


def test_listing_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="at most 11 open tasks"):
        all_errors(problem_of(chain(12, 0.5)))


@pytest.mark.parametrize(
    ("matrix", "count"),
    [(chain(6, 0.7), 1), (ring(7, 0.7), 13), (ring(8, 0.6), 15), (tree(7, 0.6), 1), (leaves(8, 0.8), 7)],
)
def test_symmetries_of_graphs(matrix, count):
    """Without the exchange of twins: chain 2, ring 2 P, and for the trees only swaps of whole branches remain."""
    problem = problem_of(matrix)
    _, images = symmetries(problem)
    assert len(images) == count
    for image in images:
        np.testing.assert_allclose(matrix[np.ix_(image, image)], matrix, atol=1e-12)
        assert sorted(image) == list(range(len(matrix)))


def test_groups_of_many_twins_trade_places_as_a_whole():
    """Maps that begin with subsets of twins were grown until no room was left for this one, for seconds."""
    matrix = np.kron(np.eye(2), np.ones((16, 16))) * 0.5 + 0.2 + 0.3 * np.eye(32)
    _, images = symmetries(problem_of(matrix))
    assert images.tolist() == [[*range(16, 32), *range(16)]]


def test_symmetries_end_with_the_clock():
    problem, late = problem_of(ring(7, 0.7)), Clock(0.0)
    precedes, images = symmetries(problem, late)
    assert (precedes.any(), images.shape) == (False, (0, 7))
    assert len(symmetries(problem, Clock(60.0))[1]) == 13


def test_twins_are_tasks_that_may_trade_places():
    problem = problem_of(leaves(4, 0.7))
    precedes, _ = symmetries(problem)
    assert np.argwhere(precedes).tolist() == [[0, 1], [2, 3]]
    precedes, _ = symmetries(problem_of(leaves(4, 0.7), before=[(0, 2)]))
    assert np.argwhere(precedes).tolist() == [[0, 2]]


@pytest.mark.parametrize("matrix", [ring(9, 0.6), leaves(9, 0.8), tree(9, 0.7), np.full((9, 9), 0.3) + 0.7 * np.eye(9)])
def test_symmetric_matrices_are_still_solved_exactly(matrix):
    problem = problem_of(matrix)
    proof = prove(problem, np.arange(9), Clock(60))
    assert proof.complete
    assert proof.error == pytest.approx(float(all_errors(problem).min()), rel=1e-9)


def test_the_answer_does_not_depend_on_the_number_of_threads(monkeypatch):
    problem = problem_of(chain(13, 0.6))
    answers = []
    for count in (1, 2, 5):
        monkeypatch.setenv("NPROC", str(count))
        proof = prove(problem, np.arange(13), Clock(120))
        answers.append((proof.order.tolist(), proof.error, proof.nodes))
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.slow("sizes")
def test_a_stopped_proof_keeps_an_honest_bound():
    problem = problem_of(correlation(40, 3))
    start, floor = np.arange(40), root_bound(problem)
    proof = prove(problem, start, Clock(0.3), floor)
    assert not proof.complete
    assert 0 < floor <= proof.bound < proof.error <= problem.error(start)


@pytest.mark.parametrize("learned", [(0, 1), (0,)], ids=["nothing", "one visit"])
def test_nothing_to_choose_is_proven_at_once(learned):
    problem = problem_of(chain(2, 0.5), learned=learned)
    proof = prove(problem, np.arange(problem.size), Clock(60))
    assert proof.complete
    assert proof.order.tolist() == list(range(problem.size))
    assert proof.error == pytest.approx(problem.error(proof.order), rel=1e-12)


def test_a_bound_that_meets_the_error_to_rounding_is_a_proof():
    problem = problem_of(correlation(9, 6))
    best = best_listed(problem)
    met = prove(problem, best.order, Clock(60), best.error * (1 - 1e-10))
    assert (met.complete, met.nodes) == (True, 0)
    missed = prove(problem, best.order, Clock(60), best.error * (1 - 1e-6), max_nodes=0)
    assert (missed.complete, missed.bound) == (False, best.error * (1 - 1e-6))


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_independent_blocks_are_solved_apart(seed):
    block = np.kron(np.eye(2), np.ones((5, 5)))
    shuffle = np.random.default_rng(seed).permutation(10)
    matrix = (np.kron(np.eye(2), correlation(5, seed)) * block)[np.ix_(shuffle, shuffle)]
    problem = problem_of(matrix)
    proof = minimize(problem, seed=0, clock=Clock(60))
    assert proof.complete
    assert sorted(proof.order) == list(range(10))
    assert proof.error == pytest.approx(2 * best_listed(problem_of(correlation(5, seed))).error, rel=1e-8, abs=1e-10)
    assert problem.error(proof.order) == pytest.approx(proof.error, rel=1e-9, abs=1e-12)


def test_a_part_that_takes_long_leaves_time_for_the_others(monkeypatch):
    """The first of them used to take all of it, and the others got the best of a dozen simple orders."""
    had, whole = [], Clock(600)

    def slow(part, seed, clock, limit):
        had.append(clock.left)
        whole.compiling -= clock.left  # as if it had passed
        clock.report(part.error(np.arange(4)), -np.inf)
        return Proof(np.arange(4), part.error(np.arange(4)), -np.inf, 1)

    monkeypatch.setattr(optimum, "_minimize_part", slow)
    proof = minimize(problem_of(np.kron(np.eye(3), correlation(4, 1))), seed=0, clock=whole)
    assert sorted(proof.order) == list(range(12))
    assert not proof.complete
    assert len(had) == 6
    assert max(had[:3]) <= 20
    assert min(had[3:]) > 150
    assert whole.cut


def test_parts_that_were_cut_short_at_first_and_then_proven_are_not_cut_short(monkeypatch):
    calls = []

    def slow_at_first(part, seed, clock, limit):
        calls.append(clock)
        error = part.error(np.arange(4))
        if len(calls) <= 2:
            clock.stopped = True
            clock.report(error, -np.inf)
        return Proof(np.arange(4), error, error if len(calls) > 2 else -np.inf, 1)

    monkeypatch.setattr(optimum, "_minimize_part", slow_at_first)
    clock = Clock(600)
    proof = minimize(problem_of(np.kron(np.eye(2), correlation(4, 1))), seed=0, clock=clock)
    assert [call.cut for call in calls] == [True, True, False, False]
    assert proof.complete
    assert not clock.cut


def test_a_part_has_as_much_error_as_it_can_take_away():
    problem = problem_of(np.kron(np.eye(2), correlation(4, 1)), weights=np.arange(1.0, 9.0))
    part = own_part(problem, np.arange(4), Clock(60))
    gains = [problem.e - problem.part(np.arange(4)).error(order) for order in all_orders(4)]
    assert part.e == pytest.approx(float((part.h @ np.linalg.inv(part.G) @ part.h.T).sum()), rel=1e-9)
    assert part.e >= max(gains)
    assert part.e - part.error(np.arange(4)) == pytest.approx(gains[0], rel=1e-9)


@pytest.mark.parametrize("late", [True, False], ids=["found late", "found early"])
def test_a_long_proof_keeps_the_better_of_its_order_and_what_searches_find(monkeypatch, late):
    problem = problem_of(chain(17, 0.7))
    bad, good = np.arange(17), minimize(problem, seed=0, clock=Clock(60)).order
    asked = []

    def search(problem, *, seed, effort, **others):
        asked.append((seed, effort))
        return good if late else bad

    monkeypatch.setattr("taskorder.ordering.search_groups.search_order", search)
    monkeypatch.setattr("taskorder.ordering.exact.PATIENCE", -1.0)
    monkeypatch.setattr("taskorder.ordering.exact.POLISHED", 17)
    monkeypatch.setattr("taskorder.ordering.exact.MIN_SLICE", 1)
    proof = prove(problem, bad if late else good, Clock(60), max_nodes=1, seed=5)
    assert sorted(asked) == [(5, EFFORT), (6, EFFORT)]
    assert problem.error(good) < problem.error(bad)
    assert not proof.complete
    assert proof.error == pytest.approx(problem.error(good), rel=1e-9)


@pytest.mark.parametrize("near", [True, False], ids=["near", "far"])
def test_only_a_proof_that_is_far_off_is_interrupted_by_searches(monkeypatch, near):
    problem, asked = problem_of(chain(17, 0.7)), []

    def search(problem, **others):
        asked.append(others["seed"])
        return np.arange(17)

    monkeypatch.setattr("taskorder.ordering.search_groups.search_order", search)
    monkeypatch.setattr("taskorder.ordering.exact.PATIENCE", 1e-9)
    monkeypatch.setattr("taskorder.ordering.exact.GRACE", np.inf)
    monkeypatch.setattr("taskorder.ordering.exact.NEAR", 2.0 if near else 0.0)
    prove(problem, np.arange(17), Clock(60), floor=0.0, max_nodes=2000, seed=5)
    assert sorted(asked) == ([] if near else [5, 6])
