"""Figure 1c: three tasks of CIFAR-10 in the orders C B A and A B C, ten seeds; ours: in all six orders.

A is cat against ship, B frog against truck, C horse against deer, as in the paper. Which class of a task has which
label the paper does not say; here the first class of each has label 0. The interval is over seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reproduction import Figure
from reproduction.claims import Claim, FigureData, inside, verdict
from reproduction.image_claims import mean_number
from reproduction.image_panels import dots
from reproduction.image_results import truth_of
from reproduction.image_runs import BATCH, PARTS, Shared, run_batch, run_config, smaller_notes
from reproduction.orders import name_of
from taskorder.runs.specs import RunSpec, RunSpecs

BETTER, WORSE = "CBA", "ABC"
SOURCE = "paper, Fig. 1c"


@dataclass(frozen=True)
class Config(Shared):
    """Settings; ten seeds as in the paper."""

    num_seeds: int = 10
    min_sets: int = 3
    """Claims from fewer seeds are not tested."""


QUICK = Config(num_seeds=6, fraction=0.1, net="mlp")


def specs(config: Config) -> list[RunSpec]:
    """One run for each seed."""
    return list(RunSpecs(run_config(config, "fig1c", 1)))


def figure(config: Config, results: Sequence[dict[str, Any] | None]) -> FigureData:
    """Accuracy after each order."""
    truths = [truth_of(result, seed, 0) for seed, result in enumerate(results) if result is not None]
    by_order = {name_of(np.array(order)): [truth.at(order) for truth in truths] for order in _orders(truths)}
    means = {name: mean_number(np.array(values)) for name, values in by_order.items() if len(truths) > 1}
    names = ", ".join(f"{letter}: {task}" for letter, task in zip("ABC", PARTS["fig1c"]["tasks"], strict=True))
    return FigureData(
        name="fig1c",
        title="Three CIFAR-10 tasks in every order",
        panels=(dots(names, "accuracy at the end, %", {"": means}),) if means else (),
        claims=tuple(_claims(config, {name: np.array(values) for name, values in by_order.items()})),
        config=asdict(config),
        notes=(
            f"{names}. {len(truths)} of {config.num_seeds} seeds; intervals are over seeds.",
            *smaller_notes(config),
        ),
    )


def _orders(truths: Sequence[Any]) -> list[tuple[int, ...]]:
    return [tuple(order) for order in truths[0].orders.tolist()] if truths else []


def _claims(config: Config, by_order: dict[str, np.ndarray]) -> list[Claim]:
    claims = (
        (f"The order {BETTER} is above {WORSE}", SOURCE),
        (f"{BETTER} is the best of the six orders, and {WORSE} the worst", "ours"),
    )
    count = len(by_order.get(BETTER, ()))
    if count < config.min_sets:
        text = f"{count} of {config.num_seeds} seeds so far"
        return [Claim(claim, source, text, None, None, None, "not tested") for claim, source in claims]
    lead = mean_number(by_order[BETTER] - by_order[WORSE])
    text = (
        f"{lead.show(sign=True)} points ({by_order[BETTER].mean():.1f} % and {by_order[WORSE].mean():.1f} %), "
        f"{count} seeds"
    )
    ranked = sorted(by_order, key=lambda name: -float(by_order[name].mean()))
    gaps = [mean_number(by_order[BETTER] - by_order[name]) for name in by_order if name != BETTER]
    gaps += [mean_number(by_order[name] - by_order[WORSE]) for name in by_order if name != WORSE]
    places = ", ".join(f"{name} {by_order[name].mean():.1f} %" for name in ranked)
    holds, fails = min(gap.low for gap in gaps) > 0, min(gap.high for gap in gaps) <= 0
    return [
        Claim(claims[0][0], SOURCE, text, *lead, inside(lead, above=0)),
        Claim(claims[1][0], "ours", places, None, None, None, verdict(holds, fails)),
    ]


FIGURES = (Figure("fig1c", Config(), QUICK, specs, run_batch, figure, BATCH),)
