import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskorder import ring
from taskorder.ordering.clock import Clock
from taskorder.ordering.kernels.half_orders import endings, prefixes
from taskorder.ordering.kernels.vector_pairs import best_pair, measure, moments
from taskorder.ordering.listing import all_errors
from taskorder.ordering.meet_in_the_middle import Middle, balance, prefix_sets, prove_by_halves
from taskorder.ordering.optimum import best_listed

from .questions import correlation, questions
from .test_exact import feasible, problem_of


def assert_same_optimum(problem):
    proof = prove_by_halves(problem, feasible(problem), Clock(60))
    best = best_listed(problem)
    assert proof.complete
    assert proof.error == pytest.approx(best.error, rel=1e-8, abs=1e-11 * abs(problem.e))
    assert problem.error(proof.order) == pytest.approx(proof.error, rel=1e-9, abs=1e-12)
    assert not np.tril(problem.precedes[np.ix_(proof.order, proof.order)]).any()


@given(questions(min_size=1), st.booleans())
def test_the_middle_equals_listing(question, general):
    similarity, options = question
    if general:
        options["output"] = correlation(len(similarity), 7)
    problem = problem_of(similarity, **options)
    assert_same_optimum(problem)
    assert_same_optimum(problem.negated())


@settings(max_examples=30)
@given(st.integers(3, 7), st.integers(0, 10**6), st.sampled_from([1.0, 0.9, 0.0]))
def test_duplicates_and_plain_outputs_equal_listing(size, seed, shared):
    """Twins (equal rows), and output similarities with large symmetry groups."""
    similarity = correlation(size, seed)
    copies = np.sort(np.random.default_rng(seed).integers(size, size=size))
    similarity = similarity[np.ix_(copies, copies)]
    output = shared + (1 - shared) * np.eye(size)
    problem = problem_of(similarity, output=output)
    assert_same_optimum(problem)
    assert_same_optimum(problem.negated())


@pytest.mark.parametrize("output", [correlation(10, 1), np.eye(10), 0.9 + 0.1 * np.eye(10), None])
def test_ten_visits_equal_listing(output):
    problem = problem_of(correlation(10, 0), output=output)
    errors = all_errors(problem)
    for sign, posed in ((1, problem), (-1, problem.negated())):
        proof = prove_by_halves(posed, np.arange(10), Clock(60))
        assert proof.complete
        assert proof.error == pytest.approx(float((sign * errors).min()), rel=1e-9)
        assert proof.nodes < len(errors) / 20


def test_symmetric_sets_are_searched_once():
    problem = problem_of(ring(9, 0.6), output=0.5 + 0.5 * np.eye(9))
    proof = prove_by_halves(problem, np.arange(9), Clock(60))
    assert proof.error == pytest.approx(float(all_errors(problem).min()), rel=1e-9)
    rotations = (np.arange(9) + np.arange(1, 9)[:, None]) % 9
    assert len(prefix_sets(problem.precedes, rotations, 5)) == 14  # 126 sets, none with a rotation onto itself


def test_sets_keep_what_must_come_first():
    precedes = np.zeros((4, 4), bool)
    precedes[0, 1] = precedes[2, 3] = True
    assert prefix_sets(precedes, np.zeros((0, 4), np.int64), 2).tolist() == [0b0011, 0b0101, 0b1100]


def test_the_answer_does_not_depend_on_the_number_of_threads(monkeypatch):
    problem = problem_of(correlation(11, 4), output=correlation(11, 5))
    answers = []
    for count in (1, 2, 5):
        monkeypatch.setenv("NPROC", str(count))
        proof = prove_by_halves(problem, np.arange(11), Clock(120))
        answers.append((proof.order.tolist(), proof.error, proof.nodes))
    assert answers[0] == answers[1] == answers[2]


def test_a_stopped_proof_keeps_an_honest_bound():
    problem = problem_of(correlation(13, 3), output=correlation(13, 4))
    proof = prove_by_halves(problem, np.arange(13), Clock(0.0), floor=0.1)
    assert not proof.complete
    assert proof.bound == 0.1
    assert proof.nodes > 0
    assert proof.error <= problem.error(np.arange(13))


