"""Orders by name and by chance, and numbers short enough to store."""

from __future__ import annotations

from typing import Any

import numpy as np

from taskorder.checks import Floats, Ints


def tasks_of(name: str) -> list[int]:
    """The order that its letters name.

    >>> tasks_of("ACB")
    [0, 2, 1]
    """
    return [ord(letter) - ord("A") for letter in name]


def name_of(order: Ints) -> str:
    """The letters that name an order."""
    return "".join(chr(ord("A") + task) for task in order.tolist())


def random_orders(num_tasks: int, count: int, seed: int = 0) -> Ints:
    """(count, P) seeded random orders."""
    orders = np.tile(np.arange(num_tasks, dtype=np.int64), (count, 1))
    return np.random.default_rng(seed).permuted(orders, axis=1)


def short(values: Floats, digits: int = 10) -> Any:
    """As nested lists of numbers with so many significant digits."""
    if values.ndim > 1:
        return [short(row, digits) for row in values]
    return [float(f"{value:.{digits}g}") for value in values]
