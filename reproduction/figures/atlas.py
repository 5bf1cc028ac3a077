"""When does order matter? All orders of five tasks with each head and each strategy against forgetting. Ours.

The cells, a data set with a head and a strategy each, are those of `reproduction/atlas.py`. Fixed before a result of
any cell was looked at:

- Questions. How much does accuracy at the end depend on the order, and how much of that is the order's and not the
  seed's? Do replay (of 5, 20 and 100 examples a class), EWC and distillation (lwf), or a head for each task, make it
  matter less? Does it matter less where more is kept? Do tables of single tasks still say which orders are good, and
  is the score or the error the better objective where retention is above one half? What do a plan from a pilot and
  each rule earn? How far is the best order from mixing all tasks (joint)? What helps more, replay or the best order?
- Truth: mean test accuracy of all tasks after the last one, in percent; with all classes in one softmax the whole of
  them compete. A gain is in points over the mean of all orders of the same task set and seed.
- Spread: the standard deviation of the accuracy over the orders of a task set. What two seeds share of it is their
  covariance over orders, and the rest is the seed's; variances are averaged over task sets, then the root is taken.
- Order matters where the order that is best with one seed earns more than `MATTERS` = 1 point with the other.
- Retention: one number for a cell, from the states after prefixes (`reproduction/law_retention.py`).
- Predictions are made from one seed and judged by the other, both ways round, and the two count half each:
      law                   its score, the mean knowledge that it predicts, from tables of single tasks; the retention
                            is that of the cell's other task sets
      law, error            minus the sum of squares, the paper's objective, with the same table and retention
      last row sum, row-sums, periphery-to-core, max-path, closed form: from the same tables, as in `law`
      last pair             the mean knowledge after learning only the last two tasks, in their order
      pairs                 for all pairs in an order, what the two know when they are all that is learned
      another run           the accuracy of the same order with the other seed
      another run, ending   its mean over the orders that end with the same two tasks
  r^2 and rank correlations are over the orders of a task set; an order that a prediction chooses earns a gain.
- Pilots: the law's shrunken table, and each rule, from 1 % and 10 % of a task's images. The cells of Fashion-MNIST are
  trained on a tenth of them: 10 % are the training images themselves, tested on themselves, and 1 % a tenth of these.
  Of frozen features (EfficientNet-Lite0 of CIFAR-100; added before any cell was trained), 10 and 50 images a task.
- Score or error: the rank correlation of the law's score with accuracy, minus that of minus its error, in the cells
  with retention above `RETAINED` = 0.5 and one head or all classes in one; means over these cells, within a task set.
  With a head for each task the tables say nothing of the other heads, so these cells do not answer it.
- Comparisons of cells are within the task sets that they share: differences of what two seeds share of the spread, of
  mean accuracies, and over all cells of a data set, if `MIN_CELLS` = 6 or more are there, the rank correlation of
  retention and shared spread.
- Intervals are 95 %, over task sets: Student's t with the standard error of the jackknife, which does not become too
  narrow with a few task sets as resampling does. Claims about fewer than `min_sets` = 3 task sets are not tested.
- Ten and twenty tasks have 60 random orders. Twenty of CIFAR-100 have one seed: no split into order and seed, and
  predictions from the same seed.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from reproduction import Figure, limits
from reproduction.atlas import MANY, AtlasCell, cells
from reproduction.atlas_results import ALL_PAIRS, LAST_PAIR, CellResult, mean_root, over_sets
from reproduction.claims import Claim, FigureData
from reproduction.figures.atlas_claims import DATA, HEADS, WAYS, cell_claims, comparisons, named, untested
from reproduction.image_claims import Number
from reproduction.image_panels import dots
from reproduction.law_results import LAST_ROW, LAW, ROW_SORT, RUN, TYPICAL, part_of
from taskorder.plots.records import Panel, Series
from taskorder.runs.settings import JOINT
from taskorder.runs.specs import RunSpec, RunSpecs

EARNED = (RUN, ALL_PAIRS, LAST_PAIR, LAW, LAST_ROW, ROW_SORT, TYPICAL)
"""Predictions that are drawn."""
SPREAD = "standard deviation over orders, shared by seeds, points"


@dataclass(frozen=True)
class Config:
    """Settings: the number of task sets of each cell of a data set, 0 to leave it out."""

    fashion: int = 30
    cifar100: int = 12
    features: int = 12
    cifar100_20tasks: int = 4
    features_10tasks: int = 12
    features_20tasks: int = 4
    min_sets: int = 3
    """Claims about fewer task sets are not tested."""

    def __post_init__(self) -> None:
        limits.whole(self, 0, *(data.replace("-", "_") for data in DATA))
        limits.whole(self, 2, "min_sets")


QUICK = Config(
    fashion=3, cifar100=0, features=0, cifar100_20tasks=0, features_10tasks=0, features_20tasks=0
)  # fmt: skip


def planned(config: Config) -> list[AtlasCell]:
    """The cells with as many task sets as the settings say."""
    counts = {data: getattr(config, data.replace("-", "_")) for data in DATA}
    return [
        cell._replace(config=replace(cell.config, num_sets=counts[cell.data])) for cell in cells() if counts[cell.data]
    ]


def specs(config: Config) -> list[RunSpec]:
    """One run for each task set and seed of each cell."""
    return [spec for cell in planned(config) for spec in RunSpecs(cell.config)]


def figure(config: Config, results: Sequence[Mapping[str, Any] | None]) -> FigureData:
    """Spread against retention, spread by cell, what orders earn, and mixing, of each data set that is there."""
    by_data = results_by_data(config, results)
    claims: list[Claim] = []
    drawn: list[Panel] = []
    for data, results_of in by_data.items():
        if not any(result.count for result in results_of):
            claims.append(untested(f"Order matters by more than a point; {DATA[data]}", "no task set so far"))
            continue
        joint = {result.cell.head: result for result in results_of if result.cell.way == JOINT}
        orders = [result for result in results_of if result.cell.way != JOINT]
        claims += [claim for result in orders for claim in cell_claims(result, joint.get(result.cell.head))]
        if data not in MANY:
            claims += comparisons(data, orders)
            drawn += panels(DATA[data], [result for result in orders if result.drawn], joint)
    return FigureData(
        name="atlas",
        title="When does order matter?",
        panels=tuple(drawn),
        claims=tuple(claims),
        config=asdict(config),
        columns=2,
        notes=_notes(by_data),
    )


def results_by_data(config: Config, results: Sequence[Mapping[str, Any] | None]) -> dict[str, list[CellResult]]:
    """The cells of each data set, from the results of `specs`."""
    left, by_data = iter(results), dict[str, list[CellResult]]()
    for cell in planned(config):
        rows = list(itertools.islice(left, cell.config.num_sets * cell.config.num_seeds))
        label = f"{DATA[cell.data]}, {named(cell)}"
        part = part_of(cell.name, label, cell.config, rows, config.min_sets)
        by_data.setdefault(cell.data, []).append(CellResult(cell, part))
    return by_data


def panels(data: str, there: Sequence[CellResult], joint: Mapping[str, CellResult]) -> list[Panel]:
    """The four panels of a data set; of cells with several seeds, where there are any."""
    split = [result for result in there if result.part.crossed]
    if not split:
        return []
    spread = {result.part.label: _spread(result) for result in split}
    earned: dict[str, dict[str, Number]] = {rule: {} for rule in EARNED}
    for result in split:
        for rule in EARNED:
            earned[rule][named(result.cell)] = over_sets(result.report.gain(rule))
    return [
        Panel(
            f"{data}: what is kept, and what order is worth",
            "retention",
            SPREAD,
            tuple(
                _dots(HEADS[head], [(result.retention.value, *spread[result.part.label]) for result in some])
                for head in HEADS
                if (some := [result for result in split if result.cell.head == head])
            ),
        ),
        dots(
            f"{data}: by head and strategy",
            SPREAD,
            {
                HEADS[head]: {
                    WAYS[result.cell.way]: spread[result.part.label] for result in split if result.cell.head == head
                }
                for head in HEADS
                if any(result.cell.head == head for result in split)
            },
            0.0,
        ),
        dots(f"{data}: what the chosen order earns", "points over the mean order", earned, 0.0),
        dots(f"{data}: orders and mixing", "accuracy at the end, %", _levels(split, joint)),
    ]


def _spread(result: CellResult) -> Number:
    value, low, high = over_sets(result.shared, mean_root)
    return Number(value, max(0.0, low), high)


def _dots(label: str, found: Sequence[tuple[float, float, float, float]]) -> Series:
    x, y, low, high = zip(*sorted(found), strict=True)
    return Series(label, x, y, low, high, "", "intervals")


def _levels(split: Sequence[CellResult], joint: Mapping[str, CellResult]) -> dict[str, dict[str, Number]]:
    levels: dict[str, dict[str, Number]] = {"mean order": {}, "best of another run": {}, "all tasks mixed": {}}
    for result in split:
        levels["mean order"][named(result.cell)] = over_sets(result.accuracy)
        levels["best of another run"][named(result.cell)] = over_sets(result.best)
        mixed = joint.get(result.cell.head)
        if mixed and mixed.drawn:
            levels["all tasks mixed"][named(result.cell)] = over_sets(mixed.accuracy)
    return levels


def _notes(by_data: Mapping[str, Sequence[CellResult]]) -> tuple[str, ...]:
    notes = []
    for data, some in by_data.items():
        there = [f"{named(result.cell)}: {result.count}" for result in some if result.count]
        missing = [named(result.cell) for result in some if not result.count]
        sets = some[0].cell.config.num_sets
        notes.append(f"{DATA[data]}, {sets} task sets planned; there are of {'; '.join(there) or 'all cells: none'}.")
        if there and missing:
            notes.append(f"{DATA[data]}, not trained yet: {'; '.join(missing)}.")
    return (
        *notes,
        "Intervals are 95 %, over task sets: Student's t with the error of the jackknife.",
        "Fashion-MNIST is trained on a tenth of its images. A pilot of 10 % is all that a cell is trained on.",
    )


FIGURES = (Figure("atlas", Config(), QUICK, specs, None, figure),)
