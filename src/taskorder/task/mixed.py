"""All tasks at once, mixed at random: what a learner could learn from where all data can be kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taskorder.task.joined import joined
from taskorder.task.task import Task


@dataclass(frozen=True, eq=False)
class MixedTask(Task):
    """One task of all rows of several ones."""

    parts: tuple[Task, ...] = ()
    """Whose rows these are, in this order."""

    @classmethod
    def of(cls, tasks: Sequence[Task]) -> MixedTask:
        """The mixture of aligned tasks with data.

        >>> a, b = Task("a", [[1.0], [2.0]], [0, 1]), Task("b", [[3.0], [4.0]], [0, 1])
        >>> both = MixedTask.of([a, b])
        >>> both.name, both.inputs.ravel().tolist(), both.targets.tolist()
        ('a + b', [1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1])
        """
        inputs = joined([task.rows[np.arange(len(task.targets))] for task in tasks])
        first = tasks[0]
        labels = None if first.labels is None else [task.labels for task in tasks]
        if labels is not None and not first.regression and len({part.dtype.kind for part in labels}) > 1:
            labels = [part.astype(object) for part in labels]  # or numbers would become texts beside texts
        return cls(
            " + ".join(task.name for task in tasks), inputs, None if labels is None else np.concatenate(labels),
            classes=first.classes, regression=first.regression, parts=tuple(tasks),
        )  # fmt: skip


def parts_of(task: Task) -> tuple[Task, ...]:
    """The tasks that a task is a mixture of; the task itself where it is none."""
    return task.parts if isinstance(task, MixedTask) else (task,)
