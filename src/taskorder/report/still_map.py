"""The still drawing of a map of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from taskorder.report.charts import Chart
from taskorder.report.still_style import ACCENT, GRAY, MOST_VECTOR_DOTS, WIDTH, cut

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NUMBERED_DOTS = 60
"""Maps up to this size have names, and marks in the dots."""


def map_still(figure: Figure, chart: Chart) -> None:
    """Tasks as dots with the path of an order, and their names: beside the dots where all find room, else below."""
    order, points = chart["order"], np.array(chart["points"])
    figure.set_size_inches(WIDTH, 0.75 * WIDTH)
    axes = figure.subplots()
    axes.set_axis_off()
    few = len(points) <= NUMBERED_DOTS
    axes.plot(*points[order].T, color=ACCENT, linewidth=1.2 if few else 0.5, alpha=0.55, zorder=1)
    known = [task for task in range(len(points)) if task not in order]
    ends, between = [order[0], order[-1]] if order else [], order[1:-1]
    for tasks, edge, face in ((known, GRAY, "white"), (between, ACCENT, "white"), (ends, ACCENT, ACCENT)):
        axes.plot(
            *points[tasks].reshape(-1, 2).T, "o", color=edge, markerfacecolor=face, zorder=2,
            rasterized=len(tasks) > MOST_VECTOR_DOTS, markersize=10 if few else 2.5,
        )  # fmt: skip
    axes.margins(0.18, 0.08)
    axes.set_aspect("equal", "datalim")
    for task, mark in enumerate(chart["marks"] if few else ()):
        color = "white" if task in ends else "#1b1f24"
        axes.annotate(mark, points[task], ha="center", va="center_baseline", fontsize=6.5, color=color, zorder=3)
    if few:
        figure.draw_without_rendering()
        if not _name_dots(axes, points, chart["names"]):
            _list_names(figure, [*known, *order], chart)


def _name_dots(axes: Axes, points: np.ndarray, names: Sequence[str]) -> bool:
    """Each name right, left, above or below its dot, where it covers no other; whether all of them find room."""
    scale = 72 / axes.figure.dpi
    at = axes.transData.transform(points) * scale
    paper = axes.figure.bbox.width * scale, axes.figure.bbox.height * scale
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in at]
    placed = []
    for task, name in enumerate(map(cut, names)):
        wide = 4.6 * len(name)
        for dx, dy, anchor in ((8, 0, "left"), (-8, 0, "right"), (0, 11, "center"), (0, -11, "center")):
            left = at[task][0] + dx - wide * {"left": 0, "right": 1, "center": 0.5}[anchor]
            box = left, at[task][1] + dy - 5, left + wide, at[task][1] + dy + 5
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= paper[0] and box[3] <= paper[1]
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                placed.append((name, points[task], (dx, dy), anchor))
                break
        else:
            return False
    for name, point, away, anchor in placed:
        axes.annotate(
            name, point, away, textcoords="offset points", ha=anchor, va="center", zorder=3, annotation_clip=False
        ).set_in_layout(False)
    return True


def _list_names(figure: Figure, tasks: Sequence[int], chart: Chart) -> None:
    """All names with their marks, in columns below the map."""
    from matplotlib.lines import Line2D

    labels = [f"{chart['marks'][task]}  {cut(chart['names'][task])}" for task in dict.fromkeys(tasks)]
    columns = max(1, min(4, 60 // (max(map(len, labels)) + 2)))
    figure.set_size_inches(WIDTH, figure.get_figheight() + 0.16 * -(-len(labels) // columns))
    nothing = [Line2D([], [], linestyle="") for _ in labels]
    figure.legend(nothing, labels, loc="outside lower center", ncols=columns, fontsize=8, handlelength=0)


def _overlap(box: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
