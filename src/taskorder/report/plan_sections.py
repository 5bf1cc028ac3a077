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
from taskorder.report.plan_numbers import QUANTILES, PlanNumbers, Surroundings
from taskorder.report.text import number, percent

TOP_PAIRS = 8
PAIR = 32
"""Characters that a name in a pair may have."""
MOST_PAIRS = 150
"""Pairs at either end of a table of pairs."""
TIP = 80
"""Characters of a name in what a mark says."""


def _scored(numbers: PlanNumbers) -> bool:
    """Whether the page is about knowledge and its mean, the score; of the paper's theory it is about errors."""
    return numbers.plan.objective == "score"


def _path_titles(numbers: PlanNumbers) -> tuple[str, str]:
    return "steps learned", "mean knowledge of all tasks" if _scored(numbers) else "error of all tasks together"


def order(numbers: PlanNumbers, names: Names) -> Section:
    """The order as a path."""
    plan = numbers.plan
    aim = "the highest score" if _scored(numbers) else "the least final error"
    reasons = {"optimal": f"chosen for {aim}", "auto": "chosen by what the pilot measured"}
    rule = reasons.get(plan.rule, f"chosen by the rule {plan.rule}")
    again = " Some tasks are visited more than once." if len(set(plan.order)) < len(plan.order) else ""
    words = html("{}, {}.{}", counted(len(plan.order), "step"), rule, again)
    learned = [names[plan.names.index(name)] for name in plan.options.get("learned") or ()]
    return Section("order", "The order", words, order_path(plan.order, names, learned))


def standing(numbers: PlanNumbers, around: Surroundings) -> Section:
    """The plan and its rivals in the distribution of all orders."""
    plan, comparison = numbers.plan, around.comparison
    marks = [Mark("this plan", plan.rule, plan.value, f"this plan ({plan.rule}): {number(plan.value)}", strong=True)]
    marks += [
        Mark(s.rule, s.rule, s.value, f"{s.rule}: {number(s.value)}; {percent(s.quantile)} of orders are better")
        for s in comparison.scores
        if s.rule != plan.rule
    ]
    mean = comparison.random_mean
    marks.append(Mark("random, mean", "random", mean, f"mean of {around.which}: {number(mean)}"))
    marks.sort(key=lambda mark: (float(f"{mark.value:.9g}"), not mark.strong))
    scored, best = _scored(numbers), comparison.scores[0].value
    rows = [
        [
            swatch(s.rule, s.rule + (" (proven)" if s.proven else "")),
            s.value,
            best - s.value if scored else _times(s.value, best),
            s.quantile,
        ]
        for s in comparison.scores
    ]
    note = f"Mean of {around.which}: {number(mean)}, standard deviation {number(comparison.random_std)}."
    distance = "below the best" if scored else "times the best"
    behind = Table(["rule", plan.objective, distance, "share of better orders"], rows, note)
    label = (
        f"Histogram of the {'score' if scored else 'final error'} of {around.which}; this plan has {number(plan.value)}"
    )
    title = "score (larger is better)" if scored else "final error (smaller is better)"
    figure = Figure(label, histogram(around.random_errors, marks, title), behind)
    words = html("{} Gray: {}. Each row is a rule.", comparison.verdict, around.which)
    return Section("standing", "Where it stands among all orders", words, figures=[figure])


def path(numbers: PlanNumbers, around: Surroundings, names: Names) -> Section:
    """The error after each step, beside the rivals and random orders."""
    plan, totals = numbers.plan, numbers.totals
    rivals = {rule: path for rule, path in around.rivals.items() if rule != plan.rule}
    lines = [_plan_line(numbers, names), *(Line(rule, rule, path) for rule, path in rivals.items())]
    steps = max(len(totals), around.band.shape[1])
    columns: list[Sequence[object]] = [
        *_plan_columns(numbers, names, steps),
        *(path.tolist() for path in rivals.values()),
    ]
    columns += around.band.tolist()
    headers = ["step", "task", "this plan", *rivals, *(f"random, {percent(q)} quantile" for q in QUANTILES)]
    label = f"{_path_words(numbers)} after each step; this plan goes from {number(totals[0])} to {number(totals[-1])}"
    figure = Figure(label, line_chart(lines, around.band, _path_titles(numbers)), step_table(headers, columns, steps))
    words = html(
        "{} after each step. Gray: the middle half and the middle 90 % of random orders, dashed their median. Before "
        "the end a good order may be worse than others; only the end counts.",
        _path_words(numbers),
    )
    return Section("path", _path_heading(numbers), words, figures=[figure])


