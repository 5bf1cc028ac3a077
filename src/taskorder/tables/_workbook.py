"""A table in a workbook (.xlsx), read by openpyxl."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from taskorder.cells import cell_number
from taskorder.costs import most_unpacked
from taskorder.given_table import GivenTable
from taskorder.tables._text_table import table_of_cells
from taskorder.tables._workbook_parts import check_parts, first_formula
from taskorder.tables.arrays import ZIP_MAGIC, one_line
from taskorder.tables.input_files import Refusal, refusal
from taskorder.tables.separated import unmarked

_OLD_EXCEL = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OFFICE = {"[Content_Types].xml", "content.xml"}
_SHEET = re.compile(r"(.+\.xls[xm]):([^:\\/?*\[\]]+)", re.IGNORECASE)
_ROOM = 50
"""Rows and columns that a sheet may have around its table."""
_MOST_CELLS = 40_000_000
"""In all sheets, with those that are empty: nine of the largest tables."""

SheetRow = tuple[int, list[str]]
"""A row with its number in the sheet."""


def split_sheet(source: Any, sheet: str | None) -> tuple[Any, str | None]:
    """The path and the sheet in "table.xlsx:Sheet2".

    >>> split_sheet("table.xlsx:Sheet2", None), split_sheet("a:b.csv", None)
    (('table.xlsx', 'Sheet2'), ('a:b.csv', None))
    """
    if sheet is not None or not isinstance(source, str | os.PathLike) or os.path.exists(source):
        return source, sheet
    named = _SHEET.fullmatch(os.fspath(source))
    return (named[1], named[2]) if named else (source, None)


def is_workbook(data: bytes, label: str) -> bool:
    """Whether the bytes are a workbook of some office program, and no archive of arrays."""
    return data.startswith(_OLD_EXCEL) or (
        data.startswith(ZIP_MAGIC) and (label.lower().endswith((".xlsx", ".xlsm")) or bool(_OFFICE & _members(data)))
    )


def _members(data: bytes) -> set[str]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return set()  # what reads it next says what is wrong


def read_workbook(data: bytes, label: str, sheet: str | None, max_tasks: int, *, max_bytes: int) -> GivenTable:
    """The table in a sheet, or in the only sheet that holds one."""
    if data.startswith(_OLD_EXCEL) or "content.xml" in _members(data):
        raise refusal(label, "be a workbook in the format .xlsx", "one in another format", "Save it as .xlsx or CSV.")
    if find_spec("openpyxl") is None:
        raise Refusal('openpyxl, which reads .xlsx, is not installed. Install it with: pip install "taskorder[excel]".')
    sheets = _sheets(data, label, sheet, max_tasks, max_bytes)
    if sheet is not None:
        return _table(sheets[sheet], f"{label}:{sheet}", max_tasks)
    filled = {title: rows for title, rows in sheets.items() if rows}
    if not filled:
        raise refusal(label, "hold a table", "empty sheets", "Save the workbook again.")
    tables: dict[str, GivenTable] = {}
    problems = []
    for title, rows in filled.items():
        try:
            tables[title] = _table(rows, f"{label}:{title}" if len(filled) > 1 else label, max_tasks)
        except ValueError as problem:
            problems.append(problem)
    if not tables:
        raise problems[0]
    title, *others = tables
    if others:
        fix = f"Name the sheet: {label}:{title}."
        raise refusal(label, "hold one table", f"one in each of the sheets {', '.join(tables)}", fix)
    if len(filled) == 1:
        return tables[title]
    note = f"read from the sheet {title}, the only one of {len(filled)} with a square table"
    return replace(tables[title], notes=(note, *tables[title].notes))


def _sheets(data: bytes, label: str, chosen: str | None, max_tasks: int, max_bytes: int) -> dict[str, list[SheetRow]]:
    """The rows of text of every sheet, or of the one that was chosen, without those that are empty."""
    from taskorder.tables._workbook_cells import open_cells

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            most = min(max_bytes, most_unpacked(len(data)))
            check_parts(archive, label, most_cells=max_tasks + _ROOM, max_bytes=most, num_bytes=len(data))
        values = open_cells(data)
        titles = [sheet.title for sheet in values.worksheets]
        if chosen is not None and chosen not in titles:
            raise refusal(label, "have the sheet that was asked for", f"no {chosen!r}", f"Sheets: {', '.join(titles)}.")
        parts = {sheet.title: sheet._worksheet_path for sheet in values.worksheets}
        if len(set(parts.values())) < len(parts):
            raise refusal(label, "have a part of its own for each sheet", "one for several", "Save it again.")
        sheets, left = {}, _MOST_CELLS
        for sheet in values.worksheets if chosen is None else [values[chosen]]:
            rows, num_cells = _rows(sheet, label, max_tasks)
            left -= num_cells
            if left < 0:
                got, fix = f"more with sheet {sheet.title}", f"Name the sheet: {label}:{titles[0]}."
                raise refusal(label, f"have at most {_MOST_CELLS} cells in all sheets", got, fix)
            if any(not cell for _, cells in rows for cell in cells):
                _refuse_uncomputed(rows, data, parts[sheet.title], f"{label}:{sheet.title}")
            sheets[sheet.title] = rows
        return sheets
    except Refusal:
        raise
    except Exception as problem:  # zipfile and openpyxl raise nearly everything on damaged files
        reason = one_line(" ".join(str(problem).split()) or type(problem).__name__).rstrip(".")
        raise refusal(label, "be a whole .xlsx file", f"a damaged one: {reason}", "Save it again.") from None


def _rows(sheet: Any, label: str, max_tasks: int) -> tuple[list[SheetRow], int]:
    """The rows that are not empty, and how many cells were looked at."""
    sheet.reset_dimensions()  # what a file says about them may be wrong
    most = max_tasks + _ROOM
    rows = [
        (number, [_text(cell) for cell in row])
        for number, row in enumerate(sheet.iter_rows(max_row=most + 1, max_col=most + 1, values_only=True), start=1)
    ]
    num_cells = sum(len(cells) for _, cells in rows)
    rows = [(number, cells) for number, cells in rows if any(cells)]
    if rows and (rows[-1][0] > most or any(any(cells[most:]) for _, cells in rows)):
        raise refusal(f"{label}:{sheet.title}", f"hold at most {max_tasks} tasks", "more", "Plan a subset of them.")
    return rows, num_cells


def _text(value: object) -> str:
    """A cell as text; numbers with all their digits."""
    return "" if value is None else repr(value) if isinstance(value, int | float) else unmarked(str(value).strip())


def _refuse_uncomputed(rows: Sequence[SheetRow], data: bytes, part: str, label: str) -> None:
    """Refuse formulas that no program has computed yet: their cells read as empty."""
    known = {(number, column) for number, cells in rows for column, cell in enumerate(cells, start=1) if cell}
    with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(part) as stream:
        found = first_formula(stream, known)
    if found:
        got = f"a formula without its value in cell {_cell_name(found[1] - 1, found[0])}"
        raise refusal(label, "hold numbers", got, "Open the workbook in a spreadsheet program and save it.")


def _table(rows: list[SheetRow], label: str, max_tasks: int) -> GivenTable:
    """The table in a sheet, without empty columns and titles or remarks above and below it."""
    width = max(len(cells) for _, cells in rows)
    rows = [(number, cells + [""] * (width - len(cells))) for number, cells in rows]
    columns = [column for column in range(width) if any(cells[column] for _, cells in rows)]
    while len(rows) > 1 and len(rows) > len(columns):
        end = next((end for end in (0, -1) if _is_remark(rows[end][1])), None)
        if end is None:
            break
        del rows[end]
        columns = [column for column in columns if any(cells[column] for _, cells in rows)]
    if max(len(rows), len(columns)) > max_tasks + 1:
        raise refusal(label, f"hold at most {max_tasks} tasks", "more", "Plan a subset of them.")
    cells = [[row[column] for column in columns] for _, row in rows]
    return table_of_cells(cells, label, "\t", lambda i, j: f"in cell {_cell_name(columns[j], rows[i][0])}")


def _is_remark(cells: Sequence[str]) -> bool:
    texts = list(filter(None, cells))
    return len(texts) == 1 and cell_number(texts[0], decimal_comma=True) is None


def _cell_name(column: int, row: int) -> str:
    """As spreadsheets name cells, from a column counted from 0 and a row counted from 1.

    >>> _cell_name(0, 1), _cell_name(27, 3)
    ('A1', 'AB3')
    """
    letters = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{row}"
