"""The pilot sample: a few examples of each task, and what the labels of tasks must have in common."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from taskorder.checks import Ints, seed_number, to_float, whole
from taskorder.stratified import stratified_counts, stratified_rows
from taskorder.task import Task, align


def pilot_sample(
    tasks: Iterable[Task], size: float = 0.01, seed: int = 0, *, keep_eval: bool = True
) -> tuple[Task, ...]:
    """The tasks with few of their training examples, the classes in the same shares, at least one of each.

    Parameters
    ----------
    tasks
        With data.
    size
        A share of each task's examples (a float up to 1.0) or a number of examples for each task (an int).
    seed
        The same seed gives a task the same sample, whatever the other tasks are.
    keep_eval
        Keep the evaluation data, whole, to measure on. False drops them, and losses are measured on the sample itself,
        as in the paper: then the evaluation data play no part in choosing an order.

    Returns
    -------
    tuple of Task
        In the order given.

    Examples
    --------
    >>> task = Task("a", np.arange(200.0).reshape(100, 2), [0, 1, 1, 1] * 25)
    >>> np.bincount(pilot_sample([task], 0.12)[0].targets).tolist()
    [3, 9]
    """
    counted = checked_size(size)
    seed_number(seed)
    sampled = []
    for task in align(tasks):
        if not task.has_data:
            raise ValueError(f"`tasks` must have data to sample from, got only the name {task.name!r}.")
        rng = np.random.default_rng([seed, zlib.crc32(task.name.encode())])
        rows = _sampled_rows(task, int(size) if counted else round(float(size) * len(task.targets)), size, rng)
        sample = replace(task, inputs=task.inputs[rows], labels=task.labels[rows])
        sampled.append(sample if keep_eval else replace(sample, eval_inputs=None, eval_labels=None))
    return tuple(sampled)


def checked_size(size: float) -> bool:
    """Whether the size of a pilot is a number of examples; False for a share of them."""
    counted = whole(size) is not None
    if not (to_float(size) >= 1 if counted else 0 < to_float(size) <= 1):
        raise ValueError(
            f"`pilot` must be a share above 0 and up to 1.0 or a whole number of examples a task, got {size!r}."
        )
    return counted


def _sampled_rows(task: Task, total: int, size: float, rng: np.random.Generator) -> Ints:
    """Sorted rows: `total` of them, the classes in the same shares, at least one of each."""
    counts = np.unique(task.targets, return_counts=True)[1]
    n, k = len(task.targets), len(counts)
    if total < k:
        raise ValueError(
            f"`pilot` must give task {task.name!r} at least one example of each of its {k} classes, "
            f"got {size!r} of its {n} examples. Take {k} or more, or a share of at least {min(1.0, k / n):.2g}."
        )
    return stratified_rows(task.targets, stratified_counts(counts, min(total, n), least=1, most=counts), rng)


def label_notes(tasks: tuple[Task, ...]) -> tuple[str, ...]:
    """An error for two tasks without a class in common, a note where two differ in some."""
    if not tasks[0].has_data:
        return ()
    differ: tuple[str, ...] = ()
    for a in tasks:
        for b in tasks:
            unseen = [label for label in b.own_classes if label not in a.own_classes]
            if len(unseen) == len(b.own_classes):
                raise ValueError(
                    f"`tasks` must share labels, got {unseen[0]!r} and all others of {b.name!r} unseen in {a.name!r}: "
                    "what one network knows could not show on the other. Rename classes: share_labels(tasks)."
                )
            if unseen and not differ:
                differ = (f"tasks differ in their classes: {unseen[0]!r} of {b.name!r} is unseen in {a.name!r}",)
    return differ
