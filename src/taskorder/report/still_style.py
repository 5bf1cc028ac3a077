"""Sizes, colors and names in still drawings."""

from __future__ import annotations

import re

WIDTH = 5.2
"""Inches; text of 9 points can be read where a phone shrinks the drawing, and is not huge on a wide page."""
NAME, ROW_NAME = 24, 36
"""Characters of a name, and of one that stands beside a row."""
MOST_VECTOR_DOTS = 500
"""More dots than this are stored as pixels, which are smaller."""
GRAY, ACCENT, BLUE, VERMILION = "#9aa3ad", "#00704f", "#0072b2", "#d55e00"
NOT_IN_XML = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def cut(name: str, most: int = NAME) -> str:
    """A name with at most so many characters, and none that SVG cannot hold."""
    shown = name if len(name) <= most else name[: most - 1] + "…"
    return NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", shown)
