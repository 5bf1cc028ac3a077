"""A data set in memory, and the seeded split for those that come without one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Ints, seed_number
from taskorder.stratified import stratified_counts
from taskorder.tables.input_files import refusal

MAX_DATASET_BYTES = 2 * 2**30
"""Data sets that would take more memory than this are refused."""
TEST_SHARE = 0.2
"""What is held out where data come without rows to test on."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs and labels to train on and to test on; checked when it is made."""

    name: str
    train_inputs: NDArray[Any]
    """uint8 of shape (n, height, width, channels) for images, float32 of shape (n, features) for tables."""
    train_labels: Ints
    """The class of each row, from 0 to K - 1."""
    test_inputs: NDArray[Any]
    test_labels: Ints
    class_names: tuple[str, ...]

    def __post_init__(self) -> None:
        for split in ("train", "test"):
            inputs, labels = getattr(self, f"{split}_inputs"), getattr(self, f"{split}_labels")
            if not len(labels):
                raise ValueError(f"`{self.name}` must have rows to {split} on, got none.")
            if len(inputs) != len(labels):
                rule, fix = (
                    f"have one {split} label for each input",
                    "The files do not belong together: get them again.",
                )
                raise refusal(self.name, rule, f"{len(labels)} for {len(inputs)}", fix)
            low, high = int(labels.min()), int(labels.max())
            if low < 0 or high >= self.num_classes:
                rule = f"have {split} labels from 0 to {self.num_classes - 1}"
                fix = "The file is damaged, or the class names are incomplete."
                raise refusal(self.name, rule, str(low if low < 0 else high), fix)
        if self.train_inputs.shape[1:] != self.test_inputs.shape[1:]:
            train, test = (" x ".join(map(str, a.shape[1:])) for a in (self.train_inputs, self.test_inputs))
            raise ValueError(f"`{self.name}` must have test inputs shaped like the others ({train}), got {test}.")

    @property
    def num_classes(self) -> int:
        """How many classes there are."""
        return len(self.class_names)

    def class_counts(self) -> tuple[Ints, Ints]:
        """How many rows of each class there are to train on and to test on."""
        train, test = (np.bincount(a, minlength=self.num_classes) for a in (self.train_labels, self.test_labels))
        return train.astype(np.int64), test.astype(np.int64)


def held_out(labels: Ints, num_test: int | None = None, seed: int = 0) -> tuple[Ints, Ints]:
    """Rows to train on and rows to test on, drawn so that both have about the same share of every class.

    `num_test` is `TEST_SHARE` of them unless it is given. A class keeps at least one row to train on. Both come back
    sorted.

    >>> train, test = held_out(np.array([0, 0, 0, 0, 1, 1, 1, 1]), num_test=2)
    >>> len(train), len(test)
    (6, 2)
    """
    rng = np.random.default_rng(seed_number(seed))
    num_test = max(1, round(TEST_SHARE * len(labels))) if num_test is None else num_test
    counts = np.bincount(labels)
    most = np.maximum(counts - 1, 0)
    num_test = min(num_test, int(most.sum()))
    taken = stratified_counts(counts, num_test, least=0, most=most)
    by_class = rng.permutation(len(labels))
    by_class = by_class[np.argsort(labels[by_class], kind="stable")]
    ends = np.cumsum(counts) - counts + taken
    chosen = np.zeros(len(labels), dtype=bool)
    chosen[by_class[np.arange(len(labels)) < np.repeat(ends, counts)]] = True
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)
