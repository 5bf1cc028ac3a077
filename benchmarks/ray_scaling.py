"""Sweeps on Ray: what a spec costs on top of its work, what a second worker brings, and the memory of the driver.

python benchmarks/ray_scaling.py [overhead] [scaling] [memory] [reading] [model] [--million]

The baseline is the same sweep in this process (runs/local.py). Warm-up (starting workers, compiling) is timed apart.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any

from common import RESULTS, save, show

from taskorder.cli import main as main_of_taskorder
from taskorder.datasets import load
from taskorder.runs import local, ray, settings
from taskorder.runs import training as runs
from taskorder.runs.cluster import LOCAL, Share
from taskorder.runs.head import need_ray
from taskorder.runs.results import SCORES
from taskorder.runs.specs import RunSpec, RunSpecs
from taskorder.runs.store import Store
from taskorder.runs.sweep import parts
from taskorder.runs.training import Training

ENGINE = settings.Config(num_sets=16, num_tasks=3, epochs=5)


def many(count: int) -> Sequence[RunSpec]:
    """So many specs of the engine."""
    return RunSpecs(settings.Config(num_sets=count))


def nothing(batch: Sequence[RunSpec], report: Any = None) -> list[dict[str, Any]]:
    """In place of the training: results that cost nothing."""
    return [{"network_steps": 1, "set": spec.params["set"]} for spec in batch]


@contextmanager
def workers(count: int) -> Iterator[float]:
    """A Ray with so many workers of one CPU; the seconds that it took to start."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    began = time.perf_counter()
    options = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    need_ray().init(address=LOCAL, num_cpus=count, **options)
    try:
        yield time.perf_counter() - began
    finally:
        need_ray().shutdown()


