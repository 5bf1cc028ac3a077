"""What a plan is worth where the learner keeps less or more than was assumed."""

from __future__ import annotations

from taskorder.records import AtRetention, Comparison
from taskorder.report.charts import Bar, row_chart
from taskorder.report.markup import Html, html, join, tag, task
from taskorder.report.measure import measure_of
from taskorder.report.page import MAX_TEXT, Figure, Names, Section, Table
from taskorder.report.plan_numbers import PlanNumbers, Surroundings
from taskorder.report.text import number, percent

MOST_RANGES = 8
"""Ranges of retention that are listed with their best order; of more, it is said at which retentions it changes."""


def other_retentions(numbers: PlanNumbers, around: Surroundings, names: Names) -> list[Section]:
    """What this order and the rules earn with learners that keep less or more; nothing where that is not known."""
    found = around.comparison.at_retention
    if not found:
        return []
    shares = [_share(value, other) for value, other in zip(around.elsewhere, found, strict=True)]
    rows = [
        Bar(keeps(other.retention), 0.0, share, "minus" if share < 0 else numbers.plan.rule,
            f"{keeps(other.retention)}: {percent(share)} of the best order's lead over a random order")
        for share, other in zip(shares, found, strict=True)
    ]  # fmt: skip
    rules = [rule for rule in found[0].shares if rule != numbers.plan.rule]
    headers = ["retention", "objective", "this order", "best order", "random order", "share of the best order's lead"]
    cells = [
        [other.retention, other.objective, value, other.value, other.random_mean, share,
         *(other.shares[rule] for rule in rules), order_text(other.order, names)]
        for value, other, share in zip(around.elsewhere, found, shares, strict=True)
    ]  # fmt: skip
    behind = Table([*headers, *(f"{rule}, share" for rule in rules), "best order there"], cells)
    label = "Share of the best order's lead over a random order that this order earns at other retentions"
    figure = Figure(label, row_chart(rows, "share of the best order's lead over a random order"), behind)
    said = ", ".join(
        f"{percent(share)} where it {keeps(other.retention)}" for share, other in zip(shares, found, strict=True)
    )
    made = (
        "The plan is for a learner that"
        if numbers.plan.confidence is None
        else "Orders were compared as if the learner"
    )
    words = html(
        "{} {}. Of what the best order would earn over a random one, this order earns {}.",
        made,
        numbers.plan.keeps,
        said,
    )
    return [
        Section(
            "retention", "If your learner keeps less or more", words, order_ranges(around.comparison, names), [figure]
        )
    ]


def _share(value: float, other: AtRetention) -> float:
    better = measure_of(other.objective).better
    lead = better * (other.value - other.random_mean)
    return better * (value - other.random_mean) / lead if lead > 1e-12 else 0.0


def keeps(retention: float) -> str:
    """What a learner does, in words."""
    return "keeps everything (the paper's theory)" if retention == 1 else f"keeps {percent(retention)}"


def order_ranges(comparison: Comparison, names: Names) -> Html:
    """Where the best order changes."""
    ranges = comparison.best_orders
    if len(ranges) < 2:
        return html('<p class="words">The best order is the same at {}.</p>', comparison.reach) if ranges else Html("")
    if len(ranges) > MOST_RANGES:
        changes = ", ".join(number(each.low) for each in ranges[1:])
        return html('<p class="words">The best order changes at a retention of about {}.</p>', changes)
    items = [tag("li", f"{_range(each.low, each.high)}: ", task(order_text(each.order, names))) for each in ranges]
    return join([html('<p class="words">The best order by retention:</p>'), tag("ul", *items)])


def _range(low: float, high: float) -> str:
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def order_text(order: tuple[int, ...], names: Names) -> str:
    """An order in a cell of a table."""
    text = " → ".join(names[k] for k in order)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
