"""The sections of a plan from a pilot: how sure the choice is, what was rehearsed, what other rules would choose."""

from __future__ import annotations

from collections.abc import Sequence

from taskorder.records import Confidence, Plan
from taskorder.report.charts import MOST_ROWS, Mark, Row, ranking, row_chart
from taskorder.report.markup import Html, html, tag, task
from taskorder.report.page import Fact, Figure, Section, Table
from taskorder.report.parts import swatch
from taskorder.report.pilot import Rehearsed
from taskorder.report.text import counted, number, percent

Names = Sequence[str]
TEXT = 160
"""Characters of an order in a table or a tip."""
MOST_LISTED = 300


def pilot_sections(plan: Plan, names: Names, rehearsed: Rehearsed | None) -> list[Section]:
    """Those that the plan has something for."""
    found = []
    if plan.confidence is not None:
        found.append(_sureness(plan.confidence, names))
    if rehearsed is not None:
        found.append(_rehearsed(plan, names, rehearsed))
    elif plan.alternatives:
        found.append(_alternatives(plan, names))
    return found


def pilot_facts(plan: Plan) -> list[Fact]:
    """What a pilot adds to the numbers on top."""
    found = []
    if plan.expected is not None:
        found.append(
            Fact("Rehearsed", percent(plan.expected), f"mean {rehearsed_unit(plan)} of all tasks, on the pilot")
        )
    if plan.confidence is not None:
        detail = f"probability that the choice beats a random order; {plan.confidence.verdict}"
        found.append(Fact("Beats random", percent(plan.confidence.beats_random), detail))
    return found


def rehearsed_unit(plan: Plan) -> str:
    """accuracy, or score where the learner did not tell it."""
    return "score" if plan.confidence is not None and plan.confidence.unit == "score" else "accuracy"


def gain_said(sure: Confidence) -> str:
    """The advantage over a random order in words."""
    what = "% of the predicted error" if sure.unit == "error" else f"points of {sure.unit}"
    low, high = f"{100 * sure.gain_low:.1f}", f"{100 * sure.gain_high:.1f}"
    return f"by {100 * sure.gain:.1f} {what} (nine of ten: {low} to {high})".replace("-", "\N{MINUS SIGN}")


def _order_text(order: Sequence[int], names: Names) -> str:
    return " → ".join(names[one] for one in order)[:TEXT]


def _sureness(sure: Confidence, names: Names) -> Section:
    shares = {
        "beats a random order": sure.beats_random,
        "same first task": sure.same_first,
        "same last task": sure.same_last,
        "same neighbors": sure.same_neighbors,
    }
    rows = [Row(name, 0.0, share, "optimal", f"{name}: {percent(share)}") for name, share in shares.items()]
    label = f"How sure the choice is: it beats a random order with a probability of {percent(sure.beats_random)}"
    behind = Table(["what", "share"], [[name, share] for name, share in shares.items()])
    figure = Figure(label, row_chart(rows, "probability, or share of draws"), behind)
    words = html(
        "{}. The order chosen on one half of the pilot beats a random order on the other half with a probability of "
        "{}, {}. Chosen again on {}, it begins with the same task in {}, ends with the same in {}, and keeps {} of its "
        "neighbors. {} of {} that were compared cannot be told from it{}",
        sure.verdict.capitalize(), percent(sure.beats_random), gain_said(sure), counted(sure.num_draws, "resample"),
        percent(sure.same_first), percent(sure.same_last), percent(sure.same_neighbors), sure.num_as_good,
        counted(sure.num_orders, "order"), "; the best of these:" if sure.as_good else ".",
    )  # fmt: skip
    orders = [tag("li", task(_order_text(order, names))) for order in sure.as_good]
    return Section("sureness", "How sure the choice is", words, tag("ol", *orders) if orders else Html(""), [figure])


def _rehearsed(plan: Plan, names: Names, found: Rehearsed) -> Section:
    n, scores = len(found.orders), found.scores
    by_place: dict[int, list[str]] = {}
    for who, order in [("this plan", plan.order), *((other.rule, other.order) for other in plan.alternatives)]:
        place = found.place(order)
        if place is not None:
            by_place.setdefault(place, []).append(who)
    looks = {"this plan": plan.rule}
    marks = [
        Mark(who, looks.get(who, who), float(scores[k]), f"{who}: rank {k + 1} of {n}, {number(float(scores[k]))}",
             strong=who == "this plan")
        for k, those in by_place.items() for who in those
    ]  # fmt: skip
    mean = float(scores.mean())
    marks.append(Mark("mean of all", "random", mean, f"mean of {counted(n, 'order')}: {number(mean)}"))
    marks.sort(key=lambda mark: (-mark.value, not mark.strong))
    label = f"Rehearsed {found.unit} of {counted(n, 'order')}, best first"
    titles = ("rank of the order (1 is best)", f"mean {found.unit} in rehearsal")
    ends = range(n)
    shown = [*ends] if n <= MOST_LISTED else sorted({*ends[: MOST_LISTED // 2], *ends[-MOST_LISTED // 2 :], *by_place})
    cells = [
        [k + 1, _order_text(found.orders[k], names), float(scores[k]), float(found.by_seed[:, k].min()),
         float(found.by_seed[:, k].max()), ", ".join(by_place.get(k, ()))]
        for k in shown
    ]  # fmt: skip
    headers = ["rank", "order", found.unit, "lowest seed", "highest seed", "chosen by"]
    note = "" if len(shown) == n else f"{len(shown)} of {n} orders: the best, the worst, and those of the rules."
    figure = Figure(label, ranking(scores, marks, titles), Table(headers, cells, note))
    words = html(
        "{} of the pilot, learned for real: the mean over the ends of an order (its last task, its last two, ...) of "
        "how well all tasks are done then, over {}.",
        counted(n, "order"), counted(len(found.by_seed), "seed"),
    )  # fmt: skip
    return Section("rehearsed", "Rehearsed orders", words, figures=[figure])


def _alternatives(plan: Plan, names: Names) -> Section:
    """Predicted errors of the rules, and what they came to in rehearsal."""
    others = [("this plan", plan.rule, plan.order, plan.error, plan.expected)]
    others += [(other.rule, other.rule, other.order, other.error, other.expected) for other in plan.alternatives]
    others.sort(key=lambda one: one[3])
    rows = [
        Row(name, 0.0, error, look, f"{name}: predicted error {number(error)}\n{_order_text(order, names)}")
        for name, look, order, error, _ in others[:MOST_ROWS]
    ]
    label = "Predicted final error of this plan and of what the rules would choose"
    cells = [
        [swatch(look, name), error, "not rehearsed" if told is None else told, _order_text(order, names)]
        for name, look, order, error, told in others
    ]
    behind = Table(["rule", "predicted error", "in rehearsal", "order"], cells)
    figure = Figure(label, row_chart(rows, "predicted final error"), behind)
    words = html("What the rules choose on the similarity of these tasks, and the error that the closed form predicts.")
    return Section("alternatives", "What other rules would choose", words, figures=[figure])
