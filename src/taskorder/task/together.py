"""What tasks that one model learns must have in common: inputs of one kind, and one list of classes.

A class of one task is the class of the same name (or value) in another, and has an output of its own: `align`.
Where tasks should share outputs that mean different things (cat or dog; car or ship), `share_labels` says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from taskorder.checks import task_names
from taskorder.task.labels import distinct
from taskorder.task.task import Task


def align(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """The tasks with one list of classes, so that one model can learn them: classes that are equal are one class.

    Parameters
    ----------
    tasks
        With different names, inputs of one shape or with the same columns, and either all with data or all without.

    Returns
    -------
    tuple of Task
        In the order given, all with the same `classes`.

    Raises
    ------
    ValueError
        If one model cannot learn them all.

    Examples
    --------
    >>> texts = ["where is it?", "thank you"]
    >>> a, b = align([Task("a", texts, ["billing", "fraud"]), Task("b", texts, ["access", "billing"])])
    >>> a.classes, a.targets, b.targets
    (('access', 'billing', 'fraud'), array([1, 2]), array([0, 1]))
    """
    records = _records(tasks)
    if not records:
        raise ValueError("`tasks` must hold at least one task, got none.")
    task_names([task.name for task in records], len(records))
    first = records[0]
    for task in records:
        _check_alike(first, task)
    if not first.classes:
        return records
    classes = distinct(label for task in records for label in task.classes)
    _check_types(records)
    return tuple(task if task.classes == classes else replace(task, classes=classes) for task in records)


def share_labels(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """The tasks with their labels renamed to 0, 1, ...: positions among the sorted classes of each task.

    For tasks with classes of their own (cat or dog; car or ship) that are to share the outputs of one model. Nothing
    else renames labels.

    Parameters
    ----------
    tasks
        As for `align`.

    Returns
    -------
    tuple of Task
        In the order given, with labels from 0 on.

    Examples
    --------
    >>> share_labels([Task("pets", [[1.0], [2.0]], ["cat", "dog"])])[0].labels
    array([0, 1])
    """
    return align(map(_renamed, _records(tasks)))


def _renamed(task: Task) -> Task:
    if not task.classes:
        return task
    own, held = np.unique(task.targets), task.eval_targets
    return replace(
        task,
        labels=np.searchsorted(own, task.targets),
        eval_labels=None if held is None else np.searchsorted(own, held),
        classes=(),
    )


def _records(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """The tasks, if that is what they are."""
    if isinstance(tasks, Task) or not isinstance(tasks, Iterable):
        raise ValueError(
            f"`tasks` must list Task records, got {type(tasks).__name__}. Put them in a list: [Task(...), Task(...)]."
        )
    records = tuple(tasks)
    for task in records:
        if not isinstance(task, Task):
            raise ValueError(f"`tasks` must hold Task records, got {type(task).__name__}. Make them with Task(...).")
    return records


def _check_alike(first: Task, task: Task) -> None:
    """Refuse two tasks that one model cannot learn."""
    if task.has_data != first.has_data:
        empty, full = (task, first) if first.has_data else (first, task)
        raise ValueError(f"`tasks` must all have data or all be names, got {full.name!r} and only {empty.name!r}.")
    if not task.has_data:
        return
    kinds = first.rows.apart(task.rows)
    if kinds is not None:
        raise ValueError(
            f"`tasks` must have inputs of one shape and kind, got {kinds[0]} for {first.name!r} and "
            f"{kinds[1]} for {task.name!r}. Bring them to the same features."
        )
    if _aim(first) != _aim(task):
        raise ValueError(
            f"`tasks` must all have classes or all have none, got {_aim(first)} for {first.name!r} and {_aim(task)} "
            f"for {task.name!r}."
        )


def _aim(task: Task) -> str:
    return "numbers to predict" if task.regression else "classes" if task.classes else "no labels"


def _check_types(tasks: tuple[Task, ...]) -> None:
    """Refuse 1 in one task and "1" in another: they would be two classes."""
    seen: dict[str, tuple[object, str]] = {}
    for task in tasks:
        for label in task.own_classes:
            before, name = seen.setdefault(str(label), (label, task.name))
            if before != label and name != task.name:
                raise ValueError(
                    f"`tasks` must have labels of one type, got {before!r} in {name!r} and {label!r} in "
                    f"{task.name!r}. Bring them to one type: labels.astype(str)."
                )
