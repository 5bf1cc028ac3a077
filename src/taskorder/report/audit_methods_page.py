"""An audit of several methods in words and figures: who wins, and does the order change it?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from taskorder._version import __version__
from taskorder.audit.method_pairs import MethodPair
from taskorder.audit.method_words import flips_text, paired_over
from taskorder.audit.methods import MethodAudit
from taskorder.audit.verdict import order_share, p_value, points, share_text
from taskorder.checks import counted
from taskorder.report.audit_next import next_section
from taskorder.report.charts import MOST_BARS, Bar, Mark, ranking, row_chart
from taskorder.report.markup import html, tag, task
from taskorder.report.page import MAX_TEXT, MOST_LISTED, Fact, Figure, Page, Section, Table
from taskorder.report.parts import table_html

UNKNOWN = "unknown"
MOST_FIGURES = 4
"""Pairs whose orders are drawn; those in which most orders have the other winner come first."""


def audit_methods_page(audit: MethodAudit, title: str, made: dict[str, str]) -> Page:
    """The page of an audit of several methods; `made` says what was read and with which options."""
    sections = [_methods(audit), _pairs(audit)]
    if audit.num_orders > 1 or any(pair.num_orders > 1 for pair in audit.pairs):
        sections.append(_orders(audit))
    sections.append(_each(audit))
    if audit.next_runs is not None:
        sections.append(next_section(audit.next_runs))
    return Page(
        title=title,
        answer=html("{}", audit.verdict),
        facts=_facts(audit),
        sections=sections,
        confidence=_confidence(audit),
        warnings=(),
        notes=audit.notes,
        made={**made, "Version": f"taskorder {__version__}"},
        numbers=_numbers(audit),
    )


def _numbers(audit: MethodAudit) -> dict[str, Any]:
    """Plain JSON values; of very many orders only the ends of each list."""
    data, left_out = asdict(audit), []
    for pair in data["pairs"]:
        if len(pair["gaps"]) > MOST_LISTED:
            pair["gaps"] = _ends(pair["gaps"])
            left_out = ["audit.pairs[].gaps but the ends"]
    for score in data["methods"]:
        if len(score["audit"]["orders"]) > MOST_LISTED:
            score["audit"]["orders"] = score["audit"]["orders"][:MOST_LISTED]
            left_out = [*left_out, f"audit.methods[].audit.orders after the best {MOST_LISTED}"][:2]
    return {"kind": "method audit", "audit": data, "left_out": left_out}


def _ends(values: list[Any]) -> list[Any]:
    return [*values[: MOST_LISTED // 2], *values[-MOST_LISTED // 2 :]]


def _facts(audit: MethodAudit) -> list[Fact]:
    best, top = audit.methods[0], audit.pairs[0]
    facts = [Fact("Best mean", best.method[:MAX_TEXT], f"{share_text(best.mean)} over {_orders_said(audit)}")]
    if top.low is not None and top.high is not None:
        between = f"points ahead of {top.second[:MAX_TEXT]}; {points(top.low)} to {points(top.high)} (95 %)"
        facts.append(Fact("Difference", points(top.difference), between))
    if top.num_orders > 1:
        behind = (
            f"of orders with {top.second[:MAX_TEXT]} ahead; {share_text(top.flips_low)} to {share_text(top.flips_high)}"
        )
        facts.append(Fact("The other winner in", share_text(top.flips), behind))
    return facts


def _orders_said(audit: MethodAudit) -> str:
    return counted(audit.num_orders, "common order") if audit.num_orders else "its own orders"


def _methods(audit: MethodAudit) -> Section:
    cells = [
        [score.method[:MAX_TEXT], score.mean, f"{score.best_in} of {audit.num_orders}",
         order_share(score.audit) or UNKNOWN, score.audit.num_orders, score.audit.num_runs]
        for score in audit.methods
    ]  # fmt: skip
    headers = ["method", "accuracy", "best in orders", "order's share of the variance", "orders", "runs"]
    words = html(
        "Final average accuracy over {}, best first, and how much of the variance within each method is the order.",
        _orders_said(audit),
    )
    return Section("methods", "The methods", words, table_html(Table(headers, cells), "The methods"))


def _pairs(audit: MethodAudit) -> Section:
    rows = [
        Bar(_pair_name(pair), 0.0, pair.difference, "optimal" if _is_clear(pair) else "random", _tip(pair),
            None if pair.low is None or pair.high is None else (pair.low, pair.high))
        for pair in audit.pairs[:MOST_BARS]
    ]  # fmt: skip
    label = "Difference of final average accuracy between every two methods, with 95 % intervals"
    headers = ["first", "second", "difference", "from", "to", "p", "Hedges' g", "paired over", "second ahead in",
               "clearly ahead: first", "second", "same in every order: p"]  # fmt: skip
    cells = [
        [pair.first[:MAX_TEXT], pair.second[:MAX_TEXT], pair.difference,
         *_known(pair.low, pair.high, pair.p_holm, pair.effect), paired_over(pair), flips_text(pair),
         *((pair.clear_wins, pair.clear_losses) if pair.interaction else (UNKNOWN, UNKNOWN)),
         *_known(pair.interaction_p_holm)]
        for pair in audit.pairs[:MOST_LISTED]
    ]  # fmt: skip
    figure = Figure(label, row_chart(rows, "first minus second"), Table(headers, cells))
    words = html(
        "Every two methods in the orders and seeds that both have, the better one first. The lines are 95 % intervals "
        "for new orders and new seeds. Green: beyond chance at 5 %{}.",
        "" if len(audit.pairs) == 1 else f", with Holm's correction for {len(audit.pairs)} pairs",
    )
    return Section("pairs", "Who wins", words, figures=[figure])


def _orders(audit: MethodAudit) -> Section:
    by_flips = sorted((pair for pair in audit.pairs if pair.num_orders > 1), key=_reversal, reverse=True)
    lines = [
        html("{} and {}: {}", task(p.first[:MAX_TEXT]), task(p.second[:MAX_TEXT]), _order_said(p)) for p in by_flips
    ]
    words = html(
        "In how many orders the worse of two methods is ahead. Noise alone makes some of that: where every order has "
        "two seeds or more, it says how much, and which orders are clearly one way or the other (t-tests, 5 % after "
        "Holm's correction for all orders of a pair).{}",
        "" if len(by_flips) <= MOST_FIGURES else f" Drawn: the {MOST_FIGURES} pairs with most such orders.",
    )
    content = tag("ul", *(tag("li", line) for line in lines[:MOST_LISTED]))
    return Section(
        "orders", "Does the order change who wins?", words, content, [_gaps(p) for p in by_flips[:MOST_FIGURES]]
    )


def _order_said(pair: MethodPair) -> str:
    said = f"{pair.second} is ahead in {flips_text(pair)}."
    if pair.interaction is None or pair.interaction_p_holm is None:
        return said
    return (
        f"{said} Clearly ahead: {pair.first} in {pair.clear_wins}, {pair.second} in {pair.clear_losses}. "
        f"The same difference in every order: {p_value(pair.interaction_p_holm)}."
    )


def _gaps(pair: MethodPair) -> Figure:
    """The difference in every order."""
    label = f"{pair.first[:MAX_TEXT]} minus {pair.second[:MAX_TEXT]} in {counted(len(pair.gaps), 'order')}"
    looks = {True: "optimal", False: "random", None: "random"}
    names = [gap.order.replace(">", " → ")[:MAX_TEXT] for gap in pair.gaps]
    tips = [f"{name}: {points(gap.difference)} points" for name, gap in zip(names, pair.gaps, strict=True)]
    if len(pair.gaps) > MOST_BARS:
        mean = f"mean over orders: {points(pair.difference)} points"
        marks = [
            Mark("no difference", "reference", 0.0, "both methods alike"),
            Mark("mean", "optimal", pair.difference, mean),
        ]
        titles = (f"rank of the order (1: best for {pair.first[:MAX_TEXT]})", _pair_name(pair))
        chart = ranking(np.array([gap.difference for gap in pair.gaps]), marks, titles)
    else:
        rows = [
            Bar(name, 0.0, gap.difference, looks[gap.clear], tip)
            for name, gap, tip in zip(names, pair.gaps, tips, strict=True)
        ]
        chart = row_chart(rows, _pair_name(pair))
    clear = {True: "yes", False: "no", None: UNKNOWN}
    cells = [[name, gap.difference, clear[gap.clear]] for name, gap in zip(names, pair.gaps, strict=True)]
    few = len(cells) <= MOST_LISTED
    note = "" if few else f"The {MOST_LISTED // 2} best and the {MOST_LISTED // 2} worst for the first."
    return Figure(label, chart, Table(["order", _pair_name(pair), "clear"], cells if few else _ends(cells), note))


def _each(audit: MethodAudit) -> Section:
    """What the order does to each method alone."""
    lines = [html("{}: {}", task(score.method[:MAX_TEXT]), score.audit.verdict) for score in audit.methods]
    words = html("Each method audited alone; for its page choose it with --where.")
    return Section("each", "What the order does to each method", words, tag("ul", *(tag("li", line) for line in lines)))


def _confidence(audit: MethodAudit) -> list[str]:
    lines = [
        "Differences are tested in a two-way table of orders and seeds, both random: the intervals hold for new orders "
        "like those that were run, and new seeds. With one common seed an order, orders are the pairs of a t-test, "
        "which says nothing of other seeds."
    ]
    if len(audit.pairs) > 1:
        lines.append(f"All p-values have Holm's correction for {len(audit.pairs)} pairs of methods.")
    lines.append("Intervals of shares of orders are those of Jeffreys.")
    return lines


def _pair_name(pair: MethodPair) -> str:
    return f"{pair.first} minus {pair.second}"[:MAX_TEXT]


def _tip(pair: MethodPair) -> str:
    p = "" if pair.p_holm is None else f", {p_value(pair.p_holm)}"
    return f"{_pair_name(pair)}: {points(pair.difference)} points{p}"


def _is_clear(pair: MethodPair) -> bool:
    return pair.p_holm is not None and pair.p_holm < 0.05


def _reversal(pair: MethodPair) -> tuple[int, float]:
    return min(pair.clear_wins, pair.clear_losses), pair.flips


def _known(*values: float | None) -> list[object]:
    return [UNKNOWN if value is None else value for value in values]
