"""A workbook opened by openpyxl for its cells alone.

Names, links, charts, properties and looks can cost any time: a part counts again for every reference to it, and a long
text is searched from each of its characters. None of them is opened. Of the looks only formats of numbers matter, which
tell dates from numbers.
"""

from __future__ import annotations

import io
from typing import Any
from xml.etree import ElementTree

from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.numbers import builtin_format_code, is_date_format

_STYLES = "xl/styles.xml"
_LONGEST_FORMAT = 255
"""Characters of a format; Excel allows no more."""


def open_cells(data: bytes) -> Any:
    """The workbook, with sheets that are read as they are needed, and values in the place of formulas."""
    reader = _Cells(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    reader.read()
    return reader.wb


class _Cells(ExcelReader):  # type: ignore[misc]  # openpyxl has no types
    def read(self) -> None:
        """Open what leads to cells."""
        self.valid_files = [name for name in self.archive.namelist() if not name.endswith(".rels")]  # those of sheets
        self.read_manifest()
        self.read_strings()
        self.read_workbook()
        if _STYLES in self.valid_files:
            self.wb._date_formats = _date_styles(self.archive.read(_STYLES))
        self.read_worksheets()

    def read_chartsheet(self, *_: Any) -> None:
        """Leave it out: it has no cells."""


def _date_styles(styles: bytes) -> set[int]:
    """The styles of cells whose numbers are dates."""
    tree = ElementTree.fromstring(styles)
    codes = {
        int(entry.get("numFmtId", 0)): entry.get("formatCode", "")[:_LONGEST_FORMAT]
        for entry in tree.iterfind("{*}numFmts/{*}numFmt")
    }
    used = [int(style.get("numFmtId", 0)) for style in tree.iterfind("{*}cellXfs/{*}xf")]
    dates = {number for number in set(used) if is_date_format(codes.get(number) or builtin_format_code(number))}
    return {style for style, number in enumerate(used) if number in dates}
