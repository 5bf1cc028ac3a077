"""What a table of features may hold: finite numbers, images, and labels that name classes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Ints, is_text
from taskorder.datasets._files import damaged

_INTEGER = re.compile(r"[+-]?\d{1,18}")


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def checked_inputs(values: NDArray[Any], path: Path) -> NDArray[Any]:
    """Images as they are, with an axis for gray; all other numbers as float32."""
    shape = " x ".join(map(str, values.shape)) or "a single number"
    if values.dtype == np.uint8 and values.ndim in (3, 4):
        images = values if values.ndim == 4 else values[..., np.newaxis]
        if images.shape[3] not in (1, 3) or not images.size:
            raise damaged(path, "hold images of 1 or 3 channels", shape, "Put the channels last.")
        return images
    if values.ndim != 2 or values.dtype.kind not in "fiub" or not values.size:
        fix = "Images are n x height x width x channels of dtype uint8."
        raise damaged(path, "hold inputs n x features, or uint8 images", f"{values.dtype} {shape}", fix)
    with np.errstate(over="ignore"):
        numbers = values.astype(np.float32)
    if not np.isfinite(numbers).all():
        row, column = np.argwhere(~np.isfinite(numbers))[0]
        found = f"{values[row, column]} at row {row + 1}, column {column + 1}"
        raise damaged(path, "hold finite numbers of size float32", found, "Fill or drop missing entries first.")
    return numbers


def label_texts(values: NDArray[Any], path: Path) -> list[str]:
    if values.ndim != 1:
        raise damaged(path, "hold one label a row", f"labels with {values.ndim} axes", "One-hot labels: use argmax.")
    if values.dtype.kind == "S":
        return checked_labels([bytes(value).decode("utf-8", "replace") for value in values], path)
    if values.dtype.kind == "U" and not is_text(values):
        raise damaged(path, "have printable labels", "characters that are none", "Save it again.")
    if values.dtype.kind == "b":
        values = values.astype(np.int64)
    return checked_labels([str(value) for value in values.tolist()], path)


def checked_labels(labels: list[str], path: Path) -> list[str]:
    """Labels that name classes; 1.0 becomes 1, and 0.37 is refused."""
    fix = "Labels are classes: integers or text."
    cleaned = {label: label.strip() for label in set(labels)}
    for label in cleaned:
        if not label.strip() or not label.isprintable():
            raise damaged(path, "have printable labels", repr(label[:40]), fix)
        if is_number(label) and not _INTEGER.fullmatch(label.strip()):
            number = float(label)
            if not number.is_integer():
                raise damaged(path, "have labels that name classes", repr(label[:40]), fix)
            cleaned[label] = str(int(number))
    return [cleaned[label] for label in labels]


def sorted_classes(labels: list[str]) -> tuple[str, ...]:
    """The classes in sorted order, by value where all of them are integers."""
    names = sorted(set(labels))
    if all(map(_INTEGER.fullmatch, names)):
        names.sort(key=int)
    return tuple(names)


def class_numbers(labels: list[str], names: tuple[str, ...]) -> Ints:
    place = {name: number for number, name in enumerate(names)}
    return np.array([place[label] for label in labels], dtype=np.int64)
