"""Finite size: how far the closed form is from the simulated mean, against N_s / N_x and the number of tasks P.

The paper's theory is the limit N_s / N_x -> 0; its appendix says that corrections are O(N_s / N_x) and that P must
stay far below N_x / N_s. It shows no numbers. Here every task is trained to convergence, so that only size counts, and
errors are averaged over all readouts exactly. One number sums up a family of matrices and orders: the systematic error

    sqrt(sum of (simulated mean - closed form)^2 / sum of (closed form)^2)    over matrices and orders,

where the square is the product of two means over independent draws, which leaves no share of their noise. The bias is
the same without the squares, and the scatter is that of single draws with a readout of N_y outputs, as in the paper.
The last panel adds our own first correction to the theory (theory/finite_size.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reproduction import Figure, limits
from reproduction.claims import FigureData
from reproduction.families import family_matrix
from reproduction.figures import finite_size_claims as about
from reproduction.figures.finite_size_claims import Cell, Table
from reproduction.fitting import rank_correlation
from reproduction.orders import random_orders, readout_mean_errors
from taskorder.checks import Floats
from taskorder.linear.random_tasks import Sizes
from taskorder.linear.simulate import Job, progress_of, simulated_errors
from taskorder.ordering.listing import all_orders
from taskorder.plots.records import Panel, Series
from taskorder.runs.specs import RunSpec
from taskorder.theory.closed_form import final_error
from taskorder.theory.finite_size import finite_size_errors

LEVELS = {"uniform": 0.0, "chain": 0.7, "scattered": 0.3}
LABELS = {
    "uniform": "Entries uniform in [0, 1]",
    "chain": "Chain, a = 0.7",
    "scattered": "Vectors around one direction, m = 0.3",
}
SIZE_LABEL = "N_s / N_x"


@dataclass(frozen=True)
class Config:
    """Settings; the paper's sizes are among them."""

    num_tasks: tuple[tuple[str, tuple[int, ...]], ...] = (
        ("uniform", (2, 3, 5, 7)),
        ("chain", (2, 3, 5, 7, 10, 20)),
        ("scattered", (5, 10, 20)),
    )
    """Numbers of tasks of each family."""
    num_inputs: tuple[int, ...] = (30000, 10000, 3000, 1000, 300, 100)
    """N_x, descending."""
    num_latent: int = 30
    other_latents: tuple[int, ...] = (3, 10, 100)
    """N_s to compare at equal N_s / N_x, with 5 tasks of the first family."""
    num_outputs: tuple[int, ...] = (10, 1, 100)
    """N_y of the scatter of single draws; the first is the paper's."""
    num_matrices: int = 20
    """Matrices (the same one for a chain), each with orders of its own."""
    num_orders: int = 10
    num_draws: int = 4
    """Draws of the tasks; even."""
    steps: int = 100
    learning_rate: float = 1e-3
    """The paper's descent, in a panel of its own."""
    ranked_matrices: int = 50
    ranked_draws: int = 10
    """Matrices and draws for the ranking of all orders of 5 tasks at the paper's sizes."""

    def __post_init__(self) -> None:
        limits.known(self, LEVELS, "num_tasks")
        for family, tasks in self.num_tasks:
            if len(tasks) < 2 or list(tasks) != sorted(set(tasks)) or tasks[0] < 2:
                raise ValueError(f"`num_tasks` must give {family} two or more rising numbers from 2 on, got {tasks}.")
        limits.whole(self, 1, "other_latents", "num_orders", "ranked_draws")
        limits.whole(self, 2, "num_matrices", "num_draws", "ranked_matrices")
        limits.descent(self)
        small = {N_x for N_x in self.num_inputs if self.num_latent / N_x <= about.SMALL}
        if len(small) < 2:
            raise ValueError(f"`num_inputs` must have two or more above N_s / {about.SMALL:g}, got {len(small)}.")
        if self.num_draws % 2:
            raise ValueError(f"`num_draws` must be even, got {self.num_draws}.")

    @property
    def paper(self) -> int:
        """The N_x of the ratio 0.01, or the one nearest to it."""
        return min(self.num_inputs, key=lambda N_x: abs(N_x - 100 * self.num_latent))


