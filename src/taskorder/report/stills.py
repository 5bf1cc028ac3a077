"""Still drawings of charts, for readers without scripts: matplotlib draws the numbers that the page's script draws.

One function for each `kind` of report/charts.py. Without matplotlib there are no drawings, and the page has tables.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from taskorder.plots.style import GRID, ROLES, Look, style_settings
from taskorder.report.charts import Chart
from taskorder.report.markup import Html
from taskorder.report.page import Figure as PageFigure
from taskorder.report.still_map import map_still
from taskorder.report.still_style import ACCENT, BLUE, GRAY, MOST_VECTOR_DOTS, NAME, ROW_NAME, VERMILION, WIDTH, cut
from taskorder.report.still_svg import inline_svg
from taskorder.report.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.2
"""Inches of a row with a name."""
NAMED_ROWS = 40
"""Heat maps up to this size have names beside them."""
MOST_MARKED = 20
"""Columns of a heat map with their marks, about; of more, every k-th has one."""
SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,  # a task may be called $x$
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.labelcolor": "#5a636e",
    "axes.edgecolor": GRAY,
    "xtick.color": GRAY,
    "ytick.color": GRAY,
    "xtick.labelcolor": "#5a636e",
    "ytick.labelcolor": "#1b1f24",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
}


def stills(figures: Mapping[str, PageFigure]) -> dict[str, Html]:
    """A drawing of each chart by its key, as SVG; none where matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        return {}
    with style_settings(), warnings.catch_warnings():
        # the reader's fonts draw the text: what matplotlib's own lacks does not matter
        warnings.filterwarnings("ignore", message="Glyph|Matplotlib currently does not support")
        return {key: inline_svg(_drawn(figure.chart, key), figure.title) for key, figure in figures.items()}


