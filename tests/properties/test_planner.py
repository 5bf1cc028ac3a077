"""What a plan from a pilot must not depend on: names, the order of the list, what classes are called, interruptions."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

from taskorder import Plan, Task, plan, run_pilot
from taskorder.learners import CallableLearner, LearnerError, SklearnLearner
from taskorder.theory.law import final_knowledge

from .cases import Rng

NAMES = ("é", "x,y", 'say "hi"', "a>b", "1", "2.5", "#h", "中文", "a:b", "-x")


def law_abiding(table: np.ndarray, retention: float, names: list[str], noise: float) -> CallableLearner:
    """A black box that follows the law, with noise that depends on what was learned, whatever it is called."""

    def answer(learned: tuple[str, ...], test: str, seed: int) -> dict[str, float]:
        tasks, tested = [names.index(name) for name in learned], names.index(test)
        known = final_knowledge(table, tasks, retention)[tested]
        known += noise * np.random.default_rng([seed, tested, *tasks]).normal()
        known = float(min(known, 1.0))
        return {"loss": 1 - known, "chance": 1.0, "accuracy": float(np.clip((1 + known) / 2, 0, 1))}

    return CallableLearner(answer, name="law")


def black_box(rng: Rng) -> tuple[np.ndarray, float, dict[str, Any]]:
    """A table, a retention and options of a plan, tasks by index."""
    size = int(rng.choice([1, 2, 3, 5, 7, 9]))
    table = rng.uniform(-0.3, 0.7, (size, size))
    np.fill_diagonal(table, rng.uniform(0.8, 1, size))
    mixed = rng.permutation(size).tolist()
    options: dict[str, Any] = {"seeds": int(rng.integers(1, 4)), "draws": int(rng.choice([0, 10])), "budget": None}
    if size > 3:
        some = {"last": mixed[-1], "first": mixed[0], "before": [mixed[1:3]], "groups": [mixed[1:3]]}
        options |= {key: value for key, value in some.items() if rng.random() < 0.3}
    if rng.random() < 0.3:
        options["retention"] = float(rng.choice([0, 0.1, 0.5, 0.9, 1]))
    options["rule"] = str(rng.choice(["auto", "auto", "optimal", "row-sums", "greedy", "max-path"]))
    return table, float(rng.choice([0.0, 0.1, 0.5, 0.9])), options


def by_name(options: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The options with names in place of indices."""
    named = dict(options)
    for key in ("first", "last"):
        if key in options:
            named[key] = names[options[key]]
    for key in ("before", "groups"):
        if key in options:
            named[key] = [[names[task] for task in tasks] for tasks in options[key]]
    return named


def renamed(rng: Rng) -> None:
    """Everything but names stays, to the last digit."""
    table, retention, options = black_box(rng)
    plans = []
    for names in ([f"task {k}" for k in range(len(table))], rng.permutation(NAMES)[: len(table)].tolist()):
        learner = law_abiding(table, retention, names, 0.05)
        plans.append(plan([Task(name) for name in names], learner, **by_name(options, names)))
    one, other = (told(each) for each in plans)
    assert one == other


def listed_in_another_order(rng: Rng) -> None:
    """The same order by name, or one that is worth as much; what is predicted of a task goes with it."""
    table, retention, options = black_box(rng)
    names = [f"task {k}" for k in range(len(table))]
    learner, asked = law_abiding(table, retention, names, 0.05), by_name(options, names)
    one = plan([Task(name) for name in names], learner, **asked)
    other = plan([Task(names[k]) for k in rng.permutation(len(names))], learner, **asked)
    assert abs(one.prediction.mean - other.prediction.mean) < 1e-6
    assert {warning.kind for warning in one.warnings} == {warning.kind for warning in other.warnings}
    if one.named_order == other.named_order:
        assert one.value == pytest.approx(other.value, abs=1e-9)
        predicted = (dict(zip(each.names, each.prediction.tasks, strict=True)) for each in (one, other))
        assert next(predicted) == pytest.approx(next(predicted), abs=1e-9)


