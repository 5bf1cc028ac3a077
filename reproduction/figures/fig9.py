"""Figure 9: CIFAR-10 with the similarity from 0.1, 1, 10 and 100 % of the training data; ours also Fashion-MNIST.

"Comparable" is fixed as more than 0.8 of the gain with all training data, the interval of the paired ratio included.
"Not significant" is confirmed by an interval around 0 only with as many task sets as the paper had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from reproduction import Figure
from reproduction.claims import Claim, FigureData
from reproduction.image_claims import above, comparable, mean_number, not_significant
from reproduction.image_panels import Bins, accuracy_panels
from reproduction.image_results import PATHS, TYPICALITY, Sets, scores
from reproduction.image_runs import BATCH, Shared, progress_notes, run_batch, sets_by_part, specs
from reproduction.image_runs import QUICK as SMALL
from taskorder.plots.records import Panel, Series

WHOLE = "train"
SHARES = {"0.1%": 0.1, "1%": 1.0, "10%": 10.0, WHOLE: 100.0}
"""Percent of the training data by name of the estimate, in the order of the paper's panels."""


@dataclass(frozen=True)
class Config(Shared):
    """Settings: the number of task sets of each part; the paper has 100."""

    fashion_mnist: int = 100
    cifar10: int = 30
    cifar10_sampled: int = 70


QUICK = Config(**SMALL, fashion_mnist=12, cifar10=10, cifar10_sampled=0)


def figure(config: Config, results: Sequence[dict[str, Any] | None]) -> FigureData:
    """Accuracy against mean similarity for each share of the data, and the gain against the share."""
    sets = sets_by_part(config, results)
    cifar10, fashion = sets["cifar10"], sets["fashion-mnist"]
    bins = Bins(config.bin_width, config.min_count)
    panels = [
        panel
        for name, percent in SHARES.items()
        for panel in accuracy_panels(f"{cifar10.label}, {percent:g}\u00a0% of the data", cifar10, name, bins)
    ]
    panels += [_gains(part) for part in (cifar10, fashion) if part.truths]
    return FigureData(
        name="fig9",
        title="How little data tell the order",
        panels=tuple(panels),
        claims=(*_claims(cifar10, "paper, Fig. 9", "abcdefgh"), *_claims(fashion, "ours", "")),
        config=asdict(config),
        columns=4,
        notes=progress_notes(config, sets),
    )


def _claims(sets: Sets, source: str, letters: str) -> list[Claim]:
    def panel(share: int, rule: int) -> str:
        return source + letters[2 * share + rule : 2 * share + rule + 1]

    claims = []
    for column, rule in enumerate((TYPICALITY[0], PATHS[0])):
        for row, (name, percent) in enumerate(SHARES.items()):
            claim = f"{rule} with {percent:g} % of the data is above the mean order; {sets.label}"
            if percent >= 1:
                claims.append(above(claim, panel(row, column), sets, name, rule))
        claim = f"The gain of {rule} with 1 % of the data is comparable to that with all; {sets.label}"
        claims.append(comparable(claim, panel(1, column), sets, rule, "1%", WHOLE))
        claim = f"The gain of {rule} with 0.1 % of the data is not significant; {sets.label}"
        claims.append(not_significant(claim, panel(0, column), sets, rule, "0.1%"))
    return claims


def _gains(sets: Sets) -> Panel:
    """Gain over the mean order against the share of the data; bands are 95 % intervals."""
    there = {name: percent for name, percent in SHARES.items() if sets.has(name)}
    lines = []
    for rule in (*TYPICALITY, *PATHS):
        gains = [mean_number(scores(sets, name)[rule].gain) for name in there]
        y, low, high = zip(*gains, strict=True) if gains else ((), (), ())
        lines.append(Series(rule, tuple(there.values()), y, low, high, rule))
    return Panel(
        f"{sets.label}, by share of the data", "training data for the similarity, %", "points above the mean order",
        tuple(lines), x_scale="log",
    )  # fmt: skip


FIGURES = (Figure("fig9", Config(), QUICK, specs, run_batch, figure, BATCH),)
