"""What the orders of image task sets gave, and how the orders that rules choose compare with all orders of a task set.

Accuracies are in percent, gains in points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from reproduction.fitting import rank_correlation
from taskorder.checks import Floats, Ints
from taskorder.ordering.candidates import (
    PAIRWISE,
    TWO_ORDERS,
    Orders,
    curvature_orders,
    pairwise_order,
    similarity_orders,
)
from taskorder.ordering.first_order import coefficients
from taskorder.ordering.problem import open_problem
from taskorder.ordering.rules import typicality
from taskorder.runs.results import tables_of
from taskorder.tables.loss_ratios import clip_similarity, measured_matrix, measured_similarity
from taskorder.theory.nearest import nearest_correlation


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

    def same_orders(self, other: Truth) -> bool:
        """Whether another run learned the same orders."""
        return self._rows.keys() == other._rows.keys()

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
    whole = {prefix: row for prefix, row in rows.items() if len(prefix) == len(names)}
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
    pairs = {prefix: row for prefix, row in rows.items() if len(prefix) == 2}
    if len(pairs) < P * (P - 1):
        return None
    errors = np.zeros((P, P))
    for (a, b), row in pairs.items():
        errors[a, b] = 1 - (accuracy[row, a] + accuracy[row, b]) / 2
    return errors


@dataclass(frozen=True, eq=False)
class Sets:
    """The task sets of one part that are there."""

    label: str
    planned: int
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
        if self.planned == 0:
            return "left out by the settings"
        return f"{there} sets" if there == self.planned else f"{there} sets so far ({self.planned} planned)"

    def joined(self, more: Sets) -> Sets:
        """These and `more`, under the label of these."""
        return replace(self, planned=self.planned + more.planned, truths=self.truths + more.truths)

    def has(self, estimate: str) -> bool:
        """Whether the similarity was measured that way."""
        return bool(self.truths) and all(estimate in truth.tables for truth in self.truths)

    def mean_similarities(self, estimate: str) -> Floats:
        """(sets,) the mean similarity of each set."""
        return np.array([truth.mean_similarity(estimate) for truth in self.truths])


TYPICALITY = ("periphery-to-core", "core-to-periphery")
PATHS = ("max-path", "min-path")
"""The rules of the paper, each with its opposite."""
MEAN = "random"
"""The mean order: of all orders, or of random ones."""
ONE = "random order"
"""One of them."""
PAIRS = "pairs"
"""Stands for an estimate: not zero-shot transfer, but every pair of tasks learned in both orders."""
CURVATURE = "curvature"
LAST = "most typical last"
"""Every order that ends with the most typical task: what that alone is worth, whatever comes before."""
TIE = 1e-9
"""Scores that differ by less than this share of the largest are equal."""


def one_way(rule: str) -> str:
    """The name of a path rule when it is scored in the direction that a planner would choose.

    >>> one_way("max-path")
    'max-path, planned'
    """
    return f"{rule}, planned"


def rule_orders(truth: Truth, estimate: str) -> dict[str, Orders]:
    """By rule, the orders that it chooses by this estimate; its score is their mean."""
    if estimate == PAIRS:
        return {} if truth.pairs is None else {PAIRWISE: (pairwise_order(truth.pairs),)}
    if estimate == CURVATURE:
        return curvature_orders(truth.tables[estimate]["value"])
    orders = similarity_orders(truth.similarity(estimate))
    orders |= {one_way(rule): orders[rule][:1] for rule in TWO_ORDERS}
    orders[PAIRWISE] = (pairwise_order(measured_matrix(truth.tables[estimate])),)
    if truth.whole:
        last = orders[TYPICALITY[0]][0][-1]
        orders[LAST] = tuple(tuple(order) for order in truth.orders[truth.orders[:, -1] == last].tolist())
    return orders


@dataclass(frozen=True, eq=False)
class Scores:
    """What a rule gave: one number for each task set."""

    accuracy: Floats
    gain: Floats
    """Over the mean order of the set."""
    percentile: Floats
    """Among all orders, or those that are there; 50 is the middle."""


@lru_cache(maxsize=64)
def scores(sets: Sets, estimate: str) -> dict[str, Scores]:
    """By rule, of those that choose orders of every set: in a joined part, some sets may lack some orders."""
    chosen = [rule_orders(truth, estimate) for truth in sets.truths]
    shared = [
        rule for rule in (chosen[0] if chosen else {}) if all(rule in by_rule_of_set for by_rule_of_set in chosen)
    ]
    chosen_orders = {rule: [by_rule_of_set[rule] for by_rule_of_set in chosen] for rule in shared}
    chosen_orders[ONE] = [(_any_order(truth),) for truth in sets.truths]
    by_rule = {rule: _scores(sets.truths, orders) for rule, orders in chosen_orders.items()}
    means = np.array([truth.mean for truth in sets.truths])
    by_rule[MEAN] = Scores(means, np.zeros(len(means)), np.full(len(means), 50.0))
    return by_rule


def _scores(truths: tuple[Truth, ...], orders: list[Orders]) -> Scores:
    pairs = list(zip(truths, orders, strict=True))
    accuracy = np.array([np.mean([truth.at(order) for order in some]) for truth, some in pairs])
    percentile = np.array([np.mean([truth.percentile(order) for order in some]) for truth, some in pairs])
    return Scores(accuracy, accuracy - np.array([truth.mean for truth in truths]), percentile)


def _any_order(truth: Truth) -> tuple[int, ...]:
    """One random order of the set, always the same."""
    count = len(truth.orders) if truth.whole else truth.num_random
    return tuple(truth.orders[np.random.default_rng([truth.number, 1]).integers(count)].tolist())


def headroom(sets: Sets) -> Floats:
    """(sets,) points that the best order is above the mean order."""
    return np.array([truth.best - truth.mean for truth in sets.truths])


def position_shares(sets: Sets) -> Floats:
    """(sets, P) share of the variance over all orders that the task at each position explains alone.

    With accuracies that have nothing to do with the order it is (P - 1) / (P! - 1) on average.
    """
    return np.array([[_explained(truth, place) for place in range(len(truth.names))] for truth in sets.truths])


def _explained(truth: Truth, place: int) -> float:
    means = [truth.accuracy[truth.orders[:, place] == task].mean() for task in range(len(truth.names))]
    whole = float(truth.accuracy.var())
    return float(np.var(means)) / whole if whole > 0 else 0.0


def gains_by_last(sets: Sets, estimate: str) -> Floats:
    """(sets, P) mean gain of all orders that end with the task of each rank, from the least to the most typical."""
    rows = []
    for truth in sets.truths:
        ranked = np.argsort(typicality(truth.similarity(estimate)), kind="stable")
        rows.append([truth.accuracy[truth.orders[:, -1] == task].mean() - truth.mean for task in ranked])
    return np.array(rows)


def order_scores(truth: Truth, estimate: str) -> dict[str, Floats]:
    """By rule, (n,) its score of every order that is there: the higher, the better the rule expects it to be."""
    orders, P = truth.orders, len(truth.names)
    before = np.triu_indices(P, 1)
    first, second = orders[:, before[0]], orders[:, before[1]]

    def preference(errors: Floats) -> Floats:
        return np.asarray((errors.T - errors)[first, second].sum(axis=1))

    if estimate == PAIRS:
        return {} if truth.pairs is None else {PAIRWISE: preference(truth.pairs)}
    C = truth.similarity(estimate)
    length = np.asarray((1 - C)[orders[:, :-1], orders[:, 1:]].sum(axis=1))
    if estimate == CURVATURE:
        return {"curvature-max-path": length}
    raw = np.clip(C, -1.0, 1.0)
    everything = np.arange(P)
    problem = open_problem(
        nearest_correlation(clip_similarity(C)[0])[0],
        None,
        np.ones(P),
        everything[:0],
        everything,
        np.zeros((P, P), bool),
    )
    return {
        "periphery-to-core": typicality(raw)[orders] @ np.arange(P, dtype=np.float64),
        "max-path": length,
        "optimal": -problem.errors(orders),
        "first-order": -(raw[first, second] @ coefficients(raw)[before]),
        PAIRWISE: preference(measured_matrix(truth.tables[estimate])),
    }


def alike(left: Floats, right: Floats) -> float:
    """Spearman correlation of two scores of the same orders; 0 where one of them tells no order from another.

    >>> alike(np.array([1.0, 2.0, 3.0]), np.array([5.0, 5.0, 5.0]))
    0.0
    """
    tied = any(np.ptp(values) <= TIE * np.abs(values).max() for values in (left, right))
    return 0.0 if tied else rank_correlation(left, right)


@lru_cache(maxsize=64)
def rank_correlations(sets: Sets, estimate: str) -> dict[str, Floats]:
    """By rule, (sets,) the Spearman correlation within a set of its score with the accuracy of every order."""
    by_set = [order_scores(truth, estimate) for truth in sets.truths]
    return {
        rule: np.array([alike(scored[rule], truth.accuracy) for scored, truth in zip(by_set, sets.truths, strict=True)])
        for rule in (by_set[0] if by_set else {})
    }
