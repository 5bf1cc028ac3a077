"""Sizes, colors and names in still drawings."""

from __future__ import annotations

from taskorder.visible import visible

WIDTH = 5.2
"""Inches; text of 9 points can be read where a phone shrinks the drawing, and is not huge on a wide page."""
NAME, ROW_NAME = 24, 36
"""Characters of a name, and of one that stands beside a row."""
MOST_VECTOR_DOTS = 500
"""More dots than this are stored as pixels, which are smaller."""
GRAY, ACCENT, BLUE, VERMILION = "#9aa3ad", "#00704f", "#0072b2", "#d55e00"


def cut(name: str, most: int = NAME) -> str:
    """A name with at most so many characters, and none that SVG cannot hold."""
    shown = visible(name)
    return shown if len(shown) <= most else shown[: most - 1] + "…"
