"""Parts that pages share: the order as a path, and tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taskorder.checks import Floats, counted
from taskorder.report.charts import evenly, heat_map, map_chart, task_marks
from taskorder.report.markup import Html, html, join, tag, task
from taskorder.report.page import Figure, Table
from taskorder.report.text import number

WHOLE_ORDER = 60
"""Longer orders show their ends; the rest unfolds."""
ENDS = 12
MOST_TABLE_ROWS = 500
FULL_MATRIX = 30
"""Matrices up to this size stand in a table; of larger ones, the extreme pairs."""
PAIRS = 25


def order_path(order: Sequence[int], names: Sequence[str], learned: Sequence[str] = (), free: int = 0) -> Html:
    """The order as a labeled path that wraps; a long one shows its ends and unfolds. The first `free` are dashed."""
    stops = [
        tag("li", tag("span", tag("b", step), task(names[k]), class_="free" if step <= free else None))
        for step, k in enumerate(order, start=1)
    ]
    before = html('<p class="words">Learned before: {}.</p>', join(map(task, learned), ", ")) if learned else Html("")
    if len(stops) <= WHOLE_ORDER:
        return join([before, tag("ol", *stops, class_="order")])
    gap = tag("li", tag("span", f"{len(stops) - 2 * ENDS} more", class_="gap"), aria_hidden="true")
    short = tag("ol", *stops[:ENDS], gap, *stops[-ENDS:], class_="order")
    return join([before, short, tag("details", tag("summary", "The whole order"), tag("ol", *stops, class_="order"))])


def sentence_order(order: Sequence[int], names: Sequence[str]) -> Html:
    """The order within a sentence: all of it while it is short."""
    if sum(len(names[k]) + 3 for k in order) <= 260:
        return join([task(names[k]) for k in order], " → ")
    first, last = (task(names[k][:80]) for k in (order[0], order[-1]))
    return html("{} first, … , {} last", first, last)


def swatch(rule: str, label: str) -> Html:
    """The name of a rule after a dot of its color."""
    return html('<span class="swatch s-{}" aria-hidden="true"></span>{}', rule, label)


def matrix_figure(
    label: str, values: Floats, order: Sequence[int], names: Sequence[str], what: str, *, warm: bool = False
) -> Figure:
    """A heat map of a table (by task) in `order`, each task with its mark, and the table itself."""
    rows = in_order(order, len(names))
    every = task_marks(order, len(names))
    marks = [every[task] for task in rows]
    labels = [f"{mark}. {names[task]}" for mark, task in zip(marks, rows, strict=True)]
    chart = heat_map(values, rows, labels, what, marks=marks, warm=warm)
    said = f"{label}; {chart['beyond']}" if chart["beyond"] else label
    return Figure(said, chart, _matrix_table(values, rows, names, what))


def in_order(order: Sequence[int], num_tasks: int) -> list[int]:
    """All tasks: those learned before, then the others by their last step."""
    last = {task: step for step, task in enumerate(order, start=1)}
    return sorted(range(num_tasks), key=lambda task: last.get(task, 0))


def map_figure(points: Floats, order: Sequence[int], names: Sequence[str], whose: str) -> Figure:
    """The map of the tasks with the path of an order, and where each task lies; tasks of no step come first."""
    steps = {task: step for step, task in enumerate(order, start=1)}
    rows = [[steps.get(task), names[task], *point] for task, point in enumerate(points.tolist())]
    rows.sort(key=lambda row: row[0] or 0)
    label = f"Map of {counted(len(names), 'task')} with the path of {whose} drawn on it"
    return Figure(label, map_chart(points, order, names), Table(["step", "task", "x", "y"], rows))


def _matrix_table(values: Floats, order: Sequence[int], names: Sequence[str], what: str) -> Table:
    """The whole matrix in plan order where that can be read, else its extreme pairs."""
    if len(order) <= FULL_MATRIX:
        rows = [[names[a], *(float(values[a, b]) for b in order)] for a in order]
        return Table(["task", *(names[k] for k in order)], rows)
    n = len(order)
    i, j = np.triu_indices(n, 1)
    pairs = values[np.ix_(order, order)][i, j]
    ranked = np.argsort(-pairs, kind="stable")
    chosen = [*ranked[:PAIRS].tolist(), *ranked[-PAIRS:].tolist()]
    rows = [[names[order[i[k]]], names[order[j[k]]], float(pairs[k])] for k in chosen]
    return Table(["task", "task", what], rows, f"The {PAIRS} highest and the {PAIRS} lowest of {len(pairs)} pairs.")


def step_table(headers: Sequence[str], columns: Sequence[Sequence[object]], total: int) -> Table:
    """One row a step; of very many steps, every k-th."""
    shown = evenly(total, MOST_TABLE_ROWS)
    rows = [[column[i] if i < len(column) else None for column in columns] for i in shown]
    return Table(headers, rows, "" if len(shown) == total else f"{len(shown)} of {total} rows, evenly spaced.")


def table_html(content: Table, label: str) -> Html:
    """A table that scrolls by itself where it is wider than the page."""
    first = content.rows[0] if content.rows else [""] * len(content.headers)
    kinds = ["n" if isinstance(value, int | float) else None for value in first]
    head = tag("tr", *(tag("th", n, scope="col", class_=kind) for n, kind in zip(content.headers, kinds, strict=True)))
    rows = [tag("tr", *map(_cell, row)) for row in content.rows]
    whole = tag("table", tag("thead", head), tag("tbody", *rows))
    note = tag("p", content.note, class_="note") if content.note else ""
    return tag("div", whole, note, class_="scroll", tabindex=0, role="region", aria_label=label)


def _cell(value: object) -> Html:
    if isinstance(value, float):
        return tag("td", number(value), class_="n", data_value=repr(value))
    if isinstance(value, int):
        return tag("td", value, class_="n")
    return tag("td", value if isinstance(value, Html) else tag("bdi", "" if value is None else value))
