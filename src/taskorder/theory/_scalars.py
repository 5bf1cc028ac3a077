"""Checks of the plain numbers that the theory's public doors take."""

from __future__ import annotations

import operator


def positive_count(value: int, name: str = "num_tasks") -> int:
    """A positive integer."""
    try:
        count = operator.index(value)
    except TypeError:
        count = 0
    if count < 1:
        raise ValueError(f"`{name}` must be a positive integer, got {value!r}.")
    return count


def similarity_number(value: float, name: str) -> float:
    """One similarity."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not -1 <= number <= 1:
        raise ValueError(f"`{name}` must be a similarity in [-1, 1], got {value!r}.")
    return number
