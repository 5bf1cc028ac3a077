"""Similarity tables as separated text: commas, tabs, semicolons or spaces, with or without names."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator

Cells = list[list[float]]

HOLES = frozenset({"na", "n/a", "nil", "null", "none", "missing"})
"""Words in the first cell that stand for a missing number; any other word there is the title of the names."""

_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_TWO_NUMBERS = re.compile(r"\d +[+-]?\d")
_COMMA_FIX = "Decimal commas need semicolons or tabs between the cells, as in 1,0;0,5; else write 0.5."


class _Lines:
    """Lines for csv.reader; drops blank and comment lines between rows, never inside a quoted name.

    Refuses a line with absurdly many cells before they take memory.
    """

    def __init__(self, text: str, separator: str, max_cells: int, label: str) -> None:
        self._stream = io.StringIO(text, newline="")
        self._separator = separator
        self._max_cells = max_cells
        self._label = label
        self.number = 0
        self.between_rows = True

    def __iter__(self) -> Iterator[str]:
        for line in self._stream:
            self.number += 1
            if self.between_rows and (not line.strip() or line.lstrip().startswith("#")):
                continue
            self.between_rows = False
            cells = line.count(self._separator) + 1
            if cells > self._max_cells:
                raise ValueError(
                    f"`{self._label}` must have one cell for each task, got {cells} on line {self.number}. "
                    "Write one row of numbers a task, each on its own line."
                )
            yield line


def find_separator(text: str) -> str:
    """The character between cells; a space stands for any run of blanks.

    The first of tab, semicolon and comma that stands equally often in every one of the first lines; if none does, the
    most frequent one.

    >>> find_separator("1,0;0,5")
    ';'
    """
    plain = _QUOTED.sub("", text[:100_000])
    lines = [line for line in io.StringIO(plain) if line.strip() and not line.lstrip().startswith("#")][:20]
    counts = {mark: [line.count(mark) for line in lines] for mark in "\t;,"}
    for mark, seen in counts.items():
        if seen and seen[0] and len(set(seen)) == 1:
            return mark
    best = max(counts, key=lambda mark: sum(counts[mark]))
    return best if sum(counts[best]) else " "


def split_names(text: str, label: str) -> list[str]:
    """The cells of an option value, with commas between them.

    >>> split_names('a, "b,c"', "learned")
    ['a', 'b,c']
    """
    try:
        return [cell.strip() for cell in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:
        raise ValueError(f"`{label}` must be one line with commas, got {text[:60]!r}.") from None


def read_rows(text: str, label: str, max_rows: int) -> tuple[list[int], list[list[str]], str]:
    """Line number and cells of every row, and the separator; stops one row past `max_rows`."""
    separator = find_separator(text)
    if separator == " ":
        text = re.sub(r"[ \t]+", " ", text)
        text = re.sub(r"^ | (?=\r?$)", "", text, flags=re.MULTILINE)
    lines = _Lines(text, separator, 20 * max_rows + 1000, label)  # quoted names may hold separators too
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    numbers: list[int] = []
    rows: list[list[str]] = []
    try:
        while len(rows) <= max_rows:
            lines.between_rows = True
            cells = next(reader, None)
            if cells is None:
                break
            rows.append([cell.strip() for cell in cells])
            numbers.append(lines.number)
    except csv.Error as problem:
        raise ValueError(
            f'`{label}` must quote names as in "red, green", got a broken cell on line {lines.number}: {problem}.'
        ) from None
    if rows and len(rows[0]) > 1 and all(row and not row[-1] for row in rows):
        rows = [row[:-1] for row in rows]  # every line ends with a separator
    return numbers, rows, separator


def parse_delimited(text: str, label: str, max_tasks: int) -> tuple[Cells, list[str] | None]:
    """The numbers and the names (None without names) of a separated text."""
    numbers, rows, separator = read_rows(text, label, max_tasks + 1)
    if not rows:
        raise ValueError(f"`{label}` must hold a similarity matrix, got no rows. Write one row of numbers a task.")
    if max(len(rows), len(rows[0])) > max_tasks + 1:
        raise ValueError(f"`{label}` must hold at most {max_tasks} tasks, got more. Plan a subset of them.")
    _even_rows(rows, numbers, label)
    has_header, has_column = _layout(rows, label, separator)
    header = rows[0][1 if has_column and len(rows[0]) == len(rows[-1]) else 0 :] if has_header else None
    start = 1 if has_header else 0
    column = [row[0] for row in rows[start:]] if has_column else None
    if header is not None and column is not None and header != column:
        raise ValueError(_disagreement(header, column, label))
    offset = 1 if has_column else 0
    commas = separator in ";\t"
    values = [
        _numbers(row[offset:], number, offset, label, commas)
        for row, number in zip(rows[start:], numbers[start:], strict=True)
    ]
    return values, header if header is not None else column


def _even_rows(rows: list[list[str]], numbers: list[int], label: str) -> None:
    """Refuse ragged rows; a header may lack the cell above the names."""
    usual = max(Counter(map(len, rows)).items(), key=lambda pair: (pair[1], pair[0]))[0]
    if len(rows) == usual and len(rows[0]) == usual - 1 and usual > 1:
        rows[0].insert(0, "")
    for row, number in zip(rows, numbers, strict=True):
        if len(row) != usual:
            raise ValueError(
                f"`{label}` must have equally long rows, got {counted(len(row), 'cell')} on line {number} where "
                f"most lines have {usual}. Fill in or remove cells there; put names with separators in double quotes."
            )


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
    return letters > 1 and not any(mark.isdigit() for mark in corner) and corner.lower() not in HOLES


def _are_names(cells: list[str]) -> bool:
    counts = [list(map(str, range(first, first + len(cells)))) for first in (0, 1)]
    return not all(map(is_number, cells)) or (len(cells) > 1 and cells in counts)


def counted(number: int, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def is_number(cell: str) -> bool:
    """Whether a cell reads as a number (nan and inf included, for a better message later)."""
    try:
        float(cell)
    except ValueError:
        return _DECIMAL_COMMA.fullmatch(cell) is not None
    return "_" not in cell


def _numbers(cells: list[str], line: int, offset: int, label: str, commas: bool) -> list[float]:
    try:
        values = list(map(float, cells))
        if "_" not in "".join(cells):
            return values
    except ValueError:
        pass
    values = []
    for place, cell in enumerate(cells, start=offset + 1):
        comma = _DECIMAL_COMMA.fullmatch(cell) is not None
        if not is_number(cell) or (comma and not commas):
            shown = f"{cell[:40]!r}" if cell else "an empty cell"
            fix = _COMMA_FIX if comma or " " in cell else "Names belong in the first row or the first column only."
            raise ValueError(f"`{label}` must hold numbers, got {shown} on line {line}, column {place}. {fix}")
        values.append(float(cell.replace(",", ".") if comma else cell))
    return values


def _disagreement(header: list[str], column: list[str], label: str) -> str:
    if sorted(header) == sorted(column):
        return f"`{label}` must name rows and columns in the same order, got the same names in another order. Sort one."
    place = next(i for i, pair in enumerate(zip(header, column, strict=True)) if pair[0] != pair[1])
    return (
        f"`{label}` must give rows and columns the same names, got column {header[place][:40]!r} and row "
        f"{column[place][:40]!r} for task {place + 1}. Make them equal."
    )
