"""Early stopping: which order is best when training ends before convergence? A question of ours; the paper converges.

In the limit N_s / N_x -> 0, t steps on a task remove the share p = 1 - (1 - eta N_x / N_s)^t of its residual, and the
sweep becomes R <- R - p R[:, j] C[j, :]. With v_j = p R_j at the visit of j this keeps the form that the solvers share,

    error = e - 2 h.v + v G v^T,    v (I + U') = p R_0,    U' = p U,

so every order can be listed and the best one proven for any p.

A prediction to test: to second order in p, with s the row sums of C,

    error = P - 2 p sum(s) + p^2 (|s|^2 + 2 sum over pairs k before j of C_kj s_j),

and for positive similarities every pair wants its more typical task FIRST. So after very short training the best order
is core-to-periphery, the reverse of the paper's rule, and the order hardly matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reproduction import Figure, limits
from reproduction.claims import FigureData
from reproduction.figures import early_stopping_claims as about
from reproduction.fitting import rank_correlation
from reproduction.orders import random_orders, readout_mean_errors
from taskorder.checks import Floats, Ints
from taskorder.linear.random_tasks import Sizes
from taskorder.linear.simulate import Job, progress_of
from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import Proof
from taskorder.ordering.listing import all_errors, all_orders
from taskorder.ordering.optimum import MAX_UNCOMPILED, minimize
from taskorder.ordering.path import extreme_path
from taskorder.ordering.problem import Problem
from taskorder.ordering.rules import core_to_periphery, periphery_to_core
from taskorder.plots.records import Panel, Series
from taskorder.runs.specs import RunSpec
from taskorder.stats import bootstrap_interval, mean_and_sem
from taskorder.tables.reading import demo_similarity
from taskorder.theory.closed_form import final_error
from taskorder.theory.correlation import random_correlation
from taskorder.theory.graphs import chain, tree
from taskorder.theory.nearest import nearest_correlation

SAMPLED = 5000
"""Random orders behind the mean where orders are too many to list."""


def stopped_problem(C: Floats, progress: float) -> Problem:
    """The problem of ordering all tasks when each visit removes only the share `progress` of its task's residual."""
    P = len(C)
    r = np.ones((1, P))
    damped = np.eye(P) + progress * (C - np.eye(P))
    return Problem(np.arange(P), float(P), progress * r, r @ C, damped, C @ C, np.zeros((P, P), bool))


def errors_by_progress(C: Floats, progress: Sequence[float]) -> dict[str, list[float]]:
    """By name, one number for each progress: errors of the best, worst and mean order (proven, or over all orders where
    they can be listed), of the rules, and of the order that is best at convergence; and "rank", the rank correlation
    between the errors of all (or many random) orders and their errors at convergence.

    Max-path counts as the mean of its two directions, as in the paper.
    """
    free = np.zeros(C.shape, bool)
    tasks = np.arange(len(C))
    path = extreme_path(1 - C, free)[0]
    rules = np.array(
        [
            periphery_to_core(C, tasks, free),
            core_to_periphery(C, tasks, free),
            path,
            path[::-1],
            _proven(stopped_problem(C, 1.0)).order,
        ]
    )
    few = len(C) <= MAX_UNCOMPILED
    everything = all_orders(len(C)) if few else random_orders(len(C), SAMPLED)
    final = _errors(C, everything, 1.0)
    rows = []
    for p in progress:
        problem, errors = stopped_problem(C, p), _errors(C, everything, p)
        first, second, one_way, other_way, converged = problem.errors(rules).tolist()
        rows.append(
            {
                "best": float(errors.min()) if few else _proven(problem).error,
                "worst": float(errors.max()) if few else -_proven(problem.negated()).error,
                "mean": float(errors.mean()),
                "periphery-to-core": first,
                "core-to-periphery": second,
                "max-path": (one_way + other_way) / 2,
                "converged": converged,
                "rank": rank_correlation(errors, final),
            }
        )
    return {key: [row[key] for row in rows] for key in rows[0]}


def _proven(problem: Problem) -> Proof:
    proof = minimize(problem, seed=0, clock=Clock(600.0))
    if not proof.complete:
        raise RuntimeError("The best order was not proven in ten minutes: the machine must be very busy.")
    return proof


def _errors(C: Floats, orders: Ints, progress: float) -> Floats:
    """Errors of `orders`, which are all of them where that is possible."""
    problem = stopped_problem(C, progress)
    return all_errors(problem) if len(C) <= MAX_UNCOMPILED else problem.errors(orders)


