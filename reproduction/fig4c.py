"""Figure 4c: how five tasks along a chain are learned in the paper's best and worst orders, and in random ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduction import _learning_curves as learning
from reproduction._learning_curves import QUICK, Config, Graph, run_batch
from taskorder.plots.figuredata import FigureData
from taskorder.runs.specs import RunSpec

__all__ = ["BATCH", "QUICK", "Config", "figure", "run_batch", "specs"]

BATCH = 10
SOURCE = "paper, Fig. 4c"
GRAPH = Graph("chain", 5, "AECDB", "ABCDE", ("best", "worst"))


def specs(config: Config) -> list[RunSpec]:
    """One run for each draw of the tasks."""
    return learning.specs(config, GRAPH)


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Mean learning curves, and who leads when."""
    claims = (
        learning.final_ranking(GRAPH, results, SOURCE),
        learning.agreement(config, GRAPH, results),
        learning.leaders(config, GRAPH, results),
    )
    return learning.figure("fig4c", "Learning five tasks along a chain", config, GRAPH, results, claims)
