"""Where chosen orders stand among many: a histogram, or the sorted values, above one row for each chosen order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taskorder.checks import Floats
from taskorder.report.figures.axes import Scale, number, percent, scale, svg, text_width, x_axis, y_axis
from taskorder.report.figures.lines import thinned
from taskorder.report.markup import Html, join, tag

ROW = 20.0
"""Height of a row."""


@dataclass(frozen=True)
class Mark:
    """A chosen order: what it is called, the class that colors it, its value, and what it says when pointed at."""

    label: str
    look: str
    value: float
    tip: str
    strong: bool = False


def histogram(values: Floats, marks: Sequence[Mark], width: float, label: str, title: str) -> Html:
    """How many orders have which value, and where the marks stand."""
    left, right, top, high = _margins(marks, width)
    seen = [*values.tolist(), *(mark.value for mark in marks)]
    bottom = top + high + ROW * len(marks) + 8
    across = scale(seen, left, width - right)
    counts, edges = np.histogram(values, _edges(across, 48 if width >= 500 else 30))
    up = Scale(0, float(max(counts.max(), 1)), top + high, top)
    parts = [x_axis(across, top, bottom, title, 7 if width >= 500 else 4)]
    for count, a, b in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if count:
            x, y = across(a), up(count)
            tip = f"{percent(count / len(values))} of orders: {number(a)} to {number(b)}"
            shape = {"x": x, "y": y, "width": max(across(b) - x - 0.6, 0.6), "height": top + high - y}
            parts.append(tag("rect", class_="orders", data_tip=tip, **shape))
    parts.append(_rows(marks, [across(mark.value) for mark in marks], top + high, width, left))
    return svg(width, bottom + 42, label, join(parts))


def ranking(
    values: Floats,
    marks: Sequence[Mark],
    width: float,
    label: str,
    titles: tuple[str, str],
    halves: Floats | None = None,
) -> Html:
    """All values from the highest to the lowest, `halves` of an interval around each, and where the marks stand."""
    left, right, top, high = _margins(marks, width)
    top, high = top + 24, high + 60
    turn = np.argsort(-values, kind="stable")
    ordered, half = values[turn], np.zeros_like(values) if halves is None else halves[turn]
    bottom = top + high + ROW * len(marks) + 8
    across = Scale(1, max(2, len(ordered)), left, width - right, whole=True)
    seen = [*(ordered - half).tolist(), *(ordered + half).tolist(), *(mark.value for mark in marks)]
    up = scale(seen, top + high, top)
    parts = [y_axis(up, left, width - right, titles[1]), x_axis(across, top + high, bottom, titles[0])]
    shown = thinned(len(ordered), 250)
    if halves is not None:
        lines = (f"M{across(k + 1):.1f} {up(ordered[k] - half[k]):.1f}V{up(ordered[k] + half[k]):.1f}" for k in shown)
        parts.append(tag("path", d="".join(lines), class_="spans"))
    for rank in shown:
        value = float(ordered[rank])
        tip = f"rank {rank + 1} of {len(ordered)}: {number(value)}"
        parts.append(tag("circle", cx=across(rank + 1), cy=up(value), r=2.2, class_="order-dot", data_tip=tip))
    ranks = [1 + int((ordered > mark.value).sum()) for mark in marks]
    parts.append(_rows(marks, [across(rank) for rank in ranks], top + high, width, left))
    for mark, rank in zip(marks, ranks, strict=True):
        spot = {"cx": across(rank), "cy": up(mark.value), "r": 4.5}
        parts.append(tag("circle", class_=f"dot s-{mark.look}", data_tip=mark.tip, **spot))
    return svg(width, bottom + 42, label, join(parts))


def _margins(marks: Sequence[Mark], width: float) -> tuple[float, float, float, float]:
    """Left, right, top and the height of the upper part."""
    names = max(text_width(mark.label) for mark in marks) + 16
    numbers = max(text_width(number(mark.value)) for mark in marks) + 12
    return min(names, 0.4 * width), numbers, 8.0, 120.0 if width >= 500 else 96.0


def _edges(across: Scale, count: int) -> Floats:
    if across.log:
        return np.logspace(math.log10(across.low), math.log10(across.high), count + 1)
    return np.linspace(across.low, across.high, count + 1)


def _rows(marks: Sequence[Mark], places: Sequence[float], top: float, width: float, left: float) -> Html:
    parts = []
    for row, (mark, x) in enumerate(zip(marks, places, strict=True)):
        y = top + ROW * (row + 0.5) + 6
        kind = "name strong end" if mark.strong else "name end"
        drop = tag("line", x1=x, x2=x, y1=top, y2=y, class_=f"drop s-{mark.look}")
        dot = tag("circle", cx=x, cy=y, r=5.5 if mark.strong else 4.5, class_=f"dot s-{mark.look}")
        name = tag("text", mark.label, x=left - 12, y=y + 4, class_=kind)
        value = tag("text", number(mark.value), x=width - 2, y=y + 4, class_="tick end")
        target = tag("rect", x=0, y=y - 9, width=width, height=18, class_="target")
        parts.append(tag("g", drop, dot, name, value, target, data_tip=mark.tip))
    return join(parts)
