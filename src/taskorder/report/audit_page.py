"""An order audit in words and figures: how much of the accuracy is the order, and what a fair comparison needs."""

from __future__ import annotations

import numpy as np

from taskorder._version import __version__
from taskorder.audit.comparisons import PairTest
from taskorder.audit.verdict import LABELS, p_value, points, share_text
from taskorder.checks import counted
from taskorder.report.audit_model import model_section
from taskorder.report.audit_next import next_section
from taskorder.report.audit_numbers import AuditNumbers
from taskorder.report.charts import MOST_BARS, Bar, Mark, column_chart, ranking, row_chart
from taskorder.report.markup import Html, html, tag, task
from taskorder.report.page import MAX_TEXT, MOST_LISTED, Fact, Figure, Page, Section, Table
from taskorder.report.parts import table_html
from taskorder.report.text import number

OVER = "over a million"
SOURCE_COLORS = {"order": "optimal", "seed": "core-to-periphery", "rest": "reference"}
"""Which color a source of variance has."""


def audit_page(numbers: AuditNumbers, title: str, made: dict[str, str]) -> Page:
    """The page of an audit; `made` says what was read and with which options."""
    audit = numbers.audit
    sections = [_variance(numbers)] if audit.components else []
    sections.append(_orders(numbers))
    sections += [model_section(numbers)] if audit.model is not None else []
    sections += [_disparity(numbers)] if audit.disparity else []
    sections += [_regret(numbers)] if audit.regret is not None or audit.pairs else []
    sections += [_power(numbers)] if audit.needs is not None else []
    sections += [next_section(audit.next_runs)] if audit.next_runs is not None else []
    return Page(
        title=title,
        answer=html("{}", audit.verdict),
        facts=_facts(numbers),
        sections=sections,
        confidence=_confidence(numbers),
        warnings=(),
        notes=audit.notes,
        made={**made, "Design": _design(numbers), "Version": f"taskorder {__version__}"},
        numbers=numbers.to_dict(),
    )


def _facts(numbers: AuditNumbers) -> list[Fact]:
    audit = numbers.audit
    facts = [Fact("Accuracy", share_text(audit.mean), f"mean of {counted(audit.num_runs, 'run')} after the last task")]
    for part in audit.components:
        if part.source != "rest":
            detail = f"of the variance; {share_text(part.share_low)} to {share_text(part.share_high)} (95 %)"
            facts.append(Fact(f"Due to the {part.source}", share_text(part.share), detail))
    if audit.num_orders > 1:
        gap = points(audit.orders[0].mean - audit.orders[-1].mean)
        facts.append(Fact("Best to worst", gap, f"points, over {counted(audit.num_orders, 'order')}"))
    return facts


def _variance(numbers: AuditNumbers) -> Section:
    parts = numbers.audit.components
    rows = [
        Bar(LABELS[part.source], 0.0, part.share, SOURCE_COLORS[part.source],
            f"{LABELS[part.source]}: {share_text(part.share)} "
            f"({share_text(part.share_low)} to {share_text(part.share_high)})",
            (part.share_low, part.share_high))
        for part in parts
    ]  # fmt: skip
    label = "Share of the variance of the final average accuracy from each source, with 95 % intervals"
    cells = [
        [LABELS[part.source], part.share, part.share_low, part.share_high, part.variance**0.5, part.variance]
        for part in parts
    ]
    behind = Table(["source", "share", "from", "to", "standard deviation", "variance"], cells)
    figure = Figure(label, row_chart(rows, "share of the variance"), behind)
    words = html(
        "How the variance of the final average accuracy divides. The lines are 95 % intervals: with few orders or "
        "seeds they are wide."
    )
    return Section("variance", "Where the differences come from", words, figures=[figure])


