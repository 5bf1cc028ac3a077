"""The results of the finite-size experiment by cell, and the quantities drawn from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from taskorder.checks import Floats
from taskorder.stats import bootstrap_interval


@dataclass(frozen=True)
class Cell:
    """One combination of sizes; all its matrices share it."""

    family: str
    num_tasks: int
    num_latent: int
    num_inputs: int
    num_outputs: int | None = None
    """N_y of drawn readouts; None for the mean over all of them."""
    steps: int | None = None
    """None for convergence."""
    learning_rate: float = 1e-6
    """Unused at convergence."""

    @property
    def crowding(self) -> float:
        """P N_s / N_x."""
        return self.num_tasks * self.num_latent / self.num_inputs


PARTS = {
    "error": ("deviation", "square"),
    "stopped_error": ("stopped_deviation", "square"),
    "corrected_error": ("corrected_deviation", "square"),
    "bias": ("simulated", "closed"),
    "scatter": ("scatter", "square"),
}
"""Each quantity comes from the sums of two numbers over matrices."""


class Table:
    """Rows of results for each cell."""

    def __init__(self, rows: Mapping[Cell, Sequence[Mapping[str, Any]]]) -> None:
        self._rows = rows
        self.value = cache(self._value)
        """(number, low, high) of a quantity of `PARTS` in one cell; None below zero, where noise hides a square."""

    def parts(self, cells: Sequence[Cell], what: str) -> Floats:
        """(matrices, cells, 2) the two numbers behind a quantity."""
        return np.array([[[row[key] for key in PARTS[what]] for row in self._rows[cell]] for cell in cells]).swapaxes(
            0, 1
        )

    def _value(self, cell: Cell, what: str) -> tuple[float | None, float | None, float | None]:
        parts = self.parts([cell], what)
        found = quantity(parts[None], what)[0, 0]
        ends = bootstrap_interval(parts, lambda x: quantity(x, what)[:, 0])
        known = [
            None if np.isnan(number) or (what != "bias" and number <= 0) else float(number) for number in (found, *ends)
        ]
        return known[0], known[1], known[2]


def quantity(parts: Floats, what: str) -> Floats:
    """(resamples, cells) from (resamples, matrices, cells, 2); a negative squared mean becomes 0."""
    above, below = np.moveaxis(parts.sum(axis=1), -1, 0)
    if what == "bias":
        return np.asarray(above / below - 1)
    return np.asarray(np.sqrt(np.maximum(above, 0.0) / below))
