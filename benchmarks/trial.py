"""What did the earlier trial mean by "signed indefinite 20 / 24"? Its solver, built again (replica.py), is asked.

python benchmarks/trial.py                 # calibration and readings within 1 s (a quarter of an hour)
python benchmarks/trial.py minutes         # what 60 s prove, where 1 s agrees with the trial (ten minutes)

A reading agrees with the trial when the replica comes out within TOLERANCE of its row, all seeds proven: in 1 s at 20
tasks, in 60 s at 24. None of 28 agrees with both, so what the trial had is still not known. But on each of them
taskorder can be set beside the trial's solver instead of beside its number. Seconds are processor time over two
threads: the machine is shared.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from functools import partial

import numpy as np
from common import RESULTS, header, save, show
from instances import chain, clusters, factor, flipped, noisy, signed
from ordering import FAMILIES, TRIAL, problem_of
from replica import THREADS, attempt

from taskorder import random_correlation
from taskorder.ordering.clock import Clock
from taskorder.ordering.optimum import minimize


class CpuClock(Clock):
    """Counts the CPU time of two threads, so that another program on the machine does not count against a limit."""

    def __init__(self, limit: float) -> None:
        super().__init__(limit)
        self._began = time.process_time()

    @property
    def seconds(self) -> float:
        """CPU seconds of each of two threads, compilation left out."""
        return (time.process_time() - self._began) / THREADS - self.compiling


def turned(matrix: np.ndarray, seed: int) -> np.ndarray:
    """The matrix with a random sign for each pair of tasks."""
    upper = np.triu(np.random.default_rng([seed, 2]).choice([-1.0, 1.0], matrix.shape), 1)
    return np.abs(matrix) * (upper + upper.T + np.eye(len(matrix)))


def gaussian(num_tasks: int, deviation: float, seed: int) -> np.ndarray:
    """Symmetric, unit diagonal, entries Gaussian and clipped to [-1, 1]."""
    upper = np.triu(deviation * np.random.default_rng(seed).standard_normal((num_tasks, num_tasks)), 1)
    return np.clip(upper + upper.T, -1, 1) + np.eye(num_tasks)


def halved(num_tasks: int, scale: float, seed: int) -> np.ndarray:
    """(A + A^T) / 2 with A uniform in [-scale, scale], unit diagonal."""
    whole = np.random.default_rng(seed).uniform(-scale, scale, (num_tasks, num_tasks))
    matrix = (whole + whole.T) / 2
    np.fill_diagonal(matrix, 1.0)
    return matrix


READINGS = {
    **{f"uniform to {a:g}": partial(lambda a, P, s: signed(P, s, a), a) for a in (0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)},
    **{f"(A + A^T) / 2, uniform to {a:g}": partial(lambda a, P, s: halved(P, a, s), a) for a in (0.5, 1.0)},
    **{f"Gaussian, sd {d:g}": partial(lambda d, P, s: gaussian(P, d, s), d) for d in (0.1, 0.2, 0.3, 0.5)},
    **{f"flipped, noise {a:g}": partial(lambda a, P, s: flipped(P, s, a), a) for a in (0.05, 0.1, 0.2, 0.3)},
    "signs on factor .3 k=P/2+1": lambda P, s: turned(factor(P, 0.3, P // 2 + 1, s), s),
    "signs on factor .3 k=4P": lambda P, s: turned(factor(P, 0.3, 4 * P, s), s),
    "signs on chain .8": lambda P, s: turned(chain(P, 0.8), s),
    "signs on clusters": lambda P, s: turned(clusters(P, s), s),
    "random correlation + .1": lambda P, s: noisy(random_correlation(P, seed=s), 0.1, s),
    "random correlation + .3": lambda P, s: noisy(random_correlation(P, seed=s), 0.3, s),
    "factor 0 k=P/2+1, + .1": lambda P, s: noisy(factor(P, 0.0, P // 2 + 1, s), 0.1, s),
    "factor 0 k=P/2+1, + .2": lambda P, s: noisy(factor(P, 0.0, P // 2 + 1, s), 0.2, s),
    "factor .1 k=P/2+1, + .1": lambda P, s: noisy(factor(P, 0.1, P // 2 + 1, s), 0.1, s),
    "factor .3 k=P/2+1, + .1": lambda P, s: noisy(factor(P, 0.3, P // 2 + 1, s), 0.1, s),
    "factor .3 k=P/2+1, + .2": lambda P, s: noisy(factor(P, 0.3, P // 2 + 1, s), 0.2, s),
}
"""What the trial may have meant by signed and indefinite; listed before any was run."""
CERTAIN = ("chain .8", "chain .5", "ring .8", "ring .6", "tree .6", "leaves .8", "factor .1 k=4P", "factor .3 k=4P",
           "factor .1 k=P/2+1", "factor .3 k=P/2+1", "factor .6 k=P/2+1")  # fmt: skip
"""Rows of the trial whose matrices are known (the graphs) or were inferred from other numbers (factor)."""
TOLERANCE = 2
"""By how many tasks a reading may miss the trial's row: so far off is the replica on the rows that are certain. Fixed
before a reading was run; that matrices must be indefinite, and what is done with 60 s, after the runs of 1 s."""
EFFORT = {1.0: 0.1, 60.0: 1.0}
"""Effort of the search for a start, by time limit."""
SIGNED = 20, 24
"""The row in question."""


def replica(matrix: np.ndarray, limit: float) -> tuple[bool, float]:
    """(proven, seconds) by the trial's way."""
    done = attempt(problem_of(matrix), limit, EFFORT[limit])
    return done.proven, done.seconds


