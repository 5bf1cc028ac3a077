"""Learning curves by gradient descent for tasks on a graph: figures 4c and 4f.

The total error over all tasks against training time, in tasks. A repetition draws new tasks and learns them in every
order; differences between orders are taken within a repetition. The paper gives neither the similarity a of neighbors
nor the number of repetitions: a = 0.7 and 50 are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import factorial
from typing import Any

import numpy as np

from reproduction import Figure, limits
from reproduction.claims import Claim, FigureData, inside, together, verdict
from reproduction.fitting import last_above
from reproduction.orders import short, tasks_of
from taskorder.checks import Floats
from taskorder.linear.random_tasks import Sizes, sample_tasks
from taskorder.linear.residual_descent import trajectories
from taskorder.machine import one_blas_thread
from taskorder.ordering.listing import order_at
from taskorder.plots.records import Panel, Series
from taskorder.runs.specs import RunSpec
from taskorder.stats import bootstrap_interval, mean_and_sem
from taskorder.theory import graphs
from taskorder.theory.closed_form import final_error

RANDOM = "random"
POSITIONS = ("1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th")
AROUND_FOURTH = (2.0, 5.0)
"""In tasks: the fourth task is trained from 3 to 4, and "around" allows one task more on either side."""


@dataclass(frozen=True)
class Config:
    """Settings of a figure of this kind; the sizes of the model and of the descent are the paper's."""

    a: float = 0.7
    num_seeds: int = 50
    num_random: int = 120
    """Random orders of a repetition, different ones in each; all orders where there are no more."""
    points_per_task: int = 20
    num_latent: int = 30
    num_inputs: int = 3000
    num_outputs: int = 10
    steps: int = 100
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        limits.between(self, 0, 1, "a")
        limits.whole(self, 2, "num_seeds")
        limits.whole(self, 1, "num_random", "points_per_task")
        limits.descent(self)


QUICK = Config(num_seeds=10, num_random=60)


@dataclass(frozen=True)
class Graph:
    """The tasks and the two orders to compare, with the roles that color them."""

    family: str
    num_tasks: int
    better: str
    """The order that ends with the smaller error."""
    worse: str
    roles: tuple[str, str]


def specs(config: Config, graph: Graph) -> list[RunSpec]:
    """One run for each repetition."""
    shared = {key: value for key, value in asdict(config).items() if key != "num_seeds"}
    tasks = {"family": graph.family, "num_tasks": graph.num_tasks, "orders": [graph.better, graph.worse]}
    return [RunSpec("linear.learning-curves.1", {**shared, **tasks, "seed": seed}) for seed in range(config.num_seeds)]


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """The total error at equally spaced times, for each named order and for the mean of the random ones."""
    with one_blas_thread():
        return [_run(**spec.params) for spec in specs]


def _run(
    family: str, num_tasks: int, orders: Sequence[str], a: float, seed: int, num_random: int, points_per_task: int,
    steps: int, learning_rate: float, **sizes: int,
) -> dict[str, Any]:  # fmt: skip
    tasks = sample_tasks(getattr(graphs, family)(num_tasks, a), sizes=Sizes(**sizes), seed=seed, small=True)
    num_orders = factorial(num_tasks)
    ranks = np.random.default_rng(seed).choice(num_orders, min(num_random, num_orders), replace=False)
    visits = [tasks_of(order) for order in orders] + [order_at(rank, num_tasks).tolist() for rank in ranks.tolist()]
    errors = trajectories(tasks, visits, steps=steps, learning_rate=learning_rate).sum(axis=2)
    at = np.linspace(0, num_tasks * steps, num_tasks * points_per_task + 1).round().astype(int)
    totals = [*errors[: len(orders), at], errors[len(orders) :, at].mean(axis=0)]
    return {name: short(curve, digits=8) for name, curve in zip((*orders, RANDOM), totals, strict=True)}


def curves(results: Sequence[dict[str, Any]]) -> dict[str, Floats]:
    """(repetitions, times) total errors by order."""
    return {name: np.array([result[name] for result in results]) for name in results[0]}


