"""A task: named inputs and labels, checked at the door; and what several tasks must have in common.

A network that learns tasks one after another has one output for each class, shared by all tasks. `align` gives the
tasks one list of classes; `share_labels` renames the classes of tasks that have none in common.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Ints, task_names


@dataclass(frozen=True, eq=False)
class Task:
    """Examples of one task; `Task("driving")`, without any, is a task that only a black box knows.

    Examples
    --------
    >>> task = Task("cat or dog", [[0.1, 2.0], [0.3, 1.0], [0.2, 0.0]], ["cat", "dog", "cat"])
    >>> task.classes, task.targets
    (('cat', 'dog'), array([0, 1, 0]))
    """

    name: str
    inputs: Any = field(default=None, repr=False)
    """(n, ...) numbers, one row an example, kept as an array. uint8 means images: learners divide it by 255."""
    labels: Any = field(default=None, repr=False)
    """(n,) the class of each example: numbers or texts, anything hashable."""
    eval_inputs: Any = field(default=None, repr=False)
    """Examples to measure losses on; without them losses are measured on `inputs`, as the paper does."""
    eval_labels: Any = field(default=None, repr=False)
    classes: tuple[Hashable, ...] = ()
    """All classes that may occur, those of other tasks too (see `align`); by default those of `labels`, sorted."""
    targets: Ints = field(init=False, repr=False)
    """(n,) positions of the labels in `classes`."""
    eval_targets: Ints | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ValueError(f"`name` must be a text that is not blank, got {self.name!r}.")
        if self.inputs is None and self.labels is None and self.eval_inputs is None and self.eval_labels is None:
            self._set(inputs=np.empty(0), labels=np.empty(0), targets=np.empty(0, np.int64), eval_targets=None)
            return
        for one, other in (("inputs", "labels"), ("eval_inputs", "eval_labels")):
            if (getattr(self, one) is None) != (getattr(self, other) is None):
                raise ValueError(f"`{one}` and `{other}` of task {self.name!r} must be given together, got only one.")
        inputs, labels = self._examples("inputs", "labels")
        seen = _distinct(labels)
        if len(seen) < 2:
            raise ValueError(
                f"`labels` of task {self.name!r} must have at least two classes, got only {seen[0]!r}. "
                "Give it examples of a second class, or merge it with another task."
            )
        self._set(inputs=inputs, classes=tuple(self.classes) or seen)
        self._set(labels=_label_array(labels), targets=self._class_indices(labels, "labels"), eval_targets=None)
        if self.eval_inputs is None:
            return
        held, held_labels = self._examples("eval_inputs", "eval_labels")
        if held.shape[1:] != inputs.shape[1:] or _kind(held) != _kind(inputs):
            raise ValueError(
                f"`eval_inputs` of task {self.name!r} must be like its inputs ({_shown(inputs)}), got {_shown(held)}."
            )
        held_seen = _distinct(held_labels)
        if len(held_seen) < 2:
            raise ValueError(
                f"`eval_labels` of task {self.name!r} must have at least two classes, got only {held_seen[0]!r}. "
                "Hold out examples of every class."
            )
        strange = [label for label in held_seen if label not in seen]
        if strange:
            raise ValueError(
                f"`eval_labels` of task {self.name!r} must be classes that it has examples of to train on, "
                f"got {strange[0]!r}."
            )
        self._set(eval_inputs=held, eval_labels=_label_array(held_labels))
        self._set(eval_targets=self._class_indices(held_labels, "eval_labels"))

    @property
    def has_data(self) -> bool:
        """Whether there are examples; without them only a black box can learn the task."""
        return len(self.targets) > 0

    @property
    def own_classes(self) -> tuple[Hashable, ...]:
        """The classes that this task has examples of."""
        return tuple(self.classes[index] for index in np.unique(self.targets))

    @property
    def measured(self) -> tuple[NDArray[Any], Ints]:
        """Inputs and targets that losses are measured on: the evaluation data if there are any, else all the data."""
        if self.eval_inputs is None or self.eval_targets is None:
            return self.inputs, self.targets
        return self.eval_inputs, self.eval_targets

    @property
    def digest(self) -> str:
        """SHA-256 of the name, the classes and all data."""
        total = hashlib.sha256(repr((self.name, self.classes)).encode())
        for array in (self.inputs, self.targets, self.eval_inputs, self.eval_targets):
            if array is not None:
                total.update(f"{array.dtype.str} {array.shape}".encode())
                total.update(np.ascontiguousarray(array).data)
        return total.hexdigest()

    def shuffled(self, seed: int) -> Task:
        """The task with the labels that losses are measured on in random order."""
        inputs, targets = self.measured
        labels = [self.classes[index] for index in np.random.default_rng(seed).permutation(targets)]
        return replace(self, eval_inputs=inputs, eval_labels=labels)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value = value.view()
                value.flags.writeable = False  # a learner that writes to its data gets an error
            object.__setattr__(self, name, value)

    def _examples(self, name: str, label_name: str) -> tuple[NDArray[Any], list[Hashable]]:
        """Checked inputs and labels."""
        where = f"`{name}` of task {self.name!r}"
        inputs = _numbers(getattr(self, name), where)
        labels = _label_list(getattr(self, label_name), f"`{label_name}` of task {self.name!r}")
        if len(inputs) != len(labels):
            raise ValueError(f"{where} must have one row for each label, got {len(inputs)} rows, {len(labels)} labels.")
        if not labels:
            raise ValueError(f"{where} must have at least one example, got none. Leave an empty task out.")
        return inputs, labels

    def _class_indices(self, labels: Sequence[Hashable], name: str) -> Ints:
        table = {label: index for index, label in enumerate(self.classes)}
        try:
            return np.array([table[label] for label in labels], dtype=np.int64)
        except KeyError as problem:
            raise ValueError(
                f"`{name}` of task {self.name!r} must be among its classes, got {problem.args[0]!r}. "
                "Leave `classes` out, or list all of them."
            ) from None


def align(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """The tasks with one list of classes, so that one network can learn them.

    Parameters
    ----------
    tasks
        With different names, inputs of one shape, and either all with data or all without.

    Returns
    -------
    tuple of Task
        In the order given, all with the same `classes`.

    Raises
    ------
    ValueError
        If one network cannot learn them all.

    Examples
    --------
    >>> a, b = align([Task("a", [[1.0], [2.0]], [0, 1]), Task("b", [[1.0], [2.0]], [1, 2])])
    >>> a.classes, b.targets
    ((0, 1, 2), array([1, 2]))
    """
    records = _records(tasks)
    if not records:
        raise ValueError("`tasks` must hold at least one task, got none.")
    task_names([task.name for task in records], len(records))
    first = records[0]
    for task in records:
        if task.has_data != first.has_data:
            empty, full = (task, first) if first.has_data else (first, task)
            raise ValueError(f"`tasks` must all have data or all be names, got {full.name!r} and only {empty.name!r}.")
        if task.has_data and (
            task.inputs.shape[1:] != first.inputs.shape[1:] or _kind(task.inputs) != _kind(first.inputs)
        ):
            raise ValueError(
                f"`tasks` must have inputs of one shape and kind, got {_shown(first.inputs)} for {first.name!r} and "
                f"{_shown(task.inputs)} for {task.name!r}. Bring them to the same features."
            )
    if not first.has_data:
        return records
    classes = _distinct(label for task in records for label in task.classes)
    return tuple(task if task.classes == classes else replace(task, classes=classes) for task in records)


def share_labels(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """The tasks with their labels renamed to 0, 1, ...: positions among the sorted classes of each task.

    For tasks with classes of their own (cat or dog; car or ship) that are to share the outputs of one network.

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

    def renamed(task: Task) -> Task:
        if not task.has_data:
            return task
        own = np.unique(task.targets)
        held = task.eval_targets
        return replace(
            task,
            labels=np.searchsorted(own, task.targets),
            eval_labels=None if held is None else np.searchsorted(own, held),
            classes=(),
        )

    return align(map(renamed, _records(tasks)))


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


