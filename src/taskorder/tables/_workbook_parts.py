"""The parts of a workbook, counted by a parser that keeps nothing, before openpyxl makes objects of them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Container
from typing import IO
from xml.parsers import expat

from taskorder.costs import megabytes
from taskorder.tables.input_files import refusal

FREE_ELEMENTS = 500_000
"""Elements of sheets and their texts, beyond two for each byte of the file; a cell has two or three."""
MOST_OTHERS = 50_000
"""Elements of all else: styles, names, relations. They take far more time."""
MOST_SHEETS = 256
CELL_ELEMENTS = 6
"""Elements of a cell, on the average of a row."""
_CHUNK = 2**18
_PLACE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_FIX = "Keep only the table in it, or save it as CSV."


def check_parts(archive: zipfile.ZipFile, label: str, *, most_cells: int, max_bytes: int, num_bytes: int) -> None:
    """Refuse a workbook whose parts unpack to too much, or hold more elements than a table needs.

    most_cells: in a row. max_bytes: that it may unpack to. num_bytes: the size of the file.
    """
    parts = archive.infolist()
    if sum(part.file_size for part in parts) > max_bytes:
        raise refusal(label, f"unpack to at most {megabytes(max_bytes)} for its size", "more", _FIX)
    left = {True: FREE_ELEMENTS + 2 * num_bytes, False: MOST_OTHERS}
    for part in parts:
        with archive.open(part) as stream:
            counter = _Counter(label, most_cells * CELL_ELEMENTS, left)
            counter.read(stream)
        left[counter.is_table] -= counter.elements


def first_formula(sheet: IO[bytes], known: Container[tuple[int, int]]) -> tuple[int, int] | None:
    """Row and column, from 1, of the first formula in a cell that is not known to have a value.

    openpyxl would write a formula that cells share out for each of them.
    """
    found: list[tuple[int, int]] = []
    row = column = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal row, column
        name = name.rpartition(":")[2]
        if name == "row":
            row, column = int(attributes.get("r", row + 1)), 0
        elif name == "c":
            column += 1
            if place := _PLACE.fullmatch(attributes.get("r", "")):
                row, column = int(place[2]), _column(place[1])
        elif name == "f" and not found and (row, column) not in known:
            found.append((row, column))

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    while not found and (chunk := sheet.read(_CHUNK)):
        parser.Parse(chunk)
    return found[0] if found else None


def _column(letters: str) -> int:
    """A column from 1, as spreadsheets name it.

    >>> _column("A"), _column("AB")
    (1, 28)
    """
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


class _Counter:
    """Counts the elements of one part."""

    def __init__(self, label: str, most_in_row: int, left: dict[bool, int]) -> None:
        self.elements = self.in_row = self._sheets = 0
        self.is_table = False
        self._label, self._most_in_row, self._left = label, most_in_row, left

    def read(self, stream: IO[bytes]) -> None:
        """Count up to the end, or to where it is no XML: no reader comes further."""
        parser = expat.ParserCreate()
        parser.StartElementHandler, parser.StartDoctypeDeclHandler = self._start, self._declaration
        try:
            while chunk := stream.read(_CHUNK):
                parser.Parse(chunk)
        except expat.ExpatError:
            pass

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if not self.elements:
            self.is_table = name in ("worksheet", "sst")
        self.elements += 1
        self._sheets += name == "sheet"
        if self._sheets > MOST_SHEETS:
            raise refusal(self._label, f"have at most {MOST_SHEETS} sheets", "more", _FIX)
        self.in_row = 0 if name in ("row", "si") else self.in_row + 1
        if self.elements > self._left[self.is_table] or (self.is_table and self.in_row > self._most_in_row):
            raise refusal(self._label, "hold no more than a table and its looks", "too many elements", _FIX)

    def _declaration(self, *_: object) -> None:
        raise refusal(self._label, "be without declarations of its own", "some", _FIX)