def _drawn(chart: Chart, key: str) -> str:
    """What matplotlib writes; ids come from `key` and the content, so that they differ within a page."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({**SETTINGS, "svg.hashsalt": key}):
        figure = Figure(figsize=(WIDTH, 0.6 * WIDTH), layout="constrained")
        STILLS[chart["kind"]](figure, chart)
        content = io.StringIO()
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(content, format="svg", dpi=150, transparent=True, metadata=metadata)
    return content.getvalue()


def line_still(figure: Figure, chart: Chart) -> None:
    """Lines over the steps of an order, above the quantiles of random orders."""
    axes = figure.subplots()
    band = chart["band"]
    if band:
        outer, inner, median, upper, top = band["values"]
        for low, high, opacity in ((outer, top, 0.2), (inner, upper, 0.3)):
            axes.fill_between(band["steps"], low, high, color=GRAY, alpha=opacity, linewidth=0)
        axes.plot(band["steps"], median, color=GRAY, linewidth=1, linestyle=(0, (3, 3)))
    for line in chart["lines"]:
        strong = line.get("strong", False)
        few = strong and len(line["steps"]) <= 60
        label = f"{cut(line['label'])}  {number(line['values'][-1])}"
        axes.plot(
            line["steps"], line["values"], color=_color(line["look"]), linewidth=2.2 if strong else 1, label=label,
            marker="o" if few else "", markersize=4, zorder=3 if strong else 2,
        )  # fmt: skip
    _spread(axes, "y", [*(line["values"] for line in chart["lines"]), *(band["values"] if band else ())])
    axes.set_xlim(0, max(line["steps"][-1] for line in chart["lines"]) or 1)
    _titles(axes, *chart["titles"])
    _legend(figure, [line["label"] for line in chart["lines"]])


def histogram_still(figure: Figure, chart: Chart) -> None:
    """How many orders have which value, above a row for each chosen order."""
    marks, edges = chart["marks"], chart["edges"]
    upper, rows = _above_rows(figure, marks)
    upper.stairs(chart["counts"], edges, fill=True, color=GRAY)
    upper.set_yticks([])
    _spread(upper, "x", [edges, [mark["value"] for mark in marks]])
    _mark_rows(rows, marks, [mark["value"] for mark in marks])
    rows.set_xlabel(chart["title"])


def ranking_still(figure: Figure, chart: Chart) -> None:
    """All values, best first, above a row for each chosen order."""
    marks, ranks, values = chart["marks"], chart["ranks"], chart["values"]
    upper, rows = _above_rows(figure, marks, 1.0)
    if chart["halves"]:
        upper.errorbar(ranks, values, chart["halves"], fmt="none", ecolor=GRAY, elinewidth=0.7, alpha=0.45)
    upper.plot(ranks, values, "o", color=GRAY, markersize=2.5, rasterized=len(ranks) > MOST_VECTOR_DOTS)
    for mark in marks:
        upper.plot(mark["rank"], mark["value"], "o", color=_color(mark["look"]), markersize=5)
    _spread(upper, "y", [values, [mark["value"] for mark in marks]])
    _mark_rows(rows, marks, [mark["rank"] for mark in marks])
    _titles(upper, "", chart["titles"][1])
    rows.set_xlabel(chart["titles"][0])


def row_still(figure: Figure, chart: Chart) -> None:
    """A bar for each row, its name to the left, its number to the right."""
    rows = chart["rows"]
    figure.set_size_inches(WIDTH, ROW * len(rows) + 0.6)
    axes = figure.subplots()
    for y, row in enumerate(rows):
        color, ends = _color(row["look"]), (row["start"], row["end"])
        axes.barh(y, ends[1] - ends[0], left=ends[0], height=0.12 if chart["ends"] else 0.6, color=color)
        if chart["ends"]:
            axes.plot(ends[0], y, "o", color=color, markerfacecolor="white", markersize=5)
            axes.plot(ends[1], y, "o", color=color, markersize=5)
        if row["interval"]:
            low, high = row["interval"]
            axes.errorbar((low + high) / 2, y, xerr=(high - low) / 2, color="#1b1f24", elinewidth=1, capsize=2.5)
    if not chart["ends"]:
        axes.axvline(0, color=GRAY, linewidth=0.8)
    _name_rows(axes, [row["name"] for row in rows], [row["end"] for row in rows])
    axes.set_xlabel(chart["title"])


def column_still(figure: Figure, chart: Chart) -> None:
    """A column for each row, or for each block of rows with a tick at its extreme."""
    axes, columns = figure.subplots(), chart["columns"]
    start, end, base, mean, far = (
        np.array([column[key] for column in columns]) for key in ("from", "to", "start", "mean", "far")
    )
    axes.bar(start, mean - base, 0.85 * (end - start), base, align="edge", color=_color(chart["look"]))
    wide = end - start > 1
    axes.hlines(far[wide], start[wide], end[wide], color="#1b1f24", alpha=0.55, linewidth=1)
    axes.set_xlim(0, chart["count"])
    _titles(axes, *chart["titles"])


def scatter_still(figure: Figure, chart: Chart) -> None:
    """A dot for each order, and chosen ones with their names."""
    axes, xs, chosen = figure.subplots(), chart["xs"], chart["chosen"]
    axes.plot(xs, chart["ys"], "o", color=GRAY, alpha=0.6, markersize=3, rasterized=len(xs) > MOST_VECTOR_DOTS)
    for dot in chosen:
        axes.plot(dot["x"], dot["y"], "o", color=_color(dot["look"]), markersize=6, label=cut(dot["label"]))
    _spread(axes, "x", [xs, [dot["x"] for dot in chosen]])
    _spread(axes, "y", [chart["ys"], [dot["y"] for dot in chosen]])
    _titles(axes, *chart["titles"])
    _legend(figure, [dot["label"] for dot in chosen])


def heat_still(figure: Figure, chart: Chart) -> None:
    """A square table as colored cells: one color for each sign, pale near zero."""
    from matplotlib.colors import LinearSegmentedColormap

    names, marks, top = chart["names"], chart["marks"], chart["top"]
    cells = np.array(chart["values"])
    if not chart["blocks"]:
        cells = np.ma.masked_array(cells, np.eye(len(cells), dtype=bool))
    low, high = (BLUE, VERMILION) if chart["warm"] else (VERMILION, BLUE)
    colors = LinearSegmentedColormap.from_list("signs", [low, "white", high]).with_extremes(bad="#d3d3d3")
    figure.set_size_inches(WIDTH, 0.8 * WIDTH)
    figure.set_layout_engine("compressed")  # the other layout does not expect square axes
    axes = figure.subplots()
    shown = axes.imshow(cells, cmap=colors, vmin=-top, vmax=top, interpolation="none")
    axes.tick_params(length=0)
    some = range(-(-len(names) // MOST_MARKED) - 1, len(names), -(-len(names) // MOST_MARKED))
    axes.set_xticks(some, [marks[k] for k in some])
    if len(names) <= NAMED_ROWS:
        axes.set_yticks(range(len(names)), [cut(name) for name in names], fontsize=min(8, 200 / len(names)))
    else:
        axes.set_yticks(some, [marks[k] for k in some])
    rows, columns = np.nonzero(np.ma.filled(np.abs(cells) > top, False))
    axes.plot(columns, rows, "o", color="#1b1f24", markeredgecolor="white", markersize=min(4, 60 / len(names)))
    unit = f"{chart['unit']}\n{chart['beyond']}" if chart["beyond"] else chart["unit"]
    bar = figure.colorbar(shown, location="top", shrink=0.6, aspect=30, ticks=[-top, 0, top], label=unit)
    bar.ax.set_xticklabels([number(-top), "0", number(top)])
    bar.outline.set_visible(False)


STILLS = {
    "columns": column_still,
    "heat": heat_still,
    "histogram": histogram_still,
    "lines": line_still,
    "map": map_still,
    "ranking": ranking_still,
    "rows": row_still,
    "scatter": scatter_still,
}
"""What draws each kind, as the table of the same name in static/page.js."""


def _color(look: str) -> str:
    return {"plus": BLUE, "minus": VERMILION}.get(look) or ROLES.get(look, Look(ACCENT)).color


def _titles(axes: Axes, along: str, above: str) -> None:
    axes.set_xlabel(along)
    axes.set_title(above, loc="left", fontsize=8, color="#5a636e")
    axes.grid(visible=True)


def _spread(axes: Axes, axis: str, values: Sequence[Sequence[float]]) -> None:
    """A logarithmic axis where values are positive and span more than a factor of 30, as in static/axes.js."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    seen = np.concatenate([np.asarray(part, dtype=float) for part in values if len(part)])
    if 0 < 30 * seen.min() < seen.max():
        getattr(axes, f"set_{axis}scale")("log")
        ticks = axes.xaxis if axis == "x" else axes.yaxis
        decades = float(np.log10(seen.max() / seen.min()))
        ticks.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 3 else (1,)))
        # matplotlib writes powers as formulas, which are off here
        ticks.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        ticks.set_minor_formatter(NullFormatter())


