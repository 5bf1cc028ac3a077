"""Rows that are read when they are taken: a pilot reads those of its sample, once, and nothing else.

What comes is in memory, and of one of the kinds of rows.py:

    ItemRows       a data set of PyTorch, or any object with a length and items by number
    DatasetRows    a data set of Hugging Face
    CallRows       a function from row numbers to rows
"""

from __future__ import annotations

import hashlib
import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from taskorder.checks import Ints
from taskorder.task.rows import Rows, listed, rows_in_memory

AT_ONCE = 1024
"""Rows in memory while a digest reads all of them."""


class RowsOnDemand(Rows):
    """Rows that are not in memory; `task.inputs` is this object: `len(inputs)`, `inputs[numbers]`."""

    def __init__(self, source: Any, where: str) -> None:
        super().__init__(self)
        self.source, self.where = source, where

    @abstractmethod
    def read(self, rows: Ints) -> Any:
        """The rows as they are kept."""

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, slice):
            rows = np.arange(len(self))[rows]
        taken = rows_in_memory(self.read(np.asarray(rows, dtype=np.int64)), self.where)
        if taken is None:
            raise ValueError(f"{self.where} must give rows of numbers, texts or a table, got something else.")
        if len(taken) != len(rows):
            raise ValueError(f"{self.where} must give one row for each number, got {len(taken)} for {len(rows)}.")
        return taken.values

    @cached_property
    def first(self) -> Rows:
        """The first row, which all others are like."""
        return rows_of(self[np.zeros(1, dtype=np.int64)], self.where)

    @property
    def shown(self) -> str:
        """As the first row."""
        return self.first.shown

    def check(self, where: str) -> None:
        """Refuse a first row that no learner could read; others are checked when they are taken."""
        self.first.check(where)

    def apart(self, other: Rows) -> tuple[str, str] | None:
        """As the first rows."""
        return self.first.apart(other.first if isinstance(other, RowsOnDemand) else other)

    def feed(self, total: hashlib._Hash) -> None:
        """All rows, a part at a time."""
        for begin in range(0, len(self), AT_ONCE):
            rows_of(self[np.arange(begin, min(begin + AT_ONCE, len(self)))]).feed(total)


class ItemRows(RowsOnDemand):
    """ItemRows by number; of a pair (x, y) or a dictionary the part to learn from."""

    def __init__(
        self, source: Any, where: str, *, label: Any = None, collate: Callable[[Any], Any] | None = None
    ) -> None:
        super().__init__(source, where)
        self.label, self.collate = label, collate

    def __len__(self) -> int:
        return len(self.source)

    def read(self, rows: Ints) -> Any:
        """The inputs of some items."""
        many = getattr(self.source, "__getitems__", None)
        items = [self.source[row] for row in rows.tolist()] if many is None else many(rows.tolist())
        if self.collate is not None:
            return self._input(self.collate(items))
        return [self._input(item) for item in items]

    def _input(self, item: Any) -> Any:
        if isinstance(item, tuple):
            return item[0]
        if not isinstance(item, dict) or self.label is None:
            return item
        rest = [key for key in item if key != self.label]
        if len(rest) != 1:
            raise ValueError(f"{self.where} must have items with one entry besides {self.label!r}, got {listed(rest)}.")
        return item[rest[0]]

    def labels(self) -> list[Any] | None:
        """The labels in the items; None where items hold none."""
        if self.label is None and (known := _known_labels(self.source)) is not None:
            return known
        first = self.source[0] if len(self) else None
        if isinstance(first, tuple) and len(first) > 2:
            raise ValueError(f"{self.where} must have items (x, y), got {len(first)} values an item.")
        if self.label is None and not (isinstance(first, tuple) and len(first) == 2):
            return None
        place = 1 if self.label is None else self.label
        try:
            return [self.source[row][place] for row in range(len(self))]
        except (KeyError, TypeError):
            raise ValueError(f"{self.where} must have items with an entry {self.label!r}, the labels.") from None


