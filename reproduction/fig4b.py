"""Figure 4b: the error of all 120 orders of five tasks around a ring.

The paper highlights three orders without naming them, and says only that the trends are those of the chain. Here: once
around the ring (the analog of ABCDE on the chain), and the longest path, two steps at a time. On a ring all tasks are
equally typical.
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
SOURCE = "paper, Fig. 4b"
PANELS = (Graph("ring", 5, ("ABCDE", "ACEBD")),)
CLAIMS = (
    claims.long_path(SOURCE),
    claims.among_best("ACEBD", "ours"),
    claims.among_worst("ABCDE", "ours"),
    claims.one_optimum,
    claims.gain(None, "ours"),
    claims.rule_helps("max-path"),
)


def specs(config: Config) -> list[RunSpec]:
    """One run for each graph."""
    return _graph_orders.specs(config, PANELS)


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Every order's error against a, the rules, and the claims."""
    return _graph_orders.figure("fig4b", "All orders of five tasks around a ring", config, PANELS, results, CLAIMS)
