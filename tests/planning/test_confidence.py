"""How sure a plan is of itself: the three verdicts, and what they rest on."""

import numpy as np
import pytest

from taskorder.learners import CallableLearner
from taskorder.planning import confidence
from taskorder.planning.confidence import FINE, MATTERS, NOISY, verdict
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
