"""The relaxation behind the proofs, one row of it, beside the same minimum found by numpy.

A row's part of the bound is the least of v K v - 2 b v over all v, with K = G + lam / 2 (C + I) and b = h + lam / 2 r.
A task that comes first is visited at its residual, v_j = r_j; after the last one nothing of it is left, (C v)_j = r_j.
"""

import numpy as np
import pytest

from taskorder.ordering.kernels.bound import NEVER, price_children, row_bound, scratch

LAM = 0.8


def row(make_correlation, size, seed):
    """A row of a weighted problem; r leaves [-1, 1], so that no power of it stands for another."""
    C = make_correlation(size, seed)
    rng = np.random.default_rng(seed)
    r = rng.uniform(-2, 2, size)
    weights = rng.uniform(0.2, 1.0, size)
    return r, C @ (weights * r), C, (C * weights) @ C


def least(K, b, a=None, value=0.0):
    """The least of v K v - 2 b v, where a.v = value if there is an `a`."""
    v = np.linalg.solve(K, b)
    free = -b @ v
    return free if a is None else free + (value - a @ v) ** 2 / (a @ np.linalg.solve(K, a))


def solved(r, h, C, G, lam, steps=0):
    W = scratch(len(r))
    state = r[None, None], h[None, None], C[None], G[None]
    part, lam = row_bound(*state, 0, 0, len(r), lam, steps, 0.0, NEVER, W)
    return part, lam, W


@pytest.mark.parametrize("seed", range(4))
def test_a_rows_part_is_the_least_value(make_correlation, seed):
    r, h, C, G = row(make_correlation, 7, seed)
    part, lam, W = solved(r, h, C, G, LAM)
    K, b = G + lam / 2 * (C + np.eye(7)), h + lam / 2 * r
    assert lam == LAM
    assert part == pytest.approx(least(K, b), rel=1e-9)
    x = np.linalg.solve(K, b)
    np.testing.assert_allclose(W[7:9, :7], (x, C @ x), rtol=1e-9)
    U, D = np.triu(W[:7, :7], 1) + np.diag(1 / np.diagonal(W[:7])), np.diag(np.diagonal(W[:7]))
    np.testing.assert_allclose(U.T @ D @ U, K, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_steps_on_the_multiplier_raise_the_part(make_correlation, seed):
    r, h, C, G = row(make_correlation, 7, seed)
    start, best = solved(r, h, C, G, LAM)[0], solved(r, h, C, G, LAM, steps=20)
    grid = [
        least(K, h + lam / 2 * r)
        for lam in np.linspace(best[1] - 0.2, best[1] + 0.2, 81)
        if np.linalg.eigvalsh(K := G + lam / 2 * (C + np.eye(7)))[0] > 1e-9
    ]
    assert best[0] >= start
    assert best[0] >= max(grid) - 1e-6 * abs(best[0])


@pytest.mark.parametrize("seed", range(4))
def test_fixing_a_task_raises_the_part_by_what_it_costs(make_correlation, seed):
    size = 7
    r, h, C, G = row(make_correlation, size, seed)
    part, lam, W = solved(r, h, C, G, LAM)
    rise = np.repeat([[0.25], [0.5]], size, axis=1)  # what other rows have added
    price_children(r[None, None], C[None], 0, 0, size, W, rise)
    K, b = G + lam / 2 * (C + np.eye(size)), h + lam / 2 * r
    first = [least(K, b, np.eye(size)[j], r[j]) - part for j in range(size)]
    last = [least(K, b, C[j], r[j]) - part for j in range(size)]
    np.testing.assert_allclose(rise[0] - 0.25, first, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(rise[1] - 0.5, last, rtol=1e-7, atol=1e-9)


def test_a_multiplier_is_found_where_the_first_one_does_not_do(make_correlation):
    r, h, C, _ = row(make_correlation, 7, 2)
    part, lam, _ = solved(r, h, C, -0.5 * np.eye(7), 0.0)  # as for the worst order
    assert lam > 0
    assert part == pytest.approx(least(-0.5 * np.eye(7) + lam / 2 * (C + np.eye(7)), h + lam / 2 * r), rel=1e-9)


def test_no_bound_is_better_than_a_wrong_one(make_correlation):
    r, h, C, _ = row(make_correlation, 7, 2)
    assert solved(r, h, C, -1e40 * np.eye(7), LAM)[0] == -NEVER
