"""Steps at either end of an order leave a smaller problem with the same errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder.ordering.problem import Problem

from .questions import correlation
from .test_exact import problem_of


def stepped(problem, j, last):
    """The problem after visiting j next, or after fixing it last, with the last visit in the place of j."""
    from taskorder.ordering.kernels.steps import fix_last, learn_first, new_states

    m = problem.size
    e, r, h, C, G, task = new_states(2, problem.e, problem.r, problem.h, problem.C, problem.G)
    (fix_last if last else learn_first)(e, r, h, C, G, task, 0, 1, m, j)
    left = m - 1
    tables = r[1, :, :left], h[1, :, :left], C[1, :left, :left], G[1, :left, :left]
    return Problem(task[1, :left], e[1], *(table.copy() for table in tables), problem.precedes[:left, :left])


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
