"""Where the retention comes from: steps, rate, width, batch, images, position, and tasks of different sizes. Ours.

The question, the grid and the statistic are in `reproduction/retention_pairs.py`, the orders of tasks of different
sizes in `reproduction/retention_uneven.py`. Runs in all orders that other figures use (Fashion-MNIST with 1, 5 and 20
epochs, batch 32, Adam reset; CIFAR-10 and CIFAR-100 with the convolutional network) are predicted, not fitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from reproduction import Figure
from reproduction.claims import FigureData
from reproduction.figures import retention_claims as about
from reproduction.figures.retention_panels import panels
from reproduction.retention_measured import Config, measured, run_batch, specs

QUICK = Config(num_sets=2, uneven_sets=0, order_sets=0, min_sets=2)


def figure(config: Config, results: Sequence[Mapping[str, Any] | None]) -> FigureData:
    """Retention by steps and settings, on other data, by position, and by the size of the task."""
    found = measured(config, results)
    return FigureData(
        name="retention",
        title="Where the retention comes from",
        panels=panels(found),
        claims=about.claims(found),
        config=asdict(config),
        columns=3,
        notes=about.notes(found),
    )


FIGURES = (Figure("retention", Config(), QUICK, specs, run_batch, figure, batch=4),)