def test_too_many_visits_are_left_to_others():
    problem = problem_of(correlation(17, 3), output=np.eye(17))
    proof = prove_by_halves(problem, np.arange(17), Clock(60))
    assert (proof.nodes, proof.bound, proof.complete) == (0, -np.inf, False)


def test_a_floor_at_the_start_is_a_proof():
    problem = problem_of(correlation(6, 3), output=np.eye(6))
    best = best_listed(problem)
    proof = prove_by_halves(problem, best.order, Clock(60), floor=best.error)
    assert proof.complete
    assert proof.nodes == 0


@given(st.integers(1, 8), st.integers(0, 1000), st.booleans())
def test_balanced_coordinates_spread_alike(dim, seed, flat):
    rng = np.random.default_rng(seed)
    K, Q = (np.cov(rng.standard_normal((dim, 3 * dim + 3))).reshape(dim, dim) for _ in range(2))
    if flat:
        K[0], K[:, 0] = 0.0, 0.0
    F, H = balance(K.copy(), Q.copy())
    np.testing.assert_allclose(F.T @ H, np.eye(dim), atol=1e-9)
    assert not np.tril(F, -1).any()
    assert not np.triu(H, 1).any()
    if not flat:  # the bound: mean square norms multiply to about (tr (K^1/2 Q K^1/2)^1/2)^2, the least there is
        product = np.trace(F @ K @ F.T) * np.trace(H @ Q @ H.T)
        least = np.sqrt(np.maximum(np.linalg.eigvals(K @ Q).real, 0)).sum() ** 2
        assert least <= product * (1 + 1e-9)
        assert product <= 1.5 * least


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 60), st.integers(1, 9), st.floats(0.0, 3.0))
def test_the_best_pair_is_the_least_of_all(seed, first, second, dim, spread):
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((first + second, dim)) * spread + rng.standard_normal(dim)
    u[rng.integers(first)] = u[0]
    value = rng.standard_normal(first + second)
    sums = value[:first, None] + value[first:] + u[:first] @ u[first:].T
    p, s, tried = best_pair(u, value, first, 1e9)
    assert sums[p, s - first] == pytest.approx(sums.min())
    assert 0 < tried <= sums.size
    assert best_pair(u, value, first, float(sums.min()) - 1e-9)[0] == -1


@settings(max_examples=25)
@given(st.integers(4, 8), st.integers(0, 10**6))
def test_beginnings_times_endings_are_errors_and_norms_bound_them(size, seed):
    problem = problem_of(correlation(size, seed), output=correlation(size, seed + 1, rank=3))
    middle = Middle.of(problem, problem.precedes)
    mask = int(prefix_sets(problem.precedes, np.zeros((0, size), np.int64), middle.early)[seed % 4])
    value, x, early, y, late = middle.buffers()
    inside = ((mask >> np.arange(size)) & 1).astype(bool)
    S, T = np.flatnonzero(inside), np.flatnonzero(~inside)
    num = prefixes(problem.e, middle.gram, middle.pull, problem.C, problem.G, middle.before, S, T, value, x, early)
    other_num = endings(problem.C, problem.G, middle.after, T, y, late)
    assert (num, other_num) == (len(value), len(y))
    x, y = x[:, middle.columns], y[:, middle.columns]
    orders = np.concatenate([np.repeat(early, other_num, axis=0), np.tile(late, (num, 1))], axis=1).astype(np.int64)
    np.testing.assert_allclose((value[:, None] + x @ y.T).ravel(), problem.errors(orders), rtol=1e-9, atol=1e-11)
    every = np.arange(x.shape[1])
    x_center, K = moments(x, num, every)
    y_center, Q = moments(y, other_num, every)
    F, H = balance(K, Q)
    norm, other_norm = np.empty(num, np.float32), np.empty(other_num, np.float32)
    measure(x, num, every, x_center, y_center, F, False, np.zeros(num), norm)
    measure(y, other_num, every, y_center, x_center, H, True, np.zeros(other_num), other_norm)
    np.testing.assert_allclose(norm / 1.002, np.linalg.norm((x - x_center) @ F.T, axis=1), rtol=5e-4, atol=1e-9)
    cross = (x - x_center) @ (y - y_center).T
    assert (np.abs(cross) <= np.multiply.outer(norm, other_norm).astype(np.float64) + 1e-12).all()
