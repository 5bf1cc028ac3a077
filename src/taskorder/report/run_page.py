"""A task set of a run store in words and figures: what every order came to, and what the rules would have chosen."""

from __future__ import annotations

import numpy as np

from taskorder.checks import counted
from taskorder.report.charts import Bar, Dot, Line, Mark, line_chart, ranking, row_chart, scatter_chart
from taskorder.report.markup import Html, html, task
from taskorder.report.page import Fact, Figure, Page, Section, Table
from taskorder.report.parts import map_figure, matrix_figure, order_path, sentence_order, swatch
from taskorder.report.plan_numbers import QUANTILES
from taskorder.report.run_numbers import RunNumbers
from taskorder.report.text import number, percent
from taskorder.theory.law import PLAIN_RETENTION

MOST_RANKED = 400
"""Orders in a table; of more, the best, and those of the rules."""


def run_page(numbers: RunNumbers, title: str, source: str) -> Page:
    """The page of a task set; `source` says what was read."""
    names = numbers.names
    best = numbers.orders[0].tolist()
    words = html("The order with the highest accuracy of {}.", counted(len(numbers.orders), "order"))
    sections = [Section("order", "The best order", words, order_path(best, names)), _ranking(numbers, names)]
    if len(names) > 1:
        sections += [
            _paths(numbers, names),
            _forgetting(numbers, names),
            _prediction(numbers),
            _similarity(numbers, names),
            _map(numbers, names),
        ]
    return Page(
        title=title,
        answer=_answer(numbers, names),
        facts=_facts(numbers),
        sections=sections,
        confidence=_confidence(numbers),
        warnings=(),
        notes=numbers.notes,
        made=_made(numbers, source),
        numbers=numbers.to_dict(),
    )


def _rules(numbers: RunNumbers) -> dict[str, int]:
    """The row of each rule's order, best first, where it was trained."""
    rows = {score.rule: numbers.row(score.order) for score in numbers.comparison.scores}
    return dict(sorted(((rule, row) for rule, row in rows.items() if row is not None), key=lambda item: item[1]))


def _label(rule: str) -> str:
    """A rule by name; best and worst are predictions here, beside what was measured."""
    return {"optimal": "predicted best", "worst": "predicted worst"}.get(rule, rule)


def _answer(numbers: RunNumbers, names: tuple[str, ...]) -> Html:
    accuracy = numbers.accuracy
    if len(accuracy) == 1:
        return html("The only order that was trained ends with a mean accuracy of {}.", percent(accuracy[0]))
    words = "The best of {} is {}: it ends with a mean accuracy of {}, against {} on average and {} at worst.{}"
    which = counted(len(accuracy), "order") if not numbers.every else f"all {len(accuracy)} orders"
    rules = {rule: row for rule, row in _rules(numbers).items() if rule != "worst"}
    first = next(iter(rules), None)
    closest = f" Of the rules, {_label(first)} comes closest ({percent(accuracy[rules[first]])})." if first else ""
    ends = percent(float(accuracy[0])), percent(float(accuracy.mean())), percent(float(accuracy[-1]))
    return html(words, which, sentence_order(numbers.orders[0].tolist(), names), *ends, closest)


def _facts(numbers: RunNumbers) -> list[Fact]:
    accuracy = numbers.accuracy
    agreement = "none" if numbers.agreement is None else number(round(numbers.agreement, 3))
    mean = f"mean over {counted(len(accuracy), 'order')}: {percent(float(accuracy.mean()))}"
    return [
        Fact("Best order", percent(float(accuracy[0])), mean),
        Fact(
            "Worst order",
            percent(float(accuracy[-1])),
            f"{100 * float(accuracy[0] - accuracy[-1]):.0f} points below the best",
        ),
        Fact("Forgetting", number(round(float(numbers.forgetting[0]), 4)), "in the best order, mean over tasks"),
        Fact("Prediction", agreement, "rank correlation of what the law predicts with what was measured"),
    ]


