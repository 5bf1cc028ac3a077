"""Figure 5: both rules and their opposites on image tasks, and how often they win with three, five and seven tasks.

The paper has 100 task sets of each kind and 30 random orders of each set. With up to five tasks we train all orders:
the mean order is then the mean of all, and not of a sample. As in the paper a path rule is the mean of its directions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reproduction._image_claims import above, slightly_above
from reproduction._image_rules import DATASETS, Config, rules_figure
from reproduction._image_runs import BATCH, run_batch, sets_by_part, specs
from reproduction._image_runs import QUICK as SMALL
from reproduction._image_scores import PATHS, TYPICALITY, one_way
from reproduction._image_truth import Sets
from taskorder.plots.figuredata import Check, FigureData

__all__ = ["BATCH", "QUICK", "Config", "figure", "run_batch", "specs"]

QUICK = Config(**SMALL, fashion_mnist=12, cifar10=10, cifar10_sampled=0, cifar100_p3=0, cifar100_p5=0, cifar100_p7=0)


def figure(config: Config, results: Sequence[dict[str, Any] | None]) -> FigureData:
    """Accuracy against mean similarity for each data set, and the shares of wins by number of tasks."""
    title = "Learning image tasks from the periphery to the core, or along the longest path"
    return rules_figure("fig5", "paper, Fig. 5", title, config, sets_by_part(config, results), "test", _more)


def _more(sets: Mapping[str, Sets]) -> list[Check]:
    """How the two rules compare, and the second with the direction that a planner would choose."""
    checks = []
    for name, letters in zip(DATASETS, ("a, b", "c, d", "e, f"), strict=True):
        claim = f"{TYPICALITY[0]} is above {PATHS[0]}, but not by much; {sets[name].label}"
        checks.append(slightly_above(claim, f"paper, Fig. 5{letters}", sets[name], "test", TYPICALITY[0], PATHS[0]))
    for name in DATASETS:
        claim = f"{TYPICALITY[0]} is above {PATHS[0]} in the direction that a planner chooses; {sets[name].label}"
        checks.append(above(claim, "ours", sets[name], "test", TYPICALITY[0], one_way(PATHS[0])))
    return checks
