"""Features and labels from an NPZ archive or from separated text.

Features are finite numbers or uint8 images; labels name classes.
"""

from __future__ import annotations

import itertools
import re
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.arguments import BadArgument, did_you_mean
from taskorder.checks import Ints, is_text
from taskorder.datasets.dataset import MAX_DATASET_BYTES, Dataset, held_out
from taskorder.tables.arrays import read_npz
from taskorder.tables.input_files import file_size, open_lines, printable, refusal
from taskorder.tables.separated import is_number, read_rows, to_numbers

_KEYS = ("inputs", "labels", "test_inputs", "test_labels")
_SAVE = "Save it with np.savez(path, inputs=..., labels=...)."
_INTEGER = re.compile(r"[+-]?\d{1,18}")


def read_feature_arrays(path: Path) -> Dataset:
    """The data set in an NPZ archive with the arrays inputs and labels, and maybe test_inputs and test_labels.

    Inputs are uint8 images (n, height, width[, channels]) or numbers (n, features); labels are integers or text.
    """
    file_size(path, MAX_DATASET_BYTES)
    arrays = read_npz(
        path,
        printable(path),
        lambda names: [key for key in _KEYS if key in names],
        lambda name, _, dtype: (
            "" if dtype.kind in "fiubSU" else f"hold numbers or text, got dtype {dtype.str[:20]!r} for {name}. {_SAVE}"
        ),
        max_bytes=MAX_DATASET_BYTES,
    )
    if "inputs" not in arrays or "labels" not in arrays or ("test_inputs" in arrays) != ("test_labels" in arrays):
        got = ", ".join(arrays) or "none of them"
        raise refusal(path, "hold inputs and labels, and both test_inputs and test_labels or neither", got, _SAVE)
    inputs, labels = _checked_inputs(arrays["inputs"], path), _label_texts(arrays["labels"], path)
    if "test_inputs" not in arrays:
        return _split(path, inputs, labels)
    test_inputs, test_labels = _checked_inputs(arrays["test_inputs"], path), _label_texts(arrays["test_labels"], path)
    names = _sorted_classes(labels)
    strange = sorted(set(test_labels) - set(names))
    if strange:
        raise refusal(
            path, "have test labels that are also in labels", repr(strange[0][:40]), "Name the classes alike."
        )
    numbers, test_numbers = _class_numbers(labels, names), _class_numbers(test_labels, names)
    return Dataset(printable(path.stem), inputs, numbers, test_inputs, test_numbers, names)


@dataclass
class _Rows:
    """Features one after another, and the label of each row."""

    values: array[float] = field(default_factory=lambda: array("f"))
    labels: list[str] = field(default_factory=list)


def read_feature_table(path: Path) -> Dataset:
    """The data set in separated text: one row a line, the label in the column called label or in the last one.

    The first line may name the columns. Commas, semicolons or tabs separate the cells.
    """
    groups = _read_groups(path, None)
    if not groups:
        raise refusal(path, "have rows of features and a label", "none", "Write one row a line.")
    return _dataset(path, groups[""])


def read_feature_tables(path: Path, column: str) -> dict[str, Dataset]:
    """One data set for each value of a column, which is no feature then, of separated text with a header."""
    datasets = {}
    for value, rows in _read_groups(path, column).items():
        try:
            datasets[value] = _dataset(path, rows)
        except ValueError as problem:
            raise ValueError(f"{problem} (rows with {column} = {value!r})") from None
    return datasets


def column_names(path: Path) -> list[str]:
    """The names in the first line of separated text; none where it holds numbers."""
    with open_lines(path, max_bytes=MAX_DATASET_BYTES) as lines:
        separator, rows = read_rows(lines, printable(path))
        _, cells = next(rows, (0, []))
        return cells if _is_header(cells, separator) else []


def _is_header(cells: list[str], separator: str) -> bool:
    return "label" in map(str.lower, cells) or not all(is_number(cell, separator) for cell in cells[:-1])


def _read_groups(path: Path, column: str | None) -> dict[str, _Rows]:
    """The rows by their cell in `column`, or all of them by the empty text."""
    file_size(path, MAX_DATASET_BYTES)
    groups: dict[str, _Rows] = {}
    num_values = 0
    with open_lines(path, max_bytes=MAX_DATASET_BYTES) as lines:
        separator, rows = read_rows(lines, printable(path))
        first = next(rows, None)
        if first is None:
            return {}
        width = len(first[1])
        group_column, label_column = _special_columns(first[1], column, path)
        has_header = column is not None or _is_header(first[1], separator)
        for line, cells in rows if has_header else itertools.chain([first], rows):
            if len(cells) != width:
                got = f"{len(cells)} on line {line}"
                raise refusal(path, f"have {width} cells in each row", got, "Fill or drop the row.")
            group = "" if group_column is None else cells.pop(group_column)
            label = cells.pop(label_column)
            if not label or not (group or column is None):
                rule = "have a label in each row" if not label else f"name a task in column {column!r} of each row"
                raise refusal(path, rule, f"none on line {line}", "Fill or drop the row.")
            numbers = to_numbers(cells, separator)
            if numbers is None:
                got = next(repr(cell[:40]) for cell in cells if not is_number(cell, separator))
                rule = "have numbers beside the label"
                raise refusal(path, rule, f"{got} on line {line}", "Only the label may be text.")
            num_values += len(numbers)
            if 4 * num_values > MAX_DATASET_BYTES:
                rule = f"take at most {MAX_DATASET_BYTES / 2**20:.4g} MB"
                raise refusal(path, rule, f"more on line {line}", "Keep fewer rows.")
            target = groups.setdefault(group, _Rows())
            target.values.extend(numbers)
            target.labels.append(label)
    return groups


