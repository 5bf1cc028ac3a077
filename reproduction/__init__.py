"""The paper's figures, and questions of our own, as numbers with claims and verdicts: `python -m reproduction`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from reproduction.claims import FigureData
from taskorder.runs.specs import RunSpec

FIGURES = {
    "fig1c": ("fig1c", "three CIFAR-10 tasks in two orders"),
    "fig2b": ("fig2b", "the closed form against gradient descent"),
    "fig2c": ("fig2c", "the best order of three tasks"),
    "fig3a": ("fig3a", "the first-order matrix G and its two parts"),
    "fig3d": ("fig3d", "the part of G behind periphery-to-core"),
    "fig3e": ("fig3_rules", "periphery-to-core on random matrices"),
    "fig3f": ("fig3f", "the sign of the part of G behind max-path"),
    "fig3g": ("fig3_rules", "max-path on random matrices"),
    "fig4a": ("fig4_orders", "all orders of a chain"),
    "fig4b": ("fig4_orders", "all orders of a ring"),
    "fig4c": ("fig4_curves", "learning curves on a chain"),
    "fig4d": ("fig4_orders", "all orders of a tree"),
    "fig4e": ("fig4_orders", "all orders of the leaves of a tree"),
    "fig4f": ("fig4_curves", "learning curves on a tree"),
    "fig5": ("fig5", "both rules on image tasks"),
    "fig6a": ("fig6", "fig3e without normalization"),
    "fig6b": ("fig6", "fig3g without normalization"),
    "fig6c": ("fig6", "how often periphery-to-core beats its opposite"),
    "fig6d": ("fig6", "how often max-path beats its opposite"),
    "fig7": ("fig7", "tasks of five classes; similarity from training data"),
    "fig9": ("fig9", "similarity from 0.1 to 100 % of the data, CIFAR-10"),
    "fig10": ("fig5", "fig5 with the similarity from 1 % of the data"),
    "truth": ("truth", "every rule among all orders of image tasks"),
    "noise-ceiling": ("noise_ceiling", "how much of the best order's lead is luck"),
    "training-choices": ("training_choices", "other batch sizes, optimizers and epochs"),
    "law": ("law", "the law of retention among all orders of image tasks"),
    "retention": ("retention", "what sets how much a network keeps"),
    "many-tasks": ("many_tasks", "10 to 50 image tasks: the law, rules, pilots and races"),
    "finetuning": ("finetuning", "in which order to fine-tune pretrained models"),
    "atlas": ("atlas", "when order matters, with each head and strategy"),
    "early-stopping": ("early_stopping", "training that ends before convergence"),
    "finite-size": ("finite_size", "the closed form at finite size"),
    "rules-at-scale": ("rules_at_scale", "the rules from 3 to 200 tasks"),
}
"""By name, the module in `reproduction.figures` and what it shows: the paper's figures, then our own questions."""
NAMES = tuple(FIGURES)
IMAGES = (
    "fig1c", "fig5", "fig7", "fig9", "fig10", "truth", "noise-ceiling", "training-choices", "retention", "many-tasks",
)  # fmt: skip
"""Figures that train image networks, hours of a GPU; their `figure` takes None for results that are missing."""


@dataclass(frozen=True)
class Figure:
    """How a figure is made. A module of `reproduction.figures` lists its figures in `FIGURES`."""

    name: str
    full: Any
    """The settings: the paper's sizes where it states them."""
    quick: Any
    """Smaller settings, for about a minute; minutes for images."""
    specs: Callable[[Any], list[RunSpec]]
    """The runs that the settings need. Figures that need the same runs share them through the store."""
    run_batch: Callable[[Sequence[RunSpec]], list[dict[str, Any]]] | None
    """The results of runs, as plain JSON values. None: it trains nothing, and is made from the results that are there,
    with None for those that are missing."""
    figure: Callable[[Any, Sequence[Any]], FigureData]
    """The panels and claims, from the settings and the results of all runs."""
    batch: int = 1
    """How many runs to compute between two commits to the store."""
    keep: bool = False
    """Whether the results of its runs are kept beside the figure, because they take a GPU."""


def load(name: str) -> Figure:
    """The figure called `name`."""
    if name not in FIGURES:
        raise ValueError(f"`name` must be a figure, got {name!r}. Figures: {', '.join(NAMES)}.")
    module = import_module(f"reproduction.figures.{FIGURES[name][0]}")
    figures: tuple[Figure, ...] = module.FIGURES
    return next(figure for figure in figures if figure.name == name)
