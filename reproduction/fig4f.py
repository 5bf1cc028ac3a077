"""Figure 4f: how the nodes of a binary tree are learned from the leaves up, from the root down, and in random orders.

Task A is the root, B and C its children, D to G the leaves. The paper shows its two orders as pictures only. Ours go
level by level: from the leaves up, as periphery-to-core does, and from the root down, as core-to-periphery does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduction import _learning_curves as learning
from reproduction._learning_curves import QUICK, Config, Graph, run_batch
from taskorder.plots.figuredata import FigureData
from taskorder.runs.specs import RunSpec

__all__ = ["BATCH", "QUICK", "Config", "figure", "run_batch", "specs"]

BATCH = 10
SOURCE = "paper, Fig. 4f"
GRAPH = Graph("tree", 7, "DEFGBCA", "ABCDEFG", ("periphery-to-core", "core-to-periphery"))


def specs(config: Config) -> list[RunSpec]:
    """One run for each draw of the tasks."""
    return learning.specs(config, GRAPH)


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Mean learning curves, and who leads when."""
    claims = (
        learning.early_lead(config, GRAPH, results, SOURCE),
        learning.reversal(config, GRAPH, results, SOURCE),
        learning.final_ranking(GRAPH, results, SOURCE),
        learning.agreement(config, GRAPH, results),
        learning.leaders(config, GRAPH, results),
    )
    return learning.figure("fig4f", "Learning the seven nodes of a binary tree", config, GRAPH, results, claims)
