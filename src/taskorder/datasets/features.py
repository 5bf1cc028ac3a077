"""Features and labels from an NPZ archive or from separated text.

Features are finite numbers or uint8 images; labels name classes.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Ints, is_text
from taskorder.costs import megabytes
from taskorder.datasets.dataset import MAX_DATASET_BYTES, Dataset, held_out
from taskorder.datasets.table_files import holds_names
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
    held: list[str] = []

    def chosen(names: Sequence[str]) -> list[str]:
        held.extend(sorted(names))
        return [key for key in _KEYS if key in names]

    arrays = read_npz(
        path,
        printable(path),
        chosen,
        lambda name, _, dtype: (
            "" if dtype.kind in "fiubSU" else f"hold numbers or text, got dtype {dtype.str[:20]!r} for {name}. {_SAVE}"
        ),
        max_bytes=MAX_DATASET_BYTES,
    )
    if "inputs" not in arrays or "labels" not in arrays or ("test_inputs" in arrays) != ("test_labels" in arrays):
        got = ", ".join(held) or "no arrays"
        raise refusal(path, "hold inputs and labels, and both test_inputs and test_labels or neither", got, _SAVE)
    inputs, labels = _checked_inputs(arrays["inputs"], path), _array_labels(arrays["labels"], path)
    if "test_inputs" not in arrays:
        return _split(path, inputs, labels)
    test_inputs, test_labels = _checked_inputs(arrays["test_inputs"], path), _array_labels(arrays["test_labels"], path)
    names = sorted_classes(labels.texts)
    strange = sorted(set(test_labels.texts) - set(names))
    if strange:
        raise refusal(
            path, "have test labels that are also in labels", repr(strange[0][:40]), "Name the classes alike."
        )
    return Dataset(printable(path.stem), inputs, labels.numbers(names), test_inputs, test_labels.numbers(names), names)


class _Labels(NamedTuple):
    """The labels of rows, each text once: a list of them would take far more memory than the rows."""

    texts: list[str]
    places: Ints
    """(n,) of each row, the place of its label in `texts`."""

    def numbers(self, names: tuple[str, ...]) -> Ints:
        """(n,) the place of each label among the names."""
        return class_numbers(self.texts, names)[self.places]


@dataclass
class _Rows:
    """Features one after another, and the label of each row."""

    values: array[float] = field(default_factory=lambda: array("f"))
    texts: dict[str, int] = field(default_factory=dict)
    """The different labels, numbered as they come."""
    places: array[int] = field(default_factory=lambda: array("q"))


def read_feature_table(path: Path) -> Dataset:
    """The data set in separated text: one row a line, the label in the column called label or in the last one.

    The first line may name the columns. Commas, semicolons or tabs separate the cells.
    """
    rows = _read_rows(path)
    if not rows.places:
        raise refusal(path, "have rows of features and a label", "none", "Write one row a line.")
    inputs = np.frombuffer(rows.values, dtype=np.float32).reshape(len(rows.places), -1)
    labels = _Labels(_checked_labels([*rows.texts], path), np.frombuffer(rows.places, dtype=np.int64))
    return _split(path, _checked_inputs(inputs, path), labels)


def _read_rows(path: Path) -> _Rows:
    file_size(path, MAX_DATASET_BYTES)
    found = _Rows()
    with open_lines(path, max_bytes=MAX_DATASET_BYTES) as lines:
        separator, rows = read_rows(lines, printable(path))
        first = next(rows, None)
        if first is None:
            return found
        names = [cell.lower() for cell in first[1]]
        width = len(names)
        if width < 2:
            raise refusal(path, "have features and a label in each row", "one column", "Separate by commas.")
        label_column = names.index("label") if "label" in names else width - 1
        for line, cells in rows if holds_names(first[1], separator) else itertools.chain([first], rows):
            if len(cells) != width:
                got = f"{len(cells)} on line {line}"
                raise refusal(path, f"have {width} cells in each row", got, "Fill or drop the row.")
            label = cells.pop(label_column)
            if not label:
                raise refusal(path, "have a label in each row", f"none on line {line}", "Fill or drop the row.")
            numbers = to_numbers(cells, separator)
            if numbers is None:
                got = next(repr(cell[:40]) for cell in cells if not is_number(cell, separator))
                rule = "have numbers beside the label"
                raise refusal(path, rule, f"{got} on line {line}", "Only the label may be text.")
            found.values.extend(numbers)
            found.places.append(found.texts.setdefault(label, len(found.texts)))
            if 4 * len(found.values) > MAX_DATASET_BYTES:
                rule = f"take at most {megabytes(MAX_DATASET_BYTES)}"
                raise refusal(path, rule, f"more on line {line}", "Keep fewer rows.")
    return found


def _split(path: Path, inputs: NDArray[Any], labels: _Labels) -> Dataset:
    if len(inputs) != len(labels.places):
        got = f"{len(labels.places)} labels for {len(inputs)} rows"
        raise refusal(path, "hold one label a row", got, "Save inputs and labels of the same rows.")
    names = sorted_classes(labels.texts)
    numbers = labels.numbers(names)
    train, test = held_out(numbers)
    if not len(test):
        fix = "Give more rows, or test_inputs and test_labels in an NPZ."
        raise refusal(path, "have two rows of a class, to test on one", f"{len(numbers)} of {len(names)} classes", fix)
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


def _array_labels(values: NDArray[Any], path: Path) -> _Labels:
    if values.ndim != 1:
        raise refusal(path, "hold one label a row", f"labels with {values.ndim} axes", "One-hot labels: use argmax.")
    if values.dtype.kind == "U" and not is_text(values):
        raise refusal(path, "have printable labels", "characters that are none", "Save it again.")
    if values.dtype.kind == "b":
        values = values.astype(np.uint8)
    different, places = np.unique(values, return_inverse=True)
    if values.dtype.kind == "S":
        texts = [bytes(value).decode("utf-8", "replace") for value in different]
    else:
        texts = [str(value) for value in different.tolist()]
    return _Labels(_checked_labels(texts, path), places.reshape(-1))


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


def sorted_classes(labels: Iterable[str]) -> tuple[str, ...]:
    """The classes in sorted order, by value where all of them are integers.

    >>> sorted_classes(["20", "3", "20"]), sorted_classes(["no", "yes"])
    (('3', '20'), ('no', 'yes'))
    """
    names = sorted(set(labels))
    if all(map(_INTEGER.fullmatch, names)):
        names.sort(key=int)
    return tuple(names)


def class_numbers(labels: list[str], names: tuple[str, ...]) -> Ints:
    """(n,) the place of each label among the names."""
    number_of = {name: number for number, name in enumerate(names)}
    return np.array([number_of[label] for label in labels], dtype=np.int64)
