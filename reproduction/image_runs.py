"""The runs behind the image figures, in parts: a data set with its network, tasks and ways to find their similarity.

The settings of an image figure have a field for each part that it needs: how many task sets of it, 0 to leave it out.
Figures that need the same part share its runs, and so does `taskorder run reproduction/configs/PART.toml`, which trains
as many task sets at once as fit on a GPU. Results that are not there yet may be None: figures say what is missing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from reproduction import limits
from reproduction.image_results import Sets, truth_of
from taskorder.runs import settings
from taskorder.runs.specs import RunSpec, RunSpecs, shared_settings

BATCH = 1
"""One task set keeps all cores of a CPU busy, and is kept as soon as it is done."""
EVERY = ("test", "train", "10%", "1%", "0.1%", "curvature")
FASHION: Mapping[str, Any] = {"dataset": "fashion-mnist", "net": "mlp", "similarities": EVERY}
CIFAR10: Mapping[str, Any] = {"dataset": "cifar10", "net": "cnn", "similarities": EVERY}
CIFAR100: Mapping[str, Any] = {"dataset": "cifar100", "net": "cnn", "similarities": ("test", "train", "1%")}
CHOICE: Mapping[str, Any] = {**FASHION, "similarities": ("test",)}
PARTS: Mapping[str, Mapping[str, Any]] = {
    "fashion-mnist": FASHION,
    "cifar10": CIFAR10,
    "cifar10-sampled": {**CIFAR10, "first_set": 30, "orders": "30+rules"},
    "cifar100-p3": {**CIFAR100, "num_tasks": 3},
    "cifar100-p5": CIFAR100,
    "cifar100-p7": {**CIFAR100, "num_tasks": 7, "orders": "30+rules"},
    "cifar100-25labels": {**CIFAR100, "classes_per_task": 5},
    "fashion-mnist-batch32": {**CHOICE, "batch_size": 32},
    "fashion-mnist-reset": {**CHOICE, "reset_adam": True},
    "fashion-mnist-epochs1": {**CHOICE, "epochs": 1},
    "fashion-mnist-epochs20": {**CHOICE, "epochs": 20},
    "fashion-mnist-new": {**FASHION, "similarities": ("test", "1%"), "first_set": 100},
    "cifar100-new": {**CIFAR100, "similarities": ("test", "1%", "100 examples", "300 examples"), "first_set": 100},
    "fig1c": {
        **CIFAR10,
        "num_tasks": 3,
        "tasks": ("cat-ship", "frog-truck", "horse-deer"),
        "similarities": ("test",),
    },
}
"""By name, what differs from the defaults of a run: five binary tasks in all orders, batch 4, five epochs."""
QUICK: Mapping[str, Any] = {
    "orders": "6+rules",
    "similarities": ("test", "train", "1%"),
    "net": "mlp",
    "fraction": 0.02,
    "bin_width": 0.15,
}
"""Settings of the quick versions of figures 5, 7, 9 and 10, which so share their runs: minutes on two cores."""
JOINED = {"cifar10-sampled": "cifar10"}
"""Parts that go on where another ends; figures show the two as one."""
LABELS = {
    "fashion-mnist": "Fashion-MNIST",
    "cifar10": "CIFAR-10",
    "cifar10-sampled": "CIFAR-10, some orders",
    "cifar100-p3": "CIFAR-100, 3 tasks",
    "cifar100-p5": "CIFAR-100, 5 tasks",
    "cifar100-p7": "CIFAR-100, 7 tasks",
    "cifar100-25labels": "CIFAR-100, 5 tasks of 5 classes",
    "fashion-mnist-batch32": "batch 32",
    "fashion-mnist-reset": "Adam reset",
    "fashion-mnist-epochs1": "1 epoch",
    "fashion-mnist-epochs20": "20 epochs",
    "fashion-mnist-new": "Fashion-MNIST 100-149",
    "cifar100-new": "CIFAR-100 100-149, 5 tasks",
    "fig1c": "CIFAR-10, 3 tasks",
}


@dataclass(frozen=True)
class Shared:
    """Settings of every image figure; the defaults are the full size."""

    num_seeds: int = 1
    """Initial networks of each task set."""
    orders: str = ""
    """Empty: all orders, of seven tasks 30 random ones and those of the rules. Else as for a run, like 6+rules."""
    similarities: tuple[str, ...] = ()
    """Empty: those of the part."""
    net: str = ""
    """Empty: that of the part. The perceptron (mlp) is quick on a CPU, the convolutional network is not."""
    fraction: float = 1.0
    """Share of the training images."""
    bin_width: float = 0.05
    """Of the mean similarity, as in the paper's linear figures; of its image figures the paper does not say it."""
    min_count: int = 3
    """Bins with fewer task sets are not drawn."""
    min_sets: int = 10
    """Claims about fewer task sets are not tested."""

    def __post_init__(self) -> None:
        limits.whole(self, 1, "num_seeds")
        limits.whole(self, 2, "min_count", "min_sets")
        limits.between(self, 0, 10, "bin_width")
        counts = parts(self)
        limits.whole(self, 0, *(name.replace("-", "_") for name in counts))
        for name in counts:
            run_config(self, name, 1)  # refuses what a run would


