"""The law of retention against every order of every task set that was trained. Ours.

From networks of single tasks the law (taskorder/theory/law.py) predicts the accuracy after any order, with a retention
of 0.13 for all of them. Beside it: the closed form (the law at retention 1, on the similarity that `optimal` takes),
the paper's two rules, and two baselines that need no theory: the row sum of the last task, and sorting tasks by their
row sums in the same table. Nothing is trained: the figure is made from the tables of runs that are there.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from reproduction import Figure
from reproduction.claims import Claim, FigureData
from reproduction.figures.law_claims import (
    part_claims,
    pilot_claims,
    pilot_lead,
    pooled_claims,
    pooled_pilots,
    pooled_retention,
    retention_claim,
    variant_claims,
    words,
)
from reproduction.image_claims import Number, mean_number
from reproduction.image_panels import dots
from reproduction.image_runs import LABELS, Shared, parts, run_config, smaller_notes
from reproduction.law_results import (
    CLOSED,
    LAW,
    PATH,
    RULES,
    RUN,
    SHRUNKEN,
    TYPICAL,
    Part,
    Report,
    part_of,
    report_of,
)
from reproduction.law_retention import retention_by_step
from taskorder.plots.records import Panel, Series
from taskorder.runs import settings
from taskorder.runs.specs import RunSpec, RunSpecs
from taskorder.theory.law import PLAIN_RETENTION

DEVELOPED = 50
"""Task sets of Fashion-MNIST, from the first, that formulas and retention were chosen on."""
DEVELOPMENT = f"Fashion-MNIST 0-{DEVELOPED - 1}, development"
ALL = "Over all held-out sets"
TWO_SEEDS = ("fashion-mnist", "cifar10", "cifar100-p5", "fashion-mnist-new", "cifar100-new")
VARIANTS = ("fashion-mnist-batch32", "fashion-mnist-reset", "fashion-mnist-epochs1", "fashion-mnist-epochs20")
NEW = ("fashion-mnist-new", "cifar100-new")
"""Task sets that nobody had used when the formulas were frozen."""
NAMES = {
    "cifar10": "CIFAR-10 0-29",
    "cifar10-sampled": "CIFAR-10 30-99",
    "cifar100-25labels": "CIFAR-100, 5 classes",
    **{name: f"Fashion-MNIST, {LABELS[name]}" for name in VARIANTS},
}
"""Labels that differ from those of other figures."""
DRAWN = 4
"""Orders of each held-out task set in the drawing of predictions."""
FAMILIES = {"cifar100": "CIFAR-100", "cifar10": "CIFAR-10", "fashion-mnist": "Fashion-MNIST"}
ENDS = (20.0, 100.0)
"""Of the line on which predictions are right; the axes of all predictions are alike."""


@dataclass(frozen=True)
class Config(Shared):
    """Settings: the number of task sets of each part. The seeds of a part are those that were trained."""

    fashion_mnist: int = 100
    cifar10: int = 30
    cifar10_sampled: int = 70
    cifar100_p3: int = 100
    cifar100_p5: int = 100
    cifar100_p7: int = 100
    cifar100_25labels: int = 100
    fashion_mnist_batch32: int = 30
    fashion_mnist_reset: int = 30
    fashion_mnist_epochs1: int = 30
    fashion_mnist_epochs20: int = 30
    fashion_mnist_new: int = 50
    cifar100_new: int = 50
    min_sets: int = 4


QUICK = Config(
    fashion_mnist=60, cifar100_p3=30, cifar100_p5=30, cifar100_p7=30, cifar100_25labels=30, cifar10_sampled=30,
)  # fmt: skip


def part_config(config: Config, name: str) -> settings.Config:
    """The settings of the runs of a part."""
    count = parts(config)[name]
    return replace(run_config(config, name, max(count, 1)), num_seeds=2 if name in TWO_SEEDS else 1)


def specs(config: Config) -> list[RunSpec]:
    """One run for each task set and seed of each part."""
    return [spec for name, count in parts(config).items() if count for spec in RunSpecs(part_config(config, name))]


def figure(config: Config, results: Sequence[dict[str, Any] | None]) -> FigureData:
    """Predictions, gains, explained shares, pilots and retention of all parts that are there."""
    left = iter(results)
    there: dict[str, Part] = {}
    for name, count in parts(config).items():
        wanted = part_config(config, name)
        rows = list(itertools.islice(left, count * wanted.num_seeds))
        label = NAMES.get(name, LABELS[name])
        there[name] = replace(part_of(name, label, wanted, rows, config.min_sets), planned=count)
    return figure_of(there, config)


def figure_of(there: Mapping[str, Part], config: Config) -> FigureData:
    """The figure of these parts; those that were planned for later and are not there are left out."""
    later = [name for name in NEW if name in there and not there[name].sets]
    by_name = _told_apart({name: part for name, part in there.items() if name not in later})
    reports = {name: report_of(part) for name, part in by_name.items()}
    held_out = [report for name, report in reports.items() if name not in ("developed", *VARIANTS, *NEW)]
    main = [report for report in reports.values() if report.part.name not in VARIANTS]
    new = [reports[name] for name in NEW if name in reports]
    pilots = {
        estimate: [report_of(report.part, estimate) for report in main if _pilot(report.part, estimate)]
        for estimate in dict.fromkeys(name for report in main for name in report.part.pilots)
    }
    apart = [report.part.label for report in held_out]
    claims: list[Claim] = [claim for report in main for claim in part_claims(report)]
    claims += pooled_claims(held_out, ALL)
    claims += pooled_claims(new, "Over the new sets") if new else []
    for estimate, some in pilots.items():
        claims += pilot_claims(some, estimate)
        claims += pooled_pilots([one for one in some if one.part.label in apart], ALL, estimate)
    claims += [claim for name in VARIANTS if name in reports for claim in variant_claims(reports[name])]
    claims += [retention_claim(part) for part in by_name.values()]
    claims.append(pooled_retention([report.part for report in held_out], ALL))
    enough = [report for report in main if report.part.enough]
    return FigureData(
        name="law",
        title="What networks of single tasks say about every order",
        panels=panels(enough, pilots, by_name.values()) if enough else (),
        claims=tuple(claims),
        config=asdict(config),
        columns=2,
        notes=_notes(by_name.values(), [there[name].label for name in later if there[name].planned], config),
    )


def _pilot(part: Part, estimate: str) -> bool:
    return part.enough and estimate in part.pilots


def _told_apart(there: Mapping[str, Part]) -> dict[str, Part]:
    """The parts, with the task sets of Fashion-MNIST that the law was developed on as one of their own."""
    by_name: dict[str, Part] = {}
    for name, part in there.items():
        if name == "fashion-mnist":
            last = max(part.planned, DEVELOPED + 1) - 1
            by_name[name] = part.numbered(DEVELOPED, last, f"Fashion-MNIST {DEVELOPED}-{last}")
            by_name["developed"] = part.numbered(0, DEVELOPED - 1, DEVELOPMENT)
        else:
            by_name[name] = part
    return by_name


def panels(reports: Sequence[Report], pilots: Mapping[str, Sequence[Report]], all_parts: Any) -> tuple[Panel, ...]:
    """Predicted and true accuracy, gains, r^2, pilots and retention."""
    held_out = [report for report in reports if report.part.label != DEVELOPMENT]
    gains: dict[str, dict[str, Number]] = {rule: {} for rule in (RUN, *RULES)}
    shares: dict[str, dict[str, Number]] = {rule: {} for rule in (RUN, *RULES)}
    for report in reports:
        for rule in (RUN, *RULES):
            if report.has(rule):
                gains[rule][report.part.label] = mean_number(report.gain(rule))
                shares[rule][report.part.label] = mean_number(report.explained(rule))
    leads = {
        f"{words(estimate)}{', shrunken' if rule == SHRUNKEN else ''}": {
            report.part.label: pilot_lead(rule, [report]) for report in some
        }
        for estimate, some in pilots.items()
        for rule in (LAW, SHRUNKEN)
        if some
    }
    return (
        _predictions(held_out, LAW, f"The law, retention {PLAIN_RETENTION}"),
        _predictions(held_out, CLOSED, "The closed form, retention 1"),
        _colored(dots("What the chosen order earns", "points above the mean order", gains, 0.0)),
        _colored(dots("Share of the differences between orders", "mean r² within a task set", shares, 0.0)),
        dots(f"From a sample: the law's lead over {TYPICAL}", "points", leads, 0.0),
        _retention([part for part in all_parts if part.enough]),
    )


def _colored(panel: Panel) -> Panel:
    """Rules have the colors that they have everywhere."""
    roles = {TYPICAL: TYPICAL, PATH: PATH, CLOSED: "optimal", RUN: "best", LAW: "random"}
    return replace(panel, series=tuple(replace(one, role=one.role or roles.get(one.label, "")) for one in panel.series))


def _predictions(reports: Sequence[Report], rule: str, title: str) -> Panel:
    """Predicted against true accuracy of random orders of every task set."""
    rng = np.random.default_rng(0)
    dotted: dict[str, list[tuple[float, float]]] = {label: [] for label in FAMILIES.values()}
    for report in reports:
        for each in report.by_set:
            predicted, accuracy = each[0].predicted(rule), each[0].pair(rule)[1]
            some = rng.choice(len(accuracy), min(DRAWN, len(accuracy)), replace=False)
            dataset = report.part.config.dataset
            dots_of_set = zip(predicted[some], accuracy[some], strict=True)
            dotted.setdefault(FAMILIES.get(dataset, dataset), []).extend(dots_of_set)
    series = []
    for label, dotted_orders in dotted.items():
        if dotted_orders:
            x, y = (tuple(float(value) for value in axis) for axis in zip(*dotted_orders, strict=True))
            series.append(Series(label, x, y, style="points"))
    return Panel(
        title,
        "predicted accuracy, %",
        "true accuracy at the end, %",
        (*series, Series("true as predicted", ENDS, ENDS, role="reference")),
    )


def _retention(some: Sequence[Part]) -> Panel:
    lines = []
    for part in some:
        by_step = retention_by_step(part)
        value, low, high = zip(*by_step.values(), strict=True)
        lines.append(Series(part.label, tuple(map(float, by_step)), value, low, high, "", "bars"))
    return Panel("How much is kept", "position of the task that is learned", "retention", tuple(lines))


def _notes(some: Any, later: Sequence[str], config: Config) -> tuple[str, ...]:
    there = "; ".join(f"{part.label}: {part.plain.count_words}" for part in some)
    crossed = ", ".join(part.label for part in some if part.crossed)
    return (
        f"Task sets: {there}.",
        f"Tables and truth come from different seeds, both ways round, for {crossed or 'none of them'}; from one seed "
        "for the others.",
        f"Formulas and the retention of {PLAIN_RETENTION} were chosen on Fashion-MNIST 0-{DEVELOPED - 1}; the other "
        "ways to train Fashion-MNIST use some of the same task sets. How a table from a sample is shrunken was chosen "
        "with the results of all sets known: only new sets can test it.",
        "Where not all orders were trained, r^2 and correlations are over the random ones, and every score chooses "
        "among all that were trained: the law's own order may not be there, those of the older rules are.",
        "The error of the closed form is read as the share of each task's loss that is left: its predicted accuracy is "
        "1/K + (1 - 1/K) (1 - error / P) with K classes and P tasks.",
        *((f"Not complete yet: {'; '.join(later)}.",) if later else ()),
        *smaller_notes(config),
    )


FIGURES = (Figure("law", Config(), QUICK, specs, None, figure),)
