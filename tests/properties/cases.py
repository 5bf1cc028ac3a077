"""Random questions for `solve`: a table of some family, a retention, and constraints and weights that fit together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from taskorder import Plan, solve
from taskorder.given_table import kind_of
from taskorder.theory.nearest import nearest_correlation

Rng = np.random.Generator

SMALL = (1, 2, 3, 5, 8)
"""Every order is listed."""
PROVEN = (9, 12)
"""Too many to list; a proof takes less than a second."""
LARGE = (30, 100)
RETENTIONS = (0.0, 0.13, 0.3, 0.5, 0.999, 1.0, "one a task")


def _gram(size: int, rng: Rng, rank: int | None = None) -> np.ndarray:
    vectors = rng.standard_normal((size, rank or size + 1))
    vectors[:, 0] += 0.7
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return _symmetric(vectors @ vectors.T)


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    matrix = (matrix + matrix.T) / 2
    np.fill_diagonal(matrix, 1.0)
    return matrix


def _clones(size: int, rng: Rng) -> np.ndarray:
    pick, sign = rng.integers(0, max(1, size // 2), size), rng.choice([1.0, -1.0], size, p=[0.8, 0.2])
    return _gram(size, rng)[np.ix_(pick, pick)] * np.outer(sign, sign)


def _transfer(low: float, high: float) -> Callable[[int, Rng], np.ndarray]:
    def make(size: int, rng: Rng) -> np.ndarray:
        table = rng.uniform(low, high, (size, size))
        np.fill_diagonal(table, rng.uniform(0.8, 1.0, size))
        return table

    return make


SIMILARITIES: dict[str, Callable[[int, Rng], np.ndarray]] = {
    "correlation": _gram,
    "low rank": lambda size, rng: _gram(size, rng, 2),
    "clones": _clones,
    "equal": lambda size, rng: _symmetric(np.full((size, size), rng.choice([0.0, 0.3, 0.999, 1.0]))),
    "chain": lambda size, rng: rng.choice([0.3, 0.9]) ** np.abs(np.subtract.outer(np.arange(size), np.arange(size))),
    "zeros and ones": lambda size, rng: _symmetric(np.sign(_gram(size, rng)).clip(0)),
    "indefinite": lambda size, rng: _symmetric(np.triu(rng.uniform(-1, 1, (size, size)), 1) * 2),
    "negative": lambda size, rng: _symmetric(-np.triu(rng.uniform(0, 1 / size, (size, size)), 1) * 2),
}
TRANSFERS: dict[str, Callable[[int, Rng], np.ndarray]] = {
    "transfer": _transfer(0.0, 0.9),
    "with negative transfer": _transfer(-0.6, 0.7),
    "slight": _transfer(0.0, 1e-6),
    "constant": lambda size, rng: np.full((size, size), float(rng.choice([0.0, 0.5, 1.0]))),
    "two values": lambda size, rng: rng.choice([0.0, 1.0], (size, size), p=[0.7, 0.3]),
    "whole numbers": lambda size, rng: rng.integers(-1, 2, (size, size)).astype(float),
    "nothing on its own": lambda size, rng: _transfer(0.0, 0.9)(size, rng) * (1 - np.eye(size)),
    "copied rows": lambda size, rng: _transfer(0.0, 0.9)(size, rng)[rng.integers(0, size, size)],
}


@dataclass(frozen=True)
class Case:
    """A question that has an answer."""

    table: np.ndarray
    options: dict[str, Any]
    hidden: tuple[int, ...]
    """An order of all tasks, the learned ones first, that keeps the constraints."""
    family: str = ""

    @property
    def size(self) -> int:
        return len(self.table)

    @property
    def open(self) -> list[int]:
        """The tasks that are still to be learned."""
        return [task for task in range(self.size) if task not in self.options.get("learned", ())]

    @property
    def weights(self) -> np.ndarray:
        return np.asarray(self.options.get("weights", np.ones(self.size)), dtype=float)

    @property
    def retention(self) -> np.ndarray:
        return np.broadcast_to(np.asarray(self.options["retention"], dtype=float), self.size)

    @property
    def by_error(self) -> bool:
        objective = self.options.get("objective")
        return objective == "error" or (objective is None and bool((self.retention == 1).all()))

    @property
    def paper(self) -> bool:
        """Whether this is the paper's theory."""
        return self.by_error and bool((self.retention == 1).all())

    def solve(self, rule: str = "optimal", **changes: Any) -> Plan:
        return solve(self.table, rule, **{**self.options, **changes})

    def asking(self, **options: Any) -> Case:
        """With other options; None takes one away."""
        both = {**self.options, **options}
        return replace(self, options={key: value for key, value in both.items() if value is not None})

    def value(self, order: Sequence[int]) -> float:
        """The score or error after `order`, by the recursion as written on the page of the law."""
        table = self.table
        if self.paper:
            table = nearest_correlation(table)[0]
        elif self.options.get("kind", kind_of(table)) == "similarity":
            table = 1 - (1 - (table + table.T) / 2) ** 2
        known = np.array(self.options.get("start", np.zeros(self.size)), dtype=float)
        for task in (*self.options.get("learned", ()), *order):
            kept = self.retention[task] * known
            known = kept + table[task] * (1 - kept[task])
        weights = self.weights
        return float((1 - known) ** 2 @ weights if self.by_error else known @ weights / weights.sum())

    @property
    def scale(self) -> float:
        """What values are about: rounding is relative to it."""
        unit = self.weights.sum() if self.by_error else 1.0
        return float(unit * max(1.0, np.abs(self.table).max()) ** 2)


