import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder.machine import one_blas_thread
from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import prove
from taskorder.ordering.listing import all_orders
from taskorder.ordering.optimum import best_listed, minimize

from .test_exact import problem_of


def weak(size, seed, strength, signed):
    """Weak coupling: every pair about equally similar, or of either sign."""
    noise = np.random.default_rng(seed).uniform(-1.0 if signed else 0.2, 1.0, (size, size))
    upper = np.triu(strength * noise, 1)
    return upper + upper.T + np.eye(size)


def tightened(problem, goal, common):
    """Bound and prices of the root: (with one multiplier, with one for each visit, its front, its back)."""
    from taskorder.ordering.kernels.bound import NEVER, price_children, row_bound
    from taskorder.ordering.kernels.simd import padded
    from taskorder.ordering.kernels.task_multipliers import tighten

    n = problem.size
    w = padded(n)
    X, K, x, s = np.zeros((n, w)), np.zeros((n, w)), np.zeros(w), np.zeros(w)
    front, back = np.zeros(n), np.zeros(n)
    r, h = problem.r[0], problem.h[0]
    C, G = (np.pad(table, ((0, 0), (0, w - n))) for table in (problem.C, problem.G))
    value, common = row_bound(r, h, C, G, n, common, 30, 1e-3, goal - problem.e, X, K, x, s)
    price_children(r, C, n, X, x, front, back, NEVER, np.zeros((2, w)))
    before = problem.e + value
    after = tighten(
        problem.e, r, h, C, G, n, before, goal, common, np.zeros(n), False, np.zeros(n), front, back,
        X, x, (X * X).sum(axis=0), K, np.zeros((8, w)), np.zeros(3, np.int64),
    )  # fmt: skip
    return before, after, front, back


@given(
    st.integers(5, 7), st.integers(0, 10**6), st.floats(0.02, 0.9), st.booleans(), st.floats(0.7, 1.5), st.booleans()
)
def test_no_order_is_below_both_the_goal_and_the_tighter_bound(size, seed, strength, signed, stretch, negate):
    problem = problem_of(weak(size, seed, strength, signed), repair=True)
    problem = problem.negated() if negate else problem
    orders = all_orders(size)
    errors = problem.errors(orders)
    low = float(errors.min())
    goal = low + (stretch - 0.8) * (float(np.median(errors)) - low)
    before, after, front, back = tightened(problem, goal, problem.multiplier)
    if before >= goal:
        return
    slack = 1e-9 * (abs(low) + abs(problem.e))
    assert after >= before
    assert (errors >= min(after, goal) - slack).all()
    for j in range(size):
        assert (errors[orders[:, 0] == j] >= min(after + front[j], goal) - slack).all()
        assert (errors[orders[:, -1] == j] >= min(after + back[j], goal) - slack).all()


def test_weak_coupling_needs_few_nodes():
    z = np.random.default_rng(0).standard_normal((16, 64))
    covariance = 0.1 + 0.9 / 64 * z @ z.T + 0.05 * np.eye(16)
    scale = np.sqrt(np.diagonal(covariance))
    proof = minimize(problem_of(covariance / np.outer(scale, scale)), seed=0, clock=Clock(60))
    assert proof.complete
    assert proof.nodes < 100_000  # 662,142 with one multiplier


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_proofs_of_weak_coupling_equal_listing(seed, signed):
    problem = problem_of(weak(8, seed, 0.05 + 0.1 * seed, signed))
    worst_start = all_orders(8)[int(np.argmax(problem.errors(all_orders(8))))]
    for posed in (problem, problem.negated()):
        proof = prove(posed, worst_start, Clock(60))
        assert proof.complete
        assert proof.error == pytest.approx(best_listed(posed).error, rel=2e-9)


def test_every_blas_runs_on_one_thread():
    from threadpoolctl import ThreadpoolController

    with one_blas_thread():
        import scipy.linalg  # noqa: F401

        libraries = ThreadpoolController().select(user_api="blas").info()
        assert {library["num_threads"] for library in libraries} == {1}
