"""The pilot sample: a few examples of each task, and what there is to say about them and about labels.

A share of a small task is next to nothing: 1 % of 200 examples are 2. So a pilot that is given as a share takes at
least `LEAST` examples of each class, and all of a class that has fewer. That is 30 of a task of two classes: with 10
examples a task little can be known about an order, with 30 something, with 300 most of it (docs/choose.md). A pilot
that is given as a number of examples is taken as it is, and a plan warns where it is small.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from taskorder.arguments import BadArgument
from taskorder.checks import Ints, seed_number, to_float, whole
from taskorder.stratified import stratified_counts, stratified_rows
from taskorder.task import Task, align

LEAST = 15
"""Examples of each class, at the least, in a pilot that is given as a share."""
TASKS_IN_A_NOTE = 8
"""Tasks that a note names one by one."""


def pilot_sample(
    tasks: Iterable[Task], size: float = 0.01, seed: int = 0, *, keep_eval: bool = True
) -> tuple[Task, ...]:
    """The tasks with few of their training examples, the classes in the same shares, but enough of each.

    Parameters
    ----------
    tasks
        With data.
    size
        A share of each task's examples (a float up to 1.0), but at least 15 of each class, where there are so many; or
        a number of examples for each task (an int), at least one of each class.
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
    >>> np.bincount(pilot_sample([task], 12)[0].targets).tolist()
    [3, 9]
    >>> np.bincount(pilot_sample([task], 0.12)[0].targets).tolist()
    [15, 15]
    """
    counted = checked_size(size)
    seed_number(seed)
    sampled = []
    for task in align(tasks):
        if not task.has_data:
            raise ValueError(f"`tasks` must have data to sample from, got only the name {task.name!r}.")
        rng = np.random.default_rng([seed, zlib.crc32(task.name.encode())])
        rows = _sampled_rows(task, int(size) if counted else None, float(size), rng)
        _check_different(task, rows)
        sample = task.take(rows)
        sampled.append(sample if keep_eval else replace(sample, eval_inputs=None, eval_labels=None))
    return tuple(sampled)


def sample_apart(tasks: Iterable[Task], size: float = 0.01, seed: int = 0) -> tuple[Task, ...]:
    """A pilot sample that is tested on other training examples: what a learner keeps of a task, or learned of it by
    heart, says nothing about new ones.

    As many are tested as are learned from, class by class. Where fewer are left, tests take a quarter of all. A task
    too small for two classes to be tested, or two numbers, is tested on what is learned.

    >>> whole = Task("a", np.arange(40.0)[:, None], [0, 1] * 20)
    >>> for size in (10, 40):
    ...     (task,) = sample_apart([whole], size)
    ...     len(task.inputs), len(task.eval_inputs), set(task.inputs.ravel()) & set(task.eval_inputs.ravel())
    (10, 10, set())
    (30, 10, set())
    """
    sampled = []
    for task in align(tasks):
        rng = np.random.default_rng([seed, zlib.crc32(task.name.encode())])
        counted = checked_size(size)
        rows = _sampled_rows(task, int(size) if counted else None, float(size), rng)
        _check_different(task, rows)
        learned, tested = _apart(task.strata, rows, rng)
        least = 2 if task.classes or task.regression else 1
        if min(len(np.unique(task.targets[part])) for part in (learned, tested)) < least:
            learned, tested = rows, rows[:0]
        sample = replace(task.take(learned), eval_inputs=None, eval_labels=None)
        if len(tested):
            others = task.take(tested)
            sample = replace(sample, eval_inputs=others.inputs, eval_labels=others.labels)
        sampled.append(sample)
    return tuple(sampled)


def _check_different(task: Task, rows: Ints) -> None:
    """Refuse a sample with nothing to predict."""
    if task.regression and (task.targets[rows] == task.targets[rows[0]]).all():
        raise BadArgument(
            "`tasks` must have different numbers to predict in a sample, got only "
            f"{float(task.targets[rows[0]])!r} in {len(rows)} of the {len(task.targets)} examples of "
            f"{task.name!r}. Take a larger ",
            "pilot",
            " or ",
            "budget",
            ".",
        )


def _apart(strata: Ints, rows: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Rows to learn from and rows to test on, none of them twice."""
    learned, tested = [], []
    chosen = np.zeros(len(strata), dtype=bool)
    chosen[rows] = True
    for value in np.unique(strata):
        pool = np.flatnonzero(strata == value)
        mine, rest = pool[chosen[pool]], rng.permutation(pool[~chosen[pool]])
        count = min(len(mine), max(len(rest), len(pool) // 4))
        given = rng.permutation(mine)[: max(0, count - len(rest))]
        learned.append(np.setdiff1d(mine, given))
        tested += [rest[:count], given]
    return np.sort(np.concatenate(learned)), np.sort(np.concatenate(tested))


def checked_size(size: float) -> bool:
    """Whether the size of a pilot is a number of examples; False for a share of them."""
    counted = whole(size) is not None
    if not (to_float(size) >= 1 if counted else 0 < to_float(size) <= 1):
        raise BadArgument(
            f"`pilot` must be a share above 0 and up to 1.0 or a whole number of examples a task, got {size!r}."
        )
    return counted


def _sampled_rows(task: Task, number: int | None, share: float, rng: np.random.Generator) -> Ints:
    """Sorted rows, the classes in the same shares: a number of them, or else a share with enough of each class."""
    counts = np.unique(task.strata, return_counts=True)[1]
    n, k = len(task.targets), len(counts)
    if number is None:
        enough = int(np.minimum(counts, LEAST).sum())
        total, least = max(round(share * n), enough), LEAST
    elif number >= k:
        total, least = min(number, n), 1
    else:
        raise BadArgument(
            f"`pilot` must give task {task.name!r} at least one example of each of its {k} classes, "
            f"got {number} of its {n} examples. Take {k} or more, or a share."
        )
    return stratified_rows(task.strata, stratified_counts(counts, total, least=least, most=counts), rng)


def sample_notes(tasks: Sequence[Task], sample: Sequence[Task], size: float) -> tuple[str, ...]:
    """What a pilot took of each task, and which classes it has few of.

    >>> task = Task("a", np.arange(200.0)[:, None], [0, 1] * 100)
    >>> sample_notes([task], pilot_sample([task], 0.01), 0.01)
    ('pilot: 30 of 200 examples of a; at least 15 of each class, where 1 % is fewer',)
    """
    taken = [(len(part.targets), len(task.targets)) for part, task in zip(sample, tasks, strict=True)]
    if len(set(taken)) == 1 and len(tasks) > 1:
        words = f"{taken[0][0]:,} of {taken[0][1]:,} examples of each task"
    else:
        each = [f"{k:,} of {n:,} {'examples ' * (place == 0)}of {task.name}"
                for place, ((k, n), task) in enumerate(zip(taken, tasks, strict=True))]  # fmt: skip
        words = _listed(each, "tasks")
    if all(k == n for k, n in taken):
        words = "all examples of all tasks"
    elif whole(size) is None and any(k > round(size * n) for k, n in taken):
        words += f"; at least {LEAST} of each class, where {100 * size:.3g} % is fewer"
    rare = [
        f"{task.classes[k]} of {task.name} ({count})"
        for task in tasks
        for k, count in zip(*np.unique(task.strata, return_counts=True), strict=True)
        if task.classes and count < LEAST
    ]
    few = (f"classes with fewer than {LEAST} examples: {_listed(rare, 'classes')}",) if rare else ()
    return (f"pilot: {words}", *few)


def label_notes(tasks: tuple[Task, ...]) -> tuple[str, ...]:
    """How the classes of tasks are matched, where tasks differ in them."""
    if not tasks[0].classes:
        return ()
    seen = Counter(label for task in tasks for label in task.own_classes)
    if set(seen.values()) == {len(tasks)}:
        return ()
    shared = sum(count > 1 for count in seen.values())
    words = f"classes are matched by name: {len(seen)} outputs, {shared} of them for classes of two tasks or more"
    return (words if shared else f"{words}; where tasks are to share outputs, say so: share_labels(tasks)",)


def _listed(words: Sequence[str], noun: str) -> str:
    """Words with commas between them, not too many."""
    rest = len(words) - TASKS_IN_A_NOTE
    return ", ".join(words[:TASKS_IN_A_NOTE]) + (f", and {rest} more {noun}" if rest > 0 else "")
