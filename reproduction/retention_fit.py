"""From measured pairs and orders to retention: sums over task sets, a fit, and intervals by resampled sets.

Every statistic is computed for many weights of the task sets at once: the first row weighs all sets equally and gives
the value, the other rows are bootstrap resamples and give the interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from reproduction.image_claims import Number, expanded_level
from reproduction.retention_pairs import Cell
from taskorder.checks import Floats
from taskorder.prefixes import Prefix
from taskorder.runs.results import tables_of

DRAWS = 2000
SMALLEST = 0.005
"""Retention in a fit of log odds is at least this and at most 1 minus it."""
TERMS = ("steps", "learning_rate", "first_steps", "width", "batch_size", "images")
BASE = Cell()


class Point(NamedTuple):
    """The retention of one cell after one number of steps of the second task."""

    cell: Cell
    steps: int

    def logs(self) -> list[float]:
        """The logarithm of each of `TERMS`, relative to the base at 1,000 steps."""
        base = {**vars(BASE), "steps": 1000}
        return [float(np.log({**vars(self.cell), "steps": self.steps}[term] / base[term])) for term in TERMS]


class Fit(NamedTuple):
    """Coefficients of the log odds of retention for every weighting of the task sets."""

    coefficients: Floats
    """(draws, 1 + terms): the intercept, then `TERMS`."""
    residual: float
    """Root mean square deviation of retention, measured minus fitted."""

    def predicted(self, logs: Sequence[float]) -> Floats:
        """(draws,) retention at these logarithms of the terms."""
        return np.asarray(1 / (1 + np.exp(-(self.coefficients @ np.array([1.0, *logs])))))

    def number(self, term: str, count: int) -> Number:
        """The coefficient of a term with its interval over `count` task sets."""
        return number(self.coefficients[:, 1 + TERMS.index(term)], count)


def set_weights(count: int, draws: int = DRAWS, seed: int = 0) -> Floats:
    """(draws + 1, count) how often each set counts: once, then as resampled."""
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=draws)
    return np.vstack([np.ones(count), drawn])


def number(values: Floats, count: int) -> Number:
    """The first value, with the interval of the others."""
    tail = (1 - expanded_level(count)) / 2
    low, high = np.quantile(values[1:], [tail, 1 - tail])
    return Number(float(values[0]), float(low), float(high))


def retention(sums: Floats, weights: Floats) -> Floats:
    """(draws, ...) ratio of the weighted sums of x' y and x' x; sums: (sets, ..., 2)."""
    pooled = np.tensordot(weights, sums, axes=1)
    return np.asarray(pooled[..., 0] / pooled[..., 1])


def fit(points: Sequence[Point], values: Floats, *, logarithm: bool = False) -> Fit:
    """Least squares of the log odds (or the logarithm) of (draws, points) retention on the logarithms of the terms.

    Terms that do not vary among the points have the coefficient 0.
    """
    design = np.array([[1.0, *point.logs()] for point in points])
    used = np.flatnonzero([True, *(np.ptp(design[:, 1:], axis=0) > 0)])
    d = np.clip(values, SMALLEST, 1 - SMALLEST)
    target = np.log(d) if logarithm else np.log(d / (1 - d))
    found = np.zeros((len(values), design.shape[1]))
    found[:, used] = target @ np.linalg.pinv(design[:, used]).T
    back = design @ found[0]
    fitted = np.exp(back) if logarithm else 1 / (1 + np.exp(-back))
    return Fit(found, float(np.sqrt(((values[0] - fitted) ** 2).mean())))


def order_sums(results: Sequence[Mapping[str, Any]], groups: Mapping[Prefix, int], num_groups: int) -> Floats:
    """(groups, 2) sums of x' y and x' x of one task set over the steps of its orders, from the runs of its seeds.

    groups: by prefix, to which group its last step belongs; others are left out. With one seed x' is x.
    """
    seeds = [_steps(result) for result in results]
    sums = np.zeros((num_groups, 2))
    for place, own in enumerate(seeds):
        other = seeds[place - 1]
        for prefix, group in groups.items():
            (x, y), again = own[prefix], other[prefix][0]
            sums[group] += (again * y).sum(), (again * x).sum()
    return sums


def _steps(result: Mapping[str, Any]) -> dict[Prefix, tuple[Floats, Floats]]:
    """By prefix of an order, x and y of its last step for each task; 0 for the task that is learned."""
    rows, known = knowledge_rows(result)
    found = {}
    for prefix, row in rows.items():
        if len(prefix) > 1:
            k, before, alone = prefix[-1], known[rows[prefix[:-1]]], known[rows[prefix[-1:]]]
            x, y = before - alone * before[k], known[row] - alone
            x[k] = y[k] = 0.0
            found[prefix] = (x, y)
    return found


def knowledge_rows(result: Mapping[str, Any]) -> tuple[dict[Prefix, int], Floats]:
    """The row of every prefix, and the (rows, P) knowledge of binary tasks."""
    rows, tables = tables_of(result)
    return rows, 1 - (2 * (1 - tables["accuracy"]) + tables["loss"] / tables["chance"]) / 2


def by_position(result: Mapping[str, Any]) -> dict[Prefix, int]:
    """The group of each prefix: 0 for the second task, 1 for the third, ..."""
    return {prefix: len(prefix) - 2 for prefix in tables_of(result)[0] if len(prefix) > 1}


def by_size(result: Mapping[str, Any], ranks: Sequence[int], *, pairs: bool) -> dict[Prefix, int]:
    """The group of each prefix: the rank of the size of its last task; of pairs, or of all longer prefixes."""
    prefixes = tables_of(result)[0]
    return {prefix: ranks[prefix[-1]] for prefix in prefixes if (len(prefix) == 2 if pairs else len(prefix) > 2)}