def timed(complete: Any, specs: Sequence[RunSpec], run_batch: Any, batch_size: int) -> float:
    """Seconds of a sweep into a store on disk."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "s.sqlite") as store:
        began = time.perf_counter()
        assert complete(specs, run_batch, store, batch_size=batch_size) == 0
        return time.perf_counter() - began


def overhead_table() -> list[dict[str, Any]]:
    """Specs that cost nothing: all time is ours."""
    rows = []
    with workers(2) as start:
        timed(ray.complete, many(20), nothing, 1)
        for batch_size, count in ((1, 500), (10, 5_000), (100, 20_000)):
            here, there = (min(timed(runner.complete, many(count), nothing, batch_size) for _ in range(3))
                           for runner in (local, ray))  # fmt: skip
            rows.append(
                {
                    "batch size": batch_size,
                    "specs": count,
                    "local, ms a spec": 1e3 * here / count,
                    "Ray, ms a spec": 1e3 * there / count,
                    "Ray more, ms a batch": 1e3 * (there - here) / count * batch_size,
                    "Ray starts in s": start,
                }
            )
    return rows


def scaling_table() -> list[dict[str, Any]]:
    """The engine on digits, one task set a batch; XLA has one thread in each worker."""
    specs, training = RunSpecs(ENGINE), Training(load("digits"))
    rows: list[dict[str, Any]] = []
    for count in (1, 2):
        with workers(count):
            warm = timed(ray.complete, specs, training, 1)
            took = min(timed(ray.complete, specs, training, 1) for _ in range(2))
        rows.append({"workers": count, "with compiling, s": warm, "s": took, "specs/s": len(specs) / took})
    rows.append({"workers": "here"})
    os.environ["NPROC"] = "1"
    warm = timed(local.complete, specs, training, 1)
    took = min(timed(local.complete, specs, training, 1) for _ in range(2))
    rows[-1] |= {"with compiling, s": warm, "s": took, "specs/s": len(specs) / took}
    for row in rows:
        row["ratio to one worker"] = rows[0]["s"] / row["s"]
    return rows


def memory_table(counts: Sequence[int]) -> list[dict[str, Any]]:
    """The most memory that the driver had, each in a process of its own, into a store on disk, in batches of 1,000.

    On Ray with two workers, and the command `taskorder run` in one process, new and once more when all is done.
    """
    rows = []
    for driver in DRIVERS:
        for count in counts:
            command = [sys.executable, __file__, "--driver", driver, str(count)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            for line in done.stdout.splitlines():
                what, megabytes, seconds = json.loads(line)
                rows.append({"driver": what, "specs": count, "peak, MB": megabytes, "s": seconds,
                             "ms a spec": 1e3 * seconds / count})  # fmt: skip
    return rows


def _drive_ray(count: int) -> Iterator[tuple[str, float]]:
    with workers(2):
        yield "Ray", timed(ray.complete, many(count), nothing, 1_000)


def _drive_command(count: int) -> Iterator[tuple[str, float]]:
    runs.run_batch = nothing
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "many.toml").write_text(f"num_sets = {count}\n")
        words = ["run", f"{folder}/many.toml", "--store", f"{folder}/s.sqlite", "--batch", "1000"]
        for what in ("taskorder run", "the same again"):
            began = time.perf_counter()
            with redirect_stdout(sys.stderr):
                assert main_of_taskorder(words) == 0
            yield what, time.perf_counter() - began


PEAK = """
import re, sys
from taskorder.cli import main
main(sys.argv[1:])
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024, file=sys.stderr)
"""
"""A command, and the most memory that it had (`getrusage` would count what the process was forked from)."""
READERS = {
    "done": (
        ["status"],
        ["export", "-o", "table.csv"],
        ["export", "-o", "table.csv.gz", "--whole"],
        ["report", "--task-set", "7", "-o", "page.html"],
        ["audit", "--where", "set=7"],
    ),
    "failed": (["status", "--json"],),
}
WHOLE = {"task_set": {"names": ["a"]}, "network_steps": 10, "beginnings": ["", "0"],
         **{name: [[0.5], [0.25]] for name in SCORES}}  # fmt: skip


def reading_table(counts: Sequence[int]) -> list[dict[str, Any]]:
    """The most memory that commands have that read a store, all of it done or all of it failed."""
    rows = []
    for count in counts:
        config = settings.Config(num_sets=count, num_tasks=1)
        specs = RunSpecs(config)
        for end, commands in READERS.items():
            with tempfile.TemporaryDirectory() as folder:
                with Store(Path(folder) / "s.sqlite") as store:
                    store.request("all", asdict(config), specs)
                    for part in parts(specs):
                        if end == "done":
                            store.put(part, [WHOLE] * len(part), 1.0)
                        else:
                            for spec in part:
                                store.fail(spec, "RuntimeError: out of luck")
                for name, *options in commands:
                    words = [sys.executable, "-c", PEAK, name, "s.sqlite", *options]
                    began = time.perf_counter()
                    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
                    rows.append({"command": " ".join([name, *options]), "specs": count, "which have": end,
                                 "peak, MB": float(done.stderr), "s": time.perf_counter() - began})  # fmt: skip
    return rows


DRIVERS = {"ray": _drive_ray, "command": _drive_command}


def model_table() -> list[dict[str, Any]]:
    """What a sweep of N specs takes on W workers, from the numbers that the other sections have kept.

    start + compile + max(N work / W, driver) + work, where the driver, which hands out and writes one spec after
    another, takes N (a + b / batch size); a and b go through the measured batch sizes 1 and 100.
    """
    kept = json.loads((RESULTS / "ray_scaling.json").read_text())
    first, *_, last = (row["Ray, ms a spec"] / 1e3 for row in kept["overhead"]["rows"])
    a, b = (100 * last - first) / 99, (first - last) / 0.99
    start = kept["overhead"]["rows"][0]["Ray starts in s"]
    alone = kept["scaling"]["rows"][0]
    compiling = alone["with compiling, s"] - alone["s"]
    measured = alone["s"] / ENGINE.num_sets
    rows = []
    for work, batch_size in ((measured, 1), (60.0, 1), (1.0, 50)):
        for count in (10**3, 10**4, 10**5, 10**6):
            driver = count * (a + b / batch_size)
            took = {W: start + compiling + max(count * work / W, driver) + work * batch_size for W in (2, 64, 1024)}
            rows.append(
                {
                    "s a spec": work,
                    "batch size": batch_size,
                    "specs": count,
                    "worker-hours": count * work / 3600,
                    "driver, s": driver,
                    **{f"{W} workers, h": seconds / 3600 for W, seconds in took.items()},
                    "workers that one driver feeds": int(count * work / driver),
                }
            )
    return rows


def main() -> None:
    """Print the tables and keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help="overhead, scaling, model, memory, reading; all by default")
    parser.add_argument("--million", action="store_true", help="a million specs too")
    parser.add_argument("--driver", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.driver:
        for what, seconds in DRIVERS[args.driver[0]](int(args.driver[1])):
            print(json.dumps([what, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, seconds]), flush=True)
        return
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {Share()}")
    makers = {
        "overhead": overhead_table,
        "scaling": scaling_table,
        "model": model_table,
        "memory": lambda: memory_table([1_000, 10_000, 100_000, *([1_000_000] if args.million else [])]),
        "reading": lambda: reading_table([2_000, 200_000]),
    }
    for section in args.sections or makers:
        rows = [{**row, "load": os.getloadavg()[0]} for row in makers[section]()]
        show(section, rows)
        save("ray_scaling", {section: rows})


if __name__ == "__main__":
    main()
