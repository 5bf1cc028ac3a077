import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder.ordering.problem import Problem

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


def stepped(problem, j, last):
    """The problem after visiting j next, or after fixing it last, with the last visit in the place of j."""
    from taskorder.ordering.kernels.simd import padded
    from taskorder.ordering.kernels.steps import fix_last, learn_first

    m, keep = problem.size, np.zeros((2, problem.size), np.int64)
    e, keep[0] = np.array([problem.e, 0.0]), np.arange(m)
    r, h = (np.stack([table, np.zeros_like(table)]) for table in (problem.r, problem.h))
    C, G = (np.pad(table[None], ((0, 1), (0, 0), (0, padded(m) - m))) for table in (problem.C, problem.G))
    (fix_last if last else learn_first)(j, m, 0, e, r, h, C, G, keep)
    left = m - 1
    tables = r[1, :, :left], h[1, :, :left], C[1, :left, :left], G[1, :left, :left]
    return Problem(keep[1, :left], e[1], *(table.copy() for table in tables), problem.precedes[:left, :left])


@given(st.integers(5, 18), st.integers(0, 10**6), st.lists(st.booleans(), min_size=1, max_size=4))
def test_steps_at_both_ends_keep_the_error_of_every_order(size, seed, ends):
    now, rng = problem_of(correlation(size, seed)), np.random.default_rng(seed)
    rest = rng.permutation(size)
    for last in ends:
        j = rest[-1] if last else rest[0]
        error = now.error(rest)
        now, rest = stepped(now, j, last), rest[:-1] if last else rest[1:]
        rest = np.where(rest == now.size, j, rest)
        assert now.error(rest) == pytest.approx(error, rel=1e-9)


@given(st.integers(5, 18), st.integers(0, 10**6), st.floats(0.02, 2.0), st.lists(st.booleans(), min_size=1, max_size=4))
def test_carried_prices_are_those_from_scratch(size, seed, lam, ends):
    from taskorder.ordering.kernels.bound import NEVER, row_bound
    from taskorder.ordering.kernels.end_prices import foresee, meet, promise, rises, room, survey
    from taskorder.ordering.kernels.simd import padded

    now, rng = problem_of(correlation(size, seed)), np.random.default_rng(seed)
    w, scope, S = padded(size), now.e, np.zeros(5 * room(size))
    X, K, x, s, line = np.zeros((size, w)), np.zeros((size, w)), np.zeros(w), np.zeros(w), np.zeros(2 * w)
    gap, scales, spread = (np.zeros((5, 1, 2, w)) for _ in range(3))
    r, C, front, back = np.zeros((5, 1, size)), np.zeros((5, size, w)), np.zeros((5, w)), np.zeros((5, w))
    G = np.pad(now.G, ((0, 0), (0, w - size)))
    r[0], C[0, :, :size] = now.r, now.C
    part, _ = row_bound(r[0, 0], now.h[0], C[0], G, size, lam, 0, 0.1, NEVER, X, K, x, s)
    survey(size, 0, 0, r, C, X, x, S, 0, gap, spread, scales)
    bound, m = now.e + part, size
    for d, last in enumerate(ends):
        here, there, j = d * room(size), (d + 1) * room(size), int(rng.integers(m))
        foresee(int(last), j, m, d, 0, r, C, S, here, gap, spread, scales, front, back)
        bound += gap[d, 0, int(last), j] ** 2 / spread[d, 0, int(last), j]
        meet(int(last), j, m, d, 0, C, S, here, spread, there, line)
        now, m = stepped(now, j, last), m - 1
        r[d + 1, :, :m], C[d + 1, :m, :m] = now.r, now.C
        value, gaps, gram = surveyed(now, lam)
        assert bound == pytest.approx(value, rel=1e-7, abs=1e-9 * scope)
        np.testing.assert_allclose(gap[d + 1, 0, :, :m].ravel(), gaps, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(in_place(S, there, m), gram, rtol=1e-6, atol=1e-8 * np.abs(gram).max())
        sizes = spread[d + 1, 0, :, :m].ravel()
        np.testing.assert_allclose(sizes, np.diagonal(gram), rtol=1e-6, atol=1e-8 * np.abs(gram).max())
        foreseen = front[d + 1, :m].copy(), back[d + 1, :m].copy()
        front[d + 1], back[d + 1] = 0.0, 0.0
        rises(m, d + 1, 0, gap, spread, scales, front, back)
        np.testing.assert_allclose(foreseen, (front[d + 1, :m], back[d + 1, :m]), rtol=1e-5, atol=1e-8 * scope)
        step, gain = promise(m, d + 1, 0, r, S, there, gap, s)
        assert gain >= 0.0
        nudge = np.sign(step) * 1e-5 * lam
        slope = (surveyed(now, lam + nudge)[0] - surveyed(now, lam - nudge)[0]) / (2 * nudge)
        assert 2 * gain == pytest.approx(slope * step, rel=1e-2, abs=1e-6 * scope)
