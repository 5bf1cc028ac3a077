"""Labels: the classes of examples, or numbers to predict; out of what holds them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.arguments import did_you_mean
from taskorder.checks import Floats, to_float
from taskorder.task.reading import CallRows, DatasetRows, ItemRows, rows_of
from taskorder.task.rows import Rows, TableRows, TextRows, is_tensor, is_text_column, listed


def rows_and_labels(inputs: Any, labels: Any, task: str, name: str, label_name: str) -> tuple[Rows, Any]:
    """The rows to learn from, and their labels: as given, of a column, or as the data hold them (None if they do not).

    task, name, label_name: for messages.
    """
    where, label_where = f"`{name}` of task {task!r}", f"`{label_name}` of task {task!r}"
    if callable(inputs) and not hasattr(inputs, "__getitem__"):
        if labels is None:
            raise ValueError(
                f"{label_where} must be given with a function that gives rows: they tell how many there are."
            )
        labels = labels if hasattr(labels, "__len__") else list(labels)
        rows: Rows = CallRows(inputs, len(labels), where)
    else:
        rows = rows_of(inputs, where)
    if not len(rows):
        raise ValueError(f"{where} must have at least one example, got none. Leave an empty task out.")
    if isinstance(labels, str | int) and isinstance(rows, TableRows | DatasetRows | ItemRows):
        return _without_column(rows, labels, where, label_where)
    if labels is not None:
        if isinstance(rows, TableRows) and isinstance(labels, list) and len(labels) == 1 and labels[0] in rows.columns:
            raise ValueError(f"{label_where} must name a column, got a list. Write labels={labels[0]!r}.")
        return rows, labels
    if isinstance(rows, DatasetRows):
        named = [column for column, kind in rows.source.features.items() if hasattr(kind, "int2str")]
        if named:
            raise ValueError(f"{label_where} must name the column of the labels, got none. Write labels={named[0]!r}.")
    return rows, rows.labels() if isinstance(rows, ItemRows) else None


def _without_column(
    rows: TableRows | DatasetRows | ItemRows, column: str | int, where: str, label_where: str
) -> tuple[Rows, Any]:
    """The other columns, and the labels in this one. A single column of texts that is left is a list of texts."""
    if isinstance(rows, ItemRows):
        rest = ItemRows(rows.source, where, label=column, collate=rows.collate)
        return rest, rest.labels()
    columns = rows.columns if isinstance(rows, TableRows) else rows.source.column_names
    if column not in columns:
        raise ValueError(
            f"{label_where} must name a column, got {column!r}.{did_you_mean(column, map(str, columns))} "
            f"Columns: {listed(list(columns))}."
        )
    if isinstance(rows, TableRows):
        rows.check(where)
    if isinstance(rows, DatasetRows):
        if len(columns) == 1:
            raise ValueError(f"{where} must have columns to learn from, got only the labels.")
        return rows.without(str(column))
    values, frame = rows.values[column], rows.values
    if hasattr(frame, "iloc"):
        left = frame.copy(deep=False)
        del left[column]  # without a copy of the rest, which `drop` makes before pandas 3
    else:
        left = frame.drop(column)
    if len(left.columns) == 1 and is_text_column(only := left[left.columns[0]]):
        return TextRows(only), values
    return TableRows(left), values


def label_list(value: Any, where: str) -> list[Hashable]:
    """The labels as plain Python values."""
    if isinstance(value, str):
        raise ValueError(f"{where} must list one label for each example, got the text {value!r}.")
    if hasattr(value, "columns"):
        columns = list(value.columns)
        raise ValueError(f"{where} must list one label for each example, got a table. Write frame[{columns[0]!r}].")
    try:
        if is_tensor(value):
            value = value.detach().cpu()
        labels = value.tolist() if hasattr(value, "tolist") else list(value)
        labels = [label.item() if isinstance(label, np.generic) or is_tensor(label) else label for label in labels]
        set(labels)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"{where} must list one label for each example, numbers or texts.") from None
    for label in labels:
        if lacks_value(label):
            raise ValueError(f"{where} must not be missing, got {label!r}. Drop examples without a label.")
    return labels


def class_labels(value: Any, where: str) -> list[Hashable]:
    """The labels as plain Python values, each a class."""
    labels = label_list(value, where)
    for label in labels:
        if isinstance(label, float) and not label.is_integer():
            raise ValueError(
                f"{where} must be classes, got the number {label!r}. Cut numbers into classes first. Or "
                "predict them: regression=True."
            )
    return labels


def number_labels(value: Any, where: str) -> Floats:
    """The labels as numbers to predict."""
    labels = label_list(value, where)
    numbers = np.array([to_float(label) for label in labels])
    if not np.isfinite(numbers).all():
        bad = labels[int(np.flatnonzero(~np.isfinite(numbers))[0])]
        raise ValueError(f"{where} must be finite numbers with regression=True, got {bad!r}.")
    if len(numbers) and (numbers == numbers[0]).all():
        raise ValueError(f"{where} must be different numbers, got only {labels[0]!r}. There is nothing to predict.")
    return numbers


def lacks_value(value: Any) -> bool:
    """None, a number that is none, and what pandas and polars take for a missing value."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is not even different from itself
        return True


def label_array(labels: Sequence[Hashable]) -> NDArray[Any]:
    """Labels as an array: of their type, where all have one."""
    kinds = {type(label) for label in labels}
    if len(kinds) == 1 and kinds < {int, str, bool, float}:
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def distinct(labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """The different labels: sorted where they can be compared, else by type and text."""
    different = list(dict.fromkeys(labels))
    try:
        return tuple(sorted(different))  # type: ignore[type-var]
    except TypeError:
        return tuple(sorted(different, key=lambda label: (type(label).__name__, repr(label))))
