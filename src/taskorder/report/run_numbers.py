"""The numbers of one task set of a run store: what every order that was trained came to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, Ints
from taskorder.metrics import metrics
from taskorder.ordering.clock import Watch
from taskorder.ordering.compare import compare
from taskorder.records import Comparison
from taskorder.report.embedding import task_points
from taskorder.report.page import MOST_ORDERS
from taskorder.report.plan_numbers import QUANTILES
from taskorder.runs.index import run_index
from taskorder.runs.results import SCORES, config_key, prefix_rows, run_result
from taskorder.runs.specs import RUNS, shared_settings
from taskorder.runs.store import Store
from taskorder.strategies import BY_CLASS
from taskorder.tables.knowledge import knowledge, transfer_table
from taskorder.tables.loss_ratios import clip_similarity, loss_ratios, similarity_from_loss_ratios
from taskorder.theory.law import PLAIN_RETENTION
from taskorder.theory.nearest import nearest_correlation
from taskorder.theory.random_orders import knowledge_after


@dataclass(frozen=True, eq=False)
class RunNumbers:
    """All orders of a task set, best accuracy first; means over seeds."""

    number: int
    names: tuple[str, ...]
    settings: dict[str, Any]
    num_seeds: int
    num_runs: int
    """Finished runs in the store."""
    orders: Ints
    """(n, P) tasks as they were learned."""
    every: bool
    """Whether these are all orders that there are."""
    accuracy: Floats
    """(n,) mean over tasks after the last one, on test data."""
    spread: Floats | None
    """(n,) its standard error over seeds; None for one seed."""
    paths: Floats
    """(n, P + 1) mean accuracy over all tasks before and after each step."""
    learned: Floats
    """(n, P) accuracy of each task when just learned, by task."""
    final: Floats
    """(n, P) accuracy of each task after the last, by task."""
    forgetting: Floats
    """(n,) mean over all tasks but the last of the best accuracy since learned minus the final one."""
    similarity: Floats
    """(P, P) from how the networks of single tasks do on the others."""
    comparison: Comparison
    """What the rules choose on the transfer table of the same networks, under the law of retention."""
    predicted: Floats
    """(n,) mean accuracy that the law predicts for each order."""
    points: Floats
    share_shown: float
    notes: tuple[str, ...]
    seconds: float
    """Training time of these runs."""

    @property
    def mean_similarity(self) -> float:
        """Mean over pairs."""
        off = self.similarity[~np.eye(len(self.names), dtype=bool)]
        return float(off.mean()) if off.size else 1.0

    @property
    def agreement(self) -> float | None:
        """Spearman's rank correlation of predicted and measured accuracy; None where one of them is constant."""
        a, b = _ranks(self.predicted), _ranks(self.accuracy)
        return float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) > 0 and np.ptp(b) > 0 else None

    def row(self, order: Sequence[int]) -> int | None:
        """The row of an order; None if it was not trained."""
        rows = np.flatnonzero((self.orders == np.array(order)).all(axis=1))
        return int(rows[0]) if len(rows) else None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        n = min(len(self.orders), MOST_ORDERS)
        tables = {"orders": self.orders, "accuracy": self.accuracy, "predicted_accuracy": self.predicted}
        tables |= {"forgetting": self.forgetting, "just_learned": self.learned, "final": self.final}
        return {
            "kind": "runs",
            "set": self.number,
            "names": self.names,
            "settings": self.settings,
            "num_seeds": self.num_seeds,
            "mean_similarity": self.mean_similarity,
            "similarity": self.similarity.tolist(),
            "rank_correlation": self.agreement,
            "comparison": asdict(self.comparison),
            "accuracy_standard_error": None if self.spread is None else self.spread[:n].tolist(),
            **{key: table[:n].tolist() for key, table in tables.items()},
            "quantiles_of_accuracy": dict(
                zip(map(str, QUANTILES), np.quantile(self.paths, QUANTILES, axis=0).tolist(), strict=True)
            ),
            "map": self.points.tolist(),
            "left_out": [] if n == len(self.orders) else [f"orders after the best {n}"],
        }


