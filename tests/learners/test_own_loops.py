"""Learners of one's own, with few methods or many, and black boxes, beside the same written out in NumPy."""

import json
import sys

import numpy as np
import pytest

from taskorder.learners import CallableLearner, CommandLearner, learn_orders
from taskorder.learners.orders import ModelFailed
from taskorder.learners.protocol import SHUFFLES
from taskorder.task import Task

from .plain_loops import ORDERS, as_tasks, numbers


def step(weights, x, y, rate=0.3):
    """One step of softmax regression on all examples."""
    likely = probabilities(weights, x)
    likely[np.arange(len(y)), y] -= 1
    return weights - rate * x.T @ likely / len(y)


def probabilities(weights, x):
    scores = np.exp(x @ weights)
    return scores / scores.sum(axis=1, keepdims=True)


def loss_of(weights, x, y):
    return float(-np.log(probabilities(weights, x)[np.arange(len(y)), y]).mean())


class Few:
    """The three methods that a learner must have; it changes its model in place."""

    def make(self, seed):
        return {"weights": np.random.default_rng(seed).normal(size=(3, 3)), "fits": 0}

    def fit(self, model, task):
        model["weights"] = step(model["weights"], task.inputs, task.targets)
        model["fits"] += 1
        return model

    def loss(self, model, task):
        inputs, targets = task.measured
        return loss_of(model["weights"], inputs, targets)


class ByClass(Few):
    """With the losses of every class, no label needs to be shuffled."""

    def losses_by_class(self, model, inputs):
        return -np.log(probabilities(model["weights"], inputs))


class Many(ByClass):
    """Several models at the same time."""

    at_once = 2

    def fit_many(self, models, tasks):
        return [
            {"weights": step(m["weights"], t.inputs, t.targets), "fits": m["fits"] + 1}
            for m, t in zip(models, tasks, strict=True)
        ]


class Failing(Many):
    """The second of two models fails."""

    def fit_many(self, models, tasks):
        if len(models) > 1:
            raise ModelFailed(1, RuntimeError("too hot"))
        return super().fit_many(models, tasks)


@pytest.mark.parametrize("learner", [Few(), ByClass(), Many()], ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("seed", [0, 5])
def test_own_objects(learner, seed):
    parts = numbers()
    tasks = as_tasks(parts)
    (scores,) = learn_orders(learner, tasks, ORDERS, (seed,))
    for order in ORDERS:
        weights = np.random.default_rng(seed).normal(size=(3, 3))
        for task in order:
            weights = step(weights, *parts[task])
        for score, (x, y) in zip(scores[order], parts, strict=True):
            logs = -np.log(probabilities(weights, x))
            assert score.loss == pytest.approx(logs[np.arange(len(y)), y].mean())
            if type(learner) is Few:
                shuffled = [np.random.default_rng(k).permutation(y) for k in range(SHUFFLES)]
                assert score.chance == pytest.approx(np.mean([loss_of(weights, x, mixed) for mixed in shuffled]))
                assert score.accuracy is None
            else:
                assert score.chance == pytest.approx(logs[:, y].mean())
                assert score.accuracy == pytest.approx((logs.argmin(axis=1) == y).mean())


def test_held_out_examples_are_what_losses_are_measured_on():
    parts = numbers()
    held = numbers(seed=1)
    held[2] = (held[2][0], np.minimum(held[2][1], 1))
    tasks = [Task(f"t{k}", x, y, *held[k]) for k, (x, y) in enumerate(parts)]
    (scores,) = learn_orders(ByClass(), tasks, [(0, 2)], (1,))
    weights = np.random.default_rng(1).normal(size=(3, 3))
    for task in (0, 2):
        weights = step(weights, *parts[task])
    assert [score.loss for score in scores[0, 2]] == pytest.approx([loss_of(weights, x, y) for x, y in held])


def test_the_model_that_failed_is_named():
    with pytest.raises(ValueError, match=r"got RuntimeError: too hot \(learning 't1', seed 0, fit 2 of 2\)"):
        learn_orders(Failing(), as_tasks(numbers()), [(0,), (1,)])


def answer(learned, test, seed):
    """What a black box may say."""
    loss = (1.0 + len(test) + seed) / (1 + 2 * learned.count(test) + len(learned))
    return {"loss": loss, "chance": 2.0 + seed, "accuracy": 1 / (1 + loss)}


PROGRAM = """
import json, sys
question = json.load(sys.stdin)
learned, test, seed = question["train"], question["test"], question["seed"]
loss = (1.0 + len(test) + seed) / (1 + 2 * learned.count(test) + len(learned))
print(json.dumps({"loss": loss, "chance": 2.0 + seed, "accuracy": 1 / (1 + loss)}))
"""


@pytest.mark.parametrize("kind", ["function", "program"])
def test_black_boxes_are_asked_what_was_learned(kind):
    names = ["Ü", "two words", "a>b"]
    learner = CallableLearner(answer) if kind == "function" else CommandLearner([sys.executable, "-c", PROGRAM])
    found = learn_orders(learner, [Task(name) for name in names], ORDERS[:3], (0, 2))
    for seed, scores in zip((0, 2), found, strict=True):
        for order, row in scores.items():
            said = [answer([names[task] for task in order], name, seed) for name in names]
            assert [score[:3] for score in row] == [tuple(each.values()) for each in said]
            assert json.loads(json.dumps(said)) == said
