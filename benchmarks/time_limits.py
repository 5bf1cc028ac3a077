"""How long `solve` and `compare` take beside the time limit that they are given, in seconds of a processor.

The clock of the search counts seconds of the processor here, too, so that other programs change little. What runs on
two threads counts twice.

python benchmarks/time_limits.py                                # 100, 200 and 1,000 tasks, limits of 1 and 5 s
python benchmarks/time_limits.py --tasks 2000 --limits 1        # other sizes and limits
python benchmarks/time_limits.py "output of full rank" compare  # only some cases
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from common import header, show

from taskorder import compare, solve
from taskorder.ordering import clock

PATIENCE = 60.0
"""Seconds after the limit when a call is ended."""
Options = dict[str, Any]


def similarity(num_tasks: int, seed: int = 0, rank: int | None = None) -> np.ndarray:
    """A correlation matrix of random vectors with a common part."""
    vectors = np.random.default_rng(seed).standard_normal((num_tasks, rank or num_tasks + 1))
    vectors[:, 0] += 0.7
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    table = vectors @ vectors.T
    np.fill_diagonal(table, 1.0)
    return (table + table.T) / 2


def transfer(num_tasks: int, seed: int = 0) -> np.ndarray:
    """A transfer table of tasks that teach more and tasks that are learned more easily, with noise."""
    rng = np.random.default_rng(seed)
    teach, learn = rng.normal(0, 0.12, (num_tasks, 1)), rng.normal(0, 0.08, (1, num_tasks))
    table = np.clip(0.35 + teach + learn + rng.normal(0, 0.12, (num_tasks, num_tasks)), -0.5, 1)
    np.fill_diagonal(table, 1.0)
    return table


def noisy(num_tasks: int, seed: int = 0) -> np.ndarray:
    """A similarity that is no correlation matrix, so that it has to be repaired."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, 0.3, (num_tasks, num_tasks))
    table = np.clip(similarity(num_tasks, seed) + (noise + noise.T) / 2, -1, 1)
    np.fill_diagonal(table, 1.0)
    return table


def apart(num_tasks: int) -> np.ndarray:
    """Two parts that have nothing to do with each other, and a task alone."""
    table, half = np.eye(num_tasks), num_tasks // 2
    table[:half, :half] = similarity(half, 1)
    table[half:-1, half:-1] = similarity(num_tasks - half - 1, 2)
    return table


def alike(num_tasks: int) -> np.ndarray:
    """Parts of at most fifty tasks; any two tasks of a part may trade places."""
    part = np.arange(num_tasks) // 50
    return np.where(part[:, None] == part, 0.9, 0.0) + 0.1 * np.eye(num_tasks)


def chains(num_tasks: int) -> Options:
    """Every second task before the next one."""
    return {"before": [(i, i + 1) for i in range(0, num_tasks - 1, 2)]}


def groups(num_tasks: int) -> Options:
    """Groups of five."""
    return {"groups": [list(range(i, min(i + 5, num_tasks))) for i in range(0, num_tasks, 5)]}


def weights(num_tasks: int) -> Options:
    """Uneven weights."""
    return {"weights": np.random.default_rng(5).uniform(0.5, 2, num_tasks)}


def theory(make: Callable[[int], np.ndarray] = similarity, **options: Any) -> Callable[[int], Options]:
    """A case of the paper's theory; options that are functions are called with the number of tasks."""
    return lambda n: {"table": make(n), "retention": 1.0, **_asked(options, n)}


def law(retention: float, make: Callable[[int], np.ndarray] = transfer, **options: Any) -> Callable[[int], Options]:
    """A case of the law of retention."""
    return lambda n: {"table": make(n), "retention": retention, **_asked(options, n)}


def _asked(options: Options, n: int) -> Options:
    asked: Options = {}
    for name, value in options.items():
        made = value(n) if callable(value) else value
        asked |= made if isinstance(made, dict) else {name: made}
    return asked


def full(n: int) -> Options:
    """An output similarity of full rank."""
    return {"output": similarity(n, 3)}


def low(n: int) -> Options:
    """An output similarity of rank 5."""
    return {"output": similarity(n, 3, 5)}