QUICK = Config(
    num_tasks=(("uniform", (2, 3, 5)), ("chain", (2, 5, 10)), ("scattered", (5, 10))),
    num_inputs=(10000, 3000, 1000, 300), other_latents=(10,), num_matrices=8, num_orders=5, ranked_matrices=10,
    ranked_draws=4,
)  # fmt: skip


def specs(config: Config) -> list[RunSpec]:
    """One run for each cell and matrix, then one for each ranked matrix."""
    ranked = {"num_latent": config.num_latent, "num_inputs": config.paper, "num_draws": config.ranked_draws}
    return [
        *(
            RunSpec("linear.finite-size.2", {**asdict(cell), **_counts(config, cell), "index": index})
            for cell in cells(config)
            for index in range(config.num_matrices)
        ),
        *(RunSpec("linear.finite-ranking.1", {**ranked, "index": i}) for i in range(config.ranked_matrices)),
    ]


def _counts(config: Config, cell: Cell) -> dict[str, int]:
    """Orders and draws; the fewer latent factors, the noisier and the cheaper a draw is."""
    more = min(25, max(1, round((config.num_latent / cell.num_latent) ** 2)))
    return {"num_orders": config.num_orders, "num_draws": config.num_draws * more}


def cells(config: Config) -> list[Cell]:
    """Every combination of sizes that the figure needs, once."""
    N_s, first = config.num_latent, config.num_tasks[0]
    every = [Cell(f, P, N_s, N_x) for f, tasks in config.num_tasks for P in tasks for N_x in config.num_inputs]
    for N_x in config.num_inputs:
        every += [Cell(first[0], P, N_s, N_x, num_outputs=config.num_outputs[0]) for P in first[1]]
        every.append(Cell(first[0], 5, N_s, N_x, steps=config.steps, learning_rate=config.learning_rate))
        every += [Cell(first[0], 5, other, round(other * N_x / N_s)) for other in config.other_latents]
    every += [Cell(first[0], 5, N_s, config.paper, num_outputs=N_y) for N_y in config.num_outputs[1:]]
    return list(dict.fromkeys(every))


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """Sums over the orders of each matrix."""
    return [_run_size(**spec.params) if "size" in spec.kind else _run_ranking(**spec.params) for spec in specs]


def _run_size(
    family: str,
    num_tasks: int,
    index: int,
    num_orders: int,
    num_draws: int,
    num_latent: int,
    num_inputs: int,
    num_outputs: int | None,
    steps: int | None,
    learning_rate: float,
) -> dict[str, float]:
    """Means over orders: closed form, simulated mean, noise-free squares of the deviation, variance of single draws."""
    C = family_matrix(family, num_tasks, LEVELS[family], seed=index)
    orders = random_orders(num_tasks, num_orders, seed=index)
    sizes = Sizes(num_latent, num_inputs, num_outputs or 1)
    jobs = [Job(C, orders, 1000 * index + draw) for draw in range(num_draws)]
    if num_outputs is None:
        simulated = np.array(readout_mean_errors(jobs, sizes, steps=steps, learning_rate=learning_rate))
    else:
        errors = simulated_errors(jobs, sizes, steps=steps, learning_rate=learning_rate)
        simulated = np.array([each.sum(axis=1) for each in errors])
    progress = progress_of(sizes, steps, learning_rate)
    closed, stopped = (np.array([final_error(C, order, progress=p) for order in orders]) for p in (1.0, progress))
    corrected = np.array([finite_size_errors(C, order, num_latent, num_inputs).sum() for order in orders])
    return {
        "closed": float(closed.mean()),
        "square": float((closed**2).mean()),
        "simulated": float(simulated.mean()),
        "deviation": _noise_free_square(simulated - closed),
        "stopped_deviation": _noise_free_square(simulated - stopped),
        "corrected_deviation": _noise_free_square(simulated - corrected),
        "scatter": float(simulated.var(axis=0, ddof=1).mean()),
    }


