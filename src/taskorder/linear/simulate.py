"""Many simulations at once: matrices, seeds and orders, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, positive_count, seed_number, task_index, task_names, to_float
from taskorder.linear.random_tasks import Sizes, sample_tasks
from taskorder.linear.residual_descent import CHUNK_BYTES, boundary_errors
from taskorder.machine import cores, one_blas_thread
from taskorder.ordering.solver_input import checked_table
from taskorder.records import Simulation, TaskSimulation
from taskorder.stats import mean_and_sem
from taskorder.theory.closed_form import task_errors
from taskorder.theory.finite_size import finite_size_errors

MAX_SIMULATION_BYTES = 2_000_000_000
"""Simulations run side by side as long as they fit into this."""
BYTES_A_CELL = 48
"""A simulation holds about six arrays of P N_s x P N_s doubles, and chunks of orders (CHUNK_BYTES)."""
MAX_SIDE = 10_000
"""Largest P N_s: 5 GB."""
MAX_CORRECTED = 100
"""Most tasks for which the finite-size correction is worth its O(P^4)."""
CROWDED = 0.3
"""From this value of visits x N_s / N_x on, a note warns that the theory is a limit."""
SEEDS_AT_ONCE = 8
"""Repetitions between two progress reports of `simulate`."""


SimulationProgress = Callable[[int, int], bool | None]
"""Called now and then with (repetitions done, repetitions in all); a true answer asks for an early end."""


@dataclass(frozen=True)
class Job:
    """One set of random tasks and the orders to learn it in."""

    similarity: Floats
    orders: ArrayLike
    """(K, visits)."""
    seed: int
    output: Floats | None = None


def simulated_errors(
    jobs: Iterable[Job],
    sizes: Sizes = Sizes(),  # noqa: B008 (frozen)
    *,
    steps: int | None = 100,
    learning_rate: float = 1e-3,
    path: bool = False,
) -> list[Floats]:
    """For each job, the (K, P) final error of every task for each of its orders (with `path` (K, visits + 1, P)).

    Jobs run on all cores, or on fewer where each takes more than its part of MAX_SIMULATION_BYTES.
    """
    jobs = list(jobs)
    workers = workers_for(jobs, sizes)

    def run(job: Job) -> Floats:
        tasks = sample_tasks(job.similarity, job.output, sizes, seed=job.seed, small=True)
        return boundary_errors(tasks, job.orders, steps=steps, learning_rate=learning_rate, path=path)

    with one_blas_thread(), ThreadPoolExecutor(workers) as threads:
        return list(threads.map(run, jobs))


def workers_for(jobs: Sequence[Job], sizes: Sizes) -> int:
    """How many jobs run side by side within MAX_SIMULATION_BYTES, at most one a core; refuses jobs too large for it."""
    side = max((len(job.similarity) * sizes.num_latent for job in jobs), default=0)
    if side > MAX_SIDE:
        most = MAX_SIDE // max(len(job.similarity) for job in jobs)
        raise BadArgument(
            f"`num_latent` times the number of tasks must be at most {MAX_SIDE:,}, got {side:,}. "
            f"Use at most {most} latent factors."
        )
    return max(1, min(cores(), MAX_SIMULATION_BYTES // (CHUNK_BYTES + BYTES_A_CELL * side**2)))


def simulate(
    similarity: ArrayLike,
    order: Iterable[str | int],
    *,
    output: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    sizes: Sizes = Sizes(),  # noqa: B008 (frozen)
    num_seeds: int = 20,
    seed: int = 0,
    steps: int | None = 100,
    learning_rate: float = 1e-3,
    repair: bool = True,
    report: SimulationProgress | None = None,
) -> Simulation:
    """Train a linear network on random tasks of this similarity, and compare its errors with the closed form.

    Parameters
    ----------
    similarity : (P, P) array
        Input similarity of the tasks.
    order : iterable of task names or indices
        It may leave tasks out and visit tasks again.
    output : (P, P) array, optional
        Output similarity of the tasks. Default: all ones.
    names : sequence of str, optional
        Names of the tasks. Default: A, B, C, ...
    sizes : Sizes
        Sizes of the network and of the tasks.
    num_seeds : int
        Repetitions, each with new random tasks.
    seed : int
        Of the first repetition.
    steps : int or None
        Gradient steps a task; None trains each task to convergence.
    learning_rate : float
        Of gradient descent.
    repair : bool
        Whether to move a `similarity` that is no correlation matrix to the nearest one, or to refuse it.
    report : callable, optional
        Called with (repetitions done, repetitions in all); a true answer ends the simulation early.

    Returns
    -------
    Simulation
        Simulated and predicted errors, in all and by task.

    Raises
    ------
    ValueError
        Among others for a learning rate at which gradient descent diverges.

    Examples
    --------
    >>> from taskorder import simulate
    >>> result = simulate([[1, 0.5], [0.5, 1]], ["A", "B"], num_seeds=5)
    >>> round(result.closed_form, 4), abs(result.simulated_mean - result.closed_form) < 0.05
    (0.0625, True)
    """
    checked = checked_table(similarity, output, repair=repair)
    C, Co = checked.similarity, checked.output
    all_names, first_seed = task_names(names, len(C)), seed_number(seed)
    visits = [task_index(task, all_names, "order") for task in order]
    if not visits:
        raise BadArgument("`order` must name at least one task, got none.")
    count = positive_count(num_seeds, "num_seeds")
    rate = 0.0 if steps is None else _learning_rate(learning_rate, sizes)
    closed = task_errors(C, visits, Co)
    stopped = task_errors(C, visits, Co, progress=progress_of(sizes, steps, rate))
    errors: list[Floats] = []
    for start in range(0, count, SEEDS_AT_ONCE):
        if report is not None and report(start, count) and errors:
            break
        jobs = [Job(C, [visits], first_seed + k, Co) for k in range(start, min(count, start + SEEDS_AT_ONCE))]
        errors += [by_order[0] for by_order in simulated_errors(jobs, sizes, steps=steps, learning_rate=rate)]
    table = np.array(errors)
    means, sems = mean_and_sem(table)
    mean, sem = mean_and_sem(table.sum(axis=1))
    return Simulation(
        order=tuple(visits),
        names=all_names,
        simulated_mean=float(mean),
        simulated_sem=_known(sem),
        closed_form=float(closed.sum()),
        stopped_form=float(stopped.sum()),
        finite_form=_finite_form(C, visits, Co, sizes),
        per_task=tuple(
            TaskSimulation(name, float(a), _known(b), float(c), float(d))
            for name, a, b, c, d in zip(all_names, means, sems, closed, stopped, strict=True)
        ),
        num_seeds=len(table),
        seed=first_seed,
        steps=None if steps is None else int(steps),
        learning_rate=rate,
        notes=(*checked.notes, *_size_notes(len(visits), sizes)),
        **asdict(sizes),
    )


def progress_of(sizes: Sizes, steps: int | None, learning_rate: float) -> float:
    """The share of its residual that a task loses in training, in the limit of the theory; 1 for convergence.

    >>> round(progress_of(Sizes(), 10, 0.001), 4)
    0.6513
    """
    if steps is None:
        return 1.0
    return float(1 - (1 - learning_rate / sizes.load) ** positive_count(steps, "steps"))


def _size_notes(num_visits: int, sizes: Sizes) -> list[str]:
    crowding = num_visits * sizes.load
    if crowding <= CROWDED:
        return []
    return [f"visits x N_s / N_x = {crowding:.3g}: the theory needs far less than 1, so it may be far off here"]


def _finite_form(C: Floats, visits: list[int], Co: Floats | None, sizes: Sizes) -> float | None:
    if len(C) > MAX_CORRECTED:
        return None
    return float(finite_size_errors(C, visits, sizes.num_latent, sizes.num_inputs, Co).sum())


def _learning_rate(value: float, sizes: Sizes) -> float:
    """A rate at which descent converges in the limit of the theory."""
    rate = to_float(value)
    if not 0 < rate < 2 * sizes.load:
        raise BadArgument(
            f"`learning_rate` must be above 0 and below 2 N_s / N_x = {2 * sizes.load:.3g}, got {value!r}: "
            "gradient descent would diverge."
        )
    return rate


def _known(value: Floats) -> float | None:
    return None if np.isnan(value) else float(value)
