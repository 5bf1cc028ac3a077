"""Figure 3g: relative error of max-path and min-path (each the mean of its two directions) against m, seven tasks.

The paper claims the advantage of max-path for 0 < m < 1, where its theory holds, and calls it robust. Fixed before
looking: robust means that the interval over all matrices with m >= 0 lies below 1, and the ratio in every bin too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduction._rule_pairs import pair_figure
from reproduction._rules_in_bins import Errors, Sets, below, onset
from reproduction._rules_on_random import BATCH, QUICK, Config, run_batch, specs
from taskorder.plots.figuredata import Check, FigureData

__all__ = ["BATCH", "QUICK", "Config", "figure", "run_batch", "specs"]

RULE, OPPOSITE = "max-path", "min-path"
SOURCE = "paper, Fig. 3g"
BASES = (("random", "random orders"), (OPPOSITE, OPPOSITE))


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Both paths relative to random orders, in bins of m."""
    title = "Following the longest path through the dissimilarities helps"
    return pair_figure("fig3g", title, (RULE, OPPOSITE), config, results, claims=_claims, own=_own, relative=True)


def _claims(errors: Errors) -> list[Check]:
    part = errors.where(0)
    return [
        below(f"{RULE} robustly has less error than {words} (m >= 0)", SOURCE, part, RULE, base, every_bin=True)
        for base, words in BASES
    ]


def _own(sets: Sets) -> list[Check]:
    places = (
        ("for m < 0 too", sets["paper"].where(-1, 0)),
        ("on more such matrices with large m", sets["large"]),
        ("on matrices with entries in [0, 1]", sets["positive"]),
    )
    return [
        *(
            below(f"{RULE} has less error than {words} {where}", "ours", part, RULE, base)
            for where, part in places
            for base, words in BASES
        ),
        onset(sets["topped"], RULE, "random"),
    ]
