"""How sure a plan is of itself: the three verdicts, and what they rest on."""

import numpy as np
import pytest

from taskorder.constraints import Constraints
from taskorder.learners import CallableLearner
from taskorder.learners.protocol import Score
from taskorder.planning import confidence
from taskorder.planning.choice import best_order, compared_orders
from taskorder.planning.confidence import FINE, MATTERS, NOISY, unseen, verdict
from taskorder.planning.fitted_law import Pilot, fitted_law
from taskorder.planning.measurements import Measurements
from taskorder.planning.plan import plan
from taskorder.task import Task

from .pupils import learner, names, random_table, retaining, turned


def test_strong_structure_matters():
    sure = plan(names(), retaining(random_table(5), 0.1, noise=0.02), seeds=4, draws=60).confidence
    assert sure.verdict == MATTERS
    assert sure.beats_random > 0.75
    assert sure.gain_low < sure.gain < sure.gain_high
    assert sure.num_as_good < 100
    assert sure.num_orders == 120
    assert sure.unit == "score"


def test_what_the_pilot_cannot_see_of_the_real_run_makes_less_sure(monkeypatch):
    box = retaining(random_table(5), 0.1, noise=0.02)
    wide = plan(names(), box, seeds=4, draws=60).confidence
    monkeypatch.setattr(confidence, "UNSEEN", 0.0)
    seen = plan(names(), box, seeds=4, draws=60).confidence
    assert 0 < seen.gain_low <= seen.gain <= seen.gain_high
    assert seen.beats_random > wide.beats_random
    assert seen.num_as_good < wide.num_as_good
    assert wide.gain_low < seen.gain_low < seen.gain_high < wide.gain_high


def measured_without_noise(table):
    """Tasks alone, and what is known after each, from one seed."""
    scores = {(k,): [Score(1 - known, 1.0, None) for known in row] for k, row in enumerate(table)}
    usual = np.full(len(table), 0.13)
    return Pilot(Measurements.from_scores([scores]), usual, usual)


def test_what_is_said_comes_true_where_the_real_run_is_as_assumed():
    rng, said, true, inside = np.random.default_rng(0), [], [], []
    for seed in range(150):
        table, constraints = random_table(4, seed), Constraints.of(4)
        pilot = measured_without_noise(0.3 + (seed % 3) * (table - 0.3))
        law = fitted_law(pilot)
        orders = compared_orders(constraints, rng)
        real = law.outcome(orders) + unseen(law) * rng.normal(size=len(orders))
        chosen = best_order(law, constraints)
        sure = confidence.confidence(pilot, lambda law, part: chosen, chosen, constraints, draws=2)  # noqa: B023
        own = real[(orders == chosen).all(axis=1)][0]
        said.append(sure.beats_random)
        true.append((real < own).mean() + (real == own).mean() / 2)
        inside.append(sure.gain_low <= own - real.mean() <= sure.gain_high)
    said, true = np.array(said), np.array(true)
    for some in (said < 0.75, said >= 0.75):
        assert said[some].mean() == pytest.approx(true[some].mean(), abs=0.05)
    assert 0.84 < np.mean(inside) < 0.96


def test_identical_tasks_may_come_in_any_order():
    same = CallableLearner(lambda learned, test, seed: {"loss": 0.1 if learned else 1, "chance": 1, "accuracy": 0.9})
    sure = plan(names(), same, seeds=3, draws=60).confidence
    assert sure.verdict == FINE
    assert sure.beats_random == pytest.approx(0.5)
    assert sure.num_as_good == 119


def test_identical_real_tasks_may_come_in_any_order():
    x, y = turned(0.0, 0, count=200)
    tasks = [Task(name, x, y) for name in "ABC"]
    assert plan(tasks, learner(), pilot=1.0, seeds=4, draws=60).confidence.verdict == FINE


def test_no_interval_of_an_accuracy_leaves_0_to_1(monkeypatch):
    monkeypatch.setattr(confidence, "unseen", lambda law: 3.0)
    x, y = turned(0.0, 0, count=100)
    prediction = plan([Task(name, x, y) for name in "AB"], learner(), pilot=1.0, seeds=1, draws=40).prediction
    assert (prediction.low, prediction.high) == (0.0, 1.0)


def test_pure_noise_is_too_noisy_to_say():
    sure = plan(names(), retaining(np.eye(5), 0.1, noise=0.3), seeds=4, draws=60).confidence
    assert sure.verdict == NOISY
    assert 0.3 < sure.beats_random < 0.7
    assert sure.same_last < 0.9


def test_one_seed_without_examples_is_never_sure():
    assert plan(names(), retaining(random_table(5), 0.1), seeds=1, draws=60).confidence.verdict == NOISY


@pytest.mark.parametrize(
    ("likely", "gain", "spread", "known", "wanted"),
    [(0.9, 0.05, 0.03, True, MATTERS), (0.9, 0.05, 0.03, False, NOISY), (0.7, 0.05, 0.03, True, NOISY),
     (0.9, 0.005, 0.03, True, NOISY), (0.9, 0.005, 0.003, True, FINE), (0.4, -0.05, 0.03, True, NOISY),
     (0.3, -0.05, 0.0, True, NOISY)],
)  # fmt: skip
def test_the_verdict_rule(likely, gain, spread, known, wanted):
    assert verdict(likely, gain, spread, known=known) == wanted


def test_a_rule_is_rated_by_the_law_as_well():
    box = retaining(random_table(5), 0.1, noise=0.02)
    ours, worst = (
        plan(names(), box, rule=rule, seeds=4, draws=40).confidence for rule in ("auto", "core-to-periphery")
    )
    assert worst.beats_random < ours.beats_random
    assert worst.gain < ours.gain