def ours(matrix: np.ndarray, limit: float) -> tuple[bool, float]:
    """(proven, seconds) by taskorder."""
    clock = CpuClock(limit)
    found = minimize(problem_of(matrix), seed=0, clock=clock)
    return found.complete, clock.seconds


def reach(make, solver, num_seeds: int = 3) -> tuple[int, int]:
    """(largest P with all seeds proven in 1 s, smallest with one that is not), from 10 until three in a row fail."""
    largest, missed, size = 0, [], 10
    while len(missed) < 3 or missed[-3] != size - 3:
        tries = (solver(make(size, seed), 1.0) for seed in range(num_seeds))
        if all(proven and took <= 1.0 for proven, took in tries):
            largest = size
        else:
            missed.append(size)
        size += 1
    return largest, missed[0]


def minute(make, solver, size: int) -> list[float]:
    """Seconds by seed; infinite where 60 are not enough."""
    tries = [solver(make(size, seed), 60.0) for seed in range(3)]
    return [took if proven else math.inf for proven, took in tries]


def indefinite(make) -> bool:
    """Whether all seeds have a negative eigenvalue at the size of the row."""
    return all(np.linalg.eigvalsh(make(SIGNED[0], seed))[0] < 0 for seed in range(3))


def calibration() -> list[dict]:
    """The replica on rows whose matrices are known: largest P proven in 1 s, the smallest that is not."""
    rows = []
    for name in CERTAIN:
        largest, missed = reach(FAMILIES[name], replica, 3 if name.startswith("factor") else 1)  # graphs are not random
        rows.append({"matrix": name, "trial": TRIAL[name][0], "replica": largest, "first miss": missed})
        show(f"(so far) {name}", rows[-1:])
    return rows


def readings() -> list[dict]:
    """Each reading of the signed row by the replica and by taskorder, as above: the trial proved 20 tasks in 1 s."""
    rows = []
    for name, make in READINGS.items():
        largest, missed = reach(make, replica)
        own, own_missed = reach(make, ours)
        agrees = abs(largest - SIGNED[0]) <= TOLERANCE and indefinite(make)
        rows.append({"reading": name, "indefinite": indefinite(make), "replica": largest, "first miss": missed,
                     "agrees": agrees, "ours": own, "our first miss": own_missed})  # fmt: skip
        show(f"(so far) {name}", rows[-1:])
    return rows


def minutes() -> list[dict]:
    """Seconds by seed, where the readings agree in 1 s: the trial proved 24 tasks in 60 s."""
    rows = []
    low, size, high = SIGNED[1] - TOLERANCE, SIGNED[1], SIGNED[1] + TOLERANCE + 1
    kept = json.loads((RESULTS / "trial.json").read_text())["readings"]["rows"]
    for make, name in ((READINGS[row["reading"]], row["reading"]) for row in kept if row["agrees"]):
        took = {at: minute(make, replica, at) for at in (low, size, high)}
        own = minute(make, ours, size)
        agrees = max(took[low]) < math.inf and max(took[high]) == math.inf
        rows.append({"reading": name, **{f"replica, {at} tasks": _words(took[at]) for at in took}, "agrees": agrees,
                     f"ours, {size} tasks": _words(own)})  # fmt: skip
        show(f"(so far) {name}", rows[-1:])
    return rows


def _words(times: list[float]) -> str:
    return ", ".join(f"{took:.2g}" if took < math.inf else "not proven" for took in times)


SECTIONS = {"calibration": calibration, "readings": readings, "minutes": minutes}


def main() -> None:
    """Run the named parts, print their tables and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    chosen = parser.parse_args().sections or ["calibration", "readings"]
    print(" · ".join(f"{key} {value}" for key, value in header().items()))
    replica(chain(10, 0.8), 60.0)  # warm-up: compile or load every kernel
    for matrix in chain(12, 0.8), clusters(20, 2), gaussian(11, 0.5, 1):  # the last one is met in the middle
        ours(matrix, 60.0)
    for name in chosen:
        rows = SECTIONS[name]()
        show(f"{name}: {SECTIONS[name].__doc__}", rows)
        save("trial", {name: rows})


if __name__ == "__main__":
    main()
