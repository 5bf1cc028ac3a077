"""One row a thing: a bar from a start to an end, its name to the left or above, its number to the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taskorder.report.figures.axes import FONT, Scale, fitted, number, scale, svg, text_width, x_axis, y_axis
from taskorder.report.markup import Html, join, tag

MOST_ROWS = 40
"""More things than this are drawn as thin columns without names."""
MOST_COLUMNS = 180


@dataclass(frozen=True)
class Row:
    """A name, where its bar starts and ends, the class that colors it, and what it says when pointed at."""

    name: str
    start: float
    end: float
    look: str
    tip: str
    interval: tuple[float, float] | None = None
    """Drawn as a line through the end of the bar."""


def row_chart(rows: Sequence[Row], width: float, label: str, title: str, *, ends: bool = False) -> Html:
    """Horizontal bars; `ends` marks start (hollow) and end (full) of each, for values that do not start at zero."""
    longest = max(text_width(row.name) for row in rows)
    above = longest > 0.42 * width
    numbers = max(text_width(number(row.end)) for row in rows) + 14
    left = 12.0 if above else min(longest, 0.42 * width) + 12
    each, top = (36.0 if above else 21.0), 8.0
    bottom = top + each * len(rows)
    values = [value for row in rows for value in (row.start, row.end, *(row.interval or ()))]
    across = scale(values, left, width - numbers, zero=not ends, log=False)
    parts = [x_axis(across, top, bottom, title, 6 if width >= 500 else 4)]
    for place, row in enumerate(rows):
        y = top + each * place + (26 if above else 10.5)
        name = fitted(row.name, width - 8 if above else left - 10)
        where = {"x": left, "y": y - 12} if above else {"x": left - 10, "y": y + 4}
        parts.append(tag("text", name, class_="name" if above else "name end", **where))
        parts.append(_bar(row, across, y, ends))
        parts.append(tag("text", number(row.end), x=width - 2, y=y + 4, class_="tick end"))
    return svg(width, bottom + 42, label, join(parts))


def column_chart(rows: Sequence[Row], width: float, label: str, titles: tuple[str, str]) -> Html:
    """The same for many rows: a column each, or for each block of neighbors their mean with a tick at their extreme."""
    ends, starts = np.array([row.end for row in rows]), np.array([row.start for row in rows])
    edges = np.linspace(0, len(rows), min(len(rows), MOST_COLUMNS, int(width / 3)) + 1).astype(int)
    left, top, bottom = 46.0, 34.0, 0.4 * width if width >= 500 else 0.7 * width
    across = Scale(0, len(rows), left, width - 18, whole=True)
    up = scale([*ends.tolist(), *starts.tolist()], bottom, top, zero=True, log=False)
    parts = [y_axis(up, left, width - 18, titles[1]), x_axis(across, top, bottom, titles[0])]
    for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        mean, start = float(ends[a:b].mean()), float(starts[a:b].mean())
        far = float(ends[a:b][np.abs(ends[a:b] - start).argmax()])
        tip = rows[a].tip if b - a == 1 else f"steps {a + 1} to {b}: mean {number(mean)}, farthest {number(far)}"
        x, wide = across(a), max(0.8, across(b) - across(a) - 0.8)
        y = sorted((up(start), up(mean)))
        bar = tag("rect", x=x, y=y[0], width=wide, height=max(y[1] - y[0], 0.5), class_=f"bar s-{rows[a].look}")
        mark = "" if b - a == 1 else tag("rect", x=x, y=up(far) - 0.75, width=wide, height=1.5, class_="far")
        target = tag("rect", x=x, y=top, width=wide, height=bottom - top, class_="target")
        parts.append(tag("g", bar, mark, target, data_tip=tip))
    return svg(width, bottom + 42, label, join(parts))


def _bar(row: Row, across: Scale, y: float, ends: bool) -> Html:
    a, b = across(row.start), across(row.end)
    x, wide = min(a, b), max(abs(b - a), 0.75)
    half = 1.5 if ends else 0.42 * FONT
    parts = [tag("rect", x=x, y=y - half, width=wide, height=2 * half, rx=1.5, class_=f"bar s-{row.look}")]
    if ends:
        parts.append(tag("circle", cx=a, cy=y, r=4, class_=f"ring s-{row.look}"))
        parts.append(tag("circle", cx=b, cy=y, r=4.5, class_=f"dot s-{row.look}"))
    if row.interval is not None:
        low, high = map(across, row.interval)
        ticks = f"M{low:.1f} {y - 4:.1f}v8M{low:.1f} {y:.1f}H{high:.1f}M{high:.1f} {y - 4:.1f}v8"
        parts.append(tag("path", d=ticks, class_="whisker"))
    parts.append(tag("rect", x=across.start, y=y - 9, width=across.end - across.start, height=18, class_="target"))
    return tag("g", *parts, data_tip=row.tip)
