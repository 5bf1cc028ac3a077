"""Beams from the front: their incremental state against plain evaluation, and what width brings."""

import numpy as np
import pytest

from taskorder import chain
from taskorder.ordering.beam_from_front import MIRROR_TIE, BeamFromFront, beam_from_front, smallest
from taskorder.ordering.clock import Clock
from taskorder.ordering.problem import open_problem

from .test_search import KINDS, allowed, best_of_all, make, plain_error


def chain_problem(n):
    return open_problem(chain(n, 0.8), None, np.ones(n), np.array([], int), np.arange(n), np.zeros((n, n), bool))


def plain_bound(problem, begun, lam):
    """e - b K^-1 b after the visits `begun`, and K^-1 b on the open ones, from scratch."""
    e, r, h = problem.e, problem.r.copy(), problem.h.copy()
    for j in begun:
        v = r[:, j].copy()
        e -= float(v @ (2 * h[:, j] - v * problem.G[j, j]))
        r -= np.outer(v, problem.C[j])
        h -= np.outer(v, problem.G[j])
    left = np.setdiff1d(np.arange(problem.size), begun)
    C, G = (table[np.ix_(left, left)] for table in (problem.C, problem.G))
    b = h[:, left] + lam / 2 * r[:, left]
    x = np.linalg.solve(G + lam / 2 * (C + np.eye(len(left))), b.T).T
    return e, r[:, left], h[:, left], x, e - float((b * x).sum()), left


@pytest.mark.parametrize(
    "options", [KINDS["plain"], KINDS["rows"], KINDS["precedence"]], ids=["plain", "rows", "before"]
)
@pytest.mark.parametrize("width", [1, 7, 40])
def test_the_state_of_every_partial_order_is_that_of_plain_evaluation(options, width):
    problem = make(4, 14, **options)
    run = BeamFromFront(problem, width, 1.0, Clock(60.0))
    run.tune(30)
    shared = 0
    for at in range(9):
        run.step(at)
        shared += len(np.unique(run.beam.key[: run.count])) < run.count
        assert len({tuple(order[: at + 1]) for order in run.beam.order[: run.count].tolist()}) == run.count
        for row in range(run.count):
            e, r, h, x, bound, left = plain_bound(problem, run.beam.order[row, : at + 1], run.lam)
            slots = [run.ids[: run.m].tolist().index(j) for j in left]
            assert not run.beam.shut[row, slots].any()
            assert run.beam.shut[row, : run.m].sum() == run.m - len(slots)
            assert run.beam.e[row] == pytest.approx(e, rel=1e-9)
            assert run.beam.bound[row] == pytest.approx(bound, rel=1e-7)
            for mine, plain in ((run.beam.r, r), (run.beam.h, h), (run.beam.x, x)):
                np.testing.assert_allclose(mine[row][:, slots], plain, rtol=1e-6, atol=1e-8)
    assert shared or width == 1  # some partial orders have the same visits, and share their inverse


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_gives_an_allowed_order_and_the_best_of_all_when_nothing_is_left_out(options):
    problem = make(2, 6, **options)
    order, cost = beam_from_front(problem, 720, 1.0, Clock(60.0))
    assert cost > 0
    assert sorted(order) == list(range(6))
    assert allowed(order, problem.precedes)
    if "twins" not in options:  # of equal prices one is kept
        assert plain_error(problem, order) == pytest.approx(best_of_all(problem), rel=1e-9)
    np.testing.assert_array_equal(order, beam_from_front(problem, 720, 1.0, Clock(60.0))[0])


def test_a_wide_beam_finds_the_pattern_of_a_chain():
    problem = chain_problem(100)
    narrow, wide = (problem.error(beam_from_front(problem, width, 1.0, Clock(60.0))[0]) for width in (1, 100))
    assert wide < 0.125 < narrow  # the best known is 0.1207; the bound, 0.1108


def test_gives_no_order_when_time_ran_out():
    assert beam_from_front(make(0, 12), 3, 1.0, Clock(0.0))[0] is None


def test_the_smallest_prices_come_first_and_ties_once():
    prices = np.array([3.0, 1.0, np.inf, 2.0, 1.0 + 0.1 * MIRROR_TIE, 5.0])
    assert smallest(prices, 3).tolist() == [1, 3, 0]
    assert smallest(prices, 10).tolist() == [1, 3, 0, 5]
