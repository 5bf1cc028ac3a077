"""The page of a comparison: whether order matters, what each rule earns, and where the best order changes."""

from __future__ import annotations

from taskorder._version import __version__
from taskorder.checks import counted
from taskorder.records import Comparison
from taskorder.report.charts import Bar, row_chart
from taskorder.report.markup import html, tag
from taskorder.report.measure import measure_of
from taskorder.report.page import Fact, Figure, Page, Section, Table
from taskorder.report.parts import swatch
from taskorder.report.plan_numbers import page_names
from taskorder.report.retention_section import keeps, order_ranges, order_text
from taskorder.report.text import number, percent


def comparison_page(comparison: Comparison, title: str) -> Page:
    """The page of a comparison, from what the comparison itself holds."""
    names = page_names(comparison.names)
    sections = [_rules(comparison, names)]
    if comparison.prices:
        sections.append(_prices(comparison))
    if comparison.at_retention:
        sections.append(_elsewhere(comparison, names))
    return Page(
        title=title,
        answer=html("{}", comparison.verdict),
        facts=_facts(comparison),
        sections=sections,
        confidence=[
            _random_orders(comparison),
            "The table is taken as exact: what is wrong in it is not part of this.",
        ],
        warnings=(),
        notes=comparison.notes,
        made={
            "Tasks": str(len(names)),
            "Objective": comparison.objective,
            "Retention": f"{comparison.retention:g}",
            "Version": f"taskorder {__version__}",
        },
        numbers={"kind": "comparison", **comparison.to_dict(), "names": names},
    )


def _which(comparison: Comparison) -> str:
    count = comparison.random_count
    return f"all {count} allowed orders" if comparison.random_exact else f"{count} random orders"


def _random_orders(comparison: Comparison) -> str:
    if comparison.random_exact:
        return f"The random orders: {_which(comparison)}, so nothing is sampled."
    spread = f"{number(comparison.random_mean)} ± {number(comparison.random_sem)} (standard error)"
    return f"The random orders: {_which(comparison)}; their mean is {spread}."


def _facts(comparison: Comparison) -> list[Fact]:
    measure, which = measure_of(comparison.objective), _which(comparison)
    best = comparison.scores[0].rule if comparison.scores else "of all that were seen"
    return [
        Fact("The best order", measure.said(comparison.best), best),
        Fact("A random order", measure.said(comparison.random_mean), f"mean of {which}"),
        Fact("The worst order", measure.said(comparison.worst), "of all that were seen"),
    ]


def _rules(comparison: Comparison, names: tuple[str, ...]) -> Section:
    """Each rule as a bar from a random order to its own."""
    measure, mean = measure_of(comparison.objective), comparison.random_mean
    lead = comparison.best - mean
    bars = [
        Bar(score.rule, mean, score.value, score.rule,
            f"{score.rule}: {number(score.value)}; {percent(score.quantile)} of orders are better")
        for score in comparison.scores
    ]  # fmt: skip
    rows = [
        [
            swatch(score.rule, score.rule + (" (proven in the model)" if score.proven else "")),
            score.value,
            (score.value - mean) / lead if abs(lead) > 1e-12 else "\N{EN DASH}",
            score.quantile,
            order_text(score.order, names),
        ]
        for score in comparison.scores
    ]
    note = f"Mean of {_which(comparison)}: {number(mean)}, standard deviation {number(comparison.random_std)}."
    headers = ["rule", measure.noun, "share of the best order's lead", "share of better orders", "order"]
    label = f"{measure.noun.capitalize()} of each rule beside that of a random order, {number(mean)}"
    chart = row_chart(bars, f"{measure.total}, from a random order to the rule's", ends=True)
    words = html(
        "{} on {}, best first: a bar runs from the mean of {} to the order of the rule.",
        counted(len(bars), "rule"), counted(len(names), "task"), _which(comparison),
    )  # fmt: skip
    return Section("rules", "What each rule earns", words, figures=[Figure(label, chart, Table(headers, rows, note))])


def _prices(comparison: Comparison) -> Section:
    """What each constraint costs by itself."""
    said = [price.said(comparison.objective) for price in comparison.prices]
    words = html("How much better the best order is where all other constraints are kept.")
    return Section("prices", "What each constraint costs", words, tag("ul", *(tag("li", line) for line in said)))


def _elsewhere(comparison: Comparison, names: tuple[str, ...]) -> Section:
    """What the rules' orders earn with learners that keep less or more."""
    others = comparison.at_retention
    rows = [[rule, *(other.shares[rule] for other in others)] for rule in others[0].shares]
    headers = ["rule", *(f"learner that {keeps(other.retention)}" for other in others)]
    best = max(others[0].shares, key=lambda rule: min(other.shares[rule] for other in others))
    bars = [
        Bar(keeps(other.retention), 0.0, other.shares[best], best,
            f"{keeps(other.retention)}: {percent(other.shares[best])} of the best order's lead")
        for other in others
    ]  # fmt: skip
    label = f"Share of the best order's lead over a random order that {best} earns at other retentions"
    chart = row_chart(bars, f"share of the best order's lead that {best} earns")
    words = html(
        "The comparison is for a learner that {}. Of the simple rules {} does best over all of these learners.",
        keeps(comparison.retention), best,
    )  # fmt: skip
    figures = [Figure(label, chart, Table(headers, rows))]
    return Section("retention", "If your learner keeps less or more", words, order_ranges(comparison, names), figures)
