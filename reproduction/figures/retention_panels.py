"""The panels of the figure `retention`."""

from __future__ import annotations

import numpy as np

from reproduction.figures.retention_claims import plain_logs
from reproduction.image_claims import Number
from reproduction.image_panels import dots
from reproduction.retention_fit import number, retention, set_weights
from reproduction.retention_measured import CELLS, OTHERS, Measured
from reproduction.retention_pairs import Cell
from taskorder.plots.records import Panel, Series

STEPS, RETENTION = "steps of the task that is learned", "retention d"


def panels(found: Measured) -> tuple[Panel, ...]:
    """Steps and rate; first steps; other settings; other data; position; tasks of different sizes."""
    if not found.cells:
        return ()
    drawn = [
        _cells(found, "Steps and rate", {"rate 3e-4": "rate 3e-4", "base": "rate 1e-3", "rate 3e-3": "rate 3e-3"}),
        _cells(
            found, "Steps of the first task",
            {"100 first steps": "100", "300 first steps": "300", "base": "1,000", "3,000 first steps": "3,000"},
        ),
        _cells(
            found, "Other settings",
            {name: name for name in ("base", "half width", "double width", "batch 16", "300 images")},
        ),
        _cells(found, "Other data, perceptron", {"base": "Fashion-MNIST", **{name: name for name in OTHERS}}),
    ]  # fmt: skip
    if found.parts:
        drawn.append(_positions(found))
    if found.sizes is not None:
        drawn.append(_sizes(found))
    return tuple(drawn)


def _fitted(found: Measured, steps: np.ndarray, cell: Cell | None = None) -> Series:
    d = [float(found.fit.predicted(plain_logs(cell or Cell(), n))[0]) for n in steps]
    return Series("fit", tuple(map(float, steps)), tuple(d), role="reference")


def _cells(found: Measured, title: str, labels: dict[str, str]) -> Panel:
    every, series = {**CELLS, **OTHERS}, []
    for name, label in labels.items():
        x = tuple(float(stop) for stop in every[name].steps)
        d = retention(found.cells[name], found.weights)
        y, low, high = zip(*(number(column, found.count) for column in d.T), strict=True)
        series.append(Series(label, x, y, low, high, style="bars"))
    largest = max(max(every[name].steps) for name in labels)
    series.append(_fitted(found, np.geomspace(30, largest, 20)))
    return Panel(title, STEPS, RETENTION, tuple(series), x_scale="log")


def _positions(found: Measured) -> Panel:
    values: dict[str, dict[str, Number]] = {}
    for label, sums in found.parts.items():
        d = retention(sums, set_weights(len(sums)))
        for place, name in enumerate(("second", "third", "fourth", "fifth")):
            values.setdefault(name, {})[label] = number(d[:, place], len(sums))
    return dots("Runs in all orders, by position", RETENTION, values)


def _sizes(found: Measured) -> Panel:
    assert found.sizes is not None
    steps, count = found.steps_by_size(), len(found.uneven)
    series = []
    for label, sums in zip(("second task", "third to fifth"), found.sizes, strict=True):
        d = retention(sums, set_weights(count))
        y, low, high = zip(*(number(column, count) for column in d.T), strict=True)
        series.append(Series(label, tuple(steps.tolist()), y, low, high, style="bars"))
    series.append(_fitted(found, np.geomspace(steps[0], steps[-1], 20)))
    return Panel("Tasks of different sizes", STEPS, RETENTION, tuple(series), x_scale="log")