def _figure(
    name: str, title: str, config: Config, graph: Graph, results: Sequence[dict[str, Any]], claims: Sequence[Claim]
) -> FigureData:
    """Mean curves with their standard errors."""
    time = tuple((np.arange(graph.num_tasks * config.points_per_task + 1) / config.points_per_task).tolist())
    roles = {graph.better: graph.roles[0], graph.worse: graph.roles[1], RANDOM: RANDOM}
    series = []
    for order, table in curves(results).items():
        mean, sem = mean_and_sem(table)
        series.append(
            Series(
                label="mean of random orders" if order == RANDOM else order,
                x=time,
                y=tuple(mean.tolist()),
                low=tuple((mean - sem).tolist()),
                high=tuple((mean + sem).tolist()),
                role=roles[order],
            )
        )
    panel = Panel(
        title=f"{graph.family}, {graph.num_tasks} tasks, a = {config.a:g}",
        x_label="training time (position in the order)",
        y_label="total error over all tasks",
        series=tuple(series),
        y_scale="log",
        steps=POSITIONS[: graph.num_tasks],
    )
    return FigureData(
        name=name,
        title=title,
        panels=(panel,),
        claims=tuple(claims),
        config=asdict(config),
        notes=(f"Mean and standard error over {len(results)} draws of the tasks.",),
    )


def final_ranking(graph: Graph, results: Sequence[dict[str, Any]], source: str) -> Claim:
    """The better order ends below the random ones and those below the worse order, paired over repetitions."""
    errors = curves(results)
    gains = [errors[RANDOM][:, -1] - errors[graph.better][:, -1], errors[graph.worse][:, -1] - errors[RANDOM][:, -1]]
    ends = [_interval(gain) for gain in gains]
    return Claim(
        claim=f"After all tasks {graph.better} is better than random orders, and {graph.worse} is worse",
        source=source,
        found=f"random minus {graph.better}: {_told(gains[0], ends[0])}; "
        f"{graph.worse} minus random: {_told(gains[1], ends[1])}",
        value=float(gains[0].mean()),
        low=ends[0][0],
        high=ends[0][1],
        verdict=together(inside(each, above=0) for each in ends),
    )


def agreement(config: Config, graph: Graph, results: Sequence[dict[str, Any]]) -> Claim:
    """The simulated final errors are those of the closed form, within a tenth."""
    C = getattr(graphs, graph.family)(graph.num_tasks, config.a)
    errors = curves(results)
    ratios = {order: errors[order][:, -1] / final_error(C, tasks_of(order)) for order in (graph.better, graph.worse)}
    ends = {order: _interval(ratio) for order, ratio in ratios.items()}
    order = max(ratios, key=lambda name: abs(ratios[name].mean() - 1))
    return Claim(
        claim="The simulated final error is that of the closed form (within 10 %, interval included)",
        source="ours",
        found="; ".join(
            f"{name}: simulated over closed form {_told(ratios[name], ends[name])}, "
            f"simulated {errors[name][:, -1].mean():.4f}"
            for name in ratios
        ),
        value=float(ratios[order].mean()),
        low=ends[order][0],
        high=ends[order][1],
        verdict=together(inside(each, above=0.9, below=1.1) for each in ends.values()),
    )


def leaders(config: Config, graph: Graph, results: Sequence[dict[str, Any]]) -> Claim:
    """Whether the order that ends better is ever behind after a task."""
    errors = curves(results)
    lead = (errors[graph.worse] - errors[graph.better])[:, config.points_per_task :: config.points_per_task]
    ends = [_interval(column) for column in lead.T]
    ahead = [low > 0 for low, _ in ends]
    behind = [high < 0 for _, high in ends]
    phrases = (
        f"after task {k + 1} {'open' if not (ahead[k] or behind[k]) else graph.better if ahead[k] else graph.worse} "
        f"({column.mean():+.3f})"
        for k, column in enumerate(lead.T)
    )
    worst = int(np.argmin([column.mean() for column in lead.T]))
    return Claim(
        claim=f"{graph.better} is not behind {graph.worse} after any task",
        source="ours",
        found=f"who leads, by how much ({graph.worse} minus {graph.better}): " + ", ".join(phrases),
        value=float(lead[:, worst].mean()),
        low=ends[worst][0],
        high=ends[worst][1],
        verdict=verdict(all(low >= 0 for low, _ in ends), any(behind)),
    )