def _legend(figure: Figure, labels: Sequence[str]) -> None:
    """Below the axes, where it hides nothing."""
    if not labels:
        return
    columns = max(1, min(4, 60 // (min(NAME, max(map(len, labels))) + 12)))
    lines = -(-len(labels) // columns)
    figure.set_size_inches(WIDTH, figure.get_figheight() + 0.16 * lines)
    figure.legend(loc="outside lower center", ncols=columns, fontsize=8)


def _above_rows(figure: Figure, marks: Sequence[Any], more: float = 0.0) -> tuple[Axes, Axes]:
    """Axes above others that have a row for each mark, with one x axis."""
    upper, lower = 1.3 + more, ROW * len(marks) + 0.1
    figure.set_size_inches(WIDTH, upper + lower + 0.6)
    above, rows = figure.subplots(2, 1, sharex=True, height_ratios=[upper, lower])
    return above, rows


def _mark_rows(axes: Axes, marks: Sequence[Any], xs: Sequence[float]) -> None:
    for y, (mark, x) in enumerate(zip(marks, xs, strict=True)):
        axes.vlines(x, -0.8, y, color=_color(mark["look"]), linewidth=0.8, alpha=0.5)
        axes.plot(x, y, "o", color=_color(mark["look"]), markersize=6 if mark["strong"] else 5)
    _name_rows(axes, [mark["label"] for mark in marks], [mark["value"] for mark in marks])
    for label, mark in zip(axes.get_yticklabels(), marks, strict=True):
        label.set_fontweight("bold" if mark["strong"] else "normal")


def _name_rows(axes: Axes, names: Sequence[str], values: Sequence[float]) -> None:
    """Names to the left of rows from top to bottom, numbers to their right."""
    axes.set_yticks(range(len(names)), [cut(name, ROW_NAME) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.8)
    axes.tick_params(axis="y", length=0)
    axes.spines[["left"]].set_visible(False)
    axes.grid(visible=True, axis="x")
    for y, value in enumerate(values):
        axes.annotate(
            number(value), (1, y), xycoords=axes.get_yaxis_transform(), xytext=(4, 0), textcoords="offset points",
            va="center", color="#5a636e",
        )  # fmt: skip
