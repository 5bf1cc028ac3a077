"""A similarity matrix as separated text, with or without names of the tasks."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from taskorder.cells import DECIMAL_COMMA, cell_number, has_thousands, is_missing
from taskorder.checks import counted
from taskorder.given_table import GivenTable, agreed_axes
from taskorder.tables.input_files import refusal
from taskorder.tables.separated import is_number, read_rows, to_numbers

Place = Callable[[int, int], str]
"""From row and column, counted from 0, to where that is, for a message."""

_TWO_NUMBERS = re.compile(r"\d +[+-]?\d")
_COMMA_FIX = "Decimal commas need semicolons or tabs between the cells, as in 1,0;0,5; else write 0.5."


def parse_text(lines: Iterable[str], label: str, max_tasks: int) -> GivenTable:
    """The numbers and the names in lines of separated text."""
    rule = f"hold at most {max_tasks} tasks"
    # a row may have a name, and a separator at its end
    separator, all_rows = read_rows(lines, label, max_cells=max_tasks + 2, rule=rule, comments=True)
    numbered = list(itertools.islice(all_rows, max_tasks + 2))
    if not numbered:
        raise ValueError(f"`{label}` must hold a similarity matrix, got no rows. Write one row of numbers a task.")
    line_numbers, rows = [number for number, _ in numbered], [cells for _, cells in numbered]
    while len(rows[0]) > 1 and any(rows[0]) and all(row and not row[-1] for row in rows):
        rows = [row[:-1] for row in rows]  # columns without anything; in a triangle the first row may be empty
    if len(rows) > len(rows[0]) and any(map(any, rows)):
        numbered = [(number, row) for number, row in zip(line_numbers, rows, strict=True) if any(row)]
        line_numbers, rows = [number for number, _ in numbered], [row for _, row in numbered]
    if max(len(rows), len(rows[0])) > max_tasks + 1:
        raise ValueError(f"`{label}` must {rule}, got more. Plan a subset of them.")
    _even_rows(rows, line_numbers, label)
    return table_of_cells(
        rows, label, separator, lambda row, column: f"on line {line_numbers[row]}, column {column + 1}"
    )


def table_of_cells(rows: list[list[str]], label: str, separator: str, place: Place) -> GivenTable:
    """The numbers and the names in equally long rows of text; `place` says where a cell stands."""
    has_header, has_column = _layout(rows, label, separator)
    first_row, first_column = int(has_header), int(has_column)
    header = rows[0][first_column:] if has_header else None
    column = [row[0] for row in rows[first_row:]] if has_column else None
    names, order, notes = agreed_axes(column, header, label)
    decimal_comma = separator in ";\t"
    values: list[list[float]] = []
    commas: tuple[int, int] | None = None
    for i, row in enumerate(rows[first_row:], start=first_row):
        numbers = to_numbers(row[first_column:], ",")
        if numbers is None:
            numbers = []
            for j, cell in enumerate(row[first_column:], start=first_column):
                number = cell_number(cell, decimal_comma=decimal_comma)
                if number is None:
                    got = f"{cell[:40]!r} {place(i, j)}"
                    raise ValueError(f"`{label}` must hold numbers, got {got}. {_number_fix(cell)}")
                numbers.append(number)
                commas = (i, j) if "," in cell else commas
        values.append(numbers)
    if commas is not None:
        _no_decimal_points(rows, first_row, first_column, label, commas, place)
    return GivenTable(np.array([values[i] for i in order] if order else values), names, notes)


def _no_decimal_points(
    rows: list[list[str]], first_row: int, first_column: int, label: str, commas: tuple[int, int], place: Place
) -> None:
    """Where a cell has a decimal comma, a point in another one may stand between thousands."""
    for i, row in enumerate(rows[first_row:], start=first_row):
        for j, cell in enumerate(row[first_column:], start=first_column):
            if "." in cell and not is_missing(cell):
                got = f"{rows[commas[0]][commas[1]]!r} {place(*commas)}, and {cell[:40]!r} {place(i, j)}"
                raise refusal(label, "have decimal commas or decimal points", got, "Write all numbers alike.")


def _number_fix(cell: str) -> str:
    if has_thousands(cell):
        return "Write numbers without separators of thousands, as 1234.5."
    if DECIMAL_COMMA.fullmatch(cell) or " " in cell:
        return _COMMA_FIX
    return "Names belong in the first row or the first column only; leave the cell of a missing number empty."


def _even_rows(rows: list[list[str]], line_numbers: list[int], label: str) -> None:
    """Refuse ragged rows; a header may lack the cell above the names, and a lower triangle its other half."""
    lengths = list(map(len, rows))
    has_header = len(rows[0]) > 1 and not any(map(_is_value, rows[0][1:]))
    body = lengths[has_header:]
    rises = len(body) > 1 and body[0] in (1, 2) and body == list(range(body[0], body[0] + len(body)))
    if rises and (not has_header or body[-1] - lengths[0] in (0, 1)):
        for row in rows[has_header:]:
            row += [""] * (body[-1] - len(row))
        lengths = list(map(len, rows))
    usual = max(Counter(lengths).items(), key=lambda pair: (pair[1], pair[0]))[0]
    if len(rows) == usual and len(rows[0]) == usual - 1 and usual > 1:
        rows[0].insert(0, "")
    for row, number in zip(rows, line_numbers, strict=True):
        if len(row) != usual:
            got = f"{counted(len(row), 'cell')} on line {number} where most lines have {usual}"
            fix = "Fill in or remove cells there; put names with separators in double quotes."
            if len(body) > 2 and body == list(range(body[0], body[0] - len(body), -1)):
                fix = "In an upper triangle, keep the empty cells left of the numbers, so that columns stay in line."
            raise refusal(label, "have equally long rows", got, fix)


def _layout(rows: list[list[str]], label: str, separator: str) -> tuple[bool, bool]:
    """Whether the table has a header row and a name column; its shape decides, and numbers are names only if plain."""
    height, width = len(rows), len(rows[0])
    corner, header, column = rows[0][0], rows[0][1:], [row[0] for row in rows[1:]]
    if height == width:
        if height == 1 or is_number(corner):
            return False, False
        if _is_title(corner):
            return True, True
        names = header + column
        numbered = all(name.isdecimal() for name in names) and (not corner or not {"0", "1"}.issuperset(names))
        return (True, True) if numbered or not all(map(_is_value, names)) else (False, False)
    if (len(header) > 1 and len(column) > 1) and not any(map(_is_value, header + column)):  # names on both sides
        size = f"{counted(height - 1, 'row')} and {counted(width - 1, 'column')} beside the names"
        fix = "Give one row and one column for each task; leave out totals and means."
        raise ValueError(f"`{label}` must hold a square table, got {size}. {fix}")
    if height == width + 1 and _are_names(rows[0]):
        return True, False
    if width == height + 1 and _are_names([row[0] for row in rows]):
        return False, True
    fix = "Give one row and one column for each task; a header row and a name column may be added."
    if separator == "," and (width == 2 * height or any(map(_TWO_NUMBERS.search, rows[-1]))):
        fix = _COMMA_FIX
    size = f"{counted(height, 'row')} and {counted(width, 'column')}"
    raise ValueError(f"`{label}` must hold a square table, got {size}. {fix}")


def _is_title(corner: str) -> bool:
    """Whether the first cell says that its row and column are task names, even where they look like numbers.

    A letter alone or one among digits may be a mistyped number.

    >>> [_is_title(corner) for corner in ("year", "l.0", "x", "N/A")]
    [True, False, False, False]
    """
    letters = sum(mark.isalpha() for mark in corner)
    return letters > 1 and not any(mark.isdigit() for mark in corner) and not is_missing(corner)


def _is_value(cell: str) -> bool:
    """Whether a cell can stand in the table: a number, or that there is none."""
    return cell_number(cell, decimal_comma=True) is not None


def _are_names(cells: list[str]) -> bool:
    counts = [list(map(str, range(first, first + len(cells)))) for first in (0, 1)]
    return not all(map(_is_value, cells)) or (len(cells) > 1 and cells in counts)
