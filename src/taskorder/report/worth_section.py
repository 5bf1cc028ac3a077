"""What each step leaves at the end, and what each entry of the table does to the outcome."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from taskorder.report.charts import MOST_BARS, Bar, column_chart, row_chart
from taskorder.report.markup import html, task
from taskorder.report.page import Figure, Names, Section, Table
from taskorder.report.parts import in_order, matrix_figure
from taskorder.report.plan_numbers import PlanNumbers, Surroundings, TaskTable
from taskorder.report.plan_sections import TIP
from taskorder.report.text import number, percent

TOP_PAIRS = 8
PRICES_SAID = 20
"""Constraints whose price is said."""
PAIR = 32
"""Characters that a name in a pair may have."""
MOST_PAIRS = 150
"""Pairs at either end of a table of pairs."""


def worth(numbers: PlanNumbers, table: TaskTable, around: Surroundings, names: Names) -> Section:
    """What each step leaves of the score; of an error, which entries of the table raise and lower it."""
    section = (
        _pairs(numbers, table, around, names) if around.left is None else _steps(numbers, around.left, around, names)
    )
    prices = around.comparison.prices
    if not prices:
        return section
    said = "; ".join(price.said(numbers.plan.objective) for price in prices[:PRICES_SAID])
    more = f"; and {len(prices) - PRICES_SAID} more" if len(prices) > PRICES_SAID else ""
    content = html("<p>Each constraint by itself, all others kept: {}.</p>", said + more)
    return replace(section, content=content)


def _steps(numbers: PlanNumbers, left: np.ndarray, around: Surroundings, names: Names) -> Section:
    order, rest = numbers.plan.order, numbers.plan.value - float(left.sum())
    rows = [
        Bar(f"{step}. {names[k]}", 0.0, float(part), "minus" if part < 0 else numbers.plan.rule,
            f"step {step}, {names[k][:TIP]}: {number(float(part))}")
        for step, (k, part) in enumerate(zip(order, left, strict=True), start=1)
    ]  # fmt: skip
    label = "What each step leaves of the mean knowledge at the end"
    chart = row_chart(rows, "part of the mean knowledge at the end")
    if len(rows) > MOST_BARS:
        chart = column_chart(rows, ("step of the plan", "part of the mean knowledge at the end"))
    cells = [[step, names[k], float(part)] for step, (k, part) in enumerate(zip(order, left, strict=True), start=1)]
    note = "" if abs(rest) < 1e-9 else f"Left of what was known before: {number(rest)}."
    steps = Figure(label, chart, Table(["step", "task", "part of the knowledge at the end"], cells, note))
    label = "Heat map of the derivative of the mean knowledge at the end for every entry of the transfer table"
    heat = matrix_figure(label, around.slopes, order, names, "derivative of the knowledge")
    last = float(left[-1]) / numbers.plan.value if numbers.plan.value > 1e-12 else 0.0
    words = html(
        "The parts add up to the prediction; the last task, {}, gives {} of it. Below, what each entry of the table is "
        "worth: at 0.05, a learner of the row's task that knew 0.1 more of the column's task would end with 0.005 more "
        "mean knowledge.",
        task(names[order[-1]][:TIP]), percent(last),
    )  # fmt: skip
    return Section("worth", "What each step is worth", words, figures=[steps, heat])


def _pairs(numbers: PlanNumbers, table: TaskTable, around: Surroundings, names: Names) -> Section:
    tasks = np.array(in_order(numbers.plan.order, len(names)))
    i, j = np.triu_indices(len(tasks), 1) if table.symmetric else np.nonzero(~np.eye(len(tasks), dtype=bool))
    first, second = tasks[i], tasks[j]
    slopes = around.slopes[first, second]
    ranked = np.argsort(-slopes, kind="stable")

    def cells_of(k: int) -> tuple[str, str, float, float]:
        a, b = first[k], second[k]
        return names[a], names[b], float(table.values[a, b]), float(slopes[k])

    def row(k: int) -> Bar:
        a, b, alike, slope = cells_of(k)
        tip = f"{a[:TIP]}\n{b[:TIP]}\n{table.name} {number(alike)}, derivative {number(slope)}"
        return Bar(f"{_cut(a)} · {_cut(b)}", 0.0, slope, "minus" if slope > 0 else "plus", tip)

    most = [k for k in ranked[:TOP_PAIRS].tolist() if slopes[k] > 0]
    least = [k for k in ranked[-TOP_PAIRS:].tolist() if slopes[k] < 0 and k not in most]
    rows = [row(k) for k in [*most, *least]] or [row(0)]
    # of very many pairs the table has those at either end
    whole = len(ranked) <= 2 * MOST_PAIRS
    chosen = ranked if whole else np.concatenate([ranked[:MOST_PAIRS], ranked[-MOST_PAIRS:]])
    note = "" if whole else f"The {MOST_PAIRS} highest and the {MOST_PAIRS} lowest of {len(ranked)} pairs."
    headers = ["earlier task", "later task"] if table.symmetric else ["task that is learned", "task that is tested"]
    label = f"The pairs whose {table.name} raises the final error most, and those whose {table.name} lowers it most"
    bars = Figure(
        label,
        row_chart(rows, f"change of the final error per unit of {table.name}"),
        Table([*headers, table.name, "derivative"], [cells_of(k) for k in chosen.tolist()], note),
    )
    label = f"Heat map of the derivative of the final error for the {table.name} of every two tasks"
    heat = matrix_figure(label, around.slopes, numbers.plan.order, names, "derivative of the final error", warm=True)
    what = (
        "the similarity of one pair (not the expansion around equal similarities that the theory of the rules uses). "
        "At 0.5, two tasks that were 0.01 more alike would leave 0.005 more error"
        if table.symmetric
        else "one entry of the transfer table. At 0.5, a learner of the first task that knew 0.01 more of the second "
        "would leave 0.005 more error"
    )
    words = html(
        "The exact derivative of the final error at this order for {}. The pairs on top cost you; those at the bottom "
        "help.", what,
    )  # fmt: skip
    return Section("worth", "Which pairs cost you", words, figures=[bars, heat])


def _cut(name: str) -> str:
    return name if len(name) <= PAIR else name[: PAIR - 1] + "…"
