"""Ten and twenty binary tasks of CIFAR-100 with a perceptron: random orders, and those of the law and of rules. Ours.

Question: with many tasks, how well do predictions rank random orders, and what do the orders that they choose earn?
Fixed before the first run: 60 random orders of each task set, and one order of each way to choose, all trained with one
seed; the table of single tasks comes from another seed. The law takes the retention of plain networks
(`PLAIN_RETENTION`) and searches by a beam from the end. Reported: rank correlations over the random orders, and points
of accuracy over their mean, with 95 % intervals over task sets. It is a perceptron: a convolutional network may differ.
The number of task sets is what an hour of two cores allowed; it did not depend on results.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reproduction import Figure, limits
from reproduction.claims import Claim, FigureData, inside
from reproduction.fitting import rank_correlation
from reproduction.image_claims import Number, mean_number
from reproduction.image_panels import dots
from taskorder.checks import Floats
from taskorder.ordering.rules import typicality
from taskorder.ordering.solve import solve
from taskorder.prefixes import Prefix
from taskorder.runs.specs import RunSpec
from taskorder.tables.knowledge import knowledge, transfer_table
from taskorder.tables.loss_ratios import measured_similarity
from taskorder.theory.closed_form import final_error
from taskorder.theory.law import PLAIN_RETENTION, final_score
from taskorder.theory.nearest import nearest_correlation

KIND = "neural.many-tasks.1"
LAW, SUMS, LAST, RULE, OPTIMAL = "law", "row sums", "last row sum", "periphery-to-core", "optimal"
CHOICES = (LAW, SUMS, LAST, RULE, OPTIMAL)
BEST = "best random order"
BEAM = 200
"""Ends of orders that the search keeps at each step."""


@dataclass(frozen=True)
class Config:
    """Settings: task sets with 10 and with 20 tasks, random orders of each, and how they are trained."""

    ten: int = 8
    twenty: int = 8
    num_orders: int = 60
    images: int = 1000
    epochs: int = 5
    batch_size: int = 16
    min_sets: int = 4
    """Claims about fewer task sets are not tested."""

    def __post_init__(self) -> None:
        limits.whole(self, 0, "ten", "twenty")
        limits.whole(self, 1, "images", "epochs", "batch_size")
        limits.whole(self, 2, "num_orders", "min_sets")


QUICK = Config(ten=2, twenty=0, num_orders=6, images=100, min_sets=2)


def specs(config: Config) -> list[RunSpec]:
    """One run for each task set."""
    keys = ("num_orders", "images", "epochs", "batch_size")
    shared = {"dataset": "cifar100", **{key: getattr(config, key) for key in keys}}
    counts = {10: config.ten, 20: config.twenty}
    return [
        RunSpec(KIND, {**shared, "num_tasks": P, "set": number})
        for P, count in counts.items()
        for number in range(count)
    ]


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """Mean accuracy at the end of each random and each chosen order, and how the random ones were predicted."""
    return [_run(**spec.params) for spec in specs]


def _run(
    dataset: str, num_tasks: int, set: int, num_orders: int, images: int, epochs: int, batch_size: int
) -> dict[str, Any]:
    from taskorder.engine.capacity import networks_that_fit
    from taskorder.engine.estimates import task_pool
    from taskorder.engine.evaluate import evaluate
    from taskorder.engine.single import single_tasks, transfer_tables
    from taskorder.engine.train import Recipe, State
    from taskorder.engine.tree import Branch, Curriculum, tasks_of, walk
    from taskorder.runs.training import dataset_of, network, task_set

    data = dataset_of(dataset)
    settings = {"num_tasks": num_tasks, "classes_per_task": 2}
    drawn = task_set(data, settings, set)
    share = images / (data.train_labels == 0).sum() / 2
    train, test = task_pool(data, [drawn], share=min(1.0, share)), task_pool(data, [drawn], "test")
    net = network("mlp", tuple(train.inputs.shape[1:]), 2)
    how: dict[str, Any] = {"recipe": Recipe(epochs, batch_size), "max_networks": networks_that_fit(net)}
    tasks = tuple(range(num_tasks))

    # The table is of another seed than the orders: what a plan could know.
    table = transfer_tables(net, train, [single_tasks(tasks, 1000 * set + 1)], {"test": test}, **how)[0]["test"]
    rng = np.random.default_rng([set, num_tasks])
    random = [tuple(rng.permutation(num_tasks).tolist()) for _ in range(num_orders)]
    chosen = chosen_orders(table, rng)
    orders = tuple(dict.fromkeys([*random, *chosen.values()]))
    final: dict[Prefix, float] = {}

    def score(branches: Sequence[Branch], state: State) -> None:
        """Test what is at its end: testing every prefix would take as long as training."""
        if len(branches[0].prefix) == num_tasks:
            accuracy = evaluate(net, state.params, test, tasks_of([truth], branches, state)).accuracy
            found = 100 * np.asarray(accuracy, dtype=float).mean(axis=1)
            final.update((branch.prefix, float(value)) for branch, value in zip(branches, found, strict=False))

    truth = Curriculum(tasks, orders, 1000 * set)
    walk(net, train, [truth], score, **how)
    accuracy = np.array([final[order] for order in random])
    return {
        "random": np.round(accuracy, 3).tolist(),
        "chosen": {name: round(float(final[order]), 3) for name, order in chosen.items()},
        "ranks": {name: rank_correlation(np.array(p), accuracy) for name, p in predictions(table, random).items()},
    }


def chosen_orders(table: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Prefix]:
    """The order of each way to choose; behind "last row sum" stands any order that ends with its task."""
    S, C = _knowledge_table(table), measured_similarity(table)
    sums = S.sum(axis=1)
    last = int(sums.argmax())
    rest = rng.permutation(np.delete(np.arange(len(S)), last)).tolist()
    return {
        LAW: beam_from_end(S, PLAIN_RETENTION),
        SUMS: tuple(np.argsort(sums).tolist()),
        LAST: (*rest, last),
        RULE: tuple(np.argsort(typicality(C)).tolist()),
        OPTIMAL: tuple(solve(C, retention=1, time_limit=20).order),
    }


def predictions(table: Mapping[str, Any], orders: Sequence[Prefix]) -> dict[str, list[float]]:
    """For each way, a number for each order that is larger where more accuracy is predicted."""
    S, C = _knowledge_table(table), measured_similarity(table)
    sums, typical, near = S.sum(axis=1), typicality(C), nearest_correlation(C)[0]
    places = np.arange(len(S))
    return {
        LAW: [final_score(S, order, PLAIN_RETENTION) for order in orders],
        SUMS: [float(sums[list(order)] @ places) for order in orders],
        LAST: [float(sums[order[-1]]) for order in orders],
        RULE: [float(typical[list(order)] @ places) for order in orders],
        OPTIMAL: [-final_error(near, order) for order in orders],
    }


def _knowledge_table(table: Mapping[str, Any]) -> Floats:
    return transfer_table(knowledge(table["loss"], table["chance"], table["accuracy"]))


def beam_from_end(S: Floats, d: float, width: int = BEAM) -> Prefix:
    """The order of the highest score that a beam from the last task to the first finds.

    >>> beam_from_end(np.array([[1.0, 0.1], [0.6, 1.0]]), 0.1)
    (0, 1)
    """
    P = len(S)
    ends: list[tuple[float, Prefix, Floats]] = [(0.0, (), S.mean(axis=1))]
    for t in range(P):
        grown = [
            (score + d**t * h[k], (k, *end), h - S[:, k] * h[k])
            for score, end, h in ends
            for k in range(P)
            if k not in end
        ]
        ends = sorted(grown, key=lambda item: -item[0])[:width]
    return ends[0][1]


def figure(config: Config, results: Sequence[Mapping[str, Any] | None]) -> FigureData:
    """Rank correlations and points over the mean of random orders, for 10 and 20 tasks."""
    left = iter(results)
    counts = {"10 tasks": config.ten, "20 tasks": config.twenty}
    found = {
        label: [row for row in itertools.islice(left, count) if row is not None] for label, count in counts.items()
    }
    there = {label: rows for label, rows in found.items() if len(rows) >= config.min_sets}
    ranks = {name: {label: mean_number(_ranks(rows, name)) for label, rows in there.items()} for name in CHOICES}
    points = {
        name: {label: mean_number(_points(rows, name)) for label, rows in there.items()} for name in (*CHOICES, BEST)
    }
    return FigureData(
        name="many-tasks",
        title="Many tasks: CIFAR-100, perceptron",
        panels=(
            dots("Chosen orders", "points over the mean random order", points, 0.0),
            dots("Random orders", "rank correlation with accuracy", ranks, 0.0),
        )
        if there
        else (),
        claims=tuple(claim for label in counts for claim in _claims(label, there.get(label, []))),
        config=asdict(config),
        notes=tuple(
            f"{label}: {len(rows)} task sets; mean accuracy {_mean(rows):.1f} %, best of {config.num_orders} random "
            f"orders {mean_number(_points(rows, BEST)).show(sign=True)} points."
            for label, rows in there.items()
        ),
    )


def _ranks(rows: Sequence[Mapping[str, Any]], name: str) -> Floats:
    return np.array([row["ranks"][name] for row in rows])


def _points(rows: Sequence[Mapping[str, Any]], name: str) -> Floats:
    """(sets,) over the mean random order."""
    top = [max(row["random"]) if name == BEST else row["chosen"][name] for row in rows]
    return np.asarray(np.array(top) - np.array([np.mean(row["random"]) for row in rows]))


def _mean(rows: Sequence[Mapping[str, Any]]) -> float:
    return float(np.mean([np.mean(row["random"]) for row in rows]))


def _claims(label: str, rows: Sequence[Mapping[str, Any]]) -> list[Claim]:
    words = {name: f"The order of {_name(name)} is above the mean random order; {label}" for name in CHOICES}
    leads = {name: f"The order of the law is above that of {_name(name)}; {label}" for name in CHOICES if name != LAW}
    if not rows:
        texts = [*words.values(), *leads.values()]
        return [Claim(text, "ours", "too few task sets", None, None, None, "not tested") for text in texts]
    ranks = {name: f"rank correlation {mean_number(_ranks(rows, name)).show(sign=True)}" for name in CHOICES}
    points = {name: _points(rows, name) for name in CHOICES}
    return [
        *(_claim(text, mean_number(points[name]), rows, ranks[name]) for name, text in words.items()),
        *(_claim(text, mean_number(points[LAW] - points[name]), rows) for name, text in leads.items()),
    ]


def _name(choice: str) -> str:
    return {LAW: "the law", SUMS: "sorting by row sums", LAST: "the last row sum"}.get(choice, choice)


def _claim(words: str, points: Number, rows: Sequence[Mapping[str, Any]], more: str = "") -> Claim:
    text = f"{points.show(sign=True)} points; {more + '; ' if more else ''}{len(rows)} sets"
    return Claim(words, "ours", text, *points, inside(points, above=0))


FIGURES = (Figure("many-tasks", Config(), QUICK, specs, run_batch, figure),)
