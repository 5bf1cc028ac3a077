"""Ten, twenty and fifty binary tasks of CIFAR-100 with the paper's network: random orders, law, rules and races. Ours.

Question: with many tasks, what do the orders earn that the law of retention and the rules choose, from tables of all
data, from pilots of 10 to 300 images a task, and by a race; for tasks of one size, and where the largest task has 30
times the images of the smallest? Also for the twelve tasks of the table that ships with taskorder.

Fixed before the first of these networks was trained:

- 10 task sets of 10 and of 20 tasks, 4 of 50 tasks, all of numbers from 0 on, and 4 seeds of the twelve tasks; 60
  random orders of each, and one order of each way to choose (`reproduction/many_runs.py`), all trained with one seed.
  Tables and pilots come from another seed.
- The law has the retention of plain networks for every task, and tables from samples are shrunken (`shrunken_table`).
- Statistic: points of mean accuracy at the end over the mean of the 60 random orders, mean over task sets with a 95 %
  interval over task sets; leads over other ways are differences within a task set. Beside it rank correlations of the
  predictions over the random orders.
- Bounds at 20 tasks of one size: +4.6 points from all data, +3.5 from 300 images a task, +4.3 by a race that learns
  from a quarter of the examples of one training run.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from reproduction import Figure, limits
from reproduction.claims import Claim, FigureData, inside
from reproduction.image_claims import mean_number, ratio_number
from reproduction.image_panels import dots
from reproduction.many_runs import DEMO, FULL, KIND, LAST, LAW, OPTIMAL, RACE, SUMS, TYPICAL, race_cost, run_batch
from taskorder.checks import Floats
from taskorder.plots.records import Panel
from taskorder.runs.specs import RunSpec
from taskorder.tables.reading import demo_similarity

WAYS = (LAW, SUMS, LAST, TYPICAL, OPTIMAL)
BEST = "best random order"
PILOT = "300 examples"
UNEVEN = 30.0
"""How many times as many images the largest of the uneven tasks has as the smallest."""
LEAST_EARNED = {f"{FULL}: {LAW}": 4.6, f"{PILOT}: {LAW}": 3.5, RACE: 4.3}
"""Points at 20 tasks of one size."""
BOUNDED = "20 tasks"
OURS = "ours"


@dataclass(frozen=True)
class Config:
    """Settings: the number of task sets of each part, random orders of each set, and how they are trained."""

    ten: int = 10
    twenty: int = 10
    fifty: int = 4
    ten_uneven: int = 10
    twenty_uneven: int = 10
    fifty_uneven: int = 4
    demo: int = 4
    num_orders: int = 60
    net: str = "cnn"
    images: int = 1000
    epochs: int = 5
    batch_size: int = 4
    samples: tuple[int, ...] = (10, 30, 100, 300)
    min_sets: int = 4
    """Claims about fewer task sets are not tested."""

    def __post_init__(self) -> None:
        limits.whole(self, 0, *PARTS)
        limits.whole(self, 1, "images", "epochs", "batch_size")
        limits.whole(self, 2, "num_orders", "min_sets")


class Part(NamedTuple):
    """Task sets of one size."""

    label: str
    num_tasks: int
    uneven: float = 1.0
    tasks: tuple[str, ...] = ()


PARTS: Mapping[str, Part] = {
    "ten": Part("10 tasks", 10),
    "twenty": Part(BOUNDED, 20),
    "fifty": Part("50 tasks", 50),
    "ten_uneven": Part("10 uneven tasks", 10, UNEVEN),
    "twenty_uneven": Part("20 uneven tasks", 20, UNEVEN),
    "fifty_uneven": Part("50 uneven tasks", 50, UNEVEN),
    "demo": Part("the 12 demo tasks", 12, 1.0, tuple(demo_similarity()[1])),
}
"""By the name of a setting."""
QUICK = Config(
    ten=2, twenty=0, fifty=0, ten_uneven=0, twenty_uneven=0, fifty_uneven=0, demo=0,
    num_orders=6, net="mlp", images=100, epochs=1, samples=(10, 30, 100, 300), min_sets=2,
)  # fmt: skip


def specs(config: Config) -> list[RunSpec]:
    """One run for each task set."""
    keys = ("num_orders", "net", "images", "epochs", "batch_size")
    shared = {"dataset": "cifar100", **{key: getattr(config, key) for key in keys}, "samples": list(config.samples)}
    made = []
    for name, part in PARTS.items():
        about = {
            "num_tasks": part.num_tasks,
            "uneven": part.uneven,
            **({"tasks": list(part.tasks)} if part.tasks else {}),
        }
        made += [RunSpec(KIND, {**shared, **about, "set": number}) for number in range(getattr(config, name))]
    return made


def figure(config: Config, results: Sequence[Mapping[str, Any] | None]) -> FigureData:
    """Points over the mean random order, and rank correlations, by part and source."""
    left = iter(zip(specs(config), results, strict=True))
    there: dict[str, list[Mapping[str, Any]]] = {}
    for name, part in PARTS.items():
        rows = [(spec, row) for spec, row in itertools.islice(left, getattr(config, name)) if row is not None]
        there[part.label] = [{**row, "params": spec.params} for spec, row in rows]
    enough = {label: rows for label, rows in there.items() if len(rows) >= config.min_sets}
    planned = {part.label: getattr(config, name) for name, part in PARTS.items()}
    missing = [
        f"{label} ({len(there[label])} of {count} sets)"
        for label, count in planned.items()
        if len(there[label]) < count
    ]
    return FigureData(
        name="many-tasks",
        title="Many tasks: CIFAR-100, convolutional network",
        panels=panels(enough) if enough else (),
        claims=tuple(
            claim for label, count in planned.items() if count for claim in part_claims(label, enough.get(label, []))
        ),
        config=asdict(config),
        columns=2,
        notes=(
            *(_note(label, rows, config) for label, rows in enough.items()),
            *((f"Not complete yet: {'; '.join(missing)}.",) if missing else ()),
        ),
    )


def panels(parts: Mapping[str, Sequence[Mapping[str, Any]]]) -> tuple[Panel, ...]:
    """What orders earn from all data and from pilots, and how well predictions rank random orders."""
    earned = {
        way: {label: mean_number(points(rows, f"{FULL}: {way}")) for label, rows in parts.items()} for way in WAYS
    }
    earned[RACE] = {label: mean_number(points(rows, RACE)) for label, rows in parts.items()}
    earned[BEST] = {label: mean_number(best(rows)) for label, rows in parts.items()}
    some = parts.get(BOUNDED) or next(iter(parts.values()))
    sources = sorted(some[0]["ranks"], key=lambda source: np.inf if source == FULL else int(source.split()[0]))
    by_size = {
        way: {source: mean_number(points(some, f"{source}: {way}")) for source in sources}
        for way in (LAW, SUMS, TYPICAL)
    }
    ranked = {way: {source: mean_number(_ranks(some, source, way)) for source in sources} for way in WAYS}
    label = BOUNDED if BOUNDED in parts else next(iter(parts))
    return (
        dots("Orders from tables of all data", "points over the mean random order", earned, 0.0),
        dots(f"Orders from pilots, {label}", "points over the mean random order", by_size, 0.0),
        dots(f"Random orders, {label}", "rank correlation with accuracy", ranked, 0.0),
    )


def points(rows: Sequence[Mapping[str, Any]], name: str) -> Floats:
    """(sets,) points of mean accuracy of a chosen order over the mean random order."""
    return np.array([np.mean(row["chosen"][name]["accuracy"]) - np.mean(row["random"]) for row in rows])


def best(rows: Sequence[Mapping[str, Any]]) -> Floats:
    """(sets,) the same of the best random order."""
    return np.array([np.mean(row["random"], axis=1).max() - np.mean(row["random"]) for row in rows])


def _ranks(rows: Sequence[Mapping[str, Any]], source: str, way: str) -> Floats:
    return np.array([row["ranks"][source][way] for row in rows])


def part_claims(label: str, rows: Sequence[Mapping[str, Any]]) -> list[Claim]:
    """What the law's order earns over the mean and over other ways, from all data, from pilots and by a race."""
    full = f"{FULL}: {LAW}"
    ways = {
        f"The law's order is above the mean random order; {label}": (full, ""),
        **{
            f"The law's order is above that of {_named(way)}; {label}": (full, f"{FULL}: {way}")
            for way in (SUMS, LAST, TYPICAL, OPTIMAL)
        },
        f"The law's order from {PILOT} a task is above the mean random order; {label}": (f"{PILOT}: {LAW}", ""),
        f"The law's order from {PILOT} a task is above that of {TYPICAL}; {label}": (
            f"{PILOT}: {LAW}",
            f"{PILOT}: {TYPICAL}",
        ),
        f"The order of a race is above the mean random order; {label}": (RACE, ""),
        f"The order of a race is above the law's from {PILOT} a task; {label}": (RACE, f"{PILOT}: {LAW}"),
    }
    if label == PARTS["demo"].label:
        ways |= {
            f"The {name} order of the demo similarity is above the mean random order; {label}": (f"{DEMO}: {way}", "")
            for name, way in (("law's", LAW), ("periphery-to-core", TYPICAL), ("optimal", OPTIMAL))
        }
    if not rows:
        return [Claim(next(iter(ways)), OURS, "too few task sets", None, None, None, "not tested")]
    claims = [_lead(text, rows, *pair) for text, pair in ways.items()]
    if label == BOUNDED:
        claims += [_at_least(rows, name, bound) for name, bound in LEAST_EARNED.items()]
    if all("retention" in row for row in rows):
        claims.append(_retention(label, rows))
    return claims


