"""The numbers of an audit's page: the audit itself, and an interval for the mean accuracy of every order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from taskorder.audit.audit import Audit
from taskorder.checks import Floats

ORDERS_BUDGET = 600_000
"""Characters of all orders that go into the page."""


@dataclass(frozen=True, eq=False)
class AuditNumbers:
    """An audit and what its page shows besides."""

    audit: Audit
    halves: Floats | None
    """(orders,) half of the 95 % interval of each order's mean over seeds; None without replicates."""

    @property
    def means(self) -> Floats:
        """(orders,) mean accuracies, best first."""
        return np.array([score.mean for score in self.audit.orders])

    @property
    def labels(self) -> list[str]:
        """The orders to read, best first."""
        return readable([score.order for score in self.audit.orders], self.task_names)

    @property
    def task_names(self) -> list[str]:
        """What tasks are called, where the results are by task."""
        return [part.name for part in self.audit.disparity]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: the audit as `audit --json` writes it, and what was added."""
        audit = asdict(self.audit)
        halves = None if self.halves is None else self.halves.tolist()
        lengths = np.cumsum([150 + len(score.order) for score in self.audit.orders])
        num_listed = max(1, int((lengths <= ORDERS_BUDGET).sum()))
        audit["orders"] = audit["orders"][:num_listed]
        if audit["model"] is not None:
            audit["model"]["predicted"] = audit["model"]["predicted"][:num_listed]
        left_out = [] if num_listed == len(lengths) else [f"audit.orders after the best {num_listed}"]
        return {
            "kind": "audit",
            "audit": audit,
            "order_interval_halves": None if halves is None else halves[:num_listed],
            "left_out": left_out,
        }


def audit_numbers(audit: Audit) -> AuditNumbers:
    """The audit with intervals.

    The mean of n runs has the interval +- t sqrt(v / n), where v is the variance of runs of one order, pooled over all
    orders; with every order run with every seed, v is without what a seed does to all orders alike, so that intervals
    compare orders.
    """
    from scipy.special import stdtrit

    parts = {part.source: part.variance for part in audit.components}
    freedom = audit.num_runs - 1 if audit.test is None else audit.test.error_df
    if audit.design not in ("crossed", "nested", "one order") or freedom < 1:
        return AuditNumbers(audit, None)
    noise = parts.get("rest", parts.get("seed", 0.0))
    counts = np.array([score.num_runs for score in audit.orders])
    return AuditNumbers(audit, float(stdtrit(freedom, 0.975)) * np.sqrt(noise / np.maximum(counts, 1)))


def readable(orders: Sequence[str], names: Sequence[str]) -> list[str]:
    """Orders with task names in place of numbers, where they list the numbers of all tasks.

    >>> readable(["1>0"], ["cats", "dogs"]), readable(["b>a"], ["a", "b"]), readable(["forward"], ["a", "b"])
    (['dogs → cats'], ['b → a'], ['forward'])
    """
    first = orders[0].split(">")
    numbered = len(first) == len(names) and all(step.isdecimal() for step in first)
    known = dict(zip(sorted(first, key=int), names, strict=True)) if numbered else {}
    return [" → ".join(known.get(step, step) for step in order.split(">")) for order in orders]