def run_numbers(
    store: Store, task_set: int | None = None, *, time_limit: float | None = 10.0, watch: Watch | None = None
) -> RunNumbers:
    """The numbers of task set `task_set`, or of the first that is finished."""
    with run_index(store, RUNS) as runs:
        num_runs = len(runs)
        if not num_runs:
            raise BadArgument(f"`store` must hold finished runs of `taskorder run`, got none in {store.path}.")
        low, high = runs.set_range()
        chosen = low if task_set is None else task_set
        entries = runs.of_set(chosen) if low <= chosen <= high else []
    if not entries:
        raise BadArgument(f"`task_set` must name a finished task set, got {chosen}. Sets: {low} to {high}.")
    if len(set(map(config_key, entries))) > 1:
        raise BadArgument(
            f"`store` must hold one config for a task set, got several for set {chosen}. "
            "Use a store of its own for each."
        )
    results = [run_result(store, entry, ("accuracy",)) for entry in entries]
    settings = shared_settings(entries[0].params)
    shared = _tables(results)
    num_classes = settings.get("classes_per_task", 2)
    if settings.get("head") == BY_CLASS:  # all classes compete
        num_classes *= len(shared["names"])
    rest = _predictions([_single_tasks(result) for result in results], num_classes, shared, time_limit, watch)
    seconds = sum(entry.seconds for entry in entries)
    return RunNumbers(
        number=chosen, settings=settings, num_seeds=len(results), num_runs=num_runs, seconds=seconds, **shared, **rest
    )


def _tables(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What was measured, means over seeds, best order first."""
    names = tuple(map(str, results[0]["task_set"]["names"]))
    P = len(names)
    rows = [prefix_rows(result) for result in results]
    trained = [order for order in rows[0] if len(order) == P and all(order in other for other in rows)]
    if not trained:
        raise ValueError("`INPUT` must hold whole orders that every seed has learned, got none.")
    every_seed = np.array(
        [
            np.array(result["accuracy"])[[[own[order[:step]] for step in range(P + 1)] for order in trained]]
            for result, own in zip(results, rows, strict=True)
        ]
    )  # (seeds, n, P + 1, P)
    R = every_seed.mean(axis=0)
    ranked = np.argsort(-R[:, -1].mean(axis=1), kind="stable")
    R, orders = R[ranked], np.array(trained, dtype=np.int64)[ranked]
    seeds = every_seed[:, ranked, -1].mean(axis=2)
    step_of = np.argsort(orders, axis=1) + 1
    forgetting = [float(metrics(table, order).forgetting) for table, order in zip(R, orders.tolist(), strict=True)]
    return {
        "names": names,
        "orders": orders,
        "every": len(orders) == math.factorial(P),
        "accuracy": R[:, -1].mean(axis=1),
        "spread": seeds.std(axis=0, ddof=1) / math.sqrt(len(seeds)) if len(seeds) > 1 else None,
        "paths": R.mean(axis=2),
        "learned": np.take_along_axis(R, step_of[:, None, :], axis=1)[:, 0],
        "final": R[:, -1],
        "forgetting": np.array(forgetting),
    }


def _single_tasks(result: dict[str, Any]) -> dict[str, Floats]:
    """What the networks of single tasks did on test data, as measured or (in older stores) from prefixes of orders."""
    tables = result.get("similarities", {})
    measured = tables.get("test") or next((table for table in tables.values() if "loss" in table), None)
    if measured:
        return {kind: np.array(measured[kind]) for kind in SCORES if kind in measured}
    rows, P = prefix_rows(result), len(result["task_set"]["names"])
    single = [rows[task,] for task in range(P) if (task,) in rows]
    if len(single) < P:
        raise ValueError("`INPUT` must have every task first in some order, got too few orders to tell transfer.")
    return {kind: np.array(result[kind])[single] for kind in SCORES}


def _predictions(
    single: Sequence[dict[str, Floats]],
    num_classes: int,
    measured: dict[str, Any],
    limit: float | None,
    watch: Watch | None,
) -> dict[str, Any]:
    """What the law says of these orders, from what networks of single tasks know; means over seeds."""
    S = np.mean(
        [transfer_table(knowledge(t["loss"], t["chance"], t.get("accuracy"), num_classes)) for t in single], axis=0
    )
    similarity = np.mean([similarity_from_loss_ratios(loss_ratios(t["loss"], t["chance"])) for t in single], axis=0)
    within, raised = clip_similarity(similarity)
    notes = [f"pairs of tasks with similarity below -1, taken as -1: {raised}"] if raised else []
    comparison = compare(S, names=measured["names"], kind="transfer", time_limit=limit, watch=watch)
    score = knowledge_after(S, measured["orders"], np.full(len(S), PLAIN_RETENTION)).mean(axis=1)
    points, share_shown = task_points(nearest_correlation(within)[0])
    return {
        "similarity": within, "comparison": comparison, "predicted": (1 + (num_classes - 1) * score) / num_classes,
        "points": points, "share_shown": share_shown, "notes": (*notes, *comparison.notes),
    }  # fmt: skip


def _ranks(values: Floats) -> Floats:
    """Ranks from 0, the mean rank for values that are equal to rounding."""
    _, group, counts = np.unique(np.round(values, 12), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts + 1) / 2)[group])