def parts(config: Shared) -> dict[str, int]:
    """By name, how many task sets of each part a figure wants."""
    here = {field.name for field in fields(config)}
    return {name: getattr(config, key) for name in PARTS if (key := name.replace("-", "_")) in here}


def run_config(config: Shared, part: str, num_sets: int) -> settings.Config:
    """The settings of the runs of `part`."""
    changed = {"orders": config.orders, "similarities": config.similarities, "net": config.net}
    given = {key: value for key, value in changed.items() if value}
    values = {**PARTS[part], **given, "fraction": config.fraction, "num_seeds": config.num_seeds}
    return settings.Config(**values, num_sets=num_sets)


def specs(config: Shared) -> list[RunSpec]:
    """One run for each task set and seed of each part."""
    counts = {name: count for name, count in parts(config).items() if count}
    return [spec for name, count in counts.items() for spec in RunSpecs(run_config(config, name, count))]


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """Results of runs from any parts; those that agree in their settings are trained together."""
    from taskorder.runs import training as runs

    groups: dict[str, list[int]] = {}
    for place, spec in enumerate(specs):
        groups.setdefault(RunSpec(spec.kind, shared_settings(spec.params)).digest, []).append(place)
    by_place: dict[int, dict[str, Any]] = {}
    for places in groups.values():
        by_place.update(zip(places, runs.run_batch([specs[place] for place in places]), strict=True))
    return [by_place[place] for place in range(len(specs))]


def sets_by_part(config: Shared, results: Sequence[Mapping[str, Any] | None]) -> dict[str, Sets]:
    """What the results of `specs(config)` say about each part."""
    counts = parts(config)
    if len(results) != config.num_seeds * sum(counts.values()):
        raise ValueError(f"`results` must be one for each spec, got {len(results)}. Give None for what is missing.")
    left = iter(results)
    sets = {}
    for name, count in counts.items():
        rows = list(itertools.islice(left, count * config.num_seeds))
        num_random = settings.num_random(run_config(config, name, max(count, 1)).orders)
        truths = [
            truth_of(row, place % config.num_seeds, num_random) for place, row in enumerate(rows) if row is not None
        ]
        sets[name] = Sets(LABELS[name], count, config.min_sets, tuple(truths))
    for more, first in JOINED.items():
        if more in sets:
            sets[first] = sets[first].joined(sets.pop(more))
    return sets


def progress_notes(config: Shared, sets: Mapping[str, Sets]) -> tuple[str, ...]:
    """What the numbers stand on, and what is not there yet."""
    there = "; ".join(f"{part.label}: {part.count_words}" for part in sets.values())
    return (f"Task sets: {there}.", *smaller_notes(config))


def smaller_notes(config: Shared) -> tuple[str, ...]:
    """In what the runs are smaller than published."""
    words = [f"{100 * config.fraction:g} % of the training images"] if config.fraction < 1 else []
    words += [f"the network {config.net} throughout"] if config.net else []
    return (f"Not as published: {' and '.join(words)}.",) if words else ()
