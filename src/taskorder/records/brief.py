"""Records in a few lines of text: what Python prints for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from taskorder.checks import counted

if TYPE_CHECKING:
    from taskorder.records.comparison import Comparison
    from taskorder.records.plan import Plan

MOST_STEPS = 8
"""A longer order shows its first and its last tasks."""
MOST_CHARACTERS = 24
"""Of a name."""
MOST_RULES = 4
MOST_SAID = 3
"""Prices of constraints."""


def brief_name(name: str) -> str:
    """The name, cut where it is long.

    >>> brief_name("ants"), brief_name("a name that does not come to an end")
    ('ants', 'a name that does not co…')
    """
    return name if len(name) <= MOST_CHARACTERS else name[: MOST_CHARACTERS - 1] + "…"


def brief_order(names: Sequence[str]) -> str:
    """An order as text, without its middle where it is long.

    >>> brief_order("ABC"), brief_order("ABCDEFGHIJKL")
    ('A -> B -> C', 'A -> B -> C -> D -> ... -> J -> K -> L')
    """
    shown = [brief_name(name) for name in names]
    if len(shown) > MOST_STEPS:
        shown = [*shown[:4], "...", *shown[-3:]]
    return " -> ".join(shown)


def brief_plan(plan: Plan) -> list[str]:
    """The order, what to expect of it, how sure that is, and what more `summary` has to say."""
    lines = [
        f"Plan of {counted(len(plan.names), 'task')}: {brief_order(plan.named_order) or 'nothing is left to learn'}"
    ]
    if plan.prediction is None:
        known = "proven" if plan.proven else "not proven"
        lines.append(f"{plan.objective} {plan.value:.4g}, {known}; rule {plan.rule}; the learner {plan.keeps}")
    else:
        lines.append(" ".join(plan.prediction.lines()[0].split()))
    if plan.confidence is not None:
        sure = plan.confidence
        lines.append(f"{sure.verdict}: {100 * sure.beats_random:.0f} % likely to beat a random order")
    more = [counted(len(texts), noun) for noun, texts in (("warning", plan.warnings), ("note", plan.notes)) if texts]
    return [*lines, f"{', '.join(more)}: see summary()"] if more else lines


def at_the_end(plan: Plan) -> tuple[str, Sequence[float], list[str]]:
    """What is expected of the tasks at the end: the unit, the values by task index, and how they are said."""
    prediction, lows, highs = plan.prediction, None, None
    if prediction is not None:
        unit, values, lows, highs = prediction.unit, prediction.tasks, prediction.tasks_low, prediction.tasks_high
    elif plan.objective == "score":
        unit, values = "knowledge", plan.knowledge
    else:
        unit, values = "error", plan.task_errors
    said = [f"{value:.3g}" if unit == "error" else f"{100 * value:.0f} %" for value in values]  # all others are shares
    for task, (low, high) in enumerate(zip(lows or (), highs or (), strict=True)):
        said[task] += f" [{100 * low:.0f}, {100 * high:.0f}]"
    return unit, values, said


def brief_comparison(comparison: Comparison) -> list[str]:
    """The verdict, and the best rules beside random orders."""
    title = f"Comparison of {counted(len(comparison.scores), 'rule')} on {counted(len(comparison.names), 'task')}"
    best = [f"{score.rule} {score.value:.4g}" for score in comparison.scores[:MOST_RULES]]
    rest = ", ..." if len(comparison.scores) > MOST_RULES else ""
    random = f"random orders {comparison.random_mean:.4g} +- {comparison.random_std:.2g}"
    prices = [price.said(comparison.objective) for price in comparison.prices]
    values = f"{comparison.objective}: {', '.join(best)}{rest}; {random}"
    return [title, comparison.verdict, values, *(["; ".join(some_prices(prices))] if prices else [])]


def some_prices(prices: Sequence[str]) -> list[str]:
    """What the first constraints cost, and how many more there are."""
    more = len(prices) - MOST_SAID
    return [*prices[:MOST_SAID], *([f"{counted(more, 'more constraint')}"] if more > 0 else [])]
