"""Tasks and learners to plan for: black boxes that obey the theory, and real ones that learn in no time."""

import numpy as np
from sklearn.linear_model import SGDClassifier

from taskorder.learners import CallableLearner, SklearnLearner
from taskorder.task import Task
from taskorder.theory.law import final_knowledge

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


def retaining(table, retention, noise=0.0):
    """A black box that obeys the law of retention: losses are what is not known, of 1."""
    S = np.asarray(table, dtype=float)

    def answer(learned, test, seed):
        known = final_knowledge(S, [NAMES.index(name) for name in learned], retention)[NAMES.index(test)]
        if noise:
            key = [seed, NAMES.index(test), *(NAMES.index(name) for name in learned)]
            known = known + noise * np.random.default_rng(key).normal()
        return {"loss": max(0.0, 1 - known), "chance": 1.0}

    return CallableLearner(answer, name="retaining")


def random_table(count, seed=0):
    """A transfer table that is not symmetric."""
    rng = np.random.default_rng(seed)
    table = rng.uniform(0.0, 0.7, (count, count))
    np.fill_diagonal(table, rng.uniform(0.85, 1.0, count))
    return table
