"""The runs behind the figure `retention`, and what they say: the grid of pairs, uneven tasks, runs in all orders."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from reproduction import limits
from reproduction.image_runs import Shared, run_config
from reproduction.image_runs import run_batch as run_orders
from reproduction.retention_fit import Fit, Point, by_position, by_size, fit, order_sums, retention, set_weights
from reproduction.retention_pairs import KIND, NUM_SEEDS, Cell, moments
from reproduction.retention_pairs import run_batch as run_pairs
from reproduction.retention_uneven import predictions
from taskorder.checks import Floats
from taskorder.datasets.class_tasks import size_shares
from taskorder.runs import settings
from taskorder.runs.specs import RunSpec, RunSpecs

LONG = (30, 100, 300, 1000, 3000)
CELLS = {
    "base": Cell(steps=LONG),
    "rate 3e-4": Cell(steps=LONG, learning_rate=3e-4),
    "rate 3e-3": Cell(steps=LONG, learning_rate=3e-3),
    "100 first steps": Cell(first_steps=100),
    "300 first steps": Cell(first_steps=300),
    "3,000 first steps": Cell(first_steps=3000),
    "300 images": Cell(images=300),
    "batch 16": Cell(batch_size=16),
    "half width": Cell(width=0.5),
    "double width": Cell(width=2.0),
}
"""The grid that is fitted."""
OTHERS = {"digits": Cell(dataset="digits", images=300), "CIFAR-100": Cell(dataset="cifar100", images=1000)}
"""Other data sets, the same perceptron."""
FASHION_IMAGES = 12_000
"""Of a task of two classes."""
PARTS = {
    "fashion-mnist-epochs1": ("1 epoch", 3000),
    "fashion-mnist": ("5 epochs", 15_000),
    "fashion-mnist-epochs20": ("20 epochs", 60_000),
    "fashion-mnist-batch32": ("batch 32", 1875),
    "fashion-mnist-reset": ("Adam reset", 15_000),
    "cifar10": ("CIFAR-10, CNN", 12_500),
    "cifar100-p5": ("CIFAR-100, CNN", 1250),
}
"""Runs of other figures: label and steps of a task."""


@dataclass(frozen=True)
class Config:
    """Settings: task sets of each cell, of tasks of different sizes, and of the runs in all orders (0: none)."""

    num_sets: int = 16
    uneven_sets: int = 12
    order_sets: int = 30
    uneven: float = 30.0
    fraction: float = 0.1
    """Share of the training images of tasks of different sizes."""
    min_sets: int = 8
    """Claims about fewer task sets are not tested."""

    def __post_init__(self) -> None:
        limits.whole(self, 2, "num_sets", "min_sets")
        limits.whole(self, 0, "uneven_sets", "order_sets")
        limits.between(self, 1, 1e6, "uneven")
        limits.between(self, 0, 1.001, "fraction")


def specs(config: Config) -> list[RunSpec]:
    """The pairs of every cell, then the uneven orders, then the orders of other figures."""
    cells = [spec for cell in (*CELLS.values(), *OTHERS.values()) for spec in cell.specs(config.num_sets)]
    uneven = [*RunSpecs(uneven_config(config))] if config.uneven_sets else []
    return [*cells, *uneven, *(spec for name in PARTS for spec in _part_specs(config, name))]


def uneven_config(config: Config) -> settings.Config:
    """As in reproduction/configs/fashion-mnist-uneven.toml."""
    return settings.Config(
        dataset="fashion-mnist", num_sets=config.uneven_sets, num_seeds=NUM_SEEDS, fraction=config.fraction,
        uneven=config.uneven,
    )  # fmt: skip


def _part_specs(config: Config, name: str) -> list[RunSpec]:
    return [*RunSpecs(run_config(Shared(), name, config.order_sets))] if config.order_sets else []


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """Results of runs of one kind or several."""
    found: dict[int, dict[str, Any]] = {}
    for _, group in itertools.groupby(range(len(specs)), key=lambda place: _alike(specs[place])):
        places = list(group)
        run = run_pairs if specs[places[0]].kind == KIND else run_orders
        found.update(zip(places, run([specs[place] for place in places]), strict=True))
    return [found[place] for place in range(len(specs))]


def _alike(spec: RunSpec) -> str:
    """What runs of one batch share."""
    return repr((spec.kind, sorted((key, str(v)) for key, v in spec.params.items() if key not in ("set", "seed"))))


@dataclass(frozen=True, eq=False)
class Measured:
    """What the results say; what is missing is left out."""

    config: Config
    cells: Mapping[str, Floats]
    """By label, (sets, checkpoints, 2) sums of each cell; of the task sets that every cell has."""
    parts: Mapping[str, Floats]
    """By label, (sets, positions, 2) sums of runs in all orders."""
    sizes: tuple[Floats, Floats] | None
    """(sets, sizes, 2) sums by the size of the learned task: of pairs, and of later steps."""
    uneven: Sequence[Sequence[Mapping[str, Any]]]
    """The two results of each task set of uneven tasks."""
    uneven_numbers: Sequence[int]

    @property
    def count(self) -> int:
        """Task sets of the grid."""
        return len(self.cells["base"]) if self.cells else 0

    @cached_property
    def weights(self) -> Floats:
        """Of the task sets of the grid: cells are compared on the same resamples."""
        return set_weights(self.count)

    @cached_property
    def values(self) -> dict[Point, Floats]:
        """(draws,) retention of every cell and number of steps."""
        every = {**CELLS, **OTHERS}
        return {
            Point(every[label], stop): d
            for label, sums in self.cells.items()
            for stop, d in zip(every[label].steps, retention(sums, self.weights).T, strict=True)
        }

    @cached_property
    def points(self) -> list[Point]:
        """Those that are fitted."""
        fitted = set(CELLS.values())
        return [point for point in self.values if point.cell in fitted]

    @cached_property
    def fit(self) -> Fit:
        """Over the whole grid."""
        return fit(self.points, self.stacked(self.points))

    def stacked(self, points: Sequence[Point]) -> Floats:
        """(draws, points) retention."""
        return np.stack([self.values[point] for point in points], axis=1)

    def steps_by_size(self) -> Floats:
        """(sizes,) steps of a task of each size, the smallest first."""
        return np.sort(_steps(self.config, 0))

    @cached_property
    def uneven_scores(self) -> dict[str, Floats]:
        """By way to predict, (sets, measures); see `retention_uneven`."""
        if self.sizes is None or not self.cells:
            return {}
        exponent = max(0.0, -float(self.fit.coefficients[0, 1]))
        sums = self.sizes[0].sum(axis=1)
        rows = []
        for place, pair in enumerate(self.uneven):
            others = np.delete(sums, place, axis=0).sum(axis=0)
            reference = float(np.clip(others[0] / others[1], 0.0, 1.0))
            rows.append(predictions(pair, _steps(self.config, self.uneven_numbers[place]), reference, exponent))
        return {way: np.array([row[way] for row in rows]) for way in rows[0]}


def _steps(config: Config, number: int) -> Floats:
    """(P,) steps of each uneven task of a set."""
    shares = size_shares(5, config.uneven, number)
    return np.asarray(shares * config.fraction * FASHION_IMAGES / 4 * 5)


def measured(config: Config, results: Sequence[Mapping[str, Any] | None]) -> Measured:
    """Sort the results of `specs(config)`."""
    if len(results) != len(specs(config)):
        raise ValueError(f"`results` must be one for each spec, got {len(results)}. Give None for what is missing.")
    left = iter(results)
    labels = (*CELLS, *OTHERS)
    cells = {label: _pairs_of(itertools.islice(left, NUM_SEEDS * config.num_sets)) for label in labels}
    uneven = _pairs_of(itertools.islice(left, NUM_SEEDS * config.uneven_sets))
    parts = {}
    for label, _ in PARTS.values():
        rows = [row for row in itertools.islice(left, config.order_sets) if row is not None]
        if len(rows) >= config.min_sets:
            parts[label] = np.array([order_sums([row], by_position(row), 4) for row in rows])
    common = sorted(set.intersection(*(set(found) for found in cells.values())))
    enough = len(common) >= config.min_sets
    return Measured(
        config,
        {label: np.array([moments(cells[label][n]) for n in common]) for label in labels} if enough else {},
        parts,
        _size_sums(config, uneven) if len(uneven) >= config.min_sets else None,
        list(uneven.values()),
        list(uneven),
    )


def _pairs_of(results: Any) -> dict[int, tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """By number of the task set, the results of its two seeds where both are there."""
    rows = list(results)
    pairs = {number: (rows[2 * number], rows[2 * number + 1]) for number in range(len(rows) // 2)}
    return {number: pair for number, pair in pairs.items() if None not in pair}


def _size_sums(config: Config, uneven: Mapping[int, Sequence[Mapping[str, Any]]]) -> tuple[Floats, Floats]:
    sums: list[list[Floats]] = [[], []]
    for number, pair in uneven.items():
        ranks = np.argsort(np.argsort(_steps(config, number))).tolist()
        for kind, pairs in enumerate((True, False)):
            sums[kind].append(order_sums(pair, by_size(pair[0], ranks, pairs=pairs), len(ranks)))
    return np.array(sums[0]), np.array(sums[1])
