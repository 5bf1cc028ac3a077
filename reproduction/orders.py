"""Orders by name and by chance, and their simulated errors averaged over all readouts."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.linear.random_tasks import LinearTasks, Sizes, sample_tasks
from taskorder.linear.residual_descent import boundary_errors
from taskorder.linear.simulate import Job, workers_for
from taskorder.machine import one_blas_thread


def tasks_of(name: str) -> list[int]:
    """The order that its letters name.

    >>> tasks_of("ACB")
    [0, 2, 1]
    """
    return [ord(letter) - ord("A") for letter in name]


def name_of(order: Ints) -> str:
    """The letters that name an order."""
    return "".join(chr(ord("A") + task) for task in order.tolist())


def random_orders(num_tasks: int, count: int, seed: int = 0) -> Ints:
    """(count, P) seeded random orders."""
    orders = np.tile(np.arange(num_tasks, dtype=np.int64), (count, 1))
    return np.random.default_rng(seed).permuted(orders, axis=1)


def short(values: Floats, digits: int = 10) -> Any:
    """As nested lists of numbers with so many significant digits."""
    if values.ndim > 1:
        return [short(row, digits) for row in values]
    return [float(f"{value:.{digits}g}") for value in values]


def readout_mean_errors(
    jobs: Iterable[Job], sizes: Sizes, *, steps: int | None = None, learning_rate: float = 1e-3
) -> list[Floats]:
    """For each job, the (K,) final errors of its orders, summed over tasks, averaged over all shared readouts B.

    Every residual is B M with M fixed by the inputs, and the elements of B are independent with variance 1 / N_s, so
    the mean of ||B M||^2 / N_y is ||M||^2 / N_s whatever N_y: the error of the one readout B = I with N_s outputs.
    """
    jobs = list(jobs)

    def run(job: Job) -> Floats:
        A = sample_tasks(job.similarity, None, sizes, seed=job.seed, small=True).A
        B = np.broadcast_to(np.eye(sizes.num_latent), (len(A), sizes.num_latent, sizes.num_latent))
        errors = boundary_errors(LinearTasks(A, B), job.orders, steps=steps, learning_rate=learning_rate)
        return np.asarray(errors.sum(axis=1))

    with one_blas_thread(), ThreadPoolExecutor(workers_for(jobs, sizes)) as threads:
        return list(threads.map(run, jobs))