def _path_words(numbers: PlanNumbers) -> str:
    return f"Predicted {'mean knowledge of all tasks' if _scored(numbers) else 'error of all tasks together'}"


def _path_heading(numbers: PlanNumbers) -> str:
    return f"{'Knowledge' if _scored(numbers) else 'Error'} after each task"


def path_alone(numbers: PlanNumbers, names: Names) -> Section:
    """The error after each step of the plan, for a plan without its matrix."""
    totals = numbers.totals
    label = f"{_path_words(numbers)} after each step, from {number(totals[0])} to {number(totals[-1])}"
    column = "mean knowledge" if _scored(numbers) else "error"
    behind = step_table(["step", "task", column], _plan_columns(numbers, names, len(totals)), len(totals))
    figure = Figure(label, line_chart([_plan_line(numbers, names)], None, _path_titles(numbers)), behind)
    words = html("{} after each step of the plan.", _path_words(numbers))
    return Section("path", _path_heading(numbers), words, figures=[figure])


def _plan_line(numbers: PlanNumbers, names: Names) -> Line:
    steps = [f"after step {i}, {names[k][:TIP]}" for i, k in enumerate(numbers.plan.order, start=1)]
    values = map(number, numbers.totals.tolist())
    tips = [f"{when}: {value}" for when, value in zip(["before the first step", *steps], values, strict=True)]
    return Line("this plan", numbers.plan.rule, numbers.totals, tips)


def _plan_columns(numbers: PlanNumbers, names: Names, steps: int) -> list[Sequence[object]]:
    tasks = ["(before)", *(names[k] for k in numbers.plan.order)]
    return [list(range(steps)), tasks, numbers.totals.tolist()]


def forgetting(numbers: PlanNumbers, names: Names) -> Section:
    """Each task's own knowledge or error when just learned and at the end."""
    plan, scored = numbers.plan, _scored(numbers)
    ends = plan.knowledge if scored else plan.task_errors
    own = "knowledge" if scored else "own error"
    last = {k: step for step, k in enumerate(plan.order, start=1)}
    tasks = in_order(plan.order, len(names))
    after, before = numbers.after.tolist(), numbers.before.tolist()
    rows = [
        Bar(f"{last[k]}. {names[k]}" if k in last else f"· {names[k]}", after[k], ends[k], plan.rule,
            f"{names[k][:TIP]}: {number(after[k])} when just learned, {number(ends[k])} at the end")
        for k in tasks
    ]  # fmt: skip
    worst = int(np.argmin(ends) if scored else np.argmax(ends))
    extreme = "smallest" if scored else "largest"
    label = f"{own.capitalize()} of each task at the end; the {extreme} is {number(ends[worst])}"
    if len(rows) <= MOST_BARS:
        chart = row_chart(rows, f"{own}: from just learned to the end")
    else:
        chart = column_chart(rows, ("step of the plan", f"{own} at the end"))
    behind = Table(
        ["step", "task", "just before it is learned", "just learned", "at the end"],
        [[last.get(k), names[k], before[k], after[k], ends[k]] for k in tasks],
    )
    words = html(
        "What later tasks take from earlier ones: each bar runs from the {} of a task when it was just learned to that "
        "at the end. {} ends with the {} ({}).",
        own,
        task(names[worst][:TIP]),
        extreme,
        number(ends[worst]),
    )
    return Section("forgetting", "What each task forgets", words, figures=[Figure(label, chart, behind)])


def similarity(numbers: PlanNumbers, around: Surroundings, names: Names) -> Section:
    """The matrix in the order of the plan."""
    off = around.similarity[~np.eye(len(names), dtype=bool)]
    mean, low, high = (number(float(value)) for value in (off.mean(), off.min(), off.max()))
    blocks = " Each cell is the mean of a block of steps." if len(names) > MOST_CELLS else ""
    label = f"Heat map of the similarity of every two tasks, in the order of the plan; the mean is {mean}"
    words = html(
        "Rows and columns follow the plan, the first task on top. Two tasks have a similarity of {} on average, from "
        "{} to {}.{}", mean, low, high, blocks,
    )  # fmt: skip
    figure = matrix_figure(label, around.similarity, numbers.plan.order, names, "similarity")
    return Section("similarity", "Similarity, in the order of the plan", words, figures=[figure])


