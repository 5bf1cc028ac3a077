"""A similarity matrix as separated text, with or without names of the tasks."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable

from taskorder.checks import counted
from taskorder.tables.input_files import refusal
from taskorder.tables.separated import has_decimal_comma, is_number, read_rows, to_numbers

MISSING = frozenset({"na", "n/a", "nil", "null", "none", "missing"})
"""Words in the first cell that stand for a missing number; any other word there is the title of the names."""

_TWO_NUMBERS = re.compile(r"\d +[+-]?\d")
_COMMA_FIX = "Decimal commas need semicolons or tabs between the cells, as in 1,0;0,5; else write 0.5."


def parse_text(lines: Iterable[str], label: str, max_tasks: int) -> tuple[list[list[float]], list[str] | None]:
    """The numbers and the names (None without names) in lines of separated text."""
    rule = f"hold at most {max_tasks} tasks"
    # a row may have a name, and a separator at its end
    separator, all_rows = read_rows(lines, label, max_cells=max_tasks + 2, rule=rule, comments=True)
    numbered = list(itertools.islice(all_rows, max_tasks + 2))
    if not numbered:
        raise ValueError(f"`{label}` must hold a similarity matrix, got no rows. Write one row of numbers a task.")
    line_numbers, rows = [number for number, _ in numbered], [cells for _, cells in numbered]
    if len(rows[0]) > 1 and all(row and not row[-1] for row in rows):
        rows = [row[:-1] for row in rows]  # every line ends with a separator
    if max(len(rows), len(rows[0])) > max_tasks + 1:
        raise ValueError(f"`{label}` must {rule}, got more. Plan a subset of them.")
    _even_rows(rows, line_numbers, label)
    has_header, has_column = _layout(rows, label, separator)
    first_row, first_column = int(has_header), int(has_column)
    header = rows[0][first_column:] if has_header else None
    column = [row[0] for row in rows[first_row:]] if has_column else None
    if header is not None and column is not None and header != column:
        raise ValueError(_disagreement(header, column, label))
    values = [
        _numbers(row, first_column, line, label, separator)
        for row, line in zip(rows[first_row:], line_numbers[first_row:], strict=True)
    ]
    return values, header if header is not None else column


def _even_rows(rows: list[list[str]], line_numbers: list[int], label: str) -> None:
    """Refuse ragged rows; a header may lack the cell above the names."""
    usual = max(Counter(map(len, rows)).items(), key=lambda pair: (pair[1], pair[0]))[0]
    if len(rows) == usual and len(rows[0]) == usual - 1 and usual > 1:
        rows[0].insert(0, "")
    for row, number in zip(rows, line_numbers, strict=True):
        if len(row) != usual:
            got = f"{counted(len(row), 'cell')} on line {number} where most lines have {usual}"
            fix = "Fill in or remove cells there; put names with separators in double quotes."
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
        return (True, True) if numbered or not all(map(is_number, names)) else (False, False)
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
    return letters > 1 and not any(mark.isdigit() for mark in corner) and corner.lower() not in MISSING


def _are_names(cells: list[str]) -> bool:
    counts = [list(map(str, range(first, first + len(cells)))) for first in (0, 1)]
    return not all(map(is_number, cells)) or (len(cells) > 1 and cells in counts)


def _numbers(row: list[str], first_column: int, line: int, label: str, separator: str) -> list[float]:
    values = to_numbers(row[first_column:], separator)
    if values is not None:
        return values
    column, cell = next(
        (column, cell)
        for column, cell in enumerate(row, start=1)
        if column > first_column and not is_number(cell, separator)
    )
    got = f"{cell[:40]!r}" if cell else "an empty cell"
    has_comma = has_decimal_comma(cell) or " " in cell
    fix = _COMMA_FIX if has_comma else "Names belong in the first row or the first column only."
    raise ValueError(f"`{label}` must hold numbers, got {got} on line {line}, column {column}. {fix}")


def _disagreement(header: list[str], column: list[str], label: str) -> str:
    if sorted(header) == sorted(column):
        return f"`{label}` must name rows and columns in the same order, got the same names in another order. Sort one."
    task = next(i for i, pair in enumerate(zip(header, column, strict=True)) if pair[0] != pair[1])
    return (
        f"`{label}` must give rows and columns the same names, got column {header[task][:40]!r} and row "
        f"{column[task][:40]!r} for task {task + 1}. Make them equal."
    )
