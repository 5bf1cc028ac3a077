"""In which order to fine-tune pretrained models: every order of a few tasks, beside mixing them. Ours.

The cells are those of `reproduction/finetuning_cells.py`. A perceptron learns from what a frozen model makes of its
input: from MiniLM (22.7 million weights) whether texts are positive, in four domains; from EfficientNet-Lite0 five
tasks of CIFAR-100. Or the weights of MiniLM are tuned, all or by an adapter (LoRA). Fixed before the first of these was
trained:

- Questions. How much does accuracy at the end depend on the order, and how much of that is there with another seed?
  How much is kept when the next task is learned? Does the law of retention explain it from tables of single tasks, and
  what do its order, the order of a pilot and simple rules earn? What would mixing all tasks give?
- Truth, spread, retention, predictions, pilots and mixing are those of `reproduction/figures/atlas.py`, with the same
  code: tables and retention come from one seed, the truth from the other, both ways round; the law's retention is that
  of the cell's other task sets. Mixing takes as many steps as one order.
- Task sets of images have other classes, of texts other texts of the same domains. Frozen models: 6 sets, 2 seeds, all
  orders; 100 images a class, or texts a sign, to learn from, and 50 to test on. MiniLM: 4 sets, 2 seeds, each of three
  of the domains; a cell has all four. Pilots have 10 and 50 images or texts a task; 48 where weights are tuned.
- Order matters where the best order of one seed earns more than 1 point with the other. A model keeps most where its
  retention is above `MOST` = 0.5. The law explains enough where its r^2 is above `ENOUGH` = 0.8 of another run's.
- With LoRA, and with a head for each task, is the spread over orders that two seeds share smaller? On the same sets.
- Language models (Gemma-3-270M) are judged as in `reproduction/figures/languages.py`.
- Intervals are 95 %, over task sets, by Student's t. Claims about fewer than `min_sets` = 3 task sets are not tested.

Nothing is trained here: `python -m reproduction.finetuning_runs CELL` does that, and keeps what is finished.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from reproduction import Figure, limits
from reproduction.atlas import AtlasCell
from reproduction.atlas_results import CellResult, mean_root, over_sets
from reproduction.claims import Claim, FigureData, inside
from reproduction.figures import languages
from reproduction.figures.atlas_claims import OURS, cell_claims, untested
from reproduction.finetuning_cells import CELLS, LANGUAGE, Runs, Tuned, mixing
from reproduction.image_claims import Number
from reproduction.image_panels import dots
from reproduction.law_results import LAST_ROW, LAW, ROW_SORT, RUN, SHRUNKEN, TYPICAL, part_of
from taskorder.checks import Floats
from taskorder.plots.records import Panel
from taskorder.runs.specs import RunSpec

MOST = 0.5
ENOUGH = 0.8
EARNED = (RUN, LAW, LAST_ROW, ROW_SORT, TYPICAL)
"""Predictions that are drawn."""
COMPARED = (
    ("LoRA", "all weights", "minilm_lora", "minilm_full"),
    ("a head a task", "one head", "text_frozen_heads", "text_frozen"),
    ("a head a task", "one head", "image_frozen_heads", "image_frozen"),
)
"""What may make order matter less, and than what, with their cells."""
COMMAND = "python -m reproduction.finetuning_runs"


@dataclass(frozen=True)
class Config:
    """Settings: the number of task sets of each cell, 0 to leave it out."""

    text_frozen: int = 6
    text_frozen_heads: int = 6
    image_frozen: int = 6
    image_frozen_heads: int = 6
    image_frozen_5classes: int = 6
    minilm_full: int = 4
    minilm_lora: int = 4
    minilm_heads: int = 4
    minilm_ratings: int = 4
    minilm_4tasks: int = 3
    efficientnet_full: int = 6
    gemma_full: int = 3
    gemma_lora: int = 3
    num_seeds: int = 2
    min_sets: int = 3
    """Claims about fewer task sets are not tested."""

    def __post_init__(self) -> None:
        limits.whole(self, 0, *CELLS)
        limits.whole(self, 2, "num_seeds", "min_sets")


QUICK = Config(**{**dict.fromkeys(CELLS, 0), "text_frozen": 3})


@dataclass(frozen=True, eq=False)
class Tested:
    """What there is of a cell."""

    name: str
    orders: CellResult
    mixed: CellResult
    runs: Runs

    @property
    def trained(self) -> bool:
        """Whether any task set is there."""
        return self.orders.count > 0 or any(run is not None for run in self.runs.orders)


def planned(config: Config) -> Iterator[tuple[str, list[RunSpec]]]:
    """The cells that the settings ask for, with their runs."""
    for name, (_, cell) in CELLS.items():
        if getattr(config, name):
            yield name, cell.specs(getattr(config, name), config.num_seeds)


def specs(config: Config) -> list[RunSpec]:
    """The runs of all cells."""
    return [spec for _, of_cell in planned(config) for spec in of_cell]


def figure(config: Config, results: Sequence[Mapping[str, Any] | None]) -> FigureData:
    """What the chosen orders earn, what is kept and what mixing gives, of the cells that are there."""
    left, there = iter(results), {}
    for name, of_cell in planned(config):
        there[name] = tested(name, config, list(itertools.islice(left, len(of_cell))))
    claims = [claim for cell in there.values() for claim in claims_of(cell, config)]
    for less, more, name, other in COMPARED:
        if name in there and other in there:
            text = f"With {less} order matters less than with {more}; {there[other].orders.part.label}"
            claims.append(lowers(text, there[name].orders, there[other].orders))
    drawn = [cell.orders for cell in there.values() if cell.orders.part.enough]
    return FigureData(
        name="finetuning",
        title="In which order to fine-tune",
        panels=panels(drawn, [cell.mixed for cell in there.values() if cell.orders in drawn]) if drawn else (),
        claims=tuple(claims),
        config=asdict(config),
        columns=2,
        notes=notes(there.values()),
    )


def tested(name: str, config: Config, results: Sequence[Mapping[str, Any] | None]) -> Tested:
    """A cell with its results, by task set and seed."""
    label, cell = CELLS[name]
    settings = cell.config(getattr(config, name), config.num_seeds)
    runs = cell.runs(results, config.num_seeds)
    read = Runs([], []) if isinstance(cell, Tuned) and cell.model == LANGUAGE else runs

    def of(rows: Sequence[Mapping[str, Any] | None], how: Any) -> CellResult:
        return CellResult(
            AtlasCell("finetuning", cell.head, name, how), part_of(name, label, how, rows, config.min_sets)
        )

    return Tested(name, of(read.orders, settings), of(read.mixed, mixing(settings)), runs)


def claims_of(cell: Tested, config: Config) -> list[Claim]:
    """All claims about one cell."""
    label, about = CELLS[cell.name]
    if isinstance(about, Tuned) and about.model == LANGUAGE:
        rows, seeds = cell.runs.orders, config.num_seeds
        sets = [rows[start : start + seeds] for start in range(0, len(rows), seeds)]
        whole = [[run for run in of_set if run is not None] for of_set in sets if None not in of_set]
        if len(whole) < config.min_sets:
            return [untested(f"The law's order is below the mean order; {label}", f"{len(whole)} task sets")]
        return [replace(claim, claim=f"{claim.claim}; {label}") for claim in languages.claims(whole)]
    result, mixed = cell.orders, cell.mixed
    made = cell_claims(result, mixed if mixed.numbers == result.numbers else None)
    if not result.part.enough:
        return made
    earned = result.report.gain
    explained = result.report.explained(LAW) - ENOUGH * result.report.explained(RUN)
    made += [
        _lead(f"The law's order is above that of {rule}; {label}", earned(LAW) - earned(rule))
        for rule in (ROW_SORT, TYPICAL)
    ]
    return [
        *made,
        _lead(f"The law explains enough of how orders differ; {label}", explained, "of r^2"),
        _share(f"Most of the spread over orders is there with another seed; {label}", result),
        _kept(f"Most of what is known is kept when the next task is learned; {label}", result.retention),
        *([_lead(f"Mixing all tasks is above the mean order; {label}", mixed.accuracy - result.accuracy)]
          if mixed.numbers == result.numbers else []),
    ]  # fmt: skip


def _lead(text: str, rows: Floats, unit: str = "points") -> Claim:
    lead = over_sets(rows)
    return Claim(text, OURS, f"{lead.show(sign=True)} {unit}; {len(rows)} sets", *lead, inside(lead, above=0))


def _share(text: str, result: CellResult) -> Claim:
    """How much of the variance over orders two seeds share."""
    both = np.column_stack([result.shared, result.variances])
    share = over_sets(both, lambda of_sets: float(of_sets[:, 0].sum() / of_sets[:, 1].sum()))
    found = f"{share.percent()} of the variance; {result.count} sets"
    return Claim(text, OURS, found, *share, inside(share, above=MOST))


def _kept(text: str, retention: Number) -> Claim:
    return Claim(text, OURS, f"retention {retention.show()}", *retention, inside(retention, above=MOST))


def lowers(text: str, less: CellResult, more: CellResult) -> Claim:
    """The spread over orders that seeds share is smaller in one cell than in another, on the task sets of both."""
    common = sorted(set(less.numbers) & set(more.numbers))
    if len(common) < less.part.min_sets:
        return untested(text, f"{len(common)} task sets in common")
    rows = np.column_stack([result.shared[result.at(common)] for result in (more, less)])
    gap = over_sets(rows, lambda of_sets: mean_root(of_sets[:, 0]) - mean_root(of_sets[:, 1]))
    before, after = (mean_root(column) for column in rows.T)
    found = f"{before:.2f} points to {after:.2f}: {gap.show(sign=True)} less; {len(common)} sets"
    return Claim(text, OURS, found, *gap, inside(gap, above=0))


def panels(drawn: Sequence[CellResult], mixed: Sequence[CellResult]) -> tuple[Panel, ...]:
    """What orders earn, from all data and from pilots, what is kept, and accuracy with an order and mixed."""
    gains = {rule: {cell.part.label: over_sets(cell.report.gain(rule)) for cell in drawn} for rule in EARNED}
    for cell in drawn:
        for name, pilot in cell.pilots.items():
            gains.setdefault(f"law, {name}", {})[cell.part.label] = over_sets(pilot.gain(SHRUNKEN))
    accuracy = {
        "mean order": {cell.part.label: over_sets(cell.accuracy) for cell in drawn},
        "best of another run": {cell.part.label: over_sets(cell.best) for cell in drawn},
        "all tasks mixed": {cell.part.label: over_sets(cell.accuracy) for cell in mixed if cell.part.enough},
    }
    kept = {"retention": {cell.part.label: cell.retention for cell in drawn}}
    explained = {rule: {cell.part.label: over_sets(cell.report.explained(rule)) for cell in drawn} for rule in EARNED}
    return (
        dots("What the chosen order earns", "points over the mean order", gains, 0.0),
        dots("Orders and mixing", "accuracy at the end, %", accuracy),
        dots("How much is kept", "retention", kept, MOST),
        dots("Share of the differences between orders", "mean r² within a task set", explained, 0.0),
    )


def notes(there: Any) -> tuple[str, ...]:
    """How many sets of each cell there are, and how to train those that are missing."""
    there = list(there)
    missing = [cell for cell in there if not cell.trained]
    by_gpu = [cell for cell in missing if cell.name.startswith(("gemma", "efficientnet"))]
    counts = "; ".join(
        f"{cell.orders.part.label}: {cell.orders.part.plain.count_words}" for cell in there if cell.trained
    )
    return (
        f"Task sets: {counts or 'none'}.",
        "Tables and truth come from different seeds, both ways round. Intervals are 95 %, over task sets: Student's t "
        "with the error of the jackknife.",
        *(
            f"Not trained: {', '.join(cell.orders.part.label for cell in some)}. {where}: "
            f"`{COMMAND} {' '.join(cell.name for cell in some)}`."
            for where, some in (("On a GPU", by_gpu), ("On a CPU", [cell for cell in missing if cell not in by_gpu]))
            if some
        ),
    )


FIGURES = (Figure("finetuning", Config(), QUICK, specs, None, figure, keep=True),)
