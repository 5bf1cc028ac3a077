"""Rules at scale: how far each rule is from the best order and from a random one, from 3 to 200 tasks.

The paper tests its rules on 3 to 7 tasks. In the closed form nothing stops us from asking the same of hundreds, for
families of matrices that exist at any size, at several mean similarities (`_families.py`). A path rule scores the mean
of its two directions, as in the paper; a random order scores its mean. The optimum is proven up to about 15 tasks;
above it is the best order found within a time limit, so those values can differ a little from machine to machine.

The closed form needs P far below N_x / N_s, so the answer is repeated by simulation with P N_s / N_x = 0.01.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reproduction import _scale_checks as checks
from reproduction import _settings
from reproduction._families import FAMILIES, family_matrix
from reproduction._orders import random_orders
from reproduction._readout import readout_mean_errors
from reproduction._scale_checks import Cells, Family, name_of
from taskorder.checks import Floats
from taskorder.linear.random_tasks import Sizes
from taskorder.linear.simulate import Job
from taskorder.machine import cores, one_blas_thread
from taskorder.ordering.solve import solve
from taskorder.plots.figuredata import FigureData, Panel, Series
from taskorder.records import Plan
from taskorder.runs.specs import RunSpec
from taskorder.theory.closed_form import final_error
from taskorder.theory.random_orders import expected_random_error

BATCH = 8
RULES = ("periphery-to-core", "core-to-periphery", "max-path", "min-path", "greedy", "first-order", "optimal")
SIMULATED_RULES = ("periphery-to-core", "max-path", "greedy", "optimal")
PATHS = ("max-path", "min-path")
SIZED = tuple(name for name in FAMILIES if name != "uniform")
"""Families that exist at any size."""
RULE_SECONDS = 1.0
"""For each rule that searches for something else than the optimum."""


@dataclass(frozen=True)
class Config:
    """Settings, all of them ours."""

    families: tuple[Family, ...] = (
        ("factor", 0.0), ("factor", 0.1), ("factor", 0.3), ("factor", 0.6),
        ("scattered", 0.1), ("scattered", 0.3), ("scattered", 0.6), ("chain", 0.8), ("clusters", 0.8),
    )  # fmt: skip
    """Family and level of similarity."""
    num_tasks: tuple[int, ...] = (3, 5, 7, 10, 15, 20, 30, 50, 100, 200)
    """Ascending."""
    num_seeds: int = 5
    """Matrices of each family, level and number of tasks (one for a chain)."""
    more_seeds: int = 30
    """The same up to 10 tasks."""
    time_limit: float = 1.0
    """Seconds for the best order up to 30 tasks."""
    long_limit: float = 3.0
    """The same above."""
    simulated: tuple[Family, ...] = (("factor", 0.3), ("scattered", 0.3), ("clusters", 0.8))
    simulated_tasks: tuple[int, ...] = (50, 100)
    simulated_seeds: int = 2
    num_orders: int = 10
    """Random orders to simulate."""
    num_draws: int = 4
    num_latent: int = 5
    crowding: float = 0.01
    """P N_s / N_x."""

    def __post_init__(self) -> None:
        _settings.known(self, SIZED, "families", "simulated")
        for name in ("families", "simulated"):
            levels = [level for _, level in getattr(self, name)]
            if not all(0 <= level < 1 for level in levels):
                raise ValueError(f"`{name}` must have levels from 0 to below 1, got {levels}.")
        _settings.whole(self, 3, "num_tasks", "simulated_tasks")
        _settings.ascending(self, "num_tasks")
        _settings.whole(self, 2, "num_seeds", "more_seeds")
        _settings.whole(self, 1, "simulated_seeds", "num_orders", "num_draws", "num_latent")
        _settings.between(self, 0, math.inf, "time_limit", "long_limit")
        _settings.between(self, 0, 1, "crowding")

    def seeds(self, family: str, num_tasks: int) -> int:
        """Matrices of one family and size."""
        return 1 if family == "chain" else self.more_seeds if num_tasks <= 10 else self.num_seeds

    def limit(self, num_tasks: int) -> float:
        """Seconds for the best order of so many tasks."""
        return self.time_limit if num_tasks <= 30 else self.long_limit


QUICK = Config(
    families=(("factor", 0.3), ("scattered", 0.3), ("chain", 0.8), ("clusters", 0.8)), num_tasks=(3, 5, 7, 10, 15, 20),
    num_seeds=3, more_seeds=8, time_limit=0.3, simulated=(("scattered", 0.3),), simulated_tasks=(20,),
)  # fmt: skip


def specs(config: Config) -> list[RunSpec]:
    """One run for each matrix, then one for each simulated matrix."""
    simulation = {key: getattr(config, key) for key in ("num_orders", "num_draws", "num_latent", "crowding")}
    return [
        *(
            RunSpec("theory.rules-at-scale.1", _where(config, family, P, seed))
            for family in config.families
            for P in config.num_tasks
            for seed in range(config.seeds(family[0], P))
        ),
        *(
            RunSpec("linear.rules-at-scale.1", {**_where(config, family, P, seed), **simulation})
            for family in config.simulated
            for P in config.simulated_tasks
            for seed in range(config.simulated_seeds)
        ),
    ]


def _where(config: Config, family: Family, num_tasks: int, seed: int) -> dict[str, Any]:
    name, level = family
    return {
        "family": name, "level": level, "num_tasks": num_tasks, "seed": seed, "time_limit": config.limit(num_tasks)
    }  # fmt: skip


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """Errors by rule, closed form and (for simulated matrices) simulated.

    Searches run side by side on all cores, and so do the simulations of one matrix; matrices are simulated in turn.
    """
    import numba  # noqa: F401  (two threads that are the first to import it wait for each other forever)

    searches = [spec for spec in specs if spec.kind.startswith("theory")]
    with one_blas_thread(), ThreadPoolExecutor(cores()) as threads:
        found = threads.map(lambda spec: _run_theory(**spec.params), searches)
        return [next(found) if spec.kind.startswith("theory") else _run_simulation(**spec.params) for spec in specs]


def _run_theory(family: str, level: float, num_tasks: int, seed: int, time_limit: float) -> dict[str, Any]:
    C = family_matrix(family, num_tasks, level, seed)
    plans = {rule: _plan(C, rule, time_limit) for rule in RULES}
    errors = {rule: float(np.mean([final_error(C, order) for order in _orders(plan)])) for rule, plan in plans.items()}
    return {**errors, "random": expected_random_error(C).mean, "proven": plans["optimal"].proven}


def _plan(C: Floats, rule: str, time_limit: float) -> Plan:
    return solve(C, rule, time_limit=time_limit if rule == "optimal" else RULE_SECONDS, repair=False)


def _orders(plan: Plan) -> list[tuple[int, ...]]:
    """The order of a plan; for a path both directions."""
    return [plan.order, plan.order[::-1]] if plan.rule in PATHS else [plan.order]


def _run_simulation(
    family: str,
    level: float,
    num_tasks: int,
    seed: int,
    time_limit: float,
    num_orders: int,
    num_draws: int,
    num_latent: int,
    crowding: float,
) -> dict[str, Any]:
    """For each rule and the random orders: [closed form, simulated mean]."""
    C = family_matrix(family, num_tasks, level, seed)
    groups = {rule: _orders(_plan(C, rule, time_limit)) for rule in SIMULATED_RULES}
    groups["random"] = [tuple(order) for order in random_orders(num_tasks, num_orders, seed).tolist()]
    orders = [order for group in groups.values() for order in group]
    sizes = Sizes(num_latent, round(num_tasks * num_latent / crowding), 1)
    jobs = [Job(C, orders, 1000 * seed + draw) for draw in range(num_draws)]
    simulated = iter(np.mean(readout_mean_errors(jobs, sizes), axis=0))
    return {
        rule: [
            float(np.mean([final_error(C, order) for order in group])),
            float(np.mean([next(simulated) for _ in group])),
        ]
        for rule, group in groups.items()
    }


def figure(config: Config, results: Sequence[Mapping[str, Any]]) -> FigureData:
    """Each family against random, three rules against the optimum, and the simulation."""
    rows = iter(results)
    cells: Cells = {
        (family, P): [next(rows) for _ in range(config.seeds(family[0], P))]
        for family in config.families
        for P in config.num_tasks
    }
    simulated = list(rows)
    panels = [_against_random(config, cells, family) for family in config.families]
    panels += [_against_optimum(config, cells, rule) for rule in ("periphery-to-core", "max-path", "greedy")]
    return FigureData(
        name="rules-at-scale",
        title="How far the rules reach",
        panels=(*panels, _simulation(simulated)),
        checks=(
            *(
                checks.still_helps(config.num_tasks, cells, rule, kind)
                for rule in ("periphery-to-core", "max-path")
                for kind in dict.fromkeys(family for family, _ in config.families)
            ),
            checks.optimum_stays_below(cells),
            checks.same_ranking(simulated),
        ),
        config=asdict(config),
        columns=3,
        notes=(
            "points are geometric means over matrices with 95 % intervals; the optimum is " + _proven(config, cells),
            f"simulation: P N_s / N_x = {config.crowding:g}, trained to convergence, averaged over readouts",
        ),
    )


def _proven(config: Config, cells: Cells) -> str:
    shares = {
        P: [row["proven"] for (_, size), rows in cells.items() if size == P for row in rows] for P in config.num_tasks
    }
    return "proven for " + ", ".join(f"{np.mean(proven):.0%} at P = {P}" for P, proven in shares.items() if any(proven))


def _against_random(config: Config, cells: Cells, family: Family) -> Panel:
    series = [_line(config, cells, family, rule, "random", rule, role=rule) for rule in RULES]
    ends = (float(config.num_tasks[0]), float(config.num_tasks[-1]))
    series.append(Series("random order (mean)", ends, (1.0, 1.0), role="random"))
    return Panel(
        name_of(family),
        "number of tasks P",
        "error / error of a random order",
        tuple(series),
        x_scale="log",
        y_scale="log",
    )


def _against_optimum(config: Config, cells: Cells, rule: str) -> Panel:
    series = tuple(_line(config, cells, family, rule, "optimal", name_of(family)) for family in config.families)
    return Panel(rule, "number of tasks P", "error / error of the best order", series, x_scale="log", y_scale="log")


def _line(config: Config, cells: Cells, family: Family, rule: str, other: str, label: str, role: str = "") -> Series:
    found = np.exp([checks.log_ratio(cells[family, P], rule, other) for P in config.num_tasks])
    y, low, high = (tuple(column) for column in found.T.tolist())
    return Series(label, tuple(float(P) for P in config.num_tasks), y, low, high, role=role, style="bars")


def _simulation(simulated: Sequence[Mapping[str, Any]]) -> Panel:
    pairs: dict[str, Floats] = {
        rule: np.array([row[rule] for row in simulated]) for rule in (*SIMULATED_RULES, "random")
    }
    series = [
        Series(rule, tuple(found[:, 0].tolist()), tuple(found[:, 1].tolist()), role=rule, style="points")
        for rule, found in pairs.items()
    ]
    every = np.concatenate(list(pairs.values()))[:, 0]
    ends = (float(every.min()), float(every.max()))
    series.append(Series("equal", ends, ends, role="reference"))
    return Panel(
        "Simulation at scale",
        "error by the closed form",
        "simulated error",
        tuple(series),
        x_scale="log",
        y_scale="log",
    )
