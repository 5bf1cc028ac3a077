"""Separated text (commas, tabs, semicolons or spaces) as rows of cells: one search for the separator, one reader and
one writer."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

from taskorder.arguments import BadArgument
from taskorder.cells import DECIMAL_COMMA
from taskorder.tables.input_files import refusal

MAX_CELLS = 2**20
"""Cells in a row, unless a reader allows fewer."""

_SAMPLE = 100_000
_QUOTED = re.compile(r'"[^"]*+(?:""[^"]*+)*+"')
_TOLD = re.compile(r'"?sep=([;,\t])"?\s*', re.IGNORECASE)
"""The line in which Excel says what it puts between cells."""
_BLANKS = re.compile(r"[ \t]+")
_FORMULA = re.compile(r"[\s']*[=+\-@＝＋－＠]|'*[\t\r\n]")  # noqa: RUF001
"""How a text begins that a spreadsheet may run, after blanks, too; wide signs count as the narrow ones."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")


def read_rows(
    lines: Iterable[str],
    label: str,
    *,
    separator: str = "",
    max_cells: int = MAX_CELLS,
    rule: str = "",
    comments: bool = False,
) -> tuple[str, Iterator[tuple[int, list[str]]]]:
    """The separator, and the rows: line number and cells without blanks around them.

    The separator is found in the first rows unless it is given. Blank lines are skipped, and with `comments` lines that
    start with #, but never inside quotes. A row of more than `max_cells` cells is refused before they take memory;
    `rule` is what it breaks.

    >>> separator, rows = read_rows(["x;y\\n", "\\n", "1,5; 2\\n"], "a.csv")
    >>> separator, list(rows)
    (';', [(1, ['x', 'y']), (3, ['1,5', '2'])])
    """
    lines = iter(lines)
    sample: list[str] = []
    seen = num_rows = 0
    while not separator and num_rows < 20 and seen < _SAMPLE and (line := next(lines, "")):
        sample.append(line)
        seen += len(line)
        num_rows += _is_content(line)
    if sample and not separator and (told := _TOLD.fullmatch(sample[0])):
        separator, sample[0] = told[1], "\n"
    separator = separator or find_separator("".join(sample))
    rule = rule or f"have at most {max_cells} cells in a row"
    return separator, _rows(itertools.chain(sample, lines), label, separator, max_cells, rule, comments)


def _rows(
    lines: Iterator[str], label: str, separator: str, max_cells: int, rule: str, comments: bool
) -> Iterator[tuple[int, list[str]]]:
    number, between_rows = 0, True

    def row_lines() -> Iterator[str]:
        nonlocal number, between_rows
        for number, line in enumerate(lines, start=1):
            if between_rows and (not line.strip() or (comments and line.lstrip().startswith("#"))):
                continue
            between_rows = False
            if separator == " ":
                line = _BLANKS.sub(" ", line.rstrip("\r\n")).strip(" ") + "\n"
            if line.count(separator) >= max_cells:
                cells = _QUOTED.sub("", line).count(separator) + 1  # names in quotes may hold separators
                if cells > max_cells:
                    raise refusal(label, rule, f"{cells} cells on line {number}", "Write each row on its own line.")
            yield line

    reader = csv.reader(row_lines(), delimiter=separator, skipinitialspace=True, strict=True)
    try:
        while True:
            between_rows = True
            cells = next(reader, None)
            if cells is None:
                return
            yield number, [unmarked(cell.strip()) for cell in cells]
    except csv.Error as problem:
        fix = 'Quote cells that hold separators, as in "red, green".'
        raise refusal(label, "be separated text", f"a broken cell on line {number}: {problem}", fix) from None


def write_rows(file: IO[str], rows: Iterable[Iterable[Any]], separator: str = ",", *, quoted: bool = False) -> None:
    """Write rows that `read_rows` gives back; with `quoted` every text is in quotes, so that none is a comment.

    A text that a spreadsheet would run as a formula begins with an apostrophe, which says that it is text.

    >>> import sys
    >>> write_rows(sys.stdout, [["task", "=1+2", "-0.5"], [0, -0.5, "cats, dogs"]])
    task,'=1+2,-0.5
    0,-0.5,"cats, dogs"
    """
    writer = csv.writer(
        _Rows(file),
        delimiter=separator,
        quoting=csv.QUOTE_NONNUMERIC if quoted else csv.QUOTE_MINIMAL,
        lineterminator="\r\n",
    )
    writer.writerows([_marked(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)


class _Rows:
    """Ends rows with a newline alone; of the signs that end its rows, csv quotes every one."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, row: str) -> int:
        return self._file.write(row.removesuffix("\r\n") + "\n")


def _marked(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text.strip()) else text


def unmarked(cell: str) -> str:
    """A cell without the mark of `write_rows`.

    >>> unmarked("'=1+2"), unmarked("'s Gravenhage")
    ('=1+2', "'s Gravenhage")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def find_separator(text: str) -> str:
    """The character between cells; a space stands for any run of blanks.

    The first of tab, semicolon and comma that stands equally often in every one of the first lines; if none does, the
    most frequent one.

    >>> find_separator("1,0;0,5")
    ';'
    """
    plain = _QUOTED.sub("", text[:_SAMPLE])
    lines = list(filter(_is_content, io.StringIO(plain)))[:20]
    counts = {mark: [line.count(mark) for line in lines] for mark in "\t;,"}
    for mark, in_lines in counts.items():
        if in_lines and in_lines[0] and len(set(in_lines)) == 1:
            return mark
    frequent = max(counts, key=lambda mark: sum(counts[mark]))
    return frequent if sum(counts[frequent]) else " "


def _is_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def is_number(cell: str, separator: str = ";") -> bool:
    """Whether a cell reads as a number (nan and inf included); decimal commas need semicolons or tabs between cells."""
    try:
        float(cell)
    except ValueError:
        return separator in ";\t" and has_decimal_comma(cell)
    return "_" not in cell


def has_decimal_comma(cell: str) -> bool:
    """Whether a cell is a number with a decimal comma."""
    return DECIMAL_COMMA.fullmatch(cell) is not None


def to_numbers(cells: Sequence[str], separator: str) -> list[float] | None:
    """The numbers in cells; None where one of them is no number by `is_number`."""
    try:
        values = list(map(float, cells))
        if "_" not in "".join(cells):
            return values
    except ValueError:
        pass
    if not all(is_number(cell, separator) for cell in cells):
        return None
    return [float(cell.replace(",", ".")) for cell in cells]


def split_names(text: str, option: str) -> list[str]:
    """The names in the value of an option, between commas; names with commas go in double quotes.

    >>> split_names('cats, "dogs, large"', "order")
    ['cats', 'dogs, large']
    """
    try:
        return [cell.strip() for cell in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:
        raise BadArgument(f"`{option}` must be one line with commas, got {text[:60]!r}.") from None