CASES: dict[str, Callable[[int], Options]] = {
    "one readout": theory(),
    "output of rank 5": theory(low=low),
    "output of full rank": theory(full=full),
    "output that needs repair": theory(output=lambda n: noisy(n, 4)),
    "table that needs repair": theory(noisy),
    "full rank, worst": theory(full=full, rule="worst"),
    "full rank, greedy": theory(full=full, rule="greedy"),
    "full rank, weights": theory(full=full, weights=weights),
    "full rank, precedence": theory(full=full, chains=chains),
    "full rank, groups": theory(full=full, groups=groups),
    "full rank, visits": theory(full=full, visits=lambda n: n + 3),
    "full rank, parts": theory(apart, full=full),
    "parts": theory(apart),
    "parts of equal tasks": theory(alike),
    "groups": theory(groups=groups),
    "visits": theory(visits=lambda n: n + 3),
    "max-path": theory(rule="max-path"),
    "first-order": theory(rule="first-order"),
    "retention 0.13": law(0.13),
    "retention 0.5": law(0.5),
    "retention 0.5, similarity": law(0.5, similarity),
    "retention 0.5, groups": law(0.5, groups=groups),
    "retention 0.5, precedence": law(0.5, chains=chains),
    "retention 0.5, visits": law(0.5, visits=lambda n: n + 3),
    "retention 0.5, worst": law(0.5, rule="worst"),
    "retention 0.5, error": law(0.5, objective="error"),
    "error, groups": law(0.5, objective="error", groups=groups),
    "error, greedy": law(0.5, objective="error", rule="greedy"),
    "retention by task": lambda n: {"table": transfer(n), "retention": np.linspace(0.1, 0.9, n)},
    "compare": lambda n: {"table": similarity(n), "retention": 1.0, "of": compare},
    "compare, retention 0.5": lambda n: {"table": transfer(n), "retention": 0.5, "of": compare},
    "compare, full rank": lambda n: {"table": similarity(n), "retention": 1.0, "of": compare, **full(n)},
}
"""What is measured: from the number of tasks to the arguments."""


def measure(case: str, num_tasks: int, limit: float, patience: float = PATIENCE) -> float | None:
    """Seconds that one call takes, in a process of its own; None where it was still at work `patience` after the
    limit."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    worker = context.Process(target=_call, args=(case, num_tasks, limit, patience, send))
    worker.start()
    send.close()
    try:
        return float(receive.recv())
    except EOFError:
        return None
    finally:
        worker.join()


def _call(case: str, num_tasks: int, limit: float, patience: float, send: Any) -> None:
    options = CASES[case](num_tasks)
    most = int(time.process_time() + limit + patience)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))  # past it, the process is killed
    clock.time = SimpleNamespace(perf_counter=time.process_time)  # type: ignore[assignment]
    of = options.pop("of", solve)
    start = time.process_time()
    result = of(options.pop("table"), time_limit=limit, **options)
    took = time.process_time() - start
    if of is solve and "visits" not in options:
        assert sorted(result.order) == list(range(num_tasks))
    send.send(took)


def warm_up() -> None:
    """Compile, or read, every kernel before anything is measured."""
    for case in CASES.values():
        for num_tasks in (24, 80):
            options = case(num_tasks)
            options.pop("of", solve)(options.pop("table"), time_limit=0.5, **options)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help="which cases; all by default")
    parser.add_argument("--tasks", type=int, nargs="+", default=[100, 200, 1000])
    parser.add_argument("--limits", type=float, nargs="+", default=[1.0, 5.0])
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds after the limit")
    asked = parser.parse_args()
    print(header())
    warm_up()
    rows = []
    for case in asked.cases or CASES:
        row: dict[str, Any] = {"seconds": case}
        for num_tasks in asked.tasks:
            for limit in asked.limits:
                took = measure(case, num_tasks, limit, asked.patience)
                late = f"> {limit + asked.patience:.0f}"
                row[f"{num_tasks} tasks, {limit:g} s"] = late if took is None else f"{took:.1f}"
        print(row, flush=True)
        rows.append(row)
    show("Seconds of a processor that a call takes", rows)


if __name__ == "__main__":
    main()
