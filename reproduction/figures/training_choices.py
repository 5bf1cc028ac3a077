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
    base, *others = (replace(one, label=_label(name, one)) for name, one in by_part.items())
    there = [one for one in (base, *others) if one.enough]
    gains = {rule: {one.label: mean_number(scores(one, ESTIMATE)[rule].gain) for one in there} for rule in DRAWN} | {
        "best order": {one.label: mean_number(headroom(one)) for one in there if one.whole}
    }
    accuracy = {
        "best order": {one.label: mean_number(_each(one, max)) for one in there if one.whole},
        "mean order": {one.label: mean_number(scores(one, ESTIMATE)[MEAN].accuracy) for one in there},
        "worst order": {one.label: mean_number(_each(one, min)) for one in there if one.whole},
    }
    ranks = {
        "": {one.label: mean_number(_alike(base, one)) for one in there if one is not base and one.whole and base.whole}
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
        claims=tuple(check for one in (base, *others) for check in _checks(base, one)),
        config=asdict(config),
        notes=progress_notes(config, {one.label: one for one in (base, *others)}),
    )


def _label(name: str, sets: Sets) -> str:
    return PUBLISHED if name == "fashion-mnist" else sets.label


def _each(sets: Sets, choose: Callable[[Floats], float]) -> Floats:
    return np.array([choose(truth.accuracy) for truth in sets.truths])


def _same(base: Sets, other: Sets) -> tuple[Sets, Sets]:
    """Both with the task sets that both have."""
    common = {truth.number for truth in base.truths} & {truth.number for truth in other.truths}
    first, second = (
        replace(one, truths=tuple(truth for truth in one.truths if truth.number in common)) for one in (base, other)
    )
    return first, second


def _alike(base: Sets, other: Sets) -> Floats:
    """(sets,) rank correlation of the accuracies of all orders of a set after two ways of training."""
    pairs = zip(*(one.truths for one in _same(base, other)), strict=True)
    return np.array([alike(first.accuracy, second.accuracy) for first, second in pairs])


def _checks(base: Sets, sets: Sets) -> list[Claim]:
    rule, opposite = TYPICALITY
    checks = [
        above(f"{better} is above {words}; {sets.label}", "ours", sets, ESTIMATE, better, worse)
        for better, worse, words in (
            (rule, MEAN, "the mean order"),
            (rule, opposite, opposite),
            (PATHS[0], MEAN, "the mean order"),
            (PATHS[0], PATHS[1], PATHS[1]),
        )
    ]
    return checks if sets is base else [*checks, _kept(base, sets, rule)]


def _kept(base: Sets, sets: Sets, rule: str) -> Claim:
    """The gain is more than `COMPARABLE` of the published one, on the same task sets."""
    claim = f"The gain of {rule} is comparable to that with the published training; {sets.label}"
    first, second = _same(base, sets)
    if not (first.enough and second.enough):
        return untested(claim, "ours", base, sets)
    gains = [scores(one, ESTIMATE)[rule].gain for one in (first, second)]
    if mean_number(gains[0]).low <= 0:
        text = f"{gains[1].mean():+.2f} points; no sure gain to compare with; {second.count_words}"
        return Claim(claim, "ours", text, None, None, None, "undecided")
    found = ratio_number(gains[1], gains[0])
    text = f"{found.show()} of {gains[0].mean():+.2f} points; {second.count_words}"
    if first.whole and second.whole:
        text += f"; rank correlation of all orders {mean_number(_alike(first, second)).show(sign=True)}"
    return Claim(claim, "ours", text, *found, inside(found, above=COMPARABLE))


FIGURES = (Figure("training-choices", Config(), QUICK, specs, run_batch, figure, BATCH),)
