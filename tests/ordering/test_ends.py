import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder.ordering.exact import descend

from .questions import correlation
from .test_exact import problem_of


def surveyed(problem, lam):
    """Bound, gaps and Gram matrix of the conditions (first j, last l) from their definition, in NumPy."""
    n = problem.size
    M = np.linalg.inv(problem.G + 0.5 * lam * (problem.C + np.eye(n)))
    b, r = problem.h[0] + 0.5 * lam * problem.r[0], problem.r[0]
    conditions = np.concatenate([np.eye(n), problem.C])
    gap = np.concatenate([r, r]) - conditions @ M @ b
    return problem.e - b @ M @ b, gap, conditions @ M @ conditions.T


def in_place(S, at, m):
    """(2 m, 2 m) Gram matrix of a node."""
    w = (m + 7) // 8 * 8
    rows = S[at : at + 4 * m * w].reshape(2 * m, 2, w)
    return rows[:, :, :m].reshape(2 * m, 2 * m)


@given(st.integers(5, 18), st.integers(0, 10**6), st.floats(0.02, 2.0), st.lists(st.booleans(), min_size=1, max_size=4))
def test_carried_prices_are_those_from_scratch(size, seed, lam, ends):
    from taskorder.ordering._bound import NEVER, row_bound
    from taskorder.ordering._ends import foresee, meet, promise, rises, room, survey
    from taskorder.ordering._lanes import padded

    problem, rng = problem_of(correlation(size, seed)), np.random.default_rng(seed)
    w = padded(size)
    X, K, x, s, line = np.zeros((size, w)), np.zeros((size, w)), np.zeros(w), np.zeros(w), np.zeros(2 * w)
    gap, scale, S = np.zeros((2, 2, size)), np.zeros((2, 2, size)), np.zeros(2 * room(size))
    C, G = (np.pad(table, ((0, 0), (0, w - size))) for table in (problem.C, problem.G))
    part, _ = row_bound(problem.r[0], problem.h[0], C, G, size, lam, 0, 0.1, NEVER, X, K, x, s)
    survey(problem.r[0], C, size, X, x, S, 0, gap[0], scale[0])
    bound, now = problem.e + part, problem
    here, there = 0, room(size)
    for last in ends:
        m, side = now.size, int(last)
        C = np.pad(now.C, ((0, 0), (0, w - m)))
        j = int(rng.integers(m))
        front, back = np.zeros(m), np.zeros(m)
        foresee(side, j, m, now.r[0], C, S, here, gap[0], scale[0], front, back)
        rise = gap[0, side, j] ** 2 / in_place(S, here, m)[side * m + j, side * m + j]
        meet(side, j, m, now.r[0], C, S, here, gap[0], scale[0], there, gap[1], scale[1], line)
        bound += rise
        now = descend(now, [j], []) if side == 0 else descend(now, [], [j])
        here, there, gap, scale, m = there, here, gap[::-1].copy(), scale[::-1].copy(), m - 1
        value, gaps, gram = surveyed(now, lam)
        assert bound == pytest.approx(value, rel=1e-7, abs=1e-9 * problem.e)
        np.testing.assert_allclose(gap[0, :, :m].ravel(), gaps, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(in_place(S, here, m), gram, rtol=1e-6, atol=1e-8 * np.abs(gram).max())
        prices = np.zeros(m), np.zeros(m)
        rises(m, S, here, gap[0], scale[0], *prices)
        np.testing.assert_allclose((front[:m], back[:m]), prices, rtol=1e-5, atol=1e-8 * problem.e)
        step, gain = promise(m, now.r[0], S, here, gap[0], s)
        assert gain >= 0.0
        nudge = np.sign(step) * 1e-5 * lam
        slope = (surveyed(now, lam + nudge)[0] - surveyed(now, lam - nudge)[0]) / (2 * nudge)
        assert 2 * gain == pytest.approx(slope * step, rel=1e-2, abs=1e-6 * problem.e)
