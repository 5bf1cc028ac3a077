"""The first finite-size correction against averages over very many small simulations."""

import numpy as np
import pytest

from taskorder import random_correlation, task_errors
from taskorder.linear.random_tasks import Sizes
from taskorder.linear.simulate import Job, simulated_errors
from taskorder.theory.finite_size import finite_size_errors


@pytest.mark.parametrize("num_latent", [3, 10])
@pytest.mark.parametrize("shared", [True, False])
def test_the_correction_is_exact_to_first_order(num_latent, shared):
    C = random_correlation(4, 0, 1, seed=5)
    Co = None if shared else random_correlation(4, 0, 1, seed=6)
    order = [2, 0, 3, 1, 0]
    sizes = Sizes(num_latent, 100 * num_latent, num_outputs=200)
    jobs = [Job(C, [order], seed, Co) for seed in range(1500)]
    draws = np.array([errors[0] for errors in simulated_errors(jobs, sizes, steps=None)])
    wanted = finite_size_errors(C, order, num_latent, 100 * num_latent, Co)
    mean, sem = draws.mean(axis=0), draws.std(axis=0) / np.sqrt(len(draws))
    second_order = 4 * 0.01**2  # 1 to 3 times (N_s / N_x)^2, seen at four values of it
    np.testing.assert_array_less(np.abs(mean - wanted), 4 * sem + second_order)
    assert np.abs(wanted - task_errors(C, order, Co)).max() > 4 * sem.max() + second_order  # there is something to see


def test_many_inputs_give_the_closed_form():
    C = random_correlation(5, seed=1)
    order = [3, 1, 4, 0, 2]
    limit = task_errors(C, order)
    far = [np.abs(finite_size_errors(C, order, 30, 10**k) - limit).max() for k in (6, 7, 8)]
    assert far[0] / far[1] == pytest.approx(10, rel=1e-6)
    assert far[1] / far[2] == pytest.approx(10, rel=1e-4)
    assert far[2] < 1e-4


def test_two_tasks_by_hand():
    """Training B alone leaves A with (1 - r)^2 and the noise of its part outside B, of variance 1 - r^2."""
    r, load = 0.5, 0.01
    first = finite_size_errors([[1, r], [r, 1]], [1], 10**7, 10**9)[0]
    assert first == pytest.approx((1 - r) ** 2 + load * (1 - r * r), rel=1e-6)


def test_the_terms_that_shrink_with_the_latent_space_have_their_sign():
    """With one latent dimension they are as large as the others; a mutant with the other sign once survived."""
    C, order = random_correlation(4, 0, 1, seed=5), [2, 0, 3, 1, 0]
    jobs = [Job(C, [order], seed) for seed in range(8000)]
    draws = np.array([errors[0] for errors in simulated_errors(jobs, Sizes(1, 100, num_outputs=200), steps=None)])
    mean, sem = draws.mean(axis=0), draws.std(axis=0) / np.sqrt(len(draws))
    np.testing.assert_array_less(np.abs(mean - finite_size_errors(C, order, 1, 100)), 3.5 * sem + 4e-4)
    assert (3.5 * sem + 4e-4).max() < 0.002  # the other sign is off by 0.0021
