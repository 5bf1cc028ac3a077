"""Tasks and learners to plan for: black boxes that obey the theory, and real ones that learn in no time."""

import numpy as np
from sklearn.linear_model import SGDClassifier

from taskorder.learners import CallableLearner, SklearnLearner
from taskorder.task import Task

NAMES = "ABCDEFGHI"


def names(count=5):
    return [Task(name) for name in NAMES[:count]]


def black_box(similarity, noise=0.0):
    """Losses as the theory has them, and noise that depends on all of the past."""

    def answer(learned, test, seed):
        r = np.ones(len(similarity))
        for name in learned:
            r = r - similarity[NAMES.index(name)] * r[NAMES.index(name)]
        loss = r[NAMES.index(test)] ** 2
        if noise:
            key = [seed, NAMES.index(test), *(NAMES.index(name) for name in learned)]
            loss = loss * (1 - noise) + noise * np.random.default_rng(key).random()
        return {"loss": loss, "chance": 1.0, "accuracy": np.exp(-loss)}

    return CallableLearner(answer, name="theory")


def turned(angle, seed, count=80):
    """Points and on which side of a line through zero they are; the line is turned by an angle."""
    x = np.random.default_rng(seed).normal(size=(count, 2))
    return x, (x @ [np.cos(angle), np.sin(angle)] > 0).astype(int)


def learner():
    return SklearnLearner(SGDClassifier(loss="log_loss", alpha=0.01), epochs=2)
