"""What charts show, as plain JSON values; static/*.js draws them in the browser, for the report and for the explorer.

Each function returns the argument of the JavaScript function of the same name, and `kind`, which says which one that is
(the table `KINDS` of static/page.js). Looks are the names of `plots.style.ROLES`.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from taskorder.checks import Floats, counted
from taskorder.report.text import number

Chart = dict[str, Any]

MOST_BARS = 40
"""More rows than this are drawn as columns without names."""
MOST_COLUMNS = 150
MOST_CELLS = 200
"""Cells a side of a heat map; larger tables are shown in blocks of tasks that are next to each other in the order."""
MOST_POINTS = 300
"""Points of a line."""
MOST_DOTS = 1500
MOST_RANKS = 250
NUM_BINS = 40
OUTLYING = 2.0
"""So many times the usual largest value of a heat map, a cell is an outlier."""
LETTERS = string.ascii_lowercase


@dataclass(frozen=True, eq=False)
class Line:
    """One series: its label, its look, and its value before and after each step."""

    label: str
    look: str
    values: Floats
    tips: Sequence[str] = ()
    """What a mark at each step says; a line with tips is drawn thick and on top."""


@dataclass(frozen=True)
class Mark:
    """A chosen order among many."""

    label: str
    look: str
    value: float
    tip: str
    strong: bool = False


@dataclass(frozen=True)
class Bar:
    """A bar with its name."""

    name: str
    start: float
    end: float
    look: str
    tip: str
    interval: tuple[float, float] | None = None
    """Drawn as a line through the end of the bar."""


@dataclass(frozen=True)
class Dot:
    """A chosen order in a scatter plot."""

    x: float
    y: float
    look: str
    label: str


def line_chart(lines: Sequence[Line], band: Floats | None, titles: tuple[str, str]) -> Chart:
    """`lines` over `band` (quantiles in rows, the outer ones first and last)."""
    shown = []
    for line in lines:
        steps = evenly(len(line.values), MOST_POINTS // 2 if len(line.tips) else MOST_POINTS)
        strong = {"strong": True, "tips": [line.tips[step] for step in steps]} if len(line.tips) else {}
        shown.append(
            {"label": line.label, "look": line.look, "steps": steps, "values": short(line.values[steps]), **strong}
        )
    steps = evenly(0 if band is None else band.shape[1], MOST_POINTS)
    quantiles = None if band is None else {"steps": steps, "values": [short(row[steps]) for row in band]}
    return {"kind": "lines", "lines": shown, "band": quantiles, "titles": titles}


def histogram(values: Floats, marks: Sequence[Mark], title: str) -> Chart:
    """How many orders have which value, and where the marks stand; bins grow with the value on a logarithmic scale."""
    low, high = float(values.min()), float(values.max())
    seen = [low, high, *(mark.value for mark in marks)]
    logarithmic = min(seen) > 0 and max(seen) > 30 * min(seen)
    edges = (np.geomspace if logarithmic else np.linspace)(low, high, NUM_BINS + 1)
    edges[0], edges[-1] = low, high  # rounding must leave nothing outside
    counts = np.histogram(values, edges)[0]
    marked = [asdict(mark) for mark in marks]
    return {"kind": "histogram", "edges": short(edges), "counts": counts.tolist(), "marks": marked, "title": title}


def ranking(values: Floats, marks: Sequence[Mark], titles: tuple[str, str], halves: Floats | None = None) -> Chart:
    """Values from the highest to the lowest, `halves` of an interval around each, and where the marks stand."""
    turn = np.argsort(-values, kind="stable")
    shown = evenly(len(values), MOST_RANKS)
    return {
        "kind": "ranking",
        "count": len(values),
        "ranks": [k + 1 for k in shown],
        "values": short(values[turn][shown]),
        "halves": None if halves is None else short(halves[turn][shown]),
        "marks": [{**asdict(mark), "rank": 1 + int((values > mark.value).sum())} for mark in marks],
        "titles": titles,
    }


def row_chart(rows: Sequence[Bar], title: str, *, ends: bool = False) -> Chart:
    """Horizontal bars; `ends` marks start (hollow) and end (full) of each, for values that do not start at zero."""
    return {"kind": "rows", "rows": [asdict(row) for row in rows], "title": title, "ends": ends}


def column_chart(rows: Sequence[Bar], titles: tuple[str, str]) -> Chart:
    """A column for each row, or for each block of neighbors their mean with a tick at their extreme."""
    ends, starts = np.array([row.end for row in rows]), np.array([row.start for row in rows])
    edges = np.linspace(0, len(rows), min(len(rows), MOST_COLUMNS) + 1).astype(int).tolist()
    columns = []
    for a, b in itertools.pairwise(edges):
        mean, start = float(ends[a:b].mean()), float(starts[a:b].mean())
        far = float(ends[a:b][np.abs(ends[a:b] - start).argmax()])
        tip = rows[a].tip if b - a == 1 else f"steps {a + 1} to {b}: mean {number(mean)}, farthest {number(far)}"
        columns.append({"from": a, "to": b, "start": start, "mean": mean, "far": far, "tip": tip})
    return {"kind": "columns", "columns": columns, "count": len(rows), "look": rows[0].look, "titles": titles}


def scatter_chart(xs: Floats, ys: Floats, chosen: Sequence[Dot], titles: tuple[str, str]) -> Chart:
    """A dot for each order (every k-th of very many), and chosen ones with their names."""
    shown = evenly(len(xs), MOST_DOTS)
    dots = [asdict(dot) for dot in chosen]
    return {"kind": "scatter", "xs": short(xs[shown]), "ys": short(ys[shown]), "chosen": dots, "titles": titles}


def map_chart(points: Floats, order: Sequence[int], names: Sequence[str]) -> Chart:
    """Tasks as points with their marks, and the path of an order."""
    marks = task_marks(order, len(names))
    shown = [short(point) for point in points]
    return {"kind": "map", "points": shown, "order": [*order], "names": [*names], "marks": marks}


def task_marks(order: Sequence[int], num_tasks: int) -> list[str]:
    """What stands for each task where its name has no room: its last step, and a letter for one of no step.

    >>> task_marks([2, 0], 3)
    ['2', 'a', '1']
    """
    steps = {task: str(step) for step, task in enumerate(order, start=1)}
    letters = map("".join, itertools.chain(LETTERS, itertools.product(LETTERS, repeat=2), itertools.repeat("·")))
    return [steps.get(task) or next(letters) for task in range(num_tasks)]


def heat_map(
    table: Floats,
    order: Sequence[int],
    names: Sequence[str],
    unit: str,
    *,
    marks: Sequence[str] | None = None,
    warm: bool = False,
) -> Chart:
    """`table` (by task) in `order`: rows have `names`, columns the short `marks` of the same tasks.

    The diagonal is left out of the scale, and so are a few outliers (`scale_top`), which `beyond` counts.
    `warm` gives positive values the warm color: where they are costs.
    """
    values, n = table[np.ix_(order, order)], len(order)
    names, blocks = [*names], n > MOST_CELLS
    marks = [*marks] if marks is not None else [str(k + 1) for k in range(n)]
    if blocks:
        starts = np.arange(0, n, -(-n // MOST_CELLS))
        sizes = np.diff([*starts, n])
        np.fill_diagonal(values, 0.0)
        counts = np.maximum(np.outer(sizes, sizes) - np.diag(sizes), 1)  # the diagonal does not count
        values = np.add.reduceat(np.add.reduceat(values, starts, axis=0), starts, axis=1) / counts
        names = [f"steps {a + 1} to {a + size}" for a, size in zip(starts, sizes, strict=True)]
        marks = [str(a + 1) for a in starts.tolist()]
    off = values if blocks else values[~np.eye(n, dtype=bool)]
    top = scale_top(off, len(names))
    far = off[np.abs(off) > top]
    beyond = ""
    if len(far):
        said = f"{counted(len(far), 'cell')} beyond the scale, with a dot"
        beyond = f"{said}: up to {number(float(far[np.abs(far).argmax()]))}"
    return {
        "kind": "heat", "names": names, "marks": marks, "values": [short(row, 4) for row in values],
        "top": top, "beyond": beyond, "unit": unit, "warm": warm, "blocks": blocks,
    }  # fmt: skip


def scale_top(values: Floats, rows: int) -> float:
    """The value of the strongest color: the largest there is, unless a few outliers would make all others pale.

    Outliers are at most half a row of cells, or two (a pair of tasks), and a tenth of all; a whole row is none.

    >>> scale_top(np.array([9.0, -0.2, *[0.3] * 18]), 5), scale_top(np.array([0.5, -0.9, 0.1]), 2)
    (0.3, 0.9)
    """
    sizes = np.sort(np.abs(values), axis=None)[::-1]
    outliers = max(2, rows // 2)
    largest, usual = float(sizes.max(initial=0.0)), float(sizes[outliers]) if len(sizes) >= 10 * outliers else 0.0
    if not 0 < OUTLYING * usual < largest:
        return _round_up(largest)
    return _round_up(float(sizes[sizes <= OUTLYING * usual][0]))


def evenly(count: int, most: int) -> list[int]:
    """At most about `most` indices of range(count), evenly spaced, with the last.

    >>> evenly(7, 3), evenly(0, 3)
    ([0, 3, 6], [])
    """
    return sorted({*range(0, count, max(1, -(-count // most))), *range(count)[-1:]})


def short(values: Iterable[float], digits: int = 6) -> list[float]:
    """The values with as many digits as a chart can show."""
    return [float(f"{value:.{digits}g}") for value in values]


def _round_up(value: float) -> float:
    """The next number with one digit that is at least as large; 1 where all is zero.

    >>> _round_up(0.37), _round_up(0.0)
    (0.4, 1.0)
    """
    if value <= 0:
        return 1.0
    unit = 10.0 ** np.floor(np.log10(value))
    return float(f"{np.ceil(value / unit - 1e-9) * unit:.3g}")
