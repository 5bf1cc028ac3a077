"""What the cell of a table says: a number, that there is none, or something else."""

from __future__ import annotations

import math
import re

MISSING = frozenset({"", "-", "–", "—", ".", "?", "na", "n/a", "#n/a", "nan", "nil", "null", "none", "missing"})  # noqa: RUF001
"""What stands for a missing number, in small letters."""

DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:([., '’\u00a0\u202f])\d{3})(?:\1\d{3})*(?:[.,]\d+)?")  # noqa: RUF001


def cell_number(cell: str, *, decimal_comma: bool = False) -> float | None:
    """The number in a cell, a percentage as a share; nan for a missing number, None for what is none.

    >>> cell_number("45 %"), cell_number("0,5", decimal_comma=True), cell_number("n/a"), cell_number("cats")
    (0.45, 0.5, nan, None)
    """
    text = cell.strip().replace("\u2212", "-")  # the minus sign of typesetters
    if text.lower() in MISSING:
        return math.nan
    percent = text.endswith("%")
    text = text.removesuffix("%").rstrip()
    if decimal_comma and DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    if "_" in text:
        return None
    try:
        return float(f"{text}e-2" if percent and "e" not in text.lower() else text)
    except ValueError:
        return None


def is_missing(cell: str) -> bool:
    """Whether a cell says that its number is missing."""
    return cell.strip().lower() in MISSING


def has_thousands(cell: str) -> bool:
    """Whether a cell looks like a number with separators between its thousands.

    >>> has_thousands("1.234,5"), has_thousands("12 345"), has_thousands("0,5")
    (True, True, False)
    """
    return _THOUSANDS.fullmatch(cell.strip()) is not None
