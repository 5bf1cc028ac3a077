"""The audit of several methods: each alone, every two against each other, and whether the order decides who wins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from taskorder.arguments import BadArgument
from taskorder.audit.audit import Audit, audit_results
from taskorder.audit.method_pairs import MethodPair, holm, method_pair
from taskorder.audit.method_words import method_lines, method_verdict
from taskorder.audit.next_runs import NextRuns
from taskorder.audit.results import Results
from taskorder.audit.results_file import read_methods
from taskorder.audit.settled import settled
from taskorder.checks import counted
from taskorder.visible import visible


@dataclass(frozen=True)
class MethodScore:
    """One method and the audit of its results."""

    method: str
    mean: float
    """Final average accuracy over the runs in the orders that all methods have; all its runs where there are none."""
    best_in: int
    """Orders, of those that all methods have, in which this method is best, alone or with others."""
    audit: Audit


@dataclass(frozen=True)
class MethodAudit:
    """Several methods in the same orders, by `audit_methods`.

    Accuracies are shares from 0 to 1; intervals are at 95 %.

    Examples
    --------
    >>> import numpy as np
    >>> from taskorder import audit_methods
    >>> from taskorder.audit.results import Results
    >>> rng = np.random.default_rng(0)
    >>> names = tuple("ABCDEF"), tuple("12"), ("x",), ("x",)
    >>> accuracy = 0.7 + 0.05 * rng.standard_normal((6, 1, 1)) + 0.01 * rng.standard_normal((6, 2, 1))
    >>> audit = audit_methods({"plain": Results(*names, accuracy), "replay": Results(*names, accuracy + 0.1)})
    >>> [(pair.first, pair.second, round(pair.difference, 3)) for pair in audit.pairs]
    [('replay', 'plain', 0.1)]
    """

    methods: tuple[MethodScore, ...]
    """Best first."""
    num_orders: int
    """Orders that all methods have."""
    pairs: tuple[MethodPair, ...]
    """Every two methods, the better one first."""
    verdict: str
    notes: tuple[str, ...] = ()
    next_runs: NextRuns | None = None
    """What to run next, where somebody asked."""

    def summary(self) -> str:
        """Every finding on a line of its own, with the verdict at the end."""
        return "\n".join(map(visible, [*method_lines(self), self.verdict]))

    def to_json(self, *, indent: int | None = 2) -> str:
        """JSON text of all fields."""
        return json.dumps(asdict(self), indent=indent, allow_nan=False)


def audit_methods(results: Mapping[str, Results] | Any, *, difference: float = 0.01, seed: int = 0) -> MethodAudit:
    """Audit the results of several methods: which is better, and does the order change who wins?

    Parameters
    ----------
    results : mapping from method to Results
        What `read_methods` returns; or what it reads: a path, a DataFrame or a list of dicts with a column method.
    difference : float
        Difference in final average accuracy that a comparison should detect; 0.01 is one point.
    seed : int
        Of the random draws behind the intervals.

    Returns
    -------
    MethodAudit

    Raises
    ------
    ValueError
        Where there are fewer than two methods, a method has a single run, or no two methods have an order in common.

    Notes
    -----
    Two methods are compared in the orders and seeds that both have, for new orders and new seeds (a two-way table with
    random effects). p-values over all pairs have Holm's correction.

    Examples
    --------
    >>> from taskorder import audit_methods
    >>> runs = [{"method": method, "order": order, "seed": seed, "accuracy": accuracy + 0.01 * seed}
    ...         for method, order, accuracy in [("plain", "a>b", 0.7), ("plain", "b>a", 0.6),
    ...                                         ("replay", "a>b", 0.8), ("replay", "b>a", 0.85)] for seed in (0, 1)]
    >>> audit = audit_methods(runs)
    >>> audit.pairs[0].wins, audit.pairs[0].losses
    (2, 0)
    """
    if not isinstance(results, Mapping):
        results = read_methods(results)
    if len(results) < 2:
        raise BadArgument(
            f"`results` must hold two methods or more, got {len(results)}. Add a column method, or use `audit_results`."
        )
    for method, one in results.items():
        if np.isfinite(one.whole).sum() < 2:
            raise BadArgument(
                f"`results` must have two runs or more of each method, got one of {method!r}. "
                "Run it in other orders and with other seeds, or leave it out."
            )
    common = set.intersection(*(set(one.orders) for one in results.values()))
    means = {method: _mean(one, common) for method, one in results.items()}
    ranked = sorted(results, key=lambda method: -means[method])
    pairs = [method_pair((a, b), results[a], results[b]) for a, b in combinations(ranked, 2)]
    if not any(pair.num_orders for pair in pairs):
        raise BadArgument("`results` must have orders that two methods share, got none. Run both in the same orders.")
    pairs = [  # the better one first, also by the orders that only these two have
        method_pair((p.second, p.first), results[p.second], results[p.first]) if p.difference < 0 else p for p in pairs
    ]
    corrected = zip(
        pairs,
        holm([pair.p for pair in pairs]),
        holm([None if pair.interaction is None else pair.interaction.p for pair in pairs]),
        strict=True,
    )
    best = _best_in(results, sorted(common))
    audits = {method: audit_results(one, difference=difference, seed=seed) for method, one in results.items()}
    left_out = {method: len(one.orders) - len(common) for method, one in results.items()}
    notes = [
        f"{counted(number, 'order')} of {method} not run with all methods"
        for method, number in left_out.items()
        if number
    ]
    plain = MethodAudit(
        methods=tuple(MethodScore(method, means[method], best[method], audits[method]) for method in ranked),
        num_orders=len(common),
        pairs=tuple(replace(pair, p_holm=p, interaction_p_holm=q) for pair, p, q in corrected),
        verdict="",
        notes=(*dict.fromkeys(note for one in results.values() for note in one.notes), *notes),
    )
    return replace(plain, verdict=method_verdict(plain))


def _mean(results: Results, orders: set[str]) -> float:
    rows = [row for row, order in enumerate(results.orders) if order in orders]
    by_order = np.nanmean(results.whole[rows], axis=1) if rows else np.nanmean(results.whole, axis=1)
    return float(by_order.mean())


def _best_in(results: Mapping[str, Results], orders: list[str]) -> dict[str, int]:
    """In how many of these orders each method is best, alone or with others."""
    means = [[float(np.nanmean(of.whole[of.orders.index(order)])) for order in orders] for of in results.values()]
    best = [max(by_method) for by_method in zip(*means, strict=True)]
    return {
        method: int((settled(np.subtract(best, by_order)) == 0).sum())
        for method, by_order in zip(results, means, strict=True)
    }
