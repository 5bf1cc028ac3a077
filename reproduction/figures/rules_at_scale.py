"""Rules at scale: how far each rule is from the best order and from a random one, from 3 to 200 tasks.

The paper tests its rules on 3 to 7 tasks. In the closed form nothing stops us from asking the same of hundreds, for
families of matrices that exist at any size, at several mean similarities. A path rule scores the mean
of its two directions, as in the paper; a random order scores its mean. The optimum is proven up to about 15 tasks;
above it is the best order found within a time limit, so those values can differ a little from machine to machine.

The closed form needs P far below N_x / N_s, so the answer is repeated by simulation with P N_s / N_x = 0.01.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from reproduction import Figure, limits
from reproduction.claims import Claim, FigureData, exact_claim, inside, together
from reproduction.families import FAMILIES, family_matrix
from reproduction.orders import random_orders, readout_mean_errors
from taskorder.checks import Floats
from taskorder.linear.random_tasks import Sizes
from taskorder.linear.simulate import Job
from taskorder.machine import cores, one_blas_thread
from taskorder.ordering.solve import solve
from taskorder.plots.records import Panel, Series
from taskorder.records import Plan
from taskorder.runs.specs import RunSpec
from taskorder.stats import mean_and_sem, share_interval
from taskorder.theory.closed_form import final_error
from taskorder.theory.random_orders import expected_random_error

Family = tuple[str, float]
"""Name and level of similarity."""
Cells = Mapping[tuple[Family, int], Sequence[Mapping[str, Any]]]
"""Errors by rule of each matrix, by family and number of tasks."""

CLEAR = 0.05
"""Two rules count as ranked by the closed form when their errors differ by more than this share."""


def name_of(family: Family) -> str:
    """As a title."""
    return (
        f"{family[0]}, {'a' if family[0] == 'chain' else 'level' if family[0] == 'clusters' else 'm'} = {family[1]:g}"
    )


def log_ratio(rows: Sequence[Mapping[str, Any]], rule: str, other: str) -> tuple[float, float, float]:
    """Mean over matrices of log(error of rule / error of other) and its 95 % interval by Student's t.

    A single matrix (a chain) is all there is: no error.
    """
    from scipy.special import stdtrit

    mean, sem = mean_and_sem(np.log([row[rule] / row[other] for row in rows]))
    half = float(stdtrit(len(rows) - 1, 0.975) * sem) if len(rows) > 1 else 0.0
    return float(mean), float(mean) - half, float(mean) + half


def reach(num_tasks: Sequence[int], cells: Cells, family: Family, rule: str) -> str:
    """Up to which P a rule is better than a random order and from which it is worse, among the P that were run.

    A size counts for one side only when its whole interval lies there.
    """
    ends = {P: log_ratio(cells[family, P], rule, "random")[1:] for P in num_tasks}
    better = [P for P, (_, high) in ends.items() if high < 0]
    worse = [P for P, (low, _) in ends.items() if low > 0]
    first = [P for P in num_tasks if all(size in better for size in num_tasks if size <= P)]
    last = [P for P in num_tasks if all(size in worse for size in num_tasks if size >= P)]
    if first == list(num_tasks):
        return f"better than random at every P from {first[0]} to {first[-1]}"
    said = f"better than random at every P up to {first[-1]}" if first else "never better than random"
    if better and not first:
        said = f"better than random only at P = {', '.join(map(str, better))}"
    if last:
        return f"{said}, worse at every P from {last[0]}"
    return f"{said}, {'again better' if num_tasks[-1] in better else 'not told apart'} at P = {num_tasks[-1]}"


def still_helps(num_tasks: Sequence[int], cells: Cells, rule: str, kind: str) -> Claim:
    """Holds when at the largest P, at every level, the rule's error is below random's, interval included."""
    families = [family for family, P in cells if family[0] == kind and num_tasks[-1] == P]
    largest = {family: np.exp(log_ratio(cells[family, num_tasks[-1]], rule, "random")) for family in families}
    worst = max(largest.values(), key=lambda ratio: float(ratio[0]))
    phrases = []
    for family, (value, low, high) in largest.items():
        far = np.exp(log_ratio(cells[family, num_tasks[-1]], rule, "optimal")[0])
        phrases.append(
            f"{name_of(family)}: {reach(num_tasks, cells, family, rule)} ({value:.2g} [{low:.2g}, {high:.2g}] times "
            f"random and {far:.2g} times the best found at P = {num_tasks[-1]})"
        )
    return Claim(
        claim=f"{rule} still beats a random order at {num_tasks[-1]} tasks; {kind}",
        source="ours",
        found="; ".join(phrases),
        value=float(worst[0]),
        low=float(worst[1]),
        high=float(worst[2]),
        verdict=together(inside(ratio, below=1) for ratio in largest.values()),
    )


def optimum_stays_below(cells: Cells) -> Claim:
    """Holds when the best found order is below the mean random one in every single matrix."""
    ratios = {key: [row["optimal"] / row["random"] for row in rows] for key, rows in cells.items()}
    worst = max(ratios, key=lambda key: max(ratios[key]))
    top = max(P for _, P in cells)
    largest = np.exp([log_ratio(rows, "optimal", "random")[0] for (_, P), rows in cells.items() if top == P])
    return exact_claim(
        claim="The best order found by minimizing the closed form beats a random order in every matrix",
        source="ours",
        found=f"at most {max(ratios[worst]):.2f} times random, in one of {sum(map(len, ratios.values()))} matrices "
        f"({name_of(worst[0])}, P = {worst[1]}); {largest.min():.2f} to {largest.max():.2f} times at P = {top}",
        value=float(max(ratios[worst])),
        holds=max(ratios[worst]) < 1,
    )


def same_ranking(simulated: Sequence[Mapping[str, Any]]) -> Claim:
    """Holds when at least 90 % of the clearly ranked pairs of rules are ranked alike, interval included.

    Pairs of one matrix are not independent, so the interval is somewhat too narrow.
    """
    pairs = [
        (row[a], row[b])
        for row in simulated
        for a, b in combinations(row, 2)
        if abs(np.log(row[a][0] / row[b][0])) > np.log1p(CLEAR)
    ]
    alike = sum((a[0] < b[0]) == (a[1] < b[1]) for a, b in pairs)
    deviations = [abs(pair[1] / pair[0] - 1) for row in simulated for pair in row.values()]
    low, high = share_interval(alike, len(pairs))
    return Claim(
        claim="The simulation ranks the two rules, greedy, the best found and random orders as the closed form does",
        source="ours",
        found=f"{alike} of {len(pairs)} pairs with errors more than {CLEAR:.0%} apart are ranked alike, in "
        f"{len(simulated)} matrices; simulated and closed form differ by {np.median(deviations):.1%} (median), "
        f"{max(deviations):.1%} (most)",
        value=alike / len(pairs),
        low=low,
        high=high,
        verdict=inside((low, high), above=0.9),
    )


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
        limits.known(self, SIZED, "families", "simulated")
        for name in ("families", "simulated"):
            levels = [level for _, level in getattr(self, name)]
            if not all(0 <= level < 1 for level in levels):
                raise ValueError(f"`{name}` must have levels from 0 to below 1, got {levels}.")
        limits.whole(self, 3, "num_tasks", "simulated_tasks")
        limits.ascending(self, "num_tasks")
        limits.whole(self, 2, "num_seeds", "more_seeds")
        limits.whole(self, 1, "simulated_seeds", "num_orders", "num_draws", "num_latent")
        limits.between(self, 0, math.inf, "time_limit", "long_limit")
        limits.between(self, 0, 1, "crowding")

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
        results = threads.map(lambda spec: _run_theory(**spec.params), searches)
        return [next(results) if spec.kind.startswith("theory") else _run_simulation(**spec.params) for spec in specs]


def _run_theory(family: str, level: float, num_tasks: int, seed: int, time_limit: float) -> dict[str, Any]:
    C = family_matrix(family, num_tasks, level, seed)
    plans = {rule: _plan(C, rule, time_limit) for rule in RULES}
    errors = {rule: float(np.mean([final_error(C, order) for order in _orders(plan)])) for rule, plan in plans.items()}
    return {**errors, "random": expected_random_error(C).mean, "proven": plans["optimal"].proven}


def _plan(C: Floats, rule: str, time_limit: float) -> Plan:
    return solve(C, rule, time_limit=time_limit if rule == "optimal" else RULE_SECONDS, repair=False, retention=1)


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
        claims=(
            *(
                still_helps(config.num_tasks, cells, rule, kind)
                for rule in ("periphery-to-core", "max-path")
                for kind in dict.fromkeys(family for family, _ in config.families)
            ),
            optimum_stays_below(cells),
            same_ranking(simulated),
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
    ratios = np.exp([log_ratio(cells[family, P], rule, other) for P in config.num_tasks])
    y, low, high = (tuple(column) for column in ratios.T.tolist())
    return Series(label, tuple(float(P) for P in config.num_tasks), y, low, high, role=role, style="bars")


def _simulation(simulated: Sequence[Mapping[str, Any]]) -> Panel:
    pairs: dict[str, Floats] = {
        rule: np.array([row[rule] for row in simulated]) for rule in (*SIMULATED_RULES, "random")
    }
    series = [
        Series(rule, tuple(points[:, 0].tolist()), tuple(points[:, 1].tolist()), role=rule, style="points")
        for rule, points in pairs.items()
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


FIGURES = (Figure("rules-at-scale", Config(), QUICK, specs, run_batch, figure, batch=8),)
