"""The sections of a plan from a pilot: confidence, rehearsed orders, what other rules would choose."""

from __future__ import annotations

from collections.abc import Sequence

from taskorder.checks import counted
from taskorder.records import Confidence, Plan
from taskorder.report.charts import MOST_BARS, Bar, Mark, ranking, row_chart
from taskorder.report.markup import Html, html, tag, task
from taskorder.report.page import MAX_TEXT, MOST_LISTED, Fact, Figure, Names, Section, Table
from taskorder.report.parts import swatch
from taskorder.report.pilot import Rehearsed
from taskorder.report.text import number, percent


def pilot_sections(plan: Plan, names: Names, rehearsed: Rehearsed | None) -> list[Section]:
    """Those that the plan has something for."""
    sections = [] if plan.confidence is None else [_confidence(plan.confidence, names)]
    if rehearsed is not None:
        sections.append(_rehearsed(plan, names, rehearsed))
    elif plan.alternatives:
        sections.append(_alternatives(plan, names))
    return sections


def pilot_facts(plan: Plan) -> list[Fact]:
    """What a pilot adds to the numbers on top."""
    facts = []
    if plan.expected is not None:
        detail = f"mean {rehearsed_unit(plan)} of all tasks, on the pilot"
        facts.append(Fact("Rehearsed", percent(plan.expected), detail))
    if plan.confidence is not None:
        detail = f"likely to beat a random order; {plan.confidence.verdict}"
        facts.append(Fact("Confidence", percent(plan.confidence.beats_random), detail))
    return facts


def rehearsed_unit(plan: Plan) -> str:
    """accuracy, or score where the learner does not report accuracy."""
    return "score" if plan.confidence is not None and plan.confidence.unit == "score" else "accuracy"


def gain_text(confidence: Confidence) -> str:
    """The probability and the size of the advantage over a random order, in words."""
    what = "% of the predicted error" if confidence.unit == "error" else f"points of {confidence.unit}"
    gain, low, high = (f"{100 * g:.1f}" for g in (confidence.gain, confidence.gain_low, confidence.gain_high))
    likely = f"{percent(confidence.beats_random)} likely to beat a random order"
    return f"{likely}; expected gain {gain} {what} (90 % interval {low} to {high})".replace("-", "\N{MINUS SIGN}")


def _order_text(order: Sequence[int], names: Names) -> str:
    return " → ".join(names[k] for k in order)[:MAX_TEXT]


def _confidence(confidence: Confidence, names: Names) -> Section:
    shares = {
        "beats a random order": confidence.beats_random,
        "same first task": confidence.same_first,
        "same last task": confidence.same_last,
        "same neighbors": confidence.same_neighbors,
    }
    rows = [Bar(name, 0.0, share, "optimal", f"{name}: {percent(share)}") for name, share in shares.items()]
    label = f"Confidence: {percent(confidence.beats_random)} likely to beat a random order"
    behind = Table(["what", "share"], [[name, share] for name, share in shares.items()])
    figure = Figure(label, row_chart(rows, "probability, or share of draws"), behind)
    words = html(
        "{}: the order chosen on one half of the pilot is {} on the other half. Chosen again on {}, it has the same "
        "first task in {}, the same last task in {}, and {} of its neighbors. {} of {} that were compared cannot be "
        "distinguished from it{}",
        confidence.verdict.capitalize(), gain_text(confidence), counted(confidence.num_draws, "resample"),
        percent(confidence.same_first), percent(confidence.same_last), percent(confidence.same_neighbors),
        confidence.num_as_good, counted(confidence.num_orders, "order"),
        "; the best of these:" if confidence.as_good else ".",
    )  # fmt: skip
    orders = [tag("li", task(_order_text(order, names))) for order in confidence.as_good]
    return Section("sureness", "Confidence in the choice", words, tag("ol", *orders) if orders else Html(""), [figure])


def _rehearsed(plan: Plan, names: Names, rehearsed: Rehearsed) -> Section:
    n, scores = len(rehearsed.orders), rehearsed.scores
    by_rank: dict[int, list[str]] = {}
    for name, order in [("this plan", plan.order), *((other.rule, other.order) for other in plan.alternatives)]:
        rank = rehearsed.rank(order)
        if rank is not None:
            by_rank.setdefault(rank, []).append(name)
    looks = {"this plan": plan.rule}
    marks = [
        Mark(name, looks.get(name, name), float(scores[k]), f"{name}: rank {k + 1} of {n}, {number(float(scores[k]))}",
             strong=name == "this plan")
        for k, chosen_by in by_rank.items() for name in chosen_by
    ]  # fmt: skip
    mean = float(scores.mean())
    marks.append(Mark("mean of all", "random", mean, f"mean of {counted(n, 'order')}: {number(mean)}"))
    marks.sort(key=lambda mark: (-mark.value, not mark.strong))
    label = f"Rehearsed {rehearsed.unit} of {counted(n, 'order')}, best first"
    titles = ("rank of the order (1 is best)", f"mean {rehearsed.unit} in rehearsal")
    ends = range(n)
    shown = [*ends] if n <= MOST_LISTED else sorted({*ends[: MOST_LISTED // 2], *ends[-MOST_LISTED // 2 :], *by_rank})
    cells = [
        [k + 1, _order_text(rehearsed.orders[k], names), float(scores[k]), float(rehearsed.by_seed[:, k].min()),
         float(rehearsed.by_seed[:, k].max()), ", ".join(by_rank.get(k, ()))]
        for k in shown
    ]  # fmt: skip
    headers = ["rank", "order", rehearsed.unit, "lowest seed", "highest seed", "chosen by"]
    note = "" if len(shown) == n else f"{len(shown)} of {n} orders: the best, the worst, and those of the rules."
    figure = Figure(label, ranking(scores, marks, titles), Table(headers, cells, note))
    words = html(
        "{}, trained on the pilot. The score of an order is the mean over its endings (its last task alone, its last "
        "two tasks, ..., all of it) and over {} of the {} on all tasks.",
        counted(n, "order"), counted(len(rehearsed.by_seed), "seed"), rehearsed.unit,
    )  # fmt: skip
    return Section("rehearsed", "Rehearsed orders", words, figures=[figure])


def _alternatives(plan: Plan, names: Names) -> Section:
    """Predicted errors of the rules, and what they came to in rehearsal."""
    others = [("this plan", plan.rule, plan.order, plan.error, plan.expected)]
    others += [(other.rule, other.rule, other.order, other.error, other.expected) for other in plan.alternatives]
    others.sort(key=lambda other: other[3])
    rows = [
        Bar(name, 0.0, error, look, f"{name}: predicted error {number(error)}\n{_order_text(order, names)}")
        for name, look, order, error, _ in others[:MOST_BARS]
    ]
    label = "Predicted final error of this plan and of what the rules would choose"
    cells = [
        [swatch(look, name), error, "not rehearsed" if score is None else score, _order_text(order, names)]
        for name, look, order, error, score in others
    ]
    behind = Table(["rule", "predicted error", "in rehearsal", "order"], cells)
    figure = Figure(label, row_chart(rows, "predicted final error"), behind)
    words = html("What the rules choose on the similarity of these tasks, and the error that the closed form predicts.")
    return Section("alternatives", "What other rules would choose", words, figures=[figure])