def _noise_free_square(deviations: Floats) -> float:
    """Mean over orders of the squared mean deviation (draws, orders), from two independent halves of the draws."""
    half = len(deviations) // 2
    return float((deviations[:half].mean(axis=0) * deviations[half:].mean(axis=0)).mean())


def _run_ranking(index: int, num_latent: int, num_inputs: int, num_draws: int) -> dict[str, float]:
    """Closed form against simulated mean over all 120 orders of 5 tasks."""
    C = family_matrix("uniform", 5, 0.0, seed=index)
    orders = all_orders(5)
    jobs = [Job(C, orders, 1000 * index + draw) for draw in range(num_draws)]
    simulated = np.mean(readout_mean_errors(jobs, Sizes(num_latent, num_inputs, 1)), axis=0)
    closed = np.array([final_error(C, order) for order in orders])
    return {
        "rank": rank_correlation(closed, simulated),
        "loss": float(simulated[closed.argmin()] / simulated.min()),
        "random": float(simulated.mean() / simulated.min()),
        "closed_random": float(closed.mean() / closed.min()),
    }


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Systematic error by size for each family, its collapse, bias, scatter, other sizes and the paper's descent."""
    keys = cells(config)
    table = Table(
        {cell: results[i * config.num_matrices : (i + 1) * config.num_matrices] for i, cell in enumerate(keys)}
    )
    ranked = results[len(keys) * config.num_matrices :]
    panels = [_by_size(config, table, family, tasks) for family, tasks in config.num_tasks]
    panels += [_collapse(config, table), _bias(config, table), _scatter(config, table)]
    panels += [_latents(config, table), _descent(config, table), _corrected(config, table)]
    return FigureData(
        name="finite-size",
        title="The closed form at finite size",
        panels=tuple(panels),
        claims=(
            *(about.first_power(config, table, family, tasks) for family, tasks in config.num_tasks),
            about.small_is_enough(config, table),
            about.large_is_too_much(config, table),
            *(about.collapses(config, table, family, tasks) for family, tasks in config.num_tasks),
            about.only_ratio(config, table),
            about.scatter_by_outputs(config, table),
            about.descent_stops(config, table),
            *(about.correction_helps(config, table, family, tasks) for family, tasks in config.num_tasks),
            *about.ranking(ranked),
        ),
        config=asdict(config),
        columns=3,
        notes=(
            "systematic error: root mean square of (simulated mean - closed form) over that of the closed form; bars "
            "are 95 % intervals over matrices; trained to convergence unless it says otherwise",
        ),
    )


def _series(table: Table, label: str, chosen: Sequence[Cell], x: Sequence[float], what: str, **look: Any) -> Series:
    """One line of a quantity of the table with its interval; a squared mean below zero leaves a gap."""
    y, low, high = zip(*(table.value(cell, what) for cell in chosen), strict=True)
    return Series(label, tuple(x), y, low, high, **{"style": "bars", **look})


def _by_size(config: Config, table: Table, family: str, tasks: Sequence[int]) -> Panel:
    loads = [config.num_latent / N_x for N_x in config.num_inputs]
    series = [
        _series(
            table, f"{P} tasks", [Cell(family, P, config.num_latent, N_x) for N_x in config.num_inputs], loads, "error"
        )
        for P in tasks
    ]
    start = np.mean([np.log(curve.y[0]) for curve in series if curve.y[0]])
    line = tuple(float(np.exp(start)) * load / loads[0] for load in loads)
    series.append(Series("proportional to N_s / N_x", tuple(loads), line, role="reference"))
    return Panel(LABELS[family], SIZE_LABEL, "systematic relative error", tuple(series), x_scale="log", y_scale="log")


