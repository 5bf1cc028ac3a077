"""The runs behind figures 3e, 3g and 6a to 6d: both pairs of rules on random similarity matrices, by gradient descent.

One run is one random matrix C with a shared readout: one draw of the tasks, learned in distinct random orders, in both
typicality orders, in both directions of the longest and of the shortest path, and (ours) in the best order of the
closed form. The closed form of all of these stands beside the simulation; there, random means all P! orders.

The paper draws 1000 matrices uniformly from the correlation matrices (entries in [-1, 1]). At seven tasks few of them
have a large average correlation m, so we add sets of our own: matrices of the same kind, drawn until m >= 0.15 or until
m >= 0.25, and matrices drawn uniformly from those with entries in [0, 1]. No two sets share a matrix or a draw.
In the authors' code a new order also redraws the tasks; here all orders of a matrix learn the same tasks, which makes
their differences less noisy and changes no mean.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reproduction import limits
from taskorder.checks import Floats, Ints
from taskorder.linear.random_tasks import Sizes
from taskorder.linear.simulate import Job, simulated_errors
from taskorder.ordering import rules
from taskorder.ordering.listing import all_errors, order_at
from taskorder.ordering.path import extreme_path
from taskorder.ordering.problem import Problem, open_problem
from taskorder.runs.specs import RunSpec
from taskorder.theory.correlation import random_correlation, random_correlations

BATCH = 50
MOST_TASKS = 9
"""All orders of a matrix are listed: 9! take some milliseconds."""
SEARCH_BATCH = 4096
MAX_DRAWS = 500 * SEARCH_BATCH
"""The search for a matrix with large m gives up after so many, some seconds."""


@dataclass(frozen=True)
class ManySizes:
    """Settings; the defaults are the paper's where it names them."""

    num_tasks: tuple[int, ...] = (3, 5, 7)
    num_matrices: int = 1000
    """Matrices with entries in [-1, 1], for each number of tasks."""
    num_large: int = 200
    """More of those, drawn until m >= `large_m`, and as many until m >= `larger_m`, for each number of tasks."""
    num_positive: int = 300
    """Matrices with entries in [0, 1], for each number of tasks."""
    num_random: int = 100
    """Random orders of each matrix, all different; at most P!."""
    num_repeats: int = 1
    """Draws of the tasks for each matrix, averaged."""
    bin_width: float = 0.05
    large_m: float = 0.15
    """What counts as a large average correlation: the top few percent of the paper's matrices at seven tasks."""
    larger_m: float = 0.25
    """Where matrices with m >= `large_m` become rare as well; both should be edges of bins."""
    min_count: int = 5
    """Bins with fewer matrices are not drawn, and claims about fewer are not tested; at least 2."""
    num_latent: int = 30
    num_inputs: int = 3000
    num_outputs: int = 10
    steps: int = 100
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        limits.whole(self, 3, "num_tasks", most=MOST_TASKS)
        limits.ascending(self, "num_tasks")
        limits.whole(self, 0, "num_large", "num_positive")
        limits.whole(self, 1, "num_matrices", "num_repeats")
        limits.whole(self, 2, "num_random", "min_count")
        limits.between(self, 0, 1, "bin_width")
        limits.between(self, -1, 1, "large_m", "larger_m")
        limits.descent(self)


@dataclass(frozen=True)
class Config(ManySizes):
    """The same for one number of tasks; runs with seven tasks are those of `ManySizes`."""

    num_tasks: tuple[int, ...] = (7,)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.num_tasks) > 1:
            raise ValueError(f"`num_tasks` must be a single number for this figure, got {len(self.num_tasks)} of them.")


QUICK = Config(num_matrices=200, num_large=40, num_positive=60)
QUICK_SIZES = ManySizes(num_matrices=200, num_large=40, num_positive=60)

OF_THE_FIGURE = (
    "num_tasks",
    "num_matrices",
    "num_large",
    "num_positive",
    "large_m",
    "larger_m",
    "bin_width",
    "min_count",
)
"""Settings that choose or arrange runs, but are no part of one."""
OF_THE_DESCENT = ("num_latent", "num_inputs", "num_outputs", "steps", "learning_rate")
"""Settings that all runs of a batch share, so that one call simulates them on all cores."""


