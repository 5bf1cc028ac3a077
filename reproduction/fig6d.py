"""Figure 6d: share of matrices on which max-path has less error than min-path; 3, 5 and 7 tasks.

The runs with seven tasks are those of figure 3g. About the number of tasks the paper claims nothing here (for images it
sees no growth, since the difference is large at three tasks already): that question is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reproduction._rules_on_random import BATCH, run_batch, specs
from reproduction._rules_on_random import QUICK_SIZES as QUICK
from reproduction._rules_on_random import ManySizes as Config
from reproduction._win_shares import BySize, grows, mostly, shares_figure
from taskorder.plots.figuredata import Check, FigureData

__all__ = ["BATCH", "QUICK", "Config", "figure", "run_batch", "specs"]

PAIR = ("max-path", "min-path")
SMALL = 0.2
SOURCE = "paper, Fig. 6d"
GROWS = f"The advantage of {PAIR[0]} over {PAIR[1]} grows with the number of tasks"


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Share of wins in bins of m."""
    title = "How often the longest path beats the shortest"
    return shares_figure("fig6d", title, PAIR, config, results, claims=_claims, own=_own)


def _claims(sizes: BySize) -> list[Check]:
    return [
        mostly(f"{PAIR[0]} mostly has less error than {PAIR[1]}; {P} tasks, m >= 0", SOURCE, errors.where(0), *PAIR)
        for P, errors in sizes.items()
    ]


def _own(sets: Mapping[str, BySize]) -> list[Check]:
    return [
        *(
            mostly(
                f"{PAIR[0]} mostly has less error than {PAIR[1]}; {P} tasks, 0 <= m < {SMALL}",
                "ours",
                errors.where(0, SMALL),
                *PAIR,
            )
            for P, errors in sets["paper"].items()
        ),
        grows(GROWS, "ours", sets["paper"], *PAIR),
        grows(f"{GROWS}, with our additional matrices of large m", "ours", sets["topped"], *PAIR, drawn_evenly=False),
        grows(f"{GROWS}, on matrices with entries in [0, 1]", "ours", sets["positive"], *PAIR),
    ]
