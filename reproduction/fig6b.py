"""Figure 6b: figure 3g without normalization; the same runs. "Robustly" means what it means for figure 6a."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduction._rule_pairs import pair_figure
from reproduction._rules_in_bins import Errors, Sets, order_matters
from reproduction._rules_on_random import BATCH, QUICK, Config, run_batch, specs
from taskorder.plots.figuredata import Check, FigureData

__all__ = ["BATCH", "QUICK", "Config", "figure", "run_batch", "specs"]

PAIR = ("max-path", "min-path")


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Errors of both paths and of random orders, in bins of m."""
    title = "The error itself: average correlation and path orders"
    return pair_figure("fig6b", title, PAIR, config, results, claims=_claims, own=_own, relative=False)


def _claims(errors: Errors) -> list[Check]:
    return [order_matters(errors, "paper, Fig. 6b", *PAIR)]


def _own(sets: Sets) -> list[Check]:
    return [order_matters(sets["positive"], "ours", *PAIR, " on matrices with entries in [0, 1]")]
