"""Plans, comparisons and simulations as rich tables; every function returns something to print and prints nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich import box
from rich.cells import cell_len, set_cell_size
from rich.table import Table
from rich.text import Text

from taskorder.checks import counted
from taskorder.records import Comparison, Plan, RuleScore, Simulation
from taskorder.visible import visible

GAP = 3
"""Blanks between two columns."""
NARROWEST = 8
"""A folded column keeps this many characters; on a terminal too narrow even for that, the terminal breaks the lines."""
ORDERS_FROM = 100
"""Narrower comparisons leave the orders out."""

Row = Sequence[str | Text]


def plan_table(plan: Plan, weights: Sequence[float], width: int | None = None) -> Table:
    """One row a step: the task, the (weighted) mean knowledge or sum of errors of all tasks after it, and what is known
    of it in the end.

    Where `width` characters are too few, long names go on over several lines; nothing is cut.
    """
    importance = np.asarray(weights, dtype=np.float64)
    if plan.objective == "score":
        totals, own = np.asarray(plan.knowledge_path) @ importance / importance.sum(), plan.knowledge
    else:
        totals, own = np.asarray(plan.error_path) @ importance, plan.task_errors
    learned = plan.options.get("learned") or ()
    rows = [("", "after the learned tasks" if learned else "before training", f"{totals[0]:.4f}", "")]
    rows += [
        (str(step), plan.names[task], f"{totals[step]:.4f}", f"{own[task]:.4f}")
        for step, task in enumerate(plan.order, start=1)
    ]
    whole, single = ("mean knowledge", "known") if plan.objective == "score" else ("total error", "own error")
    headers = ["step", "task", f"{whole} after it", f"{single} at the end"]
    if width is not None and _total(_widths([headers, *rows])) > width:
        headers[2:] = f"{whole}\nafter it", f"{single}\nat the end"
    return folded_table(headers, rows, "task", width)


def plan_lines(plan: Plan) -> list[str]:
    """The summary without the order, which the table shows."""
    return [line for line in plan.summary().splitlines() if not line.startswith("order ")]


def comparison_table(result: Comparison, width: int) -> Table:
    """One row a rule, best first, with the mean of random orders in its place; `width` characters where possible."""
    sign = -1 if result.objective == "score" else 1
    scored = [(sign * score.value, _score_row(score, result), score.order) for score in result.scores]
    mean = Text("mean over orders" if result.random_exact else "mean of random", style="italic")
    mean_row: Row = mean, f"{result.random_mean:.5g}", share_of_lead(result.random_mean, result), ""
    scored.append((sign * result.random_mean, mean_row, ()))
    scored.sort(key=lambda entry: entry[0])
    headers = ["rule", result.objective, "of lead", "percentile"]
    rows = [row for _, row, _ in scored]
    if width < ORDERS_FROM:
        return folded_table(headers, rows, "rule", width)
    left = max(12, width - _total(_widths([headers, *rows])) - GAP)
    rows = [(*row, short_order(result.names, order, left)) for _, row, order in scored]
    return folded_table([*headers, "order"], rows, "rule", width)


def comparison_lines(result: Comparison, width: int) -> list[str]:
    """Where the orders are if not in the table, the spread of random orders, the notes, and the verdict."""
    lines = [] if width >= ORDERS_FROM else ["orders: see --json or a wider terminal"]
    which = f"all {result.random_count} orders" if result.random_exact else f"{result.random_count} random orders"
    if result.random_count == 1:
        which = "the only order"
    mean, deviation = f"mean {result.random_mean:.6g}", f"standard deviation {result.random_std:.3g}"
    spread = f"{which} at retention {result.retention:.3g}: {mean}, {deviation}"
    if not result.random_exact:
        spread += f", standard error of the mean {result.random_sem:.2g}"
    prices = [f"price: {price.said(result.objective)}" for price in result.prices]
    return [
        *lines,
        spread,
        *_other_retentions(result),
        *prices,
        *(f"note: {note}" for note in result.notes),
        result.verdict,
    ]


def _other_retentions(result: Comparison) -> list[str]:
    """How the rules fare with learners that keep less or more, and where the best order changes."""
    lines = []
    for other in result.at_retention:
        shares = ", ".join(f"{rule} {100 * share:.0f} %" for rule, share in other.shares.items())
        lines.append(f"retention {other.retention:g}: of the lead of the best order over a random one, {shares}")
    if len(result.best_orders) > 1:
        starts = ", ".join(f"{part.low:g}" for part in result.best_orders[1:])
        lines.append(f"the best order changes at a retention of about {starts}")
    elif result.best_orders:
        lines.append(f"one order is the best at {result.reach}")
    return lines


def simulation_table(result: Simulation, width: int | None) -> Table:
    """One row a task in the order of training, tasks that were never trained below, and the sum."""
    stopped = _stops_early(result)
    headers = ["step", "task", "simulated", "+-", "closed form", *(["stopped"] if stopped else [])]

    def row(step: str, name: str, mean: float, sem: float | None, closed: float, early: float) -> Row:
        spread = "" if sem is None else f"{sem:.4f}"
        return (step, name, f"{mean:.4f}", spread, f"{closed:.4f}", *([f"{early:.4f}"] if stopped else []))

    last = {task: str(step) for step, task in enumerate(result.order, start=1)}
    shown = sorted(range(len(result.names)), key=lambda task: int(last.get(task, len(result.order) + 1)))
    rows = []
    for task in shown:
        errors = result.per_task[task]
        values = errors.simulated_mean, errors.simulated_sem, errors.closed_form, errors.stopped_form
        rows.append(row(last.get(task, ""), errors.name, *values))
    total = result.simulated_mean, result.simulated_sem, result.closed_form, result.stopped_form
    return folded_table(headers, [*rows, row("", "sum", *total)], "task", width)


def simulation_lines(result: Simulation) -> list[str]:
    """How it was made, and what explains a difference from the closed form."""
    steps = "to convergence" if result.steps is None else f"{result.steps} x {result.learning_rate:g} steps a task"
    sizes = f"N_s = {result.num_latent}, N_x = {result.num_inputs}, N_y = {result.num_outputs}"
    seeds = counted(result.num_seeds, "seed")
    lines = [f"{seeds} from {result.seed}; {steps}; {sizes}"]
    if result.finite_form is not None and not _stops_early(result):
        lines.append(
            f"closed form {result.closed_form:.4g}; corrected for finite N_x {result.finite_form:.4g} (first order in "
            f"N_s / N_x = {result.num_latent / result.num_inputs:.3g}); simulated {result.simulated_mean:.4g}"
        )
    return [*lines, *(f"note: {note}" for note in result.notes)]


def _stops_early(result: Simulation) -> bool:
    """Whether the number of steps makes a visible difference to the theory."""
    return abs(result.stopped_form - result.closed_form) > 0.005 * max(result.closed_form, 1e-4)


def share_of_lead(value: float, result: Comparison) -> str:
    """The share of the best order's lead over a random one; a dash where there is no lead."""
    lead = result.best - result.random_mean
    total = max(abs(result.best), abs(result.random_mean))
    return f"{100 * (value - result.random_mean) / lead:.0f} %" if abs(lead) > 1e-12 * total else "-"


