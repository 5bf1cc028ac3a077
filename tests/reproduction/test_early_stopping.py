"""Early stopping: the closed form with progress in the solvers' form, the prediction for short training, the figure."""

import copy
import itertools
import json
import re

import numpy as np
import pytest

from reproduction.claims import FigureData
from reproduction.figures import early_stopping
from reproduction.figures.early_stopping import errors_by_progress, stopped_problem
from reproduction.figures.early_stopping_claims import agrees, matters_most, stopping_pays
from reproduction.fitting import last_above
from taskorder.linear.random_tasks import Sizes
from taskorder.linear.simulate import progress_of
from taskorder.ordering.clock import Clock
from taskorder.ordering.optimum import minimize
from taskorder.theory.closed_form import final_error
from taskorder.theory.correlation import random_correlation
from taskorder.theory.graphs import chain

TINY = early_stopping.Config(
    steps=(1, 5, 10, 100), matrices=("chain-5",), num_tasks=5, num_matrices=6, simulated_steps=(10,),
    simulated_matrices=3, num_orders=3, num_repeats=2, num_latent=10, num_inputs=(1000, 20000),
)  # fmt: skip


@pytest.fixture(scope="module")
def results():
    return early_stopping.run_batch(early_stopping.specs(TINY))


@pytest.mark.parametrize("progress", [0.05, 0.4, 0.9, 1.0])
@pytest.mark.parametrize("P", [1, 2, 6])
def test_stopped_problem_is_the_closed_form_with_progress(P, progress):
    C = random_correlation(P, seed=P)
    problem = stopped_problem(C, progress)
    orders = np.array([np.random.default_rng(k).permutation(P) for k in range(10)])
    expected = [final_error(C, order, progress=progress) for order in orders]
    np.testing.assert_allclose(problem.errors(orders), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("progress", [0.2, 0.7])
def test_the_best_order_is_proven_under_early_stopping(progress):
    C = random_correlation(9, seed=5)
    problem = stopped_problem(C, progress)
    proof = minimize(problem, seed=0, clock=Clock(600.0))
    orders = np.array(list(itertools.permutations(range(9))))
    assert proof.complete
    assert proof.error == pytest.approx(problem.errors(orders).min(), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_core_to_periphery_is_best_after_very_short_training(seed):
    C = random_correlation(6, 0, 1, seed=seed)
    errors = errors_by_progress(C, [1e-4])
    # the order shows in the second power of progress, 1e-8, and what is beyond in the third
    assert errors["core-to-periphery"][0] - errors["best"][0] < 1e-10
    assert errors["periphery-to-core"][0] - errors["best"][0] > 1e-9


def test_second_order_in_progress():
    C, p = chain(4, 0.6), 1e-3
    order = [2, 0, 3, 1]
    s = C.sum(axis=1)
    pairs = sum(C[k, j] * s[j] for k, j in itertools.combinations(order, 2))
    expected = 4 - 2 * p * s.sum() + p * p * (s @ s + 2 * pairs)
    assert final_error(C, order, progress=p) == pytest.approx(expected, abs=100 * p**3)


def test_errors_by_progress_against_every_order():
    C = chain(5, 0.7)
    by_rule = errors_by_progress(C, [0.3, 1.0])
    orders = list(itertools.permutations(range(5)))
    for row, p in enumerate([0.3, 1.0]):
        errors = [final_error(C, order, progress=p) for order in orders]
        assert by_rule["best"][row] == pytest.approx(min(errors))
        assert by_rule["worst"][row] == pytest.approx(max(errors))
        assert by_rule["mean"][row] == pytest.approx(np.mean(errors))
    assert by_rule["converged"][1] == pytest.approx(by_rule["best"][1])
    assert by_rule["converged"][0] == pytest.approx(final_error(C, [0, 4, 2, 3, 1], progress=0.3))
    assert by_rule["rank"][1] == pytest.approx(1)


def test_progress_of_the_config_is_that_of_the_descent():
    config = early_stopping.Config()
    expected = [progress_of(Sizes(), steps, 0.001) for steps in config.steps]
    np.testing.assert_allclose(config.progress, expected)


def test_figure_shows_the_numbers(results):
    figure = early_stopping.figure(TINY, results)
    best = next(series for series in figure.panels[0].series if series.role == "best")
    orders = np.array(list(itertools.permutations(range(5))))
    assert best.y[-1] == pytest.approx(min(final_error(chain(5, 0.7), o, progress=TINY.progress[-1]) for o in orders))
    assert [panel.title.startswith("Gradient") for panel in figure.panels[-2:]] == [True, True]
    near = np.array([figure.panels[-1].series[0].x, figure.panels[-1].series[0].y])
    np.testing.assert_allclose(near[1], near[0], rtol=0.1, atol=0.005)
    assert FigureData.from_json(figure.to_json()).to_json() == figure.to_json()


def test_equal_specs_give_equal_results(results):
    assert early_stopping.run_batch(early_stopping.specs(TINY)[-2:]) == results[-2:]
    json.dumps(results, allow_nan=False)


def test_checks_can_turn(results):
    def verdicts(rows):
        return [check.verdict for check in early_stopping.figure(TINY, rows).claims[:5]]

    as_found = verdicts(results)
    assert as_found[:3] == ["not reproduced", "not reproduced", "reproduced"]
    altered = copy.deepcopy(list(results))
    for row in altered[1:7]:
        row["rank"] = [1.0] * 4
        row["core-to-periphery"], row["periphery-to-core"] = row["periphery-to-core"], row["core-to-periphery"]
        row["mean"] = [4.0, 3.0, 2.0, 1.0]
        row["best"] = row["converged"] = [1.0, 2.0, 1.9, 0.99]
    turned = verdicts(altered)
    assert turned == ["reproduced", "reproduced", "not reproduced", "not reproduced", "not reproduced"]


def test_agreement_needs_slope_correlation_and_small_deviations():
    x = np.linspace(0.05, 1, 40).reshape(8, 5)
    noise = np.random.default_rng(0).standard_normal(x.shape)

    def verdict(y):
        return agrees(10, 3000, np.stack([x, y], axis=-1)).verdict

    assert verdict(1.02 * x) == "reproduced"
    assert verdict(1.5 * x) == "not reproduced"
    assert verdict(x + noise) == "not reproduced"
    # a constant changes neither slope nor correlation, but every error by 20 % or more
    assert verdict(x + 0.2) == "not reproduced"
    uneven = np.where(np.arange(8) % 2, 1.05, 1.15)[:, None]
    assert verdict(uneven * x) == "undecided"


def test_deviations_are_told_for_the_smallest_errors_too():
    x = np.linspace(0.1, 1, 40).reshape(8, 5)
    y = np.where(x < 0.19, 1.5 * x, 1.01 * x)
    words = agrees(10, 3000, np.stack([x, y], axis=-1)).found
    assert "median relative deviation 1.0% [" in words
    assert "50.0% [" in words


def test_the_order_matters_most_is_decided_by_the_interval():
    progress = np.array([0.5, 0.9, 1.0])
    late, early = np.array([0.9, 0.8, 0.5]), np.array([0.9, 0.5, 0.8])

    def check(curves):
        random = {"best": np.array(curves), "mean": np.ones((len(curves), 3))}
        return matters_most(progress, random, {"chain-5": {"best": early.tolist(), "mean": [1.0, 1.0, 1.0]}})

    assert check([late] * 10).verdict == "reproduced"
    assert check([early] * 10).verdict == "not reproduced"
    assert check([early, late] * 5).verdict == "undecided"
    assert "random matrices, entries in [0, 1]" in check([late] * 10).claim
    assert "chain-5: least, 0.500, at 0.90, 0.800 at convergence" in check([late] * 10).found


def test_whether_stopping_pays_is_told_for_named_matrices():
    random = {"best": np.ones((10, 2)), "mean": np.tile([1.0, 2.0], (10, 1))}
    check = stopping_pays(np.array([0.5, 1.0]), random, {"demo": {"mean": [3.0, 4.0]}})
    assert check.verdict == "reproduced"
    assert "demo: a random order's at progress 0.50, 0.75 of that at convergence" in check.found
    random["mean"][:5] = 1.0
    assert stopping_pays(np.array([0.5, 1.0]), random, {}).verdict == "undecided"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"matrices": ("foo",)}, "`matrices` must name only chain-5, tree-7, demo, got 'foo'."),
        ({"matrices": ()}, "`matrices` must have at least one entry, got none."),
        ({"steps": (5, 2)}, "`steps` must rise"),
        ({"steps": (0, 2)}, "`steps` must be a whole number of at least 1, got 0."),
        ({"num_tasks": 30}, "`num_tasks` must be a whole number from 3 to 8, got 30."),
        ({"rate": float("inf")}, "`rate` must be a number above 0 and below 1, got inf."),
        ({"num_matrices": 1}, "`num_matrices` must be a whole number of at least 2, got 1."),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        early_stopping.Config(**settings)


def test_last_above():
    x = np.array([1.0, 2.0, 4.0])
    curves = np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    assert last_above(x, curves, 1.0).tolist() == [2.0, 3.0, 4.0, 1.0]
