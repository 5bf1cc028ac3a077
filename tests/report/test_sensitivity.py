"""The derivative of the final error: against finite differences, and against the perturbation theory."""

import numpy as np
import pytest

from taskorder.report.sensitivity import pair_derivatives, table_derivatives
from taskorder.theory.closed_form import final_error
from taskorder.theory.law import final_knowledge
from taskorder.theory.perturbation import perturbation


def by_differences(C, visits, output, weights, step=1e-5):
    slopes = np.zeros_like(C)
    for a in range(len(C)):
        for b in range(a):
            moved = np.zeros_like(C)
            moved[a, b] = moved[b, a] = step
            up, down = (final_error(C + sign * moved, visits, output, weights) for sign in (1, -1))
            slopes[a, b] = slopes[b, a] = (up - down) / (2 * step)
    return slopes


@pytest.mark.parametrize("visits", [[3, 0, 4, 1, 2], [0, 1, 2, 3, 4, 0, 2], [2, 4]])
@pytest.mark.parametrize("general", [False, True])
def test_equals_finite_differences(make_correlation, visits, general):
    C = make_correlation(5, 1)
    output = make_correlation(5, 2) if general else None
    weights = np.array([1.0, 2.0, 0.5, 0.0, 3.0]) if general else None
    derivatives = pair_derivatives(C, visits, output, weights)
    np.testing.assert_allclose(derivatives, by_differences(C, visits, output, weights), atol=1e-8)
    assert np.abs(derivatives).max() > 0.01
    assert np.array_equal(derivatives, derivatives.T)
    assert not np.diagonal(derivatives).any()


def test_at_equal_similarities_it_is_the_coefficient_of_the_theory():
    C = np.full((6, 6), 0.3)
    np.fill_diagonal(C, 1.0)
    derivatives = pair_derivatives(C, range(6))
    np.testing.assert_allclose(np.triu(derivatives, 1), perturbation(6, 0.3).coefficient, atol=1e-12)


@pytest.mark.parametrize("objective", ["score", "error"])
def test_entries_of_a_transfer_table_equal_finite_differences(objective):
    rng = np.random.default_rng(0)
    S, start, weights = rng.uniform(-0.3, 1, (5, 5)), rng.random(5) / 2, rng.random(5)
    kept, visits = np.array([0.1, 0.5, 0.9, 0.3, 0.2]), [3, 0, 4, 1, 2, 0]

    def value(table):
        known = final_knowledge(table, visits, kept, start=start)
        return weights @ known if objective == "score" else weights @ (1 - known) ** 2

    known = final_knowledge(S, visits, kept, start=start)
    gradient = weights if objective == "score" else -2 * weights * (1 - known)
    slopes, left = table_derivatives(S, visits, kept, start, gradient)
    for a in range(5):
        for b in range(5):
            step = np.zeros((5, 5))
            step[a, b] = 1e-6
            assert slopes[a, b] == pytest.approx((value(S + step) - value(S - step)) / 2e-6, abs=1e-6)
    if objective == "score":
        assert table_derivatives(S, visits, kept, 0 * start, weights)[1].sum() == pytest.approx(
            weights @ final_knowledge(S, visits, kept)
        )
        assert len(left) == len(visits)


def test_leaves_its_input_alone(make_correlation):
    C = make_correlation(4, 0)
    before = C.copy()
    pair_derivatives(C, [0, 1, 2, 3])
    assert np.array_equal(C, before)
