"""How sure a plan is of itself: the three verdicts, and what they rest on."""

import numpy as np
import pytest

from taskorder.learners import CallableLearner
from taskorder.planning.confidence import FINE, MATTERS, NOISY, RehearsalEvidence, verdict
from taskorder.planning.plan import plan
from taskorder.task import Task
from taskorder.theory.graphs import chain

from .pupils import black_box, learner, names, turned


def test_strong_structure_matters():
    sure = plan(names(), black_box(chain(5, 0.8), noise=0.02), seeds=4, draws=60).confidence
    assert sure.verdict == MATTERS
    assert sure.beats_random > 0.8
    assert sure.gain_low < sure.gain < sure.gain_high
    assert sure.num_as_good < 60
    assert sure.num_orders == 120
    assert sure.unit == "accuracy"


def test_the_interval_adds_what_the_pilot_cannot_see_of_the_real_run(monkeypatch):
    box = black_box(chain(5, 0.8), noise=0.02)
    wide = plan(names(), box, seeds=4, draws=60).confidence
    monkeypatch.setattr(RehearsalEvidence, "unseen", 0.0)
    halves = plan(names(), box, seeds=4, draws=60).confidence
    assert 0 < halves.gain_low <= halves.gain <= halves.gain_high
    same = ("verdict", "beats_random", "gain", "as_good", "same_last")
    assert all(getattr(wide, name) == getattr(halves, name) for name in same)
    added = [
        np.sqrt((getattr(wide, end) - wide.gain) ** 2 - (getattr(halves, end) - halves.gain) ** 2)
        for end in ("gain_low", "gain_high")
    ]
    assert added[0] == pytest.approx(added[1])
    assert added[0] > 0.01


def test_identical_tasks_may_come_in_any_order():
    same = CallableLearner(lambda learned, test, seed: {"loss": 0.1 if learned else 1, "chance": 1, "accuracy": 0.9})
    sure = plan(names(), same, seeds=3, draws=60).confidence
    assert sure.verdict == FINE
    assert sure.beats_random == pytest.approx(0.5)
    assert sure.num_as_good == 119


def test_identical_real_tasks_may_come_in_any_order():
    x, y = turned(0.0, 0, count=200)
    tasks = [Task(name, x, y) for name in "ABC"]
    sure = plan(tasks, learner(), pilot=1.0, seeds=4, draws=60).confidence
    assert sure.verdict == FINE


def test_pure_noise_is_too_noisy_to_say():
    sure = plan(names(), black_box(np.eye(5), noise=1.0), seeds=4, draws=60).confidence
    assert sure.verdict == NOISY
    assert 0.3 < sure.beats_random < 0.7
    assert sure.same_last < 0.9


def test_one_seed_without_examples_is_never_sure():
    assert plan(names(), black_box(chain(5, 0.8)), seeds=1, draws=60).confidence.verdict == NOISY


@pytest.mark.parametrize(
    ("gain", "low", "high", "known", "wanted"),
    [(0.05, 0.01, 0.1, True, MATTERS), (0.05, 0.01, 0.1, False, NOISY), (0.05, -0.01, 0.1, True, NOISY),
     (0.005, 0.001, 0.02, True, NOISY), (0.001, -0.009, 0.009, True, FINE), (-0.05, -0.1, 0.009, True, NOISY)],
)  # fmt: skip
def test_the_verdict_rule(gain, low, high, known, wanted):
    assert verdict(gain, low, high, known=known) == wanted


def test_confidence_of_a_rule_is_in_predicted_error():
    sure = plan(names(), black_box(chain(5, 0.8), noise=0.02), rule="optimal", seeds=4, draws=50).confidence
    assert sure.unit == "error"
    assert sure.verdict == MATTERS
    assert sure.gain > 0.3
