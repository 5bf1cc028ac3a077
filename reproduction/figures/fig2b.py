"""Figure 2b: the closed form against gradient descent, for random input and output similarities.

The paper draws one point for each random pair (C, Co), entries uniform in [0, 1], and does not say how many tasks,
pairs or repetitions it drew: those are ours. Every point learns its tasks in the order 0, 1, ..., P - 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reproduction import Figure, limits
from reproduction.claims import FigureData
from reproduction.fitting import captured
from taskorder.linear.random_tasks import Sizes
from taskorder.linear.simulate import Job, simulated_errors
from taskorder.plots.records import Panel, Series
from taskorder.runs.specs import RunSpec
from taskorder.theory.closed_form import final_error
from taskorder.theory.correlation import random_correlation


@dataclass(frozen=True)
class Config:
    """Settings; the sizes of the model and of the descent are the paper's."""

    num_tasks: tuple[int, ...] = (2, 3, 5, 7)
    num_pairs: int = 100
    """Random (C, Co) for each number of tasks."""
    num_repeats: int = 10
    """Draws of the tasks for each pair."""
    num_latent: int = 30
    num_inputs: int = 3000
    num_outputs: int = 10
    steps: int = 100
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        limits.whole(self, 2, "num_tasks", "num_pairs", "num_repeats")
        limits.descent(self)


QUICK = Config(num_pairs=20, num_repeats=3)


def specs(config: Config) -> list[RunSpec]:
    """One run for each pair of matrices."""
    shared = {key: value for key, value in asdict(config).items() if key not in ("num_tasks", "num_pairs")}
    return [
        RunSpec("linear.random-pair.1", {**shared, "num_tasks": P, "index": index})
        for P in config.num_tasks
        for index in range(config.num_pairs)
    ]


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """Closed form, simulated mean and simulated standard deviation of each pair."""
    return [_run(**spec.params) for spec in specs]


def _run(
    num_tasks: int, index: int, num_repeats: int, steps: int, learning_rate: float, **sizes: int
) -> dict[str, float]:
    C, Co = (random_correlation(num_tasks, 0, 1, seed=2 * index + side) for side in (0, 1))
    order = list(range(num_tasks))
    jobs = [Job(C, [order], 1000 * index + repeat, Co) for repeat in range(num_repeats)]
    simulated = simulated_errors(jobs, Sizes(**sizes), steps=steps, learning_rate=learning_rate)
    totals = np.array([errors.sum() for errors in simulated])
    return {"closed": final_error(C, order, Co), "simulated": float(totals.mean()), "spread": float(totals.std(ddof=1))}


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """One point for each pair, one series for each number of tasks."""
    series, claims = [], []
    for row, P in enumerate(config.num_tasks):
        rows = results[row * config.num_pairs : (row + 1) * config.num_pairs]
        closed, simulated = (np.array([result[key] for result in rows]) for key in ("closed", "simulated"))
        sem = np.array([result["spread"] for result in rows]) / np.sqrt(config.num_repeats)
        series.append(
            Series(
                label=f"{P} tasks",
                x=tuple(closed.tolist()),
                y=tuple(simulated.tolist()),
                low=tuple((simulated - sem).tolist()),
                high=tuple((simulated + sem).tolist()),
                style="points",
            )
        )
        claim = f"The closed form captures gradient descent for any similarities; {P} tasks"
        pairs = np.column_stack([closed, simulated])[:, None]
        claims.append(captured(claim, "paper, Fig. 2b", pairs, f"{len(pairs)} pairs"))
    top = max(max(line.x) for line in series)
    series.append(Series("equal", (0.0, top), (0.0, top), role="reference"))
    panel = Panel("Theory against gradient descent", "error by the closed form", "simulated error", tuple(series))
    return FigureData(
        name="fig2b",
        title="The closed form predicts the error after gradient descent",
        panels=(panel,),
        claims=tuple(claims),
        config=asdict(config),
    )


FIGURES = (Figure("fig2b", Config(), QUICK, specs, run_batch, figure, batch=20),)
