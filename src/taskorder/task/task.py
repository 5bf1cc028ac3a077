"""A task: named inputs and labels, checked at the door."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Floats, Ints
from taskorder.task.labels import class_labels, distinct, label_array, number_labels, rows_and_labels
from taskorder.task.reading import rows_of
from taskorder.task.rows import ArrayRows, Rows, feed_array


@dataclass(frozen=True, eq=False)
class Task:
    """Examples of one task; `Task("driving")`, without any, is a task that only a black box knows.

    Inputs may be an array, a sparse matrix, a list or series of texts, a DataFrame of pandas or polars, a data set of
    Hugging Face or PyTorch (a DataLoader, too), or a function from row numbers to rows, read only where rows are used.

    Examples
    --------
    >>> task = Task("cat or dog", [[0.1, 2.0], [0.3, 1.0], [0.2, 0.0]], ["cat", "dog", "cat"])
    >>> task.classes, task.targets
    (('cat', 'dog'), array([0, 1, 0]))
    >>> Task("mail", ["where is it?", "thank you", "late again"], ["order", "praise", "order"]).inputs[2]
    'late again'
    """

    name: str
    inputs: Any = field(default=None, repr=False)
    """One row an example, of the kind that was given; lists of numbers become an array. uint8 means images: learners
    divide it by 255. Rows that are read on demand are taken with `inputs[numbers]`."""
    labels: Any = field(default=None, repr=False)
    """(n,) the class of each example: numbers or texts, anything hashable. Or the name of the column that holds them.
    Left out for a data set of PyTorch whose items are (x, y), and where only a loss is known."""
    eval_inputs: Any = field(default=None, repr=False)
    """Examples to measure losses on; without them losses are measured on `inputs`, as the paper does."""
    eval_labels: Any = field(default=None, repr=False)
    """As `labels`; the same column by default."""
    classes: tuple[Hashable, ...] = ()
    """All classes that may occur, those of other tasks too (see `align`); by default those of `labels`, sorted."""
    regression: bool = field(default=False, repr=False)
    """Whether labels are numbers to predict."""
    targets: Any = field(init=False, repr=False)
    """(n,) positions of the labels in `classes`; in a regression the numbers; zeros where there are no labels."""
    eval_targets: Any = field(init=False, repr=False)
    rows: Rows = field(init=False, repr=False)
    """The inputs as rows: `len(rows)`, `rows[numbers]`, whatever their kind."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ValueError(f"`name` must be a text that is not blank, got {self.name!r}.")
        if self.inputs is None and self.labels is None and self.eval_inputs is None and self.eval_labels is None:
            # only a name, for a black box: nothing of it is ever read
            self._set(inputs=np.empty(0), labels=np.empty(0), targets=np.empty(0, np.int64), eval_targets=None)
            self._set(rows=ArrayRows(self.inputs))
            return
        for label_name, name in (("labels", "inputs"), ("eval_labels", "eval_inputs")):
            if getattr(self, label_name) is not None and getattr(self, name) is None:
                raise ValueError(
                    f"`{name}` and `{label_name}` of task {self.name!r} must be given together, got only one."
                )
        self._check_classes()
        column = self.labels if isinstance(self.labels, str | int) else None
        rows, labels = self._examples("inputs", "labels", self.labels)
        seen = () if labels is None or self.regression else distinct(labels)
        if len(seen) == 1:
            raise ValueError(
                f"`labels` of task {self.name!r} must have at least two classes, got only {seen[0]!r}. "
                "Give it examples of a second class, or merge it with another task."
            )
        self._set(rows=rows, inputs=rows.values, classes=tuple(self.classes) or seen)
        self._set(labels=self._labels(labels), targets=self._targets(labels, len(rows), "labels"), eval_targets=None)
        if self.eval_inputs is None:
            return
        held, held_labels = self._examples(
            "eval_inputs", "eval_labels", column if self.eval_labels is None else self.eval_labels
        )
        if (kinds := rows.apart(held)) is not None:
            raise ValueError(
                f"`eval_inputs` of task {self.name!r} must be like its inputs ({kinds[0]}), got {kinds[1]}."
            )
        if (labels is None) != (held_labels is None):
            raise ValueError(
                f"`eval_inputs` and `eval_labels` of task {self.name!r} must be given together, got only one."
            )
        if seen:
            self._check_held(seen, distinct(held_labels or ()))
        self._set(eval_inputs=held.values, eval_labels=self._labels(held_labels))
        self._set(eval_targets=self._targets(held_labels, len(held), "eval_labels"))

    @property
    def has_data(self) -> bool:
        """Whether there are examples; without them only a black box can learn the task."""
        return len(self.targets) > 0

    @property
    def own_classes(self) -> tuple[Hashable, ...]:
        """The classes that this task has examples of."""
        return tuple(self.classes[index] for index in np.unique(self.targets)) if self.classes else ()

    @property
    def measured(self) -> tuple[Any, Any]:
        """Inputs and targets that losses are measured on: the evaluation data if there are any, else all the data."""
        if self.eval_inputs is None or self.eval_targets is None:
            return self.inputs, self.targets
        return self.eval_inputs, self.eval_targets

    @property
    def strata(self) -> Ints:
        """(n,) what a sample should have in the same shares: classes, or one of all where there are none."""
        return self.targets if self.classes else np.zeros(len(self.targets), np.int64)

    @property
    def digest(self) -> str:
        """SHA-256 of the name, the classes and all data; rows on demand are read for it, a part at a time."""
        total = hashlib.sha256(repr((self.name, self.classes)).encode())
        self.rows.feed(total)
        feed_array(self.targets, total)
        if self.eval_inputs is not None:
            rows_of(self.eval_inputs).feed(total)
            feed_array(self.eval_targets, total)
        return total.hexdigest()

    def take(self, rows: Ints) -> Task:
        """The task with some of its examples to learn from."""
        return replace(self, inputs=self.rows[rows], labels=None if self.labels is None else self.labels[rows])

    def shuffled(self, seed: int) -> Task:
        """The task with the labels that losses are measured on in random order."""
        inputs, targets = self.measured
        mixed = np.random.default_rng(seed).permutation(targets)
        labels = [self.classes[index] for index in mixed] if self.classes else mixed
        return replace(self, eval_inputs=inputs, eval_labels=labels)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value = value.view()
                value.flags.writeable = False  # a learner that writes to its data gets an error
            object.__setattr__(self, name, value)

    def _examples(self, name: str, label_name: str, given: Any) -> tuple[Rows, Any]:
        """Checked rows and labels."""
        where, label_where = f"`{name}` of task {self.name!r}", f"`{label_name}` of task {self.name!r}"
        rows, labels = rows_and_labels(getattr(self, name), given, self.name, name, label_name)
        if labels is None:
            if self.regression:
                raise ValueError(f"{label_where} must be given with regression=True, got none.")
            rows.check(where)
            return rows, None
        labels = (number_labels if self.regression else class_labels)(labels, label_where)
        if len(rows) != len(labels):
            raise ValueError(f"{where} must have one row for each label, got {len(rows)} rows, {len(labels)} labels.")
        rows.check(where)
        return rows, labels

    def _check_classes(self) -> None:
        """Refuse a text, and a class that is listed twice: it would have two outputs."""
        classes: Any = self.classes
        if isinstance(classes, str) or len(set(classes)) < len(classes):
            raise ValueError(
                f"`classes` of task {self.name!r} must list different classes, got {classes!r}. "
                "Leave them out for those of the labels."
            )

    def _check_held(self, seen: tuple[Hashable, ...], held: tuple[Hashable, ...]) -> None:
        """Refuse evaluation data of other classes, and of one class."""
        if len(held) < 2:
            raise ValueError(
                f"`eval_labels` of task {self.name!r} must have at least two classes, got only {held[0]!r}. "
                "Hold out examples of every class."
            )
        strange = [label for label in held if label not in seen]
        if strange:
            raise ValueError(
                f"`eval_labels` of task {self.name!r} must be classes that it has examples of to train on, "
                f"got {strange[0]!r}."
            )

    def _labels(self, labels: Any) -> NDArray[Any] | None:
        return labels if labels is None or self.regression else label_array(labels)

    def _targets(self, labels: Any, count: int, name: str) -> Ints | Floats:
        if labels is None:
            return np.zeros(count, dtype=np.int64)
        return np.asarray(labels) if self.regression else self._class_indices(labels, name)

    def _class_indices(self, labels: Sequence[Hashable], name: str) -> Ints:
        table = {label: index for index, label in enumerate(self.classes)}
        try:
            return np.array([table[label] for label in labels], dtype=np.int64)
        except KeyError as problem:
            raise ValueError(
                f"`{name}` of task {self.name!r} must be among its classes, got {problem.args[0]!r}. "
                "Leave `classes` out, or list all of them."
            ) from None