@dataclass(frozen=True)
class Ensemble:
    """Uniformly random correlation matrices with entries from `low` to 1 and average at least `least_m`."""

    num_tasks: int
    low: float
    least_m: float

    def seed(self, use: str, *numbers: int) -> int:
        """A seed that no other use, number or ensemble has."""
        text = repr((use, self.num_tasks, float(self.low), float(self.least_m), *numbers))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    def draw(self, index: int) -> Floats:
        """Matrix number `index`."""
        if self.least_m > -1:
            return self._search(np.random.default_rng(self.seed("matrix", index)))
        seed = index if self.low == -1 else self.seed("matrix", index)
        return random_correlation(self.num_tasks, self.low, 1.0, seed=seed)

    def _search(self, rng: np.random.Generator) -> Floats:
        """The first of many matrices with entries in [-1, 1] that has a large enough m."""
        for _ in range(MAX_DRAWS // SEARCH_BATCH):
            drawn = random_correlations(self.num_tasks, SEARCH_BATCH, rng)
            large = np.flatnonzero(average_correlation(drawn) >= self.least_m)
            if len(large):
                return np.asarray(drawn[large[0]])
        raise ValueError(
            f"`large_m` and `larger_m` must leave matrices to draw, got {self.least_m:g}: none of {MAX_DRAWS:,} random "
            f"matrices of {self.num_tasks} tasks has so large an average correlation."
        )


def ensembles(config: ManySizes, P: int) -> dict[str, tuple[Ensemble, int]]:
    """The sets of matrices with `P` tasks, and how many are drawn from each."""
    return {
        "paper": (Ensemble(P, -1.0, -1.0), config.num_matrices),
        "large": (Ensemble(P, -1.0, config.large_m), config.num_large),
        "larger": (Ensemble(P, -1.0, config.larger_m), config.num_large),
        "positive": (Ensemble(P, 0.0, -1.0), config.num_positive),
    }


def average_correlation(C: Floats) -> Floats:
    """(...) m of (..., P, P) matrices, the mean of the entries off the diagonal."""
    P = C.shape[-1]
    return np.asarray((C.sum(axis=(-2, -1)) - P) / (P * (P - 1)))


def specs(config: ManySizes) -> list[RunSpec]:
    """One run for each matrix."""
    shared = {key: value for key, value in asdict(config).items() if key not in OF_THE_FIGURE}
    for P in config.num_tasks:
        for ensemble, count in ensembles(config, P).values():
            if count:
                ensemble.draw(0)  # a set too rare to be drawn fails here, before any other set runs
    return [
        RunSpec("linear.rules-on-random.2", {**shared, **asdict(ensemble), "index": index})
        for P in config.num_tasks
        for ensemble, count in ensembles(config, P).values()
        for index in range(count)
    ]


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """Average correlation, and for every kind of order the mean error by simulation and by the closed form."""
    settings = {tuple(spec.params[key] for key in OF_THE_DESCENT) for spec in specs}
    if len(settings) != 1:
        raise ValueError(f"`specs` must share {', '.join(OF_THE_DESCENT)}, got {len(settings)} different sets.")
    ((*sizes, steps, learning_rate),) = settings
    cases = [_case(spec.params) for spec in specs]
    jobs = [job for case in cases for job in case.jobs]
    simulated = iter(simulated_errors(jobs, Sizes(*sizes), steps=steps, learning_rate=learning_rate))
    return [case.result(np.mean([next(simulated).sum(axis=1) for _ in case.jobs], axis=0)) for case in cases]


@dataclass(frozen=True)
class _Case:
    """One matrix with everything that needs no simulation."""

    similarity: Floats
    orders: Mapping[str, Ints]
    """(k, P) orders of each kind."""
    closed: Mapping[str, float]
    jobs: Sequence[Job]

    def result(self, errors: Floats) -> dict[str, Any]:
        """The result of the run; `errors` are the simulated ones of all orders, kind after kind."""
        by_kind = split_by_kind(errors, self.orders)
        means = {kind: float(part.mean()) for kind, part in by_kind.items()}
        spread = float(by_kind["random"].std(ddof=1))
        m = float(average_correlation(self.similarity))
        return {"m": m, "simulated": {**means, "random_sd": spread}, "closed": dict(self.closed)}


def _case(params: Mapping[str, Any]) -> _Case:
    P, index = params["num_tasks"], params["index"]
    ensemble = Ensemble(P, params["low"], params["least_m"])
    C = ensemble.draw(index)
    problem = open_problem(C, None, np.ones(P), np.arange(0), np.arange(P), np.zeros((P, P), dtype=bool))
    every = all_errors(problem)
    count = math.factorial(P)
    rng = np.random.default_rng(ensemble.seed("orders", index))
    ranks = rng.choice(count, min(params["num_random"], count), replace=False)
    orders = {
        "random": np.array([order_at(int(rank), P) for rank in ranks]),
        "optimal": order_at(int(every.argmin()), P)[None],
        **rule_orders(problem),
    }
    together = np.concatenate(list(orders.values()))
    closed = {kind: float(part.mean()) for kind, part in split_by_kind(problem.errors(together), orders).items()}
    closed |= {"random": float(every.mean()), "random_sd": float(every.std())}
    seeds = [ensemble.seed("tasks", index, repeat) for repeat in range(params["num_repeats"])]
    return _Case(C, orders, closed, [Job(C, together, seed) for seed in seeds])


def rule_orders(problem: Problem) -> dict[str, Ints]:
    """(k, P) orders of each rule; a path stands there in both directions."""
    C, tasks, free = problem.C, problem.tasks, problem.precedes
    longest, shortest = (extreme_path(1 - C, free, longest=longest)[0] for longest in (True, False))
    return {
        "periphery-to-core": rules.periphery_to_core(C, tasks, free)[None],
        "core-to-periphery": rules.core_to_periphery(C, tasks, free)[None],
        "max-path": np.array([longest, longest[::-1]]),
        "min-path": np.array([shortest, shortest[::-1]]),
    }


def split_by_kind(errors: Floats, orders: Mapping[str, Ints]) -> dict[str, Floats]:
    """The errors of each kind of order, from those of all orders, kind after kind."""
    ends = np.cumsum([len(table) for table in orders.values()])
    return dict(zip(orders, np.split(errors, ends[:-1]), strict=True))
