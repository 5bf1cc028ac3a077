"""The map of the tasks with the path of an order drawn on it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from taskorder.checks import Floats
from taskorder.report.figures.axes import FONT, fitted, svg, text_width
from taskorder.report.markup import Html, join, tag

NUMBERED = 60
"""Up to this many tasks the dots carry their step."""
LABELED = 300
"""Up to this many tasks every name is there, crowded ones only when zoomed in."""

Box = tuple[float, float, float, float]
Point = tuple[float, float]


def path_map(places: Floats, order: Sequence[int], names: Sequence[str], width: float, label: str) -> Html:
    """A dot for each task, the path through them in order, and the names that find room.

    Dots, arrows and names keep their size when the reader zooms in (class `fixed`), so that crowds come apart.
    """
    steps = {task: step for step, task in enumerate(order, start=1)}
    at, height = _on_paper(places, width)
    numbered = len(names) <= NUMBERED
    size = 9.0 if numbered else 3.0 if len(names) <= LABELED else 2.0
    turn = sorted(range(len(names)), key=lambda one: steps.get(one, len(names)))
    written = _labels(at, names, turn, size, (width, height)) if len(names) <= LABELED else {}
    parts = [_path([at[task] for task in order], numbered, size)]
    for task, name in enumerate(names):
        step = steps.get(task)
        ends = " first" if step == 1 else " last" if step == len(order) else ""
        dot = tag("circle", r=size, class_=f"stop{ends}" if step else "stop known")
        count = tag("text", step or "·", y=3.7, class_="step middle") if numbered else ""
        said = f"step {step}: {name[:80]}" if step else f"{name[:80]}: learned before"
        parts.append(_fixed(at[task], "", dot, count, written.get(task, ""), data_tip=said))
    return svg(width, height, label, join(parts))


def _fixed(at: Point, turned: str, *content: object, **attributes: object) -> Html:
    """`content` around a point, of the same size however far the reader has zoomed in."""
    where = f"translate({at[0]:.1f} {at[1]:.1f}){turned}"
    return tag("g", tag("g", *content, class_="fixed"), transform=where, **attributes)


def _on_paper(places: Floats, width: float) -> tuple[list[Point], float]:
    """Places on the paper, one scale for both axes, and how high the paper is."""
    low, high = places.min(axis=0), places.max(axis=0)
    room = np.array([max(width - 150.0, 0.55 * width), 0.6 * width if width >= 500 else 0.8 * width])
    factor = float((room / np.maximum(high - low, 1e-9)).min()) if (high - low).max() > 1e-6 else 0.0
    height = float(factor * (high - low)[1]) + 70.0
    middle = np.array([width, height]) / 2
    shifted = (places - (low + high) / 2) * factor * np.array([1.0, -1.0]) + middle
    return [(x, y) for x, y in shifted.tolist()], height


def _path(points: Sequence[Point], arrows: bool, size: float) -> Html:
    line = tag(
        "polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_="path" if arrows else "path thin"
    )
    if not arrows:
        return line
    heads = []
    for (x1, y1), (x2, y2) in itertools.pairwise(points):
        length = math.hypot(x2 - x1, y2 - y1)
        if length < 2 * size + 10:
            continue
        angle, share = math.degrees(math.atan2(y2 - y1, x2 - x1)), 0.5 + 4 / length
        middle = x1 + share * (x2 - x1), y1 + share * (y2 - y1)
        heads.append(_fixed(middle, f" rotate({angle:.0f})", tag("path", d="M0 0L-8 -4L-8 4Z", class_="head")))
    return join([line, *heads])


def _labels(
    at: Sequence[Point], names: Sequence[str], turn: Sequence[int], size: float, paper: tuple[float, float]
) -> dict[int, Html]:
    """Each name at the first free place around its dot; a name without one waits until the reader zooms in."""
    taken: list[Box] = [(x - size - 1, y - size - 1, x + size + 1, y + size + 1) for x, y in at]
    away = size + 4
    spots = [(away, 4.0, "start"), (-away, 4.0, "end"), (0.0, -away - 1, "middle"), (0.0, away + 10, "middle")]
    spots += [(away - 2, -8.0, "start"), (2 - away, -8.0, "end"), (away - 2, 16.0, "start"), (2 - away, 16.0, "end")]
    found = {}
    for task in turn:
        name = fitted(names[task], 0.3 * paper[0])
        boxes = {spot: _box(at[task], spot, text_width(name)) for spot in spots}
        free = [spot for spot, box in boxes.items() if _is_free(box, taken, paper)]
        x, y, anchor = spot = (free or spots)[0]
        if free:
            taken.append(boxes[spot])
        found[task] = tag("text", name, x=x, y=y, class_=f"name {anchor}" if free else "name crowded")
    return found


def _box(at: Point, spot: tuple[float, float, str], wide: float) -> Box:
    x, y, anchor = at[0] + spot[0], at[1] + spot[1], spot[2]
    left = x - wide if anchor == "end" else x - wide / 2 if anchor == "middle" else x
    return left, y - 0.8 * FONT, left + wide, y + 0.25 * FONT


def _is_free(box: Box, taken: Sequence[Box], paper: tuple[float, float]) -> bool:
    a, b, c, d = box
    inside = a >= 2 and b >= 2 and c <= paper[0] - 2 and d <= paper[1] - 2
    return inside and all(c <= left or a >= right or d <= upper or b >= lower for left, upper, right, lower in taken)
