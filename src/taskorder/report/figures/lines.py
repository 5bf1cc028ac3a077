"""Lines over the steps of an order, above a band of random orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taskorder.checks import Floats
from taskorder.report.figures.axes import FONT, Scale, number, scale, spread_out, svg, text_width, x_axis, y_axis
from taskorder.report.markup import Html, join, tag

MOST_POINTS = 300
"""Points a line; of longer ones every k-th is drawn, and the last."""


@dataclass(frozen=True, eq=False)
class Line:
    """One series: its label, the class that colors it, and its value before and after each step."""

    label: str
    look: str
    values: Floats
    strong: bool = False
    """Drawn thick, on top, with a mark at each step."""
    tips: Sequence[str] = ()
    """What a mark at each step says; for strong lines."""


def line_chart(lines: Sequence[Line], band: Floats, width: float, label: str, titles: tuple[str, str]) -> Html:
    """`lines` over `band` (5 quantiles, outer ones first and last); the labels stand beside the ends or below."""
    beside = width >= 500
    names = [f"{one.label}  {number(float(one.values[-1]))}" for one in lines]
    margin = max(text_width(name) for name in names) + 30 if beside else 8.0
    left, top, bottom = 46.0, 34.0, 0.56 * width if beside else 0.85 * width
    seen = [value for one in lines for value in one.values] + band.ravel().tolist()
    longest = max(len(one.values) for one in lines)
    across = Scale(0, max(longest, band.shape[1]) - 1, left, width - margin, whole=True)
    up = scale(seen, bottom, top)
    if not up.log:
        up = scale(seen, bottom, top, zero=min(seen) < 0.3 * max(seen))
    parts = [y_axis(up, left, width - margin, titles[1]), x_axis(across, top, bottom, titles[0], 8 if beside else 5)]
    parts += [_area(across, up, band[0], band[4], "outer"), _area(across, up, band[1], band[3], "inner")]
    parts.append(_curve(across, up, Line("", "random", band[2]), "median"))
    for one in sorted(lines, key=lambda one: one.strong):
        curve = _curve(across, up, one, "line strong" if one.strong else "line")
        parts.append(tag("g", curve, _marks(across, up, one), class_="series", data_series=one.label))
    parts.append((_beside if beside else _below)(lines, names, across, up))
    rows = 0 if beside else 20 * len(lines)
    return svg(width, bottom + 44 + rows, label, join(parts))


def thinned(count: int, most: int = MOST_POINTS) -> list[int]:
    """At most about `most` places of range(count), evenly, with the last.

    >>> thinned(7, 3)
    [0, 3, 6]
    """
    step = max(1, -(-count // most))
    return sorted({*range(0, count, step), count - 1})


def _curve(across: Scale, up: Scale, one: Line, kind: str) -> Html:
    kept = thinned(len(one.values))
    points = " ".join(f"{across(i):.1f},{up(float(one.values[i])):.1f}" for i in kept)
    return tag("polyline", points=points, class_=f"{kind} s-{one.look}", data_tip=None if one.strong else one.label)


def _area(across: Scale, up: Scale, low: Floats, high: Floats, kind: str) -> Html:
    kept = thinned(len(low))
    there = [f"{across(i):.1f},{up(float(high[i])):.1f}" for i in kept]
    back = [f"{across(i):.1f},{up(float(low[i])):.1f}" for i in reversed(kept)]
    return tag("polygon", points=" ".join([*there, *back]), class_=f"band {kind}")


def _marks(across: Scale, up: Scale, one: Line) -> Html:
    if not one.strong:
        return Html("")
    kept = thinned(len(one.values), 120)
    seen = len(kept) <= 60  # more would hide the line: they only answer the pointer
    look = f"dot s-{one.look}" if seen else "target"
    return join(
        tag("circle", cx=across(i), cy=up(one.values[i]), r=3.5 if seen else 6, class_=look, data_tip=one.tips[i])
        for i in kept
    )


def _beside(lines: Sequence[Line], names: Sequence[str], across: Scale, up: Scale) -> Html:
    """Labels to the right of the ends, pushed apart, each with a hair line to its curve."""
    ends = [up(float(one.values[-1])) for one in lines]
    places = spread_out(ends, FONT + 4, up.end, up.start)
    parts = []
    for one, name, end, y in zip(lines, names, ends, places, strict=True):
        x = across(len(one.values) - 1)
        parts.append(tag("polyline", points=f"{x + 3:.1f},{end:.1f} {across.end + 16:.1f},{y:.1f}", class_="leader"))
        parts.append(tag("circle", cx=across.end + 19, cy=y, r=3.5, class_=f"dot s-{one.look}"))
        parts.append(tag("text", name, x=across.end + 26, y=y + 4, class_="name strong" if one.strong else "name"))
    return join(parts)


def _below(lines: Sequence[Line], names: Sequence[str], across: Scale, up: Scale) -> Html:
    ranked = np.argsort([-float(one.values[-1]) for one in lines], kind="stable")
    parts = []
    for row, place in enumerate(ranked.tolist()):
        y = up.start + 56 + 20 * row
        one = lines[place]
        parts.append(tag("circle", cx=across.start, cy=y, r=3.5, class_=f"dot s-{one.look}"))
        parts.append(tag("text", names[place], x=across.start + 10, y=y + 4, class_="name"))
    return join(parts)
