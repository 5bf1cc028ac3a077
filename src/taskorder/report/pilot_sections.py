"""The sections of a plan from a pilot: confidence, prediction, what other rules would choose."""

from __future__ import annotations

from collections.abc import Sequence

from taskorder.checks import counted
from taskorder.records import Confidence, Plan, Prediction
from taskorder.report.charts import MOST_BARS, Bar, row_chart
from taskorder.report.markup import Html, html, tag, task
from taskorder.report.page import MAX_TEXT, Fact, Figure, Names, Section, Table
from taskorder.report.parts import swatch
from taskorder.report.recomputed import by_pairs
from taskorder.report.text import percent


def pilot_sections(plan: Plan, names: Names) -> list[Section]:
    """Those that the plan has something for; a plan of an older version has no prediction."""
    sections = [] if plan.confidence is None else [_confidence(plan.confidence, names)]
    if plan.prediction is not None:
        sections.append(_prediction(plan, plan.prediction, names))
        if plan.alternatives:
            sections.append(_alternatives(plan, names))
    return sections


def pilot_facts(plan: Plan) -> list[Fact]:
    """What a pilot adds to the numbers on top."""
    facts = []
    if plan.prediction is not None:
        found = plan.prediction
        interval = (
            ""
            if found.low is None or found.high is None
            else f"; 90 % interval {percent(found.low)} to {percent(found.high)}"
        )
        facts.append(Fact("Predicted", percent(found.mean), f"mean {found.unit} of all tasks at the end{interval}"))
        spread = f"mean {found.unit}; {percent(found.random_std)} standard deviation between orders"
        facts.append(Fact("A random order", percent(found.random_mean), spread))
    if plan.confidence is not None:
        detail = f"likely to beat a random order; {plan.confidence.verdict}"
        facts.append(Fact("Confidence", percent(plan.confidence.beats_random), detail))
    return facts


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
        "{}: the order is {}. Chosen again on {}, it has the same first task in {}, the same last task in {}, and "
        "{} of its neighbors. {} of {} that were compared may be as good{}",
        confidence.verdict.capitalize(), gain_text(confidence), counted(confidence.num_draws, "resample"),
        percent(confidence.same_first), percent(confidence.same_last), percent(confidence.same_neighbors),
        confidence.num_as_good, counted(confidence.num_orders, "order"),
        "; the best of these:" if confidence.as_good else ".",
    )  # fmt: skip
    orders = [tag("li", task(_order_text(order, names))) for order in confidence.as_good]
    return Section("sureness", "Confidence in the choice", words, tag("ol", *orders) if orders else Html(""), [figure])


def _prediction(plan: Plan, prediction: Prediction, names: Names) -> Section:
    """Every task at the end, in the order of learning."""
    low, high = prediction.tasks_low or prediction.tasks, prediction.tasks_high or prediction.tasks
    learned = [task for task in range(len(plan.names)) if task not in plan.order]
    shown = [*learned, *plan.order]
    rows = [
        Bar(names[k], 0.0, max(prediction.tasks[k], 0.0), plan.rule,
            f"{names[k]}: {percent(prediction.tasks[k])} ({percent(low[k])} to {percent(high[k])})",
            None if prediction.tasks_low is None else (low[k], high[k]))
        for k in shown[-MOST_BARS:]
    ]  # fmt: skip
    label = f"Predicted {prediction.unit} of every task at the end, in the order of learning"
    behind = Table(
        ["task", prediction.unit, "from", "to"], [[names[k], prediction.tasks[k], low[k], high[k]] for k in shown]
    )
    words = html(
        "{} a mean {} of {}{}; random orders get {} \N{PLUS-MINUS SIGN} {}. {}. "
        "Intervals are meant to hold 90 % of real runs (docs/choose.md says how often they did).",
        "Pairs of tasks predict" if by_pairs(plan) else "The law of retention predicts",
        prediction.unit, percent(prediction.mean),
        "" if prediction.low is None or prediction.high is None
        else f" ({percent(prediction.low)} to {percent(prediction.high)})",
        percent(prediction.random_mean), percent(prediction.random_std),
        prediction.retention[:1].upper() + prediction.retention[1:],
    )  # fmt: skip
    return Section(
        "prediction", "What to expect", words, figures=[Figure(label, row_chart(rows, prediction.unit), behind)]
    )


def _alternatives(plan: Plan, names: Names) -> Section:
    """What the law predicts for the orders of the rules."""
    assert plan.prediction is not None
    unit = plan.prediction.unit
    others = [("this plan", plan.rule, plan.order, plan.prediction.mean)]
    others += [(each.rule, each.rule, each.order, each.expected) for each in plan.alternatives if each.expected]
    others.sort(key=lambda other: -other[3])
    rows = [
        Bar(name, 0.0, value, look, f"{name}: {percent(value)}\n{_order_text(order, names)}")
        for name, look, order, value in others[:MOST_BARS]
    ]
    label = f"Predicted mean {unit} of this plan and of what the rules would choose"
    cells = [[swatch(look, name), value, _order_text(order, names)] for name, look, order, value in others]
    figure = Figure(label, row_chart(rows, unit), Table(["rule", unit, "order"], cells))
    says = "pairs of tasks predict" if by_pairs(plan) else "the law predicts"
    words = html("What the rules choose on the similarity of these tasks, and what {} for it.", says)
    return Section("alternatives", "What other rules would choose", words, figures=[figure])
