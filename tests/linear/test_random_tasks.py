import numpy as np
import pytest

from taskorder import random_correlation
from taskorder.linear.random_tasks import Sizes, sample_tasks


def test_elements_have_the_prescribed_covariance():
    C, Co = random_correlation(3, seed=1), random_correlation(3, seed=2)
    tasks = sample_tasks(C, Co, Sizes(num_latent=40, num_inputs=2000, num_outputs=2000), seed=7)
    for mixing, wanted in ((tasks.A, C), (tasks.B, Co)):
        flat = mixing.reshape(3, -1)
        assert flat.shape[1] == 80_000
        np.testing.assert_allclose(40 * flat @ flat.T / flat.shape[1], wanted, atol=6 / np.sqrt(flat.shape[1]))


def test_a_shared_readout_gives_every_task_the_same_target():
    tasks = sample_tasks(random_correlation(3, seed=1), seed=1)
    assert tasks.A.shape == (3, 3000, 30)
    assert tasks.B.shape == (3, 10, 30)
    assert (tasks.B[0] == tasks.B).all()


def test_identical_tasks_have_identical_inputs():
    tasks = sample_tasks(np.ones((2, 2)), sizes=Sizes(3, 20, 1), seed=1)
    np.testing.assert_allclose(tasks.A[0], tasks.A[1], atol=1e-12)


@pytest.mark.parametrize("small", [False, True])
def test_gram_moments_are_those_of_a_wishart_matrix(small):
    """Mean n Sigma and covariance n (S_ac S_bd + S_ad S_bc) of the elements, in full and in few axes."""
    C = np.array([[1.0, 0.6], [0.6, 1.0]])
    sizes = Sizes(num_latent=2, num_inputs=9, num_outputs=1)
    draws = np.array([sample_tasks(C, sizes=sizes, seed=s, small=small).gram().reshape(4, 4) for s in range(6000)])
    scale = np.kron(C, np.eye(2)) / 2
    deviation = np.sqrt(9 * (np.outer(np.diagonal(scale), np.diagonal(scale)) + scale**2))
    mean_error = np.abs(draws.mean(axis=0) - 9 * scale) / (deviation / np.sqrt(6000))
    assert mean_error.max() < 4.5  # standard errors, 10 distinct elements
    flat = draws.reshape(6000, 16)
    covariance = np.cov(flat.T)
    index = np.array([(a, b) for a in range(4) for b in range(4)])
    (a, b), (c, d) = index.T[:, :, None], index.T[:, None, :]
    wanted = 9 * (scale[a, c] * scale[b, d] + scale[a, d] * scale[b, c])
    assert np.abs(covariance - wanted).max() < 0.12 * wanted.max()


def test_few_axes_are_used_only_where_they_are_fewer():
    C = random_correlation(4, seed=3)
    assert sample_tasks(C, sizes=Sizes(3, 100, 1), small=True).A.shape == (4, 12, 3)
    assert sample_tasks(C, sizes=Sizes(3, 8, 1), small=True).A.shape == (4, 8, 3)
    assert sample_tasks(np.ones((4, 4)), sizes=Sizes(3, 100, 1), small=True).A.shape == (4, 3, 3)


def test_same_seed_same_tasks():
    C = random_correlation(3, seed=3)
    first, again, other = (sample_tasks(C, sizes=Sizes(3, 20, 2), seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.A, again.A)
    np.testing.assert_array_equal(first.B, again.B)
    assert not np.array_equal(first.A, other.A)


def test_bad_sizes_and_matrices_are_refused():
    with pytest.raises(ValueError, match="`num_inputs` must be a positive integer, got 0"):
        Sizes(num_inputs=0)
    with pytest.raises(ValueError, match="`similarity` must be positive semidefinite"):
        sample_tasks([[1, 1, 0], [1, 1, 1], [0, 1, 1]])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"num_latent": 999_999_999}, "`num_latent` must be at most 1,000,000, got 999,999,999."),
        ({"num_latent": 1000, "num_outputs": 1001}, "`num_outputs` must be at most 1,000 with 1000 latent factors"),
    ],
)
def test_sizes_that_are_too_large_are_named(sizes, message):
    with pytest.raises(ValueError, match=message):
        Sizes(**sizes)