def _orders(numbers: AuditNumbers) -> Section:
    audit, labels, means, halves = numbers.audit, numbers.labels, numbers.means, numbers.halves
    scores = audit.orders
    spans = [None] * len(scores) if halves is None else [(m - h, m + h) for m, h in zip(means, halves, strict=True)]
    close = sum(bool(score.as_good_as_best) for score in scores)
    tips = [f"{name[:MAX_TEXT]}: {share_text(score.mean)}" for name, score in zip(labels, scores, strict=True)]
    label = f"Final average accuracy of {counted(len(scores), 'order')}, best first"
    if len(scores) > MOST_BARS:
        titles = ("rank of the order (1 is best)", "final average accuracy")
        chart = ranking(means, _marks(numbers, close), titles, halves)
    else:
        rows = [
            Bar(name, s.mean, s.mean, "random" if s.as_good_as_best is False else "optimal", tip, span)
            for name, s, tip, span in zip(labels, scores, tips, spans, strict=True)
        ]
        chart = row_chart(rows, "final average accuracy", ends=True)
    ends = range(len(scores))
    listed = [*ends] if len(ends) <= MOST_LISTED else [*ends[: MOST_LISTED // 2], *ends[-MOST_LISTED // 2 :]]
    good = {True: "yes", False: "no", None: "unknown"}
    cells = [
        [k + 1, labels[k][:MAX_TEXT], scores[k].mean, *(spans[k] or ()), float(means[0] - means[k]),
         scores[k].num_runs, good[scores[k].as_good_as_best]]
        for k in listed
    ]  # fmt: skip
    headers = ["rank", "order", "accuracy", *(["from", "to"] if halves is not None else []), "below the best"]
    note = "" if len(listed) == len(scores) else f"The {MOST_LISTED // 2} best and the {MOST_LISTED // 2} worst."
    figure = Figure(label, chart, Table([*headers, "runs", "as good as the best"], cells, note))
    words = html(
        "Mean over tasks after the last one, and over seeds.{}{}",
        _spans_said(numbers),
        _close_said(close, audit.test is not None, len(scores)),
    )
    return Section("orders", "Every order, best first", words, figures=[figure])


def _marks(numbers: AuditNumbers, close: int) -> list[Mark]:
    """What stands out among very many orders."""
    audit, means = numbers.audit, numbers.means
    marks = [
        Mark(
            "best",
            "optimal",
            float(means[0]),
            f"{numbers.labels[0][:MAX_TEXT]}: {share_text(means[0])}",
            strong=True,
        )
    ]
    if 0 < close < len(means):
        limit = float(means[close - 1])
        marks.append(Mark("as good as the best", "core-to-periphery", limit, f"the first {counted(close, 'order')}"))
    if audit.regret is not None:
        used = float(means[0]) - audit.regret.observed
        marks.append(Mark("used", "periphery-to-core", used, f"the order that was used: {share_text(used)}"))
    mean = float(means.mean())
    marks.append(Mark("mean of all", "random", mean, f"mean of {counted(len(means), 'order')}: {share_text(mean)}"))
    marks.append(Mark("worst", "worst", float(means[-1]), f"{numbers.labels[-1][:MAX_TEXT]}: {share_text(means[-1])}"))
    return sorted(marks, key=lambda mark: -mark.value)


def _spans_said(numbers: AuditNumbers) -> str:
    if numbers.halves is None:
        return " With one run for each order there are no intervals."
    if numbers.audit.design == "crossed":
        return " The lines are 95 % intervals, without what a seed does to all orders alike."
    return " The lines are 95 % intervals."


def _close_said(close: int, tested: bool, total: int) -> str:
    if not tested or total < 2:
        return ""
    test = "Tukey's test of all pairs, 5 %"
    return f" Green: {counted(close, 'order')} that cannot be distinguished from the best ({test})."


def _disparity(numbers: AuditNumbers) -> Section:
    audit = numbers.audit
    assert audit.aopd is not None
    assert audit.mopd is not None
    ranked = sorted(audit.disparity, key=lambda part: -part.value)
    replicated = audit.aopd.noise is not None
    rows = [
        Bar(
            part.name,
            part.noise or 0.0,
            part.value,
            "periphery-to-core",
            f"{part.name[:MAX_TEXT]}: {_with_noise(part.value, part.noise)}",
        )
        for part in ranked
    ]
    label = f"Range over orders of the accuracy of each task; the largest is {points(audit.mopd.value)} points"
    title = "noise alone (hollow) and measured (full)" if replicated else "range of the accuracy over orders"
    if len(rows) > MOST_BARS:
        chart = column_chart(rows, ("task, by disparity", "range of the accuracy over orders"))
    else:
        chart = row_chart(rows, title, ends=replicated)
    headers = ["task", "range (OPD)", *(["noise alone"] if replicated else [])]
    cells = [
        [part.name, part.value, *([part.noise] if replicated else [])] for part in (*ranked, audit.aopd, audit.mopd)
    ]
    words = html(
        "How unfair orders are to a task: the range of its final accuracy over orders (OPD; Yoon et al., ICLR 2020). "
        "The mean over tasks, AOPD, is {}; the largest, MOPD, is {}, of {}.",
        _with_noise(audit.aopd.value, audit.aopd.noise),
        _with_noise(audit.mopd.value, audit.mopd.noise),
        task(ranked[0].name[:MAX_TEXT]),
    )
    figure = Figure(label, chart, Table(headers, cells))
    return Section("disparity", "What the order does to each task", words, figures=[figure])


def _with_noise(value: float, noise: float | None) -> str:
    return f"{points(value)} points" + ("" if noise is None else f" (noise alone {points(noise)})")


def _regret(numbers: AuditNumbers) -> Section:
    audit, regret = numbers.audit, numbers.audit.regret
    names = dict(zip((score.order for score in audit.orders), numbers.labels, strict=True))
    words = html("Differences between single orders.")
    if regret is not None:
        guess = "" if regret.cross_validated is None else (
            f"; {points(regret.cross_validated)} when other seeds choose the best (too small on average)"
        )  # fmt: skip
        words = html(
            "{} lost {} points to the best order observed, {} (too large on average: the best was also lucky){}. It is "
            "better than {} of the other orders.",
            task(names.get(regret.used, regret.used)[:MAX_TEXT]), points(regret.observed),
            task(names.get(regret.best, regret.best)[:MAX_TEXT]), guess, share_text(regret.share_below),
        )  # fmt: skip
    lines = [
        html(
            "{} minus {}: {}",
            *(task(names.get(order, order)[:MAX_TEXT]) for order in (pair.first, pair.second)),
            _tested(pair),
        )
        for pair in audit.pairs
    ]
    content = tag("ul", *(tag("li", line) for line in lines)) if lines else Html("")
    return Section("regret", "What the order that was used lost" if regret else "Pairs of orders", words, content)


def _tested(pair: PairTest) -> str:
    if pair.low is None or pair.high is None or pair.p is None:
        return f"{points(pair.difference)} points; too few runs for a test."
    how = f"paired over {pair.num_pairs} seeds" if pair.num_pairs else "two samples, no seeds in common"
    between = f"{points(pair.low)} to {points(pair.high)}"
    return f"{points(pair.difference)} points (95 % interval {between}), {p_value(pair.p)}, {how}."


def _power(numbers: AuditNumbers) -> Section:
    audit, need = numbers.audit, numbers.audit.needs
    assert need is not None
    gap = f"{points(need.difference)} point{'s' * (need.difference != 0.01)}"
    same = "the same seeds for both" if audit.design == "crossed" else "seeds of its own for each"
    few = ""
    if need.possible_orders is not None and any((orders or np.inf) > need.possible_orders for _, orders in need.orders):
        few = (
            f" Only {need.possible_orders} orders exist: run all of them with both methods and compare order by order."
        )
    cells = [["methods", orders or OVER, seeds, orders * seeds if orders else OVER] for seeds, orders in need.orders]
    cells.append(["orders", 1, need.seeds or OVER, need.seeds or OVER])
    headers = ["compared", "orders for each", "seeds an order", "runs for each"]
    words = html(
        "To see a difference of {} in a t-test at {} with a chance of {}: between two methods, each on random orders "
        "of its own, or between two orders of one method, with {}. A single random order moves the final average "
        "accuracy by ±{} points (95 %).{}",
        gap, share_text(need.level), share_text(need.power), same, points(need.order_spread), few,
    )  # fmt: skip
    content = table_html(Table(headers, cells), "Runs that a comparison needs")
    return Section("power", "What a fair comparison needs", words, content)


def _confidence(numbers: AuditNumbers) -> list[str]:
    audit = numbers.audit
    lines = []
    if audit.test is not None:
        f = "infinite" if audit.test.f is None else number(audit.test.f)
        lines.append(
            f"Are all orders alike? F({audit.test.order_df}, {audit.test.error_df}) = {f}, {p_value(audit.test.p)}."
        )
    if audit.components:
        lines.append(
            "Shares of variance suppose normal, independent effects of order, seed and the rest; their intervals are "
            "generalized confidence intervals."
        )
    if audit.aopd is not None and audit.aopd.noise is not None:
        lines.append("A range is never negative: “noise alone” is what to expect if all orders were alike.")
    lines.append(
        "The numbers are about orders like those that were run: orders drawn at random say more than a chosen few."
    )
    return lines


def _design(numbers: AuditNumbers) -> str:
    audit = numbers.audit
    designs = {
        "crossed": "every order with every seed",
        "nested": "runs within orders, whose seeds have nothing in common",
        "one seed": "one run for each order",
        "one order": "one order",
        "one run": "one run",
    }
    counts = (audit.num_orders, "order"), (audit.num_seeds, "seed"), (audit.num_tasks, "task")
    return f"{designs[audit.design]}: " + ", ".join(counted(n, what) for n, what in counts)
