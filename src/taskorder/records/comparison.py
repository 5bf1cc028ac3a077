"""Every rule on one table, beside random orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from taskorder.records.writing import json_text


@dataclass(frozen=True)
class RuleScore:
    """One row of a comparison."""

    rule: str
    order: tuple[int, ...]
    value: float
    """Score or error, as the objective of the comparison says."""
    quantile: float
    """Share of random orders that are better (ties count half): 0 is best, 0.5 is typical, 1 is worst."""
    proven: bool = False
    complete: bool = True
    """False when the time limit cut the rule's own search short."""


@dataclass(frozen=True)
class AtRetention:
    """The best order and the rules at another retention."""

    retention: float
    objective: str
    order: tuple[int, ...]
    """The best order found."""
    value: float
    """Its score or error."""
    random_mean: float
    shares: Mapping[str, float]
    """For each rule the share of the best order's lead over a random order that it earns; negative is worse than
    random."""


@dataclass(frozen=True)
class BestOrder:
    """An order and the range of retentions in which no other is better by more than 0.1 % of its lead."""

    low: float
    high: float
    order: tuple[int, ...]


@dataclass(frozen=True)
class Comparison:
    """Every rule on one table, beside random orders; `compare` returns it.

    Examples
    --------
    >>> from taskorder import chain, compare
    >>> comparison = compare(chain(4, 0.6))
    >>> comparison.scores[0].rule, comparison.random_count, round(comparison.random_mean, 3)
    ('optimal', 24, 0.793)
    """

    names: tuple[str, ...]
    scores: tuple[RuleScore, ...]
    """Best first."""
    random_mean: float
    random_sem: float
    """Standard error of `random_mean`; 0 when every allowed order was listed."""
    random_std: float
    random_count: int
    random_exact: bool
    """True when the random statistics come from every allowed order."""
    best: float
    worst: float
    verdict: str
    """A plain sentence on whether order matters here."""
    objective: str = "error"
    """What is compared: score (more is better) or error (less is better)."""
    retention: float = 1.0
    at_retention: tuple[AtRetention, ...] = ()
    """The best order and the rules for learners that keep less or more."""
    best_orders: tuple[BestOrder, ...] = ()
    """Where the best order changes with the retention."""
    notes: tuple[str, ...] = ()

    def to_json(self, *, indent: int | None = 2) -> str:
        """JSON text of all fields."""
        return json_text(self, indent)
