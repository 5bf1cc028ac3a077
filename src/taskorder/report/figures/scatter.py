"""Two numbers of each order against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from taskorder.checks import Floats
from taskorder.report.figures.axes import number, scale, svg, text_width, x_axis, y_axis
from taskorder.report.figures.lines import thinned
from taskorder.report.markup import Html, join, tag

MOST_DOTS = 1500


@dataclass(frozen=True)
class Spot:
    """A chosen order: both of its numbers, the class that colors it, and what it is called."""

    x: float
    y: float
    look: str
    label: str


def scatter(xs: Floats, ys: Floats, spots: Sequence[Spot], width: float, label: str, titles: tuple[str, str]) -> Html:
    """A dot for each order (every k-th of very many), chosen ones on top, and their names below."""
    left, top, bottom = 46.0, 34.0, 0.5 * width if width >= 500 else 0.9 * width
    across = scale([*xs.tolist(), *(spot.x for spot in spots)], left, width - 12)
    up = scale([*ys.tolist(), *(spot.y for spot in spots)], bottom, top)
    cloud = "".join(f"M{across(float(xs[i])):.1f} {up(float(ys[i])):.1f}h0" for i in thinned(len(xs), MOST_DOTS))
    parts = [y_axis(up, left, width - 12, titles[1]), x_axis(across, top, bottom, titles[0])]
    parts.append(tag("path", d=cloud, class_="cloud"))
    for spot in spots:
        tip = f"{spot.label}: {number(spot.x)}, {number(spot.y)}"
        parts.append(tag("circle", cx=across(spot.x), cy=up(spot.y), r=5, class_=f"dot s-{spot.look}", data_tip=tip))
    x, y = left, bottom + 58
    for spot in spots:
        wide = text_width(spot.label) + 28
        if x > left and x + wide > width:
            x, y = left, y + 20
        parts.append(tag("circle", cx=x + 4, cy=y - 4, r=4, class_=f"dot s-{spot.look}"))
        parts.append(tag("text", spot.label, x=x + 13, y=y, class_="name"))
        x += wide
    return svg(width, y + 8, label, join(parts))
