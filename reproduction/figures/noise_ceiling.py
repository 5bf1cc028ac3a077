"""The noise ceiling: what choosing by a full run is worth when the networks are trained anew with another seed. Ours.

The best order of one run is scored in the run of another seed on the same task set, and the other way round; both
count half. No rule that knows only the tasks can expect much more: the rest of the best order's lead is luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from reproduction import Figure, limits
from reproduction.claims import Claim, FigureData, inside
from reproduction.image_claims import Number, difference, mean_number, ratio_number, untested
from reproduction.image_panels import dots
from reproduction.image_results import PATHS, TYPICALITY, Sets, Truth, alike, rank_correlations, rule_orders
from reproduction.image_runs import BATCH, Shared, progress_notes, run_batch, sets_by_part, specs
from taskorder.checks import Floats

ESTIMATE = "test"
RULES = (TYPICALITY[0], PATHS[0], "optimal")
BEST, SAME = "best of another seed", "best of the same seed"
HALF = 0.5


@dataclass(frozen=True)
class Config(Shared):
    """Settings: the number of task sets of each part, each with two seeds."""

    num_seeds: int = 2
    fashion_mnist: int = 100
    cifar10: int = 30
    cifar100_p5: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        limits.whole(self, 2, "num_seeds", most=2)


QUICK = Config(fashion_mnist=4, cifar10=0, cifar100_p5=0, similarities=("test", "curvature"), fraction=0.02, min_sets=4)


def figure(config: Config, results: Sequence[dict[str, Any] | None]) -> FigureData:
    """Gains in the run of another seed, and how alike two seeds rank all orders."""
    sets = {name: paired(part) for name, part in sets_by_part(config, results).items()}
    there = [part for part in sets.values() if _enough(part)]
    gains: dict[str, dict[str, Number]] = {}
    ranks: dict[str, dict[str, Number]] = {}
    for part in there:
        gains[part.label] = {name: mean_number(values) for name, values in crossed_gains(part).items()}
        ranks[part.label] = {"another seed": mean_number(seed_correlations(part))} | {
            rule: mean_number(_mean_of_seeds(rank_correlations(part, ESTIMATE)[rule])) for rule in RULES
        }
    panels = (
        dots("Orders chosen with one seed, scored with another", "points above the mean order", gains, 0.0),
        dots("Rank correlation with the accuracy of all orders", "Spearman correlation", ranks, 0.0),
    )
    return FigureData(
        name="noise-ceiling",
        title="How much of the best order is luck",
        panels=panels if there else (),
        claims=tuple(claim for part in sets.values() for claim in _claims(part)),
        config=asdict(config),
        notes=(*progress_notes(config, sets), "A task set counts when both of its seeds are there."),
    )


def paired(sets: Sets) -> Sets:
    """Only task sets whose two seeds are both there, seed after seed."""
    seeds: dict[int, list[Truth]] = {}
    for truth in sets.truths:
        seeds.setdefault(truth.number, []).append(truth)
    both = (sorted(pair, key=lambda truth: truth.seed) for pair in seeds.values() if len(pair) == 2)
    return replace(sets, truths=tuple(truth for pair in both for truth in pair))


def _enough(sets: Sets) -> bool:
    """Whether claims can be put to these sets, each of which is there twice."""
    return replace(sets, truths=sets.truths[::2]).enough and sets.whole and sets.has(ESTIMATE)


def _mean_of_seeds(values: Floats) -> Floats:
    return np.asarray(values.reshape(-1, 2).mean(axis=1))


def _pairs(sets: Sets) -> list[tuple[Truth, Truth]]:
    return list(zip(sets.truths[::2], sets.truths[1::2], strict=True))


def crossed_gains(sets: Sets) -> dict[str, Floats]:
    """(sets,) gains over the mean order of orders chosen in one run and scored in the other, mean of both ways."""
    gains: dict[str, list[float]] = {name: [] for name in (SAME, BEST, *RULES)}
    for pair in _pairs(sets):
        directions = [_crossed(*pair), _crossed(*pair[::-1])]
        for name, values in gains.items():
            values.append(float(np.mean([direction[name] for direction in directions])))
    return {name: np.array(values) for name, values in gains.items()}


def _crossed(chosen: Truth, scored: Truth) -> dict[str, float]:
    best = tuple(chosen.orders[chosen.accuracy.argmax()].tolist())
    orders = {BEST: (best,), **{rule: rule_orders(chosen, ESTIMATE)[rule] for rule in RULES}}
    gains = {name: float(np.mean([scored.at(order) for order in some])) - scored.mean for name, some in orders.items()}
    return {SAME: chosen.best - chosen.mean, **gains}


def seed_correlations(sets: Sets) -> Floats:
    """(sets,) rank correlation of the accuracies of all orders with one seed and with the other."""
    return np.array([alike(first.accuracy, second.accuracy) for first, second in _pairs(sets)])


def _claims(sets: Sets) -> list[Claim]:
    rule = TYPICALITY[0]
    claims = (
        f"At least half of the best order's lead is there with another seed; {sets.label}",
        f"The best order of another seed is above {rule}; {sets.label}",
        f"{rule} earns at least half of the noise ceiling; {sets.label}",
        f"Two seeds rank all orders alike; {sets.label}",
    )
    if not _enough(sets):
        once = replace(sets, truths=sets.truths[::2])
        return [untested(claim, "ours", once, why="all orders are needed") for claim in claims]
    gains, ranks = crossed_gains(sets), mean_number(seed_correlations(sets))
    repeated, earned = ratio_number(gains[BEST], gains[SAME]), ratio_number(gains[rule], gains[BEST])
    ceiling = mean_number(gains[BEST]).show(sign=True)
    lead = mean_number(gains[SAME]).show(sign=True)
    return [
        Claim(
            claims[0], "ours", f"{ceiling} of {lead} points: {repeated.percent()}; {sets.count_words}", *repeated,
            inside(repeated, above=HALF),
        ),
        difference(claims[1], "ours", sets, gains[BEST], gains[rule]),
        Claim(
            claims[2], "ours", f"{earned.percent()} of {ceiling} points; {sets.count_words}", *earned,
            inside(earned, above=HALF),
        ),
        Claim(
            claims[3], "ours", f"mean rank correlation {ranks.show(sign=True)}; {sets.count_words}", *ranks,
            inside(ranks, above=0),
        ),
    ]  # fmt: skip


FIGURES = (Figure("noise-ceiling", Config(), QUICK, specs, run_batch, figure, BATCH),)
