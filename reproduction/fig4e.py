"""Figure 4e: the error of all orders of the leaves of a binary tree.

The paper does not say how many leaves: the claims are checked for eight, and the second panel has four (the leaves of
the tree of figure 4d). The highlighted orders are ours: from left to right, and one that changes halves at every step.
Siblings are A and B, C and D, and so on. All leaves are equally typical.
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
SOURCE = "paper, Fig. 4e"
PANELS = (
    Graph("leaves", 8, ("ABCDEFGH", "AECGBFDH")),
    Graph("leaves", 4, ("ABCD", "ACBD")),
)
CLAIMS = (
    claims.hops(SOURCE),
    claims.long_path(SOURCE),
    claims.among_best("AECGBFDH", "ours"),
    claims.among_worst("ABCDEFGH", "ours"),
    claims.one_optimum,
    claims.gain(None, "ours"),
    claims.rule_helps("max-path"),
)


def specs(config: Config) -> list[RunSpec]:
    """One run for each graph."""
    return _graph_orders.specs(config, PANELS)


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Every order's error against a, the rules, and the claims."""
    return _graph_orders.figure("fig4e", "All orders of the leaves of a binary tree", config, PANELS, results, CLAIMS)
