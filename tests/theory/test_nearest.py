import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder import nearest_correlation, random_correlation
from taskorder.theory import nearest


def symmetric(num_tasks: int, seed: int, scale: float) -> np.ndarray:
    upper = np.triu(np.random.default_rng(seed).uniform(-scale, scale, (num_tasks, num_tasks)), 1)
    return upper + upper.T + np.eye(num_tasks)


def plain_alternating_projections(A: np.ndarray) -> np.ndarray:
    """Higham's algorithm 3.3 as printed, run for long."""
    Y, correction = A, np.zeros_like(A)
    for _ in range(20_000):
        R = Y - correction
        values, vectors = np.linalg.eigh(R)
        X = (vectors * np.maximum(values, 0)) @ vectors.T
        correction = X - R
        Y = X.copy()
        np.fill_diagonal(Y, 1)
        if np.linalg.norm(Y - X) < 1e-11:
            break
    return Y


@given(st.integers(2, 12), st.integers(0, 10**6), st.sampled_from([0.3, 0.9, 1.0, 3.0]))
def test_equals_plain_alternating_projections(num_tasks, seed, scale):
    A = symmetric(num_tasks, seed, scale)
    repaired, _ = nearest_correlation(A)
    np.testing.assert_allclose(repaired, plain_alternating_projections(A), atol=1e-6)


@given(st.integers(1, 25), st.integers(0, 10**6), st.floats(0, 2), st.floats(0, 0.5))
def test_result_is_a_correlation_matrix_with_true_distances(num_tasks, seed, scale, skew):
    rng = np.random.default_rng(seed)
    given_matrix = symmetric(num_tasks, seed, scale) + skew * rng.standard_normal((num_tasks, num_tasks))
    before = given_matrix.copy()
    repaired, repair = nearest_correlation(given_matrix)
    assert (given_matrix == before).all()
    assert (repaired == repaired.T).all()
    assert (np.diagonal(repaired) == 1).all()
    assert np.linalg.eigvalsh(repaired)[0] > -1e-8 * num_tasks
    assert np.abs(repaired).max() <= 1 + 1e-7
    change = repaired - given_matrix
    assert repair.distance == pytest.approx(np.linalg.norm(change), abs=1e-12)
    assert repair.largest_change == pytest.approx(np.abs(change).max(), abs=1e-12)
    assert repair.asymmetry == pytest.approx(np.abs(given_matrix - given_matrix.T).max(), abs=1e-12)
    # no correlation matrix nearby is closer: move a little toward random ones
    for other in (random_correlation(num_tasks, seed=seed % 1000 + k) for k in range(3)):
        moved = repaired + 1e-3 * (other - repaired)
        assert np.linalg.norm(moved - given_matrix) >= repair.distance - 1e-7


@given(st.integers(1, 12), st.integers(0, 10**6))
def test_correlation_matrices_come_back_unchanged(num_tasks, seed):
    C = random_correlation(num_tasks, seed=seed)
    repaired, repair = nearest_correlation(C)
    assert (repaired == C).all()
    assert (repair.asymmetry, repair.distance, repair.largest_change) == (0, 0, 0)


def test_repairing_twice_is_repairing_once():
    once, _ = nearest_correlation(symmetric(30, 0, 1.0))
    twice, repair = nearest_correlation(once)
    assert (once == twice).all()
    assert repair.distance == 0


@pytest.mark.parametrize(
    "matrix",
    [
        -5 * np.eye(4),
        np.full((4, 4), 2.0),
        np.full((4, 4), -1.0),
        [[-5.0, 9.0], [9.0, -5.0]],
        np.zeros((3, 3)),
        [[0.0]],
        1e6 * symmetric(5, 1, 1.0),
    ],
)
def test_odd_inputs_end_at_a_correlation_matrix(matrix):
    repaired, _ = nearest_correlation(matrix)
    assert (np.diagonal(repaired) == 1).all()
    assert np.linalg.eigvalsh(repaired)[0] > -1e-8 * len(repaired)


def test_newton_steps_keep_the_number_of_decompositions_small(monkeypatch):
    calls = []
    original = nearest._positive_part
    monkeypatch.setattr(nearest, "_positive_part", lambda A, y: calls.append(1) or original(A, y))
    _, repair = nearest_correlation(symmetric(80, 0, 0.5))
    assert repair.min_eigenvalue < -1
    assert 1 < len(calls) <= 20


def test_a_large_definite_matrix_is_left_as_it_is_and_reported_so(monkeypatch):
    """Found by a mutant that reported a repair where there was none."""
    monkeypatch.setattr(nearest, "LARGE", 4)
    matrix = np.full((5, 5), 0.25) + 0.75 * np.eye(5)
    result, repair = nearest_correlation(matrix)
    assert np.array_equal(result, matrix)
    assert (repair.asymmetry, repair.min_eigenvalue, repair.distance, repair.largest_change) == (0, 0, 0, 0)


def test_a_large_matrix_that_is_not_definite_is_repaired(monkeypatch):
    monkeypatch.setattr(nearest, "LARGE", 4)
    matrix = symmetric(6, seed=3, scale=0.9)
    assert np.linalg.eigvalsh(matrix)[0] < -0.1
    result, repair = nearest_correlation(matrix)
    assert np.linalg.eigvalsh(result)[0] > -1e-8
    assert repair.distance > 0.1


def test_numbers_whose_squares_are_infinite_are_refused():
    """They used to come back as nan."""
    with pytest.raises(ValueError, match="`similarity` must have entries of size 1e\\+50 at most, got 1e\\+200"):
        nearest_correlation([[1, 1e200], [1e200, 1]])
