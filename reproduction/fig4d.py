"""Figure 4d: the error of all 5040 orders of the seven nodes of a binary tree.

The paper says that each inner node has two children and not how many nodes there are: seven is our reading. Task A is
the root, B and C its children, D to G the leaves. The highlighted orders are ours: level by level from the root down,
and from the leaves up. The root is less typical than its children below a = 1/2 and more typical above: there
periphery-to-core changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduction import _graph_claims as claims
from reproduction import _graph_orders
from reproduction._graph_orders import QUICK, Config, Graph, run_batch
from taskorder.plots.figuredata import FigureData
from taskorder.runs.specs import RunSpec

__all__ = ["BATCH", "QUICK", "Config", "figure", "run_batch", "specs"]

BATCH = 1
SOURCE = "paper, Fig. 4d"
PANELS = (Graph("tree", 7, ("ABCDEFG", "DEFGBCA")),)
CLAIMS = (
    claims.leaves_first(SOURCE),
    claims.starts_at("DEFG", SOURCE),
    claims.rule_helps("periphery-to-core"),
    claims.among_worst("ABCDEFG", "ours"),
    claims.one_optimum,
    claims.gain(None, "ours"),
    claims.rule_helps("max-path"),
)


def specs(config: Config) -> list[RunSpec]:
    """One run for each graph."""
    return _graph_orders.specs(config, PANELS)


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Every order's error against a, the rules, and the claims."""
    return _graph_orders.figure(
        "fig4d", "All orders of the seven nodes of a binary tree", config, PANELS, results, CLAIMS
    )
