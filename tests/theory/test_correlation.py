import time

import numpy as np
import pytest
from scipy import stats

from taskorder import random_correlation
from taskorder.theory.correlation import _box, _onion, random_correlations

LEVEL = 1e-5


def entries(factors: np.ndarray) -> np.ndarray:
    """(draws, pairs) off-diagonal entries of a stack of Cholesky factors."""
    matrices = factors @ factors.transpose(0, 2, 1)
    return matrices[:, *np.triu_indices(matrices.shape[1], 1)]


@pytest.mark.parametrize("num_tasks", [2, 3, 6])
def test_lkj_margins_are_beta(num_tasks):
    rng = np.random.default_rng(5)
    draws = (entries(_onion(num_tasks, 40_000, -1, 1, rng)) + 1) / 2
    # up to 15 margins are tested at once: a level far below one in 15, and many draws so that the test keeps its power
    for pair in draws.T:
        assert stats.kstest(pair, stats.beta(num_tasks / 2, num_tasks / 2).cdf).pvalue > LEVEL
        assert stats.kstest(pair, stats.beta(num_tasks / 2 + 0.5, num_tasks / 2 + 0.5).cdf).pvalue < LEVEL


def test_lkj_is_uniform_over_the_volume():
    # P = 3: the naive way, uniform entries until positive definite, is the definition
    rng = np.random.default_rng(6)
    cube = rng.uniform(-1, 1, (40_000, 3))
    a, b, c = cube.T
    naive = cube[1 + 2 * a * b * c - a**2 - b**2 - c**2 > 0]
    ours = entries(_onion(3, 20_000, -1, 1, rng))
    for statistic in (lambda x: x[:, 2], lambda x: x.prod(axis=1), lambda x: x.sum(axis=1)):
        assert stats.ks_2samp(statistic(naive), statistic(ours)).pvalue > LEVEL


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-0.5, 1), (-0.8, 0.3)])
@pytest.mark.parametrize("propose", [_onion, _box])
def test_both_proposals_are_uniform_on_the_range(propose, low, high):
    rng = np.random.default_rng(7)
    cube = rng.uniform(low, high, (40_000, 3))
    a, b, c = cube.T
    naive = cube[1 + 2 * a * b * c - a**2 - b**2 - c**2 > 0]
    ours = entries(propose(3, 60_000, low, high, rng))
    assert len(ours) > 2000
    for statistic in (lambda x: x[:, 0], lambda x: x[:, 2], lambda x: x.prod(axis=1), lambda x: x.max(axis=1)):
        assert stats.ks_2samp(statistic(naive), statistic(ours)).pvalue > LEVEL


@pytest.mark.parametrize(
    ("num_tasks", "low", "high"),
    [(1, -1, 1), (2, -1, 1), (7, -1, 1), (60, -1, 1), (7, 0, 1), (6, -0.3, 0.9), (30, -0.1, 0.1)],
)
def test_draws_are_correlation_matrices_in_the_range(num_tasks, low, high):
    C = random_correlation(num_tasks, low, high, seed=3)
    off = C[np.triu_indices(num_tasks, 1)]
    assert C.shape == (num_tasks, num_tasks)
    assert (C == C.T).all()
    assert (np.diagonal(C) == 1).all()
    assert np.linalg.eigvalsh(C)[0] > -1e-12
    assert ((off >= low - 1e-12) & (off <= high + 1e-12)).all()


def test_seeds():
    assert (random_correlation(5, 0, 1, seed=4) == random_correlation(5, 0, 1, seed=4)).all()
    assert (random_correlation(5, 0, 1, seed=4) != random_correlation(5, 0, 1, seed=5)).any()


@pytest.mark.slow("time")
def test_seven_tasks_on_the_unit_interval_are_quick():
    start = time.perf_counter()
    draws = [random_correlation(7, 0, 1, seed) for seed in range(20)]
    # about 3 ms each on an idle core; plain rejection with an eigenvalue test needs 20 times as long
    assert time.perf_counter() - start < 5
    assert len({draw[0, 1] for draw in draws}) == 20


def test_ranges_without_matrices_are_refused(monkeypatch):
    with pytest.raises(ValueError, match=r"`high` must be at least -0\.25 for 5 tasks"):
        random_correlation(5, -1, -0.5)
    with pytest.raises(ValueError, match="`low` must be less than `high`"):
        random_correlation(5, 0.5, 0.5)
    with pytest.raises(ValueError, match="`high` must be a similarity"):
        random_correlation(5, 0, 2)
    monkeypatch.setattr("taskorder.theory.correlation.MAX_CANDIDATES", 1000)
    with pytest.raises(ValueError, match=r"fair share of correlation matrices of 20 tasks, got \[0, 1\]"):
        random_correlation(20, 0, 1)


def test_many_at_once_are_those_of_the_onion_method():
    many = random_correlations(4, 500, np.random.default_rng(3))
    assert many.shape == (500, 4, 4)
    np.testing.assert_array_equal(many, many.transpose(0, 2, 1))
    assert (np.diagonal(many, axis1=1, axis2=2) == 1).all()
    assert np.linalg.eigvalsh(many).min() > 0
    again = entries(_onion(4, 500, -1, 1, np.random.default_rng(3)))
    np.testing.assert_allclose(many[:, *np.triu_indices(4, 1)], again, atol=1e-12)
    assert random_correlations(6, 1, np.random.default_rng(9))[0].tolist() == random_correlation(6, seed=9).tolist()


def test_negative_entries_are_drawn_down_to_where_there_are_none():
    """Three tasks may all be -1/2 alike, no more; a mutant that refused far earlier once survived."""
    matrix = random_correlation(3, -0.49, -0.3, seed=0)
    off = matrix[~np.eye(3, dtype=bool)]
    assert -0.49 <= off.min() <= off.max() <= -0.3
    with pytest.raises(ValueError, match=r"`high` must be at least -0\.5 for 3 tasks"):
        random_correlation(3, -1, -0.51, seed=0)
