"""The audit: everything that results in several orders say about the order, in one record."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from taskorder.arguments import BadArgument
from taskorder.audit.comparisons import (
    OrderScore,
    OrderTest,
    PairTest,
    Regret,
    order_test,
    pair_test,
    regret_of,
    scores,
)
from taskorder.audit.components import Component, Design, Split, crossed_split, design_of, nested_split, seeds_only
from taskorder.audit.disparity import Disparity, disparities
from taskorder.audit.next_runs import NextRuns
from taskorder.audit.order_model import OrderModel, order_model
from taskorder.audit.power import Needs, needs
from taskorder.audit.results import Results
from taskorder.audit.results_file import read_results
from taskorder.audit.settled import ranked, settled
from taskorder.audit.verdict import lines_of, verdict_of
from taskorder.checks import to_float
from taskorder.visible import visible


@dataclass(frozen=True)
class Audit:
    """What the order of the tasks does to the final average accuracy, by `audit_results`.

    Accuracies are shares from 0 to 1; intervals are at 95 %.

    Examples
    --------
    >>> import numpy as np
    >>> from taskorder import audit_results
    >>> from taskorder.audit.results import Results
    >>> accuracy = np.array([[[0.9], [0.8]], [[0.6], [0.5]]])  # (orders, seeds, tasks)
    >>> audit = audit_results(Results(("A", "B"), ("1", "2"), ("x",), ("x",), accuracy))
    >>> audit.design, round(audit.mean, 3), audit.orders[0].order
    ('crossed', 0.7, 'A')
    """

    design: Design
    """crossed: every order with every seed; nested: runs within orders; else what is missing to tell them apart."""
    num_orders: int
    num_seeds: int
    num_runs: int
    num_tasks: int
    mean: float
    std: float
    """Of the final average accuracy over all runs."""
    components: tuple[Component, ...]
    """order, seed and rest (crossed), order and seed (nested), or seed (one order)."""
    test: OrderTest | None
    orders: tuple[OrderScore, ...]
    """Best first."""
    disparity: tuple[Disparity, ...]
    """By task."""
    aopd: Disparity | None
    mopd: Disparity | None
    regret: Regret | None
    pairs: tuple[PairTest, ...]
    needs: Needs | None
    verdict: str
    notes: tuple[str, ...] = ()
    model: OrderModel | None = None
    """With one run for each of many orders: what a small model can tell."""
    next_runs: NextRuns | None = None
    """What to run next, where somebody asked."""

    def summary(self) -> str:
        """Every finding on a line of its own, with the verdict at the end."""
        return "\n".join(map(visible, [*lines_of(self), self.verdict]))

    def to_json(self, *, indent: int | None = 2) -> str:
        """JSON text of all fields."""
        return json.dumps(asdict(self), indent=indent, allow_nan=False)


def audit_results(
    results: Results | Any,
    *,
    used: str | None = None,
    compare: Sequence[tuple[str, str]] = (),
    difference: float = 0.01,
    seed: int = 0,
) -> Audit:
    """Audit the results of one experiment: how much of their variance is the order, and how much the seed.

    Parameters
    ----------
    results : Results
        Final accuracies by order, seed and task, as `read_results` returns them; or what it reads: a path, a
        DataFrame or a list of dicts.
    used : str, optional
        An order whose regret against the best one is reported.
    compare : pairs of orders
        Orders to test against each other.
    difference : float
        Difference in final average accuracy that a comparison should detect; 0.01 is one point.
    seed : int
        Of the random draws behind the intervals.

    Returns
    -------
    Audit

    Raises
    ------
    ValueError
        Where `used` or `compare` name an order that the results do not have.

    Examples
    --------
    >>> import numpy as np
    >>> from taskorder import audit_results
    >>> from taskorder.audit.results import Results
    >>> rng = np.random.default_rng(0)
    >>> accuracy = 0.8 + 0.05 * rng.standard_normal((6, 1, 1)) + 0.01 * rng.standard_normal((6, 4, 3))
    >>> results = Results(tuple("ABCDEF"), tuple("1234"), tuple("xyz"), tuple("xyz"), accuracy)
    >>> print(audit_results(results).verdict)  # doctest: +NORMALIZE_WHITESPACE
    Order matters: it accounts for ...
    """
    if not 0 < to_float(difference) < 1:
        raise BadArgument(f"`difference` must be above 0 and below 1 (0.01 is one point), got {difference!r}.")
    if not isinstance(results, Results):
        results = read_results(results)
    whole = results.whole
    # Only a complete block of orders and seeds can separate the two; runs outside of it are left out and reported.
    design, rows, columns = design_of(whole, common_seeds=results.common_seeds)
    table, orders = whole[np.ix_(rows, columns)], tuple(results.orders[row] for row in rows)
    num_runs = int((~np.isnan(table)).sum())
    notes, num_given = list(results.notes), int((~np.isnan(whole)).sum())
    if num_runs < num_given:
        notes.append(f"{num_given - num_runs} of {num_given} runs are left out: their order or seed was not run fully")
    split = _split(design, table, seed)
    replicated = design in ("crossed", "nested")
    parts: tuple[Disparity, ...] = ()
    aopd = mopd = None
    if len(orders) > 1 and not results.averages:
        cells = results.accuracy[np.ix_(rows, columns)]
        parts, aopd, mopd = disparities(
            cells, results.task_names, replicated=replicated, crossed=design == "crossed", seed=seed
        )
    plain = Audit(
        design=design,
        num_orders=len(orders),
        num_seeds=len(columns),
        num_runs=num_runs,
        num_tasks=len(orders[0].split(">")) if results.averages else len(results.tasks),
        mean=float(np.nanmean(table)),
        std=float(settled(np.nanstd(table, ddof=1))) if num_runs > 1 else 0.0,
        components=() if split is None else split.components,
        test=order_test(split) if split is not None and replicated else None,
        orders=scores(table, orders, split if replicated else None),
        disparity=parts,
        aopd=aopd,
        mopd=mopd,
        regret=None if used is None else _regret(results, used, table, orders, design),
        pairs=tuple(
            pair_test(whole, results.orders, results.find(a, "compare"), results.find(b, "compare")) for a, b in compare
        ),
        needs=_needs(split, design, difference, len(orders[0].split(">"))),
        verdict="",
        notes=tuple(notes),
        model=_model(table, orders, seed) if design == "one seed" else None,
    )
    return replace(plain, verdict=verdict_of(plain))


def _split(design: Design, table: np.ndarray, seed: int) -> Split | None:
    if design == "crossed":
        return crossed_split(table, seed)
    if design == "nested":
        return nested_split(table, seed)
    return seeds_only(table[~np.isnan(table)], seed) if design == "one order" else None


def _model(table: np.ndarray, orders: tuple[str, ...], seed: int) -> OrderModel | None:
    """The model of orders that list their tasks; None for too few, or others."""
    steps = [order.split(">") for order in orders]
    names = sorted(steps[0])
    if len(names) < 2:
        return None  # orders with names of their own
    index = {name: task for task, name in enumerate(names)}
    values = np.nanmean(table, axis=1)
    rank = ranked(values)
    return order_model([[index[step] for step in steps[row]] for row in rank], values[rank], names, seed)


def _regret(results: Results, used: str, table: np.ndarray, orders: tuple[str, ...], design: Design) -> Regret:
    name = results.orders[results.find(used, "used")]
    if name not in orders:
        raise BadArgument(f"`used` must name an order with the seeds of the others, got {used!r}. Run it with them.")
    return regret_of(table, orders, orders.index(name), crossed=design == "crossed")


def _needs(split: Split | None, design: Design, difference: float, num_tasks: int) -> Needs | None:
    if split is None or design not in ("crossed", "nested"):
        return None
    paired = design == "crossed"
    order, by, rest = (split.variance(source) for source in ("order", "seed", "rest"))
    estimate = needs(order, by, rest, difference, paired=paired)
    return replace(estimate, possible_orders=math.factorial(num_tasks)) if 1 < num_tasks <= 10 else estimate
