"""Three ways to the same errors: the plain loop, the Gram form, and the converged limit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder import error_path, random_correlation
from taskorder.linear import residual_descent
from taskorder.linear.random_tasks import LinearTasks, Sizes, sample_tasks
from taskorder.linear.residual_descent import boundary_errors, trajectories
from taskorder.linear.simulate import progress_of

from .weight_descent import converge, descend, errors

SIZES = Sizes(num_latent=5, num_inputs=60, num_outputs=3)
RATE = 0.04  # times N_x / N_s = 12: every eigenvalue converges, at different speeds


@st.composite
def situations(draw) -> tuple[LinearTasks, list[int]]:
    """Random tasks, with and without an output similarity, in full or in few axes, and any visits of them."""
    P = draw(st.integers(1, 5))
    seed = draw(st.integers(0, 10**6))
    C = random_correlation(P, seed=seed)
    Co = random_correlation(P, seed=seed + 1) if draw(st.booleans()) else None
    tasks = sample_tasks(C, Co, SIZES, seed=seed, small=draw(st.booleans()))
    return tasks, draw(st.lists(st.integers(0, P - 1), min_size=1, max_size=6))


@given(situations(), st.integers(1, 30))
def test_trajectories_equal_the_plain_loop(situation, steps):
    tasks, order = situation
    plain = descend(tasks, order, steps=steps, learning_rate=RATE)
    fast = trajectories(tasks, [order], steps=steps, learning_rate=RATE)[0]
    assert fast.shape == (len(order) * steps + 1, len(tasks.A))
    np.testing.assert_allclose(fast, plain, rtol=1e-10, atol=1e-12 * plain.max())


@given(situations(), st.integers(1, 30))
def test_boundary_errors_equal_the_plain_loop(situation, steps):
    tasks, order = situation
    plain = descend(tasks, order, steps=steps, learning_rate=RATE)[::steps]
    path = boundary_errors(tasks, [order], steps=steps, learning_rate=RATE, path=True)[0]
    np.testing.assert_allclose(path, plain, rtol=1e-10, atol=1e-12 * plain.max())
    final = boundary_errors(tasks, [order], steps=steps, learning_rate=RATE)[0]
    np.testing.assert_array_equal(final, path[-1])


@given(situations())
def test_the_limit_equals_the_pseudo_inverse(situation):
    tasks, order = situation
    plain = converge(tasks, order)
    path = boundary_errors(tasks, [order], steps=None, learning_rate=RATE, path=True)[0]
    np.testing.assert_allclose(path, plain, rtol=1e-9, atol=1e-11 * plain.max())


@given(situations())
def test_many_steps_reach_the_limit(situation):
    tasks, order = situation
    limit = boundary_errors(tasks, [order], steps=None, learning_rate=RATE)
    long = boundary_errors(tasks, [order], steps=5000, learning_rate=RATE)
    np.testing.assert_allclose(long, limit, rtol=1e-7, atol=1e-10 * max(1.0, limit.max()))


def test_one_step_is_the_published_update():
    tasks = sample_tasks([[1, 0.4], [0.4, 1]], sizes=SIZES, seed=3)
    W = 0.001 * tasks.B[1] @ tasks.A[1].T
    assert descend(tasks, [1], steps=1)[1] == pytest.approx(errors(tasks, W), rel=1e-12)


def test_own_error_stays_exact_far_below_rounding():
    tasks = sample_tasks([[1.0]], sizes=SIZES, seed=1)
    path = trajectories(tasks, [[0]], steps=400, learning_rate=RATE)[0, :, 0]
    assert 0 < path[-1] < 1e-40
    assert (np.diff(path) < 0).all()


def test_orders_are_independent_of_their_company_and_of_chunks(monkeypatch):
    tasks = sample_tasks(random_correlation(4, seed=5), sizes=SIZES, seed=5)
    rng = np.random.default_rng(0)
    orders = np.array([rng.permutation(4) for _ in range(9)])
    together = boundary_errors(tasks, orders, learning_rate=RATE), trajectories(tasks, orders, learning_rate=RATE)
    monkeypatch.setattr(residual_descent, "CHUNK_BYTES", 1)
    apart = boundary_errors(tasks, orders, learning_rate=RATE), trajectories(tasks, orders, learning_rate=RATE)
    for many, single in zip(together, apart, strict=True):
        np.testing.assert_allclose(many, single, rtol=1e-11, atol=1e-13)
    alone = boundary_errors(tasks, orders[3:4], learning_rate=RATE)
    np.testing.assert_allclose(together[0][3:4], alone, rtol=1e-11, atol=1e-13)


def test_input_is_untouched():
    tasks = sample_tasks(random_correlation(3, seed=2), sizes=SIZES, seed=2)
    A, B = tasks.A.copy(), tasks.B.copy()
    descend(tasks, [0, 1], steps=2)
    boundary_errors(tasks, [[0, 1]])
    trajectories(tasks, [[0, 1]], steps=2)
    np.testing.assert_array_equal(tasks.A, A)
    np.testing.assert_array_equal(tasks.B, B)


def test_fewer_inputs_than_latent_factors():
    """The Gram block of a task is singular then: its null space is never learned, as in the plain loop."""
    sizes = Sizes(num_latent=6, num_inputs=4, num_outputs=2)
    tasks = sample_tasks([[1, 0.3], [0.3, 1]], sizes=sizes, seed=0)
    for steps in (7, None):
        plain = converge(tasks, [0, 1]) if steps is None else descend(tasks, [0, 1], steps=7, learning_rate=0.1)[::7]
        path = boundary_errors(tasks, [[0, 1]], steps=steps, learning_rate=0.1, path=True)[0]
        np.testing.assert_allclose(path, plain, rtol=1e-9)
        assert path[-1, 1] > 0.01


def test_rates_above_one_overshoot_like_the_plain_loop():
    tasks = sample_tasks([[1, 0.3], [0.3, 1]], sizes=SIZES, seed=0)
    rate = 1.8 / np.linalg.eigvalsh(tasks.gram()[0, :, 0])[-1]
    other = 1.8 / np.linalg.eigvalsh(tasks.gram()[1, :, 1])[-1]
    fast = trajectories(tasks, [[0, 1]], steps=9, learning_rate=min(rate, other))[0]
    plain = descend(tasks, [0, 1], steps=9, learning_rate=min(rate, other))
    np.testing.assert_allclose(fast, plain, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("function", [boundary_errors, trajectories])
def test_a_rate_that_diverges_is_refused(function):
    tasks = sample_tasks([[1.0]], sizes=SIZES, seed=0)
    with pytest.raises(ValueError, match=r"`learning_rate` must be positive and less than 0\.\d+ .* diverge"):
        function(tasks, [[0]], learning_rate=1.0)


def test_the_theory_is_the_limit_of_many_inputs_at_any_number_of_steps():
    C, Co = random_correlation(4, seed=1), random_correlation(4, seed=2)
    sizes = Sizes(num_latent=100, num_inputs=10**8, num_outputs=200)
    tasks = sample_tasks(C, Co, sizes, seed=0, small=True)
    rate = 0.1 * sizes.load
    for steps in (3, 10, None):
        path = boundary_errors(tasks, [[2, 0, 3, 1, 2]], steps=steps, learning_rate=rate, path=True)[0]
        theory = error_path(C, [2, 0, 3, 1, 2], Co, progress=progress_of(sizes, steps, rate))
        np.testing.assert_allclose(path, theory, rtol=0.08, atol=0.01)  # B has 20,000 random elements a task
