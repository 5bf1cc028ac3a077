"""How the answer changes with the training: batch 32, Adam reset between tasks, one or twenty epochs. Ours.

All choices train the same task sets of Fashion-MNIST in all orders, each with its own similarities, so that they are
compared set by set with the published way: batch 4, Adam's state carried over, five epochs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from reproduction import Figure
from reproduction.claims import Claim, FigureData, inside
from reproduction.image_claims import COMPARABLE, above, mean_number, ratio_number, untested
from reproduction.image_panels import dots
from reproduction.image_results import MEAN, PATHS, TYPICALITY, Sets, alike, headroom, scores
from reproduction.image_runs import BATCH, Shared, progress_notes, run_batch, sets_by_part, specs
from taskorder.checks import Floats

ESTIMATE = "test"
PUBLISHED = "as published"
DRAWN = (TYPICALITY[0], PATHS[0], "optimal", PATHS[1], TYPICALITY[1])


@dataclass(frozen=True)
class Config(Shared):
    """Settings: the number of task sets of each choice; those of Fashion-MNIST are trained as published."""

    fashion_mnist: int = 30
    fashion_mnist_batch32: int = 30
    fashion_mnist_reset: int = 30
    fashion_mnist_epochs1: int = 30
    fashion_mnist_epochs20: int = 30


QUICK = Config(
    fashion_mnist=5, fashion_mnist_batch32=5, fashion_mnist_reset=5, fashion_mnist_epochs1=5, fashion_mnist_epochs20=0,
    orders="6+rules", similarities=("test",), fraction=0.02, min_sets=5,
)  # fmt: skip


def figure(config: Config, results: Sequence[dict[str, Any] | None]) -> FigureData:
    """For every choice: gains of the rules, accuracies, and how alike all orders are ranked."""
    by_part = sets_by_part(config, results)
    base, *others = (replace(part, label=_label(name, part)) for name, part in by_part.items())
    there = [part for part in (base, *others) if part.enough]
    gains = {rule: {part.label: mean_number(scores(part, ESTIMATE)[rule].gain) for part in there} for rule in DRAWN} | {
        "best order": {part.label: mean_number(headroom(part)) for part in there if part.whole}
    }
    accuracy = {
        "best order": {part.label: mean_number(_each(part, max)) for part in there if part.whole},
        "mean order": {part.label: mean_number(scores(part, ESTIMATE)[MEAN].accuracy) for part in there},
        "worst order": {part.label: mean_number(_each(part, min)) for part in there if part.whole},
    }
    ranks = {
        "": {
            part.label: mean_number(_alike(base, part))
            for part in there
            if part is not base and part.whole and base.whole
        }
    }
    panels = (
        dots("Rules", "points above the mean order", gains, 0.0),
        dots("All orders", "accuracy at the end, %", accuracy),
        dots("The same orders are good", "rank correlation with the published training", ranks, 0.0),
    )
    return FigureData(
        name="training-choices",
        title="Fashion-MNIST, trained in other ways",
        panels=panels if base in there else (),
        claims=tuple(claim for part in (base, *others) for claim in _claims(base, part)),
        config=asdict(config),
        notes=progress_notes(config, {part.label: part for part in (base, *others)}),
    )


def _label(name: str, sets: Sets) -> str:
    return PUBLISHED if name == "fashion-mnist" else sets.label


def _each(sets: Sets, choose: Callable[[Floats], float]) -> Floats:
    return np.array([choose(truth.accuracy) for truth in sets.truths])


def _same(base: Sets, other: Sets) -> tuple[Sets, Sets]:
    """Both with the task sets that both have."""
    common = {truth.number for truth in base.truths} & {truth.number for truth in other.truths}
    first, second = (
        replace(part, truths=tuple(truth for truth in part.truths if truth.number in common)) for part in (base, other)
    )
    return first, second


def _alike(base: Sets, other: Sets) -> Floats:
    """(sets,) rank correlation of the accuracies of all orders of a set after two ways of training."""
    pairs = zip(*(part.truths for part in _same(base, other)), strict=True)
    return np.array([alike(first.accuracy, second.accuracy) for first, second in pairs])


def _claims(base: Sets, sets: Sets) -> list[Claim]:
    rule, opposite = TYPICALITY
    decided = [
        above(f"{better} is above {words}; {sets.label}", "ours", sets, ESTIMATE, better, worse)
        for better, worse, words in (
            (rule, MEAN, "the mean order"),
            (rule, opposite, opposite),
            (PATHS[0], MEAN, "the mean order"),
            (PATHS[0], PATHS[1], PATHS[1]),
        )
    ]
    return decided if sets is base else [*decided, _kept(base, sets, rule)]


def _kept(base: Sets, sets: Sets, rule: str) -> Claim:
    """The gain is more than `COMPARABLE` of the published one, on the same task sets."""
    claim = f"The gain of {rule} is comparable to that with the published training; {sets.label}"
    first, second = _same(base, sets)
    if not (first.enough and second.enough):
        return untested(claim, "ours", base, sets)
    gains = [scores(part, ESTIMATE)[rule].gain for part in (first, second)]
    if mean_number(gains[0]).low <= 0:
        text = f"{gains[1].mean():+.2f} points; no sure gain to compare with; {second.count_words}"
        return Claim(claim, "ours", text, None, None, None, "undecided")
    ratio = ratio_number(gains[1], gains[0])
    text = f"{ratio.show()} of {gains[0].mean():+.2f} points; {second.count_words}"
    if first.whole and second.whole:
        text += f"; rank correlation of all orders {mean_number(_alike(first, second)).show(sign=True)}"
    return Claim(claim, "ours", text, *ratio, inside(ratio, above=COMPARABLE))


FIGURES = (Figure("training-choices", Config(), QUICK, specs, run_batch, figure, BATCH),)
