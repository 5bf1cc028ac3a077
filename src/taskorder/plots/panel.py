"""One panel: its series, its map, its axes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from taskorder.plots.records import Heatmap, Panel, Series
from taskorder.plots.style import DIVERGING, GRID, MANY, SEQUENTIAL, Look, category_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

Entries = dict[tuple[str, Look], Any]
"""What a legend shows: an artist for each label and look."""

CHARACTERS = 13
"""Characters to an inch of text, about."""
TICK_CHARACTER = 0.075
"""Inches of a digit of the name of a tick."""
MARKED = 25
"""A line of more points carries a few marks instead of one for each point."""
HEAVY = 200
"""Bands and marks of more points are stored as pixels, to keep the SVG small."""


def draw_panel(axes: Axes, panel: Panel, looks: Sequence[Look], size: tuple[float, float]) -> Entries:
    """Draw `panel` on `axes`, which have `size` inches with their labels, and return what its legend should show."""
    entries: Entries = {}
    axes.set_title(wrap(panel.title, size[0] - 0.55))
    axes.set_xlabel(wrap(panel.x_label, size[0] - 0.55))
    axes.set_ylabel(wrap(panel.y_label, size[1] - 0.9))
    axes.set_xscale(panel.x_scale)
    axes.set_yscale(panel.y_scale)
    if panel.x_scale == "linear":
        axes.locator_params(axis="x", nbins=int(1.7 * size[0]))
    if panel.heatmap is not None:
        entries |= _heatmap(axes, panel, panel.heatmap, size)
    elif panel.x_scale == "log":
        values = sorted({x for series in panel.series for x in series.x if x > 0})
        _whole_ticks(axes.xaxis, values, log=True, inches=size[0] - 0.7)
    entries |= _series(axes, panel, looks)
    if panel.heatmap is not None:
        _lift(axes)
    if panel.steps:
        _steps(axes, panel.steps, size[0] - 0.7)
    return entries


def wrap(text: str, inches: float) -> str:
    """`text` on as few lines as it needs, of about equal length; formulas are left whole."""
    limit = max(12, int(CHARACTERS * inches))
    if "$" in text or len(text) <= limit:
        return text
    broken = [
        textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) for width in range(limit, 0, -1)
    ]
    return "\n".join([lines for lines in broken if len(lines) == len(broken[0])][-1])


def _series(axes: Axes, panel: Panel, looks: Sequence[Look]) -> Entries:
    entries: Entries = {}
    pairs = list(zip(panel.series, looks, strict=True))
    crowd = [pair for pair in pairs if _in_crowd(pair[0])]
    if crowd:
        label = next((series.label for series, _ in crowd if series.label), "")
        entries[label, crowd[0][1]] = _crowd(axes, [series for series, _ in crowd], crowd[0][1])
    free = [series.label for series, _ in pairs if not series.role]
    # a long run of colors is read off its ends
    hidden = {"", *(free[1:-1] if len(free) > MANY else ())}
    for position, (series, look) in enumerate(pair for pair in pairs if not _in_crowd(pair[0])):
        entries.setdefault((series.label, look), _one_series(axes, series, look, position))
    return {key: artist for key, artist in entries.items() if key[0] not in hidden}


def _in_crowd(series: Series) -> bool:
    return series.role == "background" and series.style == "line"


def _crowd(axes: Axes, crowd: Sequence[Series], look: Look) -> Any:
    """All lines of the background as one artist below the others, stored as pixels."""
    from matplotlib.collections import LineCollection

    curves = [np.column_stack([series.x, _floats(series.y)]) for series in crowd]
    lines = LineCollection(curves, colors=look.color, linewidths=look.width, zorder=1, rasterized=True)
    axes.add_collection(lines)
    axes.autoscale_view()
    return lines


def _one_series(axes: Axes, series: Series, look: Look, position: int) -> Any:
    """Draw one series above those before it, its interval below all lines."""
    points = series.style in ("points", "intervals")
    heavy = len(series.x) > HEAVY
    below: dict[str, Any] = {"color": look.color, "zorder": 1.5, "rasterized": heavy}
    low, high = _floats(series.low), _floats(series.high)
    if series.low is None or series.high is None:
        pass
    elif series.style == "line":
        axes.fill_between(series.x, low, high, alpha=0.2, linewidth=0, **below)
    else:
        # drawn from end to end, as an interval need not contain its value
        bars = {"elinewidth": 0.7, "alpha": 0.35} if series.style == "points" else {"elinewidth": 1, "capsize": 2}
        axes.errorbar(series.x, (low + high) / 2, (high - low) / 2, fmt="none", **bars, **below)
    y = _floats(series.y)
    long = np.isfinite(y).sum() > MARKED and not points
    marks: dict[str, Any] = {
        "marker": look.mark or ("o" if points else ""),
        # crosses cover less than full marks of their size
        "markersize": {"points": 4, "intervals": 6}.get(series.style, 5) * (1.3 if look.mark in ("P", "X") else 1),
        "markeredgewidth": 0.3 if points else 0.5,
        "markeredgecolor": "white",
        # far apart along a long line, and not at the same x on every line
        "markevery": (0.05 + 0.03 * (position % 7), 0.21) if long else None,
    }
    dash = "none" if points else look.dash
    above: dict[str, Any] = {"color": look.color, "zorder": 2 + position / 100, "rasterized": heavy and points}
    return axes.plot(series.x, y, linestyle=dash, linewidth=look.width, **marks, **above)[0]


def _lift(axes: Axes) -> None:
    """Give each line a white rim, to stand out from the colors of a map below it."""
    from matplotlib.patheffects import withStroke

    for line in axes.lines:
        line.set_path_effects([withStroke(linewidth=line.get_linewidth() + 1.5, foreground="white")])


def _floats(values: Sequence[float | None] | None) -> np.ndarray:
    """The values with NaN for None."""
    return np.array(() if values is None else values, dtype=float)


def _steps(axes: Axes, names: Sequence[str], width: float) -> None:
    """Names centered in the unit intervals of the x axis, thin lines between them."""
    axes.set_xlim(min(0.0, axes.dataLim.x0), max(float(len(names)), axes.dataLim.x1))
    for edge in range(len(names) + 1):
        axes.axvline(edge, color=GRID, linewidth=0.8, zorder=0.5)
    axes.set_xticks(np.arange(len(names)) + 0.5, names)
    axes.tick_params(axis="x", length=0)
    # tick labels are smaller than other text
    if max(len(name) for name in names) + 1 > 1.2 * CHARACTERS * width / len(names):
        for label in axes.get_xticklabels():
            label.set(rotation=40, ha="right", rotation_mode="anchor")


def _heatmap(axes: Axes, panel: Panel, heatmap: Heatmap, size: tuple[float, float]) -> Entries:
    """Colored cells; a color bar for numbers, legend entries for categories."""
    from matplotlib.colors import ListedColormap, Normalize
    from matplotlib.patches import Patch

    values = np.ma.masked_invalid(np.array(heatmap.values, dtype=float))
    colors = category_colors(len(heatmap.categories))
    cmap: Any = SEQUENTIAL
    norm = Normalize()
    if heatmap.categories:
        cmap, norm = ListedColormap(colors), Normalize(-0.5, len(colors) - 0.5)
    elif heatmap.diverging:
        top = float(np.abs(values.compressed()).max(initial=0)) or 1.0
        cmap, norm = DIVERGING, Normalize(-top, top)
    x_log, y_log = panel.x_scale == "log", panel.y_scale == "log"
    x, y = _edges(heatmap.x, x_log), _edges(heatmap.y, y_log)
    cells = axes.pcolormesh(x, y, values, cmap=cmap, norm=norm, rasterized=True)
    axes.spines[:].set(visible=True, linewidth=0.6)
    if not heatmap.upward:
        axes.invert_yaxis()
    if not (x_log or y_log) and math.isclose(abs(x[-1] - x[0]), abs(y[-1] - y[0]), rel_tol=0.01):
        axes.set_aspect("equal")
    _whole_ticks(axes.xaxis, sorted(heatmap.x), x_log, size[0] - 0.9)
    _whole_ticks(axes.yaxis, sorted(heatmap.y), y_log, size[1] - 0.9)
    if not heatmap.categories:
        # inside the axes' own frame of reference, so that it is as tall as they turn out
        bar = axes.figure.colorbar(cells, cax=axes.inset_axes((1.03, 0, 0.05, 1)))
        bar.outline.set_linewidth(0.6)
    return {(name, Look(color)): Patch(facecolor=color) for name, color in zip(heatmap.categories, colors, strict=True)}


def _edges(centers: Sequence[float], log: bool) -> np.ndarray:
    """The borders of cells: half-way between their centers, and as far beyond the first and the last."""
    middle = np.log(centers) if log else np.array(centers, dtype=float)
    half = np.diff(middle) / 2 if len(middle) > 1 else np.array([0.5])
    edges = np.concatenate([middle[:1] - half[:1], middle[:-1] + half[: len(middle) - 1], middle[-1:] + half[-1:]])
    return np.exp(edges) if log else edges


def _whole_ticks(axis: Axis, values: Sequence[float], log: bool, inches: float) -> None:
    """Ticks at `values`, in increasing order, where these are whole numbers; names at those with room for them.

    Where fewer than half have room, the ticks stay as they are.
    """
    if not values or not all(float(value).is_integer() for value in values):
        return
    centers = np.log(values) if log else np.array(values, dtype=float)
    names = [f"{value:g}" for value in values]
    # axes are a little longer than the data; names need some white between them
    at = (centers - centers[0]) / ((centers[-1] - centers[0]) or 1.0) * 0.9 * inches
    room = [TICK_CHARACTER * len(name) / 2 + 0.04 for name in names]
    named = [len(values) - 1]
    for k in range(len(values) - 2, -1, -1):
        if at[named[-1]] - at[k] >= room[named[-1]] + room[k]:
            named.append(k)
    if 2 * len(named) >= len(values):
        axis.set_ticks(values, [name if k in named else "" for k, name in enumerate(names)])
        axis.set_ticks([], minor=True)