def early_lead(config: Config, graph: Graph, results: Sequence[dict[str, Any]], source: str) -> Claim:
    """After the first and the second task the order that ends worse is below the random ones, the other above."""
    errors = curves(results)
    early = [config.points_per_task, 2 * config.points_per_task]
    gaps = {name: (errors[name] - errors[RANDOM])[:, early] for name in (graph.worse, graph.better)}
    ends = {name: [_interval(column) for column in table.T] for name, table in gaps.items()}
    parts = [inside(each, below=0) for each in ends[graph.worse]] + [
        inside(each, above=0) for each in ends[graph.better]
    ]
    return Claim(
        claim=f"At first {graph.worse} is better than random orders and {graph.better} worse (after tasks 1 and 2)",
        source=source,
        found="; ".join(
            f"{name} minus random after task {k + 1}: {_told(gaps[name][:, k], ends[name][k])}"
            for name in gaps
            for k in (0, 1)
        ),
        value=float(gaps[graph.worse][:, 0].mean()),
        low=ends[graph.worse][0][0],
        high=ends[graph.worse][0][1],
        verdict=together(parts),
    )


def reversal(config: Config, graph: Graph, results: Sequence[dict[str, Any]], source: str) -> Claim:
    """When each order crosses the random ones for the last time, in tasks."""
    errors = curves(results)
    when, ends = {}, {}
    for name in (graph.worse, graph.better):
        gap = errors[name] - errors[RANDOM]
        when[name] = float(_last_crossing(gap[None])[0]) / config.points_per_task
        low, high = bootstrap_interval(gap, _last_crossing)
        ends[name] = (low / config.points_per_task, high / config.points_per_task)
    return Claim(
        claim="The order of the two against random turns around the fourth task (trained from 3 to 4; 2 to 5 counts)",
        source=source,
        found="last crossing of the random mean: "
        + "; ".join(f"{name} at {when[name]:.2f} [{ends[name][0]:.2f}, {ends[name][1]:.2f}] tasks" for name in when),
        value=when[graph.worse],
        low=ends[graph.worse][0],
        high=ends[graph.worse][1],
        verdict=together(inside(each, above=AROUND_FOURTH[0], below=AROUND_FOURTH[1]) for each in ends.values()),
    )


def _last_crossing(gap: Floats) -> Floats:
    """(resamples,) where the mean curve of (resamples, n, times) last changes sign; 0 for never."""
    mean = gap.mean(axis=1)
    falling = np.where(mean[:, -1:] > 0, -mean, mean)
    return last_above(np.arange(mean.shape[1], dtype=np.float64), falling, 0.0)


def _interval(values: Floats) -> tuple[float, float]:
    return bootstrap_interval(values, lambda table: table.mean(axis=1))


def _told(values: Floats, ends: tuple[float, float]) -> str:
    return f"{values.mean():.3f} [{ends[0]:.3f}, {ends[1]:.3f}]"


CHAIN = Graph("chain", 5, "AECDB", "ABCDE", ("best", "worst"))
TREE = Graph("tree", 7, "DEFGBCA", "ABCDEFG", ("periphery-to-core", "core-to-periphery"))
"""Task A is the root, B and C its children, D to G the leaves. The paper shows its two orders as pictures only. Ours go
level by level: from the leaves up, as periphery-to-core does, and from the root down, as core-to-periphery does."""


def chain_figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Figure 4c: the paper's best and worst orders of a chain, and random ones."""
    claims = (
        final_ranking(CHAIN, results, "paper, Fig. 4c"),
        agreement(config, CHAIN, results),
        leaders(config, CHAIN, results),
    )
    return _figure("fig4c", "Learning five tasks along a chain", config, CHAIN, results, claims)


def tree_figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Figure 4f: from the leaves up, from the root down, and in random orders."""
    source = "paper, Fig. 4f"
    claims = (
        early_lead(config, TREE, results, source),
        reversal(config, TREE, results, source),
        final_ranking(TREE, results, source),
        agreement(config, TREE, results),
        leaders(config, TREE, results),
    )
    return _figure("fig4f", "Learning the seven nodes of a binary tree", config, TREE, results, claims)


FIGURES = (
    Figure("fig4c", Config(), QUICK, partial(specs, graph=CHAIN), run_batch, chain_figure, batch=10),
    Figure("fig4f", Config(), QUICK, partial(specs, graph=TREE), run_batch, tree_figure, batch=10),
)
