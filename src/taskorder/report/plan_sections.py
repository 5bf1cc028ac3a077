"""The sections of a plan's page: what each figure shows, and the table behind it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taskorder.checks import counted
from taskorder.report.charts import (
    MOST_BARS,
    MOST_CELLS,
    Bar,
    Line,
    Mark,
    column_chart,
    histogram,
    line_chart,
    row_chart,
)
from taskorder.report.markup import html, task
from taskorder.report.page import Figure, Names, Section, Table
from taskorder.report.parts import in_order, map_figure, matrix_figure, order_path, step_table, swatch
from taskorder.report.plan_numbers import QUANTILES, PlanNumbers, Surroundings, TaskTable
from taskorder.report.text import number, percent

TIP = 80
"""Characters of a name in what a mark says."""


def order(numbers: PlanNumbers, names: Names) -> Section:
    """The order as a path."""
    plan = numbers.plan
    goal = "the highest predicted knowledge at the end" if plan.objective == "score" else "the least final error"
    reasons = {"optimal": f"chosen for {goal}", "auto": "chosen by what the pilot measured"}
    rule = reasons.get(plan.rule, f"chosen by the rule {plan.rule}")
    again = " Some tasks are visited more than once." if len(set(plan.order)) < len(plan.order) else ""
    free = 0 if numbers.around is None else numbers.around.free
    any_order = f" The first {free} may come in any order: that hardly changes the prediction." if free > 1 else ""
    words = html("{}, {}.{}{}", counted(len(plan.order), "step"), rule, again, any_order)
    learned = [names[plan.names.index(name)] for name in plan.options.get("learned") or ()]
    return Section("order", "The order", words, order_path(plan.order, names, learned, free=free if free > 1 else 0))


def standing(numbers: PlanNumbers, around: Surroundings) -> Section:
    """The plan and its rivals in the distribution of all orders."""
    plan, comparison, measure = numbers.plan, around.comparison, numbers.measure
    marks = [Mark("this plan", plan.rule, plan.value, f"this plan ({plan.rule}): {number(plan.value)}", strong=True)]
    marks += [
        Mark(s.rule, s.rule, s.value, f"{s.rule}: {number(s.value)}; {percent(s.quantile)} of orders are better")
        for s in comparison.scores
        if s.rule != plan.rule
    ]
    mean = comparison.random_mean
    marks.append(Mark("random, mean", "random", mean, f"mean of {around.which}: {number(mean)}"))
    marks.sort(key=lambda mark: (-measure.better * float(f"{mark.value:.9g}"), not mark.strong))
    lead = comparison.best - mean
    rows = [
        [
            swatch(s.rule, s.rule + (" (proven in the model)" if s.proven else "")),
            s.value,
            (s.value - mean) / lead if abs(lead) > 1e-12 else "\N{EN DASH}",
            s.quantile,
        ]
        for s in comparison.scores
    ]
    note = f"Mean of {around.which}: {number(mean)}, standard deviation {number(comparison.random_std)}."
    behind = Table(["rule", measure.noun, "share of the best order's lead", "share of better orders"], rows, note)
    label = f"Histogram of the final {measure.noun} of {around.which}; this plan has {number(plan.value)}"
    title = f"{measure.total} at the end ({'more' if measure.better > 0 else 'less'} is better)"
    figure = Figure(label, histogram(around.random_values, marks, title), behind)
    piloted = plan.confidence is not None  # then the verdict is that of the pilot, which knows its noise
    leads = (
        "What the model alone predicts for other orders, on the table of the pilot; a plan also counts what pairs show."
        if piloted
        else comparison.verdict
    )
    words = html("{} Gray: {}. Each row is a rule.", leads, around.which)
    return Section("standing", "Where it stands among all orders", words, figures=[figure])


def path(numbers: PlanNumbers, around: Surroundings, names: Names) -> Section:
    """The value after each step, beside the rivals and random orders."""
    plan, values, measure = numbers.plan, numbers.values, numbers.measure
    rivals = {rule: path for rule, path in around.rivals.items() if rule != plan.rule}
    lines = [_plan_line(numbers, names), *(Line(rule, rule, path) for rule, path in rivals.items())]
    steps = max(len(values), around.band.shape[1])
    columns: list[Sequence[object]] = [
        *_plan_columns(numbers, names, steps),
        *(path.tolist() for path in rivals.values()),
    ]
    columns += around.band.tolist()
    headers = ["step", "task", "this plan", *rivals, *(f"random, {percent(q)} quantile" for q in QUANTILES)]
    figure = Figure(
        _path_label(numbers), line_chart(lines, around.band, _path_titles(numbers)), step_table(headers, columns, steps)
    )
    worse = "know less" if measure.better > 0 else "have more error"
    words = html(
        "The predicted {} after each step. Gray: the middle half and the middle 90 % of random orders, dashed their "
        "median. Before the end a good order may {} than others; only the end counts.",
        measure.total, worse,
    )  # fmt: skip
    return Section("path", f"{measure.noun.capitalize()} after each task", words, figures=[figure])


def path_alone(numbers: PlanNumbers, names: Names) -> Section:
    """The value after each step of the plan, for a plan without its table."""
    values, measure = numbers.values, numbers.measure
    behind = step_table(["step", "task", measure.noun], _plan_columns(numbers, names, len(values)), len(values))
    figure = Figure(_path_label(numbers), line_chart([_plan_line(numbers, names)], None, _path_titles(numbers)), behind)
    words = html("The predicted {} after each step of the plan.", measure.total)
    return Section("path", f"{measure.noun.capitalize()} after each task", words, figures=[figure])


def _path_label(numbers: PlanNumbers) -> str:
    ends = f"from {number(numbers.values[0])} to {number(numbers.values[-1])}"
    return f"Predicted {numbers.measure.noun} after each step; this plan goes {ends}"


def _path_titles(numbers: PlanNumbers) -> tuple[str, str]:
    total = numbers.measure.total
    return "steps learned", f"{total} (0 is chance, 1 is perfect)" if numbers.measure.better > 0 else total


def _plan_line(numbers: PlanNumbers, names: Names) -> Line:
    steps = [f"after step {i}, {names[k][:TIP]}" for i, k in enumerate(numbers.plan.order, start=1)]
    values = map(number, numbers.values.tolist())
    tips = [f"{when}: {value}" for when, value in zip(["before the first step", *steps], values, strict=True)]
    return Line("this plan", numbers.plan.rule, numbers.values, tips)


def _plan_columns(numbers: PlanNumbers, names: Names, steps: int) -> list[Sequence[object]]:
    tasks = ["(before)", *(names[k] for k in numbers.plan.order)]
    return [list(range(steps)), tasks, numbers.values.tolist()]


def forgetting(numbers: PlanNumbers, names: Names) -> Section:
    """What is known of each task when it was just learned, and at the end; or its error."""
    plan, measure = numbers.plan, numbers.measure
    by_score = measure.better > 0
    ends = plan.knowledge if by_score else plan.task_errors
    last = {k: step for step, k in enumerate(plan.order, start=1)}
    tasks = in_order(plan.order, len(names))
    after, before = numbers.after.tolist(), numbers.before.tolist()
    rows = [
        Bar(f"{last[k]}. {names[k]}" if k in last else f"· {names[k]}", after[k], ends[k], plan.rule,
            f"{names[k][:TIP]}: {number(after[k])} when just learned, {number(ends[k])} at the end")
        for k in tasks
    ]  # fmt: skip
    extreme = int(np.argmin(ends) if by_score else np.argmax(ends))
    least = f"the {'least' if by_score else 'largest'} is {number(ends[extreme])}"
    label = f"{measure.noun.capitalize()} of each task at the end; {least}"
    if len(rows) > MOST_BARS:
        chart = column_chart(rows, ("step of the plan", f"{measure.noun} at the end"))
    elif by_score:
        chart = row_chart(rows, "knowledge: just learned (hollow) and at the end (full)", ends=True)
    else:
        chart = row_chart(rows, "own error: from just learned to the end")
    behind = Table(
        ["step", "task", "just before it is learned", "just learned", "at the end"],
        [[last.get(k), names[k], before[k], after[k], ends[k]] for k in tasks],
    )
    if by_score:
        words = html(
            "What is known of each task when it was just learned, and at the end, when later tasks have taken some of "
            "it away or taught it again: 0 is chance, 1 is perfect. Least is known of {} ({}).",
            task(names[extreme][:TIP]), number(ends[extreme]),
        )  # fmt: skip
    else:
        words = html(
            "What later tasks take from earlier ones: each bar runs from the own error of a task when it was just "
            "learned to that at the end. {} ends with the largest ({}).",
            task(names[extreme][:TIP]), number(ends[extreme]),
        )  # fmt: skip
    return Section("forgetting", "What each task keeps", words, figures=[Figure(label, chart, behind)])


def table(numbers: PlanNumbers, given: TaskTable, names: Names) -> Section:
    """The table in the order of the plan."""
    off = given.values[~np.eye(len(names), dtype=bool)]
    mean, low, high = (number(float(value)) for value in (off.mean(), off.min(), off.max()))
    blocks = " Each cell is the mean of a block of steps." if len(names) > MOST_CELLS else ""
    what = "of every two tasks" if given.symmetric else "of every task (column) in a learner of one task (row)"
    label = f"Heat map of the {given.name} {what}, in the order of the plan; the mean is {mean}"
    if given.symmetric:
        title = "Similarity, in the order of the plan"
        words = html(
            "Rows and columns follow the plan, the first task on top. Two tasks have a similarity of {} on average, "
            "from {} to {}.{}", mean, low, high, blocks,
        )  # fmt: skip
    else:
        title = "The transfer table, in the order of the plan"
        words = html(
            "What a learner that has learned only the task of a row knows of the task of a column: 0 is chance, 1 is "
            "perfect. Rows and columns follow the plan, the first task on top. The table is {}. Off the diagonal it is "
            "{} on average, from {} to {}.{}", numbers.plan.table, mean, low, high, blocks,
        )  # fmt: skip
    figure = matrix_figure(label, given.values, numbers.plan.order, names, given.name)
    return Section("similarity", title, words, figures=[figure])


def task_map(numbers: PlanNumbers, given: TaskTable, names: Names) -> Section:
    """The map of the tasks with the path."""
    figure = map_figure(given.points, numbers.plan.order, names, "the plan")
    alike = "similarity" if given.symmetric else "knowledge, mean of both directions"
    words = html(
        "Tasks that teach each other lie close together. Classical scaling: squared distances are 2 (1 \N{MINUS SIGN} "
        "{}), and two dimensions show {} of them. The line is the plan, from one filled dot to the other.",
        alike, percent(given.share_shown),
    )  # fmt: skip
    return Section("map", "A map of the tasks", words, figures=[figure])
