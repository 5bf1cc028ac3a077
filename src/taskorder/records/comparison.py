"""Every rule on one table, beside random orders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taskorder.records import brief, notebook, showing
from taskorder.records.flat import flat_comparison
from taskorder.records.writing import Record
from taskorder.visible import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure


NEARLY_ALL = 0.95
"""Where best orders were looked for up to this retention there was time for all: a transfer table has none at 1."""


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
class Price:
    """What one constraint costs: how much better the best order is where all constraints but this one are kept.

    Examples
    --------
    >>> from taskorder import chain, compare
    >>> comparison = compare(chain(5, 0.7), last="A", groups=[["B", "D"]], retentions=())
    >>> for price in comparison.prices:
    ...     print(price.said(comparison.objective))
    last A costs 9.0 points of knowledge
    group B,D costs nothing
    """

    constraint: str
    """The constraint in words: before A:B, first A, last A, or group A,B."""
    value: float
    """Score or error, by the best orders that were found."""
    low: float
    """It is at least this; the value itself where both orders are proven."""
    high: float | None
    """It is at most this; None where nothing is known."""

    @property
    def proven(self) -> bool:
        """Whether it is known exactly."""
        return self.low == self.high

    def said(self, objective: str) -> str:
        """One sentence."""

        def size(amount: float) -> str:
            return f"{100 * amount:.1f} points of knowledge" if objective == "score" else f"{amount:.4g} of the error"

        if self.proven:
            nothing = self.value < (0.0005 if objective == "score" else 1e-9)
            return f"{self.constraint} costs {'nothing' if nothing else size(self.value)}"
        most = "" if self.high is None else f" and at most {size(self.high)}"
        return f"{self.constraint} costs about {size(self.value)} (not proven: at least {size(self.low)}{most})"


@dataclass(frozen=True)
class Comparison(Record):
    """Every rule on one table, beside random orders; `compare` returns it.

    It goes through the names of its rules, best first, and `comparison[rule]` is the row of a rule.

    Examples
    --------
    >>> from taskorder import chain, compare
    >>> comparison = compare(chain(4, 0.6))
    >>> comparison.scores[0].rule, comparison.random_count, round(comparison.random_mean, 3)
    ('optimal', 24, 0.793)
    >>> list(comparison)[:2], comparison["row-sums"].order
    (['optimal', 'max-path'], (0, 3, 1, 2))
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
    prices: tuple[Price, ...] = ()
    """What each constraint costs by itself."""
    notes: tuple[str, ...] = ()

    @property
    def reach(self) -> str:
        """The retentions at which the best order was looked for, in words."""
        last = self.best_orders[-1].high if self.best_orders else 0.0
        return "every retention" if last >= NEARLY_ALL else f"a retention from 0 to {last:g}"

    def __repr__(self) -> str:
        return "\n".join(map(visible, brief.brief_comparison(self)))

    def _repr_html_(self) -> str:
        return notebook.comparison_html(self)

    def __iter__(self) -> Iterator[str]:
        return (score.rule for score in self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, rule: str) -> RuleScore:
        for score in self.scores:
            if score.rule == rule:
                return score
        raise KeyError(rule)

    def to_dict(self, *, flat: bool = False) -> dict[str, Any]:
        """All fields as plain values; `flat` gives one mapping of names to numbers and texts, for trackers.

        >>> from taskorder import chain, compare
        >>> {key: round(value, 3) for key, value in compare(chain(4, 0.6)).to_dict(flat=True).items()
        ...  if key.startswith("value/max")}
        {'value/max-path': 0.845}
        """
        return flat_comparison(self) if flat else super().to_dict()

    def plot(self) -> Figure:
        """A figure for a paper of the rules beside random orders: `comparison.plot().savefig("rules.pdf")`.

        Needs matplotlib: pip install "taskorder[plot]".
        """
        return showing.comparison_figure(self)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """Write one HTML page that loads nothing, and return its path.

        Parameters
        ----------
        path
            The file, which ends in .html.
        title
            The heading of the page.
        """
        return showing.comparison_report(self, path, title)