def points(rng: Rng, count: int = 60, classes: int = 2) -> list[tuple[np.ndarray, np.ndarray]]:
    """A few tasks of points on one side or another of a plane."""
    parts = []
    for _ in range(int(rng.integers(2, 5))):
        x = rng.normal(size=(count, 4))
        y = (x @ rng.normal(size=(4, classes))).argmax(axis=1)
        y[: 2 * classes] = np.tile(np.arange(classes), 2)
        parts.append((x, y))
    return parts


def classes_renamed(rng: Rng) -> None:
    """What classes are called does not matter, as long as they are sorted alike."""
    classes = int(rng.choice([2, 3]))
    parts, label = points(rng, classes=classes), np.array(["a", "b", "c"])
    learner = SklearnLearner(SGDClassifier(loss="log_loss"), 1)
    asked = {"pilot": float(rng.choice([0.5, 1.0])), "seeds": int(rng.integers(1, 3)), "draws": 10}
    one = plan([Task(f"t{k}", x, y) for k, (x, y) in enumerate(parts)], learner, **asked)
    other = plan([Task(f"t{k}", x, label[y]) for k, (x, y) in enumerate(parts)], learner, **asked)
    assert told(one) == told(other)


def rows_twice(rng: Rng) -> None:
    """A learner of means and variances learns the same from every example twice."""
    parts, losses = points(rng, 30), []
    for times in (1, 2):
        tasks = [Task(f"t{k}", np.repeat(x, times, axis=0), np.repeat(y, times)) for k, (x, y) in enumerate(parts)]
        learner = SklearnLearner(GaussianNB(var_smoothing=0.1), 1)
        losses.append(run_pilot(tasks, learner, pilot=1.0, seeds=1, draws=0).transfer)
    np.testing.assert_allclose(losses[0].losses, losses[1].losses, atol=1e-9)
    np.testing.assert_allclose(losses[0].accuracy, losses[1].accuracy)


def nothing_but_chance(rng: Rng) -> None:
    """Where nothing is learned, no plan says that order matters."""
    names, noise = [f"t{k}" for k in range(rng.choice([2, 3, 5, 8, 9]))], float(rng.choice([0, 0.001, 0.03]))

    def answer(learned: tuple[str, ...], test: str, seed: int) -> dict[str, float]:
        error = noise * np.random.default_rng([seed, names.index(test), *map(names.index, learned)]).normal()
        return {"loss": 1 + error, "chance": 1.0, "accuracy": float(np.clip(0.5 - error / 2, 0, 1))}

    learner = CallableLearner(answer, name="chance")
    found = plan([Task(name) for name in names], learner, seeds=int(rng.integers(1, 4)), draws=20)
    assert found.confidence.verdict in ("too noisy to say", "any order is fine")
    assert "not converged" in {warning.kind for warning in found.warnings}


def a_task_that_nobody_can_learn(rng: Rng) -> None:
    """It is not the last one."""
    size = int(rng.integers(3, 6))
    table = np.zeros((size + 1, size + 1))
    table[:size, :size] = rng.uniform(0, 0.7, (size, size))
    np.fill_diagonal(table[:size, :size], rng.uniform(0.8, 1, size))
    names = [f"t{k}" for k in range(size + 1)]
    learner = law_abiding(table, float(rng.choice([0, 0.1, 0.3])), names, 0.0)
    assert plan([Task(name) for name in names], learner, seeds=1, draws=0).named_order[-1] != names[-1]


def weights_times_a_constant(rng: Rng) -> None:
    """What is predicted and the confidence stay."""
    table, retention, options = black_box(rng)
    names = [f"t{k}" for k in range(len(table))]
    learner, asked = law_abiding(table, retention, names, 0.05), by_name(options, names)
    weights, factor = rng.uniform(0.2, 3, len(table)), float(rng.choice([1e-6, 0.5, 300.0]))
    one, other = (
        plan([Task(name) for name in names], learner, weights=dict(zip(names, some.tolist(), strict=True)), **asked)
        for some in (weights, factor * weights)
    )
    assert one.prediction.mean == pytest.approx(other.prediction.mean, abs=1e-9)
    assert one.prediction.random_mean == pytest.approx(other.prediction.random_mean, abs=1e-9)
    assert (one.confidence is None) == (other.confidence is None)
    if one.confidence is not None:
        assert one.confidence.verdict == other.confidence.verdict
        assert one.confidence.beats_random == pytest.approx(other.confidence.beats_random, abs=1e-6)


