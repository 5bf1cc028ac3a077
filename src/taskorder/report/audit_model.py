"""What a small model tells of many orders with one run each: the section of an audit's page."""

from __future__ import annotations

import numpy as np

from taskorder.audit.verdict import p_value, points, share_text
from taskorder.report.audit_numbers import AuditNumbers, readable
from taskorder.report.charts import Dot, scatter_chart
from taskorder.report.markup import Html, html, task
from taskorder.report.page import MAX_TEXT, MOST_LISTED, Figure, Section, Table


def model_section(numbers: AuditNumbers) -> Section:
    """Predictions of orders that the model has not seen against what was measured, and the best by the model."""
    model, scores = numbers.audit.model, numbers.audit.orders
    assert model is not None
    measured, predicted = numbers.means, np.array(model.predicted)
    dots = [Dot(float(predicted[0]), float(measured[0]), "periphery-to-core", "luckiest")]
    if model.tells and model.best_observed is not None and model.best != model.luckiest:
        at = [score.order for score in scores].index(model.best)
        dots.append(Dot(float(predicted[at]), float(measured[at]), "optimal", "best by the model"))
    titles = ("predicted without the order itself", "measured")
    listed = range(min(len(scores), MOST_LISTED))
    cells = [[k + 1, numbers.labels[k][:MAX_TEXT], float(measured[k]), float(predicted[k])] for k in listed]
    note = "" if len(scores) <= MOST_LISTED else f"The {MOST_LISTED} best."
    figure = Figure(
        f"Accuracy of {len(scores)} orders, predicted by a model that has not seen them, against measured",
        scatter_chart(predicted, measured, dots, titles),
        Table(["rank", "order", "measured", "predicted"], cells, note),
    )
    words = html(
        "One run for each order cannot tell the order from luck, but many orders together may. Here a ridge regression "
        "on {} {} ({} by {} shuffles of the accuracies). On orders it has not seen it explains {} of the variance; its "
        "typical error is {} points. {}",
        model.seen, "tells order from noise" if model.tells else "cannot tell order from noise", p_value(model.p),
        model.num_shuffles, share_text(max(model.r2, 0.0)), points(model.error), _best(numbers),
    )  # fmt: skip
    return Section("model", "What one run for each order can tell", words, figures=[figure])


def _best(numbers: AuditNumbers) -> Html:
    """The best order by the model beside the luckiest one, where the model tells anything."""
    model = numbers.audit.model
    assert model is not None
    best, luckiest = readable([model.best, model.luckiest], numbers.task_names)
    observed = share_text(model.luckiest_observed), share_text(model.luckiest_expected)
    if not model.tells:
        return html("The best order, {} ({}), may have been lucky.", task(luckiest[:MAX_TEXT]), observed[0])
    ran = "it was not run" if model.best_observed is None else f"{share_text(model.best_observed)} measured"
    return html(
        "Best by the model: {} ({} expected, {}). Luckiest: {} ({} measured, {} expected).",
        task(best[:MAX_TEXT]), share_text(model.best_expected), ran, task(luckiest[:MAX_TEXT]), *observed,
    )  # fmt: skip