def _numbers(value: Any, where: str) -> NDArray[Any]:
    """The inputs as an array of finite numbers with one row an example."""
    advice = "one row of numbers for each example"
    try:
        array = np.asarray(value)
        if array.dtype == object:
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{where} must be {advice}, got ragged rows, text or {type(value).__name__}.") from None
    if array.ndim and not len(array):
        raise ValueError(f"{where} must have at least one example, got none. Leave an empty task out.")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{where} must be {advice}, got values of type {array.dtype}. Encode texts as numbers first.")
    if array.ndim < 2 or 0 in array.shape:
        raise ValueError(
            f"{where} must be {advice}, got shape {array.shape}. One feature goes in a column: inputs.reshape(-1, 1)."
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(
            f"{where} must be finite, got {array[tuple(bad)]} in row {bad[0] + 1}. Fill or drop missing values first."
        )
    return array


def _label_list(value: Any, where: str) -> list[Hashable]:
    """The labels as plain Python values."""
    if isinstance(value, str):
        raise ValueError(f"{where} must list one label for each example, got the text {value!r}.")
    try:
        labels = value.tolist() if hasattr(value, "tolist") else list(value)
        labels = [label.item() if isinstance(label, np.generic) else label for label in labels]
        set(labels)
    except TypeError:
        raise ValueError(f"{where} must list one label for each example, numbers or texts.") from None
    for label in labels:
        if label is None or label != label:
            raise ValueError(f"{where} must not be missing, got {label!r}. Drop examples without a label.")
        if isinstance(label, float) and not label.is_integer():
            raise ValueError(f"{where} must be classes, got the number {label!r}. Cut numbers into classes first.")
    return labels


def _label_array(labels: list[Hashable]) -> NDArray[Any]:
    kinds = {type(label) for label in labels}
    if len(kinds) == 1 and kinds < {int, str, bool, float}:
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _distinct(labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """The different labels: sorted where they can be compared, else by type and text."""
    distinct = list(dict.fromkeys(labels))
    try:
        return tuple(sorted(distinct))  # type: ignore[type-var]
    except TypeError:
        return tuple(sorted(distinct, key=lambda label: (type(label).__name__, repr(label))))


def _kind(array: NDArray[Any]) -> str:
    """Images, whole numbers or floats: what learners treat differently."""
    if array.dtype == np.uint8:
        return "uint8"
    return "float" if array.dtype.kind == "f" else "integer"


def _shown(array: NDArray[Any]) -> str:
    return f"{' x '.join(map(str, array.shape[1:]))} {_kind(array)}"
