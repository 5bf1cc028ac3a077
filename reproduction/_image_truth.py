"""What the orders of task sets gave, read from the results of runs. Accuracies are in percent, gains in points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.runs.results import tables_of
from taskorder.tables.loss_ratios import measured_similarity


@dataclass(frozen=True, eq=False)
class Truth:
    """One task set, learned with one seed in all of its orders or in many."""

    number: int
    """Of the task set."""
    seed: int
    names: tuple[str, ...]
    orders: Ints
    """(n, P) in the order of training: random ones first where not all are there."""
    accuracy: Floats
    """(n,) mean over tasks after the last of them."""
    num_random: int
    """How many of the orders are random; 0 where they are all there are."""
    tables: Mapping[str, Mapping[str, Any]]
    """By estimate, what was measured of the similarity."""
    pairs: Floats | None
    """(P, P) share of errors on A and B after learning A, then B; None where some pair was not learned."""

    @cached_property
    def whole(self) -> bool:
        """Whether every order is there."""
        return len(self.orders) == math.factorial(len(self.names))

    @cached_property
    def mean(self) -> float:
        """Of all orders; of the random ones where not all are there."""
        return float((self.accuracy if self.whole else self.accuracy[: self.num_random]).mean())

    @cached_property
    def best(self) -> float:
        """The best of all orders."""
        return float(self.accuracy.max())

    @cached_property
    def _rows(self) -> dict[tuple[int, ...], int]:
        return {tuple(order): row for row, order in enumerate(self.orders.tolist())}

    def at(self, order: tuple[int, ...]) -> float:
        """Accuracy of one order."""
        return float(self.accuracy[self._rows[order]])

    def percentile(self, order: tuple[int, ...]) -> float:
        """The share of all orders that this one is better than, in percent; ties count half."""
        value = self.at(order)
        return float(100 * ((self.accuracy < value).mean() + (self.accuracy == value).mean() / 2))

    def similarity(self, estimate: str) -> Floats:
        """(P, P) as measured."""
        return measured_similarity(self.tables[estimate])

    def mean_similarity(self, estimate: str) -> float:
        """Mean over pairs of tasks."""
        C, P = self.similarity(estimate), len(self.names)
        return float((C.sum() - P) / (P * (P - 1)))


def truth_of(result: Mapping[str, Any], seed: int, num_random: int) -> Truth:
    """What a result of `taskorder.runs.training` says."""
    names = tuple(result["task_set"]["names"])
    rows, tables = tables_of(result)
    whole = {beginning: row for beginning, row in rows.items() if len(beginning) == len(names)}
    return Truth(
        number=int(result["task_set"]["seed"]),
        seed=seed,
        names=names,
        orders=np.array(list(whole), dtype=np.int64),
        accuracy=100 * tables["accuracy"][list(whole.values())].mean(axis=1),
        num_random=num_random,
        tables=result["similarities"],
        pairs=_pairs(rows, tables["accuracy"]),
    )


def _pairs(rows: Mapping[tuple[int, ...], int], accuracy: Floats) -> Floats | None:
    P = accuracy.shape[1]
    found = {beginning: row for beginning, row in rows.items() if len(beginning) == 2}
    if len(found) < P * (P - 1):
        return None
    errors = np.zeros((P, P))
    for (a, b), row in found.items():
        errors[a, b] = 1 - (accuracy[row, a] + accuracy[row, b]) / 2
    return errors


@dataclass(frozen=True, eq=False)
class Sets:
    """The task sets of one part that are there."""

    label: str
    wanted: int
    """How many task sets there should be."""
    min_sets: int
    truths: tuple[Truth, ...]

    @property
    def enough(self) -> bool:
        """Whether claims can be put to these sets."""
        return len(self.truths) >= self.min_sets

    @property
    def whole(self) -> bool:
        """Whether all orders of all sets are there."""
        return all(truth.whole for truth in self.truths)

    @property
    def count_words(self) -> str:
        """How many sets there are."""
        there = len({truth.number for truth in self.truths})
        if self.wanted == 0:
            return "left out by the settings"
        return f"{there} sets" if there == self.wanted else f"{there} sets so far ({self.wanted} planned)"

    def joined(self, more: Sets) -> Sets:
        """These and `more`, under the label of these."""
        return replace(self, wanted=self.wanted + more.wanted, truths=self.truths + more.truths)

    def has(self, estimate: str) -> bool:
        """Whether the similarity was measured that way."""
        return bool(self.truths) and all(estimate in truth.tables for truth in self.truths)

    def mean_similarities(self, estimate: str) -> Floats:
        """(sets,) the mean similarity of each set."""
        return np.array([truth.mean_similarity(estimate) for truth in self.truths])
