from itertools import combinations

import numpy as np
import pytest

from taskorder import perturbation
from taskorder.theory.closed_form import closed_form_error

POINTS = [
    (num_tasks, m, rho_out)
    for num_tasks in (2, 3, 5, 7)
    for m in (-0.15, 0.0, 0.05, 0.3, 0.8, 1 - 1e-9, 1.0)
    for rho_out in (-0.1, 0.0, 0.4, 0.99, 1.0)
]


def constant(num_tasks: int, value: float) -> np.ndarray:
    matrix = np.full((num_tasks, num_tasks), float(value))
    np.fill_diagonal(matrix, 1.0)
    return matrix


def central_differences(num_tasks: int, m: float, rho_out: float, step: float = 1e-5) -> np.ndarray:
    slopes = np.zeros((num_tasks, num_tasks))
    for i, j in combinations(range(num_tasks), 2):
        bump = np.zeros((num_tasks, num_tasks))
        bump[i, j] = bump[j, i] = step
        up, down = (
            closed_form_error(constant(num_tasks, m) + sign * bump, range(num_tasks), constant(num_tasks, rho_out))
            for sign in (1, -1)
        )
        slopes[i, j] = (up - down) / (2 * step)
    return slopes


@pytest.mark.parametrize(("num_tasks", "m", "rho_out"), POINTS)
def test_coefficient_is_the_derivative(num_tasks, m, rho_out):
    around = perturbation(num_tasks, m, rho_out)
    np.testing.assert_allclose(around.coefficient, central_differences(num_tasks, m, rho_out), atol=3e-8)
    np.testing.assert_allclose(around.coefficient, 2 * around.paper)
    np.testing.assert_allclose(around.paper, around.typicality + around.distance, atol=1e-14)
    assert not np.tril(around.coefficient).any()


@pytest.mark.parametrize(("num_tasks", "m"), [(3, 0.3), (7, 0.3), (7, 0.05), (5, 0.9), (4, -0.2)])
def test_parts_at_shared_readout_are_those_of_the_main_text(num_tasks, m):
    around, q = perturbation(num_tasks, m), 1 - m
    for i, j in combinations(range(num_tasks), 2):
        mu, nu = i + 1, j + 1
        plus = -(q ** (num_tasks + mu - 1)) - q ** (num_tasks + nu - 1) + (3 - m) / (2 - m) * q ** (mu + nu - 1)
        slope = -(1 - q**num_tasks * (m * num_tasks / q + (3 - m) / (2 - m)))
        assert around.typicality[i, j] == pytest.approx(plus, abs=1e-14)
        assert around.distance[i, j] == pytest.approx(slope * q ** (num_tasks - (nu - mu)), abs=1e-14)
        assert around.alpha_minus == pytest.approx(slope, abs=1e-14)


def test_typicality_falls_along_both_indices():
    G = perturbation(7, 0.3).typicality
    pairs = list(combinations(range(7), 2))
    assert all(G[i, j] > G[i, j + 1] for i, j in pairs if j < 6)
    assert all(G[i, j] > G[i + 1, j] for i, j in pairs if i + 1 < j)


def test_signs_that_the_paper_reports():
    # "here P = 7 and m = 0.3 ... G_12 is positive while G_17 is negative"
    G = perturbation(7, 0.3).paper
    assert G[0, 1] > 0 > G[0, 6]


def test_alphas_belong_to_the_shared_readout():
    assert perturbation(5, 0.3).alpha_plus == pytest.approx(1.7 / 2.7 * 0.7**5)
    assert perturbation(5, 0.3, 0.5).alpha_plus is None
    assert perturbation(5, 0.3, 0.5).alpha_minus is None


def test_one_task_has_no_pairs():
    assert perturbation(1, 0.3).coefficient.tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0.3), "`num_tasks`"),
        ((2.5, 0.3), "`num_tasks`"),
        ((3, 1.2), "`m`"),
        ((3, float("nan")), "`m`"),
        ((3, 0.3, -2), "`rho_out`"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        perturbation(*arguments)
