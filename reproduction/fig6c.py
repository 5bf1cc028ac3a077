"""Figure 6c: share of matrices on which periphery-to-core has less error than core-to-periphery; 3, 5 and 7 tasks.

The runs with seven tasks are those of figure 3e. Large m is what it is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from reproduction._rules_on_random import BATCH, run_batch, specs
from reproduction._rules_on_random import QUICK_SIZES as QUICK
from reproduction._rules_on_random import ManySizes as Config
from reproduction._win_shares import BySize, grows, mostly, shares_figure
from taskorder.plots.figuredata import Check, FigureData

__all__ = ["BATCH", "QUICK", "Config", "figure", "run_batch", "specs"]

PAIR = ("periphery-to-core", "core-to-periphery")
GROWS = f"The advantage of {PAIR[0]} over {PAIR[1]} grows with the number of tasks"


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Share of wins in bins of m."""
    title = "How often learning from the periphery to the core beats the opposite"
    claims = partial(_claims, large_m=config.large_m)
    return shares_figure("fig6c", title, PAIR, config, results, claims=claims, own=_own)


def _claims(sizes: BySize, large_m: float) -> list[Check]:
    where = f"mostly has less error than {PAIR[1]} for large m (m >= {large_m:g})"
    return [
        grows(GROWS, "paper, Fig. 6c", sizes, *PAIR),
        *(
            mostly(f"{PAIR[0]} {where}; {P} tasks", "paper, Fig. 6c", errors.where(large_m), *PAIR)
            for P, errors in sizes.items()
        ),
    ]


def _own(sets: Mapping[str, BySize]) -> list[Check]:
    return [
        grows(f"{GROWS}, with our additional matrices of large m", "ours", sets["topped"], *PAIR, drawn_evenly=False),
        grows(f"{GROWS}, on matrices with entries in [0, 1]", "ours", sets["positive"], *PAIR),
    ]
