"""Task sets: the classes of a data set drawn into tasks, each with its own target labels.

A class is relabeled through one look-up table for each task. Rewriting labels class by class in a loop, as published
code does, turns classes (3, 0) with targets (0, 1) into a task where every label is 1; about 44 % of the sets of five
binary tasks from ten classes hold such a task (see tests/datasets/test_class_tasks.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from taskorder.arguments import did_you_mean
from taskorder.checks import Floats, Ints, positive_count, seed_number

ClassTask = tuple[tuple[int, ...], tuple[int, ...]]
"""The classes of a task and the target label of each of them."""


@dataclass(frozen=True)
class TaskSet:
    """P tasks of K classes each, drawn from a data set."""

    dataset: str
    tasks: tuple[ClassTask, ...]
    """For each task its classes and their targets, 0 to K - 1 in some order."""
    seed: int
    names: tuple[str, ...]
    """One name a task: its class names, in the order of its classes, with hyphens between them."""

    def __post_init__(self) -> None:
        if not self.tasks or len(self.names) != len(self.tasks):
            raise ValueError(f"`names` must name each of the {len(self.tasks)} tasks, got {len(self.names)} names.")
        for classes, targets in self.tasks:
            if not classes or len(set(classes)) < len(classes) or min(classes) < 0:
                raise ValueError(f"`tasks` must list different classes from 0 on in each task, got {list(classes)}.")
            if sorted(targets) != list(range(len(classes))):
                last = len(classes) - 1
                raise ValueError(f"`tasks` must have the targets 0 to {last} in each task, got {list(targets)}.")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def draw_task_set(
    class_names: Sequence[str], num_tasks: int, classes_per_task: int = 2, seed: int = 0, *, dataset: str = ""
) -> TaskSet:
    """`num_tasks` tasks of different classes, with random targets; every grouping and labeling is equally likely.

    >>> drawn = draw_task_set(["cat", "dog", "owl", "ship"], num_tasks=2, seed=1)
    >>> sorted(drawn.tasks[0][0] + drawn.tasks[1][0])
    [0, 1, 2, 3]
    """
    positive_count(num_tasks, "num_tasks")
    positive_count(classes_per_task, "classes_per_task")
    needed = num_tasks * classes_per_task
    if needed > len(class_names):
        raise ValueError(
            f"`num_tasks` must need at most the {len(class_names)} classes there are, "
            f"got {num_tasks} tasks of {classes_per_task}."
        )
    rng = np.random.default_rng(seed_number(seed))
    groups = rng.permutation(len(class_names))[:needed].reshape(num_tasks, classes_per_task)
    tasks = tuple((tuple(group), tuple(rng.permutation(classes_per_task).tolist())) for group in groups.tolist())
    names = tuple("-".join(class_names[label] for label in classes) for classes, _ in tasks)
    return TaskSet(dataset, tasks, seed, names)


def size_shares(num_tasks: int, uneven: float, seed: int) -> Floats:
    """(P,) the share of its examples that each task keeps: the largest task has `uneven` times as many as the smallest.

    The shares are evenly spaced in their logarithm, from 1 / `uneven` to 1, in an order that `seed` draws.

    >>> sorted(size_shares(3, 100, seed=0).round(3).tolist())
    [0.01, 0.1, 1.0]
    """
    spaced = uneven ** -np.linspace(0, 1, num_tasks)
    return np.random.default_rng([seed_number(seed), num_tasks]).permutation(spaced)


def named_task_set(class_names: Sequence[str], tasks: Sequence[str], *, dataset: str = "") -> TaskSet:
    """The tasks with these names: their classes with hyphens between them; the targets are 0, 1, ... in that order.

    >>> named_task_set(["cat", "dog", "owl", "ship"], ["ship-cat", "owl-dog"]).tasks
    (((3, 0), (0, 1)), ((2, 1), (0, 1)))
    """
    groups = []
    for name in tasks:
        words = name.split("-")
        strange = [word for word in words if word not in class_names]
        if strange:
            raise ValueError(
                f"`tasks` must name classes with hyphens between them, got {strange[0]!r} in {name!r}."
                f"{did_you_mean(strange[0], class_names)} "
                f"Classes: {', '.join(class_names[:20])}{', ...' if len(class_names) > 20 else ''}."
            )
        groups.append(tuple(class_names.index(word) for word in words))
    return TaskSet(dataset, tuple((group, tuple(range(len(group)))) for group in groups), 0, tuple(tasks))


def lookup_table(task: ClassTask, num_classes: int) -> Ints:
    """The target label of each class of the data set; -1 for classes outside the task.

    >>> lookup_table(((3, 0), (0, 1)), num_classes=5)
    array([ 1, -1, -1,  0, -1])
    """
    classes, targets = task
    if max(classes) >= num_classes:
        raise ValueError(f"`task` must have classes from 0 to {num_classes - 1}, got {max(classes)}.")
    table = np.full(num_classes, -1, dtype=np.int64)
    table[list(classes)] = targets
    return table


def task_indices(labels: Ints, task: ClassTask) -> Ints:
    """The rows that belong to a task, in their order in the data set.

    >>> task_indices(np.array([0, 1, 2, 3, 0]), ((3, 0), (0, 1)))
    array([0, 3, 4])
    """
    return np.flatnonzero(np.isin(labels, task[0]))
