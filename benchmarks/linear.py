"""The linear simulator against the plain loop, side by side in one run.

    python benchmarks/linear.py [boundary] [trajectories] [fig3e]

boundary      errors after the last task, 106 orders of one 7-task matrix at the paper's sizes; the baseline is the
              paper's loop on the weights, timed on a few orders and counted 106 times (orders take equal time)
trajectories  every error at every step of the same orders, against the same loop
fig3e         the runs behind figures 3e and 3g: 1000 matrices, 107 orders each; time and peak memory
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
from common import save, seconds, show

from reproduction import load
from taskorder import random_correlation
from taskorder.linear.random_tasks import LinearTasks, sample_tasks
from taskorder.linear.residual_descent import boundary_errors, trajectories
from taskorder.machine import one_blas_thread
from taskorder.runs.local import run
from taskorder.runs.store import Store

NUM_ORDERS = 106
PLAIN_ORDERS = 3
STEPS, RATE = 100, 1e-3


def setting() -> tuple[np.ndarray, np.ndarray]:
    """One random matrix and 106 random orders."""
    rng = np.random.default_rng(0)
    return random_correlation(7, seed=0), np.array([rng.permutation(7) for _ in range(NUM_ORDERS)])


def errors(tasks: LinearTasks, W: np.ndarray) -> np.ndarray:
    """The error of every task; about 1 for W = 0."""
    return ((tasks.B - W @ tasks.A) ** 2).sum(axis=(1, 2)) / len(W)


def plain(tasks: LinearTasks, order: np.ndarray, every_step: bool) -> np.ndarray:
    """The loop on W as published; without `every_step` it evaluates errors at the end only, which favors it."""
    W = np.zeros((tasks.B.shape[1], tasks.A.shape[1]))
    rows = []
    for j in order:
        A, B = tasks.A[j], tasks.B[j]
        for _ in range(STEPS):
            W += RATE * (B - W @ A) @ A.T
            if every_step:
                rows.append(errors(tasks, W))
    return np.array(rows) if every_step else errors(tasks, W)


def against_the_loop(every_step: bool) -> dict[str, Any]:
    """Ours includes drawing the tasks; the baseline does not."""
    C, orders = setting()

    def ours() -> np.ndarray:
        with one_blas_thread():
            tasks = sample_tasks(C, seed=1, small=True)
            return trajectories(tasks, orders) if every_step else boundary_errors(tasks, orders)

    ours()
    fast, _ = seconds(ours, 5)
    full = sample_tasks(C, seed=1)
    begin = time.perf_counter()
    reference = [plain(full, order, every_step) for order in orders[:PLAIN_ORDERS]]
    slow = (time.perf_counter() - begin) / PLAIN_ORDERS * NUM_ORDERS
    same = (
        trajectories(full, orders[:PLAIN_ORDERS])[:, 1:] if every_step else boundary_errors(full, orders[:PLAIN_ORDERS])
    )
    return {
        "what": "every step" if every_step else "after the last task",
        "ours s": fast,
        "plain loop s": slow,
        "ratio": slow / fast,
        "largest difference": float(np.abs(np.array(reference) - same).max()),
    }


def whole_figure() -> list[dict[str, Any]]:
    """The runs of figure 3e at full size, into a store in memory: the paper's 1000 matrices, and with ours added."""
    figure = load("fig3e")
    rows = []
    for what, config in (
        ("the paper's 1000 matrices", replace(figure.full, num_large=0, num_positive=0)),
        ("with our 700 more", figure.full),
    ):
        specs = figure.specs(config)
        begin = time.perf_counter()
        with Store() as store:
            run(specs, figure.run_batch, store, batch_size=figure.batch)
        spent = time.perf_counter() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.append({"what": what, "runs": len(specs), "seconds": spent, "peak MB": peak})
    return rows


def main() -> None:
    """Run the sections named on the command line, or all."""
    asked = sys.argv[1:] or ["boundary", "trajectories", "fig3e"]
    jobs = {
        "boundary": lambda: [against_the_loop(False)],
        "trajectories": lambda: [against_the_loop(True)],
        "fig3e": whole_figure,
    }
    for name in asked:
        rows = jobs[name]()
        show(name, rows)
        save("linear", {name: rows})


if __name__ == "__main__":
    main()