def _collapse(config: Config, table: Table) -> Panel:
    series = []
    for family, tasks in config.num_tasks:
        chosen = [Cell(family, P, config.num_latent, N_x) for P in tasks for N_x in config.num_inputs]
        chosen.sort(key=lambda cell: cell.crowding)
        x = [cell.crowding for cell in chosen]
        series.append(_series(table, LABELS[family], chosen, x, "error", style="points"))
    return Panel(
        "All numbers of tasks together", "P N_s / N_x", "systematic relative error", tuple(series),
        x_scale="log", y_scale="log",
    )  # fmt: skip


def _bias(config: Config, table: Table) -> Panel:
    family, tasks = config.num_tasks[0]
    inputs = [N_x for N_x in config.num_inputs if config.num_latent / N_x <= 0.11]
    loads = [config.num_latent / N_x for N_x in inputs]
    series = tuple(
        _series(table, f"{P} tasks", [Cell(family, P, config.num_latent, N_x) for N_x in inputs], loads, "bias")
        for P in tasks
    )
    zero = Series("", (loads[0], loads[-1]), (0.0, 0.0), role="reference")
    return Panel("Bias, uniform entries", SIZE_LABEL, "mean relative deviation", (*series, zero), x_scale="log")


def _scatter(config: Config, table: Table) -> Panel:
    family, tasks = config.num_tasks[0]
    loads = [config.num_latent / N_x for N_x in config.num_inputs]
    series = []
    for N_y, name in ((config.num_outputs[0], f"{config.num_outputs[0]} outputs"), (None, "mean over readouts")):
        for P in (tasks[0], tasks[-1]):
            chosen = [Cell(family, P, config.num_latent, N_x, num_outputs=N_y) for N_x in config.num_inputs]
            series.append(_series(table, f"{P} tasks, {name}", chosen, loads, "scatter"))
    return Panel(
        "Scatter of single draws", SIZE_LABEL, "standard deviation / closed form", tuple(series),
        x_scale="log", y_scale="log",
    )  # fmt: skip


def _corrected(config: Config, table: Table) -> Panel:
    loads = [config.num_latent / N_x for N_x in config.num_inputs]
    series = []
    for family, tasks in config.num_tasks:
        chosen = [Cell(family, tasks[-1], config.num_latent, N_x) for N_x in config.num_inputs]
        for what, name in (("error", "closed form"), ("corrected_error", "corrected")):
            series.append(_series(table, f"{family}, {tasks[-1]} tasks: {name}", chosen, loads, what))
    return Panel(
        "With the first correction in N_s / N_x (ours)", SIZE_LABEL, "systematic relative error", tuple(series),
        x_scale="log", y_scale="log",
    )  # fmt: skip


def _latents(config: Config, table: Table) -> Panel:
    loads = [config.num_latent / N_x for N_x in config.num_inputs]
    series = tuple(
        _series(table, f"N_s = {N_s}", about.scaled(config, N_s), loads, "error")
        for N_s in sorted({*config.other_latents, config.num_latent})
    )
    return Panel("5 tasks, equal ratios", SIZE_LABEL, "systematic relative error", series, x_scale="log", y_scale="log")


def _descent(config: Config, table: Table) -> Panel:
    loads = [config.num_latent / N_x for N_x in config.num_inputs]
    chosen = about.descents(config)
    return Panel(
        f"5 tasks, {config.steps} steps of rate {config.learning_rate:g}",
        SIZE_LABEL,
        "systematic relative error",
        (
            _series(table, "against the closed form", chosen, loads, "error"),
            _series(table, "against the closed form with progress", chosen, loads, "stopped_error"),
        ),
        x_scale="log",
        y_scale="log",
    )


FIGURES = (Figure("finite-size", Config(), QUICK, specs, run_batch, figure, batch=20),)
