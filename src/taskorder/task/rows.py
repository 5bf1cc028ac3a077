"""Rows that can be counted and taken by index: the one thing that inputs of all kinds have in common.

    ArrayRows, SparseRows, TextRows, TableRows    in memory; what is taken is of the same kind, nothing else is copied
    ItemRows, DatasetRows, CallRows               read when taken (reading.py), and then one of those above

Kinds are told by their type, without importing the package that makes them: what a person holds has been imported.
"""

from __future__ import annotations

import hashlib
import sys
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Ints

SHOWN_COLUMNS = 8
"""Columns of a table that a message names."""


class Rows(ABC):
    """Inputs of one kind, one row an example."""

    def __init__(self, values: Any) -> None:
        self.values = values
        """What a learner gets as `task.inputs`: what was given, or these rows where they are read on demand."""

    def __len__(self) -> int:
        return len(self.values)

    @abstractmethod
    def __getitem__(self, rows: Ints) -> Any:
        """Some of the rows, in memory."""

    @property
    @abstractmethod
    def shown(self) -> str:
        """What the rows of all tasks must have in common, in words."""

    @abstractmethod
    def check(self, where: str) -> None:
        """Refuse what no learner could read."""

    @abstractmethod
    def feed(self, total: hashlib._Hash) -> None:
        """Add everything to a digest."""

    def apart(self, other: Rows) -> tuple[str, str] | None:
        """What each of two kinds of rows is, where they are not alike."""
        return None if self.shown == other.shown else (self.shown, other.shown)


class ArrayRows(Rows):
    """An array."""

    def __getitem__(self, rows: Ints) -> NDArray[Any]:
        return np.asarray(self.values[rows])

    @property
    def shown(self) -> str:
        """Shape of a row, and images (uint8), whole numbers or floats: what learners treat differently."""
        kind = "uint8" if self.values.dtype == np.uint8 else "float" if self.values.dtype.kind == "f" else "integer"
        return f"{' x '.join(map(str, self.values.shape[1:]))} {kind}"

    def check(self, where: str) -> None:
        """Refuse what is no table of finite numbers."""
        advice, array = "one row of numbers for each example", self.values
        if array.dtype.kind not in "biuf":
            raise ValueError(
                f"{where} must be {advice}, got values of type {array.dtype}. Encode texts as numbers first."
            )
        if array.ndim < 2 or 0 in array.shape:
            raise ValueError(
                f"{where} must be {advice}, got shape {array.shape}. "
                "One feature goes in a column: inputs.reshape(-1, 1)."
            )
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            bad = np.argwhere(~np.isfinite(array))[0]
            raise ValueError(
                f"{where} must be finite, got {array[tuple(bad)]} in row {bad[0] + 1}. "
                "Fill or drop missing values first."
            )

    def feed(self, total: hashlib._Hash) -> None:
        """Type, shape and bytes."""
        feed_array(self.values, total)


class SparseRows(Rows):
    """A matrix of scipy.sparse, by rows; it stays sparse."""

    def __init__(self, values: Any) -> None:
        super().__init__(values.tocsr())

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def __getitem__(self, rows: Ints) -> Any:
        return self.values[rows]

    @property
    def shown(self) -> str:
        """The number of columns."""
        return f"{self.values.shape[1]} sparse"

    def check(self, where: str) -> None:
        """Refuse what is no matrix of finite numbers."""
        if len(self.values.shape) != 2:
            raise ValueError(
                f"{where} must be one row of numbers for each example, got a sparse array of shape "
                f"{self.values.shape}. One feature goes in a column."
            )
        if not np.isfinite(self.values.data).all():
            place = int(np.flatnonzero(~np.isfinite(self.values.data))[0])
            row = int(np.searchsorted(self.values.indptr, place, side="right"))
            raise ValueError(
                f"{where} must be finite, got {self.values.data[place]} in row {row}. "
                "Fill or drop missing values first."
            )

    def feed(self, total: hashlib._Hash) -> None:
        """What is not zero, and where."""
        total.update(f"sparse {self.values.shape}".encode())
        for array in (self.values.data, self.values.indices, self.values.indptr):
            feed_array(array, total)


