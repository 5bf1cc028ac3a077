"""Plans and comparisons as rich tables; every function returns something to print and prints nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from taskorder.records import Comparison, Plan, RuleScore

OTHER_COLUMNS = 54
"""Characters that the comparison table needs beside its orders."""


def plan_table(plan: Plan, weights: Sequence[float]) -> Table:
    """One row a step: the task, the (weighted) error of all tasks after it, and what its own error is in the end."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("step", justify="right")
    table.add_column("task")
    table.add_column("total error after it", justify="right")
    table.add_column("own error at the end", justify="right")
    totals = np.asarray(plan.error_path) @ np.asarray(weights, dtype=np.float64)
    learned = plan.options.get("learned") or ()
    table.add_row("", Text("after the learned tasks" if learned else "before training"), f"{totals[0]:.4f}", "")
    for step, task in enumerate(plan.order, start=1):
        table.add_row(str(step), Text(plan.names[task]), f"{totals[step]:.4f}", f"{plan.task_errors[task]:.4f}")
    return table


def plan_lines(plan: Plan) -> list[str]:
    """The error, the proof, the time and the notes."""
    return plan.summary().splitlines()[1:]


def comparison_table(result: Comparison, width: int) -> Table:
    """One row a rule, best first, with the mean of random orders in its place; `width` characters where possible."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("rule", no_wrap=True)
    table.add_column("error", justify="right", no_wrap=True)
    table.add_column("x best", justify="right", no_wrap=True)
    table.add_column("random\nbelow it", justify="right", no_wrap=True)
    table.add_column("order", no_wrap=True)
    rows = [(score.error, _score_row(score, result, max(12, width - OTHER_COLUMNS))) for score in result.scores]
    mean = Text("mean over orders" if result.random_exact else "mean of random", style="italic")
    rows.append(
        (result.random_mean, (mean, f"{result.random_mean:.5g}", ratio(result.random_mean, result.best), "", Text("")))
    )
    for _, row in sorted(rows, key=lambda pair: pair[0]):
        table.add_row(*row)
    return table


def comparison_lines(result: Comparison) -> list[str]:
    """The spread of random orders, the notes, and the verdict."""
    which = f"all {result.random_count} orders" if result.random_exact else f"{result.random_count} random orders"
    spread = f"{which}: mean {result.random_mean:.6g}, standard deviation {result.random_std:.3g}"
    if not result.random_exact:
        spread += f", standard error of the mean {result.random_sem:.2g}"
    return [spread, *(f"note: {note}" for note in result.notes), result.verdict]


def ratio(error: float, best: float) -> str:
    """How many times the best error; a dash where the best is zero.

    >>> ratio(0.3, 0.2), ratio(0.3, 0.0)
    ('1.50', '-')
    """
    return f"{error / best:.2f}" if best > 1e-12 else "-"


def short_order(names: Sequence[str], order: Sequence[int], width: int) -> str:
    """The order as names in at most `width` characters: its ends, with the middle left out; --json has it whole.

    >>> short_order("ABC", [2, 0, 1], 20)
    'C A B'
    >>> short_order([f"T{i}" for i in range(30)], range(30), 30)
    'T0 T1 ... 26 more ... T28 T29'
    """
    shown = [names[task] for task in order]
    whole = " ".join(shown)
    if len(whole) <= width:
        return whole
    if len(shown) < 4:
        return f"{whole[: width - 3]}..."
    keep = 1
    while sum(len(name) + 1 for name in (*shown[: keep + 1], *shown[-keep - 1 :])) + len("... 99 more ...") <= width:
        keep += 1
    left_out = len(shown) - 2 * keep
    short = " ".join([*shown[:keep], f"... {left_out} more ...", *shown[-keep:]])
    if len(short) > width:
        short = f"{shown[0]} ... {shown[-1]}"
    return short if len(short) <= width else f"{short[: width - 3]}..."


def _score_row(score: RuleScore, result: Comparison, width: int) -> tuple[Text, str, str, str, Text]:
    name = f"{score.rule} (proven)" if score.proven else score.rule
    return (
        Text(name, style="bold" if score.rule == "optimal" else ""),
        f"{score.error:.5g}",
        ratio(score.error, result.best),
        f"{100 * score.quantile:.1f} %",
        Text(short_order(result.names, score.order, width)),
    )