def _ranking(numbers: RunNumbers, names: tuple[str, ...]) -> Section:
    accuracy, rules = numbers.accuracy, _rules(numbers)
    n = len(accuracy)
    marks = [
        Mark(_label(rule), rule, accuracy[row], f"{_label(rule)}: rank {row + 1} of {n}, {number(accuracy[row])}")
        for rule, row in rules.items()
    ]
    mean = float(accuracy.mean())
    marks.append(Mark("mean of all", "random", mean, f"mean of {counted(n, 'order')}: {number(mean)}"))
    marks.sort(key=lambda mark: -mark.value)
    by_row: dict[int, list[str]] = {}
    for rule, row in rules.items():
        by_row.setdefault(row, []).append(_label(rule))
    shown = sorted({*range(min(n, MOST_RANKED)), *by_row})
    rows = [
        [row + 1, _order_text(numbers.orders[row].tolist(), names), float(accuracy[row]), *_spread(numbers, row),
         float(numbers.forgetting[row]), float(numbers.predicted[row]), ", ".join(by_row.get(row, ()))]
        for row in shown
    ]  # fmt: skip
    headers = ["rank", "order", "accuracy", *(["standard error"] if numbers.spread is not None else [])]
    headers += ["forgetting", "predicted accuracy", "rules"]
    note = "" if len(shown) == n else f"{len(shown)} of {n} orders."
    label = f"Accuracy of {counted(n, 'order')}, highest first, from {number(accuracy[0])} to {number(accuracy[-1])}"
    titles = ("rank of the order (1 is best)", "mean accuracy after the last task")
    figure = Figure(label, ranking(accuracy, marks, titles), Table(headers, rows, note))
    untrained = [_label(score.rule) for score in numbers.comparison.scores if score.rule not in rules]
    words = html(
        "Each dot is an order that was trained, each row below what a rule chooses from networks of single tasks.{}",
        f" Not trained: {', '.join(untrained)}." if untrained else "",
    )
    return Section("ranking", "Every order, best first", words, figures=[figure])


def _order_text(order: list[int], names: tuple[str, ...]) -> Html:
    text = " → ".join(names[k][:40] for k in order)
    return html('<bdi title="{}">{}</bdi>', text, text)


def _spread(numbers: RunNumbers, row: int) -> list[float]:
    return [] if numbers.spread is None else [float(numbers.spread[row])]


def _paths(numbers: RunNumbers, names: tuple[str, ...]) -> Section:
    band = np.quantile(numbers.paths, QUANTILES, axis=0)
    best = numbers.orders[0].tolist()
    steps = ["before training", *(f"after step {k}, {names[task][:80]}" for k, task in enumerate(best, start=1))]
    tips = [f"{when}: {number(float(value))}" for when, value in zip(steps, numbers.paths[0], strict=True)]
    lines = [Line("best order", "best", numbers.paths[0], tips)]
    lines += [Line(_label(rule), rule, numbers.paths[row]) for rule, row in _rules(numbers).items()]
    label = f"Mean accuracy over all tasks after each step; the best order ends at {number(float(numbers.accuracy[0]))}"
    headers = ["step", *(line.label for line in lines), *(f"{percent(q)} quantile of orders" for q in QUANTILES)]
    rows = [[k, *(float(line.values[k]) for line in lines), *band[:, k].tolist()] for k in range(len(steps))]
    titles = ("steps learned", "mean accuracy over all tasks")
    figure = Figure(label, line_chart(lines, band, titles), Table(headers, rows))
    words = html("Gray: the middle half and the middle 90 % of all orders that were trained, dashed their median.")
    return Section("path", "Accuracy after each task", words, figures=[figure])