class TextRows(Rows):
    """A list or series of texts, or of other values that an estimator reads one by one, such as dictionaries."""

    def __getitem__(self, rows: Ints) -> Any:
        if isinstance(self.values, list):
            return [self.values[row] for row in rows.tolist()]
        return self.values.iloc[rows] if hasattr(self.values, "iloc") else self.values[rows]

    @property
    def shown(self) -> str:
        """Texts, whatever holds them."""
        return "dictionaries" if isinstance(next(iter(self.values), ""), dict) else "texts"

    def check(self, where: str) -> None:
        """Refuse rows of several types: missing texts, most of the time."""
        wanted = dict if isinstance(next(iter(self.values), ""), dict) else str
        for number, value in enumerate(self.values, start=1):
            if not isinstance(value, wanted):
                raise ValueError(
                    f"{where} must all be {'texts' if wanted is str else 'dictionaries'}, got {value!r} in row "
                    f"{number}. Fill or drop missing values first."
                )

    def feed(self, total: hashlib._Hash) -> None:
        """Every value with its length."""
        for value in self.values:
            text = (value if isinstance(value, str) else repr(value)).encode("utf-8", "surrogatepass")
            total.update(b"%d " % len(text) + text)


class TableRows(Rows):
    """A DataFrame of pandas or polars, with columns of any kind."""

    def __getitem__(self, rows: Ints) -> Any:
        return self.values.iloc[rows] if hasattr(self.values, "iloc") else self.values[rows]

    @property
    def columns(self) -> list[Any]:
        """Their names."""
        return list(self.values.columns)

    @property
    def shown(self) -> str:
        """The names of the columns."""
        return f"a table with the columns {listed(self.columns)}"

    def apart(self, other: Rows) -> tuple[str, str] | None:
        """The first column that only one of two tables has, or another order of columns."""
        if not isinstance(other, TableRows):
            return super().apart(other)
        here = next((column for column in self.columns if column not in other.columns), None)
        there = next((column for column in other.columns if column not in self.columns), None)
        if here is not None:
            return f"a column {here!r}", "a table without it"
        if there is not None:
            return f"no column {there!r}", "a table with it"
        return super().apart(other) if self.columns != other.columns else None

    def check(self, where: str) -> None:
        """Refuse a table without columns, and two columns of one name."""
        if not self.columns:
            raise ValueError(f"{where} must have columns to learn from, got only the labels.")
        twice = next((column for column in self.columns if self.columns.count(column) > 1), None)
        if twice is not None:
            raise ValueError(f"{where} must have columns of different names, got {twice!r} more than once. Rename one.")

    def feed(self, total: hashlib._Hash) -> None:
        """Column by column; an index counts for nothing."""
        for column in self.columns:
            values = self.values[column].to_numpy()
            total.update(f"column {column!r}".encode())
            if values.dtype.kind in "biuf":
                feed_array(values, total)
            else:
                TextRows(values.tolist()).feed(total)


def feed_array(array: NDArray[Any], total: hashlib._Hash) -> None:
    """Add type, shape and bytes of an array to a digest."""
    total.update(f"{array.dtype.str} {array.shape}".encode())
    total.update(np.ascontiguousarray(array).data)


def rows_in_memory(value: Any, where: str = "`inputs`") -> Rows | None:
    """The rows of what is in memory; None for all else.

    >>> rows = rows_in_memory(["late again", "thank you", "where is it?"])
    >>> len(rows), rows[np.array([2, 0])], rows.shown
    (3, ['where is it?', 'late again'], 'texts')
    """
    home, name = type(value).__module__.partition(".")[0], type(value).__name__
    if home in ("pandas", "polars"):
        return _rows_of_table(value, home, name, where)
    if home == "scipy" and hasattr(value, "tocsr"):
        return SparseRows(value)
    if isinstance(value, np.ndarray) or home in ("jax", "jaxlib") or is_tensor(value):
        array = as_array(value)
        return TextRows(array) if _holds_texts(array) else ArrayRows(_numeric(array, where))
    return _rows_of_list(list(value), where) if isinstance(value, list | tuple) else None


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor of PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def as_array(value: Any) -> NDArray[Any]:
    """An array, a tensor or an image as an array, without a copy where that can be."""
    if is_tensor(value):
        value = value.detach().cpu()
        value = value.float() if "bfloat16" in str(value.dtype) else value
    return np.asarray(value)