MATRICES = {"chain-5": "Chain of 5, a = 0.7", "tree-7": "Tree of 7, a = 0.7", "demo": "12 image tasks (demo)"}
"""The matrices with a panel of their own."""
LINES = {
    "best": ("best order for this progress", "best"),
    "converged": ("best order for convergence", "optimal"),
    "periphery-to-core": ("periphery-to-core", "periphery-to-core"),
    "core-to-periphery": ("core-to-periphery", "core-to-periphery"),
    "max-path": ("max-path", "max-path"),
    "mean": ("random order (mean)", "random"),
    "worst": ("worst order", "worst"),
}
"""What is measured at each progress: label and role."""


@dataclass(frozen=True)
class Config:
    """Settings; sizes and learning rate are the paper's, so 10 steps are a progress of 0.65 and 100 are convergence."""

    steps: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 28, 36, 50, 100)
    """Ascending."""
    matrices: tuple[str, ...] = tuple(MATRICES)
    num_tasks: int = 7
    num_matrices: int = 200
    """Random matrices with entries uniform in [0, 1]."""
    simulated_steps: tuple[int, ...] = (2, 5, 10, 20, 100)
    simulated_matrices: int = 20
    """The first of the random matrices."""
    num_orders: int = 10
    """Random orders to simulate for each of them."""
    num_repeats: int = 10
    """Draws of the tasks for each order, each averaged over all readouts."""
    num_latent: int = 30
    num_inputs: tuple[int, ...] = (3000, 30000)
    """The paper's, and ten times as many to come nearer to the limit of the theory."""
    rate: float = 0.1
    """eta N_x / N_s, the share of its residual that a task loses in one step; the paper's eta = 0.001 is this one."""

    def __post_init__(self) -> None:
        limits.whole(self, 1, "steps", "simulated_steps", "num_orders", "num_repeats", "num_latent", "num_inputs")
        limits.whole(self, 2, "num_matrices", "simulated_matrices")
        limits.whole(self, 3, "num_tasks", most=MAX_UNCOMPILED)
        limits.ascending(self, "steps")
        limits.known(self, MATRICES, "matrices")
        limits.between(self, 0, 1, "rate")

    @property
    def progress(self) -> Floats:
        """(k,) the share of its residual that a task loses in each number of `steps`."""
        return np.array([1 - (1 - self.rate) ** steps for steps in self.steps])


QUICK = Config(steps=(1, 3, 6, 10, 15, 22, 36, 100), num_matrices=40, simulated_matrices=6, num_orders=5, num_repeats=4)


def specs(config: Config) -> list[RunSpec]:
    """One run for each named matrix, each random matrix, and each simulated matrix."""
    grid = {"progress": config.progress.tolist()}
    drawn = {"num_tasks": config.num_tasks}
    shared = {key: getattr(config, key) for key in ("num_orders", "num_repeats", "num_latent", "rate")}
    simulation = {**drawn, **shared, "steps": list(config.simulated_steps)}
    return [
        *(RunSpec("theory.early-stopping.1", {**grid, "matrix": name}) for name in config.matrices),
        *(
            RunSpec("theory.early-stopping.1", {**grid, **drawn, "matrix": "random", "index": index})
            for index in range(config.num_matrices)
        ),
        *(
            RunSpec("linear.early-stopping.1", {**simulation, "num_inputs": num_inputs, "index": index})
            for num_inputs in config.num_inputs
            for index in range(config.simulated_matrices)
        ),
    ]


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """Errors by progress of each matrix; closed form and simulated mean of each simulated matrix."""
    return [
        _run_theory(**spec.params) if spec.kind.startswith("theory") else _run_simulation(**spec.params)
        for spec in specs
    ]


def _run_theory(matrix: str, progress: list[float], num_tasks: int = 0, index: int = 0) -> dict[str, list[float]]:
    return errors_by_progress(_matrix(matrix, num_tasks, index), progress)


def _matrix(name: str, num_tasks: int, index: int) -> Floats:
    if name == "random":
        return random_correlation(num_tasks, 0, 1, seed=index)
    if name == "demo":
        return nearest_correlation(demo_similarity()[0])[0]
    return chain(5, 0.7) if name == "chain-5" else tree(7, 0.7)


def _run_simulation(
    index: int,
    num_tasks: int,
    steps: list[int],
    rate: float,
    num_orders: int,
    num_repeats: int,
    num_latent: int,
    num_inputs: int,
) -> dict[str, Any]:
    """For each number of steps: [[closed form, simulated mean] for each order]."""
    C = random_correlation(num_tasks, 0, 1, seed=index)
    sizes = Sizes(num_latent, num_inputs, 1)
    eta = rate * sizes.load
    orders = random_orders(num_tasks, num_orders, seed=index)
    jobs = [Job(C, orders, 1000 * index + repeat) for repeat in range(num_repeats)]
    pairs = []
    for t in steps:
        simulated = np.mean(readout_mean_errors(jobs, sizes, steps=t, learning_rate=eta), axis=0)
        closed = [final_error(C, order, progress=progress_of(sizes, t, eta)) for order in orders]
        pairs.append(np.column_stack([closed, simulated]).tolist())
    return {"pairs": pairs}