def short_order(names: Sequence[str], order: Sequence[int], width: int) -> str:
    """The order as names in at most `width` characters: its ends, with the middle left out; --json has it whole.

    >>> short_order("ABC", [2, 0, 1], 20)
    'C A B'
    >>> short_order([f"T{i}" for i in range(30)], range(30), 30)
    'T0 T1 ... 26 more ... T28 T29'
    """
    shown = [visible(names[task]) for task in order]
    whole = " ".join(shown)
    if cell_len(whole) <= width:
        return whole
    if len(shown) < 4:
        return f"{set_cell_size(whole, width - 3)}..."
    keep = 1
    while cell_len(" ".join((*shown[: keep + 1], "... 99 more ...", *shown[-keep - 1 :]))) <= width:
        keep += 1
    left_out = len(shown) - 2 * keep
    short = " ".join([*shown[:keep], f"... {left_out} more ...", *shown[-keep:]])
    if cell_len(short) > width:
        short = f"{shown[0]} ... {shown[-1]}"
    return short if cell_len(short) <= width else f"{set_cell_size(short, width - 3)}..."


def _score_row(score: RuleScore, result: Comparison) -> Row:
    state = " (proven)" if score.proven else "" if score.complete else " (unfinished)"
    name = Text(score.rule + state, style="bold" if score.rule == "optimal" else "")
    return name, f"{score.value:.5g}", share_of_lead(score.value, result), f"{100 * score.quantile:.1f} %"


def plain_table(headers: Sequence[str], rows: Sequence[Row], left: Sequence[str]) -> Table:
    """A table of whole cells; the columns `left` are text, the others numbers."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in headers:
        table.add_column(header, justify="left" if header in left else "right", no_wrap=True)
    for row in map(_visible, rows):
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def folded_table(headers: Sequence[str], rows: Sequence[Row], folded: str, width: int | None) -> Table:
    """Text columns (`folded` and the order) to the left, numbers to the right; only `folded` gives way to `width`."""
    rows = [*map(_visible, rows)]
    widths = _widths([headers, *rows])
    column = headers.index(folded)
    if width is not None:
        size = widths[column] - max(0, _total(widths) - width)
        widths[column] = min(widths[column], max(NARROWEST, size))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header, size in zip(headers, widths, strict=True):
        side = "left" if header in (folded, "order") else "right"
        table.add_column(header, justify=side, no_wrap=header != folded, overflow="fold", width=size)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def _visible(row: Row) -> Row:
    """A row whose names a terminal shows as they are."""
    return [visible(cell) if isinstance(cell, str) else cell for cell in row]


def _widths(rows: Sequence[Row]) -> list[int]:
    return [
        max(cell_len(line) for cell in column for line in str(cell).split("\n")) for column in zip(*rows, strict=True)
    ]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)
