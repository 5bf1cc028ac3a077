"""Features and labels from an NPZ archive or from separated text; pickles are never opened."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from taskorder.datasets._cells import (
    checked_inputs,
    checked_labels,
    class_numbers,
    is_number,
    label_texts,
    sorted_classes,
)
from taskorder.datasets._files import MAX_BYTES, damaged, file_size, shown, unreadable
from taskorder.datasets._npz import read_arrays
from taskorder.datasets.dataset import Dataset, held_out

_KEYS = ("inputs", "labels", "test_inputs", "test_labels")
_MAX_LINE = 2**24


def read_npz(path: Path) -> Dataset:
    """The data set in an NPZ archive with the arrays inputs and labels, and maybe test_inputs and test_labels.

    Inputs are uint8 images (n, height, width[, channels]) or numbers (n, features); labels are integers or text.
    """
    arrays = read_arrays(path, _KEYS)
    if "inputs" not in arrays or "labels" not in arrays or ("test_inputs" in arrays) != ("test_labels" in arrays):
        found = ", ".join(arrays) or "none of them"
        fix = "Save it with np.savez(path, inputs=..., labels=...)."
        raise damaged(path, "hold inputs and labels, and both test_inputs and test_labels or neither", found, fix)
    inputs, labels = checked_inputs(arrays["inputs"], path), label_texts(arrays["labels"], path)
    if "test_inputs" not in arrays:
        return _split(path, inputs, labels)
    test_inputs, test_labels = checked_inputs(arrays["test_inputs"], path), label_texts(arrays["test_labels"], path)
    names = sorted_classes(labels)
    strange = sorted(set(test_labels) - set(names))
    if strange:
        raise damaged(
            path, "have test labels that are also in labels", repr(strange[0][:40]), "Name the classes alike."
        )
    numbers, test_numbers = class_numbers(labels, names), class_numbers(test_labels, names)
    return Dataset(shown(path.stem), inputs, numbers, test_inputs, test_numbers, names)


def read_csv(path: Path) -> Dataset:
    """The data set in separated text: one row a line, the label in the column called label or in the last one.

    The first line may name the columns. Commas, semicolons or tabs separate the cells.
    """
    file_size(path)
    values = array("f")
    labels: list[str] = []
    width = place = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            for line, cells in _rows(stream, path):
                if not width:
                    width = len(cells)
                    lowered = [cell.lower() for cell in cells]
                    place = lowered.index("label") if "label" in lowered else width - 1
                    if width < 2:
                        raise damaged(
                            path, "have features and a label in each row", "one column", "Separate by commas."
                        )
                    if "label" in lowered or not all(map(is_number, cells[:-1])):
                        continue  # this line names the columns
                if len(cells) != width:
                    fix = "Fill or drop the row."
                    raise damaged(path, f"have {width} cells in each row", f"{len(cells)} on line {line}", fix)
                labels.append(cells.pop(place))
                if not labels[-1]:
                    raise damaged(path, "have a label in each row", f"none on line {line}", "Fill or drop the row.")
                _extend(values, cells, path, line)
    except UnicodeDecodeError:
        raise damaged(path, "be UTF-8 text", "odd bytes", "Save it as UTF-8.") from None
    except OSError as problem:
        raise unreadable(path, problem) from None
    if not labels:
        raise damaged(path, "have rows of features and a label", "none", "Write one row a line.")
    inputs = np.frombuffer(values, dtype=np.float32).reshape(len(labels), width - 1)
    return _split(path, checked_inputs(inputs, path), checked_labels(labels, path))


def _rows(stream: IO[str], path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells; the first line with text in it decides the separator."""
    lines = _lines(stream, path)
    skipped = 0
    for first in lines:
        if first.strip():
            break
        skipped += 1
    else:
        return
    separator = max(",;\t", key=first.count)
    reader = csv.reader(chain([first], lines), delimiter=separator, skipinitialspace=True, strict=True)
    try:
        for cells in reader:
            if cells:
                yield skipped + reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as problem:
        found = f"{problem} on line {skipped + reader.line_num}"
        raise damaged(path, "be separated text", found, "Check the quotes.") from None


def _lines(stream: IO[str], path: Path) -> Iterator[str]:
    """Lines of bounded length: a file without line ends must not fill the memory."""
    while line := stream.readline(_MAX_LINE + 1):
        if len(line) > _MAX_LINE:
            fix = "Write one row a line."
            raise damaged(path, f"have lines of at most {_MAX_LINE} characters", "a longer one", fix)
        yield line


def _extend(values: array[float], cells: Sequence[str], path: Path, line: int) -> None:
    try:
        values.extend(map(float, cells))
    except (ValueError, OverflowError):
        odd = next((cell for cell in cells if not is_number(cell)), "a huge number")
        found = f"{odd[:40]!r} on line {line}"
        raise damaged(path, "have numbers beside the label", found, "Only the label may be text.") from None
    if 4 * len(values) > MAX_BYTES:
        raise damaged(path, f"take at most {MAX_BYTES / 2**20:.4g} MB", f"more on line {line}", "Keep fewer rows.")


def _split(path: Path, inputs: NDArray[Any], labels: list[str]) -> Dataset:
    if len(inputs) != len(labels):
        found = f"{len(labels)} labels for {len(inputs)} rows"
        raise damaged(path, "hold one label a row", found, "Save inputs and labels of the same rows.")
    names = sorted_classes(labels)
    numbers = class_numbers(labels, names)
    train, test = held_out(numbers)
    if not len(test):
        fix = "Give more rows, or test_inputs and test_labels in an NPZ."
        raise damaged(path, "have two rows of a class, to test on one", f"{len(labels)} of {len(names)} classes", fix)
    return Dataset(shown(path.stem), inputs[train], numbers[train], inputs[test], numbers[test], names)