def _special_columns(first: list[str], column: str | None, path: Path) -> tuple[int | None, int]:
    """The indices of the column of groups, and of the label among the other cells, by the first row."""
    if column is not None and column not in first:
        raise BadArgument(
            f"`column` must be one of the columns {', '.join(first[:12])}, got {column!r}.{did_you_mean(column, first)}"
        )
    group_column = None if column is None else first.index(column)
    others = [cell.lower() for index, cell in enumerate(first) if index != group_column]
    if len(others) < 2:
        raise refusal(path, "have features and a label in each row", "one column", "Separate by commas.")
    return group_column, others.index("label") if "label" in others else len(others) - 1


def _dataset(path: Path, rows: _Rows) -> Dataset:
    inputs = np.frombuffer(rows.values, dtype=np.float32).reshape(len(rows.labels), -1)
    return _split(path, _checked_inputs(inputs, path), _checked_labels(rows.labels, path))


def _split(path: Path, inputs: NDArray[Any], labels: list[str]) -> Dataset:
    if len(inputs) != len(labels):
        got = f"{len(labels)} labels for {len(inputs)} rows"
        raise refusal(path, "hold one label a row", got, "Save inputs and labels of the same rows.")
    names = _sorted_classes(labels)
    numbers = _class_numbers(labels, names)
    train, test = held_out(numbers)
    if not len(test):
        fix = "Give more rows, or test_inputs and test_labels in an NPZ."
        raise refusal(path, "have two rows of a class, to test on one", f"{len(labels)} of {len(names)} classes", fix)
    return Dataset(printable(path.stem), inputs[train], numbers[train], inputs[test], numbers[test], names)


def _checked_inputs(values: NDArray[Any], path: Path) -> NDArray[Any]:
    """Images as they are, with an axis for gray; all other numbers as float32."""
    shape = " x ".join(map(str, values.shape)) or "a single number"
    if values.dtype == np.uint8 and values.ndim in (3, 4):
        images = values if values.ndim == 4 else values[..., np.newaxis]
        if images.shape[3] not in (1, 3) or not images.size:
            raise refusal(path, "hold images of 1 or 3 channels", shape, "Put the channels last.")
        return images
    if values.ndim != 2 or values.dtype.kind not in "fiub" or not values.size:
        fix = "Images are n x height x width x channels of dtype uint8."
        raise refusal(path, "hold inputs n x features, or uint8 images", f"{values.dtype} {shape}", fix)
    with np.errstate(over="ignore"):
        numbers = values.astype(np.float32)
    if not np.isfinite(numbers).all():
        row, column = np.argwhere(~np.isfinite(numbers))[0]
        got = f"{values[row, column]} at row {row + 1}, column {column + 1}"
        raise refusal(path, "hold finite numbers of size float32", got, "Fill or drop missing entries first.")
    return numbers


def _label_texts(values: NDArray[Any], path: Path) -> list[str]:
    if values.ndim != 1:
        raise refusal(path, "hold one label a row", f"labels with {values.ndim} axes", "One-hot labels: use argmax.")
    if values.dtype.kind == "S":
        return _checked_labels([bytes(value).decode("utf-8", "replace") for value in values], path)
    if values.dtype.kind == "U" and not is_text(values):
        raise refusal(path, "have printable labels", "characters that are none", "Save it again.")
    if values.dtype.kind == "b":
        values = values.astype(np.int64)
    return _checked_labels([str(value) for value in values.tolist()], path)


def _checked_labels(labels: list[str], path: Path) -> list[str]:
    """Labels that name classes; 1.0 becomes 1, and 0.37 is refused."""
    fix = "Labels are classes: integers or text."
    cleaned = {label: label.strip() for label in set(labels)}
    for label in cleaned:
        if not label.strip() or not label.isprintable():
            raise refusal(path, "have printable labels", repr(label[:40]), fix)
        if is_number(label, ",") and not _INTEGER.fullmatch(label.strip()):
            number = float(label)
            if not number.is_integer():
                raise refusal(path, "have labels that name classes", repr(label[:40]), fix)
            cleaned[label] = str(int(number))
    return [cleaned[label] for label in labels]


def _sorted_classes(labels: list[str]) -> tuple[str, ...]:
    """The classes in sorted order, by value where all of them are integers."""
    names = sorted(set(labels))
    if all(map(_INTEGER.fullmatch, names)):
        names.sort(key=int)
    return tuple(names)


def _class_numbers(labels: list[str], names: tuple[str, ...]) -> Ints:
    number_of = {name: number for number, name in enumerate(names)}
    return np.array([number_of[label] for label in labels], dtype=np.int64)
