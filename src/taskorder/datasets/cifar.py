"""CIFAR-10 and CIFAR-100 (Krizhevsky, 2009) in their binary layout, which needs no pickle.

A file is a row of records: one label byte (CIFAR-10) or two, coarse and fine (CIFAR-100), and then the 32 x 32 red
bytes of an image, its green ones and its blue ones. CIFAR-100 is read with its fine labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Ints
from taskorder.datasets.dataset import Dataset
from taskorder.tables.input_files import file_size, printable, refusal, unreadable

_SIDE = 32
_PIXELS = 3 * _SIDE * _SIDE
_MAX_BYTES = 512 * 2**20
_ROWS_AT_ONCE = 10_000


def read_cifar10(folder: Path) -> Dataset:
    """The data set in a folder with data_batch_1.bin to data_batch_5.bin, test_batch.bin and batches.meta.txt."""
    names = read_class_names(folder / "batches.meta.txt")
    train = [folder / f"data_batch_{number}.bin" for number in range(1, 6)]
    return _read("cifar10", train, [folder / "test_batch.bin"], 1, names)


def read_cifar100(folder: Path) -> Dataset:
    """The data set in a folder with train.bin, test.bin and fine_label_names.txt."""
    names = read_class_names(folder / "fine_label_names.txt")
    return _read("cifar100", [folder / "train.bin"], [folder / "test.bin"], 2, names)


def _read(name: str, train: Sequence[Path], test: Sequence[Path], num_labels: int, names: tuple[str, ...]) -> Dataset:
    return Dataset(name, *read_records(train, num_labels, names), *read_records(test, num_labels, names), names)


def read_records(paths: Sequence[Path], num_labels: int, names: Sequence[str]) -> tuple[NDArray[np.uint8], Ints]:
    """Images of shape (n, 32, 32, 3) and the last label byte of each, from files one after another."""
    record = num_labels + _PIXELS
    counts = []
    for path in paths:
        size = file_size(path, _MAX_BYTES // len(paths))
        if size % record:
            raise refusal(path, f"hold whole records of {record} bytes", f"{size} bytes")
        counts.append(size // record)
    images = np.empty((sum(counts), _SIDE, _SIDE, 3), dtype=np.uint8)
    labels = np.empty(sum(counts), dtype=np.int64)
    start = 0
    for path, count in zip(paths, counts, strict=True):
        stop = start + count
        _fill(path, images[start:stop], labels[start:stop], num_labels)
        if labels[start:stop].max() >= len(names):
            raise refusal(path, f"have labels from 0 to {len(names) - 1}", str(labels[start:stop].max()))
        start = stop
    return images, labels


def _fill(path: Path, images: NDArray[np.uint8], labels: Ints, num_labels: int) -> None:
    """Read a few thousand records at a time: their bytes come channel by channel and are kept pixel by pixel."""
    try:
        with path.open("rb") as stream:
            for start in range(0, len(labels), _ROWS_AT_ONCE):
                stop = min(start + _ROWS_AT_ONCE, len(labels))
                rows = np.fromfile(stream, dtype=np.uint8, count=(stop - start) * (num_labels + _PIXELS))
                rows = rows.reshape(stop - start, num_labels + _PIXELS)
                labels[start:stop] = rows[:, num_labels - 1]
                images[start:stop] = rows[:, num_labels:].reshape(-1, 3, _SIDE, _SIDE).transpose(0, 2, 3, 1)
    except OSError as problem:
        raise unreadable(path, problem) from None
    except ValueError:
        raise ValueError(f"`{printable(path)}` must stay as it is while it is read, got a change. Try again.") from None


def read_class_names(path: Path) -> tuple[str, ...]:
    """The class names in a text file, one a line."""
    file_size(path, 2**16)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise refusal(path, "be a text of class names", "odd bytes") from None
    except OSError as problem:
        raise unreadable(path, problem) from None
    names = tuple(line.strip() for line in lines if line.strip())
    if not names or len(set(names)) < len(names) or not all(name.isprintable() for name in names):
        raise refusal(path, "list different class names, one a line", f"{len(names)} that are not")
    return names
