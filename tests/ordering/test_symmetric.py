"""Proofs of problems with many symmetries: what is skipped as equivalent must be equivalent.

After a first task some relabelings are left that still change nothing, and after a second one fewer: a search that
forgets to drop one finds orders that are too good to be skipped, and skips them.
"""

import itertools

import numpy as np
import pytest

from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import prove
from taskorder.ordering.listing import all_errors
from taskorder.ordering.solver_input import solver_input

CUBE = np.array(list(itertools.product((0, 1), repeat=3)))
TORUS = np.array(list(itertools.product(range(3), repeat=2)))


def cube(a):
    """Tasks at the corners of a cube: 48 symmetries, 6 of them left after the first task."""
    return a ** np.abs(CUBE[:, None] - CUBE).sum(axis=2)


def torus(a):
    """Tasks on a square of 3 x 3 whose sides meet: 72 symmetries, 8 of them left after the first task."""
    return a ** (TORUS[:, None] != TORUS).sum(axis=2)


def prism(a):
    """Two rings of four, each task beside its image: a cube that is longer in one direction."""
    apart = np.abs(CUBE[:, None] - CUBE)
    return a ** (apart[..., 0] * 1.7 + apart[..., 1] + apart[..., 2])


@pytest.mark.parametrize("sign", [1, -1], ids=["best", "worst"])
@pytest.mark.parametrize("a", [0.2, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("make", [cube, torus, prism])
def test_symmetric_problems_are_solved_exactly(make, a, sign):
    options = dict.fromkeys(["output", "weights", "names", "first", "last"])
    problem = solver_input(make(a), **options, retention=1).problem()
    posed = problem if sign > 0 else problem.negated()
    errors = all_errors(posed)
    proof = prove(posed, np.arange(posed.size), Clock(60))
    assert proof.complete
    assert proof.error == pytest.approx(float(errors.min()), rel=1e-9)
