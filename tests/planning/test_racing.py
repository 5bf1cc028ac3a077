"""Races for the last places: what they cost, when they stop, and that they find what all the data would."""

import math

import numpy as np
import pytest

from taskorder.learners import SklearnLearner
from taskorder.learners.protocol import ByClass
from taskorder.planning.plan import plan, run_pilot
from taskorder.planning.racing import first_size, round_counts, surely_ahead
from taskorder.task import Task

from .pupils import learner, turned


class Typical(ByClass):
    """Knows all tasks the better the closer the number of the last task is to `hub`, and keeps a little."""

    def __init__(self, hub):
        self.hub, self.sizes = hub, []

    def make(self, seed):
        return (0.5, 1)

    def fit(self, model, task):
        self.sizes.append((task.name, len(task.targets)))
        quality = 0.85 - 0.04 * abs(float(task.name) - self.hub)
        return (quality + 0.2 * (model[0] - 0.5) * (1 - quality), len(task.targets))

    def losses_by_class(self, model, inputs):
        quality, size = model
        # how many answers are right depends on what was learned; which ones, on the input alone
        right = np.abs(np.sin(1000 * inputs[:, 0])) < quality
        truth = (inputs[:, 1] > 0).astype(int)
        answer = np.where(right, truth, 1 - truth)
        return np.where(np.arange(2)[None] == answer[:, None], 0.1, 2.0) * (1 + 1 / size)

    def describe(self):
        return f"typical {self.hub}"


def flat_tasks(count, size=400):
    rng = np.random.default_rng(0)
    made = []
    for k in range(count):
        x = rng.normal(size=(size, 2))
        made.append(Task(f"{k}", x, (x[:, 1] > 0).astype(int)))
    return made


@pytest.mark.parametrize("runs", [0.1, 0.25, 0.5])
def test_a_race_ends_with_the_best_last_task_within_its_budget(runs):
    mine = Typical(hub=5)
    result = run_pilot(flat_tasks(12), mine, budget=f"{runs} runs", draws=0)
    assert result.plan.order[-1] == 5
    assert result.plan.prediction.cost <= runs
    assert sum(size for _, size in mine.sizes) == pytest.approx(result.plan.prediction.cost * 12 * 400)
    assert any("raced for the last places" in note for note in result.plan.notes)


def test_examples_are_a_budget_as_well():
    chosen = plan(flat_tasks(6), Typical(hub=2), budget="600 examples", draws=0)
    assert chosen.prediction.cost <= 600 / 2400
    assert chosen.order[-1] in (1, 2, 3)


def test_a_task_may_have_fewer_examples_than_another_has_classes():
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 2))
    many = Task("many", x, np.arange(600) % 12)
    few = [Task(f"few {k}", x[k : k + 8], np.arange(8) % 2) for k in range(3)]
    classifier = SklearnLearner(linear_model.SGDClassifier(loss="log_loss"))
    result = run_pilot([many, *few], classifier, budget="0.9 runs", draws=0)
    assert sorted(result.plan.named_order) == ["few 0", "few 1", "few 2", "many"]


def test_the_better_half_gets_more_examples():
    mine = Typical(hub=0)
    run_pilot(flat_tasks(12), mine, budget="0.3 runs", draws=0)
    largest = {name: max(size for other, size in mine.sizes if other == name) for name, _ in mine.sizes}
    assert len(largest) == 12
    assert largest["0"] >= largest["11"]


def test_a_clear_leader_ends_the_race_early():
    clear = plan(flat_tasks(12, size=3000), Typical(hub=0), budget="0.9 runs", draws=0)
    assert clear.order[-1] == 0
    assert any("6 on 1671, stopped: the leader is surely ahead" in note for note in clear.notes)
    # nobody leads by more than the noise of 400 examples that tasks are tested on
    close = plan(flat_tasks(12), Typical(hub=5), budget="0.9 runs", draws=0)
    assert not any("surely ahead" in note for note in close.notes)


def test_a_leader_is_judged_by_how_far_two_rounds_disagree():
    rng = np.random.default_rng(0)
    truth = np.array([0.5, 0.46, 0.4, 0.3, 0.2])
    for noise in (0.005, 0.05):
        stops = []
        for _ in range(2000):
            before = truth + noise * math.sqrt(3) * rng.normal(size=5)
            after = truth + noise * rng.normal(size=5)
            if surely_ahead(before, after, 3.0):
                stops.append(after.argmax() == 0)
        assert stops.count(False) < 0.05 * 2000
        assert len(stops) > 0.9 * 2000 if noise == 0.005 else len(stops) < 0.5 * 2000
    assert not surely_ahead(truth, truth, 3.0, testing=0.05)
    assert surely_ahead(truth, truth, 3.0, testing=0.005)


def test_a_fixed_last_task_leaves_the_place_before_it():
    chosen = plan(flat_tasks(8), Typical(hub=3), budget="0.3 runs", last="7", draws=0)
    assert chosen.order[-2:] == (3, 7)


def test_a_race_of_real_tasks_goes_on_after_an_interruption(tmp_path):
    tasks = [Task(f"turn {k}", *turned(k * 0.4, k, 200)) for k in range(5)]
    fits = []

    class Counting(SklearnLearner):
        def fit(self, model, task):
            fits.append(task.name)
            if len(fits) == 8:
                raise KeyboardInterrupt
            return super().fit(model, task)

    broken = Counting(learner().estimator, epochs=2)
    how = {"budget": "0.5 runs", "draws": 20, "store": tmp_path / "fits.sqlite"}
    with pytest.raises(KeyboardInterrupt):
        plan(tasks, broken, **how)
    resumed = plan(tasks, broken, **how)
    again = plan(tasks, learner(), budget="0.5 runs", draws=20)
    assert resumed.order == again.order
    assert resumed.prediction == again.prediction


def test_rounds_and_sizes():
    assert round_counts(1) == [1]
    assert round_counts(50) == [50, 25, 12, 6, 3]
    for budget in (120, 1000, 10_000):
        size = first_size([500] * 10, round_counts(10), budget)
        later = [min(size * 3**r, 500) * count for r, count in enumerate(round_counts(10))]
        assert size * 10 + sum(later) <= budget
    with pytest.raises(
        ValueError, match="`budget` must be enough for a race of 10 tasks, at least 106 examples, got 30"
    ):
        first_size([500] * 10, round_counts(10), 30)
