"""Order-normalized performance disparity (Yoon et al., ICLR 2020): how unfair an order is to a task.

OPD of a task is the range over orders of its final accuracy (mean over seeds); AOPD is the mean over tasks and MOPD the
maximum. A range is never negative, so noise alone makes one: `noise` is what to expect if all orders were alike, from
what is left of the accuracies without the means of orders and seeds, shuffled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from taskorder.audit.settled import settled
from taskorder.checks import Floats

NUM_SHUFFLES = 200


@dataclass(frozen=True)
class Disparity:
    """A range over orders, and what noise alone would give; None with a single run an order."""

    name: str
    """A task, or AOPD or MOPD."""
    value: float
    noise: float | None


def disparities(
    accuracy: Floats, names: tuple[str, ...], *, replicated: bool, crossed: bool, seed: int = 0
) -> tuple[tuple[Disparity, ...], Disparity, Disparity]:
    """OPD of each task, AOPD and MOPD, from an (orders, seeds, tasks) table with NaN for missing runs."""
    ranges = _ranges(accuracy)
    noise = np.stack([_ranges(table) for table in _alike(accuracy, crossed, seed)]) if replicated else None
    parts = tuple(
        Disparity(name, float(value), None if noise is None else float(noise[:, task].mean()))
        for task, (name, value) in enumerate(zip(names, ranges, strict=True))
    )
    average = Disparity("AOPD", float(ranges.mean()), None if noise is None else float(noise.mean()))
    largest = Disparity("MOPD", float(ranges.max()), None if noise is None else float(noise.max(axis=1).mean()))
    return parts, average, largest


def _ranges(accuracy: Floats) -> Floats:
    """Largest minus smallest mean over seeds, for each task."""
    by_order = np.nanmean(accuracy, axis=1)
    return settled(by_order.max(axis=0) - by_order.min(axis=0))


def _alike(accuracy: Floats, crossed: bool, seed: int) -> Iterator[Floats]:
    """Tables in which all orders are alike: residuals, as large as the noise, shuffled within their seed."""
    rng = np.random.default_rng(seed)
    num_orders, num_seeds = accuracy.shape[:2]
    rest = accuracy - np.nanmean(accuracy, axis=1, keepdims=True)
    there = ~np.isnan(accuracy).any(axis=2)
    freedom = int(there.sum()) - num_orders
    if crossed:
        rest -= rest.mean(axis=0)
        freedom = (num_orders - 1) * (num_seeds - 1)
    rest *= np.sqrt(there.sum() / freedom)
    for _ in range(NUM_SHUFFLES):
        table = rest.copy()
        if crossed:
            for column in range(num_seeds):
                table[:, column] = rest[rng.permutation(num_orders), column]
        else:
            table[there] = rng.permutation(rest[there])
        yield table