class DatasetRows(RowsOnDemand):
    """A `datasets.Dataset`: one column as it is, several as a table."""

    def __len__(self) -> int:
        return len(self.source)

    def read(self, rows: Ints) -> Any:
        """The columns of some rows."""
        columns = self.source[rows.tolist()]
        if len(columns) == 1:
            return next(iter(columns.values()))
        # datasets needs pandas, so it is there
        return import_module("pandas").DataFrame({name: list(values) for name, values in columns.items()})

    def without(self, column: str) -> tuple[DatasetRows, list[Any]]:
        """The other columns, and this one: the names of its classes, where it has names."""
        feature = self.source.features[column]
        values = list(self.source.with_format(None)[column])
        if hasattr(feature, "int2str"):
            values = [None if value is None or value < 0 else feature.int2str(value) for value in values]
        return DatasetRows(self.source.remove_columns(column), self.where), values


class CallRows(RowsOnDemand):
    """A function that gives rows; labels tell how many there are."""

    def __init__(self, source: Callable[[Ints], Any], count: int, where: str) -> None:
        super().__init__(source, where)
        self.count = count

    def __len__(self) -> int:
        return self.count

    def read(self, rows: Ints) -> Any:
        """What the function gives."""
        return self.source(rows)


def rows_of(value: Any, where: str = "`inputs`") -> Rows:
    """The rows of whatever a person has; not yet checked."""
    if isinstance(value, Rows):
        return value
    return _rows_on_demand(value, where) if (held := rows_in_memory(value, where)) is None else held


def _rows_on_demand(value: Any, where: str) -> Rows:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.utils.data.DataLoader):
        return _rows_of_loader(value, where)
    home, name = type(value).__module__.partition(".")[0], type(value).__name__
    if home == "datasets" and name == "Dataset":
        return DatasetRows(value, where)
    if name in ("IterableDataset", "DatasetDict") and home == "datasets":
        fix = "Choose a split: data['train']." if name == "DatasetDict" else "Load it without streaming=True."
        raise ValueError(f"{where} must have a length and rows by number, got {name}. {fix}")
    if hasattr(value, "__len__") and hasattr(value, "__getitem__") and not isinstance(value, str | bytes | dict | set):
        return ItemRows(value, where)
    if torch is not None and isinstance(value, torch.utils.data.Dataset):
        raise ValueError(
            f"{where} must have a length and rows by number, got {name} without one of them. "
            "Give it __len__ and __getitem__, or put what it yields into a list."
        )
    fix = "Write pandas.DataFrame(...)." if isinstance(value, dict) else "Put the rows into a list."
    raise ValueError(f"{where} must be one row of numbers for each example, got ragged rows, text or {name}. {fix}")


def _rows_of_loader(loader: Any, where: str) -> Rows:
    """The data set of a DataLoader: learners make batches of their own."""
    data, kind = loader.dataset, type(loader.sampler).__name__
    rows = rows_of(data, where)
    if not isinstance(rows, RowsOnDemand):
        return rows
    if kind == "SubsetRandomSampler":
        from torch.utils.data import Subset

        data = Subset(data, sorted(loader.sampler.indices))
    elif kind not in ("SequentialSampler", "RandomSampler"):
        raise ValueError(f"{where} must be a DataLoader of all rows, got one with a {kind}. Give its data set instead.")
    default = sys.modules["torch"].utils.data.default_collate
    return ItemRows(data, where, collate=None if loader.collate_fn is default else loader.collate_fn)


def _known_labels(data: Any) -> list[Any] | None:
    """The labels that a data set of PyTorch tells without reading its items, by name where its classes have names."""
    kind, count = type(data).__name__, len(data)
    if kind == "Subset":
        inner = _known_labels(data.dataset)
        return None if inner is None else [inner[int(row)] for row in data.indices]
    if kind == "ConcatDataset":
        parts = [_known_labels(part) for part in data.datasets]
        return None if any(part is None for part in parts) else [label for part in parts for label in part or ()]
    if kind == "TensorDataset" and len(data.tensors) == 2:
        return list(data.tensors[1].tolist())
    targets = getattr(data, "targets", None)
    if targets is None or not hasattr(targets, "__len__") or len(targets) != count:
        return None
    values = targets.tolist() if hasattr(targets, "tolist") else list(targets)
    change = getattr(data, "target_transform", None)
    if change is not None:
        return [change(value) for value in values]
    names = getattr(data, "classes", None)
    return [names[value] for value in values] if names and _names_all(names, values) else values


def _names_all(names: Any, values: Sequence[Any]) -> bool:
    """Whether every value is the place of a name."""
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        return False
    return all(isinstance(value, int) and 0 <= value < len(names) for value in values)
