"""A table as users give it: an array, a list or a DataFrame, with names or without, and perhaps with missing cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from taskorder import checks
from taskorder.arguments import BadArgument, unknown
from taskorder.cells import cell_number
from taskorder.checks import Bools, Floats, counted

SIMILARITY, TRANSFER = CONTENTS = ("similarity", "transfer")
"""What a table holds: a symmetric similarity with ones on its diagonal, or knowledge, in general not symmetric."""
LARGEST_ASYMMETRY = 1e-3
"""A similarity may be so far from symmetric; what is farther is a transfer table."""

_SQUARE = "Give one row and one column for each task."


@dataclass(frozen=True, eq=False)
class GivenTable:
    """Numbers, names and what was done to them so far."""

    values: Floats
    """(P, P), nan where a cell is missing."""
    names: tuple[str, ...] | None = None
    """None where the table has none."""
    notes: tuple[str, ...] = ()
    """What a user should know about how the table was read and filled."""


def given_table(table: Any, label: str = "table") -> GivenTable:
    """The numbers and names of an array, of nested lists or of a DataFrame (pandas or polars), nan for missing cells.

    >>> given_table([[1, None], [0.5, 1]]).values.tolist()
    [[1.0, nan], [0.5, 1.0]]
    """
    if hasattr(table, "collect"):
        raise BadArgument(f"`{label}` must hold its numbers, got a {type(table).__name__}. Call its collect() first.")
    if hasattr(table, "to_numpy") and hasattr(table, "columns"):
        return _from_frame(table, label)
    return GivenTable(checks.square_matrix(table, label, missing=True))


def kind_of(table: Floats) -> str:
    """What a table holds: a similarity is symmetric, with ones on its diagonal.

    Where cells are missing, it is one if that holds for what is there, and if the whole diagonal or both directions
    of every pair are there to tell.

    >>> kind_of(np.array([[1, 0.5], [0.5, 1]])), kind_of(np.array([[0.9, 0.5], [0.1, 1]]))
    ('similarity', 'transfer')
    >>> kind_of(np.array([[1, np.nan], [0.5, 1]])), kind_of(np.array([[np.nan, np.nan], [0.5, np.nan]]))
    ('similarity', 'transfer')
    """
    diagonal, apart = np.diagonal(table), np.abs(table - table.T)[~np.eye(len(table), dtype=bool)]
    tells = not np.isnan(diagonal).any() or (apart.size > 0 and not np.isnan(apart).any())
    ones = np.abs(diagonal - 1)
    # no missing number compares as larger
    differs = (ones > checks.SYMMETRY_TOLERANCE).any() or (apart > LARGEST_ASYMMETRY).any()
    return SIMILARITY if tells and not differs else TRANSFER


def checked_kind(kind: str | None) -> str | None:
    """One of the kinds of tables, or None."""
    if kind not in (None, *CONTENTS):
        raise unknown("kind", kind, CONTENTS)
    return kind


def completed(given: GivenTable, label: str = "table", kind: str | None = None) -> GivenTable:
    """The table without missing cells, and notes on those that were filled.

    A similarity is symmetric with ones on its diagonal, so a missing cell is the one on the other side of the diagonal,
    and a triangle of zeros counts as missing. No cell of a transfer table follows from the others: there a missing
    cell is refused.

    kind: what the table holds, where that was said; None tells by `kind_of`.

    >>> completed(GivenTable(np.array([[1, np.nan], [0.5, 1]]))).notes
    ('the missing cell A-B is taken from B-A: a similarity is symmetric',)
    """
    values = given.values
    is_similarity = (kind or kind_of(values)) == SIMILARITY
    missing = np.isnan(values)
    zeros = _triangle_of_zeros(values)
    if zeros is not None and is_similarity:
        missing = missing | zeros
    if zeros is not None and kind is None:
        side = "above" if zeros[0, 1] else "below"
        raise BadArgument(
            f"`{label}` must hold both directions of every pair, got only zeros {side} a diagonal of ones. Leave the "
            "cells of a similarity empty there, or say what the table holds: ",
            "kind",
            " similarity or transfer.",
        )
    if not missing.any():
        return given
    names = checks.task_names(given.names, len(values))
    if not is_similarity:
        row, column = (names[i] for i in np.argwhere(missing)[0])
        mirror = " Only a similarity is filled from the other side of its diagonal: if it is one, set "
        raise BadArgument(
            f"`{label}` must have a number in every cell, got none in row {row}, column {column}. Measure it, since "
            f"what {row} teaches of {column} does not follow from other cells.{mirror if kind is None else ''}",
            *(["kind", " to similarity."] if kind is None else []),
        )
    both = missing & missing.T & ~np.eye(len(values), dtype=bool)
    if both.any():
        row, column = (int(i) for i in np.argwhere(both)[0])
        raise BadArgument(
            f"`{label}` must have a number for every pair of tasks, got none for {names[row]} and {names[column]} in "
            "either direction. Measure that pair, or leave one of the two tasks out."
        )
    filled = np.where(missing, values.T, values)
    np.fill_diagonal(filled, np.where(np.diagonal(missing), 1.0, np.diagonal(values)))
    return replace(given, values=filled, notes=(*given.notes, *_notes(missing, names)))


def agreed_names(names: Sequence[str] | None, given: GivenTable) -> tuple[str, ...] | None:
    """The names of the tasks: those of the table, or the ones given beside a table without names."""
    if names is None:
        return given.names
    named = tuple(str(name).strip() for name in names)
    if given.names is not None and named != given.names:
        ours, theirs = next(
            ((a, b) for a, b in zip(named, given.names, strict=False) if a != b), (len(named), len(given.names))
        )
        raise BadArgument(
            f"`names` must be those of the table or be left out, got {ours!r} where the table has {theirs!r}. Rename "
            "the rows and columns of the table instead."
        )
    return named


def aligned(given: GivenTable, names: Sequence[str], label: str) -> Floats:
    """The numbers of a second table in the task order of the first; as they are where it has no names."""
    if given.names is None:
        return given.values
    odd = sorted(set(names) ^ set(given.names))
    if odd:
        raise BadArgument(f"`{label}` must name the same tasks as the table, got a difference: {odd[0]!r}.")
    tasks = [given.names.index(name) for name in names]
    return given.values[np.ix_(tasks, tasks)]


def by_name(value: Any) -> Any:
    """A labelled pandas Series as a mapping; everything else as it is."""
    if isinstance(value, Mapping) or not (hasattr(value, "index") and hasattr(value, "items")):
        return value
    return value if _is_counted(value.index) else {str(label): number for label, number in value.items()}


def _from_frame(frame: Any, label: str) -> GivenTable:
    """A DataFrame. Names stand in its columns, its index or its first column; where both have them, they must agree."""
    cells = np.asarray(frame.to_numpy())
    columns: list[str] | None = [str(name) for name in frame.columns]
    index = getattr(frame, "index", None)
    rows = None if index is None or _is_counted(index) else [str(name) for name in index]
    if rows is None and cells.ndim == 2 and cells.shape[1] == len(cells) + 1:
        rows, cells, columns = [str(name) for name in cells[:, 0]], cells[:, 1:], columns and columns[1:]
    elif _is_counted(frame.columns) or columns == [f"column_{i}" for i in range(len(frame.columns))]:
        columns = None  # as pandas and polars count columns without names
    if cells.ndim != 2 or cells.shape[0] != cells.shape[1]:
        size = " and ".join(counted(n, noun) for n, noun in zip(cells.shape, ("row", "column"), strict=False))
        raise BadArgument(f"`{label}` must be a square table, got {size}. {_SQUARE}")
    values = checks.square_matrix(_numbers(cells, label), label, missing=True)
    names, order, notes = agreed_axes(rows, columns, label)
    return GivenTable(values[order] if order else values, names, notes)


def agreed_axes(
    rows: Sequence[str] | None, columns: Sequence[str] | None, label: str
) -> tuple[tuple[str, ...] | None, list[int], tuple[str, ...]]:
    """The names of the tasks from those of rows and columns, the order to take the rows in where theirs is another one,
    and a note on that."""
    if rows is None or columns is None or list(rows) == list(columns):
        names = columns if rows is None else rows
        return None if names is None else tuple(names), [], ()
    if sorted(rows) == sorted(columns) and len(set(rows)) == len(rows):
        note = "rows were put into the order of the columns, by name"
        return tuple(columns), [list(rows).index(name) for name in columns], (note,)
    task = next(i for i, (row, column) in enumerate(zip(rows, columns, strict=True)) if row != column)
    raise BadArgument(
        f"`{label}` must give rows and columns the same names, got column {columns[task][:40]!r} and row "
        f"{rows[task][:40]!r} for task {task + 1}. Make them equal."
    )


def _numbers(cells: Any, label: str) -> Floats:
    """Cells of any kind as floats."""
    values = checks.numbers(cells) if cells.dtype.kind in "fiub" else None
    if values is not None:
        return values
    values = np.empty(cells.shape)
    for place, cell in np.ndenumerate(cells):
        number = cell_number(cell) if isinstance(cell, str) else _plain_number(cell)
        if number is None:
            raise BadArgument(
                f"`{label}` must hold numbers, got {str(cell)[:40]!r} at row {place[0] + 1}, column {place[1] + 1}."
            )
        values[place] = number
    return values


def _plain_number(cell: Any) -> float | None:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):  # pandas' own, which is not imported here
        return math.nan
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return None


def _is_counted(labels: Any) -> bool:
    """Whether labels are 0, 1, 2, ...: those of a DataFrame that was given none."""
    return all(not isinstance(label, str) and label == i for i, label in enumerate(labels))


def _triangle_of_zeros(values: Floats) -> Bools | None:
    """Where a triangle of zeros says that only the other one was written; None where it says nothing of the kind.

    The diagonal is all ones, and the other triangle has no zeros: what is left out of a similarity looks like that.
    """
    if len(values) < 3 or not (np.diagonal(values) == 1).all():
        return None
    upper = np.triu(np.ones(values.shape, dtype=bool), 1)
    for side in (upper, upper.T):
        if (values[side] == 0).all() and (values[side.T] != 0).all():
            return side
    return None


def _notes(missing: Bools, names: Sequence[str]) -> list[str]:
    """What was filled, in words."""
    notes = []
    diagonal = np.diagonal(missing)
    mirrored = missing & ~np.eye(len(missing), dtype=bool)
    cells = np.argwhere(mirrored)
    half = len(missing) * (len(missing) - 1) // 2
    why = "a similarity is symmetric"
    if len(cells) == 1:
        a, b = (names[i] for i in cells[0])
        notes.append(f"the missing cell {a}-{b} is taken from {b}-{a}: {why}")
    elif len(cells) == half and not (np.tril(mirrored).any() and np.triu(mirrored).any()):
        side, other = ("upper", "lower") if mirrored[0, 1] else ("lower", "upper")
        notes.append(f"the missing {side} triangle is the mirror image of the {other} one: {why}")
    elif len(cells):
        notes.append(f"{len(cells)} missing cells are taken from the other side of the diagonal: {why}")
    if diagonal.any():
        which = "the missing diagonal" if diagonal.all() else f"what is missing of the diagonal ({diagonal.sum()})"
        notes.append(f"{which} is taken as 1: a task is like itself")
    return notes