def beside_another_task(rng: Rng) -> None:
    """What is measured of tasks does not depend on which others there are, to the last digit."""
    parts = points(rng)
    tasks = [Task(f"t{k}", x, y) for k, (x, y) in enumerate(parts)]
    other, learner = Task("other", *points(rng)[0]), SklearnLearner(SGDClassifier(loss="log_loss"), 1)
    asked = {"pilot": float(rng.choice([0.3, 0.5])), "seeds": int(rng.integers(1, 3)), "draws": 0}
    at, size = int(rng.integers(len(tasks))), len(tasks)
    rest = [place for place in range(size + 1) if place != at]
    alone = run_pilot(tasks, learner, **asked).transfer
    beside = run_pilot([*tasks[:at], other, *tasks[at:]], learner, **asked).transfer
    for name in ("losses", "accuracy"):
        among = getattr(beside, name)[..., rest, :][..., rest]
        np.testing.assert_array_equal(among, getattr(alone, name))


def task_and_its_copy(rng: Rng) -> None:
    """Both are known as well, whichever of them is learned before the other."""
    table, retention, options = black_box(rng)
    size = len(table)
    both = [*range(size), int(rng.integers(size))]
    names = [f"t{k}" for k in range(size + 1)]
    learner = law_abiding(table[np.ix_(both, both)], retention, names, 0.0)
    options = {key: options[key] for key in ("rule", "retention") if key in options}
    found = plan([Task(name) for name in names], learner, seeds=1, draws=0, **options)
    assert found.prediction.tasks[size] == pytest.approx(found.prediction.tasks[both[size]], abs=1e-9)


class Interrupted(SklearnLearner):
    """Fails after so many fits."""

    left = 0

    def fit(self, model: Any, task: Task) -> Any:
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("interrupted")
        return super().fit(model, task)


def interrupted_many_times(rng: Rng) -> None:
    """A pilot that goes on from its store ends as one that was never interrupted, and so does the same one again."""
    parts = points(rng)
    tasks, learner = (
        [Task(f"t{k}", x, y) for k, (x, y) in enumerate(parts)],
        Interrupted(SGDClassifier(loss="log_loss"), 1),
    )
    asked = {"pilot": 0.5, "seeds": 2, "draws": 5, "budget": rng.choice(["20", "1 runs", "2 runs"]).item()}
    learner.left = 10**9
    whole, again = plan(tasks, learner, **asked), plan(tasks, learner, **asked)
    assert told(whole) == told(again)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(200):
            learner.left = int(rng.integers(1, 6))
            try:
                found = plan(tasks, learner, store=Path(folder) / "pilot.sqlite", **asked)
            except LearnerError:
                continue
            if found.mix is not None or whole.mix is None:
                break
            # a learner that fails on all tasks mixed costs the plan no more than that, and it says so
            assert any("interrupted" in note for note in found.notes)
    assert told(found) == told(whole)


def told(of: Plan) -> dict[str, Any]:
    """A plan but for names, times and texts with names in them."""
    values = of.to_dict()
    for key in ("seconds", "names", "options", "notes", "similarity_digest"):
        del values[key]
    values["warnings"] = [warning["kind"] for warning in values["warnings"]]
    return values


PROPERTIES = (
    renamed,
    listed_in_another_order,
    classes_renamed,
    rows_twice,
    nothing_but_chance,
    a_task_that_nobody_can_learn,
    weights_times_a_constant,
    beside_another_task,
    task_and_its_copy,
    interrupted_many_times,
)


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
def test_a_few_pilots(holds):
    for seed in range(2):
        holds(np.random.default_rng(seed))


@pytest.mark.slow("sizes")
@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
def test_many_pilots(holds):
    for seed in range(100, 110):
        holds(np.random.default_rng(seed))


def test_what_differs_is_seen():
    names = ["a", "b", "c"]
    one, other = (
        plan([Task(n) for n in names], law_abiding(np.eye(3) * k, 0.1, names, 0.0), seeds=1, draws=0) for k in (1, 0.9)
    )
    assert told(one) != told(other)
