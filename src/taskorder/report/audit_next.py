"""What to run next: a section of the pages of audits."""

from __future__ import annotations

from taskorder.audit.next_runs import BEST, NextRuns
from taskorder.checks import counted
from taskorder.report.markup import html
from taskorder.report.page import MAX_TEXT, MOST_LISTED, Section, Table
from taskorder.report.parts import table_html

EXTREMES = " The extremes by the law say how far the order may go, random orders how much it matters in general."


def next_section(planned: NextRuns) -> Section:
    """The orders to run, why, and with which seeds."""
    by_order: dict[str, list[str]] = {}
    for run in planned.runs:
        by_order.setdefault(run.order, []).append(f"{run.method}: {run.seed}" if run.method else run.seed)
    cells = [
        [
            k + 1,
            " → ".join(choice.order)[:MAX_TEXT],
            choice.why,
            ", ".join(by_order.get(">".join(choice.order), []))[:MAX_TEXT],
        ]
        for k, choice in enumerate(planned.orders[:MOST_LISTED])
    ]
    note = "" if len(planned.orders) <= MOST_LISTED else f"The first {MOST_LISTED} of {len(planned.orders)}."
    words = html(
        "{} to do. Then {} have the same {} for every method, and a test that all orders are alike sees a variance of "
        "orders {} times the rest ({}) in {} % of cases.{}",
        counted(len(planned.runs), "run"), counted(planned.num_orders, "order"), counted(planned.num_seeds, "seed"),
        f"{planned.ratio:.2g}", "as in the results" if planned.measured else "assumed", f"{100 * planned.power:.0f}",
        EXTREMES if any(choice.why == BEST for choice in planned.orders) else "",
    )  # fmt: skip
    content = table_html(Table(["", "order", "why", "seeds"], cells, note), "Runs to do next")
    return Section("next", "What to run next", words, content)