def task_map(numbers: PlanNumbers, around: Surroundings, names: Names) -> Section:
    """The map of the tasks with the path."""
    figure = map_figure(around.points, numbers.plan.order, names, "the plan")
    words = html(
        "Similar tasks lie close together. Classical scaling: squared distances are 2 (1 \N{MINUS SIGN} similarity), "
        "and two dimensions show {} of them. The line is the plan, from one filled dot to the other.",
        percent(around.share_shown),
    )
    return Section("map", "A map of the tasks", words, figures=[figure])


def pairs(numbers: PlanNumbers, around: Surroundings, names: Names) -> Section:
    """What the similarity of each pair does to the final error, or each entry of the transfer table to the score."""
    scored = _scored(numbers)
    first_two, entry = (("learned", "tested"), "as given") if scored else (("earlier task", "later task"), "similarity")
    tasks = np.array(in_order(numbers.plan.order, len(names)))
    i, j = np.nonzero(~np.eye(len(tasks), dtype=bool)) if scored else np.triu_indices(len(tasks), 1)
    first, second = tasks[i], tasks[j]
    slopes = around.slopes[first, second]
    ranked = np.argsort(-slopes, kind="stable")

    def cells_of(k: int) -> tuple[str, str, float, float]:
        a, b = first[k], second[k]
        return names[a], names[b], float(around.similarity[a, b]), float(slopes[k])

    def row(k: int) -> Bar:
        a, b, alike, slope = cells_of(k)
        tip = f"{a[:TIP]}\n{b[:TIP]}\n{entry} {number(alike)}, derivative {number(slope)}"
        return Bar(f"{_cut(a)} · {_cut(b)}", 0.0, slope, "minus" if (slope > 0) != scored else "plus", tip)

    most = [k for k in ranked[:TOP_PAIRS].tolist() if slopes[k] > 0]
    least = [k for k in ranked[-TOP_PAIRS:].tolist() if slopes[k] < 0 and k not in most]
    rows = [row(k) for k in [*most, *least]] or [row(0)]
    # of very many pairs the table has those at either end
    whole = len(ranked) <= 2 * MOST_PAIRS
    chosen = ranked if whole else np.concatenate([ranked[:MOST_PAIRS], ranked[-MOST_PAIRS:]])
    note = "" if whole else f"The {MOST_PAIRS} highest and the {MOST_PAIRS} lowest of {len(ranked)} pairs."
    headers = [*first_two, entry, "derivative"]
    what = "score" if scored else "final error"
    label = f"The pairs that raise the {what} most, and those that lower it most"
    bars = Figure(
        label,
        row_chart(rows, f"change of the {what} per unit of {'knowledge' if scored else 'similarity'}"),
        Table(headers, [cells_of(k) for k in chosen.tolist()], note),
    )
    label = f"Heat map of the derivative of the {what} for every two tasks"
    order, unit = numbers.plan.order, f"derivative of the {what}"
    heat = matrix_figure(label, around.slopes, order, names, unit, warm=not scored)
    words = html(
        "The exact derivative of the score at this order for one entry of the transfer table: what a learner of the "
        "first task knows of the second. At 0.05, knowing 0.1 more would add 0.005 to the score. The pairs on "
        "top count most."
        if scored
        else "The exact derivative of the final error at this order for the similarity of one pair (not the expansion "
        "around equal similarities that the theory of the rules uses). At 0.5, two tasks that were 0.01 more alike "
        "would leave 0.005 more error. The pairs on top cost you; those at the bottom help."
    )
    return Section("pairs", "Which pairs count" if scored else "Which pairs cost you", words, figures=[bars, heat])


def _cut(name: str) -> str:
    return name if len(name) <= PAIR else name[: PAIR - 1] + "…"


def _times(error: float, best: float) -> object:
    return error / best if best > 1e-12 else "\N{EN DASH}"