def draw(
    rng: Rng,
    sizes: Sequence[int] = (*SMALL, *PROVEN),
    *,
    families: Sequence[str] | None = None,
    retentions: Sequence[Any] = RETENTIONS,
    objectives: Sequence[str | None] = (None, None, "score", "error"),
    constrained: bool = True,
    weighted: bool = True,
) -> Case:
    """A case of one of these sizes and kinds."""
    size = int(rng.choice(sizes))
    retention = retentions[rng.integers(len(retentions))]
    objective = objectives[rng.integers(len(objectives))]
    paper = retention == 1.0 and objective != "score"
    known = SIMILARITIES if paper else {**SIMILARITIES, **TRANSFERS}
    possible = sorted(set(known) & set(families or known))
    family = possible[rng.integers(len(possible))]
    table = known[family](size, rng)
    options: dict[str, Any] = {"kind": "similarity" if family in SIMILARITIES else "transfer"}
    options["retention"] = (
        rng.choice([0.0, 0.1, 0.5, 0.9, 1.0], size).tolist() if retention == "one a task" else retention
    )
    if retention == "one a task" and (np.array(options["retention"]) == 1).all():
        options["retention"] = [0.5] * size
    if objective is not None:
        options["objective"] = objective
    if weighted and rng.random() < 0.5:
        options["weights"] = _weights(size, rng).tolist()
    hidden = rng.permutation(size).tolist()
    if constrained:
        options |= constraints(hidden, rng)
    return Case(table, options, tuple(hidden), family)


def _weights(size: int, rng: Rng) -> np.ndarray:
    if rng.random() < 0.3:
        return np.append(rng.integers(0, 2, size - 1), 1).astype(float)
    return rng.uniform(0.1, 3.0, size)


def constraints(hidden: Sequence[int], rng: Rng) -> dict[str, Any]:
    """Some that the order keeps."""
    size = len(hidden)
    options: dict[str, Any] = {}
    num_learned = int(rng.integers(0, max(1, min(size - 1, 4)))) if rng.random() < 0.3 else 0
    if num_learned:
        options["learned"] = list(hidden[:num_learned])
    rest = hidden[num_learned:]
    if len(rest) > 1 and rng.random() < 0.3:
        options["first"] = rest[0]
    if len(rest) > 1 and rng.random() < 0.3:
        options["last"] = rest[-1]
    if len(rest) > 1 and rng.random() < 0.4:
        places = [np.sort(rng.choice(len(rest), 2, replace=False)) for _ in range(rng.integers(1, 5))]
        options["before"] = sorted({(rest[a], rest[b]) for a, b in places})
    if len(rest) > 2 and rng.random() < 0.3:
        cuts = sorted({0, len(rest), *rng.integers(0, len(rest) + 1, 3).tolist()})
        stretches = [list(rest[a:b]) for a, b in pairwise(cuts)]
        options["groups"] = [stretch for stretch in stretches if len(stretch) > 1 and rng.random() < 0.8]
    return options


def close(a: float, b: float, case: Case, relative: float = 2e-9) -> bool:
    """Equal but for rounding, and for what a proof leaves open."""
    return abs(a - b) <= relative * max(abs(a), abs(b)) + 1e-9 * case.scale


def ahead(a: float, b: float, case: Case) -> bool:
    """Whether a value is better than another by more than rounding."""
    return (b - a if case.by_error else a - b) > 1e-8 * case.scale


def moved(case: Case, places: Sequence[int]) -> Case:
    """The same question with the tasks in another order: task `places[k]` stands at k."""
    where = {task: k for k, task in enumerate(places)}
    options = dict(case.options)
    for key in ("first", "last"):
        if key in options:
            options[key] = where[options[key]]
    if "learned" in options:
        options["learned"] = [where[task] for task in options["learned"]]
    if "before" in options:
        options["before"] = [(where[a], where[b]) for a, b in options["before"]]
    if "groups" in options:
        options["groups"] = [[where[task] for task in group] for group in options["groups"]]
    for key in ("weights", "start"):
        if key in options:
            options[key] = np.asarray(options[key])[list(places)].tolist()
    if np.ndim(options["retention"]):
        options["retention"] = np.asarray(options["retention"])[list(places)].tolist()
    table = case.table[np.ix_(places, places)]
    return replace(case, table=table, options=options, hidden=tuple(where[task] for task in case.hidden))


def keeps(order: Sequence[int], options: dict[str, Any]) -> bool:
    """Whether an order of the open tasks keeps the constraints."""
    learned = list(options.get("learned", ()))
    way = [*learned, *order]
    place = {task: step for step, task in enumerate(way)}
    together = all(
        max(place[t] for t in group) - min(place[t] for t in group) < len(group)
        for group in options.get("groups", ())
        if not set(group) <= set(learned)
    )
    return (
        together
        and options.get("first") in (None, order[0])
        and options.get("last") in (None, order[-1])
        and all(a in learned or place[a] < place[b] for a, b in options.get("before", ()))
    )