def _forgetting(numbers: RunNumbers, names: tuple[str, ...]) -> Section:
    best = numbers.orders[0].tolist()
    learned, final = numbers.learned[0].tolist(), numbers.final[0].tolist()
    rows, table = [], []
    mean_lost = (numbers.learned - numbers.final).mean(axis=0).tolist()
    for step, k in enumerate(best, start=1):
        tip = f"{names[k][:80]}: {number(learned[k])} when just learned, {number(final[k])} at the end"
        rows.append(Bar(f"{step}. {names[k]}", learned[k], final[k], "best", tip))
        table.append([step, names[k], learned[k], final[k], learned[k] - final[k], mean_lost[k]])
    label = "Accuracy of each task when just learned and at the end, in the best order"
    headers = ["step", "task", "just learned", "at the end", "lost", "lost, mean over orders"]
    title = "accuracy: just learned (hollow) and at the end (full)"
    figure = Figure(label, row_chart(rows, title, ends=True), Table(headers, table))
    worst = int(np.argmax(mean_lost))
    words = html(
        "In the best order: the accuracy of a task when it was just learned, and at the end. Over all orders, {} loses "
        "most: {} on average.",
        task(names[worst][:80]),
        number(mean_lost[worst]),
    )
    return Section("forgetting", "What each task forgets", words, figures=[figure])


def _prediction(numbers: RunNumbers) -> Section:
    predicted, accuracy = numbers.predicted, numbers.accuracy
    dots = [
        Dot(float(predicted[row]), float(accuracy[row]), rule, _label(rule)) for rule, row in _rules(numbers).items()
    ]
    agreement = "not defined" if numbers.agreement is None else number(round(numbers.agreement, 3))
    label = f"Predicted against measured accuracy of every order; rank correlation {agreement}"
    titles = ("predicted mean accuracy", "measured mean accuracy")
    rows = [[swatch(dot.look, dot.label), dot.x, dot.y] for dot in dots]
    behind = Table(["rule", "predicted accuracy", "accuracy"], rows, "Every order: see the table above and the JSON.")
    figure = Figure(label, scatter_chart(predicted, accuracy, dots, titles), behind)
    words = html(
        "What the law of retention predicts from networks of single tasks, with the retention of plain networks ({}), "
        "against what networks did. Spearman's rank correlation: {}.", PLAIN_RETENTION, agreement,
    )  # fmt: skip
    return Section("prediction", "Does the law predict it?", words, figures=[figure])


def _similarity(numbers: RunNumbers, names: tuple[str, ...]) -> Section:
    best = numbers.orders[0].tolist()
    mean = number(round(numbers.mean_similarity, 4))
    label = f"Heat map of the similarity of every two tasks, in the best order; the mean is {mean}"
    figure = matrix_figure(label, numbers.similarity, best, names, "similarity")
    words = html(
        "From how the network of one task does on the others (zero-shot transfer, mean over seeds). Mean: {}.",
        mean,
    )
    return Section("similarity", "Similarity, in the best order", words, figures=[figure])


def _map(numbers: RunNumbers, names: tuple[str, ...]) -> Section:
    figure = map_figure(numbers.points, numbers.orders[0].tolist(), names, "the best order")
    words = html(
        "Similar tasks lie close together (classical scaling; two dimensions show {} of the squared distances). The "
        "line is the best order, from one filled dot to the other.", percent(numbers.share_shown),
    )  # fmt: skip
    return Section("map", "A map of the tasks", words, figures=[figure])


def _confidence(numbers: RunNumbers) -> list[str]:
    which = "every order that there is" if numbers.every else "only some of all orders"
    seeds = (
        "one seed: the best order of one seed is partly luck, and no interval can be given"
        if numbers.spread is None
        else f"{numbers.num_seeds} seeds; the best order has a standard error of {number(float(numbers.spread[0]))}, "
        "and being the best of many is partly luck"
    )
    return [
        f"Accuracies are measured on test data, for {which}, with {seeds}.",
        "The rules are what `taskorder solve` would choose: of the two directions of a path, the one that the law "
        "likes better. Predictions and measurements share their seeds: other seeds agree a little less.",
    ]


def _made(numbers: RunNumbers, source: str) -> dict[str, str]:
    from taskorder._version import __version__

    settings = ", ".join(f"{key} {value}" for key, value in sorted(numbers.settings.items()))
    return {
        "Input": source,
        "Task set": f"{numbers.number}, of a store with {counted(numbers.num_runs, 'finished run')}",
        "Settings": settings,
        "Training time": f"{numbers.seconds:.3g} s",
        "Version": f"taskorder {__version__}",
    }
