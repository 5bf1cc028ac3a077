"""The law of retention beside other scores of orders, on task sets that were learned in all of their orders or in many.

A score says how good each order should be, from tables of single tasks alone. With two seeds the tables come from one
and the truth from the other, both ways round, and the two count half each. Where not all orders are there, the random
ones tell how well a score explains the truth, and a score chooses among all that were trained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from reproduction.image_results import PATHS, TYPICALITY, Sets, Truth, alike, order_scores, truth_of
from taskorder.checks import Floats
from taskorder.datasets.class_tasks import size_shares
from taskorder.runs import settings
from taskorder.strategies import BY_CLASS
from taskorder.tables.knowledge import knowledge, shrunken_table, transfer_table
from taskorder.theory.law import PLAIN_RETENTION
from taskorder.theory.random_orders import knowledge_after

LAW, ERROR = "law", "law, error"
SHRUNKEN = "law, shrunken table"
CLOSED = "closed form"
TYPICAL, PATH = TYPICALITY[0], PATHS[0]
LAST_ROW, ROW_SORT = "last row sum", "row-sums"
RULES = (LAW, LAST_ROW, ROW_SORT, TYPICAL, PATH, CLOSED)
RUN = "another run"
"""The accuracies of a run with another seed as a score: as much as can be known without luck."""
FULL = "test"
TIE = 1e-9
"""Scores within this share of their range are equal; the choice is the mean of equal orders."""
CLASS_SIZES = {"fashion-mnist": 6000, "cifar10": 5000, "cifar100": 500}
"""Training examples of a class, the same for all classes; what is not listed has more than any sample."""


@dataclass(frozen=True, eq=False)
class Run:
    """One task set, learned with one seed."""

    truth: Truth
    result: Mapping[str, Any]

    @property
    def tables(self) -> Mapping[str, Mapping[str, Any]]:
        """By estimate, what networks of single tasks did."""
        return self.truth.tables


@dataclass(frozen=True, eq=False)
class Part:
    """The task sets of one data set and way of training that are there."""

    name: str
    label: str
    planned: int
    min_sets: int
    config: settings.Config
    sets: tuple[tuple[Run, ...], ...]
    """By task set its runs, one for each seed."""

    @property
    def num_classes(self) -> int:
        """That compete when a task is tested: one over it is the accuracy of guessing."""
        config = self.config
        return config.classes_per_task * (config.num_tasks if config.head == BY_CLASS else 1)

    @property
    def enough(self) -> bool:
        """Whether claims can be put to these sets."""
        return len(self.sets) >= self.min_sets

    @property
    def crossed(self) -> bool:
        """Whether tables and truth come from different seeds."""
        return bool(self.sets) and all(len(runs) > 1 for runs in self.sets)

    @property
    def whole(self) -> bool:
        """Whether all orders of all sets are there."""
        return all(run.truth.whole for runs in self.sets for run in runs)

    @property
    def plain(self) -> Sets:
        """The same for claims that only count sets."""
        return Sets(self.label, self.planned, self.min_sets, tuple(runs[0].truth for runs in self.sets))

    @property
    def pilots(self) -> tuple[str, ...]:
        """The estimates from samples."""
        return tuple(name for name in self.config.similarities if name not in settings.WHOLE)

    def numbered(self, first: int, last: int, label: str) -> Part:
        """Only the task sets with these numbers."""
        kept = tuple(runs for runs in self.sets if first <= runs[0].truth.number <= last)
        return replace(self, label=label, planned=max(0, min(self.planned, last + 1) - first), sets=kept)


def part_of(
    name: str, label: str, config: settings.Config, results: Sequence[Mapping[str, Any] | None], min_sets: int
) -> Part:
    """The part that the results of `RunSpecs(config)` make; None where one is missing. All seeds of a set count."""
    count = settings.num_random(config.orders)
    sets = []
    for start in range(0, len(results), config.num_seeds):
        there = [
            Run(truth_of(row, seed, count), row)
            for seed, row in enumerate(results[start : start + config.num_seeds])
            if row is not None
        ]
        if len(there) == config.num_seeds:
            sets.append(tuple(there))
    return Part(name, label, config.num_sets, min_sets, config, tuple(sets))


def table_of(run: Run, estimate: str, part: Part) -> Floats:
    """The transfer table S from what networks of single tasks did."""
    measured = run.tables[estimate]
    known = knowledge(measured["loss"], measured["chance"], measured["accuracy"], part.num_classes)
    return transfer_table(known)


def shrunken_of(run: Run, estimate: str, part: Part) -> Floats:
    """The same from a sample, with as much of its asymmetry as stands out from the noise."""
    measured = run.tables[estimate]
    sizes = pilot_sizes(part.config, estimate, run.truth.number)
    return shrunken_table(measured["loss"], measured["chance"], measured["accuracy"], sizes, part.num_classes)[0]


def pilot_sizes(config: settings.Config, estimate: str, number: int) -> Floats:
    """(P,) examples of each task in a sample: what a cell of its table was measured on."""
    sample = settings.sample_of(estimate) or settings.Sample()
    sizes = (
        sample.share * CLASS_SIZES.get(config.dataset, np.inf) * size_shares(config.num_tasks, config.uneven, number)
    )
    if sample.most is not None:
        sizes = np.minimum(sizes, sample.most / config.classes_per_task)
    return np.asarray(config.classes_per_task * np.maximum(1, np.round(sizes)))


class Scored(NamedTuple):
    """Scores of the orders of one truth, from the tables of one predictor."""

    truth: Truth
    scores: dict[str, Floats]
    """By rule, (n,) in the unit of a mean knowledge where there is one; more is better."""
    num_classes: int

    @property
    def sample(self) -> slice:
        """The orders that are a fair sample: all, or the random ones."""
        return slice(None) if self.truth.whole else slice(self.truth.num_random)

    def pair(self, rule: str) -> tuple[Floats, Floats]:
        """Score and true accuracy of the sample."""
        return self.scores[rule][self.sample], self.truth.accuracy[self.sample]

    def predicted(self, rule: str) -> Floats:
        """(n,) the accuracy that a mean knowledge means, in percent, of the sample."""
        guess = 1 / self.num_classes
        return np.asarray(100 * (guess + (1 - guess) * self.scores[rule][self.sample]))

    def explained(self, rule: str) -> float:
        """r^2 over orders; 0 where a score tells no order from another."""
        score, accuracy = self.pair(rule)
        if np.ptp(score) <= TIE * np.abs(score).max() or np.ptp(accuracy) == 0:
            return 0.0
        return float(np.corrcoef(score, accuracy)[0, 1] ** 2)

    def rank(self, rule: str) -> float:
        """Spearman correlation over orders."""
        return alike(*self.pair(rule))

    def gain(self, rule: str) -> float:
        """Points above the mean order that the choice of a score is worth."""
        score = self.scores[rule]
        chosen = score >= score.max() - TIE * np.ptp(score)
        return float(self.truth.accuracy[chosen].mean()) - self.truth.mean

    def moments(self, rule: str) -> tuple[float, float, float]:
        """Covariance of predicted and true accuracy, variance of the predicted, and how far the true ones are above."""
        predicted, accuracy = self.predicted(rule), self.pair(rule)[1]
        middle = predicted - predicted.mean()
        return float(middle @ accuracy), float(middle @ middle), float(accuracy.mean() - predicted.mean())


def scored(part: Part, estimate: str = FULL, retention: Sequence[float] | None = None) -> list[list[Scored]]:
    """By task set, the scores of all rules from one estimate: one entry, or two that cross the seeds.

    retention: the law's, one for each task set; that of plain networks where it is not given.
    """
    kept = [PLAIN_RETENTION] * len(part.sets) if retention is None else retention
    return [
        [_scored(part, *pair, estimate, d) for pair in directions(runs)]
        for runs, d in zip(part.sets, kept, strict=True)
    ]


def directions(runs: tuple[Run, ...]) -> Iterator[tuple[Run, Run]]:
    """Predictor and truth."""
    return iter([(runs[0], runs[0])] if len(runs) == 1 else [(runs[0], runs[1]), (runs[1], runs[0])])


def _scored(part: Part, predictor: Run, run: Run, estimate: str, retention: float) -> Scored:
    truth = run.truth
    older = order_scores(replace(truth, tables=predictor.tables), estimate)
    scores = law_scores(table_of(predictor, estimate, part), truth, retention)
    # The closed form is a sum of what is left of each task's loss.
    scores |= {TYPICAL: older[TYPICAL], PATH: older[PATH], CLOSED: 1 + older["optimal"] / len(truth.names)}
    if estimate in part.pilots:
        scores[SHRUNKEN] = law_scores(shrunken_of(predictor, estimate, part), truth, retention)[LAW]
    if predictor is not run and truth.same_orders(predictor.truth):
        scores[RUN] = np.array([predictor.truth.at(tuple(order)) for order in truth.orders.tolist()])
    return Scored(truth, scores, part.num_classes)


def law_scores(S: Floats, truth: Truth, retention: float = PLAIN_RETENTION) -> dict[str, Floats]:
    """(n,) scores of all orders from one transfer table: mean knowledge, minus the squares, and row sums."""
    known = knowledge_after(S, truth.orders, np.full(len(S), retention))
    rows = S.mean(axis=1)
    return {
        LAW: known.mean(axis=1),
        ERROR: -((1 - known) ** 2).mean(axis=1),
        LAST_ROW: rows[truth.orders[:, -1]],
        ROW_SORT: rows[truth.orders] @ np.arange(len(S), dtype=np.float64),
    }


@dataclass(frozen=True, eq=False)
class Report:
    """What the rules did on each task set of a part, from one estimate; the mean of both ways round."""

    part: Part
    by_set: list[list[Scored]]

    def has(self, rule: str) -> bool:
        """Whether every set has a score of that name."""
        return bool(self.by_set) and all(rule in one.scores for each in self.by_set for one in each)

    def explained(self, rule: str) -> Floats:
        """(sets,) r^2."""
        return np.array([np.mean([one.explained(rule) for one in each]) for each in self.by_set])

    def rank(self, rule: str) -> Floats:
        """(sets,) Spearman correlation."""
        return np.array([np.mean([one.rank(rule) for one in each]) for each in self.by_set])

    def gain(self, rule: str) -> Floats:
        """(sets,) points above the mean order."""
        return np.array([np.mean([one.gain(rule) for one in each]) for each in self.by_set])

    @cached_property
    def best(self) -> Floats:
        """(sets,) points that the best order is above the mean order."""
        return np.array([np.mean([one.truth.best - one.truth.mean for one in each]) for each in self.by_set])

    def moments(self, rule: str) -> Floats:
        """(sets, 3) see `Scored.moments`."""
        return np.array([np.mean([one.moments(rule) for one in each], axis=0) for each in self.by_set])


def report_of(part: Part, estimate: str = FULL) -> Report:
    """The report of a part from one estimate."""
    return Report(part, scored(part, estimate))
