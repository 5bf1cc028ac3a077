"""Panels of the image figures: accuracy and wins against the mean similarity of the tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from reproduction.image_claims import share_number
from reproduction.image_results import MEAN, PATHS, TYPICALITY, Sets, scores
from taskorder.checks import Floats
from taskorder.plots.records import Panel, Series
from taskorder.stats import mean_and_sem

M_AXIS = "mean similarity of the tasks"
SPREAD, ROOM = 0.22, 0.84
"""Between marks side by side, and from the first to the last of them at most; the columns are 1 wide."""
ROLES = {rule: rule for rule in (*TYPICALITY, *PATHS, "optimal")} | {
    "best order": "best",
    "mean order": MEAN,
    "worst order": "worst",
}
"""Colors of labels that mean the same in every figure."""
Bar = tuple[float, float, float]


class Bins(NamedTuple):
    """How to gather task sets of about the same mean similarity."""

    width: float
    min_count: int
    """Bins with fewer task sets are not drawn."""


def accuracy_panels(
    title: str, sets: Sets, estimate: str, bins: Bins, pairs: Sequence[tuple[str, str]] = (TYPICALITY, PATHS)
) -> list[Panel]:
    """For each pair of rules the mean accuracy of both, and of the mean order; none where there are no runs.

    Bars are standard errors, as in the paper. A bin is drawn at the mean similarity of its task sets.
    """
    if not sets.has(estimate):
        return []

    def line(rule: str) -> Series:
        values = scores(sets, estimate)[rule].accuracy

        def bar(chosen: np.ndarray) -> Bar:
            mean, sem = (float(number) for number in mean_and_sem(values[chosen]))
            return mean, mean - sem, mean + sem

        return _binned(sets, estimate, bins, bar, "mean order" if rule == MEAN else rule, rule)

    return [
        Panel(title, M_AXIS, "accuracy at the end, %", tuple(line(rule) for rule in (*pair, MEAN))) for pair in pairs
    ]


def win_panels(title: str, parts: Sequence[Sets], estimate: str, bins: Bins) -> list[Panel]:
    """For each pair of rules the share of task sets on which the first wins, by part; bars are 95 % intervals."""
    there = [sets for sets in parts if sets.has(estimate)]

    def line(sets: Sets, pair: tuple[str, str]) -> Series:
        better, worse = (scores(sets, estimate)[rule].accuracy for rule in pair)
        return _binned(sets, estimate, bins, lambda chosen: share_number(better[chosen], worse[chosen]), sets.label)

    panels = []
    for pair in (TYPICALITY, PATHS) if there else ():
        lines = [line(sets, pair) for sets in there]
        ends = [m for series in lines for m in series.x] or [0.0]
        lines.append(Series("half", (min(ends), max(ends)), (0.5, 0.5), role="reference"))
        panels.append(Panel(title, M_AXIS, f"share of task sets where {pair[0]} beats {pair[1]}", tuple(lines)))
    return panels


def dots(title: str, y_label: str, values: Mapping[str, Mapping[str, Bar]], line: float | None = None) -> Panel:
    """Marks with their intervals, one column for each name, side by side for each label: found[label][name]."""
    names = tuple(dict.fromkeys(name for row in values.values() for name in row))
    series = [] if line is None else [Series("", (0.0, float(len(names))), (line, line), role="reference")]
    spread = min(SPREAD, ROOM / max(len(values) - 1, 1))
    for place, (label, row) in enumerate(values.items()):
        shift = 0.5 + spread * (place - (len(values) - 1) / 2)
        y, low, high = (tuple(end) for end in zip(*row.values(), strict=True)) if row else ((), (), ())
        x = tuple(names.index(name) + shift for name in row)
        series.append(Series(label, x, y, low, high, ROLES.get(label, ""), "points"))
    return Panel(title, "", y_label, tuple(series), steps=names)


def _binned(
    sets: Sets, estimate: str, bins: Bins, bar: Callable[[np.ndarray], Bar], label: str, role: str = ""
) -> Series:
    m = sets.mean_similarities(estimate)
    rows = [(float(m[chosen].mean()), *bar(chosen)) for chosen in members(m, bins)]
    x, y, low, high = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Series(label, x, y, low, high, role, "bars")


def members(m: Floats, bins: Bins) -> Iterator[np.ndarray]:
    """Which task sets lie in each bin, from the left; only bins with enough of them.

    >>> [chosen.tolist() for chosen in members(np.array([0.01, 0.07, 0.02, 0.12]), Bins(0.05, 2))]
    [[0, 2]]
    """
    places = np.floor(m / bins.width).astype(int)
    for place in np.unique(places):
        chosen = np.flatnonzero(places == place)
        if len(chosen) >= bins.min_count:
            yield chosen
