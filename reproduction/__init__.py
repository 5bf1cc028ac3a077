"""The experiments: one module a figure, each with

Config, QUICK          the settings: the paper's sizes as defaults, and a version that takes about a minute
specs(config)          the runs it needs, as RunSpecs; figures that need the same runs share them through the store
run_batch(specs)       their results, as plain JSON values
figure(config, results) the numbers to draw and the claims to check, as FigureData
BATCH                  how many specs to run between two commits to the store
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from taskorder.plots.figuredata import FigureData
from taskorder.runs.specs import RunSpec

NAMES = (
    "fig1c", "fig2b", "fig2c", "fig3a", "fig3d", "fig3e", "fig3f", "fig3g", "fig4a", "fig4b", "fig4c", "fig4d", "fig4e",
    "fig4f", "fig5", "fig6a", "fig6b", "fig6c", "fig6d", "fig7", "fig9", "fig10",
    "truth", "noise-ceiling", "training-choices", "early-stopping", "finite-size", "rules-at-scale",
)  # fmt: skip
"""Every experiment, in the order of the paper, then our own."""
IMAGES = ("fig1c", "fig5", "fig7", "fig9", "fig10", "truth", "noise-ceiling", "training-choices")
"""Those that train image networks, hours of a GPU; their `figure` takes None for runs that are missing."""


class Experiment(Protocol):
    """What a module of this package offers."""

    Config: type[Any]
    QUICK: Any
    BATCH: int

    def specs(self, config: Any) -> list[RunSpec]: ...

    def run_batch(self, specs: Sequence[RunSpec]) -> list[dict[str, Any]]: ...

    def figure(self, config: Any, results: Sequence[dict[str, Any]]) -> FigureData: ...


def load(name: str) -> Experiment:
    """The experiment called `name`."""
    if name not in NAMES:
        raise ValueError(f"`name` must be an experiment, got {name!r}. Experiments: {', '.join(NAMES)}.")
    return cast(Experiment, import_module(f"{__name__}.{name.replace('-', '_')}"))