def _named(way: str) -> str:
    return {SUMS: "sorting by row sums", LAST: "the last row sum"}.get(way, way)


def _lead(text: str, rows: Sequence[Mapping[str, Any]], name: str, other: str) -> Claim:
    lead = mean_number(points(rows, name) - (points(rows, other) if other else 0.0))
    source, _, way = name.partition(": ")
    rank = ""
    if not other and way in WAYS and source in rows[0]["ranks"]:
        rank = f"rank correlation {mean_number(_ranks(rows, source, way)).show(sign=True)}; "
    return Claim(text, OURS, f"{lead.show(sign=True)} points; {rank}{len(rows)} sets", *lead, inside(lead, above=0))


def _at_least(rows: Sequence[Mapping[str, Any]], name: str, bound: float) -> Claim:
    earned = mean_number(points(rows, name))
    words = (
        "a race"
        if name == RACE
        else f"the law from {name.partition(':')[0]}{' a task' if name.startswith(PILOT) else ''}"
    )
    share = ratio_number(points(rows, name), best(rows)).percent()
    return Claim(
        f"The order of {words} earns {bound} points; {BOUNDED}",
        OURS,
        f"{earned.show(sign=True)} points, {share} of what the best of the random orders earned; {len(rows)} sets",
        *earned,
        inside(earned, above=bound),
    )


def _retention(label: str, rows: Sequence[Mapping[str, Any]]) -> Claim:
    """Noise in the regressor is taken out by a table of another seed."""
    sums = np.array([row["retention"] for row in rows])
    kept = ratio_number(sums[:, 0], sums[:, 1])
    text = f"A network keeps less than a quarter of its knowledge when it learns the next task; {label}"
    return Claim(text, OURS, f"{kept.show()} on pairs; {len(rows)} sets", *kept, inside(kept, below=0.25))


def _note(label: str, rows: Sequence[Mapping[str, Any]], config: Config) -> str:
    mean = float(np.mean([np.mean(row["random"]) for row in rows]))
    cost = float(np.mean([race_cost(row["params"]) for row in rows]))
    return (
        f"{label}: {len(rows)} task sets; mean accuracy {mean:.1f} %, best of {config.num_orders} random orders "
        f"{mean_number(best(rows)).show(sign=True)} points; a race learns from {100 * cost:.0f} % of the "
        "examples of one run."
    )


FIGURES = (Figure("many-tasks", Config(), QUICK, specs, run_batch, figure, batch=10, keep=True),)
