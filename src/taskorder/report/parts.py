"""Parts that pages share: the order as a path, and tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taskorder.checks import Floats
from taskorder.report.figures.axes import number
from taskorder.report.figures.heat import Grid, heat_map
from taskorder.report.figures.lines import thinned
from taskorder.report.figures.places import path_map
from taskorder.report.markup import Html, html, join, tag, task
from taskorder.report.page import Figure, Table

WHOLE_ORDER = 60
"""Longer orders show their ends; the rest unfolds."""
ENDS = 12
MOST_ROWS = 500
FULL_MATRIX = 30
"""Matrices up to this size stand in a table; of larger ones, the extreme pairs."""
PAIRS = 25


def order_path(order: Sequence[int], names: Sequence[str], learned: Sequence[str] = ()) -> Html:
    """The order as a labeled path that wraps; a long one shows its ends and unfolds."""
    stops = [tag("li", tag("span", tag("b", step), task(names[one]))) for step, one in enumerate(order, start=1)]
    before = html('<p class="words">Learned before: {}.</p>', join(map(task, learned), ", ")) if learned else Html("")
    if len(stops) <= WHOLE_ORDER:
        return join([before, tag("ol", *stops, class_="order")])
    gap = tag("li", tag("span", f"{len(stops) - 2 * ENDS} more", class_="gap"), aria_hidden="true")
    short = tag("ol", *stops[:ENDS], gap, *stops[-ENDS:], class_="order")
    return join([before, short, tag("details", tag("summary", "The whole order"), tag("ol", *stops, class_="order"))])


def sentence_order(order: Sequence[int], names: Sequence[str]) -> Html:
    """The order within a sentence: all of it while it is short."""
    if sum(len(names[one]) + 3 for one in order) <= 260:
        return join([task(names[one]) for one in order], " → ")
    first, last = (task(names[one][:80]) for one in (order[0], order[-1]))
    return html("{} first, … , {} last", first, last)


def swatch(rule: str, said: str) -> Html:
    """The name of a rule after a dot of its color."""
    return html('<span class="swatch s-{}" aria-hidden="true"></span>{}', rule, said)


def heat_figure(key: str, cells: Grid, label: str, unit: str, table: Table) -> Figure:
    """A heat map with the table behind it."""
    return Figure(label, lambda width: heat_map(key, cells, width, label, unit), table)


def map_figure(places: Floats, order: Sequence[int], names: Sequence[str], whose: str) -> Figure:
    """The map of the tasks with the path of an order, and where each task lies; tasks of no step come first."""
    steps = {one: step for step, one in enumerate(order, start=1)}
    rows = [[steps.get(one), names[one], *place] for one, place in enumerate(places.tolist())]
    rows.sort(key=lambda row: row[0] or 0)
    label = f"Map of {counted(len(names), 'task')} with the path of {whose} drawn on it"
    behind = Table(["step", "task", "x", "y"], rows)
    return Figure(label, lambda width: path_map(places, order, names, width, label), behind)


def counted(number_of: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "task"), counted(2, "task")
    ('1 task', '2 tasks')
    """
    return f"{number_of} {what}" if number_of == 1 else f"{number_of} {what}s"


def matrix_table(values: Floats, order: Sequence[int], names: Sequence[str], what: str) -> Table:
    """The whole matrix in plan order where that can be read, else its extreme pairs."""
    if len(order) <= FULL_MATRIX:
        rows = [[names[a], *(float(values[a, b]) for b in order)] for a in order]
        return Table(["task", *(names[one] for one in order)], rows)
    n = len(order)
    i, j = np.triu_indices(n, 1)
    pairs = values[np.ix_(order, order)][i, j]
    ranked = np.argsort(-pairs, kind="stable")
    chosen = [*ranked[:PAIRS].tolist(), *ranked[-PAIRS:].tolist()]
    rows = [[names[order[i[k]]], names[order[j[k]]], float(pairs[k])] for k in chosen]
    return Table(["task", "task", what], rows, f"The {PAIRS} highest and the {PAIRS} lowest of {len(pairs)} pairs.")


def step_table(headers: Sequence[str], columns: Sequence[Sequence[object]], total: int) -> Table:
    """One row a step; of very many steps, every k-th."""
    kept = thinned(total, MOST_ROWS)
    rows = [[column[i] if i < len(column) else None for column in columns] for i in kept]
    return Table(headers, rows, "" if len(kept) == total else f"{len(kept)} of {total} rows, evenly spaced.")


def table(found: Table, label: str) -> Html:
    """A table that scrolls by itself where it is wider than the page."""
    first = found.rows[0] if found.rows else [""] * len(found.headers)
    kinds = ["n" if isinstance(value, int | float) else None for value in first]
    head = tag("tr", *(tag("th", n, scope="col", class_=kind) for n, kind in zip(found.headers, kinds, strict=True)))
    rows = [tag("tr", *map(_cell, row)) for row in found.rows]
    whole = tag("table", tag("thead", head), tag("tbody", *rows))
    note = tag("p", found.note, class_="note") if found.note else ""
    return tag("div", whole, note, class_="scroll", tabindex=0, role="region", aria_label=label)


def _cell(value: object) -> Html:
    if isinstance(value, float):
        return tag("td", number(value), class_="n", data_value=repr(value))
    if isinstance(value, int):
        return tag("td", value, class_="n")
    return tag("td", value if isinstance(value, Html) else tag("bdi", "" if value is None else value))
