"""Heads: which outputs of a network the classes of a task have, and which of them compete.

shared   every task has the same outputs: its k-th target is the k-th output (the paper)
task     every task has outputs of its own; only these compete when it is learned or tested
class    every class of a set has one output, and all of them compete; a class of two tasks has one output
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Ints
from taskorder.datasets.class_tasks import ClassTask
from taskorder.strategies import BY_CLASS, BY_TASK, SHARED


def outputs_of(tasks: Sequence[ClassTask], head: str) -> list[Ints]:
    """For each task of a set the outputs of its targets 0, 1, ...

    >>> tasks = [((3, 0), (0, 1)), ((5, 3, 1), (2, 0, 1))]
    >>> [outputs.tolist() for outputs in outputs_of(tasks, "shared")]
    [[0, 1], [0, 1, 2]]
    >>> [outputs.tolist() for outputs in outputs_of(tasks, "task")]
    [[0, 1], [2, 3, 4]]
    >>> [outputs.tolist() for outputs in outputs_of(tasks, "class")]
    [[0, 1], [0, 2, 3]]
    """
    sizes = [len(classes) for classes, _ in tasks]
    if head == SHARED:
        return [np.arange(size) for size in sizes]
    if head == BY_TASK:
        return [end - size + np.arange(size) for end, size in zip(itertools.accumulate(sizes), sizes, strict=True)]
    by_target = [[classes[place] for place in np.argsort(targets)] for classes, targets in tasks]
    places = {label: place for place, label in enumerate(dict.fromkeys(itertools.chain(*by_target)))}
    return [np.array([places[label] for label in labels]) for labels in by_target]


def num_outputs(tasks: Sequence[ClassTask], head: str) -> int:
    """How many outputs a network needs.

    >>> [num_outputs([((3, 0), (0, 1)), ((5, 1), (1, 0))], head) for head in ("shared", "task", "class")]
    [2, 4, 4]
    """
    return 1 + max(int(outputs.max()) for outputs in outputs_of(tasks, head))


def num_competing(tasks: Sequence[ClassTask], head: str) -> Ints:
    """(P,) how many outputs compete when a task is tested: one over it is the accuracy of guessing.

    >>> [num_competing([((3, 0), (0, 1)), ((5, 1), (1, 0))], head).tolist() for head in ("shared", "task", "class")]
    [[2, 2], [2, 2], [4, 4]]
    """
    if head == BY_CLASS:
        return np.full(len(tasks), num_outputs(tasks, head))
    return np.array([len(classes) for classes, _ in tasks])


def allowed_outputs(tasks: Sequence[ClassTask], head: str, width: int) -> list[NDArray[np.bool_]]:
    """For each task, which of so many outputs compete in it; an empty list where all of them do.

    >>> [allowed.astype(int).tolist() for allowed in allowed_outputs([((3, 0), (0, 1)), ((5,), (0,))], "task", 4)]
    [[1, 1, 0, 0], [0, 0, 1, 0]]
    """
    return [np.isin(np.arange(width), own) for own in outputs_of(tasks, head)] if head == BY_TASK else []


def used_outputs(labels: NDArray[np.generic], counts: Ints, width: int) -> NDArray[np.bool_]:
    """(T, width) the outputs that the labels of each task of a pool have; all of them where labels are no classes.

    >>> used_outputs(np.array([[0, 1, 0], [2, 2, 0]]), np.array([3, 2]), 4).astype(int)
    array([[1, 1, 0, 0],
           [0, 0, 1, 0]])
    """
    used = np.zeros((len(labels), width), bool)
    if labels.dtype.kind not in "iu":
        return ~used
    for row, (own, count) in enumerate(zip(labels, counts.tolist(), strict=True)):
        used[row, own[:count]] = True
    return used