def figure(config: Config, results: Sequence[dict[str, Any]]) -> FigureData:
    """Errors by progress, what the converged order loses, how much order matters, and the simulation."""
    named = dict(zip(config.matrices, results, strict=False))
    rest = results[len(config.matrices) :]
    random = {key: np.array([row[key] for row in rest[: config.num_matrices]]) for key in rest[0]}
    count = config.simulated_matrices
    simulated = np.array([row["pairs"] for row in rest[config.num_matrices :]])
    pairs = {N_x: simulated[count * row : count * (row + 1)] for row, N_x in enumerate(config.num_inputs)}
    panels = [_curves(MATRICES[name], config, errors) for name, errors in named.items()]
    title = f"{config.num_matrices} random matrices, {config.num_tasks} tasks"
    panels += [
        _curves(title, config, {key: mean_and_sem(table)[0].tolist() for key, table in random.items()}),
        _losses(config, random),
        _matters(config, random),
        *(_simulated(N_x, config, errors) for N_x, errors in pairs.items()),
    ]
    return FigureData(
        name="early-stopping",
        title="The best order when training stops early",
        panels=tuple(panels),
        claims=(
            about.stays_best(config.progress, random),
            about.keeps_ranking(config.progress, random),
            about.core_first(config.progress, random),
            about.matters_most(config.progress, random, named),
            about.stopping_pays(config.progress, random, named),
            *(
                about.agrees(t, N_x, errors[:, row])
                for N_x, errors in pairs.items()
                for row, t in enumerate(config.simulated_steps)
            ),
        ),
        config=asdict(config),
        columns=4,
        notes=(
            "progress p = 1 - (1 - eta N_x / N_s)^steps is the share of its residual that a task loses in training; "
            "bands are 95 % intervals over matrices",
        ),
    )


def _curves(title: str, config: Config, errors: dict[str, Any]) -> Panel:
    x = tuple(config.progress.tolist())
    series = tuple(Series(label, x, tuple(errors[key]), role=role) for key, (label, role) in LINES.items())
    return Panel(title, "progress of a task in its training", "final error, all tasks", series, y_scale="log")


def _losses(config: Config, random: dict[str, Floats]) -> Panel:
    keys = ("converged", "periphery-to-core", "core-to-periphery", "max-path", "mean")
    series = tuple(_ratio(config, random[key], random["best"], *LINES[key]) for key in keys)
    return Panel(
        "What each order loses", "progress of a task in its training", "error / error of the best order", series,
        y_scale="log",
    )  # fmt: skip


def _matters(config: Config, random: dict[str, Floats]) -> Panel:
    rank = mean_and_sem(random["rank"])
    x = tuple(config.progress.tolist())
    low, high = (tuple((rank[0] + sign * 1.96 * rank[1]).tolist()) for sign in (-1, 1))
    return Panel(
        "How much the order matters",
        "progress of a task in its training",
        "ratio, or rank correlation",
        (
            _ratio(config, random["best"], random["mean"], "best / mean order", "best"),
            _ratio(config, random["mean"], random["worst"], "mean / worst order", "worst"),
            Series("rank correlation with convergence", x, tuple(rank[0].tolist()), low, high),
        ),
    )


def _ratio(config: Config, above: Floats, below: Floats, label: str, role: str) -> Series:
    """Geometric mean over matrices of above / below, with its interval."""
    log = np.log(above / below)
    ends = np.exp([bootstrap_interval(column, lambda x: np.asarray(x.mean(axis=1))) for column in log.T])
    x, y = config.progress.tolist(), np.exp(log.mean(axis=0)).tolist()
    return Series(label, tuple(x), tuple(y), tuple(ends[:, 0].tolist()), tuple(ends[:, 1].tolist()), role=role)


def _simulated(N_x: int, config: Config, pairs: Floats) -> Panel:
    flat = [pairs[:, row].reshape(-1, 2) for row in range(len(config.simulated_steps))]
    series = [
        Series(f"{t} steps", tuple(points[:, 0].tolist()), tuple(points[:, 1].tolist()), style="points")
        for t, points in zip(config.simulated_steps, flat, strict=True)
    ]
    ends = (float(pairs[..., 0].min()), float(pairs[..., 0].max()))
    series.append(Series("equal", ends, ends, role="reference"))
    return Panel(
        f"Gradient descent, {N_x} inputs", "error by the closed form with progress", "simulated error", tuple(series),
        x_scale="log", y_scale="log",
    )  # fmt: skip


FIGURES = (Figure("early-stopping", Config(), QUICK, specs, run_batch, figure, batch=10),)