def number_array(values: Any, where: str = "`inputs`") -> NDArray[Any]:
    """Rows in memory as an array of numbers, for learners that read nothing else; sparse rows become dense.

    >>> import scipy.sparse
    >>> number_array(scipy.sparse.eye_array(2, format="csr"))
    array([[1., 0.],
           [0., 1.]])
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values
    if hasattr(values, "tocsr"):
        return np.asarray(values.toarray())
    if hasattr(values, "columns"):
        strange = next((name for name in values.columns if values[name].to_numpy().dtype.kind not in "biuf"), None)
        if strange is None:
            return np.asarray(values.to_numpy())
        raise ValueError(
            f"{where} must be numbers for this learner, got column {strange!r}. Encode it as numbers first."
        )
    raise ValueError(
        f"{where} must be numbers for this learner, got texts. Encode them as numbers first, or take SklearnLearner "
        "with a Pipeline."
    )


def listed(names: list[Any]) -> str:
    """Names for a message, not too many."""
    more = ", ..." if len(names) > SHOWN_COLUMNS else ""
    return ", ".join(map(str, names[:SHOWN_COLUMNS])) + more


def is_text_column(column: Any) -> bool:
    """Whether a series of pandas or polars holds texts."""
    if hasattr(column, "iloc"):
        return column.dtype.kind not in "biufcmM" and isinstance(next(iter(column.dropna()), None), str)
    return str(column.dtype) == "String"


def _rows_of_table(value: Any, home: str, name: str, where: str) -> Rows:
    if name == "DataFrame":
        return TableRows(value)
    if name == "LazyFrame":
        raise ValueError(f"{where} must be in memory, got a LazyFrame of polars. Write frame.collect().")
    if name == "Series":
        if not len(value):
            raise ValueError(f"{where} must have at least one example, got none. Leave an empty task out.")
        if value.to_numpy().dtype.kind in "biuf":
            raise ValueError(f"{where} must have one row for each example, got a series of numbers. Write .to_frame().")
        return TextRows(value)
    raise ValueError(f"{where} must be a DataFrame or a Series, got {name} of {home}.")


def _rows_of_list(values: list[Any], where: str) -> Rows:
    """Texts, dictionaries, or what can be put into one array: numbers, arrays, tensors, images."""
    if values and isinstance(values[0], str | dict):
        return TextRows(values)
    try:
        array = np.asarray([as_array(value) for value in values] if values and is_tensor(values[0]) else values)
    except (TypeError, ValueError, OverflowError):
        raise _no_rows(values, where) from None
    return ArrayRows(_numeric(array, where))


def _holds_texts(array: NDArray[Any]) -> bool:
    """Whether a flat array holds texts."""
    return array.ndim == 1 and (
        array.dtype.kind == "U" or (array.dtype == object and any(isinstance(value, str) for value in array[:1]))
    )


def _numeric(array: NDArray[Any], where: str) -> NDArray[Any]:
    """An array without Python objects."""
    if array.dtype != object:
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _no_rows(array, where) from None


def _no_rows(value: Any, where: str) -> ValueError:
    images = isinstance(value, list) and all(hasattr(each, "mode") and hasattr(each, "size") for each in value)
    kinds = list(dict.fromkeys(f"{each.mode} {each.size}" for each in value)) if images else []
    if len(kinds) > 1:
        return ValueError(
            f"{where} must be images of one mode and size, got {kinds[0]} and {kinds[1]}. "
            'Write image.convert("RGB").resize((224, 224)) for each.'
        )
    kind = f"ragged rows, text or {type(value).__name__}"
    return ValueError(f"{where} must be one row of numbers for each example, got {kind}.")
