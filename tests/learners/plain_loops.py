"""Tasks, and the random draws that learners promise, for loops that are written with the library of a learner alone."""

import zlib

import numpy as np

from taskorder.task import Task, align

ORDERS = [(0,), (0, 1), (1, 0, 1), (2, 0, 1), (0, 0, 1, 0)]
"""Two or three tasks, with repeats."""


def numbers(seed=0, count=23, columns=3, classes=3):
    """Inputs and classes of three tasks; the second has fewer examples, and not all have every class."""
    rng = np.random.default_rng(seed)
    tasks = []
    for task in range(3):
        x = rng.normal(size=(count - 6 * (task == 1), columns))
        y = (x @ rng.normal(size=(columns, classes))).argmax(axis=1)
        y[:classes] = np.arange(classes)
        if task == 2:
            y = np.minimum(y, 1)
        tasks.append((x, y))
    return tasks


def as_tasks(parts, read=lambda inputs: inputs, **more):
    """Tasks of (inputs, labels), where `read` makes of arrays what the tasks are given."""
    return align([Task(f"t{place}", read(x), y, **more) for place, (x, y) in enumerate(parts)])


def draw(seed, task, visit, purpose):
    """The random numbers of a strategy: 1 for what is replayed, 2 for what is kept."""
    return np.random.default_rng([seed, zlib.crc32(task.encode()), visit, purpose])


def in_rounds(rng, size, count):
    """Places below `size`, each equally often as far as can be."""
    rounds = [rng.permutation(size) for _ in range(-(-count // size))]
    return np.concatenate(rounds)[:count]


class Kept:
    """Places of examples that balanced replay keeps of each task: `count` of each class, or of all its numbers."""

    def __init__(self, count, targets):
        self.count, self.targets = count, targets
        self.places = {}

    def remember(self, seed, task, visit, name):
        """After a task was learned: those of an earlier visit go, and the task stands last."""
        y = self.targets[task]
        y = y if y.dtype.kind != "f" else np.zeros(len(y))
        priority = draw(seed, name, visit, 2).random(len(y))
        best = np.argsort(-priority)
        self.places.pop(task, None)
        self.places[task] = np.sort(np.concatenate([best[y[best] == k][: self.count] for k in np.unique(y)]))
